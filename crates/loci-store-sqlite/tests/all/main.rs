//! The promises of the store, tried on real files, with other processes, crashes and full disks.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

mod contract;
mod crash;
mod damage;
mod disk;
mod index;
mod jobs;
mod moved;
mod processes;
mod remains;
mod segment;
mod upgraded;

use std::path::Path;

use loci_core::{CandidateQuery, Filter, MemoryId, Page, Store};
use loci_store_sqlite::{Options, SqliteStore};
use loci_testkit::contract::filter;

fn open(folder: &Path) -> SqliteStore {
    SqliteStore::open(folder, Options::default()).unwrap()
}

/// The ids that a search for one word finds, sorted.
fn search(store: &SqliteStore, filter: &Filter, word: &str) -> Vec<MemoryId> {
    let query = CandidateQuery {
        terms: &[word.to_owned()],
        ..CandidateQuery::of(filter, usize::MAX)
    };
    let mut ids: Vec<_> = store
        .candidates(&query)
        .unwrap()
        .hits
        .into_iter()
        .map(|hit| hit.id)
        .collect();
    ids.sort();
    ids
}

/// The ids of all memories of the default space, sorted.
fn all(store: &SqliteStore) -> Vec<MemoryId> {
    let listed = store
        .list(
            &filter(),
            Page {
                offset: 0,
                limit: usize::MAX,
            },
        )
        .unwrap();
    let mut ids: Vec<_> = listed.into_iter().map(|memory| memory.id).collect();
    ids.sort();
    ids
}
