//! The tool `search_discovery`: searches discoveries.

use loci_core::{CollectionFilter, Error, Result, Scope, Tier};
use loci_engine::{Call, Recall, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{DiscoveryKind, count, discovery_scope, only};
use super::record::{Hit, found};
use crate::faults::Faults;
use crate::past::AsOf;
use crate::wire::Count;
use crate::{Hints, Reply, TypedTool};

/// The default of `k`.
const K_DEFAULT: usize = 8;

pub struct SearchDiscovery;

/// Find what was understood of a codebase before, by meaning and by words, best first. Call it
/// before you explore code that may have been explored already. Check what you find: its citations
/// say what it rests on and in which state, `created_at` and `updated_at` how old it is; where it
/// is out of date, store a new version under its id.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// A question, or key words, for what you want to know.
    query: String,
    /// The scope to look in, exactly as it was given on storing; it starts with `discovery:`.
    /// Required unless `cross_spine` is true.
    scope: Option<String>,
    /// Only `map` or only `fact`; both if left out.
    kind: Option<DiscoveryKind>,
    /// The maximum number of results: 8 if left out, at most 100.
    k: Option<Count>,
    as_of: Option<AsOf>,
    /// Tokens of the reply: 25,000 if left out, unless the installation says otherwise.
    budget_tokens: Option<Count>,
    /// True to look in all scopes of discoveries at once; `scope` does not count then.
    #[serde(default)]
    cross_spine: bool,
}

/// The discoveries that were found.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The discoveries, best first.
    discoveries: Vec<Hit>,
}

impl TypedTool for SearchDiscovery {
    const NAME: &'static str = "search_discovery";
    const TITLE: &'static str = "Search discoveries";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "memory:read";
    const QUERY: Option<&'static str> = Some("query");
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        let faults = Faults::of(arguments)
            .check("query", check::query)
            .and(AsOf::faults(arguments));
        let is_everywhere = arguments.get("cross_spine") == Some(&Value::Bool(true));
        let faults = if is_everywhere {
            faults
        } else {
            faults.check("scope", discovery_scope("search_memory"))
        };
        let is_unsaid = !is_everywhere && arguments.get("scope").is_none();
        let problem = "is missing; name a scope such as discovery:repo:NAME, or set `cross_spine` to true to search all";
        faults
            .and(is_unsaid.then(|| Error::invalid("scope", problem)))
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        // Only discoveries have this tier and these sections, and all have such a scope.
        let collections = match arguments.scope {
            Some(scope) if !arguments.cross_spine => only(scope),
            _ => CollectionFilter::AnyNamed,
        };
        let kinds = arguments
            .kind
            .map_or_else(|| DiscoveryKind::ALL.to_vec(), |kind| vec![kind]);
        let request = Recall {
            tiers: vec![Tier::Unlisted],
            collections,
            sections: kinds
                .into_iter()
                .map(|kind| kind.name().to_owned())
                .collect(),
            as_of: AsOf::moment(call, arguments.as_of.as_ref())?,
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
            |discoveries| Output { discoveries },
        )
    }
}
