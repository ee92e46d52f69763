//! Work that waits in the store until some process has done it, once.
//!
//! Each memory has at most one job: its enrichment. A process leases jobs for a while; if it
//! ends before it has settled one, the lease runs out and another process takes the job. Settling
//! happens in the same [`Batch`](crate::Batch) as the result, and only while the lease holds, so
//! that nothing is done twice.

use crate::{Error, MemoryId, Result, Space, Timestamp, limits};

/// A job in the hands of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The space of the memory.
    pub space: Space,
    /// The memory that it is about.
    pub memory: MemoryId,
    /// How often it was leased, this time included, and not [released](JobOutcome::Release).
    pub attempts: u32,
    /// Names the lease.
    pub lease: String,
}

/// How a job ended for the process that held it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobOutcome {
    /// It is done and gone.
    Done,
    /// It waits until then and may be leased again, by anyone.
    Retry {
        /// When it is due again.
        due_at: Timestamp,
        /// What went wrong, for people; no contents.
        problem: String,
    },
    /// It was not to blame: it waits until then, and this attempt does not count.
    Release {
        /// When it is due again.
        due_at: Timestamp,
    },
    /// It is parked for people to look at.
    Failed {
        /// What went wrong, for people; no contents.
        problem: String,
    },
}

/// A job that is parked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedJob {
    /// The space of the memory.
    pub space: Space,
    /// The memory that it is about.
    pub memory: MemoryId,
    /// How often it was tried.
    pub attempts: u32,
    /// What went wrong the last time.
    pub problem: String,
}

/// How many jobs there are, in all spaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobCounts {
    /// Due now or later, leased ones included.
    pub waiting: u64,
    /// Parked.
    pub failed: u64,
}

/// The latest end of a lease that is taken at `now`, on jobs or by name. What ends later was leased
/// while the clock ran ahead, by somebody who may be long gone, and is free.
pub const fn lease_end_max(now: Timestamp) -> Timestamp {
    now.plus_seconds(limits::LEASE_SECONDS_MAX)
}

/// Checks what every store checks before it gives a lease.
///
/// # Errors
/// `invalid_argument` if the lease would end after [`lease_end_max`].
pub fn check_lease(now: Timestamp, until: Timestamp) -> Result<()> {
    if until <= lease_end_max(now) {
        return Ok(());
    }
    Err(Error::invalid(
        "until",
        format_args!("is more than {} seconds away", limits::LEASE_SECONDS_MAX),
    ))
}

/// The queue of jobs. They are added and settled by [`Change`](crate::Change)s.
pub trait JobStore: Send + Sync {
    /// Leases at most `limit` jobs that are due at `now` and under no lease, until `until`, the
    /// longest due first, ties in any order. A lease that ends after [`lease_end_max`] is none.
    /// Durable when it returns, so that no other process gets them meanwhile. Costs no write if
    /// nothing is due.
    ///
    /// # Errors
    /// `invalid_argument` if `until` is after [`lease_end_max`]; `unavailable` if the store cannot
    /// be written.
    fn lease_jobs(
        &self,
        now: Timestamp,
        until: Timestamp,
        lease: &str,
        limit: usize,
    ) -> Result<Vec<Job>>;

    /// When the next job that is not parked can be leased, as it seems at `now`, since a lease that
    /// ends after [`lease_end_max`] is none; `None` if there is no such job.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn next_job_at(&self, now: Timestamp) -> Result<Option<Timestamp>>;

    /// How many jobs there are.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn job_counts(&self) -> Result<JobCounts>;

    /// Parked jobs, at most `limit`, in the order of space and memory.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn failed_jobs(&self, limit: usize) -> Result<Vec<FailedJob>>;
}
