//! The hot loops over vectors: dot products with quantised rows, cosines in full precision, and
//! distances of sketches.
//!
//! Each loop is written once, in a form that the compiler vectorises, and is compiled once for each
//! instruction set, or written by hand where the compiler does worse; the copy is selected at run
//! time. On AArch64 it is selected at compile time, because all those processors have NEON. Sums of
//! integers do not depend on the order, and sums of floating-point numbers have a fixed order, lane
//! by lane, so every copy gives the same results, bit for bit.
//!
//! This module also contains the other code that needs `unsafe`: mapping a file, and reading its
//! bytes as rows of numbers.

#![expect(
    unsafe_code,
    reason = "functions with a target feature run only where the processor has it; files are mapped, and their bytes read \
              as numbers"
)]

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::{
    vaddq_s32, vaddq_u8, vaddvq_s32, vcntq_u8, vdupq_n_s32, vdupq_n_u8, vdupq_n_u32, vdupq_n_u64,
    veorq_u64, vget_low_s8, vget_low_s16, vgetq_lane_u64, vld1q_s8, vld1q_s16_x2, vld1q_u64,
    vmlal_high_s16, vmlal_s16, vmovl_high_s8, vmovl_s8, vpadalq_u16, vpaddlq_u8, vpaddlq_u32,
    vreinterpretq_u8_u64,
};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    _mm_loadu_si128, _mm256_add_epi8, _mm256_add_epi32, _mm256_add_epi64, _mm256_and_si256,
    _mm256_blend_epi32, _mm256_cvtepi8_epi16, _mm256_loadu_si256, _mm256_madd_epi16,
    _mm256_sad_epu8, _mm256_set1_epi8, _mm256_set1_epi64x, _mm256_setzero_si256,
    _mm256_shuffle_epi8, _mm256_srli_epi16, _mm256_storeu_si256, _mm256_xor_si256,
    _mm512_add_epi32, _mm512_add_epi64, _mm512_cmplt_epu64_mask, _mm512_cvtepi8_epi16,
    _mm512_dpwssd_epi32, _mm512_loadu_si512, _mm512_popcnt_epi64, _mm512_reduce_add_epi32,
    _mm512_set1_epi64, _mm512_setzero_si512, _mm512_storeu_si512, _mm512_xor_si512,
};
use std::fs::File;
use std::io;

/// The number of components of a [`Line`], and the number of bits in a word of a sketch.
pub(super) const LINE: usize = 64;
/// The number of sketches that are interleaved.
pub(super) const BLOCK: usize = 8;
/// The bits of a query component that a sketch is compared with, unless its sign is enough.
pub(super) const PLANES: usize = 4;
/// The number of lanes for sums in full precision.
const LANES: usize = 16;

/// A cache line of components. A row is a whole number of lines; components beyond its vector are
/// zero.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Line(pub [i8; LINE]);

/// The same word of the sketches of eight adjacent slots, so that a vector register holds one word
/// of each and no sum across its lanes is needed.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Words(pub [u64; BLOCK]);

/// The rows of a chunk and their scales; row `n` starts at line `n * lines`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rows<'a> {
    pub lines: &'a [Line],
    pub scales: &'a [f32],
}

/// The instruction set used to compare vectors. All give the same results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instructions(Set);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Set {
    /// AVX-512 with its instructions for bytes, for their products and for counting bits.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "aarch64")]
    Neon,
    Portable,
}

#[cfg(target_arch = "aarch64")]
const _: () = assert!(
    cfg!(target_feature = "neon"),
    "NEON is used without asking the processor"
);

impl Default for Instructions {
    /// Returns the best one that this processor supports.
    fn default() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let has_avx512 = is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vnni")
                && is_x86_feature_detected!("avx512vpopcntdq");
            if has_avx512 {
                return Instructions(Set::Avx512);
            }
            if is_x86_feature_detected!("avx2") {
                return Instructions(Set::Avx2);
            }
        }
        #[cfg(target_arch = "aarch64")]
        return Instructions(Set::Neon);
        #[cfg(not(target_arch = "aarch64"))]
        Instructions(Set::Portable)
    }
}

