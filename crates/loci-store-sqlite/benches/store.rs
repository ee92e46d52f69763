//! Measures the store on the disk of a folder: `cargo bench -p loci-store-sqlite --bench store --
//! [FOLDER]` (default: the folder for temporary files; choose one on a real disk).
//!
//! Disks differ and share their time with others, so read the ratios: each commit rate stands
//! beside that of the bare device in the same run.

#![expect(clippy::unwrap_used, reason = "a measurement that fails may panic")]
#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use loci_core::{CandidateQuery, Filter, Memory, ModelId, Passage, QueryVector, Store, Superseded, Term};
use loci_store_sqlite::{Options, SqliteStore};
use loci_testkit::contract::{filter, memory, put, reader};
use loci_testkit::{Random, quantise};

const COMMITS: usize = 2_000;
const WRITERS: usize = 16;
const MEMORIES: usize = 10_000;
const SEARCHES: usize = 500;
const DIMENSIONS: usize = 384;
const VOCABULARY: usize = 8_000;

fn main() {
    // `cargo bench` adds `--bench`.
    let argument = std::env::args_os().skip(1).find(|argument| argument != "--bench");
    let parent = argument.map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::tempdir_in(parent).unwrap();
    let mut random = Random::new(1);
    writes(folder.path(), &mut random);
    searches(&folder.path().join("search"), &mut random);
}

fn report(what: &str, value: impl Display) {
    println!("{what:<58} {value}");
}

fn writes(folder: &Path, random: &mut Random) {
    let record = vec![b'x'; 1_024];
    let mut file = File::create(folder.join("append")).unwrap();
    let device = timed(COMMITS, || {
        file.write_all(&record).unwrap();
        file.sync_data().unwrap();
    });
    let store = SqliteStore::open(&folder.join("write"), Options::default()).unwrap();
    let mut batches: Vec<_> = (0..COMMITS).map(|number| example(&format!("one-{number}"), random)).collect();
    let one = timed(COMMITS, || {
        let (memory, passage) = batches.pop().unwrap();
        store.commit(put(&memory, vec![passage])).unwrap();
    });
    let batches: Vec<Vec<_>> = (0..WRITERS)
        .map(|writer| (0..COMMITS / 4).map(|number| example(&format!("{writer}-{number}"), random)).collect())
        .collect();
    let start = Instant::now();
    thread::scope(|scope| {
        for batches in batches {
            let store = &store;
            scope.spawn(move || {
                for (memory, passage) in batches {
                    store.commit(put(&memory, vec![passage])).unwrap();
                }
            });
        }
    });
    let many = (WRITERS * (COMMITS / 4)) as f64 / start.elapsed().as_secs_f64();
    report("device: append and fdatasync, per second (p50 ms)", rate_line(&device));
    report("one writer: commits per second (p50 ms)", rate_line(&one));
    let extra = percentile(&one, 50) - percentile(&device, 50);
    report("one writer: p50 beyond the device's, ms", format!("{extra:.3}"));
    report("16 writers: commits per second", format!("{many:.0}"));
    report("16 writers to one", format!("{:.1}", many / rate(&one)));
}

