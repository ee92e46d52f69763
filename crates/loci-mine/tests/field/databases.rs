//! Databases in which programs keep all their conversations.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::*;

/// A database of a program that runs: what it stored is only in the log so far.
struct Running {
    connection: Connection,
    path: PathBuf,
    folder: tempfile::TempDir,
}

impl Running {
    fn new(name: &str, tables: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(&format!(
                "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; {tables}"
            ))
            .unwrap();
        Running {
            connection,
            path,
            folder,
        }
    }

    fn put(&self, table: &str, cells: &[&str]) {
        let places: Vec<String> = (1..=cells.len()).map(|place| format!("?{place}")).collect();
        let sql = format!("INSERT INTO {table} VALUES ({})", places.join(", "));
        let cells = rusqlite::params_from_iter(cells);
        self.connection.execute(&sql, cells).unwrap();
    }

    /// Returns the names and bytes of all files in the folder.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
            .into_iter()
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect()
    }
}

const OPENCODE: &str = "
    CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
    CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);";

#[test]
fn sessions_of_opencode_are_read_out_of_its_running_database() {
    let opencode = Running::new("opencode.db", OPENCODE);
    opencode.put("session", &["ses_1", "p", "", "/src/shop", "Knots"]);
    opencode.put("session", &["ses_2", "p", "ses_1", "/src/shop", "Helper"]);
    opencode.put("session", &["ses_3", "p", "", "/src/shop", "Empty"]);
    let message = |id: &str, session: &str, info: Value, parts: &[Value]| {
        let at = "1767225600000";
        opencode.put("message", &[id, session, at, &info.to_string()]);
        for (number, part) in parts.iter().enumerate() {
            let part_id = format!("prt_{id}_{number}");
            opencode.put("part", &[&part_id, id, session, &part.to_string()]);
        }
    };
    message(
        "msg_1",
        "ses_1",
        json!({"role": "user", "time": {"created": 1_767_225_601_000_i64}}),
        &[
            json!({"type": "text", "text": "Which knot?"}),
            json!({"type": "text", "text": "a file", "synthetic": true}),
        ],
    );
    message(
        "msg_2",
        "ses_1",
        json!({"role": "assistant"}),
        &[
            json!({"type": "reasoning", "text": "rope"}),
            json!({"type": "tool", "tool": "bash"}),
            json!({"type": "text", "text": "A bowline."}),
        ],
    );
    message("msg_3", "ses_2", json!({"role": "user"}), &[]);
    opencode.put("message", &["msg_4", "ses_1", "0", "{\"role\": "]);
    let before = opencode.files();
    let reading = read_at(&opencode.path).unwrap();
    assert_eq!(
        said(&reading),
        [("user", "Which knot?"), ("assistant", "A bowline.")]
    );
    let transcript = &reading.transcript;
    let [conversation] = &transcript.conversations[..] else {
        panic!("{transcript:?}");
    };
    assert_eq!(
        (
            &*conversation.id,
            conversation.title.as_deref(),
            conversation.folder.as_deref()
        ),
        ("ses_1", Some("Knots"), Some("/src/shop"))
    );
    let times = conversation
        .messages
        .iter()
        .map(|said| said.at.unwrap().microseconds());
    assert_eq!(
        times.collect::<Vec<_>>(),
        [1_767_225_601_000_000, 1_767_225_600_000_000]
    );
    assert_eq!(
        (transcript.format.name(), transcript.broken),
        ("opencode", 1)
    );
    let left_out: Vec<_> = transcript
        .left_out
        .iter()
        .map(|(kind, count)| (*kind, *count))
        .collect();
    assert_eq!(
        left_out,
        [
            ("helper", 1),
            ("program", 1),
            ("reasoning", 1),
            ("tool_call", 1)
        ]
    );
    assert_eq!(opencode.files(), before, "nothing changes there");
}

