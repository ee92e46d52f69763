//! The caller of an operation, with the trail of the records that it touches.

use std::ops::Deref;

use loci_core::{Caller, Error, ErrorCode, Memory, RecordVerb, Result, Scope};

use crate::trail::Trail;

/// A caller with the trail of the records that it touches; what parts hold of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Actor<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) trail: &'a Trail,
}

impl<'a> Actor<'a> {
    pub(crate) fn new(caller: &'a Caller, trail: &'a Trail) -> Self {
        Actor { caller, trail }
    }

    /// Adds a memory to the trail of the call.
    pub(crate) fn note(&self, verb: RecordVerb, memory: &Memory) {
        let is_own = self.caller.owns(memory);
        self.trail.note(verb, memory.id.as_str(), Some(is_own));
    }

    /// Adds a record to the trail of the call; see [`Trail::note`].
    pub(crate) fn note_record(&self, verb: RecordVerb, id: &str, is_own: Option<bool>) {
        self.trail.note(verb, id, is_own);
    }

    /// Returns the subject under which the caller owns data that is kept for only one user.
    ///
    /// # Errors
    /// `forbidden` for an anonymous caller.
    pub(crate) fn subject(self) -> Result<&'a str> {
        let message =
            "this is kept for one user alone, and the caller has no name; give a token or a user";
        let subject = self.caller.principal.subject.as_deref();
        subject.ok_or_else(|| Error::new(ErrorCode::Forbidden, message))
    }

    /// Does the same as [`subject`](Self::subject) for a call that deletes.
    ///
    /// # Errors
    /// `forbidden` for an anonymous caller or without the scope `write`.
    pub(crate) fn deleting_subject(self) -> Result<&'a str> {
        if !self.caller.principal.scopes.allow(Scope::Write) {
            return Err(Error::new(
                ErrorCode::Forbidden,
                "deleting needs a token with the scope `write`",
            ));
        }
        self.subject()
    }
}

impl Deref for Actor<'_> {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        self.caller
    }
}
