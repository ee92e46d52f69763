//! Runs the encoders of the catalogue, several texts at a time.
//!
//! Each token's values are quantised with a scale of their own, so that a text has the same vector,
//! to the bit, whichever texts share its run. The graph of a file says one scale for all values of
//! a run; the tensors are the same.

#![expect(
    clippy::inline_always,
    reason = "a function is compiled to the instructions of the function that it is part of"
)]

mod arithmetic;
mod attention;
mod graph;
mod linear;
mod rows;
mod table;
#[cfg(test)]
mod tests;

use std::ops::Range;

use rten_simd::SimdOp;

use attention::{Attention, Distances, Room};
use graph::Graph;
use linear::Linear;
use rows::{AddAndNormalise, ByteRows, Dequantise, GeluAndQuantise, Norm, Quantise};
use table::Table;

/// The rows that go through the products of a layer together, so that what is between them stays
/// in the cache of a core.
const ROWS: usize = 64;

/// A BERT encoder whose weights are in int8.
pub(crate) struct Encoder {
    hidden: usize,
    heads: usize,
    table: Table,
    layers: Vec<Layer>,
    distances: Option<Distances>,
}

/// A layer: attention, then two products for each token by itself.
struct Layer {
    query_key_value: Linear,
    output: Linear,
    norm: Norm,
    /// Factors of the values before the first product.
    first_factors: Option<Vec<f32>>,
    first: Linear,
    /// Factors of the values after GELU, the half of its definition included.
    halves: Vec<f32>,
    second: Linear,
    last_norm: Norm,
}

impl Layer {
    /// Returns true if its parts are for that many values of a token.
    fn fits(&self, hidden: usize) -> bool {
        let inner = self.second.inputs;
        let factors = self.first_factors.as_ref();
        let counts = [
            self.query_key_value.inputs,
            self.query_key_value.outputs() / 3,
            self.output.inputs,
            self.output.outputs(),
            self.norm.weight.len(),
            factors.map_or(hidden, Vec::len),
            self.first.inputs,
            self.second.outputs(),
            self.last_norm.weight.len(),
        ];
        counts == [hidden; 9] && [self.first.outputs(), self.halves.len()] == [inner; 2]
    }
}

/// Room for the rows of one block.
struct Workspace {
    inputs: ByteRows,
    inner: ByteRows,
    sums: Vec<i32>,
}

impl Encoder {
    /// Reads a graph of a model of the catalogue; `outside` has the tensors that were moved out.
    /// With `packs`, it takes more time and memory, and each run takes less. The error describes the
    /// problem with the graph.
    pub(crate) fn load(graph: &[u8], outside: &'static [u8], packs: bool) -> Result<Self, String> {
        Graph::parse(graph, outside, packs)?.into_encoder()
    }

    /// Returns for each text the sum of the vectors of its tokens, which has the direction of their
    /// mean. It runs on this thread, which must be in a pool of one. The error describes the
    /// internal failure.
    pub(crate) fn run(&self, texts: &[&[i32]]) -> Result<Vec<Vec<f32>>, String> {
        let mut ranges = Vec::with_capacity(texts.len());
        let mut count = 0;
        for text in texts {
            ranges.push(count..count + text.len());
            count += text.len();
        }
        let mut values = vec![0.0; count * self.hidden];
        for (text, range) in texts.iter().zip(&ranges) {
            self.table
                .write(text, &mut values[self.columns(range, 1)])?;
        }
        let mut workspace = self.workspace(count.min(ROWS));
        let mut attended = vec![0.0; count * self.hidden];
        let mut three = vec![0.0; count * 3 * self.hidden];
        let mut room = Room::default();
        for layer in &self.layers {
            for block in blocks(count) {
                let (rows, into) = (self.columns(&block, 1), self.columns(&block, 3));
                self.query_key_value(layer, &values[rows], &mut three[into], &mut workspace)?;
            }
            for range in &ranges {
                Attention {
                    hidden: self.hidden,
                    heads: self.heads,
                    inputs: &three[self.columns(range, 3)],
                    distances: self.distances.as_ref(),
                    into: &mut attended[self.columns(range, 1)],
                    room: &mut room,
                }
                .dispatch();
            }
            for block in blocks(count) {
                let rows = self.columns(&block, 1);
                self.finish(
                    layer,
                    &attended[rows.clone()],
                    &mut values[rows],
                    &mut workspace,
                )?;
            }
        }
        let sum = |range| crate::network::sum_of_rows(&values[self.columns(range, 1)], self.hidden);
        Ok(ranges.iter().map(sum).collect())
    }

    fn workspace(&self, rows: usize) -> Workspace {
        let inner = self.layers.iter().map(|layer| layer.first.outputs());
        let inner = inner.max().unwrap_or(0);
        Workspace {
            inputs: ByteRows::with_room(rows, self.hidden),
            inner: ByteRows::with_room(rows, inner),
            sums: vec![0; rows * inner.max(3 * self.hidden)],
        }
    }

    /// Returns where rows of some times the hidden values are.
    fn columns(&self, rows: &Range<usize>, times: usize) -> Range<usize> {
        rows.start * times * self.hidden..rows.end * times * self.hidden
    }

    fn query_key_value(
        &self,
        layer: &Layer,
        rows: &[f32],
        into: &mut [f32],
        workspace: &mut Workspace,
    ) -> Result<(), String> {
        let Workspace { inputs, sums, .. } = workspace;
        let (width, count) = (self.hidden, rows.len() / self.hidden);
        Quantise {
            rows,
            width,
            factors: None,
            into: inputs,
        }
        .dispatch();
        let products = layer.query_key_value.multiply(inputs, count, sums)?;
        Dequantise { products, into }.dispatch();
        Ok(())
    }

    /// Does what follows the attention, in place.
    fn finish(
        &self,
        layer: &Layer,
        attended: &[f32],
        rows: &mut [f32],
        workspace: &mut Workspace,
    ) -> Result<(), String> {
        let Workspace {
            inputs,
            inner,
            sums,
        } = workspace;
        let (width, count) = (self.hidden, rows.len() / self.hidden);
        Quantise {
            rows: attended,
            width,
            factors: None,
            into: inputs,
        }
        .dispatch();
        let products = layer.output.multiply(inputs, count, sums)?;
        AddAndNormalise {
            products,
            rows,
            norm: &layer.norm,
        }
        .dispatch();
        let factors = layer.first_factors.as_deref();
        Quantise {
            rows,
            width,
            factors,
            into: inputs,
        }
        .dispatch();
        let products = layer.first.multiply(inputs, count, sums)?;
        GeluAndQuantise {
            products,
            factors: &layer.halves,
            into: inner,
        }
        .dispatch();
        let products = layer.second.multiply(inner, count, sums)?;
        AddAndNormalise {
            products,
            rows,
            norm: &layer.last_norm,
        }
        .dispatch();
        Ok(())
    }
}

/// Returns the blocks of that many rows.
fn blocks(count: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count)
        .step_by(ROWS)
        .map(move |begin| begin..(begin + ROWS).min(count))
}
