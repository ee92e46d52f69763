//! Arguments that several tools share, and their validation.

use loci_core::limits::{CITATIONS_MAX, RECALL_RESULTS_MAX};
use loci_core::{CollectionFilter, Error, ErrorCode, MemoryId, Result};
use loci_engine::{Call, Facets, LocationNouns, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::faults::items;
use crate::window::WindowNames;
use crate::wire::Count;

/// The scope of memories without a collection.
const GLOBAL: &str = "global";
/// The prefix of the scopes of discoveries, which scopes of memories must not have.
const DISCOVERY_PREFIX: &str = "discovery:";

/// The parts of a place, as messages name them.
pub const NOUNS: LocationNouns = LocationNouns {
    collection: "scope",
    section: "category",
};

/// The kind of every discovery, and its category in replies.
pub const DISCOVERY: &str = "discovery";
/// The source of every discovery.
pub const AGENT_INFERRED: &str = "agent-inferred";

/// The arguments with the time in which memories were first stored.
pub const CREATED: WindowNames = WindowNames {
    since: "created_after",
    before: "created_before",
};

/// Returns the collection for a scope.
pub fn collection(scope: String) -> Option<String> {
    Some(scope).filter(|scope| scope != GLOBAL)
}

/// Returns the scope for a collection.
pub fn scope(collection: Option<String>) -> String {
    collection.unwrap_or_else(|| GLOBAL.to_owned())
}

/// Returns the filter only for this scope.
pub fn only(scope: String) -> CollectionFilter {
    collection(scope).map_or(CollectionFilter::Global, CollectionFilter::Only)
}

/// Returns the conditions with another one on the source file, by the path of a file of this machine,
/// unless that is blank.
pub fn of_file(call: &Call<'_>, path: Option<String>, facets: Facets) -> Facets {
    let path = path.filter(|path| !path.trim().is_empty());
    Facets {
        thread: path.map(|path| call.sources().thread_of(path.trim())),
        ..facets
    }
}

/// Resolves an id that a caller sent: a UUID, in any case, to the stored one; any other text as
/// [`memory_id`](loci_engine::Memories::memory_id) does.
///
/// # Errors
/// `invalid_argument` for a text that cannot be an id, or that is a part of several; `unavailable`
/// if the store cannot be read.
pub fn id(call: &Call<'_>, sent: &str) -> Result<MemoryId> {
    check::uuid("id", sent).or_else(|_| call.memories().memory_id("id", sent))
}

/// Returns the number of results, at most 100.
pub fn count(asked: Option<Count>, default: usize) -> usize {
    asked
        .map_or(default, |count| count.0)
        .min(RECALL_RESULTS_MAX)
}

/// The kind of a discovery.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiscoveryKind {
    Map,
    Fact,
}

impl DiscoveryKind {
    /// Every kind.
    pub const ALL: [DiscoveryKind; 2] = [DiscoveryKind::Map, DiscoveryKind::Fact];

    /// Returns the section of a discovery of this kind.
    pub fn name(self) -> &'static str {
        match self {
            DiscoveryKind::Map => "map",
            DiscoveryKind::Fact => "fact",
        }
    }
}

/// Something that a discovery rests on.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Citation {
    /// The kind of source.
    kind: CitationKind,
    /// Path of the file, name or URL of the repository, id of the commit, or URL of the page (at
    /// most 4 KiB).
    #[serde(rename = "ref")]
    reference: String,
    /// Where in it, such as the lines 200-240.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    locator: Option<String>,
    /// The state that you read: a commit, a revision, a hash of the content, or when it was
    /// fetched. It tells later whether the discovery is out of date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pin: Option<String>,
    /// The few lines that matter, word for word (at most 16 KiB; some 50 lines are plenty).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    excerpt: Option<String>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CitationKind {
    File,
    Commit,
    Url,
    Repo,
}

impl From<Citation> for loci_core::Citation {
    fn from(citation: Citation) -> Self {
        let Citation {
            kind,
            reference,
            locator,
            pin,
            excerpt,
        } = citation;
        let kind = match kind {
            CitationKind::File => loci_core::CitationKind::File,
            CitationKind::Commit => loci_core::CitationKind::Commit,
            CitationKind::Url => loci_core::CitationKind::Url,
            CitationKind::Repo => loci_core::CitationKind::Repository,
        };
        loci_core::Citation {
            kind,
            reference,
            locator,
            pin,
            excerpt,
        }
    }
}

impl From<loci_core::Citation> for Citation {
    fn from(citation: loci_core::Citation) -> Self {
        let loci_core::Citation {
            kind,
            reference,
            locator,
            pin,
            excerpt,
        } = citation;
        let kind = match kind {
            loci_core::CitationKind::File => CitationKind::File,
            loci_core::CitationKind::Commit => CitationKind::Commit,
            loci_core::CitationKind::Url => CitationKind::Url,
            loci_core::CitationKind::Repository => CitationKind::Repo,
        };
        Citation {
            kind,
            reference,
            locator,
            pin,
            excerpt,
        }
    }
}

/// Converts an error of an operation on the memory with this id to the messages of this dialect.
pub fn in_words(id: &str) -> impl Fn(Error) -> Error + '_ {
    move |error| match error.code {
        // Clients match on this text.
        ErrorCode::NotFound => Error::not_found(format!("not found: {id}")),
        ErrorCode::Forbidden => {
            let message = format!(
                "{id} is not yours: you may read it, and only its owner may change or delete it"
            );
            Error::new(ErrorCode::Forbidden, message)
        }
        _ => error,
    }
}

/// The rule of the `id` of a record: an id, or any part of one.
///
/// # Errors
/// `invalid_argument` for a text that cannot be an id.
pub fn record_id(name: &str, sent: &str) -> Result<()> {
    check::uuid(name, sent)
        .or_else(|_| MemoryId::parse(name, sent))
        .map(drop)
}

/// Returns the rule of the `scope` of memories; `instead` is the tool for discoveries.
pub fn memory_scope(instead: &str) -> impl Fn(&str, &str) -> Result<()> {
    move |name, scope| {
        check::name(name, scope)?;
        if scope.starts_with(DISCOVERY_PREFIX) {
            let problem = format!(
                "begins with `{DISCOVERY_PREFIX}`, as scopes of discoveries do; call {instead}"
            );
            return Err(Error::invalid(name, problem));
        }
        Ok(())
    }
}

/// Returns the rule of the `scope` of discoveries; `instead` is the tool for memories.
pub fn discovery_scope(instead: &str) -> impl Fn(&str, &str) -> Result<()> {
    move |name, scope| {
        check::name(name, scope)?;
        if !scope.starts_with(DISCOVERY_PREFIX) {
            let problem = format!(
                "must begin with `{DISCOVERY_PREFIX}`, such as discovery:repo:NAME; for memories, call {instead}"
            );
            return Err(Error::invalid(name, problem));
        }
        Ok(())
    }
}

/// Returns the errors of each part of the `citations`.
pub fn faults_of_citations(arguments: &Value) -> Vec<Error> {
    const PARTS: [&str; 4] = ["ref", "locator", "pin", "excerpt"];
    items(arguments, "citations", CITATIONS_MAX)
        .flat_map(|(name, citation)| {
            let fault =
                |part| check::citation_part(&name, part, citation.get(part)?.as_str()?).err();
            PARTS.into_iter().filter_map(fault).collect::<Vec<_>>()
        })
        .collect()
}
