//! `loci-bench needles`: measures whether the tools find the right facts among invented ones that a
//! seed determines, compared with a search only by words or only by vectors.
//!
//! The questions are in files of tab-separated lines. They are asked on one fixed day, and the
//! facts are stored on days before it, so that every run has the same results.

mod distractors;
mod material;

use std::sync::Arc;

use loci::exit::{Exit, Failure};
use loci::output::{Output, status_line};
use loci::settings::Settings;
use loci::wiring::Parts;
use loci_core::{Clock, limits};
use loci_dialects::{Dialect, mememory, memory_mcp};
use loci_engine::SearchMode;
use serde_json::{Value, json};

use self::material::Shelf;
use super::laboratory::{Laboratory, SetClock, copy, object, settle};
use crate::arguments::Needles;

/// The number of results of one question.
const RESULTS: usize = 10;
/// The numbers of first results that are scored.
const DEPTHS: [usize; 3] = [1, 5, 10];
/// The user of the conversations.
const USER: &str = "needles";
/// The ranking that agents get.
const LOCI: &str = "loci";

/// The least share of questions of a kind whose fact must be first, and among the first five.
const FLOORS: [(&str, f64, f64); 10] = [
    ("paraphrases", 0.32, 0.55),
    ("identifiers", 1.0, 1.0),
    ("names", 1.0, 1.0),
    ("phrases", 1.0, 1.0),
    ("dates", 0.95, 1.0),
    ("scripts", 1.0, 1.0),
    ("near-duplicates", 1.0, 1.0),
    ("relative times", 0.70, 0.95),
    ("long documents", 0.90, 0.95),
    ("facts among chat", 0.95, 1.0),
];

