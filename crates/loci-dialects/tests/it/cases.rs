//! Runs every case file on every store.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use loci_core::Store;
use loci_dialects::DIALECTS;
use loci_store_postgres::PostgresStore;
use loci_store_sqlite::SqliteStore;
use loci_testkit::NaiveStore;
use loci_testkit::postgres::{chosen, server_url};

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

/// A new store, and a value that removes it when it is dropped.
type Made = (Arc<dyn Store>, Box<dyn Any>);

/// Runs all cases, each on its own store, and reports every failure.
fn run_all(store_name: &str, make: &(dyn Fn() -> Made + Sync)) {
    /// A store on a server waits for its answers.
    const THREADS: usize = 4;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let files = case_files(&root);
    assert!(!files.is_empty(), "no cases under {}", root.display());
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let run_next = || {
        let file = files.get(next.fetch_add(1, Ordering::Relaxed))?;
        let name = file.strip_prefix(&root).unwrap();
        let dialect = name.iter().next().unwrap().to_str().unwrap();
        let (store, _kept) = make();
        let outcome = case::run(file, dialect, store, &|engine, _| {
            Box::new(Direct(Arc::clone(engine)))
        });
        if let Err(problem) = outcome {
            let failure = format!("{}: {problem}", name.display());
            failures.lock().unwrap().push(failure);
        }
        Some(())
    };
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| while run_next().is_some() {});
        }
    });
    let failures = failures.into_inner().unwrap();
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
    run_all("naive store", &|| {
        (Arc::new(NaiveStore::new()), Box::new(()))
    });
}

#[test]
fn cases_on_sqlite() {
    run_all("SQLite store", &|| {
        let folder = tempfile::tempdir().unwrap();
        let store =
            SqliteStore::open(folder.path(), loci_store_sqlite::Options::default()).unwrap();
        (Arc::new(store), Box::new(folder))
    });
}

/// A schema that is removed at the end of its case.
pub(crate) struct Schema(loci_store_postgres::Options);

impl Schema {
    /// Names a schema, whose name ends so.
    pub(crate) fn new(name: &str) -> Self {
        let (url, row_security) = chosen(server_url());
        Schema(loci_store_postgres::Options {
            schema: format!("case_{}_{name}", std::process::id()),
            connections_max: 4,
            allows_unsafe: true,
            row_security,
            ..loci_store_postgres::Options::new(url)
        })
    }

    /// Opens the store in it.
    pub(crate) fn open(&self) -> PostgresStore {
        PostgresStore::open(self.0.clone()).unwrap()
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        self.open().destroy().unwrap();
    }
}

#[test]
fn cases_on_postgres() {
    let number = AtomicUsize::new(0);
    run_all("PostgreSQL store", &|| {
        let number = number.fetch_add(1, Ordering::Relaxed);
        let schema = Schema::new(&number.to_string());
        (Arc::new(schema.open()), Box::new(schema))
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
const VERBS: [(&str, [&[&str]; 6]); 8] = [
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
            &[
                "mempalace_add_drawer",
                "mempalace_diary_write",
                "mempalace_checkpoint",
            ],
            &["mempalace_get_drawer", "mempalace_get_drawers"],
            &["mempalace_search", "mempalace_check_duplicate"],
            &[
                "mempalace_list_drawers",
                "mempalace_status",
                "mempalace_get_taxonomy",
            ],
            &["mempalace_update_drawer"],
            &[
                "mempalace_delete_drawer",
                "mempalace_delete_by_source",
                "mempalace_sync",
            ],
        ],
    ),
    (
        "reference",
        [
            &["create_entities", "add_observations"],
            &["open_nodes"],
            &["search_nodes"],
            &["read_graph"],
            &[],
            &["delete_observations", "delete_entities"],
        ],
    ),
    // One tool does it all.
    ("anthropic", [&["memory"], &["memory"], &[], &[], &[], &[]]),
    ("openai", [&[], &["fetch"], &["search"], &[], &[], &[]]),
];

/// The tools that write, but no memories, so that no case crosses to another tool set, which cannot
/// see what they write.
const WRITERS_OF_OTHER_RECORDS: &[&str] = &[
    "cache_invalidate",
    "create_relations",
    "delete_relations",
    "mempalace_create_tunnel",
    "mempalace_delete_tunnel",
    "mempalace_hook_settings",
    "mempalace_kg_add",
    "mempalace_kg_invalidate",
    "mempalace_kg_supersede",
    "store_cache",
    "store_decision",
];

#[test]
fn every_tool_that_writes_has_a_verb() {
    for (dialect, (name, verbs)) in DIALECTS.iter().zip(VERBS) {
        let writers = dialect.tools.iter().filter(|tool| !tool.hints.read_only);
        for tool in writers.map(|tool| tool.name) {
            let has_verb = verbs.iter().any(|tools| tools.contains(&tool));
            assert!(
                has_verb != WRITERS_OF_OTHER_RECORDS.contains(&tool),
                "{tool} of {name} writes: add it to `VERBS` if it writes memories, else to `WRITERS_OF_OTHER_RECORDS`"
            );
        }
    }
}

#[test]
fn every_tool_that_writes_is_called_while_processes_are_killed() {
    let calls = [
        include_str!("../../../loci-testkit/src/crash/calls.rs"),
        include_str!("../../../loci-testkit/src/crash/small_sets.rs"),
    ]
    .concat();
    // It compares drawers with files, of which that test has none.
    let left_out = ["mempalace_sync"];
    for dialect in DIALECTS {
        let writers = dialect.tools.iter().filter(|tool| !tool.hints.read_only);
        for tool in writers.map(|tool| tool.name) {
            assert!(
                calls.contains(&format!("\"{tool}\"")) != left_out.contains(&tool),
                "{tool} of {} writes: add a call of it to `crates/loci-testkit/src/crash/calls.rs`",
                dialect.name
            );
        }
    }
}

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
