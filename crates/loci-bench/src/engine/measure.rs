//! The measurements, in a process that has done nothing else.

use std::collections::{BTreeSet, HashMap};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use loci::exit::Failure;
use loci::output::{Output, status_line};
use loci::wiring::SystemClock;
use loci_core::{Caller, Store};
use loci_engine::{Engine, Recall, SearchMode};
use loci_store_sqlite::{Options, SqliteStore};
use serde_json::{Value, json};

use super::super::client::resident_bytes;
use super::super::figure::percentile;
use super::super::speed::{cpu_time, milliseconds};
use super::synthetic::{DIMENSION, PreparedModel, Question, Synthetic, id, quantised};

/// The number of measured searches of each kind.
const SEARCHES: usize = 200;
/// The number of questions whose results are compared with the results of an exact scan.
const COMPARED: usize = 20;
/// The number of results of a search.
const RESULTS: usize = 10;
/// The least size of a packed posting in bytes: the passage and the count.
const POSTING_BYTES: usize = 3;
/// The bytes that are summed to measure the memory bandwidth: more than any cache holds.
const SUMMED_BYTES: usize = 256 << 20;
/// The number of such sums, of which the fastest counts.
const SUMS: usize = 5;
/// The kinds of search.
const MODES: [(&str, SearchMode); 3] = [
    ("words and meaning", SearchMode::Hybrid),
    ("meaning", SearchMode::Vector),
    ("words", SearchMode::Words),
];

/// The times of searches of one kind.
struct Searches {
    name: &'static str,
    wall: Vec<f64>,
    cpu: Vec<f64>,
    /// The milliseconds for reading at the memory bandwidth: the data of an exact scan, and of a
    /// scan with one bit for each component.
    limits: [f64; 2],
}

pub fn run(data: &Path, corpus: &Synthetic, output: Output) -> Result<(), Failure> {
    let questions: Vec<Question> = (0..SEARCHES)
        .map(|number| corpus.question(number))
        .collect();
    let model = Arc::new(PreparedModel::new(&questions));
    let before = resident_bytes("self");
    let begun = Instant::now();
    let store: Arc<dyn Store> =
        Arc::new(SqliteStore::open(data, Options::default()).map_err(loci_core::Error::from)?);
    let engine = |mode| {
        Engine::new(
            Arc::clone(&store),
            Arc::<PreparedModel>::clone(&model),
            Arc::new(SystemClock),
            mode,
        )
    };
    search(&engine(SearchMode::Hybrid), &questions[0].text)?;
    let start = milliseconds(begun.elapsed());
    let resident = before
        .zip(resident_bytes("self"))
        .map(|(before, after)| after.saturating_sub(before) as f64 / f64::from(1 << 20));

    status_line("searching …");
    let mut searches = Vec::new();
    for (name, mode) in MODES {
        searches.push(measured(name, &engine(mode), &questions)?);
    }
    status_line("scanning exactly …");
    let recall = recall(&engine(SearchMode::Vector), corpus, &questions)?;
    let bytes_per_millisecond = bandwidth() / 1e3;
    let postings = postings_bytes(corpus, &questions);
    let vectors = corpus.passages() * (DIMENSION + size_of::<f32>());
    let sketches = corpus.passages() * DIMENSION / 8;
    let limit = |bytes: usize| bytes as f64 / bytes_per_millisecond;
    for (searches, bytes) in searches.iter_mut().zip([
        [vectors + postings, sketches + postings],
        [vectors, sketches],
        [postings; 2],
    ]) {
        searches.limits = bytes.map(limit);
    }
    let report = Report {
        searches,
        recall,
        start,
        resident,
        bytes_per_millisecond,
        postings,
    };
    Ok(output.either(&report.value(corpus.passages()), report.text())?)
}

/// The measurements.
struct Report {
    searches: Vec<Searches>,
    /// The recall among the stored vectors, and among those before quantisation.
    recall: [f64; 2],
    /// The milliseconds to the first result.
    start: f64,
    /// The MiB that the index adds.
    resident: Option<f64>,
    bytes_per_millisecond: f64,
    /// The bytes of postings that a question reads.
    postings: usize,
}

