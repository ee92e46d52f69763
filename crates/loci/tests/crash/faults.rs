//! Lets every file operation fail: while the store is opened, while each dialect writes, reads and
//! does its maintenance, and when the process ends.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use loci_testkit::Random;
use loci_testkit::crash::{
    Action, Call, Disk, DiskLibrary, Fault, Operation, OperationKind, Survivors, read_log,
};
use serde_json::Value;

use crate::observe::inspect;
use crate::place::{Budget, DIALECTS, Place, library, report};
use crate::power::Replay;
use crate::run::{Run, prepare};

/// Error numbers of Linux.
const EIO: i32 = 5;
const EMFILE: i32 = 24;
const ENOSPC: i32 = 28;
/// The calls of a scenario; as many attempts more, since refused calls are tried again.
const CALLS: usize = 6;
/// The largest number of attempts for a refused call: more than operations fail.
const ATTEMPTS_MAX: usize = 12;

/// The kinds of faults: the operations that they hit, how many, and how these fail.
const FAULTS: [(&str, u64, Action); 11] = [
    ("*", 1, Action::Fail(EIO)),
    ("*", 4, Action::Fail(EIO)),
    ("*", 3, Action::Fail(ENOSPC)),
    ("w", 1, Action::Short(ENOSPC)),
    ("w", 5, Action::Short(ENOSPC)),
    ("o", 2, Action::Fail(EMFILE)),
    ("s", 1, Action::Fail(EIO)),
    // So many that a process that could not start cannot shut down cleanly either.
    ("s", 4, Action::Fail(EIO)),
    ("s", 2, Action::Fail(ENOSPC)),
    ("R", 1, Action::Fail(EIO)),
    ("rlu", 1, Action::Fail(EIO)),
];

/// A run with a fault.
struct Scenario<'a> {
    library: &'a DiskLibrary,
    /// A place with a data folder, to copy.
    base: &'a Place,
    dialect: &'static str,
    /// True if there is no data folder yet.
    is_fresh: bool,
}

#[derive(Default)]
struct Counts {
    scenarios: u64,
    faults: u64,
    refused: u64,
    /// Calls that were refused although their effects are stored.
    done_though_refused: u64,
    starts: u64,
    by_kind: BTreeMap<String, u64>,
}

#[test]
fn every_operation_may_fail() {
    may_fail("faults", Place::new());
}

#[test]
fn every_operation_of_an_encrypted_store_may_fail() {
    may_fail("faults, encrypted", Place::encrypted());
}

fn may_fail(name: &str, base: Place) {
    let Some(library) = library() else { return };
    let mut budget = Budget::new(name);
    let wanted = std::env::var("LOCI_FAULTS").ok();
    let is_wanted = |kinds: &str| {
        wanted
            .as_deref()
            .is_none_or(|wanted| wanted == "all" || wanted == kinds)
    };
    prepare(&mut Run::new(), base.command(&["mcp", "mempalace"]));
    let mut cases = Vec::new();
    for dialect in DIALECTS {
        for is_fresh in [true, false] {
            let operations = Scenario {
                library: &library,
                base: &base,
                dialect,
                is_fresh,
            }
            .operations();
            for (kinds, count, action) in FAULTS.into_iter().filter(|fault| is_wanted(fault.0)) {
                cases.extend((1..=number_of(kinds, &operations)).map(|first| {
                    let fault = Fault {
                        kinds: kinds.to_owned(),
                        first,
                        count,
                        action,
                    };
                    (dialect, is_fresh, fault)
                }));
            }
        }
    }
    if let Ok(only) = std::env::var("LOCI_FAULT") {
        cases.retain(|(dialect, is_fresh, fault)| {
            told(dialect, *is_fresh, fault).starts_with(&only)
        });
    }
    let all = cases.len();
    // Cases that failed in an earlier sweep are a part of every sample.
    let is_first = |(dialect, is_fresh, fault): &(&str, bool, Fault)| {
        matches!((*dialect, is_fresh, fault), ("mememory", true, Fault { kinds, count: 4, .. }) if kinds == "s")
            || matches!((*dialect, is_fresh, fault), ("engram", true, Fault { kinds, count: 1, .. }) if kinds == "s")
    };
    let (mut first, mut cases): (Vec<_>, Vec<_>) = cases.into_iter().partition(is_first);
    budget.begin();
    let mut counts = Counts::default();
    let mut failed = Vec::new();
    while wanted.is_some() || !budget.is_over() {
        let left = if first.is_empty() {
            &mut cases
        } else {
            &mut first
        };
        if left.is_empty() {
            break;
        }
        let (dialect, is_fresh, fault) = left.swap_remove(budget.random.below(left.len()));
        let scenario = Scenario {
            library: &library,
            base: &base,
            dialect,
            is_fresh,
        };
        // The calls of a case do not depend on the cases before it.
        let run = || scenario.run(&fault, &mut Random::new(fault.first), &mut counts);
        if catch_unwind(AssertUnwindSafe(run)).is_err() {
            failed.push(told(dialect, is_fresh, &fault));
        }
    }
    report(&format!(
        "{name}: {} of {all} cases tried, {} operations failed ({:?}), {} calls refused, {} starts refused; {} refused \
         calls were done all the same",
        counts.scenarios,
        counts.faults,
        counts.by_kind,
        counts.refused,
        counts.starts,
        counts.done_though_refused
    ));
    assert!(
        failed.is_empty(),
        "{} cases failed: {failed:#?}",
        failed.len()
    );
    assert!(counts.faults > 0);
}

