use crate::SqliteFiles;
use loci_core::StoreFiles;
use loci_core::{FilingOrder, Maintenance, Memory, Partition, Repair, Space, Store, Timestamp};
use loci_keys::Keys;
use loci_testkit::contract::{memory, passage, put};
use std::path::Path;

use super::*;
use crate::integrity::checksum;
use crate::integrity::rebuild::rebuild;
use crate::{Options, SqliteStore};
use loci_core::ProblemKind::{Damaged, Derived};

/// A store with a memory whose passages and words are what its text gives.
fn store() -> (tempfile::TempDir, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let kept = Memory {
        content: "word".to_owned(),
        ..memory("kept")
    };
    store.commit(put(&kept, vec![passage("other")])).unwrap();
    store.reindex(false).unwrap();
    assert_eq!(store.integrity_check(), Ok(Vec::new()));
    (folder, store)
}

fn raw(folder: &tempfile::TempDir) -> Connection {
    let connection = Connection::open(folder.path().join("loci.db")).unwrap();
    checksum::register(&connection).unwrap();
    connection
}

/// The outcome of a repair that found nothing to do.
fn nothing(needs_rebuild: bool) -> Repair {
    Repair {
        done: Vec::new(),
        needs_rebuild,
    }
}

/// Does what `loci doctor --fix` does: repairs in place, or rebuilds the database.
fn fix(folder: &tempfile::TempDir, store: SqliteStore) -> SqliteStore {
    let repair = store.repair().unwrap();
    drop(store);
    if repair.needs_rebuild {
        let [database, fresh] = ["loci.db", "fresh.db"].map(|name| folder.path().join(name));
        let rebuilt = rebuild(
            &database,
            &Keys::default(),
            &fresh,
            Timestamp::from_microseconds(0),
        )
        .unwrap();
        assert!(rebuilt.is_usable(), "{rebuilt:?}");
        std::fs::rename(fresh, database).unwrap();
    }
    SqliteStore::open(folder.path(), Options::default()).unwrap()
}

