//! One relevance from two opinions: what the words say and what the meaning says.
//!
//! Both scores are normalised over the query's candidates and summed with weights. On dialogue
//! this finds more than reciprocal rank fusion, which throws the distances between scores away.
//! Both begin at 0: no word in common, and at a right angle or beyond.
//!
//! Plain min-max would call the best candidate perfect however poor it is. Cosines are therefore
//! scaled to `COSINE_STRONG` where none reaches it: weak similarity stays a small number and
//! leaves the order to the words.

/// The share of the words in the sum.
pub const WORDS_WEIGHT: f64 = 0.5;
/// A cosine that all-MiniLM-L6-v2 gives to texts that say nearly the same.
const COSINE_STRONG: f32 = 0.5;

/// The scores of one candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scores {
    /// BM25, 0 where no word matches.
    pub bm25: f32,
    /// Cosine, if there is a vector to compare.
    pub cosine: Option<f32>,
}

/// The relevance of each candidate, 0 to 1.
pub fn relevance(candidates: &[Scores]) -> Vec<f64> {
    let bm25_max = candidates.iter().map(|scores| scores.bm25).fold(0.0, f32::max);
    let cosines = || candidates.iter().filter_map(|scores| scores.cosine);
    let has_cosines = cosines().next().is_some();
    let cosine_top = cosines().fold(COSINE_STRONG, f32::max);
    let words_weight = match (bm25_max > 0.0, has_cosines) {
        (true, true) => WORDS_WEIGHT,
        (true, false) => 1.0,
        (false, _) => 0.0,
    };
    let of = |scores: &Scores| {
        let words = if bm25_max > 0.0 { f64::from(scores.bm25 / bm25_max) } else { 0.0 };
        let meaning = scores.cosine.map_or(0.0, |cosine| f64::from(cosine.max(0.0) / cosine_top));
        (words_weight * words + (1.0 - words_weight) * meaning).clamp(0.0, 1.0)
    };
    candidates.iter().map(of).collect()
}

/// How little the first ranks differ in [`reciprocal_rank`]: the value of the paper.
const RANK_OFFSET: f64 = 60.0;

/// Reciprocal rank fusion: the sum of `weight / (60 + rank)` over the rankings, each given as its
/// weight and the rank in it, from 1; none where the candidate does not occur.
///
/// G. V. Cormack, C. L. A. Clarke, S. Büttcher: "Reciprocal Rank Fusion outperforms Condorcet and
/// individual Rank Learning Methods", SIGIR 2009; the weights are an addition.
pub fn reciprocal_rank(rankings: impl IntoIterator<Item = (f64, Option<usize>)>) -> f64 {
    let share = |(weight, rank): (f64, Option<usize>)| rank.map_or(0.0, |rank| weight / (RANK_OFFSET + rank as f64));
    rankings.into_iter().map(share).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(bm25: f32, cosine: f32) -> Scores {
        Scores { bm25, cosine: Some(cosine) }
    }

    #[test]
    fn agreement_wins() {
        let found = relevance(&[scores(4.0, 0.2), scores(4.0, 0.8), scores(0.0, 0.8)]);
        assert!(found[1] > found[0] && found[1] > found[2]);
        assert!((found[1] - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_poor_best_is_not_perfect() {
        let found = relevance(&[scores(0.0, 0.1)]);
        assert!(found[0] < 0.25);
    }

    #[test]
    fn one_side_alone_decides_where_the_other_is_silent() {
        let words = [Scores { bm25: 2.0, cosine: None }, Scores { bm25: 1.0, cosine: None }];
        assert_eq!(relevance(&words), [1.0, 0.5]);
        let meaning = relevance(&[scores(0.0, 0.9), scores(0.0, 0.45)]);
        assert!((meaning[0] - 1.0).abs() < 1e-6 && (meaning[1] - 0.5).abs() < 1e-6);
    }

    #[test]
    fn ranks_count_by_their_weight_and_absence_counts_nothing() {
        let rows = [
            ([(1.0, Some(1)), (0.7, Some(3))], 1.0 / 61.0 + 0.7 / 63.0),
            ([(1.0, None), (0.7, Some(1))], 0.7 / 61.0),
            ([(1.0, None), (0.7, None)], 0.0),
        ];
        for (rankings, expected) in rows {
            assert!((reciprocal_rank(rankings) - expected).abs() < 1e-12, "{rankings:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn relevance_is_a_share(bm25 in proptest::collection::vec(0.0f32..50.0, 0..20)) {
            let candidates: Vec<_> = bm25.iter().map(|&bm25| Scores { bm25, cosine: Some(bm25 / 25.0 - 1.0) }).collect();
            for relevance in relevance(&candidates) {
                proptest::prop_assert!((0.0..=1.0).contains(&relevance));
            }
        }
    }
}
