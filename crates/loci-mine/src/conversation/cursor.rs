//! Cursor: `~/.cursor/projects/<project>/agent-transcripts/<session>/<session>.jsonl`, a message a
//! line with its role, and neither an id nor a time. The folder is named after the path of the project,
//! with hyphens in the place of other signs.
//!
//! The chats of the editor are in `User/globalStorage/state.vscdb` in the folder of its settings: in the
//! table [`TABLE`] a value `composerData:CHAT` with the order of the messages, and `bubbleId:CHAT:MESSAGE` for
//! each message, with its time. Older chats have their messages in the first value.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use loci_core::Timestamp;
use loci_databases::{Database, Result};
use serde_json::{Value, json};

use super::marks::{CURSOR, element};
use super::stored_conversations::{StoredConversations, unreadable};
use super::value::{Tally, kinds, moment, text_of, title};
use super::{Conversation, ConversationReader};
use crate::project::folder_named;

/// The folder of all sessions of a project.
const SESSIONS: &str = "agent-transcripts";
/// The folder within that of a session with what its helpers and the agent said to each other.
const HELPERS: &str = "subagents";
/// The table of the chats, that with what is known of each, and the beginning of the keys of chats.
pub(super) const TABLE: &str = "cursorDiskKV";
const HEADERS: &str = "composerHeaders";
const CHATS: &str = "composerData:";
/// The kind of a message of a person, of the model, and of one in which a summary takes the place of others.
const OF_PERSON: i64 = 1;
const OF_MODEL: i64 = 2;
const SUMMARY: i64 = 22;
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

