//! JSON Schemas of arguments and replies, generated from the types, and the validation of
//! arguments.
//!
//! The schema that a client sees in `tools/list` is derived from the one that validates its
//! arguments, so no limit is written down twice. It says the limits in words: a client that checks
//! them itself would refuse a call in words of its own, or end the conversation.

use loci_core::{Error, ErrorCode, Result};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, transform};
use serde_json::{Map, Value};

use crate::violations::{Violation, inside, unsupported, violations};

/// The number of errors that one call reports: enough for the longest argument list.
const FAULTS_MAX: usize = 256;
/// The number of errors to collect; beyond it, the message says that there are more.
const FAULTS_FOUND_MAX: usize = 1_000;

/// Returns the schema of a tool's arguments: inlined, closed, and without formats that hosts
/// reject.
pub fn input_of<T: JsonSchema>() -> Value {
    schema_of::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// Returns the schema of a tool's reply.
pub fn output_of<T: JsonSchema>() -> Value {
    schema_of::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn schema_of<T: JsonSchema>(mut settings: SchemaSettings) -> Value {
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().root_schema_for::<T>();
    tidy(&mut schema);
    schema.remove("title");
    schema.to_value()
}

/// Removes the formats of Rust's numbers, the `null` of optional values (which are omitted
/// instead), and the line breaks of doc comments.
fn tidy(schema: &mut Schema) {
    schema.remove("format");
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = unwrapped(description);
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [single] = types.as_slice() {
            let single = single.clone();
            schema.insert("type".to_owned(), single);
        }
    }
    transform::transform_subschemas(&mut tidy, schema);
}

/// Returns the published schema of the arguments. It relaxes or rephrases keywords that converters
/// of model APIs or hosts cannot handle:
///
/// - `additionalProperties: false` is left out, since google-genai rejects a tool whose schema has
///   it;
/// - the [limits](LIMITS) are left out, since clients that check them before a call show a stack
///   trace or end the conversation where our message would let the model correct itself; the
///   description says them.
pub fn published(schema: Value) -> Map<String, Value> {
    let Ok(mut schema) = Schema::try_from(schema) else {
        return Map::new();
    };
    publish(&mut schema);
    // The description of the root belongs to the tool.
    schema.remove("description");
    schema
        .ensure_object()
        .entry("properties")
        .or_insert_with(|| Value::Object(Map::new()));
    schema.as_object().cloned().unwrap_or_default()
}

/// Returns the published schema of a reply: its type, and the required fields of an object. Hosts
/// do not show it to models, and the full schema would be more than half of `tools/list`. The
/// reference documents the fields, and tests validate replies against the full schema.
pub fn published_output(schema: &Value) -> Map<String, Value> {
    let mut published = outline(schema);
    if let Some(items) = schema.get("items") {
        published.insert("items".to_owned(), Value::Object(outline(items)));
    }
    if let Some(required) = schema.get("required") {
        published.insert("required".to_owned(), required.clone());
    }
    published
}

/// Returns the type only; empty if there are several.
fn outline(schema: &Value) -> Map<String, Value> {
    let name = if admits_objects_alone(schema) {
        Some("object".into())
    } else {
        schema.get("type").cloned()
    };
    name.into_iter()
        .map(|name| ("type".to_owned(), name))
        .collect()
}

fn admits_objects_alone(schema: &Value) -> bool {
    if schema.get("type").is_some_and(|name| name == "object") {
        return true;
    }
    let choices = ["anyOf", "oneOf"]
        .iter()
        .filter_map(|keyword| schema.get(keyword)?.as_array());
    choices
        .into_iter()
        .any(|choices| !choices.is_empty() && choices.iter().all(admits_objects_alone))
}

fn publish(schema: &mut Schema) {
    if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
        schema.remove("additionalProperties");
    }
    let limits = limits_in_words(schema.as_value());
    if let Some(Value::String(description)) = schema.get_mut("description")
        && !limits.is_empty()
    {
        *description = format!("{} ({limits}).", description.trim_end_matches('.'));
    }
    for keyword in LIMITS {
        schema.remove(keyword);
    }
    transform::transform_subschemas(&mut publish, schema);
}

