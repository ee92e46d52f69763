//! `loci bench needles`: whether the tools find what must be found, among invented facts that a seed
//! determines.
//!
//! The questions are asked on one fixed day, and the facts are filed on days before it, so that
//! every run finds the same.

mod distractors;
mod exact;
mod material;
mod paraphrases;
mod similar;
mod times;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use loci_core::{Clock, limits};
use loci_dialects::{Dialect, mememory, memory_mcp};
use serde_json::{Value, json};

use self::material::{Class, Shelf};
use super::laboratory::{Laboratory, SetClock, object, settle};
use crate::cli::Needles;
use crate::exit::{Exit, Failure};
use crate::output::{Output, note};
use crate::settings::Settings;
use crate::wiring::Parts;

/// Results of one question.
const RESULTS: usize = 10;
/// Results that count as found.
const FOUND: usize = 5;
/// The user of the conversations.
const USER: &str = "needles";

/// The facts of this benchmark, in order, and its questions, each with the number of the fact that answers it.
pub fn facts(distractors: usize) -> (Vec<String>, Vec<(String, usize)>) {
    let [shelf, _] = material::shelves(1, distractors);
    let facts = shelf.facts.into_iter().map(|fact| fact.text).collect();
    (facts, shelf.questions.into_iter().map(|question| (question.text, question.fact)).collect())
}

/// A question that was asked.
struct Asked {
    class: Class,
    tool: &'static str,
    question: String,
    /// The place of its fact among the results, from 1.
    rank: Option<usize>,
}

pub fn run(settings: &Settings, options: &Needles, output: Output) -> Result<(), Failure> {
    let clock = SetClock::new();
    let shared: Arc<dyn Clock> = Arc::<SetClock>::clone(&clock);
    let laboratory = Laboratory::new(settings, shared, &options.without)?;
    let mut asked = Vec::new();
    for shelf in material::shelves(options.seed, options.distractors as usize) {
        let folder = tempfile::tempdir()?;
        asked.extend(ask(&shelf, folder.path(), &clock, &laboratory)?);
    }
    let tallies = tallies(&asked);
    let is_whole = laboratory.search() == "hybrid" && options.without.is_empty();
    let value = json!({
        "suite": "needles",
        "loci": env!("CARGO_PKG_VERSION"),
        "model": laboratory.model(),
        "search": laboratory.search(),
        "without": options.without,
        "seed": options.seed,
        "distractors": options.distractors,
        "classes": tallies.iter().map(|(class, tally)| tally.value(*class)).collect::<Vec<_>>(),
        "questions": asked.iter().map(Asked::value).collect::<Vec<_>>(),
    });
    if let Some(file) = &options.out {
        std::fs::write(file, format!("{value:#}\n"))?;
    }
    output.either(&value, text(&tallies))?;
    let missed: Vec<&str> =
        tallies.iter().filter(|(class, tally)| !tally.is_enough(**class)).map(|(class, _)| class.row().0).collect();
    // Less than the whole search need not reach what is asked of it.
    if is_whole && !missed.is_empty() {
        return Err(Failure::new(Exit::Failure, format!("below the floor: {}", missed.join(", "))));
    }
    Ok(())
}

/// Files a shelf into a store of its own and asks its questions.
fn ask(shelf: &Shelf, data: &Path, clock: &SetClock, laboratory: &Laboratory<'_>) -> Result<Vec<Asked>, Failure> {
    let parts = laboratory.open(data)?;
    note(format_args!("storing {} facts and {} conversations …", shelf.facts.len(), shelf.conversations.len()));
    let ids = file(shelf, &parts, clock)?;
    clock.set(0);
    settle(&parts)?;
    note(format_args!("asking {} questions …", shelf.questions.len()));
    let mut asked = Vec::new();
    for question in &shelf.questions {
        let mut ask = |dialect: &Dialect, tool: &'static str, arguments: Value| {
            let reply = parts.call_in(dialect, tool, object(arguments))?.structured;
            let results = reply.get("results").unwrap_or(&reply).as_array().map_or(&[][..], Vec::as_slice);
            let id = |result: &Value| {
                result["_id"].as_str().or(result["memory"]["id"].as_str()) == Some(&ids[question.fact])
            };
            let rank = results.iter().position(id).map(|place| place + 1);
            asked.push(Asked { class: question.class, tool, question: question.text.clone(), rank });
            Ok::<_, Failure>(())
        };
        ask(&mememory::DIALECT, "recall", json!({"query": question.text, "limit": RESULTS}))?;
        if !shelf.conversations.is_empty() {
            let arguments = json!({"user_id": USER, "query": question.text, "limit": RESULTS});
            ask(&memory_mcp::DIALECT, "recall_memory", arguments)?;
        }
    }
    Ok(asked)
}

