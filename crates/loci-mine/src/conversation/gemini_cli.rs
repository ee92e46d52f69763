//! Gemini CLI, in `~/.gemini/tmp/<project>/`: `chats/session-*.json`, a document of a session;
//! `chats/session-*.jsonl`, whose lines are the session's head, messages, and changes of both (a
//! message is written again whenever something is added to it, so such a file does not only grow);
//! and `logs.json`, what the person said in all sessions.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

use super::marks::GEMINI_CLI;
use super::value::{Tally, Threads, answers, kinds, moment, title};
use super::{Conversation, ConversationReader, Utterance};
use crate::plain_file;

/// Bytes of a file that names the folder of a project.
const PROJECT_FILE_BYTES_MAX: u64 = 1 << 20;
/// The start of the text of files that a message refers to.
const FILES_BEGIN: &str = "--- Content from referenced files ---";

/// Returns whether only this form has such a line, or such a document.
pub(super) fn tells(value: &Value) -> bool {
    value["sessionId"].is_string()
        && value["type"].is_null()
        && (value["projectHash"].is_string() || value["messages"].is_array())
}

/// Returns whether only `logs.json` has such an element.
pub(super) fn tells_log(value: &Value) -> bool {
    value["sessionId"].is_string() && value["messageId"].is_number() && value["message"].is_string()
}

/// The state of the reading of a session.
#[derive(Default)]
pub(super) struct GeminiCli {
    title: Option<String>,
    folder: Option<String>,
    /// The head says that a model, not a person, spoke to the model.
    is_helper: bool,
    /// The parts of each message when it was last written.
    messages: Vec<Vec<Utterance>>,
    /// Where those are, by id.
    places: HashMap<String, usize>,
    tally: Tally,
}

impl GeminiCli {
    /// Takes a head, a message or a change; none if it is broken.
    fn record(&mut self, record: &Value) -> Option<()> {
        if let Some(change) = record.get("$set") {
            return self.head(change);
        }
        // Who goes back behind something has said it nevertheless.
        if record.get("$rewindTo").is_some() {
            return Some(());
        }
        if record["id"].is_string() {
            self.message(record)
        } else {
            self.head(record)
        }
    }