/// The keywords of limits, which the published schema leaves out.
const LIMITS: [&str; 7] = [
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "pattern",
];

/// Returns the limits that a schema sets itself, e.g. "from 1 to 50 items"; empty without any. That
/// a count is at least 0 or 1 goes without saying.
fn limits_in_words(schema: &Value) -> String {
    let is_whole = schema.get("type").is_none_or(|name| name != "number");
    let is_obvious = |bound: &Value| is_whole && bound.as_u64().is_some_and(|bound| bound <= 1);
    let said = BOUNDS.iter().map(|bounds| {
        let goes_without_saying =
            schema.get(bounds.high).is_none() && schema.get(bounds.low).is_some_and(is_obvious);
        if goes_without_saying {
            String::new()
        } else {
            range(schema, bounds)
        }
    });
    let said: Vec<String> = said
        .map(|range| range.trim_start().trim_start_matches("of ").to_owned())
        .filter(|range| !range.is_empty())
        .collect();
    said.join(", ")
}

/// Joins the lines of a doc comment: a single line break becomes a space; blank lines and list
/// items stay.
fn unwrapped(text: &str) -> String {
    let mut unwrapped = String::new();
    for line in text.lines() {
        let is_item = line.trim_start().starts_with("- ");
        if !unwrapped.is_empty() {
            let goes_on = !line.is_empty() && !unwrapped.ends_with('\n') && !is_item;
            unwrapped.push(if goes_on { ' ' } else { '\n' });
        }
        unwrapped.push_str(line.trim_end());
    }
    unwrapped
}

/// Validates the arguments of one tool.
pub struct Checker {
    schema: Value,
}

impl Checker {
    /// Takes a schema for validation.
    ///
    /// # Errors
    /// `internal` if it has a keyword that arguments cannot be validated against; a test checks
    /// every tool.
    pub fn new(schema: Value) -> Result<Self> {
        match unsupported(&schema) {
            None => Ok(Checker { schema }),
            Some(keyword) => Err(Error::internal(format!(
                "the schema of this tool has a keyword that is not supported: {keyword}"
            ))),
        }
    }

    /// Returns the schema that it validates against.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Returns the problems of the arguments, each with the argument, the accepted values and the
    /// value sent. At most [`FAULTS_FOUND_MAX`].
    pub fn faults(&self, arguments: &Value) -> Vec<Error> {
        violations(&self.schema, arguments, FAULTS_FOUND_MAX)
            .into_iter()
            .map(|violation| self.fault(&violation))
            .collect()
    }

    fn fault(&self, violation: &Violation<'_>) -> Error {
        match violation {
            Violation::Missing { path, property } => {
                let name = inside(path, property);
                let problem = format!("is missing; it must be {}", self.accepted_by(&name));
                Error::invalid(&shown(&name), problem)
            }
            Violation::Unknown { path, property } => self.unknown(path, property),
            Violation::Unfit { path, value } => {
                let problem = format!("must be {}, not {}", self.accepted_by(path), sent(value));
                Error::invalid(&shown(path), problem)
            }
        }
    }

    /// Returns true if there is an argument of that name, with dots before the names of nested
    /// fields.
    pub fn has(&self, name: &str) -> bool {
        !name.is_empty() && !name.contains('/') && self.schema_at(&name.replace('.', "/")).is_some()
    }

    /// Returns the error for a name that the object at this path does not accept.
    fn unknown(&self, path: &str, name: &str) -> Error {
        const NAME_CHARACTERS_MAX: usize = 64;
        let taker = if path.is_empty() {
            "this tool".to_owned()
        } else {
            format!("`{}`", shown(path))
        };
        let name: String = name.chars().take(NAME_CHARACTERS_MAX).collect();
        let name = inside(path, &name);
        let properties = self
            .schema_at(path)
            .and_then(|schema| schema.get("properties")?.as_object());
        let known: Vec<_> = properties
            .into_iter()
            .flat_map(|properties| properties.keys())
            .cloned()
            .collect();
        let known = if known.is_empty() {
            "none".to_owned()
        } else {
            known.join(", ")
        };
        Error::invalid(
            &shown(&name),
            format!("is not an argument; {taker} takes {known}"),
        )
    }

