//! Fits the coefficients of the strength by logistic regression.

use std::collections::HashMap;

use loci_engine::{STRENGTH_MIN, StrengthFeatures, StrengthFunction, StrengthWeights};

use super::{AskedQuestion, QuestionKind};

/// The steps of Newton's method, after which it changes nothing any more.
const STEPS: usize = 25;
/// The precision of the normal distribution around 0 that the coefficients are taken from, which
/// keeps them finite where the questions are separable.
const RIDGE: f64 = 1e-4;
/// The coefficients of a function.
const NUMBERS: usize = 3;
/// The share of answered questions that may be told weak.
pub const TOLD_MAX: f64 = 0.05;
/// The step in which the constant term is raised until that holds.
const BIAS_STEP: f64 = 0.05;

/// Returns the strength of a question; 0 if the search found nothing.
pub fn strength(question: &AskedQuestion, weights: &StrengthWeights) -> f64 {
    if question.is_identified {
        return 1.0;
    }
    let features = question.features.as_ref();
    features.map_or(0.0, |features| features.strength(weights))
}

/// Returns the same question as if it were asked without a model, where only a word finds a text.
pub fn by_words(question: &AskedQuestion) -> AskedQuestion {
    let features = question.features.filter(|features| features.words > 0.0);
    AskedQuestion {
        set: question.set.clone(),
        features: features.map(|features| StrengthFeatures {
            meaning: None,
            ..features
        }),
        half: question.half.clone(),
        ..*question
    }
}

/// Fits both functions to the training half. The constant term of each is raised until at most
/// [`TOLD_MAX`] of the answered questions are weaker than [`STRENGTH_MIN`], so that a search that
/// knows little says less.
pub fn fitted(asked: &[AskedQuestion], from: StrengthWeights) -> StrengthWeights {
    let training: Vec<&AskedQuestion> = asked.iter().filter(|one| one.half == "train").collect();
    let words: Vec<AskedQuestion> = training.iter().map(|one| by_words(one)).collect();
    let mut weights = StrengthWeights {
        both: regression(&rows(training.iter().copied(), true), from.passages),
        words: regression(&rows(words.iter(), false), from.passages),
        ..from
    };
    let told = |questions: &[&AskedQuestion], weights: &StrengthWeights| {
        let answered = questions
            .iter()
            .filter(|one| one.kind == QuestionKind::Answered && one.features.is_some());
        let (all, weak) = answered.fold((0, 0), |(all, weak), one| {
            (
                all + 1,
                weak + usize::from(strength(one, weights) < STRENGTH_MIN),
            )
        });
        weak as f64 / f64::from(all.max(1))
    };
    while told(&training, &weights) > TOLD_MAX {
        weights.both.bias += BIAS_STEP;
    }
    let words: Vec<&AskedQuestion> = words.iter().collect();
    while told(&words, &weights) > TOLD_MAX {
        weights.words.bias += BIAS_STEP;
    }
    weights
}

/// A row of the regression.
struct Row {
    features: [f64; NUMBERS],
    /// The logarithm of the number of passages.
    passages: f64,
    is_answered: bool,
    weight: f64,
}

/// Returns the features of each question that has some and is compared by meaning, or is not.
/// Answered and other questions have equal weight, and of these each kind of question of each set.
/// Adversarial questions tell nothing: by its words and by its meaning, such a question is answered.
fn rows<'a>(questions: impl Iterator<Item = &'a AskedQuestion>, by_meaning: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut groups: HashMap<(&str, QuestionKind), f64> = HashMap::new();
    let judged =
        questions.filter(|one| one.kind != QuestionKind::Adversarial && !one.is_identified);
    for question in judged {
        let compared = question
            .features
            .filter(|features| features.meaning.is_some() == by_meaning);
        if let Some(features) = compared {
            let group = (question.set.as_str(), question.kind);
            *groups.entry(group).or_default() += 1.0;
            rows.push((group, features));
        }
    }
    let sides = [true, false].map(|is_answered| {
        let is_of =
            |(_, kind): &&(&str, QuestionKind)| (*kind == QuestionKind::Answered) == is_answered;
        groups.keys().filter(is_of).count() as f64
    });
    let row = |(group, features): ((&str, QuestionKind), StrengthFeatures)| {
        let is_answered = group.1 == QuestionKind::Answered;
        Row {
            features: [1.0, features.meaning.unwrap_or(0.0), features.words],
            passages: features.passages,
            is_answered,
            weight: 1.0 / (groups[&group] * sides[usize::from(!is_answered)]),
        }
    };
    rows.into_iter().map(row).collect()
}

/// Returns the logistic function with the greatest likelihood, by Newton's method, beside the fixed
/// coefficient of the passages. A coefficient of the wrong sign becomes 0.
fn regression(rows: &[Row], passages: f64) -> StrengthFunction {
    let mut free = [true; NUMBERS];
    loop {
        let found @ [bias, meaning, words] = newton(rows, passages, free);
        let Some(wrong) = found.iter().skip(1).position(|number| *number < 0.0) else {
            return StrengthFunction {
                bias,
                meaning,
                words,
            };
        };
        free[wrong + 1] = false;
    }
}

