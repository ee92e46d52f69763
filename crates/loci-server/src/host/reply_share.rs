//! Limits the memory of replies that are built but not yet written.
//!
//! A long reply exists in several copies: as records, as a value, as text and as bytes for the
//! wire. A client that sends requests and does not read would accumulate these, so a call reserves
//! a share of one budget before it starts, and the share is released when the reply has left the
//! process.

use std::sync::Arc;
use std::time::Duration;

use loci_admission::{Permit, Pool, Subject};
use loci_core::limits::{
    CALL_SECONDS_MAX, CONTENT_BYTES_MAX, REPLIES_HELD_BYTES_MAX, REPLY_CONTENT_BYTES_MAX,
    REPLY_TEXT_BYTES_MAX,
};
use loci_core::{Error, ErrorCode, Result};
use loci_engine::Engine;
use tokio::sync::Mutex;

use super::Host;

/// The share of the budget for the reply to one request, or the replies to one batch. Each holder
/// of the bytes keeps a clone; the share is released when the last one is dropped.
#[derive(Clone, Default)]
pub(crate) struct ReplyShare {
    held: Arc<Mutex<ReplyReservation>>,
    of_batch: bool,
}

#[derive(Default)]
struct ReplyReservation {
    permit: Option<Permit>,
    /// Bytes of the replies so far; more than one reply only in a batch.
    bytes: usize,
}

/// The kind of a call, which decides the maximum length of its reply and the calls that it may have
/// to wait for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallKind {
    /// Changes nothing, so that a reply which is too long may be refused. May return many records.
    Reads,
    /// May change something. Returns at most one record.
    Writes,
    /// Waits for an external service, whose reply has a limit of its own.
    Outside,
}

impl CallKind {
    fn bytes_max(self) -> usize {
        match self {
            CallKind::Reads => REPLY_CONTENT_BYTES_MAX,
            CallKind::Writes | CallKind::Outside => CONTENT_BYTES_MAX,
        }
    }
}

impl ReplyShare {
    /// Returns a share for all replies of one batch, which are written together. The calls of a
    /// batch run one at a time and have one share, because each waiting for its own share while the
    /// others wait for it would be a deadlock.
    pub(crate) fn of_batch() -> Self {
        ReplyShare {
            held: Arc::default(),
            of_batch: true,
        }
    }
}

/// The budget of one process. Calls that may write wait for locks while they hold their shares, so
/// reads have a separate part. Of each part, one subject gets three quarters.
pub(crate) struct ReplyBudget {
    reads: Pool,
    writes: Pool,
}

impl ReplyBudget {
    pub(crate) fn new() -> Self {
        ReplyBudget {
            reads: Pool::shared(REPLIES_HELD_BYTES_MAX),
            writes: Pool::shared(REPLIES_HELD_BYTES_MAX),
        }
    }

    /// Returns the part for calls of this kind; a batch may contain calls of any kind.
    fn part(&self, kind: CallKind, of_batch: bool) -> &Pool {
        if of_batch || kind == CallKind::Writes {
            &self.writes
        } else {
            &self.reads
        }
    }
}

/// Takes a share of a part of the budget for a subject.
async fn take(part: &Pool, subject: &Subject, bytes: usize) -> Result<Permit> {
    let patience = Duration::from_secs(CALL_SECONDS_MAX);
    let taken = tokio::time::timeout(patience, part.acquire(subject, bytes)).await;
    taken.ok().flatten().ok_or_else(|| {
        Error::unavailable(
            "too many calls are at work, or have replies that their clients did not read yet; read those, or \
             try again later",
        )
    })
}

