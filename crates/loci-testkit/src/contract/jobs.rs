//! The contract of the job queue and of named leases.

use std::collections::BTreeSet;
use std::thread;

use loci_core::limits::LEASE_SECONDS_MAX;
use loci_core::{
    Batch, Change, ErrorCode, FailedJob, Job, JobCounts, JobOutcome, Memory, Store, Timestamp,
};

use super::examples::{NOW, change, delete, enqueue, memory, passage, put, replace, space};
use super::reading::{add, id};
use super::writing::{commit, found, refused};
use super::{MakeStore, StoreAndTokens};

fn at(seconds: i64) -> Timestamp {
    NOW.plus_seconds(seconds)
}

/// Stores a memory with a job that is due at `due_at`.
fn add_job(store: &dyn StoreAndTokens, name: &str, due_at: Timestamp) {
    let mut batch = put(&memory(name), vec![passage("word")]);
    batch.changes.extend(enqueue(name, due_at).changes);
    commit(store, batch);
}

fn job(name: &str, attempts: u32, lease: &str) -> Job {
    Job {
        space: memory(name).space,
        memory: id(name),
        attempts,
        lease: lease.to_owned(),
    }
}

fn settle(job: &Job, outcome: JobOutcome) -> Batch {
    change(Change::Settle {
        job: job.clone(),
        outcome,
    })
}

/// Leases all jobs that are due at `now` until `until`.
fn lease(store: &dyn StoreAndTokens, now: i64, until: i64, lease: &str) -> Vec<Job> {
    store
        .lease_jobs(at(now), at(until), lease, 100)
        .expect("the store can be written")
}

fn next(store: &dyn StoreAndTokens) -> Option<Timestamp> {
    next_as_of(store, 0)
}

fn next_as_of(store: &dyn StoreAndTokens, now: i64) -> Option<Timestamp> {
    store.next_job_at(at(now)).expect("the store can be read")
}

fn counts(store: &dyn StoreAndTokens) -> (u64, u64) {
    let JobCounts { waiting, failed } = store.job_counts().expect("the store can be read");
    (waiting, failed)
}

pub(super) fn a_job_is_leased_once_until_its_lease_runs_out(make: MakeStore<'_>) {
    let store = make();
    assert_eq!(
        (
            lease(&*store, 0, 10, "none"),
            next(&*store),
            counts(&*store)
        ),
        (Vec::new(), None, (0, 0))
    );
    add_job(&*store, "a", at(1));
    assert_eq!(
        (lease(&*store, 0, 10, "early"), next(&*store)),
        (Vec::new(), Some(at(1)))
    );
    assert_eq!(lease(&*store, 1, 10, "first"), [job("a", 1, "first")]);
    assert_eq!(
        (lease(&*store, 9, 20, "second"), next(&*store)),
        (Vec::new(), Some(at(10)))
    );
    assert_eq!(counts(&*store), (1, 0), "a leased job still waits");
    assert_eq!(lease(&*store, 10, 20, "second"), [job("a", 2, "second")]);
    assert_eq!(
        (lease(&*store, 19, 30, "third"), next(&*store)),
        (Vec::new(), Some(at(20)))
    );
}

/// The holder may be gone, and the job would wait until the real time reaches the end of the lease.
pub(super) fn a_job_leased_while_the_clock_ran_ahead_is_free(make: MakeStore<'_>) {
    const AHEAD: i64 = 8 * 3_600;
    let store = make();
    add_job(&*store, "a", NOW);
    let end = AHEAD + 10;
    let first = lease(&*store, AHEAD, end, "first").remove(0);
    // The last time at which the lease may come from a correct clock.
    let soon = end - LEASE_SECONDS_MAX;
    assert_eq!(
        (
            lease(&*store, soon, soon + 5, "none"),
            next_as_of(&*store, soon)
        ),
        (Vec::new(), Some(at(end)))
    );
    assert_eq!(
        (next_as_of(&*store, soon - 1), next(&*store)),
        (Some(NOW), Some(NOW)),
        "when it was due"
    );
    add_job(&*store, "b", at(-1));
    assert_eq!(
        lease(&*store, 0, 10, "second"),
        [job("b", 1, "second"), job("a", 2, "second")]
    );
    let done = settle(&first, JobOutcome::Done);
    assert_eq!(
        refused(&*store, done).code,
        ErrorCode::Conflict,
        "it is somebody else's"
    );
    assert_eq!(
        (lease(&*store, 5, 15, "third"), next(&*store)),
        (Vec::new(), Some(at(10))),
        "under a lease as any other"
    );
}