/// Returns the facts of a set of this benchmark (`test` or `train`), in order, and its questions,
/// each with its kind and the number of the fact that answers it.
pub fn facts(set: &str, distractors: usize) -> (Vec<String>, Vec<(&'static str, String, usize)>) {
    let [shelf, _] = material::shelves(set, 1, distractors);
    let facts = shelf.facts.into_iter().map(|fact| fact.text).collect();
    let question =
        |question: material::Question| (question.kind, question.text.to_owned(), question.fact);
    (facts, shelf.questions.into_iter().map(question).collect())
}

/// The outcome of a question.
struct QuestionOutcome {
    kind: &'static str,
    ranking: &'static str,
    tool: &'static str,
    question: &'static str,
    /// The rank of its fact among the results, from 1.
    rank: Option<usize>,
}

pub fn run(settings: &Settings, options: &Needles, output: Output) -> Result<(), Failure> {
    let clock = SetClock::new();
    let shared: Arc<dyn Clock> = Arc::<SetClock>::clone(&clock);
    let laboratory = Laboratory::new(settings, shared, &options.without)?;
    let mut asked = Vec::new();
    for shelf in material::shelves(&options.set, options.seed, options.distractors as usize) {
        if !shelf.questions.is_empty() {
            asked.extend(ask(&shelf, settings.search, &clock, &laboratory)?);
        }
    }
    let tallies = tallies(&asked);
    // Floors apply neither to training data nor to a part of the search.
    let is_judged = settings.search == SearchMode::Hybrid
        && options.without.is_empty()
        && options.set != "train";
    let missed: Vec<&str> = tallies
        .iter()
        .filter(|tally| !tally.is_enough())
        .map(|tally| tally.kind)
        .collect();
    let value = json!({
        "suite": "needles",
        "loci": env!("CARGO_PKG_VERSION"),
        "model": laboratory.model(),
        "search": laboratory.search(),
        "without": options.without,
        "set": options.set,
        "seed": options.seed,
        "distractors": options.distractors,
        "kinds": tallies.iter().map(Tally::value).collect::<Vec<_>>(),
        "below_the_floor": missed,
        "questions": asked.iter().map(QuestionOutcome::value).collect::<Vec<_>>(),
    });
    if let Some(file) = &options.out {
        std::fs::write(file, format!("{value:#}\n"))?;
    }
    output.either(&value, text(&tallies))?;
    if is_judged && !missed.is_empty() {
        return Err(Failure::new(
            Exit::Failure,
            format!("below the floor: {}", missed.join(", ")),
        ));
    }
    Ok(())
}

/// Stores a shelf in its own store and asks its questions on a copy for each ranking, so that the
/// results of one ranking do not count as accesses in the next one.
fn ask(
    shelf: &Shelf,
    search: SearchMode,
    clock: &SetClock,
    laboratory: &Laboratory<'_>,
) -> Result<Vec<QuestionOutcome>, Failure> {
    let original = tempfile::tempdir()?;
    let ids = {
        let parts = laboratory.open(original.path())?;
        status_line(format_args!(
            "storing {} facts and {} conversations …",
            shelf.facts.len(),
            shelf.conversations.len()
        ));
        let ids = file(shelf, &parts, clock)?;
        clock.set(0);
        settle(&parts)?;
        ids
    };
    let mut rankings = vec![(LOCI, search)];
    if search == SearchMode::Hybrid {
        rankings.extend([
            ("words alone", SearchMode::Words),
            ("vectors alone", SearchMode::Vector),
        ]);
    }
    let mut asked = Vec::new();
    for (ranking, search) in rankings {
        let folder = tempfile::tempdir()?;
        copy(original.path(), folder.path())?;
        let parts = laboratory.open_searching(folder.path(), search)?;
        status_line(format_args!(
            "asking {} questions, {ranking} …",
            shelf.questions.len()
        ));
        for question in &shelf.questions {
            let mut ask = |dialect: &Dialect, tool: &'static str, arguments: Value| {
                let reply = parts.call_in(dialect, tool, object(arguments))?.structured;
                let results = reply
                    .get("results")
                    .unwrap_or(&reply)
                    .as_array()
                    .map_or(&[][..], Vec::as_slice);
                let is_fact = |result: &Value| {
                    result["_id"].as_str().or(result["memory"]["id"].as_str())
                        == Some(&ids[question.fact])
                };
                let rank = results.iter().position(is_fact).map(|place| place + 1);
                asked.push(QuestionOutcome {
                    kind: question.kind,
                    ranking,
                    tool,
                    question: question.text,
                    rank,
                });
                Ok::<_, Failure>(())
            };
            ask(
                &mememory::DIALECT,
                "recall",
                json!({"query": question.text, "limit": RESULTS}),
            )?;
            if !shelf.conversations.is_empty() {
                let arguments = json!({"user_id": USER, "query": question.text, "limit": RESULTS});
                ask(&memory_mcp::DIALECT, "recall_memory", arguments)?;
            }
        }
    }
    Ok(asked)
}

/// Stores facts and conversations, oldest first; returns the ids of the facts.
fn file(shelf: &Shelf, parts: &Parts, clock: &SetClock) -> Result<Vec<String>, Failure> {
    let mut order: Vec<usize> = (0..shelf.facts.len()).collect();
    order.sort_by_key(|index| -shelf.facts[*index].days_ago);
    let mut ids = vec![String::new(); shelf.facts.len()];
    for index in order {
        let fact = &shelf.facts[index];
        clock.set(fact.days_ago);
        let reply = parts.call_in(
            &mememory::DIALECT,
            "remember",
            object(json!({"content": fact.text})),
        )?;
        reply.structured["id"]
            .as_str()
            .unwrap_or_default()
            .clone_into(&mut ids[index]);
    }
    clock.set(material::DAYS_AGO);
    for (number, messages) in shelf.conversations.iter().enumerate() {
        let message = |(index, content): (usize, &String)| json!({"role": if index % 2 == 0 { "human" } else { "ai" }, "content": content});
        let messages: Vec<Value> = messages.iter().enumerate().map(message).collect();
        for messages in messages.chunks(limits::MESSAGES_MAX) {
            let call = json!({"user_id": USER, "conversation_id": format!("talk-{number}"), "messages": messages});
            parts.call_in(&memory_mcp::DIALECT, "store_memory", object(call))?;
        }
    }
    Ok(ids)
}

