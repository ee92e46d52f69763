//! Fits the weights of the fusion to the training halves of sets, and checks them with each set
//! left out.

use std::collections::{BTreeMap, HashMap, HashSet};

use loci::exit::Failure;
use loci::output::status_line;
use loci_core::{Caller, Tier};
use loci_engine::{FusionInput, Recall, Weights};
use serde_json::{Value, json};

use super::ask::{DEPTHS, RESULTS};
use super::data::{Question, Set};
use super::stored::StoredSet;
use crate::arguments::Fusion;
use crate::fitted_numbers::{NUMBERS, numbers};
use crate::laboratory::Laboratory;

/// The factor for hits that only the better side has and the fusion misses.
const DEFICIT: f64 = 3.0;
/// The number of questions at which a set counts half: the shares of a small one are noise.
const QUESTIONS_TO_COUNT_HALF: f64 = 50.0;
/// The weight of the mean reciprocal rank beside hits, so that steps between two hits show.
const RECIPROCAL: f64 = 0.2;

/// The number of questions, and of those with an answer among the first results, at each depth.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Hits {
    questions: usize,
    found: [usize; DEPTHS.len()],
}

impl Hits {
    /// Counts a question whose first answer has this rank among the candidates, from 1.
    fn add(&mut self, place: Option<usize>) {
        self.questions += 1;
        for (found, depth) in self.found.iter_mut().zip(DEPTHS) {
            *found += usize::from(place.is_some_and(|place| place <= depth));
        }
    }

    fn shares(&self) -> [f64; DEPTHS.len()] {
        self.found
            .map(|found| found as f64 / self.questions.max(1) as f64)
    }

    fn text(&self) -> String {
        self.shares()
            .iter()
            .fold(String::new(), |text, share| text + &format!(" {share:.3}"))
    }
}

/// A question with its candidates.
struct Case {
    half: String,
    kind: String,
    input: FusionInput,
    /// True for each candidate that is an answer.
    answers: Vec<bool>,
    /// The first candidate with the text of each: equal texts are one result.
    first_equals: Vec<usize>,
}

/// The questions of a set, or of one kind if it has several.
pub struct CapturedQuestions {
    name: String,
    cases: Vec<Case>,
}

impl CapturedQuestions {
    /// Captures the candidates of every question through the engine, as a tool call does.
    ///
    /// # Errors
    /// If the store cannot be searched.
    pub fn of(
        set: &Set,
        stored: &StoredSet,
        laboratory: &Laboratory<'_>,
    ) -> Result<Vec<Self>, Failure> {
        let folder = tempfile::tempdir()?;
        let parts = stored.open(folder.path(), laboratory)?;
        let mut cases = Vec::new();
        for question in &set.questions {
            let tiers = Tier::OF_CONVERSATIONS.to_vec();
            let request = Recall {
                tiers,
                ..Recall::new(&question.query, RESULTS, &|signals| signals.relevance)
            };
            let input = parts
                .engine
                .system(&Caller::local())
                .search()
                .fusion_input(&request)?;
            let texts = stored.texts_of_ids(input.ids.iter(), &parts)?;
            let is_answer = |id| {
                texts
                    .get(id)
                    .is_some_and(|text| question.answers.contains(text))
            };
            let answers = input.ids.iter().map(is_answer).collect();
            let mut firsts = HashMap::new();
            let first = |(index, id)| {
                texts
                    .get(id)
                    .map_or(index, |text| *firsts.entry(text).or_insert(index))
            };
            let first_equals = input.ids.iter().enumerate().map(first).collect();
            let Question { half, kind, .. } = question;
            cases.push(Case {
                half: half.clone(),
                kind: kind.clone(),
                input,
                answers,
                first_equals,
            });
        }
        let mut of_kinds: BTreeMap<String, Vec<Case>> = BTreeMap::new();
        for case in cases {
            of_kinds.entry(case.kind.clone()).or_default().push(case);
        }
        let captured = |(kind, cases): (String, Vec<Case>)| {
            let parts = [set.about.name.clone(), kind];
            let name = parts
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(": ");
            CapturedQuestions { name, cases }
        };
        Ok(of_kinds.into_iter().map(captured).collect())
    }