/// Files facts and conversations, oldest first; returns the ids of the facts.
fn file(shelf: &Shelf, parts: &Parts, clock: &SetClock) -> Result<Vec<String>, Failure> {
    let mut order: Vec<usize> = (0..shelf.facts.len()).collect();
    order.sort_by_key(|index| -shelf.facts[*index].days_ago);
    let mut ids = vec![String::new(); shelf.facts.len()];
    for index in order {
        let fact = &shelf.facts[index];
        clock.set(fact.days_ago);
        let reply = parts.call_in(&mememory::DIALECT, "remember", object(json!({"content": fact.text})))?;
        reply.structured["id"].as_str().unwrap_or_default().clone_into(&mut ids[index]);
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

impl Asked {
    fn value(&self) -> Value {
        json!({"class": self.class.row().0, "tool": self.tool, "question": self.question, "rank": self.rank})
    }
}

/// Sums over the questions of a class.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    questions: usize,
    first: usize,
    found: usize,
    reciprocal_ranks: f64,
}

impl Tally {
    fn add(&mut self, rank: Option<usize>) {
        self.questions += 1;
        self.first += usize::from(rank == Some(1));
        self.found += usize::from(rank.is_some_and(|rank| rank <= FOUND));
        self.reciprocal_ranks += rank.map_or(0.0, |rank| 1.0 / rank as f64);
    }

    fn share(&self, sum: f64) -> f64 {
        sum / self.questions.max(1) as f64
    }

    /// The share of questions whose fact is first, and among the first five; the mean reciprocal rank.
    fn means(&self) -> [f64; 3] {
        [self.first as f64, self.found as f64, self.reciprocal_ranks].map(|sum| self.share(sum))
    }

    fn is_enough(&self, class: Class) -> bool {
        let ([first, found, _], (_, first_min, found_min)) = (self.means(), class.row());
        first >= first_min && found >= found_min
    }

    fn value(&self, class: Class) -> Value {
        let ([first, found, mrr], (name, first_min, found_min)) = (self.means(), class.row());
        json!({
            "class": name,
            "questions": self.questions,
            "recall_at_1": first,
            "recall_at_5": found,
            "mrr": mrr,
            "floor_at_1": first_min,
            "floor_at_5": found_min,
            "is_enough": self.is_enough(class),
        })
    }
}

fn tallies(asked: &[Asked]) -> BTreeMap<Class, Tally> {
    let mut tallies: BTreeMap<Class, Tally> = BTreeMap::new();
    for asked in asked {
        tallies.entry(asked.class).or_default().add(asked.rank);
    }
    tallies
}

fn text(tallies: &BTreeMap<Class, Tally>) -> String {
    let mut text =
        format!("{:18} {:>9} {:>6} {:>6} {:>6}   floors R@1, R@5\n", "class", "questions", "R@1", "R@5", "MRR");
    for (class, tally) in tallies {
        let ([first, found, mrr], (name, first_min, found_min)) = (tally.means(), class.row());
        let verdict = if tally.is_enough(*class) { "ok" } else { "MISSED" };
        text += &format!(
            "{name:18} {:>9} {first:>6.3} {found:>6.3} {mrr:>6.3}   {first_min:.2} {found_min:.2}  {verdict}\n",
            tally.questions
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_tallied_and_held_against_the_floor() {
        let mut tally = Tally::default();
        for rank in [Some(1), Some(5), Some(6), None] {
            tally.add(rank);
        }
        let expected = [0.25, 0.5, (1.0 + 0.2 + 1.0 / 6.0) / 4.0];
        assert!(tally.means().iter().zip(expected).all(|(mean, expected)| (mean - expected).abs() < 1e-9));
        assert!(!tally.is_enough(Class::Paraphrase));
        tally.add(Some(1));
        tally.add(Some(1));
        tally.add(Some(2));
        assert!(!tally.is_enough(Class::Paraphrase), "first: 3 of 7");
        tally.add(Some(1));
        assert!(tally.is_enough(Class::Paraphrase), "first: 4 of 8, found: 6 of 8");
    }

    #[test]
    fn every_question_has_a_fact_of_its_own() {
        for shelf in material::shelves(1, 10) {
            for question in &shelf.questions {
                let fact = &shelf.facts[question.fact].text;
                assert_eq!(shelf.facts.iter().filter(|other| other.text == *fact).count(), 1, "{fact}");
                assert_eq!(
                    shelf.questions.iter().filter(|other| other.text == question.text).count(),
                    1,
                    "{question:?}"
                );
            }
        }
    }
}
