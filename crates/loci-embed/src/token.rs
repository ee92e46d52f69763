//! Shared parts of both tokenizers: the tokens around a text, added tokens, and the maximum length
//! of a text.

use serde::Deserialize;

/// Bytes of a text that are read. The limit of tokens comes first in any text whose words are
/// shorter than 125 bytes.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// The tokens around each text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) first: i32,
    pub(crate) last: i32,
}

/// A token that the vocabulary has besides the tokens of texts.
#[derive(Deserialize)]
pub(crate) struct AddedToken {
    pub(crate) id: usize,
    pub(crate) content: String,
    #[serde(default)]
    pub(crate) special: bool,
}

/// Returns the part of a text that is read.
pub(crate) fn bounded(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES_MAX)]
}
