//! The export of Slack: a folder for each channel, in it an array of messages for each day, and
//! beside the folders `users.json` with the names of people. What is said in a thread on one day is
//! a conversation of its own; the message that it answers stays where it was said. Programs speak in
//! attachments and blocks, people in snippets and in messages of others that they share.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;

use serde_json::Value;

use super::slack_text::{SlackNames, of_block, of_markup};
use super::value::{Tally, Threads, kinds, moment, title};
use super::{Conversation, ConversationReader, VALUE_BYTES_MAX};
use crate::plain_file::{self, Links};

/// Kinds of messages that a person or a program said. The others tell what became of the channel.
const SAID: [&str; 6] = [
    "bot_message",
    "file_comment",
    "file_share",
    "me_message",
    "reply_broadcast",
    "thread_broadcast",
];

/// Returns whether only this form has such an element.
pub(super) fn tells(value: &Value) -> bool {
    value["type"] == "message"
        && value["ts"]
            .as_str()
            .is_some_and(|ts| ts.parse::<f64>().is_ok())
}

/// The state of a reading.
pub(super) struct Slack {
    channel: String,
    day: String,
    names: SlackNames,
    threads: Threads,
    tally: Tally,
}

impl Slack {
    /// For a file of a channel.
    pub(super) fn new(path: &Path) -> Self {
        let folder = path.parent();
        let name = |name: Option<&OsStr>| name.unwrap_or_default().to_string_lossy().into_owned();
        let (channel, day) = (
            name(folder.and_then(Path::file_name)),
            name(path.file_stem()),
        );
        let around: Vec<&Path> = folder
            .and_then(Path::parent)
            .into_iter()
            .chain(folder)
            .collect();
        let listed = |files: &[&str], name: &dyn Fn(&Value) -> Option<String>| {
            let mut found = HashMap::new();
            for file in files {
                let known = around
                    .iter()
                    .find_map(|folder| names(&folder.join(file), name));
                found.extend(known.unwrap_or_default());
            }
            found
        };
        Slack {
            channel,
            day,
            names: SlackNames {
                people: listed(&["users.json"], &name_of_person),
                channels: listed(&["channels.json", "groups.json"], &|one| {
                    title(&one["name"])
                }),
            },
            threads: Threads::default(),
            tally: Tally::default(),
        }
    }

    /// Takes a message; none if it is broken.
    fn message(&mut self, message: &Value) -> Option<()> {
        let at = moment(&message["ts"]);
        let time = match &message["ts"] {
            Value::String(time) => time.clone(),
            Value::Number(time) => time.to_string(),
            _ => return None,
        };
        at?;
        if message["type"].as_str()? != "message" || !is_said(message) {
            self.tally.leave(kinds::EVENT);
            return Some(());
        }
        let texts = self.texts(message);
        if texts.is_empty() && message["text"].as_str().is_none() {
            return None;
        }
        let speaker = self.speaker(message)?;
        let thread = message["thread_ts"]
            .as_str()
            .filter(|thread| *thread != time)
            .unwrap_or_default();
        let conversation = self.threads.get(thread);
        for (other, text) in texts {
            conversation.say(other.as_ref().unwrap_or(&speaker), at, &text);
        }
        Some(())
    }

    /// Returns the texts of a message, in words as people read them, each with its speaker if that
    /// is not the speaker of the message.
    fn texts(&mut self, message: &Value) -> Vec<(Option<String>, String)> {
        let mut texts = Vec::new();
        let text = of_markup(message["text"].as_str().unwrap_or_default(), &self.names);
        let blocks = self.blocks(&message["blocks"]);
        // The blocks repeat the text of a person; the text of a program may be their short form.
        let is_of_program = message["bot_id"].is_string();
        let is_longer = is_of_program && blocks.len() > text.len();
        let is_repeated = is_longer && blocks.contains(text.trim());
        if !text.trim().is_empty() && !is_repeated {
            texts.push((None, text.clone()));
        }
        if !blocks.is_empty() && (text.trim().is_empty() || is_longer) {
            texts.push((None, blocks));
        }
        for attachment in message["attachments"].as_array().into_iter().flatten() {
            let is_shared = attachment["is_msg_unfurl"] == true || attachment["is_share"] == true;
            let is_preview = attachment["from_url"].is_string() && !is_shared;
            let text = self.attachment(attachment);
            if is_preview {
                self.tally.leave(kinds::PREVIEW);
            } else if !text.is_empty() {
                let author = attachment["author_id"]
                    .as_str()
                    .and_then(|id| self.names.people.get(id).cloned())
                    .or_else(|| title(&attachment["author_name"]));
                texts.push((author.filter(|_| is_shared), text));
            }
        }
        let files = message["files"].as_array().map_or(&[][..], Vec::as_slice);
        let file = Some(&message["file"]).filter(|file| file.is_object());
        for file in files.iter().chain(file) {
            match snippet(file) {
                Some(text) => texts.push((None, text.to_owned())),
                None if file["mimetype"]
                    .as_str()
                    .is_some_and(|kind| kind.starts_with("image")) =>
                {
                    self.tally.leave(kinds::IMAGE);
                }
                None => self.tally.leave(kinds::FILE),
            }
            for comment in [
                &file["initial_comment"]["comment"],
                &message["comment"]["comment"],
            ] {
                let comment = of_markup(comment.as_str().unwrap_or_default(), &self.names);
                if !comment.trim().is_empty() {
                    texts.push((None, comment));
                }
            }
        }
        texts
    }