pub(super) fn no_lease_is_longer_than_the_limit(make: MakeStore<'_>) {
    let store = make();
    add_job(&*store, "a", NOW);
    let (longest, longer) = (at(LEASE_SECONDS_MAX), at(LEASE_SECONDS_MAX + 1));
    let refused = |outcome: loci_core::Result<bool>| outcome.map_err(|error| error.code);
    let jobs = |until| {
        refused(
            store
                .lease_jobs(NOW, until, "lease", 9)
                .map(|jobs| !jobs.is_empty()),
        )
    };
    let named = |until| refused(store.lease("sweep", "one", NOW, until));
    assert_eq!(
        (jobs(longer), named(longer)),
        (
            Err(ErrorCode::InvalidArgument),
            Err(ErrorCode::InvalidArgument)
        )
    );
    assert_eq!((jobs(longest), named(longest)), (Ok(true), Ok(true)));
    assert_eq!((jobs(longest), next(&*store)), (Ok(false), Some(longest)));
}

pub(super) fn jobs_come_longest_due_first(make: MakeStore<'_>) {
    let store = make();
    for (name, seconds) in [("d", -4), ("b", 0), ("a", -1), ("c", -3), ("later", 1)] {
        add_job(&*store, name, at(seconds));
    }
    let elsewhere = Memory {
        space: space("elsewhere"),
        ..memory("z")
    };
    add(&*store, &elsewhere);
    let enqueued = Change::Enqueue {
        memory: elsewhere.id,
        due_at: at(-2),
    };
    commit(
        &*store,
        Batch {
            space: elsewhere.space,
            changes: vec![enqueued],
        },
    );
    let leased = |limit, lease: &str| {
        let jobs = store
            .lease_jobs(NOW, at(10), lease, limit)
            .expect("the store can be written");
        jobs.into_iter()
            .map(|job| format!("{} {}", job.space, job.memory))
            .collect::<Vec<_>>()
    };
    assert_eq!(leased(0, "none"), Vec::<String>::new());
    assert_eq!(leased(2, "first"), ["main d", "main c"]);
    assert_eq!(leased(10, "second"), ["elsewhere z", "main a", "main b"]);
    assert_eq!((next(&*store), counts(&*store)), (Some(at(1)), (6, 0)));
}

pub(super) fn a_memory_has_at_most_one_job(make: MakeStore<'_>) {
    let store = make();
    assert_eq!(
        refused(&*store, enqueue("missing", NOW)).code,
        ErrorCode::Conflict
    );
    let mut too_early = enqueue("a", NOW);
    too_early
        .changes
        .extend(put(&memory("a"), Vec::new()).changes);
    assert_eq!(
        refused(&*store, too_early).code,
        ErrorCode::Conflict,
        "the memory must be there by then"
    );
    add_job(&*store, "a", NOW);
    assert_eq!(
        refused(&*store, enqueue("a", NOW)).code,
        ErrorCode::Conflict
    );
    let leased = lease(&*store, 0, 10, "first");
    assert_eq!(
        refused(&*store, enqueue("a", NOW)).code,
        ErrorCode::Conflict
    );
    let mut again = settle(&leased[0], JobOutcome::Done);
    again.changes.extend(enqueue("a", at(1)).changes);
    commit(&*store, again);
    let second = lease(&*store, 1, 10, "second").remove(0);
    assert_eq!(second, job("a", 1, "second"), "a new job is counted anew");
    commit(
        &*store,
        settle(
            &second,
            JobOutcome::Failed {
                problem: "no".to_owned(),
            },
        ),
    );
    assert_eq!(counts(&*store), (0, 1));
    commit(&*store, enqueue("a", at(2)));
    assert_eq!(
        (counts(&*store), lease(&*store, 2, 10, "third")),
        ((1, 0), vec![job("a", 1, "third")]),
        "a parked one"
    );
}

pub(super) fn a_job_is_settled_under_its_lease_alone(make: MakeStore<'_>) {
    let store = make();
    add_job(&*store, "a", NOW);
    let unleased = job("a", 0, "");
    assert_eq!(
        refused(&*store, settle(&unleased, JobOutcome::Done)).code,
        ErrorCode::Conflict
    );
    let first = lease(&*store, 0, 10, "first").remove(0);
    let second = lease(&*store, 10, 20, "second").remove(0);
    let retry = JobOutcome::Retry {
        due_at: NOW,
        problem: String::new(),
    };
    let failed = JobOutcome::Failed {
        problem: String::new(),
    };
    for outcome in [
        JobOutcome::Done,
        retry,
        JobOutcome::Release { due_at: NOW },
        failed,
    ] {
        let enriched = Memory {
            revision: 2,
            weight: 1.0,
            ..memory("a")
        };
        let mut batch = replace(&enriched, None);
        batch.changes.extend(settle(&first, outcome).changes);
        batch
            .changes
            .extend(put(&memory("b"), vec![passage("word")]).changes);
        assert_eq!(refused(&*store, batch).code, ErrorCode::Conflict);
        assert_eq!(
            found(&*store, &enriched),
            Some(memory("a")),
            "nothing of the batch happened"
        );
        assert_eq!(found(&*store, &memory("b")), None);
    }
    assert_eq!((next(&*store), counts(&*store)), (Some(at(20)), (1, 0)));
    commit(&*store, settle(&second, JobOutcome::Done));
    assert_eq!((next(&*store), counts(&*store)), (None, (0, 0)));
    assert_eq!(
        refused(&*store, settle(&second, JobOutcome::Done)).code,
        ErrorCode::Conflict,
        "it is gone"
    );
    add_job(&*store, "late", NOW);
    let late = lease(&*store, 0, 1, "late").remove(0);
    commit(&*store, settle(&late, JobOutcome::Done));
    assert_eq!(
        lease(&*store, 99, 100, "none"),
        [],
        "a lease that ran out holds while nobody else has the job"
    );
}

