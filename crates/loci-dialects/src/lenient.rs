//! Normalisation of arguments as hosts send them. Some hosts send every argument, with an empty
//! value for the ones that their model omitted; some send a list, a number or a truth as a string,
//! or a list in the notation of another language.

use serde_json::{Map, Number, Value};

/// The maximum bytes of a string that is parsed as JSON for a list or an object: as many as a text
/// has.
const JSON_BYTES_MAX: usize = loci_core::limits::CONTENT_BYTES_MAX;

/// The argument whose string form is a comma-separated list.
const TAGS: &str = "tags";

/// The arguments that allow what cannot be undone, which have to be truths as they are.
const CONSENTS: [&str; 2] = ["confirm", "invalidate_all"];

/// The optional arguments of which 0 says nothing: agents and SDKs that fill in every argument send
/// it for a number that they leave out, and a reply with room for nothing is of no use.
const NUMBERS_ABOVE_ZERO: [&str; 5] = ["limit", "k", "top_k", "budget_tokens", "max_distance"];

/// The largest integer up to which every one has a floating-point number of its own.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Normalises arguments to the types of the schema. Removes optional arguments that are
/// [left out](is_left_out), on every level, and parses strings that hold a list or an object as JSON. Any
/// other string for a list of strings becomes its only item, except for tags, where commas separate
/// several. Parses a string that holds a number or a truth if the schema has one. An object for a list
/// of objects becomes its only item, and one whose keys count from 0 the list of its values. Leaves
/// everything else to the schema.
pub fn normalized(value: Value, schema: &Value) -> Value {
    named("", value, schema)
}

/// Normalises the value of the argument with that name.
fn named(name: &str, value: Value, schema: &Value) -> Value {
    match value {
        other if CONSENTS.contains(&name) => other,
        Value::String(text) => of_string(name, text, schema),
        Value::Object(fields) if schema["type"] == "array" => of_fields(fields, schema),
        Value::Object(fields) => Value::Object(without_empty(fields, schema)),
        Value::Array(items) => items
            .into_iter()
            .map(|item| normalized(item, &schema["items"]))
            .collect(),
        Value::Number(number) => of_number(&number, schema).unwrap_or(Value::Number(number)),
        other => other,
    }
}

/// Normalises an object where the schema has a list.
fn of_fields(fields: Map<String, Value>, schema: &Value) -> Value {
    let counts = (0..fields.len()).map(|place| place.to_string());
    if !fields.is_empty() && counts.eq(fields.keys().cloned()) {
        let items = fields.into_iter().map(|(_, item)| item);
        return normalized(items.collect(), schema);
    }
    if schema["items"]["type"] == "object" && !fields.is_empty() {
        return normalized(Value::Array(vec![Value::Object(fields)]), schema);
    }
    Value::Object(fields)
}

