//! The engram dialect: the knowledge of a person or an agent, with an owner for each memory, and
//! cited discoveries about code (ten tools).
//!
//! `scope` is the whole collection name; `global` means no collection. `category` is kind and
//! section. A discovery is separate from the memories (by its tier), under a scope that starts with
//! `discovery:`; its kind is `discovery` and its section `map` or `fact`. Further arguments of a
//! writer become attributes of the memory under the same names. Ownership is strict: common records
//! of other dialects are found here, but only their owners may change them.

mod arguments;
mod delete_all;
mod delete_memory;
mod get_memory;
mod list_memory;
mod outcome;
mod record;
mod search_discovery;
mod search_memory;
mod set_visibility;
mod store_discovery;
mod store_memory;
mod update_memory;

use loci_core::Ownership;

use crate::{Dialect, Tool, UsualTools, bootstrap_command};

/// The dialect, with the tools in the order of the original's reference.
pub static DIALECT: Dialect = Dialect {
    name: "engram",
    title: "loci memory (engram tools)",
    instructions: "Memory that belongs to its author, by scope. Start a session with `list_memory` for the scope that you \
        work in, and `search_memory` before you decide something that may have been decided. Store decisions, \
        preferences, conventions and gotchas with `store_memory` when they are settled: one to a call, in words \
        that make sense by themselves, never secrets or what will be untrue tomorrow. A scope is a name of yours, \
        compared as a whole, such as eval-2026-05:project:gateway.\n\n\
        What you found out about a codebase goes into `store_discovery` with the files or commits that show it, \
        under a scope that starts with `discovery:`; `search_discovery` finds it again, nothing else does. What \
        you store is private until `set_visibility` shares it: others may then read it, and only you change it.",
    usual_tools: UsualTools {
        find: "search_memory",
        project_argument: Some("scope"),
        store: "store_memory",
        shows: bootstrap_command,
        begin: Some("list_memory"),
    },
    ownership: Ownership::Strict,
    user_argument: None,
    tools: &TOOLS,
    resources: None,
};

static TOOLS: [Tool; 10] = [
    Tool::of::<store_memory::StoreMemory>(),
    Tool::of::<search_memory::SearchMemory>(),
    Tool::of::<list_memory::ListMemory>(),
    Tool::of::<get_memory::GetMemory>(),
    Tool::of::<update_memory::UpdateMemory>(),
    Tool::of::<delete_memory::DeleteMemory>(),
    Tool::of::<delete_all::DeleteAll>(),
    Tool::of::<store_discovery::StoreDiscovery>(),
    Tool::of::<search_discovery::SearchDiscovery>(),
    Tool::of::<set_visibility::SetVisibility>(),
];
