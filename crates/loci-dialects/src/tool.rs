//! Tools and dialects as data. A server maps them to its protocol once, for all dialects.

use std::sync::OnceLock;

use loci_core::{
    Caller, Error, ErrorCode, Memory, MemoryId, Ownership, RecordVerb, Redactions, Result, Scope,
    Scopes,
};
use loci_engine::{Call, CallInfo, Effect, Engine, check, denial};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::hints::Hints;
use crate::lenient;
use crate::questions::Question;
use crate::schema::{self, Checker};

/// The context of a call.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The engine.
    pub engine: &'a Engine,
    /// The caller, from the transport; for a tool of a dialect with a
    /// [`user_argument`](Dialect::user_argument), the named user with the caller's scopes.
    pub caller: &'a Caller,
}

/// A question to the person that a finished call raises.
#[derive(Debug, Clone, PartialEq)]
pub struct RaisedQuestion {
    /// The question.
    pub question: Question,
    /// The reply of the call once the person has decided: without the words that ask for a decision.
    pub decided: Reply,
}

/// The reply of a tool: a self-contained text, and the same as a structured value.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The first text content item: only the reply.
    pub text: String,
    /// The second text content item, if there is one: the notice, unless the first has it.
    pub further_text: Option<String>,
    /// `structuredContent`; any JSON value.
    pub structured: Value,
    /// A notice for the caller, such as that the search was incomplete.
    pub notice: Option<String>,
    /// The explanation of each result, in order; empty if the tool searched nothing.
    pub explanations: Vec<Value>,
    /// The number of results, for the audit log; `None` if the tool returns no results.
    pub results: Option<u64>,
    /// The ids of the memories that the reply is about, for a [view](crate::apps); no text has them.
    pub memories: Vec<String>,
    /// The ids of the memories that the stored one seems to contradict, for a view.
    pub contradicted: Vec<String>,
    /// The question to the person that the call raises, if it raises one. No text has it.
    pub question: Option<Box<RaisedQuestion>>,
}

impl Reply {
    /// Creates a reply from a value and its text, with the number of its results.
    pub fn new(text: String, structured: Value, results: Option<u64>) -> Self {
        Reply {
            text,
            further_text: None,
            structured,
            notice: None,
            explanations: Vec::new(),
            results,
            memories: Vec::new(),
            contradicted: Vec::new(),
            question: None,
        }
    }

    /// Returns the reply with the memory that the call stored, or found to be there, and those that
    /// it seems to contradict.
    #[must_use]
    pub fn with_stored(self, stored: &MemoryId, contradicted: Vec<String>) -> Self {
        Reply {
            memories: vec![stored.to_string()],
            contradicted,
            ..self
        }
    }

    /// Returns the reply with the question to the person that the call raises, if it raises one, and
    /// the reply that it has once the person decided.
    #[must_use]
    pub fn with_question(self, question: Option<Question>, decided: Reply) -> Self {
        let raised = question.map(|question| Box::new(RaisedQuestion { question, decided }));
        Reply {
            question: raised,
            ..self
        }
    }

    /// Creates a reply whose text is the JSON of the value, with the number of its results.
    ///
    /// # Errors
    /// `internal` if the reply cannot be serialised.
    pub fn json(value: &impl Serialize, results: Option<u64>) -> Result<Self> {
        let structured = to_value(value)?;
        Ok(Reply::new(structured.to_string(), structured, results))
    }

    /// Returns the reply with a notice besides its other ones. An object gets them under the key
    /// `notice`, in its text as well if that is its JSON. Any other text stays as it is, because
    /// programs parse a list and match on a status: a [further text](Reply::further_text) says the
    /// notices.
    #[must_use]
    pub fn with_notice(mut self, notice: Option<String>) -> Self {
        let Some(further) = notice else { return self };
        let json = self.structured.to_string();
        let is_json_of_object = self.structured.is_object() && self.text == json;
        let notice = match self.notice.take() {
            None => further,
            Some(first) => format!("{first}; {further}"),
        };
        if let Some(object) = self.structured.as_object_mut() {
            object.insert("notice".to_owned(), json!(notice));
        }
        if is_json_of_object {
            self.text = self.structured.to_string();
        } else {
            self.further_text = Some(format!("Note: {notice}."));
        }
        self.notice = Some(notice);
        self
    }

