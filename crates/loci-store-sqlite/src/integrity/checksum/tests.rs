use loci_core::{Maintenance, ProblemKind};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use loci_core::{
    AuditQuery, AuditStore, DailyCount, DailyQuery, Direction, ErrorCode, FactQuery, FactStore,
    Page, SourceStore, Space, Store,
};
use loci_testkit::contract::{filter, memory, passage, put};

use crate::integrity::doctor::tables::is_broken;
use crate::opening::schema;
use crate::{Options, SqliteStore};

use super::*;

mod rows;

#[test]
fn no_two_rows_of_values_run_into_each_other() {
    use ValueRef::{Blob, Integer, Null, Real, Text};
    let rows: [&[ValueRef<'_>]; 12] = [
        &[],
        &[Null],
        &[Null, Null],
        &[Integer(0)],
        &[Real(0.0)],
        &[Real(-0.0)],
        &[Text(b"")],
        &[Blob(b"")],
        &[Text(b"ab"), Text(b"c")],
        &[Text(b"a"), Text(b"bc")],
        &[Text(b"abc")],
        &[Blob(b"abc")],
    ];
    for (number, row) in rows.iter().enumerate() {
        for other in &rows[..number] {
            assert_ne!(
                of(row.iter().copied()),
                of(other.iter().copied()),
                "{row:?} {other:?}"
            );
        }
    }
}

#[test]
fn it_stays_as_it_was_released() {
    let values = [
        ValueRef::Null,
        ValueRef::Integer(-2),
        ValueRef::Real(0.5),
        ValueRef::Text("ä".as_bytes()),
    ];
    assert_eq!(of(values.into_iter()), 1_602_198_721);
    let connection = Connection::open_in_memory().unwrap();
    register(&connection).unwrap();
    let value: i64 = connection
        .query_row("SELECT loci_checksum(NULL, -2, 0.5, 'ä')", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(value, of(values.into_iter()));
}

/// A row of every table, as version 6 has them.
const FILLED: &str = "
    INSERT INTO memory (row, space, id, collection, section, kind, weight, tier, delivery, origin, owner, actor,
        visibility, supersedes, source, thread, position, enrichment, expires_at, created_at, updated_at, deleted_at,
        forgotten_at, revision, title, tags, summary, links, attributes, citations)
    VALUES (1, 'main', 'full', 'project', 'rules', 'rule', 0.7, 'long_term', 'bootstrap', 'engram', 'ann', 'bob', 'shared',
        'gone', 'made', 'file', 2, 'pending', 9000000000000000, 1, 2, NULL, 3, 4, 'title', '[\"a\"]', 'summary', '[]', '{}',
        '[]'),
        (2, 'main', 'bare', NULL, 'fact', 'fact', 1.0, 'long_term', 'on_demand', 'vault', NULL, NULL, 'common', NULL, NULL,
        NULL, NULL, NULL, NULL, 1, 2, NULL, NULL, 1, NULL, '[]', NULL, '[]', '{}', '[]');
    INSERT INTO content (memory, text) VALUES (1, 'first words'), (2, 'zebra');
    INSERT INTO model (row, fingerprint) VALUES (3, 'test');
    INSERT INTO passage (row, first_byte, end_byte, terms, model, scale, vector) VALUES
        (1 << 20, 0, 11, x'01056669727374', 3, 0.0078125, x'8100'),
        (2 << 20, 0, 5, x'01057a65627261', NULL, NULL, NULL);
    INSERT INTO token (id, hash, space, subject, scopes, created_at, expires_at, revoked_at)
        VALUES ('laptop', zeroblob(32), 'main', 'ann', 'read', 5, 6, 7);
    INSERT INTO access (memory, count, last) VALUES (1, 7, 5);
    INSERT INTO job (memory, due_at, attempts, lease, leased_until, problem) VALUES (1, 1, 2, 'lease', 3, 'problem');
    INSERT INTO cache_entry (row, space, id, owner, created_at, expires_at, query, model, scale, vector, response)
        VALUES (4, 'main', 'cached', 'ann', 1, 2, 'query', 3, 0.5, x'01', 'response');
    INSERT INTO decision (space, owner, key, value, created_at, updated_at, expires_at)
        VALUES ('main', 'ann', 'key', 'value', 1, 2, 3);
    INSERT INTO audit (number, space, at, user, caller, dialect, tool, operation, duration, query, results, code, message)
        VALUES (4, 'main', 1, 'ann', 'bob', 'engram', 'tool', 'operation', 2, 'query', 3, 'internal', 'message'),
        (9, 'main', 1, 'ann', 'bob', 'engram', 'tool', 'operation', 2, 'query', 3, 'internal', 'message');
    DELETE FROM audit WHERE number = 9;
    INSERT INTO wipe (space, owner, origin, at, number) VALUES ('main', 'carl', 'engram', 1, 2);
    INSERT INTO note_file (space, path, bytes, modified, settled, hash, memory, says_id, missing_since, problem, message,
        links) VALUES ('main', 'a.md', 1, 2, 1, zeroblob(32), 'full', 1, 3, 'unreadable', 'message', '[]');
    INSERT INTO note_folder (space, identity) VALUES ('main', 'identity');
    INSERT INTO keyed_answer (row, space, owner, origin, operation, key, request, created_at, expires_at, answer)
        VALUES (5, 'main', 'ann', 'vault', 'operation', 'key', zeroblob(32), 1, 2, 'answer');
    INSERT INTO graph_name (space, is_relation, key, spelling)
        VALUES ('main', 0, 'ann', 'Ann'), ('main', 1, 'knows', 'knows'), ('main', 0, 'bob', 'Bob');
    INSERT INTO fact (row, space, id, subject, predicate, object, from_first, from_last, to_first, to_last, source,
        created_at) VALUES (6, 'main', 'fact', 'ann', 'knows', 'bob', 1, 2, 3, 4, 'source', 5);
    INSERT INTO tunnel (row, space, id, source_collection, source_section, source_memory, target_collection,
        target_section, target_memory, label, owner, is_common, created_at, updated_at)
        VALUES (7, 'main', 'tunnel', 'a', 'b', 'full', 'c', 'd', 'bare', 'label', 'ann', 0, 1, 2);
    INSERT INTO setting (space, owner, name, value) VALUES ('main', 'ann', 'name', 'value'), ('main', 0, 'name', 'other');
    INSERT INTO source_file (space, collection, path, root, format, bytes, modified, bytes_read, hash, parts, is_pending,
        is_whole) VALUES ('main', 'a', 'path', 'root', 'format', 1, 2, 3, zeroblob(32), 4, 0, 1);
    INSERT INTO lease (name, holder, until) VALUES ('sweep', 'holder', 1);
    INSERT INTO change (number, memory) VALUES (5, 1);
    UPDATE analysis SET version = (SELECT max(version, 99) FROM analysis);";

fn connect(folder: &Path) -> Connection {
    let connection = Connection::open(folder.join("loci.db")).unwrap();
    register(&connection).unwrap();
    connection
}

/// Replaces each of these texts, which is there once.
fn replace(rows: &mut String, texts: &[(&str, &str)]) {
    for (without, with) in texts {
        assert_eq!(rows.matches(without).count(), 1, "{without}");
        *rows = rows.replace(without, with);
    }
}

/// A folder with the database of that version of the schema that has a row in every table.
fn filled(version: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut connection = connect(folder.path());
    schema::migrate(&mut connection, &schema::migrations().unwrap()[..version]).unwrap();
    let mut rows = FILLED.to_owned();
    if version > 6 {
        let texts = [
            ("revision, title", "revision, text_checksum, title"),
            (
                "3, 4, 'title'",
                "3, 4, loci_checksum('first words'), 'title'",
            ),
            (
                "NULL, 1, NULL, '[]'",
                "NULL, 1, loci_checksum('zebra'), NULL, '[]'",
            ),
        ];
        replace(&mut rows, &texts);
    }
    if version > 10 {
        let machine = [
            ("source_file (space,", "source_file (space, machine,"),
            ("'a', 'path',", "'laptop', 'a', 'path',"),
        ];
        replace(&mut rows, &machine);
    }
    if version > 14 {
        let author = [
            (
                "to_last, source,\n        created_at)",
                "to_last, source, author,\n        created_at)",
            ),
            ("3, 4, 'source', 5)", "3, 4, 'source', 'ann', 5)"),
        ];
        replace(&mut rows, &author);
    }
    connection.execute_batch(&rows).unwrap();
    let analysis = "UPDATE analysis SET version = ?1";
    connection
        .execute(analysis, [crate::opening::reanalysis::VERSION])
        .unwrap();
    if version == schema::VERSION as usize {
        let further = "INSERT INTO further_vector (passage, model, scale, vector) VALUES (1 << 20, 3, 0.5, x'01');
            INSERT INTO audit_record (entry, position, verb, id, is_own, further) VALUES (4, 0, 'read', 'full', 0, 5);
            INSERT INTO version (memory, id, revision, collection, section, title, tags, updated_by, updated_at, content)
                VALUES (1, 'full', 3, 'project', 'rules', 'title', '[]', 'bob', 2, 'former words');
            INSERT INTO record_version (space, kind, id, owner, number, state, changed_at, tool, call)
                VALUES ('main', 'tunnel', 'gone', 'ann', 1, NULL, 5, 'tool', 6);
            INSERT INTO tombstone (space, text, memory, salt, source, forgotten_at, is_removed)
                VALUES ('main', CAST(hex(zeroblob(16)) AS BLOB), zeroblob(32), zeroblob(16), zeroblob(32), 1, 1);
            INSERT INTO daily VALUES (1, 'main', 5, 'bob', 'engram', '', 't', 'done', 1, 1, 1, 1, 1, 1, 1,
                1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
            INSERT INTO open_item VALUES ('main', 'key', 'full', 3, 'secret', NULL, 0);
            INSERT INTO examined VALUES (1, 1, 1, 1);";
        connection.execute_batch(further).unwrap();
    }
    folder
}

fn strings(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(sql).unwrap();
    statement
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<rusqlite::Result<_>>()
        .unwrap()
}

/// The tables of loci, and the columns that are written.
fn tables(connection: &Connection) -> Vec<(String, Vec<String>)> {
    let tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'refinery%'
        AND name NOT LIKE 'sqlite_stat%' ORDER BY name";
    let columns = |table: &String| {
        let sql = format!(
            "SELECT name FROM pragma_table_xinfo('{table}') WHERE hidden = 0 ORDER BY name"
        );
        (table.clone(), strings(connection, &sql))
    };
    strings(connection, tables).iter().map(columns).collect()
}

/// All rows of the tables.
fn rows(connection: &Connection, tables: &[(String, Vec<String>)]) -> Vec<Vec<String>> {
    let rows = |(table, columns): &(String, Vec<String>)| {
        let columns: Vec<_> = columns
            .iter()
            .map(|column| format!("typeof({column}) || quote({column})"))
            .collect();
        strings(
            connection,
            &format!(
                "SELECT {} FROM {table} ORDER BY 1",
                columns.join(" || ', ' || ")
            ),
        )
    };
    tables.iter().map(rows).collect()
}

#[test]
fn an_upgrade_keeps_every_row_of_every_table() {
    let folder = filled(6);
    let connection = connect(folder.path());
    let tables = tables(&connection);
    let before = rows(&connection, &tables);
    assert!(before.iter().all(|rows| !rows.is_empty()), "{before:?}");
    drop(connection);
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let connection = connect(folder.path());
    for (((table, _), before), after) in tables.iter().zip(before).zip(rows(&connection, &tables)) {
        assert_eq!(before, after, "{table}");
    }
    let definitions = |connection: &Connection| {
        let sql = "SELECT type || ' ' || name FROM sqlite_master WHERE name NOT LIKE 'sqlite_autoindex%' ORDER BY 1";
        strings(connection, sql)
    };
    let of_old = tempfile::tempdir().unwrap();
    let mut old = connect(of_old.path());
    schema::migrate(&mut old, &schema::migrations().unwrap()[..6]).unwrap();
    let mut expected = definitions(&old);
    // Of all memories that were made from another, not only of memories that wait.
    expected.retain(|definition| definition != "index memory_pending_by_source");
    let new = [
        "index memory_by_source",
        "table further_vector",
        "index further_vector_by_model",
        "table answer_memory",
        "index answer_memory_by_memory",
        "trigger memory_gone",
        "trigger memory_hidden",
        "trigger memory_withdrawn",
        "index memory_by_writer",
        "table audit_record",
        "index audit_record_by_id",
        "trigger audit_removed",
        "table version",
        "index token_by_end",
        "index token_by_parent",
        "index version_by_memory",
        "index version_by_writer",
        "index version_by_change",
        "index version_by_changer",
        "table record_version",
        "index record_version_by_record",
        "index record_version_by_owner",
        "index record_version_by_changer",
        "index record_version_by_change",
        "table tombstone",
        "index tombstone_by_age",
        "index tombstone_by_salt",
        "index fact_by_author",
        "index fact_about_itself",
        "index content_by_size",
        "table daily",
        "index daily_by_age",
        "index daily_by_day",
        "index daily_by_user",
        "table open_item",
        "index open_item_by_memory",
        "index open_item_by_other",
        "trigger open_item_hidden",
        "trigger open_item_removed",
        "table examined",
    ];
    expected.extend(new.map(str::to_owned));
    expected.sort();
    assert_eq!(
        definitions(&connection),
        expected,
        "no index, view or trigger is lost"
    );
    assert_eq!(store.structure_check(), Ok(Vec::new()));
    let next = "INSERT INTO audit (space, at, dialect, tool, operation, duration) VALUES ('main', 1, 'd', 't', 'o', 2)
        RETURNING number";
    let next: i64 = connection.query_row(next, [], |row| row.get(0)).unwrap();
    assert_eq!(next, 10, "what was removed stays counted");
}

/// The upgrade counts the calls of the log as the store does when it appends them.
#[test]
fn an_upgrade_counts_the_calls_of_the_log() {
    let folder = filled(15);
    let connection = connect(folder.path());
    let calls = "
        INSERT INTO audit (number, space, at, user, dialect, tool, operation, duration, query, results, code, client,
            reply_tokens) VALUES
            (20, 'main', -1, 'ann', 'vault', 'recall', 'o', 0, 'asked', 3, NULL, 'app', 70),
            (21, 'main', 86400000000, 'ann', 'vault', 'recall', 'o', 999, 'asked', 0, NULL, 'app', 7),
            (22, 'main', 86400000000, 'ann', 'vault', 'recall', 'o', 1000, 'asked', 0, NULL, 'app', 7),
            (23, 'main', 86400000001, NULL, 'vault', 'recall', 'o', 2047999, 'asked', NULL, 'unavailable', NULL, NULL),
            (24, 'main', 5, 'ann', 'hook', 'session_start', 'o', 64000, NULL, NULL, NULL, 'app', 900),
            (25, 'main', 5, 'ann', 'hook', 'prompt', 'o', 63999, NULL, NULL, NULL, 'app', 90),
            (26, 'main', 5, 'ann', 'vault', 'remember', 'o', 5, NULL, NULL, NULL, 'app', 9),
            (27, 'main', 5, 'ann', 'vault', 'remember', 'o', 5, NULL, NULL, 'forbidden', 'app', NULL),
            (28, 'main', 5, 'ann', 'vault', 'list', 'o', 5, NULL, NULL, NULL, 'app', NULL),
            (29, 'other', 5, 'ann', 'vault', 'list', 'o', 5, 'q', NULL, NULL, 'app', NULL);
        INSERT INTO audit_record (entry, position, verb, id, is_own, further) VALUES
            (25, 0, 'read', 'a', 1, 0), (26, 0, 'stored', 'a', 1, 0), (26, 1, 'stored', 'b', 1, 0),
            (28, 0, 'returned', 'a', 1, 0), (29, 0, 'changed', 'a', 1, 0);";
    connection.execute_batch(calls).unwrap();
    drop(connection);
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    for name in ["main", "other"] {
        let space = Space::parse("space", name).unwrap();
        let query = AuditQuery {
            space: space.clone(),
            limit: 99,
            ..AuditQuery::default()
        };
        let logged = store.audit(&query).unwrap();
        let counted = DailyCount::all(logged.iter().map(|(_, entry)| entry));
        let days = DailyQuery {
            space: space.clone(),
            user: None,
            from: i64::MIN,
            until: i64::MAX,
        };
        let counts = store.daily(&days).unwrap();
        assert!(!counts.is_empty());
        assert_eq!(Some(&counts), counted.get(&space), "{name}");
    }
}

/// None of before says whose texts it holds, and none that is damaged looks good afterwards.
#[test]
fn an_upgrade_leaves_behind_answers_with_texts_and_damaged_ones() {
    let folder = filled(7);
    let copy =
        "INSERT INTO keyed_answer (space, owner, origin, operation, key, request, created_at, expires_at, answer)
        SELECT space, owner, origin, ?1, ?2, request, created_at, expires_at, ?3 FROM keyed_answer WHERE row = 5";
    let connection = connect(folder.path());
    for (operation, key, answer) in [
        ("memory_recall", "texts", "held"),
        ("operation", "damaged", "a flipped answer"),
    ] {
        assert_eq!(
            connection.execute(copy, [operation, key, answer]).unwrap(),
            1
        );
    }
    drop(connection);
    flip(folder.path(), "a flipped answer");
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let connection = connect(folder.path());
    assert_eq!(
        strings(
            &connection,
            "SELECT key || ' ' || memories FROM keyed_answer"
        ),
        ["key []"]
    );
    assert_eq!(store.structure_check(), Ok(Vec::new()));
}

/// A copy of a row gets a checksum that holds: what was damaged before must not look good after.
#[test]
fn an_upgrade_leaves_no_damaged_memory_looking_good() {
    let folder = filled(8);
    connect(folder.path())
        .execute_batch("UPDATE memory SET summary = 'a flipped gist' WHERE id = 'bare'")
        .unwrap();
    flip(folder.path(), "a flipped gist");
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let connection = connect(folder.path());
    assert_eq!(
        strings(
            &connection,
            "SELECT id FROM memory WHERE text_checksum = -1"
        ),
        ["bare"]
    );
    let filter = loci_core::Filter::of(
        memory("full").space,
        loci_core::Reader::everything(),
        loci_core::Timestamp::MIN,
    );
    let read = |id: &str| {
        store
            .get_all(&filter, &[memory(id).id])
            .map(|memories| memories.len())
    };
    assert_eq!(read("full"), Ok(1));
    assert!(
        read("bare").unwrap_err().message.contains("bare"),
        "damage is named"
    );
}

#[test]
fn an_upgrade_leaves_no_damaged_source_file_looking_good() {
    let folder = filled(10);
    connect(folder.path())
        .execute_batch(
            "INSERT INTO source_file SELECT space, collection, 'flipped', 'a flipped root', format, bytes, modified,
                bytes_read, hash, parts, is_pending, is_whole FROM source_file",
        )
        .unwrap();
    flip(folder.path(), "a flipped root");
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let space = memory("full").space;
    let read = |path: &str| store.source_file(&space, "", Some("a"), path);
    let kept = read("path").unwrap().unwrap();
    assert_eq!((&*kept.machine, &*kept.format), ("", "format"));
    assert_eq!(read("flipped").unwrap_err().code, ErrorCode::Corrupt);
    let problems = store.structure_check().unwrap();
    let [problem] = problems.as_slice() else {
        panic!("{problems:?}");
    };
    assert_eq!(problem.kind, ProblemKind::Damaged);
    assert!(problem.text.contains("`flipped`"), "{}", problem.text);
}

/// Facts of before have no author, and none that is damaged looks good afterwards.
#[test]
fn an_upgrade_leaves_the_authors_of_facts_unknown_and_no_damaged_one_looking_good() {
    let folder = filled(14);
    connect(folder.path())
        .execute_batch(
            "INSERT INTO fact (space, id, subject, predicate, object, source, created_at)
            VALUES ('main', 'flipped', 'bob', 'knows', 'ann', 'a flipped source', 6)",
        )
        .unwrap();
    flip(folder.path(), "a flipped source");
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let about = |entity: &str| {
        store.facts(&FactQuery {
            space: memory("full").space,
            entity: Some((entity.to_owned(), Direction::Outgoing)),
            triple: None,
            relation: None,
            as_of: None,
            beyond: None,
            offset: 0,
            limit: 9,
        })
    };
    let kept = about("ann").unwrap();
    let [kept] = kept.as_slice() else {
        panic!("{kept:?}");
    };
    assert_eq!(
        (&*kept.id, kept.source.as_deref(), &kept.author),
        ("fact", Some("source"), &None)
    );
    assert_eq!(about("bob").unwrap_err().code, ErrorCode::Corrupt);
    let counts = store.fact_counts(&memory("full").space, kept.created_at);
    assert_eq!(
        counts.map(|counts| counts.facts),
        Ok(2),
        "none counts twice"
    );
    let problems = store.structure_check().unwrap();
    let [problem] = problems.as_slice() else {
        panic!("{problems:?}");
    };
    assert_eq!(problem.kind, ProblemKind::Damaged);
    assert!(problem.text.contains("`flipped`"), "{}", problem.text);
}

/// The person at the machine was an administrator before it was noted who is.
#[test]
fn an_upgrade_knows_the_local_person_for_an_administrator() {
    let folder = filled(8);
    let connection = connect(folder.path());
    connection
        .execute_batch("UPDATE memory SET owner = 'local' WHERE id = 'bare'")
        .unwrap();
    drop(connection);
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let by_admin = |id: &str| {
        store
            .get(&memory(id).space, &memory(id).id)
            .unwrap()
            .map(|memory| memory.by_admin)
    };
    assert_eq!(
        [by_admin("bare"), by_admin("full")],
        [Some(true), Some(false)]
    );
    assert_eq!(store.structure_check(), Ok(Vec::new()));
}

/// A conversation was a place before schema 10. Memories that were filed elsewhere since, or are
/// not of a conversation, stay; and no damaged row looks good afterwards.
#[test]
fn an_upgrade_takes_conversations_out_of_their_places() {
    let folder = filled(9);
    let connection = connect(folder.path());
    let copy = "INSERT INTO memory (row, space, id, collection, section, kind, weight, tier, delivery, origin, owner,
            visibility, source, thread, position, enrichment, created_at, updated_at, revision, text_checksum, tags)
        SELECT ?1, space, ?2, ?3, section, kind, weight, ?4, delivery, origin, owner, visibility, ?5, ?6, ?1, ?7,
            created_at, updated_at, revision, text_checksum, tags FROM memory WHERE id = 'bare';";
    let rows = [
        (
            10,
            "message",
            Some("talk"),
            "short_term",
            None,
            Some("talk"),
            None,
        ),
        (
            11,
            "kept",
            Some("talk"),
            "long_term",
            Some("message"),
            Some("talk"),
            Some("completed"),
        ),
        (
            12,
            "waits",
            Some("talk"),
            "long_term",
            None,
            Some("talk"),
            Some("pending"),
        ),
        (
            13,
            "moved",
            Some("shop"),
            "long_term",
            None,
            Some("talk"),
            Some("completed"),
        ),
        (
            14,
            "mined",
            Some("talk"),
            "long_term",
            None,
            Some("talk"),
            None,
        ),
        (
            15,
            "global",
            None,
            "long_term",
            None,
            Some("global"),
            Some("completed"),
        ),
        (
            16,
            "a flipped id",
            Some("talk"),
            "long_term",
            None,
            Some("talk"),
            Some("completed"),
        ),
    ];
    for row in rows {
        connection.execute(copy, row).unwrap();
        let text = "INSERT INTO content (memory, text) VALUES (?1, 'zebra')";
        connection.execute(text, [row.0]).unwrap();
        let passage = "INSERT INTO passage (row, first_byte, end_byte, terms) VALUES (?1 << 20, 0, 5, x'01057a65627261')";
        connection.execute(passage, [row.0]).unwrap();
    }
    connection
        .execute_batch("UPDATE memory SET summary = 'a flipped gist' WHERE row = 16")
        .unwrap();
    drop(connection);
    flip(folder.path(), "a flipped gist");
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let connection = connect(folder.path());
    let places = "SELECT id || ' ' || ifnull(collection, '-') || ' ' || thread FROM memory WHERE row >= 10 ORDER BY row";
    let expected = [
        "message - talk",
        "kept - talk",
        "waits - talk",
        "moved shop talk",
        "mined talk talk",
        "global - global",
        "a flipped id talk talk",
    ];
    assert_eq!(strings(&connection, places), expected);
    let everything = loci_core::Filter::of(
        memory("full").space,
        loci_core::Reader::everything(),
        loci_core::Timestamp::MIN,
    );
    assert_eq!(
        store.count_by_location(&everything),
        store.count_uncached(&everything)
    );
    let damaged = store.get(&memory("full").space, &memory("a flipped id").id);
    assert_eq!(damaged.unwrap_err().code, ErrorCode::Corrupt);
}

/// A row that is not as it was written, with its old checksum.
#[test]
fn every_change_of_every_column_is_found() {
    let folder = filled(schema::VERSION as usize);
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    assert_eq!(store.structure_check(), Ok(Vec::new()));
    let connection = connect(folder.path());
    connection
        .execute_batch("PRAGMA ignore_check_constraints = ON")
        .unwrap();
    let mut changed = 0;
    for (table, columns) in tables(&connection) {
        let Ok(broken) = is_broken(&connection, &table) else {
            continue;
        };
        for column in columns {
            let (kind, sum): (String, i64) = connection
                .query_row(
                    &format!(
                        "SELECT (SELECT type FROM pragma_table_xinfo('{table}') WHERE name = '{column}'), checksum
                         FROM {table} ORDER BY {column} DESC LIMIT 1"
                    ),
                    [],
                    |row| Ok((row.get(0)?, row.get(1)?)),
                )
                .unwrap();
            // As it would be by a fault: the column is another one, the checksum is not.
            let flags = FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_UTF8;
            connection
                .create_scalar_function(NAME, -1, flags, move |_| Ok(sum))
                .unwrap();
            let other = match kind.as_str() {
                "INTEGER" => format!("ifnull({column} + 70000, 1)"),
                "REAL" => format!("ifnull({column} + 0.25, 0.5)"),
                "BLOB" => format!("ifnull(CAST(CAST({column} AS TEXT) || 'x' AS BLOB), x'00')"),
                _ => format!("ifnull({column} || 'x', '')"),
            };
            connection.execute_batch("SAVEPOINT fault").unwrap();
            let fault = format!("UPDATE {table} SET {column} = {other} WHERE checksum = {sum}");
            assert_eq!(
                connection.execute(&fault, []).unwrap(),
                1,
                "{table}.{column}"
            );
            register(&connection).unwrap();
            let count = format!("SELECT count(*) FROM {table} WHERE {broken}");
            let found: i64 = connection.query_row(&count, [], |row| row.get(0)).unwrap();
            assert_eq!(found, 1, "{table}.{column}");
            connection
                .execute_batch("ROLLBACK TO fault; RELEASE fault")
                .unwrap();
            changed += 1;
        }
    }
    assert!(changed > 150, "{changed}");
}

/// A flipped byte in the file, of this text.
fn flip(folder: &Path, text: &str) {
    connect(folder)
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    let path = folder.join("loci.db");
    let mut bytes = fs::read(&path).unwrap();
    let places: Vec<_> = bytes
        .windows(text.len())
        .enumerate()
        .filter(|(_, part)| *part == text.as_bytes())
        .collect();
    let [(place, _)] = places[..] else {
        panic!("{text} is in {} places", places.len())
    };
    bytes[place] ^= 1;
    fs::write(&path, bytes).unwrap();
}

#[test]
fn no_changed_text_reaches_a_caller() {
    for text in ["the content of lost", "a summary of it"] {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
        let summary = Some("a summary of it".to_owned());
        let (lost, kept) = (
            loci_core::Memory {
                summary,
                ..memory("lost")
            },
            memory("kept"),
        );
        for written in [&lost, &kept] {
            store.commit(put(written, vec![passage("word")])).unwrap();
        }
        drop(store);
        flip(folder.path(), text);
        let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
        let everything = filter();
        let refused = [
            store.get(&lost.space, &lost.id).unwrap_err(),
            store
                .list(
                    &everything,
                    Page {
                        offset: 0,
                        limit: 9,
                    },
                )
                .unwrap_err(),
            store
                .list_by_insertion(
                    &everything,
                    loci_core::FilingOrder::LastFirst,
                    Page {
                        offset: 0,
                        limit: 9,
                    },
                )
                .unwrap_err(),
        ];
        for error in refused {
            assert_eq!(error.code, ErrorCode::Corrupt, "{error}");
            assert!(
                error.message.contains("memory `lost` is damaged")
                    && error.message.contains("loci doctor"),
                "{error}"
            );
        }
        assert_eq!(store.get(&kept.space, &kept.id), Ok(Some(kept)));
        let problems = store.structure_check().unwrap();
        assert!(
            problems
                .iter()
                .all(|problem| problem.kind == ProblemKind::Damaged),
            "{problems:?}"
        );
        let [problem] = &problems[..] else {
            panic!("{problems:?}")
        };
        assert!(
            problem.text.contains("`lost`, whose checksums do not hold"),
            "{problem:?}"
        );
        // Nothing makes it good, and nothing makes it look so.
        store.repair().unwrap();
        assert!(store.get(&lost.space, &lost.id).is_err());
        let delete = loci_core::Change::Delete {
            id: lost.id.clone(),
            revision: lost.revision,
        };
        store
            .commit(loci_core::Batch::new(lost.space.clone(), vec![delete]))
            .unwrap();
        assert_eq!(store.structure_check(), Ok(Vec::new()));
    }
}

/// Memories of some 600 bytes, with a passage each.
fn fill(connection: &Connection, rows: std::ops::Range<i64>) {
    let content = "The quick brown fox jumps over the lazy dog near the river. ".repeat(10);
    let has_checksums = "SELECT 1 FROM pragma_table_info('memory') WHERE name = 'text_checksum'";
    let has_checksums = connection
        .prepare_cached(has_checksums)
        .unwrap()
        .exists([])
        .unwrap();
    let memory =
        "INSERT INTO memory (row, space, id, collection, section, kind, weight, tier, delivery, origin, visibility,
            created_at, updated_at, revision, tags)
        VALUES (?1, 'main', printf('%032x', ?1), 'project', 'fact', 'fact', 0.5, 'long_term', 'on_demand', 'mememory',
            'common', ?1, ?1, 1, '[\"tag\"]')";
    let with_checksum = memory
        .replace("tags)", "tags, text_checksum)")
        .replace("]')", "]', loci_checksum(?2))");
    let memory = if has_checksums {
        &with_checksum
    } else {
        memory
    };
    let passage = "INSERT INTO passage (row, first_byte, end_byte, terms, model, scale, vector)
        VALUES (?1 << 20, 0, 600, zeroblob(200), 1, 0.01, zeroblob(384))";
    for row in rows {
        let content = (row, &content);
        let mut statement = connection.prepare_cached(memory).unwrap();
        if has_checksums {
            statement.execute(content)
        } else {
            statement.execute([row])
        }
        .unwrap();
        let sql = "INSERT INTO content (memory, text) VALUES (?1, ?2)";
        connection
            .prepare_cached(sql)
            .unwrap()
            .execute(content)
            .unwrap();
        connection
            .prepare_cached(passage)
            .unwrap()
            .execute([row])
            .unwrap();
    }
}

/// Measures the cost of checksums: an upgrade, and commits and reads with and without them, by
/// turns. `LOCI_MEASURED_MEMORIES=100000 cargo test -p loci-store-sqlite what_checksums_cost --
/// --nocapture`, best of a build with `opt-level = 3`, prints it for as many; few are enough to see
/// that all carry checksums afterwards.
#[test]
fn what_checksums_cost() {
    let memories =
        std::env::var("LOCI_MEASURED_MEMORIES").map_or(500, |number| number.parse().unwrap());
    let rounds = if memories > 500 { 20 } else { 2 };
    let say = |line: &str| writeln!(std::io::stderr(), "{line}").unwrap();
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let mut connections = folders.each_ref().map(|folder| connect(folder.path()));
    let migrations = schema::migrations().unwrap();
    for connection in &mut connections {
        connection
            .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
            .unwrap();
        schema::migrate(connection, &migrations[..6]).unwrap();
        connection.execute_batch("BEGIN").unwrap();
        fill(connection, 1..memories);
        connection.execute_batch("COMMIT").unwrap();
    }
    let upgrade = timed(&mut || schema::migrate(&mut connections[1], &migrations).unwrap());
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        for (connection, times) in connections.iter().zip(&mut times) {
            times.push(timed(&mut || {
                for row in memories + round * 100..memories + (round + 1) * 100 {
                    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
                    fill(connection, row..row + 1);
                    connection.execute_batch("COMMIT").unwrap();
                }
            }));
        }
    }
    let commits = ratio(&mut times);
    let whole = crate::statements::row::WHOLE_COLUMNS;
    let (_, bare) = whole.split_once("(c.text), ").unwrap();
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..7 {
        for (columns, times) in [bare, whole].into_iter().zip(&mut times) {
            let sql = format!(
                "SELECT {columns} FROM {}",
                crate::statements::row::WHOLE_TABLES
            );
            times.push(timed(&mut || {
                assert_eq!(read_all(&connections[1], &sql), memories - 1 + rounds * 100);
            }));
        }
    }
    let reads = ratio(&mut times);
    say(&format!(
        "upgrade {upgrade:?}; a commit takes {commits:.3} and a read of all {reads:.3} of what it took"
    ));
    for table in ["memory", "content", "passage"] {
        let broken = format!(
            "SELECT count(*) FROM {table} WHERE {}",
            is_broken(&connections[1], table).unwrap()
        );
        assert_eq!(
            connections[1].query_row(&broken, [], |row| row.get::<_, i64>(0)),
            Ok(0),
            "{table}"
        );
    }
}

fn timed(work: &mut dyn FnMut()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

/// The median with, by that without.
fn ratio([without, with]: &mut [Vec<Duration>; 2]) -> f64 {
    let median = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64()
    };
    median(with) / median(without)
}

fn read_all(connection: &Connection, sql: &str) -> i64 {
    let mut statement = connection.prepare(sql).unwrap();
    let mut rows = statement.query([]).unwrap();
    let mut count = 0;
    while let Some(row) = rows.next().unwrap() {
        for column in 0..row.as_ref().column_count() {
            let _ = row.get::<_, rusqlite::types::Value>(column).unwrap();
        }
        count += 1;
    }
    count
}
