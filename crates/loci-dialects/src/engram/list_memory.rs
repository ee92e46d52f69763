//! The tool `list_memory`: lists the latest memories of one scope.

use loci_core::{Error, Result, Scope, Tier};
use loci_engine::{Call, FittedMemory, List};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{Faults, NOUNS, count, only};
use super::record::Record;
use crate::wire::{Count, both, left_out};
use crate::{Hints, Reply, TypedTool};

/// The default of `limit`.
const LIMIT_DEFAULT: usize = 20;

pub struct ListMemory;

/// Show the latest memories of one scope, last changed first, without a question. Call it once when
/// a session begins, to know what holds there. Discoveries are never among them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The scope to show, exactly as it was given on storing; `global` for what is filed under
    /// none.
    scope: String,
    /// How many memories at most: 20 if left out, 100 at most.
    limit: Option<Count>,
    /// Tokens of the reply: 25,000 if left out, unless the installation says otherwise.
    budget_tokens: Option<Count>,
}

/// The memories of the scope.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The memories, last changed first.
    memories: Vec<Record>,
}

impl TypedTool for ListMemory {
    const NAME: &'static str = "list_memory";
    const TITLE: &'static str = "List memories";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints {
        read_only: true,
        destructive: false,
        idempotent: true,
        open_world: false,
    };
    const OPERATION: &'static str = "memory:read";
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .memory_scope("search_discovery")
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let scope = only(arguments.scope);
        let named = call
            .listings()
            .named(NOUNS, &[Tier::LongTerm], scope, Vec::new())?;
        let request = List {
            collections: named.collections,
            sections: Vec::new(),
            tags: Vec::new(),
            delivery: None,
            offset: 0,
            limit: count(arguments.limit, LIMIT_DEFAULT),
        };
        let tokens = arguments.budget_tokens.map(|count| count.0);
        let listed = call.listings().list_within(request, tokens)?;
        let notice = left_out(listed.shown.len(), listed.left_out, "search for the others");
        let record = |shown: FittedMemory| Record::shown(shown.memory, shown.length);
        let memories: Vec<Record> = listed.shown.into_iter().map(record).collect();
        let results = memories.len() as u64;
        Ok(Reply::json(&Output { memories }, Some(results))?
            .with_notice(both(named.notice, notice)))
    }
}
