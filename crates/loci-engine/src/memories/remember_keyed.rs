//! Storing a memory once under an idempotency key.

use loci_core::{Change, ErrorCode, Expect, MemoryId, Result};

use crate::idempotency::KeyedRequest;
use crate::memories::Memories;
use crate::memories::remember::{PreparedMemory, Remember, RememberResult, not_wiped};

/// The result of storing a memory under an idempotency key; durable when this exists.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyedRemember {
    /// The memory was stored.
    New(Box<RememberResult>),
    /// The memory with this id was stored before under the key. It may have changed since, or be
    /// gone.
    Before(MemoryId),
}

impl Memories<'_> {
    /// Stores a memory, unless a call with the same request under the key stored it before. The key
    /// is stored with the memory, all or none, so that a repeated call never stores a second one.
    /// `supersedes` and `once` are ignored.
    ///
    /// # Errors
    /// `invalid_argument` for the key (`idempotency_key`); `conflict` if it was used for another
    /// request; otherwise as for [`remember`](Memories::remember).
    pub fn remember_keyed(
        &self,
        keyed: KeyedRequest<'_>,
        request: Remember,
    ) -> Result<KeyedRemember> {
        let kept = || {
            let before = self.idempotency.kept(&keyed)?;
            Ok(before.map(|before| KeyedRemember::Before(MemoryId::new(before.answer))))
        };
        if let Some(before) = kept()? {
            return Ok(before);
        }
        let request = Remember {
            supersedes: None,
            once: false,
            ..request
        };
        let (memory, compare_in) = self.requested(request)?;
        let PreparedMemory {
            mut remembered,
            passages,
            since,
        } = self.prepared(memory, compare_in)?;
        let memory = &remembered.memory;
        let put = Change::Put {
            memory: Box::new(memory.clone()),
            passages: Some(passages),
            expect: Expect::Absent,
        };
        // The reply is about the caller's own memory, and a later deletion does not undo the call.
        let keep = self
            .idempotency
            .keep(&keyed, memory.id.as_str().to_owned(), Vec::new());
        let not_wiped = Vec::from_iter(not_wiped(memory, since));
        match self.access.commit_if(not_wiped, vec![put, keep]) {
            Ok(()) => {}
            // Another call was faster, unless the data was wiped.
            Err(error) if error.code == ErrorCode::Conflict => {
                return kept()?.ok_or(error);
            }
            Err(error) => return Err(error),
        }
        self.models.embed_soon(&remembered.embedding);
        remembered.start_overflow = self.context.start_overflow(&remembered.memory);
        Ok(KeyedRemember::New(Box::new(remembered)))
    }
}
