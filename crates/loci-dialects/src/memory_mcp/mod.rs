//! The memory-mcp dialect: conversation memory for each user, with a cache and decisions (twelve
//! tools).
//!
//! `user_id` names the user for whom a tool acts, and the owner of the stored data: the dialect's
//! `user_argument`. Messages are short-term memories; long-term ones are made from people's
//! messages in the background. A memory's section is the `memory_type`, its thread the
//! conversation. Memories of other dialects are found here too, if that user may read them.

mod arguments;
mod cache_invalidate;
mod check_cache;
mod delete_memory;
mod hybrid_search;
mod memory_health;
mod object_id;
mod recall_decision;
mod recall_memory;
mod record;
mod search_web;
mod store_cache;
mod store_decision;
mod store_memory;
mod wipe_user_data;

use loci_core::Ownership;

use crate::{Dialect, Tool, UsualTools, bootstrap_command};

/// The dialect, with the tools in the order of the original's reference.
pub static DIALECT: Dialect = Dialect {
    name: "memory-mcp",
    title: "loci memory (memory-mcp tools)",
    instructions: "Memory of conversations, kept apart for each user. Call `recall_memory` before you answer, and \
        `store_memory` with what was said afterwards; what people say is sorted in the background and stays for \
        good. Give every call the same `user_id` for the same person: with a token, the name that it was made for \
        (`local` for the one of `loci serve`), with the scope `admin` or without tokens any name.\n\n\
        `store_decision` and `recall_decision` keep choices under a name, `check_cache` and `store_cache` answers \
        that may be wanted again. `hybrid_search` looks for exact words and for meaning alike. `delete_memory` \
        and `wipe_user_data` forget.",
    usual_tools: UsualTools {
        find: "recall_memory",
        project_argument: None,
        store: "store_memory",
        begin: None,
        shows: bootstrap_command,
    },
    ownership: Ownership::Usual,
    user_argument: Some("user_id"),
    tools: &TOOLS,
    resources: None,
};

static TOOLS: [Tool; 12] = [
    Tool::of::<store_memory::StoreMemory>(),
    Tool::of::<recall_memory::RecallMemory>(),
    Tool::of::<delete_memory::DeleteMemory>(),
    Tool::of::<check_cache::CheckCache>(),
    Tool::of::<store_cache::StoreCache>(),
    Tool::of::<hybrid_search::HybridSearch>(),
    Tool::of::<search_web::SearchWeb>(),
    Tool::of::<memory_health::MemoryHealth>(),
    Tool::of::<wipe_user_data::WipeUserData>(),
    Tool::of::<cache_invalidate::CacheInvalidate>(),
    Tool::of::<store_decision::StoreDecision>(),
    Tool::of::<recall_decision::RecallDecision>(),
];
