//! Measures the store on the disk of a folder: `cargo bench -p loci-store-sqlite --bench store --
//! [FOLDER [PART [MEMORIES]]]` (default: the folder for temporary files; choose one on a real
//! disk). Parts are `writes`, `bulk`, `searches`, `waits`, `doctor` and `palace`; without one, all
//! are measured.
//!
//! Disks differ and share their time with others, so read the ratios: each commit rate stands
//! beside that of the bare device in the same run.

#![expect(clippy::unwrap_used, reason = "a measurement that fails may panic")]
#![expect(clippy::print_stdout, reason = "its output is what it is for")]

#[path = "store/palace.rs"]
mod palace;
use loci_core::Maintenance;

use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use loci_core::{
    AuditEntry, AuditStore, Batch, CacheEntry, CacheStore, CandidateQuery, Filter, Memory,
    MemoryId, ModelId, Partition, Passage, QueryVector, Space, Store, Superseded, Sweep, Term,
    Thread, Timestamp,
};
use loci_store_sqlite::{Options, SqliteStore};
use loci_testkit::contract::{filter, memory, put, reader, sweep_of_expired};
use loci_testkit::{Random, quantise};

const COMMITS: usize = 2_000;
const WRITERS: usize = 16;
const BULK: usize = 20_000;
const BULK_COMMITS: [usize; 2] = [100, 2_000];
const MEMORIES: [usize; 2] = [10_000, 100_000];
const DRAWERS: usize = 50_000;
const THREAD_LENGTH: u64 = 20;
const SEARCHES: usize = 500;
const SWEPT: usize = 5_000;
const SWEEP_BATCHES: [usize; 2] = [64, 256];
/// Memories of about 1 MiB, and the passages of one.
const LARGE: usize = 64;
const LARGE_PASSAGES: usize = 1_300;
const LARGE_PASSAGE_WORDS: usize = 100;
const ANSWERS: usize = 400;
const ANSWER_BYTES: usize = 256 << 10;
const DIMENSIONS: usize = 384;
const VOCABULARY: usize = 8_000;

fn main() {
    // `cargo bench` adds `--bench`.
    let mut arguments = std::env::args_os()
        .skip(1)
        .filter(|argument| argument != "--bench");
    let parent = arguments
        .next()
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let part = arguments.next();
    if part.as_ref().is_some_and(|part| part == FIRST_RESULT) {
        return first_result(&parent);
    }
    let memories = arguments
        .next()
        .map(|number| number.to_str().unwrap().parse().unwrap());
    let is_chosen = |name: &str| part.as_ref().is_none_or(|part| part == name);
    let folder = tempfile::tempdir_in(parent).unwrap();
    let mut random = Random::new(1);
    if is_chosen("writes") {
        writes(folder.path(), &mut random);
    }
    if is_chosen("bulk") {
        bulk(folder.path(), &mut random);
    }
    if is_chosen("searches") {
        for memories in memories.map_or(MEMORIES.to_vec(), |memories| vec![memories]) {
            searches(
                &folder.path().join(memories.to_string()),
                memories,
                &mut random,
            );
        }
    }
    if is_chosen("waits") {
        waits(folder.path(), &mut random);
    }
    if is_chosen("doctor") {
        for memories in memories.map_or(MEMORIES.to_vec(), |memories| vec![memories]) {
            checks(
                &folder.path().join(format!("doctor-{memories}")),
                memories,
                &mut random,
            );
        }
    }
    if is_chosen("palace") {
        palace::measure(folder.path(), memories.unwrap_or(DRAWERS), &mut random);
    }
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
    let mut batches: Vec<_> = (0..COMMITS)
        .map(|number| example(&format!("one-{number}"), random))
        .collect();
    let one = timed(COMMITS, || {
        let (memory, passage) = batches.pop().unwrap();
        store.commit(put(&memory, vec![passage])).unwrap();
    });
    let batches: Vec<Vec<_>> = (0..WRITERS)
        .map(|writer| {
            (0..COMMITS / 4)
                .map(|number| example(&format!("{writer}-{number}"), random))
                .collect()
        })
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
    report(
        "device: append and fdatasync, per second (p50 ms)",
        rate_line(&device),
    );
    report("one writer: commits per second (p50 ms)", rate_line(&one));
    let extra = percentile(&one, 50) - percentile(&device, 50);
    report(
        "one writer: p50 beyond the device's, ms",
        format!("{extra:.3}"),
    );
    report("16 writers: commits per second", format!("{many:.0}"));
    report("16 writers to one", format!("{:.1}", many / rate(&one)));
}