impl Report {
    fn value(&self, passages: usize) -> Value {
        json!({
            "suite": "engine",
            "loci": env!("CARGO_PKG_VERSION"),
            "passages": passages,
            "searches": self.searches.iter().map(Searches::value).collect::<Vec<_>>(),
            "recall_at_10_of_stored_vectors": self.recall[0],
            "recall_at_10_of_unquantised_vectors": self.recall[1],
            "start_to_first_result_ms": self.start,
            "index_resident_mib": self.resident,
            "memory_gb_per_second": self.bytes_per_millisecond / 1e6,
            "postings_bytes_of_a_query": self.postings,
        })
    }

    fn text(&self) -> String {
        let mut text = format!("{:20}", "search by, ms");
        for heading in ["CPU p50", "p95", "p99", "wall p50", "p95", "p99"] {
            text += &format!(" {heading:>8}");
        }
        text += &format!(
            " {:>10} {:>6} {:>10} {:>6}\n",
            "exact scan", "ratio", "bit scan", "ratio"
        );
        for searches in &self.searches {
            text += &searches.text();
        }
        text += "exact scan, bit scan: the time in which the memory can be read that such a search reads\n";
        let mut line = |name: &str, value: String| text += &format!("{name:64} {value}\n");
        line(
            "recall@10 by meaning, of an exact scan of the stored vectors",
            format!("{:.3}", self.recall[0]),
        );
        line(
            "recall@10 by meaning, of the vectors before quantisation",
            format!("{:.3}", self.recall[1]),
        );
        line(
            "opening the store and the first result",
            format!("{:.1} ms", self.start),
        );
        if let Some(resident) = self.resident {
            line("resident memory of the index", format!("{resident:.1} MiB"));
        }
        line(
            "memory bandwidth of one thread",
            format!("{:.1} GB/s", self.bytes_per_millisecond / 1e6),
        );
        text
    }
}

impl Searches {
    fn value(&self) -> Value {
        let percentiles = |times: &Vec<f64>| json!({"p50": percentile(times, 0.5), "p95": percentile(times, 0.95), "p99": percentile(times, 0.99)});
        json!({
            "by": self.name,
            "cpu_ms": percentiles(&self.cpu),
            "wall_ms": percentiles(&self.wall),
            "exact_scan_ms": self.limits[0],
            "bit_scan_ms": self.limits[1],
        })
    }

    fn text(&self) -> String {
        let mut text = format!("{:20}", self.name);
        for times in [&self.cpu, &self.wall] {
            for share in [0.5, 0.95, 0.99] {
                text += &format!(" {:8.3}", percentile(times, share));
            }
        }
        for limit in self.limits {
            text += &format!(" {limit:10.4} {:6.1}", percentile(&self.cpu, 0.5) / limit);
        }
        text + "\n"
    }
}

/// Returns the ids of the best results.
fn search(engine: &Engine, query: &str) -> Result<Vec<String>, Failure> {
    let recall = Recall::new(query, RESULTS, &|signals| signals.relevance);
    let recalled = engine.system(&Caller::local()).search().recall(&recall)?;
    Ok(recalled
        .hits
        .into_iter()
        .map(|hit| hit.memory.id.to_string())
        .collect())
}

fn measured(
    name: &'static str,
    engine: &Engine,
    questions: &[Question],
) -> Result<Searches, Failure> {
    let mut searches = Searches {
        name,
        wall: Vec::new(),
        cpu: Vec::new(),
        limits: [0.0; 2],
    };
    search(engine, &questions[0].text)?;
    for question in questions {
        let (wall, cpu) = (Instant::now(), cpu_time());
        search(engine, &question.text)?;
        searches.wall.push(milliseconds(wall.elapsed()));
        searches.cpu.extend(
            cpu.zip(cpu_time())
                .map(|(before, after)| milliseconds(after.saturating_sub(before))),
        );
    }
    searches.wall.sort_by(f64::total_cmp);
    searches.cpu.sort_by(f64::total_cmp);
    Ok(searches)
}