    fn head(&mut self, head: &Value) -> Option<()> {
        if !head.is_object() {
            return None;
        }
        self.title = title(&head["summary"]).or(self.title.take());
        self.folder = self
            .folder
            .take()
            .or_else(|| title(&head["directories"][0]));
        self.is_helper |= head["kind"] == "subagent";
        match &head["messages"] {
            Value::Null => {}
            Value::Array(messages) => {
                for message in messages {
                    let taken = self.message(message);
                    self.tally.check(taken);
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn message(&mut self, message: &Value) -> Option<()> {
        let id = message["id"].as_str()?;
        let speaker = match message["type"].as_str()? {
            "user" => "user",
            "gemini" => "assistant",
            _ => {
                self.tally.leave(kinds::PROGRAM);
                return Some(());
            }
        };
        let shown = &message["displayContent"];
        let content = if shown.is_null() {
            &message["content"]
        } else {
            shown
        };
        let at = moment(&message["timestamp"]);
        let mut said = Conversation::default();
        for text in parts(content, &mut self.tally)?
            .into_iter()
            .take_while(|text| !text.trim_start().starts_with(FILES_BEGIN))
        {
            let by_speaker = if speaker == "user" {
                prompt(text)
            } else {
                Some(text)
            };
            match by_speaker {
                Some(text) => said.say(speaker, at, text),
                None if text.trim().is_empty() => {}
                None => self.tally.leave(kinds::PROGRAM),
            }
        }
        for _ in message["thoughts"].as_array().into_iter().flatten() {
            self.tally.leave(kinds::REASONING);
        }
        for call in message["toolCalls"].as_array().into_iter().flatten() {
            if asked(call, &mut said).is_none() {
                self.tally.leave(kinds::TOOL_CALL);
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

/// Adds what the model asks a person by calling a tool, and what the person answers; none if it is
/// another tool.
fn asked(call: &Value, said: &mut Conversation) -> Option<()> {
    if call["name"] != "ask_user" {
        return None;
    }
    let at = moment(&call["timestamp"]);
    let questions = call["args"]["questions"].as_array().into_iter().flatten();
    for question in questions.filter_map(|one| one["question"].as_str()) {
        said.say("assistant", at, question);
    }
    let output = &call["result"][0]["functionResponse"]["response"]["output"];
    if let Some(output) = output.as_str()
        && let Ok((given, _)) = loci_json::from_slice::<Value>(output.as_bytes())
    {
        for answer in answers(&given["answers"]) {
            said.say("user", at, answer);
        }
    }
    Some(())
}

/// Returns the words of the person in a prompt as the program gives it to hooks and to the model.
pub(super) fn prompt(text: &str) -> Option<&str> {
    GEMINI_CLI.spoken(text, false)
}

/// The folder of the project that a file in `~/.gemini/tmp/<project>/chats` is about: the program
/// keeps it in `.project_root` beside that folder and, by the name of the project, in
/// `~/.gemini/projects.json`. None elsewhere.
pub(super) fn project_folder(path: &Path) -> Option<String> {
    let project = path
        .parent()
        .filter(|folder| {
            folder
                .file_name()
                .is_some_and(|name| name == "chats" || name == "memory")
        })?
        .parent()?;
    let noted = small_file(&project.join(".project_root")).map(|text| text.trim().to_owned());
    let listed = || {
        let projects = small_file(&project.parent()?.parent()?.join("projects.json"))?;
        let (projects, _) = loci_json::from_slice::<Value>(projects.as_bytes()).ok()?;
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

impl ConversationReader for GeminiCli {
    fn take(&mut self, value: &Value) {
        let taken = self.record(value);
        self.tally.check(taken);
    }

    fn folder(&self) -> Option<&str> {
        self.folder.as_deref()
    }

    fn finish(mut self: Box<Self>) -> (Vec<Conversation>, Tally) {
        if self.is_helper {
            let said = self.messages.drain(..).flatten();
            said.for_each(|_| self.tally.leave(kinds::HELPER));
        }
        let messages = self.messages.into_iter().flatten().collect();
        let conversation = Conversation {
            id: String::new(),
            title: self.title,
            folder: self.folder,
            messages,
        };
        (vec![conversation], self.tally)
    }
}

/// The state of the reading of `logs.json`: a conversation for each session.
#[derive(Default)]
pub(super) struct Log(Threads, Tally);

impl ConversationReader for Log {
    fn take(&mut self, value: &Value) {
        let (Some(session), Some(text)) = (value["sessionId"].as_str(), value["message"].as_str())
        else {
            self.1.broken += 1;
            return;
        };
        if value["type"] == "user" {
            self.0
                .get(session)
                .say("user", moment(&value["timestamp"]), text);
        } else {
            self.1.leave(kinds::PROGRAM);
        }
    }

    fn finish(self: Box<Self>) -> (Vec<Conversation>, Tally) {
        (self.0.conversations, self.1)
    }
}

/// The texts of what is a string, a part, or an array of both. Parts that hold a thought, a call or
/// data have none.
fn parts<'a>(content: &'a Value, tally: &mut Tally) -> Option<Vec<&'a str>> {
    let parts = match content {
        Value::Array(parts) => parts.as_slice(),
        Value::Object(_) | Value::String(_) => std::slice::from_ref(content),
        _ => return None,
    };
    Some(parts.iter().filter_map(|one| part(one, tally)).collect())
}

fn part<'a>(part: &'a Value, tally: &mut Tally) -> Option<&'a str> {
    let text = part.as_str().or_else(|| part["text"].as_str());
    if part["thought"] == true {
        tally.leave(kinds::REASONING);
        return None;
    }
    if text.is_none() && !part.is_null() {
        let has = |key| !part[key].is_null();
        tally.leave(if has("functionCall") {
            kinds::TOOL_CALL
        } else if has("functionResponse") {
            kinds::TOOL_RESULT
        } else {
            kinds::FILE
        });
    }
    text
}
