//! Doing once what is asked for several times under one key.

use loci_core::{
    Batch, Caller, Change, CollectionFilter, ContentHash, Error, ErrorCode, IdempotentReply,
    MemoryId, Result,
};
use sha2::{Digest, Sha256};

use crate::{Engine, check};

/// A caller's key for what it asks for.
#[derive(Debug, Clone, Copy)]
pub struct KeyedRequest<'a> {
    /// The operation: keys of different operations are independent.
    pub operation: &'a str,
    /// The key: 1 to 256 characters.
    pub key: &'a str,
    /// All arguments but the key, in a form that is the same for the same ones.
    pub request: &'a str,
}

/// The outcome of work under an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The text of the reply.
    pub text: String,
    /// The memories whose texts are in it, each once.
    pub memories: Vec<MemoryId>,
    /// Whether it is the answer to the next such call, too: not while it lacks what there may be by
    /// then.
    pub is_kept: bool,
}

impl Engine {
    /// Answers what was answered before in this session to the same request under the key, or does
    /// the work and keeps its answer, if it is to be kept. Of several at once, one answer is kept,
    /// and all get that.
    ///
    /// A kept answer serves as long as nothing in the store changes, and is deleted with any of the
    /// memories whose texts it holds. After a change, and where this caller may not read one of
    /// them, since it was answered through a token with other rights, the work is done again and
    /// its answer returned; what was kept stays.
    ///
    /// # Errors
    /// `invalid_argument` for the key (`idempotency_key`); `conflict` if it was used for another
    /// request, or if the caller's data was wiped meanwhile; those of the work, after which nothing
    /// is kept; `unavailable` if the store cannot be read or written.
    pub fn once(
        &self,
        caller: &Caller,
        keyed: KeyedRequest<'_>,
        work: impl FnOnce() -> Result<Answer>,
    ) -> Result<String> {
        let since = self.store.version()?;
        let operation = caller
            .session
            .as_ref()
            .map(|session| format!("{} in {session}", keyed.operation));
        let keyed = KeyedRequest {
            operation: operation.as_deref().unwrap_or(keyed.operation),
            ..keyed
        };
        let owner = &caller.principal.subject;
        // Of the calls in this process one does the work.
        let _exclusive = self
            .key_locks
            .lock(&(&caller.space, owner, keyed.operation, keyed.key));
        if let Some(before) = self.kept(caller, &keyed)? {
            let serves = self.still_serves(caller, &before, since)?;
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
        let mut changes = vec![self.keep(caller, &keyed, format!("{since}\n{text}"), memories)];
        changes.extend(owner.clone().map(|owner| Change::NotWiped {
            owner,
            origin: caller.origin.to_owned(),
            since,
        }));
        match self.store.commit(Batch {
            space: caller.space.clone(),
            changes,
        }) {
            Ok(()) => Ok(text),
            // Another process was faster, unless the data was wiped.
            Err(error) if error.code == ErrorCode::Conflict => {
                let faster = self.kept(caller, &keyed)?.ok_or(error)?;
                Ok(self
                    .still_serves(caller, &faster, since)?
                    .map_or(text, str::to_owned))
            }
            Err(error) => Err(error),
        }
    }

    /// The text of an answer, if it was made of the store as that was at this version, and the
    /// caller may read all of its memories as searches would show them: none is gone or forgotten.
    fn still_serves<'a>(
        &self,
        caller: &Caller,
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
        let filter = self.filter(caller, CollectionFilter::Any);
        let readable = self.store.locations_of(&filter, &before.memories)?.len();
        Ok((readable == before.memories.len()).then_some(text))
    }

    /// Returns the earlier reply to the same request under the key.
    ///
    /// # Errors
    /// `invalid_argument` for the key (`idempotency_key`); `conflict` if it was used for another
    /// request; `unavailable` if the store cannot be read.
    pub(crate) fn kept(
        &self,
        caller: &Caller,
        keyed: &KeyedRequest<'_>,
    ) -> Result<Option<IdempotentReply>> {
        check::name("idempotency_key", keyed.key)?;
        let owner = caller.principal.subject.as_deref();
        let found = self.store.idempotent_reply(
            &caller.space,
            owner,
            keyed.operation,
            keyed.key,
            self.now(),
        )?;
        match found {
            Some(before) if before.request != request_hash(keyed) => {
                let message = "`idempotency_key` was used for another request; take a key of its own for each";
                Err(Error::new(ErrorCode::Conflict, message))
            }
            found => Ok(found),
        }
    }

    /// Keeps an answer under the key for `keyed_answer_ttl_seconds` of the
    /// [`Policy`](crate::Policy), unless there is one already.
    pub(crate) fn keep(
        &self,
        caller: &Caller,
        keyed: &KeyedRequest<'_>,
        answer: String,
        memories: Vec<MemoryId>,
    ) -> Change {
        let now = self.now();
        let seconds = i64::try_from(self.policy.keyed_answer_ttl_seconds).unwrap_or(i64::MAX);
        Change::KeepAnswer(Box::new(IdempotentReply {
            space: caller.space.clone(),
            owner: caller.principal.subject.clone(),
            origin: caller.origin.to_owned(),
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

/// Returns the hash of the arguments, by which two requests are the same, whatever their token or
/// transport.
fn request_hash(keyed: &KeyedRequest<'_>) -> ContentHash {
    ContentHash(Sha256::digest(keyed.request).into())
}