/// Statements that loci never runs, the problem that is found then, and its kind.
const ROWS: [(&str, &str, ProblemKind); 36] = [
    ("UPDATE content SET text = CAST(x'ff' AS TEXT)", "1 memories: `kept`, which loci did not write", Damaged),
    ("UPDATE memory SET tags = 'none'", "1 memories: `kept`, which loci did not write", Damaged),
    ("UPDATE passage SET terms = x'01'", "1 passages of memories: `kept`, which loci did not write", Derived),
    ("UPDATE passage SET model = 7, vector = x'00', scale = 1", "1 vectors of an unknown model: `kept`", Derived),
    ("UPDATE passage SET vector = x'00'", "1 passages with a part of a vector: `kept`", Derived),
    ("INSERT INTO further_vector VALUES (7, 7, 1, x'00')", "1 further vectors without a passage: `7`", Derived),
    ("DELETE FROM content", "1 memories without content: `kept`", Damaged),
    ("INSERT INTO content VALUES (7, 'text')", "1 texts whose memories are gone, by their rows: `7`", Damaged),
    (
        "INSERT INTO passage (row, first_byte, end_byte, terms) VALUES (7 << 20, 0, 1, x'')",
        "1 passages without a memory",
        Derived,
    ),
    ("INSERT INTO job (memory, attempts) VALUES (7, 1)", "1 jobs without a memory: `7`", Derived),
    ("INSERT INTO access (memory, count) VALUES (7, 1)", "1 counts of returns without a memory: `7`", Derived),
    ("UPDATE memory SET links = '[1]'", "1 memories: `kept`", Damaged),
    ("UPDATE memory SET citations = '[1]'", "1 memories: `kept`", Damaged),
    ("UPDATE memory SET attributes = '{\"a\": 1}'", "1 memories: `kept`", Damaged),
    (
        "INSERT INTO cache_entry (space, id, owner, created_at, expires_at, query, model, scale, vector, response)
            VALUES ('main', 'a', 'ann', 0, 1, 'q', 7, 1, x'00', 'r')",
        "1 vectors of an unknown model: `a`",
        Derived,
    ),
    (
        "INSERT INTO cache_entry (space, id, owner, created_at, expires_at, query, response)
            VALUES ('', 'a', 'ann', 0, 1, 'q', 'r')",
        "1 cached answers: `a`, which loci did not write",
        Damaged,
    ),
    (
        "INSERT INTO decision (space, owner, key, value, created_at, updated_at)
            VALUES ('main', 'ann', 'k', CAST(x'ff' AS TEXT), 0, 0)",
        "1 decisions: `k`, which",
        Damaged,
    ),
    (
        "INSERT INTO audit (space, at, dialect, tool, operation, duration, code)
            VALUES ('main', 0, 'd', 't', 'o', 0, 'unheard of')",
        "1 audit entries: `1`, which",
        Damaged,
    ),
    (
        "INSERT INTO note_file (space, path, bytes, modified, settled, hash, says_id, problem, message, links)
            VALUES ('main', 'a.md', 0, 0, 1, zeroblob(32), 0, 'unheard of', 'm', '[]')",
        "1 files of notes: `a.md`, which",
        Damaged,
    ),
    (
        "INSERT INTO keyed_answer (space, origin, operation, key, request, created_at, expires_at, answer)
            VALUES ('main', 'vault', 'o', 'k', zeroblob(32), 0, 1, CAST(x'ff' AS TEXT))",
        "1 answers under keys: `1`, which",
        Damaged,
    ),
    ("DELETE FROM secret", "secrets that are not there", Damaged),
    ("UPDATE place_count SET memories = 2", "2 differences between the counts of places and their memories", Derived),
    ("DELETE FROM place_count", "1 differences between the counts of places and their memories", Derived),
    (
        "INSERT INTO place_count VALUES ('main', 'private', 'ann', 0, 's', 'k', 'long_term', 'o', 0, 1)",
        "1 differences between the counts of places and their memories",
        Derived,
    ),
    (
        "INSERT INTO fact (space, id, subject, predicate, object, created_at) VALUES ('main', 'a', 's', 'p', 'o', 0)",
        "1 facts: `a`, which",
        Damaged,
    ),
    (
        "INSERT INTO graph_name VALUES ('main', 0, 's', 'S'); DELETE FROM graph_count",
        "1 differences between the counts of facts and the facts",
        Derived,
    ),
    ("INSERT INTO graph_count VALUES ('main', 1, 0)", "1 differences between the counts of facts", Derived),
    ("INSERT INTO keyed_answer_total VALUES ('main', 0, 1, 0)", "1 differences between the counts of answers", Derived),
    (
        "INSERT INTO answer_memory VALUES (1, 'main', 'gone')",
        "1 differences between the list of the memories in answers",
        Derived,
    ),
    (
        "INSERT INTO tunnel VALUES (1, '', 'a', NULL, 's', NULL, NULL, 't', NULL, '', NULL, 1, 0, 0)",
        "1 tunnels: `a`, which",
        Damaged,
    ),
    (
        "INSERT INTO tunnel VALUES (1, 'main', 'a', NULL, 's', 'kept', NULL, 't', 'gone', '', NULL, 1, 0, 0)",
        "1 ends of tunnels at a memory that is not there: `a`",
        Derived,
    ),
    (
        "INSERT INTO tunnel VALUES (1, 'other', 'a', NULL, 's', 'kept', NULL, 't', NULL, '', NULL, 1, 0, 0)",
        "1 ends of tunnels at a memory that is not there: `a`",
        Derived,
    ),
    ("INSERT INTO setting VALUES ('main', 0, 'n', CAST(x'ff' AS TEXT))", "1 settings: `n`, which", Damaged),
    (
        "INSERT INTO source_file VALUES ('main', '', 7, 'p', 'r', 'f', 0, 0, 0, zeroblob(32), 0, 0, 0)",
        "1 files that memories were made from: `p`, which",
        Damaged,
    ),
    ("DELETE FROM passage", "1 memories without passages, which no search finds: `kept`", Derived),
    (
        "UPDATE passage SET end_byte = 3",
        "1 memories with other passages or words than their texts give: `kept`",
        Derived,
    ),
];

