//! The views of the conversation (MCP Apps): which tools have one, what goes beside their replies for
//! it, and the tools by which a view reads and acts.
//!
//! A view is a page that a host shows beside the reply of a tool. It gets the ids of the memories that
//! the reply is about, and reads the memories themselves by [`TOOLS`], which a host offers to views
//! and not to its model. So the model pays for nothing, and a view that is opened again later shows
//! what is stored then. Each change is one operation of the engine, by the caller of the view.

pub(crate) mod argument;
mod dismiss;
mod edit;
mod facts;
mod forget;
mod pair_decision;
mod palace;
mod pin;
mod review;
mod session;
mod session_place;
mod settle;
mod share;
mod show;
mod shown_memory;

use loci_engine::match_grade;
use serde_json::{Map, Value, json};

use crate::tool::{Reply, Tool};
use crate::wire::rounded;

/// The operations of the tools that search or list memories.
const FINDING: [&str; 2] = ["memory:read", "search"];

/// The tools with an overview, which agents call at the start of a session.
const STARTING: [&str; 2] = ["mempalace_status", "stats"];

/// The tools that read facts.
const OF_FACTS: [&str; 3] = [
    "mempalace_kg_query",
    "mempalace_kg_stats",
    "mempalace_kg_timeline",
];

/// The tools that count memories by their places.
const OF_PLACES: [&str; 3] = [
    "mempalace_get_taxonomy",
    "mempalace_list_rooms",
    "mempalace_list_wings",
];

/// The tools that say how the memory is. No reply of a tool says that something is held back: only
/// session starts do, which are no tools.
const OF_REVIEW: [&str; 3] = ["help", "mempalace_memories_filed_away", "memory_health"];

/// A view of the conversation.
#[derive(Debug)]
pub struct AppView {
    /// The name of its page.
    pub name: &'static str,
    /// The URI of the resource with its page.
    pub uri: &'static str,
    /// The display name.
    pub title: &'static str,
    /// The description of its content.
    pub description: &'static str,
    belongs_to: fn(&Tool) -> bool,
}

/// Every view, in the order of the documentation.
pub static VIEWS: &[AppView] = &[
    AppView {
        name: "found",
        uri: "ui://loci/found.html",
        title: "What was found",
        description: "The memories that a call found: text, place, strength, and what to do with them.",
        belongs_to: |tool| {
            let finds = tool.hints.read_only && FINDING.contains(&tool.operation);
            finds && !tool.by_a_person
        },
    },
    AppView {
        name: "contradiction",
        uri: "ui://loci/contradiction.html",
        title: "A contradiction",
        description: "The memory that was stored, beside those that it seems to contradict, and the ways to decide.",
        belongs_to: |tool| tool.compares,
    },
    AppView {
        name: "next",
        uri: "ui://loci/next.html",
        title: "The next session",
        description: "The memories that the next session starts with, in order, with their tokens.",
        belongs_to: |tool| STARTING.contains(&tool.name),
    },
    AppView {
        name: "facts",
        uri: "ui://loci/facts.html",
        title: "Facts over time",
        description: "The facts of an entity along the time, and the entities that they lead to.",
        belongs_to: |tool| OF_FACTS.contains(&tool.name),
    },
    AppView {
        name: "palace",
        uri: "ui://loci/palace.html",
        title: "The palace",
        description: "The places of memories, as areas in the proportion of their numbers.",
        belongs_to: |tool| OF_PLACES.contains(&tool.name),
    },
    AppView {
        name: "review",
        uri: "ui://loci/review.html",
        title: "Review",
        description: "The items that wait for a decision of the person, one at a time.",
        belongs_to: |tool| OF_REVIEW.contains(&tool.name),
    },
];

/// The tools by which views read and act. They are no part of a dialect: a host offers them to views
/// alone.
pub static TOOLS: [Tool; 13] = [
    Tool::of::<show::ShowMemories>(),
    Tool::of::<pin::PinMemory>(),
    Tool::of::<edit::EditMemory>(),
    Tool::of::<share::ShareMemory>(),
    Tool::of::<forget::ForgetMemory>(),
    Tool::of::<pair_decision::KeepMemory>(),
    Tool::of::<dismiss::DismissPair>(),
    Tool::of::<session::ShowSession>(),
    Tool::of::<session_place::MoveMemory>(),
    Tool::of::<facts::ShowFacts>(),
    Tool::of::<palace::ShowPalace>(),
    Tool::of::<review::ShowReview>(),
    Tool::of::<settle::SettleItem>(),
];

/// Returns the view of a tool, if it has one.
pub fn view_of(tool: &Tool) -> Option<&'static AppView> {
    VIEWS.iter().find(|view| (view.belongs_to)(tool))
}

/// Returns the view with this URI.
pub fn view_at(uri: &str) -> Option<&'static AppView> {
    VIEWS.iter().find(|view| view.uri == uri)
}

/// Returns the tool of views with this name.
pub fn tool(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// Returns what the view of a tool needs beside a reply: the ids of the memories, with the strength
/// of each and its reasons where the call searched, those that they seem to contradict, and the user
/// for whom the call acted, if it named one.
pub fn beside(reply: &Reply, user: Option<&str>) -> Value {
    let explained = |id: &String| {
        let of = |one: &&Value| one["id"] == id.as_str();
        reply.explanations.iter().find(of).map_or_else(
            || json!({"id": id}),
            |explanation| Value::Object(reasons(explanation)),
        )
    };
    let ids = match reply.explanations.as_slice() {
        [] if reply.memories.is_empty() => {
            let mut listed = listed_in(&reply.structured);
            listed.truncate(show::IDS_MAX);
            listed
        }
        [] => reply.memories.clone(),
        found => found
            .iter()
            .filter_map(|explanation| explanation["id"].as_str().map(str::to_owned))
            .collect(),
    };
    let mut beside = json!({
        "memories": ids.iter().map(explained).collect::<Vec<_>>(),
        "contradicted": reply.contradicted,
    });
    if let Some(user) = user {
        beside["user_id"] = user.into();
    }
    beside
}

/// The names under which the records of a list have their ids.
const ID_NAMES: [&str; 2] = ["id", "drawer_id"];

/// Returns the ids of the records of a list, of which the audit log names none, in their order.
fn listed_in(value: &Value) -> Vec<String> {
    match value {
        Value::Array(records) => records.iter().flat_map(listed_in).collect(),
        Value::Object(record) => {
            let own = ID_NAMES.iter().find_map(|name| record.get(*name)?.as_str());
            // A record may link to others, which were not listed.
            own.map_or_else(
                || record.values().flat_map(listed_in).collect(),
                |id| vec![id.to_owned()],
            )
        }
        _ => Vec::new(),
    }
}

/// Returns the strength of a result and its reasons, as the page shows them.
fn reasons(explanation: &Value) -> Map<String, Value> {
    let number = |name: &str| explanation[name].as_f64().unwrap_or_default();
    let share = number("words_weight");
    let grade = match_grade(explanation["strength"].as_f64(), number("relevance"));
    let reasons = json!({
        "id": explanation["id"],
        "grade": grade,
        "words": rounded(number("words") * share, 2),
        "meaning": rounded(number("meaning") * (1.0 - share), 2),
        "coverage": rounded(number("coverage"), 2),
    });
    reasons.as_object().cloned().unwrap_or_default()
}
