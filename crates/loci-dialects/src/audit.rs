//! The audit log entry of a call.

use std::time::Instant;

use loci_core::{AuditEntry, AuditFailure, Caller, ErrorCode, Result, Trail};
use loci_engine::Engine;
use serde_json::Value;

use crate::{Context, Dialect, Reply, Tool};

/// The operation that removes all data of a user.
pub const WIPE: &str = "admin:wipe";

/// A call in progress. If it is dropped without an outcome, as by a panic, it is logged as an
/// internal error.
pub struct BegunCall<'a> {
    engine: &'a Engine,
    tool: &'a Tool,
    /// The entry; `None` once it is logged.
    entry: Option<AuditEntry>,
    trail: Trail,
    begun: Instant,
}

impl<'a> BegunCall<'a> {
    /// Starts a call now. It is logged under the caller of the context; `caller` is the one who
    /// acts for it.
    pub fn of(
        dialect: &Dialect,
        tool: &'a Tool,
        caller: &Caller,
        context: Context<'a>,
        arguments: &Value,
    ) -> Self {
        let user = &context.caller.principal.subject;
        let query = tool
            .query
            .and_then(|argument| arguments.get(argument)?.as_str());
        let entry = AuditEntry {
            space: context.caller.space.clone(),
            at: context.engine.now(),
            user: user.clone(),
            caller: caller
                .principal
                .subject
                .clone()
                .filter(|subject| user.as_ref() != Some(subject)),
            client: caller.client.clone(),
            session: caller.session.clone(),
            dialect: dialect.name.to_owned(),
            tool: tool.name.to_owned(),
            operation: tool.operation.to_owned(),
            duration_microseconds: 0,
            query: query.map(|query| context.engine.redaction().redacted_query(query)),
            results: None,
            reply_tokens: None,
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

    /// Logs the outcome. The entry of a successful destructive call is durable when this returns.
    pub fn end(mut self, outcome: &Result<Reply>) {
        let Some(mut entry) = self.entry.take() else {
            return;
        };
        entry.duration_microseconds = self.microseconds();
        // A wipe removes the user's earlier entries, but not its own.
        if entry.operation == WIPE && outcome.is_ok() {
            entry.at = self.engine.now();
        }
        if let Ok(reply) = outcome {
            entry.results = reply.results;
            let tokens = self.engine.budgets().approximate_tokens(&reply.text);
            entry.reply_tokens = Some(tokens as u64);
        }
        entry.failure = outcome.as_ref().err().map(|error| AuditFailure {
            code: error.code,
            message: match error.code {
                // The message may quote the input, so log only the name of the argument, and only
                // if the tool has it, since a confused caller may send any text as a name.
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

    fn microseconds(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn note(&self, mut entry: AuditEntry) {
        (entry.records, entry.further_records) = self.trail.take();
        // A failed call may have changed data, such as the file of a note but not its index.
        let has_changed = || entry.records.iter().any(|record| record.verb.is_change());
        if self.tool.hints.destructive && (entry.failure.is_none() || has_changed()) {
            self.engine.audit().record_durably(entry);
        } else {
            self.engine.audit().record(entry);
        }
    }
}

impl Drop for BegunCall<'_> {
    fn drop(&mut self) {
        if let Some(mut entry) = self.entry.take() {
            entry.duration_microseconds = self.microseconds();
            entry.failure = Some(AuditFailure {
                code: ErrorCode::Internal,
                message: None,
            });
            self.note(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use loci_core::{AuditQuery, Timestamp};
    use loci_engine::SearchMode;
    use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};
    use serde_json::json;

    use super::*;
    use crate::mememory;

    #[test]
    fn the_results_are_those_that_the_tool_declares() {
        let engine = Engine::new(
            Arc::new(NaiveStore::new()),
            Arc::new(HashingEmbedder::new(8)),
            Arc::new(FixedClock::new(Timestamp::from_microseconds(0))),
            SearchMode::Words,
        );
        let (dialect, caller) = (&mememory::DIALECT, Caller::local());
        let context = Context {
            engine: &engine,
            caller: &caller,
        };
        let tool = dialect.tool("recall").unwrap();
        for declared in [None, Some(2)] {
            let reply = Reply::json(&json!({"count": 7, "results": [1]}), declared);
            BegunCall::of(dialect, tool, &caller, context, &json!({})).end(&reply);
        }
        let query = AuditQuery {
            limit: 9,
            ..AuditQuery::default()
        };
        let logged = engine.audit().entries(&query).unwrap();
        let logged: Vec<_> = logged.iter().map(|(_, entry)| entry.results).collect();
        assert_eq!(logged, [None, Some(2)]);
    }
}
