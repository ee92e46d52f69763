//! `loci-bench speed`: measures start, write, search and memory against the goals.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use loci::exit::{Exit, Failure};
use loci::output::{Output, status_line};
use loci::wiring::SystemClock;
use loci_core::{Caller, Embedder, Store};
use loci_dialects::mememory;
use loci_embed::LocalModel;
use loci_engine::{Engine, Recall, SearchMode};
use loci_store_sqlite::{Options, SqliteStore};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::Client;
use super::corpus::{NoCostModel, Random, memory};
use super::figure::{self, Figure};
use super::laboratory::weights;

/// The number of measured starts of a process.
const STARTS: usize = 20;
/// The number of measured writes, one after the other.
const WRITES: usize = 200;
/// The number of writes of one kind before the other kind.
const WRITE_BLOCK: usize = 20;
/// The number of concurrent writers.
const WRITERS: usize = 16;
/// The number of writes of each kind.
const WRITES_EACH: usize = 50;
/// The number of measured searches.
const SEARCHES: usize = 300;
/// The number of idle processes beside the one whose memory is measured.
const OTHERS: usize = 4;
/// The number of queries whose embedding is measured.
const EMBEDDINGS: usize = 50;
/// The number of short texts that are embedded in one call.
const FACTS: usize = 512;
/// The number of words of a query.
const QUERY_WORDS: usize = 6;

pub fn run(
    folder: Option<&Path>,
    memories: usize,
    without: &[String],
    output: Output,
) -> Result<(), Failure> {
    let weights = weights(without)?;
    let folder = folder_in(folder)?;
    let data = folder.path().join("data");
    let engine = engine(&data)?.with_weights(weights);
    status_line(format_args!("storing {memories} memories …"));
    let text_bytes = fill(&engine, memories)?;

    let mut figures = vec![disk(&engine, text_bytes)?];
    status_line("searching …");
    figures.extend(searches(&engine, memories)?);
    status_line("starting processes …");
    figures.extend(
        starts(&data, memories).map_err(|error| Failure::new(Exit::Failure, error.to_string()))?,
    );
    status_line("embedding …");
    figures.extend(embeddings()?);
    status_line("writing …");
    figures.extend(writes(&engine, folder.path())?);
    figures.push(writers(&engine)?);

    figure::print(&figures, output)
}

/// Makes a folder that is deleted at the end of the run.
pub fn folder_in(parent: Option<&Path>) -> Result<TempDir, Failure> {
    let parent = parent.map_or_else(std::env::temp_dir, Path::to_owned);
    tempfile::tempdir_in(&parent).map_err(|error| {
        let problem = format!(
            "no folder can be made in {}: {error}; choose another with --in",
            parent.display()
        );
        Failure::new(Exit::Failure, problem)
    })
}

pub fn engine(data: &Path) -> Result<Engine, Failure> {
    let store = SqliteStore::open(data, Options::default()).map_err(loci_core::Error::from)?;
    let store: Arc<dyn Store> = Arc::new(store);
    Ok(Engine::new(
        store,
        Arc::new(NoCostModel::new()),
        Arc::new(SystemClock),
        SearchMode::Hybrid,
    ))
}

/// Stores that many memories; returns the bytes of their texts.
fn fill(engine: &Engine, memories: usize) -> Result<usize, Failure> {
    let store = |writer: usize| {
        let mut random = Random(writer as u64);
        let mut bytes = 0;
        for _ in (writer..memories).step_by(WRITERS) {
            let stored = engine
                .system(&Caller::local())
                .memories()
                .remember(memory(&mut random))?;
            bytes += stored.memory.content.len();
        }
        Ok(bytes)
    };
    side_by_side(WRITERS, store).map(|bytes| bytes.into_iter().sum())
}

/// Runs the work for each of `0..count` on its own thread.
pub fn side_by_side<T: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<T, loci_core::Error> + Sync,
) -> Result<Vec<T>, Failure> {
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..count)
            .map(|number| scope.spawn(move || work(number)))
            .collect();
        let join = |thread: thread::ScopedJoinHandle<'_, Result<T, loci_core::Error>>| match thread
            .join()
        {
            Ok(outcome) => outcome.map_err(Failure::from),
            Err(_) => Err(Failure::new(
                Exit::Failure,
                "a thread of the benchmark panicked",
            )),
        };
        threads.into_iter().map(join).collect()
    })
}

