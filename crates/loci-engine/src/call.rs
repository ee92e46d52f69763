//! Calls: the only door into the engine for a request of a person or an agent.
//!
//! A call is one request of a caller: a tool of a dialect, a view or a change of the page, a
//! command, a hook. Its envelope is here once, because each entrance that wrote its own forgot
//! something, e.g. that a deletion is in the audit log before it is acknowledged:
//!
//! 1. [`Engine::call`] checks that the caller has the scopes that the call needs.
//! 2. The parts come from the [`Call`]. They hold the caller and the trail of the records that the
//!    call touches, so that no operation can act for somebody else, or go unrecorded.
//! 3. When the call ends, it is in the audit log: with its outcome, or as an internal error if it
//!    panicked. A call that [destroys](Effect::Destroy) something is in the log, durably, before
//!    `call` returns, and so is a change by a [person](CallInfo::by_a_person).
//!
//! Work without a person behind it, e.g. the background, or an archive that is moved between two
//! stores, has a [`System`] instead, which is not logged.

use std::cell::Cell;
use std::ops::Deref;
use std::time::Instant;

use loci_core::{
    AuditEntry, AuditFailure, Caller, Error, ErrorCode, LOCAL, Ownership, RecordVerb, Redactions,
    Result, Scope,
};

use crate::access::Access;
use crate::actor::Actor;
use crate::audit::{client_name, session_name};
use crate::changes::Changes;
use crate::consolidation::Consolidation;
use crate::context::Context;
use crate::conversations::Conversations;
use crate::engine::Engine;
use crate::graph::Graph;
use crate::idempotency::Idempotency;
use crate::imports::Imports;
use crate::listings::Listings;
use crate::memories::Memories;
use crate::memory_files::MemoryFiles;
use crate::nodes::Nodes;
use crate::notes::Notes;
use crate::open_items::OpenItems;
use crate::search::Search;
use crate::secrets::Secrets;
use crate::settings::Settings;
use crate::sources::Sources;
use crate::traces;
use crate::trail::Trail;

/// The operation that removes all data of a user.
pub const WIPE: &str = "admin:wipe";

/// The effect of a call on what is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// It changes nothing but the audit log and access counts.
    Read,
    /// It adds something, or changes something in a way that can be undone.
    Write,
    /// It may remove or overwrite something for good: its entry in the audit log is durable before
    /// it is acknowledged.
    Destroy,
}

/// The condition under which a call is in the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogCondition {
    Always,
    /// If it touched a record, e.g. a hook that showed the agent a memory.
    WithRecords,
    /// If it changed a record, e.g. a view of the page, which people only look at.
    WithChanges,
}

/// A call as the audit log names it, with the scopes that it needs.
pub struct CallInfo<'a> {
    entrance: &'a str,
    tool: &'a str,
    operation: &'static str,
    effect: Effect,
    scopes: &'a [Scope],
    query: Option<&'a str>,
    sender: Option<&'a str>,
    client: Option<(Option<&'a str>, Option<&'a str>)>,
    knows_argument: &'a dyn Fn(&str) -> bool,
    logged: LogCondition,
    started: Instant,
    is_by_a_person: bool,
}

impl<'a> CallInfo<'a> {
    /// Creates the description of a call. `entrance` is the tool set in the audit log, e.g. a
    /// dialect or `page`, `tool` the name of the tool in it, and `operation` its kind, e.g.
    /// `memory:write`.
    pub fn new(
        entrance: &'a str,
        tool: &'a str,
        operation: &'static str,
        effect: Effect,
        scopes: &'a [Scope],
    ) -> Self {
        CallInfo {
            entrance,
            tool,
            operation,
            effect,
            scopes,
            query: None,
            sender: None,
            client: None,
            knows_argument: &|_| false,
            logged: LogCondition::Always,
            started: Instant::now(),
            is_by_a_person: false,
        }
    }

    /// Returns the call with the text that it searches for; the audit log has its beginning,
    /// without secrets.
    #[must_use]
    pub fn with_query(self, query: Option<&'a str>) -> Self {
        CallInfo { query, ..self }
    }

    /// Returns the call with the subject that sent it, where the caller is another user, for whom
    /// the sender acts.
    #[must_use]
    pub fn sent_by(self, sender: Option<&'a str>) -> Self {
        CallInfo { sender, ..self }
    }

    /// Returns the call with a test of whether its tool has an argument of a name. The audit log
    /// names an argument in a failure only then, because a confused caller may send any text as a
    /// name.
    #[must_use]
    pub fn with_arguments(self, knows_argument: &'a dyn Fn(&str) -> bool) -> Self {
        CallInfo {
            knows_argument,
            ..self
        }
    }

