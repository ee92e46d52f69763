//! Jobs are done once, whichever processes work on them and whichever die.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::thread;
use std::time::Duration;

use loci_core::{
    Batch, Change, EnrichmentStatus, Expect, Job, JobCounts, JobOutcome, JobStore, Maintenance,
    Memory, Store, Timestamp,
};
use loci_store_sqlite::SqliteStore;
use loci_testkit::Random;
use loci_testkit::contract::{filter, memory, passage, put};

use crate::processes::{as_child, start_child, tell_parent};
use crate::{all, open};

const JOBS: usize = 120;
const SETTLED: &str = "settled";

/// A store in the folder with memories that wait for their jobs.
fn with_jobs(folder: &Path) -> SqliteStore {
    let store = open(folder);
    for number in 0..JOBS {
        let pending = Memory {
            enrichment: Some(EnrichmentStatus::Pending),
            ..memory(&number.to_string())
        };
        let mut batch = put(&pending, vec![passage("word")]);
        batch.changes.push(Change::Enqueue {
            memory: pending.id,
            due_at: filter().live_at,
        });
        store.commit(batch).unwrap();
    }
    store
}

/// When the leases end that are taken at the first moment.
fn lease_end() -> Timestamp {
    filter().live_at.plus_seconds(60)
}

/// Does a job: what must not happen twice is counted by the revision.
fn work(store: &SqliteStore, job: Job) {
    let before = store.get(&job.space, &job.memory).unwrap().unwrap();
    let (space, expect) = (job.space.clone(), Expect::Revision(before.revision));
    let after = Memory {
        enrichment: Some(EnrichmentStatus::Completed),
        revision: before.revision + 1,
        ..before
    };
    let put = Change::Put {
        memory: Box::new(after),
        passages: None,
        expect,
    };
    store
        .commit(Batch::new(
            space,
            vec![
                put,
                Change::Settle {
                    job,
                    outcome: JobOutcome::Done,
                },
            ],
        ))
        .unwrap();
}

fn check_that_each_was_done_once(store: &SqliteStore) {
    assert_eq!(store.job_counts(), Ok(JobCounts::default()));
    assert_eq!(store.next_job_at(lease_end()), Ok(None));
    let done = store.get_all(&filter(), &all(store)).unwrap();
    assert_eq!(done.len(), JOBS);
    for memory in done {
        assert_eq!(
            (memory.revision, memory.enrichment),
            (2, Some(EnrichmentStatus::Completed)),
            "{}",
            memory.id
        );
    }
    assert_eq!(store.structure_check(), Ok(Vec::new()));
}

#[test]
fn a_killed_process_loses_no_job_and_none_is_done_twice() {
    let mut random = Random::new(20_261_121);
    for _ in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        let store = with_jobs(folder.path());
        let mut child = start_child(
            "jobs::child_that_works_until_killed",
            folder.path(),
            "child",
        );
        let kill_after = 1 + random.below(JOBS / 2);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut settled = 0;
        for line in lines {
            settled += usize::from(line.unwrap() == SETTLED);
            if settled == kill_after {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        for job in store
            .lease_jobs(filter().live_at, lease_end(), "parent", JOBS)
            .unwrap()
        {
            assert_eq!(job.attempts, 1);
            work(&store, job);
        }
        // The jobs under the leases of the child.
        for job in store
            .lease_jobs(lease_end(), lease_end().plus_seconds(60), "parent", JOBS)
            .unwrap()
        {
            assert_eq!(job.attempts, 2);
            work(&store, job);
        }
        check_that_each_was_done_once(&store);
    }
}

#[test]
fn child_that_works_until_killed() {
    let Some((folder, writer)) = as_child() else {
        return;
    };
    let store = open(&folder);
    loop {
        for job in store
            .lease_jobs(filter().live_at, lease_end(), &writer, 5)
            .unwrap()
        {
            work(&store, job);
            tell_parent(SETTLED);
        }
    }
}

#[test]
fn stores_that_work_at_once_share_the_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let store = with_jobs(folder.path());
    thread::scope(|scope| {
        for worker in 0..4 {
            let folder = folder.path();
            scope.spawn(move || {
                let store = open(folder);
                loop {
                    let jobs = store
                        .lease_jobs(filter().live_at, lease_end(), &format!("{worker}"), 3)
                        .unwrap();
                    if jobs.is_empty() {
                        break;
                    }
                    for job in jobs {
                        work(&store, job);
                    }
                }
            });
        }
    });
    check_that_each_was_done_once(&store);
}

#[test]
fn background_work_leaves_most_of_the_time_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    for (round, pause) in [(0, 10), (3, 10), (4, 12), (100, 300)] {
        assert_eq!(
            store.background_pause(Duration::from_millis(round)),
            Duration::from_millis(pause)
        );
    }
}
