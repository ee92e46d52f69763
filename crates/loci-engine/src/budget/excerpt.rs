//! Excerpts: the parts of a text that are shown if there is no room for the whole.

use std::borrow::Cow;
use std::iter;
use std::ops::Range;

use loci_core::{Memory, Result};
use loci_text::excerpt::{self, estimated_tokens};

use crate::budget::Budgets;

/// The bytes of a text that count as at least one token, however few the counter finds in runs of
/// blanks: a reply has bytes, too.
const BYTES_PER_TOKEN_MAX: usize = 8;
/// The most times that an excerpt is shortened because it has more tokens than estimated.
const ATTEMPTS_MAX: usize = 8;

/// The part of a text that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt<'a> {
    /// The whole text, or some of its parts in order, with an ellipsis on a line of its own for
    /// each gap between them.
    pub text: Cow<'a, str>,
    /// True if it is the whole text.
    pub is_whole: bool,
    /// The byte ranges of those parts.
    pub ranges: Vec<Range<usize>>,
    /// The number of its tokens.
    pub tokens: usize,
}

impl Budgets<'_> {
    /// Returns the text if it has at most `tokens_max` tokens; otherwise the parts of it that best
    /// answer a query, at most 1,000 tokens or a quarter of `tokens_max`, whichever is more: whole
    /// paragraphs, or sentences of one that alone is too long. `terms` are those of the query
    /// ([`query_terms`](loci_text::analysis::query_terms)), `near` the byte range of the passage
    /// that the search found; without either it is the beginning. A text without any break may be
    /// shown with more tokens if `tokens_max` is less than about ten.
    pub fn excerpt<'a>(
        &self,
        content: &'a str,
        terms: &[String],
        near: Option<Range<usize>>,
        tokens_max: usize,
    ) -> Excerpt<'a> {
        if let Some(tokens) = self.tokens_within(content, tokens_max) {
            return Excerpt {
                text: content.into(),
                is_whole: true,
                ranges: iter::once(0..content.len()).collect(),
                tokens,
            };
        }
        let mut room = tokens_max;
        let mut attempts = 1;
        loop {
            let ranges = excerpt::excerpt(content, terms, near.clone(), room);
            let text = excerpt::written(content, &ranges);
            let tokens = self.tokens(&text);
            if tokens <= tokens_max || attempts == ATTEMPTS_MAX {
                return Excerpt {
                    text: text.into(),
                    is_whole: false,
                    ranges,
                    tokens,
                };
            }
            // The estimate was too low for this text.
            room = (room * tokens_max / tokens).min(room - room / 8);
            attempts += 1;
        }
    }

    /// Returns the tokens of a text if it has at most `tokens_max`.
    pub(crate) fn tokens_within(&self, text: &str, tokens_max: usize) -> Option<usize> {
        // A text that is far too long is not counted.
        let may_fit = text.len() / BYTES_PER_TOKEN_MAX <= tokens_max
            && (text.len() <= tokens_max || estimated_tokens(text) <= tokens_max.saturating_mul(2));
        may_fit
            .then(|| self.tokens(text))
            .filter(|tokens| *tokens <= tokens_max)
    }

    /// Returns the tokens of a text as a reply counts them.
    pub(crate) fn tokens(&self, text: &str) -> usize {
        self.token_counter
            .count(text)
            .max(text.len() / BYTES_PER_TOKEN_MAX)
    }

    /// Returns the byte range of a passage of a memory, by its index; `None` if the store has no
    /// such passage.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn passage_range(&self, memory: &Memory, passage: u32) -> Result<Option<Range<usize>>> {
        self.store.passage_range(&memory.space, &memory.id, passage)
    }
}
