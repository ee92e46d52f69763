//! Detects whether a new statement contradicts an older one, from its words and an embedding model.
//!
//! A logistic formula: each feature has a weight, and a contradiction is reported if their sum is
//! above zero. The weights were fitted to the dev half of
//! `crates/loci-bench/src/contradictions.tsv` and to pairs across its rows, and evaluated on the
//! other half (`loci-bench contradictions`). They belong to one model, because each model has its
//! own scale of cosine similarities.

use loci_core::ModelId;

use crate::statement::{Difference, Differences, Statement, closest, statements};

/// The weight of each feature.
struct Weights {
    /// The beginning of the model's fingerprint.
    model: &'static str,
    bias: f64,
    /// For each unit of the cosine similarity.
    cosine: f64,
    /// For each unit of the share of topics that both have.
    shared: f64,
    /// For each unit of the cosine similarity, if the two exclude each other in some respect.
    conflict_cosine: f64,
    /// For each unit of the share of topics that both have, if the two exclude each other.
    conflict_shared: f64,
    numbers: f64,
    names: f64,
    opposites: f64,
    alternatives: f64,
    change: f64,
    /// If one contains everything of the other, and more.
    refinement: f64,
}

/// The weights for the model in the binary.
const WEIGHTS: [Weights; 1] = [Weights {
    model: "all-minilm-l6-v2-int8:",
    bias: -3.9,
    cosine: 2.7,
    shared: 1.3,
    conflict_cosine: 2.1,
    conflict_shared: 2.1,
    numbers: 0.4,
    names: 0.8,
    opposites: 0.8,
    alternatives: 2.1,
    change: 1.4,
    refinement: -1.1,
}];

/// The weights for other models and for none, without the cosine similarity.
const WORDS_ALONE: Weights = Weights {
    model: "",
    bias: -2.9,
    cosine: 0.0,
    shared: 2.1,
    conflict_cosine: 0.0,
    conflict_shared: 3.7,
    numbers: 1.1,
    names: 0.9,
    opposites: 0.6,
    alternatives: 2.6,
    change: 1.6,
    refinement: -0.8,
};

/// A new text, parsed once for all comparisons.
pub struct Judge {
    newer: Vec<Statement>,
}

impl Judge {
    /// Parses a new text.
    pub fn of(content: &str) -> Judge {
        Judge {
            newer: statements(content),
        }
    }

    /// Returns the weighted sum of the evidence that the text contradicts the older one: above
    /// zero, it does.
    pub fn contradiction(&self, older: &str, cosine: Option<(&ModelId, f32)>) -> f64 {
        let differences =
            closest(&statements(older), &self.newer).filter(|differences| !differences.are_none());
        let Some(differences) = differences else {
            return f64::MIN;
        };
        let known = |model: &ModelId| {
            WEIGHTS
                .iter()
                .find(|weights| model.as_str().starts_with(weights.model))
        };
        let (weights, cosine) =
            match cosine.and_then(|(model, cosine)| Some((known(model)?, cosine))) {
                Some((weights, cosine)) => (weights, f64::from(cosine)),
                None => (&WORDS_ALONE, 0.0),
            };
        weights.sum(cosine, &differences)
    }
}

impl Weights {
    fn sum(&self, cosine: f64, differences: &Differences) -> f64 {
        let Differences {
            negation,
            order,
            opposites,
            alternatives,
            change,
            removed,
            added,
            ..
        } = *differences;
        let numbers = differences.numbers == Difference::Replaced;
        let names = differences.names == Difference::Replaced;
        let shared = f64::from(differences.shared);
        let signs = [
            (self.numbers, numbers),
            (self.names, names),
            (self.opposites, opposites),
            (self.alternatives, alternatives),
            (self.change, change),
            (self.refinement, removed == 0.0 || added == 0.0),
        ];
        let signs: f64 = signs
            .iter()
            .filter(|(_, is_there)| *is_there)
            .map(|(weight, _)| weight)
            .sum();
        let near = self.cosine * cosine + self.shared * shared;
        let conflict = if numbers || names || negation || order || opposites || alternatives {
            self.conflict_cosine * cosine + self.conflict_shared * shared
        } else {
            0.0
        };
        self.bias + near + conflict + signs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_excludes_the_older_one_is_told_from_what_goes_with_it() {
        let rows = [
            (
                "Uses SQLite for local storage",
                "Uses PostgreSQL 17 with pgvector",
                0.23,
                true,
            ),
            (
                "The API listens on port 8080.",
                "The API listens on port 9090.",
                0.9,
                true,
            ),
            (
                "The API listens on port 8080.",
                "The API writes its logs as JSON lines.",
                0.5,
                false,
            ),
            (
                "The API listens on port 8080.",
                "the api listens on port 8080",
                1.0,
                false,
            ),
            (
                "Autoscaling is enabled.",
                "Autoscaling is disabled.",
                0.8,
                true,
            ),
            (
                "We have a cat.",
                "We have a cat that only eats dry food.",
                0.7,
                false,
            ),
            ("Cats sleep all day.", "Kafka has six brokers.", 0.0, false),
            ("", "Kafka has six brokers.", 0.0, false),
        ];
        let bundled = ModelId::new("all-minilm-l6-v2-int8:made-up");
        for (older, newer, cosine, expected) in rows {
            for model in [
                Some((&bundled, cosine)),
                Some((&ModelId::new("other"), cosine)),
                None,
            ] {
                let sum = Judge::of(newer).contradiction(older, model);
                assert_eq!(sum > 0.0, expected, "{older} / {newer} by {model:?}: {sum}");
            }
        }
    }
}