    /// Describes the values that the argument at this path accepts.
    fn accepted_by(&self, path: &str) -> String {
        self.schema_at(path)
            .map_or_else(|| "of another form".to_owned(), accepted)
    }

    fn schema_at(&self, path: &str) -> Option<&Value> {
        fn step<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
            let items = schema
                .get("items")
                .filter(|_| name.parse::<usize>().is_ok());
            items.or_else(|| schema.get("properties")?.get(name))
        }
        path.split('/')
            .filter(|name| !name.is_empty())
            .try_fold(&self.schema, step)
    }
}

/// Returns all errors in one message, or `Ok` if there are no errors.
///
/// # Errors
/// `too_large` if every error has that code; otherwise `invalid_argument`.
pub fn refuse(faults: &[Error]) -> Result<()> {
    if faults.is_empty() {
        return Ok(());
    }
    let is_size = faults.iter().all(|fault| fault.code == ErrorCode::TooLarge);
    let code = if is_size {
        ErrorCode::TooLarge
    } else {
        ErrorCode::InvalidArgument
    };
    let told: Vec<&str> = faults
        .iter()
        .take(FAULTS_MAX)
        .map(|fault| fault.message.as_str())
        .collect();
    let mut message = told.join("; ");
    if faults.len() > FAULTS_MAX {
        let at_least = if faults.len() >= FAULTS_FOUND_MAX {
            "at least "
        } else {
            ""
        };
        message.push_str(&format!(
            "; and {at_least}{} more",
            faults.len() - FAULTS_MAX
        ));
    }
    // Of several arguments, name the first.
    let mut error = Error::new(code, message);
    error.argument.clone_from(&faults[0].argument);
    Err(error)
}

/// Formats a path for callers.
fn shown(path: &str) -> String {
    path.replace('/', ".")
}