/// Times a look for damage, beside a copy of the database, which reads it once.
fn checks(folder: &Path, memories: usize, random: &mut Random) {
    let store = SqliteStore::open(folder, Options::default()).unwrap();
    for begin in (0..memories).step_by(BULK_COMMITS[1]) {
        let end = memories.min(begin + BULK_COMMITS[1]);
        let changes = (begin..end).flat_map(|number| {
            let (memory, passage) = example(&number.to_string(), random);
            put(&memory, vec![passage]).changes
        });
        store
            .commit(Batch::new(Space::default(), changes.collect()))
            .unwrap();
    }
    // The words that the texts give.
    store.reindex(false).unwrap();
    let seconds = |work: &dyn Fn()| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    let copy = seconds(&|| {
        let file = tempfile::NamedTempFile::new_in(folder).unwrap();
        store.snapshot().unwrap().copy_to(file.path()).unwrap();
    });
    let structure = seconds(&|| assert_eq!(store.structure_check(), Ok(Vec::new())));
    let whole = seconds(&|| assert_eq!(store.integrity_check(), Ok(Vec::new())));
    report(
        &format!("{memories} memories: copy of the database, s"),
        format!("{copy:.2}"),
    );
    report(
        "check without words, s (to one copy)",
        format!("{structure:.2} ({:.1})", structure / copy),
    );
    report(
        "check of everything, s (to one copy)",
        format!("{whole:.2} ({:.1})", whole / copy),
    );
}

/// The longest wait of a write while a large memory is removed.
fn waits(folder: &Path, random: &mut Random) {
    let now = filter().live_at;
    let sweep = Sweep {
        audited_before: now.plus_seconds(1),
        ..sweep_of_expired(now)
    };
    for batch in SWEEP_BATCHES {
        let store =
            SqliteStore::open(&folder.join(format!("sweep{batch}")), Options::default()).unwrap();
        fill(&store, SWEPT, Some(now), random);
        store.append_audit(&vec![audit_entry(now); SWEPT]).unwrap();
        beside(
            &format!("a sweep in batches of {batch}"),
            &store,
            random,
            || {
                while store.sweep(&Partition::Whole, &sweep, batch).unwrap() > 0 {}
            },
        );
    }
    let store = SqliteStore::open(&folder.join("large"), Options::default()).unwrap();
    let (texts, passages): (Vec<_>, Vec<_>) = (0..LARGE_PASSAGES)
        .map(|_| text(LARGE_PASSAGE_WORDS, random))
        .unzip();
    for number in 0..LARGE {
        let large = Memory {
            expires_at: Some(now),
            content: texts.join(" "),
            ..memory(&format!("large-{number}"))
        };
        store.commit(put(&large, passages.clone())).unwrap();
    }
    beside("a sweep of memories of 1 MiB", &store, random, || {
        while store.sweep(&Partition::Whole, &sweep, 64).unwrap() > 0 {}
    });
    let space = Space::default();
    let ids: Vec<_> = (0..ANSWERS)
        .map(|number| MemoryId::new(format!("answer-{number}")))
        .collect();
    for id in &ids {
        store.put_cache_entry(&answer(id, now), 0).unwrap();
    }
    beside("a deletion of answers of 256 KiB", &store, random, || {
        assert_eq!(
            store.delete_cache_entries(&space, "ann", &ids),
            Ok(ANSWERS as u64)
        );
    });
    fill(&store, SWEPT, None, random);
    beside("soft deletions of 256", &store, random, || {
        while store.soft_delete(&filter(), None, now, 256).unwrap() == 256 {}
    });
}