impl Instructions {
    /// Returns all that this processor supports, best first: for tests and benchmarks.
    pub fn all() -> Vec<Self> {
        let mut all = vec![Instructions::default()];
        #[cfg(target_arch = "x86_64")]
        all.extend(is_x86_feature_detected!("avx2").then_some(Instructions(Set::Avx2)));
        all.push(Instructions(Set::Portable));
        all.dedup();
        all
    }

    /// Returns the name of the instruction set.
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => "AVX-512",
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => "AVX2",
            #[cfg(target_arch = "aarch64")]
            Set::Neon => "NEON",
            Set::Portable => "portable",
        }
    }

    /// Writes the dot product of the query with each of the rows, times the row's scale, to
    /// `products`. Components of the query stay within [`query_limit`].
    pub(super) fn dots(
        self,
        query: &[[i16; LINE]],
        rows: Rows<'_>,
        chosen: &[u32],
        products: &mut [f32],
    ) {
        match self.0 {
            // SAFETY: this variant is created only on processors that have the features that the
            // function is compiled for, which is all that calling it requires.
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => unsafe { dots_avx512(query, rows, chosen, products) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => unsafe { dots_avx2(query, rows, chosen, products) },
            // SAFETY: every processor that this is compiled for has the feature that the function
            // requires: a build without it fails.
            #[cfg(target_arch = "aarch64")]
            Set::Neon => unsafe { dots_neon(query, rows, chosen, products) },
            Set::Portable => dots(query, rows, chosen, products),
        }
    }

    /// Writes the cosine of the query with each of the rows to `cosines`.
    pub(super) fn cosines(
        self,
        query: &[[f32; LINE]],
        rows: Rows<'_>,
        chosen: &[u32],
        cosines: &mut [f32],
    ) {
        match self.0 {
            // SAFETY: this variant is created only on processors that have the features that the
            // function is compiled for, which is all that calling it requires.
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => unsafe { cosines_avx512(query, rows, chosen, cosines) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => unsafe { cosines_avx2(query, rows, chosen, cosines) },
            // The compiler already uses NEON well for this loop.
            #[cfg(target_arch = "aarch64")]
            Set::Neon => self::cosines(query, rows, chosen, cosines),
            Set::Portable => self::cosines(query, rows, chosen, cosines),
        }
    }

    /// Appends the index and the distance of every sketch that `admitted` has a bit for and whose
    /// distance is less than `limit`. The query has a word in each plane for each word of a sketch.
    pub(super) fn near<const PLANES: usize>(
        self,
        query: &[[u64; PLANES]],
        sketches: &[Words],
        admitted: &[u64],
        limit: u64,
        found: &mut Vec<(u32, u32)>,
    ) {
        match self.0 {
            // SAFETY: this variant is created only on processors that have the features that the
            // function is compiled for, which is all that calling it requires.
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => unsafe { near_avx512(query, sketches, admitted, limit, found) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => unsafe { near_avx2(query, sketches, admitted, limit, found) },
            // SAFETY: every processor that this is compiled for has the feature that the function
            // requires: a build without it fails.
            #[cfg(target_arch = "aarch64")]
            Set::Neon => unsafe { near_neon(query, sketches, admitted, limit, found) },
            Set::Portable => near(query, sketches, admitted, limit, found),
        }
    }
}

/// Returns the largest magnitude that a component of the query may have, so that no sum over that
/// many products with 8-bit components overflows 32 bits.
pub(super) fn query_limit(dimensions: usize) -> i16 {
    let largest_sum = i32::MAX as usize / 128;
    i16::try_from(largest_sum / dimensions.max(1)).unwrap_or(i16::MAX)
}

/// Written by hand, because the compiler uses registers of half the width for [`dots`], and two
/// instructions where there is one.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
fn dots_avx512(query: &[[i16; LINE]], rows: Rows<'_>, chosen: &[u32], products: &mut [f32]) {
    for (row, product) in chosen.iter().zip(products) {
        let row = *row as usize;
        let mut sums = [_mm512_setzero_si512(); 2];
        for (query, line) in query
            .iter()
            .zip(&rows.lines[row * query.len()..][..query.len()])
        {
            let halves = query
                .as_chunks::<32>()
                .0
                .iter()
                .zip(line.0.as_chunks::<32>().0);
            for ((query, half), sum) in halves.zip(&mut sums) {
                // SAFETY: 32 bytes are read from an array of 32 bytes, at any address.
                let values = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
                // SAFETY: 64 bytes are read from an array of 32 numbers of 2 bytes, at any address.
                let query = unsafe { _mm512_loadu_si512(query.as_ptr().cast()) };
                *sum = _mm512_dpwssd_epi32(*sum, _mm512_cvtepi8_epi16(values), query);
            }
        }
        let sum = _mm512_reduce_add_epi32(_mm512_add_epi32(sums[0], sums[1]));
        *product = sum as f32 * rows.scales[row];
    }
}

/// Written by hand, because the compiler does not vectorise [`near`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vpopcntdq")]
fn near_avx512<const PLANES: usize>(
    query: &[[u64; PLANES]],
    sketches: &[Words],
    admitted: &[u64],
    limit: u64,
    found: &mut Vec<(u32, u32)>,
) {
    let limits = _mm512_set1_epi64(limit as i64);
    for (index, block) in sketches.chunks_exact(query.len().max(1)).enumerate() {
        let bits = admitted_bits(admitted, index);
        if bits == 0 {
            continue;
        }
        let mut counts = [_mm512_setzero_si512(); PLANES];
        for (query, words) in query.iter().zip(block) {
            // SAFETY: 64 bytes are read from an array of 8 numbers of 8 bytes, at any address.
            let words = unsafe { _mm512_loadu_si512(words.0.as_ptr().cast()) };
            for (plane, counts) in query.iter().zip(&mut counts) {
                let differ = _mm512_xor_si512(words, _mm512_set1_epi64(*plane as i64));
                *counts = _mm512_add_epi64(*counts, _mm512_popcnt_epi64(differ));
            }
        }
        let mut sum = _mm512_setzero_si512();
        for counts in counts.into_iter().rev() {
            sum = _mm512_add_epi64(_mm512_add_epi64(sum, sum), counts);
        }
        let mut near = bits & _mm512_cmplt_epu64_mask(sum, limits);
        if near != 0 {
            let mut distances = [0_u64; BLOCK];
            // SAFETY: 64 bytes are written to an array of 8 numbers of 8 bytes, at any address.
            unsafe { _mm512_storeu_si512(distances.as_mut_ptr().cast(), sum) };
            while near != 0 {
                let lane = near.trailing_zeros() as usize;
                found.push(((index * BLOCK + lane) as u32, distances[lane] as u32));
                near &= near - 1;
            }
        }
    }
}

/// Like [`dots_avx512`], with registers of half the size.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dots_avx2(query: &[[i16; LINE]], rows: Rows<'_>, chosen: &[u32], products: &mut [f32]) {
    for (row, product) in chosen.iter().zip(products) {
        let row = *row as usize;
        let mut sums = [_mm256_setzero_si256(); 4];
        for (query, line) in query
            .iter()
            .zip(&rows.lines[row * query.len()..][..query.len()])
        {
            let parts = query
                .as_chunks::<16>()
                .0
                .iter()
                .zip(line.0.as_chunks::<16>().0);
            for ((query, part), sum) in parts.zip(&mut sums) {
                // SAFETY: 16 bytes are read from an array of 16 bytes, at any address.
                let values = unsafe { _mm_loadu_si128(part.as_ptr().cast()) };
                // SAFETY: 32 bytes are read from an array of 16 numbers of 2 bytes, at any address.
                let query = unsafe { _mm256_loadu_si256(query.as_ptr().cast()) };
                // Two products of 16 and 8 bits are added in 32 bits, which cannot overflow.
                *sum =
                    _mm256_add_epi32(*sum, _mm256_madd_epi16(_mm256_cvtepi8_epi16(values), query));
            }
        }
        let sum = _mm256_add_epi32(
            _mm256_add_epi32(sums[0], sums[1]),
            _mm256_add_epi32(sums[2], sums[3]),
        );
        let mut lanes = [0_i32; 8];
        // SAFETY: 32 bytes are written to an array of 8 numbers of 4 bytes, at any address.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), sum) };
        *product = lanes
            .iter()
            .fold(0_i32, |sum, lane| sum.wrapping_add(*lane)) as f32
            * rows.scales[row];
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn cosines_avx512(query: &[[f32; LINE]], rows: Rows<'_>, chosen: &[u32], cosines: &mut [f32]) {
    self::cosines(query, rows, chosen, cosines);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn cosines_avx2(query: &[[f32; LINE]], rows: Rows<'_>, chosen: &[u32], cosines: &mut [f32]) {
    self::cosines(query, rows, chosen, cosines);
}

/// Counts bits by table lookup, four at a time (W. Mula, N. Kurz and D. Lemire, Faster Population
/// Counts Using AVX2 Instructions, 2018). The table of each plane includes its weight, so that the
/// bytes of a word sum up to at most 8 x 15.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn near_avx2<const PLANES: usize>(
    query: &[[u64; PLANES]],
    sketches: &[Words],
    admitted: &[u64],
    limit: u64,
    found: &mut Vec<(u32, u32)>,
) {
    // The bit counts of 0 to 15, in both halves of the register.
    let ones = _mm256_set1_epi64x(0x0302_0201_0201_0100);
    let ones = _mm256_blend_epi32::<0b1100_1100>(ones, _mm256_add_epi8(ones, _mm256_set1_epi8(1)));
    let mut tables = [ones; PLANES];
    for plane in 1..PLANES {
        tables[plane] = _mm256_add_epi8(tables[plane - 1], tables[plane - 1]);
    }
    let low = _mm256_set1_epi8(0x0f);
    for (index, block) in sketches.chunks_exact(query.len().max(1)).enumerate() {
        let bits = admitted_bits(admitted, index);
        if bits == 0 {
            continue;
        }
        let mut sums = [_mm256_setzero_si256(); 2];
        for (query, words) in query.iter().zip(block) {
            for (words, sum) in words.0.as_chunks::<4>().0.iter().zip(&mut sums) {
                // SAFETY: 32 bytes are read from an array of 4 numbers of 8 bytes, at any address.
                let words = unsafe { _mm256_loadu_si256(words.as_ptr().cast()) };
                let mut bytes = _mm256_setzero_si256();
                for (plane, table) in query.iter().zip(&tables) {
                    let differ = _mm256_xor_si256(words, _mm256_set1_epi64x(*plane as i64));
                    let lower = _mm256_shuffle_epi8(*table, _mm256_and_si256(differ, low));
                    let upper = _mm256_and_si256(_mm256_srli_epi16::<4>(differ), low);
                    let upper = _mm256_shuffle_epi8(*table, upper);
                    bytes = _mm256_add_epi8(bytes, _mm256_add_epi8(lower, upper));
                }
                *sum = _mm256_add_epi64(*sum, _mm256_sad_epu8(bytes, _mm256_setzero_si256()));
            }
        }
        let mut distances = [0_u64; BLOCK];
        for (distances, sum) in distances.as_chunks_mut::<4>().0.iter_mut().zip(sums) {
            // SAFETY: 32 bytes are written to an array of 4 numbers of 8 bytes, at any address.
            unsafe { _mm256_storeu_si256(distances.as_mut_ptr().cast(), sum) };
        }
        keep_near(&distances, index, bits, limit, found);
    }
}

/// Written by hand, because the compiler adds up the lanes of [`dots`] again for every line.
#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
fn dots_neon(query: &[[i16; LINE]], rows: Rows<'_>, chosen: &[u32], products: &mut [f32]) {
    for (row, product) in chosen.iter().zip(products) {
        let row = *row as usize;
        let mut sums = [vdupq_n_s32(0); 4];
        for (query, line) in query
            .iter()
            .zip(&rows.lines[row * query.len()..][..query.len()])
        {
            for (query, part) in query
                .as_chunks::<16>()
                .0
                .iter()
                .zip(line.0.as_chunks::<16>().0)
            {
                // SAFETY: 16 bytes are read from an array of 16 bytes, at any address.
                let values = unsafe { vld1q_s8(part.as_ptr()) };
                // SAFETY: twice 16 bytes are read from an array of 16 numbers of 2 bytes.
                let query = unsafe { vld1q_s16_x2(query.as_ptr()) };
                let (lower, upper) = (vmovl_s8(vget_low_s8(values)), vmovl_high_s8(values));
                sums[0] = vmlal_s16(sums[0], vget_low_s16(lower), vget_low_s16(query.0));
                sums[1] = vmlal_high_s16(sums[1], lower, query.0);
                sums[2] = vmlal_s16(sums[2], vget_low_s16(upper), vget_low_s16(query.1));
                sums[3] = vmlal_high_s16(sums[3], upper, query.1);
            }
        }
        let sum = vaddq_s32(vaddq_s32(sums[0], sums[1]), vaddq_s32(sums[2], sums[3]));
        *product = vaddvq_s32(sum) as f32 * rows.scales[row];
    }
}

/// Written by hand, because the compiler widens the counts of each plane in [`near`] separately.
/// Here the planes are weighted and added first, when a byte is at most 8 x 15.
#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
fn near_neon<const PLANES: usize>(
    query: &[[u64; PLANES]],
    sketches: &[Words],
    admitted: &[u64],
    limit: u64,
    found: &mut Vec<(u32, u32)>,
) {
    for (index, block) in sketches.chunks_exact(query.len().max(1)).enumerate() {
        let bits = admitted_bits(admitted, index);
        if bits == 0 {
            continue;
        }
        // A word adds at most 4 x 8 x 15 to a lane, so an overflow takes over 500 million
        // dimensions.
        let mut sums = [vdupq_n_u32(0); 4];
        for (query, words) in query.iter().zip(block) {
            for (words, sum) in words.0.as_chunks::<2>().0.iter().zip(&mut sums) {
                // SAFETY: 16 bytes are read from an array of 2 numbers of 8 bytes, at any address.
                let words = unsafe { vld1q_u64(words.as_ptr()) };
                let mut bytes = vdupq_n_u8(0);
                for plane in query.iter().rev() {
                    let differ = vreinterpretq_u8_u64(veorq_u64(words, vdupq_n_u64(*plane)));
                    bytes = vaddq_u8(vaddq_u8(bytes, bytes), vcntq_u8(differ));
                }
                *sum = vpadalq_u16(*sum, vpaddlq_u8(bytes));
            }
        }
        let mut distances = [0_u64; BLOCK];
        for (distances, sum) in distances.as_chunks_mut::<2>().0.iter_mut().zip(sums) {
            let sum = vpaddlq_u32(sum);
            *distances = [vgetq_lane_u64::<0>(sum), vgetq_lane_u64::<1>(sum)];
        }
        keep_near(&distances, index, bits, limit, found);
    }
}

// Below are only plain loops: a closure passed to a library function would be compiled without the
// caller's instruction set.

#[expect(
    clippy::inline_always,
    reason = "each caller compiles its own copy for its instruction set"
)]
#[inline(always)]
fn dots(query: &[[i16; LINE]], rows: Rows<'_>, chosen: &[u32], products: &mut [f32]) {
    for (row, product) in chosen.iter().zip(products) {
        let row = *row as usize;
        let mut sum = 0_i32;
        for (query, line) in query
            .iter()
            .zip(&rows.lines[row * query.len()..][..query.len()])
        {
            for (query, value) in query.iter().zip(&line.0) {
                // Wrapping only lets the compiler vectorise the loop without overflow checks:
                // `query_limit` rules overflow out.
                sum = sum.wrapping_add(i32::from(*query).wrapping_mul(i32::from(*value)));
            }
        }
        *product = sum as f32 * rows.scales[row];
    }
}

#[expect(
    clippy::inline_always,
    reason = "each caller compiles its own copy for its instruction set"
)]
#[inline(always)]
fn cosines(query: &[[f32; LINE]], rows: Rows<'_>, chosen: &[u32], cosines: &mut [f32]) {
    for (row, cosine) in chosen.iter().zip(cosines) {
        let row = *row as usize;
        let mut sums = [0.0_f32; LANES];
        for (query, line) in query
            .iter()
            .zip(&rows.lines[row * query.len()..][..query.len()])
        {
            let (query, _) = query.as_chunks::<LANES>();
            let (line, _) = line.0.as_chunks::<LANES>();
            for (query, values) in query.iter().zip(line) {
                for lane in 0..LANES {
                    sums[lane] += query[lane] * f32::from(values[lane]);
                }
            }
        }
        let mut sum = 0.0;
        for lane in sums {
            sum += lane;
        }
        *cosine = sum * rows.scales[row];
    }
}

