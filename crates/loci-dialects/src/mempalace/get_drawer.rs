//! The tool `mempalace_get_drawer`: returns one drawer by id.

use loci_core::{Caller, Error, Forgotten, Memory, Redactions, Result, Scope};
use loci_engine::{Call, TextPage, passage_count};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{drawer_id, wing};
use super::diary_write::TOPIC;
use super::record::{ADDED_BY, drawer_among, reading};
use crate::faults::Faults;
use crate::past::AsOf;
use crate::wire::{Authorship, FromFile, Offset, Truncation, offset8601};
use crate::{Hints, Reply, TypedTool};

pub struct GetDrawer;

/// Read one drawer, word for word, with what is known about it. A text that is too long for one
/// reply comes in pages.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its id.
    drawer_id: String,
    /// Where in the text to start, in characters: the `next_offset` of the page before.
    offset: Option<Offset>,
    as_of: Option<AsOf>,
}

/// A drawer.
#[derive(Serialize, JsonSchema)]
pub struct ShownDrawer {
    /// Its id.
    drawer_id: String,
    /// The text, or one page.
    content: String,
    #[serde(flatten)]
    cut: Truncation,
    /// Its wing.
    wing: String,
    /// Its room.
    room: String,
    /// Its other properties.
    metadata: Metadata,
}

#[derive(Serialize, JsonSchema)]
struct Metadata {
    #[serde(flatten)]
    from_file: FromFile,
    /// The user or agent who filed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    added_by: Option<String>,
    /// The time at which it was first stored.
    created_at: String,
    /// The same.
    filed_at: String,
    /// The time at which its text last changed.
    updated_at: String,
    /// Its kind: drawer, fact, preference, decision, event, diary, and other words for memories of
    /// other tools.
    kind: String,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The subject of a diary entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    topic: Option<String>,
    /// The kinds of keys, tokens and passwords that were removed from its text before it was
    /// stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    redacted: Option<String>,
    /// Its labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    /// The number of passages into which the index divides it.
    chunks: usize,
    #[serde(flatten)]
    authorship: Authorship,
}

impl ShownDrawer {
    /// Converts a page of a drawer for this reader.
    fn page(reader: &Caller, page: TextPage, chunks: usize) -> Self {
        let cut = Truncation::of_page(&page, |offset| reading(&page.memory.id, offset));
        ShownDrawer::of(reader, page.memory, cut, chunks)
    }

    /// Converts a drawer for this reader, with the number of its passages.
    pub fn of(reader: &Caller, mut memory: Memory, cut: Truncation, chunks: usize) -> Self {
        let authorship = Authorship::of(reader, &memory);
        let from_file = FromFile::of(&memory);
        let mut attribute = |name| memory.attributes.remove(name);
        ShownDrawer {
            metadata: Metadata {
                from_file,
                added_by: attribute(ADDED_BY),
                topic: attribute(TOPIC),
                redacted: attribute(Redactions::ATTRIBUTE),
                created_at: offset8601(memory.created_at),
                filed_at: offset8601(memory.created_at),
                updated_at: offset8601(memory.updated_at),
                kind: memory.kind,
                title: memory.title,
                tags: memory.tags,
                chunks,
                authorship,
            },
            drawer_id: memory.id.to_string(),
            content: memory.content,
            cut,
            wing: wing(memory.location.collection),
            room: memory.location.section,
        }
    }
}

impl TypedTool for GetDrawer {
    const NAME: &'static str = "mempalace_get_drawer";
    const TITLE: &'static str = "Read a drawer";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "memory:read";
    type Arguments = Arguments;
    type Output = ShownDrawer;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .check("drawer_id", drawer_id)
            .and(AsOf::faults(arguments))
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let id = call
            .memories()
            .memory_id("drawer_id", &arguments.drawer_id)?;
        let as_of = AsOf::moment(call, arguments.as_of.as_ref())?;
        let drawer = drawer_among(call, &id, Forgotten::Hide, as_of)?;
        let chunks = passage_count(&drawer.content);
        let page = call.engine().budgets().text_page(
            drawer,
            arguments.offset.map_or(0, |offset| offset.0),
            None,
        )?;
        Reply::json(&ShownDrawer::page(call.caller(), page, chunks), None)
    }
}
