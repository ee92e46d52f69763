//! A tool and a dialect as data. A server maps them to its protocol once, for all dialects.

use std::sync::OnceLock;

use loci_core::{Caller, Error, ErrorCode, Result, Scope};
use loci_engine::{Engine, check};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::audit::BegunCall;
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
        Reply { text, structured, notice: None, explanations: Vec::new() }
    }

    /// A value whose text is its JSON.
    pub fn json(structured: Value) -> Self {
        Reply::new(structured.to_string(), structured)
    }

    /// The reply with a notice, which the text says too: some hosts forward only the text. An object
    /// gets it as the key `notice`, so that a text which was its JSON still is; before any other
    /// text it stands in a line of its own.
    #[must_use]
    pub fn with_notice(mut self, notice: Option<String>) -> Self {
        if let Some(notice) = &notice {
            let json = self.structured.to_string();
            match self.structured.as_object_mut().filter(|_| self.text == json) {
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

    /// The reply with the reason of each result, for programs: the text says nothing of it.
    #[must_use]
    pub fn with_explanations(self, explanations: Vec<Value>) -> Self {
        Reply { explanations, ..self }
    }
}

/// A reply's type as a value.
///
/// # Errors
/// `internal`, if it has no JSON form; none of ours lacks one.
pub fn to_value(value: &impl Serialize) -> Result<Value> {
    serde_json::to_value(value).map_err(|error| Error::internal(format!("a reply has no JSON form: {error}")))
}

/// What a host may assume of a tool (MCP tool annotations).
#[expect(clippy::struct_excessive_bools, reason = "the protocol has these four, each on its own")]
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

impl Context<'_> {
    /// Checks that the caller has a scope, which `what` needs.
    ///
    /// # Errors
    /// `forbidden`, naming the scope.
    pub fn require(&self, scope: Scope, what: &str) -> Result<()> {
        if self.caller.principal.scopes.allow(scope) {
            return Ok(());
        }
        let message = format!("{what} needs a token with the scope `{}`", scope.name());
        Err(Error::new(ErrorCode::Forbidden, message))
    }
}

/// A tool, written as a type: its arguments, its reply and what it does.
pub trait TypedTool {
    /// The name on the wire.
    const NAME: &'static str;
    /// The name for people.
    const TITLE: &'static str;
    /// What the caller must be allowed to do.
    const SCOPE: Scope;
    /// What a host may assume.
    const HINTS: Hints;
    /// What kind of thing it does, for the audit log: `memory:write`, `search`, ...
    const OPERATION: &'static str;
    /// The arguments. Doc comments become the tool's description and those of its arguments.
    type Arguments: DeserializeOwned + JsonSchema;
    /// The shape of `structuredContent`.
    type Output: JsonSchema;

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
    /// What the caller must be allowed to do.
    pub scope: Scope,
    /// What a host may assume.
    pub hints: Hints,
    /// What kind of thing it does, for the audit log.
    pub operation: &'static str,
    input: fn() -> Value,
    output: fn() -> Value,
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
            hints: T::HINTS,
            operation: T::OPERATION,
            input: schema::input_of::<T::Arguments>,
            output: schema::output_of::<T::Output>,
            run: |context, arguments| {
                let arguments = serde_json::from_value(arguments)
                    .map_err(|error| Error::new(ErrorCode::InvalidArgument, format!("arguments: {error}")))?;
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
            .map_or_else(String::new, |text| text.as_str().unwrap_or_default().to_owned())
    }

    /// JSON Schema (2020-12) of the arguments, an object without references.
    pub fn input_schema(&self) -> Map<String, Value> {
        match (self.input)() {
            Value::Object(mut schema) => {
                schema.remove("description");
                schema
            }
            _ => Map::new(),
        }
    }

    /// JSON Schema (2020-12) of `structuredContent`.
    pub fn output_schema(&self) -> Value {
        (self.output)()
    }

    /// Checks the caller's scope, and the arguments against the schema.
    fn check(&self, context: Context<'_>, arguments: &Value) -> Result<()> {
        context.require(self.scope, self.name)?;
        let checker = if let Some(checker) = self.checker.get() {
            checker
        } else {
            let checker = Checker::new((self.input)())?;
            self.checker.get_or_init(|| checker)
        };
        checker.check(arguments)
    }
}

/// How a dialect says that a call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureShape {
    /// `{"error": {"code": ..., "message": ...}}`.
    Nested,
    /// `{"error": message, "error_code": code}`.
    Flat,
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
    /// What its failures look like.
    pub failure_shape: FailureShape,
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

    /// Calls a tool of this dialect: checks the caller's scope, the arguments against the schema and
    /// whether the caller may act for the user that they name, does it, and notes the call in the
    /// audit log, however it ended.
    ///
    /// # Errors
    /// `forbidden` without the scope, or for somebody else's name; `invalid_argument`, naming the
    /// argument, if one is missing, unknown, ill-typed or out of range; else what the tool refuses.
    pub fn call(&self, tool: &Tool, context: Context<'_>, arguments: Map<String, Value>) -> Result<Reply> {
        let arguments = without_nulls(Value::Object(arguments));
        let (caller, may_act) = match self.acting(context.caller, &arguments) {
            Ok(caller) => (caller, Ok(())),
            Err(error) => (context.caller.clone(), Err(error)),
        };
        let acting = Context { caller: &caller, ..context };
        let begun = BegunCall::of(self, tool, context.caller, acting, &arguments);
        let outcome = tool.check(acting, &arguments).and(may_act).and_then(|()| (tool.run)(acting, arguments));
        begun.end(&outcome);
        outcome
    }

    /// Who acts: the user whom the arguments name, where the dialect has such an argument. Where it
    /// is missing or no string, the schema refuses the call.
    fn acting(&self, caller: &Caller, arguments: &Value) -> Result<Caller> {
        let named = self.user_argument.and_then(|argument| Some((argument, arguments.get(argument)?.as_str()?)));
        let Some((argument, user)) = named else { return Ok(caller.clone()) };
        check::name(argument, user)?;
        caller.acting_for(argument, user)
    }

    /// A failure in this dialect's shape. Its text is the message.
    pub fn failure(&self, error: &Error) -> Reply {
        let (code, message) = (error.code.name(), &error.message);
        let structured = match self.failure_shape {
            FailureShape::Nested => json!({"error": {"code": code, "message": message}}),
            FailureShape::Flat => json!({"error": message, "error_code": code}),
        };
        Reply::new(message.clone(), structured)
    }
}

/// Arguments as if only those had been sent that say something: hosts that know no optional
/// arguments send null for the ones left out.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let said = fields.into_iter().filter(|(_, value)| !value.is_null());
            said.map(|(name, value)| (name, without_nulls(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
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
