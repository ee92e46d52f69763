//! `loci bench locomo`: how well `recall` finds the evidence of LoCoMo's questions, by the same
//! tool calls that an agent makes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::exit::{Exit, Failure};
use crate::output::{Output, note};
use crate::settings::Settings;
use crate::wiring::Parts;

/// Results of one question.
const RESULTS: usize = 10;
/// The kinds of questions, by the number that the file gives them.
const CATEGORIES: [&str; 5] = ["multi-hop", "temporal", "open-domain", "single-hop", "adversarial"];

/// Sums over questions.
#[derive(Default, Clone, Copy)]
struct Score {
    questions: usize,
    recall_at_5: f64,
    recall_at_10: f64,
    reciprocal_rank: f64,
}

impl Score {
    fn add(&mut self, other: Score) {
        self.questions += other.questions;
        self.recall_at_5 += other.recall_at_5;
        self.recall_at_10 += other.recall_at_10;
        self.reciprocal_rank += other.reciprocal_rank;
    }

    /// Of one question: the share of its evidence among the first results, and how far up the
    /// first piece is. Without evidence there is nothing to miss.
    fn of(found: &[&str], evidence: &BTreeSet<&str>) -> Self {
        let share = |count: usize| {
            let hits = evidence.iter().filter(|id| found.iter().take(count).any(|found| found == *id)).count();
            if evidence.is_empty() { 1.0 } else { hits as f64 / evidence.len() as f64 }
        };
        let first = found.iter().position(|id| evidence.contains(id));
        let reciprocal_rank = if evidence.is_empty() { 1.0 } else { first.map_or(0.0, |rank| 1.0 / (rank + 1) as f64) };
        Score { questions: 1, recall_at_5: share(5), recall_at_10: share(10), reciprocal_rank }
    }

    fn means(&self) -> [f64; 3] {
        [self.recall_at_5, self.recall_at_10, self.reciprocal_rank].map(|sum| sum / self.questions.max(1) as f64)
    }
}

pub fn run(settings: &Settings, file: &Path, conversations: usize, output: Output) -> Result<(), Failure> {
    let wrong =
        |problem: &str| Failure::new(Exit::Usage, format!("{} {problem}; give LoCoMo's locomo10.json", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(&format!("cannot be read ({error})")))?;
    let samples: Vec<Value> = serde_json::from_str(&text).map_err(|_| wrong("is no list of conversations"))?;
    let mut scores: BTreeMap<u64, Score> = BTreeMap::new();
    for sample in samples.iter().take(conversations) {
        let name = sample["sample_id"].as_str().ok_or_else(|| wrong("has a conversation without sample_id"))?;
        let turns = turns(sample);
        note(format_args!("{name}: {} turns, {} questions …", turns.len(), items(&sample["qa"]).len()));
        ask(settings, sample, name, &turns, &mut scores)?;
    }
    report(&scores, output)
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The turns of a conversation: their ids and texts.
fn turns(sample: &Value) -> Vec<(&str, String)> {
    let conversation = &sample["conversation"];
    let sessions =
        (1..).map(|number| &conversation[format!("session_{number}")]).take_while(|session| session.is_array());
    sessions.flat_map(items).map(turn).collect()
}

fn turn(turn: &Value) -> (&str, String) {
    let of = |key: &str| turn[key].as_str().unwrap_or_default();
    let photo = turn["blip_caption"].as_str().map_or_else(String::new, |caption| format!(" [photo: {caption}]"));
    (of("dia_id"), format!("{}: {}{photo}", of("speaker"), of("text")))
}

/// Stores one conversation in a store of its own and asks its questions.
fn ask(
    settings: &Settings,
    sample: &Value,
    name: &str,
    turns: &[(&str, String)],
    scores: &mut BTreeMap<u64, Score>,
) -> Result<(), Failure> {
    let folder =
        tempfile::tempdir().map_err(|error| Failure::new(Exit::Failure, format!("no temporary folder: {error}")))?;
    let parts = Parts::open_at(settings, folder.path())?;
    let mut turn_of = HashMap::new();
    for (turn, text) in turns {
        let reply = parts.call("remember", object(json!({"content": text, "project": name})))?;
        turn_of.insert(reply.structured["id"].as_str().unwrap_or_default().to_owned(), *turn);
    }
    for question in items(&sample["qa"]) {
        let query = json!({"query": question["question"], "project": name, "limit": RESULTS});
        let reply = parts.call("recall", object(query))?.structured;
        let ids = items(&reply).iter().filter_map(|hit| hit["memory"]["id"].as_str());
        let found: Vec<&str> = ids.filter_map(|id| turn_of.get(id).copied()).collect();
        let evidence: BTreeSet<&str> = items(&question["evidence"]).iter().filter_map(Value::as_str).collect();
        let category = question["category"].as_u64().unwrap_or_default();
        scores.entry(category).or_default().add(Score::of(&found, &evidence));
    }
    Ok(())
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn report(scores: &BTreeMap<u64, Score>, output: Output) -> Result<(), Failure> {
    let mut all = Score::default();
    let mut rows = Vec::new();
    for (category, score) in scores {
        all.add(*score);
        let name = usize::try_from(*category).ok().and_then(|number| CATEGORIES.get(number.checked_sub(1)?));
        rows.push((format!("{category} {}", name.unwrap_or(&"")), *score));
    }
    rows.push(("all".to_owned(), all));
    let mut text = format!("{:15} {:>9} {:>7} {:>7} {:>7}\n", "category", "questions", "R@5", "R@10", "MRR");
    let mut values = Vec::new();
    for (name, score) in rows {
        let [at_5, at_10, rank] = score.means();
        text += &format!("{name:15} {:>9} {at_5:>7.3} {at_10:>7.3} {rank:>7.3}\n", score.questions);
        let row = json!({"category": name, "questions": score.questions, "recall_at_5": at_5, "recall_at_10": at_10, "mrr": rank});
        values.push(row);
    }
    Ok(output.either(&Value::Array(values), text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_scored_by_its_evidence() {
        let evidence = BTreeSet::from(["D1:1", "D1:2"]);
        let found = ["x", "D1:2", "x", "x", "x", "D1:1"];
        assert!(Score::of(&found, &evidence).means().iter().zip([0.5, 1.0, 0.5]).all(|(a, b)| (a - b).abs() < 1e-9));
        assert!(Score::of(&[], &evidence).means().iter().all(|mean| *mean == 0.0));
        assert!(Score::of(&[], &BTreeSet::new()).means().iter().all(|mean| (mean - 1.0).abs() < 1e-9));
    }
}
