//! SentencePiece's table for the normalization of characters: the normal forms, and a double-array
//! trie (Aoe, "An efficient digital search algorithm by using a double-array structure", 1989) in
//! the format of Darts-clone.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The table.
pub(crate) struct Charsmap {
    units: Vec<u32>,
    /// The normal forms, each with a zero byte at its end.
    normals: String,
}

impl Charsmap {
    /// Parses `precompiled_charsmap` of a `tokenizer.json`. The error describes the problem with
    /// it.
    pub(crate) fn from_base64(text: &str) -> Result<Self, String> {
        let damaged = || "has a damaged table of characters".to_owned();
        let because = |error: &dyn std::error::Error| format!("{}: {error}", damaged());
        let bytes = STANDARD.decode(text).map_err(|error| because(&error))?;
        let (length, rest) = bytes.split_first_chunk().ok_or_else(damaged)?;
        let length = u32::from_le_bytes(*length) as usize;
        let (trie, normals) = rest.split_at_checked(length).ok_or_else(damaged)?;
        let units = trie
            .as_chunks()
            .0
            .iter()
            .map(|unit| u32::from_le_bytes(*unit))
            .collect();
        let normals = String::from_utf8(normals.to_vec()).map_err(|error| because(&error))?;
        Ok(Charsmap { units, normals })
    }

    /// Returns the normal form of a text, if there is one: that of its shortest prefix in the
    /// table, as in Hugging Face's tokenizers.
    pub(crate) fn normal(&self, text: &str) -> Option<&str> {
        let mut position = offset(*self.units.first()?);
        for byte in text.bytes().take_while(|byte| *byte != 0) {
            position ^= usize::from(byte);
            let unit = *self.units.get(position)?;
            if unit & (1 << 31 | 0xFF) != u32::from(byte) {
                return None;
            }
            position ^= offset(unit);
            if unit >> 8 & 1 == 1 {
                let start = (*self.units.get(position)? & !(1 << 31)) as usize;
                return self.normals.get(start..)?.split('\0').next();
            }
        }
        None
    }
}

fn offset(unit: u32) -> usize {
    ((unit >> 10) << ((unit & 1 << 9) >> 6)) as usize
}
