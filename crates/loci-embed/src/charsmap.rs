//! SentencePiece's table of characters and what they are normalised to: a trie in a double array
//! (Aoe, "An efficient digital search algorithm by using a double-array structure", 1989) as
//! Darts-clone writes it, and the texts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The table.
pub(crate) struct Charsmap {
    units: Vec<u32>,
    /// Each ends with a zero byte.
    normals: String,
}

impl Charsmap {
    /// From `precompiled_charsmap` of a `tokenizer.json`. The error is what is wrong with it.
    pub(crate) fn from_base64(text: &str) -> Result<Self, String> {
        let damaged = || "has a damaged table of characters".to_owned();
        let bytes = STANDARD.decode(text).map_err(|_| damaged())?;
        let (length, rest) = bytes.split_first_chunk().ok_or_else(damaged)?;
        let length = u32::from_le_bytes(*length) as usize;
        let (trie, normals) = rest.split_at_checked(length).ok_or_else(damaged)?;
        let units = trie
            .as_chunks()
            .0
            .iter()
            .map(|unit| u32::from_le_bytes(*unit))
            .collect();
        let normals = String::from_utf8(normals.to_vec()).map_err(|_| damaged())?;
        Ok(Charsmap { units, normals })
    }

    /// The text that stands for this one, if there is one: that of the shortest entry that it
    /// begins with, as Hugging Face's tokenizers have it.
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