fn newton(rows: &[Row], passages: f64, free: [bool; NUMBERS]) -> [f64; NUMBERS] {
    let mut beta = [0.0; NUMBERS];
    for _ in 0..STEPS {
        let mut gradient = beta.map(|number| -RIDGE * number);
        let mut curvature = [[0.0; NUMBERS]; NUMBERS];
        for row in rows {
            let sum: f64 = beta
                .iter()
                .zip(row.features)
                .map(|(beta, value)| beta * value)
                .sum();
            let expected = 1.0 / (1.0 + (-sum - passages * row.passages).exp());
            let error = f64::from(u8::from(row.is_answered)) - expected;
            let spread = row.weight * expected * (1.0 - expected);
            for (at, value) in row.features.iter().enumerate() {
                gradient[at] += row.weight * error * value;
                for (entry, other) in curvature[at].iter_mut().zip(row.features) {
                    *entry += spread * value * other;
                }
            }
        }
        for at in 0..NUMBERS {
            curvature[at][at] += RIDGE;
            if !free[at] {
                gradient[at] = 0.0;
                curvature[at] = [0.0; NUMBERS];
                for row in &mut curvature {
                    row[at] = 0.0;
                }
                curvature[at][at] = 1.0;
            }
        }
        let step = solved(curvature, gradient);
        for (number, step) in beta.iter_mut().zip(step) {
            *number += step;
        }
    }
    beta
}

/// Solves a system of linear equations with a positive definite matrix, by elimination.
fn solved(mut matrix: [[f64; NUMBERS]; NUMBERS], mut right: [f64; NUMBERS]) -> [f64; NUMBERS] {
    for at in 0..NUMBERS {
        for below in at + 1..NUMBERS {
            let factor = matrix[below][at] / matrix[at][at];
            let pivot = matrix[at];
            for (value, of_pivot) in matrix[below].iter_mut().zip(pivot) {
                *value -= factor * of_pivot;
            }
            right[below] -= factor * right[at];
        }
    }
    let mut solution = [0.0; NUMBERS];
    for at in (0..NUMBERS).rev() {
        let known: f64 = (at + 1..NUMBERS)
            .map(|other| matrix[at][other] * solution[other])
            .sum();
        solution[at] = (right[at] - known) / matrix[at][at];
    }
    solution
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Random;

    /// The coefficient of the passages.
    const PASSAGES: f64 = -0.5;

    /// Questions whose answers a known function decides.
    fn made_up(truth: StrengthFunction, count: usize) -> Vec<AskedQuestion> {
        let mut random = Random(7);
        let weights = StrengthWeights {
            both: truth,
            both_on_another_scale: truth,
            words: truth,
            passages: PASSAGES,
        };
        let question = |_| {
            let features = StrengthFeatures {
                meaning: Some(random.share()),
                words: random.share(),
                passages: 4.0 * random.share() - 2.0,
            };
            let is_answered = random.share() < features.strength(&weights);
            AskedQuestion {
                set: "made up".to_owned(),
                half: "train".to_owned(),
                kind: if is_answered {
                    QuestionKind::Answered
                } else {
                    QuestionKind::Foreign
                },
                features: Some(features),
                is_identified: false,
            }
        };
        (0..count).map(question).collect()
    }

    #[test]
    fn the_regression_finds_the_function_that_decided() {
        let truth = StrengthFunction {
            bias: -5.0,
            meaning: 7.0,
            words: 3.0,
        };
        let asked = made_up(truth, 20_000);
        let found = regression(&rows(asked.iter(), true), PASSAGES);
        // The constant term follows the share of answered questions, which have half of the weight.
        for (found, truth) in [(found.meaning, truth.meaning), (found.words, truth.words)] {
            assert!((found / truth - 1.0).abs() < 0.1, "{found} {truth}");
        }
    }

    #[test]
    fn few_answered_questions_are_told_weak() {
        let truth = StrengthFunction {
            bias: -2.0,
            meaning: 3.0,
            words: 1.0,
        };
        let asked = made_up(truth, 2_000);
        let weights = fitted(&asked, StrengthWeights::DEFAULT);
        let words = asked.iter().map(by_words).collect();
        for asked in [asked, words] {
            let is_answered = |one: &&AskedQuestion| one.kind == QuestionKind::Answered;
            let answered: Vec<_> = asked.iter().filter(is_answered).collect();
            let is_told = |one: &&&AskedQuestion| strength(one, &weights) < STRENGTH_MIN;
            let told = answered.iter().filter(is_told).count();
            assert!(told as f64 <= TOLD_MAX * answered.len() as f64, "{told}");
        }
    }
}
