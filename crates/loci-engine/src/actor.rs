//! The caller of an operation, with the trail of the records that it touches.

use std::ops::Deref;

use loci_core::{Caller, Memory, RecordVerb};

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
}

impl Deref for Actor<'_> {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        self.caller
    }
}
