//! The openai dialect: the two tools that ChatGPT's connectors and deep research call (two tools).
//!
//! Both only read. A result has the address of its memory on the page, because ChatGPT cites only
//! what has one.

mod fetch;
mod record;
mod search;

use loci_core::Ownership;

use crate::{Dialect, Tool, UsualTools, bootstrap_command};

/// The dialect.
pub static DIALECT: Dialect = Dialect {
    name: "openai",
    title: "loci memory (search and fetch)",
    instructions: "What people and agents remembered: facts, rules, decisions, notes and conversations. Ask `search` \
        before you answer from assumption, then read what it found with `fetch`, and cite it by its url. Nothing \
        can be stored here.",
    usual_tools: UsualTools {
        find: "search",
        project_argument: None,
        store: "fetch",
        shows: bootstrap_command,
        begin: None,
    },
    ownership: Ownership::Usual,
    user_argument: None,
    tools: &TOOLS,
    resources: None,
};

static TOOLS: [Tool; 2] = [Tool::of::<search::SearchTool>(), Tool::of::<fetch::Fetch>()];
