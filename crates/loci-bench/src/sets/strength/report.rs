//! The figures, for people and for programs.

use std::collections::BTreeMap;

use loci_engine::{STRENGTH_MIN, StrengthFeatures, StrengthFunction, StrengthWeights};
use serde_json::{Value, json};

use super::fit::{TOLD_MAX, by_words, strength};
use super::{AskedQuestion, HALVES, QuestionKind};
use crate::laboratory::Laboratory;

/// The least share of questions without an answer that must be told so. Adversarial ones are beside
/// it: only a reader of the text can tell that it speaks of another person.
const TOLD_MIN: f64 = 0.8;
/// The bounds of the groups of strengths whose share of answered questions is reported.
const BOUNDS: [f64; 6] = [0.0, 0.1, 0.3, 0.5, 0.7, 0.9];
/// The name of the row of all sets.
const ALL: &str = "all";

/// The questions of one kind, and how many are told that nothing answers them.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    questions: usize,
    told: usize,
}

impl Counts {
    fn share(self) -> f64 {
        self.told as f64 / self.questions.max(1) as f64
    }
}

/// A row of the table: a set, or all.
struct Row {
    set: String,
    half: &'static str,
    search: &'static str,
    counts: BTreeMap<QuestionKind, Counts>,
}

impl Row {
    /// Returns the counts of the questions without an answer, but for adversarial ones.
    fn unanswered(&self) -> Counts {
        let kinds = [
            QuestionKind::Foreign,
            QuestionKind::Unrelated,
            QuestionKind::Nonsense,
        ];
        let counts = kinds.iter().filter_map(|kind| self.counts.get(kind));
        counts.fold(Counts::default(), |all, one| Counts {
            questions: all.questions + one.questions,
            told: all.told + one.told,
        })
    }

    fn of(&self, kind: QuestionKind) -> Counts {
        self.counts.get(&kind).copied().unwrap_or_default()
    }
}

/// A group of questions of about the same strength.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    /// The sums of the weights, of the weighted strengths, and of the weights of answered ones.
    weight: f64,
    strength: f64,
    answered: f64,
}

/// The figures of coefficients.
pub struct Report {
    weights: StrengthWeights,
    rows: Vec<Row>,
    /// The groups of the held-out half.
    groups: [Group; BOUNDS.len()],
    /// The features of the held-out questions that are compared by meaning and name no identifier:
    /// 1 if the store answers it, the cosine, the share of the words, and the logarithm of the
    /// passages over 1,000.
    held_out: Vec<(u8, f64, f64, f64)>,
}

impl Report {
    pub fn of(asked: &[AskedQuestion], weights: &StrengthWeights) -> Self {
        let words: Vec<AskedQuestion> = asked.iter().map(by_words).collect();
        let mut rows = Vec::new();
        for (search, asked) in [("hybrid", asked), ("words", &words)] {
            for half in HALVES {
                let mut of_sets: BTreeMap<&str, Row> = BTreeMap::new();
                for question in asked.iter().filter(|one| one.half == half) {
                    for set in [ALL, &question.set] {
                        let row = of_sets.entry(set).or_insert_with(|| Row {
                            set: set.to_owned(),
                            half,
                            search,
                            counts: BTreeMap::new(),
                        });
                        let counts = row.counts.entry(question.kind).or_default();
                        counts.questions += 1;
                        // A search that finds nothing says so.
                        counts.told += usize::from(strength(question, weights) < STRENGTH_MIN);
                    }
                }
                rows.extend(of_sets.into_values());
            }
        }
        Report {
            weights: *weights,
            rows,
            groups: groups(asked, weights),
            held_out: held_out(asked).filter_map(features).collect(),
        }
    }

    /// Returns the bars that the held-out half misses, in sentences.
    pub fn missed(&self) -> Vec<String> {
        let rows = self.rows.iter();
        let held_out = rows.filter(|row| row.set == ALL && row.half == HALVES[1]);
        let mut missed = Vec::new();
        for row in held_out.filter(|row| row.search == "hybrid") {
            let (answered, unanswered) = (row.of(QuestionKind::Answered), row.unanswered());
            if answered.share() > TOLD_MAX {
                missed.push(format!(
                    "{:.3} of the answered questions are told that nothing answers them, at most {TOLD_MAX} should be",
                    answered.share()
                ));
            }
            if unanswered.share() < TOLD_MIN {
                missed.push(format!(
                    "{:.3} of the questions without an answer are told so, at least {TOLD_MIN} should be",
                    unanswered.share()
                ));
            }
        }
        missed
    }

