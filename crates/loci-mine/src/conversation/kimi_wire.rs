//! The logs of Kimi, in files called `wire.jsonl`, a record a line with its time.
//!
//! Kimi Code keeps one for each agent of a session, `~/.kimi-code/sessions/<project>/<session>/agents/<agent>/`,
//! and notes the folder of the project in the `state.json` of the session. The words of a person stand there
//! twice: as the prompt of a turn, and then as a message of the context, which counts. Only of a command is
//! the prompt the person's text, and the message the program's form of that text. Only the agent `main` speaks
//! with a person.
//!
//! The older Kimi CLI keeps one beside each `context.jsonl`, which has the same words: it is read only where
//! that file is not there.

use std::ffi::OsStr;
use std::path::Path;

use serde_json::Value;

use super::kimi;
use super::value::{Tally, blocks, kinds, moment};
use super::{Conversation, ConversationReader};
use crate::plain_file;

/// The folder of the agents of a session, and the agent that speaks with a person.
const AGENTS: &str = "agents";
const MAIN: &str = "main";
/// The file with Kimi Code's notes about a session, and its most bytes.
const STATE: &str = "state.json";
const STATE_BYTES_MAX: u64 = 4 << 20;
/// The file of Kimi CLI with the messages of a session.
const CONTEXT: &str = "context.jsonl";

/// Returns whether only Kimi Code has such a record.
pub(super) fn tells(record: &Value) -> bool {
    match record["type"].as_str() {
        Some("metadata") => {
            record["protocol_version"].is_string() && record["created_at"].is_number()
        }
        Some("turn.prompt" | "turn.steer") => record["input"].is_array(),
        Some("context.append_message") => record["message"]["role"].is_string(),
        Some("context.append_loop_event") => record["event"]["type"].is_string(),
        _ => false,
    }
}

/// Returns whether only a log of Kimi CLI has such a record, and nothing beside it has its words.
pub(super) fn tells_of_cli(record: &Value, path: &Path) -> bool {
    let message = &record["message"];
    let is_of_cli = record["timestamp"].is_number()
        && message["payload"].is_object()
        && matches!(
            message["type"].as_str(),
            Some("TurnBegin" | "StepBegin" | "ContentPart" | "StatusUpdate")
        );
    is_of_cli && !path.with_file_name(CONTEXT).exists()
}

/// The folder that Kimi Code notes for the session of a file. None elsewhere.
pub(super) fn project_folder(path: &Path) -> Option<String> {
    let agents = path.parent()?.parent()?;
    let agents = Some(agents).filter(|folder| folder.file_name() == Some(OsStr::new(AGENTS)))?;
    let bytes = plain_file::read_own(&agents.parent()?.join(STATE), STATE_BYTES_MAX).ok()?;
    let (state, _) = loci_json::from_slice::<Value>(&bytes).ok()?;
    state["workDir"].as_str().map(str::to_owned)
}

/// Takes a record of Kimi CLI into the conversation; none if it is broken.
pub(super) fn take_of_cli(
    record: &Value,
    said: &mut Conversation,
    tally: &mut Tally,
) -> Option<()> {
    let (message, at) = (&record["message"], moment(&record["timestamp"]));
    if message.is_null() {
        // The first line names the version.
        return record["type"].is_string().then_some(());
    }
    let payload = &message["payload"];
    match message["type"].as_str()? {
        "TurnBegin" | "SteerInput" => {
            kimi::say(blocks(&payload["user_input"])?, ("user", at), said, tally);
        }
        "ContentPart" => {
            let part = std::slice::from_ref(payload);
            kimi::say(part, ("assistant", at), said, tally);
        }
        "ToolCall" => tally.leave(kinds::TOOL_CALL),
        "ToolResult" => tally.leave(kinds::TOOL_RESULT),
        "SubagentEvent" => tally.leave(kinds::HELPER),
        "CompactionEnd" => tally.leave(kinds::SUMMARY),
        _ => {}
    }
    Some(())
}

/// The words gathered from an agent of Kimi Code.
#[derive(Default)]
pub(super) struct KimiCode {
    conversation: Conversation,
    tally: Tally,
    /// True for an agent that no person speaks with.
    is_helper: bool,
}

impl KimiCode {
    /// Returns the gatherer of the file at a path.
    pub(super) fn new(path: &Path) -> Self {
        let agent = path.parent().filter(|agent| {
            let agents = agent.parent().and_then(Path::file_name);
            agents == Some(OsStr::new(AGENTS))
        });
        KimiCode {
            is_helper: agent.is_some_and(|agent| agent.file_name() != Some(OsStr::new(MAIN))),
            ..KimiCode::default()
        }
    }

    /// Takes a record; none if it is broken.
    fn record(&mut self, record: &Value) -> Option<()> {
        match record["type"].as_str()? {
            "turn.prompt" | "turn.steer" if record["origin"]["trigger"] == "user-slash" => {
                self.say("user", &record["input"], record)?;
            }
            "context.append_message" => self.message(record)?,
            "context.append_loop_event" => self.event(record)?,
            "context.apply_compaction" => self.tally.leave(kinds::SUMMARY),
            _ => {}
        }
        Some(())
    }

    fn message(&mut self, record: &Value) -> Option<()> {
        let message = &record["message"];
        let (role, content) = (message["role"].as_str()?, &message["content"]);
        match role {
            "user" => match message["origin"]["kind"].as_str() {
                None | Some("user") => self.say("user", content, record)?,
                Some("compaction_summary") => self.tally.leave(kinds::SUMMARY),
                Some(_) => self.tally.leave(kinds::PROGRAM),
            },
            "assistant" => {
                self.say("assistant", content, record)?;
                for _ in message["toolCalls"].as_array().into_iter().flatten() {
                    self.tally.leave(kinds::TOOL_CALL);
                }
            }
            "tool" => self.tally.leave(kinds::TOOL_RESULT),
            _ => self.tally.leave(kinds::INSTRUCTION),
        }
        Some(())
    }

    fn event(&mut self, record: &Value) -> Option<()> {
        let event = &record["event"];
        match event["type"].as_str()? {
            "content.part" => self.say("assistant", &event["part"], record)?,
            "tool.call" => self.tally.leave(kinds::TOOL_CALL),
            "tool.result" => self.tally.leave(kinds::TOOL_RESULT),
            _ => {}
        }
        Some(())
    }

    fn say(&mut self, speaker: &str, content: &Value, record: &Value) -> Option<()> {
        let blocks = blocks(content)?;
        if self.is_helper {
            self.tally.leave(kinds::HELPER);
            return Some(());
        }
        let at = moment(&record["time"]);
        kimi::say(
            blocks,
            (speaker, at),
            &mut self.conversation,
            &mut self.tally,
        );
        Some(())
    }
}

impl ConversationReader for KimiCode {
    fn take(&mut self, value: &Value) {
        let taken = self.record(value);
        self.tally.check(taken);
    }

    fn finish(self: Box<Self>) -> (Vec<Conversation>, Tally) {
        (vec![self.conversation], self.tally)
    }
}
