//! opencode, in `~/.local/share/opencode/storage/`: `session/<project>/<session>.json` is the head of
//! a session, whose messages stand in `message/<session>/` and their parts in `part/<message>/`, a
//! file each, with names in their order. `opencode export` writes all of a session into one document. Since
//! 2026 all sessions are in `~/.local/share/opencode/opencode.db`, with the same values in the tables
//! `session`, `message` and `part`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use loci_databases::{Database, Result};
use serde_json::{Value, json};

use super::stored_conversations::{StoredConversations, unreadable};
use super::value::{Tally, kinds, moment, title};
use super::{Conversation, ConversationReader, VALUE_BYTES_MAX, WHOLE_BYTES_MAX};
use crate::plain_file::{self, Links};

/// The most files of the messages and parts of one session.
const FILES_MAX: usize = 100_000;

/// Returns whether only this form has such a document: an export, or the head of a session.
pub(super) fn tells(value: &Value) -> bool {
    let is_export = || {
        let messages = value["messages"].as_array();
        value["info"]["id"].is_string()
            && messages.is_some_and(|messages| {
                messages
                    .iter()
                    .all(|message| message["info"].is_object() && message["parts"].is_array())
            })
    };
    is_head(value) || is_export()
}

fn is_head(value: &Value) -> bool {
    value["id"].as_str().is_some_and(|id| id.starts_with("ses"))
        && value["projectID"].is_string()
        && value["time"]["created"].is_number()
}

/// The words gathered from a session.
pub(super) struct OpenCode {
    /// The folder of all sessions, if the file may be in it.
    storage: Option<PathBuf>,
    conversations: Vec<Conversation>,
    tally: Tally,
    files_left: usize,
    bytes_left: u64,
}

impl OpenCode {
    /// Returns the gatherer of the document at a path.
    pub(super) fn new(path: &Path) -> Self {
        OpenCode {
            storage: path.ancestors().nth(3).map(Path::to_owned),
            conversations: Vec::new(),
            tally: Tally::default(),
            files_left: FILES_MAX,
            bytes_left: WHOLE_BYTES_MAX,
        }
    }

    fn session(&mut self, value: &Value) -> Option<()> {
        let (info, messages) = if is_head(value) {
            (value, self.messages(&title(&value["id"])?))
        } else {
            let messages = value["messages"].as_array()?;
            (&value["info"], messages.clone())
        };
        let mut conversation = Conversation {
            id: title(&info["id"])?,
            title: title(&info["title"]),
            folder: title(&info["directory"]),
            ..Conversation::default()
        };
        // A model, and not a person, speaks in a session within another one.
        let is_helper = info["parentID"].is_string();
        for message in &messages {
            if is_helper {
                self.tally.leave(kinds::HELPER);
            } else {
                let taken = said(message, &mut conversation, &mut self.tally);
                self.tally.check(taken);
            }
        }
        self.conversations.push(conversation);
        Some(())
    }

    /// The messages of a session with their parts, as an export has them.
    fn messages(&mut self, session: &str) -> Vec<Value> {
        let Some(storage) = self.storage.clone() else {
            return Vec::new();
        };
        let mut messages = Vec::new();
        for info in self.values(&storage.join("message"), session) {
            let parts = match info["id"].as_str() {
                Some(id) => self.values(&storage.join("part"), id),
                None => Vec::new(),
            };
            messages.push(json!({"info": info, "parts": parts}));
        }
        messages
    }

    /// The values in the files of a folder, in the order of their names. A file that cannot be read
    /// is broken.
    fn values(&mut self, folder: &Path, name: &str) -> Vec<Value> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if name.is_empty() || !name.bytes().all(is_name) {
            return Vec::new();
        }
        let entries = fs::read_dir(folder.join(name)).into_iter().flatten();
        let mut paths: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
            .take(self.files_left)
            .collect();
        self.files_left -= paths.len();
        paths.sort_unstable();
        let mut values = Vec::new();
        for path in paths {
            let bytes_max = VALUE_BYTES_MAX.min(self.bytes_left);
            let read = plain_file::read(&path, Links::Refused, bytes_max).ok();
            let value = read.and_then(|bytes| {
                self.bytes_left = self.bytes_left.saturating_sub(bytes.len() as u64);
                loci_json::from_slice::<Value>(&bytes).ok()
            });
            self.tally.check(value.is_some().then_some(()));
            values.extend(value.map(|(value, _)| value));
        }
        values
    }
}

