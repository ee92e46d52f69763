//! The configuration file: TOML, in which every key must be known.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fmt, fs, io};

use toml::de::{DeTable, DeValue};

use crate::exit::{Exit, Failure};
use crate::settings::environment::nearest;
use crate::settings::{Origin, ResolvedValue, Setting, ValueType, settings};

/// The mark at the beginning of a file that some editors on Windows write.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Returns the values in the file, by key. An optional file that does not exist sets nothing.
///
/// # Errors
/// [`Exit::Usage`], naming file, line and key, if the file cannot be read, is not TOML, holds a key
/// that is not a setting, or a value of another type.
pub fn read(
    path: &Path,
    must_exist: bool,
) -> Result<BTreeMap<&'static str, ResolvedValue>, Failure> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !must_exist => {
            return Ok(BTreeMap::new());
        }
        Err(error) => {
            let message = format!(
                "the configuration file {} cannot be read: {error}",
                path.display()
            );
            return Err(Failure::new(Exit::Usage, message));
        }
    };
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text);
    let file = File { path, text };
    let table = DeTable::parse(text)
        .map_err(|error| file.wrong(error.span().map_or(0, |span| span.start), error.message()))?;
    let mut values = BTreeMap::new();
    file.add(table.get_ref(), "", &mut values)?;
    Ok(values)
}

/// Sets a text setting in the file and leaves everything else in it as it is. Makes the file if it
/// is missing.
///
/// # Errors
/// [`Exit::Usage`], if the file cannot be read or written, or its form leaves no place for the
/// setting; it is unchanged then.
pub fn set(path: &Path, setting: &Setting, value: &str) -> Result<(), Failure> {
    let wrong = |problem: &dyn fmt::Display| {
        let message = format!("the configuration file {} {problem}", path.display());
        Failure::new(Exit::Usage, message)
    };
    let there = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        text => Some(text.map_err(|error| wrong(&format_args!("cannot be read: {error}")))?),
    };
    let text = there.as_deref().unwrap_or_default();
    let (mark, text) = match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(text) => (BYTE_ORDER_MARK, text),
        None => ("", text),
    };
    let table = DeTable::parse(text)
        .map_err(|error| wrong(&format_args!("is not TOML: {}", error.message())))?;
    let edited = edited(text, table.get_ref(), setting.key, &format!("\"{value}\""));
    let sets = |edited: &str| {
        let table = DeTable::parse(edited).ok()?;
        let mut values = BTreeMap::new();
        File { path, text: edited }
            .add(table.get_ref(), "", &mut values)
            .ok()?;
        values
            .remove(setting.key)
            .filter(|found| found.text == value)
    };
    if sets(&edited).is_none() {
        let advice = format!(
            "has a form that loci cannot edit; set `{}` to \"{value}\" in it yourself",
            setting.key
        );
        return Err(wrong(&advice));
    }
    // A link to the file stays a link.
    loci_hosts::replace_file(path, there.as_deref(), &format!("{mark}{edited}"))
        .map_err(|error| wrong(&format_args!("cannot be written: {error}")))
}

/// Returns the text of a file with that value for a key, in the place of the former value or at the
/// head of its table.
fn edited(text: &str, table: &DeTable<'_>, key: &str, value: &str) -> String {
    let (section, name) = key.rsplit_once('.').unwrap_or(("", key));
    let inner = section.split('.').filter(|part| !part.is_empty()).try_fold(
        table,
        |table, part| match table.get(part)?.get_ref() {
            DeValue::Table(inner) => Some(inner),
            _ => None,
        },
    );
    if let Some(span) = inner
        .and_then(|inner| inner.get(name))
        .map(toml::Spanned::span)
    {
        return format!("{}{value}{}", &text[..span.start], &text[span.end..]);
    }
    let header = format!("[{section}]");
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        end += line.len();
        if !section.is_empty()
            && line
                .split('#')
                .next()
                .is_some_and(|line| line.trim() == header)
        {
            let newline = if line.ends_with('\n') { "" } else { "\n" };
            return format!(
                "{}{newline}{name} = {value}\n{}",
                &text[..end],
                &text[end..]
            );
        }
    }
    // Keys without a table come before the first table.
    format!("{key} = {value}\n{text}")
}

struct File<'a> {
    path: &'a Path,
    text: &'a str,
}

impl File<'_> {
    fn line(&self, offset: usize) -> usize {
        1 + self
            .text
            .bytes()
            .take(offset)
            .filter(|byte| *byte == b'\n')
            .count()
    }

    fn wrong(&self, offset: usize, problem: &str) -> Failure {
        let place = format!(
            "the configuration file {}, line {}",
            self.path.display(),
            self.line(offset)
        );
        Failure::new(Exit::Usage, format!("{place}: {problem}"))
    }

    fn add(
        &self,
        table: &DeTable<'_>,
        prefix: &str,
        values: &mut BTreeMap<&'static str, ResolvedValue>,
    ) -> Result<(), Failure> {
        for (name, value) in table {
            let key = format!("{prefix}{}", name.get_ref());
            let offset = name.span().start;
            if let Some(setting) = settings().find(|setting| setting.key == key) {
                let text = text_of(setting, value.get_ref()).map_err(|expected| {
                    self.wrong(offset, &format!("`{key}` must be {expected}"))
                })?;
                let origin = Origin::File(self.path.to_owned(), self.line(offset));
                values.insert(setting.key, ResolvedValue { text, origin });
                continue;
            }
            let inner = format!("{key}.");
            match value.get_ref() {
                DeValue::Table(table)
                    if settings().any(|setting| setting.key.starts_with(&inner)) =>
                {
                    self.add(table, &inner, values)?;
                }
                _ => {
                    let keys = settings().map(|setting| setting.key);
                    let meant = nearest(&key, keys).map_or_else(
                        || "`loci config` lists the settings".to_owned(),
                        |meant| format!("did you mean `{meant}`?"),
                    );
                    let problem = format!("`{key}` is no setting; {meant}");
                    return Err(self.wrong(offset, &problem));
                }
            }
        }
        Ok(())
    }
}

