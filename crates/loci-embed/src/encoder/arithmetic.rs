//! Functions of floats that are the same to the bit on every processor, and quick where a loop of
//! them is compiled to vector instructions.
//!
//! Only additions, multiplications, divisions and roots are used, each rounded by itself, because
//! those are exact by IEEE 754; a fused multiplication and addition is not on every processor.

use rten_simd::ops::{BitOps, NumOps};
use rten_simd::{Isa, Simd};

/// The number of partial sums, so that they are the same whatever a vector register holds.
pub(crate) const LANES: usize = 16;

/// Adding and subtracting it rounds to the nearest integer, to the even one of two, if the value
/// is between -2^22 and 2^22.
const ROUNDING: f32 = 12_582_912.0; // 1.5 * 2^23
/// The logarithm of 2 in two parts, the first one with few digits, so that its multiples are exact
/// (Cody and Waite, "Software Manual for the Elementary Functions", 1980).
const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
/// The lowest exponent whose power is a normal float.
const EXPONENT_MIN: f32 = -87.0;

/// Returns the nearest integer, the even one of two. The value is between -2^22 and 2^22.
#[inline(always)]
pub(crate) fn rounded(value: f32) -> f32 {
    (value + ROUNDING) - ROUNDING
}

/// Returns e to the power of an exponent of at most 0, with a relative error of at most 4e-7. What
/// is below -87 counts as -87.
#[inline(always)]
pub(crate) fn exp(exponent: f32) -> f32 {
    let exponent = if exponent > EXPONENT_MIN {
        exponent
    } else {
        EXPONENT_MIN
    };
    // exp(x) = 2^k exp(r), where r is between -ln(2) / 2 and ln(2) / 2.
    let shifted = exponent * std::f32::consts::LOG2_E + ROUNDING;
    let power = shifted - ROUNDING;
    let rest = (exponent - power * LN_2[0]) - power * LN_2[1];
    // The Taylor series to the sixth power.
    let mut series = rest * (1.0 / 720.0) + 1.0 / 120.0;
    series = series * rest + 1.0 / 24.0;
    series = series * rest + 1.0 / 6.0;
    series = series * rest + 0.5;
    series = series * rest + 1.0;
    series = series * rest + 1.0;
    // The low bits of the shifted value are k.
    let power = shifted
        .to_bits()
        .wrapping_add(127_u32.wrapping_sub(ROUNDING.to_bits()));
    series * f32::from_bits(power << 23)
}

/// Returns `1 + erf(x / sqrt(2))`, twice the distribution function of the normal distribution, with
/// an absolute error of at most 2e-6 (Abramowitz and Stegun, "Handbook of Mathematical Functions",
/// 7.1.28, whose own error is 3e-7).
#[inline(always)]
pub(crate) fn twice_normal(x: f32) -> f32 {
    let scaled = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let mut root = scaled * 0.000_043_063_8 + 0.000_276_567_2;
    root = root * scaled + 0.000_152_014_3;
    root = root * scaled + 0.009_270_527;
    root = root * scaled + 0.042_282_01;
    root = root * scaled + 0.070_523_076;
    root = root * scaled + 1.0;
    // To the power of 16.
    root *= root;
    root *= root;
    root *= root;
    root *= root;
    let tail = 1.0 / root;
    if x < 0.0 { tail } else { 2.0 - tail }
}

/// Returns the sum of partial sums, in one order.
#[inline(always)]
pub(crate) fn sum(mut lanes: [f32; LANES]) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// Returns the sum of a function of each value. The number of values is a multiple of [`LANES`].
#[inline(always)]
pub(crate) fn sum_of(values: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    for part in values.chunks_exact(LANES) {
        for (lane, &value) in lanes.iter_mut().zip(part) {
            *lane += of(value);
        }
    }
    sum(lanes)
}

/// Returns the smallest and the largest of the values and 0. Their number is a multiple of twice
/// [`LANES`].
#[inline(always)]
pub(crate) fn range<I: Isa>(isa: I, values: &[f32]) -> (f32, f32) {
    let ops = isa.f32();
    // Two of each, so that one comparison does not wait for another.
    let (mut lowest, mut highest) = ([ops.zero(); 2], [ops.zero(); 2]);
    for part in values.chunks_exact(2 * ops.len()) {
        let vectors: [I::F32; 2] = ops.load_many(part);
        for number in 0..2 {
            lowest[number] = ops.min(vectors[number], lowest[number]);
            highest[number] = ops.max(vectors[number], highest[number]);
        }
    }
    let lowest = ops.min(lowest[0], lowest[1]);
    let highest = ops.max(highest[0], highest[1]);
    let least = |least, value| if value < least { value } else { least };
    let most = |most, value| if value > most { value } else { most };
    (
        lowest.to_array().into_iter().fold(0.0, least),
        highest.to_array().into_iter().fold(0.0, most),
    )
}
