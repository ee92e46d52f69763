//! A memory in the format of this dialect.

use loci_core::{Caller, Delivery, Memory, MemoryId};
use loci_engine::{PINNED, TextPage, is_pinned};
use schemars::JsonSchema;
use serde::Serialize;

use crate::wire::{Authorship, FromFile, Truncation, reading_call, rfc3339, ttl_text};

/// A memory.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Record {
    /// Its id.
    pub id: String,
    /// Its title, if it has one: that of a note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The text, or its parts that fit.
    pub content: String,
    /// The part of the text that is shown.
    #[serde(flatten)]
    pub cut: Truncation,
    /// The file that it comes from.
    #[serde(flatten)]
    pub from_file: FromFile,
    /// `global` or `project`.
    pub scope: &'static str,
    /// The project, of a memory with scope `project`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The kind of memory: fact, rule, decision, feedback, context, bootstrap; other words for
    /// memories that other tools filed.
    pub r#type: String,
    /// Its labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Confidence or priority, 0 to 1.
    pub weight: f64,
    /// `bootstrap`, if every session start reads it; `pinned`, if every prompt does as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<&'static str>,
    /// The id of the memory that it replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    /// The id of the memory that replaced it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// The time that it lives, counted from `created_at`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<String>,
    /// When it vanishes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// When it was stored.
    pub created_at: String,
    /// When its text last changed.
    pub updated_at: String,
    /// The authorship, if the reader is not the author.
    #[serde(flatten)]
    pub authorship: Authorship,
}

impl Record {
    /// Converts a memory of a search or a listing for this reader. `length` is the number of
    /// characters of its text, if that is an excerpt.
    pub fn shown(reader: &Caller, memory: Memory, length: Option<usize>) -> Self {
        let cut = Truncation::of(length, |offset| reading(&memory.id, offset));
        Record {
            cut,
            ..Record::of(reader, memory)
        }
    }

    /// Converts a page of the text of a memory.
    pub fn page(reader: &Caller, page: TextPage) -> Self {
        let cut = Truncation::of_page(&page, |offset| reading(&page.memory.id, offset));
        Record {
            cut,
            ..Record::of(reader, page.memory)
        }
    }

    /// Converts a whole memory for this reader.
    pub fn of(reader: &Caller, memory: Memory) -> Self {
        let delivery = is_pinned(&memory)
            .then_some(PINNED)
            .or_else(|| (memory.delivery == Delivery::Bootstrap).then_some(memory.delivery.name()));
        Record {
            cut: Truncation::default(),
            from_file: FromFile::of(&memory),
            authorship: Authorship::of(reader, &memory),
            id: memory.id.to_string(),
            title: memory.title,
            content: memory.content,
            scope: if memory.location.collection.is_some() {
                "project"
            } else {
                "global"
            },
            project: memory.location.collection,
            r#type: memory.location.section,
            tags: memory.tags,
            weight: memory.weight,
            delivery,
            supersedes: memory.supersedes.map(|id| id.to_string()),
            superseded_by: memory.superseded_by.map(|id| id.to_string()),
            ttl: memory
                .expires_at
                .map(|expires_at| ttl_text(memory.created_at, expires_at)),
            expires_at: memory.expires_at.map(rfc3339),
            created_at: rfc3339(memory.created_at),
            updated_at: rfc3339(memory.updated_at),
        }
    }
}

fn reading(id: &MemoryId, offset: Option<usize>) -> String {
    reading_call("list", &[("id", id.as_str())], offset)
}
