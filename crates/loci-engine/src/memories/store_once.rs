//! Storing a text once, under an id that is derived from it.

use std::collections::HashSet;

use loci_core::{ErrorCode, Filter, Memory, MemoryId, Reader, Result, Scope, Timestamp};
use uuid::Uuid;

use crate::memories::Memories;
use crate::memories::remember::{PreparedMemory, Remember, RememberResult};

/// The most ids that are tried for one text.
const IDS_MAX: u32 = 16;

/// The result of filing a text.
#[derive(Debug, Clone, PartialEq)]
pub enum FilingResult {
    /// The text was stored.
    New(Box<RememberResult>),
    /// The same text was in the same location already, under one of the ids.
    Existing(Box<Memory>),
}

impl Memories<'_> {
    /// Stores a memory under the first free one of its ids (`id_of` 0, 1, ...), unless the same
    /// text is in the same location under any of the first sixteen. An id is taken by a memory that
    /// the caller may not read, that was forgotten, or that has another text or location by now; if
    /// all sixteen are taken, the memory gets the id of a random number. So does every memory of a
    /// caller without the scope `read`, which does not learn of existing ones. Durable when it
    /// returns.
    ///
    /// # Errors
    /// As for [`remember`](crate::Memories::remember).
    pub fn store_once(
        &self,
        id_of: &dyn Fn(u32) -> MemoryId,
        request: Remember,
    ) -> Result<FilingResult> {
        let (mut memory, compare_in) = self.requested(request)?;
        // Without the scope `read`, the number of an id would reveal which texts others filed.
        let is_blind = !self.caller.principal.scopes.allow(Scope::Read);
        let ids: Vec<MemoryId> = if is_blind {
            Vec::new()
        } else {
            (0..IDS_MAX).map(id_of).collect()
        };
        let all = Filter::of(
            self.caller.space.clone(),
            Reader::everything(),
            Timestamp::MIN,
        );
        let mut taken = HashSet::new();
        let mut prepared = None;
        loop {
            let held = self.store.get_all(&all, &ids)?;
            if let Some(before) = held.iter().find(|held| self.is_filed_as(held, &memory)) {
                return Ok(FilingResult::Existing(Box::new(before.clone())));
            }
            taken.extend(held.into_iter().map(|held| held.id));
            let free = ids.iter().find(|id| !taken.contains(*id));
            memory.id = free.cloned().unwrap_or_else(|| id_of(random_number()));
            let new: PreparedMemory = match prepared.take() {
                Some(prepared) => prepared,
                None => self.prepared(memory.clone(), compare_in.clone())?,
            };
            match self.commit_new(&memory, new.passages.clone(), new.since) {
                // Another process may have stored a memory under this id just now, or a
                // soft-deleted one has it.
                Err(error) if error.code == ErrorCode::Conflict && free.is_some() => {
                    taken.insert(memory.id.clone());
                    prepared = Some(new);
                }
                outcome => {
                    outcome?;
                    self.models.embed_soon(&new.remembered.embedding);
                    return Ok(FilingResult::New(Box::new(RememberResult {
                        memory,
                        ..new.remembered
                    })));
                }
            }
        }
    }

    /// Reports whether a memory has the text and the location of the one that the caller files.
    fn is_filed_as(&self, held: &Memory, memory: &Memory) -> bool {
        self.caller.reader().may_read(held)
            && held.is_live(self.clock.now())
            && held.forgotten_at.is_none()
            && (&held.location, &held.content) == (&memory.location, &memory.content)
    }
}

/// Returns a random number, under which almost certainly no text was filed yet.
fn random_number() -> u32 {
    (Uuid::now_v7().as_u128() as u32).max(IDS_MAX)
}