/// Returns the name of a case.
fn told(dialect: &str, is_fresh: bool, fault: &Fault) -> String {
    format!(
        "{dialect} {} {fault}",
        if is_fresh { "fresh" } else { "used" }
    )
}

impl Scenario<'_> {
    /// Returns the operations of a run without a fault.
    fn operations(&self) -> Vec<Operation> {
        let (place, mut run) = self.begin();
        let agent = run.start(
            place.watched_command(&["mcp", self.dialect], self.library, true, None),
            self.dialect,
        );
        let mut random = Random::new(1);
        for _ in 0..CALLS {
            let call = run.ledger.call(self.dialect, &mut random);
            run.ask(agent, call);
            assert!(run.next_success());
        }
        run.finish();
        read_log(&place.log()).unwrap()
    }

    /// Returns the folder and the run before the scenario.
    fn begin(&self) -> (Place, Run) {
        // Tunnels need existing locations.
        let is_fresh = self.is_fresh && self.dialect != "mempalace";
        (
            if is_fresh && self.base.is_encrypted {
                Place::encrypted()
            } else if is_fresh {
                Place::new()
            } else {
                self.base.copy()
            },
            Run::new(),
        )
    }

    fn run(&self, fault: &Fault, random: &mut Random, counts: &mut Counts) {
        counts.scenarios += 1;
        let told = told(self.dialect, self.is_fresh, fault);
        let (place, mut run) = self.begin();
        let blank = Disk::new(&place.watched()).unwrap();
        let arguments = ["mcp", self.dialect];
        let faulty = place.watched_command(&arguments, self.library, true, Some(fault));
        let mut agent = run.start(faulty, self.dialect);
        let mut refused: Vec<Call> = Vec::new();
        let mut done = 0;
        let mut attempts = 0;
        while done < CALLS {
            let call = run.ledger.call(self.dialect, random);
            run.ask(agent, call);
            match run.next() {
                Some((_, Ok(_))) => {
                    done += 1;
                    attempts = 0;
                }
                Some((call, Err(error))) => {
                    attempts += 1;
                    assert!(
                        attempts <= ATTEMPTS_MAX,
                        "{told}: {} is refused for ever: {error}",
                        call.tool
                    );
                    // A note whose index could not be written is found at the next reconciliation.
                    let is_unindexed = call.tool == "memory_forget" && code(&error) == "not_found";
                    assert!(
                        is_unindexed || code(&error) == "unavailable",
                        "{told}: {} refused: {error}",
                        call.tool
                    );
                    counts.refused += 1;
                    refused.extend(run.ledger.give_up(|open| open.id == call.id));
                }
                None => {
                    // The process may refuse to start, but must start when the fault is over.
                    assert!(
                        done == 0 && run.kills == 0,
                        "{told}: it ended in the middle: {:?}",
                        run.words
                    );
                    assert!(
                        run.exits.iter().all(|code| (1..=7).contains(code)),
                        "{told}: {:?}",
                        run.exits
                    );
                    refused.append(&mut run.doubtful);
                    counts.starts += 1;
                    let healthy = place.watched_command(&arguments, self.library, true, None);
                    agent = run.start(healthy, self.dialect);
                }
            }
        }
        run.finish();
        let operations = read_log(&place.log()).unwrap();
        let met: Vec<&Operation> = operations
            .iter()
            .filter(|operation| operation.is_fault)
            .collect();
        counts.faults += met.len() as u64;
        for operation in &met {
            *counts
                .by_kind
                .entry(format!("{:?}", operation.kind))
                .or_default() += 1;
        }
        if self.dialect != "vault" {
            let problem = acknowledged_too_early(&operations);
            assert_eq!(problem, None, "{told}");
        }

        if self.dialect == "vault" {
            place.succeed(&["vault", "reconcile"]);
        }
        let inspected = inspect(&place.data(), true);
        let (found, mut problems) = inspected.unwrap_or_else(|problem| panic!("{told}: {problem}"));
        problems.extend(run.ledger.compare(&found, &refused, true));
        assert!(
            problems.is_empty(),
            "{told}: {problems:#?}\n{:?}",
            run.words
        );
        counts.done_though_refused += refused
            .iter()
            .filter(|call| is_done(&run, call, &found))
            .count() as u64;

        // A power cut shows what a failed flush has lost.
        if met
            .iter()
            .any(|operation| operation.kind == OperationKind::Sync)
        {
            let mut replay = Replay::new(blank, &run);
            for operation in &operations {
                replay.perform(operation);
            }
            let problems = replay.cut(Survivors::None, false, random);
            assert!(
                problems.is_empty(),
                "{told}, then a power cut: {problems:#?}"
            );
        }
    }
}