/// Times a small write while that work is done, and by itself.
fn beside(what: &str, store: &SqliteStore, random: &mut Random, work: impl FnOnce() + Send) {
    let mut number = 0;
    let mut write = || {
        let (memory, passage) = example(&format!("{what} {number}"), random);
        number += 1;
        let start = Instant::now();
        store.commit(put(&memory, vec![passage])).unwrap();
        start.elapsed()
    };
    let mut alone: Vec<_> = (0..COMMITS / 4).map(|_| write()).collect();
    let (mut beside, seconds) = thread::scope(|scope| {
        let start = Instant::now();
        let worker = scope.spawn(move || {
            work();
            start.elapsed().as_secs_f64()
        });
        let mut beside = Vec::new();
        while !worker.is_finished() {
            beside.push(write());
        }
        (beside, worker.join().unwrap())
    });
    let line = |times: &mut Vec<Duration>| {
        times.sort();
        format!(
            "{:.3} / {:.3} / {:.3}",
            percentile(times, 50),
            percentile(times, 99),
            percentile(times, 100)
        )
    };
    report("a write alone: p50 / p99 / longest ms", line(&mut alone));
    report(&format!("beside {what}, ms"), line(&mut beside));
    report("  seconds that this took", format!("{seconds:.2}"));
}

fn audit_entry(at: Timestamp) -> AuditEntry {
    AuditEntry {
        space: Space::default(),
        at,
        user: Some("ann".to_owned()),
        caller: None,
        client: None,
        session: None,
        dialect: "dialect".to_owned(),
        tool: "recall".to_owned(),
        operation: "memory:read".to_owned(),
        duration_microseconds: 1,
        query: Some("a query of some words".to_owned()),
        results: Some(1),
        reply_tokens: None,
        failure: None,
        records: Vec::new(),
        further_records: 0,
        further_stored: 0,
    }
}

fn answer(id: &MemoryId, now: Timestamp) -> CacheEntry {
    CacheEntry {
        space: Space::default(),
        id: id.clone(),
        owner: "ann".to_owned(),
        query: id.to_string(),
        response: "x".repeat(ANSWER_BYTES),
        vector: None,
        created_at: now,
        expires_at: now.plus_seconds(3_600),
    }
}

/// Stores that many memories, in batches of 100; returns the bytes of their texts.
fn fill(
    store: &SqliteStore,
    memories: usize,
    expires_at: Option<Timestamp>,
    random: &mut Random,
) -> usize {
    let mut content_bytes = 0;
    for block in 0..memories / 100 {
        let mut changes = Vec::new();
        for number in 0..100 {
            let (memory, passage) = example(&format!("{block:04}-{number:04}"), random);
            content_bytes += memory.content.len();
            changes.extend(
                put(
                    &Memory {
                        expires_at,
                        ..memory
                    },
                    vec![passage],
                )
                .changes,
            );
        }
        store.commit(Batch::new(Space::default(), changes)).unwrap();
    }
    content_bytes
}

