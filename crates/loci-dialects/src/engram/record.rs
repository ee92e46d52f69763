//! A memory in the format of this dialect.

use loci_core::{Memory, MemoryId, Result, Tier, Visibility};
use loci_engine::{Call, Recall, ResolvedLocations, TextPage, shown_name};
use schemars::JsonSchema;
use serde::Serialize;

use super::arguments::{Citation, DISCOVERY, NOUNS, scope};
use crate::Reply;
use crate::wire::{
    FromFile, Truncation, both, explained, left_out, reading_call, rfc3339, rounded, times_said,
};

/// The names of attributes, which equal the names of the arguments.
pub const SOURCE: &str = "source";
pub const REPO: &str = "repo";
pub const WORKSPACE: &str = "workspace";
pub const WORKTREE_PATH: &str = "worktree_path";
pub const BASE_DIR: &str = "base_dir";

/// The actor shown for a memory without a named writer.
const ANONYMOUS: &str = "anonymous";

/// A memory or a discovery.
#[derive(Serialize, JsonSchema)]
pub struct Record {
    /// Its id.
    id: String,
    /// Its title, if it has one: that of a note.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The text, or its parts that fit.
    content: String,
    #[serde(flatten)]
    cut: Truncation,
    #[serde(flatten)]
    from_file: FromFile,
    /// The scope that it is filed under.
    scope: String,
    /// The repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    repo: Option<String>,
    /// The workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<String>,
    /// The path of the git worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    worktree_path: Option<String>,
    /// The base directory of the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    base_dir: Option<String>,
    /// `user-said` or `agent-inferred`; absent if the call did not say which.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// decision, preference, convention, gotcha; `discovery` for a discovery; other words for
    /// memories that other tools filed.
    category: String,
    /// Its labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    /// Who wrote it, by the name for people.
    actor: String,
    /// Whose it is; absent if it is nobody's, and so everyone's to read.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    /// Who wrote the text that it has now, if that is not the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_by: Option<String>,
    /// `private` to its owner, or `shared` if others may read it; without an owner, everyone may.
    visibility: &'static str,
    /// Of a discovery: `map` or `fact`.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// Of a discovery: what it rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    citations: Vec<Citation>,
    /// Of a discovery: its gist.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    /// When it was first stored.
    created_at: String,
    /// When its text last changed.
    updated_at: String,
}

/// A record with its relevance.
#[derive(Serialize, JsonSchema)]
pub struct Hit {
    #[serde(flatten)]
    record: Record,
    /// Its relevance to the query, 0 to 1.
    score: f64,
    /// The number of times that this was found, if more than once: memories that say the same are one
    /// result.
    #[serde(skip_serializing_if = "Option::is_none")]
    times_said: Option<usize>,
}

/// Returns true if the memory is a discovery.
pub fn is_discovery(memory: &Memory) -> bool {
    memory.tier == Tier::Unlisted && memory.kind == DISCOVERY
}

/// Returns the visibility in this dialect: common memories count as shared.
pub fn visibility(memory: &Memory) -> &'static str {
    match memory.visibility {
        Visibility::Private => "private",
        Visibility::Shared | Visibility::Common => "shared",
    }
}

/// Searches with a limit of `tokens`, and replies with the output that `output` makes of the
/// results.
///
/// # Errors
/// Errors of the engine, and the errors of [`to_value`](crate::tool::to_value).
pub fn found<Output: Serialize>(
    call: &Call<'_>,
    request: Recall<'_>,
    tokens: Option<usize>,
    output: impl FnOnce(Vec<Hit>) -> Output,
) -> Result<Reply> {
    let ResolvedLocations {
        collections,
        notice,
        ..
    } = call
        .listings()
        .named(NOUNS, &request.tiers, request.collections, Vec::new())?;
    let request = Recall {
        collections,
        ..request
    };
    let recalled = call.search().recall_within(&request, tokens)?;
    let explanations = recalled.hits.iter().map(explained).collect();
    let left_out = left_out(recalled.hits.len(), recalled.left_out, "ask more narrowly");
    let hit = |hit: loci_engine::Hit| Hit {
        score: rounded(hit.score, 4),
        times_said: times_said(&hit),
        record: Record::shown(hit.memory, hit.length),
    };
    let (results, said) = (recalled.answers(), recalled.notice());
    let hits: Vec<Hit> = recalled.hits.into_iter().map(hit).collect();
    let output = output(hits);
    let notice = both(both(notice, said), left_out);
    let reply = Reply::json(&output, Some(results))?.with_notice(notice);
    Ok(reply.with_explanations(explanations))
}

impl Record {
    /// Converts a memory of a search or a listing. `length` is the number of characters of its
    /// text, if that is an excerpt.
    pub fn shown(memory: Memory, length: Option<usize>) -> Self {
        let cut = Truncation::of(length, |offset| reading(&memory.id, offset));
        Record::of(memory, cut)
    }

    /// Converts a page of the text of a memory.
    pub fn page(page: TextPage) -> Self {
        let cut = Truncation::of_page(&page, |offset| reading(&page.memory.id, offset));
        Record::of(page.memory, cut)
    }

    fn of(mut memory: Memory, cut: Truncation) -> Self {
        let is_discovery = is_discovery(&memory);
        let visibility = visibility(&memory);
        let from_file = FromFile::of(&memory);
        let section = memory.location.section;
        let (category, kind) = if is_discovery {
            (memory.kind, Some(section))
        } else {
            (section, None)
        };
        let mut attribute = |name| memory.attributes.remove(name);
        Record {
            from_file,
            repo: attribute(REPO),
            workspace: attribute(WORKSPACE),
            worktree_path: attribute(WORKTREE_PATH),
            base_dir: attribute(BASE_DIR),
            source: attribute(SOURCE),
            id: memory.id.to_string(),
            title: memory.title,
            content: memory.content,
            cut,
            scope: scope(memory.location.collection),
            category,
            tags: memory.tags,
            actor: memory
                .actor
                .or_else(|| memory.owner.clone())
                .unwrap_or_else(|| ANONYMOUS.to_owned()),
            owner: memory.owner,
            updated_by: memory.updated_by.as_deref().map(shown_name),
            visibility,
            kind,
            citations: memory.citations.into_iter().map(Citation::from).collect(),
            summary: memory.summary.filter(|_| is_discovery),
            created_at: rfc3339(memory.created_at),
            updated_at: rfc3339(memory.updated_at),
        }
    }
}

fn reading(id: &MemoryId, offset: Option<usize>) -> String {
    reading_call("get_memory", &[("id", id.as_str())], offset)
}
