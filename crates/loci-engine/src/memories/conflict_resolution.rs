//! Deciding between two memories, of which one is to be used from now on.

use loci_core::{Error, Forgotten, Memory, MemoryId, Result};

use crate::memories::Memories;
use crate::memories::remember::SUPERSEDED_WEIGHT;
use crate::memories::update::put_next;
use crate::notes::not_note;

/// The most memories of a chain of replacements that are followed.
const CHAIN_MAX: usize = 100;

/// The decision of [`resolve_conflict`](crate::Memories::resolve_conflict), which
/// [`undo_resolution`](crate::Memories::undo_resolution) takes back.
#[derive(Debug, Clone, PartialEq)]
pub enum ConflictResolution {
    /// The memory that is kept supersedes the other one now.
    Superseded {
        /// The weight of the other one before.
        weight: f64,
    },
    /// The other one is forgotten.
    Forgotten,
}

impl Memories<'_> {
    /// Decides that one memory holds and another one does not: the one that is kept supersedes the
    /// other, whose weight falls as with [`remember`](crate::Memories::remember). If that cannot be
    /// (one is a note, whose file does not say it; the caller may not change the kept one; it
    /// supersedes a third one already, or the two are of different tiers or of one chain), the
    /// other one is [forgotten](crate::Memories::forget_softly). Durable when it returns.
    ///
    /// # Errors
    /// `invalid_argument` if the two are one; `not_found` if the caller can read no such memory,
    /// `forbidden` if it may only read the other one; the errors of `forget_softly`.
    pub fn resolve_conflict(
        &self,
        kept: &MemoryId,
        other: &MemoryId,
    ) -> Result<ConflictResolution> {
        if kept == other {
            return Err(Error::invalid("other", "must be another memory"));
        }
        let superseded = self.locks.change(other, || {
            let keeper = self.access.readable(kept)?;
            let replaced = self.access.writable(other)?;
            if !self.can_supersede(&keeper, &replaced)? {
                return Ok(None);
            }
            let weight = replaced.weight;
            let keeper = Memory {
                supersedes: Some(other.clone()),
                ..keeper
            };
            let faded = Memory {
                weight: weight.min(SUPERSEDED_WEIGHT),
                ..replaced
            };
            self.put_both(keeper, faded)?;
            Ok(Some(ConflictResolution::Superseded { weight }))
        })?;
        if let Some(settled) = superseded {
            return Ok(settled);
        }
        self.forget_softly(other)?;
        Ok(ConflictResolution::Forgotten)
    }

    /// Takes a decision between two memories back. Does nothing to what others decided since then.
    /// Durable when it returns.
    ///
    /// # Errors
    /// `not_found` if the caller can read no such memory, `forbidden` if it may only read it;
    /// `unavailable` if the store cannot be written.
    pub fn undo_resolution(
        &self,
        kept: &MemoryId,
        other: &MemoryId,
        settled: &ConflictResolution,
    ) -> Result<()> {
        let ConflictResolution::Superseded { weight } = *settled else {
            return self.unforget(other).map(drop);
        };
        self.locks.change(other, || {
            let show = Forgotten::Show;
            let keeper = self.access.writable_among(kept, show)?;
            let replaced = self.access.writable_among(other, show)?;
            if keeper.supersedes.as_ref() != Some(other) {
                return Ok(());
            }
            let keeper = Memory {
                supersedes: None,
                ..keeper
            };
            self.put_both(keeper, Memory { weight, ..replaced })
        })
    }

    fn put_both(&self, one: Memory, other: Memory) -> Result<()> {
        let ids = [&one.id, &other.id];
        let not_notes = ids.map(|id| not_note(&self.caller.space, id));
        let not_notes = not_notes.into_iter().flatten().collect();
        let puts = [one, other].map(|memory| put_next(memory, None).0);
        self.access.commit_if(not_notes, Vec::from(puts))
    }

    /// Returns true if a memory may supersede another one as it is now.
    fn can_supersede(&self, keeper: &Memory, replaced: &Memory) -> Result<bool> {
        let is_free = keeper.supersedes.is_none() && keeper.tier == replaced.tier;
        if !is_free || !self.caller.may_write(keeper) {
            return Ok(false);
        }
        if self.notes.is_note(keeper)? || self.notes.is_note(replaced)? {
            return Ok(false);
        }
        // A circle of replacements would leave no memory in use.
        let mut next = replaced.supersedes.clone();
        for _ in 0..CHAIN_MAX {
            let Some(id) = next else { return Ok(true) };
            if id == keeper.id {
                return Ok(false);
            }
            let older = self.store.get(&self.caller.space, &id)?;
            next = older.and_then(|older| older.supersedes);
        }
        Ok(false)
    }
}
