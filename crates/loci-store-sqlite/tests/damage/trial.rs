//! One damage, and what must hold with it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use loci_core::Archived;
use loci_store_sqlite::{
    LogState, Options, Problem, ProblemKind, Salvaged, SqliteStore, look_at_log, salvage,
};

use crate::content::{NOW, alone, archive, key};
use crate::new_folder;

/// What a database held before it was damaged.
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
    /// What SQLite keeps beside the log, which outlasts the end of a process.
    pub index: &'a [u8],
}

/// What came of a damage.
pub struct Outcome {
    pub log: LogState,
    pub salvaged: Salvaged,
    pub handed_out: Vec<Archived>,
    /// What the store says: why it does not open, or what its check finds, or that it cannot be
    /// read.
    pub problems: Vec<String>,
    /// Whether the store does not open, or its check says that something that was filed is damaged.
    pub is_damaged: bool,
    /// What the store hands out, if it opens.
    pub archive: Option<Vec<Archived>>,
    /// If nothing but what is derived is wrong: what the check and the archive say once that was
    /// rebuilt.
    pub repaired: Option<Repaired>,
}

/// What came of a repair.
#[derive(Debug)]
pub struct Repaired {
    pub done: Vec<loci_store_sqlite::Repaired>,
    pub problems: Vec<Problem>,
    pub archive: Option<Vec<Archived>>,
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
    let state = look_at_log(&database).unwrap();
    let mut handed_out = Vec::new();
    let salvaged = salvage(&database, NOW, &mut |archived| {
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
    let mut repaired = None;
    let (problems, is_damaged, archive) = match SqliteStore::open(folder, Options::default()) {
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
            let is_damaged = checked
                .as_ref()
                .map_or(true, |problems| !problems.iter().all(is_derived));
            if checked.is_ok_and(|problems| !problems.is_empty() && problems.iter().all(is_derived))
            {
                let done = store.repair().unwrap();
                let problems = store.integrity_check().unwrap();
                repaired = Some(Repaired {
                    done,
                    problems,
                    archive: archive(&store).ok(),
                });
            }
            (problems, is_damaged, handed_out)
        }
    };
    Outcome {
        log: state,
        salvaged,
        handed_out,
        problems,
        is_damaged,
        archive,
        repaired,
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
    /// Whether anything was named.
    pub fn is_named(&self) -> bool {
        !self.problems.is_empty() || self.log.problem().is_some()
    }

    /// What of the original was not handed out. It is an error in words if anything else was, or
    /// twice, or changed.
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
