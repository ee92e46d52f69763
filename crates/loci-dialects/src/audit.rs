//! What the audit log keeps of a call.

use std::time::Instant;

use loci_core::{AuditEntry, AuditFailure, Caller, ErrorCode, RecordVerb, Result, Trail, limits};
use loci_engine::Engine;
use serde_json::Value;

use crate::{Context, Dialect, Reply, Tool};

/// The operation that removes everything of a user.
pub const WIPE: &str = "admin:wipe";

/// A call under way. Dropped without an end, which is what a panic does, it is noted as a fault.
pub struct BegunCall<'a> {
    engine: &'a Engine,
    tool: &'a Tool,
    /// None when it is noted.
    entry: Option<AuditEntry>,
    trail: Trail,
    begun: Instant,
}

impl<'a> BegunCall<'a> {
    /// A call that begins now. It is noted under the caller of the context, for whom `caller` acts.
    pub fn of(
        dialect: &Dialect,
        tool: &'a Tool,
        caller: &Caller,
        context: Context<'a>,
        arguments: &Value,
    ) -> Self {
        let user = &context.caller.principal.subject;
        let query = arguments.get("query").and_then(Value::as_str);
        let entry = AuditEntry {
            space: context.caller.space.clone(),
            at: context.engine.now(),
            user: user.clone(),
            caller: caller
                .principal
                .subject
                .clone()
                .filter(|subject| user.as_ref() != Some(subject)),
            dialect: dialect.name.to_owned(),
            tool: tool.name.to_owned(),
            operation: tool.operation.to_owned(),
            duration_microseconds: 0,
            query: query.map(|query| {
                // Before it is cut, so that no part of a secret stays.
                let query = context.engine.redact_written(query);
                query
                    .text
                    .chars()
                    .take(limits::AUDIT_QUERY_CHARACTERS_MAX)
                    .collect()
            }),
            results: None,
            failure: None,
            records: Vec::new(),
            further_records: 0,
        };
        let trail = context.caller.trail.clone();
        BegunCall {
            engine: context.engine,
            tool,
            entry: Some(entry),
            trail,
            begun: Instant::now(),
        }
    }

    /// Notes how it ended. That a destructive call went well is durable when this returns.
    pub fn end(mut self, outcome: &Result<Reply>) {
        let Some(mut entry) = self.entry.take() else {
            return;
        };
        // A wipe takes along what was noted of the user before it, but not the note of itself.
        if entry.operation == WIPE && outcome.is_ok() {
            entry.at = self.engine.now();
        }
        entry.results = outcome
            .as_ref()
            .ok()
            .and_then(|reply| results(&reply.structured));
        entry.failure = outcome.as_ref().err().map(|error| AuditFailure {
            code: error.code,
            message: match error.code {
                // It may quote what was sent: the name of the argument must do, and that only if
                // the tool has it, since a confused caller puts anything where a name belongs.
                ErrorCode::InvalidArgument => {
                    let name = error
                        .argument
                        .as_deref()
                        .filter(|name| self.tool.has_argument(name));
                    name.map(|name| format!("`{name}`"))
                }
                _ => Some(error.message.clone()),
            },
        });
        self.note(entry);
    }

    fn note(&self, mut entry: AuditEntry) {
        entry.duration_microseconds =
            u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        (entry.records, entry.further_records) = self.trail.take();
        // A call may fail when it has changed something: the file of a note, but not its index.
        let has_changed = || {
            entry
                .records
                .iter()
                .any(|record| record.verb != RecordVerb::Read)
        };
        if self.tool.hints.destructive && (entry.failure.is_none() || has_changed()) {
            self.engine.audit_durably(entry);
        } else {
            self.engine.audit(entry);
        }
    }
}

impl Drop for BegunCall<'_> {
    fn drop(&mut self) {
        if let Some(mut entry) = self.entry.take() {
            entry.failure = Some(AuditFailure {
                code: ErrorCode::Internal,
                message: None,
            });
            self.note(entry);
        }
    }
}

/// How many things a reply is about: the length of its array, a count, or 1 and 0 for yes and no.
fn results(structured: &Value) -> Option<u64> {
    const LISTS: [&str; 7] = [
        "results",
        "memories",
        "discoveries",
        "included",
        "drawers",
        "matches",
        "entries",
    ];
    const COUNTS: [&str; 7] = [
        "count",
        "deleted_count",
        "memories_deleted",
        "deleted",
        "total_memories",
        "cache_hit",
        "found",
    ];
    let list = structured.as_array().or_else(|| {
        LISTS
            .iter()
            .find_map(|name| structured.get(name)?.as_array())
    });
    let counted = || {
        let value = COUNTS.iter().find_map(|name| structured.get(name))?;
        value.as_u64().or_else(|| value.as_bool().map(u64::from))
    };
    list.map(|list| list.len() as u64).or_else(counted)
}
