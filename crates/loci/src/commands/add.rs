//! `loci add`: stores a memory.

use std::io::Read;

use loci_core::limits::CONTENT_BYTES_MAX;
use serde_json::{Map, Value, json};

use crate::cli::Add;
use crate::exit::{Exit, Failure};
use crate::output::{Output, status_line};
use crate::settings::Settings;
use crate::wiring::Parts;

pub fn run(settings: &Settings, arguments: &Add, output: Output) -> Result<(), Failure> {
    let content = if arguments.text == "-" {
        stdin()?
    } else {
        arguments.text.clone()
    };
    let delivery = arguments.bootstrap.then_some("bootstrap");
    let values = [
        ("content", Some(json!(content))),
        (
            "project",
            arguments.project.as_ref().map(|value| json!(value)),
        ),
        ("type", arguments.r#type.as_ref().map(|value| json!(value))),
        ("tags", arguments.tags.as_ref().map(|value| json!(value))),
        ("ttl", arguments.ttl.as_ref().map(|value| json!(value))),
        ("weight", arguments.weight.map(|value| json!(value))),
        (
            "supersedes",
            arguments.supersedes.as_ref().map(|value| json!(value)),
        ),
        ("again", arguments.again.then_some(json!(true))),
        ("delivery", delivery.map(|value| json!(value))),
    ];
    let values: Map<String, Value> = values
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect();
    let reply = Parts::open(settings)?.call("remember", values)?.structured;
    let warnings = reply["warnings"].as_array().map_or(&[][..], Vec::as_slice);
    for warning in warnings {
        note_warning(warning, &reply["id"]);
    }
    Ok(output.either(
        &reply,
        format_args!("{}\n", reply["id"].as_str().unwrap_or_default()),
    )?)
}

/// Prints a warning of the dialect for a person. The notice of the reply already reports a pending
/// embedding.
fn note_warning(warning: &Value, id: &Value) {
    match warning["kind"].as_str() {
        Some("bootstrap_budget") => {
            let (tokens, budget) = (&warning["tokens"], &warning["budget"]);
            status_line(format_args!(
                "warning: sessions now start with about {tokens} tokens of memories; the budget is {budget}"
            ));
        }
        Some("session_start") => {
            let (shown, total) = (&warning["shown"], &warning["total"]);
            let is = if warning["shows_this"] == json!(true) {
                "is"
            } else {
                "is not"
            };
            status_line(format_args!(
                "warning: {shown} of the {total} memories that a session should start with fit what hosts show at its start; \
                 this one {is} among them"
            ));
        }
        Some("contradiction") => {
            status_line(
                "warning: these memories may say something else; replace one with --supersedes ID, or forget it:",
            );
            for near in warning["matches"].as_array().map_or(&[][..], Vec::as_slice) {
                let (id, content) = (
                    near["id"].as_str().unwrap_or_default(),
                    near["content"].as_str().unwrap_or_default(),
                );
                status_line(format_args!("  {id}  {content}"));
            }
        }
        Some("duplicate") => {
            let of = warning["duplicate_of"].as_str().unwrap_or_default();
            status_line(if warning["duplicate_of"] == *id {
                format!(
                    "nothing was stored: a memory with the same text is there ({of}); --again stores it all the same"
                )
            } else {
                format!("warning: the memory {of} has the same text")
            });
        }
        _ => {}
    }
}

fn stdin() -> Result<String, Failure> {
    let mut text = String::new();
    // One byte over the limit, so that a longer text is refused and not cut.
    let bytes_max = CONTENT_BYTES_MAX as u64 + 1;
    std::io::stdin().lock().take(bytes_max).read_to_string(&mut text).map_err(|error| {
        let message = match error.kind() {
            std::io::ErrorKind::InvalidData => {
                format!("stdin is no UTF-8 text of at most {CONTENT_BYTES_MAX} bytes; convert or split it")
            }
            _ => format!("stdin cannot be read: {error}"),
        };
        Failure::new(Exit::Usage, message)
    })?;
    Ok(text)
}