    /// Returns the call as one of another program than the caller names, and of its session, e.g. of
    /// the host whose hook calls.
    #[must_use]
    pub fn of_client(self, client: Option<&'a str>, session: Option<&'a str>) -> Self {
        CallInfo {
            client: Some((client, session)),
            ..self
        }
    }

    /// Returns the call as one whose work started earlier, for its duration.
    #[must_use]
    pub fn since(self, started: Instant) -> Self {
        CallInfo { started, ..self }
    }

    /// Returns the call as one of a person, e.g. on the page or the command line: if it changes
    /// anything, its entry in the audit log is durable before it is acknowledged. Agents call too
    /// often for that.
    #[must_use]
    pub fn by_a_person(self) -> Self {
        CallInfo {
            is_by_a_person: true,
            ..self
        }
    }

    /// Returns the call as one that is logged only if it touched a record.
    #[must_use]
    pub fn logged_with_records(self) -> Self {
        CallInfo {
            logged: LogCondition::WithRecords,
            ..self
        }
    }

    /// Returns the call as one that is logged only if it changed a record.
    #[must_use]
    pub fn logged_with_changes(self) -> Self {
        CallInfo {
            logged: LogCondition::WithChanges,
            ..self
        }
    }

    /// Returns the error of a caller that lacks a scope of the call.
    pub fn denial(&self) -> Error {
        denial(self.tool, self.scopes)
    }

    fn is_allowed(&self, caller: &Caller) -> bool {
        let has = |scope: &Scope| caller.principal.scopes.allow(*scope);
        self.scopes.iter().all(has)
    }
}

/// Returns the error of a caller that lacks one of these scopes for a tool.
pub fn denial(tool: &str, scopes: &[Scope]) -> Error {
    let names: Vec<String> = scopes
        .iter()
        .map(|scope| format!("`{}`", scope.name()))
        .collect();
    let plural = if names.len() == 1 { "" } else { "s" };
    let names = names.join(" and ");
    let message = format!("{tool} needs a token with the scope{plural} {names}");
    Error::new(ErrorCode::Forbidden, message)
}

/// The parts of the engine for one caller.
pub struct Parts<'a> {
    engine: &'a Engine,
    caller: Caller,
    trail: Trail,
}

impl<'a> Parts<'a> {
    fn new(engine: &'a Engine, caller: Caller) -> Self {
        Parts {
            engine,
            caller,
            trail: Trail::default(),
        }
    }

    /// Returns the engine, with what needs no caller.
    pub fn engine(&self) -> &'a Engine {
        self.engine
    }

    /// Returns the caller.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Returns the parts of the same caller in another tool set, beside the trail of the call. This
    /// is for lookups of which the caller sees only a part, e.g. the start of a session: what it
    /// sees goes on the trail by [`note`](Parts::note).
    #[must_use]
    pub fn aside(&self, origin: &'static str, ownership: Ownership) -> Parts<'a> {
        let caller = Caller {
            origin,
            ownership,
            ..self.caller.clone()
        };
        Parts::new(self.engine, caller)
    }

    /// Adds a record to the trail of the call: `is_own` says if a wipe of the caller would remove
    /// it.
    pub fn note(&self, verb: RecordVerb, id: &str, is_own: bool) {
        self.trail.note(verb, id, Some(is_own));
    }

    /// Returns the ids of the first records that the call did something to so far, in their order: of
    /// the verbs for which the test is true.
    pub fn touched(&self, are_meant: impl Fn(RecordVerb) -> bool) -> Vec<String> {
        self.trail.ids(are_meant)
    }

    /// Returns the secrets that were removed from what the call stores, so far.
    pub fn redactions(&self) -> Redactions {
        self.trail.redactions()
    }

    pub(crate) fn actor(&self) -> Actor<'_> {
        Actor::new(&self.caller, &self.trail)
    }

    /// Returns the bundles of memories, and the memories at the start of a session.
    pub fn context(&self) -> Context<'_> {
        self.engine.context(self.actor())
    }

    pub(crate) fn access(&self) -> Access<'_> {
        self.engine.access(self.actor())
    }

    /// Returns the changes of memories, facts and tunnels by who made them.
    pub fn changes(&self) -> Changes<'_> {
        self.engine.changes(self.actor())
    }

    /// Returns the consolidation of memories that say the same.
    pub fn consolidation(&self) -> Consolidation<'_> {
        self.engine.consolidation(self.actor())
    }

    /// Returns the operations on messages, decisions and cached answers.
    pub fn conversations(&self) -> Conversations<'_> {
        self.engine.conversations(self.actor())
    }

    /// Returns the operations on facts, tunnels and rooms.
    pub fn graph(&self) -> Graph<'_> {
        self.engine.graph(self.actor())
    }

    /// Returns the part by which a repeated call has its effect only once.
    pub fn idempotency(&self) -> Idempotency<'_> {
        self.engine.idempotency(self.actor())
    }

    /// Returns the imports of memories and of archives.
    pub fn imports(&self) -> Imports<'_> {
        self.engine.imports(self.actor())
    }

    /// Returns the lists and counts.
    pub fn listings(&self) -> Listings<'_> {
        self.engine.listings(self.actor())
    }

    /// Returns the operations on single memories.
    pub fn memories(&self) -> Memories<'_> {
        self.engine.memories(self.actor())
    }

    /// Returns the memory as a folder of text files.
    pub fn memory_files(&self) -> MemoryFiles<'_> {
        self.engine.memory_files(self.actor())
    }

    /// Returns the memory as a graph of named nodes.
    pub fn nodes(&self) -> Nodes<'_> {
        self.engine.nodes(self.actor())
    }

    /// Returns the folder of notes and its index.
    pub fn notes(&self) -> Notes<'_> {
        self.engine.notes(self.actor())
    }

    /// Returns what people should decide about memories.
    pub fn open_items(&self) -> OpenItems<'_> {
        self.engine.open_items(self.actor())
    }

    /// Returns the search by words and by meaning, and the comparisons of texts.
    pub fn search(&self) -> Search<'_> {
        self.engine.search(self.actor())
    }

    /// Returns the search for secrets in stored texts.
    pub fn secrets(&self) -> Secrets<'_> {
        self.engine.secrets(self.actor())
    }

    /// Returns the settings of the caller.
    pub fn settings(&self) -> Settings<'_> {
        self.engine.settings(self.actor())
    }

    /// Returns the files that memories are made from.
    pub fn sources(&self) -> Sources<'_> {
        self.engine.sources(self.actor())
    }
}