    fn hits(&self, half: &str, place: impl Fn(&Case) -> Option<usize>) -> Hits {
        let mut hits = Hits::default();
        self.cases
            .iter()
            .filter(|case| case.half == half)
            .for_each(|case| hits.add(place(case)));
        hits
    }
}

impl Case {
    fn place(&self, order: &[usize]) -> Option<usize> {
        let answer = order.iter().position(|index| self.answers[*index])?;
        let before: HashSet<usize> = order[..answer]
            .iter()
            .map(|index| self.first_equals[*index])
            .collect();
        Some(before.len() + 1)
    }

    /// Returns the rank of the first answer only by BM25, from 1.
    fn place_by_words(&self) -> Option<usize> {
        let score = |index: usize| f64::from(self.input.scores[index].bm25);
        self.place(
            &self
                .input
                .ordered(&score)
                .into_iter()
                .filter(|index| score(*index) > 0.0)
                .collect::<Vec<_>>(),
        )
    }

    /// Returns the rank of the first answer only by the cosine, from 1.
    fn place_by_meaning(&self) -> Option<usize> {
        self.place(
            &self
                .input
                .ordered(&|index| self.input.scores[index].cosine.map_or(-1.0, f64::from)),
        )
    }

    fn place_by(&self, weights: &Weights) -> Option<usize> {
        self.place(&self.input.ranked(weights))
    }
}

/// The weight of a set, and the hits of only the better side at each depth.
struct BestSide {
    weight: f64,
    best: [f64; DEPTHS.len()],
}

impl BestSide {
    fn of(set: &CapturedQuestions, half: &str) -> Self {
        let words = set.hits(half, Case::place_by_words).shares();
        let meaning = set.hits(half, Case::place_by_meaning).shares();
        let questions = set.cases.iter().filter(|case| case.half == half).count() as f64;
        let weight = questions / (questions + QUESTIONS_TO_COUNT_HALF);
        BestSide {
            weight,
            best: std::array::from_fn(|depth| words[depth].max(meaning[depth])),
        }
    }
}

/// Returns the objective for weights: the weighted mean over sets of hits at each depth and the
/// reciprocal rank, less the deficit to only the better side.
fn worth(sets: &[(&CapturedQuestions, BestSide)], weights: &Weights) -> f64 {
    let of = |(set, alone): &(&CapturedQuestions, BestSide)| {
        let places: Vec<Option<usize>> = set
            .cases
            .iter()
            .filter(|case| case.half == "train")
            .map(|case| case.place_by(weights))
            .collect();
        let mut hits = Hits::default();
        for place in &places {
            hits.add(*place);
        }
        let shares = hits.shares();
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        let deficit: f64 = shares
            .iter()
            .zip(alone.best)
            .map(|(share, best)| (best - share).max(0.0))
            .sum();
        let reciprocal = places
            .iter()
            .flatten()
            .map(|place| 1.0 / *place as f64)
            .sum::<f64>();
        let reciprocal = RECIPROCAL * reciprocal / places.len().max(1) as f64;
        alone.weight * (mean + reciprocal - DEFICIT * deficit / shares.len() as f64)
    };
    let total: f64 = std::thread::scope(|scope| {
        let (left, right) = sets.split_at(sets.len() / 2);
        let other = scope.spawn(|| left.iter().map(of).sum::<f64>());
        let own: f64 = right.iter().map(of).sum();
        own + other.join().unwrap_or(f64::NEG_INFINITY)
    });
    total
        / sets
            .iter()
            .map(|(_, alone)| alone.weight)
            .sum::<f64>()
            .max(f64::MIN_POSITIVE)
}

