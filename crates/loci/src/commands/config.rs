//! `loci config`: prints every setting with its value and origin.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::exit::Failure;
use crate::output::Output;
use crate::settings::{CONFIG_FLAG, Settings};

pub fn run(settings: &Settings, output: Output) -> Result<(), Failure> {
    let file = &settings.config_file;
    let rows = settings.rows.iter().map(|row| {
        (
            row.setting.key,
            row.value.as_deref(),
            row.origin.to_string(),
        )
    });
    let rows: Vec<_> = std::iter::once((
        CONFIG_FLAG,
        Some(file.text.as_str()),
        file.origin.to_string(),
    ))
    .chain(rows)
    .collect();
    let mut values = Map::new();
    let mut text = String::new();
    for (key, value, origin) in rows {
        let _ = writeln!(
            text,
            "{key:26}  {}  ({origin})",
            value.filter(|value| !value.is_empty()).unwrap_or("unset")
        );
        values.insert(key.to_owned(), json!({"value": value, "origin": origin}));
    }
    Ok(output.either(&Value::Object(values), text)?)
}
