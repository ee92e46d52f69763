//! A tool and a dialect as data. A server maps them to its protocol once, for all dialects.

use std::sync::OnceLock;

use loci_core::{Caller, Error, ErrorCode, Memory, Ownership, Result, Scope, Scopes, Trail};
use loci_engine::{Engine, check};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::audit::BegunCall;
use crate::lenient;
use crate::redaction;
use crate::schema::{self, Checker};

/// Everything a call has to work with.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The memory.
    pub engine: &'a Engine,
    /// Who calls, as the transport says; for a tool of a dialect with a
    /// [`user_argument`](Dialect::user_argument), that user with what the caller may do.
    pub caller: &'a Caller,
}

/// What a tool answers: a text that is enough alone, and the same as a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The text content item.
    pub text: String,
    /// `structuredContent`; any JSON value.
    pub structured: Value,
    /// What the caller should know besides, such as a search that was less than whole.
    pub notice: Option<String>,
    /// Why each result is there, in their order; empty where nothing was searched.
    pub explanations: Vec<Value>,
}

impl Reply {
    /// A value and its text.
    pub fn new(text: String, structured: Value) -> Self {
        Reply {
            text,
            structured,
            notice: None,
            explanations: Vec::new(),
        }
    }

    /// A value whose text is its JSON.
    pub fn json(structured: Value) -> Self {
        Reply::new(structured.to_string(), structured)
    }

    /// The reply with a notice, which the text says too: some hosts forward only the text. An
    /// object gets it as the key `notice`, so that a text which was its JSON still is; before any
    /// other text it stands in a line of its own.
    #[must_use]
    pub fn with_notice(mut self, notice: Option<String>) -> Self {
        if let Some(notice) = &notice {
            let json = self.structured.to_string();
            match self
                .structured
                .as_object_mut()
                .filter(|_| self.text == json)
            {
                Some(object) => {
                    object.insert("notice".to_owned(), json!(notice));
                    self.text = self.structured.to_string();
                }
                None => self.text = format!("Note: {notice}.\n{}", self.text),
            }
        }
        self.notice = notice;
        self
    }

    /// The reply with another notice beside the one that it has. A text that is the status and
    /// nothing else stays, since clients match on it.
    #[must_use]
    pub fn with_further_notice(mut self, notice: Option<String>) -> Self {
        let Some(further) = notice else { return self };
        let is_status = self
            .structured
            .get("status")
            .is_some_and(|status| *status == self.text);
        let json = self.structured.to_string();
        let is_json = self.text == json;
        let notice = self
            .notice
            .take()
            .map_or_else(|| further.clone(), |first| format!("{first}; {further}"));
        match self
            .structured
            .as_object_mut()
            .filter(|_| is_json || is_status)
        {
            Some(object) => {
                object.insert("notice".to_owned(), json!(notice));
                if is_json {
                    self.text = self.structured.to_string();
                }
            }
            None => self.text = format!("Note: {further}.\n{}", self.text),
        }
        Reply {
            notice: Some(notice),
            ..self
        }
    }

    /// The reply with the reason of each result, for programs: the text says nothing of it.
    #[must_use]
    pub fn with_explanations(self, explanations: Vec<Value>) -> Self {
        Reply {
            explanations,
            ..self
        }
    }
}

/// A reply's type as a value, in which whole numbers have no fraction: `1`, not `1.0`. So the text
/// of a reply is what a host in JavaScript makes of the value, and one that gives both to its model
/// unless they are the same gives it one.
///
/// # Errors
/// `internal`, if it has no JSON form; none of ours lacks one.
pub fn to_value(value: &impl Serialize) -> Result<Value> {
    let mut value = serde_json::to_value(value)
        .map_err(|error| Error::internal(format!("a reply has no JSON form: {error}")))?;
    without_fractions(&mut value);
    Ok(value)
}

/// Makes whole numbers that JavaScript holds exactly integers.
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

/// What a host may assume of a tool (MCP tool annotations).
#[expect(
    clippy::struct_excessive_bools,
    reason = "the protocol has these four, each on its own"
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: bool,
    /// It may remove or overwrite something.
    pub destructive: bool,
    /// Calling it again with the same arguments changes nothing more.
    pub idempotent: bool,
    /// It reaches beyond the store.
    pub open_world: bool,
}

