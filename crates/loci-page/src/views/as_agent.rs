//! A search as an agent sees it: the call of a tool with its arguments, and the exact reply.

use loci_core::{Error, Result, Scope};
use loci_dialects::{Context, DIALECTS, Dialect, Tool, dialect};
use loci_engine::Recall;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::{IntoParams, ToSchema};

use crate::card::Card;
use crate::encoding::encoded;
use crate::explanation::{ExplanationQuery, MemoryExplanation};
use crate::request::RequestContext;
use crate::view::{Tab, view};

/// The dialect that is shown first.
const DIALECT_DEFAULT: &str = "mememory";

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AgentQuery {
    /// The question.
    #[serde(default)]
    #[param(example = "which port does staging use")]
    q: String,
    /// The tool set.
    #[param(example = "mememory")]
    dialect: Option<String>,
    /// The tool, which must be one that only reads.
    #[param(example = "recall")]
    tool: Option<String>,
    /// The project, if the tool takes one.
    #[param(example = "shop")]
    project: Option<String>,
    /// The arguments, as a JSON object.
    #[param(example = "{\"limit\": 5}")]
    arguments: Option<String>,
    /// The token budget of the reply, if the tool takes one.
    #[param(example = 2000)]
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
    pub(crate) project: String,
    /// The projects that can be named.
    pub(crate) projects: Vec<String>,
    /// The names of the dialects.
    pub(crate) dialects: Vec<&'static str>,
    /// The tools of the dialect that only read.
    pub(crate) tools: Vec<&'static str>,
    pub(crate) reply: Option<AgentReply>,
    /// The first result of a person's search, if the reply lacks it.
    pub(crate) missing: Option<MissingMemory>,
}

/// A memory that a person's search finds first, and an agent's does not have.
#[derive(Serialize, ToSchema)]
pub(crate) struct MissingMemory {
    pub(crate) memory: Card,
    /// The project that the call has to name, if that is the reason.
    pub(crate) project: Option<String>,
    /// The place of the memory in a search of that project.
    pub(crate) place: Option<usize>,
    /// The memories that the call looked at, if it looked at memories of no project.
    pub(crate) looked_at: Option<u64>,
    /// All memories.
    pub(crate) all: u64,
    /// The reason, as a sentence.
    pub(crate) sentence: String,
    /// The remedy, as a sentence.
    pub(crate) action: String,
}

/// A memory in a reply, with its tokens.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReplyPart {
    /// Its first words, or its id.
    pub(crate) label: String,
    pub(crate) tokens: usize,
    /// The length of its bar, in percent.
    #[serde(skip)]
    pub(crate) length: usize,
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
    /// The text with its JSON in lines, if it is JSON.
    #[serde(skip)]
    pub(crate) pretty: Option<String>,
    /// The memories in it, with their tokens.
    pub(crate) parts: Vec<ReplyPart>,
}

view!(AsAgent, Tab::Search, "as_agent.html");

/// The names of the argument of a tool that narrows it to a project.
const PROJECT_ARGUMENTS: [&str; 2] = ["project", "wing"];
/// The name of the project that stands for no project.
const GLOBAL: &str = "global";
/// The results of an agent's search.
const RESULTS: usize = 5;
/// The characters of a label.
const LABEL: usize = 60;
/// The characters of a text by which it is recognised in a reply.
const RECOGNISED: usize = 40;

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
    let of_project = PROJECT_ARGUMENTS
        .into_iter()
        .find(|name| tool.has_argument(name));
    if let Some((project, argument)) = query.project.as_ref().zip(of_project) {
        arguments.insert(argument.to_owned(), json!(project));
    }
    let shown = Value::Object(arguments.clone()).to_string();
    let is_asked = !query.q.is_empty() || query.arguments.is_some();
    // Without a project, this tool set looks at the memories of no project alone.
    let searched = match (&query.project, dialect.name) {
        (None, DIALECT_DEFAULT) => Some(GLOBAL),
        (project, _) => project.as_deref().filter(|_| of_project.is_some()),
    };
    let reply = is_asked.then(|| reply(context, dialect, tool, arguments));
    let missing = match &reply {
        Some(reply) if !query.q.trim().is_empty() && !reply.failed => {
            missing(context, &query.q, searched, &reply.text)?
        }
        _ => None,
    };
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
        project: query.project.unwrap_or_default(),
        projects: context.call().listings().collections()?,
        reply,
        missing,
    })
}

