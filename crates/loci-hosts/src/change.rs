//! A change of a file that is planned first, so that it can be shown before it is made, and that
//! can be undone to the byte.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use similar::TextDiff;

use crate::edit::{EditError, EditResult, OVERTAKEN, failed, refused};
use crate::observed::{FileChange, tell};
use crate::place::{Attempt, FileVersion, Place, Reach, pause};
use crate::settings_file;

/// The time for which a change is tried again while other programs write the file.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pause before a file that seems to be half written is read again.
const LOOK_PAUSE: Duration = Duration::from_millis(25);
/// The number of times that such a file is read.
const LOOKS_MAX: usize = 40;
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
pub struct PartPair<First, Second>(pub First, pub Second);

impl<First: Addition, Second: Addition> Addition for PartPair<First, Second> {
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
        let usual = put(&self.0, &self.1)?;
        if usual == from {
            return Ok(usual);
        }
        // The user may have added them in the other order.
        put(&self.1, &self.0)
    }

    fn remove(&self, text: &str) -> Result<String, String> {
        self.1.remove(&self.0.remove(text)?)
    }
}

/// The function that makes a plan for the text of a file.
type PlanFunction<'a> = Box<dyn Fn(&Place, Option<&str>) -> Result<Plan, String> + 'a>;

/// A change of a file that is planned and not yet made. If another program changes the file before
/// it is made, it is planned again for the new text.
pub struct Change<'a> {
    /// The file, as it was named.
    pub file: PathBuf,
    /// The folder that no link may lead out of, if there is one.
    within: Option<PathBuf>,
    before: Option<String>,
    plan: Plan,
    planning: PlanFunction<'a>,
}

/// A plan for one text of a file.
#[derive(Debug, Clone)]
struct Plan {
    after: Option<String>,
    copies: Copies,
}

/// The treatment of the copies beside a file.
#[derive(Debug, Clone)]
enum Copies {
    /// The old file is copied.
    Make,
    /// The copies of these names are removed. Empty folders go with a file that is removed, up to
    /// this one.
    Remove(Vec<String>, PathBuf),
}

impl Copies {
    fn removed(&self) -> &[String] {
        match self {
            Copies::Make => &[],
            Copies::Remove(names, _) => names,
        }
    }
}

impl<'a> Change<'a> {
    /// Plans a change of the text of a file; a file that is not there counts as empty.
    ///
    /// # Errors
    /// [`EditError::Refused`] if the file is not text, is a link to nothing or out of the reach, or
    /// `edit` returns a problem. [`EditError::Failed`] if it cannot be read, is not a plain file or
    /// is too large.
    pub fn plan(
        file: &Path,
        reach: Reach<'_>,
        edit: impl Fn(&str) -> Result<String, String> + 'a,
    ) -> Result<Self, EditError> {
        let planning = move |_: &Place, before: Option<&str>| {
            let text = before.unwrap_or_default();
            let after = Some(edit(text)?);
            Ok(Plan {
                after: after
                    .filter(|after| after != text)
                    .or_else(|| before.map(str::to_owned)),
                copies: Copies::Make,
            })
        };
        Self::planned(file, reach, Box::new(planning))
    }

    /// Plans a further change of the same text.
    ///
    /// # Errors
    /// [`EditError::Refused`] if `edit` returns a problem.
    pub fn and(
        self,
        edit: impl Fn(&str) -> Result<String, String> + 'a,
    ) -> Result<Self, EditError> {
        let further = move |plan: Plan| {
            let text = plan.after.as_deref().unwrap_or_default();
            let after = edit(text)?;
            Ok(if after == text {
                plan
            } else {
                Plan {
                    after: Some(after),
                    ..plan
                }
            })
        };
        let first = self.planning;
        Ok(Change {
            plan: further(self.plan).map_err(refused(&self.file))?,
            planning: Box::new(move |place, before| further(first(place, before)?)),
            ..self
        })
    }

