//! What the bundled model costs here: `cargo bench -p loci-embed --bench embed`.

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::time::{Duration, Instant};

use loci_core::{Embedder, Result};
use loci_embed::LocalModel;

const QUERIES: usize = 200;
const TEXTS: usize = 32;
/// Ten words, twelve tokens.
const QUERY: &str = "what did the team decide about the new data base";
/// Nine words of one token each; fourteen times that is 126, 128 with `[CLS]` and `[SEP]`.
const SENTENCE: &str = "the old man went home and read a book ";

fn main() -> Result<()> {
    println!("resident before       {}", resident());
    let model = LocalModel::bundled();
    let (first, _) = timed(|| model.check())?;
    println!("load and first text   {:.1} ms", milliseconds(first));
    println!("resident after        {}", resident());

    let mut times = Vec::with_capacity(QUERIES);
    for _ in 0..QUERIES {
        times.push(timed(|| model.embed(&[QUERY]))?.0);
    }
    times.sort_unstable();
    println!("query p50             {:.2} ms", milliseconds(times[QUERIES / 2]));
    println!("query p95             {:.2} ms", milliseconds(times[QUERIES * 95 / 100]));

    let text = SENTENCE.repeat(14);
    let one_core = timed(|| (0..TEXTS).try_for_each(|_| model.embed(&[&text]).map(drop)))?.0;
    println!("128 tokens, one core  {:.1} texts/s", TEXTS as f64 / one_core.as_secs_f64());
    let all_cores = timed(|| model.embed(&[text.as_str(); TEXTS]))?.0;
    println!("128 tokens, all cores {:.1} texts/s", TEXTS as f64 / all_cores.as_secs_f64());
    println!("resident at the end   {}", resident());
    Ok(())
}

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(Duration, T)> {
    let start = Instant::now();
    let value = work()?;
    Ok((start.elapsed(), value))
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Memory of this process now and at its peak, where the system tells.
fn resident() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("unknown").trim();
    format!("{} (peak {})", field("VmRSS:"), field("VmHWM:"))
}
