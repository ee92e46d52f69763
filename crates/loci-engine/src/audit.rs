//! The audit log and the access counts: buffered in memory and written in the background, so that
//! no call waits for the disk.

pub(crate) mod buffers;

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, PoisonError, TryLockError};

use loci_core::limits::{CLIENT_NAME_CHARACTERS_MAX, SESSION_BYTES_MAX};
use loci_core::{
    Access, AccessIncrement, AuditEntry, AuditQuery, Clock, DailyCount, DailyQuery, MemoryId,
    Result, Space, Store, day_of,
};

use crate::engine::Engine;
use crate::observer::Observer;
use crate::policy::Policy;
use crate::wakeup::Wakeup;

use buffers::{Buffers, PendingAudit};

/// The most entries that one transaction writes, so that a caller's write never waits long.
const FLUSH_BATCH: usize = 500;

/// The audit log and the access counts.
#[derive(Clone, Copy)]
pub struct Audit<'a> {
    store: &'a dyn Store,
    clock: &'a dyn Clock,
    policy: &'a Policy,
    to_write: &'a Arc<Wakeup>,
    buffers: &'a Buffers,
    observer: Option<&'a dyn Observer>,
}

impl Engine {
    /// Returns the audit log and the access counts.
    pub fn audit(&self) -> Audit<'_> {
        Audit {
            store: &*self.store,
            clock: &*self.clock,
            policy: &self.policy,
            to_write: &self.to_write,
            buffers: &self.buffers,
            observer: self.observer.as_deref(),
        }
    }
}

/// Returns the name of a client as it is kept: its beginning, with U+FFFD in the place of control
/// characters; `None` if it is blank.
pub(crate) fn client_name(name: &str) -> Option<String> {
    let name = name.chars().take(CLIENT_NAME_CHARACTERS_MAX);
    visible(name.collect())
}

/// Returns the name of a session as it is kept, as [`client_name`] does.
pub(crate) fn session_name(name: &str) -> Option<String> {
    visible(name[..name.floor_char_boundary(SESSION_BYTES_MAX)].to_owned())
}

fn visible(name: String) -> Option<String> {
    let name = name.replace(char::is_control, "\u{fffd}");
    (!name.trim().is_empty()).then_some(name)
}

impl<'a> Audit<'a> {
    /// Records a call and writes it before it returns, unless the store cannot be written: then the
    /// entry waits for the next [`flush`](crate::Audit::flush).
    pub fn record_durably(&self, entry: AuditEntry) {
        self.record(entry);
        if let Err(error) = self.flush() {
            tracing::warn!(%error, "the audit entry of a destructive call waits to be written");
        }
    }

    /// Records a call, with U+FFFD in the place of NUL, and with the beginning of a long name of a
    /// client or session. It is durable after the next [`flush`](crate::Audit::flush).
    pub fn record(&self, mut entry: AuditEntry) {
        entry.client = entry.client.as_deref().and_then(client_name);
        entry.session = entry.session.as_deref().and_then(session_name);
        // A refused call may quote NUL, which no store keeps: its entry would hold up all others.
        let message = entry
            .failure
            .as_mut()
            .and_then(|failure| failure.message.as_mut());
        let texts = entry.query.iter_mut().chain(message);
        for text in texts {
            *text = text.replace('\0', "\u{fffd}");
        }
        if let Some(observer) = self.observer {
            observer.call(&entry);
        }
        self.note(|noted| noted.entries.push(entry));
    }

    /// Counts an access to this memory.
    pub(crate) fn count_access(&self, space: &Space, id: &MemoryId) {
        let access = Access {
            count: 1,
            last: Some(self.clock.now()),
        };
        self.note(|noted| noted.count((space.clone(), id.clone()), access));
    }

    /// Records an entry, and signals the background if it is the first one, or if it completes
    /// another `audit_buffer` of entries. Beyond the limit it flushes at once, and drops the oldest
    /// entries if that fails: an unwritable store must not exhaust memory.
    fn note(&self, note: impl FnOnce(&mut PendingAudit)) {
        let (rings, is_full) = {
            let mut noted = self.buffers.noted();
            let before = noted.entries.len();
            let is_first = before == 0 && noted.accesses.is_empty();
            note(&mut noted);
            let entries = noted.entries.len();
            let is_enough =
                entries > before && entries.is_multiple_of(self.policy.audit_buffer.max(1));
            (is_first || is_enough, noted.is_full())
        };
        if rings {
            self.to_write.ring();
        }
        if is_full && let Err(error) = self.flush() {
            let dropped = self.buffers.noted().make_room();
            if dropped > 0 {
                tracing::warn!(%error, dropped, "audit entries or access counts are lost: they could not be written");
            }
        }
    }

    /// Returns the number of audit entries and of memories with access counts that wait for a
    /// [`flush`](crate::Audit::flush).
    pub fn buffered(&self) -> usize {
        let noted = self.buffers.noted();
        noted.entries.len() + noted.accesses.len()
    }