    /// Plans the removal of an addition. If nothing else has changed since the file was copied, the
    /// copy comes back; if loci made the file, it is removed, with the folders that are empty then,
    /// up to `root`. Otherwise, only the addition is removed.
    ///
    /// # Errors
    /// As of [`plan`](Self::plan).
    pub fn plan_undo(
        file: &Path,
        reach: Reach<'_>,
        addition: impl Addition + 'a,
        root: &Path,
    ) -> Result<Self, EditError> {
        let is_link = fs::symlink_metadata(file).is_ok_and(|metadata| metadata.is_symlink());
        let root = root.to_owned();
        let planning = move |place: &Place, before: Option<&str>| {
            let (after, used) = undone(&addition, place, before, is_link)?;
            Ok(Plan {
                after,
                copies: Copies::Remove(used, root.clone()),
            })
        };
        Self::planned(file, reach, Box::new(planning))
    }

    fn planned(
        file: &Path,
        reach: Reach<'_>,
        planning: PlanFunction<'a>,
    ) -> Result<Self, EditError> {
        let Inspection { text, plan, .. } = settled(file, reach, &planning)?;
        Ok(Change {
            file: file.to_owned(),
            within: match reach {
                Reach::Everywhere => None,
                Reach::Within(root) => Some(root.to_owned()),
            },
            before: text,
            plan,
            planning,
        })
    }

    fn reach(&self) -> Reach<'_> {
        self.within
            .as_deref()
            .map_or(Reach::Everywhere, Reach::Within)
    }

    /// Returns true if the file is to be changed.
    pub fn has_changed(&self) -> bool {
        self.before != self.plan.after
    }

    /// Returns true if a copy from before the addition comes back.
    pub fn restores_copy(&self) -> bool {
        self.plan.after.is_some() && !self.plan.copies.removed().is_empty()
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
        let after = &self.plan.after;
        TextDiff::from_lines(
            self.before.as_deref().unwrap_or_default(),
            after.as_deref().unwrap_or_default(),
        )
        .unified_diff()
        .context_radius(CONTEXT_LINES)
        .header(&name(&self.before), &name(after))
        .to_string()
    }

    /// Makes the change. If another program changes the file in the meantime, its text stays, and
    /// the change is made in that.
    ///
    /// # Errors
    /// [`EditError::Refused`] if the file may not be written, has no place for the change any more,
    /// or other programs write it all the time. [`EditError::Failed`] if it cannot be copied,
    /// written or removed.
    pub fn apply(&self) -> Result<EditResult, EditError> {
        self.apply_for(PATIENCE)
    }

    /// Makes the change as [`apply`](Self::apply) does, and tries for that time.
    pub(crate) fn apply_for(&self, patience: Duration) -> Result<EditResult, EditError> {
        // The lock is held until the end.
        let turn = Place::find(&self.file, self.reach())?;
        let mut edited = EditResult {
            kept: turn.take_turn(),
            ..EditResult::default()
        };
        if !self.has_changed() && self.plan.copies.removed().is_empty() {
            return Ok(edited);
        }
        let begin = Instant::now();
        while begin.elapsed() < patience {
            let look = settled(&self.file, self.reach(), |place, text| {
                if text == self.before.as_deref() {
                    Ok(self.plan.clone())
                } else {
                    (self.planning)(place, text)
                }
            })?;
            if self.attempt(look, &mut edited)? {
                return Ok(edited);
            }
        }
        Err(refused(&self.file)(OVERTAKEN.to_owned()))
    }

    /// Makes the change once; false if another program changed the file first.
    fn attempt(&self, look: Inspection, edited: &mut EditResult) -> Result<bool, EditError> {
        let Inspection {
            mut place,
            seen,
            plan,
            ..
        } = look;
        let seen = seen.as_ref();
        let failed = failed(&self.file);
        let is_same =
            seen.map(|seen| seen.bytes.as_slice()) == plan.after.as_deref().map(str::as_bytes);
        if seen.is_some() && !is_same {
            place
                .check_writable()
                .map_err(|error| refused(&self.file)(format!("it cannot be written ({error})")))?;
        }
        let clear = |place: &Place| {
            let mut names = plan.copies.removed().iter();
            names
                .try_for_each(|name| place.remove_beside(name))
                .map_err(|error| failed("cleared of its copies", error))
        };
        let mut copy = None;
        let attempt = match (seen, &plan.after) {
            _ if is_same => Attempt::Done,
            (Some(seen), Some(text)) => {
                if matches!(plan.copies, Copies::Make) {
                    let copied = place.back_up(seen);
                    copy = Some(copied.map_err(|error| failed("backed up", error))?);
                }
                let replaced = place.replace(seen, text);
                replaced.map_err(|error| failed("written", error))?
            }
            (None, text) => {
                let created = place.create(text.as_deref().unwrap_or_default());
                created.map_err(|error| failed("written", error))?
            }
            (Some(seen), None) => {
                // First, because nothing would tell that they are of loci once the file is gone.
                clear(&place)?;
                let removed = place.remove(seen);
                removed.map_err(|error| failed("removed", error))?
            }
        };
        if let Attempt::Overtaken { kept } = attempt {
            edited.kept.extend(kept);
            if let Some((copy, true)) = copy {
                let name = copy.file_name().and_then(|name| name.to_str());
                let removed = place.remove_beside(name.unwrap_or_default());
                removed.map_err(|error| failed("cleared of its copies", error))?;
            }
            return Ok(false);
        }
        if !is_same {
            tell(FileChange {
                path: &place.real,
                before: seen.map(|seen| seen.bytes.as_slice()),
                after: plan.after.as_deref(),
            });
        }
        clear(&place)?;
        if let (Copies::Remove(_, root), None) = (&plan.copies, &plan.after) {
            remove_empty_folders(&place.real, root);
        }
        edited.has_changed = !is_same;
        edited.is_made = !is_same && seen.is_none();
        edited.is_removed = !is_same && plan.after.is_none();
        edited.backup = copy.map(|(copy, _)| copy);
        Ok(true)
    }
}