/// Many memories that wait for their vectors, in large commits; and what a search then has to catch
/// up with.
fn bulk(folder: &Path, random: &mut Random) {
    for per_commit in BULK_COMMITS {
        let store = SqliteStore::open(
            &folder.join(format!("bulk{per_commit}")),
            Options::default(),
        )
        .unwrap();
        query(&store, &filter(), false, random);
        let mut batches = Vec::new();
        for block in 0..BULK / per_commit {
            let mut changes = Vec::new();
            for number in 0..per_commit {
                let (memory, passage) = example(&format!("{block:04}-{number:04}"), random);
                changes.extend(
                    put(
                        &memory,
                        vec![Passage {
                            vector: None,
                            ..passage
                        }],
                    )
                    .changes,
                );
            }
            batches.push(Batch::new(Space::default(), changes));
        }
        let start = Instant::now();
        for batch in batches {
            store.commit(batch).unwrap();
        }
        let rate = BULK as f64 / start.elapsed().as_secs_f64();
        report(
            &format!("bulk, {per_commit} in a commit: memories per second"),
            format!("{rate:.0}"),
        );
        let start = Instant::now();
        query(&store, &filter(), false, random);
        report(
            &format!("  the search after {BULK}: ms"),
            milliseconds(start.elapsed()),
        );
    }
}

fn searches(folder: &Path, memories: usize, random: &mut Random) {
    // One that writes no segment.
    let options = Options {
        segment_min: usize::MAX,
        ..Options::default()
    };
    let store = SqliteStore::open(folder, options.clone()).unwrap();
    let start = Instant::now();
    let content_bytes = fill(&store, memories, None, random);
    let rate = memories as f64 / start.elapsed().as_secs_f64();
    report(
        &format!("{memories} memories with vectors: per second"),
        format!("{rate:.0}"),
    );
    drop(store);
    println!("the index from the tables, in memory:");
    first_results(folder);
    let store = SqliteStore::open(folder, options.clone()).unwrap();
    warm_searches(&store, random);
    report(
        "index: bytes per passage",
        store.size().unwrap().index_bytes / store.size().unwrap().passages,
    );
    drop(store);
    println!("the index in a segment:");
    let writer = SqliteStore::open(
        folder,
        Options {
            segment_min: 0,
            ..options.clone()
        },
    )
    .unwrap();
    query(&writer, &filter(), false, random);
    let start = Instant::now();
    assert_eq!(writer.write_segment(), Ok(true));
    report("writing it, ms", milliseconds(start.elapsed()));
    drop(writer);
    let length = folder
        .join("index")
        .join("segment")
        .metadata()
        .unwrap()
        .len();
    report("it: MB", length >> 20);
    first_results(folder);
    let store = SqliteStore::open(folder, options).unwrap();
    warm_searches(&store, random);
    let (memory, passage) = example("one more", random);
    store.commit(put(&memory, vec![passage])).unwrap();
    let start = Instant::now();
    query(&store, &filter(), false, random);
    report("search after one write, ms", milliseconds(start.elapsed()));
    let size = store.size().unwrap();
    report(
        "in memory beside it: bytes per passage",
        size.index_bytes / size.passages,
    );
    report(
        "disk: bytes per memory beyond its text",
        (size.disk_bytes - content_bytes as u64) / size.memories,
    );
}

/// Times processes of their own.
fn first_results(folder: &Path) {
    for _ in 0..3 {
        let this = std::env::current_exe().unwrap();
        let start = Instant::now();
        let child = Command::new(this)
            .arg(folder)
            .arg(FIRST_RESULT)
            .output()
            .unwrap();
        let line = String::from_utf8(child.stdout).unwrap();
        report(
            "process start to its end, with one search: ms",
            milliseconds(start.elapsed()),
        );
        report(
            "  of that: open / search ms, processor ms, MB resident / its own",
            line.trim(),
        );
    }
}

fn warm_searches(store: &SqliteStore, random: &mut Random) {
    query(store, &filter(), false, random);
    let narrow = Filter {
        reader: reader(Some("ann")),
        superseded: Superseded::Hide,
        tags: vec!["even".to_owned()],
        ..filter()
    };
    let rows = [
        ("everything", filter(), false),
        ("everything, with context", filter(), true),
        ("a reader's, by tag", narrow.clone(), false),
        ("a reader's, by tag, with context", narrow, true),
    ];
    for (what, filter, with_context) in rows {
        let before = cpu_ticks();
        let times = timed(SEARCHES, || query(store, &filter, with_context, random));
        let line = format!(
            "{:.3} / {:.3}",
            percentile(&times, 50),
            percentile(&times, 95)
        );
        report(&format!("search of {what}, p50 / p95 ms"), line);
        let cpu = (cpu_ticks() - before) as f64 * 10.0 / SEARCHES as f64;
        report(
            "  processor time of the whole process, mean ms",
            format!("{cpu:.3}"),
        );
    }
}

