//! Slots of calls at work, of which each subject has a share.

use std::time::Duration;

use loci_admission::{Permit, Pool, Subject};
use loci_core::limits::{CALL_SECONDS_MAX, CALLS_IN_FLIGHT_MAX, OUTSIDE_CALLS_IN_FLIGHT_MAX};
use loci_core::{Error, ErrorCode, Result};

use super::CallKind;

/// The slots of one process. Calls that write wait for the lock of the store, and others for
/// services, so each kind has its own.
pub(crate) struct CallSlots {
    reads: Pool,
    writes: Pool,
    outside: Pool,
    subscription_reads: Pool,
}

impl CallSlots {
    pub(crate) fn new() -> Self {
        CallSlots {
            reads: Pool::shared(CALLS_IN_FLIGHT_MAX),
            writes: Pool::shared(CALLS_IN_FLIGHT_MAX),
            outside: Pool::shared(OUTSIDE_CALLS_IN_FLIGHT_MAX),
            subscription_reads: Pool::shared(CALLS_IN_FLIGHT_MAX),
        }
    }

    pub(crate) fn of_kind(&self, kind: CallKind) -> &Pool {
        match kind {
            CallKind::Reads => &self.reads,
            CallKind::Writes => &self.writes,
            CallKind::Outside => &self.outside,
        }
    }

    pub(crate) fn for_subscriptions(&self) -> &Pool {
        &self.subscription_reads
    }

    /// Waits for a slot for a call of a subject.
    ///
    /// # Errors
    /// `rate_limited` if a call that needs external services finds none within
    /// [`CALL_SECONDS_MAX`]; `unavailable` once the process ends.
    pub(crate) async fn take(&self, subject: &Subject, kind: CallKind) -> Result<Permit> {
        let slot = self.of_kind(kind).acquire(subject, 1);
        let slot = match kind {
            CallKind::Reads | CallKind::Writes => slot.await,
            CallKind::Outside => {
                let patience = Duration::from_secs(CALL_SECONDS_MAX);
                let waited = tokio::time::timeout(patience, slot).await;
                waited.map_err(|_elapsed| {
                    let message = "too many calls wait for services outside of loci; try again when some are answered";
                    Error::new(ErrorCode::RateLimited, message)
                })?
            }
        };
        slot.ok_or_else(closed)
    }

    /// Waits for a slot for a read that a subscription of a subject needs.
    ///
    /// # Errors
    /// `unavailable` once the process ends.
    pub(crate) async fn take_for_subscription(&self, subject: &Subject) -> Result<Permit> {
        let slot = self.for_subscriptions().acquire(subject, 1).await;
        slot.ok_or_else(closed)
    }
}

fn closed() -> Error {
    Error::unavailable("loci is shutting down; try again when it is back")
}
