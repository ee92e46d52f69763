//! The chat of VS Code: `<settings>/User/workspaceStorage/<workspace>/chatSessions/<session>.json`, one
//! document, or `.jsonl`, which starts with the session and goes on with the changes of its values.

use std::path::Path;

use serde_json::Value;

use super::value::{Tally, kinds, moment, title};
use super::{Conversation, ConversationReader};
use crate::plain_file;

/// The folder of the sessions of a workspace.
const SESSIONS: &str = "chatSessions";
/// The file beside that folder that names the folder of the workspace, and its largest size.
const WORKSPACE: &str = "workspace.json";
const WORKSPACE_BYTES_MAX: u64 = 64 << 10;

/// The kinds of lines.
const WHOLE: u64 = 0;
const SET: u64 = 1;
const PUSH: u64 = 2;
const DELETE: u64 = 3;

/// Returns whether only this form has such a document.
pub(super) fn tells(value: &Value) -> bool {
    value["sessionId"].is_string() && value["requests"].is_array()
}

/// Returns whether only this form has such a line.
pub(super) fn tells_line(line: &Value) -> bool {
    line["kind"].as_u64() == Some(WHOLE) && tells(&line["v"])
}

/// The folder of the workspace that a session is of. None elsewhere, and of a window without a folder.
pub(super) fn project_folder(path: &Path) -> Option<String> {
    let workspace = path
        .parent()
        .filter(|folder| folder.file_name().is_some_and(|name| name == SESSIONS))?
        .parent()?;
    let bytes = plain_file::read_own(&workspace.join(WORKSPACE), WORKSPACE_BYTES_MAX).ok()?;
    let (value, _) = loci_json::from_slice::<Value>(&bytes).ok()?;
    let encoded = value["folder"].as_str()?.strip_prefix("file://")?;
    let folder = decoded(encoded)?;
    // `/c:/src` is a path of Windows.
    let drive = folder.strip_prefix('/').filter(|rest| {
        let mut signs = rest.chars();
        signs
            .next()
            .is_some_and(|letter| letter.is_ascii_alphabetic())
            && signs.next() == Some(':')
    });
    Some(drive.map_or_else(|| folder.clone(), str::to_owned))
}

/// Returns the text of the path of a URL; `None` if it is not UTF-8.
fn decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let byte = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        rest = if byte.is_some() { &after[2..] } else { after };
        bytes.push(byte.unwrap_or(*first));
    }
    String::from_utf8(bytes).ok()
}

/// A session, as far as it was read.
#[derive(Default)]
pub(super) struct VsCode {
    sessions: Vec<Value>,
    tally: Tally,
}

impl VsCode {
    /// Takes a line; none if it is broken, or changes what is not there.
    fn line(&mut self, line: &Value) -> Option<()> {
        let kind = line["kind"].as_u64()?;
        if kind == WHOLE {
            self.sessions = vec![line["v"].clone()];
            return Some(());
        }
        let keys = line["k"].as_array()?;
        let (last, path) = keys.split_last()?;
        let mut place = self.sessions.last_mut()?;
        for key in path {
            place = inner(place, key)?;
        }
        match kind {
            SET => set(place, last, line["v"].clone()),
            PUSH => {
                if inner(place, last).is_none() {
                    set(place, last, Value::Array(Vec::new()))?;
                }
                let array = inner(place, last)?.as_array_mut()?;
                // The values behind that place are replaced.
                if let Some(left) = line["i"].as_u64() {
                    array.truncate(usize::try_from(left).ok()?);
                }
                array.extend(line["v"].as_array().into_iter().flatten().cloned());
                Some(())
            }
            DELETE => {
                place.as_object_mut()?.remove(last.as_str()?);
                Some(())
            }
            _ => Some(()),
        }
    }
}

/// Returns the value in another one that a key or a number names.
fn inner<'a>(value: &'a mut Value, key: &Value) -> Option<&'a mut Value> {
    match key {
        Value::String(key) => value.as_object_mut()?.get_mut(key),
        _ => value
            .as_array_mut()?
            .get_mut(usize::try_from(key.as_u64()?).ok()?),
    }
}