/// Returns an integer for a number without a fraction, and a truth for 0 or 1, if the schema has such
/// a value.
fn of_number(number: &Number, schema: &Value) -> Option<Value> {
    if schema["type"] == "boolean" {
        return match number.as_u64()? {
            0 => Some(Value::Bool(false)),
            1 => Some(Value::Bool(true)),
            _ => None,
        };
    }
    let whole = number
        .as_f64()
        .filter(|whole| number.is_f64() && whole.fract() == 0.0 && whole.abs() <= EXACT_MAX)?;
    (schema["type"] == "integer").then(|| Value::from(whole as i64))
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

/// Returns true for the value of an optional argument with this name that says the same as none.
pub fn is_left_out(name: &str, value: &Value) -> bool {
    let is_zero = value.as_f64() == Some(0.0) && NUMBERS_ABOVE_ZERO.contains(&name);
    is_zero || is_empty(value)
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
        .filter(|(name, value)| !(value.is_null() || is_optional(name) && is_left_out(name, value)))
        .collect()
}

fn of_string(name: &str, text: String, schema: &Value) -> Value {
    let is_list = schema["type"] == "array";
    let is_json = match text.trim_start().bytes().next() {
        Some(b'[') => is_list,
        Some(b'{') => schema["type"] == "object" || is_list,
        _ => false,
    };
    if is_json {
        // The schema rejects a value that cannot be parsed or has another type.
        let value = Some(&text)
            .filter(|text| text.len() <= JSON_BYTES_MAX)
            .and_then(|text| loci_json::from_slice(text.as_bytes()).ok());
        return match value {
            Some((value @ (Value::Array(_) | Value::Object(_)), _)) => normalized(value, schema),
            _ if is_list && schema["items"]["type"] == "string" => {
                bare_items(&text).unwrap_or(Value::String(text))
            }
            _ => Value::String(text),
        };
    }
    if let Some(value) = scalar(&text, schema) {
        return value;
    }
    if !is_list || schema["items"]["type"] != "string" {
        return Value::String(text);
    }
    let items = if name == TAGS {
        text.split(',').map(unquoted).collect()
    } else {
        vec![text.as_str()]
    };
    items
        .into_iter()
        .filter(|item| !item.is_empty())
        .map(Value::from)
        .collect()
}

/// Returns the items of a list of bare words or of words in single quotes, as e.g. Python prints it.
fn bare_items(text: &str) -> Option<Value> {
    let inner = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    let items = inner.split(',').map(unquoted);
    let items: Vec<&str> = items.filter(|item| !item.is_empty()).collect();
    let is_flat = !inner.contains(['[', ']', '{', '}']);
    is_flat.then(|| items.into_iter().map(Value::from).collect())
}

/// Returns the text without white space and without one pair of quotes around it.
fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let inside = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}

/// Parses the string as a number or a truth, if the schema has one.
fn scalar(text: &str, schema: &Value) -> Option<Value> {
    let text = unquoted(text);
    match schema["type"].as_str()? {
        "boolean" => match text.to_ascii_lowercase().as_str() {
            "true" | "1" => Some(Value::Bool(true)),
            "false" | "0" => Some(Value::Bool(false)),
            _ => None,
        },
        "integer" | "number" => {
            let number: Number = serde_json::from_str(text).ok()?;
            Some(of_number(&number, schema).unwrap_or(Value::Number(number)))
        }
        _ => None,
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
                "weight": {"type": "number"},
                "confirm": {"type": "boolean"},
                "again": {"type": "boolean"},
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
                json!({"names": "['a', 'b']", "tags": "[tea, two cups,]"}),
                json!({"names": ["a", "b"], "tags": ["tea", "two cups"]}),
            ),
            (
                json!({"names": "[\"a\",]", "tags": "'tea', \"cup\""}),
                json!({"names": ["a"], "tags": ["tea", "cup"]}),
            ),
            (
                json!({"names": {"0": "a", "1": "b"}, "tags": "{\"0\": \"c\"}"}),
                json!({"names": ["a", "b"], "tags": ["c"]}),
            ),
            (json!({"names": {"1": "a"}}), json!({"names": {"1": "a"}})),
            (
                json!({"citations": {"kind": "a"}}),
                json!({"citations": [{"kind": "a"}]}),
            ),
            (json!({"names": "[]"}), json!({})),
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
            (json!({"confirm": 1}), json!({"confirm": 1})),
            (
                json!({"limit": 5.0, "again": 1}),
                json!({"limit": 5, "again": true}),
            ),
            (
                json!({"limit": "5.0", "again": "False"}),
                json!({"limit": 5, "again": false}),
            ),
            (
                json!({"limit": 5.5, "again": 2, "weight": 5.0}),
                json!({"limit": 5.5, "again": 2, "weight": 5.0}),
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
                json!({"limit": 5, "weight": "[5]"}),
            ),
            // 0 is left out of some numbers.
            (json!({"limit": 0, "weight": 0}), json!({"weight": 0})),
            (json!({"limit": "0"}), json!({})),
            (json!({"limit": -0.0, "k": 0}), json!({"k": 0})),
            // The schema rejects these.
            (
                json!({"colour": "", "limit": -1, "project": false}),
                json!({"colour": "", "limit": -1, "project": false}),
            ),
        ];
        for (sent, expected) in rows {
            assert_eq!(normalized(sent.clone(), &schema), expected, "{sent}");
        }
    }
}
