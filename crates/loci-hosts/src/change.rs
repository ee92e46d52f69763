//! A change of a file that is planned first, so that it can be shown before it is made, and that
//! can be undone to the byte.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use similar::TextDiff;

use crate::settings_file::{self, EditError, EditResult, back_up, failed, refused, replace_file};

/// The lines around each change that a difference shows.
const CONTEXT_LINES: usize = 3;

/// A part of a file that loci adds. The functions return the new text, or a problem of the old one.
pub trait Addition {
    /// Returns true if the text has the part.
    fn is_in(&self, text: &str) -> Result<bool, String>;

    /// Returns the text with the part as it is in `from`, a text that has it.
    fn put_as_in(&self, text: &str, from: &str) -> Result<String, String>;

    /// Returns the text without the part.
    fn remove(&self, text: &str) -> Result<String, String>;
}

/// Two parts of one file, of which a text may have only one.
pub struct Both<'a>(pub &'a dyn Addition, pub &'a dyn Addition);

impl Addition for Both<'_> {
    fn is_in(&self, text: &str) -> Result<bool, String> {
        Ok(self.0.is_in(text)? || self.1.is_in(text)?)
    }

    fn put_as_in(&self, text: &str, from: &str) -> Result<String, String> {
        let put = |first: &dyn Addition, second: &dyn Addition| {
            let mut text = text.to_owned();
            for one in [first, second] {
                if one.is_in(from)? {
                    text = one.put_as_in(&text, from)?;
                }
            }
            Ok::<_, String>(text)
        };
        let usual = put(self.0, self.1)?;
        if usual == from {
            return Ok(usual);
        }
        // The user may have added them in the other order.
        put(self.1, self.0)
    }

    fn remove(&self, text: &str) -> Result<String, String> {
        self.1.remove(&self.0.remove(text)?)
    }
}

/// A change of a file that is planned and not yet made.
#[derive(Debug, Clone)]
pub struct Change {
    /// The file, as it was named.
    pub file: PathBuf,
    /// The file to write, behind links.
    real: PathBuf,
    before: Option<String>,
    after: Option<String>,
    copies: Copies,
}

/// The treatment of the copies beside a file.
#[derive(Debug, Clone)]
enum Copies {
    /// The old file is copied.
    Make,
    /// These copies are removed. Empty folders go with a file that is removed, up to this one.
    Remove(Vec<PathBuf>, PathBuf),
}

impl Change {
    /// Plans a change of the text of a file; a file that is not there counts as empty.
    ///
    /// # Errors
    /// [`EditError::Refused`] if the file is not text, is a link to nothing, or `edit` returns a
    /// problem. [`EditError::Failed`] if it cannot be read, is not a plain file or is too large.
    pub fn plan(
        file: &Path,
        edit: impl FnOnce(&str) -> Result<String, String>,
    ) -> Result<Self, EditError> {
        let (real, before) = settings_file::read(file)?;
        let text = before.as_deref().unwrap_or_default();
        let after = edit(text).map_err(refused(file))?;
        let after = if after == text {
            before.clone()
        } else {
            Some(after)
        };
        Ok(Change {
            file: file.to_owned(),
            real,
            before,
            after,
            copies: Copies::Make,
        })
    }

    /// Plans a further change of the same text.
    ///
    /// # Errors
    /// [`EditError::Refused`] if `edit` returns a problem.
    pub fn and(self, edit: impl FnOnce(&str) -> Result<String, String>) -> Result<Self, EditError> {
        let text = self.after.as_deref().unwrap_or_default();
        let after = edit(text).map_err(refused(&self.file))?;
        if after == text {
            return Ok(self);
        }
        Ok(Change {
            after: Some(after),
            ..self
        })
    }