/// Reads the sessions of a database.
///
/// # Errors
/// If it cannot be read, or the receiver stops.
pub(super) fn read_database(
    database: &Database,
    found: &mut StoredConversations<'_, '_>,
) -> io::Result<()> {
    let mut sessions = Vec::new();
    let sql = "SELECT * FROM session ORDER BY id";
    let rows = database.rows(sql, &[], |cells| -> Result<()> {
        let id = cells.filled("id");
        found.tally.check(id.is_some().then_some(()));
        let is_helper = cells.filled("parent_id").is_some();
        sessions.extend(id.map(|id| {
            let conversation = Conversation {
                id,
                title: cells.filled("title"),
                folder: cells.filled("directory"),
                ..Conversation::default()
            };
            (conversation, is_helper)
        }));
        Ok(())
    });
    rows.map_err(unreadable)?;
    for (mut conversation, is_helper) in sessions {
        let mut messages = Vec::new();
        let sql = "SELECT id, time_created, data FROM message WHERE session_id = ?1 ORDER BY id";
        let rows = database.rows(sql, &[&conversation.id], |cells| -> Result<()> {
            messages.push((
                cells.text("id").unwrap_or_default(),
                cells.number("time_created"),
                cells.text("data"),
            ));
            Ok(())
        });
        rows.map_err(unreadable)?;
        for (id, created, data) in messages {
            if is_helper {
                found.tally.leave(kinds::HELPER);
                continue;
            }
            let message = match found.value(data.as_deref()) {
                Some(info) => {
                    let parts = parts(database, &id, found).map_err(unreadable)?;
                    Some(json!({"info": info, "parts": parts}))
                }
                None => None,
            };
            let taken = message.and_then(|mut message| {
                let time = &mut message["info"]["time"]["created"];
                if time.is_null() {
                    *time = json!(created);
                }
                said(&message, &mut conversation, &mut found.tally)
            });
            found.tally.check(taken);
        }
        found.add(conversation)?;
    }
    Ok(())
}

/// Returns the parts of a message.
fn parts(
    database: &Database,
    message: &str,
    found: &mut StoredConversations<'_, '_>,
) -> Result<Vec<Value>> {
    let mut parts = Vec::new();
    let sql = "SELECT data FROM part WHERE message_id = ?1 ORDER BY id";
    database.rows(sql, &[&message], |cells| -> Result<()> {
        let part = found.value(cells.text("data").as_deref());
        found.tally.check(part.is_some().then_some(()));
        parts.extend(part);
        Ok(())
    })?;
    Ok(parts)
}

/// Adds a message; none if it is broken.
fn said(message: &Value, conversation: &mut Conversation, tally: &mut Tally) -> Option<()> {
    let info = &message["info"];
    let speaker = match info["role"].as_str()? {
        "user" => "user",
        "assistant" => "assistant",
        _ => return None,
    };
    let at = moment(&info["time"]["created"]);
    let is_summary = info["summary"] == true;
    for part in message["parts"].as_array()? {
        match part["type"].as_str()? {
            "text" if part["synthetic"] == true || part["ignored"] == true => {
                tally.leave(kinds::PROGRAM);
            }
            "text" if is_summary => tally.leave(kinds::SUMMARY),
            "text" => conversation.say(speaker, at, part["text"].as_str()?),
            "reasoning" => tally.leave(kinds::REASONING),
            "tool" => tally.leave(kinds::TOOL_CALL),
            "file" => tally.leave(kinds::ATTACHMENT),
            _ => {}
        }
    }
    Some(())
}

impl ConversationReader for OpenCode {
    fn take(&mut self, value: &Value) {
        let taken = self.session(value);
        self.tally.check(taken);
    }

    fn finish(self: Box<Self>) -> (Vec<Conversation>, Tally) {
        (self.conversations, self.tally)
    }
}
