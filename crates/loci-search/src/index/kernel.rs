//! Dot products of a 16-bit query with rows of 8-bit vectors: the one hot loop of the exact scan.
//!
//! The loop is written once, in a form that the compiler turns into vector instructions, and is
//! compiled once for each instruction set; which copy runs is decided at run time. All arithmetic
//! is on integers, so every copy gives the same sums.

#![expect(unsafe_code, reason = "a function with a target feature may be called only where the processor has it")]

/// The largest magnitude that a component of the query may have, so that no sum over that many
/// products with 8-bit components leaves 32 bits.
pub(super) fn query_limit(dimensions: usize) -> i16 {
    let largest_sum = i32::MAX as usize / 128;
    i16::try_from(largest_sum / dimensions.max(1)).unwrap_or(i16::MAX)
}

/// Puts the dot product of the query with the row of each slot into `products`. Row `n` begins at
/// component `n * query.len()`. Components of the query stay within [`query_limit`].
pub(super) fn dots(query: &[i16], rows: &[i8], slots: &[u32], products: &mut [i32]) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl") {
            // SAFETY: the processor has just been found to have the features that the function was
            // compiled for, which is all that calling it requires: its body is safe code.
            return unsafe { dots_avx512(query, rows, slots, products) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: as above.
            return unsafe { dots_avx2(query, rows, slots, products) };
        }
    }
    dots_portable(query, rows, slots, products);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn dots_avx512(query: &[i16], rows: &[i8], slots: &[u32], products: &mut [i32]) {
    dots_portable(query, rows, slots, products);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dots_avx2(query: &[i16], rows: &[i8], slots: &[u32], products: &mut [i32]) {
    dots_portable(query, rows, slots, products);
}

/// Plain loops only: a closure handed to a library function would be compiled without the caller's
/// instruction set.
#[expect(clippy::inline_always, reason = "each caller compiles its own copy for its instruction set")]
#[inline(always)]
fn dots_portable(query: &[i16], rows: &[i8], slots: &[u32], products: &mut [i32]) {
    for (slot, product) in slots.iter().zip(products) {
        let start = *slot as usize * query.len();
        let mut sum = 0_i32;
        for (query, value) in query.iter().zip(&rows[start..start + query.len()]) {
            // Wrapping only so that no overflow check keeps the loop from being vectorised:
            // `query_limit` rules overflow out.
            sum = sum.wrapping_add(i32::from(*query).wrapping_mul(i32::from(*value)));
        }
        *product = sum;
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn obvious(query: &[i16], row: &[i8]) -> i64 {
        query.iter().zip(row).map(|(query, value)| i64::from(*query) * i64::from(*value)).sum()
    }

    proptest! {
        #[test]
        fn every_copy_gives_the_obvious_sums(
            (query, rows) in (0_usize..200).prop_flat_map(|dimensions| {
                let limit = query_limit(dimensions);
                (vec(-limit..=limit, dimensions), vec(any::<i8>(), dimensions * 3))
            }),
        ) {
            let slots = [2, 0, 1, 1];
            let row = |slot: u32| &rows[slot as usize * query.len()..][..query.len()];
            let expected: Vec<i64> = slots.iter().map(|slot| obvious(&query, row(*slot))).collect();
            let check = |dots: &dyn Fn(&mut [i32])| {
                let mut products = vec![0; slots.len()];
                dots(&mut products);
                let products: Vec<i64> = products.into_iter().map(i64::from).collect();
                assert_eq!(products, expected);
            };
            check(&|products| dots_portable(&query, &rows, &slots, products));
            check(&|products| dots(&query, &rows, &slots, products));
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the feature has just been found.
                check(&|products| unsafe { dots_avx2(&query, &rows, &slots, products) });
            }
        }
    }

    #[test]
    fn the_largest_components_do_not_overflow() {
        for dimensions in [1, 384, 512, 4_096] {
            let query = vec![-query_limit(dimensions); dimensions];
            let rows = vec![i8::MIN; dimensions];
            let mut products = [0];
            dots(&query, &rows, &[0], &mut products);
            assert_eq!(i64::from(products[0]), obvious(&query, &rows));
        }
    }
}