/// Work that has no person behind it, or that is logged as a whole, e.g. the background, or an
/// archive that comes in. It is not in the audit log.
pub struct System<'a>(Parts<'a>);

impl<'a> Deref for System<'a> {
    type Target = Parts<'a>;

    fn deref(&self) -> &Parts<'a> {
        &self.0
    }
}

/// A call in progress. It is logged when it ends; if a panic ends it, as an internal error.
///
/// What a call does, it does by its parts, which act for its caller. Here a call is logged that
/// found nothing to delete, with the message that its caller got:
///
/// ```
/// use std::sync::Arc;
///
/// use loci_core::{AuditQuery, Caller, MemoryId, Scope};
/// use loci_engine::{CallInfo, Effect, Engine, SearchMode};
/// use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};
///
/// let engine = Engine::new(
///     Arc::new(NaiveStore::new()),
///     Arc::new(HashingEmbedder::default()),
///     Arc::new(FixedClock::default()),
///     SearchMode::Hybrid,
/// );
/// let scopes = [Scope::Write];
/// let info = CallInfo::new("example", "forget", "memory:delete", Effect::Destroy, &scopes);
/// let refused = engine
///     .call(Caller::local(), info, |call| call.memories().forget(&MemoryId::new("tea-1")))
///     .unwrap_err();
///
/// engine.audit().flush()?;
/// let query = AuditQuery { limit: 10, ..AuditQuery::default() };
/// let (_, entry) = engine.audit().entries(&query)?.remove(0);
/// assert_eq!(entry.tool, "forget");
/// assert_eq!(entry.failure.unwrap().message, Some(refused.message));
/// # Ok::<(), loci_core::Error>(())
/// ```
pub struct Call<'a> {
    parts: Parts<'a>,
    info: CallInfo<'a>,
    /// The entry; `None` once the call has ended.
    entry: Option<AuditEntry>,
    /// The results of the reply, and its tokens.
    reply: Cell<(Option<u64>, Option<u64>)>,
}

impl<'a> Deref for Call<'a> {
    type Target = Parts<'a>;

    fn deref(&self) -> &Parts<'a> {
        &self.parts
    }
}

impl Engine {
    /// Runs a call of this caller. See the documentation of the module for what it adds.
    ///
    /// # Errors
    /// `forbidden` if the caller lacks a scope that the call needs; then nothing is run. Otherwise
    /// the errors of `run`.
    pub fn call<T>(
        &self,
        caller: Caller,
        info: CallInfo<'_>,
        run: impl FnOnce(&Call<'_>) -> Result<T>,
    ) -> Result<T> {
        traces::operation(info.operation, || {
            let call = Call::start(self, self.with_view(caller), info);
            let outcome = if call.info.is_allowed(call.caller()) {
                run(&call)
            } else {
                Err(call.info.denial())
            };
            call.end(outcome.as_ref().err());
            outcome
        })
    }

    /// Returns the parts for work that has no person behind it, or that somebody else logs. Calls
    /// of people and agents go through [`Engine::call`].
    pub fn system(&self, caller: &Caller) -> System<'_> {
        System(Parts::new(self, caller.clone()))
    }