/// Fits weights by coordinate search from these: each number in turn takes steps of falling size
/// while they help.
fn fitted(sets: &[&CapturedQuestions], from: &Weights, rounds: u32) -> Weights {
    let sets: Vec<(&CapturedQuestions, BestSide)> = sets
        .iter()
        .map(|set| (*set, BestSide::of(set, "train")))
        .collect();
    let (mut best, mut best_worth) = (*from, worth(&sets, from));
    for round in 0..rounds {
        let before = best_worth;
        for number in &NUMBERS {
            let (least, most) = number.range;
            let step = (most - least) / [4.0, 8.0, 16.0, 32.0][round.min(3) as usize];
            for direction in [step, -step] {
                loop {
                    let mut tried = best;
                    let value = (number.of)(&mut tried);
                    *value = (*value + direction).clamp(least, most);
                    let tried_worth = worth(&sets, &tried);
                    if tried_worth <= best_worth + 1e-9 {
                        break;
                    }
                    (best, best_worth) = (tried, tried_worth);
                }
            }
        }
        status_line(format_args!(
            "round {round}: {before:.4} to {best_worth:.4}"
        ));
        if round >= 3 && best_worth - before < 1e-4 {
            break;
        }
    }
    best
}

/// A row of the report: the hits of a set on one half.
struct Row {
    set: String,
    half: &'static str,
    columns: Vec<(&'static str, Hits)>,
}

/// The weights and their hits.
pub struct Report {
    weights: Weights,
    rows: Vec<Row>,
}

/// Fits the weights, if asked to, and reports both halves of every set with the weights and, if
/// that is asked for too, with weights that were fitted without the set.
pub fn report(captured: &[CapturedQuestions], options: &Fusion) -> Report {
    let (fits, rounds) = (options.fit, options.rounds);
    let all: Vec<&CapturedQuestions> = captured.iter().collect();
    let weights = if fits {
        fitted(&all, &Weights::default(), rounds)
    } else {
        Weights::default()
    };
    let mut rows = Vec::new();
    if fits {
        status_line(format_args!(
            "{}",
            numbers(weights)
                .map(|(name, value)| format!("{name} {value:.4}"))
                .join(", ")
        ));
    }
    for (left_out, set) in captured.iter().enumerate() {
        let without = (fits && options.left_out).then(|| {
            status_line(format_args!("without {} …", set.name));
            let others: Vec<&CapturedQuestions> = all
                .iter()
                .enumerate()
                .filter(|(at, _)| *at != left_out)
                .map(|(_, set)| *set)
                .collect();
            fitted(&others, &weights, rounds)
        });
        for half in ["train", "test"] {
            let mut columns = vec![(
                "in use",
                set.hits(half, |case| case.place_by(&Weights::default())),
            )];
            let hubs = Weights {
                apartness: 0.0,
                ..Weights::default()
            };
            columns.push(("without hubs", set.hits(half, |case| case.place_by(&hubs))));
            if fits {
                columns.push(("fitted", set.hits(half, |case| case.place_by(&weights))));
            }
            if let Some(without) = &without {
                columns.push(("left out", set.hits(half, |case| case.place_by(without))));
            }
            columns.push(("words alone", set.hits(half, Case::place_by_words)));
            columns.push(("vectors alone", set.hits(half, Case::place_by_meaning)));
            if columns[0].1.questions > 0 {
                rows.push(Row {
                    set: set.name.clone(),
                    half,
                    columns,
                });
            }
        }
    }
    Report { weights, rows }
}

impl Report {
    pub fn value(&self) -> Value {
        let column = |(name, hits): &(&str, Hits)| json!({"ranking": name, "hits": hits.shares()});
        let row = |row: &Row| {
            let columns: Vec<Value> = row.columns.iter().map(column).collect();
            json!({"set": row.set, "half": row.half, "questions": row.columns[0].1.questions, "rankings": columns})
        };
        let numbers: serde_json::Map<String, Value> = numbers(self.weights)
            .into_iter()
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect();
        json!({"weights": numbers, "sets": self.rows.iter().map(row).collect::<Vec<_>>()})
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, value) in numbers(self.weights) {
            text += &format!("{name:20} {value:.4}\n");
        }
        text += &format!("\n{:20} {:5} {:>9}", "set", "half", "questions");
        if let Some(row) = self.rows.first() {
            row.columns
                .iter()
                .for_each(|(name, _)| text += &format!("   {name:17}"));
        }
        text += "\n";
        for row in &self.rows {
            text += &format!(
                "{:20} {:5} {:>9}",
                row.set, row.half, row.columns[0].1.questions
            );
            row.columns
                .iter()
                .for_each(|(_, hits)| text += &format!("  {}", hits.text()));
            text += "\n";
        }
        text
    }
}