/// Returns the first result of a person's search if an agent's reply lacks it, and why.
fn missing(
    context: &RequestContext<'_>,
    question: &str,
    searched: Option<&str>,
    reply: &str,
) -> Result<Option<MissingMemory>> {
    let call = context.call();
    let recall = Recall::new(question, 1, &|signals| signals.relevance);
    let found = call.search().recall(&recall)?;
    let is_weak = found.is_weak();
    let first = found.hits.into_iter().next().filter(|_| !is_weak);
    let Some(memory) = first.map(|hit| hit.memory) else {
        return Ok(None);
    };
    let start: String = memory.content.chars().take(RECOGNISED).collect();
    let in_json = json!(start).to_string();
    let has_text = reply.contains(&start) || reply.contains(in_json.trim_matches('"'));
    if has_text || reply.contains(memory.id.as_str()) {
        return Ok(None);
    }
    let why = MemoryExplanation::of(
        call,
        &ExplanationQuery {
            question,
            id: &memory.id,
            project: searched,
            kind: None,
            tags: &[],
            limit: RESULTS,
            budget_tokens: None,
        },
    )?;
    let places = call.listings().count_by_location()?;
    let count = |is_global: bool| -> u64 {
        let counted = places
            .iter()
            .filter(|place| !is_global || place.collection.is_none());
        counted.map(|place| place.memories).sum()
    };
    let is_scope = why.cause == "scope";
    Ok(Some(MissingMemory {
        memory: context.card(&memory),
        project: why.project.filter(|_| is_scope),
        place: why.place.filter(|_| is_scope),
        looked_at: (searched == Some(GLOBAL)).then(|| count(true)),
        all: count(false),
        sentence: why.sentence,
        action: why.action,
    }))
}

/// Returns the memories in a reply that is JSON: the objects of its first list.
fn parts(context: &RequestContext<'_>, reply: &Value) -> Vec<ReplyPart> {
    let lists = match reply {
        Value::Array(list) => Some(list),
        Value::Object(fields) => fields.values().find_map(Value::as_array),
        _ => None,
    };
    let objects = lists.into_iter().flatten().filter(|part| part.is_object());
    let label = |part: &Value| {
        let named = ["content", "text", "title", "id"].map(|name| &part[name]);
        let all = part.as_object().into_iter().flat_map(Map::values);
        let texts = named.into_iter().chain(all).filter_map(Value::as_str);
        let mut texts = texts.map(str::trim).filter(|text| !text.is_empty());
        let text = texts.next().unwrap_or_default();
        let label: String = text.chars().take(LABEL).collect();
        context.masked(&label).into_owned()
    };
    let mut parts: Vec<ReplyPart> = objects
        .map(|part| ReplyPart {
            label: label(part),
            tokens: context.engine().budgets().count_tokens(&part.to_string()),
            length: 0,
        })
        .collect();
    let longest = parts.iter().map(|part| part.tokens).max().unwrap_or(0);
    for part in &mut parts {
        part.length = (part.tokens * 100).div_ceil(longest.max(1));
    }
    parts
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
    let json: Option<Value> = serde_json::from_str(&text).ok();
    AgentReply {
        pretty: json
            .as_ref()
            .and_then(|json| serde_json::to_string_pretty(json).ok()),
        parts: json.map_or_else(Vec::new, |json| parts(context, &json)),
        tokens: context.engine().budgets().count_tokens(&text),
        text,
        failed,
        notice,
    }
}

impl AsAgent {
    /// Returns the question as a parameter.
    pub(crate) fn encoded_question(&self) -> String {
        encoded(&self.q)
    }

    /// Returns the path of the same call that names the project of the memory that is missing.
    pub(crate) fn path_in(&self, project: &str) -> String {
        format!(
            "/search/agent?q={}&dialect={}&tool={}&project={}",
            encoded(&self.q),
            encoded(&self.dialect),
            encoded(&self.tool),
            encoded(project)
        )
    }
}
