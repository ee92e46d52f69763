//! The entries of the audit log for texts that hooks show an agent.

use std::time::Instant;

use loci_core::{AuditEntry, Caller, Timestamp};
use loci_engine::Engine;

/// The tool set of hooks in the audit log.
const DIALECT: &str = "hook";

/// The work of a hook that may put memories before an agent, from its beginning on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    /// On its trail are the memories that the agent is told of.
    pub(crate) caller: Caller,
    at: Timestamp,
    begun: Instant,
    /// The entry without what is known only at the end.
    duration_microseconds: u64,
    tokens: usize,
}

/// The hook whose work it is.
pub(crate) struct Hook<'a> {
    /// The name of the hook in the audit log.
    pub(crate) tool: &'static str,
    /// The kind of its operation there.
    pub(crate) operation: &'static str,
    /// The name of the host.
    pub(crate) host: Option<&'a str>,
    /// The session of the host.
    pub(crate) session: Option<&'a str>,
    /// The prompt that the memories are for.
    pub(crate) prompt: Option<&'a str>,
}

impl Told {
    /// Starts the work now.
    pub(crate) fn begin(engine: &Engine) -> Self {
        Told {
            caller: crate::caller(),
            at: engine.now(),
            begun: Instant::now(),
            duration_microseconds: 0,
            tokens: 0,
        }
    }

    /// Ends the work with a text of so many tokens for the agent.
    pub(crate) fn end(&mut self, tokens: usize) {
        self.tokens = tokens;
        self.duration_microseconds =
            u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX);
    }

    /// Adds it to the audit log, unless the agent is told of no memory.
    pub(crate) fn record(self, engine: &Engine, hook: &Hook<'_>) {
        let (records, further_records) = self.caller.trail.take();
        if records.is_empty() {
            return;
        }
        engine.audit().record(AuditEntry {
            space: self.caller.space.clone(),
            at: self.at,
            user: self.caller.principal.subject.clone(),
            caller: None,
            client: hook.host.map(str::to_owned),
            session: hook.session.map(str::to_owned),
            dialect: DIALECT.to_owned(),
            tool: hook.tool.to_owned(),
            operation: hook.operation.to_owned(),
            duration_microseconds: self.duration_microseconds,
            query: hook
                .prompt
                .map(|prompt| engine.redaction().redacted_query(prompt)),
            results: Some(records.len() as u64 + further_records),
            reply_tokens: Some(self.tokens as u64),
            failure: None,
            records,
            further_records,
        });
    }
}
