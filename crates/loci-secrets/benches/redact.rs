//! Measures the cost of a search for secrets: `cargo bench -p loci-secrets --bench redact`.

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::hint::black_box;
use std::time::Instant;

/// Bytes of each text.
const BYTES: usize = 4 << 10;
/// Calls of one round; the best round counts.
const CALLS: usize = 500;
const ROUNDS: usize = 5;

const PROSE: &str = "We moved the service to the new cluster on Friday. The old one stays for a week, so that the keys \
                     of the clients, their tokens and the passwords of the databases can be changed one after the \
                     other; no client has to be told twice. ";
const CODE: &str = "fn token_of(&self, key: &str) -> Option<Token> {\n    let secret = self.secrets.get(key)?;\n    \
                    Some(Token { key: key.to_owned(), password: secret.password.clone(), auth: Auth::Bearer })\n}\n";
const HASHES: &str =
    "checksum = \"8d1f3c5b7a9e0f2d4c6b8a1e3f5d7c9b0a2e4f6d8c1b3a5e7f9d0c2b4a6e8f1d\"\n";

fn main() {
    let begun = Instant::now();
    black_box(loci_secrets::redact("a"));
    println!(
        "the first call builds the tables: {:.2} ms",
        begun.elapsed().as_secs_f64() * 1e3
    );
    let key = |number: usize| {
        format!(
            "ghp_{:036x}",
            (number as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
        )
    };
    let secrets = (1..100)
        .map(key)
        .collect::<Vec<_>>()
        .join("\nGITHUB_TOKEN=");
    println!("us for each text of {BYTES} bytes");
    for (name, text) in [
        ("prose", PROSE),
        ("code", CODE),
        ("hashes", HASHES),
        ("secrets", &secrets),
    ] {
        let text: String = text.chars().cycle().take(BYTES).collect();
        let found = loci_secrets::redact(&text).removed.len();
        println!(
            "{name:10} {:>9.1}   {found} found",
            microseconds(|| loci_secrets::redact(&text).text.len())
        );
    }
}

/// Returns the time of one call, in the best of the rounds.
fn microseconds(work: impl Fn() -> usize) -> f64 {
    let round = || {
        let start = Instant::now();
        (0..CALLS).for_each(|_| {
            black_box(work());
        });
        start.elapsed().as_secs_f64() * 1e6 / CALLS as f64
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}
