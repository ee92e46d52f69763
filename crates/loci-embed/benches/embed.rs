//! Measures the cost of a local model: `cargo bench -p loci-embed --bench embed`. With `--features
//! ort` and an installed onnxruntime, it measures that as well. `scripts/bench-onnxruntime` adds
//! onnxruntime's own Python over the same texts.
//!
//! After `--`: `--model FOLDER` measures the model there instead of the bundled one, `--mixed`
//! measures only the texts of mixed length, `--write-texts FILE` writes them as JSON and measures
//! nothing.

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::path::Path;
use std::time::{Duration, Instant};

use loci_core::{Embedder, Error, Result};
use loci_embed::LocalModel;

const QUERIES: usize = 200;
const TEXTS: usize = 32;
/// Short texts in one call.
const FACTS: usize = 512;
/// Ten words, twelve tokens.
const QUERY: &str = "what did the team decide about the new data base";
/// Nine words of one token each; fourteen times that is 126, 128 with `[CLS]` and `[SEP]`.
const SENTENCE: &str = "the old man went home and read a book ";

/// Texts of mixed length in one pass.
const MIXED_TEXTS: usize = 64;
/// Passes over the mixed texts. The shortest one counts, because other programs only lengthen a
/// pass.
const PASSES: usize = 7;
/// The seed of the mixed texts.
const SEED: u64 = 0x10C1;
/// The words of the mixed texts, of one to three tokens each.
const WORDS: [&str; 40] = [
    "the",
    "team",
    "moved",
    "deploy",
    "to",
    "thursday",
    "because",
    "staging",
    "was",
    "slow",
    "Anna",
    "prefers",
    "green",
    "tea",
    "postgres",
    "index",
    "rebuild",
    "took",
    "forty",
    "minutes",
    "and",
    "nobody",
    "noticed",
    "before",
    "lunch",
    "in",
    "Lisbon",
    "a",
    "customer",
    "asked",
    "about",
    "invoices",
    "from",
    "march",
    "parser",
    "refactored",
    "again",
    "with",
    "caching",
    "disabled",
];

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(position) = arguments
        .iter()
        .position(|argument| argument == "--write-texts")
    {
        let file = arguments
            .get(position + 1)
            .ok_or_else(|| Error::internal("--write-texts needs a file"))?;
        let json = serde_json::json!({ "texts": mixed_texts(), "query": QUERY }).to_string();
        return std::fs::write(file, json)
            .map_err(|error| Error::internal(format!("{file}: {error}")));
    }
    let folder = arguments.iter().position(|argument| argument == "--model");
    let folder = folder
        .and_then(|position| arguments.get(position + 1))
        .map(Path::new);
    let model = || folder.map_or_else(|| Ok(LocalModel::bundled()), LocalModel::from_folder);
    if !arguments.iter().any(|argument| argument == "--mixed") {
        alone(model()?)?;
    }
    mixed("built in", &model()?)?;
    #[cfg(feature = "ort")]
    match model()?.on_onnxruntime(None).check() {
        Ok(_) => mixed("onnxruntime", &model()?.on_onnxruntime(None))?,
        Err(error) => println!("onnxruntime left out: {error}"),
    }
    Ok(())
}

/// Measures memory, the first text, queries, and texts of 128 tokens.
fn alone(model: LocalModel) -> Result<()> {
    println!("resident before       {}", resident());
    let (first, _) = timed(|| model.check())?;
    println!("load and first text   {:.1} ms", milliseconds(first));
    println!("resident after        {}", resident());
    let (median, slow) = query_times(&model)?;
    println!("query p50             {:.2} ms", milliseconds(median));
    println!("query p95             {:.2} ms", milliseconds(slow));
    let text = SENTENCE.repeat(14);
    let one_core = timed(|| (0..TEXTS).try_for_each(|_| model.embed(&[&text]).map(drop)))?.0;
    println!(
        "128 tokens, one core  {:.1} texts/s",
        TEXTS as f64 / one_core.as_secs_f64()
    );
    // Equal texts would be embedded once.
    let all_cores = timed(|| embed_all(&model, &numbered(&text, TEXTS)))?.0;
    println!(
        "129 tokens, all cores {:.1} texts/s",
        TEXTS as f64 / all_cores.as_secs_f64()
    );
    let facts = timed(|| embed_all(&model, &numbered(QUERY, FACTS)))?.0;
    println!(
        "13 tokens, all cores  {:.1} texts/s",
        FACTS as f64 / facts.as_secs_f64()
    );
    println!("resident at the end   {}", resident());
    Ok(())
}

