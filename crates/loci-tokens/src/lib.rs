//! Counts the tokens of a text for language models: byte pair encoding with the vocabulary
//! `o200k_base`, which is compiled into the binary.
//!
//! The counts equal the counts of `tiktoken` for `encode_ordinary`, except for runs of more than 4
//! KiB without a break.
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

/// Maximum bytes of a piece to encode. Longer ones are split, which may add or remove a token at
/// each split. Such pieces do not occur in normal texts, and the limit bounds the cost of malicious
/// ones.
const PIECE_BYTES_MAX: usize = 4096;

/// The pattern by which a text is split into pieces before encoding: the one that `tiktoken`
/// publishes for `o200k_base`, except for the white space before a word, which [`pieces`] handles.
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

/// Counts tokens with the vocabulary `o200k_base`. The first count compiles a pattern; nothing else
/// is loaded.
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
            // Unreachable, because the pattern is a constant. No text has more tokens than bytes.
            None => text.len(),
        }
    }
}

/// Splits the text into non-empty pieces.
fn pieces<'a>(pattern: &Regex, text: &'a str) -> impl Iterator<Item = &'a str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        // The pattern matches every character.
        let end = pattern.find(rest).map_or(rest.len(), |found| found.end());
        let (piece, after) = rest.split_at(end - before_a_word(&rest[..end], &rest[end..]));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Returns the length of the last of several white space characters if it is not a line break and
/// text follows, because it belongs to that text. (The published pattern uses the look-ahead
/// `\s+(?!\S)`, which this linear-time engine lacks.)
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