#[test]
fn what_no_page_shows_is_found_and_made_good_where_it_is_derived() {
    for (sql, expected, kind) in ROWS {
        let (folder, store) = store();
        let version = store.version(&Space::default()).unwrap();
        raw(&folder).execute_batch(sql).unwrap();
        let problems = store.integrity_check().unwrap();
        let found = problems
            .iter()
            .find(|problem| problem.text.contains(expected));
        assert_eq!(
            found.map(|problem| problem.kind),
            Some(kind),
            "{sql}: {problems:?}"
        );
        assert!(
            problems
                .iter()
                .all(|problem| !problem.text.contains("word\"")),
            "no contents: {problems:?}"
        );
        let done = store.repair().unwrap();
        let left = store.integrity_check().unwrap();
        assert!(
            left.iter().all(|problem| problem.kind == Damaged),
            "{sql}: {done:?} {left:?}"
        );
        assert_eq!(left.is_empty(), kind == Derived, "{sql}: {done:?} {left:?}");
        if kind == Derived {
            assert!(!done.done.is_empty(), "{sql}");
            let kept = store
                .get(&memory("kept").space, &memory("kept").id)
                .unwrap();
            assert_eq!(
                kept.map(|kept| kept.content).as_deref(),
                Some("word"),
                "{sql}"
            );
            assert_eq!(
                store.repair(),
                Ok(nothing(false)),
                "{sql}: nothing is left to do"
            );
        }
        if expected.contains("passages") || expected.contains("words") {
            assert!(
                store.version(&Space::default()).unwrap() > version,
                "{sql}: others are told"
            );
        }
    }
}

#[test]
fn odd_definitions_are_found() {
    let rows = [
        (
            "ALTER TABLE memory RENAME COLUMN weight TO weight2",
            "definition of memory is not what loci writes",
        ),
        (
            "DROP INDEX memory_by_update",
            "definition of memory_by_update is not what loci writes",
        ),
    ];
    for (sql, expected) in rows {
        let (folder, store) = store();
        raw(&folder).execute_batch(sql).unwrap();
        let problems = store.integrity_check().unwrap();
        assert!(
            problems
                .iter()
                .any(|problem| problem.text.contains(expected)),
            "{sql}: {problems:?}"
        );
    }
}

#[test]
fn what_is_left_of_a_lost_memory_is_not_removed() {
    let (folder, store) = store();
    let connection = raw(&folder);
    connection
        .execute_batch("INSERT INTO content VALUES (7, 'text')")
        .unwrap();
    assert_eq!(store.repair(), Ok(nothing(true)));
    let count: i64 = connection
        .query_row("SELECT count(*) FROM content", [], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 2);
}

/// Changes a row without its checksum, as a fault of the disk does.
fn fault(folder: &tempfile::TempDir, table: &str, change: &str) {
    let connection = raw(folder);
    let sum = format!("SELECT checksum FROM {table}");
    let sum: i64 = connection.query_row(&sum, [], |row| row.get(0)).unwrap();
    let flags = rusqlite::functions::FunctionFlags::SQLITE_DETERMINISTIC;
    connection
        .create_scalar_function("loci_checksum", -1, flags, move |_| Ok(sum))
        .unwrap();
    assert_eq!(
        connection
            .execute(&format!("UPDATE {table} SET {change}"), [])
            .unwrap(),
        1
    );
}