impl QuestionOutcome {
    fn value(&self) -> Value {
        json!({
            "kind": self.kind,
            "ranking": self.ranking,
            "tool": self.tool,
            "question": self.question,
            "rank": self.rank,
        })
    }
}

/// The number of questions of a kind whose fact is among the first results of a ranking.
struct Tally {
    kind: &'static str,
    ranking: &'static str,
    questions: usize,
    found: [usize; DEPTHS.len()],
}

impl Tally {
    fn add(&mut self, rank: Option<usize>) {
        self.questions += 1;
        for (found, depth) in self.found.iter_mut().zip(DEPTHS) {
            *found += usize::from(rank.is_some_and(|rank| rank <= depth));
        }
    }

    fn shares(&self) -> [f64; DEPTHS.len()] {
        self.found
            .map(|found| found as f64 / self.questions.max(1) as f64)
    }

    /// Returns true if the ranking that agents get reaches the floor of the kind, if there is one.
    fn is_enough(&self) -> bool {
        let [first, found, _] = self.shares();
        let mut floors = FLOORS
            .iter()
            .filter(|(kind, ..)| self.ranking == LOCI && *kind == self.kind);
        floors.all(|(_, first_min, found_min)| first >= *first_min && found >= *found_min)
    }

    fn value(&self) -> Value {
        let [at_1, at_5, at_10] = self.shares();
        json!({
            "kind": self.kind,
            "ranking": self.ranking,
            "questions": self.questions,
            "hit_at_1": at_1,
            "hit_at_5": at_5,
            "hit_at_10": at_10,
        })
    }
}

/// Returns the tallies in the order of the first question of each kind.
fn tallies(asked: &[QuestionOutcome]) -> Vec<Tally> {
    let mut tallies: Vec<Tally> = Vec::new();
    for QuestionOutcome {
        kind,
        ranking,
        rank,
        ..
    } in asked
    {
        let mut known = tallies.iter_mut();
        if let Some(tally) = known.find(|tally| (tally.kind, tally.ranking) == (*kind, *ranking)) {
            tally.add(*rank);
        } else {
            let mut tally = Tally {
                kind,
                ranking,
                questions: 0,
                found: [0; DEPTHS.len()],
            };
            tally.add(*rank);
            tallies.push(tally);
        }
    }
    let order: Vec<&str> = tallies.iter().map(|tally| tally.kind).collect();
    tallies.sort_by_key(|tally| order.iter().position(|kind| *kind == tally.kind));
    tallies
}

fn text(tallies: &[Tally]) -> String {
    let mut text = format!(
        "{:22} {:>9}  {:14} hit@1    @5   @10\n",
        "kind", "questions", "ranking"
    );
    for tally in tallies {
        let [at_1, at_5, at_10] = tally.shares();
        let verdict = if tally.is_enough() {
            ""
        } else {
            "  below its floor"
        };
        let Tally {
            kind,
            ranking,
            questions,
            ..
        } = tally;
        text += &format!(
            "{kind:22} {questions:>9}  {ranking:14} {at_1:.3} {at_5:.3} {at_10:.3}{verdict}\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_tallied_and_held_against_the_floor() {
        let asked = |ranking: &'static str, rank: Option<usize>| QuestionOutcome {
            kind: "identifiers",
            ranking,
            tool: "recall",
            question: "",
            rank,
        };
        let ranks = [Some(1), Some(5), Some(6), None].map(|rank| asked(LOCI, rank));
        let alone = [asked("words alone", None)];
        let tallies = tallies(&ranks.into_iter().chain(alone).collect::<Vec<_>>());
        let [loci, words] = &tallies[..] else {
            panic!("one row for each ranking")
        };
        assert_eq!((loci.questions, loci.shares()), (4, [0.25, 0.5, 0.75]));
        assert!(!loci.is_enough());
        assert_eq!((words.questions, words.shares()), (1, [0.0; 3]));
        assert!(words.is_enough(), "less than the whole search has no floor");
    }
}
