//! How likely it is that a search has an answer.
//!
//! A search always finds something, because some memory is the nearest. The strength is the
//! probability, 0 to 1, that the store has an answer, where one half of all queries have one. It is
//! a logistic function of how near the nearest text is and how much of the query the best text
//! holds (J. Platt: "Probabilistic Outputs for Support Vector Machines", in: Advances in Large
//! Margin Classifiers, 2000), and does not depend on the number of good results, as the relevance
//! does. The strength of a result is the same function of its own scores, so that no result is
//! stronger than its search.
//!
//! `loci-bench strength --fit` fits the coefficients to training halves
//! (`docs/adr/0089-a-search-has-a-strength.md`).

use loci_core::CosineScale;

/// The least strength of a search that may have an answer. Of the queries of the training halves
/// that have one, 0.037 stay below.
pub const STRENGTH_MIN: f64 = 0.3;
/// The strength below which a reply is short. Of the queries of the training halves that have an
/// answer, 0.009 stay below.
const SHORT_BELOW: f64 = 0.1;
/// The same for a model whose cosines have another scale, with which even a question that shares no
/// word with its answer has some strength: none of 1,193 held-out questions that have an answer stay
/// below with `multilingual-e5-small`, and 0.006 below the other limit, most of them in other words
/// than their answers.
const SHORT_BELOW_ON_ANOTHER_SCALE: f64 = 0.05;
/// The tokens of such a reply, unless the call names a budget: room for about three facts with
/// their fields.
const SHORT_REPLY_TOKENS: usize = 400;
/// The number of passages of a store of medium size, to which the coefficient for the size of a
/// store is relative.
const PASSAGES: f64 = 1_000.0;

/// What a reply says to a search without an answer.
pub(crate) const ONLY_LOOSELY_RELATED: &str =
    "nothing stored answers this; these are only loosely related";

/// A logistic function. Better scores never reduce it, and more passages never increase it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StrengthFunction {
    /// The constant term.
    pub bias: f64,
    /// The coefficient of [`StrengthFeatures::meaning`], at least 0.
    pub meaning: f64,
    /// The coefficient of [`StrengthFeatures::words`], at least 0.
    pub words: f64,
}

/// The coefficients of the strength.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StrengthWeights {
    /// For texts that are compared by words and by meaning.
    pub both: StrengthFunction,
    /// The same where the cosines have another scale than the bundled model's, fitted with
    /// `multilingual-e5-small`: cosines of two scales rank alike when they are mapped onto each
    /// other, and tell differently whether a text answers.
    pub both_on_another_scale: StrengthFunction,
    /// For texts that are compared only by words: without a model, without a vector, or for a
    /// language that the model does not know. The constant term is so high that such a search says
    /// as seldom as the other one that nothing answers, though it knows less.
    pub words: StrengthFunction,
    /// The coefficient of [`StrengthFeatures::passages`], at most 0: among more texts, the nearest
    /// unrelated one is nearer. It is set by hand, because the sets are of similar sizes: of
    /// unrelated texts whose cosines vary by 0.08, the greatest of 100,000 exceeds that of 1,000 by
    /// 0.09, by the expected maximum of normal variables.
    pub passages: f64,
}

impl StrengthWeights {
    /// The coefficients in use.
    pub const DEFAULT: StrengthWeights = StrengthWeights {
        both: StrengthFunction {
            bias: -8.33,
            meaning: 17.21,
            words: 5.23,
        },
        both_on_another_scale: StrengthFunction {
            bias: -4.43,
            meaning: 8.52,
            words: 6.23,
        },
        words: StrengthFunction {
            bias: -2.99,
            meaning: 0.0,
            words: 11.17,
        },
        passages: -0.35,
    };

    /// Returns the coefficients for cosines of a scale, with the ones for that scale in `both`.
    #[must_use]
    pub fn of_scale(self, scale: CosineScale) -> Self {
        if scale == CosineScale::BUNDLED {
            return self;
        }
        StrengthWeights {
            both: self.both_on_another_scale,
            ..self
        }
    }
}

/// The values from which a strength is computed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StrengthFeatures {
    /// The cosine, with what a text gains that stands apart; `None` if only words are compared.
    pub meaning: Option<f64>,
    /// The share of the query's information that one passage holds, 0 to 1: words count by their
    /// rarity.
    pub words: f64,
    /// The natural logarithm of the number of passages over 1,000.
    pub passages: f64,
}

