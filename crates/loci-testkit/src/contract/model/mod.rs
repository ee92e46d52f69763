//! The model check: a store and the naive one do the same random operations and must give the same
//! answers.
//!
//! A [seed](SEEDS) is a [subject](Subject) and a number. In each step, `Comparison` does one
//! operation on both stores (`operations.rs`, `changes.rs`), compares the results, errors included,
//! then compares the reads of the subject and the whole archive (`reads.rs`). The values come from
//! small ranges (`generator.rs`), so that they collide.

mod agreement;
mod changes;
mod comparison;
mod generator;
mod operations;
mod reads;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use super::store::{MakeStore, StoreAndTokens};
pub use comparison::{Subject, give_the_same_candidates};

/// The seeds that every store repeats, one a line: the subject and the number.
const SEEDS: &str = include_str!("seeds.txt");
/// The variable with a line to repeat in their place.
const SEED_VARIABLE: &str = "LOCI_TEST_SEED";
/// Steps of each seed: at most a few seconds in a debug build of the SQLite store.
const STEPS: usize = 100;

/// Performs `steps` random operations on the empty `store` and on a naive store, and compares the
/// answers after each. The message of a failure names the seed that repeats it.
pub fn agrees_with_the_naive_store(
    store: &dyn StoreAndTokens,
    subject: Subject,
    seed: u64,
    steps: usize,
) {
    let mut comparison = comparison::Comparison::new(store, subject, seed);
    for step in 0..steps {
        let outcome = catch_unwind(AssertUnwindSafe(|| comparison.step()));
        if let Err(panic) = outcome {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let message = text.or(panic.downcast_ref::<&str>().copied());
            let message = message.unwrap_or_default();
            panic!("{subject:?} {seed}, step {step}: {message}");
        }
    }
}

/// Repeats the seeds of a subject, all at once, since a store on a server spends most of the time
/// waiting.
fn repeat(make: MakeStore<'_>, subject: Subject) {
    let seeds = std::env::var(SEED_VARIABLE).unwrap_or_else(|_| SEEDS.to_owned());
    let lines = seeds.lines().filter(|line| !line.starts_with('#'));
    let of_subject = lines.filter_map(|line| line.strip_prefix(subject.name()));
    thread::scope(|scope| {
        for line in of_subject {
            let number = line.split_whitespace().next();
            let seed = number.and_then(|number| number.parse().ok());
            let seed = seed.unwrap_or_else(|| panic!("{line:?} has no number of a seed"));
            scope.spawn(move || agrees_with_the_naive_store(&*make(), subject, seed, STEPS));
        }
    });
}

macro_rules! subjects {
    ($($promise:ident: $subject:ident),+ $(,)?) => {$(
        pub(super) fn $promise(make: MakeStore<'_>) {
            repeat(make, Subject::$subject);
        }
    )+};
}

subjects! {
    memories_agree_with_the_naive_store: Memories,
    notes_agree_with_the_naive_store: Notes,
    graphs_agree_with_the_naive_store: Graph,
    users_agree_with_the_naive_store: Users,
    background_work_agrees_with_the_naive_store: Work,
    archives_agree_with_the_naive_store: Archives,
}
