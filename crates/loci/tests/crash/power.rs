//! Power cuts: a run is recorded, and its folder rebuilt as a cut at any moment could leave it.

use std::collections::HashMap;

use loci_testkit::Random;
use loci_testkit::crash::{Call, Disk, Ledger, Operation, OperationKind, Survivors, read_log};
use serde_json::Value;

use crate::observe::inspect;
use crate::place::{Budget, DIALECTS, Place, library, report};
use crate::run::{Run, prepare};

/// The number of calls in a recorded run.
const CALLS: usize = 250;
/// The number of moments of each pass over the record that are checked, and of those right after a
/// reply.
const CUTS_PER_PASS: usize = 75;
/// The percentage of cuts after which the store checks all its data, and the whole program is
/// checked on it.
const CHECKED_PERCENT: usize = 6;

#[test]
fn what_was_acknowledged_outlives_power_cuts() {
    // A segment of the index that is torn is not always noticed.
    outlives_power_cuts("power", Place::new(), &["-wal", ".new"]);
}

/// Its index is authenticated: a segment that is torn is not opened.
#[test]
fn what_was_acknowledged_in_an_encrypted_store_outlives_power_cuts() {
    outlives_power_cuts("power, encrypted", Place::encrypted(), &["-wal"]);
}

/// Checks also that it would be noticed if files with these endings were never flushed.
fn outlives_power_cuts(name: &str, mut place: Place, flushed: &[&str]) {
    let Some(library) = library() else { return };
    let mut budget = Budget::new(name);
    place.index_file_memories = Some("1");
    let blank = Disk::new(&place.watched()).unwrap();
    let mut run = Run::new();
    let command = |dialect: &str| place.watched_command(&["mcp", dialect], &library, true, None);
    prepare(&mut run, command("mempalace"));
    while run.ledger.acknowledged < CALLS as u64 {
        // The first dialect, that of notes, is always used: the check of their files at the end
        // depends on it.
        let mut dialects = DIALECTS.to_vec();
        dialects.remove(1 + budget.random.below(DIALECTS.len() - 1));
        for dialect in dialects {
            run.start(command(dialect), dialect);
        }
        for _ in 0..CALLS / 3 {
            run.feed(&mut budget.random);
            assert!(run.next_success());
        }
        run.finish();
    }
    let operations = read_log(&place.log()).unwrap();
    budget.begin();
    let all_replies = operations
        .iter()
        .filter(|operation| operation.kind == OperationKind::Reply)
        .count();
    let (mut cuts, mut replies, mut checked) = (0, 0, 0);
    while !budget.is_over() {
        let mut replayed = Replay::new(blank.clone(), &run);
        for operation in &operations {
            let is_reply = operation.kind == OperationKind::Reply;
            replayed.perform(operation);
            let share = if is_reply {
                all_replies
            } else {
                operations.len()
            } / CUTS_PER_PASS
                + 1;
            if budget.random.below(share) > 0 {
                continue;
            }
            cuts += 1;
            replies += u64::from(is_reply);
            let kinds = [
                Survivors::None,
                Survivors::None,
                Survivors::All,
                Survivors::Some,
                Survivors::Torn(512),
                Survivors::Torn(4_096),
            ];
            let survivors = budget.random.pick(&kinds);
            let is_checked = budget.random.chance(CHECKED_PERCENT);
            checked += u64::from(is_checked);
            let problems = replayed.cut(survivors, is_checked, &mut budget.random);
            assert!(
                problems.is_empty(),
                "after {operation:?}, {survivors:?}: {problems:#?}"
            );
            if budget.is_over() {
                break;
            }
        }
    }
    report(&format!(
        "{name}: {cuts} cuts of a record of {} operations, {replies} of them at once after an answer; on {checked} of them \
         loci was started, and checked everything",
        operations.len()
    ));
    assert!(cuts > 0);
    for missing in flushed {
        let is_missed = is_missed(missing, Replay::new(blank.clone(), &run), &operations);
        assert!(is_missed, "nothing tells that {missing} is never flushed");
    }
}

/// Returns true if a power cut shows that files with this ending are never flushed.
fn is_missed(missing: &str, mut replayed: Replay, operations: &[Operation]) -> bool {
    const EVERY: usize = 10;
    let mut replies = 0;
    operations.iter().any(|operation| {
        if operation.kind != OperationKind::Sync || !operation.path.ends_with(missing) {
            replayed.perform(operation);
        }
        replies += usize::from(operation.kind == OperationKind::Reply);
        operation.kind == OperationKind::Reply
            && replies % EVERY == 0
            && !replayed
                .cut(Survivors::None, false, &mut Random::new(1))
                .is_empty()
    })
}

/// A recorded run that is played back.
pub struct Replay {
    pub disk: Disk,
    ledger: Ledger,
    /// Calls that have not started, in order.
    waiting: Vec<Call>,
    /// The incomplete line of each process.
    lines: HashMap<u32, Vec<u8>>,
}

impl Replay {
    pub fn new(disk: Disk, run: &Run) -> Self {
        let ledger = run.ledger.anew();
        let waiting = run.calls.iter().map(|(_, call)| call.clone()).collect();
        let mut replay = Replay {
            disk,
            ledger,
            waiting,
            lines: HashMap::new(),
        };
        replay.begin();
        replay
    }

    /// Starts all calls that could have started: each call for a thing comes after the reply to the
    /// one before.
    fn begin(&mut self) {
        let mut later = std::collections::HashSet::new();
        let waiting = std::mem::take(&mut self.waiting);
        for call in waiting {
            let is_free = call.effects.iter().all(|(number, _)| {
                !later.contains(number)
                    && self
                        .ledger
                        .things
                        .get(number)
                        .is_some_and(|thing| !thing.is_busy)
            });
            if is_free {
                self.ledger.begin(call);
            } else {
                later.extend(call.effects.iter().map(|(number, _)| *number));
                self.waiting.push(call);
            }
        }
    }

    /// Performs an operation.
    pub fn perform(&mut self, operation: &Operation) {
        self.disk.perform(operation);
        if operation.kind == OperationKind::Reply {
            let line = self.lines.entry(operation.process).or_default();
            line.extend_from_slice(&operation.data);
            while let Some(end) = line.iter().position(|byte| *byte == b'\n') {
                let message: Value = serde_json::from_slice(&line[..end]).unwrap();
                line.drain(..=end);
                if let (Some(id), Some(false)) = (
                    message["id"].as_u64(),
                    message["result"]["isError"].as_bool(),
                ) {
                    self.ledger.acknowledge(id, &Value::Null);
                }
            }
            self.begin();
        }
    }

    /// Returns the problems of the folder if the power is cut now.
    pub fn cut(&self, survivors: Survivors, is_checked: bool, random: &mut Random) -> Vec<String> {
        let place = Place::new();
        self.disk.cut(survivors, random, &place.watched()).unwrap();
        let open: Vec<Call> = self.ledger.open.values().cloned().collect();
        if is_checked {
            place.succeed(&["vault", "reconcile"]);
        }
        let mut problems = match inspect(&place.data(), is_checked) {
            Ok((found, damage)) => {
                [damage, self.ledger.compare(&found, &open, is_checked)].concat()
            }
            Err(problem) => vec![problem],
        };
        if is_checked {
            problems.extend(place.problems());
        }
        problems
    }
}
