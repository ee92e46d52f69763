//! How often harmless texts have orders, and how fast they are read:
//!
//! `cargo bench -p loci-text --bench orders -- FOLDER…` reads all files with the endings of texts, and
//! the strings of JSON files, and prints each finding, their number in 10,000 sentences, and the speed.

#![allow(clippy::unwrap_used, reason = "a measurement that fails may panic")]
#![allow(clippy::print_stdout, reason = "the measurement")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs};

use loci_text::prompt_injection::find_orders;
use loci_text::sentences::sentences;

const ENDINGS: [&str; 5] = ["md", "txt", "rst", "json", "jsonl"];
/// The bytes of a text, as a memory has at most.
const BYTES_MAX: usize = 1 << 20;

fn files(path: &Path, found: &mut Vec<PathBuf>) {
    let is_text = |path: &Path| {
        let ending = path.extension().and_then(|ending| ending.to_str());
        ending.is_some_and(|ending| ENDINGS.contains(&ending))
    };
    if path.is_dir() && !path.is_symlink() {
        let mut entries: Vec<PathBuf> = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        entries.sort();
        entries.iter().for_each(|entry| files(entry, found));
    } else if is_text(path) {
        found.push(path.to_owned());
    }
}

/// Returns the strings of a JSON text, with the escapes of lines and quotation marks taken off.
fn strings(json: &str) -> Vec<String> {
    let (mut strings, mut string) = (Vec::new(), None::<String>);
    let mut characters = json.chars();
    while let Some(character) = characters.next() {
        match (&mut string, character) {
            (None, '"') => string = Some(String::new()),
            (Some(_), '"') => strings.extend(string.take()),
            (Some(text), '\\') => match characters.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some(mark @ ('"' | '\\' | '/')) => text.push(mark),
                Some(other) => text.extend(['\\', other]),
                None => {}
            },
            (Some(text), _) => text.push(character),
            (None, _) => {}
        }
    }
    strings
}

/// Returns the texts of a file.
fn texts(file: &Path) -> Vec<String> {
    let Ok(text) = fs::read_to_string(file) else {
        return Vec::new();
    };
    let ending = file.extension().and_then(|ending| ending.to_str());
    let mut found = if matches!(ending, Some("json" | "jsonl")) {
        strings(&text)
    } else {
        vec![text]
    };
    found.retain(|text| text.len() <= BYTES_MAX);
    found
}

fn main() {
    for folder in env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
    {
        let mut named = Vec::new();
        files(Path::new(&folder), &mut named);
        let (mut count, mut bytes, mut orders, mut took) = (0, 0, 0, Duration::ZERO);
        for file in &named {
            for text in texts(file) {
                count += sentences(&text).count();
                bytes += text.len();
                let begun = Instant::now();
                let found = find_orders(&text);
                took += begun.elapsed();
                orders += found.len();
                for order in found {
                    let words: Vec<&str> = order.sentence.split_whitespace().collect();
                    let beginning: String = words.join(" ").chars().take(200).collect();
                    let disguise = order.read_as.map(|(disguise, words)| {
                        let words: String = words.chars().take(100).collect();
                        format!(" [{}: {words}]", disguise.name())
                    });
                    println!(
                        "{}: {beginning}{}",
                        file.display(),
                        disguise.unwrap_or_default()
                    );
                }
            }
        }
        let share = orders as f64 * 10_000.0 / count.max(1) as f64;
        let speed = bytes as f64 / 1e6 / took.as_secs_f64().max(1e-9);
        println!(
            "{folder}: {} files, {count} sentences, {orders} findings, {share:.2} in 10,000; {speed:.0} MB/s",
            named.len()
        );
    }
}
