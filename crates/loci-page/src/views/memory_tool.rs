//! Anthropic's memory tool for programs that speak no MCP, under `/api/v1/memory-tool`.

use loci_core::{Caller, Error, ErrorCode, Result, SaidBy};
use loci_dialects::Context;
use loci_dialects::anthropic::reply_to;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::request::RequestContext;

/// A command of the memory tool: the input of a model's call, as it is.
#[derive(Deserialize, Serialize, ToSchema)]
pub(crate) struct MemoryCommand {
    /// What to do: `view`, `create`, `str_replace`, `insert`, `delete` or `rename`.
    command: String,
    /// The path of the file or folder, below `/memories`; of every command but `rename`.
    path: Option<String>,
    /// For `view`: the first and the last line of a file to show, from 1; -1 is the last one.
    view_range: Option<Vec<i64>>,
    /// For `create`: the text of the file.
    file_text: Option<String>,
    /// For `str_replace`: the text to replace, which stands in the file once.
    old_str: Option<String>,
    /// For `str_replace`: the text to put in its place; nothing if it is left out.
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

/// The reply to a command, as the result of the model's call takes it.
#[derive(Serialize, ToSchema)]
pub(crate) struct MemoryToolReply {
    /// The words of the helper in Anthropic's SDKs.
    content: String,
    /// True if the command was refused, and the words say why.
    is_error: bool,
}

/// Runs a command of Anthropic's memory tool, as the tool set `anthropic` and `loci memory-tool` do.
/// What the model is to be told of its command is a reply, also a refusal; what it cannot help, e.g.
/// a missing scope, is an error.
#[utoipa::path(post, path = "/memory-tool", operation_id = "memory_tool", request_body = MemoryCommand, responses((status = OK, body = MemoryToolReply, description = "The reply for the model")))]
pub(crate) fn run(context: &RequestContext<'_>, command: MemoryCommand) -> Result<MemoryToolReply> {
    let Value::Object(mut given) = serde_json::to_value(&command)
        .map_err(|error| Error::internal(format!("a command cannot be written: {error}")))?
    else {
        return Err(Error::internal("a command is no object"));
    };
    given.retain(|_, value| !value.is_null());
    // The program is not the page.
    let caller = Caller {
        client: None,
        said_by: SaidBy::Agent,
        ..context.caller().clone()
    };
    let tool_context = Context {
        engine: context.engine(),
        caller: &caller,
    };
    let outcome = reply_to(tool_context, given);
    context.page.forget_open_counts();
    match outcome {
        Ok(content) => Ok(MemoryToolReply {
            content,
            is_error: false,
        }),
        Err(error) if is_for_the_model(error.code) => Ok(MemoryToolReply {
            content: error.message,
            is_error: true,
        }),
        Err(error) => Err(error),
    }
}

/// Returns true for a refusal that a model can do something about, by another command.
fn is_for_the_model(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::InvalidArgument
            | ErrorCode::NotFound
            | ErrorCode::Conflict
            | ErrorCode::TooLarge
    )
}
