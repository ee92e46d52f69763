//! Helpers for arguments and the folder of notes that several tools share.

use std::time::Duration;

use loci_core::{Error, Result, Space};
use loci_engine::Call;
use serde_json::Value;

pub use crate::wire::both;

/// The maximum wait for the files that existed when the process started to be read.
const NOTES_WAIT: Duration = Duration::from_secs(2);

/// Waits until the folder of notes is indexed, for a caller of its space. Returns a sentence about
/// the files that are still missing.
pub fn await_notes(call: &Call<'_>) -> Option<String> {
    (call.caller().space == Space::default())
        .then(|| call.notes().wait(NOTES_WAIT))
        .flatten()
}

/// Checks an argument by a rule, which gets its name and its text. Skips a missing value or one
/// that is not a string; the schema reports those.
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

/// Checks the first `items_max` items of an array by a rule.
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
