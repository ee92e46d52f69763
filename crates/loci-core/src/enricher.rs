//! The seam to what judges a memory in the background.

use crate::Result;

/// A judgement of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Enrichment {
    /// How much it matters to remember it, 0 to 1.
    pub importance: f64,
    /// Its gist, in at most [`SUMMARY_WORDS_MAX`](crate::limits::SUMMARY_WORDS_MAX) words.
    pub summary: String,
    /// What it is: one of [`MEMORY_KINDS`].
    pub kind: String,
}

/// The kinds that an [`Enricher`] chooses from.
pub const MEMORY_KINDS: [&str; 7] = [
    "fact",
    "preference",
    "decision",
    "event",
    "task",
    "question",
    "other",
];

/// Judges what people said.
pub trait Enricher: Send + Sync {
    /// Judges one text.
    ///
    /// # Errors
    /// `unavailable` if whatever does it does not answer, or answers nonsense.
    fn enrich(&self, text: &str) -> Result<Enrichment>;
}
