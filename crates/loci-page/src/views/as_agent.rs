//! A search as an agent sees it: the call of a tool with its arguments, and the exact reply.

use loci_core::{Error, Result, Scope};
use loci_dialects::{Context, DIALECTS, Dialect, Tool, dialect};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::{IntoParams, ToSchema};

use crate::request::RequestContext;
use crate::view::{Tab, view};

/// The dialect that is shown first.
const DIALECT_DEFAULT: &str = "mememory";

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AgentQuery {
    #[serde(default)]
    q: String,
    dialect: Option<String>,
    tool: Option<String>,
    /// The arguments, as a JSON object.
    arguments: Option<String>,
    /// The token budget of the reply, if the tool takes one.
    budget: Option<u64>,
}

/// A call, as an agent sends it, and its reply.
#[derive(Serialize, ToSchema)]
pub(crate) struct AsAgent {
    pub(crate) q: String,
    pub(crate) dialect: String,
    pub(crate) tool: String,
    pub(crate) arguments: String,
    pub(crate) budget: String,
    /// The names of the dialects.
    pub(crate) dialects: Vec<&'static str>,
    /// The tools of the dialect that only read.
    pub(crate) tools: Vec<&'static str>,
    pub(crate) reply: Option<AgentReply>,
}

/// The reply to a call.
#[derive(Serialize, ToSchema)]
pub(crate) struct AgentReply {
    /// The text, byte for byte.
    pub(crate) text: String,
    /// Its tokens for a language model.
    pub(crate) tokens: usize,
    pub(crate) failed: bool,
    /// The notice that the host gets beside the text.
    pub(crate) notice: Option<String>,
}

view!(AsAgent, Tab::Search, "as_agent.html");

/// Returns true if a tool only reads what the store has.
fn is_shown(tool: &Tool) -> bool {
    tool.hints.read_only && !tool.hints.open_world && !tool.scopes().allow(Scope::Admin)
}

fn tool_of(dialect: &'static Dialect, name: Option<&str>) -> Result<&'static Tool> {
    let name = name.unwrap_or(dialect.usual_tools.find);
    dialect
        .tool(name)
        .filter(|tool| is_shown(tool))
        .ok_or_else(|| {
            let message = format!("is not a tool of {} that only reads", dialect.name);
            Error::invalid("tool", message)
        })
}

/// Calls a tool that reads, as an agent does.
#[utoipa::path(get, path = "/search/agent", operation_id = "search_agent", params(AgentQuery), responses((status = OK, body = AsAgent, description = "The content of the view")))]
pub(crate) fn view(context: &RequestContext<'_>, query: AgentQuery) -> Result<AsAgent> {
    let name = query.dialect.as_deref().unwrap_or(DIALECT_DEFAULT);
    let dialect =
        dialect(name).ok_or_else(|| Error::invalid("dialect", "is not one of the five"))?;
    let named = query.tool.as_deref();
    let tool = tool_of(dialect, named.filter(|tool| dialect.tool(tool).is_some()))?;
    let mut arguments: Map<String, Value> = match &query.arguments {
        Some(text) => {
            let read = loci_json::from_slice(text.as_bytes());
            let (arguments, _) = read.map_err(|error| {
                Error::invalid("arguments", format!("are not a JSON object: {error}"))
            })?;
            arguments
        }
        None => Map::new(),
    };
    if !query.q.is_empty()
        && let Some(argument) = tool.query
    {
        arguments.insert(argument.to_owned(), json!(query.q));
    }
    if let Some(budget) = query.budget
        && tool.has_argument("budget_tokens")
    {
        arguments.insert("budget_tokens".to_owned(), json!(budget));
    }
    let shown = Value::Object(arguments.clone()).to_string();
    let is_asked = !query.q.is_empty() || query.arguments.is_some();
    let reply = is_asked.then(|| reply(context, dialect, tool, arguments));
    Ok(AsAgent {
        q: query.q,
        dialect: dialect.name.to_owned(),
        tool: tool.name.to_owned(),
        arguments: shown,
        budget: query
            .budget
            .map_or_else(String::new, |budget| budget.to_string()),
        dialects: DIALECTS.iter().map(|dialect| dialect.name).collect(),
        tools: dialect
            .tools
            .iter()
            .filter(|tool| is_shown(tool))
            .map(|tool| tool.name)
            .collect(),
        reply,
    })
}

fn reply(
    context: &RequestContext<'_>,
    dialect: &'static Dialect,
    tool: &Tool,
    arguments: Map<String, Value>,
) -> AgentReply {
    let call_context = Context {
        engine: context.engine(),
        caller: context.caller(),
    };
    let (text, notice, failed) = match dialect.call(tool, call_context, arguments) {
        Ok(reply) => (reply.text, reply.notice, false),
        Err(error) => (error.message, None, true),
    };
    AgentReply {
        tokens: context.engine().budgets().count_tokens(&text),
        text,
        failed,
        notice,
    }
}