#[expect(
    clippy::inline_always,
    reason = "each caller compiles its own copy for its instruction set"
)]
#[inline(always)]
fn near<const PLANES: usize>(
    query: &[[u64; PLANES]],
    sketches: &[Words],
    admitted: &[u64],
    limit: u64,
    found: &mut Vec<(u32, u32)>,
) {
    let blocks = sketches.chunks_exact(query.len().max(1));
    for (index, block) in blocks.enumerate() {
        let bits = admitted_bits(admitted, index);
        if bits == 0 {
            continue;
        }
        let mut counts = [[0_u64; BLOCK]; PLANES];
        for (query, words) in query.iter().zip(block) {
            for (plane, counts) in query.iter().zip(&mut counts) {
                for (word, count) in words.0.iter().zip(counts) {
                    *count += u64::from((word ^ plane).count_ones());
                }
            }
        }
        let mut distances = [0_u64; BLOCK];
        for (plane, counts) in counts.iter().enumerate() {
            for (distance, count) in distances.iter_mut().zip(counts) {
                *distance += count << plane;
            }
        }
        keep_near(&distances, index, bits, limit, found);
    }
}

/// Returns the bits of a block's slots.
fn admitted_bits(admitted: &[u64], block: usize) -> u8 {
    admitted
        .get(block / BLOCK)
        .map_or(0, |word| (word >> (block % BLOCK * BLOCK)) as u8)
}