/// The part that a process of its own does: to open a store and to search it once.
const FIRST_RESULT: &str = "first-result";

fn first_result(folder: &Path) {
    let start = Instant::now();
    let store = SqliteStore::open(
        folder,
        Options {
            segment_min: usize::MAX,
            ..Options::default()
        },
    )
    .unwrap();
    let opened = start.elapsed();
    let start = Instant::now();
    query(&store, &filter(), false, &mut Random::new(1));
    let searched = start.elapsed();
    let (opened, searched) = (milliseconds(opened), milliseconds(searched));
    let (resident, own) = (resident_megabytes(), own_megabytes());
    println!(
        "{opened} / {searched}, {}, {resident} / {own}",
        cpu_ticks() * 10
    );
}

/// Six words and a vector.
fn query(store: &SqliteStore, filter: &Filter, with_context: bool, random: &mut Random) {
    let mut terms: Vec<String> = (0..6).map(|_| word(random)).collect();
    terms.sort();
    terms.dedup();
    let vector = QueryVector {
        model: ModelId::new("speed"),
        values: unit_vector(random),
    };
    let query = CandidateQuery {
        terms: &terms,
        vector: Some(&vector),
        with_context,
        ..CandidateQuery::of(filter, 100)
    };
    let found = store.candidates(&query).unwrap();
    assert_eq!(found.hits.is_empty(), found.passages == 0);
}

/// A memory of about 40 words.
fn example(id: &str, random: &mut Random) -> (Memory, Passage) {
    let (content, passage) = text(40, random);
    let tags = vec![if random.chance(50) { "even" } else { "odd" }.to_owned()];
    let number: String = id.chars().filter(char::is_ascii_digit).collect();
    let number = number.parse::<u64>().unwrap_or(0);
    let thread = Thread {
        name: format!("talk {}", number / THREAD_LENGTH),
        position: number % THREAD_LENGTH,
    };
    (
        Memory {
            content,
            tags,
            thread: Some(thread),
            ..memory(id)
        },
        passage,
    )
}

/// A text of that many words, in a vocabulary in which some words are far more common, and its only
/// passage.
fn text(words: usize, random: &mut Random) -> (String, Passage) {
    let words: Vec<String> = (0..words).map(|_| word(random)).collect();
    let mut terms: Vec<Term> = Vec::new();
    for text in &words {
        match terms.iter_mut().find(|term| term.text == *text) {
            Some(term) => term.count += 1,
            None => terms.push(Term {
                text: text.clone(),
                count: 1,
            }),
        }
    }
    let text = words.join(" ");
    let vector = quantise(&ModelId::new("speed"), &unit_vector(random));
    let passage = Passage {
        range: 0..text.len(),
        terms,
        vector: Some(vector),
    };
    (text, passage)
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
    fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|ticks| ticks.parse::<u64>().ok())
        .sum()
}

/// Megabytes of this process that are in memory.
/// Memory that is shared with no other process, and backed by no file.
fn own_megabytes() -> usize {
    let sums = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let kilobytes = |line: &str| line.split_whitespace().nth(1)?.parse::<usize>().ok();
    sums.lines()
        .filter(|line| line.starts_with("Anonymous:"))
        .filter_map(kilobytes)
        .sum::<usize>()
        / 1_024
}

fn resident_megabytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok())
        .map_or(0, |kilobytes| kilobytes / 1_024)
}