/// Describes the values that a schema accepts.
fn accepted(schema: &Value) -> String {
    if let Some(options) = schema.get("enum").and_then(Value::as_array) {
        return format!(
            "one of {}",
            options
                .iter()
                .map(Value::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        );
    }
    let types: Vec<&str> = match schema.get("type") {
        Some(Value::String(single)) => vec![single],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let in_words = |name: &&str| match *name {
        "integer" => format!("a whole number{}", range(schema, &VALUE)),
        "number" => format!("a number{}", range(schema, &VALUE)),
        "string" => format!("a string{}", range(schema, &CHARACTERS)),
        "boolean" => "true or false".to_owned(),
        "array" => format!("an array{}", range(schema, &ITEMS)),
        other => format!("an {other}"),
    };
    types.iter().map(in_words).collect::<Vec<_>>().join(" or ")
}

/// The keywords of the two ends of a range, with the unit that they count.
struct Bounds {
    low: &'static str,
    high: &'static str,
    unit: &'static str,
}

const VALUE: Bounds = Bounds {
    low: "minimum",
    high: "maximum",
    unit: "",
};
const CHARACTERS: Bounds = Bounds {
    low: "minLength",
    high: "maxLength",
    unit: " characters",
};
const ITEMS: Bounds = Bounds {
    low: "minItems",
    high: "maxItems",
    unit: " items",
};
const BOUNDS: [Bounds; 3] = [VALUE, CHARACTERS, ITEMS];

fn range(schema: &Value, bounds: &Bounds) -> String {
    let Bounds { low, high, unit } = bounds;
    match (schema.get(low), schema.get(high)) {
        (Some(low), Some(high)) => format!(" from {low} to {high}{unit}"),
        (Some(low), None) => format!(" of at least {low}{unit}"),
        (None, Some(high)) => format!(" of at most {high}{unit}"),
        (None, None) => String::new(),
    }
}

/// Describes the value that was sent: its type, and the value if it is short.
fn sent(value: &Value) -> String {
    const VALUE_CHARACTERS_MAX: usize = 40;
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("the boolean {value}"),
        Value::Number(value) => format!("the number {value}"),
        Value::String(text) if text.chars().count() <= VALUE_CHARACTERS_MAX => {
            format!("the string {value}")
        }
        Value::String(text) => format!("a string of {} characters", text.chars().count()),
        Value::Array(items) => format!("an array of {} items", items.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::DIALECTS;

    /// Checks that the published schema says in words what the schema of the validation requires,
    /// on every level.
    fn check_published(place: &str, schema: &Value, published: &Value) {
        for keyword in LIMITS {
            assert_eq!(published.get(keyword), None, "{place}");
        }
        for keyword in ["type", "enum", "required"] {
            assert_eq!(published.get(keyword), schema.get(keyword), "{place}");
        }
        let limits = limits_in_words(schema);
        let description = published["description"].as_str().unwrap_or_default();
        assert!(
            description.contains(&limits),
            "{place}: {description:?} does not say {limits}"
        );
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let place = format!("{place}.{name}");
            check_published(&place, property, &published["properties"][name]);
        }
        if let Some(items) = schema.get("items") {
            check_published(&format!("{place}.items"), items, &published["items"]);
        }
    }

    #[test]
    fn of_arguments_clients_see_no_limits_but_in_words() {
        for tool in DIALECTS.iter().flat_map(|dialect| dialect.tools) {
            let schema = tool.checker().unwrap().schema();
            let mut published = tool.input_schema();
            published.insert("description".to_owned(), schema["description"].clone());
            check_published(tool.name, schema, &Value::Object(published));
        }
    }

    #[test]
    fn limits_are_told_in_words() {
        let rows = [
            (json!({"type": "integer", "minimum": 1}), ""),
            (json!({"type": "integer", "minimum": 2}), "at least 2"),
            (json!({"type": "number", "minimum": 0.0}), "at least 0.0"),
            (
                json!({"type": "number", "minimum": 0.1, "maximum": 1.0}),
                "from 0.1 to 1.0",
            ),
            (json!({"type": "array", "minItems": 1}), ""),
            (
                json!({"type": "array", "minItems": 1, "maxItems": 50}),
                "from 1 to 50 items",
            ),
            (
                json!({"type": "array", "maxItems": 128}),
                "at most 128 items",
            ),
            (
                json!({"type": "string", "minLength": 2, "maxLength": 9}),
                "from 2 to 9 characters",
            ),
        ];
        for (schema, words) in rows {
            assert_eq!(limits_in_words(&schema), words, "{schema}");
            let described = json!({"properties": {"a": {"type": "array", "items": schema}}});
            let published = Value::Object(published(described)).to_string();
            for keyword in LIMITS {
                assert!(!published.contains(keyword), "{published}");
            }
        }
    }

    #[test]
    fn of_a_reply_clients_see_its_type_and_the_fields_that_it_always_has() {
        let text = json!({"type": "string", "description": "A text.", "minLength": 1});
        let record = json!({"type": "object", "properties": {"text": text, "any": {}}, "required": ["text"]});
        let outline = json!({"type": "object", "required": ["text"]});
        assert_eq!(Value::Object(published_output(&record)), outline);
        let rows = [
            (
                json!({"type": "array", "items": record}),
                json!({"type": "array", "items": {"type": "object"}}),
            ),
            (
                json!({"oneOf": [record, {"type": "object"}]}),
                json!({"type": "object"}),
            ),
            (json!({"anyOf": [record, {"type": "string"}]}), json!({})),
        ];
        for (schema, expected) in rows {
            assert_eq!(Value::Object(published_output(&schema)), expected);
        }
    }
}