/// A tool, written as a type: its arguments, its reply and what it does.
pub trait TypedTool {
    /// The name on the wire.
    const NAME: &'static str;
    /// The name for people.
    const TITLE: &'static str;
    /// What the caller must be allowed to do.
    const SCOPE: Scope;
    /// What the caller must be allowed to do besides.
    const FURTHER_SCOPES: &'static [Scope] = &[];
    /// What a host may assume.
    const HINTS: Hints;
    /// What kind of thing it does, for the audit log: `memory:write`, `search`, ...
    const OPERATION: &'static str;
    /// Other names that clients give arguments, each with the argument's own, which alone is in the
    /// schema.
    const ALIASES: &'static [(&'static str, &'static str)] = &[];
    /// The arguments. Doc comments become the tool's description and those of its arguments.
    type Arguments: DeserializeOwned + JsonSchema;
    /// The shape of `structuredContent`.
    type Output: JsonSchema;

    /// What is wrong with arguments that no schema can say, all of it. They are as they came: what
    /// is of the wrong type is the schema's business.
    fn faults(_arguments: &Value) -> Vec<Error> {
        Vec::new()
    }

    /// Does it.
    ///
    /// # Errors
    /// Whatever the operation refuses, in the caller's words.
    fn run(context: Context<'_>, arguments: Self::Arguments) -> Result<Reply>;
}

/// A tool of a dialect's list.
pub struct Tool {
    /// The name on the wire.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// What the caller must be allowed to do first of all; [`Tool::scopes`] has everything.
    pub scope: Scope,
    further_scopes: &'static [Scope],
    /// What a host may assume.
    pub hints: Hints,
    /// What kind of thing it does, for the audit log.
    pub operation: &'static str,
    /// Other names that arguments are taken under, each with the argument's own.
    pub aliases: &'static [(&'static str, &'static str)],
    input: fn() -> Value,
    output: fn() -> Value,
    faults: fn(&Value) -> Vec<Error>,
    run: fn(Context<'_>, Value) -> Result<Reply>,
    checker: OnceLock<Checker>,
}

impl Tool {
    /// The row of a dialect's list for a typed tool.
    pub const fn of<T: TypedTool>() -> Self {
        Tool {
            name: T::NAME,
            title: T::TITLE,
            scope: T::SCOPE,
            further_scopes: T::FURTHER_SCOPES,
            hints: T::HINTS,
            operation: T::OPERATION,
            aliases: T::ALIASES,
            input: schema::input_of::<T::Arguments>,
            output: schema::output_of::<T::Output>,
            faults: T::faults,
            run: |context, arguments| {
                let arguments = serde_json::from_value(arguments).map_err(|error| {
                    Error::new(ErrorCode::InvalidArgument, format!("arguments: {error}"))
                })?;
                T::run(context, arguments)
            },
            checker: OnceLock::new(),
        }
    }

    /// What it does, for a model.
    pub fn description(&self) -> String {
        let mut schema = (self.input)();
        schema
            .as_object_mut()
            .and_then(|schema| schema.remove("description"))
            .map_or_else(String::new, |text| {
                text.as_str().unwrap_or_default().to_owned()
            })
    }

    /// JSON Schema (2020-12) of the arguments as clients see it: an object without references.
    /// Calls are held against more: unknown arguments are refused, although the schema does not say
    /// so.
    pub fn input_schema(&self) -> Map<String, Value> {
        schema::published((self.input)())
    }

    /// JSON Schema (2020-12) of `structuredContent`, with the meaning of each field.
    pub fn output_schema(&self) -> Value {
        (self.output)()
    }

    /// The same as clients see it: the type, and the fields that are always there.
    pub fn published_output_schema(&self) -> Map<String, Value> {
        schema::published_output(&self.output_schema())
    }

    /// Everything that the caller must be allowed to do.
    pub fn scopes(&self) -> Scopes {
        Scopes::of(&[&[self.scope], self.further_scopes].concat())
    }

    /// The failure of a call whose caller lacks a scope.
    fn denial(&self) -> Error {
        denial(self.name, self.scopes())
    }

    fn checker(&self) -> Result<&Checker> {
        if let Some(checker) = self.checker.get() {
            return Ok(checker);
        }
        let checker = Checker::new((self.input)())?;
        Ok(self.checker.get_or_init(|| checker))
    }

    /// Whether it has an argument of that name, as faults name it: with dots before what is inside
    /// of another.
    pub(crate) fn has_argument(&self, name: &str) -> bool {
        let is_alias = self.aliases.iter().any(|(alias, _)| *alias == name);
        is_alias || self.checker().is_ok_and(|checker| checker.has(name))
    }

