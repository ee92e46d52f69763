//! Random operations from many seeds, compared with the naive store.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use loci_testkit::contract::{Subject, agrees_with_the_naive_store};

use crate::Schemas;

/// The variable with the number of seeds, for longer runs.
const SEEDS_VARIABLE: &str = "LOCI_TEST_SEEDS";
const SEEDS: u64 = 25;
/// The promises of every store take more steps from few seeds; these are others.
const FIRST_SEED: u64 = 1_000;
const STEPS: usize = 12;
const THREADS: usize = 4;

#[test]
fn many_seeds_agree_with_the_naive_store() {
    let seeds = std::env::var(SEEDS_VARIABLE).map_or(SEEDS, |number| number.parse().unwrap());
    let next = AtomicU64::new(0);
    let schemas = Schemas::default();
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds {
                return;
            }
            let subject = Subject::ALL[seed as usize % Subject::ALL.len()];
            agrees_with_the_naive_store(&schemas.open(), subject, FIRST_SEED + seed, STEPS);
        }
    };
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(work);
        }
    });
}
