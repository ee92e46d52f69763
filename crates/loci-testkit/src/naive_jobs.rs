//! The queue of jobs, in a map.

use loci_core::{
    FailedJob, Job, JobCounts, JobOutcome, JobStore, Result, Space, Timestamp, check_lease,
    lease_end_max,
};

use crate::NaiveStore;
use crate::naive_store::{Key, State, conflict, of_batch};

#[derive(Debug, Clone)]
pub(crate) struct NaiveJob {
    due_at: Timestamp,
    attempts: u32,
    /// The name and the end of the lease.
    lease: Option<(String, Timestamp)>,
    /// The error of a parked job.
    failure: Option<String>,
}

impl NaiveJob {
    /// Returns the time from which it can be leased, as computed at `now`; `None` if it is parked.
    fn free_at(&self, now: Timestamp) -> Option<Timestamp> {
        let lease = self
            .lease
            .as_ref()
            .filter(|(_, until)| *until <= lease_end_max(now));
        let leased_until = lease.map_or(self.due_at, |(_, until)| *until);
        self.failure
            .is_none()
            .then(|| self.due_at.max(leased_until))
    }
}

impl State {
    pub(crate) fn enqueue(&mut self, key: Key, due_at: Timestamp) -> Result<()> {
        if self
            .records
            .get(&key)
            .is_none_or(|record| record.deleted_at.is_some())
        {
            return Err(conflict(format!("memory `{}` is gone", key.1)));
        }
        if self.jobs.get(&key).is_some_and(|job| job.failure.is_none()) {
            return Err(conflict(format!("memory `{}` has a job already", key.1)));
        }
        self.jobs.insert(
            key,
            NaiveJob {
                due_at,
                attempts: 0,
                lease: None,
                failure: None,
            },
        );
        Ok(())
    }

    pub(crate) fn settle(&mut self, space: &Space, job: &Job, outcome: &JobOutcome) -> Result<()> {
        of_batch(space, &job.space, "a job")?;
        let key = (space.clone(), job.memory.clone());
        let holds = |waiting: &&mut NaiveJob| {
            waiting
                .lease
                .as_ref()
                .is_some_and(|(lease, _)| *lease == job.lease)
        };
        let Some(waiting) = self.jobs.get_mut(&key).filter(holds) else {
            return Err(conflict(format!(
                "the lease of the job of memory `{}` was lost",
                job.memory
            )));
        };
        waiting.lease = None;
        match outcome {
            JobOutcome::Done => drop(self.jobs.remove(&key)),
            JobOutcome::Retry { due_at, .. } => waiting.due_at = *due_at,
            JobOutcome::Release { due_at } => {
                waiting.due_at = *due_at;
                waiting.attempts -= 1;
            }
            JobOutcome::Failed { problem } => waiting.failure = Some(problem.clone()),
        }
        Ok(())
    }
}

impl JobStore for NaiveStore {
    fn lease_jobs(
        &self,
        now: Timestamp,
        until: Timestamp,
        lease: &str,
        limit: usize,
    ) -> Result<Vec<Job>> {
        check_lease(now, until)?;
        let mut state = self.state();
        let is_free = |job: &NaiveJob| job.free_at(now).is_some_and(|at| at <= now);
        let mut free: Vec<_> = state
            .jobs
            .iter_mut()
            .filter(|(_, job)| is_free(job))
            .collect();
        free.sort_by_key(|(_, job)| job.due_at);
        let lease_one = |((space, memory), job): (&Key, &mut NaiveJob)| {
            job.attempts += 1;
            job.lease = Some((lease.to_owned(), until));
            Job {
                space: space.clone(),
                memory: memory.clone(),
                attempts: job.attempts,
                lease: lease.to_owned(),
            }
        };
        Ok(free.into_iter().take(limit).map(lease_one).collect())
    }

    fn next_job_at(&self, now: Timestamp) -> Result<Option<Timestamp>> {
        Ok(self
            .state()
            .jobs
            .values()
            .filter_map(|job| job.free_at(now))
            .min())
    }

    fn job_counts(&self) -> Result<JobCounts> {
        let state = self.state();
        let failed = state
            .jobs
            .values()
            .filter(|job| job.failure.is_some())
            .count() as u64;
        Ok(JobCounts {
            waiting: state.jobs.len() as u64 - failed,
            failed,
        })
    }

    fn failed_jobs(&self, limit: usize) -> Result<Vec<FailedJob>> {
        let state = self.state();
        let failed = state.jobs.iter().filter_map(|((space, memory), job)| {
            let problem = job.failure.clone()?;
            Some(FailedJob {
                space: space.clone(),
                memory: memory.clone(),
                attempts: job.attempts,
                problem,
            })
        });
        Ok(failed.take(limit).collect())
    }
}