    /// The arguments under their own names, if the caller has the scopes and they hold against the
    /// schema and what it cannot say.
    fn prepare(&self, caller: &Caller, mut arguments: Value) -> Result<Value> {
        if !self
            .scopes()
            .iter()
            .all(|scope| caller.principal.scopes.allow(scope))
        {
            return Err(self.denial());
        }
        let checker = self.checker()?;
        let mut faults = Vec::new();
        let mut renamed = Vec::new();
        for &(alias, name) in self.aliases {
            let Some(fields) = arguments.as_object_mut() else {
                break;
            };
            let Some(value) = fields.remove(alias) else {
                continue;
            };
            if lenient::is_empty(&value) {
                continue;
            }
            if fields
                .get(name)
                .is_some_and(|value| !lenient::is_empty(value))
            {
                faults.push(Error::invalid(
                    alias,
                    format!("is another name for `{name}`; give one of the two"),
                ));
            } else {
                fields.insert(name.to_owned(), value);
                renamed.push((alias, name));
            }
        }
        let arguments = lenient::normalized(arguments, checker.schema());
        faults.extend(checker.faults(&arguments));
        faults.extend((self.faults)(&arguments));
        for fault in &mut faults {
            // The caller knows the argument by the name that it sent.
            let sent = renamed
                .iter()
                .find(|(_, name)| fault.argument.as_deref() == Some(name));
            if let Some((alias, name)) = sent {
                fault.message =
                    fault
                        .message
                        .replacen(&format!("`{name}`"), &format!("`{alias}`"), 1);
                fault.argument = Some((*alias).to_owned());
            }
        }
        schema::refuse(&faults)?;
        Ok(arguments)
    }
}

/// The failure of a call of that tool whose caller lacks one of these scopes.
pub(crate) fn denial(tool: &str, scopes: Scopes) -> Error {
    let names: Vec<String> = scopes
        .iter()
        .map(|scope| format!("`{}`", scope.name()))
        .collect();
    let plural = if names.len() > 1 { "s" } else { "" };
    let message = format!(
        "{tool} needs a token with the scope{plural} {}",
        names.join(" and ")
    );
    Error::new(ErrorCode::Forbidden, message)
}

/// The tools of a dialect that an agent needs first, by their names.
pub struct UsualTools {
    /// Finds memories by a question.
    pub find: &'static str,
    /// The argument of that tool that names a project, wing or scope.
    pub project_argument: Option<&'static str>,
    /// Stores a memory.
    pub store: &'static str,
    /// Says which call or command shows these memories, which a session of the project (of all,
    /// without one) should begin with and has no room for.
    pub shows: fn(project: Option<&str>, memories: &[&Memory]) -> String,
    /// Begins a session, where that is another tool.
    pub begin: Option<&'static str>,
}

/// The command that shows what a session should begin with, where no tool does.
pub fn bootstrap_command(project: Option<&str>, _: &[&Memory]) -> String {
    let project = project.map_or_else(String::new, |project| format!(" --project \"{project}\""));
    format!("the command `loci bootstrap{project}`")
}

impl UsualTools {
    /// Whether it is one of them, so that a host should show it to its model from the start.
    pub fn include(&self, tool: &str) -> bool {
        [Some(self.find), Some(self.store), self.begin].contains(&Some(tool))
    }
}

/// A dialect: its names, its tools in the order of its list, its resources.
pub struct Dialect {
    /// The name in paths and on the command line.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// What a host tells its model about the server; the key sentence first (hosts cut at 2,048
    /// characters).
    pub instructions: &'static str,
    /// The tools that an agent needs first.
    pub usual_tools: UsualTools,
    /// How far ownership goes.
    pub ownership: Ownership,
    /// The argument by which every tool names the user for whom it acts, if the dialect has one.
    pub user_argument: Option<&'static str>,
    /// Its tools, in a fixed order.
    pub tools: &'static [Tool],
    /// Its resources, if it has any.
    pub resources: Option<Resources>,
}

impl Dialect {
    /// The tool with that name.
    pub fn tool(&self, name: &str) -> Option<&'static Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Calls a tool of this dialect: checks the caller's scopes, the arguments (all their faults
    /// are told at once) and whether the caller may act for the user that they name, does it, and
    /// notes the call in the audit log, however it ended.
    ///
    /// # Errors
    /// `forbidden` without a scope, or for somebody else's name; `invalid_argument`, naming the
    /// argument, if one is missing, unknown, ill-typed or out of range; else what the tool refuses.
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
        let acting = Context {
            caller: &caller,
            ..context
        };
        let begun = BegunCall::of(self, tool, context.caller, acting, &arguments);
        let outcome = tool.prepare(&caller, arguments).and_then(|arguments| {
            may_act?;
            let stores = tool.operation.ends_with(":write");
            let redacted = if stores {
                redaction::taken_out(context.engine, &arguments)?
            } else {
                None
            };
            Ok((tool.run)(acting, arguments)?.with_further_notice(redacted))
        });
        begun.end(&outcome);
        outcome
    }

