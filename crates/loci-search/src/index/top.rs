use std::cmp::Ordering;

/// The best `limit` of many, best first; `tie` orders those of equal score, lesser first.
pub fn top(
    limit: usize,
    scored: impl IntoIterator<Item = (u32, f32)>,
    tie: impl Fn(u32, u32) -> Ordering,
) -> Vec<(u32, f32)> {
    const BUFFER_MIN: usize = 64;
    if limit == 0 {
        return Vec::new();
    }
    let better = |left: &(u32, f32), right: &(u32, f32)| right.1.total_cmp(&left.1).then_with(|| tie(left.0, right.0));
    let full = limit.saturating_mul(2).max(BUFFER_MIN);
    let mut kept: Vec<(u32, f32)> = Vec::new();
    let mut floor = f32::NEG_INFINITY;
    for (item, score) in scored {
        if score < floor {
            continue;
        }
        kept.push((item, score));
        if kept.len() == full {
            let (_, last, _) = kept.select_nth_unstable_by(limit - 1, better);
            floor = last.1;
            kept.truncate(limit);
        }
    }
    kept.sort_unstable_by(better);
    kept.truncate(limit);
    kept
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_the_head_of_the_sorted_whole(scores in vec(0_u8..20, 0..500), limit in 0_usize..200) {
            let scored: Vec<(u32, f32)> = (0..).zip(scores.into_iter().map(f32::from)).collect();
            let mut sorted = scored.clone();
            sorted.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
            sorted.truncate(limit);
            prop_assert_eq!(top(limit, scored, |left, right| left.cmp(&right)), sorted);
        }
    }

    #[test]
    fn a_limit_beyond_the_whole_returns_the_whole() {
        assert_eq!(top(usize::MAX, [(1, 0.5), (2, 1.0)], |left, right| left.cmp(&right)), [(2, 1.0), (1, 0.5)]);
    }
}
