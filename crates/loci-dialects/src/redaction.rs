//! Detection of secrets in the arguments of tools that store data.

use loci_core::{Error, Redactions, Result};
use loci_engine::Engine;
use serde_json::Value;

/// Arguments whose secrets the engine removes before it stores them.
const TEXTS: [&str; 19] = [
    "added_by",
    "body",
    "citations",
    "content",
    "entry",
    "key",
    "label",
    "messages",
    "object",
    "predicate",
    "query",
    "response",
    "source_closet",
    "source_file",
    "subject",
    "summary",
    "tags",
    "title",
    "value",
];
/// Arguments that name an existing record.
const RECORDS: [&str; 6] = [
    "drawer_id",
    "id",
    "memory_id",
    "source_drawer_id",
    "supersedes",
    "target_drawer_id",
];

/// Returns a notice of the secrets that the engine removes from the arguments of a storing call;
/// `None` if it removes nothing.
///
/// # Errors
/// `invalid_argument` if an argument that is stored unredacted holds a secret: the name of a place,
/// a project or a conversation, or an idempotency key.
pub fn taken_out(engine: &Engine, arguments: &Value) -> Result<Option<String>> {
    let mut taken = Redactions::default();
    for (name, value) in arguments.as_object().into_iter().flatten() {
        let mut found = Redactions::default();
        add_secrets(engine, value, &mut found);
        if TEXTS.contains(&name.as_str()) {
            taken.add_all(&found);
        } else if !found.is_empty() && !RECORDS.contains(&name.as_str()) {
            let problem = format!(
                "holds a secret ({found}); names are stored as they are, so take another one"
            );
            return Err(Error::invalid(name, problem));
        }
    }
    Ok((!taken.is_empty())
        .then(|| format!("secrets were taken out before anything was stored: {taken}")))
}

fn add_secrets(engine: &Engine, value: &Value, found: &mut Redactions) {
    match value {
        Value::String(text) => found.add_all(&engine.redaction().redact_written(text).found()),
        Value::Array(items) => items
            .iter()
            .for_each(|item| add_secrets(engine, item, found)),
        Value::Object(fields) => fields
            .values()
            .for_each(|field| add_secrets(engine, field, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
