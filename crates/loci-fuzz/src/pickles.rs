//! Pickles: any bytes are refused, or read as a value that nests no deeper than is said; nothing is
//! run, so that no instruction takes long.

use loci_peers::pickle;
use serde_json::Value;

pub(crate) fn run(data: &[u8]) {
    if let Some(point) = pickle::point(data) {
        assert!(depth(&Value::Object(point)) <= pickle::DEPTH_MAX);
    }
    if let Some(text) = pickle::text(data) {
        assert!(text.len() <= data.len().max(NUMBER_CHARACTERS_MAX) * REPLACED_BYTES);
    }
}

/// The largest number of characters of a number.
const NUMBER_CHARACTERS_MAX: usize = 32;
/// The bytes of the character that takes the place of a byte that is no text.
const REPLACED_BYTES: usize = 3;

fn depth(value: &Value) -> usize {
    let below = match value {
        Value::Array(values) => values.iter().map(depth).max(),
        Value::Object(object) => object.values().map(depth).max(),
        _ => None,
    };
    1 + below.unwrap_or_default()
}