impl fmt::Debug for Change<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Change")
            .field("file", &self.file)
            .field("before", &self.before)
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

/// A look at a file, with the plan for what it says.
struct Inspection {
    place: Place,
    seen: Option<FileVersion>,
    text: Option<String>,
    plan: Plan,
}

/// Reads a file and plans its change, until its text can be used or no longer changes: a program
/// that empties a file to fill it again leaves it empty or half written for an instant.
fn settled(
    file: &Path,
    reach: Reach<'_>,
    planning: impl Fn(&Place, Option<&str>) -> Result<Plan, String>,
) -> Result<Inspection, EditError> {
    let mut last = None;
    for look in 1.. {
        let (place, seen) = settings_file::look(file, reach)?;
        let text = settings_file::text_of(file, seen.as_ref())?;
        let plan = planning(&place, text.as_deref()).map_err(refused(file));
        let is_doubtful = plan.is_err() || text.as_deref() == Some("");
        if !is_doubtful || look == LOOKS_MAX || last.as_ref() == Some(&text) {
            let plan = plan?;
            return Ok(Inspection {
                place,
                seen,
                text,
                plan,
            });
        }
        last = Some(text);
        pause(LOOK_PAUSE);
    }
    Err(refused(file)(OVERTAKEN.to_owned()))
}

/// Returns the text without an addition, or none if loci made the file, and the names of the copies
/// that are of no use then.
fn undone(
    addition: &dyn Addition,
    place: &Place,
    before: Option<&str>,
    is_link: bool,
) -> Result<(Option<String>, Vec<String>), String> {
    let Some(text) = before else {
        return Ok((None, Vec::new()));
    };
    let is_there = addition.is_in(text)?;
    let mut used = Vec::new();
    for (name, old) in place.copies() {
        if addition.is_in(&old).unwrap_or(true) {
            // A copy between two changes of loci; it is of no use without the addition.
            used.push(name);
        } else if !is_there && old == text
            || is_there && addition.put_as_in(&old, text).is_ok_and(|new| new == text)
        {
            // Without the addition, the file is the copy: an earlier undoing was cut short, or the
            // change after the copy.
            used.push(name);
            return Ok((Some(old), used));
        } else if !is_there {
            break;
        }
    }
    if !is_there {
        return Ok((Some(text.to_owned()), Vec::new()));
    }
    let is_made_by_loci = || {
        let made = addition.put_as_in("", text);
        !is_link && made.is_ok_and(|made| made == text)
    };
    if is_made_by_loci() {
        return Ok((None, used));
    }
    Ok((Some(addition.remove(text)?), Vec::new()))
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
pub(crate) mod tests;
