//! The configuration file: TOML, every key known.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use crate::exit::{Exit, Failure};
use crate::settings::{Form, Found, Origin, SETTINGS, Setting};

/// What the file sets, by key. A file that need not be there sets nothing if it is not.
///
/// # Errors
/// [`Exit::Usage`], naming file, line and key, if the file cannot be read, is no TOML, holds a
/// key that is no setting, or a value of another type.
pub fn read(path: &Path, must_exist: bool) -> Result<BTreeMap<&'static str, Found>, Failure> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !must_exist => return Ok(BTreeMap::new()),
        Err(error) => {
            let message = format!("the configuration file {} cannot be read: {error}", path.display());
            return Err(Failure::new(Exit::Usage, message));
        }
    };
    let file = File { path, text: &text };
    let table = DeTable::parse(&text)
        .map_err(|error| file.wrong(error.span().map_or(0, |span| span.start), error.message()))?;
    let mut values = BTreeMap::new();
    file.add(table.get_ref(), "", &mut values)?;
    Ok(values)
}

struct File<'a> {
    path: &'a Path,
    text: &'a str,
}

impl File<'_> {
    fn line(&self, offset: usize) -> usize {
        1 + self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
    }

    fn wrong(&self, offset: usize, problem: &str) -> Failure {
        let place = format!("the configuration file {}, line {}", self.path.display(), self.line(offset));
        Failure::new(Exit::Usage, format!("{place}: {problem}"))
    }

    fn add(
        &self,
        table: &DeTable<'_>,
        prefix: &str,
        values: &mut BTreeMap<&'static str, Found>,
    ) -> Result<(), Failure> {
        for (name, value) in table {
            let key = format!("{prefix}{}", name.get_ref());
            let offset = name.span().start;
            if let Some(setting) = SETTINGS.iter().find(|setting| setting.key == key) {
                let text = text_of(setting, value.get_ref())
                    .map_err(|expected| self.wrong(offset, &format!("`{key}` must be {expected}")))?;
                let origin = Origin::File(self.path.to_owned(), self.line(offset));
                values.insert(setting.key, Found { text, origin });
                continue;
            }
            let inner = format!("{key}.");
            match value.get_ref() {
                DeValue::Table(table) if SETTINGS.iter().any(|setting| setting.key.starts_with(&inner)) => {
                    self.add(table, &inner, values)?;
                }
                _ => {
                    let problem = format!("`{key}` is no setting; `loci config` lists the settings");
                    return Err(self.wrong(offset, &problem));
                }
            }
        }
        Ok(())
    }
}

/// The value as a flag would give it, or the type that it should have.
fn text_of(setting: &Setting, value: &DeValue<'_>) -> Result<String, &'static str> {
    match (setting.form, value) {
        (Form::Text | Form::Secret | Form::Choice(_), DeValue::String(text)) => Ok(text.to_string()),
        (Form::Text | Form::Secret | Form::Choice(_), _) => Err("a string"),
        (Form::Seconds | Form::Whole { .. } | Form::Number { .. }, DeValue::Integer(number))
            if number.radix() == 10 =>
        {
            Ok(number.as_str().to_owned())
        }
        (Form::Seconds | Form::Whole { .. }, _) => Err("a whole number"),
        (Form::Number { .. }, DeValue::Float(number)) => Ok(number.as_str().to_owned()),
        (Form::Number { .. }, _) => Err("a number"),
        (Form::List, DeValue::Array(items)) => {
            let items: Option<Vec<&str>> = items.iter().map(|item| item.get_ref().as_str()).collect();
            items.map(|items| items.join(",")).ok_or("an array of strings")
        }
        (Form::List, _) => Err("an array of strings"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message_of(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(&path, text).unwrap();
        read(&path, true).err().unwrap().message
    }

    #[test]
    fn an_unknown_key_is_refused_by_name_and_line() {
        let rows = [
            ("# c\n\nbnd = \"x\"\n", "line 3: `bnd` is no setting"),
            ("[embedding]\nprovder = \"x\"\n", "line 2: `embedding.provder` is no setting"),
            ("[data]\nx = 1\n", "line 1: `data` must be a string"),
            ("[bind.port]\n", "line 1: `bind` must be a string"),
            ("x = [", "line 1: "),
        ];
        for (text, expected) in rows {
            let message = message_of(text);
            assert!(message.contains(expected), "{message} should contain {expected}");
        }
    }

    #[test]
    fn only_a_named_file_must_be_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        assert!(read(&path, false).unwrap().is_empty());
        assert!(read(&path, true).err().unwrap().message.contains("cannot be read"));
    }
}
