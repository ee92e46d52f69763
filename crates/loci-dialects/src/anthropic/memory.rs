//! The tool `memory`: views and changes text files under `/memories`.

use loci_core::{Error, Result, Scope};
use loci_engine::{Call, shown_name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::helper::{self, Insertion, Replacement};
use crate::questions::Question;
use crate::{Hints, Reply, TypedTool};

pub struct MemoryTool;

/// View and change memory: text files in folders under /memories. `view` shows a file with its line
/// numbers, or what is in a folder; `create` writes a new file; `str_replace` replaces a text that
/// stands in a file once; `insert` inserts a text after a line; `delete` removes a file, or a folder
/// with everything in it; `rename` renames or moves one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// What to do.
    command: Command,
    /// The path of the file or folder, such as /memories/preferences.md; of every command but
    /// `rename`.
    path: Option<String>,
    /// For `view`: the first and the last line of a file to show, from 1; -1 is the last one.
    view_range: Option<Vec<i64>>,
    /// For `create`: the text of the file.
    file_text: Option<String>,
    /// For `str_replace`: the text to replace, which stands in the file once.
    old_str: Option<String>,
    /// For `str_replace`: the text to put in its place; nothing if left out.
    new_str: Option<String>,
    /// For `insert`: the line after which the text goes; 0 is the beginning of the file.
    insert_line: Option<i64>,
    /// For `insert`: the text to insert.
    insert_text: Option<String>,
    /// For `rename`: the path of the file or folder.
    old_path: Option<String>,
    /// For `rename`: its new path, where nothing is yet.
    new_path: Option<String>,
}

/// What the tool does.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Command {
    View,
    Create,
    StrReplace,
    Insert,
    Delete,
    Rename,
}

/// The reply.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The reply in words, as the helper of Anthropic's SDKs gives it.
    content: String,
}

impl TypedTool for MemoryTool {
    const NAME: &'static str = "memory";
    const TITLE: &'static str = "Memory";
    const SCOPE: Scope = Scope::Write;
    const FURTHER_SCOPES: &'static [Scope] = &[Scope::Read];
    const HINTS: Hints = Hints::CHANGES;
    const OPERATION: &'static str = "memory:write";
    type Arguments = Arguments;
    type Output = Output;

    // A path or a text that is left out is an empty one, of which the helper says what is wrong.
    fn faults(arguments: &Value) -> Vec<Error> {
        let is_insert = arguments.get("command").and_then(Value::as_str) == Some("insert");
        let is_missing = is_insert && arguments.get("insert_line").is_none();
        let fault = is_missing.then(|| Error::invalid("insert_line", "is needed by insert"));
        fault.into_iter().collect()
    }

    fn question(call: &Call<'_>, arguments: &Arguments) -> Result<Option<Question>> {
        let path = arguments.path.as_deref().unwrap_or_default();
        match arguments.command {
            Command::Delete if helper::is_there(call, path)? => {
                let what = format!("{} with everything in it", shown_name(path));
                Ok(Some(Question::of_deletion(&what)))
            }
            _ => Ok(None),
        }
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let path = arguments.path.unwrap_or_default();
        let (content, notice) = match arguments.command {
            Command::View => helper::view(call, &path, arguments.view_range.as_deref())?,
            Command::Create => {
                helper::create(call, &path, &arguments.file_text.unwrap_or_default())?
            }
            Command::StrReplace => helper::str_replace(
                call,
                &path,
                &Replacement {
                    old: arguments.old_str.unwrap_or_default(),
                    new: arguments.new_str.unwrap_or_default(),
                },
            )?,
            Command::Insert => helper::insert(
                call,
                &path,
                &Insertion {
                    line: arguments.insert_line.unwrap_or_default(),
                    text: arguments.insert_text.unwrap_or_default(),
                },
            )?,
            Command::Delete => helper::delete(call, &path)?,
            Command::Rename => helper::rename(
                call,
                &arguments.old_path.unwrap_or_default(),
                &arguments.new_path.unwrap_or_default(),
            )?,
        };
        let output = Output { content };
        let structured = crate::tool::to_value(&output)?;
        Ok(Reply::new(output.content, structured, None).with_notice(notice))
    }
}
