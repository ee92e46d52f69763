//! `loci bench sets` and `loci bench fusion`: how well the tools find the answers to the questions of sets of several
//! kinds, beside words and vectors alone, and the weights of the fusion that find the most.
//!
//! `scripts/retrieval-sets` builds the sets. Each is filed once, through the tools of its dialect, into a store of its
//! own beside it, and asked through the tool that an agent of that dialect calls.

mod fit;
mod material;
mod stored;

use std::path::Path;
use std::sync::Arc;

use loci_dialects::{Dialect, mememory, memory_mcp, mempalace, vault};
use serde_json::{Value, json};

use self::material::{Question, Set, Through};
use self::stored::Stored;
use super::laboratory::{Laboratory, object};
use crate::cli;
use crate::exit::Failure;
use crate::output::{Output, note};
use crate::settings::Settings;
use crate::wiring::{Parts, SystemClock};

/// How many first results are looked at.
const DEPTHS: [usize; 3] = [1, 5, 10];
/// Results of one question.
const RESULTS: usize = 10;

/// The share of questions with an answer among the first 1, 5 and 10 results.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Hits {
    questions: usize,
    found: [usize; DEPTHS.len()],
}

impl Hits {
    /// Counts a question whose first answer has this place among the results, from 1.
    fn add(&mut self, place: Option<usize>) {
        self.questions += 1;
        for (found, depth) in self.found.iter_mut().zip(DEPTHS) {
            *found += usize::from(place.is_some_and(|place| place <= depth));
        }
    }

    fn shares(&self) -> [f64; DEPTHS.len()] {
        self.found.map(|found| found as f64 / self.questions.max(1) as f64)
    }

    fn text(&self) -> String {
        self.shares().iter().map(|share| format!(" {share:.3}")).collect()
    }
}

/// What was found of a set, under the name of each way to rank it.
struct Measured {
    set: String,
    columns: Vec<(&'static str, Hits)>,
}

pub fn run(settings: &Settings, options: &cli::Sets, output: Output) -> Result<(), Failure> {
    let laboratory = Laboratory::new(settings, Arc::new(SystemClock), &options.without)?;
    let sets = material::read(Path::new(&options.data), &options.only)?;
    let mut measured = Vec::new();
    for set in &sets {
        measured.push(measure(set, &options.half, &laboratory)?);
    }
    let rows = measured.iter().map(Measured::value).collect::<Vec<_>>();
    let value = json!({
        "suite": "sets",
        "loci": env!("CARGO_PKG_VERSION"),
        "model": laboratory.model(),
        "search": laboratory.search(),
        "without": options.without,
        "half": options.half,
        "sets": rows,
    });
    if let Some(file) = &options.out {
        std::fs::write(file, format!("{value:#}\n"))?;
    }
    Ok(output.either(&value, text(&measured))?)
}

pub fn run_fusion(settings: &Settings, options: &cli::Fusion, output: Output) -> Result<(), Failure> {
    let laboratory = Laboratory::new(settings, Arc::new(SystemClock), &[])?;
    let data = Path::new(&options.data);
    let mut sets = material::read(data, &options.only)?;
    if options.only.is_empty() {
        sets.push(material::needles(data)?);
    }
    let mut captured = Vec::new();
    for set in &sets {
        let stored = Stored::of(set, &laboratory)?;
        captured.push(fit::Captured::of(set, &stored, &laboratory)?);
    }
    let report = fit::report(&captured, options.fit, options.rounds);
    Ok(output.either(&report.value(), report.text())?)
}

/// Asks the questions of that half of a set.
fn measure(set: &Set, half: &str, laboratory: &Laboratory<'_>) -> Result<Measured, Failure> {
    let stored = Stored::of(set, laboratory)?;
    let captured = fit::Captured::of(set, &stored, laboratory)?;
    let is_asked = |question: &&Question| half == "all" || question.half == half;
    let mut columns = Vec::new();
    for (name, dialect, tool) in tools(set.through) {
        // What is asked of a copy counts as no access in the next one.
        let copy = stored.copy()?;
        let parts = laboratory.open(copy.path())?;
        let mut hits = Hits::default();
        note(format_args!("asking {} through {tool} …", set.name));
        for question in set.questions.iter().filter(is_asked) {
            hits.add(ask(&parts, dialect, tool, question, &stored)?);
        }
        columns.push((name, hits));
    }
    let alone = |ranked: fn(&fit::Case) -> Option<usize>| {
        let mut hits = Hits::default();
        captured.cases.iter().filter(|case| half == "all" || case.half == half).for_each(|case| hits.add(ranked(case)));
        hits
    };
    columns.push(("words alone", alone(fit::Case::place_by_words)));
    columns.push(("vectors alone", alone(fit::Case::place_by_meaning)));
    Ok(Measured { set: set.name.clone(), columns })
}

/// The tools by which agents search what is filed in this way.
fn tools(through: Through) -> Vec<(&'static str, &'static Dialect, &'static str)> {
    match through {
        Through::Facts => vec![("loci", &mememory::DIALECT, "recall")],
        Through::Drawers | Through::Mined => vec![("loci", &mempalace::DIALECT, "mempalace_search")],
        Through::Notes => vec![("loci", &vault::DIALECT, "memory_search")],
        Through::Messages => vec![
            ("loci", &memory_mcp::DIALECT, "recall_memory"),
            ("hybrid_search", &memory_mcp::DIALECT, "hybrid_search"),
        ],
    }
}

/// The place of the first answer among the results, from 1.
fn ask(
    parts: &Parts,
    dialect: &Dialect,
    tool: &str,
    question: &Question,
    stored: &Stored,
) -> Result<Option<usize>, Failure> {
    let limit = if dialect.name == vault::DIALECT.name { "top_k" } else { "limit" };
    let mut arguments = json!({"query": question.text, limit: RESULTS});
    if dialect.name == memory_mcp::DIALECT.name {
        arguments["user_id"] = json!(stored::USER);
    }
    let reply = parts.call_in(dialect, tool, object(arguments))?.structured;
    let results = reply.get("results").unwrap_or(&reply).as_array().map_or(&[][..], Vec::as_slice);
    let ids = |result: &Value| {
        let keys =
            [&result["_id"], &result["source_stm_id"], &result["memory"]["id"], &result["drawer_id"], &result["id"]];
        keys.into_iter().filter_map(|id| id.as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let is_answer = |result: &Value| {
        ids(result).iter().any(|id| stored.text_of(id).is_some_and(|text| question.answers.contains(text)))
    };
    Ok(results.iter().position(is_answer).map(|place| place + 1))
}

impl Measured {
    fn value(&self) -> Value {
        let column = |(name, hits): &(&str, Hits)| {
            let [at_1, at_5, at_10] = hits.shares();
            json!({"ranking": name, "questions": hits.questions, "hit_at_1": at_1, "hit_at_5": at_5, "hit_at_10": at_10})
        };
        json!({"set": self.set, "rankings": self.columns.iter().map(column).collect::<Vec<_>>()})
    }
}

fn text(measured: &[Measured]) -> String {
    let mut text = format!("{:20} {:>9}  {:16} hit@1    @5   @10\n", "set", "questions", "ranking");
    for measured in measured {
        for (name, hits) in &measured.columns {
            text += &format!("{:20} {:>9}  {name:16}{}\n", measured.set, hits.questions, hits.text());
        }
    }
    text
}
