//! Doing once what is asked for several times under one key.

use loci_core::{Batch, Caller, Change, ContentHash, Error, ErrorCode, KeyedAnswer, Result};
use sha2::{Digest, Sha256};

use crate::{Engine, check};

/// A caller's key for what it asks for.
#[derive(Debug, Clone, Copy)]
pub struct Keyed<'a> {
    /// What is asked for: keys of different operations have nothing to do with each other.
    pub operation: &'a str,
    /// The key: 1 to 256 characters.
    pub key: &'a str,
    /// All arguments but the key, in a form that is the same for the same ones.
    pub request: &'a str,
}

impl Engine {
    /// Answers what was answered before to the same request under the key, or does the work and keeps its
    /// answer. Of several at once, one answer is kept, and all get that.
    ///
    /// # Errors
    /// `invalid_argument` for the key (`idempotency_key`); `conflict` if it was used for another request, or if
    /// the caller's data was wiped meanwhile; those of the work, after which nothing is kept; `unavailable` if
    /// the store cannot be read or written.
    pub fn once(&self, caller: &Caller, keyed: Keyed<'_>, work: impl FnOnce() -> Result<String>) -> Result<String> {
        let since = self.store.version()?;
        let owner = &caller.principal.subject;
        // Of the calls in this process one does the work.
        let _exclusive = self.key_locks.lock(&(&caller.space, owner, keyed.operation, keyed.key));
        if let Some(answer) = self.kept(caller, &keyed)? {
            return Ok(answer);
        }
        let answer = work()?;
        let mut changes = vec![self.keep(caller, &keyed, answer.clone())];
        changes.extend(owner.clone().map(|owner| Change::NotWiped { owner, origin: caller.origin.to_owned(), since }));
        match self.store.commit(Batch { space: caller.space.clone(), changes }) {
            Ok(()) => Ok(answer),
            // Another process was faster, unless the data was wiped.
            Err(error) if error.code == ErrorCode::Conflict => self.kept(caller, &keyed)?.ok_or(error),
            Err(error) => Err(error),
        }
    }

    /// What was answered before to the same request under the key.
    ///
    /// # Errors
    /// `invalid_argument` for the key (`idempotency_key`); `conflict` if it was used for another request;
    /// `unavailable` if the store cannot be read.
    pub(crate) fn kept(&self, caller: &Caller, keyed: &Keyed<'_>) -> Result<Option<String>> {
        check::name("idempotency_key", keyed.key)?;
        let owner = caller.principal.subject.as_deref();
        let found = self.store.keyed_answer(&caller.space, owner, keyed.operation, keyed.key, self.now())?;
        match found {
            Some(before) if before.request != request_hash(caller, keyed) => {
                let message = "`idempotency_key` was used for another request; take a key of its own for each";
                Err(Error::new(ErrorCode::Conflict, message))
            }
            found => Ok(found.map(|before| before.answer)),
        }
    }

    /// Keeps an answer under the key for `keyed_answer_ttl_seconds` of the [`Policy`](crate::Policy), unless there
    /// is one already.
    pub(crate) fn keep(&self, caller: &Caller, keyed: &Keyed<'_>, answer: String) -> Change {
        let now = self.now();
        let seconds = i64::try_from(self.policy.keyed_answer_ttl_seconds).unwrap_or(i64::MAX);
        Change::KeepAnswer(Box::new(KeyedAnswer {
            space: caller.space.clone(),
            owner: caller.principal.subject.clone(),
            origin: caller.origin.to_owned(),
            operation: keyed.operation.to_owned(),
            key: keyed.key.to_owned(),
            request: request_hash(caller, keyed),
            answer,
            created_at: now,
            expires_at: now.plus_seconds(seconds),
        }))
    }
}

/// What makes two requests the same: the arguments, and what the caller may read. An answer may hold what one
/// token of a subject may read and another one, with fewer rights, may not.
fn request_hash(caller: &Caller, keyed: &Keyed<'_>) -> ContentHash {
    let reader = caller.reader();
    let rights = [reader.everything, reader.shared, reader.own_origin.is_some()].map(u8::from);
    // The length tells where the name ends.
    let own_origin = reader.own_origin.unwrap_or_default();
    let hasher = Sha256::new().chain_update(rights).chain_update((own_origin.len() as u64).to_le_bytes());
    ContentHash(hasher.chain_update(own_origin).chain_update(keyed.request).finalize().into())
}
