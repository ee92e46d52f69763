//! Runs every case file on every store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use loci_core::Store;
use loci_dialects::DIALECTS;
use loci_store_sqlite::SqliteStore;
use loci_testkit::NaiveStore;

use crate::case::{self, carrier::Direct};

fn case_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(case_files(&path));
        } else if path
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Runs all cases, each on its own store, and reports every failure.
fn run_all(store_name: &str, make: &dyn Fn() -> (Arc<dyn Store>, Option<tempfile::TempDir>)) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let files = case_files(&root);
    assert!(!files.is_empty(), "no cases under {}", root.display());
    let mut failures = Vec::new();
    for file in &files {
        let name = file.strip_prefix(&root).unwrap();
        let dialect = name
            .components()
            .next()
            .unwrap()
            .as_os_str()
            .to_str()
            .unwrap();
        let (store, _folder) = make();
        if let Err(problem) = case::run(file, dialect, store, &|engine, _| {
            Box::new(Direct(Arc::clone(engine)))
        }) {
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
        let store =
            SqliteStore::open(folder.path(), loci_store_sqlite::Options::default()).unwrap();
        (Arc::new(store), Some(folder))
    });
}

/// Checks that every tool, including new ones, has a test on records of another user.
#[test]
fn every_tool_is_tried_on_what_is_anothers() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/cross/access_private.yaml");
    for caller in ["bob", "nobody"] {
        let tried = case::tools_called(&path, Some(caller));
        for dialect in DIALECTS {
            for tool in dialect.tools {
                let name = (dialect.name.to_owned(), tool.name.to_owned());
                assert!(
                    tried.contains(&name),
                    "in {} {caller} does not call {name:?}",
                    path.display()
                );
            }
        }
    }
}

/// The tools of each tool set by verb: write, show, find, list, change, forget. A row is empty if
/// the set has no tool for the verb.
const VERBS: [(&str, [&[&str]; 6]); 5] = [
    (
        "vault",
        [
            &["memory_append"],
            &[],
            &["memory_search", "memory_recall"],
            &[],
            &[],
            &["memory_forget"],
        ],
    ),
    (
        "mememory",
        [
            &["remember"],
            &[],
            &["recall"],
            &["list", "stats"],
            &["update"],
            &["forget"],
        ],
    ),
    (
        "memory-mcp",
        [
            &["store_memory"],
            &[],
            &["recall_memory", "hybrid_search"],
            &["memory_health"],
            &[],
            &["delete_memory", "wipe_user_data"],
        ],
    ),
    (
        "engram",
        [
            &["store_memory", "store_discovery"],
            &["get_memory"],
            &["search_memory", "search_discovery"],
            &["list_memory"],
            &["update_memory", "set_visibility"],
            &["delete_memory", "delete_all"],
        ],
    ),
    (
        "mempalace",
        [
            &["mempalace_add_drawer", "mempalace_diary_write"],
            &["mempalace_get_drawer"],
            &["mempalace_search", "mempalace_check_duplicate"],
            &[
                "mempalace_list_drawers",
                "mempalace_status",
                "mempalace_get_taxonomy",
            ],
            &["mempalace_update_drawer"],
            &["mempalace_delete_drawer", "mempalace_sync"],
        ],
    ),
];

/// Checks that there is a case for every pair of tool sets: records written through one are read,
/// searched, listed, changed and forgotten through the other, and then read through the first
/// again.
#[test]
fn every_pair_of_tool_sets_has_its_case() {
    assert!(
        VERBS
            .iter()
            .map(|(name, _)| *name)
            .eq(DIALECTS.iter().map(|dialect| dialect.name))
    );
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/cross");
    for (writer, [writes, shows, finds, ..]) in VERBS {
        for (reader, [_, verbs @ ..]) in VERBS.iter().filter(|(reader, _)| *reader != writer) {
            let name = format!("{writer}_in_{reader}.yaml").replace('-', "_");
            let called = case::tools_called(&folder.join(&name), None);
            let calls =
                |dialect: &str, tool: &str| called.contains(&(dialect.to_owned(), tool.to_owned()));
            for tool in verbs.iter().copied().flatten() {
                assert!(
                    calls(reader, tool),
                    "{name} calls no {tool} of {reader} that succeeds"
                );
            }
            for tool in writes {
                assert!(
                    calls(writer, tool),
                    "{name} writes nothing by {tool} of {writer}"
                );
            }
            let looks_back = shows.iter().chain(finds).any(|tool| calls(writer, tool));
            assert!(
                looks_back,
                "{name} does not look at what became of it through {writer}"
            );
        }
    }
}