fn searches(folder: &Path, random: &mut Random) {
    let store = SqliteStore::open(folder, Options::default()).unwrap();
    let mut content_bytes = 0;
    let start = Instant::now();
    for block in 0..MEMORIES / 100 {
        let examples: Vec<_> = (0..100).map(|number| example(&format!("{block:04}-{number:04}"), random)).collect();
        content_bytes += examples.iter().map(|(memory, _)| memory.content.len()).sum::<usize>();
        let mut changes = examples.iter().flat_map(|(memory, passage)| put(memory, vec![passage.clone()]).changes);
        let mut batch = put(&examples[0].0, Vec::new());
        batch.changes = changes.by_ref().collect();
        store.commit(batch).unwrap();
    }
    report("bulk: memories per second", format!("{:.0}", MEMORIES as f64 / start.elapsed().as_secs_f64()));
    drop(store);
    let start = Instant::now();
    let store = SqliteStore::open(folder, Options::default()).unwrap();
    report("open: ms", milliseconds(start.elapsed()));
    let start = Instant::now();
    query(&store, &filter(), random);
    report("first search, with the load of 10,000 passages: ms", milliseconds(start.elapsed()));
    let narrow =
        Filter { reader: reader(Some("ann")), superseded: Superseded::Hide, tags: vec!["even".to_owned()], ..filter() };
    for (what, filter) in [("everything", filter()), ("a reader's, by tag", narrow)] {
        let before = cpu_ticks();
        let times = timed(SEARCHES, || query(&store, &filter, random));
        let line = format!("{:.3} / {:.3}", percentile(&times, 50), percentile(&times, 95));
        report(&format!("search of {what}, vector and 6 terms, p50 / p95 ms"), line);
        let cpu = (cpu_ticks() - before) as f64 * 10.0 / SEARCHES as f64;
        report("  processor time of the whole process, mean ms", format!("{cpu:.3}"));
    }
    let size = store.size().unwrap();
    report("index: bytes per passage", size.index_bytes / size.passages);
    report("disk: bytes per memory beyond its text", (size.disk_bytes - content_bytes as u64) / size.memories);
}

fn query(store: &SqliteStore, filter: &Filter, random: &mut Random) {
    let mut terms: Vec<String> = (0..6).map(|_| word(random)).collect();
    terms.sort();
    terms.dedup();
    let vector = QueryVector { model: ModelId::new("speed"), values: unit_vector(random) };
    let found = store.candidates(&CandidateQuery { filter, terms: &terms, vector: Some(&vector), limit: 100 }).unwrap();
    assert!(!found.hits.is_empty());
}

/// A memory of about 40 words, in a vocabulary in which some words are far more common.
fn example(id: &str, random: &mut Random) -> (Memory, Passage) {
    let words: Vec<String> = (0..40).map(|_| word(random)).collect();
    let mut terms: Vec<Term> = Vec::new();
    for text in &words {
        match terms.iter_mut().find(|term| term.text == *text) {
            Some(term) => term.count += 1,
            None => terms.push(Term { text: text.clone(), count: 1 }),
        }
    }
    let tags = vec![if random.chance(50) { "even" } else { "odd" }.to_owned()];
    let memory = Memory { content: words.join(" "), tags, ..memory(id) };
    let vector = quantise(&ModelId::new("speed"), &unit_vector(random));
    let passage = Passage { range: 0..memory.content.len(), terms, vector: Some(vector) };
    (memory, passage)
}

fn word(random: &mut Random) -> String {
    let uniform = f64::from(random.signed_unit().abs());
    format!("word{}", (uniform.powi(3) * VOCABULARY as f64) as usize)
}

fn unit_vector(random: &mut Random) -> Vec<f32> {
    let values: Vec<f32> = (0..DIMENSIONS).map(|_| random.signed_unit()).collect();
    let norm = values.iter().map(|value| value * value).sum::<f32>().sqrt();
    values.into_iter().map(|value| value / norm).collect()
}

fn timed(times: usize, mut work: impl FnMut()) -> Vec<Duration> {
    let mut measured = Vec::with_capacity(times);
    for _ in 0..times {
        let start = Instant::now();
        work();
        measured.push(start.elapsed());
    }
    measured.sort();
    measured
}

fn rate(times: &[Duration]) -> f64 {
    times.len() as f64 / times.iter().sum::<Duration>().as_secs_f64()
}

fn rate_line(times: &[Duration]) -> String {
    format!("{:.0} ({:.3})", rate(times), percentile(times, 50))
}

fn percentile(sorted: &[Duration], percent: usize) -> f64 {
    sorted[(sorted.len() - 1) * percent / 100].as_secs_f64() * 1_000.0
}

fn milliseconds(duration: Duration) -> String {
    format!("{:.2}", duration.as_secs_f64() * 1_000.0)
}

/// Hundredths of a second of processor time that this process has used.
fn cpu_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default();
    fields.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}
