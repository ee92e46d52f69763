//! The tool `store_discovery`: stores a finding about code, with its citations.

use std::collections::BTreeMap;

use loci_core::limits::{CITATIONS_MAX, CITED_CONTENT_BYTES_MAX, TAGS_MAX};
use loci_core::{Error, Result, Scope, Tier};
use loci_engine::{Call, Remember, check, denial};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{
    AGENT_INFERRED, Citation, DISCOVERY, DiscoveryKind, NOUNS, collection, discovery_scope,
    faults_of_citations, in_words,
};
use super::record::SOURCE;
use crate::faults::Faults;
use crate::wire::{Replaced, pending};
use crate::{Hints, Reply, TypedTool};

pub struct StoreDiscovery;

/// Keep what you found out about a codebase, so that no one has to read the same again: how its
/// parts fit (`map`) or one thing that can be checked (`fact`). Cite every file, commit or page
/// that it rests on, with `pin`, so that a reader can tell whether it is out of date. Only
/// `search_discovery` and `get_memory` show it, and no session starts with it. Give `id` to put a
/// new version in the place of an old one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Your finding, stored exactly as given (at most 64 KiB). No secrets.
    content: String,
    /// `map` for how something is built and where things are, `fact` for one claim that the
    /// citations prove.
    kind: DiscoveryKind,
    /// Its evidence, 1 to 50: `[{"kind": "file", "ref": "src/auth.rs", "locator": "L10-42"}]`.
    #[schemars(length(min = 1, max = CITATIONS_MAX))]
    citations: Vec<Citation>,
    /// Where to file it: a name of 1 to 256 characters that starts with `discovery:`, by custom
    /// discovery:repo:NAME.
    scope: String,
    /// Labels, at most 128 of 128 bytes; searches find it by them, too.
    #[serde(default)]
    #[schemars(length(max = TAGS_MAX))]
    tags: Vec<String>,
    /// Its gist in a sentence, for people (at most 4 KiB).
    summary: Option<String>,
    /// Left out, a new discovery gets a new id. The id of one of yours: everything of that is
    /// replaced but for its owner, its visibility and when it was first stored. A UUID that is not
    /// in use: it is stored under that, in lower case with hyphens.
    id: Option<String>,
}

/// The discovery that was stored.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The id of the discovery.
    id: String,
    /// The text that stood under the id, unless the new one is the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced: Option<Replaced>,
}

impl TypedTool for StoreDiscovery {
    const NAME: &'static str = "store_discovery";
    const TITLE: &'static str = "Store a discovery";
    const SCOPE: Scope = Scope::Write;
    // With an id it overwrites; without one, every call adds another record.
    const HINTS: Hints = Hints::CHANGES;
    const OPERATION: &'static str = "memory:write";
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .check("content", |name, text| {
                check::text(name, text, CITED_CONTENT_BYTES_MAX)
            })
            .and(faults_of_citations(arguments))
            .check("scope", discovery_scope("store_memory"))
            .items("tags", TAGS_MAX, check::tag)
            .check("summary", check::reference)
            .check("id", |name, id| check::uuid(name, id).map(drop))
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let collection = collection(arguments.scope);
        let case_notice = call
            .listings()
            .differing_in_case(NOUNS, collection.as_deref(), None)?;
        let request = Remember {
            collection,
            section: Some(arguments.kind.name().to_owned()),
            summary: arguments.summary,
            tags: arguments.tags,
            citations: arguments.citations.into_iter().map(Into::into).collect(),
            attributes: BTreeMap::from([(SOURCE.to_owned(), AGENT_INFERRED.to_owned())]),
            tier: Tier::Unlisted,
            ..Remember::new(arguments.content, DISCOVERY)
        };
        let caller = call.caller();
        let remembered = match &arguments.id {
            None => call.memories().remember(request)?,
            // An error that the id is taken reveals that the memory exists.
            Some(_) if !caller.principal.scopes.allow(Scope::Read) => {
                return Err(denial(
                    &format!("{} with `id`", Self::NAME),
                    &[Scope::Read, Scope::Write],
                ));
            }
            Some(id) => call
                .memories()
                .remember_as(&check::uuid("id", id)?, request)
                .map_err(in_words(id))?,
        };
        let output = Output {
            id: remembered.memory.id.to_string(),
            replaced: arguments
                .id
                .and_then(|_| call.memories().replaced_by(&remembered.memory))
                .map(|version| Replaced::of_version(&version)),
        };
        Ok(Reply::json(&output, None)?
            .with_notice(pending("stored", remembered.embedding))
            .with_notice(case_notice))
    }
}
