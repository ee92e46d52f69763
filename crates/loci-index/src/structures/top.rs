use std::cmp::Ordering;

/// Selects the best `limit` groups from a stream of members: a group has the score of its best
/// member. `tie` orders groups of equal score, lesser first.
pub(super) struct Best<T> {
    limit: usize,
    tie: T,
    /// Members, possibly several of a group.
    kept: Vec<(u32, f32)>,
    floor: f32,
}

impl<T: Fn(u32, u32) -> Ordering> Best<T> {
    pub(super) fn new(limit: usize, tie: T) -> Self {
        Best {
            limit,
            tie,
            kept: Vec::new(),
            floor: f32::NEG_INFINITY,
        }
    }

    /// Returns the minimum score of a member that can still matter.
    #[inline]
    pub(super) fn floor(&self) -> f32 {
        self.floor
    }

    #[inline]
    pub(super) fn push(&mut self, group: u32, score: f32) {
        const BUFFER_MIN: usize = 64;
        if score < self.floor || self.limit == 0 {
            return;
        }
        self.kept.push((group, score));
        if self.kept.len() >= self.limit.saturating_mul(2).max(BUFFER_MIN) {
            self.select();
        }
    }

    /// Keeps one member of each group, and the best `limit` of these.
    fn select(&mut self) {
        self.kept
            .sort_unstable_by(|left, right| left.0.cmp(&right.0).then(right.1.total_cmp(&left.1)));
        self.kept.dedup_by_key(|kept| kept.0);
        if self.limit > 0 && self.kept.len() >= self.limit {
            let better = better(&self.tie);
            let (_, last, _) = self.kept.select_nth_unstable_by(self.limit - 1, better);
            self.floor = last.1;
            self.kept.truncate(self.limit);
        }
    }

    /// Returns the best groups, best first.
    pub(super) fn finish(mut self) -> Vec<(u32, f32)> {
        self.select();
        self.kept.sort_unstable_by(better(&self.tie));
        self.kept
    }
}

fn better(tie: &impl Fn(u32, u32) -> Ordering) -> impl Fn(&(u32, f32), &(u32, f32)) -> Ordering {
    |left, right| {
        right
            .1
            .total_cmp(&left.1)
            .then_with(|| tie(left.0, right.0))
    }
}

/// Returns the best `limit` distinct items, best first; `tie` orders items of equal score, lesser
/// first.
pub fn top(
    limit: usize,
    scored: impl IntoIterator<Item = (u32, f32)>,
    tie: impl Fn(u32, u32) -> Ordering,
) -> Vec<(u32, f32)> {
    let mut best = Best::new(limit, tie);
    scored
        .into_iter()
        .for_each(|(item, score)| best.push(item, score));
    best.finish()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_the_head_of_the_sorted_whole(
            members in vec((0_u32..300, 0_u8..20), 0..700),
            limit in 0_usize..200,
        ) {
            let members = members.into_iter().map(|(group, score)| (group, f32::from(score)));
            let mut best = Best::new(limit, |left: u32, right: u32| right.cmp(&left));
            let mut groups = BTreeMap::new();
            for (group, score) in members {
                best.push(group, score);
                let highest = groups.entry(group).or_insert(score);
                *highest = score.max(*highest);
            }
            let mut sorted: Vec<(u32, f32)> = groups.into_iter().collect();
            sorted.sort_by(|left, right| right.1.total_cmp(&left.1).then(right.0.cmp(&left.0)));
            sorted.truncate(limit);
            prop_assert_eq!(best.finish(), sorted);
        }
    }

    #[test]
    fn a_limit_beyond_the_whole_returns_the_whole() {
        assert_eq!(
            top(usize::MAX, [(1, 0.5), (2, 1.0)], |left, right| left
                .cmp(&right)),
            [(2, 1.0), (1, 0.5)]
        );
    }
}
