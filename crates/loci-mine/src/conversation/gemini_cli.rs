//! Gemini CLI, in `~/.gemini/tmp/<project>/`: `chats/session-*.json`, a document of a session;
//! `chats/session-*.jsonl`, whose lines are the session's head, messages, and changes of both (a
//! message is written again whenever something is added to it, so such a file does not only grow);
//! and `logs.json`, what the person said in all sessions.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

use super::value::{Threads, moment, spoken, texts, title};
use super::{Conversation, Gather, Said};
use crate::plain_file;

/// Elements in what the program or a hook, not the person, says to the model.
const PROGRAM: &[&str] = &["session_context", "hook_context"];
/// Bytes of a file that names the folder of a project.
const PROJECT_FILE_BYTES_MAX: u64 = 1 << 20;
/// Where the text of files begins that a message refers to.
const FILES_BEGIN: &str = "--- Content from referenced files ---";

/// Whether only this form has such a line, or such a document.
pub(super) fn tells(value: &Value) -> bool {
    value["sessionId"].is_string()
        && value["type"].is_null()
        && (value["projectHash"].is_string() || value["messages"].is_array())
}

/// Whether only `logs.json` has such an element.
pub(super) fn tells_log(value: &Value) -> bool {
    value["sessionId"].is_string() && value["messageId"].is_number() && value["message"].is_string()
}

/// What was gathered of a session.
#[derive(Default)]
pub(super) struct GeminiCli {
    title: Option<String>,
    folder: Option<String>,
    /// The head says that a model, not a person, spoke to the model.
    is_helper: bool,
    /// What was said in each message when it was last written.
    messages: Vec<Vec<Said>>,
    /// Where those are, by id.
    places: HashMap<String, usize>,
}

impl GeminiCli {
    /// Takes a head, a message or a change.
    fn record(&mut self, record: &Value) -> u64 {
        if let Some(change) = record.get("$set") {
            return self.head(change);
        }
        // Who goes back behind something has said it nevertheless.
        if record.get("$rewindTo").is_some() {
            return 0;
        }
        if record["id"].is_string() {
            u64::from(self.message(record).is_none())
        } else {
            self.head(record)
        }
    }

    fn head(&mut self, head: &Value) -> u64 {
        if !head.is_object() {
            return 1;
        }
        self.title = title(&head["summary"]).or(self.title.take());
        self.folder = self
            .folder
            .take()
            .or_else(|| title(&head["directories"][0]));
        self.is_helper |= head["kind"] == "subagent";
        match &head["messages"] {
            Value::Null => 0,
            Value::Array(messages) => messages
                .iter()
                .filter(|message| self.message(message).is_none())
                .count() as u64,
            _ => 1,
        }
    }

    fn message(&mut self, message: &Value) -> Option<()> {
        let id = message["id"].as_str()?;
        let speaker = match message["type"].as_str()? {
            "user" => "user",
            "gemini" => "assistant",
            // Words of the program.
            _ => return Some(()),
        };
        let shown = &message["displayContent"];
        let content = if shown.is_null() {
            &message["content"]
        } else {
            shown
        };
        let at = moment(&message["timestamp"]);
        let mut said = Conversation::default();
        for text in parts(content)?
            .into_iter()
            .take_while(|text| !text.trim_start().starts_with(FILES_BEGIN))
        {
            let by_speaker = if speaker == "user" {
                prompt(text)
            } else {
                Some(text)
            };
            if let Some(text) = by_speaker {
                said.say(speaker, at, text);
            }
        }
        let place = *self
            .places
            .entry(id.to_owned())
            .or_insert(self.messages.len());
        match self.messages.get_mut(place) {
            Some(before) => *before = said.messages,
            None => self.messages.push(said.messages),
        }
        Some(())
    }
}

/// What a person said of a prompt as the program gives it to hooks and to the model.
pub(super) fn prompt(text: &str) -> Option<&str> {
    spoken(text, PROGRAM)
}

/// The folder of the project that a file in `~/.gemini/tmp/<project>/chats` is about: the program
/// keeps it in `.project_root` beside that folder and, by the name of the project, in
/// `~/.gemini/projects.json`. None elsewhere.
pub(super) fn project_folder(path: &Path) -> Option<String> {
    let project = path
        .parent()
        .filter(|chats| chats.file_name().is_some_and(|name| name == "chats"))?
        .parent()?;
    let noted = small_file(&project.join(".project_root")).map(|text| text.trim().to_owned());
    let listed = || {
        let projects = small_file(&project.parent()?.parent()?.join("projects.json"))?;
        let projects: Value = serde_json::from_str(&projects).ok()?;
        let name = project.file_name()?.to_str()?;
        let folders = projects["projects"].as_object()?;
        folders
            .iter()
            .find(|(_, known)| *known == name)
            .map(|(folder, _)| folder.clone())
    };
    noted.filter(|folder| !folder.is_empty()).or_else(listed)
}

/// The text of a small file that no other user could have put there: it says in which wing a
/// session is filed.
fn small_file(path: &Path) -> Option<String> {
    String::from_utf8(plain_file::read_own(path, PROJECT_FILE_BYTES_MAX).ok()?).ok()
}

impl Gather for GeminiCli {
    fn take(&mut self, value: &Value) -> u64 {
        self.record(value)
    }

    fn folder(&self) -> Option<&str> {
        self.folder.as_deref()
    }

    fn conversations(self: Box<Self>) -> Vec<Conversation> {
        let messages = if self.is_helper {
            Vec::new()
        } else {
            self.messages
        };
        let messages = messages.into_iter().flatten().collect();
        vec![Conversation {
            id: String::new(),
            title: self.title,
            folder: self.folder,
            messages,
        }]
    }
}

/// What was gathered of `logs.json`: a conversation for each session.
#[derive(Default)]
pub(super) struct Log(Threads);

impl Gather for Log {
    fn take(&mut self, value: &Value) -> u64 {
        let (Some(session), Some(text)) = (value["sessionId"].as_str(), value["message"].as_str())
        else {
            return 1;
        };
        if value["type"] == "user" {
            self.0
                .get(session)
                .say("user", moment(&value["timestamp"]), text);
        }
        0
    }

    fn conversations(self: Box<Self>) -> Vec<Conversation> {
        self.0.conversations
    }
}

/// The texts of what is a string, a part, or an array of both. Parts that hold a thought, a call or
/// data have none.
fn parts(content: &Value) -> Option<Vec<&str>> {
    match content {
        Value::Array(parts) => Some(parts.iter().filter_map(part).collect()),
        Value::Object(_) => Some(part(content).into_iter().collect()),
        _ => texts(content, &[]),
    }
}

fn part(part: &Value) -> Option<&str> {
    if part["thought"] == true {
        None
    } else {
        part.as_str().or_else(|| part["text"].as_str())
    }
}