impl StrengthFeatures {
    /// Returns the features of a text in a store with so many passages.
    pub(crate) fn new(meaning: Option<f64>, words: f64, passages: usize) -> Self {
        StrengthFeatures {
            meaning,
            words,
            passages: (passages.max(1) as f64 / PASSAGES).ln(),
        }
    }

    /// Returns the features of a search: the greatest cosine and the greatest share of its
    /// candidates, which may be of different ones.
    pub fn of_search(candidates: impl IntoIterator<Item = Self>) -> Self {
        let greater = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
        let best = candidates.into_iter().reduce(|best, one| StrengthFeatures {
            meaning: greater(best.meaning, one.meaning),
            words: best.words.max(one.words),
            ..best
        });
        best.unwrap_or_default()
    }

    /// Returns the strength, 0 to 1.
    pub fn strength(&self, weights: &StrengthWeights) -> f64 {
        let function = if self.meaning.is_some() {
            &weights.both
        } else {
            &weights.words
        };
        let sum = function.bias
            + function.meaning * self.meaning.unwrap_or(0.0)
            + function.words * self.words
            + weights.passages * self.passages;
        1.0 / (1.0 + (-sum).exp())
    }
}

/// Returns the tokens of a reply to a search of that strength, of a call that names no
/// budget; `None` for the budget of the installation. `scale` is that of the cosines.
pub(crate) fn reply_tokens(strength: Option<f64>, scale: CosineScale) -> Option<usize> {
    let below = if scale == CosineScale::BUNDLED {
        SHORT_BELOW
    } else {
        SHORT_BELOW_ON_ANOTHER_SCALE
    };
    strength
        .filter(|strength| *strength < below)
        .map(|_| SHORT_REPLY_TOKENS)
}

/// The strength from which on a match is strong.
const STRONG_FROM: f64 = 0.7;

/// Returns the grade of a match for people: `weak`, `fair` or `strong`; by its relevance among the
/// others if the strength is not known.
pub fn match_grade(strength: Option<f64>, relevance: f64) -> &'static str {
    if is_weak(strength) {
        "weak"
    } else if strength.unwrap_or(relevance) >= STRONG_FROM {
        "strong"
    } else {
        "fair"
    }
}