    /// Plans the removal of an addition. If nothing else has changed since the file was copied, the
    /// copy comes back; if loci made the file, it is removed, with the folders that are empty then,
    /// up to `root`. Otherwise, only the addition is removed.
    ///
    /// # Errors
    /// As of [`plan`](Self::plan).
    pub fn plan_undo(file: &Path, addition: &dyn Addition, root: &Path) -> Result<Self, EditError> {
        let refused = refused(file);
        let (real, before) = settings_file::read(file)?;
        let unchanged = |before: Option<String>, real: PathBuf| Change {
            file: file.to_owned(),
            real,
            after: before.clone(),
            before,
            copies: Copies::Remove(Vec::new(), root.to_owned()),
        };
        let Some(text) = before.as_deref() else {
            return Ok(unchanged(before, real));
        };
        if !addition.is_in(text).map_err(&refused)? {
            return Ok(unchanged(before, real));
        }
        let mut used = Vec::new();
        let mut restored = None;
        for copy in settings_file::backups(&real) {
            let Ok((_, Some(old))) = settings_file::read(&copy) else {
                continue;
            };
            if addition.is_in(&old).unwrap_or(true) {
                // A copy between two changes of loci; it is of no use without the addition.
                used.push(copy);
            } else if addition.put_as_in(&old, text).is_ok_and(|new| new == text) {
                used.push(copy);
                restored = Some(old);
                break;
            }
        }
        let is_link = fs::symlink_metadata(file).is_ok_and(|metadata| metadata.is_symlink());
        let is_made_by_loci = || {
            let made = addition.put_as_in("", text);
            !is_link && made.is_ok_and(|made| made == text)
        };
        let after = match restored {
            Some(old) => Some(old),
            None if is_made_by_loci() => None,
            None => {
                used.clear();
                Some(addition.remove(text).map_err(&refused)?)
            }
        };
        Ok(Change {
            file: file.to_owned(),
            real,
            before,
            after,
            copies: Copies::Remove(used, root.to_owned()),
        })
    }

    /// Returns true if the file is to be changed.
    pub fn has_changed(&self) -> bool {
        self.before != self.after
    }

    /// Returns true if there was no file before.
    pub fn makes_file(&self) -> bool {
        self.before.is_none() && self.after.is_some()
    }

    /// Returns true if the file is removed.
    pub fn removes_file(&self) -> bool {
        self.before.is_some() && self.after.is_none()
    }

    /// Returns true if a copy from before the addition comes back.
    pub fn restores_copy(&self) -> bool {
        let has_copy = matches!(&self.copies, Copies::Remove(used, _) if !used.is_empty());
        has_copy && self.after.is_some()
    }

    /// Returns the difference in the unified format; empty if nothing changes.
    pub fn difference(&self) -> String {
        if !self.has_changed() {
            return String::new();
        }
        let name = |text: &Option<String>| match text {
            Some(_) => self.file.display().to_string(),
            None => "/dev/null".to_owned(),
        };
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (before, after) = (text(&self.before), text(&self.after));
        TextDiff::from_lines(&before, &after)
            .unified_diff()
            .context_radius(CONTEXT_LINES)
            .header(&name(&self.before), &name(&self.after))
            .to_string()
    }

    /// Makes the change.
    ///
    /// # Errors
    /// [`EditError::Refused`] if the file may not be written, or is another one than when the
    /// change was planned. [`EditError::Failed`] if it cannot be copied, written or removed.
    pub fn apply(&self) -> Result<EditResult, EditError> {
        let (failed, refused) = (failed(&self.file), refused(&self.file));
        if !self.has_changed() {
            return Ok(EditResult {
                has_changed: false,
                backup: None,
            });
        }
        if settings_file::read(&self.file)?.1 != self.before {
            return Err(refused(
                "another program changed it in the meantime; run the command again".to_owned(),
            ));
        }
        if self.before.is_some() {
            settings_file::writable(&self.real)
                .map_err(|error| refused(format!("it cannot be written ({error})")))?;
        }
        let mut backup = None;
        match &self.after {
            Some(text) => {
                if self.before.is_some() && matches!(self.copies, Copies::Make) {
                    let copy = back_up(&self.real);
                    backup = Some(copy.map_err(|error| failed("backed up", error))?);
                }
                replace_file(&self.real, text).map_err(|error| failed("written", error))?;
            }
            None => fs::remove_file(&self.real).map_err(|error| failed("removed", error))?,
        }
        if let Copies::Remove(copies, root) = &self.copies {
            for copy in copies {
                remove_if_there(copy).map_err(|error| failed("cleared of its copies", error))?;
            }
            if self.after.is_none() {
                remove_empty_folders(&self.real, root);
            }
        }
        Ok(EditResult {
            has_changed: true,
            backup,
        })
    }
}

fn remove_if_there(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes the folders of a file that are empty, below that one.
fn remove_empty_folders(file: &Path, root: &Path) {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    for folder in file.ancestors().skip(1) {
        let is_below = folder != root && folder.starts_with(&root);
        // The system refuses to remove a folder that is not empty.
        if !is_below || fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