fn embed_all(model: &LocalModel, texts: &[String]) -> Result<Vec<Vec<f32>>> {
    model.embed(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Returns texts that differ in one token.
fn numbered(text: &str, count: usize) -> Vec<String> {
    (0..count)
        .map(|number| format!("{text} {number}"))
        .collect()
}

/// Measures queries and texts of mixed length: in wall time, and in processor time, which other
/// programs affect less. The script reads the lines of processor time.
fn mixed(runtime: &str, model: &LocalModel) -> Result<()> {
    let texts = mixed_texts();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    model.embed(&texts)?;
    println!(
        "{runtime}, query p50  {:.2} ms",
        milliseconds(query_times(model)?.0)
    );
    let queries = || (0..QUERIES).try_for_each(|_| model.embed(&[QUERY]).map(drop));
    let one_by_one = || {
        texts
            .iter()
            .try_for_each(|text| model.embed(&[text]).map(drop))
    };
    let all_at_once = || model.embed(&texts).map(drop);
    let per_second = |time: Duration| texts.len() as f64 / time.as_secs_f64();
    let wall = |time: (Duration, Option<Duration>)| time.0;
    println!(
        "{runtime}, mixed, one core  {:.1} texts/s",
        per_second(wall(fastest(one_by_one)?))
    );
    println!(
        "{runtime}, mixed, all cores  {:.1} texts/s",
        per_second(wall(fastest(all_at_once)?))
    );
    if let ((_, Some(queries)), (_, Some(mixed))) = (fastest(queries)?, fastest(one_by_one)?) {
        println!(
            "{runtime}, processor time of a query  {:.3} ms",
            milliseconds(queries) / QUERIES as f64
        );
        println!(
            "{runtime}, processor time of a text  {:.3} ms",
            milliseconds(mixed) / texts.len() as f64
        );
    }
    println!("{runtime}, memory  {}", resident());
    Ok(())
}

/// Returns the shortest pass in wall time, and the shortest in processor time if the system reports
/// it.
fn fastest(pass: impl Fn() -> Result<()>) -> Result<(Duration, Option<Duration>)> {
    let (mut wall, mut processor) = (Duration::MAX, None);
    for _ in 0..PASSES {
        let before = processor_time();
        wall = timed(&pass)?.0.min(wall);
        let used = processor_time()
            .zip(before)
            .map(|(after, before)| after.saturating_sub(before));
        processor = processor.into_iter().chain(used).min();
    }
    Ok((wall, processor))
}

/// Returns the processor time of all live threads of this process, on Linux only. Threads that have
/// ended do not count.
fn processor_time() -> Option<Duration> {
    let threads = std::fs::read_dir("/proc/self/task").ok()?;
    let files = threads
        .flatten()
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("schedstat")).ok());
    let used: Vec<u64> = files
        .filter_map(|file| file.split(' ').next()?.parse().ok())
        .collect();
    (!used.is_empty()).then(|| Duration::from_nanos(used.iter().sum()))
}

/// Returns the median and the 95th percentile.
fn query_times(model: &LocalModel) -> Result<(Duration, Duration)> {
    let mut times = Vec::with_capacity(QUERIES);
    for _ in 0..QUERIES {
        times.push(timed(|| model.embed(&[QUERY]))?.0);
    }
    times.sort_unstable();
    Ok((times[QUERIES / 2], times[QUERIES * 95 / 100]))
}

/// Returns texts of 4 to 191 words with log-uniform lengths: each power of two is as likely as the
/// next. The result is always the same.
fn mixed_texts() -> Vec<String> {
    let mut state = SEED;
    // Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
    let mut below = |limit: u64| {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit
    };
    (0..MIXED_TEXTS)
        .map(|_| {
            let scale = 4 << below(6);
            let words = (scale + below(scale / 2)) as usize;
            (0..words)
                .map(|_| WORDS[below(WORDS.len() as u64) as usize])
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect()
}

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(Duration, T)> {
    let start = Instant::now();
    let value = work()?;
    Ok((start.elapsed(), value))
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Returns the current and peak memory of this process, if the system reports it.
fn resident() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap_or("unknown")
            .trim()
    };
    format!("{} (peak {})", field("VmRSS:"), field("VmHWM:"))
}
