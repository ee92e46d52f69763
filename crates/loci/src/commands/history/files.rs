//! `loci history`, `loci diff`, `loci restore` and `loci undo` of files of settings.

use std::path::Path;

use loci_core::{Clock, Error};
use loci_hosts::{read_file, remove_file, replace_file};
use serde_json::{Value, json};

use super::{VERSION, format_call, note_value, told, told_lines};
use crate::escaped::OneLine;
use crate::exit::{Exit, Failure};
use crate::file_history::{KeptChange, kept_changes};
use crate::output::{self, Output, is_confirmed, status_line};
use crate::settings::Settings;
use crate::time_format;
use crate::wiring::{Parts, SystemClock};

/// The word that stands for all settings.
pub const ALL: &str = "settings";

/// A file with its changes, the first one first, and its text of now.
pub struct FileVersions {
    changes: Vec<KeptChange>,
    now: Option<String>,
}

/// Returns the file that a person names; `None` if it may be the id of a record.
///
/// # Errors
/// `not_found` for a path whose changes are not kept; the changes or the file cannot be read.
pub fn named_file(settings: &Settings, named: &str) -> Result<Option<FileVersions>, Failure> {
    let mut changes = changes(settings)?;
    let real = Path::new(named).canonicalize().ok();
    let is_named = |change: &KeptChange| {
        change.path == Path::new(named) || real.as_deref() == Some(change.path.as_path())
    };
    changes.retain(is_named);
    changes.reverse();
    let Some(last) = changes.last() else {
        // No id of a record is an absolute path.
        return if Path::new(named).is_absolute() {
            let message = format!(
                "no change of the file {named} is kept; `loci history {ALL}` lists the changes of settings that are"
            );
            Err(Error::not_found(message).into())
        } else {
            Ok(None)
        };
    };
    let now = text_of(&last.path)?;
    Ok(Some(FileVersions { changes, now }))
}

fn changes(settings: &Settings) -> Result<Vec<KeptChange>, Failure> {
    kept_changes(&settings.data).map_err(|error| {
        let message = format!("what is kept of files of settings cannot be read: {error}");
        Failure::new(Exit::Failure, message)
    })
}

fn text_of(path: &Path) -> Result<Option<String>, Failure> {
    read_file(path).map_err(|error| Failure::new(Exit::Failure, error.to_string()))
}

impl FileVersions {
    /// Returns the text of a version: before the change of this number, from 1, and after the last one
    /// the text of now.
    fn text(&self, version: u64) -> Result<Option<&str>, Error> {
        let place = usize::try_from(version)
            .ok()
            .and_then(|version| version.checked_sub(1));
        match place {
            Some(place) if place < self.changes.len() => Ok(self.changes[place].before.as_deref()),
            Some(place) if place == self.changes.len() => Ok(self.now.as_deref()),
            _ => {
                let problem =
                    format!("{version} is no version that is kept; `loci history` lists them");
                Err(Error::invalid(VERSION, problem))
            }
        }
    }

    fn last(&self) -> u64 {
        self.changes.len() as u64 + 1
    }

    fn path(&self) -> &Path {
        &self.changes[0].path
    }
}

/// Lists the changes of settings: of the store, and of files.
///
/// # Errors
/// The store or the files cannot be read.
pub fn list(settings: &Settings, limit: usize, output: Output) -> Result<(), Failure> {
    let files = changes(settings)?;
    let mut rows: Vec<(loci_core::Timestamp, Value, String)> = Vec::new();
    let calls = match Parts::open_current(settings) {
        // Hosts are connected before there is a store.
        Err(failure) if failure.exit == Exit::DataFolder && !files.is_empty() => Vec::new(),
        parts => parts?.looking().changes().last_settings(limit)?,
    };
    for call in calls {
        let names: Vec<&str> = call.records.iter().map(|it| it.label.as_str()).collect();
        let mut value = note_value(&call.note);
        value["settings"] = json!(names);
        let line = format!(
            "{}  {}  {}\n",
            format_call(call.note.call),
            told(&call.note),
            OneLine(names.join(", "))
        );
        rows.push((call.note.at, value, line));
    }
    for change in files {
        rows.push((change.at(), value_of(&change), line_of(&change)));
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.0));
    rows.truncate(limit);
    if rows.is_empty() && !output.json {
        status_line("no change of a setting is kept");
    }
    let text: String = rows.iter().map(|row| row.2.as_str()).collect();
    let values: Vec<Value> = rows.into_iter().map(|row| row.1).collect();
    Ok(output.either(&output::listing("changes", values, None), text)?)
}

fn line_of(change: &KeptChange) -> String {
    format!("{}  {}\n", format_call(change.change), said(change))
}

/// Says when a file was changed, and by what.
fn said(change: &KeptChange) -> String {
    let what = match (&change.before, &change.after) {
        (None, _) => "made ",
        (_, None) => "removed ",
        _ => "",
    };
    let text = format!(
        "{} ({})  you by {}  {what}{}",
        time_format::format(change.at()),
        time_format::ago(SystemClock.now(), change.at()),
        change.tool,
        change.path.display()
    );
    OneLine(text).to_string()
}

