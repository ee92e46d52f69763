//! A memory as views show it.

use loci_core::{Delivery, Memory, Result};
use loci_engine::{Parts, author_of, shown_title};
use schemars::JsonSchema;
use serde::Serialize;

use super::argument::named;
use crate::tool::{Reply, to_value};
use crate::wire::{FromFile, rfc3339};

/// The characters of a text that are shown among others.
const CHARACTERS_SHOWN: usize = 1_200;

/// A memory as views show it.
#[derive(Debug, Serialize, JsonSchema)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a field of the JSON that views read"
)]
pub struct ShownMemory {
    /// Its id.
    id: String,
    /// The text, or its beginning.
    text: String,
    /// True if the text goes on.
    is_cut: bool,
    /// Its title, if it says more than the beginning of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The project; none for a memory of all projects.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    /// The topic.
    topic: String,
    /// Its type.
    r#type: String,
    /// Its labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    /// The file that it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// Who wrote it, if that is not the reader.
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<String>,
    /// When it was stored.
    created_at: String,
    /// The number of its version.
    revision: u64,
    /// `private`, `shared` or `common`.
    visibility: &'static str,
    /// True if every session begins with it.
    pinned: bool,
    /// True if it is forgotten.
    forgotten: bool,
    /// True if another memory replaces it.
    replaced: bool,
    /// True if the reader may change it.
    may_write: bool,
}

impl ShownMemory {
    /// Returns a memory as its reader sees it; the whole text if `is_whole`.
    pub(super) fn of(parts: &Parts<'_>, memory: &Memory, is_whole: bool) -> Self {
        let reader = parts.caller();
        let beginning = memory.content.char_indices().nth(CHARACTERS_SHOWN);
        let end = beginning
            .filter(|_| !is_whole)
            .map_or(memory.content.len(), |(end, _)| end);
        let text = memory.content[..end].to_owned();
        let title = shown_title(memory).into_owned();
        let said = title.trim_end_matches(['…', ' ', '.']);
        ShownMemory {
            id: memory.id.to_string(),
            is_cut: end < memory.content.len(),
            title: (!text.trim_start().starts_with(said)).then_some(title),
            text,
            project: memory.location.collection.clone(),
            topic: memory.location.section.clone(),
            r#type: memory.kind.clone(),
            tags: memory.tags.clone(),
            file: FromFile::of(memory).place(),
            author: author_of(reader, memory),
            created_at: rfc3339(memory.created_at),
            revision: memory.revision,
            visibility: memory.visibility.name(),
            pinned: memory.delivery == Delivery::Bootstrap,
            forgotten: memory.forgotten_at.is_some(),
            replaced: memory.superseded_by.is_some(),
            may_write: reader.may_write(memory),
        }
    }
}

/// A memory after a change.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangedMemory {
    /// The memory as it is now.
    memory: ShownMemory,
}

/// Returns the reply of a change: the memory as it is now.
pub(super) fn changed(parts: &Parts<'_>, id: &str) -> Result<Reply> {
    let memory = named(parts, "id", id)?;
    let memory = ShownMemory::of(parts, &memory, false);
    reply("Changed.", &ChangedMemory { memory }, None)
}

/// Returns a reply for a view: a short text, since no model reads it, and the value.
pub(super) fn reply(text: &str, value: &impl Serialize, results: Option<u64>) -> Result<Reply> {
    Ok(Reply::new(text.to_owned(), to_value(value)?, results))
}
