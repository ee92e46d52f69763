//! Compares the reading of valid JSON with plain `serde_json`: `cargo bench -p loci-json --bench read`.

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::hint::black_box;
use std::time::Instant;

use serde_json::{Value, json};

/// The rounds; the best one of each reader counts.
const ROUNDS: usize = 15;
/// The lines of the transcript, and the messages of the export.
const LINES: usize = 4_000;
const MESSAGES: usize = 40_000;

fn main() {
    let lines: Vec<Vec<u8>> = (0..LINES)
        .map(|line| event(line).to_string().into())
        .collect();
    let messages: Vec<Value> = (0..MESSAGES).map(event).collect();
    let export = json!([{"uuid": "a", "name": "Glazes", "chat_messages": messages}]).to_string();
    let bytes: usize = lines.iter().map(Vec::len).sum();
    println!(
        "{:24} {:>10} {:>12} {:>8}",
        "", "serde_json", "loci-json", "ratio"
    );
    let each = |read: &dyn Fn(&[u8]) -> bool| lines.iter().filter(|line| read(line)).count();
    compare(
        &format!("{LINES} lines, {:.1} MB", megabytes(bytes)),
        &|| each(&|line| serde_json::from_slice::<Value>(line).is_ok()),
        &|| each(&|line| loci_json::from_slice::<Value>(line).is_ok()),
    );
    compare(
        "the same, as records",
        &|| each(&|line| serde_json::from_slice::<Value>(line).is_ok()),
        &|| each(&|line| loci_json::records(line).values.len() == 1),
    );
    compare(
        &format!("an export, {:.1} MB", megabytes(export.len())),
        &|| usize::from(serde_json::from_slice::<Value>(export.as_bytes()).is_ok()),
        &|| usize::from(loci_json::from_slice::<Value>(export.as_bytes()).is_ok()),
    );
}

/// Returns a message as a transcript and an export have it, with text in several scripts.
fn event(number: usize) -> Value {
    let text = format!(
        "The glaze of kiln {number} is cobalt.\nSay \"why\" at 1240 °C: 釉薬は青い, глазурь синяя. "
    );
    json!({
        "type": "user", "uuid": format!("{number:032x}"), "timestamp": "2026-05-01T08:00:00.000Z",
        "cwd": "/srv/kiln", "isSidechain": false, "weight": number as f64 / 7.0,
        "message": {"role": "user", "content": [{"type": "text", "text": text.repeat(1 + number % 9)}]},
    })
}

fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

/// Prints the times of the best rounds in milliseconds. The readers take turns, because the machine
/// is faster at some times than at others.
fn compare(name: &str, plain: &dyn Fn() -> usize, own: &dyn Fn() -> usize) {
    assert_eq!(plain(), own());
    let (mut best_plain, mut best_own) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        best_plain = best_plain.min(milliseconds(plain));
        best_own = best_own.min(milliseconds(own));
    }
    println!(
        "{name:24} {best_plain:>10.2} {best_own:>12.2} {:>8.3}",
        best_own / best_plain
    );
}

fn milliseconds(work: &dyn Fn() -> usize) -> f64 {
    let start = Instant::now();
    black_box(work());
    start.elapsed().as_secs_f64() * 1e3
}