    /// Returns the text content items, in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        [Some(&self.text), self.further_text.as_ref()]
            .into_iter()
            .flatten()
            .map(String::as_str)
    }

    /// Returns the reply with the explanation of each result, for programs; the text does not
    /// include it.
    #[must_use]
    pub fn with_explanations(self, explanations: Vec<Value>) -> Self {
        Reply {
            explanations,
            ..self
        }
    }
}

/// Converts a reply to a JSON value in which whole numbers have no fraction: `1`, not `1.0`. The
/// text of the reply then equals the serialisation that a JavaScript host makes of the value, and a
/// host that passes both to its model unless they are equal passes only one.
///
/// # Errors
/// `internal` if the value has no JSON form; every reply type of ours has one.
pub fn to_value(value: &impl Serialize) -> Result<Value> {
    let mut value = serde_json::to_value(value)
        .map_err(|error| Error::internal(format!("a reply has no JSON form: {error}")))?;
    without_fractions(&mut value);
    Ok(value)
}

/// Converts whole numbers that JavaScript represents exactly to integers.
fn without_fractions(value: &mut Value) {
    const EXACT_MAX: f64 = 9_007_199_254_740_991.0;
    match value {
        Value::Number(number) => {
            let whole = number.as_f64().filter(|whole| {
                number.is_f64() && whole.fract() == 0.0 && whole.abs() <= EXACT_MAX
            });
            if let Some(whole) = whole {
                *number = (whole as i64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_fractions),
        Value::Object(fields) => fields.values_mut().for_each(without_fractions),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// A tool as a type: its arguments, its reply and its operation.
pub trait TypedTool {
    /// The name on the wire.
    const NAME: &'static str;
    /// The display name.
    const TITLE: &'static str;
    /// The scope that the caller needs.
    const SCOPE: Scope;
    /// Further scopes that the caller needs.
    const FURTHER_SCOPES: &'static [Scope] = &[];
    /// The hints for hosts.
    const HINTS: Hints;
    /// The operation in the audit log: `memory:write`, `search`, ...
    const OPERATION: &'static str;
    /// The argument whose text the audit log keeps as the query of a call, if the tool has one.
    const QUERY: Option<&'static str> = None;
    /// True if a person calls the tool by a view: then a look is not in the audit log, and a change
    /// is durably, before it is acknowledged.
    const BY_A_PERSON: bool = false;
    /// True if the tool compares what it stores with what is there, and so may find a contradiction.
    const COMPARES: bool = false;
    /// Aliases of arguments, each with the argument's name. The schema lists only the names.
    const ALIASES: &'static [(&'static str, &'static str)] = &[];
    /// The arguments. Their doc comments become the descriptions of the tool and of its arguments.
    type Arguments: DeserializeOwned + JsonSchema;
    /// The type of `structuredContent`.
    type Output: JsonSchema;

    /// Returns all problems of the arguments that a schema cannot express. The arguments are as
    /// received; the schema reports wrong types.
    fn faults(_arguments: &Value) -> Vec<Error> {
        Vec::new()
    }

    /// Returns the question to the person that a call raises before it runs, if it raises one: whether
    /// something is deleted for good. Only tools that destroy something are looked at.
    ///
    /// # Errors
    /// Any; then the call raises no question, and says itself what is wrong.
    fn question(_call: &Call<'_>, _arguments: &Self::Arguments) -> Result<Option<Question>> {
        Ok(None)
    }

    /// Runs the tool.
    ///
    /// # Errors
    /// Any error of the operation, in terms of the caller's arguments.
    fn run(call: &Call<'_>, arguments: Self::Arguments) -> Result<Reply>;
}

/// A tool in a dialect's list.
pub struct Tool {
    /// The name on the wire.
    pub name: &'static str,
    /// The display name.
    pub title: &'static str,
    /// The first scope that the caller needs; [`Tool::scopes`] returns them all.
    pub scope: Scope,
    further_scopes: &'static [Scope],
    /// The hints for hosts.
    pub hints: Hints,
    /// The operation in the audit log.
    pub operation: &'static str,
    /// The argument whose text the audit log keeps as the query, if the tool has one.
    pub query: Option<&'static str>,
    /// True if a person calls the tool by a view.
    pub by_a_person: bool,
    /// True if the tool compares what it stores with what is there.
    pub compares: bool,
    /// Aliases of arguments, each with the argument's name.
    pub aliases: &'static [(&'static str, &'static str)],
    input: fn() -> Value,
    output: fn() -> Value,
    faults: fn(&Value) -> Vec<Error>,
    question: fn(&Call<'_>, Value) -> Result<Option<Question>>,
    run: fn(&Call<'_>, Value) -> Result<Reply>,
    checker: OnceLock<Checker>,
}

impl Tool {
    /// Creates the list entry of a typed tool.
    pub const fn of<T: TypedTool>() -> Self {
        Tool {
            name: T::NAME,
            title: T::TITLE,
            scope: T::SCOPE,
            further_scopes: T::FURTHER_SCOPES,
            hints: T::HINTS,
            operation: T::OPERATION,
            query: T::QUERY,
            by_a_person: T::BY_A_PERSON,
            compares: T::COMPARES,
            aliases: T::ALIASES,
            input: schema::input_of::<T::Arguments>,
            output: schema::output_of::<T::Output>,
            faults: T::faults,
            question: |call, arguments| T::question(call, &typed(arguments)?),
            run: |call, arguments| T::run(call, typed(arguments)?),
            checker: OnceLock::new(),
        }
    }

    /// Returns the question to the person that a call with these arguments raises before it runs.
    pub(crate) fn question(&self, call: &Call<'_>, arguments: Value) -> Result<Option<Question>> {
        let PreparedArguments { arguments, .. } = self.prepare(arguments)?;
        (self.question)(call, arguments)
    }

    /// Returns the description for a model.
    pub fn description(&self) -> String {
        let mut schema = (self.input)();
        schema
            .as_object_mut()
            .and_then(|schema| schema.remove("description"))
            .map_or_else(String::new, |text| {
                text.as_str().unwrap_or_default().to_owned()
            })
    }

    /// Returns the JSON Schema (2020-12) of the arguments as published to clients: an object
    /// without references. Calls are checked against a stricter schema: it rejects unknown
    /// arguments.
    pub fn input_schema(&self) -> Map<String, Value> {
        schema::published((self.input)())
    }

    /// Returns the JSON Schema (2020-12) of `structuredContent`, with the meaning of each field.
    pub fn output_schema(&self) -> Value {
        (self.output)()
    }

    /// Returns the published schema of the reply: its type, and its required fields.
    pub fn published_output_schema(&self) -> Map<String, Value> {
        schema::published_output(&self.output_schema())
    }

    /// Returns all scopes that the caller needs.
    pub fn scopes(&self) -> Scopes {
        Scopes::of(&[&[self.scope], self.further_scopes].concat())
    }

    /// Returns the error for a caller that lacks a scope.
    fn denial(&self) -> Error {
        let scopes: Vec<Scope> = self.scopes().iter().collect();
        denial(self.name, &scopes)
    }

    /// Returns the effect of a call on what is stored.
    fn effect(&self) -> Effect {
        match self.hints {
            Hints {
                read_only: true, ..
            } => Effect::Read,
            Hints {
                destructive: true, ..
            } => Effect::Destroy,
            _ => Effect::Write,
        }
    }

    pub(crate) fn checker(&self) -> Result<&Checker> {
        if let Some(checker) = self.checker.get() {
            return Ok(checker);
        }
        let checker = Checker::new((self.input)())?;
        Ok(self.checker.get_or_init(|| checker))
    }

    /// Returns true if the tool has an argument of that name in the form that errors use, with dots
    /// before the names of nested fields.
    pub fn has_argument(&self, name: &str) -> bool {
        let is_alias = self.aliases.iter().any(|(alias, _)| *alias == name);
        is_alias || self.checker().is_ok_and(|checker| checker.has(name))
    }

    /// Resolves aliases and validates the arguments against the schema and the tool's further
    /// rules.
    fn prepare(&self, mut arguments: Value) -> Result<PreparedArguments> {
        let checker = self.checker()?;
        let mut faults = Vec::new();
        let mut renames = Vec::new();
        for &(alias, name) in self.aliases {
            let Some(fields) = arguments.as_object_mut() else {
                break;
            };
            let Some(value) = fields.remove(alias) else {
                continue;
            };
            if lenient::is_left_out(alias, &value) {
                continue;
            }
            if fields
                .get(name)
                .is_some_and(|value| !lenient::is_left_out(name, value))
            {
                faults.push(Error::invalid(
                    alias,
                    format!("is another name for `{name}`; give one of the two"),
                ));
            } else {
                fields.insert(name.to_owned(), value);
                renames.push(Rename { alias, name });
            }
        }
        let arguments = lenient::normalized(arguments, checker.schema());
        faults.extend(checker.faults(&arguments));
        faults.extend((self.faults)(&arguments));
        let faults: Vec<Error> = faults
            .into_iter()
            .map(|fault| as_sent(fault, &renames))
            .collect();
        schema::refuse(&faults)?;
        Ok(PreparedArguments { arguments, renames })
    }
}

/// Returns checked arguments as their type.
fn typed<T: DeserializeOwned>(arguments: Value) -> Result<T> {
    serde_json::from_value(arguments)
        .map_err(|error| Error::new(ErrorCode::InvalidArgument, format!("arguments: {error}")))
}

/// The arguments of a call under the names of the schema.
struct PreparedArguments {
    arguments: Value,
    /// The arguments that came under another name.
    renames: Vec<Rename>,
}

/// An argument that came under an alias.
struct Rename {
    alias: &'static str,
    name: &'static str,
}

/// Returns the error with the name that the caller sent of the argument.
fn as_sent(error: Error, renames: &[Rename]) -> Error {
    renames.iter().fold(error, |error, rename| {
        error.renamed(rename.name, rename.alias)
    })
}

/// The names of the tools that an agent needs first.
pub struct UsualTools {
    /// Searches memories for a question.
    pub find: &'static str,
    /// The argument of that tool that names a project, wing or scope.
    pub project_argument: Option<&'static str>,
    /// Stores a memory.
    pub store: &'static str,
    /// Returns the call or command that shows these memories, which did not fit into the start of a
    /// session of the project (or of any session, without a project).
    pub shows: fn(project: Option<&str>, memories: &[&Memory]) -> String,
    /// Starts a session, if that is a separate tool.
    pub begin: Option<&'static str>,
}

/// Returns the command that shows the bootstrap of a session, for dialects without a tool for it.
pub fn bootstrap_command(project: Option<&str>, _: &[&Memory]) -> String {
    let project = project.map_or_else(String::new, |project| format!(" --project \"{project}\""));
    format!("the command `loci bootstrap{project}`")
}

impl UsualTools {
    /// Returns true if the tool is a usual one, so that a host should show it to its model from the
    /// start.
    pub fn include(&self, tool: &str) -> bool {
        [Some(self.find), Some(self.store), self.begin].contains(&Some(tool))
    }
}

/// A dialect: its name, its tools in order, and its resources.
pub struct Dialect {
    /// The name in paths and on the command line.
    pub name: &'static str,
    /// The display name.
    pub title: &'static str,
    /// The instructions that a host gives its model about the server; the key sentence comes first
    /// (hosts truncate at 2,048 characters).
    pub instructions: &'static str,
    /// The tools that an agent needs first.
    pub usual_tools: UsualTools,
    /// The strictness of ownership.
    pub ownership: Ownership,
    /// The argument of every tool that names the user to act for, if the dialect has one.
    pub user_argument: Option<&'static str>,
    /// Its tools, in a fixed order.
    pub tools: &'static [Tool],
    /// Its resources, if it has any.
    pub resources: Option<Resources>,
}

impl Dialect {
    /// Returns the tool with that name.
    pub fn tool(&self, name: &str) -> Option<&'static Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Calls a tool of this dialect. Checks the caller's scopes, the arguments (reporting all
    /// problems at once) and if the caller may act for the named user; runs the tool; and records
    /// the call in the audit log, whether it succeeded or not.
    ///
    /// # Errors
    /// `forbidden` without a scope, or for another user's name; `invalid_argument`, naming the
    /// argument, if one is missing, unknown, ill-typed or out of range; otherwise the errors of the
    /// tool.
    pub fn call(
        &self,
        tool: &Tool,
        context: Context<'_>,
        arguments: Map<String, Value>,
    ) -> Result<Reply> {
        let arguments = Value::Object(arguments);
        let own = self.caller(context.caller);
        let (caller, may_act) = match self.acting(&own, &arguments) {
            Ok(caller) => (caller, Ok(())),
            Err(error) => (own, Err(error)),
        };
        let scopes: Vec<Scope> = tool.scopes().iter().collect();
        self.enter(
            tool,
            context,
            caller,
            &scopes,
            arguments,
            |call, arguments| {
                let PreparedArguments { arguments, renames } = tool.prepare(arguments)?;
                may_act?;
                let names = names_given(tool, &arguments);
                let reply = (tool.run)(call, arguments).map_err(|error| {
                    let error = names
                        .into_iter()
                        .fold(error, |error, (from, to)| error.renamed(from, to));
                    as_sent(error, &renames)
                })?;
                let mut reply = reply.with_notice(redaction_notice(&call.redactions()));
                if reply.memories.is_empty() && tool.hints.read_only {
                    reply.memories = call.touched(|verb| verb != RecordVerb::Deleted);
                }
                let budgets = call.engine().budgets();
                let tokens: usize = reply
                    .texts()
                    .map(|text| budgets.approximate_tokens(text))
                    .sum();
                call.reply_with(reply.results, Some(tokens as u64));
                Ok(reply)
            },
        )
    }

    /// Rejects a call whose caller lacks a scope, with the error that [`Dialect::call`] would
    /// return, without doing anything else. Records the call in the audit log and returns the error
    /// (`forbidden`, naming the scopes).
    pub fn deny(&self, tool: &Tool, context: Context<'_>, arguments: Map<String, Value>) -> Error {
        self.refuse(tool, context, arguments, tool.denial())
    }

    /// Rejects a call with this error, without doing anything else. Records the call in the audit log
    /// and returns the error.
    pub fn refuse(
        &self,
        tool: &Tool,
        context: Context<'_>,
        arguments: Map<String, Value>,
        error: Error,
    ) -> Error {
        let arguments = Value::Object(arguments);
        let own = self.caller(context.caller);
        let caller = self.acting(&own, &arguments).unwrap_or(own);
        let refused = self.enter(tool, context, caller, &[], arguments, |_, _| {
            Err(error.clone())
        });
        refused.err().unwrap_or(error)
    }

    /// Enters the engine for a call of a tool.
    fn enter(
        &self,
        tool: &Tool,
        context: Context<'_>,
        caller: Caller,
        scopes: &[Scope],
        arguments: Value,
        run: impl FnOnce(&Call<'_>, Value) -> Result<Reply>,
    ) -> Result<Reply> {
        let query = tool
            .query
            .and_then(|argument| arguments.get(argument)?.as_str().map(str::to_owned));
        let knows_argument = |name: &str| tool.has_argument(name);
        let info = CallInfo::new(self.name, tool.name, tool.operation, tool.effect(), scopes)
            .with_query(query.as_deref())
            .with_arguments(&knows_argument)
            .sent_by(context.caller.principal.subject.as_deref());
        let info = match tool.by_a_person {
            // A view shows what the call beside it returned, which is in the log.
            true if tool.hints.read_only => info.logged_with_changes(),
            true => info.by_a_person(),
            false => info,
        };
        context
            .engine
            .call(caller, info, |call| run(call, arguments))
    }

    /// Returns the caller acting as the user that the arguments name, if the dialect has such an
    /// argument. If it is missing or not a string, the schema rejects the call.
    pub(crate) fn acting(&self, caller: &Caller, arguments: &Value) -> Result<Caller> {
        let fields = arguments.as_object();
        let named = fields.and_then(|fields| self.user_in(fields));
        let named = self.user_argument.zip(named);
        let Some((argument, user)) = named else {
            return Ok(caller.clone());
        };
        check::name(argument, user)?;
        caller.acting_for(argument, user)
    }

    /// Returns the user that the arguments name, if the dialect has an argument for it.
    pub fn user_in<'a>(&self, arguments: &'a Map<String, Value>) -> Option<&'a str> {
        arguments.get(self.user_argument?)?.as_str()
    }

    /// Returns the caller with the origin and ownership of this dialect.
    pub fn caller(&self, caller: &Caller) -> Caller {
        Caller {
            origin: self.name,
            ownership: self.ownership,
            ..caller.clone()
        }
    }
}

/// A resource or a resource template of a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resource {
    /// The URI, or the URI template (RFC 6570).
    pub uri: &'static str,
    /// The name for programs.
    pub name: &'static str,
    /// The display name.
    pub title: &'static str,
    /// The description of its content.
    pub description: &'static str,
    /// The media type of its text.
    pub mime_type: &'static str,
}

/// Answers a completion request: takes the context, the template's URI, the variable and its
/// prefix.
pub type Complete = fn(&Call<'_>, &str, &str, &str) -> Result<Option<Vec<String>>>;

/// The resources of a dialect.
pub struct Resources {
    /// Resources with a fixed URI.
    pub fixed: &'static [Resource],
    /// Resources with a variable in the URI.
    pub templates: &'static [Resource],
    /// Reads a resource; returns `None` if no resource has this URI.
    pub read: fn(&Call<'_>, &str) -> Result<Option<String>>,
    /// Returns values for the variable `argument` of the template `uri` that start with `prefix`,
    /// best first; `None` if there is no such template or variable.
    pub complete: Complete,
}

/// The operation of reading a resource.
const RESOURCE_READ: &str = "resource:read";

impl Resources {
    /// Returns the text of the resource with this URI, if there is one.
    ///
    /// # Errors
    /// The errors of the operation.
    pub fn read(&self, context: Context<'_>, uri: &str) -> Result<Option<String>> {
        Self::enter(context, |call| (self.read)(call, uri))
    }

    /// Returns values for the variable `argument` of the template `uri` that start with `prefix`,
    /// best first; `None` if there is no such template or variable.
    ///
    /// # Errors
    /// The errors of the operation.
    pub fn complete(
        &self,
        context: Context<'_>,
        uri: &str,
        argument: &str,
        prefix: &str,
    ) -> Result<Option<Vec<String>>> {
        Self::enter(context, |call| (self.complete)(call, uri, argument, prefix))
    }

    /// Enters the engine to read. It is not logged, because hosts read resources again whenever
    /// something changes.
    fn enter<T>(context: Context<'_>, run: impl FnOnce(&Call<'_>) -> Result<T>) -> Result<T> {
        let origin = context.caller.origin;
        let info = CallInfo::new(origin, "resource", RESOURCE_READ, Effect::Read, &[]);
        let info = info.logged_with_changes();
        context.engine.call(context.caller.clone(), info, run)
    }
}

/// The engine's names of what a memory is filed under, and the arguments that dialects take it from.
const NAMES: [(&str, &[&str]); 3] = [
    ("collection", &["wing", "project", "scope", "agent_name"]),
    ("section", &["room", "topic"]),
    ("kind", &["type", "memory_type", "category"]),
];

/// Returns the engine's names that the tool has no argument for, each with the argument of the call
/// that gave it, so that errors name what the caller knows.
fn names_given(tool: &Tool, arguments: &Value) -> Vec<(&'static str, &'static str)> {
    let given = |(name, sources): &(&'static str, &'static [&'static str])| {
        let source = sources.iter().find(|&&it| arguments.get(it).is_some())?;
        (!tool.has_argument(name)).then_some((*name, *source))
    };
    NAMES.iter().filter_map(given).collect()
}

/// Returns the notice of secrets that were removed from what a call stored; `None` without any.
fn redaction_notice(removed: &Redactions) -> Option<String> {
    (!removed.is_empty())
        .then(|| format!("secrets were taken out before anything was stored: {removed}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use loci_core::{AuditQuery, Space, Timestamp};
    use loci_engine::SearchMode;
    use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};

    use super::*;
    use crate::{mememory, memory_mcp};

    #[test]
    fn a_denial_is_noted_and_nothing_is_done_even_where_the_call_would_be_allowed() {
        let clock = Arc::new(FixedClock::new(Timestamp::from_microseconds(0)));
        let embedder = Arc::new(HashingEmbedder::new(8));
        let engine = Engine::new(
            Arc::new(NaiveStore::new()),
            embedder,
            clock,
            SearchMode::Words,
        );
        let version = engine.version(&Space::default()).unwrap();
        let rows = [
            (
                &mememory::DIALECT,
                "remember",
                json!({"content": "a secret"}),
                "remember needs a token with the scope `write`",
                "local",
            ),
            (
                &mememory::DIALECT,
                "update",
                json!({"id": 7}),
                "update needs a token with the scopes `read` and `write`",
                "local",
            ),
            (
                &memory_mcp::DIALECT,
                "store_cache",
                json!({"user_id": "ann", "query": "q", "response": "r"}),
                "store_cache needs a token with the scope `write`",
                "ann",
            ),
        ];
        for (dialect, tool, arguments, message, _) in &rows {
            let Value::Object(arguments) = arguments.clone() else {
                panic!("{tool}")
            };
            let context = Context {
                engine: &engine,
                caller: &Caller::local(),
            };
            let error = dialect.deny(dialect.tool(tool).unwrap(), context, arguments);
            assert_eq!(
                (error.code, error.message.as_str()),
                (ErrorCode::Forbidden, *message)
            );
        }
        assert_eq!(
            engine.version(&Space::default()).unwrap(),
            version,
            "something was written"
        );
        let noted = engine
            .audit()
            .entries(&AuditQuery {
                limit: 9,
                ..AuditQuery::default()
            })
            .unwrap();
        assert_eq!(noted.len(), rows.len());
        for ((_, entry), (dialect, tool, _, message, user)) in noted.iter().zip(&rows) {
            let failure = entry.failure.as_ref().unwrap();
            assert_eq!(
                (entry.dialect.as_str(), entry.tool.as_str()),
                (dialect.name, *tool)
            );
            assert_eq!(
                (failure.code, failure.message.as_deref()),
                (ErrorCode::Forbidden, Some(*message))
            );
            assert_eq!(entry.user.as_deref(), Some(*user));
        }
    }

    #[test]
    fn what_is_empty_is_left_out_of_every_optional_argument_and_unknown_ones_are_refused() {
        for tool in crate::DIALECTS.iter().flat_map(|dialect| dialect.tools) {
            let checker = tool.checker().unwrap();
            let schema = tool.input_schema();
            let names = schema["properties"].as_object().unwrap().keys();
            let required = schema
                .get("required")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default();
            let is_required = |name: &&String| required.contains(&json!(name));
            for empty in [Value::Null, json!(""), json!([]), json!({})] {
                let sent: Map<_, _> = names
                    .clone()
                    .filter(|name| !is_required(name))
                    .map(|name| (name.clone(), empty.clone()))
                    .collect();
                assert_eq!(
                    lenient::normalized(Value::Object(sent), checker.schema()),
                    json!({}),
                    "{}",
                    tool.name
                );
            }
            let unknown = lenient::normalized(json!({"colour": "red"}), checker.schema());
            let faults = checker.faults(&unknown);
            let is_unknown =
                |fault: &Error| fault.message.starts_with("`colour` is not an argument");
            assert!(faults.iter().any(is_unknown), "{}: {faults:?}", tool.name);
        }
    }

    #[test]
    fn notices_leave_the_first_text_to_programs() {
        let noted = |reply: Reply| {
            let reply = reply
                .with_notice(Some("a".to_owned()))
                .with_notice(Some("b".to_owned()));
            assert_eq!(reply.notice.as_deref(), Some("a; b"));
            reply
        };
        let note = Some("Note: a; b.".to_owned());
        let object = noted(Reply::json(&json!({"id": 1}), None).unwrap());
        assert_eq!(
            (object.text.as_str(), &object.further_text),
            (r#"{"id":1,"notice":"a; b"}"#, &None)
        );
        let list = noted(Reply::json(&json!([1]), None).unwrap());
        assert_eq!(
            (list.text.as_str(), &list.further_text, list.structured),
            ("[1]", &note, json!([1]))
        );
        for (text, structured) in [
            ("updated", json!({"status": "updated"})),
            ("Done.", json!({})),
        ] {
            let reply = noted(Reply::new(text.to_owned(), structured, None));
            assert_eq!((reply.text.as_str(), &reply.further_text), (text, &note));
            assert_eq!(reply.structured["notice"], "a; b");
            assert_eq!(reply.texts().collect::<Vec<_>>(), [text, "Note: a; b."]);
        }
        let none = Reply::json(&json!([]), None).unwrap();
        assert_eq!(none.clone().with_notice(None), none);
    }

    #[test]
    fn whole_numbers_have_no_fraction() {
        let value =
            to_value(&json!({"a": [1.0, -0.0, 0.5, 3], "b": 1e300, "c": {"d": 2.0}})).unwrap();
        assert_eq!(
            value.to_string(),
            r#"{"a":[1,0,0.5,3],"b":1e+300,"c":{"d":2}}"#
        );
    }

    #[test]
    fn the_usual_tools_are_tools() {
        for dialect in crate::DIALECTS {
            let UsualTools {
                find,
                project_argument,
                store,
                begin,
                shows: _,
            } = &dialect.usual_tools;
            let find = dialect.tool(find).unwrap().input_schema();
            assert!(
                project_argument.is_none_or(|name| find["properties"].get(name).is_some()),
                "{}",
                dialect.name
            );
            assert!(dialect.tool(store).is_some(), "{}", dialect.name);
            assert!(
                begin.is_none_or(|begin| dialect.tool(begin).is_some()),
                "{}",
                dialect.name
            );
        }
    }

    #[test]
    fn the_query_of_a_tool_is_its_argument_of_that_name() {
        for tool in crate::DIALECTS.iter().flat_map(|dialect| dialect.tools) {
            let schema = tool.input_schema();
            let has_query = schema["properties"].get("query").is_some();
            assert_eq!(tool.query, has_query.then_some("query"), "{}", tool.name);
        }
    }

    #[test]
    fn every_alias_is_of_an_argument() {
        for tool in crate::DIALECTS.iter().flat_map(|dialect| dialect.tools) {
            let schema = tool.input_schema();
            for (alias, name) in tool.aliases {
                assert!(
                    schema["properties"].get(alias).is_none(),
                    "{}: {alias} is an argument itself",
                    tool.name
                );
                assert!(
                    schema["properties"].get(name).is_some(),
                    "{}: {name} is no argument",
                    tool.name
                );
            }
        }
    }
}
