//! One damage, and what must hold with it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use loci_core::{Archived, Maintenance};
use loci_core::{Problem, ProblemKind, RebuildReport, RepairStep, SalvageReport};
use loci_store_sqlite::{Keys, Options, SqliteStore, rebuild, salvage};

use crate::content::{NOW, alone, archive, key};
use crate::new_folder;

/// The records of a database before it was damaged.
pub struct Original {
    pub archive: Vec<Archived>,
    by_key: BTreeMap<String, Archived>,
}

impl Original {
    pub fn of(archive: Vec<Archived>) -> Self {
        let by_key = archive
            .iter()
            .map(|archived| (key(archived), alone(archived.clone())))
            .collect();
        Original { archive, by_key }
    }
}

/// The files of a database.
#[derive(Clone, Copy)]
pub struct Files<'a> {
    pub database: &'a [u8],
    pub log: &'a [u8],
    /// The index of the log, which outlasts the end of a process.
    pub index: &'a [u8],
}

/// The outcome of a damage.
pub struct Outcome {
    pub salvaged: SalvageReport,
    pub handed_out: Vec<Archived>,
    /// The problems that the store names: why it does not open, or its check finds, or that it
    /// cannot be read.
    pub problems: Vec<String>,
    /// True if the store does not open, or its check says that a row that was filed is damaged.
    pub is_damaged: bool,
    /// The records that the store hands out, if it opens.
    pub archive: Option<Vec<Archived>>,
    /// The store after `loci doctor --fix`, if there was a problem.
    pub fixed: Option<Fixed>,
}

/// The outcome of a repair, or of a rebuild.
#[derive(Debug)]
pub struct Fixed {
    pub done: Vec<RepairStep>,
    /// None if the repair in place sufficed.
    pub rebuilt: Option<RebuildReport>,
    pub problems: Vec<Problem>,
    /// None if the rebuilt database was not usable.
    pub archive: Option<Vec<Archived>>,
}

/// The ways to the keys of encrypted databases; a folder without the file of a key needs none.
pub static KEYS: OnceLock<Keys> = OnceLock::new();

fn keys() -> Keys {
    KEYS.get().cloned().unwrap_or_default()
}

fn options() -> Options {
    Options {
        keys: keys(),
        ..Options::default()
    }
}

/// Tries the files in a folder of their own.
pub fn run(folder: &Path, files: Files<'_>) -> Outcome {
    let _ = fs::remove_dir_all(folder.join("backups"));
    for name in ["loci.db", "loci.db-wal", "loci.db-shm", "loci.identity"] {
        let _ = fs::remove_file(folder.join(name));
    }
    // As in every folder in which loci made a database.
    fs::write(folder.join("loci.lock"), "made\n").unwrap();
    let (database, log) = (folder.join("loci.db"), folder.join("loci.db-wal"));
    fs::write(&database, files.database).unwrap();
    if !files.log.is_empty() {
        fs::write(&log, files.log).unwrap();
    }
    if !files.index.is_empty() {
        fs::write(folder.join("loci.db-shm"), files.index).unwrap();
    }
    let mut handed_out = Vec::new();
    let salvaged = salvage(&database, &keys(), NOW, &mut |archived| {
        handed_out.push(archived);
        Ok(())
    })
    .unwrap();
    assert_eq!(salvaged.records, handed_out.len() as u64);
    assert!(
        fs::read(&database).unwrap() == files.database,
        "salvage leaves the database as it is"
    );
    assert!(
        fs::read(&log).unwrap_or_default() == files.log,
        "salvage leaves the log as it is"
    );
    let (problems, is_damaged, archive) = match SqliteStore::open(folder, options()) {
        Err(error) => (vec![error.to_string()], true, None),
        Ok(store) => {
            let checked = store.integrity_check();
            let mut problems = match &checked {
                Ok(problems) => problems
                    .iter()
                    .map(|problem| format!("{problem:?}"))
                    .collect(),
                Err(error) => vec![error.message.clone()],
            };
            let handed_out = archive(&store)
                .map_err(|error| problems.push(error.message))
                .ok();
            let is_derived = |problem: &Problem| problem.kind == ProblemKind::Derived;
            let is_damaged = checked.map_or(true, |problems| !problems.iter().all(is_derived));
            (problems, is_damaged, handed_out)
        }
    };
    let fixed = (!problems.is_empty()).then(|| fix(folder));
    Outcome {
        salvaged,
        handed_out,
        problems,
        is_damaged,
        archive,
        fixed,
    }
}

/// Does what `loci doctor --fix` does with the database in the folder.
fn fix(folder: &Path) -> Fixed {
    let database = folder.join("loci.db");
    let (mut done, mut rebuilt, mut needs_rebuild) = (Vec::new(), None, true);
    let opened = SqliteStore::open(folder, options()).ok();
    if let Some(Ok(repair)) = opened.map(|store| store.repair()) {
        (done, needs_rebuild) = (repair.done, repair.needs_rebuild);
    }
    if needs_rebuild {
        let fresh = folder.join("fresh.db");
        let made = rebuild(&database, &keys(), &fresh, NOW).unwrap();
        if made.is_usable() {
            for suffix in ["", "-wal", "-shm"] {
                let _ = fs::remove_file(folder.join(format!("loci.db{suffix}")));
            }
            fs::rename(fresh, database).unwrap();
        }
        rebuilt = Some(made);
    }
    let is_usable = rebuilt.as_ref().is_none_or(RebuildReport::is_usable);
    let store = is_usable.then(|| SqliteStore::open(folder, options()).unwrap());
    Fixed {
        done,
        rebuilt,
        problems: store
            .as_ref()
            .map(|store| store.integrity_check().unwrap())
            .unwrap_or_default(),
        archive: store.map(|store| archive(&store).unwrap()),
    }
}

/// Tries each of these, in folders of their own, as many at once as there are processors.
pub fn try_each<T: Sync>(damages: &[T], check: impl Fn(&Path, &T) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                let folder = new_folder();
                while let Some(damage) = damages.get(next.fetch_add(1, Ordering::SeqCst)) {
                    check(folder.path(), damage);
                }
            });
        }
    });
}

impl Outcome {
    /// Returns whether anything was named.
    pub fn is_named(&self) -> bool {
        !self.problems.is_empty()
    }

    /// Returns the keys of the original that were not handed out; an error in words if another
    /// record was, or one twice, or changed.
    pub fn missing<'a>(&self, original: &'a Original) -> Result<Vec<&'a str>, String> {
        let mut missing: BTreeMap<&str, &Archived> = original
            .by_key
            .iter()
            .map(|(key, archived)| (key.as_str(), archived))
            .collect();
        for archived in &self.handed_out {
            let key = key(archived);
            match missing.remove(key.as_str()) {
                None => {
                    return Err(format!(
                        "{key} was handed out, but is not there or was handed out before"
                    ));
                }
                Some(expected) if *expected == alone(archived.clone()) => {}
                Some(_) => return Err(format!("{key} was changed: {archived:?}")),
            }
        }
        Ok(missing.into_keys().collect())
    }
}