    /// Returns the accesses to these memories that are not in the store yet, for memories that have
    /// any. Call it before reading from the store: in the other order, a flush in between would
    /// hide them.
    pub(crate) fn unwritten_accesses<'i>(
        &self,
        space: &Space,
        ids: impl IntoIterator<Item = &'i MemoryId>,
    ) -> HashMap<MemoryId, Access> {
        let noted = self.buffers.noted();
        if noted.accesses.is_empty() && noted.in_flight.is_empty() {
            return HashMap::new();
        }
        let of = |id: &MemoryId| {
            let key = (space.clone(), id.clone());
            let both = [&noted.accesses, &noted.in_flight]
                .into_iter()
                .filter_map(|accesses| accesses.get(&key));
            Some((key.1.clone(), both.copied().reduce(Access::plus)?))
        };
        ids.into_iter().filter_map(of).collect()
    }

    /// Writes the recorded calls and the access counts. Does nothing if no entry waits.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written; then they are kept for the next flush. Stops
    /// at the first failed write, so that a busy store does not delay it twice.
    pub fn flush(&self) -> Result<()> {
        let mut last_failure = match self.buffers.flushing.try_lock() {
            Ok(last_failure) => last_failure,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                let last_failure = self
                    .buffers
                    .flushing
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                // A caller that waited for a failed flush would fail as well, after as long a wait.
                if let Some(error) = &*last_failure {
                    return Err(error.clone());
                }
                last_failure
            }
        };
        let flushed = self.flush_entries().and_then(|()| self.flush_accesses());
        *last_failure = flushed.clone().err();
        flushed
    }

    fn flush_accesses(&self) -> Result<()> {
        let touches: Vec<AccessIncrement> = {
            let noted = &mut *self.buffers.noted();
            noted.in_flight = mem::take(&mut noted.accesses);
            let touch = |((space, id), access): (&(Space, MemoryId), &Access)| AccessIncrement {
                space: space.clone(),
                id: id.clone(),
                access: *access,
            };
            noted.in_flight.iter().map(touch).collect()
        };
        let written = touches.chunks(FLUSH_BATCH).try_for_each(|batch| {
            self.store.touch(batch)?;
            let mut noted = self.buffers.noted();
            for touch in batch {
                noted
                    .in_flight
                    .remove(&(touch.space.clone(), touch.id.clone()));
            }
            Ok(())
        });
        let mut noted = self.buffers.noted();
        for (key, access) in mem::take(&mut noted.in_flight) {
            noted.count(key, access);
        }
        written
    }

    fn flush_entries(&self) -> Result<()> {
        let mut entries = mem::take(&mut self.buffers.noted().entries);
        let mut written = 0;
        let outcome = entries.chunks(FLUSH_BATCH).try_for_each(|batch| {
            self.store.append_audit(batch)?;
            written += batch.len();
            Ok(())
        });
        entries.drain(..written);
        let mut noted = self.buffers.noted();
        entries.append(&mut noted.entries);
        noted.entries = entries;
        outcome
    }

    /// Returns entries of the audit log with their numbers, oldest first; flushes first, so that
    /// they include this process's, unless the store cannot be written.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn entries(&self, query: &AuditQuery) -> Result<Vec<(u64, AuditEntry)>> {
        self.flush_to_read();
        self.store.audit(query)
    }

    /// Returns the counts of calls by day; flushes first, as [`entries`](Audit::entries) does.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn daily(&self, query: &DailyQuery) -> Result<Vec<DailyCount>> {
        self.flush_to_read();
        self.store.daily(query)
    }

    /// Returns the number of calls that all programs made in a space today, without a flush: it grows
    /// with each call at once in the process that serves it, and in others when it is written.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn calls_today(&self, space: &Space) -> Result<u64> {
        let today = day_of(self.clock.now());
        let query = DailyQuery {
            space: space.clone(),
            user: None,
            from: today,
            until: today,
        };
        let waiting = {
            let noted = self.buffers.noted();
            let of_space = noted.entries.iter().filter(|entry| entry.space == *space);
            of_space.count() as u64
        };
        let written = self.store.daily(&query)?;
        Ok(waiting + written.iter().map(|count| count.calls).sum::<u64>())
    }

    /// Returns the spaces that have entries in the audit log, in the order of their names; flushes
    /// first, as [`entries`](Audit::entries) does. May read the whole log.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn spaces(&self) -> Result<Vec<Space>> {
        self.flush_to_read();
        self.store.audited_spaces()
    }

    /// Flushes before the log is read. What cannot be written waits, and the rest can be read, e.g.
    /// on a full disk.
    fn flush_to_read(&self) {
        if let Err(error) = self.flush() {
            tracing::debug!(%error, "the log is read without the entries that wait to be written");
        }
    }

    /// Returns the wakeup that signals data for [`flush`](crate::Audit::flush) to write.
    pub fn wakeup(&self) -> &'a Arc<Wakeup> {
        self.to_write
    }
}
