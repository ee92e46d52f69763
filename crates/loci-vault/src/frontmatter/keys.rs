//! The keys of loci: their valid values, and their values in a note.

use std::collections::HashSet;

use loci_core::limits::TAGS_MAX;
use loci_core::{MemoryId, Note, NoteState, Timestamp};

use super::scalar;
use super::value::Value;

/// The status of a deleted note; any other status is that of an active one.
const DELETED: &str = "deleted";
/// Another word for the status of an unfiled note.
const INBOX: &str = "inbox";
/// Other names of the time at which a note was first stored, and at which its text last changed.
const CREATED: [&str; 2] = ["created", "captured"];
const UPDATED: [&str; 1] = ["updated"];

/// A key that loci uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Uid,
    Title,
    Status,
    CreatedAt,
    UpdatedAt,
    Tags,
    AlwaysLoad,
    DeletedAt,
    Wing,
    Room,
}

impl Key {
    /// All keys in their order in a file.
    pub const ALL: [Key; 10] = [
        Key::Uid,
        Key::Title,
        Key::Status,
        Key::CreatedAt,
        Key::UpdatedAt,
        Key::Tags,
        Key::AlwaysLoad,
        Key::DeletedAt,
        Key::Wing,
        Key::Room,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Key::Uid => "uid",
            Key::Title => "title",
            Key::Status => "status",
            Key::CreatedAt => "created_at",
            Key::UpdatedAt => "updated_at",
            Key::Tags => "tags",
            Key::AlwaysLoad => "always_load",
            Key::DeletedAt => "deleted_at",
            Key::Wing => "wing",
            Key::Room => "room",
        }
    }

    pub fn named(name: &str) -> Option<Key> {
        Key::ALL.into_iter().find(|key| key.name() == name)
    }

    /// Returns the key that people mean by a name with this value. Note tools take `Tags` and `tag`
    /// for `tags`, and write `created` and `updated`, which count if they are moments; the other
    /// keys say too much in loci to be guessed.
    pub fn meant(name: &str, value: &Value) -> Option<Key> {
        let is_one_of =
            |others: &[&str]| others.iter().any(|other| name.eq_ignore_ascii_case(other));
        let is_moment = || matches!(value, Value::Text(text) if moment(text).is_ok());
        Key::named(name).or_else(|| {
            if is_one_of(&["tags", "tag"]) {
                Some(Key::Tags)
            } else if is_one_of(&["title"]) {
                Some(Key::Title)
            } else if is_one_of(&CREATED) && is_moment() {
                Some(Key::CreatedAt)
            } else {
                (is_one_of(&UPDATED) && is_moment()).then_some(Key::UpdatedAt)
            }
        })
    }
}

/// The values of a note by key.
pub(super) trait NoteKeys {
    /// Sets a value from a file.
    ///
    /// # Errors
    /// The problem with the value, phrased to follow the name of the key.
    fn take(&mut self, key: Key, value: &Value) -> Result<(), &'static str>;

    /// Returns the value as a YAML scalar; `None` without a value, or for tags.
    fn scalar(&self, key: Key) -> Option<String>;

    /// True if both have the same value.
    fn agrees(&self, key: Key, other: &Note) -> bool;

    /// True if it has the value of a file without the key.
    fn is_default(&self, key: Key) -> bool;
}

