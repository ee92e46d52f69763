//! The plans of folders that the user agreed to, which are the only ones that count. A plan comes
//! with a checkout, and its wing decides what a session starts with and where it is filed.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use loci_archive::files::{create_private_folder, write_privately};
use loci_core::{Error, ErrorCode};
use loci_mine::plain_file;
use loci_mine::project::{
    Plan, Project, is_gone, local_folder, plan_file, plan_folders, read_plan, top_of,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{Notice, parse_plan};

/// The file in the data folder that holds the plans which the user agreed to.
const FILE_NAME: &str = "trusted-plans.json";
const FILE_BYTES_MAX: u64 = 8 << 20;

/// A plan that the user agreed to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedPlan {
    /// The absolute path of its folder, without links.
    pub folder: String,
    /// SHA-256 of its text, in hexadecimal digits.
    pub sha256: String,
}

impl TrustedPlan {
    fn new(folder: &str, text: &str) -> Self {
        TrustedPlan {
            folder: folder.to_owned(),
            sha256: HEXLOWER.encode(&Sha256::digest(text)),
        }
    }
}

/// The source of a folder's wing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum WingSource {
    /// The user agreed to this name.
    Name(String),
    /// The folder is one of this project.
    Project(Box<Project>),
}

/// The source of a folder's wing, and the plans that could have named another.
pub struct Choice {
    /// The source.
    pub source: WingSource,
    /// The folders of plans that do not count, each with the wing that it names or the reason why it
    /// cannot be read.
    passed_over: Vec<(PathBuf, io::Result<String>)>,
}

impl Choice {
    /// Returns the folder of the nearest plan that does not count, and the wing that it names; `None` if
    /// no such plan can be read, or the user agreed to a name.
    pub fn named_for_itself(&self) -> Option<(&Path, &str)> {
        let is_agreed = matches!(self.source, WingSource::Name(_));
        let (folder, named) = self.passed_over.first().filter(|_| !is_agreed)?;
        Some((folder, named.as_deref().ok()?))
    }
}

/// The plans that the user agreed to.
pub struct Trust {
    file: PathBuf,
    plans: Vec<TrustedPlan>,
    /// The notes about other plans that were shown, to show each once.
    said: RefCell<BTreeSet<String>>,
    notice: Notice,
}

impl Trust {
    /// Reads the plans of a data folder.
    ///
    /// # Errors
    /// `unavailable` if their file exists and cannot be read, is not a list of plans, or could have
    /// been written by another user.
    pub fn read(data: &Path, notice: Notice) -> Result<Self, Error> {
        let file = data.join(FILE_NAME);
        let plans = read_plans(&file)?;
        Ok(Trust {
            file,
            plans,
            said: RefCell::default(),
            notice,
        })
    }

    /// Reads the plans like [`read`](Trust::read), but reports an error and then uses no plan.
    pub fn read_or_none(data: &Path, notice: Notice) -> Self {
        Trust::read(data, notice).unwrap_or_else(|error| {
            notice(&format!("note: {}", error.message));
            Trust {
                file: data.join(FILE_NAME),
                plans: Vec::new(),
                said: RefCell::default(),
                notice,
            }
        })
    }

    /// Returns the plans, in the order in which the user agreed to them.
    pub fn plans(&self) -> &[TrustedPlan] {
        &self.plans
    }

    /// Returns true if the user agreed to the plan with that text in that folder.
    pub fn has(&self, folder: &Path, text: &str) -> bool {
        folder
            .to_str()
            .is_some_and(|folder| self.plans.contains(&TrustedPlan::new(folder, text)))
    }

    /// Records that the user agreed to the plan with that text, which replaces any other in that
    /// folder.
    ///
    /// # Errors
    /// `unavailable` if the list cannot be read or written.
    pub fn add(&mut self, folder: &str, text: &str) -> Result<(), Error> {
        self.change(|plans| {
            plans.retain(|plan| plan.folder != folder);
            plans.push(TrustedPlan::new(folder, text));
        })
    }

