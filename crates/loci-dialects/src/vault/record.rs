//! A memory in the format of this dialect.

use loci_core::{Caller, Error, Memory, MemoryId, NOTE_STANDING, NoteState, Result};
use loci_engine::{Hit, TextPage, shown_title};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::wire::{Authorship, FromFile, Truncation, reading_call, rfc3339, times_said};

/// The status of a memory that searches return.
pub const ACTIVE: &str = "active";
/// The status of a forgotten memory.
pub const DELETED: &str = "deleted";

/// A memory with its relevance.
#[derive(Serialize, JsonSchema)]
pub struct MemoryHit {
    /// Its id.
    id: String,
    /// Its title; for a memory without one, its first line.
    title: String,
    /// Its text, or its parts that fit.
    body: String,
    #[serde(flatten)]
    cut: Truncation,
    #[serde(flatten)]
    from_file: FromFile,
    /// Its relevance to the query, 0 to 1; 1 if it was requested by id.
    score: f64,
    /// The number of times that this was found, if more than once: memories that say the same are one
    /// result.
    #[serde(skip_serializing_if = "Option::is_none")]
    times_said: Option<usize>,
    /// Its labels.
    tags: Vec<String>,
    /// `active`, or `unfiled` if it is still to be looked at; `deleted` if it was forgotten,
    /// `superseded` or `expired` if its file says so.
    status: &'static str,
    /// The time at which it was first stored.
    created_at: String,
    /// The time at which its text last changed.
    updated_at: String,
    /// The time at which it was forgotten.
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted_at: Option<String>,
    #[serde(flatten)]
    authorship: Authorship,
}

impl MemoryHit {
    /// Converts a search result for this reader.
    pub fn of(reader: &Caller, hit: Hit) -> Self {
        let cut = Truncation::of(hit.length, |offset| reading(&hit.memory.id, offset));
        let times_said = times_said(&hit);
        MemoryHit {
            times_said,
            ..MemoryHit::with(reader, hit.memory, cut, hit.score)
        }
    }

    /// Converts a page of the text of a memory.
    pub fn page(reader: &Caller, page: TextPage) -> Self {
        let cut = Truncation::of_page(&page, |offset| reading(&page.memory.id, offset));
        MemoryHit::with(reader, page.memory, cut, 1.0)
    }

    fn with(reader: &Caller, memory: Memory, cut: Truncation, score: f64) -> Self {
        let status = status(&memory);
        MemoryHit {
            times_said: None,
            authorship: Authorship::of(reader, &memory),
            from_file: FromFile::of(&memory),
            id: memory.id.to_string(),
            title: shown_title(&memory).into_owned(),
            body: memory.content,
            cut,
            score,
            tags: memory.tags,
            status,
            created_at: rfc3339(memory.created_at),
            updated_at: rfc3339(memory.updated_at),
            deleted_at: memory.forgotten_at.map(rfc3339),
        }
    }
}

fn status(memory: &Memory) -> &'static str {
    let standing = memory.attributes.get(NOTE_STANDING);
    let state = standing.and_then(|name| NoteState::from_name(name));
    match state.unwrap_or_default() {
        NoteState::Active | NoteState::Unfiled if memory.forgotten_at.is_some() => DELETED,
        state => state.name(),
    }
}

fn reading(id: &MemoryId, offset: Option<usize>) -> String {
    reading_call("memory_search", &[("id", id.as_str())], offset)
}

/// Parses a reply that was kept under an idempotency key.
///
/// # Errors
/// `internal` if it cannot be parsed.
pub fn kept<T: DeserializeOwned>(answer: &str) -> Result<T> {
    let problem =
        "what was answered under this `idempotency_key` cannot be read any more; use another key";
    // The parser's error could quote the answer, which no log may hold.
    serde_json::from_str(answer).map_err(|_| Error::internal(problem))
}
