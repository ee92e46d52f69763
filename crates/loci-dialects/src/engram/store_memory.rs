//! The tool `store_memory`: stores a decision, preference, convention or gotcha.

use std::collections::BTreeMap;

use loci_core::limits::TAGS_MAX;
use loci_core::{CollectionFilter, Error, Result, SaidBy, Scope};
use loci_engine::{Call, Remember, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{AGENT_INFERRED, NOUNS, collection, memory_scope};
use super::record::{BASE_DIR, REPO, SOURCE, WORKSPACE, WORKTREE_PATH};
use crate::faults::Faults;
use crate::questions::Question;
use crate::wire::pending;
use crate::{Hints, Reply, TypedTool};

pub struct StoreMemory;

/// Keep one thing for later sessions: a decision, a preference, a convention or a gotcha. Call it
/// when something is settled, and write it so that it makes sense by itself, with its reason. Leave
/// out secrets, what is only true now (dates of today, the state of a task), and what the
/// repository says anyway. It is private to you until `set_visibility` shares it. To keep what you
/// found out by reading code, use `store_discovery`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The text to keep, stored exactly as given (at most 1 MiB).
    content: String,
    /// Where to file it: a name of 1 to 256 characters that `search_memory` and `list_memory` take
    /// as a whole, by custom run:tier:repo, such as eval-2026-05:project:gateway; `global` for what
    /// holds everywhere. Not one that starts with `discovery:`.
    scope: String,
    /// `user-said` if a person said it, `agent-inferred` if you concluded it.
    source: Source,
    /// The kind of memory.
    category: Category,
    /// Labels, at most 128 of 128 bytes; searches find it by them, too.
    #[serde(default)]
    #[schemars(length(max = TAGS_MAX))]
    tags: Vec<String>,
    /// Name or URL of the repository that it is about (this and the three below: at most 4 KiB
    /// each).
    repo: Option<String>,
    /// The workspace that it comes from.
    workspace: Option<String>,
    /// Path of the git worktree that it comes from.
    worktree_path: Option<String>,
    /// Base directory of the project.
    base_dir: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Source {
    UserSaid,
    AgentInferred,
}

impl Source {
    fn name(self) -> &'static str {
        match self {
            Source::UserSaid => "user-said",
            Source::AgentInferred => AGENT_INFERRED,
        }
    }

    /// Returns who said the memory; the caller if `None`.
    fn said_by(self) -> Option<SaidBy> {
        matches!(self, Source::UserSaid).then_some(SaidBy::User)
    }
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Category {
    Decision,
    Preference,
    Convention,
    Gotcha,
}

impl Category {
    fn name(self) -> &'static str {
        match self {
            Category::Decision => "decision",
            Category::Preference => "preference",
            Category::Convention => "convention",
            Category::Gotcha => "gotcha",
        }
    }
}

/// The memory that was stored.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The id of the memory.
    id: String,
    /// A memory of yours or shared with you that has the same text in the same scope.
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate_of: Option<String>,
}

impl TypedTool for StoreMemory {
    const NAME: &'static str = "store_memory";
    const TITLE: &'static str = "Store a memory";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints::ADDS;
    const OPERATION: &'static str = "memory:write";
    const COMPARES: bool = true;
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        let checked = Faults::of(arguments)
            .check("content", check::content)
            .check("scope", memory_scope("store_discovery"))
            .items("tags", TAGS_MAX, check::tag);
        [REPO, WORKSPACE, WORKTREE_PATH, BASE_DIR]
            .into_iter()
            .fold(checked, |faults, name| faults.check(name, check::reference))
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let said = [
            (SOURCE, Some(arguments.source.name().to_owned())),
            (REPO, arguments.repo),
            (WORKSPACE, arguments.workspace),
            (WORKTREE_PATH, arguments.worktree_path),
            (BASE_DIR, arguments.base_dir),
        ];
        let attributes: BTreeMap<String, String> = said
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect();
        let collection = collection(arguments.scope);
        let case_notice = call
            .listings()
            .differing_in_case(NOUNS, collection.as_deref(), None)?;
        let request = Remember {
            compare_in: Some(
                collection
                    .clone()
                    .map_or(CollectionFilter::Global, CollectionFilter::Only),
            ),
            collection,
            tags: arguments.tags,
            attributes,
            said_by: arguments.source.said_by(),
            ..Remember::new(arguments.content, arguments.category.name())
        };
        let remembered = call.memories().remember(request)?;
        let contradicted = remembered.contradicted.iter();
        let contradicted = contradicted.map(|similar| similar.memory.id.to_string());
        let contradicted = contradicted.collect();
        let question =
            Question::of_contradiction(call, &remembered.memory, &remembered.contradicted);
        let id = remembered.memory.id;
        let output = Output {
            id: id.to_string(),
            duplicate_of: remembered.duplicate_of.map(|id| id.to_string()),
        };
        let reply = Reply::json(&output, None)?
            .with_notice(pending("stored", remembered.embedding))
            .with_notice(case_notice)
            .with_stored(&id, contradicted);
        let decided = reply.clone();
        Ok(reply.with_question(question, decided))
    }
}
