//! Validation of a value against the JSON Schemas that are generated from the types of arguments
//! (<https://json-schema.org/draft/2020-12/json-schema-validation>).
//!
//! They use few of the keywords. A schema with any other is refused, so that none is overlooked.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

/// One way in which a value is not of its schema. Paths are names and positions joined by slashes.
#[derive(Debug, PartialEq)]
pub(crate) enum Violation<'a> {
    /// The object at this path lacks a property.
    Missing { path: String, property: &'a str },
    /// The object at this path has a property that its schema does not know.
    Unknown { path: String, property: &'a str },
    /// The value at this path has another type, or is out of its range.
    Unfit { path: String, value: &'a Value },
}

/// Returns the first keyword, or value of a keyword, that [`violations`] cannot apply.
pub(crate) fn unsupported(schema: &Value) -> Option<String> {
    let Value::Object(keywords) = schema else {
        return (*schema != Value::Bool(true)).then(|| schema.to_string());
    };
    keywords.iter().find_map(|(keyword, value)| {
        let is_supported = match keyword.as_str() {
            "title" | "description" | "default" | "examples" => true,
            "type" => types(value).count() > 0 && types(value).all(|name| TYPES.contains(&name)),
            "enum" | "required" => value
                .as_array()
                .is_some_and(|all| all.iter().all(Value::is_string)),
            "minimum" | "maximum" => value.is_number(),
            "minLength" | "maxLength" | "minItems" | "maxItems" => value.is_u64(),
            "additionalProperties" => value.is_boolean(),
            "items" => return unsupported(value),
            "properties" => return value.as_object()?.values().find_map(unsupported),
            _ => false,
        };
        (!is_supported).then(|| format!("{keyword}: {value}"))
    })
}

/// Returns the violations of the schema by the value, in the order of the schema; at most `count_max`.
pub(crate) fn violations<'a>(
    schema: &'a Value,
    value: &'a Value,
    count_max: usize,
) -> Vec<Violation<'a>> {
    let mut violations = Vec::new();
    collect(schema, value, "", count_max, &mut violations);
    violations
}

const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

/// Returns the name of the single type, or the names of several.
fn types(names: &Value) -> impl Iterator<Item = &str> {
    let names = names
        .as_array()
        .map_or(std::slice::from_ref(names), Vec::as_slice);
    names.iter().map(|name| name.as_str().unwrap_or_default())
}

fn collect<'a>(
    schema: &'a Value,
    value: &'a Value,
    path: &str,
    count_max: usize,
    violations: &mut Vec<Violation<'a>>,
) {
    if violations.len() >= count_max {
        return;
    }
    if !is_fit(schema, value) {
        violations.push(Violation::Unfit {
            path: path.to_owned(),
            value,
        });
    }
    match value {
        Value::Object(fields) => collect_of_fields(schema, fields, path, count_max, violations),
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                collect(
                    &schema["items"],
                    item,
                    &inside(path, &place.to_string()),
                    count_max,
                    violations,
                );
            }
        }
        _ => {}
    }
}

fn collect_of_fields<'a>(
    schema: &'a Value,
    fields: &'a Map<String, Value>,
    path: &str,
    count_max: usize,
    violations: &mut Vec<Violation<'a>>,
) {
    let required = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let missing = required.filter(|property| !fields.contains_key(*property));
    violations.extend(missing.map(|property| Violation::Missing {
        path: path.to_owned(),
        property,
    }));
    let known = schema["properties"].as_object();
    for (property, schema) in known.into_iter().flatten() {
        if let Some(value) = fields.get(property) {
            collect(
                schema,
                value,
                &inside(path, property),
                count_max,
                violations,
            );
        }
    }
    if schema["additionalProperties"] == false {
        let is_known = |property: &str| known.is_some_and(|known| known.contains_key(property));
        let unknown = fields.keys().filter(|property| !is_known(property));
        let room = count_max.saturating_sub(violations.len());
        violations.extend(unknown.take(room).map(|property| Violation::Unknown {
            path: path.to_owned(),
            property,
        }));
    }
}