    /// Removes the user's agreement to a plan in that folder. Returns false if there was none.
    ///
    /// # Errors
    /// `unavailable` if the list cannot be read or written.
    pub fn remove(&mut self, folder: &str) -> Result<bool, Error> {
        let mut is_removed = false;
        self.change(|plans| {
            let before = plans.len();
            plans.retain(|plan| plan.folder != folder);
            is_removed = plans.len() < before;
        })?;
        Ok(is_removed)
    }

    /// Changes the list as it is in the file now, so that what another process adds at the same
    /// time is kept.
    fn change(&mut self, change: impl FnOnce(&mut Vec<TrustedPlan>)) -> Result<(), Error> {
        // Where no file can be locked, the process that writes last has its way.
        let _lock = self.lock();
        let mut plans = read_plans(&self.file)?;
        let before = plans.clone();
        change(&mut plans);
        if plans != before {
            self.write(&plans)?;
        }
        self.plans = plans;
        Ok(())
    }

    fn lock(&self) -> io::Result<File> {
        let path = self.file.with_extension("lock");
        path.parent().map_or(Ok(()), create_private_folder)?;
        let mut options = File::options();
        let file = options
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)?;
        file.lock()?;
        Ok(file)
    }

    fn write(&self, plans: &[TrustedPlan]) -> Result<(), Error> {
        let list = serde_json::to_vec_pretty(plans).map_err(io::Error::from);
        let made = self.file.parent().map_or(Ok(()), create_private_folder);
        made.and(list)
            .and_then(|list| write_privately(&self.file, &list))
            .map_err(|error| {
                let message = format!(
                    "the list of trusted plans {} cannot be written: {error}",
                    self.file.display()
                );
                Error::new(ErrorCode::Unavailable, message)
            })
    }

    /// Returns where the wing of a folder comes from: the nearest plan that the user agreed to, in
    /// it or above it up to the top of its repository, in the main worktree if another has no plan;
    /// or its project.
    pub fn choice(&self, folder: &Path) -> Choice {
        let (real, project) = (local_folder(folder), Project::of(folder));
        let mut passed_over = Vec::new();
        for folder in plan_folders(&real) {
            match plan_in(folder) {
                Ok(None) => {}
                Ok(Some((text, plan))) if self.has(folder, &text) => {
                    let source = WingSource::Name(plan.wing);
                    return Choice {
                        source,
                        passed_over,
                    };
                }
                Ok(Some((_, plan))) => passed_over.push((folder.to_owned(), Ok(plan.wing))),
                Err(problem) => passed_over.push((folder.to_owned(), Err(problem))),
            }
        }
        let source = match self.name_in_main(&project, &real) {
            Some(name) => WingSource::Name(name),
            None => WingSource::Project(Box::new(project)),
        };
        Choice {
            source,
            passed_over,
        }
    }

    /// Returns the wing that a plan in the main worktree names for a folder in another one.
    fn name_in_main(&self, project: &Project, real: &Path) -> Option<String> {
        project.worktree.as_ref().filter(|_| project.is_here)?;
        let below = real.strip_prefix(top_of(real)?).ok()?;
        let main = local_folder(&Path::new(&project.place).join(below));
        plan_folders(&main).find_map(|folder| {
            let (text, plan) = plan_in(folder).ok().flatten()?;
            self.has(folder, &text).then_some(plan.wing)
        })
    }

    /// Notes once for each plan that is not used why.
    pub fn say_passed_over(&self, choice: &Choice, wing: &str) {
        for (folder, named) in &choice.passed_over {
            match named {
                Ok(named) => self.warn_untrusted(folder, named, wing),
                Err(problem) => self.say_unused(folder, problem, wing),
            }
        }
    }

    /// Notes that a plan names a wing to which the user has not agreed, unless that wing is used
    /// anyway.
    pub fn warn_untrusted(&self, folder: &Path, named: &str, counts: &str) {
        if named != counts {
            self.say(format!(
                "note: {} names the wing \"{named}\", which counts once you agree to it by `loci palace trust` in that \
                 folder; until then the wing is \"{counts}\"",
                folder.join(plan_file(folder)).display()
            ));
        }
    }

    /// Notes that a plan is not used.
    pub fn say_unused(&self, folder: &Path, problem: &io::Error, counts: &str) {
        let file = folder.join(plan_file(folder));
        self.say(format!(
            "note: {} is not used: {problem}; the wing is \"{counts}\"",
            file.display()
        ));
    }

    /// Shows a message once.
    pub(crate) fn say(&self, words: String) {
        if self.said.borrow_mut().insert(words.clone()) {
            (self.notice)(&words);
        }
    }
}

