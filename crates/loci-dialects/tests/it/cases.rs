//! Runs every case file on every store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use loci_core::Store;
use loci_dialects::DIALECTS;
use loci_store_sqlite::SqliteStore;
use loci_testkit::NaiveStore;

use crate::case;

fn case_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(case_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Runs all cases, each on a store of its own, and reports every one that fails.
fn run_all(store_name: &str, make: &dyn Fn() -> (Arc<dyn Store>, Option<tempfile::TempDir>)) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let files = case_files(&root);
    assert!(!files.is_empty(), "no cases under {}", root.display());
    let mut failures = Vec::new();
    for file in &files {
        let name = file.strip_prefix(&root).unwrap();
        let dialect = name.components().next().unwrap().as_os_str().to_str().unwrap();
        let (store, _folder) = make();
        if let Err(problem) = case::run(file, dialect, store) {
            failures.push(format!("{}: {problem}", name.display()));
        }
    }
    let count = failures.len();
    assert!(
        failures.is_empty(),
        "{count} of {} cases fail on the {store_name}:\n\n{}",
        files.len(),
        failures.join("\n\n")
    );
}

#[test]
fn cases_on_the_naive_store() {
    run_all("naive store", &|| (Arc::new(NaiveStore::new()), None));
}

#[test]
fn cases_on_sqlite() {
    run_all("SQLite store", &|| {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path(), loci_store_sqlite::Options::default()).unwrap();
        (Arc::new(store), Some(folder))
    });
}

/// Of a tool that is new, somebody has to say what it does with what is another's.
#[test]
fn every_tool_is_tried_on_what_is_anothers() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/cross/access_private.yaml");
    for caller in ["bob", "nobody"] {
        let tried = case::tools_called_by(caller, &path);
        for dialect in DIALECTS {
            for tool in dialect.tools {
                let name = (dialect.name.to_owned(), tool.name.to_owned());
                assert!(tried.contains(&name), "in {} {caller} does not call {name:?}", path.display());
            }
        }
    }
}
