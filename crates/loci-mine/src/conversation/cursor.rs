//! Cursor: `~/.cursor/projects/<project>/agent-transcripts/<session>/<session>.jsonl`, a message a
//! line with its role, and neither an id nor a time. The folder is named after the path of the project,
//! with hyphens in the place of other signs.

use std::ffi::OsStr;
use std::path::Path;

use serde_json::Value;

use super::marks::{CURSOR, element};
use super::value::{Tally, kinds, text_of};
use super::{Conversation, ConversationReader};
use crate::project::folder_named;

/// The folder of all sessions of a project.
const SESSIONS: &str = "agent-transcripts";
/// The folder within that of a session with what its helpers and the agent said to each other.
const HELPERS: &str = "subagents";
/// The element in which the words of the person stand.
const QUERY: &str = "user_query";

/// Returns whether only this form has such a line.
pub(super) fn tells(line: &Value) -> bool {
    line["type"].is_null() && speaker(line).is_some() && line["message"]["content"].is_array()
}

fn speaker(line: &Value) -> Option<&'static str> {
    match line["role"].as_str()? {
        "user" => Some("user"),
        "assistant" => Some("assistant"),
        _ => None,
    }
}

/// The folder of the project that a session is about. None elsewhere.
pub(super) fn project_folder(path: &Path) -> Option<String> {
    let mut above = path.ancestors();
    let sessions = above.find(|folder| folder.file_name() == Some(OsStr::new(SESSIONS)))?;
    let name = sessions.parent()?.file_name()?.to_str()?;
    folder_named(name)?.into_os_string().into_string().ok()
}

/// The words gathered from a session.
#[derive(Default)]
pub(super) struct Cursor {
    conversation: Conversation,
    tally: Tally,
    /// True for a session of a helper.
    is_helper: bool,
}

impl Cursor {
    /// Returns the gatherer of the file at a path.
    pub(super) fn new(path: &Path) -> Self {
        let is_helper = path.iter().any(|part| part == HELPERS);
        Cursor {
            is_helper,
            ..Cursor::default()
        }
    }

    /// Takes a line; none if it is broken.
    fn line(&mut self, line: &Value) -> Option<()> {
        let Some(speaker) = speaker(line) else {
            // Cursor notes the end of a turn, too.
            return line["type"].is_string().then_some(());
        };
        for block in line["message"]["content"].as_array()? {
            let Some(text) = text_of(block, &["text"], &mut self.tally) else {
                continue;
            };
            if self.is_helper {
                self.tally.leave(kinds::HELPER);
                continue;
            }
            let said = match speaker {
                "user" => element(text, QUERY)
                    .map_or_else(|| CURSOR.spoken(text, false), |said| Some(said.trim())),
                _ => Some(text),
            };
            match said {
                Some(said) => self.conversation.say(speaker, None, said),
                None => self.tally.leave(kinds::PROGRAM),
            }
        }
        Some(())
    }
}

impl ConversationReader for Cursor {
    fn take(&mut self, value: &Value) {
        let taken = self.line(value);
        self.tally.check(taken);
    }

    fn finish(self: Box<Self>) -> (Vec<Conversation>, Tally) {
        (vec![self.conversation], self.tally)
    }
}
