//! Measures the memory and the time of searches by words: `cargo bench -p loci-index --bench
//! postings [passages]`.

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::collections::BTreeMap;
use std::time::Duration;

use loci_index::structures::{AdmittedSlots, Bits, Postings, Statistics};

const PASSAGES: u32 = 1_000_000;
/// Words drawn for each passage, of which some may be drawn twice.
const WORDS: u32 = 50;
const VOCABULARY: f64 = 500_000.0;
const QUERIES: usize = 200;
/// The number of groups that a search returns.
const LIMIT: usize = 100;
/// The approximate share of 1,000,000 passages that contain each word of a query, from few to many.
const SHARES: [f64; 6] = [2e-5, 2e-4, 1e-3, 5e-3, 3e-2, 1.5e-1];

fn main() {
    let passages = std::env::args()
        .skip(1)
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(PASSAGES);
    let mut random = Random(1);
    let texts: Vec<Vec<(u32, u32)>> = (0..passages).map(|_| text(&mut random)).collect();
    let words: Vec<String> = (0..VOCABULARY as u32)
        .map(|number| format!("word{number}"))
        .collect();
    let before = resident();
    let mut postings = Postings::default();
    let load = timed(|| {
        for (slot, text) in (0..).zip(&texts) {
            postings.insert(
                slot,
                text.iter()
                    .map(|(word, count)| (words[*word as usize].as_str(), *count)),
            );
        }
    });
    let count: usize = texts.iter().map(Vec::len).sum();
    let each = |bytes: usize| bytes as f64 / count as f64;
    println!("{passages} passages, {count} postings");
    println!(
        "load                  {:.1} ns a posting",
        load.as_secs_f64() * 1e9 / count as f64
    );
    println!(
        "shrink                {:.1} ms",
        milliseconds(timed(|| postings.shrink()))
    );
    println!(
        "memory                {:.2} bytes a posting",
        each(postings.bytes())
    );
    println!(
        "resident              {:.2} bytes a posting",
        each(resident().saturating_sub(before))
    );

    let length = (0..passages)
        .map(|slot| u64::from(postings.length(slot)))
        .sum();
    let queries: Vec<Vec<String>> = (0..QUERIES).map(|_| query(&mut random, &words)).collect();
    let statistics = Statistics::of(passages as usize, length);
    search(&postings, &queries, statistics, AdmittedSlots::All, "all");
    for (name, every) in [("all but few", 1_000), ("half", 2)] {
        let bits: Bits = (0..passages).filter(|slot| slot % every != 0).collect();
        let length = bits
            .iter()
            .map(|slot| u64::from(postings.length(slot)))
            .sum();
        let statistics = Statistics::of(bits.count(), length);
        search(
            &postings,
            &queries,
            statistics,
            AdmittedSlots::Only(&bits),
            name,
        );
    }
    purge(&mut postings, passages);
    insert_again(&mut postings, &texts, &words);
}

fn search(
    postings: &Postings,
    queries: &[Vec<String>],
    statistics: Statistics,
    admitted: AdmittedSlots<'_>,
    name: &str,
) {
    let group = |slot| slot / 2;
    let mut times: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
    for terms in queries {
        let mut found = Vec::new();
        let mut prepared = None;
        let prepare = timed(|| prepared = Some(postings.prepare(terms, statistics, admitted)));
        let Some(query) = prepared else { continue };
        times.entry("prepare").or_default().push(prepare);
        for (kind, limit) in [("pruned", LIMIT), ("exhaustive", usize::MAX)] {
            let time = timed(|| {
                found.push(
                    postings.search(&query, &[], limit, group, |left, right| left.cmp(&right)),
                );
            });
            times.entry(kind).or_default().push(time);
        }
        assert_eq!(found[0], found[1][..found[0].len()]);
    }
    for (kind, mut times) in times {
        times.sort_unstable();
        let (middle, late) = (times[times.len() / 2], times[times.len() * 95 / 100]);
        println!(
            "{name:<11} {kind:<10} {:.3} ms, p95 {:.3} ms",
            milliseconds(middle),
            milliseconds(late)
        );
    }
}

fn purge(postings: &mut Postings, passages: u32) {
    postings.begin_purge((0..passages).filter(|slot| slot % 50 == 7));
    let mut steps = Vec::new();
    let mut freed = None;
    while freed.is_none() {
        steps.push(timed(|| freed = postings.purge_step(20_000)));
    }
    steps.sort_unstable();
    let total: Duration = steps.iter().sum();
    println!(
        "purge of 2 %          {} steps, {:.1} ms",
        steps.len(),
        milliseconds(total)
    );
    println!(
        "one step              {:.3} ms, p95 {:.3} ms, worst {:.3} ms",
        milliseconds(steps[steps.len() / 2]),
        milliseconds(steps[steps.len() * 95 / 100]),
        milliseconds(steps[steps.len() - 1])
    );
}

fn insert_again(postings: &mut Postings, texts: &[Vec<(u32, u32)>], words: &[String]) {
    let slots = || (0..texts.len()).filter(|slot| slot % 50 == 7);
    let time = timed(|| {
        for slot in slots() {
            let terms = texts[slot]
                .iter()
                .map(|(word, count)| (words[*word as usize].as_str(), *count));
            postings.insert(slot as u32, terms);
        }
    });
    let count: usize = slots().map(|slot| texts[slot].len()).sum();
    println!(
        "insert between others {:.1} ns a posting",
        time.as_secs_f64() * 1e9 / count as f64
    );
}

/// Returns distinct words by number, with counts.
fn text(random: &mut Random) -> Vec<(u32, u32)> {
    let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
    for _ in 0..WORDS / 2 + (random.unit() * f64::from(WORDS)) as u32 {
        // Zipf's law: the logarithm of the rank is uniformly distributed.
        *counts
            .entry((VOCABULARY.powf(random.unit()) - 1.0) as u32)
            .or_default() += 1;
    }
    counts.into_iter().collect()
}

fn query(random: &mut Random, words: &[String]) -> Vec<String> {
    let rank = |share: f64, near: f64| {
        // A passage draws the rank so often that this share of the passages contains it.
        let density = f64::from(WORDS) / VOCABULARY.ln();
        (density / share * near) as usize
    };
    let mut terms: Vec<String> = SHARES
        .iter()
        .map(|share| words[rank(*share, 0.7 + 0.6 * random.unit()).min(words.len() - 1)].clone())
        .collect();
    let by = (random.unit() * terms.len() as f64) as usize;
    terms.rotate_left(by);
    terms
}

/// Marsaglia's xorshift generator.
struct Random(u64);

impl Random {
    /// Returns a number from 0 to 1.
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Returns the processor time of the work, which excludes other programs; on systems without such a
/// clock, the elapsed time.
fn timed(work: impl FnOnce()) -> Duration {
    let start = now();
    work();
    now().saturating_sub(start)
}

#[cfg(unix)]
fn now() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(not(unix))]
fn now() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> =
        std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Returns the resident memory of this process in bytes, or 0 if the system does not report it.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    field
        .and_then(|kilobytes| kilobytes.trim().parse::<usize>().ok())
        .map_or(0, |kilobytes| kilobytes * 1_024)
}
