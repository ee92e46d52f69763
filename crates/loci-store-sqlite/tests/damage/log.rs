//! Damages of the write-ahead log.

use std::fs;

use loci_core::{Archived, Batch, Change, Expect, Memory, Store};
use loci_testkit::Random;

use crate::content::{archive, fill, memory, open, passages_of, put};
use crate::trial::{Files, run};
use crate::{is_complete, new_folder};

const HEADER: usize = 32;
const FRAME: usize = 24 + 4_096;

/// The part of the log that a checkpoint has copied into the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Copied {
    Nothing,
    /// A part, because a reader needs the rest as it was.
    Part,
    All,
}

/// A database with commits in its log.
struct Logged {
    database: Vec<u8>,
    log: Vec<u8>,
    index: Vec<u8>,
    /// The records of the store before the first commit and after each, and where each ends in the
    /// log.
    states: Vec<(usize, Vec<Archived>)>,
    /// Up to where the database has them.
    copied: usize,
}

fn logged(copied: Copied) -> Logged {
    let folder = new_folder();
    let before = fill(folder.path());
    let [database, log] = ["loci.db", "loci.db-wal"].map(|name| folder.path().join(name));
    let store = open(folder.path());
    let mut states = vec![(HEADER, before)];
    let other = rusqlite::Connection::open(&database).unwrap();
    for number in 1_000..1_008 {
        let batch = match number % 4 {
            0 => {
                let old = memory(number % 100);
                let memory = Memory {
                    revision: 2,
                    content: format!("changed {number}"),
                    ..old
                };
                let (passages, expect) = (Some(passages_of(&memory, number)), Expect::Revision(1));
                let space = memory.space.clone();
                Batch::new(
                    space,
                    vec![Change::Put {
                        memory: Box::new(memory),
                        passages,
                        expect,
                    }],
                )
            }
            1 => Batch::new(
                memory(number % 100).space,
                vec![Change::Delete {
                    id: memory(number % 100).id,
                    revision: 1,
                }],
            ),
            _ => put(memory(number), number),
        };
        store.commit(batch).unwrap();
        states.push((
            fs::metadata(&log).unwrap().len() as usize,
            archive(&store).unwrap(),
        ));
        if number == 1_004 && copied == Copied::Part {
            other
                .execute_batch("BEGIN; SELECT count(*) FROM sqlite_master")
                .unwrap();
        }
    }
    if copied != Copied::Nothing {
        let passive = rusqlite::Connection::open(&database).unwrap();
        passive
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
            .unwrap();
    }
    let copied = match copied {
        Copied::Nothing => HEADER,
        Copied::Part => states[5].0,
        Copied::All => states[8].0,
    };
    let [database, log, index] = ["loci.db", "loci.db-wal", "loci.db-shm"]
        .map(|name| fs::read(folder.path().join(name)).unwrap());
    drop(store);
    assert_eq!((log.len() - HEADER) % FRAME, 0);
    Logged {
        database,
        log,
        index,
        states,
        copied,
    }
}

#[test]
fn of_a_damaged_log_the_store_has_the_commits_before_the_damage() {
    // As after a kill, and as after a loss of power, or where only two of the three files were
    // copied.
    try_damages(Copied::Nothing, true);
    try_damages(Copied::Nothing, false);
}

/// SQLite lays the pages before the damage over newer ones that a checkpoint had copied.
#[test]
fn pages_of_two_times_are_noticed_and_mended() {
    try_damages(Copied::All, true);
    try_damages(Copied::Part, true);
}