    /// The texts of a list of blocks, a line for each.
    fn blocks(&self, blocks: &Value) -> String {
        let blocks = blocks.as_array().into_iter().flatten();
        let lines = blocks.map(|block| of_block(block, &self.names));
        let lines: Vec<String> = lines.filter(|line| !line.trim().is_empty()).collect();
        lines.join("\n")
    }

    /// The text of an attachment: its parts, or what stands for them where a program shows none.
    fn attachment(&self, attachment: &Value) -> String {
        let mut lines: Vec<String> = Vec::new();
        let mut add = |text: &Value| {
            let text = of_markup(text.as_str().unwrap_or_default(), &self.names);
            if !text.trim().is_empty() {
                lines.push(text);
            }
        };
        for name in ["pretext", "title", "text"] {
            add(&attachment[name]);
        }
        for field in attachment["fields"].as_array().into_iter().flatten() {
            add(&field["title"]);
            add(&field["value"]);
        }
        let blocks = self.blocks(&attachment["blocks"]);
        if lines.is_empty() && !blocks.is_empty() {
            lines.push(blocks);
        } else if lines.is_empty() {
            for shared in attachment["message_blocks"]
                .as_array()
                .into_iter()
                .flatten()
            {
                lines.push(self.blocks(&shared["message"]["blocks"]));
            }
        }
        lines.retain(|line| !line.trim().is_empty());
        if lines.is_empty() {
            return of_markup(
                attachment["fallback"].as_str().unwrap_or_default(),
                &self.names,
            );
        }
        lines.join("\n")
    }

    /// Returns the name of a person or program, else the id.
    fn speaker(&self, message: &Value) -> Option<String> {
        let id = message["user"].as_str();
        let known = id.and_then(|id| self.names.people.get(id).cloned());
        known
            .or_else(|| name(&message["user_profile"]))
            .or_else(|| title(&message["username"]))
            .or_else(|| title(&message["bot_profile"]["name"]))
            .or_else(|| id.map(str::to_owned))
            .or_else(|| title(&message["bot_id"]))
    }
}

impl ConversationReader for Slack {
    fn take(&mut self, value: &Value) {
        let taken = self.message(value);
        self.tally.check(taken);
    }

    fn finish(self: Box<Self>) -> (Vec<Conversation>, Tally) {
        let Slack {
            channel,
            day,
            threads,
            tally,
            ..
        } = *self;
        let named = |conversation: Conversation| {
            let thread = if conversation.id.is_empty() {
                String::new()
            } else {
                format!("/{}", conversation.id)
            };
            let title = Some(channel.clone()).filter(|channel| !channel.is_empty());
            Conversation {
                id: format!("{channel}/{day}{thread}"),
                title,
                ..conversation
            }
        };
        let conversations = threads.conversations.into_iter().map(named).collect();
        (conversations, tally)
    }
}

fn is_said(message: &Value) -> bool {
    message["subtype"].is_null()
        || message["subtype"]
            .as_str()
            .is_some_and(|kind| SAID.contains(&kind))
}

/// The text of a file that a person wrote into Slack. Slack keeps only the beginning of a long one
/// as `preview`.
fn snippet(file: &Value) -> Option<&str> {
    let texts = ["plain_text", "preview_plain_text", "preview"];
    let mut texts = texts.iter().filter_map(|name| file[*name].as_str());
    texts.find(|text| !text.trim().is_empty())
}

/// Names by ids in a list that stands beside the channels; none if there is no such list.
fn names(path: &Path, name: &dyn Fn(&Value) -> Option<String>) -> Option<HashMap<String, String>> {
    let bytes = plain_file::read(path, Links::Refused, VALUE_BYTES_MAX).ok()?;
    let (listed, _) = loci_json::from_cut_slice::<Vec<Value>>(&bytes).ok()?;
    let names = listed
        .iter()
        .filter_map(|one| Some((one["id"].as_str()?.to_owned(), name(one)?)));
    Some(names.collect())
}

fn name_of_person(user: &Value) -> Option<String> {
    name(&user["profile"])
        .or_else(|| title(&user["real_name"]))
        .or_else(|| title(&user["name"]))
}

/// The name that a person chose to be shown with, or has.
fn name(profile: &Value) -> Option<String> {
    title(&profile["display_name"])
        .or_else(|| title(&profile["real_name"]))
        .or_else(|| title(&profile["name"]))
}
