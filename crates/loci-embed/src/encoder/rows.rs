//! Work on each row (the values of one token) by itself: scales, normalisation, and the steps between
//! two products.

use rten_simd::{Isa, SimdOp};

use super::arithmetic::{range, rounded, sum_of, twice_normal};

/// Rows in bytes, each with a scale of its own: a value is `(byte - zero) * scale`.
pub(crate) struct ByteRows {
    pub(crate) bytes: Vec<u8>,
    pub(crate) scales: Vec<f32>,
    pub(crate) zeros: Vec<i32>,
}

impl ByteRows {
    /// Returns room for this many rows of that width.
    pub(crate) fn with_room(rows: usize, width: usize) -> Self {
        ByteRows {
            bytes: vec![0; rows * width],
            scales: vec![0.0; rows],
            zeros: vec![0; rows],
        }
    }
}

/// Quantises a row: the range of its values and 0 becomes 0 to 255 (`DynamicQuantizeLinear` of
/// ONNX, for one row). Returns the scale and the zero.
#[inline(always)]
fn quantise<I: Isa>(isa: I, values: &[f32], bytes: &mut [u8]) -> (f32, i32) {
    let (lowest, highest) = range(isa, values);
    let scale = (highest - lowest) / 255.0;
    let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
    let zero = rounded(-lowest * inverse);
    for (byte, &value) in bytes.iter_mut().zip(values) {
        let place = value * inverse + zero;
        let place = if place > 0.0 { place } else { 0.0 };
        let place = if place < 255.0 { place } else { 255.0 };
        // The lowest bits of a float from 2^23 on are its integer.
        *byte = (place + 8_388_608.0).to_bits() as u8;
    }
    (scale, zero as i32)
}

/// Quantises rows, after their values were multiplied by factors if there are some.
pub(crate) struct Quantise<'a> {
    pub(crate) rows: &'a [f32],
    pub(crate) width: usize,
    pub(crate) factors: Option<&'a [f32]>,
    pub(crate) into: &'a mut ByteRows,
}

impl SimdOp for Quantise<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let Quantise {
            rows,
            width,
            factors,
            into,
        } = self;
        let mut multiplied = vec![0.0; if factors.is_some() { width } else { 0 }];
        let rows = rows
            .chunks_exact(width)
            .zip(into.bytes.chunks_exact_mut(width));
        for ((row, bytes), (scale, zero)) in rows.zip(into.scales.iter_mut().zip(&mut into.zeros)) {
            (*scale, *zero) = match factors {
                Some(factors) => {
                    for ((place, value), factor) in multiplied.iter_mut().zip(row).zip(factors) {
                        *place = value * factor;
                    }
                    quantise(isa, &multiplied, bytes)
                }
                None => quantise(isa, row, bytes),
            };
        }
    }
}

/// Adds rows of weights to sums of their columns.
pub(crate) struct AddRows<'a> {
    pub(crate) rows: &'a [i8],
    pub(crate) sums: &'a mut [i32],
}

impl SimdOp for AddRows<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, _: I) {
        for row in self.rows.chunks_exact(self.sums.len()) {
            for (sum, &weight) in self.sums.iter_mut().zip(row) {
                *sum = sum.wrapping_add(i32::from(weight));
            }
        }
    }
}

/// The products of a row of integers, and how they become floats.
#[derive(Clone, Copy)]
pub(crate) struct Products<'a> {
    /// A row for each row of the inputs.
    pub(crate) sums: &'a [i32],
    /// The scale and the zero of the inputs of each row.
    pub(crate) row_scales: &'a [f32],
    pub(crate) row_zeros: &'a [i32],
    /// The sum of the weights of each column.
    pub(crate) column_sums: &'a [i32],
    /// The scale of the weights of each column.
    pub(crate) scales: &'a [f32],
    /// Added to each column.
    pub(crate) bias: &'a [f32],
}

