//! The embeddings of tokens, before the first layer.

use std::borrow::Cow;

use rten_simd::SimdOp;

use super::rows::{Norm, Normalise};

/// The number of weights of a token that share a scale in [`Words::Nibbles`].
const BLOCK: usize = 32;

/// The form of a row of a table of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Words {
    /// In int8, with one scale.
    Bytes,
    /// In 4 bits, less 8, with a scale for each block of 32: a byte holds the weights j and j + 16
    /// of its block, as `scripts/build-model` writes it.
    Nibbles,
}

/// The embeddings of tokens and of positions, and what normalises their sum.
pub(crate) struct Table {
    words: Words,
    bytes: Cow<'static, [u8]>,
    scales: Vec<f32>,
    positions: Vec<f32>,
    norm: Norm,
}

impl Table {
    /// The error describes the problem with the parts.
    pub(crate) fn new(
        words: Words,
        bytes: Cow<'static, [u8]>,
        scales: Vec<f32>,
        positions: Vec<f32>,
        norm: Norm,
    ) -> Result<Self, String> {
        let hidden = norm.weight.len();
        let rows = match words {
            Words::Bytes => scales.len(),
            Words::Nibbles => scales.len() / (hidden / BLOCK).max(1),
        };
        let table = Table {
            words,
            bytes,
            scales,
            positions,
            norm,
        };
        if rows == 0 || table.bytes.len() != rows * table.row_bytes() {
            return Err("its table of tokens and their scales do not fit each other".to_owned());
        }
        Ok(table)
    }

    fn row_bytes(&self) -> usize {
        match self.words {
            Words::Bytes => self.norm.weight.len(),
            Words::Nibbles => self.norm.weight.len() / 2,
        }
    }

    /// Writes the rows of a text's tokens. The error names the token or the length that the table
    /// does not have.
    pub(crate) fn write(&self, token_ids: &[i32], into: &mut [f32]) -> Result<(), String> {
        let hidden = self.norm.weight.len();
        let rows = into.chunks_exact_mut(hidden).zip(token_ids);
        for (position, (row, &id)) in rows.enumerate() {
            let index = usize::try_from(id).unwrap_or(usize::MAX);
            let begin = index.saturating_mul(self.row_bytes());
            let bytes = self
                .bytes
                .get(begin..begin.saturating_add(self.row_bytes()));
            let bytes = bytes.ok_or_else(|| format!("the model has no token {id}"))?;
            match self.words {
                Words::Bytes => {
                    let scale = self.scales[index];
                    for (value, &byte) in row.iter_mut().zip(bytes) {
                        *value = f32::from(byte.cast_signed()) * scale;
                    }
                }
                Words::Nibbles => {
                    let scales = &self.scales[index * (hidden / BLOCK)..];
                    let blocks = row
                        .chunks_exact_mut(BLOCK)
                        .zip(bytes.chunks_exact(BLOCK / 2));
                    for ((block, bytes), scale) in blocks.zip(scales) {
                        let (low, high) = block.split_at_mut(BLOCK / 2);
                        for ((low, high), byte) in low.iter_mut().zip(high).zip(bytes) {
                            *low = (f32::from(byte & 15) - 8.0) * scale;
                            *high = (f32::from(byte >> 4) - 8.0) * scale;
                        }
                    }
                }
            }
            let places = self
                .positions
                .get(position * hidden..(position + 1) * hidden);
            let places = places.ok_or_else(|| format!("the model has no position {position}"))?;
            row.iter_mut()
                .zip(places)
                .for_each(|(value, place)| *value += place);
        }
        Normalise {
            rows: into,
            norm: &self.norm,
        }
        .dispatch();
        Ok(())
    }
}
