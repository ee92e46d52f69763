//! Arguments as hosts send them. Some hosts send every argument, with something empty for those that their model left out;
//! some send a list as a string.

use serde_json::{Map, Value};

/// Bytes of a string that is parsed as JSON where a list or an object belongs: as many as a text may have.
const JSON_BYTES_MAX: usize = loci_core::limits::CONTENT_BYTES_MAX;

/// Arguments as the schema has them: without optional ones that are [empty](is_empty), on every level, and with lists and
/// objects in the place of strings that hold them as JSON. A string that is no JSON becomes the one item of a list of
/// strings, unless the schema takes it as it is. Everything else stays, for the schema to judge.
pub fn normalized(value: Value, schema: &Value) -> Value {
    match value {
        Value::String(text) => of_string(text, schema),
        Value::Object(fields) => Value::Object(without_empty(fields, schema)),
        Value::Array(items) => items.into_iter().map(|item| normalized(item, &schema["items"])).collect(),
        other => other,
    }
}

/// Whether a value says nothing: null, or a string, a list or an object with nothing in it.
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
        let value = normalized(value, &schema["properties"][&name]);
        (name, value)
    });
    fields.filter(|(name, value)| !(value.is_null() || is_optional(name) && is_empty(value))).collect()
}

fn of_string(text: String, schema: &Value) -> Value {
    let takes = |kind: &str| match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(|known| known == kind),
        known => known == kind,
    };
    let begins = match text.trim_start().bytes().next() {
        Some(b'[') => takes("array"),
        Some(b'{') => takes("object"),
        _ => false,
    };
    if begins
        && text.len() <= JSON_BYTES_MAX
        && let Ok(value) = serde_json::from_str(&text)
    {
        return normalized(value, schema);
    }
    let is_item = takes("array") && !takes("string") && schema["items"]["type"] == "string";
    match text {
        text if is_item && text.is_empty() => Value::Array(Vec::new()),
        text if is_item => Value::Array(vec![Value::String(text)]),
        text => Value::String(text),
    }
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
                "names": names,
                "tags": {"type": ["string", "array"], "items": text},
                "range": range,
                "citations": {"type": "array", "items": cited},
            },
        });
        let rows = [
            (json!({"content": "", "project": "", "limit": null}), json!({"content": ""})),
            (json!({"content": null}), json!({})),
            (json!({"project": " "}), json!({"project": " "})),
            (json!({"names": [], "tags": [], "range": {}}), json!({})),
            (json!({"range": {"start": "", "end": null}}), json!({})),
            (json!({"range": {"start": "a", "end": ""}}), json!({"range": {"start": "a"}})),
            (json!({"range": "{\"start\": \"a\", \"end\": \"\"}"}), json!({"range": {"start": "a"}})),
            (json!({"names": "one, two"}), json!({"names": ["one, two"]})),
            (json!({"names": "", "tags": ""}), json!({})),
            (json!({"names": " [\"a\", \"b\"]", "tags": "[\"c\"]"}), json!({"names": ["a", "b"], "tags": ["c"]})),
            (json!({"names": "[a", "tags": "[b"}), json!({"names": ["[a"], "tags": "[b"})),
            (json!({"names": ["", null]}), json!({"names": ["", null]})),
            (json!({"content": "[\"a\"]"}), json!({"content": "[\"a\"]"})),
            (json!({"citations": [{"kind": "", "pin": ""}]}), json!({"citations": [{"kind": ""}]})),
            (json!({"citations": "x"}), json!({"citations": "x"})),
            // For the schema to refuse.
            (json!({"colour": "", "limit": 0, "project": false}), json!({"colour": "", "limit": 0, "project": false})),
        ];
        for (sent, expected) in rows {
            assert_eq!(normalized(sent.clone(), &schema), expected, "{sent}");
        }
    }
}