fn value_of(change: &KeptChange) -> Value {
    json!({
        "change": format_call(change.change), "at": time_format::format(change.at()), "by": Value::Null,
        "tool": change.tool, "program": Value::Null, "session": Value::Null, "token": Value::Null,
        "files": [change.path.display().to_string()],
    })
}

/// Lists the versions of a file, the present one first.
pub fn history(file: &FileVersions, limit: usize, output: Output) -> Result<(), Failure> {
    let mut text = String::new();
    let mut values = Vec::new();
    let versions = (1..=file.last()).rev();
    for version in versions.take(limit) {
        let began = version
            .checked_sub(2)
            .and_then(|place| file.changes.get(place as usize));
        let shown = began.map_or_else(|| "the first version that is kept".to_owned(), said);
        let size = match file.text(version)? {
            None => "(not there)".to_owned(),
            Some(text) => output::counted(text.len() as u64, "byte"),
        };
        text += &format!("{version:>4}  {shown}\n      {size}\n");
        let mut value = began.map_or_else(|| json!({}), value_of);
        value["version"] = json!(version);
        value["text"] = json!(file.text(version)?);
        values.push(value);
    }
    let more = (values.len() as u64) < file.last();
    let more = more.then(|| format!("--limit {}", file.last()));
    let path = file.path().display().to_string();
    let value = json!({"id": path, "kind": "file", "versions": values, "more": more});
    Ok(output.either(&value, text)?)
}

/// Compares two versions of a file.
pub fn diff(
    file: &FileVersions,
    (from, to): (Option<u64>, Option<u64>),
    output: Output,
) -> Result<(), Failure> {
    let to = to.unwrap_or(file.last());
    let from = from.unwrap_or_else(|| file.last() - 1);
    let [before, after] = [file.text(from)?, file.text(to)?].map(Option::unwrap_or_default);
    let (shown, lines) = told_lines(before, after);
    let text = format!("version {from} → {to}\n{shown}");
    let path = file.path().display().to_string();
    let value = json!({"id": path, "kind": "file", "from": from, "to": to, "lines": lines});
    Ok(output.either(&value, text)?)
}

/// Brings a version of a file back.
pub fn restore(file: &FileVersions, version: u64, output: Output) -> Result<(), Failure> {
    bring(file.path(), file.now.as_deref(), file.text(version)?)?;
    let path = file.path().display().to_string();
    status_line(format_args!(
        "version {version} is back, as version {}",
        file.last() + 1
    ));
    let value = json!({"id": path, "kind": "file", "version": version});
    Ok(output.either(&value, format!("{}\n", OneLine(&*path)))?)
}

/// Writes a text in the place of another one; `None` is no file.
fn bring(path: &Path, now: Option<&str>, then: Option<&str>) -> Result<(), Failure> {
    let done = match (now, then) {
        (now, then) if now == then => Ok(()),
        (now, Some(then)) => replace_file(path, now, then),
        (Some(now), None) => remove_file(path, now),
        (None, None) => Ok(()),
    };
    done.map_err(|error| Failure::new(Exit::Failure, error.to_string()))
}

/// Takes back what a command changed of files; `None` if none of its changes is kept.
///
/// # Errors
/// A file cannot be read or written.
pub fn take_back(
    settings: &Settings,
    change: u64,
    (is_dry_run, is_sure): (bool, bool),
    output: Output,
) -> Result<Option<()>, Failure> {
    let all = changes(settings)?;
    let meant: Vec<&KeptChange> = all.iter().filter(|it| it.change == change).collect();
    if meant.is_empty() {
        return Ok(None);
    }
    let mut rows = Vec::new();
    for kept in &meant {
        let is_as_made = text_of(&kept.path)? == kept.after;
        rows.push((*kept, is_as_made));
    }
    let told = |rows: &[(&KeptChange, bool)]| -> String {
        let line = |(kept, is_as_made): &(&KeptChange, bool)| {
            let outcome = if *is_as_made {
                "restored"
            } else {
                "stays, it was changed later"
            };
            format!("{}: {outcome}\n", OneLine(kept.path.display().to_string()))
        };
        rows.iter().map(line).collect()
    };
    let value = |rows: &[(&KeptChange, bool)]| {
        let row = |(kept, is_as_made): &(&KeptChange, bool)| {
            let outcome = if *is_as_made { "restored" } else { "stands" };
            json!({"path": kept.path.display().to_string(), "outcome": outcome})
        };
        json!({"changes": rows.len(), "files": rows.iter().map(row).collect::<Value>(), "dry_run": is_dry_run})
    };
    if is_dry_run {
        let text = format!(
            "nothing is changed; without --dry-run it would be:\n{}",
            told(&rows)
        );
        output.either(&value(&rows), text)?;
        return Ok(Some(()));
    }
    if !is_sure {
        status_line(told(&rows).trim_end());
        if !is_confirmed("take these changes back? [y/N]", "--yes")? {
            status_line("nothing is changed");
            return Ok(Some(()));
        }
    }
    for (kept, is_as_made) in &rows {
        if *is_as_made {
            bring(&kept.path, kept.after.as_deref(), kept.before.as_deref())?;
        }
    }
    output.either(&value(&rows), told(&rows))?;
    Ok(Some(()))
}