/// After a failed flush of the log no write may be acknowledged until the database was flushed or
/// the log was restarted: the data that the kernel lost may lie under every later write. A failed
/// flush of the database is harmless, since the log has the same data and is kept. Returns the
/// acknowledgement that came too early.
fn acknowledged_too_early(operations: &[Operation]) -> Option<String> {
    let mut lost = None;
    // True if more was written to the same log since, and if that was flushed. Otherwise, it is a
    // late reply to an earlier write: a checkpoint flushes the log, too, before it copies its
    // pages.
    let (mut is_written, mut goes_on) = (false, false);
    for (place, operation) in operations.iter().enumerate() {
        let of = |name: &str| operation.path.ends_with(name);
        match operation.kind {
            OperationKind::Sync if operation.result < 0 && of("-wal") => {
                lost = lost.or(Some(place));
            }
            OperationKind::Sync if of("-wal") => goes_on |= is_written,
            OperationKind::Sync if operation.result == 0 && of("loci.db") => lost = None,
            // A log without valid frames starts with its header again.
            OperationKind::Write if of("-wal") && operation.offset == 0 => lost = None,
            OperationKind::Write if operation.result >= 0 && of("-wal") => {
                is_written = lost.is_some();
            }
            OperationKind::Truncate | OperationKind::Unlink
                if operation.result == 0 && of("-wal") =>
            {
                lost = None;
            }
            OperationKind::Reply
                if operation
                    .data
                    .windows(15)
                    .any(|part| part == b"\"isError\":false") =>
            {
                if let Some(lost) = lost.filter(|_| goes_on) {
                    let after = operations[lost..=place]
                        .iter()
                        .filter(|it| it.kind != OperationKind::Write);
                    let after: Vec<_> = after
                        .map(|it| format!("{:?} {} {}", it.kind, it.path, it.result))
                        .collect();
                    return Some(format!(
                        "operation {place} acknowledges a write after a failed flush: {after:#?}"
                    ));
                }
            }
            _ => {}
        }
        // The next failed flush is judged separately.
        (is_written, goes_on) = (is_written && lost.is_some(), goes_on && lost.is_some());
    }
    None
}

