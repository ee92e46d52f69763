//! The interface to figures about what an engine does.

use std::time::Duration;

use loci_core::{AuditEntry, ErrorCode};

/// Sees what an engine does, for figures. Its methods must not block; methods that an
/// implementation does not need do nothing.
///
/// No value is what a caller wrote: each is one of a few names, or a number.
pub trait Observer: Send + Sync {
    /// A call was recorded for the audit log; it is not written yet.
    fn call(&self, _entry: &AuditEntry) {}

    /// The store answered; `operation` is the method of its interface.
    fn store_operation(&self, _operation: &'static str, _took: Duration, _outcome: Outcome) {}

    /// A model embedded a number of texts together, or failed to.
    fn embedding(&self, _texts: EmbeddedTexts, _count: usize, _took: Duration, _outcome: Outcome) {}

    /// A sweep removed expired data, in a number of steps: each is one record, or a part of a large
    /// memory.
    fn sweep(&self, _steps: usize) {}

    /// A lease on background work was asked for, or given back.
    fn lease(&self, _work: LeasedWork, _outcome: LeaseOutcome) {}

    /// A number of secrets of a kind was removed from a text before it was stored.
    fn redaction(&self, _kind: &str, _count: u64) {}
}

/// Sees nothing.
impl Observer for () {}

/// The outcome of an operation: the code of its error, if it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome(pub Option<ErrorCode>);

impl Outcome {
    /// Returns the outcome of a result.
    pub fn of<T>(result: &loci_core::Result<T>) -> Self {
        Outcome(result.as_ref().err().map(|error| error.code))
    }

    /// Returns `ok`, or the name of the error code.
    pub fn name(self) -> &'static str {
        self.0.map_or("ok", ErrorCode::name)
    }
}

/// The texts that a model embeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddedTexts {
    /// Passages of memories.
    Passages,
    /// Questions. The vector of a repeated one may be in memory.
    Questions,
}

impl EmbeddedTexts {
    /// Returns the name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            EmbeddedTexts::Passages => "passages",
            EmbeddedTexts::Questions => "questions",
        }
    }
}

/// Work that only one process at a time does, under a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeasedWork {
    /// The sweep of expired data.
    Sweep,
    /// The embedding of waiting texts.
    Embed,
    /// The examination of memories for what people should decide.
    Examine,
    /// The consolidation of memories that say the same.
    Consolidate,
    /// The use of a model, whose vectors others must keep until then.
    Model,
    /// Changes of the folder of notes, of a store that several machines share.
    Notes,
}

impl LeasedWork {
    /// Returns the name of the work.
    pub fn name(self) -> &'static str {
        match self {
            LeasedWork::Sweep => "sweep",
            LeasedWork::Embed => "embed",
            LeasedWork::Examine => "examine",
            LeasedWork::Consolidate => "consolidate",
            LeasedWork::Model => "model",
            LeasedWork::Notes => "notes",
        }
    }
}

/// The answer to a request for a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseOutcome {
    /// This process has it now, or for longer.
    Taken,
    /// Another process has it.
    Refused,
    /// Another process has it, and this one had it before and did not give it back.
    Lost,
    /// This process gave it back.
    Released,
}

impl LeaseOutcome {
    /// Returns the name of the outcome.
    pub fn name(self) -> &'static str {
        match self {
            LeaseOutcome::Taken => "taken",
            LeaseOutcome::Refused => "refused",
            LeaseOutcome::Lost => "lost",
            LeaseOutcome::Released => "released",
        }
    }
}