impl Products<'_> {
    /// Combines a row of floats with the products of the row of that number. `combine` gets the
    /// column, the former value and the product.
    #[inline(always)]
    fn combine(&self, number: usize, row: &mut [f32], combine: impl Fn(usize, f32, f32) -> f32) {
        let width = self.scales.len();
        let (row, sums) = (&mut row[..width], &self.sums[number * width..][..width]);
        let (column_sums, bias) = (&self.column_sums[..width], &self.bias[..width]);
        let (row_scale, zero) = (self.row_scales[number], self.row_zeros[number]);
        for column in 0..width {
            // The zero was part of each input. This is exact: with 3,072 inputs, a sum is below 2^26.
            let sum = sums[column].wrapping_sub(zero.wrapping_mul(column_sums[column]));
            let product = sum as f32 * (row_scale * self.scales[column]) + bias[column];
            row[column] = combine(column, row[column], product);
        }
    }
}

/// Writes products as floats.
pub(crate) struct Dequantise<'a> {
    pub(crate) products: Products<'a>,
    pub(crate) into: &'a mut [f32],
}

impl SimdOp for Dequantise<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, _: I) {
        let width = self.products.scales.len();
        for (number, row) in self.into.chunks_exact_mut(width).enumerate() {
            self.products.combine(number, row, |_, _, product| product);
        }
    }
}

/// Applies GELU (Hendrycks and Gimpel, 2016) to products: `x (1 + erf(x / sqrt(2)))`, times a
/// factor for each column that contains the half. Quantises the outcome.
pub(crate) struct GeluAndQuantise<'a> {
    pub(crate) products: Products<'a>,
    pub(crate) factors: &'a [f32],
    pub(crate) into: &'a mut ByteRows,
}

impl SimdOp for GeluAndQuantise<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let GeluAndQuantise {
            products,
            factors,
            into,
        } = self;
        let width = products.scales.len();
        let factors = &factors[..width];
        let mut row = vec![0.0; width];
        let rows = into
            .bytes
            .chunks_exact_mut(width)
            .zip(into.scales.iter_mut().zip(&mut into.zeros));
        for (number, (bytes, (scale, zero))) in rows.take(products.row_scales.len()).enumerate() {
            products.combine(number, &mut row, |column, _, x| {
                x * twice_normal(x) * factors[column]
            });
            (*scale, *zero) = quantise(isa, &row, bytes);
        }
    }
}

/// The parameters of a layer normalisation (Ba, Kiros and Hinton, 2016).
pub(crate) struct Norm {
    pub(crate) weight: Vec<f32>,
    pub(crate) bias: Vec<f32>,
    pub(crate) epsilon: f32,
}

/// Gives a row the mean 0 and the variance 1, then its weights and biases.
#[inline(always)]
fn normalise(row: &mut [f32], norm: &Norm) {
    let count = row.len() as f32;
    let mean = sum_of(row, |value| value) / count;
    let variance = sum_of(row, |value| (value - mean) * (value - mean)) / count;
    let factor = 1.0 / (variance + norm.epsilon).sqrt();
    for ((value, weight), bias) in row.iter_mut().zip(&norm.weight).zip(&norm.bias) {
        *value = (*value - mean) * factor * weight + bias;
    }
}

/// Normalises rows.
pub(crate) struct Normalise<'a> {
    pub(crate) rows: &'a mut [f32],
    pub(crate) norm: &'a Norm,
}

impl SimdOp for Normalise<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, _: I) {
        for row in self.rows.chunks_exact_mut(self.norm.weight.len()) {
            normalise(row, self.norm);
        }
    }
}

/// Adds products to rows, and normalises the rows.
pub(crate) struct AddAndNormalise<'a> {
    pub(crate) products: Products<'a>,
    pub(crate) rows: &'a mut [f32],
    pub(crate) norm: &'a Norm,
}

impl SimdOp for AddAndNormalise<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, _: I) {
        let width = self.products.scales.len();
        for (number, row) in self.rows.chunks_exact_mut(width).enumerate() {
            self.products
                .combine(number, row, |_, former, product| former + product);
            normalise(row, self.norm);
        }
    }
}