#[test]
fn what_is_acknowledged_too_early_is_told_from_what_is_late() {
    let operation = |kind, path: &str, result, offset| {
        let data = if kind == OperationKind::Reply {
            br#"{"isError":false}"#.to_vec()
        } else {
            Vec::new()
        };
        let (path, other_path) = (path.to_owned(), String::new());
        let (process, is_fault, flags, file, other) = (1, result < 0, 0, 1, 0);
        Operation {
            process,
            kind,
            result,
            is_fault,
            flags,
            file,
            other,
            offset,
            path,
            other_path,
            data,
        }
    };
    let log = |kind, result, offset| operation(kind, "data/loci.db-wal", result, offset);
    let write = || log(OperationKind::Write, 0, 4_152);
    let (flush, fails) = (
        || log(OperationKind::Sync, 0, 0),
        || log(OperationKind::Sync, -EIO, 0),
    );
    let copied = || operation(OperationKind::Sync, "data/loci.db", 0, 0);
    let anew = || log(OperationKind::Write, 0, 0);
    let reply = || operation(OperationKind::Reply, "", 0, 0);
    let rows: [(&str, bool, Vec<Operation>); 8] = [
        ("nothing failed", true, vec![write(), flush(), reply()]),
        (
            "the next commit is flushed",
            false,
            vec![write(), fails(), write(), flush(), reply()],
        ),
        (
            "after two failures",
            false,
            vec![write(), fails(), write(), fails(), flush(), reply()],
        ),
        (
            "an earlier answer",
            true,
            vec![write(), flush(), write(), fails(), reply()],
        ),
        (
            "an earlier one, beside a checkpoint",
            true,
            vec![write(), flush(), write(), fails(), flush(), reply()],
        ),
        (
            "it was copied",
            true,
            vec![
                write(),
                fails(),
                flush(),
                copied(),
                write(),
                flush(),
                reply(),
            ],
        ),
        (
            "the log began anew",
            true,
            vec![write(), fails(), anew(), write(), flush(), reply()],
        ),
        (
            "the second time",
            true,
            vec![
                write(),
                fails(),
                write(),
                flush(),
                copied(),
                write(),
                flush(),
                write(),
                fails(),
                flush(),
                reply(),
            ],
        ),
    ];
    for (what, is_right, operations) in rows {
        let problem = acknowledged_too_early(&operations);
        assert_eq!(problem.is_none(), is_right, "{what}: {problem:?}");
    }
}

/// Returns the number of operations that a fault of these kinds could hit.
fn number_of(kinds: &str, operations: &[Operation]) -> u64 {
    // Opens and reads that change nothing are not recorded.
    const NOT_RECORDED: u64 = 120;
    let is_met = |operation: &&Operation| kinds == "*" || kinds.contains(letter(operation.kind));
    let said = operations
        .iter()
        .filter(|operation| operation.kind == OperationKind::Reply)
        .count() as u64;
    let counted = operations.iter().filter(is_met).count() as u64;
    match kinds {
        "*" => counted - said + NOT_RECORDED,
        "o" | "R" => counted + NOT_RECORDED,
        _ => counted,
    }
}

/// Returns true if all effects of a refused call are stored.
fn is_done(run: &Run, call: &Call, found: &loci_testkit::crash::Found) -> bool {
    !call.effects.is_empty()
        && call.effects.iter().all(|(number, state)| {
            let is_there = found.stored.contains_key(number) || found.files.contains_key(number);
            run.ledger.things.contains_key(number) && state.is_some() && is_there
        })
}

/// Returns the code of an error of a tool or of the protocol.
fn code(error: &Value) -> String {
    let code = error["code"].as_str().or(error["data"]["code"].as_str());
    code.map_or_else(|| error.to_string(), str::to_owned)
}

fn letter(kind: OperationKind) -> char {
    match kind {
        OperationKind::Open | OperationKind::Create => 'o',
        OperationKind::Write => 'w',
        OperationKind::Truncate => 't',
        OperationKind::Sync => 's',
        OperationKind::Rename => 'r',
        OperationKind::Link => 'l',
        OperationKind::Unlink => 'u',
        OperationKind::Folder => 'f',
        OperationKind::Read => 'R',
        OperationKind::Reply => '>',
    }
}
