//! What the audit log keeps of a call.

use std::time::Instant;

use loci_core::{AuditEntry, AuditFailure, ErrorCode, Result, limits};
use loci_engine::Engine;
use serde_json::Value;

use crate::{Context, Dialect, Reply, Tool};

/// The operation that removes everything of a user.
pub const WIPE: &str = "admin:wipe";

/// A call under way.
pub struct BegunCall {
    entry: AuditEntry,
    begun: Instant,
}

impl BegunCall {
    /// A call that begins now. It is noted under the caller of the context: whoever acts.
    pub fn of(dialect: &Dialect, tool: &Tool, context: Context<'_>, arguments: &Value) -> Self {
        let query = arguments.get("query").and_then(Value::as_str);
        let entry = AuditEntry {
            space: context.caller.space.clone(),
            at: context.engine.now(),
            user: context.caller.principal.subject.clone(),
            dialect: dialect.name.to_owned(),
            tool: tool.name.to_owned(),
            operation: tool.operation.to_owned(),
            duration_microseconds: 0,
            query: query.map(|query| query.chars().take(limits::AUDIT_QUERY_CHARACTERS_MAX).collect()),
            results: None,
            failure: None,
        };
        BegunCall { entry, begun: Instant::now() }
    }

    /// Notes how it ended.
    pub fn end(self, engine: &Engine, outcome: &Result<Reply>) {
        // A wipe takes along what was noted of the user before it, but not the note of itself.
        let is_wipe = self.entry.operation == WIPE && outcome.is_ok();
        let duration_microseconds = u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        let entry = AuditEntry {
            at: if is_wipe { engine.now() } else { self.entry.at },
            duration_microseconds,
            results: outcome.as_ref().ok().and_then(|reply| results(&reply.structured)),
            failure: outcome.as_ref().err().map(|error| AuditFailure {
                code: error.code,
                // It may quote an argument.
                message: (error.code != ErrorCode::InvalidArgument).then(|| error.message.clone()),
            }),
            ..self.entry
        };
        engine.audit(entry);
    }
}

/// How many results a reply has: the length of its array, or its `count`.
fn results(structured: &Value) -> Option<u64> {
    let list = structured.as_array().or_else(|| structured.get("results")?.as_array());
    list.map(|list| list.len() as u64).or_else(|| structured.get("count")?.as_u64())
}
