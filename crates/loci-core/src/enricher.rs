//! The interface to the enrichment of memories in the background.

use crate::Result;

/// The enrichment of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Enrichment {
    /// The importance of remembering it, 0 to 1.
    pub importance: f64,
    /// Its summary, in at most [`SUMMARY_WORDS_MAX`](crate::limits::SUMMARY_WORDS_MAX) words.
    pub summary: String,
    /// Its kind: one of [`MEMORY_KINDS`].
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

/// Rates, summarises and classifies messages.
pub trait Enricher: Send + Sync {
    /// Enriches one text.
    ///
    /// # Errors
    /// `unavailable` if the model does not answer, or its reply is invalid.
    fn enrich(&self, text: &str) -> Result<Enrichment>;
}