/// Reports whether a strength is too low for an answer; false if it is not known.
pub fn is_weak(strength: Option<f64>) -> bool {
    strength.is_some_and(|strength| strength < STRENGTH_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_short_where_an_answer_is_hardly_possible() {
        let other = CosineScale {
            unrelated: 0.8,
            same: 0.86,
        };
        let rows = [
            (Some(0.09), CosineScale::BUNDLED, true),
            (Some(0.1), CosineScale::BUNDLED, false),
            (Some(0.05), other, false),
            (Some(0.04), other, true),
            (None, CosineScale::BUNDLED, false),
        ];
        for (strength, scale, is_short) in rows {
            let tokens = reply_tokens(strength, scale);
            assert_eq!(tokens.is_some(), is_short, "{strength:?} {scale:?}");
        }
    }

    #[test]
    fn a_match_has_one_of_three_grades() {
        let rows = [
            (Some(0.1), 1.0, "weak"),
            (Some(0.3), 0.0, "fair"),
            (Some(0.9), 0.1, "strong"),
            (None, 0.9, "strong"),
            (None, 0.1, "fair"),
        ];
        for (strength, relevance, expected) in rows {
            assert_eq!(match_grade(strength, relevance), expected, "{strength:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_no_worse_in_anything_is_no_weaker(
            one in (-0.2f64..1.0, 0.0f64..1.0, 1usize..100_000),
            more in (0.0f64..0.5, 0.0f64..0.5, 0usize..1_000),
            is_by_meaning in proptest::bool::ANY,
            is_bundled in proptest::bool::ANY,
        ) {
            let other = CosineScale { unrelated: 0.8, same: 0.86 };
            let scale = if is_bundled { CosineScale::BUNDLED } else { other };
            let weights = StrengthWeights::DEFAULT.of_scale(scale);
            let features = |meaning: f64, words: f64, passages: usize| StrengthFeatures {
                meaning: is_by_meaning.then_some(meaning),
                words,
                passages: (passages as f64 / PASSAGES).ln(),
            };
            let weaker = features(one.0, one.1, one.2 + more.2).strength(&weights);
            let stronger = features(one.0 + more.0, one.1 + more.1, one.2).strength(&weights);
            proptest::prop_assert!((0.0..=1.0).contains(&weaker) && stronger >= weaker);
        }
    }

    #[test]
    fn a_near_text_may_answer_and_a_stray_word_does_not() {
        let strength = |meaning: Option<f64>, words: f64| {
            let features = StrengthFeatures {
                meaning,
                words,
                passages: 0.0,
            };
            Some(features.strength(&StrengthWeights::DEFAULT))
        };
        let rows = [
            (Some(0.6), 0.0, false),
            (Some(0.3), 0.9, false),
            (Some(0.2), 0.1, true),
            (Some(-0.1), 0.0, true),
            (None, 0.7, false),
            (None, 0.02, true),
        ];
        for (meaning, words, expected) in rows {
            assert_eq!(
                is_weak(strength(meaning, words)),
                expected,
                "{meaning:?} {words}"
            );
        }
        assert!(!is_weak(None));
    }

    /// A question of the held-out halves, which fitted nothing.
    struct HeldOut {
        is_answered: bool,
        strength: f64,
    }

    fn held_out() -> Vec<HeldOut> {
        let lines = include_str!("strength_held_out.tsv").lines();
        let number = |field: &str| field.parse::<f64>().unwrap();
        let of = |line: &str| {
            let fields: Vec<&str> = line.split('\t').collect();
            let features = StrengthFeatures {
                meaning: Some(number(fields[1])),
                words: number(fields[2]),
                passages: number(fields[3]),
            };
            HeldOut {
                is_answered: fields[0] == "1",
                strength: features.strength(&StrengthWeights::DEFAULT),
            }
        };
        lines
            .filter(|line| !line.starts_with('#'))
            .map(of)
            .collect()
    }

    #[test]
    fn held_out_questions_without_an_answer_are_told_so_and_few_others() {
        let questions = held_out();
        let told = |is_answered: bool| {
            let these = questions
                .iter()
                .filter(|one| one.is_answered == is_answered);
            let weak = these.clone().filter(|one| is_weak(Some(one.strength)));
            weak.count() as f64 / these.count() as f64
        };
        assert!(told(false) >= 0.8, "{}", told(false));
        assert!(told(true) <= 0.05, "{}", told(true));
    }

    #[test]
    fn the_strength_is_the_share_of_held_out_questions_with_an_answer() {
        let questions = held_out();
        let answered = questions.iter().filter(|one| one.is_answered).count() as f64;
        let others = questions.len() as f64 - answered;
        for bounds in [(0.0, 0.1), (0.1, 0.3), (0.3, 0.7), (0.7, 0.9), (0.9, 1.1)] {
            let (mut weight, mut strength, mut share) = (0.0, 0.0, 0.0);
            let is_within = |one: &&HeldOut| (bounds.0..bounds.1).contains(&one.strength);
            // One half of the weight is on questions with an answer.
            for one in questions.iter().filter(is_within) {
                let own = 0.5 / if one.is_answered { answered } else { others };
                weight += own;
                strength += own * one.strength;
                share += if one.is_answered { own } else { 0.0 };
            }
            assert!(
                (strength - share).abs() <= 0.1 * weight,
                "{bounds:?}: {strength} {share}"
            );
        }
    }

    #[test]
    fn a_search_is_as_strong_as_its_best_cosine_and_its_best_share() {
        let features = |meaning, words| StrengthFeatures {
            meaning,
            words,
            passages: 1.0,
        };
        let candidates = [
            features(Some(0.5), 0.1),
            features(None, 0.4),
            features(Some(0.2), 0.3),
        ];
        let best = StrengthFeatures::of_search(candidates);
        assert_eq!(best, features(Some(0.5), 0.4));
        let strength = |one: &StrengthFeatures| one.strength(&StrengthWeights::DEFAULT);
        let compared = candidates.iter().filter(|one| one.meaning.is_some());
        assert!(compared.map(strength).all(|one| one <= strength(&best)));
        assert_eq!(StrengthFeatures::of_search([]), StrengthFeatures::default());
    }
}
