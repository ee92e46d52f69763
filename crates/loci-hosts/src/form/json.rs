//! An entry in JSON with comments.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::Value;

use super::Slot;

/// The form of settings: JSON, in which hosts allow comments and trailing commas.
pub const FORM: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Parses a text, in which the key of the servers occurs only once.
pub fn value(text: &str, key: &str) -> Result<Value, String> {
    let whole = object(&root(text)?)?;
    if let Some(entries) = only(&whole, key)?.and_then(|property| property.object_value()) {
        for name in entries.properties() {
            if let Some(name) = name.decoded_name() {
                only(&entries, &name)?;
            }
        }
    }
    whole
        .to_serde_value()
        .ok_or_else(|| "it is no JSON".to_owned())
}

pub fn put(text: &str, slot: &Slot<'_>, entry: &Value) -> Result<String, String> {
    let root = root(text)?;
    let whole = object(&root)?;
    let entries = match whole.get(slot.key) {
        Some(property) => match property.object_value() {
            Some(entries) => entries,
            None => property.object_value_or_set(),
        },
        None => whole.object_value_or_set(slot.key),
    };
    match entries.get(slot.name) {
        Some(property) => property.set_value(input(entry)),
        None => {
            entries.append(slot.name, input(entry));
        }
    }
    Ok(finished(text, &root))
}

pub fn remove(text: &str, slot: &Slot<'_>) -> Result<String, String> {
    let root = root(text)?;
    let whole = object(&root)?;
    if let Some(property) = whole.get(slot.key)
        && let Some(entries) = property.object_value()
    {
        if let Some(entry) = entries.get(slot.name) {
            entry.remove();
        }
        if entries.properties().is_empty() {
            property.remove();
        }
    }
    Ok(finished(text, &root))
}

fn root(text: &str) -> Result<CstRootNode, String> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    CstRootNode::parse(text, &FORM).map_err(|error| format!("it is no JSON ({error})"))
}

fn object(root: &CstRootNode) -> Result<CstObject, String> {
    root.object_value()
        .ok_or_else(|| "it holds no JSON object".to_owned())
}

/// Returns the property of that name; an error if there are several, of which hosts take the last.
fn only(
    object: &CstObject,
    name: &str,
) -> Result<Option<jsonc_parser::cst::CstObjectProp>, String> {
    let mut found = object
        .properties()
        .into_iter()
        .filter(|property| property.decoded_name().as_deref() == Some(name));
    let first = found.next();
    match found.next() {
        Some(_) => Err(format!("it has `{name}` twice")),
        None => Ok(first),
    }
}

/// Returns the changed text. A text that was empty ends with a new line.
fn finished(before: &str, root: &CstRootNode) -> String {
    let mut new = root.to_string();
    if before.trim().is_empty() {
        new.push('\n');
    }
    new
}

/// Returns the value as the editor of JSON takes it.
pub fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(map) => CstInputValue::Object(
            map.iter()
                .map(|(key, value)| (key.clone(), input(value)))
                .collect(),
        ),
    }
}