/// Puts a value in the place that a key or a number names, which may be the next one of an array.
fn set(value: &mut Value, key: &Value, new: Value) -> Option<()> {
    if let Value::String(key) = key {
        value.as_object_mut()?.insert(key.clone(), new);
        return Some(());
    }
    let (array, place) = (value.as_array_mut()?, usize::try_from(key.as_u64()?).ok()?);
    if place > array.len() {
        return None;
    }
    if let Some(known) = array.get_mut(place) {
        *known = new;
    } else {
        array.push(new);
    }
    Some(())
}

/// Returns the words of a session.
fn conversation(session: &Value, tally: &mut Tally) -> Conversation {
    let mut conversation = Conversation {
        id: title(&session["sessionId"]).unwrap_or_default(),
        title: title(&session["customTitle"]),
        ..Conversation::default()
    };
    for request in session["requests"].as_array().into_iter().flatten() {
        let at = moment(&request["timestamp"]);
        let message = &request["message"];
        match message.as_str().or_else(|| message["text"].as_str()) {
            Some(text) => conversation.say("user", at, text),
            None => tally.broken += 1,
        }
        for _ in request["variableData"]["variables"]
            .as_array()
            .into_iter()
            .flatten()
        {
            tally.leave(kinds::ATTACHMENT);
        }
        for text in answers(&request["response"], tally) {
            conversation.say("assistant", at, &text);
        }
    }
    conversation
}

/// Returns the texts of an answer: the pieces of Markdown between two calls of tools are one, with the
/// names of the files and symbols that stand in it.
fn answers(response: &Value, tally: &mut Tally) -> Vec<String> {
    let mut texts = vec![String::new()];
    for part in response.as_array().into_iter().flatten() {
        let text = |value: &Value| {
            let text = value.as_str().or_else(|| value["value"].as_str());
            text.map(str::to_owned)
        };
        let piece = match part["kind"].as_str() {
            None => text(part).or_else(|| text(&part["value"])),
            Some("markdownContent") => text(&part["content"]),
            Some("inlineReference") => reference(part),
            Some(kind) => {
                let left = match kind {
                    "thinking" => Some(kinds::REASONING),
                    "toolInvocation"
                    | "toolInvocationSerialized"
                    | "textEditGroup"
                    | "notebookEditGroup" => Some(kinds::TOOL_CALL),
                    _ => None,
                };
                if let Some(left) = left {
                    tally.leave(left);
                    texts.push(String::new());
                }
                continue;
            }
        };
        match (piece, texts.last_mut()) {
            (Some(piece), Some(last)) => last.push_str(&piece),
            _ => tally.broken += 1,
        }
    }
    texts
}

/// Returns the name of a file or a symbol in a text.
fn reference(part: &Value) -> Option<String> {
    let target = &part["inlineReference"];
    let path = target["path"]
        .as_str()
        .or_else(|| target["uri"]["path"].as_str());
    let file = path.and_then(|path| path.rsplit('/').next());
    let name = part["name"].as_str().or_else(|| target["name"].as_str());
    let name = name.or(file)?;
    Some(format!("`{name}`"))
}

impl ConversationReader for VsCode {
    fn take(&mut self, value: &Value) {
        if tells(value) {
            self.sessions.push(value.clone());
        } else {
            let taken = self.line(value);
            self.tally.check(taken);
        }
    }

    fn finish(mut self: Box<Self>) -> (Vec<Conversation>, Tally) {
        let sessions = std::mem::take(&mut self.sessions);
        let conversations = sessions
            .iter()
            .map(|session| conversation(session, &mut self.tally))
            .filter(|conversation| !conversation.messages.is_empty())
            .collect();
        (conversations, self.tally)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_url_is_decoded() {
        for (path, expected) in [
            ("/src/my%20shop", Some("/src/my shop")),
            ("/src/caf%C3%A9", Some("/src/café")),
            ("/100%", Some("/100%")),
            ("/a%zz", Some("/a%zz")),
            ("/%ff", None),
        ] {
            assert_eq!(decoded(path).as_deref(), expected);
        }
    }
}