#[test]
fn damaged_rows_that_nobody_filed_are_made_good() {
    let rows = [
        (
            "passage",
            "terms = CAST(x'0105' || 'words' AS BLOB)",
            "1 passages of memories: `kept`",
        ),
        (
            "passage",
            "vector = x'8101'",
            "1 passages of memories: `kept`",
        ),
        ("passage", "end_byte = 3", "1 passages of memories: `kept`"),
        ("model", "fingerprint = 'other'", "1 names of models: `1`"),
        (
            "further_vector",
            "vector = x'8102'",
            "1 further vectors of memories: `kept`",
        ),
        (
            "access",
            "count = 99",
            "1 counts of returns of memories: `kept`",
        ),
        ("job", "due_at = 99", "1 jobs of memories: `kept`"),
        (
            "cache_entry",
            "response = 'other'",
            "1 cached answers: `cached`",
        ),
    ];
    for (table, change, expected) in rows {
        let (folder, store) = store();
        let filled = "INSERT INTO model VALUES (1, 'test');
            UPDATE passage SET model = 1, scale = 1, vector = x'8100';
            INSERT INTO further_vector VALUES (1 << 20, 1, 1, x'8100');
            UPDATE memory SET enrichment = 'pending'; INSERT INTO access VALUES (1, 7, 5);
            INSERT INTO job VALUES (1, 1, 2, 'lease', 3, 'problem');
            INSERT INTO cache_entry (space, id, owner, created_at, expires_at, query, model, scale, vector, response)
                VALUES ('main', 'cached', 'ann', 1, 2, 'query', 1, 0.5, x'01', 'response')";
        raw(&folder).execute_batch(filled).unwrap();
        assert_eq!(store.integrity_check(), Ok(Vec::new()));
        fault(&folder, table, change);
        let problems = store.integrity_check().unwrap();
        assert!(
            problems.iter().all(|problem| problem.kind == Derived),
            "{table} {change}: {problems:?}"
        );
        assert!(
            problems
                .iter()
                .any(|problem| problem.text.starts_with(expected)),
            "{table} {change}: {problems:?}"
        );
        let done = store.repair().unwrap();
        assert_eq!(
            (store.integrity_check(), done.done.is_empty()),
            (Ok(Vec::new()), false),
            "{table} {change}: {done:?}"
        );
        let waits = table == "passage" || table == "model";
        let without = store
            .without_vector(
                &Partition::Whole,
                &loci_core::ModelId::new("test"),
                FilingOrder::FirstFirst,
                9,
            )
            .unwrap();
        assert_eq!(
            without.len(),
            usize::from(waits),
            "{table} {change}: the model reads the text again"
        );
        let jobs = raw(&folder)
            .query_row("SELECT count(*) FROM job", [], |row| row.get::<_, i64>(0))
            .unwrap();
        assert_eq!(jobs, 1, "{table} {change}");
    }
}

#[test]
fn a_wrong_index_is_named_and_rebuilt() {
    let (folder, store) = store();
    drop(store);
    let schema = |sql: &str| {
        let connection = raw(&folder);
        connection
            .pragma_update(None, "writable_schema", true)
            .unwrap();
        connection.execute_batch(sql).unwrap();
    };
    schema(
        "CREATE TABLE aside AS SELECT * FROM sqlite_schema WHERE name = 'memory_by_update';
         DELETE FROM sqlite_schema WHERE name = 'memory_by_update'",
    );
    raw(&folder)
        .execute_batch("UPDATE memory SET updated_at = updated_at + 1")
        .unwrap();
    schema("INSERT INTO sqlite_schema SELECT * FROM aside; DROP TABLE aside");
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let problems = store.integrity_check().unwrap();
    let of_index = |problem: &Problem| {
        problem.kind == Derived
            && problem
                .text
                .starts_with("row 1 missing from index memory_by_update")
    };
    assert!(problems.iter().any(of_index), "{problems:?}");
    assert!(
        problems.iter().all(|problem| problem.kind == Derived),
        "{problems:?}"
    );
    assert_eq!(
        store.repair(),
        Ok(Repair {
            done: vec![Ok("rebuilt the indexes".to_owned())],
            needs_rebuild: false,
        })
    );
    assert_eq!(store.integrity_check(), Ok(Vec::new()));
}