    pub fn value(&self, laboratory: &Laboratory<'_>) -> Value {
        let function = |function: &StrengthFunction| {
            json!({
                "bias": function.bias,
                "meaning": function.meaning,
                "words": function.words,
            })
        };
        let row = |row: &Row| {
            let counts = row.counts.iter().map(|(kind, counts)| {
                json!({"questions": kind.name(), "number": counts.questions, "told": counts.share()})
            });
            json!({
                "set": row.set,
                "half": row.half,
                "search": row.search,
                "kinds": counts.collect::<Value>(),
                "unanswered_told": row.unanswered().share(),
            })
        };
        let group = |group: &Group| json!({"weight": group.weight, "strength": group.mean(), "answered": group.share()});
        json!({
            "suite": "strength",
            "loci": env!("CARGO_PKG_VERSION"),
            "model": laboratory.model(),
            "least": STRENGTH_MIN,
            "both": function(&self.weights.both),
            "words": function(&self.weights.words),
            "passages": self.weights.passages,
            "rows": self.rows.iter().map(row).collect::<Value>(),
            "held_out": self.held_out,
            "held_out_strengths": self.groups.iter().map(group).collect::<Value>(),
            "missed": self.missed(),
        })
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, function) in [("both", self.weights.both), ("words", self.weights.words)] {
            let StrengthFunction {
                bias,
                meaning,
                words,
            } = function;
            text += &format!("{name:6} bias {bias:.2}, meaning {meaning:.2}, words {words:.2}\n");
        }
        text += "\nshare told that nothing answers it (number of questions)\n";
        text += &format!("{:18} {:6} {:6}", "set", "search", "half");
        for kind in QuestionKind::ALL {
            text += &format!(" {:>18}", kind.name());
        }
        text += "\n";
        for row in &self.rows {
            text += &format!("{:18} {:6} {:6}", row.set, row.search, row.half);
            for kind in QuestionKind::ALL {
                let counts = row.of(kind);
                let shown = if counts.questions == 0 {
                    "–".to_owned()
                } else {
                    format!("{:.3} ({})", counts.share(), counts.questions)
                };
                text += &format!(" {shown:>18}");
            }
            text += "\n";
        }
        text +=
            "\nheld out: mean strength, and share of answered questions where half of all are\n";
        for group in &self.groups {
            text += &format!("{:.3} {:.3}\n", group.mean(), group.share());
        }
        text
    }
}

impl Group {
    fn mean(&self) -> f64 {
        self.strength / self.weight.max(f64::MIN_POSITIVE)
    }

    fn share(&self) -> f64 {
        self.answered / self.weight.max(f64::MIN_POSITIVE)
    }
}

/// Returns the held-out questions, but for adversarial ones.
fn held_out(asked: &[AskedQuestion]) -> impl Iterator<Item = &AskedQuestion> + Clone {
    let questions = asked.iter().filter(|one| one.half == HALVES[1]);
    questions.filter(|one| one.kind != QuestionKind::Adversarial)
}

fn is_answered(question: &AskedQuestion) -> bool {
    question.kind == QuestionKind::Answered
}

fn features(question: &AskedQuestion) -> Option<(u8, f64, f64, f64)> {
    let StrengthFeatures {
        meaning,
        words,
        passages,
    } = question.features.filter(|_| !question.is_identified)?;
    Some((u8::from(is_answered(question)), meaning?, words, passages))
}

/// Returns the groups of the held-out half, of which answered questions and questions of other
/// stores, prompts and made-up words have equal weight.
fn groups(asked: &[AskedQuestion], weights: &StrengthWeights) -> [Group; BOUNDS.len()] {
    let questions = held_out(asked);
    let answered = questions.clone().filter(|one| is_answered(one)).count() as f64;
    let others = questions.clone().count() as f64 - answered;
    let mut groups = [Group::default(); BOUNDS.len()];
    for question in questions {
        let strength = strength(question, weights);
        let at = BOUNDS
            .iter()
            .rposition(|bound| strength >= *bound)
            .unwrap_or(0);
        let (weight, is_answered) = if is_answered(question) {
            (0.5 / answered, 1.0)
        } else {
            (0.5 / others, 0.0)
        };
        groups[at].weight += weight;
        groups[at].strength += weight * strength;
        groups[at].answered += weight * is_answered;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bars_are_of_the_held_out_half_and_leave_adversarial_questions_beside() {
        let question = |half: &str, kind, meaning| AskedQuestion {
            set: "one".to_owned(),
            half: half.to_owned(),
            kind,
            features: Some(StrengthFeatures {
                meaning: Some(meaning),
                ..StrengthFeatures::default()
            }),
            is_identified: false,
        };
        let (near, far) = (0.9, -0.5);
        let mut asked = vec![
            question("test", QuestionKind::Answered, near),
            question("test", QuestionKind::Foreign, far),
            question("test", QuestionKind::Adversarial, near),
            question("train", QuestionKind::Answered, far),
        ];
        let weights = StrengthWeights::DEFAULT;
        assert_eq!(Report::of(&asked, &weights).missed(), [""; 0]);
        asked.push(question("test", QuestionKind::Nonsense, near));
        let missed = Report::of(&asked, &weights).missed();
        assert!(
            missed[0].starts_with("0.500 of the questions without"),
            "{missed:?}"
        );
        asked.push(question("test", QuestionKind::Answered, far));
        assert_eq!(Report::of(&asked, &weights).missed().len(), 2);
    }
}
