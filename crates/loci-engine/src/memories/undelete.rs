//! Taking back the soft deletion of memories.

use loci_core::{
    Change, EnrichmentStatus, Error, ErrorCode, Filter, Forgotten, Memory, MemoryId, OwnerFilter,
    Page, Result, SoftDeleted, Tier, Timestamp,
};
use loci_text::indexed;

use crate::memories::Memories;
use crate::memories::forget_where::{ForgetConditions, MatchSummary};
use crate::memories::update::put_next;

/// The number of memories that are read and brought back at a time, so that another caller's write
/// never waits long.
const PART: usize = 256;

impl Memories<'_> {
    /// Returns a page of the memories of conversations that are soft-deleted, as
    /// [`discard`](crate::Memories::discard) deletes them, and that the caller could read: last
    /// deleted first. [`unforget`](crate::Memories::unforget) brings them back.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn deleted(&self, page: Page) -> Result<Vec<SoftDeleted>> {
        let filter = self.access.deleted_filter();
        let mut deleted = self
            .store
            .soft_deleted(&filter, None, Timestamp::MIN, page)?;
        self.access
            .hide_references(deleted.iter_mut().map(|found| &mut found.memory))?;
        Ok(deleted)
    }

    /// Brings back the soft-deleted memory that has this id, or whose id has this unique beginning or
    /// end, with the message that it was made from, or with what was made from it. Returns `None`
    /// if the caller could read no such memory.
    ///
    /// # Errors
    /// `invalid_argument` for a part of several ids; `forbidden` if the caller may only read it;
    /// `conflict` if another process removes it or brings it back now; `unavailable` if the store
    /// cannot be written.
    pub(super) fn undelete(&self, id: &MemoryId) -> Result<Option<Memory>> {
        let Some(found) = self.access.soft_deleted(id)? else {
            return Ok(None);
        };
        if !self.caller.may_write(&found.memory) {
            return Err(Error::about(
                ErrorCode::Forbidden,
                "memory",
                format!("{id} belongs to someone else and can only be read"),
            ));
        }
        let mut together = self.deleted_beside(&found.memory)?;
        together.push(found);
        Ok(self.bring_back(together)?.pop())
    }

    /// Brings back the soft-deleted memories that match; returns how many, and how many of others
    /// match that the caller may not change.
    ///
    /// # Errors
    /// As for [`unforget_where`](crate::Memories::unforget_where).
    pub(super) fn undelete_where(&self, which: &ForgetConditions) -> Result<(u64, u64)> {
        let (mut memories, mut of_others) = (0, 0);
        self.each_deleted(which, |part| {
            let read = part.len();
            let own: Vec<SoftDeleted> = part
                .into_iter()
                .filter(|found| self.caller.may_write(&found.memory))
                .collect();
            let left = read - own.len();
            of_others += left as u64;
            memories += own.len() as u64;
            self.bring_back(own)?;
            Ok(left)
        })?;
        Ok((memories, of_others))
    }

    /// Adds the soft-deleted memories that match to a summary of forgotten ones.
    ///
    /// # Errors
    /// As for [`matching`](crate::Memories::matching).
    pub(super) fn add_deleted(
        &self,
        which: &ForgetConditions,
        matching: &mut MatchSummary,
        limit: usize,
    ) -> Result<()> {
        self.each_deleted(which, |part| {
            let read = part.len();
            for SoftDeleted { memory, .. } in part {
                if !self.caller.may_write(&memory) {
                    matching.of_others += 1;
                    continue;
                }
                matching.memories += 1;
                if matching.first.len() < limit {
                    matching.first.push(memory);
                }
            }
            Ok(read)
        })
    }

    /// Passes the soft-deleted memories that match to `visit`, a part at a time. It returns how many
    /// of them are still soft-deleted, which are not passed again.
    fn each_deleted(
        &self,
        which: &ForgetConditions,
        mut visit: impl FnMut(Vec<SoftDeleted>) -> Result<usize>,
    ) -> Result<()> {
        let filter = Filter {
            tiers: Tier::OF_CONVERSATIONS.to_vec(),
            ..self.selected(which, Forgotten::Show)?
        };
        let from = which.forgotten_from.unwrap_or(Timestamp::MIN);
        let mut page = Page {
            offset: 0,
            limit: PART,
        };
        loop {
            let mut part = self.store.soft_deleted(&filter, None, from, page)?;
            let read = part.len();
            if read == 0 {
                return Ok(());
            }
            part.retain(|found| self.has_source(&found.memory, which));
            page.offset += read - part.len();
            page.offset += visit(part)?;
        }
    }

    /// Returns the soft-deleted memories of the same owner that the memory was made from, or that
    /// were made from it, because these are deleted together.
    fn deleted_beside(&self, memory: &Memory) -> Result<Vec<SoftDeleted>> {
        if memory.tier != Tier::ShortTerm && memory.source.is_none() {
            return Ok(Vec::new());
        }
        let filter = Filter {
            owner: OwnerFilter::of(memory.owner.as_deref()),
            thread: memory.thread.as_ref().map(|thread| thread.name.clone()),
            ..self.access.deleted_filter()
        };
        let is_beside = |other: &Memory| {
            other.source.as_ref() == Some(&memory.id)
                || (other.tier == Tier::ShortTerm && memory.source.as_ref() == Some(&other.id))
        };
        let (mut beside, mut offset) = (Vec::new(), 0);
        loop {
            let page = Page {
                offset,
                limit: PART,
            };
            let part = self
                .store
                .soft_deleted(&filter, None, Timestamp::MIN, page)?;
            offset += part.len();
            if part.is_empty() {
                return Ok(beside);
            }
            beside.extend(part.into_iter().filter(|found| is_beside(&found.memory)));
        }
    }

    /// Brings memories back into sight in one transaction, also those that were forgotten before they
    /// were deleted; work on them that was left is done. Returns them in the same order.
    fn bring_back(&self, deleted: Vec<SoftDeleted>) -> Result<Vec<Memory>> {
        let (mut changes, mut back) = (Vec::new(), Vec::with_capacity(deleted.len()));
        for SoftDeleted { memory, deleted_at } in deleted {
            changes.push(Change::Undelete {
                id: memory.id.clone(),
                deleted_at,
                passages: indexed::passages(&memory),
            });
            let is_to_enrich = matches!(
                memory.enrichment,
                Some(EnrichmentStatus::Pending | EnrichmentStatus::Failed)
            );
            let mut in_sight = memory.clone();
            in_sight.forgotten_at = None;
            if is_to_enrich {
                in_sight.enrichment = Some(EnrichmentStatus::Pending);
            }
            if in_sight != memory {
                let (put, next) = put_next(in_sight, None);
                changes.push(put);
                in_sight = next;
            }
            if is_to_enrich {
                changes.push(Change::Enqueue {
                    memory: memory.id,
                    due_at: self.clock.now(),
                });
            }
            back.push(in_sight);
        }
        if !back.is_empty() {
            changes.extend(self.tombstones.lift(&back)?);
            self.access.commit(changes)?;
        }
        Ok(back)
    }
}