#[test]
fn a_reindex_rebuilds_all_and_drops_vectors_if_asked() {
    let (folder, store) = store();
    let filled = "INSERT INTO model VALUES (1, 'test');
        UPDATE passage SET model = 1, scale = 1, vector = x'8100', terms = x'';
        INSERT INTO further_vector VALUES (1 << 20, 1, 1, x'8100'); DELETE FROM place_count;
        INSERT INTO change (memory) VALUES (1)";
    raw(&folder).execute_batch(filled).unwrap();
    let model = loci_core::ModelId::new("test");
    for (embeddings, vectors) in [(false, 0), (true, 1), (true, 0)] {
        let version = store.version(&Space::default()).unwrap();
        let made = store.reindex(embeddings).unwrap();
        assert_eq!((made.memories, made.damaged, made.vectors), (1, 0, vectors));
        assert!(made.indexes > 30, "{made:?}");
        assert!(store.version(&Space::default()).unwrap() > version);
        assert_eq!(store.integrity_check(), Ok(Vec::new()));
        assert_eq!(
            store
                .without_vector(&Partition::Whole, &model, FilingOrder::FirstFirst, 9)
                .unwrap()
                .len(),
            usize::from(embeddings)
        );
    }
}

#[test]
fn many_are_counted_and_some_named() {
    let (folder, store) = store();
    let many = "WITH RECURSIVE n(i) AS (SELECT 7 UNION ALL SELECT i + 1 FROM n WHERE i < 1006)
        INSERT INTO access (memory, count) SELECT i, 1 FROM n";
    raw(&folder).execute_batch(many).unwrap();
    let problems = store.structure_check().unwrap();
    let [problem] = &problems[..] else {
        panic!("{problems:?}")
    };
    assert!(
        problem
            .text
            .starts_with("1000 counts of returns without a memory: `7`, `8`, "),
        "{problem:?}"
    );
    assert!(problem.text.ends_with("`26` and 980 more"), "{problem:?}");
}

#[test]
fn a_table_that_is_rebuilt_has_what_others_rely_on() {
    let filled = "INSERT INTO model VALUES (1, 'test');
        UPDATE passage SET model = 1, scale = 1, vector = x'8100';
        INSERT INTO further_vector VALUES (1 << 20, 1, 1, x'8100');
        UPDATE memory SET enrichment = 'failed'; INSERT INTO job VALUES (1, NULL, 2, NULL, NULL, 'problem');
        INSERT INTO access VALUES (1, 7, 5);
        INSERT INTO keyed_answer (space, origin, operation, key, request, created_at, expires_at, memories, answer)
            VALUES ('main', 'vault', 'o', 'k', zeroblob(32), 0, 1, '[\"kept\"]', 'words')";
    let rows = [
        (
            "model",
            "SELECT count(*) FROM passage WHERE model IS NOT NULL",
            0,
        ),
        ("model", "SELECT count(*) FROM further_vector", 0),
        (
            "answer_memory",
            "SELECT count(*) FROM answer_memory WHERE memory = 'kept'",
            1,
        ),
        (
            "keyed_answer_total",
            "SELECT answers FROM keyed_answer_total",
            1,
        ),
        ("place_count", "SELECT sum(memories) FROM place_count", 1),
        ("job", "SELECT count(*) FROM job WHERE due_at IS NULL", 1),
        ("passage", "SELECT count(*) FROM passage", 1),
        ("access", "SELECT count(*) FROM access", 0),
    ];
    for (table, sql, expected) in rows {
        let (folder, store) = store();
        raw(&folder).execute_batch(filled).unwrap();
        assert_eq!(store.integrity_check(), Ok(Vec::new()));
        drop(store);
        let find = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
        let root: u32 = raw(&folder)
            .query_row(find, [table], |row| row.get(0))
            .unwrap();
        let path = folder.path().join("loci.db");
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[(root as usize - 1) * 4_096..][..4_096].fill(0);
        std::fs::write(&path, bytes).unwrap();
        let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
        let problems = store.integrity_check().unwrap();
        assert!(
            problems.iter().all(|problem| problem.kind == Derived) && !problems.is_empty(),
            "{table}: {problems:?}"
        );
        let store = fix(&folder, store);
        assert_eq!(store.integrity_check(), Ok(Vec::new()), "{table}");
        let found: i64 = raw(&folder).query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(found, expected, "{table}: {sql}");
    }
}

