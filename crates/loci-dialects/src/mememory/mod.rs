//! The mememory dialect: scoped facts, rules and decisions (seven tools, two resources).
//!
//! A memory is global or belongs to a project. Its `type` is the record's section and kind, its
//! project the collection. Memories of other dialects appear here in the same terms.

mod arguments;
mod forget;
mod help;
mod list;
mod recall;
mod record;
mod remember;
mod resources;
mod stats;
mod update;

use loci_core::Ownership;
use loci_core::limits::LIST_RESULTS_MAX;

use crate::{Dialect, Tool, UsualTools};

pub use recall::score;
pub use record::Record;

/// The dialect, with the tools in the order of the original's reference.
pub static DIALECT: Dialect = Dialect {
    name: "mememory",
    title: "loci memory (mememory tools)",
    instructions: "Long-term memory that outlives this conversation. Call `recall` before you answer from \
        assumption and `remember` whatever should still be known tomorrow: facts, rules, decisions, feedback. Pass \
        `project` to work with one project's memories together with the global ones. When `remember` reports a \
        contradiction, ask the user which memory holds. `help` explains everything.",
    usual_tools: UsualTools {
        find: "recall",
        project_argument: Some("project"),
        store: "remember",
        begin: None,
        shows: |_, _| {
            format!("the tool `list` with delivery \"bootstrap\" and limit {LIST_RESULTS_MAX}")
        },
    },
    ownership: Ownership::Usual,
    user_argument: None,
    tools: &TOOLS,
    resources: Some(resources::RESOURCES),
};

static TOOLS: [Tool; 7] = [
    Tool::of::<remember::Remember>(),
    Tool::of::<recall::Recall>(),
    Tool::of::<forget::Forget>(),
    Tool::of::<update::Update>(),
    Tool::of::<list::List>(),
    Tool::of::<stats::Stats>(),
    Tool::of::<help::Help>(),
];
