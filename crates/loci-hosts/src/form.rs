//! The forms of settings files, and the change of one entry in them. Every other byte of a text
//! stays: comments, order, white space, ends of lines.

mod json;
mod toml;
mod yaml;

use std::fmt;

use serde_json::Value;

pub use json::{FORM as JSON_FORM, input as json_input};

/// The mark at the beginning of a file that some editors on Windows write.
pub const BYTE_ORDER_MARK: char = '\u{feff}';

/// The form of a settings file. In each form, a key at the top holds a map of entries by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// JSON, in which comments and trailing commas are allowed.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

impl fmt::Display for Form {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Form::Json => "JSON",
            Form::Toml => "TOML",
            Form::Yaml => "YAML",
        })
    }
}

/// The place of an entry in a text: a form, the key of the map and the name in it.
#[derive(Debug, Clone, Copy)]
pub struct Slot<'a> {
    /// The form of the text.
    pub form: Form,
    /// The key of the map.
    pub key: &'a str,
    /// The name of the entry in the map.
    pub name: &'a str,
}

impl Slot<'_> {
    /// Returns the entry, if there is one.
    ///
    /// # Errors
    /// A problem of the text: it does not have the form.
    pub fn get(&self, text: &str) -> Result<Option<Value>, String> {
        let whole = self.value(text)?;
        Ok(self.entry_of(&whole).cloned())
    }

    /// Returns the text with the entry, in the place of the one that is there or after all others.
    ///
    /// # Errors
    /// A problem of the text: it does not have the form, or no place for the entry.
    pub fn put(&self, text: &str, entry: &Value) -> Result<String, String> {
        let mut expected = self.value(text)?;
        if let Some(whole) = expected.as_object_mut() {
            let entries = whole.entry(self.key).or_insert(Value::Null);
            if entries.is_null() {
                *entries = Value::Object(serde_json::Map::new());
            }
            let entries = entries.as_object_mut().ok_or_else(|| self.no_map())?;
            if entries.get(self.name) == Some(entry) {
                return Ok(text.to_owned());
            }
            entries.insert(self.name.to_owned(), entry.clone());
        }
        let new = behind_mark(text, |text| match self.form {
            Form::Json => json::put(text, self, entry),
            Form::Toml => toml::put(text, self, entry),
            Form::Yaml => yaml::put(text, self, entry),
        })?;
        self.check(&new, &expected)?;
        // The entry must be able to go again, without any other.
        self.remove(&new)?;
        Ok(new)
    }

    /// Returns the text without the entry, and without the map if it is empty then.
    ///
    /// # Errors
    /// As of [`put`](Self::put).
    pub fn remove(&self, text: &str) -> Result<String, String> {
        let mut expected = self.value(text)?;
        let Some(whole) = expected.as_object_mut() else {
            return Ok(text.to_owned());
        };
        let Some(entries) = whole.get_mut(self.key).and_then(Value::as_object_mut) else {
            return Ok(text.to_owned());
        };
        if entries.shift_remove(self.name).is_none() {
            return Ok(text.to_owned());
        }
        if entries.is_empty() {
            whole.shift_remove(self.key);
        }
        let new = behind_mark(text, |text| match self.form {
            Form::Json => json::remove(text, self),
            Form::Toml => toml::remove(text, self),
            Form::Yaml => yaml::remove(text, self),
        })?;
        self.check(&new, &expected)?;
        Ok(new)
    }

    /// Parses the whole text, which is a map; an empty text is an empty map.
    fn value(&self, text: &str) -> Result<Value, String> {
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let whole = match self.form {
            Form::Json => json::value(text, self.key)?,
            Form::Toml => toml::value(text)?,
            Form::Yaml => yaml::value(text)?,
        };
        match whole.get(self.key) {
            None | Some(Value::Null | Value::Object(_)) => Ok(whole),
            Some(_) => Err(self.no_map()),
        }
    }

    fn entry_of<'value>(&self, whole: &'value Value) -> Option<&'value Value> {
        whole.get(self.key)?.get(self.name)
    }

    fn no_map(&self) -> String {
        format!("`{}` in it is no map of servers", self.key)
    }

    /// Checks that a changed text means exactly what it should, so that no mistake of an editor
    /// reaches a file.
    fn check(&self, new: &str, expected: &Value) -> Result<(), String> {
        let problem = || {
            format!(
                "its {} has a form in which loci cannot change `{}` alone",
                self.form, self.key
            )
        };
        match self.value(new) {
            Ok(found) if found == *expected => Ok(()),
            _ => Err(problem()),
        }
    }
}

/// Changes the text behind a byte order mark.
pub fn behind_mark(
    text: &str,
    edit: impl FnOnce(&str) -> Result<String, String>,
) -> Result<String, String> {
    match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => Ok(format!("{BYTE_ORDER_MARK}{}", edit(rest)?)),
        None => edit(text),
    }
}

#[cfg(test)]
mod tests;