fn disk(engine: &Engine, text_bytes: usize) -> Result<Figure, Failure> {
    let size = engine.size()?;
    let beyond =
        size.disk_bytes.saturating_sub(text_bytes as u64) as f64 / size.memories.max(1) as f64;
    Ok(Figure::one(
        "disk, per memory beyond its text",
        beyond,
        "bytes",
        "2048",
    ))
}

/// Measures the CPU time of searches with a free embedding.
pub fn searches(engine: &Engine, memories: usize) -> Result<Vec<Figure>, Failure> {
    let mut random = Random(u64::MAX);
    let mut search = || {
        let query = random.words(QUERY_WORDS);
        let recall = Recall::new(&query, 5, &mememory::score);
        let (wall, cpu) = (Instant::now(), cpu_time());
        engine.system(&Caller::local()).search().recall(&recall)?;
        Ok::<_, Failure>((
            milliseconds(wall.elapsed()),
            cpu.zip(cpu_time())
                .map(|(before, after)| milliseconds(after.saturating_sub(before))),
        ))
    };
    let (first, _) = search()?;
    let mut wall = Vec::with_capacity(SEARCHES);
    let mut cpu = Vec::with_capacity(SEARCHES);
    for _ in 0..SEARCHES {
        let (wall_ms, cpu_ms) = search()?;
        wall.push(wall_ms);
        cpu.extend(cpu_ms);
    }
    let mut figures = vec![
        Figure::one(
            format!("recall in {memories}, the first, which loads the index"),
            first,
            "ms",
            "",
        ),
        Figure::many(
            format!("recall in {memories} without embedding, elapsed"),
            wall,
            "ms",
            "",
        ),
    ];
    if !cpu.is_empty() {
        figures.push(Figure::many(
            format!("recall in {memories} without embedding, CPU"),
            cpu,
            "ms",
            "0.3",
        ));
    }
    Ok(figures)
}

/// Returns the CPU time of all threads of this process.
#[cfg(unix)]
pub fn cpu_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).ok()
}

#[cfg(not(unix))]
pub fn cpu_time() -> Option<Duration> {
    None
}

pub fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Measures the time to the first reply of processes, and their memory.
fn starts(data: &Path, memories: usize) -> std::io::Result<Vec<Figure>> {
    let list = json!({});
    let question = json!({"name": "recall", "arguments": {"query": Random(1).words(QUERY_WORDS)}});
    let until_answer = |search: &str, method: &str, params: &Value| -> std::io::Result<Vec<f64>> {
        let answer = |_| {
            let begin = Instant::now();
            let mut client = Client::start(data, search)?;
            client.request(1, method, params)?;
            // Before the client is dropped, which waits for the end of the process.
            Ok(milliseconds(begin.elapsed()))
        };
        (0..STARTS).map(answer).collect()
    };
    let lists = until_answer("hybrid", "tools/list", &list)?;
    let searches = until_answer("words", "tools/call", &question)?;
    let mut figures = vec![
        Figure::many(
            format!("process start to tools/list, {memories} stored"),
            lists,
            "ms",
            "10",
        ),
        Figure::many(
            format!("process start to first search (words), {memories}"),
            searches,
            "ms",
            "100",
        ),
    ];
    let mut client = Client::start(data, "hybrid")?;
    client.request(1, "tools/list", &list)?;
    let mut add = |name: String, goal, bytes: Option<u64>| {
        let figure = |bytes: u64| Figure::one(name, bytes as f64 / f64::from(1 << 20), "MiB", goal);
        figures.extend(bytes.map(figure));
    };
    add(
        "resident memory, idle".to_owned(),
        "15",
        client.resident_bytes(),
    );
    let other = |_| {
        let mut other = Client::start(data, "hybrid")?;
        other.request(1, "tools/list", &list).map(|_| other)
    };
    let others = (0..OTHERS)
        .map(other)
        .collect::<std::io::Result<Vec<_>>>()?;
    add(
        format!("proportional memory, idle beside {OTHERS} others"),
        "15",
        client.proportional_bytes(),
    );
    drop(others);
    client.request(2, "tools/call", &question)?;
    add(
        format!("resident memory, model and {memories} memories loaded"),
        "110",
        client.resident_bytes(),
    );
    Ok(figures)
}

