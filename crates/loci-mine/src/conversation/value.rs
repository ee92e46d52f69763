//! The parts that the forms of JSON have in common.

use std::collections::{BTreeMap, HashMap};

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use loci_core::Timestamp;
use serde_json::Value;

use super::{Conversation, Utterance};

/// Microseconds of a second.
const MICROSECONDS: f64 = 1e6;
/// Seconds since 1970 beyond which a number counts milliseconds: no transcript is of the year 5138.
const SECONDS_MAX: f64 = 1e11;

/// The number of things in a transcript that are not filed, by kind.
pub type LeftOut = BTreeMap<&'static str, u64>;

/// The counts beside the messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Tally {
    /// Messages or parts that are not of the form.
    pub(super) broken: u64,
    /// Attachments whose text is filed.
    pub(super) attachments: u64,
    /// The numbers of things that are no words of a person or of a model for a person.
    pub(super) left_out: LeftOut,
    /// A notice for people about the file.
    pub(super) notice: Option<String>,
}

impl Tally {
    /// Counts one that is left out.
    pub(super) fn leave(&mut self, kind: &'static str) {
        *self.left_out.entry(kind).or_default() += 1;
    }

    /// Counts what is broken.
    pub(super) fn check(&mut self, taken: Option<()>) {
        self.broken += u64::from(taken.is_none());
    }
}

/// The kinds of what is left out.
pub(super) mod kinds {
    pub(in super::super) const ATTACHMENT: &str = "attachment";
    pub(in super::super) const EVENT: &str = "event";
    pub(in super::super) const FILE: &str = "file";
    pub(in super::super) const HELPER: &str = "helper";
    pub(in super::super) const IMAGE: &str = "image";
    pub(in super::super) const INSTRUCTION: &str = "instruction";
    pub(in super::super) const OTHER: &str = "other";
    pub(in super::super) const PREVIEW: &str = "preview";
    pub(in super::super) const PROGRAM: &str = "program";
    pub(in super::super) const REASONING: &str = "reasoning";
    pub(in super::super) const SUMMARY: &str = "summary";
    pub(in super::super) const TOOL_CALL: &str = "tool_call";
    pub(in super::super) const TOOL_RESULT: &str = "tool_result";
}

/// The kind of a block, by the name that programs give its type.
pub(super) fn kind_of_block(name: &str) -> &'static str {
    use kinds::{FILE, IMAGE, OTHER, REASONING, TOOL_CALL, TOOL_RESULT};
    if name.contains("result") || name.contains("output") || name.contains("tether") {
        TOOL_RESULT
    } else if name.contains("tool") || name.contains("call") || name == "code" {
        TOOL_CALL
    } else if name.contains("thinking") || name.contains("thought") || name.contains("reasoning") {
        REASONING
    } else if name.contains("image") {
        IMAGE
    } else if ["audio", "document", "file", "video"]
        .iter()
        .any(|word| name.contains(word))
    {
        FILE
    } else {
        OTHER
    }
}

/// A moment as RFC 3339 (UTC, where it names no zone), or as seconds or milliseconds since 1970, also
/// as a string; none if it is neither.
pub(super) fn moment(value: &Value) -> Option<Timestamp> {
    let moment = match value {
        Value::String(text) => {
            let text = text.trim();
            let zoned = text.parse::<jiff::Timestamp>().ok();
            zoned
                .or_else(|| {
                    let local = text.parse::<DateTime>().ok()?;
                    Some(local.to_zoned(TimeZone::UTC).ok()?.timestamp())
                })
                .or_else(|| since_1970(text.parse().ok()?))
        }
        Value::Number(number) => since_1970(number.as_f64()?),
        _ => None,
    };
    Some(Timestamp::from_microseconds(moment?.as_microsecond()))
}

fn since_1970(number: f64) -> Option<jiff::Timestamp> {
    let seconds = if number.abs() > SECONDS_MAX {
        number / 1e3
    } else {
        number
    };
    // A cast beyond the range ends at its ends, which are no moments.
    jiff::Timestamp::from_microsecond((seconds * MICROSECONDS).round() as i64).ok()
}

/// The blocks of a content: itself, if it is a string or a single block, or the elements of an array.
/// None if it is neither.
pub(super) fn blocks(content: &Value) -> Option<&[Value]> {
    match content {
        Value::Array(blocks) => Some(blocks),
        Value::String(_) => Some(std::slice::from_ref(content)),
        Value::Object(_) if content["type"].is_string() => Some(std::slice::from_ref(content)),
        _ => None,
    }
}

/// The text of a block: itself, if it is a string, or its `text` if it has a `type` of `kinds`. Any
/// other block is counted.
pub(super) fn text_of<'a>(block: &'a Value, kinds: &[&str], tally: &mut Tally) -> Option<&'a str> {
    match (block, block["type"].as_str()) {
        (Value::String(text), _) => return Some(text),
        (Value::Null, _) => {}
        (_, Some(kind)) if kinds.contains(&kind) => {
            let text = block["text"].as_str();
            tally.broken += u64::from(text.is_none());
            return text;
        }
        (_, Some(kind)) => tally.leave(kind_of_block(kind)),
        (_, None) => tally.broken += 1,
    }
    None
}

/// The texts of the [blocks] of a content. None if it has none of the forms.
pub(super) fn texts<'a>(
    content: &'a Value,
    kinds: &[&str],
    tally: &mut Tally,
) -> Option<Vec<&'a str>> {
    let blocks = blocks(content)?.iter();
    Some(
        blocks
            .filter_map(|block| text_of(block, kinds, tally))
            .collect(),
    )
}

/// A text that is not blank.
pub(super) fn title(value: &Value) -> Option<String> {
    value
        .as_str()
        .filter(|text| !text.trim().is_empty())
        .map(str::to_owned)
}

/// The answers that a person gave to the questions of an agent, in an object from questions to answers
/// or to lists of these.
pub(super) fn answers(answers: &Value) -> Vec<&str> {
    match answers {
        Value::Object(answers) => answers.values().flat_map(self::answers).collect(),
        Value::Array(answers) => answers.iter().flat_map(self::answers).collect(),
        Value::String(answer) => vec![answer],
        _ => Vec::new(),
    }
}

impl Conversation {
    /// Adds what was said, unless it is blank.
    pub(super) fn say(&mut self, speaker: &str, at: Option<Timestamp>, text: &str) {
        if !text.trim().is_empty() {
            self.messages.push(Utterance {
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
    /// In the order in which they started.
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
