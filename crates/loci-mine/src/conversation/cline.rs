//! Cline and its relatives, Kilo Code and Roo Code: `<storage>/tasks/<task>/ui_messages.json`, an array
//! of what the panel showed. What went to the model stands beside it, with all that the program added,
//! and is not read but for the folder that it names.

use std::io::Read as _;
use std::path::Path;

use serde_json::Value;

use super::value::{Tally, kinds, moment};
use super::{Conversation, ConversationReader};
use crate::plain_file::{self, Links};

/// The file beside a task with what went to the model, and the bytes in which it names the folder.
const SENT: &str = "api_conversation_history.json";
const SENT_BYTES_MAX: u64 = 1 << 20;
/// The bytes of a path.
const FOLDER_BYTES_MAX: usize = 4_096;
/// The words before the folder in that file.
const FOLDER_FOLLOWS: &str = "Current Working Directory (";

/// Returns whether only this form has such an element.
pub(super) fn tells(value: &Value) -> bool {
    value["ts"].is_number()
        && value["type"]
            .as_str()
            .is_some_and(|kind| matches!(kind, "ask" | "say") && value[kind].is_string())
}

/// The folder that a task was in. None elsewhere.
pub(super) fn project_folder(path: &Path) -> Option<String> {
    let file = plain_file::open(&path.parent()?.join(SENT), Links::Refused).ok()?;
    let mut bytes = Vec::new();
    file.take(SENT_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let (_, after) = text.split_once(FOLDER_FOLLOWS)?;
    let (folder, _) = after
        .split_once(") Files")
        .or_else(|| after.split_once(')'))?;
    // It stands in a string of JSON.
    let is_path = folder.len() <= FOLDER_BYTES_MAX;
    is_path.then(|| serde_json::from_str(&format!("\"{folder}\"")).ok())?
}

/// The words gathered from a task.
#[derive(Default)]
pub(super) struct Cline {
    conversation: Conversation,
    tally: Tally,
    has_begun: bool,
}

impl Cline {
    /// Takes an element; none if it is broken.
    fn element(&mut self, element: &Value) -> Option<()> {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let kind = element["type"].as_str()?;
        let name = element[kind].as_str()?;
        // A part of a text that was cut off.
        if element["partial"] == true {
            self.tally.leave(kinds::EVENT);
            return Some(());
        }
        let at = moment(&element["ts"]);
        let text = element["text"].as_str().unwrap_or_default();
        match (kind, name) {
            ("say", "task" | "user_feedback") => self.conversation.say("user", at, text),
            // Relatives of Cline begin with the words of the person, too.
            ("say", "text") if is_first => self.conversation.say("user", at, text),
            ("say", "text" | "completion_result") | ("ask", "completion_result") => {
                self.conversation.say("assistant", at, text);
            }
            ("ask", "followup" | "plan_mode_respond" | "act_mode_respond")
            | ("say", "plan_mode_respond" | "act_mode_respond") => {
                let value = serde_json::from_str::<Value>(text).unwrap_or_default();
                let said = ["question", "response"]
                    .iter()
                    .find_map(|key| value[key].as_str());
                self.conversation.say("assistant", at, said.unwrap_or(text));
            }
            (_, name) => {
                let left = match name {
                    "reasoning" => kinds::REASONING,
                    "tool"
                    | "command"
                    | "use_mcp_server"
                    | "browser_action"
                    | "browser_action_launch"
                    | "mcp_server_request_started" => kinds::TOOL_CALL,
                    "command_output" | "browser_action_result" | "mcp_server_response" => {
                        kinds::TOOL_RESULT
                    }
                    _ => kinds::EVENT,
                };
                self.tally.leave(left);
            }
        }
        let lengths = [("images", kinds::IMAGE), ("files", kinds::ATTACHMENT)];
        for (key, left) in lengths {
            for _ in element[key].as_array().into_iter().flatten() {
                self.tally.leave(left);
            }
        }
        Some(())
    }
}

impl ConversationReader for Cline {
    fn take(&mut self, value: &Value) {
        let taken = self.element(value);
        self.tally.check(taken);
    }

    fn finish(self: Box<Self>) -> (Vec<Conversation>, Tally) {
        (vec![self.conversation], self.tally)
    }
}
