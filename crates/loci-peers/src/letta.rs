//! Agents of Letta as files (`.af`): what an agent has always before it (its blocks), and what was
//! said. Passages of its archive are not in the file.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use crate::json_file::{self, text, texts};
use crate::json_walk::{Lists, Step, first, walk};
use crate::{Outlet, PeerError, PeerMemory, Result, times};

/// The tool by which agents of an older form speak to people.
const SPEAKING: &str = "send_message";

/// The lists of a file. An older one is one agent.
const LISTS: Lists<'_> = &[
    &["agents", "*", "messages", "*"],
    &["messages", "*"],
    &["blocks", "*"],
    &["files", "*"],
    &["sources", "*"],
    &["groups", "*"],
];
/// The parts of a file of which only the names are there.
const ATTACHED: [&str; 3] = ["files", "sources", "groups"];
/// The key of the blocks of an older file.
const CORE: &str = "core_memory";

/// Returns true if the file is one of Letta.
pub fn wrote(path: &Path) -> bool {
    let is_named = path.extension().is_some_and(|ending| ending == "af");
    let head = json_file::head(path);
    let is_told = head.contains("\"agents\"") || head.contains("\"core_memory\"");
    path.is_file()
        && (is_named || is_told)
        && first(path, LISTS, |steps, value| match steps {
            [Step::Key(key), Step::Place(_), Step::Key(_)] if key == "agents" => Some(()),
            [Step::Key(key), Step::Place(_)] if key == "blocks" => Some(()),
            [Step::Key(key)] if key == CORE && value.is_array() => Some(()),
            _ => None,
        })
        .is_some()
}

/// The agents of a file, by their places, without what was said.
#[derive(Default)]
struct Agents {
    agents: BTreeMap<u64, Map<String, Value>>,
    /// The other parts of the file; of an older one, its only agent.
    whole: Map<String, Value>,
}

impl Agents {
    fn of(path: &Path) -> Result<Self> {
        let mut found = Agents::default();
        walk(path, LISTS, |steps, value| {
            match (steps, value) {
                ([Step::Key(key)], Some(value)) => {
                    found.whole.insert(key.clone(), value);
                }
                ([Step::Key(_), Step::Place(place), Step::Key(key)], Some(value)) => {
                    let agent = found.agents.entry(*place).or_default();
                    agent.insert(key.clone(), value);
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Returns the agent that a block belongs to.
    fn owner(&self, block: &Map<String, Value>) -> Option<&Map<String, Value>> {
        let own = block.get("id");
        self.agents.values().find(|agent| {
            let ids = agent.get("block_ids").and_then(Value::as_array);
            ids.is_some_and(|ids| ids.iter().any(|id| Some(id) == own))
        })
    }

    /// Returns all agents, that of an older file too.
    fn all(&self) -> impl Iterator<Item = &Map<String, Value>> {
        let whole = Some(&self.whole).filter(|whole| whole.contains_key(CORE));
        self.agents.values().chain(whole)
    }
}

pub fn read(path: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let found = Agents::of(path)?;
    let time = text(&found.whole, &["created_at"]);
    if found.agents.is_empty() && found.whole.is_empty() {
        return Err(PeerError::Form(format!(
            "{} is no file of an agent of Letta",
            path.display()
        )));
    }
    for agent in found.all() {
        let blocks = agent.get(CORE).and_then(Value::as_array);
        for block in blocks.into_iter().flatten().filter_map(Value::as_object) {
            put_block(block, Some(agent), time, outlet)?;
        }
    }
    walk(path, LISTS, |steps, value| {
        let ([Step::Key(list), Step::Place(_)], Some(Value::Object(value))) = (steps, value) else {
            return Ok(());
        };
        if ATTACHED.contains(&&**list) {
            outlet
                .report
                .leave_out("files, sources and groups, of which only the names are there");
        }
        if list == "blocks" {
            return put_block(&value, found.owner(&value), time, outlet);
        }
        Ok(())
    })?;
    walk(path, LISTS, |steps, value| {
        let agent = match steps {
            [Step::Key(list), Step::Place(_)] if list == "messages" => Some(&found.whole),
            [_, Step::Place(place), _, Step::Place(_)] => found.agents.get(place),
            _ => None,
        };
        match (agent, value) {
            (Some(agent), Some(Value::Object(message))) => put_message(&message, agent, outlet),
            _ => Ok(()),
        }
    })?;
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
