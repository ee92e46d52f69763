//! The export of Slack: a folder for each channel, in it an array of messages for each day, and
//! beside the folders `users.json` with the names of people. What is said in a thread on one day is
//! a conversation of its own; the message that it answers stays where it was said.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;

use serde_json::Value;

use super::value::{Threads, moment, title};
use super::{Conversation, Gather, VALUE_BYTES_MAX};
use crate::plain_file::{self, Links};

/// Kinds of messages that somebody said. The others tell what became of the channel.
const SAID: [&str; 5] = [
    "bot_message",
    "file_comment",
    "file_share",
    "me_message",
    "thread_broadcast",
];

/// Whether only this form has such an element.
pub(super) fn tells(value: &Value) -> bool {
    value["type"] == "message"
        && value["ts"]
            .as_str()
            .is_some_and(|ts| ts.parse::<f64>().is_ok())
}

/// What was gathered.
pub(super) struct Slack {
    channel: String,
    day: String,
    names: HashMap<String, String>,
    threads: Threads,
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
        let around = folder.and_then(Path::parent);
        let names = around
            .into_iter()
            .chain(folder)
            .find_map(|folder| names(&folder.join("users.json")));
        Slack {
            channel,
            day,
            names: names.unwrap_or_default(),
            threads: Threads::default(),
        }
    }

    /// Takes a message; none if it is broken.
    fn message(&mut self, message: &Value) -> Option<()> {
        let time = message["ts"].as_str()?;
        let at = moment(&Value::from(time.parse::<f64>().ok()?));
        if message["type"].as_str()? != "message" || !is_said(message) {
            return Some(());
        }
        let text = message["text"].as_str()?;
        let speaker = self.speaker(message)?;
        let thread = message["thread_ts"]
            .as_str()
            .filter(|thread| *thread != time)
            .unwrap_or_default();
        self.threads.get(thread).say(&speaker, at, text);
        Some(())
    }

    /// What they are called, else their id.
    fn speaker(&self, message: &Value) -> Option<String> {
        let id = message["user"].as_str();
        let known = id.and_then(|id| self.names.get(id).cloned());
        known
            .or_else(|| name(&message["user_profile"]))
            .or_else(|| title(&message["username"]))
            .or_else(|| title(&message["bot_profile"]["name"]))
            .or_else(|| id.map(str::to_owned))
            .or_else(|| title(&message["bot_id"]))
    }
}

impl Gather for Slack {
    fn take(&mut self, value: &Value) -> u64 {
        u64::from(self.message(value).is_none())
    }

    fn conversations(self: Box<Self>) -> Vec<Conversation> {
        let Slack {
            channel,
            day,
            threads,
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
        threads.conversations.into_iter().map(named).collect()
    }
}

fn is_said(message: &Value) -> bool {
    message["subtype"].is_null()
        || message["subtype"]
            .as_str()
            .is_some_and(|kind| SAID.contains(&kind))
}

/// The names of people by their ids; none if there is no such list.
fn names(path: &Path) -> Option<HashMap<String, String>> {
    let bytes = plain_file::read(path, Links::Refused, VALUE_BYTES_MAX).ok()?;
    let users: Vec<Value> = serde_json::from_slice(&bytes).ok()?;
    let names = users.iter().filter_map(|user| {
        let name = name(&user["profile"])
            .or_else(|| title(&user["real_name"]))
            .or_else(|| title(&user["name"]))?;
        Some((user["id"].as_str()?.to_owned(), name))
    });
    Some(names.collect())
}

/// The name that a person chose to be shown with, or has.
fn name(profile: &Value) -> Option<String> {
    title(&profile["display_name"])
        .or_else(|| title(&profile["real_name"]))
        .or_else(|| title(&profile["name"]))
}