pub(super) fn a_job_that_is_tried_again_waits_for_its_time(make: MakeStore<'_>) {
    let store = make();
    add_job(&*store, "a", NOW);
    let first = lease(&*store, 0, 10, "first").remove(0);
    let retry = settle(
        &first,
        JobOutcome::Retry {
            due_at: at(5),
            problem: "it slept".to_owned(),
        },
    );
    commit(&*store, retry.clone());
    assert_eq!((next(&*store), counts(&*store)), (Some(at(5)), (1, 0)));
    assert_eq!(
        refused(&*store, retry).code,
        ErrorCode::Conflict,
        "settling ends the lease"
    );
    assert_eq!(lease(&*store, 4, 20, "early"), []);
    assert_eq!(lease(&*store, 5, 20, "second"), [job("a", 2, "second")]);
    assert_eq!(store.failed_jobs(10), Ok(Vec::new()));
}

pub(super) fn a_released_job_waits_without_a_further_attempt(make: MakeStore<'_>) {
    let store = make();
    add_job(&*store, "a", NOW);
    add_job(&*store, "later", at(2));
    let first = lease(&*store, 0, 10, "first").remove(0);
    commit(
        &*store,
        settle(
            &first,
            JobOutcome::Retry {
                due_at: at(1),
                problem: "it slept".to_owned(),
            },
        ),
    );
    let second = lease(&*store, 3, 10, "second");
    assert_eq!(second, [job("a", 2, "second"), job("later", 1, "second")]);
    let release = settle(&second[0], JobOutcome::Release { due_at: at(1) });
    commit(&*store, release.clone());
    assert_eq!((next(&*store), counts(&*store)), (Some(at(1)), (2, 0)));
    assert_eq!(
        refused(&*store, release).code,
        ErrorCode::Conflict,
        "settling ends the lease"
    );
    assert_eq!(
        lease(&*store, 3, 10, "third"),
        [job("a", 2, "third")],
        "this attempt is the second again"
    );
    commit(
        &*store,
        settle(&second[1], JobOutcome::Release { due_at: at(5) }),
    );
    assert_eq!(lease(&*store, 4, 9, "early"), [], "it is not due");
    assert_eq!(lease(&*store, 5, 10, "fourth"), [job("later", 1, "fourth")]);
}

pub(super) fn a_failed_job_is_parked(make: MakeStore<'_>) {
    let store = make();
    let parked = |name: &str, attempts| FailedJob {
        space: memory(name).space,
        memory: id(name),
        attempts,
        problem: format!("{name} is broken"),
    };
    for name in ["c", "a", "b", "waiting"] {
        add_job(&*store, name, NOW);
    }
    lease(&*store, 0, 1, "first");
    for job in lease(&*store, 1, 2, "second") {
        if job.memory != id("waiting") {
            let problem = format!("{} is broken", job.memory);
            commit(&*store, settle(&job, JobOutcome::Failed { problem }));
        }
    }
    assert_eq!(counts(&*store), (1, 3));
    assert_eq!(
        store.failed_jobs(10),
        Ok(vec![parked("a", 2), parked("b", 2), parked("c", 2)])
    );
    assert_eq!(
        store.failed_jobs(2),
        Ok(vec![parked("a", 2), parked("b", 2)])
    );
    assert_eq!(next(&*store), Some(at(2)));
    assert_eq!(
        lease(&*store, 99, 100, "third"),
        [job("waiting", 3, "third")]
    );
    let again = settle(&job("a", 2, "second"), JobOutcome::Done);
    assert_eq!(refused(&*store, again).code, ErrorCode::Conflict);
    assert_eq!(
        refused(&*store, enqueue("waiting", NOW)).code,
        ErrorCode::Conflict
    );
    commit(&*store, enqueue("a", at(100)));
    assert_eq!(
        counts(&*store),
        (2, 2),
        "a parked job is forgotten for a new one"
    );
    assert_eq!(
        store.failed_jobs(10),
        Ok(vec![parked("b", 2), parked("c", 2)])
    );
    commit(&*store, delete(&memory("a")));
    assert_eq!(counts(&*store), (1, 2));
}

