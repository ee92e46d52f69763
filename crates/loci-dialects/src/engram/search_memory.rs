//! The tool `search_memory`: searches memories of one scope.

use loci_core::limits::TAGS_MAX;
use loci_core::{Error, Result, Scope};
use loci_engine::{Call, Recall, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{CREATED, count, memory_scope, of_file, only};
use super::record::{Hit, found};
use crate::faults::Faults;
use crate::past::AsOf;
use crate::wire::Count;
use crate::{Hints, Reply, TypedTool};

/// The default of `k`.
const K_DEFAULT: usize = 8;

pub struct SearchMemory;

/// Find what is known in one scope about something, by meaning and by words, best first. Call it
/// before you decide or ask what may have been settled already. It finds your own memories,
/// memories that others shared, and what other tools filed in that scope for everyone; only
/// `search_discovery` finds discoveries about code.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// A question, or key words, for what you want to know.
    query: String,
    /// The scope to look in, exactly as it was given on storing; `global` for what is filed under
    /// none.
    scope: String,
    /// The maximum number of results: 8 if left out, at most 100.
    k: Option<Count>,
    /// Only memories with all of these tags.
    #[serde(default)]
    #[schemars(length(max = TAGS_MAX))]
    tags: Vec<String>,
    /// Only what was first stored on this day (YYYY-MM-DD, UTC) or at this moment (RFC 3339), or
    /// later.
    created_after: Option<String>,
    /// Only what was first stored before this day or moment.
    created_before: Option<String>,
    /// Only what was read from this file: its absolute path.
    source_file: Option<String>,
    as_of: Option<AsOf>,
    /// Tokens of the reply: 25,000 if left out, unless the installation says otherwise.
    budget_tokens: Option<Count>,
}

/// The memories that were found.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The memories, best first.
    memories: Vec<Hit>,
}

impl TypedTool for SearchMemory {
    const NAME: &'static str = "search_memory";
    const TITLE: &'static str = "Search memories";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "memory:read";
    const QUERY: Option<&'static str> = Some("query");
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("since", "created_after"), ("before", "created_before")];
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .check("query", check::query)
            .check("scope", memory_scope("search_discovery"))
            .items("tags", TAGS_MAX, check::tag)
            .and(CREATED.faults(arguments))
            .and(AsOf::faults(arguments))
            .optional("source_file", check::reference)
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let (after, before) = (&arguments.created_after, &arguments.created_before);
        let facets = CREATED.facets(after.as_deref(), before.as_deref())?;
        let request = Recall {
            collections: only(arguments.scope),
            tags: arguments.tags,
            as_of: AsOf::moment(call, arguments.as_of.as_ref())?,
            facets: of_file(call, arguments.source_file, facets),
            ..Recall::new(
                &arguments.query,
                count(arguments.k, K_DEFAULT),
                &|signals| signals.relevance,
            )
        };
        found(
            call,
            request,
            arguments.budget_tokens.map(|count| count.0),
            |memories| Output { memories },
        )
    }
}
