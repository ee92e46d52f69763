//! A memory in this dialect's terms.

use loci_core::{Caller, Error, Memory, MemoryId, Result};
use loci_engine::{Hit, TextPage, shown_title};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::wire::{Authorship, Cut, FromFile, reading_call, rfc3339, times_said};

/// The status of a memory that everybody finds.
pub const ACTIVE: &str = "active";
/// The status of one that was forgotten.
pub const DELETED: &str = "deleted";

/// A memory, and how well it fits.
#[derive(Serialize, JsonSchema)]
pub struct Found {
    /// Its id.
    id: String,
    /// Its title; of a memory without one, its first line.
    title: String,
    /// Its text, or the parts of it that fit.
    body: String,
    #[serde(flatten)]
    cut: Cut,
    #[serde(flatten)]
    from_file: FromFile,
    /// How well it fits the query, 0 to 1; 1 for what was asked for by its id.
    score: f64,
    /// How often this text was found, if more than once: equal texts are one result.
    #[serde(skip_serializing_if = "Option::is_none")]
    times_said: Option<usize>,
    /// Its labels.
    tags: Vec<String>,
    /// `active`, or `deleted` if it was forgotten.
    status: &'static str,
    /// When it was first stored.
    created_at: String,
    /// When its text last changed.
    updated_at: String,
    /// When it was forgotten.
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted_at: Option<String>,
    #[serde(flatten)]
    authorship: Authorship,
}

impl Found {
    /// A result as this reader sees it.
    pub fn of(reader: &Caller, hit: Hit) -> Self {
        let cut = Cut::of(hit.length, |offset| reading(&hit.memory.id, offset));
        let times_said = times_said(&hit);
        Found {
            times_said,
            ..Found::with(reader, hit.memory, cut, hit.score)
        }
    }

    /// A page of the text of a memory.
    pub fn page(reader: &Caller, page: TextPage) -> Self {
        let cut = Cut::of_page(&page, |offset| reading(&page.memory.id, offset));
        Found::with(reader, page.memory, cut, 1.0)
    }

    fn with(reader: &Caller, memory: Memory, cut: Cut, score: f64) -> Self {
        Found {
            times_said: None,
            authorship: Authorship::of(reader, &memory),
            from_file: FromFile::of(&memory),
            id: memory.id.to_string(),
            title: shown_title(&memory).into_owned(),
            body: memory.content,
            cut,
            score,
            tags: memory.tags,
            status: if memory.forgotten_at.is_some() {
                DELETED
            } else {
                ACTIVE
            },
            created_at: rfc3339(memory.created_at),
            updated_at: rfc3339(memory.updated_at),
            deleted_at: memory.forgotten_at.map(rfc3339),
        }
    }
}

fn reading(id: &MemoryId, offset: Option<usize>) -> String {
    reading_call("memory_search", &[("id", id.as_str())], offset)
}

/// An answer that was kept under a key.
///
/// # Errors
/// `internal`, if it is none of ours.
pub fn kept<T: DeserializeOwned>(answer: &str) -> Result<T> {
    let problem =
        "what was answered under this `idempotency_key` cannot be read any more; use another key";
    serde_json::from_str(answer).map_err(|_| Error::internal(problem))
}
