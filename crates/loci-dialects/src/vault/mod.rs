//! The vault dialect: notes that are Markdown files, for people to open in an editor and for agents
//! to search (four tools).
//!
//! The frontmatter and text of a note's file are the source of truth. Memories of other dialects
//! are found, recalled and forgotten here in the same terms: the title is the first line of the
//! text, the body is the whole text. Forgetting changes the status and removes nothing.

mod arguments;
mod memory_append;
mod memory_forget;
mod memory_recall;
mod memory_search;
mod record;

use loci_core::Ownership;

use crate::{Dialect, Tool, UsualTools, bootstrap_command};

/// The dialect, with the tools in the order of the original's reference.
pub static DIALECT: Dialect = Dialect {
    name: "vault",
    title: "loci memory (vault tools)",
    instructions: "Memory kept as Markdown notes, which people read and edit in the same folder. Start each phase of your \
        work with `memory_recall`, naming the phase: setup, plan, work, review, release, bugfix, documenter, or a \
        few words of your own. Ask `memory_search` before you decide something that may have been settled. Write \
        down what should outlast this conversation with `memory_append`: one subject to a note, a title that says \
        what it is about, text that makes sense by itself.\n\n\
        Link notes with [[their titles]]. A note is never changed through these tools: when one no longer holds, \
        append what does and take the old one out of sight with `memory_forget`. Its file stays, and a person can \
        bring it back.",
    usual_tools: UsualTools {
        find: "memory_search",
        project_argument: None,
        store: "memory_append",
        shows: bootstrap_command,
        begin: Some("memory_recall"),
    },
    ownership: Ownership::Usual,
    user_argument: None,
    tools: &TOOLS,
    resources: None,
};

static TOOLS: [Tool; 4] = [
    Tool::of::<memory_search::MemorySearch>(),
    Tool::of::<memory_recall::MemoryRecall>(),
    Tool::of::<memory_append::MemoryAppend>(),
    Tool::of::<memory_forget::MemoryForget>(),
];