/// Returns true if the value itself, regardless of its fields or items, is of the schema.
fn is_fit(schema: &Value, value: &Value) -> bool {
    let is_of_type = schema
        .get("type")
        .is_none_or(|names| types(names).any(|name| is_of_type(name, value)));
    let is_choice = schema["enum"]
        .as_array()
        .is_none_or(|choices| choices.contains(value));
    let is_in_range = |low: &str, high: &str, count: usize| {
        let count = count as u64;
        schema[low].as_u64().is_none_or(|low| count >= low)
            && schema[high].as_u64().is_none_or(|high| count <= high)
    };
    let is_in_range = match value {
        Value::String(text) => is_in_range("minLength", "maxLength", text.chars().count()),
        Value::Array(items) => is_in_range("minItems", "maxItems", items.len()),
        Value::Number(number) => {
            let is_at = |bound: &Value, side: Ordering| {
                bound
                    .as_number()
                    .is_none_or(|bound| order(number, bound) != side)
            };
            is_at(&schema["minimum"], Ordering::Less)
                && is_at(&schema["maximum"], Ordering::Greater)
        }
        _ => true,
    };
    is_of_type && is_choice && is_in_range
}

fn is_of_type(name: &str, value: &Value) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        // A whole number is an integer even if it is written with a fraction of 0.
        Value::Number(number) => {
            let is_whole = || number.as_f64().is_none_or(|number| number.fract() == 0.0);
            name == "number" || name == "integer" && (!number.is_f64() || is_whole())
        }
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

/// Compares two numbers, integers exactly.
fn order(left: &Number, right: &Number) -> Ordering {
    if let (Some(left), Some(right)) = (left.as_i128(), right.as_i128()) {
        return left.cmp(&right);
    }
    let [left, right] = [left, right].map(|number| number.as_f64().unwrap_or_default());
    left.partial_cmp(&right).unwrap_or(Ordering::Equal)
}

/// Returns the path of a property or item of the value at this path.
pub(crate) fn inside(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}/{name}")
    }
}

#[cfg(test)]
mod tests {
    use jsonschema::error::ValidationErrorKind;
    use proptest::prelude::*;
    use proptest::sample::select;
    use serde_json::json;

    use super::*;
    use crate::DIALECTS;

    /// Returns values that are of the schema, nearly so, or of another type.
    fn values(schema: &Value) -> BoxedStrategy<Value> {
        let others = [
            json!(null),
            json!(true),
            json!(0.5),
            json!(1.0),
            json!(-1),
            json!(""),
            json!([1]),
            json!({"a": 1}),
        ];
        prop_oneof![6 => nearly(schema), 1 => select(others.to_vec())].boxed()
    }

    fn nearly(schema: &Value) -> BoxedStrategy<Value> {
        let bounds = [
            "minimum",
            "maximum",
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
        ];
        let bounds = bounds.iter().filter_map(|bound| schema[bound].as_f64());
        let near: Vec<f64> = bounds
            .chain([0.0, 3.0])
            .flat_map(|bound| [bound - 1.0, bound, bound + 1.0, bound + 0.25])
            .collect();
        let counts: Vec<usize> = near
            .iter()
            .map(|count| (*count as usize).min(200))
            .collect();
        if let Some(choices) = schema["enum"].as_array() {
            return select(choices.clone()).boxed();
        }
        match types(&schema["type"]).next() {
            Some("integer") => select(near).prop_map(|number| json!(number as i64)).boxed(),
            Some("number") => select(near).prop_map(|number| json!(number)).boxed(),
            Some("string") => select(counts)
                .prop_map(|count| json!("\u{e9}".repeat(count)))
                .boxed(),
            Some("boolean") => any::<bool>().prop_map(Value::Bool).boxed(),
            Some("array") => {
                let items = values(&schema["items"]);
                select(counts)
                    .prop_flat_map(move |count| {
                        prop::collection::vec(items.clone(), count.min(130))
                    })
                    .prop_map(Value::Array)
                    .boxed()
            }
            Some("object") => {
                let known = schema["properties"].as_object().into_iter().flatten();
                let known = known.map(|(name, schema)| {
                    prop::option::weighted(0.8, values(schema)).prop_map({
                        let name = name.clone();
                        move |value| Some((name.clone(), value?))
                    })
                });
                let unknown =
                    prop::option::weighted(0.1, Just(("unknown".to_owned(), json!(1)))).boxed();
                let fields: Vec<_> = known.map(Strategy::boxed).chain([unknown]).collect();
                fields
                    .prop_map(|fields| Value::Object(fields.into_iter().flatten().collect()))
                    .boxed()
            }
            _ => Just(json!({"any": [1]})).boxed(),
        }
    }

