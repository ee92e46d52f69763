//! The tool `loci_view_session`: shows a view what the next session starts with.

use loci_core::limits::BOOTSTRAP_TOKENS_MAX;
use loci_core::{Result, Scope};
use loci_engine::{BootstrapItem, Call};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shown_memory::{ShownMemory, reply};
use crate::{Hints, Reply, TypedTool};

/// The most memories that are shown.
const ITEMS_MAX: usize = 100;
/// The most projects that are offered.
const PROJECTS_MAX: usize = 100;

pub struct ShowSession;

/// Read what the next session starts with, for a view of the conversation. Views call this; a model has
/// no use for it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The project of the session; without it, what every session starts with.
    project: Option<String>,
    /// The user, in tool sets whose calls name one.
    #[serde(rename = "user_id")]
    _user_id: Option<String>,
}

/// The memories that the next session starts with.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The memories, in order.
    items: Vec<Item>,
    /// The number of further ones.
    more: usize,
    /// The estimated number of tokens of all.
    tokens: usize,
    /// The number of tokens that they should not exceed.
    budget: usize,
    /// The number of memories that are held back until a person decides.
    held_back: usize,
    /// The projects that there are.
    projects: Vec<String>,
}

/// A memory at the start of a session.
#[derive(Serialize, JsonSchema)]
struct Item {
    /// The heading that it stands under.
    heading: String,
    /// The estimated number of its tokens.
    tokens: usize,
    /// True if it can change places with the one above.
    can_rise: bool,
    /// True if it can change places with the one below.
    can_fall: bool,
    /// The memory.
    memory: ShownMemory,
}

impl TypedTool for ShowSession {
    const NAME: &'static str = "loci_view_session";
    const TITLE: &'static str = "The next session";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "memory:read";
    const BY_A_PERSON: bool = true;
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let project = arguments.project.filter(|project| !project.is_empty());
        let start = call.context().bootstrap(project.as_deref())?;
        let items = call.context().bootstrap_items(project.as_deref())?;
        let mut projects = call.listings().collections()?;
        projects.truncate(PROJECTS_MAX);
        let shown = |item: &BootstrapItem| Item {
            heading: item.heading.clone(),
            tokens: item.tokens,
            can_rise: item.can_rise,
            can_fall: item.can_fall,
            memory: ShownMemory::of(call, &item.memory, false),
        };
        let output = Output {
            more: items.len().saturating_sub(ITEMS_MAX),
            items: items.iter().take(ITEMS_MAX).map(shown).collect(),
            tokens: start.tokens,
            budget: BOOTSTRAP_TOKENS_MAX,
            held_back: start.held_back,
            projects,
        };
        reply("Read.", &output, None)
    }
}
