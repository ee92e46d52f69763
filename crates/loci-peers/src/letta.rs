//! Agents of Letta as files (`.af`): what an agent has always before it (its blocks), and what was
//! said. Passages of its archive are not in the file.

use std::path::Path;

use serde_json::{Map, Value};

use crate::json_file::{self, text, texts};
use crate::{Outlet, PeerError, PeerMemory, Result, times};

/// The tool by which agents of an older form speak to people.
const SPEAKING: &str = "send_message";

/// Returns true if the file is one of Letta.
pub fn wrote(path: &Path) -> bool {
    let is_named = path.extension().is_some_and(|ending| ending == "af");
    path.is_file()
        && (is_named || json_file::head(path).contains("\"agents\""))
        && json_file::document(path).is_ok_and(|value| {
            value["agents"].is_array() && value["blocks"].is_array()
                || value["core_memory"].is_array()
        })
}

pub fn read(path: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let document = json_file::document(path)?;
    let whole = document.as_object().ok_or_else(|| {
        PeerError::Form(format!(
            "{} is no file of an agent of Letta",
            path.display()
        ))
    })?;
    let objects = |value: Option<&Value>| {
        let list = value.and_then(Value::as_array).into_iter().flatten();
        list.filter_map(|value| value.as_object().cloned())
            .collect::<Vec<_>>()
    };
    let mut agents = objects(whole.get("agents"));
    // An older file is one agent.
    if whole.contains_key("core_memory") {
        agents.push(whole.clone());
    }
    let time = text(whole, &["created_at"]).map(str::to_owned);
    for block in objects(whole.get("blocks")) {
        let own = block.get("id");
        let agent = agents.iter().find(|agent| {
            let ids = agent.get("block_ids").and_then(Value::as_array);
            ids.is_some_and(|ids| ids.iter().any(|id| Some(id) == own))
        });
        put_block(&block, agent, time.as_deref(), outlet)?;
    }
    for agent in &agents {
        for block in objects(agent.get("core_memory")) {
            put_block(&block, Some(agent), time.as_deref(), outlet)?;
        }
        for message in objects(agent.get("messages")) {
            put_message(&message, agent, outlet)?;
        }
    }
    let attached = ["files", "sources", "groups"].iter();
    for _ in attached.flat_map(|key| objects(whole.get(*key))) {
        outlet
            .report
            .leave_out("files, sources and groups, of which only the names are there");
    }
    Ok(())
}

fn name_of(agent: &Map<String, Value>) -> Option<String> {
    text(agent, &["name", "id"]).map(str::to_owned)
}

/// Passes on a block: what an agent has before it in every session.
fn put_block(
    block: &Map<String, Value>,
    agent: Option<&Map<String, Value>>,
    time: Option<&str>,
    outlet: &mut Outlet<'_>,
) -> Result<()> {
    let label = text(block, &["label"]);
    let agent = agent.and_then(name_of);
    let made = || {
        let parts = [agent.as_deref(), label].map(Option::unwrap_or_default);
        parts.join("/")
    };
    let id = text(block, &["id"]).map_or_else(made, str::to_owned);
    let value = block.get("value").and_then(Value::as_str);
    let mut memory = PeerMemory::new(id, value.unwrap_or_default());
    memory.title = label.map(str::to_owned);
    memory.container = agent;
    memory.kind = label.map(str::to_owned);
    let moment = |key: &str| text(block, &[key]).and_then(times::utc);
    memory.created_at = moment("created_at").or_else(|| times::utc(time?));
    memory.updated_at = moment("updated_at");
    memory.tags = texts(block.get("tags"));
    memory.note(
        "description",
        text(block, &["description"]).unwrap_or_default(),
    );
    memory.is_at_start = true;
    outlet.put_memory(memory)
}

fn put_message(
    message: &Map<String, Value>,
    agent: &Map<String, Value>,
    outlet: &mut Outlet<'_>,
) -> Result<()> {
    let role = text(message, &["role"]).unwrap_or_default();
    if !["user", "assistant"].contains(&role) {
        outlet
            .report
            .leave_out("instructions, and inputs and outputs of tools");
        return Ok(());
    }
    let Some(said) = said(message, role) else {
        outlet
            .report
            .leave_out("messages of programs, and without a text");
        return Ok(());
    };
    let Some(id) = text(message, &["id"]) else {
        outlet.report.leave_out("messages without an id");
        return Ok(());
    };
    let mut memory = PeerMemory::new(id, said);
    memory.container = name_of(agent);
    memory.kind = Some("message".to_owned());
    memory.author = Some(role.to_owned());
    memory.created_at = text(message, &["created_at"]).and_then(times::utc);
    outlet.put_memory(memory)
}

/// Returns the text of a message that a person or the agent said; `None` for what programs wrote into
/// its place.
fn said(message: &Map<String, Value>, role: &str) -> Option<String> {
    let calls = message.get("tool_calls").and_then(Value::as_array);
    let spoken: Vec<String> = calls
        .into_iter()
        .flatten()
        .filter_map(|call| {
            let function = &call["function"];
            let arguments = function["arguments"]
                .as_str()
                .filter(|_| function["name"] == SPEAKING)?;
            let arguments: Value = serde_json::from_str(arguments).ok()?;
            Some(arguments["message"].as_str()?.to_owned())
        })
        .collect();
    if !spoken.is_empty() {
        return Some(spoken.join("\n\n"));
    }
    // Beside a call, an agent thinks.
    if calls.is_some_and(|calls| !calls.is_empty()) {
        return None;
    }
    let text = match message.get("content").or_else(|| message.get("text"))? {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let parts = parts.iter().filter(|part| part["type"] == "text");
            let texts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
            texts.join("\n\n")
        }
        _ => return None,
    };
    if role == "user"
        && let Ok(Value::Object(packed)) = serde_json::from_str(&text)
        && let Some(kind) = packed.get("type").and_then(Value::as_str)
    {
        let message = packed.get("message").and_then(Value::as_str);
        return message
            .filter(|_| kind == "user_message")
            .map(str::to_owned);
    }
    Some(text).filter(|text| !text.trim().is_empty())
}
