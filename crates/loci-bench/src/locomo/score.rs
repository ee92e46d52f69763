//! The score of a ranking: the share of a question's evidence among its first results.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// The numbers of first results that are scored.
pub const DEPTHS: [usize; 3] = [1, 5, 10];

/// Sums over questions.
#[derive(Debug, Default, Clone, Copy)]
pub struct Score {
    questions: usize,
    shares: [f64; DEPTHS.len()],
    reciprocal_ranks: f64,
}

impl Score {
    /// Scores one question: the share of its evidence among the first results, and the reciprocal
    /// rank of the first piece. A question without evidence gets the full score.
    pub fn of<T: Ord>(ranked: &[T], evidence: &BTreeSet<T>) -> Self {
        if evidence.is_empty() {
            return Score {
                questions: 1,
                shares: [1.0; DEPTHS.len()],
                reciprocal_ranks: 1.0,
            };
        }
        let share = |depth: usize| {
            let found: BTreeSet<&T> = ranked
                .iter()
                .take(depth)
                .filter(|result| evidence.contains(result))
                .collect();
            found.len() as f64 / evidence.len() as f64
        };
        let first = ranked.iter().position(|result| evidence.contains(result));
        let reciprocal_ranks = first.map_or(0.0, |place| 1.0 / (place + 1) as f64);
        Score {
            questions: 1,
            shares: DEPTHS.map(share),
            reciprocal_ranks,
        }
    }

    /// Returns the sum of both scores.
    #[must_use]
    pub fn plus(self, other: Score) -> Self {
        Score {
            questions: self.questions + other.questions,
            shares: std::array::from_fn(|index| self.shares[index] + other.shares[index]),
            reciprocal_ranks: self.reciprocal_ranks + other.reciprocal_ranks,
        }
    }

    /// Returns the number of questions.
    pub fn questions(&self) -> usize {
        self.questions
    }

    /// Returns the means over the questions: the shares at each depth, then the mean reciprocal
    /// rank.
    pub fn means(&self) -> [f64; DEPTHS.len() + 1] {
        let [first, fifth, tenth] = self.shares;
        [first, fifth, tenth, self.reciprocal_ranks].map(|sum| sum / self.questions.max(1) as f64)
    }

    /// Returns the means as JSON, by name.
    pub fn value(&self) -> Value {
        let [at_1, at_5, at_10, mrr] = self.means();
        json!({"recall_at_1": at_1, "recall_at_5": at_5, "recall_at_10": at_10, "mrr": mrr})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_scored_by_its_evidence() {
        let evidence = BTreeSet::from(["D1:1", "D1:2"]);
        let ranked = ["x", "D1:2", "D1:2", "x", "x", "D1:1"];
        let rows = [
            (Score::of(&ranked, &evidence), [0.0, 0.5, 1.0, 0.5]),
            (Score::of(&[], &evidence), [0.0; 4]),
            (Score::of::<&str>(&[], &BTreeSet::new()), [1.0; 4]),
            (
                Score::of(&ranked, &evidence).plus(Score::of(&["D1:1"], &evidence)),
                [0.25, 0.5, 0.75, 0.75],
            ),
        ];
        for (score, means) in rows {
            assert!(
                score
                    .means()
                    .iter()
                    .zip(means)
                    .all(|(a, b)| (a - b).abs() < 1e-9),
                "{score:?} {means:?}"
            );
        }
    }
}
