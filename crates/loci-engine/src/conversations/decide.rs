//! Decisions: values that users store under a key.

use loci_core::limits::TTL_DAYS_MAX;
use loci_core::{Decision, Error, RecordVerb, Result, Scope};

use crate::check;
use crate::conversations::Conversations;
use crate::policy::DAY_SECONDS;

impl Conversations<'_> {
    /// Stores the caller's decision under a key, and replaces an existing one; returns true if
    /// there was none. It expires after `ttl_days`, if given.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large`, naming `key`, `value` or `ttl_days` (1 to
    /// [`TTL_DAYS_MAX`]); `forbidden` for an anonymous caller; `conflict` if the caller's data was
    /// wiped since the call started; `unavailable` if the store cannot be written.
    pub fn decide(&self, key: &str, value: &str, ttl_days: Option<u64>) -> Result<bool> {
        let since = self.store.version(&self.caller.space)?;
        let (key, value) = (
            &*self.redaction.redact_stored(key).text,
            &*self.redaction.redact_stored(value).text,
        );
        check::name("key", key)?;
        check::content("value", value)?;
        if ttl_days.is_some_and(|days| !(1..=TTL_DAYS_MAX).contains(&days)) {
            return Err(Error::invalid(
                "ttl_days",
                format!("must be from 1 to {TTL_DAYS_MAX}"),
            ));
        }
        let now = self.clock.now();
        let decision = Decision {
            space: self.caller.space.clone(),
            owner: self.caller.subject()?.to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
            created_at: now,
            updated_at: now,
            expires_at: ttl_days.map(|days| now.plus_seconds((days * DAY_SECONDS) as i64)),
        };
        let is_new = self.store.put_decision(&decision, since)?;
        let verb = if is_new {
            RecordVerb::Stored
        } else {
            RecordVerb::Changed
        };
        self.caller.note_record(verb, key, Some(true));
        Ok(is_new)
    }

    /// Returns the decision that the caller is about to replace, for the reply to
    /// [`decide`](Self::decide). `None` if there is none that has not expired, if the caller lacks
    /// the scope `read`, or if the store cannot be read.
    pub fn decision_before(&self, key: &str) -> Option<Decision> {
        let may_read = self.caller.principal.scopes.allow(Scope::Read);
        let owner = self
            .caller
            .principal
            .subject
            .as_ref()
            .filter(|_| may_read)?;
        let key = &*self.redaction.redact_stored(key).text;
        let before = self
            .store
            .decision(&self.caller.space, owner, key, self.clock.now());
        before.ok().flatten()
    }

    /// Returns the caller's decision under a key, if there is one that has not expired; `None` for
    /// an anonymous caller.
    ///
    /// # Errors
    /// `invalid_argument`, naming `key`; `unavailable` if the store cannot be read.
    pub fn decided(&self, key: &str) -> Result<Option<Decision>> {
        let key = &*self.redaction.redact_written(key).text;
        check::name("key", key)?;
        let Some(owner) = &self.caller.principal.subject else {
            return Ok(None);
        };
        let decision = self
            .store
            .decision(&self.caller.space, owner, key, self.clock.now())?;
        if decision.is_some() {
            self.caller.note_record(RecordVerb::Read, key, Some(true));
        }
        Ok(decision)
    }
}