impl NoteKeys for Note {
    fn take(&mut self, key: Key, value: &Value) -> Result<(), &'static str> {
        if *value == Value::Null {
            return Ok(());
        }
        if key == Key::Tags {
            self.tags = tags(value, TAGS_MAX);
            return Ok(());
        }
        let text = match value {
            Value::Text(text) if !text.contains('\0') => text,
            // People use these words for other purposes.
            _ if matches!(key, Key::Title | Key::Status | Key::Wing | Key::Room) => return Ok(()),
            _ => return Err("should be a single value, without references or NUL"),
        };
        let said = || Some(text.clone()).filter(|text| !text.trim().is_empty());
        match key {
            Key::Uid => {
                let id = MemoryId::parse(key.name(), text);
                self.id = Some(id.map_err(
                    |_| "should be an id: not blank, at most 512 bytes, without control characters",
                )?);
            }
            Key::Title => self.title = said(),
            Key::Status => set_status(self, text),
            Key::CreatedAt => self.created_at = Some(moment(text)?),
            Key::UpdatedAt => self.updated_at = Some(moment(text)?),
            Key::DeletedAt => self.deleted_at = Some(moment(text)?),
            Key::AlwaysLoad => self.always_load = truth(text)?,
            Key::Wing => self.collection = said(),
            Key::Room => self.section = said(),
            Key::Tags => {}
        }
        Ok(())
    }

    fn scalar(&self, key: Key) -> Option<String> {
        let text = |text: &Option<String>| text.as_deref().map(|text| scalar::written(text, false));
        let moment = |moment: Option<Timestamp>| {
            jiff::Timestamp::from_microsecond(moment?.microseconds())
                .ok()
                .map(|moment| moment.to_string())
        };
        match key {
            Key::Uid => self.id.as_ref().map(|id| scalar::written_id(id.as_str())),
            Key::Title => text(&self.title),
            Key::Status if self.is_deleted => Some(DELETED.to_owned()),
            Key::Status => Some(self.state.name().to_owned()),
            Key::CreatedAt => moment(self.created_at),
            Key::UpdatedAt => moment(self.updated_at),
            Key::DeletedAt => moment(self.deleted_at),
            Key::AlwaysLoad => Some(self.always_load.to_string()),
            Key::Wing => text(&self.collection),
            Key::Room => text(&self.section),
            Key::Tags => None,
        }
    }

    fn agrees(&self, key: Key, other: &Note) -> bool {
        match key {
            Key::Uid => self.id == other.id,
            Key::Title => self.title == other.title,
            Key::Status => (self.is_deleted, self.state) == (other.is_deleted, other.state),
            Key::CreatedAt => self.created_at == other.created_at,
            Key::UpdatedAt => self.updated_at == other.updated_at,
            Key::Tags => self.tags == other.tags,
            Key::AlwaysLoad => self.always_load == other.always_load,
            Key::DeletedAt => self.deleted_at == other.deleted_at,
            Key::Wing => self.collection == other.collection,
            Key::Room => self.section == other.section,
        }
    }

    fn is_default(&self, key: Key) -> bool {
        self.agrees(key, &Note::default())
    }
}

/// Gives a note the status of its file.
pub(super) fn set_status(note: &mut Note, status: &str) {
    note.is_deleted = status.eq_ignore_ascii_case(DELETED);
    note.state = state(status).unwrap_or_default();
}

/// True if the status has a meaning for loci.
pub(super) fn is_known_status(status: &str) -> bool {
    status.eq_ignore_ascii_case(DELETED) || state(status).is_some()
}

/// Returns the state that a status names; `None` for any other word.
fn state(status: &str) -> Option<NoteState> {
    let is = |name: &str| status.eq_ignore_ascii_case(name);
    let named = NoteState::ALL.into_iter().find(|state| is(state.name()));
    named.or_else(|| is(INBOX).then_some(NoteState::Unfiled))
}

/// Normalises tags: without `#` and surrounding white space, not empty, without duplicates, and at
/// most `count_max`.
pub(super) fn normal_tags<'a>(
    tags: impl Iterator<Item = &'a str>,
    count_max: usize,
) -> Vec<String> {
    let mut seen = HashSet::new();
    let tags = tags
        .map(normal_tag)
        .filter(|tag| !tag.is_empty() && seen.insert(*tag));
    tags.take(count_max).map(str::to_owned).collect()
}

/// True if there are more tags than a note may have.
pub(super) fn has_too_many_tags(value: &Value) -> bool {
    tags(value, TAGS_MAX + 1).len() > TAGS_MAX
}

pub(super) fn normal_tag(tag: &str) -> &str {
    tag.trim_end()
        .trim_start_matches(|character: char| character.is_whitespace() || character == '#')
}

/// Returns the tags that a value lists; empty if it is not a list of words.
fn tags(value: &Value, count_max: usize) -> Vec<String> {
    let is_blank = |character: char| character == ',' || character.is_whitespace();
    let tags = match value {
        Value::Null | Value::Other => Vec::new(),
        Value::Text(text) => normal_tags(text.split(is_blank), count_max),
        Value::List { items, .. } => normal_tags(
            items.iter().filter_map(|item| item.text.as_deref()),
            count_max,
        ),
    };
    if tags.iter().any(|tag| tag.contains('\0')) {
        Vec::new()
    } else {
        tags
    }
}

/// Parses RFC 3339, or a date with or without a time, which is in UTC.
fn moment(text: &str) -> Result<Timestamp, &'static str> {
    let text = text.trim();
    let exact = text.parse::<jiff::Timestamp>().ok();
    let moment = exact.or_else(|| {
        text.parse::<jiff::civil::DateTime>()
            .ok()?
            .to_zoned(jiff::tz::TimeZone::UTC)
            .ok()
            .map(|zoned| zoned.timestamp())
    });
    let moment = moment.ok_or("should be a moment, such as 2026-01-31T12:00:00Z or 2026-01-31")?;
    Ok(Timestamp::from_microseconds(moment.as_microsecond()))
}

/// Parses the booleans of YAML 1.1 and 1.2.
fn truth(text: &str) -> Result<bool, &'static str> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Ok(true),
        "false" | "no" | "off" => Ok(false),
        _ => Err("should be `true` or `false`"),
    }
}