impl Host {
    /// Runs a call as [`Host::call`] does, within the budget for replies. `length` returns the
    /// bytes of a reply.
    ///
    /// # Errors
    /// As for [`Host::call`], and: `unavailable` if its part of the budget stays used up for
    /// [`CALL_SECONDS_MAX`]; `too_large` if the reply is longer than [`REPLY_TEXT_BYTES_MAX`] and
    /// nothing was changed, or if earlier replies of the batch leave no room.
    pub(crate) async fn call_for_reply<T: Send + 'static>(
        &self,
        subject: &Subject,
        share: &ReplyShare,
        kind: CallKind,
        length: fn(&T) -> usize,
        work: impl FnOnce(&Engine) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let mut held = share.held.lock().await;
        if held.bytes >= REPLY_CONTENT_BYTES_MAX {
            let message = "the replies to this batch are too long already; send this request alone";
            return Err(Error::new(ErrorCode::TooLarge, message));
        }
        let bytes_max = if share.of_batch {
            REPLY_CONTENT_BYTES_MAX
        } else {
            kind.bytes_max()
        };
        let part = self.replies().part(kind, share.of_batch);
        if kind == CallKind::Outside {
            // No share is held while an external service works.
            let outcome = self.call(subject, kind, work).await?;
            let bytes = length(&outcome);
            if held.permit.is_none() {
                let taken = if share.of_batch { bytes_max } else { bytes };
                held.permit = Some(take(part, subject, taken).await?);
            }
            held.bytes += bytes;
            return Ok(outcome);
        }
        let permit = match held.permit.take() {
            Some(permit) => permit,
            None => take(part, subject, bytes_max).await?,
        };
        // The permit moves with the work, which may outlive this future.
        let (outcome, mut permit) = self
            .call(subject, kind, move |engine| Ok((work(engine), permit)))
            .await?;
        let bytes = outcome.as_ref().map_or(0, length);
        if kind == CallKind::Reads && bytes > REPLY_TEXT_BYTES_MAX {
            let message = format!(
                "the reply would have {bytes} bytes of at most {REPLY_TEXT_BYTES_MAX}; ask for fewer records"
            );
            return Err(Error::new(ErrorCode::TooLarge, message));
        }
        held.bytes += bytes;
        if !share.of_batch {
            permit.shrink(bytes);
        }
        held.permit = Some(permit);
        outcome
    }
}

