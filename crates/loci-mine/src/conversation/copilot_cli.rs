//! GitHub Copilot CLI: `~/.copilot/session-state/<session>/events.jsonl`, an event a line with its
//! type, its time and its `data`.

use serde_json::Value;

use super::Conversation;
use super::value::{Tally, kinds, moment, title};

/// Sources of messages that no person wrote, each also as the beginning of a longer name.
const SYSTEM_SOURCES: [&str; 4] = ["autopilot", "schedule", "skill", "system"];
/// The start of a message in which the program tells the model about a skill.
const SKILL_BEGINS: &str = "<skill-context";

/// Returns whether only this form has such a line.
pub(super) fn tells(line: &Value) -> bool {
    let data = &line["data"];
    match line["type"].as_str() {
        Some("session.start") => data["sessionId"].is_string(),
        Some("user.message" | "assistant.message") => data["content"].is_string(),
        _ => false,
    }
}

/// Takes an event into the conversation; none if it is broken.
pub(super) fn take(event: &Value, said: &mut Conversation, tally: &mut Tally) -> Option<()> {
    let data = &event["data"];
    match event["type"].as_str()? {
        "session.start" | "session.resume" => {
            let folder = title(&data["context"]["cwd"]).or_else(|| title(&data["cwd"]));
            let known = &mut said.folder;
            *known = known.take().or(folder);
        }
        "user.message" => message("user", event, said, tally)?,
        "assistant.message" => {
            message("assistant", event, said, tally)?;
            for _ in data["toolRequests"].as_array().into_iter().flatten() {
                tally.leave(kinds::TOOL_CALL);
            }
            if title(&data["reasoningText"]).is_some() {
                tally.leave(kinds::REASONING);
            }
        }
        "assistant.reasoning" => tally.leave(kinds::REASONING),
        "system.message" => tally.leave(kinds::INSTRUCTION),
        "tool.execution_complete" => tally.leave(kinds::TOOL_RESULT),
        _ => {}
    }
    Some(())
}

fn message(speaker: &str, event: &Value, said: &mut Conversation, tally: &mut Tally) -> Option<()> {
    let data = &event["data"];
    let text = data["content"].as_str()?;
    let source = data["source"].as_str().unwrap_or_default();
    let is_of_program = SYSTEM_SOURCES
        .iter()
        .any(|system| source.starts_with(system))
        || text.trim_start().starts_with(SKILL_BEGINS);
    let is_of_helper = event["agentId"].is_string() || data["parentToolCallId"].is_string();
    if is_of_helper {
        tally.leave(kinds::HELPER);
    } else if is_of_program {
        tally.leave(kinds::PROGRAM);
    } else {
        said.say(speaker, moment(&event["timestamp"]), text);
        for _ in data["attachments"].as_array().into_iter().flatten() {
            tally.leave(kinds::ATTACHMENT);
        }
    }
    Some(())
}
