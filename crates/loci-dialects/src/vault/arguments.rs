//! What several tools ask of their arguments, and of the folder of notes.

use std::time::Duration;

use loci_core::{Error, Result, Space};
use serde_json::Value;

use crate::Context;
pub use crate::wire::both;

/// How long a call waits for the files to be read that were there when the process started.
const NOTES_WAIT: Duration = Duration::from_secs(2);

/// Waits until the folder of notes is known, for a caller of its space. What is not known of it
/// then, in a sentence.
pub fn await_notes(context: Context<'_>) -> Option<String> {
    (context.caller.space == Space::default())
        .then(|| context.engine.await_notes(NOTES_WAIT))
        .flatten()
}

/// What is wrong with an argument by a rule, which gets its name and its text. What is no string,
/// or missing, is the schema's business.
pub fn fault(
    arguments: &Value,
    name: &str,
    rule: impl Fn(&str, &str) -> Result<()>,
) -> Option<Error> {
    arguments
        .get(name)
        .and_then(Value::as_str)
        .and_then(|text| rule(name, text).err())
}

/// What is wrong with the items of an array, of as many as it may have.
pub fn faults_of_items(
    arguments: &Value,
    name: &str,
    items_max: usize,
    rule: impl Fn(&str, &str) -> Result<()>,
) -> Vec<Error> {
    let items = arguments
        .get(name)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .take(items_max)
        .enumerate();
    items
        .filter_map(|(index, item)| rule(&format!("{name}.{index}"), item.as_str()?).err())
        .collect()
}