    /// Refuses a call whose caller lacks a scope, as [`Dialect::call`] would, without doing
    /// anything else: notes it in the audit log, and says how it failed (`forbidden`, naming the
    /// scopes).
    pub fn deny(&self, tool: &Tool, context: Context<'_>, arguments: Map<String, Value>) -> Error {
        let arguments = Value::Object(arguments);
        let own = self.caller(context.caller);
        let caller = self.acting(&own, &arguments).unwrap_or(own);
        let begun = BegunCall::of(
            self,
            tool,
            context.caller,
            Context {
                caller: &caller,
                ..context
            },
            &arguments,
        );
        let error = tool.denial();
        begun.end(&Err(error.clone()));
        error
    }

    /// Who acts: the user whom the arguments name, where the dialect has such an argument. Where it
    /// is missing or no string, the schema refuses the call.
    fn acting(&self, caller: &Caller, arguments: &Value) -> Result<Caller> {
        let named = self
            .user_argument
            .and_then(|argument| Some((argument, arguments.get(argument)?.as_str()?)));
        let Some((argument, user)) = named else {
            return Ok(caller.clone());
        };
        check::name(argument, user)?;
        caller.acting_for(argument, user)
    }

    /// A caller who comes through this dialect.
    pub fn caller(&self, caller: &Caller) -> Caller {
        // Each call has a trail of its own.
        Caller {
            origin: self.name,
            ownership: self.ownership,
            trail: Trail::default(),
            ..caller.clone()
        }
    }
}

/// A resource or a template of a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resource {
    /// The URI, or the URI template (RFC 6570).
    pub uri: &'static str,
    /// The name for programs.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// What it holds.
    pub description: &'static str,
    /// The media type of its text.
    pub mime_type: &'static str,
}

/// Answers a completion request: the context, the template's URI, the variable and its prefix.
pub type Complete = fn(Context<'_>, &str, &str, &str) -> Result<Option<Vec<String>>>;

/// The resources of a dialect.
pub struct Resources {
    /// Resources with a fixed URI.
    pub fixed: &'static [Resource],
    /// Resources with a variable in the URI.
    pub templates: &'static [Resource],
    /// Reads one; `None` if no resource has this URI.
    pub read: fn(Context<'_>, &str) -> Result<Option<String>>,
    /// Values for the variable `argument` of the template `uri` that begin with `prefix`, best
    /// first; `None` if there is no such template or variable.
    pub complete: Complete,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use loci_core::{AuditQuery, Timestamp};
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
        let version = engine.version().unwrap();
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
        assert_eq!(engine.version().unwrap(), version, "something was written");
        let noted = engine
            .audited(&AuditQuery {
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
    fn a_further_notice_joins_the_first() {
        let further = || Some("b".to_owned());
        let status = Reply::new("updated".to_owned(), json!({"status": "updated"}))
            .with_further_notice(further());
        assert_eq!(
            (status.text.as_str(), &status.structured["notice"]),
            ("updated", &json!("b"))
        );
        let value = Reply::json(json!({"id": 1}))
            .with_notice(Some("a".to_owned()))
            .with_further_notice(further());
        assert_eq!(
            (value.text.as_str(), value.notice.as_deref()),
            (r#"{"id":1,"notice":"a; b"}"#, Some("a; b"))
        );
        let words = Reply::new("Done.".to_owned(), json!({})).with_notice(Some("a".to_owned()));
        let words = words.with_further_notice(further());
        assert_eq!(
            (words.text.as_str(), words.notice.as_deref()),
            ("Note: b.\nNote: a.\nDone.", Some("a; b"))
        );
        assert_eq!(
            Reply::json(json!({})).with_further_notice(None),
            Reply::json(json!({}))
        );
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