    /// Returns the parts for a look of a person, of which nothing is logged: with what the person
    /// sees in a call.
    pub fn look(&self, caller: Caller) -> System<'_> {
        System(Parts::new(self, self.with_view(caller)))
    }

    /// Returns the caller with a view of all records, if it is the local user of a store without
    /// other users.
    fn with_view(&self, caller: Caller) -> Caller {
        let is_alone = caller.principal.subject.as_deref() == Some(LOCAL)
            && self.has_other_users.as_ref().is_some_and(|has| !has());
        Caller {
            all_users: caller.all_users || is_alone,
            ..caller
        }
    }
}

impl<'a> Call<'a> {
    fn start(engine: &'a Engine, caller: Caller, info: CallInfo<'a>) -> Self {
        let user = caller.principal.subject.clone();
        let sender = info.sender.map(str::to_owned);
        let own = (caller.client.as_deref(), caller.session.as_deref());
        let (client, session) = info.client.unwrap_or(own);
        // The memories that it stores name the program as the audit log does.
        let (client, session) = (client.and_then(client_name), session.and_then(session_name));
        let caller = Caller {
            client: client.clone(),
            session: session.clone(),
            ..caller
        };
        let redaction = engine.redaction();
        let entry = AuditEntry {
            space: caller.space.clone(),
            at: engine.now(),
            caller: sender.filter(|sender| user.as_ref() != Some(sender)),
            user,
            client,
            session,
            dialect: info.entrance.to_owned(),
            tool: info.tool.to_owned(),
            operation: info.operation.to_owned(),
            duration_microseconds: 0,
            query: info.query.map(|query| redaction.redacted_query(query)),
            results: None,
            reply_tokens: None,
            failure: None,
            records: Vec::new(),
            further_records: 0,
            further_stored: 0,
        };
        let parts = Parts::new(engine, caller);
        parts.trail.set_tool(info.tool);
        Call {
            parts,
            info,
            entry: Some(entry),
            reply: Cell::default(),
        }
    }

    /// Notes the number of results of the reply, if it has any, and the tokens of its text, for the
    /// audit log.
    pub fn reply_with(&self, results: Option<u64>, tokens: Option<u64>) {
        self.reply.set((results, tokens));
    }

    /// Returns the number of records that the call has touched so far.
    pub fn records(&self) -> u64 {
        self.parts.trail.len()
    }

    fn end(mut self, error: Option<&Error>) {
        let failure = error.map(|error| AuditFailure {
            code: error.code,
            message: match error.code {
                // The message may quote the input.
                ErrorCode::InvalidArgument => {
                    let name = error.argument.as_deref();
                    let name = name.filter(|name| (self.info.knows_argument)(name));
                    name.map(|name| format!("`{name}`"))
                }
                _ => Some(error.message.clone()),
            },
        });
        self.log(failure);
    }

    /// Adds the call to the audit log, unless it is there.
    fn log(&mut self, failure: Option<AuditFailure>) {
        let Some(mut entry) = self.entry.take() else {
            return;
        };
        let engine = self.parts.engine;
        (entry.records, (entry.further_records, entry.further_stored)) = self.parts.trail.take();
        entry.duration_microseconds =
            u64::try_from(self.info.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        if failure.is_none() {
            (entry.results, entry.reply_tokens) = self.reply.get();
            // A wipe removes the user's earlier entries, but not its own.
            if entry.operation == WIPE {
                entry.at = engine.now();
            }
        }
        entry.failure = failure;
        // A failed call may have changed data, e.g. the file of a note but not its index.
        let has_changed = entry.records.iter().any(|record| record.verb.is_change());
        let is_logged = match self.info.logged {
            LogCondition::Always => true,
            LogCondition::WithRecords => !entry.records.is_empty(),
            LogCondition::WithChanges => has_changed,
        };
        if !is_logged {
            return;
        }
        let is_durable = self.info.effect == Effect::Destroy
            || self.info.is_by_a_person && (self.info.effect > Effect::Read || has_changed);
        if is_durable && (entry.failure.is_none() || has_changed) {
            engine.audit().record_durably(entry);
        } else {
            engine.audit().record(entry);
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.log(Some(AuditFailure {
            code: ErrorCode::Internal,
            message: None,
        }));
    }
}
