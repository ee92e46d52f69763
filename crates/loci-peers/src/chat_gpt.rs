//! The memory of ChatGPT, as far as the export of an account has it: the memories that its model saved
//! (calls of the tool `bio`), and what a person says of themselves and asks for in every conversation.
//! Conversations are transcripts, which `loci-mine` reads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::claude_ai::files;
use crate::json_file::{self, Line};
use crate::{Outlet, PeerMemory, Result, times};

const CONVERSATIONS: &str = "conversations";
/// The tool by which the model saves a memory.
const SAVING: &str = "bio";
/// The kind of a message that holds what a person says of themselves.
const CONTEXT: &str = "user_editable_context";
/// The keys of that, each with the kind of its text and whether every conversation starts with it.
const PARTS: [(&str, &str); 2] = [
    ("user_profile", "profile"),
    ("user_instructions", "instructions"),
];

/// Returns the files with conversations.
fn conversations(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    files(path, CONVERSATIONS)
}

/// Returns true if the folder or file is an export of ChatGPT.
pub fn wrote(path: &Path) -> bool {
    conversations(path).iter().any(|file| {
        json_file::head(file).contains("\"mapping\"")
            && json_file::first_object(file)
                .is_some_and(|first| first.get("mapping").is_some_and(Value::is_object))
    })
}

/// A text that replaces the one before it.
struct Latest {
    time: Option<Timestamp>,
    text: String,
}

pub fn read(path: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let mut latest: BTreeMap<&str, Latest> = BTreeMap::new();
    for file in conversations(path) {
        json_file::objects(&file, |line| {
            let Line::Object(conversation) = line else {
                outlet.report.leave_out("elements that are no conversation");
                return Ok(());
            };
            let nodes = conversation.get("mapping").and_then(Value::as_object);
            for node in nodes.into_iter().flat_map(Map::values) {
                put_node(&node["message"], &conversation, &mut latest, outlet)?;
            }
            Ok(())
        })?;
    }
    for (key, Latest { time, text }) in latest {
        let mut memory = PeerMemory::new(key, text);
        memory.kind = PARTS
            .iter()
            .find(|(part, _)| *part == key)
            .map(|(_, kind)| (*kind).to_owned());
        memory.title = Some(key.replace('_', " "));
        (memory.created_at, memory.updated_at) = (time, time);
        memory.is_at_start = true;
        outlet.put_memory(memory)?;
    }
    Ok(())
}

fn put_node(
    message: &Value,
    conversation: &Map<String, Value>,
    latest: &mut BTreeMap<&'static str, Latest>,
    outlet: &mut Outlet<'_>,
) -> Result<()> {
    let content = &message["content"];
    let seconds = |value: &Value| value.as_f64().and_then(times::seconds);
    // Times are missing in places; that of the conversation stays from one export to the next.
    let time = seconds(&message["create_time"])
        .or_else(|| seconds(conversation.get("create_time")?))
        .or_else(|| seconds(conversation.get("update_time")?));
    if content["content_type"] == CONTEXT {
        for (key, _) in PARTS {
            let Some(text) = content[key].as_str().filter(|text| !text.trim().is_empty()) else {
                continue;
            };
            let known = latest.get(key);
            if known.is_none_or(|known| known.time < time) {
                let text = text.to_owned();
                latest.insert(key, Latest { time, text });
            }
        }
    }
    if message["recipient"] != SAVING {
        return Ok(());
    }
    let parts = content["parts"].as_array().into_iter().flatten();
    let parts: Vec<&str> = parts.filter_map(Value::as_str).collect();
    let text = parts.join("\n");
    let (Some(id), false) = (message["id"].as_str(), text.trim().is_empty()) else {
        outlet
            .report
            .leave_out("saved memories without an id or a text");
        return Ok(());
    };
    outlet.report.notice(
        "saved memories come from the conversations in which the model saved them; which ones you deleted or it \
         replaced since is not in an export",
    );
    let mut memory = PeerMemory::new(id, text);
    memory.kind = Some("preference".to_owned());
    let title = conversation.get("title").and_then(Value::as_str);
    memory.note("conversation", title.unwrap_or_default());
    (memory.created_at, memory.updated_at) = (time, time);
    outlet.put_memory(memory)
}