/// Returns the value as a flag would give it, or the type that it should have.
fn text_of(setting: &Setting, value: &DeValue<'_>) -> Result<String, &'static str> {
    match (setting.form, value) {
        (ValueType::Text | ValueType::Secret | ValueType::Choice(_), DeValue::String(text)) => {
            Ok(text.to_string())
        }
        (ValueType::Text | ValueType::Secret | ValueType::Choice(_), _) => Err("a string"),
        (
            ValueType::Seconds | ValueType::Whole { .. } | ValueType::Number { .. },
            DeValue::Integer(number),
        ) if number.radix() == 10 => Ok(number.as_str().to_owned()),
        (ValueType::Seconds | ValueType::Whole { .. }, _) => Err("a whole number"),
        (ValueType::Number { .. }, DeValue::Float(number)) => Ok(number.as_str().to_owned()),
        (ValueType::Number { .. }, _) => Err("a number"),
        (ValueType::Boolean, DeValue::Boolean(value)) => Ok(value.to_string()),
        (ValueType::Boolean, _) => Err("true or false"),
        (ValueType::List, DeValue::Array(items)) => {
            let items: Option<Vec<&str>> =
                items.iter().map(|item| item.get_ref().as_str()).collect();
            items
                .map(|items| items.join(","))
                .ok_or("an array of strings")
        }
        (ValueType::List, _) => Err("an array of strings"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message_of(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, text).unwrap();
        read(&path, true).err().unwrap().message
    }

    #[test]
    fn an_unknown_key_is_refused_by_name_and_line() {
        let rows = [
            (
                "# c\n\nbnd = \"x\"\n",
                "line 3: `bnd` is no setting; did you mean `bind`?",
            ),
            (
                "[embedding]\nprovder = \"x\"\n",
                "line 2: `embedding.provder` is no setting; did you mean `embedding.provider`?",
            ),
            ("[data]\nx = 1\n", "line 1: `data` must be a string"),
            ("[bind.port]\n", "line 1: `bind` must be a string"),
            ("x = [", "line 1: "),
        ];
        for (text, expected) in rows {
            let message = message_of(text);
            assert!(
                message.contains(expected),
                "{message} should contain {expected}"
            );
        }
    }

    #[test]
    fn a_setting_is_written_and_the_rest_of_the_file_stays() {
        let (key, value) = ("embedding.provider", "none");
        let rows = [
            ("", "embedding.provider = \"none\"\n"),
            (
                "# mine\nbind = \"x\"\n",
                "embedding.provider = \"none\"\n# mine\nbind = \"x\"\n",
            ),
            (
                "[embedding] # here\nurl = \"x\" # that\n[llm]\n",
                "[embedding] # here\nprovider = \"none\"\nurl = \"x\" # that\n[llm]\n",
            ),
            ("[embedding]", "[embedding]\nprovider = \"none\"\n"),
            (
                "[embedding]\nprovider = 'http' # old\n",
                "[embedding]\nprovider = \"none\" # old\n",
            ),
            (
                "embedding.url = \"x\"\n",
                "embedding.provider = \"none\"\nembedding.url = \"x\"\n",
            ),
            (
                "embedding = { provider = \"http\" }\n",
                "embedding = { provider = \"none\" }\n",
            ),
            (
                "\u{feff}bind = \"x\"\r\n",
                "\u{feff}embedding.provider = \"none\"\nbind = \"x\"\r\n",
            ),
        ];
        let setting = settings().find(|setting| setting.key == key).unwrap();
        for (before, after) in rows {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("loci/config.toml");
            if !before.is_empty() {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, before).unwrap();
            }
            set(&path, setting, value).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), after);
            assert_eq!(read(&path, true).unwrap()[key].text, value);
        }
        for (before, words) in [
            ("embedding = { url = \"x\" }\n", "yourself"),
            ("= 1\n", "is not TOML"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("config.toml");
            fs::write(&path, before).unwrap();
            let failure = set(&path, setting, value).unwrap_err();
            assert!(failure.message.contains(words), "{failure:?}");
            assert_eq!(fs::read_to_string(&path).unwrap(), before);
        }
    }

    #[test]
    fn only_a_named_file_must_be_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        assert!(read(&path, false).unwrap().is_empty());
        assert!(
            read(&path, true)
                .err()
                .unwrap()
                .message
                .contains("cannot be read")
        );
    }
}
