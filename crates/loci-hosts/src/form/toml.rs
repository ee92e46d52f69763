//! An entry in TOML.

use serde_json::{Map, Number, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

use super::Slot;

/// Parses a text. A time counts as its text.
pub fn value(text: &str) -> Result<Value, String> {
    Ok(of_table(document(text)?.as_table()))
}

pub fn put(text: &str, slot: &Slot<'_>, entry: &Value) -> Result<String, String> {
    let mut document = document(&unix(text))?;
    let entries = document.entry(slot.key).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let Some(map) = entry.as_object() else {
        return Err("the entry is no map".to_owned());
    };
    match entries {
        Item::Table(entries) => {
            if let Some(old) = entries.get_mut(slot.name).and_then(Item::as_table_like_mut) {
                update(old, map)?;
            } else {
                let mut table = Table::new();
                update(&mut table, map)?;
                entries.insert(slot.name, Item::Table(table));
            }
        }
        other => {
            let entries = other.as_inline_table_mut().ok_or_else(|| slot.no_map())?;
            entries.insert(slot.name, input(entry)?);
        }
    }
    Ok(with_ends_of(text, document.to_string()))
}

pub fn remove(text: &str, slot: &Slot<'_>) -> Result<String, String> {
    let mut document = document(&unix(text))?;
    if let Some(entries) = document.get_mut(slot.key).and_then(Item::as_table_like_mut) {
        entries.remove(slot.name);
        if entries.is_empty() {
            document.remove(slot.key);
        }
    }
    Ok(with_ends_of(text, document.to_string()))
}

fn document(text: &str) -> Result<DocumentMut, String> {
    text.parse::<DocumentMut>().map_err(|error| {
        let message = error.to_string();
        let message: Vec<_> = message.split_whitespace().collect();
        format!("it is no TOML ({})", message.join(" "))
    })
}

/// Changes a table to hold exactly that map. Comments and spaces at keys that stay are kept.
fn update(table: &mut dyn TableLike, map: &Map<String, Value>) -> Result<(), String> {
    let gone: Vec<String> = table
        .iter()
        .map(|(key, _)| key.to_owned())
        .filter(|key| !map.contains_key(key))
        .collect();
    for key in gone {
        table.remove(&key);
    }
    for (key, value) in map {
        let is_there = table.get(key).is_some_and(|old| of_item(old) == *value);
        if !is_there {
            table.insert(key, Item::Value(input(value)?));
        }
    }
    Ok(())
}

fn input(value: &Value) -> Result<toml_edit::Value, String> {
    Ok(match value {
        Value::Null => return Err("TOML has no null".to_owned()),
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => integer.into(),
            (None, Some(float)) => float.into(),
            (None, None) => return Err(format!("TOML has no number {number}")),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(values) => {
            let values: Result<Vec<_>, _> = values.iter().map(input).collect();
            toml_edit::Value::Array(values?.into_iter().collect::<Array>())
        }
        Value::Object(map) => {
            let mut table = InlineTable::new();
            for (key, value) in map {
                table.insert(key, input(value)?);
            }
            toml_edit::Value::InlineTable(table)
        }
    })
}

fn of_table(table: &dyn TableLike) -> Value {
    let pairs = table
        .iter()
        .filter(|(_, item)| !item.is_none())
        .map(|(key, item)| (key.to_owned(), of_item(item)));
    Value::Object(pairs.collect())
}

fn of_item(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => of_value(value),
        Item::Table(table) => of_table(table),
        Item::ArrayOfTables(tables) => {
            Value::Array(tables.iter().map(|table| of_table(table)).collect())
        }
    }
}

fn of_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::String(text.value().clone()),
        toml_edit::Value::Integer(integer) => Value::from(*integer.value()),
        toml_edit::Value::Float(float) => Number::from_f64(*float.value())
            .map_or_else(|| Value::String(float.value().to_string()), Value::Number),
        toml_edit::Value::Boolean(value) => Value::Bool(*value.value()),
        toml_edit::Value::Datetime(time) => Value::String(time.value().to_string()),
        toml_edit::Value::Array(values) => Value::Array(values.iter().map(of_value).collect()),
        toml_edit::Value::InlineTable(table) => of_table(table),
    }
}

/// True if every line ends as on Windows.
fn has_windows_ends(text: &str) -> bool {
    text.contains("\r\n") && text.matches("\r\n").count() == text.matches('\n').count()
}

/// Returns a text of Windows with the ends of lines that the editor writes.
fn unix(text: &str) -> String {
    if has_windows_ends(text) {
        text.replace("\r\n", "\n")
    } else {
        text.to_owned()
    }
}

/// Returns the text with the ends of lines of another one.
fn with_ends_of(before: &str, text: String) -> String {
    if has_windows_ends(before) {
        text.replace('\n', "\r\n")
    } else {
        text
    }
}