#[expect(
    clippy::inline_always,
    reason = "each caller compiles its own copy for its instruction set"
)]
#[inline(always)]
fn keep_near(
    distances: &[u64; BLOCK],
    block: usize,
    bits: u8,
    limit: u64,
    found: &mut Vec<(u32, u32)>,
) {
    let mut is_near = false;
    for distance in distances {
        is_near |= *distance < limit;
    }
    if is_near {
        for (lane, distance) in distances.iter().enumerate() {
            if *distance < limit && bits >> lane & 1 == 1 {
                found.push(((block * BLOCK + lane) as u32, *distance as u32));
            }
        }
    }
}

/// A file mapped into memory: read-only, and shared with other processes.
#[derive(Debug)]
pub(super) struct Mapping(memmap2::Mmap);

impl Mapping {
    /// Maps the whole file as it is now.
    ///
    /// # Errors
    /// The system's error if the file is empty or cannot be mapped.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        // SAFETY: the bytes must not change while they are mapped. They belong to a segment: no
        // process writes to a segment or truncates it once it has its name; another segment
        // replaces it by a rename, and mapped pages stay until they are unmapped. Only this user
        // can write in the folder. A program of this user that writes into the file corrupts its
        // content, not the process: values read from it are only used for further reads that are
        // checked, and every number is checked before it is used as an index. A program that
        // truncates the file, or a disk that cannot be read, ends the process by a signal (SIGBUS),
        // which loses no data: the file is a copy.
        unsafe { memmap2::Mmap::map(file) }.map(Mapping)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Gives the pages that are in memory back to the system. The next reads get the pages from its
    /// cache of the file.
    pub(super) fn release(&self) {
        #[cfg(unix)]
        {
            // SAFETY: the advice may lose only what was written to the pages. These are read-only
            // and of a file, so that the bytes are the same before and after, also for a thread
            // that reads them at the same time.
            let _stays = unsafe { self.0.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
        }
    }
}

/// Types for which any bytes are a valid value.
pub(super) trait Plain: Copy {}
impl Plain for Line {}
impl Plain for Words {}
impl Plain for f32 {}
impl Plain for u32 {}
impl Plain for u64 {}

/// Returns the bytes as elements; empty if they are misaligned or do not end with a whole element.
pub(super) fn elements<T: Plain>(bytes: &[u8]) -> &[T] {
    // SAFETY: only `Plain` types are used, which have no padding and for which any bits are a
    // value; the function handles the alignment, and the slice lives as long as the bytes.
    let (before, elements, after) = unsafe { bytes.align_to::<T>() };
    if before.is_empty() && after.is_empty() {
        elements
    } else {
        &[]
    }
}

/// Returns the bytes of lines.
pub(super) fn bytes_of(lines: &[Line]) -> &[u8] {
    // SAFETY: a line is 64 bytes without padding, and bytes need no alignment.
    unsafe { lines.align_to::<u8>() }.1
}

#[cfg(test)]
mod tests;
