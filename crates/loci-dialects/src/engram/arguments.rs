//! Arguments that several tools share, and their validation.

use loci_core::limits::{CITATIONS_MAX, RECALL_RESULTS_MAX, TAGS_MAX};
use loci_core::{CollectionFilter, Error, ErrorCode, MemoryId, Result};
use loci_engine::{Call, LocationNouns, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// What it is.
    kind: CitationKind,
    /// Path of the file, name or URL of the repository, id of the commit, or URL of the page (at
    /// most 4 KiB).
    #[serde(rename = "ref")]
    reference: String,
    /// Where in it, such as the lines 200-240.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    locator: Option<String>,
    /// Which state of it: a commit, a revision, a hash of the content, or when it was fetched. By
    /// it one tells later whether the discovery is out of date.
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

/// Collects the errors of arguments. Skips missing values and wrong types, which the schema
/// reports.
pub struct Faults<'a> {
    arguments: &'a Value,
    found: Vec<Error>,
}

impl<'a> Faults<'a> {
    /// Starts without errors for these arguments.
    pub fn of(arguments: &'a Value) -> Self {
        Faults {
            arguments,
            found: Vec::new(),
        }
    }

    /// Checks an argument by a rule, which gets its name and its text.
    pub fn check(mut self, name: &str, rule: impl Fn(&str, &str) -> Result<()>) -> Self {
        if let Some(text) = self.arguments.get(name).and_then(Value::as_str) {
            self.found.extend(rule(name, text).err());
        }
        self
    }

    /// Checks the `id` of a record.
    pub fn id(self) -> Self {
        self.check("id", |_, sent| {
            check::uuid("id", sent)
                .or_else(|_| MemoryId::parse("id", sent))
                .map(drop)
        })
    }

    /// Checks the `scope` of memories; `instead` is the tool for discoveries.
    pub fn memory_scope(self, instead: &str) -> Self {
        self.check("scope", |name, scope| {
            check::name(name, scope)?;
            if scope.starts_with(DISCOVERY_PREFIX) {
                let problem = format!(
                    "begins with `{DISCOVERY_PREFIX}`, as scopes of discoveries do; call {instead}"
                );
                return Err(Error::invalid(name, problem));
            }
            Ok(())
        })
    }

    /// Checks the `scope` of discoveries; `instead` is the tool for memories.
    pub fn discovery_scope(self, instead: &str) -> Self {
        self.check("scope", |name, scope| {
            check::name(name, scope)?;
            if !scope.starts_with(DISCOVERY_PREFIX) {
                let problem = format!(
                    "must begin with `{DISCOVERY_PREFIX}`, such as discovery:repo:NAME; for memories, call {instead}"
                );
                return Err(Error::invalid(name, problem));
            }
            Ok(())
        })
    }

    /// Checks each of the `tags`.
    pub fn tags(mut self) -> Self {
        for (index, tag) in self.list("tags", TAGS_MAX) {
            if let Some(tag) = tag.as_str() {
                self.found
                    .extend(check::tag(&format!("tags.{index}"), tag).err());
            }
        }
        self
    }

    /// Checks the time in which memories were first stored.
    pub fn created(mut self) -> Self {
        self.found.extend(CREATED.faults(self.arguments));
        self
    }

    /// Checks each part of the `citations`.
    pub fn citations(mut self) -> Self {
        const PARTS: [&str; 4] = ["ref", "locator", "pin", "excerpt"];
        for (index, citation) in self.list("citations", CITATIONS_MAX) {
            let said = PARTS
                .into_iter()
                .filter_map(|part| Some((part, citation.get(part)?.as_str()?)));
            let check = |(part, text)| {
                check::citation_part(&format!("citations.{index}"), part, text).err()
            };
            self.found.extend(said.filter_map(check));
        }
        self
    }

    /// Adds an error that was found elsewhere.
    pub fn and(mut self, fault: Option<Error>) -> Self {
        self.found.extend(fault);
        self
    }

    /// Returns all errors.
    pub fn found(self) -> Vec<Error> {
        self.found
    }

    /// Returns the items of an array, up to the maximum number.
    fn list(
        &self,
        name: &str,
        items_max: usize,
    ) -> impl Iterator<Item = (usize, &'a Value)> + use<'a> {
        self.arguments
            .get(name)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .take(items_max)
            .enumerate()
    }
}
