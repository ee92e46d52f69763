//! Measures the cost and the recall of searches by meaning: `cargo bench -p loci-index --bench
//! vectors`. Numbers after `--` are the numbers of vectors to search (10,000, 20,000, 40,000 and
//! 100,000 by default); the name of a file with vectors of 384 32-bit numbers searches those.

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::collections::HashSet;
use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

use loci_index::structures::{Bits, Instructions, Vectors};
use rustix::time::{ClockId, clock_gettime};

const DIMENSIONS: usize = 384;
const QUERIES: usize = 100;
/// The number of queries whose results are compared with the results of the exact scan.
const CHECKED: usize = 50;
const SIZES: [usize; 4] = [10_000, 20_000, 40_000, 100_000];
const TOPICS: usize = 100;
const SUBTOPICS: usize = 2_000;
const DOMINANT: usize = 16;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let bandwidth = bandwidth();
    println!("memory read           {:.1} GB/s", bandwidth / 1e9);
    if arguments.is_empty() {
        for count in SIZES {
            measure(synthetic(count), bandwidth);
        }
    }
    for argument in &arguments {
        match argument.parse() {
            Ok(count) => measure(synthetic(count), bandwidth),
            Err(_) => measure(stored(&std::fs::read(argument)?), bandwidth),
        }
    }
    Ok(())
}

/// Vectors, and queries that are not among them.
struct Corpus {
    vectors: Vectors,
    queries: Vec<Vec<f32>>,
}

fn measure(corpus: Corpus, bandwidth: f64) {
    let Corpus {
        mut vectors,
        queries,
    } = corpus;
    vectors.shrink();
    let count = vectors.len();
    println!("{count} vectors, {:.1} MB", vectors.bytes() as f64 / 1e6);
    let all: Bits = (0..count as u32).collect();
    let sparse: Bits = (0..count as u32).step_by(16).collect();
    for limit in [10, 50] {
        let recall = recall(&vectors, &queries, &all, limit);
        println!("  recall@{limit:<4}         {recall:.4}");
    }
    for instructions in Instructions::all() {
        vectors.use_instructions(instructions);
        for (name, admitted, limit) in [
            ("all", &all, 10),
            ("all", &all, 50),
            ("1 of 16", &sparse, 50),
        ] {
            let times = times(&queries, |query| search(&vectors, query, admitted, limit));
            let (least, p50) = (milliseconds(times[0]), milliseconds(times[times.len() / 2]));
            let read = bytes_read(&vectors, admitted, limit) as f64 / bandwidth * 1e3;
            println!(
                "  {:<9} {name:<8} best {limit:<3} p50 {p50:.3} ms, least {least:.3} ms; {:.1} times the reading of {read:.3} ms",
                instructions.name(),
                p50 / read,
            );
        }
    }
}

fn search(vectors: &Vectors, query: &[f32], admitted: &Bits, limit: usize) -> Vec<(u32, f32)> {
    vectors
        .nearest(
            query,
            admitted,
            limit,
            |slot| slot,
            |left, right| left.cmp(&right),
        )
        .unwrap_or_default()
}

/// Returns the share of the exact scan's top results that a search finds.
fn recall(vectors: &Vectors, queries: &[Vec<f32>], admitted: &Bits, limit: usize) -> f64 {
    let mut right = 0;
    for query in &queries[..CHECKED] {
        let exact: HashSet<u32> = search(vectors, query, admitted, usize::MAX)
            .into_iter()
            .take(limit)
            .map(|(slot, _)| slot)
            .collect();
        right += search(vectors, query, admitted, limit)
            .iter()
            .filter(|(slot, _)| exact.contains(slot))
            .count();
    }
    right as f64 / (CHECKED * limit) as f64
}

/// Returns the bytes that a search must read: rows and scales, or sketches and the rows that they
/// select.
fn bytes_read(vectors: &Vectors, admitted: &Bits, limit: usize) -> usize {
    const ROW: usize = DIMENSIONS + size_of::<f32>();
    if vectors.is_exact(admitted, limit) {
        return admitted.count() * ROW;
    }
    vectors.len() * DIMENSIONS / 8 + Vectors::candidates(limit) * ROW
}

/// Returns the time of each query, in ascending order.
fn times<T>(queries: &[Vec<f32>], work: impl Fn(&[f32]) -> T) -> Vec<Duration> {
    let mut times: Vec<Duration> = queries.iter().map(|query| cost(|| work(query))).collect();
    times.sort_unstable();
    times
}

/// Returns the processor time of this thread, which other programs affect least.
fn cost<T>(work: impl FnOnce() -> T) -> Duration {
    let start = now();
    black_box(work());
    now().saturating_sub(start)
}

fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Returns the bytes per second that one core reads at best from an array larger than any cache.
fn bandwidth() -> f64 {
    let array: Vec<u64> = (0..1 << 26).collect();
    let sum = || {
        black_box(&array)
            .iter()
            .fold(0_u64, |sum, value| sum.wrapping_add(*value))
    };
    let best = (0..20).map(|_| cost(sum)).min().unwrap_or_default();
    size_of_val(array.as_slice()) as f64 / best.as_secs_f64()
}

/// Generates vectors with the structure of sentence embeddings: all share a direction, a few
/// directions dominate, and they cluster around topics and subtopics.
struct Generator {
    state: u64,
    common: Vec<f32>,
    dominant: Vec<Vec<f32>>,
    topics: Vec<Vec<f32>>,
    subtopics: Vec<Vec<f32>>,
}

impl Generator {
    fn new(seed: u64) -> Self {
        let (common, dominant, topics, subtopics) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut new = Generator {
            state: seed,
            common,
            dominant,
            topics,
            subtopics,
        };
        new.common = new.direction();
        new.dominant = (0..DOMINANT).map(|_| new.direction()).collect();
        new.topics = (0..TOPICS).map(|_| new.direction()).collect();
        new.subtopics = (0..SUBTOPICS).map(|_| new.direction()).collect();
        new
    }

    /// SplitMix64: G. Steele, D. Lea and C. Flood, 2014.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a nearly normal number with variance 1: the sum of four uniform numbers of 16 bits.
    fn normal(&mut self) -> f32 {
        let bits = self.next();
        let sum: u32 = (0..4)
            .map(|part| (bits >> (16 * part) & 0xffff) as u32)
            .sum();
        (sum as f32 / 65_535.0 - 2.0) * 1.732
    }

    fn direction(&mut self) -> Vec<f32> {
        unit((0..DIMENSIONS).map(|_| self.normal()).collect())
    }

    fn vector(&mut self) -> Vec<f32> {
        let subtopic = self.next() as usize % SUBTOPICS;
        let mut values: Vec<f32> = self.direction().iter().map(|value| value * 0.65).collect();
        let mut add = |weight: f32, direction: &[f32]| {
            values
                .iter_mut()
                .zip(direction)
                .for_each(|(value, part)| *value += weight * part);
        };
        add(0.3, &self.common);
        add(0.4, &self.topics[subtopic % TOPICS]);
        add(0.5, &self.subtopics[subtopic]);
        let weights: Vec<f32> = (1..=DOMINANT)
            .map(|rank| self.normal() * 0.25 / (rank as f32).sqrt())
            .collect();
        weights
            .iter()
            .zip(&self.dominant)
            .for_each(|(weight, direction)| add(*weight, direction));
        unit(values)
    }
}

fn unit(values: Vec<f32>) -> Vec<f32> {
    let norm = values.iter().map(|value| value * value).sum::<f32>().sqrt();
    values.into_iter().map(|value| value / norm).collect()
}

fn synthetic(count: usize) -> Corpus {
    let mut generator = Generator::new(count as u64);
    let mut vectors = Vectors::new(DIMENSIONS);
    for slot in 0..count as u32 {
        put(&mut vectors, slot, &generator.vector());
    }
    Corpus {
        vectors,
        queries: (0..QUERIES).map(|_| generator.vector()).collect(),
    }
}

/// Reads the vectors of a file, of which some become queries.
fn stored(bytes: &[u8]) -> Corpus {
    let (numbers, _) = bytes.as_chunks::<4>();
    let numbers: Vec<f32> = numbers
        .iter()
        .map(|number| f32::from_le_bytes(*number))
        .collect();
    let rows: Vec<&[f32]> = numbers.chunks_exact(DIMENSIONS).collect();
    let is_query = |place: usize| place.is_multiple_of((rows.len() / QUERIES).max(1));
    let mut corpus = Corpus {
        vectors: Vectors::new(DIMENSIONS),
        queries: Vec::new(),
    };
    for (place, row) in rows.iter().enumerate() {
        if is_query(place) {
            corpus.queries.push(row.to_vec());
        } else {
            put(
                &mut corpus.vectors,
                (place - corpus.queries.len()) as u32,
                row,
            );
        }
    }
    corpus
}

fn put(vectors: &mut Vectors, slot: u32, values: &[f32]) {
    let scale = values
        .iter()
        .fold(0.0_f32, |largest, value| largest.max(value.abs()))
        / 127.0;
    let values: Vec<i8> = values
        .iter()
        .map(|value| (value / scale).round() as i8)
        .collect();
    vectors.set(slot, scale, &values);
}