/// Measures a query by itself, and short facts in one call.
fn embeddings() -> Result<[Figure; 2], Failure> {
    let model = LocalModel::bundled();
    let queries = [
        "When did we decide to move the deploy to Fridays?",
        "which database does the billing service use",
        "How does Anna like her code reviewed?",
        "error E0502 cannot borrow as mutable",
        "What is the name of the staging server?",
    ];
    model.embed(&queries)?;
    let mut times = Vec::new();
    for query in queries.iter().cycle().take(EMBEDDINGS) {
        let begin = Instant::now();
        model.embed(&[query])?;
        times.push(milliseconds(begin.elapsed()));
    }
    let query = Figure::many("embedding of a query", times, "ms", "10");
    let facts: Vec<String> = (0..FACTS)
        .map(|number| format!("The team of service {number} moved to a cluster in Lisbon"))
        .collect();
    let facts: Vec<&str> = facts.iter().map(String::as_str).collect();
    let begin = Instant::now();
    model.embed(&facts)?;
    let per_second = FACTS as f64 / begin.elapsed().as_secs_f64();
    let facts = Figure::one("short facts embedded in one call", per_second, "/s", "");
    Ok([query, facts])
}

/// Measures durable writes, and the device's own time in the same run.
fn writes(engine: &Engine, folder: &Path) -> Result<Vec<Figure>, Failure> {
    let mut random = Random(1 << 32);
    let (mut stored, mut flushed) = (Vec::new(), Vec::new());
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(folder.join("flush"))?;
    // In blocks, because a flush of one file also writes the journal entries of another.
    for _ in 0..WRITES / WRITE_BLOCK {
        for _ in 0..WRITE_BLOCK {
            let request = memory(&mut random);
            let begin = Instant::now();
            engine
                .system(&Caller::local())
                .memories()
                .remember(request)?;
            stored.push(milliseconds(begin.elapsed()));
        }
        for _ in 0..WRITE_BLOCK {
            let begin = Instant::now();
            file.write_all(&[0; 4_096])?;
            file.sync_data()?;
            flushed.push(milliseconds(begin.elapsed()));
        }
    }
    let stored = Figure::many("durable remember without embedding", stored, "ms", "");
    let flushed = Figure::many(
        "the device's own append and flush of 4 KiB",
        flushed,
        "ms",
        "",
    );
    let beyond = Figure::one(
        "durable remember beyond the device's own",
        stored.p50 - flushed.p50,
        "ms",
        "0.2",
    );
    Ok(vec![stored, flushed, beyond])
}

/// Measures the throughput of several writers relative to one.
fn writers(engine: &Engine) -> Result<Figure, Failure> {
    let rate = |writers: usize, writes: usize, seed: u64| {
        let requests = |writer: usize| {
            let mut random = Random(seed + writer as u64);
            (0..writes).map(|_| memory(&mut random)).collect::<Vec<_>>()
        };
        let requests: Vec<_> = (0..writers).map(requests).collect();
        let begin = Instant::now();
        side_by_side(writers, |writer| {
            let mut requests = requests[writer].iter().cloned();
            requests.try_for_each(|request| {
                engine
                    .system(&Caller::local())
                    .memories()
                    .remember(request)
                    .map(|_| ())
            })
        })?;
        Ok::<_, Failure>((writers * writes) as f64 / begin.elapsed().as_secs_f64())
    };
    let one = rate(1, WRITES, 1 << 33)?;
    let many = rate(WRITERS, WRITES_EACH, 1 << 34)?;
    let name = format!("{WRITERS} writers: {many:.0}/s against {one:.0}/s of one");
    Ok(Figure::one(name, many / one, "times", "5"))
}
