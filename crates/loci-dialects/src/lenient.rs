//! Normalisation of arguments as hosts send them. Some hosts send every argument, with an empty
//! value for those that their model omitted; some send a list or a number as a string.

use serde_json::{Map, Value};

/// The maximum bytes of a string that is parsed as JSON for a list or an object: those of a text.
const JSON_BYTES_MAX: usize = loci_core::limits::CONTENT_BYTES_MAX;

/// The argument whose string form is a comma-separated list.
const TAGS: &str = "tags";

/// Normalises arguments to the types of the schema. Removes optional arguments that are
/// [empty](is_empty), on every level, and parses strings that hold a list or an object as JSON. Any
/// other string for a list of strings becomes its only item, except for tags, where commas separate
/// several. Parses a string that holds a number if the schema has a number. Leaves everything else
/// to the schema.
pub fn normalized(value: Value, schema: &Value) -> Value {
    named("", value, schema)
}

/// Normalises the value of the argument with that name.
fn named(name: &str, value: Value, schema: &Value) -> Value {
    match value {
        Value::String(text) => of_string(name, text, schema),
        Value::Object(fields) => Value::Object(without_empty(fields, schema)),
        Value::Array(items) => items
            .into_iter()
            .map(|item| normalized(item, &schema["items"]))
            .collect(),
        other => other,
    }
}

/// Returns true for null, and for an empty string, list or object.
pub fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn without_empty(fields: Map<String, Value>, schema: &Value) -> Map<String, Value> {
    let is_required = |name: &str| {
        let required = schema["required"].as_array();
        required.is_some_and(|required| required.iter().any(|known| known == name))
    };
    let is_optional = |name: &str| schema["properties"].get(name).is_some() && !is_required(name);
    let fields = fields.into_iter().map(|(name, value)| {
        let value = named(&name, value, &schema["properties"][&name]);
        (name, value)
    });
    fields
        .filter(|(name, value)| !(value.is_null() || is_optional(name) && is_empty(value)))
        .collect()
}

fn of_string(name: &str, text: String, schema: &Value) -> Value {
    let is_json = match text.trim_start().bytes().next() {
        Some(b'[') => schema["type"] == "array",
        Some(b'{') => schema["type"] == "object" || schema["type"] == "array",
        _ => false,
    };
    if is_json {
        // The schema rejects a value that cannot be parsed or has another type.
        let value = Some(&text)
            .filter(|text| text.len() <= JSON_BYTES_MAX)
            .and_then(|text| serde_json::from_str(text).ok());
        return match value {
            Some(value @ (Value::Array(_) | Value::Object(_))) => normalized(value, schema),
            _ => Value::String(text),
        };
    }
    if let Some(value) = number(&text, schema) {
        return value;
    }
    if schema["type"] != "array" || schema["items"]["type"] != "string" {
        return Value::String(text);
    }
    let items = if name == TAGS {
        text.split(',').map(str::trim).collect()
    } else {
        vec![text.as_str()]
    };
    items
        .into_iter()
        .filter(|item| !item.is_empty())
        .map(Value::from)
        .collect()
}

/// Parses the string as a number, if the schema has one.
fn number(text: &str, schema: &Value) -> Option<Value> {
    if schema["type"] != "integer" && schema["type"] != "number" {
        return None;
    }
    serde_json::from_str(text).ok().map(Value::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_read_as_they_are_meant() {
        let text = json!({"type": "string"});
        let names = json!({"type": "array", "items": text});
        let range = json!({"type": "object", "properties": {"start": text, "end": text}});
        let cited = json!({"type": "object", "properties": {"kind": text, "pin": text}, "required": ["kind"]});
        let schema = json!({
            "type": "object",
            "required": ["content"],
            "properties": {
                "content": text,
                "project": text,
                "limit": {"type": "integer"},
                "weight": {"type": "number"},
                "confirm": {"type": "boolean"},
                "names": names,
                "tags": names,
                "range": range,
                "citations": {"type": "array", "items": cited},
            },
        });
        let rows = [
            (
                json!({"content": "", "project": "", "limit": null}),
                json!({"content": ""}),
            ),
            (json!({"content": null}), json!({})),
            (json!({"project": " "}), json!({"project": " "})),
            (json!({"names": [], "tags": [], "range": {}}), json!({})),
            (json!({"range": {"start": "", "end": null}}), json!({})),
            (
                json!({"range": {"start": "a", "end": ""}}),
                json!({"range": {"start": "a"}}),
            ),
            (
                json!({"range": "{\"start\": \"a\", \"end\": \"\"}"}),
                json!({"range": {"start": "a"}}),
            ),
            (json!({"names": "one, two"}), json!({"names": ["one, two"]})),
            (json!({"names": "", "tags": ""}), json!({})),
            (
                json!({"names": " [\"a\", \"b\"]", "tags": "[\"c\"]"}),
                json!({"names": ["a", "b"], "tags": ["c"]}),
            ),
            (
                json!({"names": "[a", "tags": "{b"}),
                json!({"names": "[a", "tags": "{b"}),
            ),
            (
                json!({"tags": " tea, two cups ,"}),
                json!({"tags": ["tea", "two cups"]}),
            ),
            (json!({"names": ["", null]}), json!({"names": ["", null]})),
            (json!({"content": "[\"a\"]"}), json!({"content": "[\"a\"]"})),
            (
                json!({"citations": [{"kind": "", "pin": ""}]}),
                json!({"citations": [{"kind": ""}]}),
            ),
            (json!({"citations": "x"}), json!({"citations": "x"})),
            (
                json!({"limit": "5", "weight": "0.5"}),
                json!({"limit": 5, "weight": 0.5}),
            ),
            (
                json!({"limit": " 5 ", "confirm": "true"}),
                json!({"limit": 5, "confirm": "true"}),
            ),
            (
                json!({"content": "5", "names": "5"}),
                json!({"content": "5", "names": ["5"]}),
            ),
            (
                json!({"limit": "five", "confirm": "yes"}),
                json!({"limit": "five", "confirm": "yes"}),
            ),
            (
                json!({"limit": "\"5\"", "weight": "[5]"}),
                json!({"limit": "\"5\"", "weight": "[5]"}),
            ),
            // The schema rejects these.
            (
                json!({"colour": "", "limit": 0, "project": false}),
                json!({"colour": "", "limit": 0, "project": false}),
            ),
        ];
        for (sent, expected) in rows {
            assert_eq!(normalized(sent.clone(), &schema), expected, "{sent}");
        }
    }
}
