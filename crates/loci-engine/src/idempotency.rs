//! Idempotency keys: repeated calls under one key do their work once.

use loci_core::{
    Batch, Change, Clock, CollectionFilter, Condition, ContentHash, Error, ErrorCode,
    IdempotentReply, MemoryId, Result, Store,
};
use sha2::{Digest, Sha256};

use crate::access::Access;
use crate::actor::Actor;
use crate::engine::Engine;
use crate::locks::Locks;
use crate::policy::Policy;
use crate::redaction::CallRedaction;

/// A request under an idempotency key.
#[derive(Debug, Clone, Copy)]
pub struct KeyedRequest<'a> {
    /// The name of the operation; each operation has its own keys.
    pub operation: &'a str,
    /// The key: 1 to 256 characters.
    pub key: &'a str,
    /// All arguments but the key, in a canonical form: equal arguments give equal text.
    pub request: &'a str,
}

/// The result of work under an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The text of the reply.
    pub text: String,
    /// The distinct memories whose texts are in it.
    pub memories: Vec<MemoryId>,
    /// True if the answer also serves later calls under the key: false while it lacks data that may
    /// exist by then.
    pub is_kept: bool,
}

/// Calls that have an effect only once.
#[derive(Clone, Copy)]
pub struct Idempotency<'a> {
    caller: Actor<'a>,
    store: &'a dyn Store,
    clock: &'a dyn Clock,
    policy: &'a Policy,
    redaction: CallRedaction<'a>,
    key_locks: &'a Locks,
    access: Access<'a>,
}

impl Engine {
    /// Returns the part by which a repeated call has its effect only once.
    pub(crate) fn idempotency<'a>(&'a self, caller: Actor<'a>) -> Idempotency<'a> {
        Idempotency {
            caller,
            store: &*self.store,
            clock: &*self.clock,
            policy: &self.policy,
            redaction: CallRedaction::new(&self.redaction, caller),
            key_locks: &self.key_locks,
            access: self.access(caller),
        }
    }
}

impl Idempotency<'_> {
    /// Returns the stored reply to the same request under the key in this session; without one,
    /// does the work and stores its answer if `is_kept` is set. Of several concurrent calls, one
    /// answer is stored, and all calls return it.
    ///
    /// A stored reply is valid while nothing in the store changes, and is deleted with any of the
    /// memories whose texts it contains. After a change, or if this caller's token may not read one
    /// of these memories, the work is done again and its answer returned; the stored reply stays.
    ///
    /// # Errors
    /// `invalid_argument` for the key (`idempotency_key`); `conflict` if it was used for another
    /// request, or if the caller's data was wiped since the call started; the errors of the work,
    /// after which nothing is stored; `unavailable` if the store cannot be read or written.
    pub fn once(
        &self,
        keyed: KeyedRequest<'_>,
        work: impl FnOnce() -> Result<Answer>,
    ) -> Result<String> {
        let since = self.store.version(&self.caller.space)?;
        let operation = self
            .caller
            .session
            .as_ref()
            .map(|session| format!("{} in {session}", keyed.operation));
        let keyed = KeyedRequest {
            operation: operation.as_deref().unwrap_or(keyed.operation),
            ..keyed
        };
        let owner = &self.caller.principal.subject;
        // One of the calls in this process does the work.
        let _exclusive =
            self.key_locks
                .lock(&(&self.caller.space, owner, keyed.operation, keyed.key));
        if let Some(before) = self.kept(&keyed)? {
            let serves = self.still_serves(&before, since)?;
            return serves.map_or_else(
                || work().map(|answer| answer.text),
                |text| Ok(text.to_owned()),
            );
        }
        let Answer {
            text,
            memories,
            is_kept,
        } = work()?;
        if !is_kept {
            return Ok(text);
        }
        let keep = self.keep(&keyed, format!("{since}\n{text}"), memories);
        let not_wiped = owner.clone().map(|owner| Condition::NotWiped {
            owner,
            origin: self.caller.origin.to_owned(),
            since,
        });
        match self.store.commit(Batch {
            space: self.caller.space.clone(),
            conditions: Vec::from_iter(not_wiped),
            changes: vec![keep],
        }) {
            Ok(()) => Ok(text),
            // Another process stored an answer first, unless the data was wiped.
            Err(error) if error.code == ErrorCode::Conflict => {
                let faster = self.kept(&keyed)?.ok_or(error)?;
                Ok(self
                    .still_serves(&faster, since)?
                    .map_or(text, str::to_owned))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the text of a reply if it was made from the store at this version and the caller may
    /// read all its memories as a search would: none is removed or forgotten.
    fn still_serves<'a>(
        &self,
        before: &'a IdempotentReply,
        version: u64,
    ) -> Result<Option<&'a str>> {
        let text = before
            .answer
            .split_once('\n')
            .filter(|(made_of, _)| *made_of == version.to_string());
        let Some((_, text)) = text else {
            return Ok(None);
        };
        let filter = self.access.filter(CollectionFilter::Any);
        let readable = self.store.locations_of(&filter, &before.memories)?.len();
        Ok((readable == before.memories.len()).then_some(text))
    }

    /// Returns the stored reply to the same request under the key.
    ///
    /// # Errors
    /// `invalid_argument` for the key (`idempotency_key`); `conflict` if it was used for another
    /// request; `unavailable` if the store cannot be read.
    pub(crate) fn kept(&self, keyed: &KeyedRequest<'_>) -> Result<Option<IdempotentReply>> {
        self.redaction.check_name("idempotency_key", keyed.key)?;
        let owner = self.caller.principal.subject.as_deref();
        let found = self.store.idempotent_reply(
            &self.caller.space,
            owner,
            keyed.operation,
            keyed.key,
            self.clock.now(),
        )?;
        match found {
            Some(before) if before.request != request_hash(keyed) => {
                let message = "`idempotency_key` was used for another request; take a key of its own for each";
                Err(Error::new(ErrorCode::Conflict, message))
            }
            found => Ok(found),
        }
    }

    /// Returns the change that stores an answer under the key for `idempotent_reply_ttl_seconds` of
    /// the [`Policy`]. Its commit fails if the key has a reply already.
    pub(crate) fn keep(
        &self,
        keyed: &KeyedRequest<'_>,
        answer: String,
        memories: Vec<MemoryId>,
    ) -> Change {
        let now = self.clock.now();
        let seconds = i64::try_from(self.policy.idempotent_reply_ttl_seconds).unwrap_or(i64::MAX);
        Change::PutIdempotentReply(Box::new(IdempotentReply {
            space: self.caller.space.clone(),
            owner: self.caller.principal.subject.clone(),
            origin: self.caller.origin.to_owned(),
            operation: keyed.operation.to_owned(),
            key: keyed.key.to_owned(),
            request: request_hash(keyed),
            answer,
            memories,
            created_at: now,
            expires_at: now.plus_seconds(seconds),
        }))
    }
}

/// Returns the hash that identifies a request: that of its arguments, for any token and transport.
fn request_hash(keyed: &KeyedRequest<'_>) -> ContentHash {
    ContentHash(Sha256::digest(keyed.request).into())
}
