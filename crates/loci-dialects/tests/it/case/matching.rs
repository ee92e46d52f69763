//! Expected values with holes.
//!
//! `$name` binds the first value it matches and must match an equal one later; `$_` matches
//! anything; `{$near: 0.5}` matches a number within 0.005, `{$count: 5}` an array of five; `$more:
//! true` in an object allows further keys.

use std::collections::HashMap;

use serde_json::Value;

const NEAR: f64 = 0.005;

/// The values bound by earlier steps of a case.
#[derive(Debug, Default)]
pub struct Bindings(HashMap<String, Value>);

impl Bindings {
    /// Binds a name to a value before the first step.
    pub fn bind(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    /// Compares a value with the expected one; `place` names the value in the error.
    pub fn check(&mut self, expected: &Value, found: &Value, place: &str) -> Result<(), String> {
        match (expected, found) {
            (Value::String(hole), _) if hole == "$_" => Ok(()),
            (Value::String(text), _) if text.contains("${") => {
                same(&self.fill_text(text)?.into(), found, place)
            }
            (Value::String(hole), _) if hole.starts_with('$') => {
                let bound = self
                    .0
                    .entry(hole[1..].to_owned())
                    .or_insert_with(|| found.clone());
                same(bound, found, place)
            }
            (Value::Object(near), Value::Number(found)) if near.contains_key("$near") => {
                let wanted = near["$near"].as_f64().ok_or("$near takes a number")?;
                let found = found.as_f64().unwrap_or(f64::NAN);
                if (found - wanted).abs() <= NEAR {
                    Ok(())
                } else {
                    Err(format!("{place}: {found} is not near {wanted}"))
                }
            }
            (Value::Object(count), Value::Array(found)) if count.contains_key("$count") => same(
                &count["$count"],
                &found.len().into(),
                &format!("the length of {place}"),
            ),
            (Value::Object(expected), Value::Object(found)) => {
                for (key, expected) in expected.iter().filter(|(key, _)| *key != "$more") {
                    let value = found
                        .get(key)
                        .ok_or_else(|| format!("{place}.{key} is missing"))?;
                    self.check(expected, value, &format!("{place}.{key}"))?;
                }
                let extra = found.keys().find(|key| !expected.contains_key(*key));
                match extra {
                    Some(extra) if !expected.contains_key("$more") => Err(format!(
                        "{place}.{extra} was not expected: {}",
                        found[extra]
                    )),
                    _ => Ok(()),
                }
            }
            (Value::Array(expected), Value::Array(found)) => {
                if expected.len() != found.len() {
                    let found = Value::Array(found.clone());
                    return Err(format!(
                        "{place}: expected {} items, got {found}",
                        expected.len()
                    ));
                }
                expected
                    .iter()
                    .zip(found)
                    .enumerate()
                    .try_for_each(|(index, (expected, found))| {
                        self.check(expected, found, &format!("{place}[{index}]"))
                    })
            }
            _ => same(expected, found, place),
        }
    }

    /// Returns arguments with their holes filled.
    pub fn fill(&self, value: &Value) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) if text.starts_with('$') && !text.starts_with("${") => self
                .0
                .get(&text[1..])
                .cloned()
                .ok_or_else(|| format!("{text} is not bound"))?,
            Value::String(text) => Value::String(self.fill_text(text)?),
            Value::Object(repeat) if repeat.contains_key("$repeat") => {
                let times = repeat
                    .get("times")
                    .and_then(Value::as_u64)
                    .ok_or("times takes a number")? as usize;
                match self.fill(&repeat["$repeat"])? {
                    Value::String(unit) => Value::String(unit.repeat(times)),
                    Value::Array(items) => vec![items; times].into_iter().flatten().collect(),
                    _ => return Err("$repeat takes a string or an array".to_owned()),
                }
            }
            Value::Object(joined) if joined.contains_key("$concat") => {
                let parts = self.fill(&joined["$concat"])?;
                let text = |part: &Value| {
                    part.as_str()
                        .map(str::to_owned)
                        .ok_or("$concat takes strings")
                };
                let parts = parts
                    .as_array()
                    .ok_or("$concat takes an array")?
                    .iter()
                    .map(text);
                Value::String(parts.collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => {
                let fill = |(key, value): (&String, &Value)| Ok((key.clone(), self.fill(value)?));
                Value::Object(fields.iter().map(fill).collect::<Result<_, String>>()?)
            }
            Value::Array(items) => Value::Array(
                items
                    .iter()
                    .map(|item| self.fill(item))
                    .collect::<Result<_, _>>()?,
            ),
            other => other.clone(),
        })
    }

    /// Fills holes in a text: `${name}`, the first characters of a value with `${name:8}`, or its
    /// last ones with `${name:-8}`.
    pub fn fill_text(&self, text: &str) -> Result<String, String> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let end = rest[start..].find('}').ok_or("a hole is not closed")? + start;
            let (name, length) = rest[start + 2..end]
                .split_once(':')
                .unwrap_or((&rest[start + 2..end], ""));
            let value = self
                .0
                .get(name)
                .ok_or_else(|| format!("${name} is not bound"))?;
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            let (is_end, length) = length
                .strip_prefix('-')
                .map_or((false, length), |length| (true, length));
            let length = if length.is_empty() {
                usize::MAX
            } else {
                length.parse().map_err(|_| "no length")?
            };
            let skipped = if is_end {
                value.chars().count().saturating_sub(length)
            } else {
                0
            };
            filled.push_str(&rest[..start]);
            filled.extend(value.chars().skip(skipped).take(length));
            rest = &rest[end + 1..];
        }
        filled.push_str(rest);
        Ok(filled)
    }
}

fn same(expected: &Value, found: &Value, place: &str) -> Result<(), String> {
    let is_same_number = expected
        .as_f64()
        .is_some_and(|expected| found.as_f64() == Some(expected));
    if expected == found || is_same_number {
        Ok(())
    } else {
        Err(format!("{place}: expected {expected}, got {found}"))
    }
}

#[test]
fn a_difference_is_found() {
    let rows = [
        (serde_json::json!({"a": 1}), serde_json::json!({"a": 2})),
        (
            serde_json::json!({"a": 1}),
            serde_json::json!({"a": 1, "b": 2}),
        ),
        (
            serde_json::json!({"a": 1, "$more": true}),
            serde_json::json!({"b": 2}),
        ),
        (serde_json::json!(["$x", "$x"]), serde_json::json!([1, 2])),
        (serde_json::json!([1]), serde_json::json!([1, 1])),
        (serde_json::json!({"$near": 0.5}), serde_json::json!(0.6)),
        (serde_json::json!({"$count": 1}), serde_json::json!([1, 1])),
    ];
    for (expected, found) in rows {
        assert!(
            Bindings::default()
                .check(&expected, &found, "value")
                .is_err(),
            "{expected} took {found}"
        );
    }
}