    /// Returns the violations in a form that both validators have, without repetitions.
    fn of_library(schema: &Value, value: &Value) -> Vec<String> {
        let validator = jsonschema::validator_for(schema).unwrap();
        let mut found = Vec::new();
        for error in validator.iter_errors(value) {
            let path = error.instance_path().to_string();
            let path = path.trim_start_matches('/');
            match error.kind() {
                ValidationErrorKind::Required { property } => {
                    found.push(format!("{path} lacks {}", property.as_str().unwrap()));
                }
                ValidationErrorKind::AdditionalProperties { unexpected } => {
                    found.extend(
                        unexpected
                            .iter()
                            .map(|name| format!("{path} knows no {name}")),
                    );
                }
                // Names of an object whose schema has no properties.
                ValidationErrorKind::FalseSchema => {
                    let fields = value.pointer(error.instance_path().as_str());
                    let names = fields.and_then(Value::as_object).into_iter().flatten();
                    found.extend(names.map(|(name, _)| format!("{path} knows no {name}")));
                }
                _ => found.push(format!("{path} is unfit")),
            }
        }
        found.sort();
        found.dedup();
        found
    }

    #[test]
    fn arguments_are_validated_as_a_library_validates_them() {
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
            cases: 64,
            failure_persistence: None,
            ..ProptestConfig::default()
        });
        for tool in DIALECTS.iter().flat_map(|dialect| dialect.tools) {
            let schema = tool.checker().unwrap().schema();
            assert_eq!(unsupported(schema), None, "{}", tool.name);
            let tried = runner.run(&values(schema), |value| {
                let mut found: Vec<String> = violations(schema, &value, usize::MAX)
                    .iter()
                    .map(|violation| match violation {
                        Violation::Missing { path, property } => format!("{path} lacks {property}"),
                        Violation::Unknown { path, property } => {
                            format!("{path} knows no {property}")
                        }
                        Violation::Unfit { path, .. } => format!("{path} is unfit"),
                    })
                    .collect();
                found.sort();
                prop_assert_eq!(found, of_library(schema, &value));
                Ok(())
            });
            tried.unwrap_or_else(|failure| panic!("{}: {failure}", tool.name));
        }
    }

    #[test]
    fn keywords_that_are_not_applied_are_refused() {
        for keyword in [
            json!({"pattern": "a"}),
            json!({"items": {"oneOf": []}}),
            json!({"properties": {"a": false}}),
            json!({"type": "text"}),
            json!({"additionalProperties": {}}),
        ] {
            assert!(unsupported(&keyword).is_some(), "{keyword}");
        }
    }

    #[test]
    fn numbers_are_compared_exactly() {
        let schema = json!({"type": "integer", "minimum": 0, "maximum": 9_007_199_254_740_992_u64});
        for (value, is_fit) in [
            (json!(9_007_199_254_740_993_u64), false),
            (json!(9_007_199_254_740_992_u64), true),
            (json!(-0.0), true),
            (json!(2.5), false),
            (json!(2.0), true),
            (json!(1e300), false),
        ] {
            assert_eq!(violations(&schema, &value, 9).is_empty(), is_fit, "{value}");
        }
    }
}