fn try_damages(copied: Copied, has_index: bool) {
    let Logged {
        database,
        log,
        index,
        states,
        copied,
    } = logged(copied);
    let index = if has_index { index } else { Vec::new() };
    let frames = (log.len() - HEADER) / FRAME;
    let mut random = Random::new(9);
    // A damage, where it starts, and whether it is the cut that no one can notice.
    let mut damages: Vec<(String, Vec<u8>, usize, bool)> = Vec::new();
    let mut others = Vec::new();
    let mut flip = |place: usize, random: &mut Random| {
        let mut damaged = log.clone();
        damaged[place] ^= 1 << random.below(8);
        damages.push((
            format!("a bit of byte {place} flipped"),
            damaged,
            place,
            false,
        ));
    };
    (0..HEADER)
        .step_by(if is_complete() { 1 } else { 8 })
        .for_each(|place| flip(place, &mut random));
    for frame in 0..frames {
        let start = HEADER + frame * FRAME;
        // One kind after the other, but of the ends of commits all.
        let is_end = states
            .iter()
            .any(|(end, _)| *end == start + FRAME || *end == start);
        // Nothing tells that a log was longer which a checkpoint copied; see `salvage.rs`.
        let is_cut_tried = copied == HEADER;
        let is_last = frame + 1 == frames;
        let is_chosen =
            is_complete() || frame.is_multiple_of(12) || is_cut_tried && is_end || is_last;
        if !is_chosen {
            continue;
        }
        let has = |kind: usize| is_complete() || is_end || frame % 5 == kind;
        // The last frame says how long the database is.
        let places = if is_complete() || is_last {
            (0..24).collect()
        } else {
            vec![random.below(24)]
        };
        places
            .into_iter()
            .filter(|_| has(0))
            .for_each(|place| flip(start + place, &mut random));
        if has(1) {
            flip(start + 24 + random.below(4_096), &mut random);
        }
        if has(2) {
            let mut damaged = log.clone();
            damaged[start..start + FRAME].fill(0);
            others.push((format!("frame {frame} zeroed"), damaged, start, false));
        }
        if has(3) && is_cut_tried {
            let cut = start + 1 + random.below(FRAME - 1);
            others.push((format!("cut off at {cut}"), log[..cut].to_vec(), cut, false));
        }
        if has(4) && is_cut_tried {
            let is_commit = states.iter().any(|(end, _)| *end == start);
            others.push((
                format!("cut off before frame {frame}"),
                log[..start].to_vec(),
                start,
                is_commit,
            ));
        }
    }
    damages.extend(others);
    for start in (0..log.len()).step_by(if is_complete() { 4_096 } else { 44 * 4_096 }) {
        let mut damaged = log.clone();
        let end = log.len().min(start + 4_096);
        damaged[start..end].fill(0);
        damages.push((
            format!("bytes {start} to {end} zeroed"),
            damaged,
            start,
            false,
        ));
    }
    let folder = new_folder();
    let (mut mixed, mut wrong) = (0, Vec::new());
    let tried = damages.len();
    for (what, damaged, place, _) in damages {
        let outcome = run(
            folder.path(),
            Files {
                database: &database,
                log: &damaged,
                index: &index,
            },
        );
        // Without its header, nothing of a log counts.
        let place = if place < HEADER { 0 } else { place };
        let committed = states
            .iter()
            .rev()
            .find(|(end, _)| *end <= place.max(HEADER) || damaged == log)
            .map(|(_, state)| state);
        let is_state = |records: &Vec<Archived>| states.iter().any(|(_, state)| state == records);
        let all = states.last().map(|(_, state)| state);
        let is_expected = |records: &Vec<Archived>| {
            Some(records) == committed || copied > HEADER && Some(records) == all
        };
        let is_sound = outcome.problems.is_empty();
        let checks = [
            (
                copied > HEADER || is_sound && outcome.archive.as_ref().is_some_and(is_expected),
                "the store has what was committed before",
            ),
            (
                copied > HEADER || is_expected(&outcome.handed_out),
                "salvage hands out what was committed before",
            ),
            (
                !is_sound || outcome.archive.as_ref().is_some_and(is_state),
                "pages of two times are noticed",
            ),
            (
                outcome
                    .fixed
                    .as_ref()
                    .is_none_or(|fixed| fixed.problems.is_empty() && fixed.archive.is_some()),
                "a database with pages of two times is mended",
            ),
        ];
        mixed += usize::from(!is_sound);
        let broken = checks.iter().filter(|(holds, _)| !holds);
        wrong.extend(
            broken.map(|(_, promise)| format!("{what}: {promise}: {:?}", outcome.problems)),
        );
    }
    eprintln!("{tried} damages of a log with {frames} pages: {mixed} left pages of two times");
    assert!(
        wrong.is_empty(),
        "{} are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
