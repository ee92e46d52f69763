//! Connection slots: limits the number of connections and evicts one when all slots are taken.
//!
//! Connections with a request under way of a client that is known cannot be evicted, so one subject
//! has such requests on three quarters of the slots at most. Its others wait for that, and give way
//! like strangers until then.

use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use loci_admission::{Permit, Pool, Subject};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::mutex::lock;

/// All connection slots of one server.
pub(crate) struct ConnectionSlots {
    free: Arc<Semaphore>,
    taken: Mutex<HashMap<u64, Arc<ConnectionSlot>>>,
    /// Notifies when another connection can be evicted.
    freed: Arc<Notify>,
    shares: Arc<Pool>,
}

/// The slot of one connection.
pub(crate) struct ConnectionSlot {
    state: Mutex<State>,
    freed: Arc<Notify>,
    shares: Arc<Pool>,
    /// Notifies when this connection should end.
    asked: Notify,
}

struct State {
    /// The number of requests under way, plus one while the client has yet to read bytes that were
    /// written for it.
    under_way: usize,
    /// The time when the connection became idle; for an unauthenticated one, when it was accepted.
    since: Instant,
    has_begun: bool,
    /// True if a request of this connection was authenticated, and has its share.
    is_known: bool,
    /// The share of the subject of its request, until nothing is under way.
    share: Option<Permit>,
    /// True while it has been asked to end and has not answered.
    is_asked: bool,
}

impl State {
    /// Returns true for every unauthenticated connection: evicting it loses nothing, and keeping it
    /// could lock out authenticated clients.
    fn may_be_evicted(&self) -> bool {
        !self.is_known || self.under_way == 0
    }
}

/// A taken slot, which is freed when this is dropped.
pub(crate) struct SlotGuard {
    number: u64,
    pub(crate) slot: Arc<ConnectionSlot>,
    places: Arc<ConnectionSlots>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        lock(&self.places.taken).remove(&self.number);
    }
}

impl ConnectionSlots {
    pub(crate) fn new(max: usize) -> Arc<Self> {
        let free = Arc::new(Semaphore::new(max));
        Arc::new(ConnectionSlots {
            free,
            taken: Mutex::default(),
            freed: Arc::default(),
            shares: Arc::new(Pool::shared(max)),
        })
    }

    /// Takes a slot for this connection number, which must be unique. If all are taken, evicts the
    /// oldest unauthenticated connection, even if it is active; without one, the connection that
    /// has been idle for longest; if all have requests under way, waits.
    pub(crate) async fn take(self: &Arc<Self>, number: u64) -> SlotGuard {
        let permit = loop {
            let freed = self.freed.notified();
            if self.free.available_permits() == 0 {
                self.evict_one();
            }
            tokio::select! {
                Ok(permit) = Arc::clone(&self.free).acquire_owned() => break permit,
                () = freed => {}
            }
        };
        let state = State {
            under_way: 0,
            since: Instant::now(),
            has_begun: false,
            is_known: false,
            share: None,
            is_asked: false,
        };
        let place = Arc::new(ConnectionSlot {
            state: Mutex::new(state),
            freed: Arc::clone(&self.freed),
            shares: Arc::clone(&self.shares),
            asked: Notify::new(),
        });
        lock(&self.taken).insert(number, Arc::clone(&place));
        SlotGuard {
            number,
            slot: place,
            places: Arc::clone(self),
            _permit: permit,
        }
    }

    /// Asks a connection to end, if one can be evicted and no earlier request to end is unanswered.
    pub(crate) fn evict_one(&self) {
        let taken = lock(&self.taken);
        if taken.values().any(|place| lock(&place.state).is_asked) {
            return;
        }
        let candidates = taken.values().filter_map(|place| {
            let state = lock(&place.state);
            state
                .may_be_evicted()
                .then_some(((state.is_known, state.since), place))
        });
        if let Some((_, place)) = candidates.min_by_key(|(rank, _)| *rank) {
            lock(&place.state).is_asked = true;
            place.asked.notify_one();
        }
    }
}

impl ConnectionSlot {
    /// Waits until this connection must end to free its slot. The connection's own task must await
    /// this, so that no request starts between the decision and the end.
    pub(crate) async fn evicted(&self) {
        loop {
            self.asked.notified().await;
            let mut state = lock(&self.state);
            if state.may_be_evicted() {
                return;
            }
            state.is_asked = false;
            // Another connection must be asked.
            self.freed.notify_waiters();
        }
    }

    /// Returns true if a request has ever started.
    pub(crate) fn has_begun(&self) -> bool {
        lock(&self.state).has_begun
    }

    /// Marks the connection as authenticated once its request has a share of the slots that its
    /// subject may hold. While it waits for that it gives way like a stranger's.
    pub(crate) async fn know(&self, subject: &Subject) {
        let share = match self.shares.try_acquire(subject, 1) {
            Some(share) => Some(share),
            None if self.has_share() => return,
            None => {
                lock(&self.state).is_known = false;
                self.freed.notify_waiters();
                self.shares.acquire(subject, 1).await
            }
        };
        let mut state = lock(&self.state);
        state.is_known = true;
        state.share = share;
    }

    /// True if the request before this one has left its share, which serves this one, too: the bytes
    /// of its reply are not yet read.
    fn has_share(&self) -> bool {
        lock(&self.state).share.is_some()
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = lock(&self.state);
        change(&mut state);
        if state.under_way == 0 {
            state.share = None;
        }
        if state.is_known && state.may_be_evicted() {
            state.since = Instant::now();
            self.freed.notify_waiters();
        }
    }

    /// Marks a request as under way until the returned value is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> UnderWay {
        let mut state = lock(&self.state);
        state.under_way += 1;
        state.has_begun = true;
        UnderWay(Arc::clone(self))
    }
}

/// A request under way.
pub(crate) struct UnderWay(Arc<ConnectionSlot>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.change(|state| state.under_way -= 1);
    }
}

/// A stream that notes in its slot whether the client is reading the written bytes. When no write
/// is pending here, a reply has left the buffers of HTTP (and of the encryption) for good.
pub(crate) struct ActivityStream<S> {
    pub(crate) inner: S,
    pub(crate) place: Arc<ConnectionSlot>,
    pub(crate) is_writing: bool,
}

impl<S> ActivityStream<S> {
    fn note<T>(&mut self, written: Poll<T>) -> Poll<T> {
        if written.is_pending() != self.is_writing {
            self.is_writing = written.is_pending();
            self.place.change(|state| {
                if self.is_writing {
                    state.under_way += 1;
                } else {
                    state.under_way -= 1;
                }
            });
        }
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ActivityStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        read: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, read)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ActivityStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.note(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, bytes);
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

/// The body of a response, whose request stays under way until its last frame is taken for writing.
pub(crate) struct ResponseBody {
    pub(crate) inner: Body,
    pub(crate) _under_way: UnderWay,
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.inner).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
