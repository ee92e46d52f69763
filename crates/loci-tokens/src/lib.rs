//! How many tokens a language model makes of a text: byte pair encoding with the vocabulary
//! `o200k_base`, which is compiled into the binary.
//!
//! The counts are those of `tiktoken` for `encode_ordinary`, but for runs of more than 4 KiB
//! without any break.
//!
//! ```
//! use loci_core::TokenCounter;
//! use loci_tokens::BpeTokens;
//!
//! assert_eq!(BpeTokens.count("The kiln fires at 1240 degrees."), 9);
//! ```

mod hash;
mod merge;
mod vocabulary;

use std::sync::OnceLock;

use loci_core::TokenCounter;
use regex::Regex;

/// The longest piece that is encoded as one, in bytes. Longer ones are cut, which can add or take a
/// token at each cut: no text of a person has them, and what somebody made up to be slow stays
/// cheap.
const PIECE_BYTES_MAX: usize = 4096;

/// Where a text is cut before each piece is encoded: the pattern that `tiktoken` publishes for
/// `o200k_base`, but for the white space before a word, which [`pieces`] leaves to the word.
const PIECE: &str = concat!(
    r"\A(?:",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r"|\s*[\r\n]+",
    r"|\s+",
    r")",
);

/// Counts by the vocabulary `o200k_base`. The first count compiles a pattern; nothing else is
/// loaded.
#[derive(Debug, Clone, Copy, Default)]
pub struct BpeTokens;

impl TokenCounter for BpeTokens {
    fn count(&self, text: &str) -> usize {
        static COMPILED: OnceLock<Option<Regex>> = OnceLock::new();
        match COMPILED.get_or_init(|| Regex::new(PIECE).ok()) {
            Some(pattern) => pieces(pattern, text)
                .flat_map(|piece| piece.as_bytes().chunks(PIECE_BYTES_MAX))
                .map(merge::count)
                .sum(),
            // Never seen, as the pattern is a constant. No text has more tokens than bytes.
            None => text.len(),
        }
    }
}

/// The text cut into pieces, none of which is empty.
fn pieces<'a>(pattern: &Regex, text: &'a str) -> impl Iterator<Item = &'a str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        // The pattern has a place for every character.
        let end = pattern.find(rest).map_or(rest.len(), |found| found.end());
        let (piece, after) = rest.split_at(end - before_a_word(&rest[..end], &rest[end..]));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// The length of the last character of several that are white space within a line, if text follows:
/// it belongs to what follows. (Published as the look-ahead `\s+(?!\S)`, which this engine has not,
/// being linear.)
fn before_a_word(piece: &str, after: &str) -> usize {
    let last = piece
        .chars()
        .next_back()
        .filter(|last| last.is_whitespace() && !matches!(last, '\r' | '\n'));
    let length = last.map_or(0, char::len_utf8);
    if after.is_empty() || piece.len() == length {
        0
    } else {
        length
    }
}

#[cfg(test)]
mod tests;