pub(super) fn a_job_goes_with_its_memory(make: MakeStore<'_>) {
    let store = make();
    add_job(&*store, "a", NOW);
    let leased = lease(&*store, 0, 10, "first").remove(0);
    commit(
        &*store,
        replace(
            &Memory {
                revision: 2,
                ..memory("a")
            },
            Some(vec![passage("changed")]),
        ),
    );
    assert_eq!(
        counts(&*store),
        (1, 0),
        "a change of the memory leaves the job"
    );
    let mut batch = delete(&Memory {
        revision: 2,
        ..memory("a")
    });
    batch
        .changes
        .extend(put(&memory("a"), vec![passage("word")]).changes);
    commit(&*store, batch);
    assert_eq!((next(&*store), counts(&*store)), (None, (0, 0)));
    assert_eq!(
        refused(&*store, settle(&leased, JobOutcome::Done)).code,
        ErrorCode::Conflict
    );
    assert_eq!(lease(&*store, 99, 100, "second"), []);
    commit(&*store, enqueue("a", NOW));
    assert_eq!(lease(&*store, 0, 10, "third"), [job("a", 1, "third")]);
}

pub(super) fn concurrent_leases_share_out_the_jobs(make: MakeStore<'_>) {
    const WORKERS: usize = 6;
    const JOBS: usize = 60;
    let store = make();
    for number in 0..JOBS {
        add_job(&*store, &format!("{number:02}"), NOW);
    }
    let shared: &dyn Store = &*store;
    let work = |worker: usize| {
        let mut leased = Vec::new();
        loop {
            let jobs = shared
                .lease_jobs(NOW, at(10), &format!("worker {worker}"), 4)
                .expect("it can be written");
            if jobs.is_empty() {
                return leased;
            }
            leased.extend(jobs.into_iter().map(|job| (job.memory, job.attempts)));
        }
    };
    let leased: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| {
                scope.spawn({
                    let work = &work;
                    move || work(worker)
                })
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("no worker panics"))
            .collect()
    });
    assert_eq!(leased.len(), JOBS, "each job is leased once");
    assert!(leased.iter().all(|(_, attempts)| *attempts == 1));
    assert_eq!(leased.iter().collect::<BTreeSet<_>>().len(), JOBS);
}

pub(super) fn a_lease_has_one_holder(make: MakeStore<'_>) {
    let store = make();
    let lease = |name: &str, holder: &str, now, until| {
        store
            .lease(name, holder, at(now), at(until))
            .expect("the store can be written")
    };
    let holder = |name: &str, now| store.lease_holder(name, at(now));
    assert_eq!(holder("sweep", 0), Ok(None));
    assert!(lease("sweep", "one", 0, 10));
    assert!(!lease("sweep", "two", 9, 20), "another has it");
    assert_eq!(holder("sweep", 9), Ok(Some("one".to_owned())));
    assert_eq!(holder("sweep", 10), Ok(None), "it has run out by then");
    assert!(
        lease("embed", "two", 9, 20),
        "each name is a lease of its own"
    );
    assert!(lease("sweep", "one", 9, 15), "the holder extends it");
    assert!(!lease("sweep", "two", 14, 20));
    assert!(lease("sweep", "two", 15, 20), "it has run out");
    assert!(
        !lease("sweep", "one", 16, 30),
        "the holder before has lost it"
    );
    assert!(
        !lease("sweep", "one", 16, 16),
        "who does not have it cannot give it back"
    );
    assert!(!lease("sweep", "three", 17, 30));
    lease("sweep", "two", 17, 17);
    assert!(lease("sweep", "three", 17, 30), "it was given back");
}

pub(super) fn a_lease_taken_while_the_clock_ran_ahead_is_free(make: MakeStore<'_>) {
    const AHEAD: i64 = 8 * 3_600;
    let store = make();
    let lease = |holder: &str, now, until| {
        store
            .lease("sweep", holder, at(now), at(until))
            .expect("the store can be written")
    };
    assert!(lease("one", AHEAD, AHEAD + 10));
    assert!(
        !lease("two", AHEAD + 10 - LEASE_SECONDS_MAX, AHEAD),
        "so far ahead a lease may reach"
    );
    assert_eq!(store.lease_holder("sweep", at(0)), Ok(None));
    assert!(lease("two", 0, 10), "no lease lasts as long");
    assert!(!lease("one", 1, 10), "the holder before has lost it");
    assert!(!lease("three", 9, 20), "it is a lease as any other");
    assert!(lease("three", 10, 20));
}