#[cfg(test)]
mod tests {
    use loci_admission::usual_share;
    use loci_core::limits::{CALLS_IN_FLIGHT_MAX, OUTSIDE_CALLS_IN_FLIGHT_MAX};
    use loci_engine::SearchMode;
    use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};

    use super::*;

    fn host() -> Arc<Host> {
        let clock = Arc::new(FixedClock::new(loci_core::Timestamp::from_microseconds(0)));
        let embedder = Arc::new(HashingEmbedder::new(8));
        Host::new(Arc::new(Engine::new(
            Arc::new(NaiveStore::new()),
            embedder,
            clock,
            SearchMode::Words,
        )))
    }

    fn free(host: &Host) -> usize {
        host.replies().reads.free()
    }

    fn free_for_writes(host: &Host) -> usize {
        host.replies().writes.free()
    }

    async fn reply(
        host: &Host,
        share: &ReplyShare,
        kind: CallKind,
        bytes: usize,
    ) -> Result<String> {
        let work = move |_: &Engine| Ok("x".repeat(bytes));
        host.call_for_reply(&user("ann"), share, kind, String::len, work)
            .await
    }

    fn user(name: &str) -> Subject {
        Subject::User(loci_core::Space::default(), name.to_owned())
    }

    /// The paused clock advances as soon as all tasks wait.
    #[tokio::test(start_paused = true)]
    async fn replies_to_one_subject_leave_room_for_others() {
        for kind in [CallKind::Reads, CallKind::Writes] {
            let host = host();
            let (mut unread, mut waiting) = (Vec::new(), None);
            // No client reads them.
            while waiting.is_none() {
                let share = ReplyShare::default();
                let work = move |_: &Engine| Ok("x".repeat(kind.bytes_max()));
                let greedy = user("greedy");
                let call = host.call_for_reply(&greedy, &share, kind, String::len, work);
                let brief = Duration::from_secs(CALL_SECONDS_MAX / 2);
                match tokio::time::timeout(brief, call).await {
                    Ok(replied) => drop(replied.unwrap()),
                    Err(elapsed) => waiting = Some(elapsed),
                }
                unread.push(share);
            }
            assert!(unread.len() > 2, "{}", unread.len());
            let share = ReplyShare::default();
            let replied = reply(&host, &share, kind, kind.bytes_max()).await;
            assert_eq!(replied.map(|reply| reply.len()), Ok(kind.bytes_max()));
        }
    }

    #[tokio::test]
    async fn a_reply_holds_its_bytes_until_its_last_holder_is_gone() {
        let host = host();
        let share = ReplyShare::default();
        reply(&host, &share, CallKind::Reads, 1000).await.unwrap();
        assert_eq!(free(&host), REPLIES_HELD_BYTES_MAX - 1000);
        let other = share.clone();
        drop(share);
        assert_eq!(free(&host), REPLIES_HELD_BYTES_MAX - 1000);
        drop(other);
        assert_eq!(free(&host), REPLIES_HELD_BYTES_MAX);
    }

    #[tokio::test]
    async fn a_reply_of_more_than_its_share_is_refused_if_nothing_was_changed() {
        let host = host();
        let share = ReplyShare::default();
        let refused = reply(&host, &share, CallKind::Reads, REPLY_TEXT_BYTES_MAX + 1).await;
        assert_eq!(refused.unwrap_err().code, ErrorCode::TooLarge);
        assert_eq!(free(&host), REPLIES_HELD_BYTES_MAX);
        assert!(
            reply(&host, &share, CallKind::Writes, 6 * CONTENT_BYTES_MAX)
                .await
                .is_ok()
        );
    }

    #[tokio::test]
    async fn who_waits_for_others_holds_up_nobody() {
        let host = host();
        let (release, held) = std::sync::mpsc::channel::<()>();
        let held = Arc::new(std::sync::Mutex::new(held));
        let waiting: Vec<_> = (0..OUTSIDE_CALLS_IN_FLIGHT_MAX)
            .map(|_| {
                let (host, held) = (Arc::clone(&host), Arc::clone(&held));
                tokio::spawn(async move {
                    let work = move |_: &Engine| {
                        let _ = held.lock().unwrap().recv();
                        Ok("x".repeat(10))
                    };
                    let share = ReplyShare::default();
                    host.call_for_reply(&user("ann"), &share, CallKind::Outside, String::len, work)
                        .await
                        .unwrap()
                        .len()
                })
            })
            .collect();
        for _ in 0..CALLS_IN_FLIGHT_MAX {
            reply(&host, &ReplyShare::default(), CallKind::Reads, 1)
                .await
                .unwrap();
        }
        drop(release);
        for waiting in waiting {
            assert_eq!(waiting.await.unwrap(), 10);
        }
        assert_eq!(free(&host), REPLIES_HELD_BYTES_MAX);
    }

    /// Simulates another process that holds the lock of the store.
    #[tokio::test]
    async fn reads_never_wait_for_writes() {
        for of_batch in [false, true] {
            let host = host();
            let (release, held) = std::sync::mpsc::channel::<()>();
            let held = Arc::new(std::sync::Mutex::new(held));
            let mut writes = tokio::task::JoinSet::new();
            for _ in 0..2 * CALLS_IN_FLIGHT_MAX {
                let (host, held) = (Arc::clone(&host), Arc::clone(&held));
                writes.spawn(async move {
                    let share = if of_batch {
                        ReplyShare::of_batch()
                    } else {
                        ReplyShare::default()
                    };
                    let work = move |_: &Engine| {
                        let _ = held.lock().unwrap().recv();
                        Ok("x".repeat(10))
                    };
                    host.call_for_reply(&user("ann"), &share, CallKind::Writes, String::len, work)
                        .await
                        .map(|reply| reply.len())
                });
            }
            let least = if of_batch {
                REPLY_CONTENT_BYTES_MAX
            } else {
                CONTENT_BYTES_MAX
            };
            let of_others = REPLIES_HELD_BYTES_MAX - usual_share(REPLIES_HELD_BYTES_MAX);
            while free_for_writes(&host) >= of_others + least {
                tokio::task::yield_now().await;
            }
            for _ in 0..2 * CALLS_IN_FLIGHT_MAX {
                let share = ReplyShare::default();
                let read = reply(&host, &share, CallKind::Reads, 1);
                let patience = Duration::from_secs(CALL_SECONDS_MAX);
                tokio::time::timeout(patience, read)
                    .await
                    .expect("a read waits for the writes")
                    .unwrap();
            }
            assert!(
                writes.try_join_next().is_none(),
                "the writes wait all the while"
            );
            drop(release);
            while let Some(write) = writes.join_next().await {
                assert_eq!(write.unwrap(), Ok(10));
            }
            assert_eq!(
                (free(&host), free_for_writes(&host)),
                (REPLIES_HELD_BYTES_MAX, REPLIES_HELD_BYTES_MAX)
            );
        }
    }

    #[tokio::test]
    async fn a_batch_has_one_share_and_ends_when_it_is_full() {
        let host = host();
        let share = ReplyShare::of_batch();
        for bytes in [REPLY_CONTENT_BYTES_MAX - 1, 1] {
            reply(&host, &share, CallKind::Reads, bytes).await.unwrap();
            assert_eq!(
                free_for_writes(&host),
                REPLIES_HELD_BYTES_MAX - REPLY_CONTENT_BYTES_MAX
            );
        }
        let refused = reply(&host, &share, CallKind::Writes, 1).await;
        assert_eq!(refused.unwrap_err().code, ErrorCode::TooLarge);
    }

    #[tokio::test]
    async fn failures_and_panics_hold_nothing() {
        let host = host();
        let share = ReplyShare::default();
        let ann = user("ann");
        let failed = host.call_for_reply(&ann, &share, CallKind::Reads, String::len, |_| {
            Err(Error::not_found("no"))
        });
        assert_eq!(failed.await.unwrap_err().code, ErrorCode::NotFound);
        let panicked = host.call_for_reply(&ann, &share, CallKind::Reads, String::len, |_| {
            panic!("as the test wants it")
        });
        assert_eq!(panicked.await.unwrap_err().code, ErrorCode::Internal);
        assert_eq!(free(&host), REPLIES_HELD_BYTES_MAX);
    }
}
