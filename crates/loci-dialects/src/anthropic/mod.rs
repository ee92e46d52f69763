//! The anthropic dialect: the memory tool of Anthropic's API, whose commands work on text files
//! under `/memories` (one tool).
//!
//! A file is a memory whose title is its path, and the memories of other dialects are files, too
//! (ADR 99). Replies are those of the helper in Anthropic's SDKs, byte for byte: of the one for
//! Python, or of the one for TypeScript if the setting `memory_tool.helper` says so.

mod helper;
mod memory;

use loci_core::{Ownership, Result};
use serde_json::{Map, Value};

use crate::{Context, Dialect, Tool, UsualTools, bootstrap_command};

/// The dialect.
pub static DIALECT: Dialect = Dialect {
    name: "anthropic",
    title: "loci memory (Anthropic's memory tool)",
    instructions: "Memory as text files under /memories. Before anything else, look what is there: `memory` with \
        the command view and the path /memories. Write down what should still be known tomorrow with `memory` and \
        the command create, one subject to a file, and keep the files short, current and in order.\n\n\
        Files of folders that you did not make are memories that came in through other tools: read them, correct \
        their text, or delete them one by one.",
    usual_tools: UsualTools {
        find: "memory",
        project_argument: None,
        store: "memory",
        shows: bootstrap_command,
        begin: None,
    },
    ownership: Ownership::Usual,
    user_argument: None,
    tools: &TOOLS,
    resources: None,
};

static TOOLS: [Tool; 1] = [Tool::of::<memory::MemoryTool>()];

/// The commands of the tool.
const COMMANDS: [&str; 6] = [
    "view",
    "create",
    "str_replace",
    "insert",
    "delete",
    "rename",
];

/// Runs a command, as the input of a model names it, for a program that speaks no MCP, and returns
/// the reply in words. An unknown command is refused in the words of the helper, because a schema has
/// others.
///
/// # Errors
/// As for [`Dialect::call`]; the message is what the model is to be told.
pub fn reply_to(context: Context<'_>, command: Map<String, Value>) -> Result<String> {
    let name = command.get("command").and_then(Value::as_str);
    if let Some(name) = name.filter(|name| !COMMANDS.contains(name)) {
        let language = context.engine.policy().memory_tool;
        return Err(helper::unknown_command(language, name));
    }
    let [tool] = &TOOLS;
    Ok(DIALECT.call(tool, context, command)?.text)
}