#[test]
fn chats_of_cursor_are_read_out_of_its_running_database() {
    let cursor = Running::new(
        "state.vscdb",
        "CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB);
         CREATE TABLE cursorDiskKV (key TEXT UNIQUE, value BLOB);
         CREATE TABLE composerHeaders (composerId TEXT, isSubagent INTEGER, value TEXT);",
    );
    let put = |key: &str, value: Value| cursor.put("cursorDiskKV", &[key, &value.to_string()]);
    put(
        "composerData:b-newer",
        json!({"composerId": "b-newer", "name": "Knots", "fullConversationHeadersOnly": [
            {"bubbleId": "3", "type": 1}, {"bubbleId": "1", "type": 2}, {"bubbleId": "2", "type": 2},
            {"bubbleId": "gone", "type": 2}, {"bubbleId": "4", "type": 2},
        ]}),
    );
    put(
        "bubbleId:b-newer:3",
        json!({"type": 1, "text": "Which knot?", "createdAt": "2026-01-01T00:00:01.000Z"}),
    );
    put(
        "bubbleId:b-newer:1",
        json!({"type": 2, "text": "", "thinking": {"text": "rope"}, "capabilityType": 30}),
    );
    put(
        "bubbleId:b-newer:2",
        json!({"type": 2, "text": "", "toolFormerData": {"name": "read_file"}, "capabilityType": 15}),
    );
    put(
        "bubbleId:b-newer:4",
        json!({"type": 2, "text": "A bowline.", "createdAt": 1_767_225_602_000_i64}),
    );
    put(
        "composerData:a-older",
        json!({"conversation": [{"type": 1, "text": "Is it dry?"}, {"type": 2, "text": "Yes."}]}),
    );
    put(
        "composerData:c-helper",
        json!({"conversation": [{"type": 1, "text": "Look for it."}]}),
    );
    cursor.put("composerHeaders", &["c-helper", "1", "{}"]);
    let head = json!({"workspaceIdentifier": {"uri": {"fsPath": "/src/shop"}}});
    cursor.put("composerHeaders", &["b-newer", "0", &head.to_string()]);
    cursor.put("cursorDiskKV", &["composerData:d-broken", "{\"name\": "]);
    cursor.put("cursorDiskKV", &["composerData:e-deleted", ""]);
    let before = cursor.files();
    let reading = read_at(&cursor.path).unwrap();
    assert_eq!(
        said(&reading),
        [
            ("user", "Is it dry?"),
            ("assistant", "Yes."),
            ("user", "Which knot?"),
            ("assistant", "A bowline."),
        ]
    );
    let transcript = &reading.transcript;
    let newer = &transcript.conversations[1];
    assert_eq!(
        (&*newer.id, newer.title.as_deref(), newer.folder.as_deref()),
        ("b-newer", Some("Knots"), Some("/src/shop"))
    );
    let times = newer
        .messages
        .iter()
        .map(|said| said.at.unwrap().microseconds());
    assert_eq!(
        times.collect::<Vec<_>>(),
        [1_767_225_601_000_000, 1_767_225_602_000_000]
    );
    // The message that is gone, and the chat that is no JSON.
    assert_eq!((transcript.format.name(), transcript.broken), ("cursor", 2));
    let left_out: Vec<_> = transcript
        .left_out
        .iter()
        .map(|(kind, count)| (*kind, *count))
        .collect();
    assert_eq!(
        left_out,
        [("helper", 1), ("reasoning", 1), ("tool_call", 1)]
    );
    assert_eq!(cursor.files(), before, "nothing changes there");
}

#[test]
fn what_a_running_program_writes_shows_in_the_stamp_and_the_mark() {
    let opencode = Running::new("opencode.db", OPENCODE);
    let state = || {
        let reading = read_at(&opencode.path).unwrap();
        let stamp = conversation::stamp(&opencode.path).unwrap();
        assert_eq!(reading.transcript.stamp, stamp);
        (stamp, reading.transcript.mark)
    };
    let first = state();
    assert_eq!(state(), first);
    let own = fs::metadata(&opencode.path).unwrap().len();
    opencode.put("session", &["ses_1", "p", "", "/src/shop", "Knots"]);
    assert_eq!(fs::metadata(&opencode.path).unwrap().len(), own);
    let second = state();
    assert!(second.0 != first.0 && second.1 != first.1);
}

#[test]
fn a_copy_without_the_log_says_that_it_may_lack_the_last_words() {
    let opencode = Running::new("opencode.db", OPENCODE);
    opencode.put("session", &["ses_1", "p", "", "/src/shop", "Knots"]);
    let notice = |path: &Path| read_at(path).unwrap().transcript.notice;
    assert_eq!(notice(&opencode.path), None);
    opencode
        .connection
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    let copy = opencode.folder.path().join("copied.db");
    fs::copy(&opencode.path, &copy).unwrap();
    let said = notice(&copy).unwrap();
    assert!(said.contains("copied.db-wal is beside"), "{said}");
}

#[test]
fn other_databases_and_damaged_ones_are_told_from_these() {
    let other = Running::new("notes.db", "CREATE TABLE message (text TEXT);");
    assert_eq!(read_at(&other.path), None);
    let opencode = Running::new("opencode.db", OPENCODE);
    opencode.put("session", &["ses_1", "p", "", "/src/shop", "Knots"]);
    opencode
        .connection
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    let mut bytes = fs::read(&opencode.path).unwrap();
    bytes[100..].fill(7);
    let damaged = opencode.folder.path().join("damaged.db");
    fs::write(&damaged, bytes).unwrap();
    let error = conversation::read(&damaged, None, u64::MAX).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("is a database that cannot be read"),
        "{error}"
    );
    assert_eq!(read_named("short.db", b"SQLite format 3\0"), None);
}