#[test]
fn a_rebuild_keeps_the_cached_answers_that_can_be_read() {
    let (folder, store) = store();
    drop(store);
    let filled = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
        INSERT INTO cache_entry (space, id, owner, created_at, expires_at, query, response)
        SELECT 'main', printf('answer-%d-%s', i, hex(zeroblob(40))), 'ann', i, i + 9, 'query', hex(zeroblob(200)) FROM n;
        INSERT INTO access SELECT row, 7, 5 FROM memory";
    raw(&folder).execute_batch(filled).unwrap();
    let path = folder.path().join("loci.db");
    let whole = std::fs::read(&path).unwrap();
    let pages = "SELECT m.type, m.name, pageno, pagetype, ncell FROM dbstat JOIN sqlite_master AS m USING (name)
        WHERE tbl_name IN ('cache_entry', 'access') ORDER BY pageno";
    let connection = raw(&folder);
    let mut statement = connection.prepare(pages).unwrap();
    let page = |row: &rusqlite::Row<'_>| {
        Ok((
            row.get(0)?,
            row.get(1)?,
            row.get(2)?,
            row.get(3)?,
            row.get(4)?,
        ))
    };
    let pages: Vec<(String, String, u32, String, u32)> = statement
        .query_map([], page)
        .unwrap()
        .collect::<rusqlite::Result<_>>()
        .unwrap();
    assert!(pages.len() > 8, "{pages:?}");
    drop(statement);
    drop(connection);
    for (kind, name, number, page_kind, cells) in pages {
        std::fs::write(&path, &whole).unwrap();
        let mut damaged = whole.clone();
        damaged[(number as usize - 1) * 4_096..][..4_096].fill(0);
        std::fs::write(&path, damaged).unwrap();
        let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
        let store = fix(&folder, store);
        assert_eq!(store.integrity_check(), Ok(Vec::new()), "{name} {number}");
        let lost = if kind == "table" && page_kind == "leaf" {
            cells
        } else {
            0
        };
        let count = |table: &str| -> u32 {
            raw(&folder)
                .query_row(&format!("SELECT count(*) FROM {table}"), [], |row| {
                    row.get(0)
                })
                .unwrap()
        };
        let (answers, returns) = if name == "access" {
            (60, 1 - lost)
        } else {
            (60 - lost, 1)
        };
        assert_eq!(
            (count("cache_entry"), count("access")),
            (answers, returns),
            "{name} {number}"
        );
    }
}

#[test]
fn what_no_migration_makes_is_named() {
    let rows = [
        (
            "CREATE TRIGGER thief AFTER INSERT ON content BEGIN DELETE FROM content; END",
            "the trigger \"thief\" was not made by loci",
        ),
        ("CREATE VIEW window AS SELECT text FROM content", "the view \"window\" was not made by loci"),
        ("CREATE TABLE guest (a)", "the table \"guest\" was not made by loci"),
        ("CREATE INDEX by_guest ON memory (hex(id))", "the index \"by_guest\" was not made by loci"),
        ("CREATE VIRTUAL TABLE f USING fts5(a)", "the table \"f\" was not made by loci"),
        (
            "PRAGMA writable_schema = ON;
            INSERT INTO sqlite_master SELECT 'trigger', 'sqlite_stat1', 'content', 0,
                'CREATE TRIGGER sqlite_stat1 AFTER INSERT ON content BEGIN DELETE FROM content; END'",
            "the trigger \"sqlite_stat1\" was not made by loci",
        ),
    ];
    for (sql, expected) in rows {
        let (folder, store) = store();
        raw(&folder).execute_batch(sql).unwrap();
        drop(store);
        let older = check_foreign(&raw(&folder), None, schema::VERSION).unwrap();
        // As a restore does it, which takes nothing from it.
        let inspected = SqliteFiles::new(Path::new(""))
            .inspect(&folder.path().join("loci.db"))
            .unwrap()
            .problems;
        for problems in [inspected, older] {
            let named: Vec<_> = problems
                .iter()
                .filter(|problem| problem.text.contains(expected))
                .collect();
            assert!(
                named.len() == 1 && named[0].kind == ProblemKind::Foreign,
                "{expected}: {problems:?}"
            );
        }
    }
    // The statistics that SQLite gathers by itself are no guests.
    let (folder, store) = store();
    raw(&folder).execute_batch("ANALYZE").unwrap();
    assert_eq!(store.integrity_check(), Ok(Vec::new()));
}