/// Reads and parses the plan in a folder; `None` without a plan.
///
/// # Errors
/// As for [`read_plan`], and `InvalidData` if the text is not a plan.
pub fn plan_in(folder: &Path) -> io::Result<Option<(String, Plan)>> {
    let Some(text) = read_plan(folder)? else {
        return Ok(None);
    };
    let plan = parse_plan(&text)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.message))?;
    Ok(Some((text, plan)))
}
/// Returns the plans in a list, which may be missing.
fn read_plans(file: &Path) -> Result<Vec<TrustedPlan>, Error> {
    let unusable = |problem: String| {
        let message = format!(
            "the list of trusted plans {} cannot be used: {problem}; remove it, and agree to your plans again with \
                 `loci palace trust`",
            file.display()
        );
        Error::new(ErrorCode::Unavailable, message)
    };
    match plain_file::read_own(file, FILE_BYTES_MAX) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| unusable(error.to_string())),
        Err(error) if is_gone(&error) => Ok(Vec::new()),
        Err(error) => Err(unusable(error.to_string())),
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_file_of_mememory_counts_once_it_is_trusted() {
        let (data, checkout) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = local_folder(checkout.path());
        let named = |trust: &Trust| match trust.choice(&folder).source {
            WingSource::Name(name) => Some(name),
            WingSource::Project(_) => None,
        };
        let mut trust = Trust::read(data.path(), |_| ()).unwrap();
        let file = folder.join(".mememory");
        // In a home folder it is that of mememory's own data.
        std::fs::create_dir(&file).unwrap();
        assert!(trust.choice(&folder).passed_over.is_empty());
        std::fs::remove_dir(&file).unwrap();
        let text = r#"{"version": 1, "project": "Harbour", "auto_load": {"queries": []}}"#;
        std::fs::write(&file, text).unwrap();
        assert_eq!(named(&trust), None);
        let passed = trust.choice(&folder).passed_over;
        assert_eq!(passed.len(), 1);
        assert!(matches!(&passed[0].1, Ok(wing) if wing == "Harbour"));
        trust.add(folder.to_str().unwrap(), text).unwrap();
        assert_eq!(named(&trust).as_deref(), Some("Harbour"));
        // Another text is another plan, and so is a plan of loci's own beside it.
        std::fs::write(&file, text.replace("Harbour", "Secret")).unwrap();
        assert_eq!(named(&trust), None);
        std::fs::write(&file, text).unwrap();
        std::fs::write(folder.join(".loci-palace.toml"), "wing = \"quay\"\n").unwrap();
        assert_eq!(named(&trust), None);
        for broken in ["{", "{}", r#"{"project": 7}"#, r#"{"project": "a/b"}"#] {
            assert!(parse_plan(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn agreements_of_two_processes_at_once_are_both_kept() {
        let data = tempfile::tempdir().unwrap();
        let read = || Trust::read(data.path(), |note| panic!("{note}")).unwrap();
        let (mut one, mut other) = (read(), read());
        one.add("/one", "wing: a").unwrap();
        other.add("/other", "wing: b").unwrap();
        assert!(one.remove("/other").unwrap());
        one.add("/last", "wing: c").unwrap();
        assert!(!other.remove("/other").unwrap());
        let folders: Vec<String> = read().plans.into_iter().map(|plan| plan.folder).collect();
        assert_eq!(folders, ["/one", "/last"]);
        assert_eq!(other.plans(), one.plans());
    }
}
