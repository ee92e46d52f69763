//! The tool `recall`: searches memories.

use loci_core::limits::RECALL_RESULTS_MAX;
use loci_core::{Result, Tier};
use loci_engine::{Call, Signals, UnsearchedMemories};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{MemoryType, NOUNS, Scope, collections_to_search, sections};
use super::record::Record;
use crate::past::AsOf;
use crate::wire::{Count, Tags, both, explained, left_out, rounded, times_said};
use crate::{Hints, Reply, TypedTool};

/// The default of `limit`.
const LIMIT_DEFAULT: usize = 5;
/// The factor for the score of a global memory, relative to one of a project.
const GLOBAL_SCOPE_WEIGHT: f64 = 0.8;
/// The decay rate per day since the memory's text last changed.
const DECAY_PER_DAY: f64 = 0.005;

pub struct Recall;

/// Find what is known about something, by meaning and by words. Without `project` the global
/// memories are searched, with it that project's and the global ones together. Best results first;
/// a note says how much was not looked at.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// A question, or key words, for what you want to know.
    query: String,
    /// `global` for only global memories; `project` for only the memories of `project`, or of all
    /// projects without it.
    scope: Option<Scope>,
    /// The project that you are working on.
    project: Option<String>,
    /// The maximum number of results: 5 if left out, at most 100.
    limit: Option<Count>,
    /// Only memories of this type.
    r#type: Option<MemoryType>,
    /// Only memories with all of these tags.
    tags: Option<Tags>,
    as_of: Option<AsOf>,
    /// Tokens of the reply: 25,000 if left out, unless the installation says otherwise.
    budget_tokens: Option<Count>,
}

/// A search result.
#[derive(Serialize, JsonSchema)]
pub struct Hit {
    /// The memory.
    memory: Record,
    /// Relevance x scope weight x weight x decay with age, 0 to 1.
    score: f64,
    /// The number of times that this was found, if more than once: memories that say the same are one
    /// result.
    #[serde(skip_serializing_if = "Option::is_none")]
    times_said: Option<usize>,
}

impl TypedTool for Recall {
    const NAME: &'static str = "recall";
    const TITLE: &'static str = "Recall";
    const SCOPE: loci_core::Scope = loci_core::Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "memory:read";
    const QUERY: Option<&'static str> = Some("query");
    type Arguments = Arguments;
    type Output = Vec<Hit>;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let tokens = arguments.budget_tokens.map(|count| count.0);
        let as_of = AsOf::moment(call, arguments.as_of.as_ref())?;
        let tiers = vec![Tier::LongTerm];
        let is_scope_given = arguments.scope.is_some() || arguments.project.is_some();
        let asked = collections_to_search(arguments.scope, arguments.project)?;
        let named = call.listings().named(NOUNS, &tiers, asked, Vec::new())?;
        let limit = arguments
            .limit
            .map_or(LIMIT_DEFAULT, |limit| limit.0)
            .min(RECALL_RESULTS_MAX);
        let request = loci_engine::Recall {
            tiers,
            collections: named.collections,
            sections: sections(arguments.r#type),
            tags: arguments.tags.unwrap_or_default().0,
            as_of,
            ..loci_engine::Recall::new(&arguments.query, limit, &score)
        };
        let recalled = call.search().recall_within(&request, tokens)?;
        let explanations = recalled.hits.iter().map(explained).collect();
        let left_out = left_out(recalled.hits.len(), recalled.left_out, "ask more narrowly");
        let hit = |hit: loci_engine::Hit| Hit {
            times_said: times_said(&hit),
            memory: Record::shown(call.caller(), hit.memory, hit.length),
            score: rounded(hit.score, 4),
        };
        let (answers, said) = (recalled.answers(), recalled.notice());
        let hits: Vec<Hit> = recalled.hits.into_iter().map(hit).collect();
        // A caller that named the scope knows it, but may not know why nothing is there.
        let outside = if is_scope_given && !hits.is_empty() {
            None
        } else {
            outside(
                &call
                    .listings()
                    .unsearched(&request.tiers, &request.collections)?,
            )
        };
        let notice = both(both(both(said, named.notice), left_out), outside);
        Ok(Reply::json(&hits, Some(answers))?
            .with_notice(notice)
            .with_explanations(explanations))
    }
}

/// Returns a notice of what a search did not look at; `None` if it looked at everything.
fn outside(unsearched: &UnsearchedMemories) -> Option<String> {
    let UnsearchedMemories {
        memories,
        collections,
    } = *unsearched;
    let (memories, were) = match memories {
        0 => return None,
        1 => ("1 memory".to_owned(), "was"),
        memories => (format!("{memories} memories"), "were"),
    };
    let of_projects = match collections {
        0 => " without a project".to_owned(),
        1 => " of 1 project".to_owned(),
        collections => format!(" of {collections} projects"),
    };
    Some(format!(
        "{memories}{of_projects} {were} not looked at; name a `project` to search it with the global memories, or set \
         `scope` to `project` for all projects"
    ))
}

/// Returns the composite score of the original, by which `recall` ranks: relevance x scope weight x
/// weight x decay with age.
pub fn score(signals: &Signals) -> f64 {
    let scope_weight = if signals.collection.is_some() {
        1.0
    } else {
        GLOBAL_SCOPE_WEIGHT
    };
    signals.relevance * scope_weight * signals.weight * (-DECAY_PER_DAY * signals.age_days).exp()
}