/// Returns the share of the nearest passages that a search by meaning finds, among the stored
/// vectors and among those before quantisation.
fn recall(
    engine: &Engine,
    corpus: &Synthetic,
    questions: &[Question],
) -> Result<[f64; 2], Failure> {
    let questions = &questions[..COMPARED.min(questions.len())];
    let mut nearest: Vec<[Nearest; 2]> = questions.iter().map(|_| Default::default()).collect();
    for index in 0..corpus.passages() {
        let vector = corpus.vector(index);
        let (scale, values) = quantised(&vector);
        let stored: Vec<f32> = values
            .iter()
            .map(|value| f32::from(*value) * scale)
            .collect();
        for (question, [of_stored, of_unquantised]) in questions.iter().zip(&mut nearest) {
            of_stored.offer(dot(&question.vector, &stored), index);
            of_unquantised.offer(dot(&question.vector, &vector), index);
        }
    }
    let (mut met, mut all) = ([0_usize; 2], 0_usize);
    for (question, nearest) in questions.iter().zip(&nearest) {
        let found: BTreeSet<String> = search(engine, &question.text)?.into_iter().collect();
        for (met, nearest) in met.iter_mut().zip(nearest) {
            *met += nearest
                .0
                .iter()
                .filter(|(_, index)| found.contains(id(*index).as_str()))
                .count();
        }
        all += nearest[0].0.len();
    }
    Ok(met.map(|met| met as f64 / all.max(1) as f64))
}

/// The nearest passages so far, nearest first.
#[derive(Default)]
struct Nearest(Vec<(f32, usize)>);

impl Nearest {
    fn offer(&mut self, cosine: f32, index: usize) {
        if self.0.len() == RESULTS && self.0.last().is_some_and(|(last, _)| *last >= cosine) {
            return;
        }
        let place = self.0.partition_point(|(other, _)| *other >= cosine);
        self.0.insert(place, (cosine, index));
        self.0.truncate(RESULTS);
    }
}

/// Computes a dot product in lanes, so that the compiler can use vector instructions.
fn dot(left: &[f32], right: &[f32]) -> f32 {
    const LANES: usize = 16;
    let mut sums = [0.0; LANES];
    for (left, right) in left.chunks_exact(LANES).zip(right.chunks_exact(LANES)) {
        for lane in 0..LANES {
            sums[lane] += left[lane] * right[lane];
        }
    }
    sums.iter().sum()
}

/// Returns the mean bytes of the postings that a question reads.
fn postings_bytes(corpus: &Synthetic, questions: &[Question]) -> usize {
    let mut frequencies: HashMap<u32, usize> = questions
        .iter()
        .flat_map(|question| &question.ranks)
        .map(|rank| (*rank, 0))
        .collect();
    for index in 0..corpus.passages() {
        for rank in corpus.ranks(index).into_iter().collect::<BTreeSet<u32>>() {
            frequencies
                .entry(rank)
                .and_modify(|passages| *passages += 1);
        }
    }
    let of = |question: &Question| -> usize {
        question
            .ranks
            .iter()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .map(|rank| frequencies[rank])
            .sum()
    };
    POSTING_BYTES * questions.iter().map(of).sum::<usize>() / questions.len()
}

/// Returns the bytes per second that one thread reads from memory.
fn bandwidth() -> f64 {
    let array = vec![1_u64; SUMMED_BYTES / size_of::<u64>()];
    let sum = |_| {
        let begun = Instant::now();
        black_box(
            black_box(&array)
                .iter()
                .fold(0_u64, |sum, value| sum.wrapping_add(*value)),
        );
        begun.elapsed().as_secs_f64()
    };
    SUMMED_BYTES as f64 / (0..SUMS).map(sum).fold(f64::INFINITY, f64::min)
}
