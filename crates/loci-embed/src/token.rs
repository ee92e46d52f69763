//! Parts of both tokenizers: the tokens around a text, added tokens, and the bound of a text.

use serde::Deserialize;

/// Bytes of a text that are looked at: so many that the cut by tokens comes first in any text
/// whose words are shorter than 125 bytes.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// The tokens around each text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) first: i32,
    pub(crate) last: i32,
}

/// A token that the vocabulary has beside what texts are made of.
#[derive(Deserialize)]
pub(crate) struct AddedToken {
    pub(crate) id: usize,
    pub(crate) content: String,
    #[serde(default)]
    pub(crate) special: bool,
}

/// As much of a text as is looked at.
pub(crate) fn bounded(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES_MAX)]
}
