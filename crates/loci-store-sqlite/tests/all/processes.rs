//! Many stores, in one process and in several, on one folder.
use loci_core::Maintenance;
use loci_core::StoreFiles;
use loci_store_sqlite::SqliteFiles;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use loci_core::{Memory, Space, Store};
use loci_testkit::contract::{filter, memory, passage, put, replace};

use loci_store_sqlite::{Options, SqliteStore};

use crate::{all, open, search};

const FOLDER: &str = "LOCI_TEST_FOLDER";
const WRITER: &str = "LOCI_TEST_WRITER";

/// Starts this test binary again, to run only the test of that name as the body of a child.
pub(crate) fn start_child(test: &str, folder: &Path, writer: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .env(WRITER, writer)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The folder and the writer's name, in a child; none in an ordinary run of the tests.
pub(crate) fn as_child() -> Option<(PathBuf, String)> {
    Some((
        std::env::var_os(FOLDER)?.into(),
        std::env::var(WRITER).ok()?,
    ))
}

/// Says something to the parent, past the capture of the test harness.
pub(crate) fn tell_parent(line: &str) {
    let mut output = std::io::stdout().lock();
    writeln!(output, "\n{line}")
        .and_then(|()| output.flush())
        .unwrap();
}

#[test]
fn two_stores_on_one_folder_see_each_others_writes_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (left, right) = (open(folder.path()), open(folder.path()));
    assert_eq!(search(&right, &filter(), "word"), []);
    for number in 0..20 {
        let written = memory(&number.to_string());
        let (writer, reader) = if number % 2 == 0 {
            (&left, &right)
        } else {
            (&right, &left)
        };
        writer
            .commit(put(&written, vec![passage(&format!("word n{number}"))]))
            .unwrap();
        for store in [reader, writer] {
            assert_eq!(
                search(store, &filter(), &format!("n{number}")),
                std::slice::from_ref(&written.id)
            );
        }
        assert_eq!(reader.get(&written.space, &written.id), Ok(Some(written)));
        assert_eq!(
            left.version(&Space::default()),
            right.version(&Space::default())
        );
    }
    let changed = Memory {
        revision: 2,
        ..memory("3")
    };
    left.commit(replace(&changed, Some(vec![passage("other")])))
        .unwrap();
    assert_eq!(search(&right, &filter(), "n3"), []);
    assert_eq!(search(&right, &filter(), "other"), [changed.id]);
}

#[test]
fn a_new_folder_may_be_opened_by_many_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("deep").join("new");
    let children: Vec<_> = (0..2)
        .map(|number| start_child(CHILD, &folder, &format!("process{number}")))
        .collect();
    thread::scope(|scope| {
        for number in 0..4 {
            let folder = &folder;
            scope.spawn(move || write_some(folder, &format!("thread{number}")));
        }
    });
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    let store = open(&folder);
    assert_eq!(all(&store).len(), 6 * MEMORIES);
    assert_eq!(search(&store, &filter(), "word").len(), 6 * MEMORIES);
    assert_eq!(store.structure_check(), Ok(Vec::new()));
}

const CHILD: &str = "processes::child_that_writes_some";
const MEMORIES: usize = 25;

#[test]
fn child_that_writes_some() {
    if let Some((folder, writer)) = as_child() {
        write_some(&folder, &writer);
    }
}

fn write_some(folder: &Path, writer: &str) {
    let store = open(folder);
    for number in 0..MEMORIES {
        let written = memory(&format!("{writer}-{number:02}"));
        store
            .commit(put(&written, vec![passage(&format!("word {writer}"))]))
            .unwrap();
        assert_eq!(search(&store, &filter(), writer).len(), number + 1);
    }
}

#[cfg(unix)]
#[test]
fn folder_and_files_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("new");
    let store = open(&folder);
    store
        .commit(put(&memory("a"), vec![passage("word")]))
        .unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for file in std::fs::read_dir(&folder).unwrap() {
        let file = file.unwrap().path();
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[cfg(target_os = "linux")]
const HOLDER: &str = "processes::child_that_keeps_the_lock";

#[cfg(target_os = "linux")]
#[test]
fn child_that_keeps_the_lock() {
    if let Some((folder, statement)) = as_child() {
        let connection = rusqlite::Connection::open(folder.join("loci.db")).unwrap();
        connection.execute_batch(&statement).unwrap();
        tell_parent("ready");
        loop {
            thread::park();
        }
    }
}

/// A process that does not end its write keeps every other write out, which nothing that only reads
/// notices.
#[cfg(target_os = "linux")]
#[test]
fn the_process_that_keeps_writers_out_is_named() {
    use std::io::{BufRead, BufReader};
    use std::time::Duration;
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(
        folder.path(),
        Options {
            busy_timeout: Duration::from_millis(20),
            ..Options::default()
        },
    )
    .unwrap();
    assert_eq!(
        SqliteFiles::new(folder.path()).holders(),
        [],
        "this process is not among the others"
    );
    for (statement, keeps_others_out) in [
        ("BEGIN; SELECT * FROM sqlite_master", false),
        ("BEGIN IMMEDIATE", true),
    ] {
        let mut child = start_child(HOLDER, folder.path(), statement);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "ready"));
        let (version, written) = (store.version(&Space::default()), store.check_write());
        let holders = SqliteFiles::new(folder.path()).holders();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(written.is_err(), keeps_others_out, "{written:?}");
        assert!(version.is_ok());
        let [holder] = &holders[..] else {
            panic!("{holders:?}")
        };
        assert_eq!(
            (holder.process, holder.keeps_others_out),
            (child.id(), keeps_others_out),
            "{holder}"
        );
        assert!(!holder.command.is_empty());
        assert_eq!(store.check_write(), Ok(()), "a lock ends with its process");
    }
}
