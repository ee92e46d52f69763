//! The job queue: work that waits in the store until a process has done it once.
//!
//! Each memory has at most one job: its enrichment. A process leases jobs for a limited time. If it
//! ends before it has settled a job, the lease runs out and another process takes the job. A job is
//! settled in the same [`Batch`](crate::Batch) as its result, and only while the lease holds, so
//! that no job is done twice.

use crate::{Error, MemoryId, Result, Space, Timestamp, limits};

/// A job that a process has leased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The space of the memory.
    pub space: Space,
    /// The memory to enrich.
    pub memory: MemoryId,
    /// The number of leases so far, including this one, except leases that were
    /// [released](JobOutcome::Release).
    pub attempts: u32,
    /// The id of the lease.
    pub lease: String,
}

/// The outcome of a leased job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobOutcome {
    /// The job is done and removed.
    Done,
    /// The job may be leased again by any process from that time on.
    Retry {
        /// The time at which it is due again.
        due_at: Timestamp,
        /// A description of the failure for people, without contents.
        problem: String,
    },
    /// The failure was not the job's fault: it may be leased again from that time on, and this
    /// attempt does not count.
    Release {
        /// The time at which it is due again.
        due_at: Timestamp,
    },
    /// The job is parked until a person looks at it.
    Failed {
        /// A description of the failure for people, without contents.
        problem: String,
    },
}

/// A parked job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedJob {
    /// The space of the memory.
    pub space: Space,
    /// The memory to enrich.
    pub memory: MemoryId,
    /// The number of attempts.
    pub attempts: u32,
    /// A description of the last failure.
    pub problem: String,
}

/// The number of jobs in all spaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobCounts {
    /// Jobs that are due now or later, including leased ones.
    pub waiting: u64,
    /// Parked jobs.
    pub failed: u64,
}

/// Returns the latest valid end of a lease that is taken at `now`, on jobs or by name. A lease that
/// ends later was taken while the clock was ahead, by a process that may have ended, and counts as
/// expired.
pub const fn lease_end_max(now: Timestamp) -> Timestamp {
    now.plus_seconds(limits::LEASE_SECONDS_MAX)
}

/// Checks the end of a lease; every store calls this before it grants one.
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

/// The queue of jobs. [`Change`](crate::Change)s add and settle them.
pub trait JobStore: Send + Sync {
    /// Leases at most `limit` jobs that are due at `now` and not leased, until `until`, longest due
    /// first, ties in any order. A lease that ends after [`lease_end_max`] counts as expired. The
    /// leases are durable when the method returns, so that no other process gets these jobs. Writes
    /// nothing if no job is due.
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

    /// Returns the earliest time at which a job that is not parked can be leased, as seen at `now`;
    /// `None` if there is no such job. A lease that ends after [`lease_end_max`] counts as expired.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn next_job_at(&self, now: Timestamp) -> Result<Option<Timestamp>>;

    /// Returns the number of jobs.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn job_counts(&self) -> Result<JobCounts>;

    /// Returns at most `limit` parked jobs, in the order of space and memory.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn failed_jobs(&self, limit: usize) -> Result<Vec<FailedJob>>;
}
