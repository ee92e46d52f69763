//! The folder of notes of a case, and the actions of a person in it.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use loci_core::{Clock, Timestamp};
use loci_testkit::FixedClock;
use loci_vault::VaultFolder;
use serde::Deserialize;
use serde_json::Value;

/// A folder in a temporary directory, which also holds its lock and the folder itself while it is
/// away.
pub struct Folder {
    place: tempfile::TempDir,
    clock: Arc<FixedClock>,
}

/// The action of a person on a file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Act {
    /// Writes a file from scratch and creates its parent folders.
    Write {
        file: String,
        text: Value,
    },
    /// Writes `count` files, with the number of each in the place of every `#`.
    WriteMany {
        files: String,
        text: String,
        count: usize,
    },
    /// Appends to the end of a file.
    Append {
        file: String,
        text: Value,
    },
    /// Replaces a text, which must exist, by another one.
    Replace {
        file: String,
        what: String,
        by: String,
    },
    Rename {
        file: String,
        to: String,
    },
    Copy {
        file: String,
        to: String,
    },
    Delete {
        file: String,
    },
    /// Removes the whole folder, as when a drive is unmounted.
    TakeAway,
    /// Brings the folder back.
    BringBack,
}

impl Folder {
    pub fn new(clock: Arc<FixedClock>) -> Self {
        Folder {
            place: tempfile::tempdir().unwrap(),
            clock,
        }
    }

    /// Returns the folder as loci opens it.
    pub fn notes(&self) -> Arc<VaultFolder> {
        Arc::new(VaultFolder::new(
            self.root(),
            self.place.path().join("lock"),
            self.clock.clone(),
        ))
    }

    /// Returns the path of the project beside the notes, which exists once it has a file.
    pub fn project(&self) -> String {
        let place = self.place.path().canonicalize().unwrap();
        place.join("project").to_str().unwrap().to_owned()
    }

    fn root(&self) -> PathBuf {
        self.place.path().join("notes")
    }

    fn path(&self, file: &str) -> PathBuf {
        self.root().join(file)
    }

    /// Performs the action at the time of the clock. `fill` fills holes.
    pub fn act(
        &self,
        act: &Act,
        fill: &dyn Fn(&Value) -> Result<Value, String>,
    ) -> Result<(), String> {
        let text = |text: &Value| match fill(text)? {
            Value::String(text) => Ok(text),
            _ => Err("a file takes a string".to_owned()),
        };
        let done = match act {
            Act::Write { file, text: value } => self.write(file, &text(value)?),
            Act::WriteMany { files, text, count } => (1..=*count)
                .map(|number| number.to_string())
                .try_for_each(|number| {
                    self.write(&files.replace('#', &number), &text.replace('#', &number))
                }),
            Act::Append { file, text: value } => {
                let text = self
                    .text(file)?
                    .ok_or_else(|| format!("there is no {file}"))?
                    + &text(value)?;
                self.write(file, &text)
            }
            Act::Replace { file, what, by } => {
                let before = self
                    .text(file)?
                    .ok_or_else(|| format!("there is no {file}"))?;
                let after = before.replace(what, by);
                if before == after {
                    return Err(format!("{file} has no {what:?}:\n{before}"));
                }
                self.write(file, &after)
            }
            Act::Rename { file, to } => {
                let to = self.path(to);
                make_parent(&to).and_then(|()| fs::rename(self.path(file), to))
            }
            Act::Copy { file, to } => {
                let to = self.path(to);
                make_parent(&to)
                    .and_then(|()| fs::copy(self.path(file), &to))
                    .and_then(|_| self.stamp(&to))
            }
            Act::Delete { file } => fs::remove_file(self.path(file)),
            Act::TakeAway => fs::rename(self.root(), self.place.path().join("away")),
            Act::BringBack => fs::rename(self.place.path().join("away"), self.root()),
        };
        done.map_err(|error| error.to_string())
    }

    /// Returns the text of a file; `None` if it does not exist.
    pub fn text(&self, file: &str) -> Result<Option<String>, String> {
        match fs::read_to_string(self.path(file)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("{file}: {error}")),
        }
    }

    /// Returns everything in the folder, in the order of names.
    pub fn files(&self) -> Result<Vec<String>, String> {
        let mut files = Vec::new();
        collect(&self.root(), "", &mut files).map_err(|error| error.to_string())?;
        files.sort();
        Ok(files)
    }

    fn write(&self, file: &str, text: &str) -> std::io::Result<()> {
        let path = self.path(file);
        make_parent(&path)?;
        File::create(&path)?.write_all(text.as_bytes())?;
        self.stamp(&path)
    }

    /// Sets the modification time of a file to the clock, so that a case is reproducible.
    fn stamp(&self, path: &Path) -> std::io::Result<()> {
        let now: Timestamp = self.clock.now();
        let now = Duration::from_micros(u64::try_from(now.microseconds()).unwrap());
        File::options()
            .write(true)
            .open(path)?
            .set_modified(SystemTime::UNIX_EPOCH + now)
    }
}

fn make_parent(path: &Path) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<String>) -> std::io::Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.push(name);
        }
    }
    Ok(())
}
