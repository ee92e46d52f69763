//! The attention of one text (Vaswani et al., "Attention is all you need", 2017), in floats.
//!
//! Each number is a sum of its terms in their order, whatever a vector register holds.

use rten_simd::ops::{BitOps, NumOps};
use rten_simd::{Isa, SimdOp};

use super::arithmetic::{LANES, exp, sum_of};

/// The queries that are worked on together, so that a key is read once for all.
const QUERIES: usize = 6;

/// The attention of the tokens of one text to each other.
pub(crate) struct Attention<'a> {
    /// The values of a token.
    pub(crate) hidden: usize,
    pub(crate) heads: usize,
    /// A row for each token: its query, its key and its value, each for all heads.
    pub(crate) inputs: &'a [f32],
    /// Added to the attention by the distance of two tokens.
    pub(crate) distances: Option<&'a Distances>,
    /// A row for each token.
    pub(crate) into: &'a mut [f32],
    pub(crate) room: &'a mut Room,
}

/// For each head the number that is added to the attention of two tokens by their distance, from the farthest
/// one before to the farthest one after.
pub(crate) struct Distances {
    pub(crate) by_head: Vec<f32>,
    /// The number of distances of a head: two for each token of the longest text, less one.
    pub(crate) count: usize,
}

impl Distances {
    /// Returns what a head adds for a token, to its attention to each token of a text.
    fn of(&self, head: usize, token: usize, tokens: usize) -> &[f32] {
        let begin = head * self.count + self.count / 2 - token;
        &self.by_head[begin..begin + tokens]
    }
}

/// Room for one head, which is used for one after the other.
#[derive(Default)]
pub(crate) struct Room {
    /// A row for each component of a key, with a column for each token.
    keys: Vec<f32>,
    /// A row for each column of the keys; 0 where there is no token.
    values: Vec<f32>,
    /// A row for each query that is worked on, with a column for each token.
    scores: Vec<f32>,
}

impl SimdOp for Attention<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let Attention {
            hidden,
            heads,
            inputs,
            distances,
            into,
            room,
        } = self;
        let (tokens, size) = (into.len() / hidden, hidden / heads);
        let columns = tokens.next_multiple_of(LANES);
        room.keys.resize(size * columns, 0.0);
        room.values.resize(columns * size, 0.0);
        room.values[tokens * size..].fill(0.0);
        room.scores.resize(QUERIES * columns, 0.0);
        for head in 0..heads {
            gather(inputs, hidden, head * size, columns, room);
            let mut token = 0;
            while token < tokens {
                let rows = &inputs[token * 3 * hidden..];
                let into = &mut into[token * hidden..];
                let shape = Shape {
                    hidden,
                    offset: head * size,
                    size,
                    tokens,
                };
                let added = |row: usize| Some(distances?.of(head, token + row, tokens));
                token += match tokens - token {
                    QUERIES.. => attend::<I, QUERIES>(isa, shape, rows, into, room, added),
                    4.. => attend::<I, 4>(isa, shape, rows, into, room, added),
                    2.. => attend::<I, 2>(isa, shape, rows, into, room, added),
                    _ => attend::<I, 1>(isa, shape, rows, into, room, added),
                };
            }
        }
    }
}

/// The place of a head in the rows.
#[derive(Clone, Copy)]
struct Shape {
    hidden: usize,
    /// The column of the head in the queries.
    offset: usize,
    /// The components of a key.
    size: usize,
    tokens: usize,
}

/// Copies the keys and values of a head, the keys by component.
#[inline(always)]
fn gather(inputs: &[f32], hidden: usize, offset: usize, columns: usize, room: &mut Room) {
    let size = room.keys.len() / columns;
    let rows = inputs
        .chunks_exact(3 * hidden)
        .zip(room.values.chunks_exact_mut(size));
    for (token, (row, value)) in rows.enumerate() {
        let key = &row[hidden + offset..hidden + offset + size];
        for (place, &component) in room.keys[token..].iter_mut().step_by(columns).zip(key) {
            *place = component;
        }
        value.copy_from_slice(&row[2 * hidden + offset..2 * hidden + offset + size]);
    }
}

