//! Storing a memory under an id that the caller chooses.

use loci_core::{Caller, Change, Error, ErrorCode, Expect, Memory, MemoryId, Provenance, Result};
use loci_text::indexed;

use crate::memories::Memories;
use crate::memories::remember::{Remember, RememberResult, check_request, new_memory, not_wiped};
use crate::notes::not_note;

impl Memories<'_> {
    /// Stores a memory under this id, or replaces the caller's memory with that id, whose owner,
    /// visibility and creation time stay. `supersedes`, `compare_in` and `once` are ignored.
    /// Durable when it returns.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` if an argument exceeds its limits; `not_found` if the id
    /// belongs to a memory that the caller may not change; `conflict` if it belongs to a note, to a
    /// memory of another kind or tier, or to one that was deleted and is not purged yet, or if the
    /// caller's data was wiped since the call started; `unavailable` if the store cannot be
    /// written. Then nothing was stored.
    pub fn remember_as(&self, id: &MemoryId, request: Remember) -> Result<RememberResult> {
        let since = self.store.version(&self.caller.space)?;
        let request = self.redaction.redacted_request(request);
        check_request(&request)?;
        self.redaction.check_names(&request)?;
        let new = Memory {
            id: id.clone(),
            ..new_memory(&self.caller, request, self.clock.now())
        };
        let mut passages = indexed::passages(&new);
        // Checked before the model is called, which takes longer.
        self.replaced(&new)?;
        let (embedding, _) = self.models.embed_at_once(None, &new.content, &mut passages);
        let memory = self.locks.change(id, || {
            let (memory, expect, kept) = match self.replaced(&new)? {
                None => (new.clone(), Expect::Absent, None),
                Some(old) => {
                    let memory = in_place_of(&self.caller, &old, new.clone());
                    let kept = self.access.kept(Some(&old), &memory);
                    (memory, Expect::Revision(old.revision), kept)
                }
            };
            let put = Change::Put {
                memory: Box::new(memory.clone()),
                passages: Some(passages.clone()),
                expect,
            };
            let not_note = not_note(&self.caller.space, id).filter(|_| expect != Expect::Absent);
            let not_wiped = not_wiped(&memory, since).into_iter();
            let conditions = not_wiped.chain(not_note).collect();
            let changes = kept.into_iter().chain([put]).collect();
            match self.access.commit_if(conditions, changes) {
                // No other process has stored it since, so a retry will not help.
                Err(error) if error.code == ErrorCode::Conflict && expect == Expect::Absent => {
                    if self.store.get(&self.caller.space, id)?.is_some() {
                        return Err(error);
                    }
                    Ok(None)
                }
                outcome => outcome.map(|()| Some(memory)),
            }
        })?;
        let Some(memory) = memory else {
            let message = format!(
                "the id {id} cannot be given: a memory that had it was deleted, or your data was wiped meanwhile; leave `id` out to get a new one"
            );
            return Err(Error::new(ErrorCode::Conflict, message));
        };
        self.models.embed_soon(&embedding);
        Ok(RememberResult {
            memory,
            duplicate_of: None,
            contradicted: Vec::new(),
            embedding,
            start_overflow: None,
        })
    }

    /// Returns the memory that the new one replaces, if there is one.
    fn replaced(&self, new: &Memory) -> Result<Option<Memory>> {
        let Some(old) = self.store.get(&self.caller.space, &new.id)? else {
            return Ok(None);
        };
        if !self.caller.reader().may_read(&old) || !self.caller.may_write(&old) {
            return Err(Error::not_found(format!(
                "there is no memory with the id {} that is yours",
                new.id
            )));
        }
        if (&old.kind, old.tier) != (&new.kind, new.tier) || self.notes.is_note(&old)? {
            let message = format!(
                "the id {} is of a memory that is no {}, or of a note; leave `id` out",
                new.id, new.kind
            );
            return Err(Error::new(ErrorCode::Conflict, message));
        }
        Ok(Some(old))
    }
}

fn in_place_of(caller: &Caller, old: &Memory, new: Memory) -> Memory {
    let mut memory = Memory {
        owner: old.owner.clone(),
        actor: old.actor.clone(),
        origin: old.origin.clone(),
        visibility: old.visibility,
        provenance: Provenance {
            said_by: old.said_by().least(new.provenance.said_by),
            ..old.provenance.clone()
        },
        created_at: old.created_at,
        // A faster writer may have set a later time.
        updated_at: old.updated_at.max(new.updated_at),
        revision: old.revision + 1,
        ..new
    };
    memory.set_writer(caller);
    memory
}
