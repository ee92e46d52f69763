//! The seeds of the fuzz targets, and their simple changes, without a fuzzer.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use std::fs;
use std::path::{Path, PathBuf};

use loci_fuzz::TARGETS;

fn seeds() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds")
}

/// Returns a seed and its changes: cut in half, without its first byte, twice, and with a byte
/// changed at eight places.
fn changes(seed: &[u8]) -> Vec<Vec<u8>> {
    const PLACES: usize = 8;
    let half = seed.len() / 2;
    let mut changes = vec![
        seed.to_vec(),
        seed[..half].to_vec(),
        seed[half..].to_vec(),
        seed.get(1..).unwrap_or_default().to_vec(),
        seed.repeat(2),
    ];
    for place in 0..PLACES.min(seed.len()) {
        let at = place * seed.len() / PLACES.min(seed.len());
        for value in [0, seed[at] ^ 1, b'"', 0xff] {
            let mut changed = seed.to_vec();
            changed[at] = value;
            changes.push(changed);
        }
    }
    changes
}

/// Runs the seeds of a target.
fn hold(target: &str) {
    let (_, run) = TARGETS.iter().find(|(name, _)| *name == target).unwrap();
    let mut files: Vec<_> = fs::read_dir(seeds().join(target))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{target} has seeds");
    for file in files {
        for input in changes(&fs::read(&file).unwrap()) {
            let held = std::panic::catch_unwind(|| run(&input));
            assert!(
                held.is_ok(),
                "{}: {:?}",
                file.display(),
                input.escape_ascii().to_string()
            );
        }
    }
}

macro_rules! targets {
    ($($target:ident)*) => {
        $(
            #[test]
            fn $target() {
                hold(stringify!($target));
            }
        )*

        #[test]
        fn every_target_is_run() {
            let run = [$(stringify!($target)),*];
            assert_eq!(TARGETS.iter().map(|(name, _)| *name).collect::<Vec<_>>(), run);
        }
    };
}

targets! {
    archives
    cursor
    frontmatter
    messages
    orders
    pages
    patterns
    peers
    periods
    pickles
    query
    searches
    sections
    settings
    transcripts
    ttl
}