/// Computes the attention of some tokens with one head, and returns their number. `added` gives what
/// is added to the scores of a row, if anything.
#[inline(always)]
fn attend<'a, I: Isa, const N: usize>(
    isa: I,
    shape: Shape,
    rows: &[f32],
    into: &mut [f32],
    room: &mut Room,
    added: impl Fn(usize) -> Option<&'a [f32]>,
) -> usize {
    let Shape {
        hidden,
        offset,
        size,
        tokens,
    } = shape;
    let columns = room.keys.len() / size;
    let queries: [&[f32]; N] = std::array::from_fn(|row| {
        let begin = row * 3 * hidden + offset;
        &rows[begin..begin + size]
    });
    let scores = &mut room.scores[..N * columns];
    multiply(isa, queries, &room.keys, columns, |row, column, vector| {
        isa.f32()
            .store(vector, &mut scores[row * columns + column..]);
    });
    let mut sums = [0.0; N];
    for (row, scores) in scores.chunks_exact_mut(columns).enumerate() {
        for (score, added) in scores.iter_mut().zip(added(row).unwrap_or_default()) {
            *score += added;
        }
        sums[row] = weights(scores, tokens);
    }
    let weights: [&[f32]; N] =
        std::array::from_fn(|row| &scores[row * columns..(row + 1) * columns]);
    multiply(isa, weights, &room.values, size, |row, column, vector| {
        isa.f32()
            .store(vector, &mut into[row * hidden + offset + column..]);
    });
    for (row, sum) in sums.into_iter().enumerate() {
        let begin = row * hidden + offset;
        into[begin..begin + size]
            .iter_mut()
            .for_each(|value| *value /= sum);
    }
    N
}

/// Multiplies rows by a matrix of that many columns, and hands out each vector of the products with
/// its row and its first column. The lengths of rows and columns are multiples of [`LANES`].
#[inline(always)]
fn multiply<I: Isa, const N: usize>(
    isa: I,
    rows: [&[f32]; N],
    matrix: &[f32],
    columns: usize,
    mut store: impl FnMut(usize, usize, I::F32),
) {
    let vector = isa.f32().len();
    let mut column = 0;
    while column + 2 * vector <= columns {
        let sums = dot_products::<I, N, 2>(isa, rows, matrix, columns, column);
        for (row, [first, second]) in sums.into_iter().enumerate() {
            store(row, column, first);
            store(row, column + vector, second);
        }
        column += 2 * vector;
    }
    while column < columns {
        let sums = dot_products::<I, N, 1>(isa, rows, matrix, columns, column);
        for (row, [sum]) in sums.into_iter().enumerate() {
            store(row, column, sum);
        }
        column += vector;
    }
}

/// Returns the products of rows and of V vectors of columns, from one on.
#[inline(always)]
fn dot_products<I: Isa, const N: usize, const V: usize>(
    isa: I,
    rows: [&[f32]; N],
    matrix: &[f32],
    columns: usize,
    column: usize,
) -> [[I::F32; V]; N] {
    let ops = isa.f32();
    let mut sums = [[ops.zero(); V]; N];
    let rows = rows.map(|row| row.as_chunks::<LANES>().0);
    for (number, block) in matrix.chunks_exact(LANES * columns).enumerate() {
        let parts: [&[f32; LANES]; N] = std::array::from_fn(|row| &rows[row][number]);
        for (place, of_columns) in block.chunks_exact(columns).enumerate().take(LANES) {
            let vectors: [I::F32; V] = ops.load_many(&of_columns[column..]);
            for row in 0..N {
                let factor = ops.splat(parts[row][place]);
                for vector in 0..V {
                    let product = ops.mul(factor, vectors[vector]);
                    sums[row][vector] = ops.add(sums[row][vector], product);
                }
            }
        }
    }
    sums
}

/// Turns the scores of a query into weights: powers of e, less the largest (softmax without its
/// division). Returns their sum. The columns after the tokens become 0.
#[inline(always)]
fn weights(scores: &mut [f32], tokens: usize) -> f32 {
    scores[tokens..].fill(f32::MIN);
    let mut largest = [f32::MIN; LANES];
    for part in scores.chunks_exact(LANES) {
        for (largest, &score) in largest.iter_mut().zip(part) {
            *largest = if score > *largest { score } else { *largest };
        }
    }
    let largest = largest.into_iter().fold(
        f32::MIN,
        |largest, score| if score > largest { score } else { largest },
    );
    for part in scores.chunks_exact_mut(LANES) {
        for score in part {
            *score = exp(*score - largest);
        }
    }
    scores[tokens..].fill(0.0);
    sum_of(scores, |weight| weight)
}
