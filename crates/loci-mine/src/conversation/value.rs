//! What the forms of JSON have in common.

use std::collections::HashMap;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use loci_core::Timestamp;
use serde_json::Value;

use super::{Conversation, Said};

/// Microseconds of a second.
const MICROSECONDS: f64 = 1e6;

/// A moment as RFC 3339 (UTC, where it names no zone) or as seconds since 1970; none if it is
/// neither.
pub(super) fn moment(value: &Value) -> Option<Timestamp> {
    let moment = match value {
        Value::String(text) => text.parse::<jiff::Timestamp>().ok().or_else(|| {
            let local = text.parse::<DateTime>().ok()?;
            Some(local.to_zoned(TimeZone::UTC).ok()?.timestamp())
        }),
        // A cast beyond the range ends at its ends, which are no moments.
        Value::Number(seconds) => {
            jiff::Timestamp::from_microsecond((seconds.as_f64()? * MICROSECONDS).round() as i64)
                .ok()
        }
        _ => None,
    };
    Some(Timestamp::from_microseconds(moment?.as_microsecond()))
}

/// The texts of what is a string, or an array of strings and of blocks with a `type`, of which
/// those of `kinds` have a `text`. None if it is neither.
pub(super) fn texts<'a>(content: &'a Value, kinds: &[&str]) -> Option<Vec<&'a str>> {
    let blocks = match content {
        Value::String(text) => return Some(vec![text]),
        Value::Array(blocks) => blocks,
        _ => return None,
    };
    let of_kinds = blocks.iter().filter_map(|block| match block {
        Value::String(text) => Some(Some(text.as_str())),
        _ if kinds.contains(&block["type"].as_str()?) => Some(block["text"].as_str()),
        _ => None,
    });
    of_kinds.collect()
}

/// A text that is not blank.
pub(super) fn title(value: &Value) -> Option<String> {
    value
        .as_str()
        .filter(|text| !text.trim().is_empty())
        .map(str::to_owned)
}

impl Conversation {
    /// Adds what was said, unless it is blank.
    pub(super) fn say(&mut self, speaker: &str, at: Option<Timestamp>, text: &str) {
        if !text.trim().is_empty() {
            self.messages.push(Said {
                speaker: speaker.to_owned(),
                at,
                text: text.to_owned(),
            });
        }
    }
}

/// Conversations whose messages stand in one row.
#[derive(Default)]
pub(super) struct Threads {
    /// In the order in which they began.
    pub(super) conversations: Vec<Conversation>,
    places: HashMap<String, usize>,
}

impl Threads {
    /// The one with that id.
    pub(super) fn get(&mut self, id: &str) -> &mut Conversation {
        let place = *self
            .places
            .entry(id.to_owned())
            .or_insert(self.conversations.len());
        if place == self.conversations.len() {
            self.conversations.push(Conversation {
                id: id.to_owned(),
                ..Conversation::default()
            });
        }
        &mut self.conversations[place]
    }
}

/// What a person said of a text: not what the program put before and after it, which stands in
/// elements of these names. None if nothing is left. A text with none of them is as it was.
pub(super) fn spoken<'a>(text: &'a str, elements: &[&str]) -> Option<&'a str> {
    let mut rest = text;
    while let Some(after) = after_element(rest.trim_start(), elements) {
        rest = after.trim_start();
    }
    while let Some(before) = before_element(rest.trim_end(), elements) {
        rest = before.trim_end();
    }
    (!rest.trim().is_empty()).then_some(rest)
}

/// What follows the element that the text begins with.
fn after_element<'a>(text: &'a str, elements: &[&str]) -> Option<&'a str> {
    let inner = text.strip_prefix('<')?;
    let name = elements.iter().find(|name| {
        inner
            .strip_prefix(**name)
            .is_some_and(|rest| rest.starts_with(['>', ' ', '\n', '\r', '/']))
    })?;
    let end = format!("</{name}>");
    inner.split_once(&end).map(|(_, after)| after)
}

/// What precedes the element that the text ends with, if it begins a line: else a person may be
/// speaking of it.
fn before_element<'a>(text: &'a str, elements: &[&str]) -> Option<&'a str> {
    let name = elements.iter().find(|name| {
        text.strip_suffix('>')
            .and_then(|text| text.strip_suffix(**name))
            .is_some_and(|text| text.ends_with("</"))
    })?;
    let before = &text[..text.rfind(&format!("<{name}>"))?];
    (before.is_empty() || before.ends_with('\n')).then_some(before)
}
