//! A process that is killed at any moment loses nothing that it acknowledged.
use loci_core::Maintenance;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::thread;

use loci_core::{MemoryId, NoteStore, Store};
use loci_testkit::Random;
use loci_testkit::contract::{filter, memory, passage, put};

use crate::processes::{as_child, start_child, tell_parent};
use crate::{all, open, search};

const ROUNDS: usize = 5;
const ACKNOWLEDGED: &str = "acknowledged ";

#[test]
fn what_a_killed_process_acknowledged_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(20_261_120);
    let mut acknowledged: Vec<MemoryId> = Vec::new();
    for round in 0..ROUNDS {
        let before = acknowledged.len();
        let acknowledgements = 1 + random.below(150);
        acknowledged.extend(kill_after(
            acknowledgements,
            folder.path(),
            &round.to_string(),
        ));
        assert!(acknowledged.len() >= before + acknowledgements);
        let store = open(folder.path());
        let there = all(&store);
        for id in &acknowledged {
            assert!(
                there.contains(id),
                "round {round}: {id} was acknowledged and is lost"
            );
        }
        assert_eq!(
            search(&store, &filter(), "word"),
            there,
            "records and passages are written together"
        );
        assert_eq!(store.structure_check(), Ok(Vec::new()));
    }
}

/// Starts a writing process, kills it after that many acknowledgements, and returns all it gave.
fn kill_after(acknowledgements: usize, folder: &Path, writer: &str) -> Vec<MemoryId> {
    let mut child = start_child("crash::child_that_writes_until_killed", folder, writer);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut acknowledged = Vec::new();
    // The rest of the pipe at the kill is read to the end: it counts, too.
    for line in lines {
        if let Some(id) = line.unwrap().strip_prefix(ACKNOWLEDGED) {
            acknowledged.push(MemoryId::new(id));
            if acknowledged.len() == acknowledgements {
                child.kill().unwrap();
            }
        }
    }
    child.wait().unwrap();
    // The last line may be cut off.
    acknowledged.retain(|id| id.as_str().ends_with('.'));
    acknowledged
}

#[test]
fn child_that_writes_until_killed() {
    let Some((folder, writer)) = as_child() else {
        return;
    };
    let store = open(&folder);
    thread::scope(|scope| {
        for thread in 0..4 {
            let (store, writer) = (&store, &writer);
            scope.spawn(move || {
                for number in 0.. {
                    let written = memory(&format!("{writer}-{thread}-{number}."));
                    let passages = vec![
                        passage("word one"),
                        passage("word two"),
                        passage("word three"),
                    ];
                    let batch = put(&written, passages);
                    // A commit that is not flushed outlives the process, too.
                    let done = if number % 2 == 0 {
                        store.commit(batch)
                    } else {
                        store.commit_rebuildable(batch)
                    };
                    done.unwrap();
                    tell_parent(&format!("{ACKNOWLEDGED}{}", written.id));
                }
            });
        }
    });
}