/// The id of a session, which that of its chat in the database is, too. Empty elsewhere.
pub(super) fn session(path: &Path) -> String {
    let name = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    let mut above = path.ancestors().skip(1);
    let is_session = above.next().is_some_and(|folder| {
        folder.file_name() == Some(OsStr::new(name))
            && folder.parent().and_then(Path::file_name) == Some(OsStr::new(SESSIONS))
    });
    if is_session {
        name.to_owned()
    } else {
        String::new()
    }
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
        let conversation = Conversation {
            id: session(path),
            ..Conversation::default()
        };
        Cursor {
            conversation,
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
            match spoken(speaker, text) {
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

/// Returns the words of a speaker in a text; none if only the program speaks there.
fn spoken<'a>(speaker: &str, text: &'a str) -> Option<&'a str> {
    match speaker {
        "user" => element(text, QUERY)
            .map_or_else(|| CURSOR.spoken(text, false), |said| Some(said.trim())),
        _ => Some(text),
    }
}

/// Reads the chats of a database.
///
/// # Errors
/// If it cannot be read, or the receiver stops.
pub(super) fn read_database(
    database: &Database,
    found: &mut StoredConversations<'_, '_>,
) -> io::Result<()> {
    let mut chats = Vec::new();
    let sql = format!("SELECT key FROM {TABLE} WHERE key GLOB '{CHATS}*' ORDER BY key");
    let rows = database.rows(&sql, &[], |cells| -> Result<()> {
        chats.extend(cells.text("key"));
        Ok(())
    });
    rows.map_err(unreadable)?;
    let has_headers = database.has(&[HEADERS]).map_err(unreadable)?;
    for key in chats {
        let conversation = chat(database, &key, has_headers, found).map_err(unreadable)?;
        conversation.map_or(Ok(()), |conversation| found.add(conversation))?;
    }
    Ok(())
}

/// Returns the chat of a key; none if it was deleted or is broken.
fn chat(
    database: &Database,
    key: &str,
    has_headers: bool,
    found: &mut StoredConversations<'_, '_>,
) -> Result<Option<Conversation>> {
    let Some(chat) = value(database, key, found)? else {
        return Ok(None);
    };
    let id = key[CHATS.len()..].to_owned();
    let head = if has_headers {
        header(database, &id, found)?
    } else {
        Value::Null
    };
    let folder = [&chat, &head].map(|value| title(&value["workspaceIdentifier"]["uri"]["fsPath"]));
    let mut conversation = Conversation {
        title: title(&chat["name"]).or_else(|| title(&head["name"])),
        folder: folder.into_iter().flatten().next(),
        id,
        ..Conversation::default()
    };
    let is_helper = [&chat, &head]
        .iter()
        .any(|value| value["subagentInfo"].is_object() || value["isSubagent"] == true);
    let listed = chat["fullConversationHeadersOnly"].as_array();
    let listed = listed.filter(|listed| !listed.is_empty());
    let inline = chat["conversation"].as_array();
    for message in listed.or(inline).into_iter().flatten() {
        let bubble = match (listed, message["bubbleId"].as_str()) {
            (Some(_), Some(bubble)) => {
                let key = format!("bubbleId:{}:{bubble}", conversation.id);
                value(database, &key, found)?
            }
            (Some(_), None) => None,
            (None, _) => Some(message.clone()),
        };
        let taken = bubble.and_then(|bubble| {
            let at = moment(&bubble["createdAt"]).or_else(|| moment(&message["createdAt"]));
            let said = if is_helper {
                None
            } else {
                Some(&mut conversation)
            };
            take_bubble(&bubble, at, said, &mut found.tally)
        });
        found.tally.check(taken);
    }
    Ok(Some(conversation))
}

/// Takes a message; none if it is broken. That of a helper has no conversation.
fn take_bubble(
    bubble: &Value,
    at: Option<Timestamp>,
    conversation: Option<&mut Conversation>,
    tally: &mut Tally,
) -> Option<()> {
    let speaker = match bubble["type"].as_i64()? {
        OF_PERSON => "user",
        OF_MODEL => "assistant",
        _ => return None,
    };
    if bubble["toolFormerData"].is_object() {
        tally.leave(kinds::TOOL_CALL);
    }
    let thinking = &bubble["thinking"];
    if title(thinking)
        .or_else(|| title(&thinking["text"]))
        .is_some()
    {
        tally.leave(kinds::REASONING);
    }
    // One that only calls a tool has none.
    let text = bubble["text"].as_str().unwrap_or_default();
    if bubble["capabilityType"] == SUMMARY {
        tally.leave(kinds::SUMMARY);
    } else if !text.trim().is_empty() {
        match (conversation, spoken(speaker, text)) {
            (None, _) => tally.leave(kinds::HELPER),
            (Some(conversation), Some(said)) => conversation.say(speaker, at, said),
            (Some(_), None) => tally.leave(kinds::PROGRAM),
        }
    }
    Some(())
}

/// Returns the value of a key; none if it is not there, or broken, which is counted.
fn value(
    database: &Database,
    key: &str,
    found: &mut StoredConversations<'_, '_>,
) -> Result<Option<Value>> {
    let mut cell = None;
    let sql = format!("SELECT value FROM {TABLE} WHERE key = ?1");
    database.rows(&sql, &[&key], |cells| -> Result<()> {
        cell = cells.text("value");
        Ok(())
    })?;
    // A deleted one is empty.
    let Some(cell) = cell.filter(|cell| !cell.trim().is_empty()) else {
        return Ok(None);
    };
    let value = found.value(Some(&cell));
    found.tally.check(value.is_some().then_some(()));
    Ok(value)
}

/// Returns what the list of chats says of one; nothing if it does not name it.
fn header(database: &Database, id: &str, found: &mut StoredConversations<'_, '_>) -> Result<Value> {
    let mut head = Value::Null;
    let sql = format!("SELECT * FROM {HEADERS} WHERE composerId = ?1");
    database.rows(&sql, &[&id], |cells| -> Result<()> {
        head = found
            .value(cells.text("value").as_deref())
            .filter(Value::is_object)
            .unwrap_or_else(|| json!({}));
        if cells.number("isSubagent") == Some(1) {
            head["isSubagent"] = json!(true);
        }
        Ok(())
    })?;
    Ok(head)
}
