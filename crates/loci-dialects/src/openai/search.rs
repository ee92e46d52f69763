//! The tool `search`: finds memories for a question.

use loci_core::{Caller, Error, Result, Scope};
use loci_engine::{Call, Hit, Recall, check, writer_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::record::{title, url};
use crate::faults::Faults;
use crate::wire::explained;
use crate::{Hints, Reply, TypedTool};

/// The number of results.
const RESULTS: usize = 10;

pub struct SearchTool;

/// Search what was remembered for a question or for words: the ten memories that answer best, each
/// with the id by which `fetch` returns it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The question or the words.
    query: String,
}

/// The results.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The memories, best first.
    results: Vec<FoundMemory>,
}

/// A memory that was found.
#[derive(Serialize, JsonSchema)]
struct FoundMemory {
    /// Its id, for `fetch`.
    id: String,
    /// Its title, or the first line of its text.
    title: String,
    /// Its address on the page of loci.
    url: String,
    /// Who wrote it, if not you.
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<String>,
}

impl FoundMemory {
    fn of(call: &Call<'_>, reader: &Caller, hit: &Hit) -> Self {
        FoundMemory {
            id: hit.memory.id.to_string(),
            title: title(&hit.memory),
            url: url(call, &hit.memory.id),
            author: writer_of(reader, &hit.memory),
        }
    }
}

impl TypedTool for SearchTool {
    const NAME: &'static str = "search";
    const TITLE: &'static str = "Search memories";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "search";
    const QUERY: Option<&'static str> = Some("query");
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments).check("query", check::query).found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let ranking = |signals: &loci_engine::Signals| signals.relevance;
        let found = call
            .search()
            .recall(&Recall::new(&arguments.query, RESULTS, &ranking))?;
        let (answers, notice) = (found.answers(), found.notice());
        let explanations = found.hits.iter().map(explained).collect();
        let results = found
            .hits
            .iter()
            .map(|hit| FoundMemory::of(call, call.caller(), hit))
            .collect();
        let reply = Reply::json(&Output { results }, Some(answers))?.with_notice(notice);
        Ok(reply.with_explanations(explanations))
    }
}
