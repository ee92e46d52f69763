use loci_core::Maintenance;
use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;

use loci_core::{
    Access, ArchiveStore, AuditEntry, AuditQuery, AuditStore, Batch, CandidateQuery, Change,
    Citation, CitationKind, Condition, ContentHash, Delivery, EnrichmentStatus, ErrorCode,
    FileStamp, FilingOrder, Filter, Forgotten, JobStore, Link, Location, Memory, MemoryId, ModelId,
    NoteStore, Page, Partition, Passage, QueryVector, Reader, Relation, SOURCE_FILE, SourceFile,
    Space, Store, Thread, Tier, Timestamp, TokenStore, Vector, Visibility,
};
use loci_testkit::contract::{filter, memory, passage, put, reader, replace};

use std::path::PathBuf;

use loci_core::Error;

use super::*;
use crate::SqliteStore;
use crate::opening::copies::BACKUPS;
use crate::statements::batch;

/// A folder with a store of one memory, of this build's schema.
fn folder_with_a_memory() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    store
        .commit(put(&memory("kept"), vec![passage("word")]))
        .unwrap();
    folder
}

/// A folder with the database that an earlier version made, with this data.
fn folder_of_version(version: usize, data: &str) -> (tempfile::TempDir, Database) {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::new(folder.path().join(DATABASE), Duration::from_secs(1));
    folder::create_file(&database.path).unwrap();
    let mut connection = database.connect().unwrap();
    schema::migrate(&mut connection, &schema::migrations().unwrap()[..version]).unwrap();
    connection.execute_batch(data).unwrap();
    (folder, database)
}

/// Opens the folder as the next version would.
fn upgrade(folder: &Path, sql: &str) -> Result<Connection, OpenError> {
    let database = Database::new(folder.join(DATABASE), Duration::from_secs(1));
    let mut migrations = schema::migrations().unwrap();
    let next = schema::VERSION + 1;
    migrations.push(Migration::unapplied(&format!("V{next}__next"), sql).unwrap());
    make_current(folder, &database, &migrations, next)
}

/// The only backup, which is of that version.
fn the_backup(folder: &Path, version: i64) -> PathBuf {
    let files = fs::read_dir(folder.join(BACKUPS)).unwrap();
    let files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    let [backup] = <[PathBuf; 1]>::try_from(files).unwrap();
    let name = backup.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with(&format!("loci-v{version}-")), "{name}");
    backup
}

/// Two memories as version 1 wrote them: one with every column, one with as little as can be.
const V1_DATA: &str = "
    INSERT INTO memory VALUES
        (1, 'main', 'full', 'project', 'rules', 'rule', '[\"a\"]', 0.7, 'bootstrap', 'ann', 'private', 'gone',
            2000000000, 7, 8, 3),
        (2, 'main', 'bare', NULL, 'fact', 'fact', '[]', 0.5, 'on_demand', NULL, 'common', NULL, NULL, 9, 9, 1);
    INSERT INTO content VALUES (1, 'first words'), (2, 'zebra');
    INSERT INTO model VALUES (1, 'test');
    INSERT INTO passage VALUES
        ((1 << 20), 0, 11, x'01056669727374', 1, 0.0078125, x'8100'),
        ((2 << 20), 0, 5, x'01057a65627261', NULL, NULL, NULL);
    INSERT INTO change VALUES (1, 1), (2, 2), (3, 1);
    INSERT INTO token VALUES ('laptop', zeroblob(32), 'main', 'ann', 'read', 5, NULL, NULL);";

#[test]
fn a_database_of_version_1_answers_as_before() {
    let (folder, _) = folder_of_version(1, V1_DATA);
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();

    let moment = Timestamp::from_microseconds;
    let bare = Memory {
        content: "zebra".to_owned(),
        origin: "mememory".to_owned(),
        created_at: moment(9),
        updated_at: moment(9),
        ..memory("bare")
    };
    let full = Memory {
        content: "first words".to_owned(),
        location: Location {
            collection: Some("project".to_owned()),
            section: "rules".to_owned(),
        },
        kind: "rule".to_owned(),
        tags: vec!["a".to_owned()],
        weight: 0.7,
        delivery: Delivery::Bootstrap,
        origin: "mememory".to_owned(),
        owner: Some("ann".to_owned()),
        visibility: Visibility::Private,
        supersedes: Some(MemoryId::new("gone")),
        expires_at: Some(moment(2_000_000_000)),
        created_at: moment(7),
        updated_at: moment(8),
        revision: 3,
        ..memory("full")
    };
    assert_eq!(
        store.list(
            &filter(),
            Page {
                offset: 0,
                limit: 10
            }
        ),
        Ok(vec![bare.clone(), full.clone()])
    );
    let vector = QueryVector {
        model: ModelId::new("test"),
        values: vec![0.0, 1.0],
    };
    let (filter, terms) = (filter(), ["zebra".to_owned()]);
    let query = CandidateQuery {
        terms: &terms,
        vector: Some(&vector),
        ..CandidateQuery::of(&filter, 10)
    };
    let found = store.candidates(&query).unwrap();
    let mut hits: Vec<_> = found
        .hits
        .iter()
        .map(|hit| (hit.id.as_str(), hit.cosine, hit.bm25 > 0.0))
        .collect();
    hits.sort_by_key(|(id, ..)| *id);
    assert_eq!(hits, [("bare", None, true), ("full", Some(0.0), false)]);
    assert_eq!(store.version(&Space::default()), Ok(3));
    assert_eq!(store.tokens().unwrap().len(), 1);
    assert_eq!(
        store
            .without_vector(
                &Partition::Whole,
                &vector.model,
                FilingOrder::FirstFirst,
                10
            )
            .unwrap(),
        [(bare.space.clone(), bare.id.clone())]
    );
    assert_eq!(store.structure_check(), Ok(Vec::new()));

    assert_eq!(
        store.soft_delete(&filter, Some(&full.id), moment(10), 1),
        Ok(1)
    );
    assert_eq!(
        store.list(
            &filter,
            Page {
                offset: 0,
                limit: 10
            }
        ),
        Ok(vec![bare])
    );
    store
        .commit(put(&discovery(), vec![passage("okapi")]))
        .unwrap();
    assert_eq!(
        (
            store.get(&filter.space, &discovery().id),
            find(&store, "okapi")
        ),
        (Ok(Some(discovery())), vec!["discovery".to_owned()])
    );
    the_backup(folder.path(), 1);
}

/// Memories of both tool sets as versions 2 and 3 wrote them, with all that may hang on one.
const BOTH_DATA: &str = "
    INSERT INTO memory (row, space, id, collection, section, kind, tags, weight, delivery, owner, visibility,
        supersedes, expires_at, created_at, updated_at, revision, summary, tier, thread, position, source, enrichment,
        links, deleted_at)
    VALUES
        (1, 'main', 'full', 'project', 'rules', 'rule', '[\"a\"]', 0.7, 'bootstrap', 'ann', 'shared', 'gone',
            2000000000, 1, 9, 3, NULL, 'long_term', 'file', 2, NULL, NULL, '[]', NULL),
        (3, 'main', 'message', 'talk', 'fact', 'fact', '[]', 0.5, 'on_demand', 'ann', 'private', NULL,
            NULL, 2, 8, 1, NULL, 'short_term', 'talk', 4, NULL, NULL, '[]', NULL),
        (4, 'main', 'made', 'talk', 'fact', 'fact', '[]', 0.5, 'on_demand', 'ann', 'private', NULL,
            NULL, 3, 7, 1, NULL, 'long_term', NULL, NULL, 'message', 'pending', '[]', NULL),
        (5, 'main', 'enriched', NULL, 'fact', 'fact', '[]', 0.5, 'on_demand', 'ann', 'private', NULL,
            NULL, 4, 6, 2, 'quokka', 'long_term', NULL, NULL, NULL, 'completed', '[[\"full\",\"related_to\",0.5]]', NULL),
        (9, 'main', 'hidden', NULL, 'fact', 'fact', '[]', 0.5, 'on_demand', NULL, 'common', NULL,
            NULL, 5, 5, 1, NULL, 'long_term', NULL, NULL, NULL, NULL, '[]', 6);
    INSERT INTO content VALUES (1, 'zebra'), (3, 'lemur'), (4, 'otter'), (5, 'yak'), (9, 'gnu');
    INSERT INTO model VALUES (1, 'test');
    INSERT INTO passage VALUES
        ((1 << 20), 0, 5, x'01057a65627261', NULL, NULL, NULL),
        ((3 << 20), 0, 5, x'01056c656d7572', NULL, NULL, NULL),
        ((4 << 20), 0, 5, x'01056f74746572', NULL, NULL, NULL),
        ((5 << 20), 0, 3, x'010379616b', 1, 0.0078125, x'8100'),
        ((9 << 20), 0, 3, x'0103676e75', NULL, NULL, NULL);
    INSERT INTO change VALUES (1, 9);
    INSERT INTO access VALUES (1, 7, 5);
    INSERT INTO job VALUES (4, 1, 0, NULL, NULL, NULL);
    INSERT INTO wipe VALUES ('main', 'bob', 5, 1);
    ANALYZE;";

/// The memories of [`BOTH_DATA`].
fn both() -> [Memory; 4] {
    let moment = Timestamp::from_microseconds;
    let thread = |name: &str, position| {
        Some(Thread {
            name: name.to_owned(),
            position,
        })
    };
    let of_ann = |id: &str, content: &str, created_at, updated_at| Memory {
        content: content.to_owned(),
        origin: "memory-mcp".to_owned(),
        owner: Some("ann".to_owned()),
        visibility: Visibility::Private,
        created_at: moment(created_at),
        updated_at: moment(updated_at),
        ..memory(id)
    };
    let talk = Location {
        collection: Some("talk".to_owned()),
        section: "fact".to_owned(),
    };
    let full = Memory {
        location: Location {
            collection: Some("project".to_owned()),
            section: "rules".to_owned(),
        },
        kind: "rule".to_owned(),
        tags: vec!["a".to_owned()],
        weight: 0.7,
        thread: thread("file", 2),
        access: Access {
            count: 7,
            last: Some(moment(5)),
        },
        delivery: Delivery::Bootstrap,
        origin: "mememory".to_owned(),
        visibility: Visibility::Shared,
        supersedes: Some(MemoryId::new("gone")),
        expires_at: Some(moment(2_000_000_000)),
        revision: 3,
        ..of_ann("full", "zebra", 1, 9)
    };
    let message = Memory {
        // Filed in the conversation then, which is no place any more.
        location: Location {
            collection: None,
            ..talk.clone()
        },
        tier: Tier::ShortTerm,
        thread: thread("talk", 4),
        ..of_ann("message", "lemur", 2, 8)
    };
    let made = Memory {
        location: talk,
        source: Some(MemoryId::new("message")),
        enrichment: Some(EnrichmentStatus::Pending),
        ..of_ann("made", "otter", 3, 7)
    };
    let enriched = Memory {
        summary: Some("quokka".to_owned()),
        enrichment: Some(EnrichmentStatus::Completed),
        links: vec![Link {
            target: MemoryId::new("full"),
            relation: Relation::RelatedTo,
            similarity: 0.5,
        }],
        revision: 2,
        ..of_ann("enriched", "yak", 4, 6)
    };
    [full, message, made, enriched]
}

/// A memory as only this version writes them.
fn discovery() -> Memory {
    let citation = Citation {
        kind: CitationKind::File,
        reference: "src/okapi.rs".to_owned(),
        locator: Some("1-9".to_owned()),
        pin: None,
        excerpt: Some("fn okapi()".to_owned()),
    };
    Memory {
        tier: Tier::Unlisted,
        origin: "engram".to_owned(),
        actor: Some("ann@example.org".to_owned()),
        citations: vec![citation],
        attributes: BTreeMap::from([("repo".to_owned(), "loci".to_owned())]),
        ..memory("discovery")
    }
}

/// Returns whether a text is in the database or in its log.
fn holds(database: &Database, text: &str) -> bool {
    let log = PathBuf::from(format!("{}-wal", database.path.display()));
    let holds = |file: &Path| {
        fs::read(file)
            .unwrap()
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    holds(&database.path) || holds(&log)
}

#[test]
fn databases_of_versions_2_and_3_know_where_each_memory_came_from() {
    for version in [2, 3] {
        let (folder, database) = folder_of_version(version, BOTH_DATA);
        if version == 3 {
            let renewed = "UPDATE analysis SET version = ?1";
            database
                .connect()
                .unwrap()
                .execute(renewed, [reanalysis::VERSION])
                .unwrap();
        }
        let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
        assert_eq!(store.structure_check(), Ok(Vec::new()));
        the_backup(folder.path(), version as i64);

        assert_eq!(
            store.list(
                &filter(),
                Page {
                    offset: 0,
                    limit: 10
                }
            ),
            Ok(both().to_vec())
        );
        for (word, expected) in [
            ("zebra", "full"),
            ("lemur", "message"),
            ("otter", "made"),
            ("yak", "enriched"),
        ] {
            assert_eq!(find(&store, word), [expected]);
        }
        assert_eq!(
            nearest(&store),
            [("enriched".to_owned(), Some(-127.0 / 128.0))]
        );
        // Rows that only an index forbids.
        let [_, message, ..] = both();
        for taken in [
            Memory {
                id: MemoryId::new("new"),
                ..message
            },
            memory("hidden"),
        ] {
            let refused = store
                .commit(put(&taken, vec![passage("word")]))
                .unwrap_err();
            assert_eq!(refused.code, ErrorCode::Conflict, "{refused}");
        }
        let now = filter().live_at;
        let jobs = store
            .lease_jobs(now, now.plus_seconds(9), "lease", 9)
            .unwrap();
        assert_eq!(
            jobs.into_iter().map(|job| job.memory).collect::<Vec<_>>(),
            [MemoryId::new("made")]
        );
        check_wipe_of_old(&store);
        let of_memory = "SELECT count(*) FROM sqlite_stat1 WHERE tbl LIKE 'memory%'";
        let statistics: i64 = database
            .connect()
            .unwrap()
            .query_row(of_memory, [], |row| row.get(0))
            .unwrap();
        assert_eq!(statistics, 0, "none is better than a wrong one");

        let discovery = discovery();
        store
            .commit(put(&discovery, vec![passage("okapi")]))
            .unwrap();
        assert_eq!(
            store.get(&discovery.space, &discovery.id),
            Ok(Some(discovery.clone()))
        );
        assert_eq!(find(&store, "okapi"), ["discovery"]);
        let apart = Filter {
            tiers: vec![Tier::Unlisted],
            ..filter()
        };
        assert_eq!(
            store.list(
                &apart,
                Page {
                    offset: 0,
                    limit: 10
                }
            ),
            Ok(vec![discovery])
        );

        assert!(holds(&database, "quokka"));
        assert_eq!(
            store
                .wipe(&filter().space, "ann", None, None, now)
                .unwrap()
                .memories,
            4
        );
        assert!(
            !holds(&database, "quokka"),
            "nor is it left where the old table was"
        );
        assert_eq!(store.structure_check(), Ok(Vec::new()));
    }
}

/// Nothing refused NUL in the first databases.
#[test]
fn a_database_that_holds_nul_answers_as_before() {
    let folder = folder_with_a_memory();
    let old = Memory {
        content: "a\0b".to_owned(),
        title: Some("\0".to_owned()),
        tags: vec!["t\0".to_owned()],
        attributes: BTreeMap::from([("room".to_owned(), "r\0".to_owned())]),
        ..memory("old")
    };
    let batch = put(&old, vec![passage("word")]);
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let opened = store.opened().unwrap();
    opened
        .writer
        .run(move |connection| batch::apply(connection, &batch))
        .unwrap();
    drop((store, opened));

    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    assert_eq!(store.get(&old.space, &old.id), Ok(Some(old.clone())));
    let mut archived = 0;
    let mut count = |_| {
        archived += 1;
        Ok(())
    };
    store.archive(filter().live_at, &mut count).unwrap();
    assert_eq!(archived, 2);
    let delete = Change::Delete {
        id: old.id.clone(),
        revision: 1,
    };
    let deletion = Batch::new(old.space.clone(), vec![delete]);
    assert_eq!(store.commit(deletion), Ok(()));
    assert_eq!(store.get(&old.space, &old.id), Ok(None));
}

/// The wipe of the user `bob` in [`BOTH_DATA`] is one of every tool set.
fn check_wipe_of_old(store: &SqliteStore) {
    let call = |dialect: &str, user: &str, at| AuditEntry {
        space: filter().space,
        at: Timestamp::from_microseconds(at),
        user: Some(user.to_owned()),
        caller: None,
        client: None,
        session: None,
        dialect: dialect.to_owned(),
        tool: format!("{dialect} {at}"),
        operation: "memory:write".to_owned(),
        duration_microseconds: 1,
        query: None,
        results: None,
        reply_tokens: None,
        failure: None,
        records: Vec::new(),
        further_records: 0,
        further_stored: 0,
    };
    for origin in ["mememory", "memory-mcp", "engram", ""] {
        let relies = |since| Condition::NotWiped {
            owner: "bob".to_owned(),
            origin: origin.to_owned(),
            since,
        };
        let commit = |since| {
            store.commit(Batch {
                conditions: vec![relies(since)],
                ..Batch::new(filter().space, Vec::new())
            })
        };
        assert_eq!(commit(0).unwrap_err().code, ErrorCode::Conflict, "{origin}");
        assert_eq!(commit(1), Ok(()), "{origin}");
        store
            .append_audit(&[4, 5].map(|at| call(origin, "bob", at)))
            .unwrap();
    }
    let noted = store
        .audit(&AuditQuery {
            user: Some("bob".to_owned()),
            limit: 10,
            ..AuditQuery::default()
        })
        .unwrap();
    let tools: Vec<_> = noted.into_iter().map(|(_, entry)| entry.tool).collect();
    assert_eq!(tools, ["mememory 5", "memory-mcp 5", "engram 5", " 5"]);
}

/// Memories as version 4 wrote them, one with long texts before the columns that are new, and a
/// message.
const V4_DATA: &str = "
    INSERT INTO memory (row, space, id, section, kind, weight, tier, delivery, origin, owner, actor, visibility, thread,
        position, created_at, updated_at, revision, tags, attributes, citations)
    VALUES
        (1, 'main', 'discovery', 'fact', 'fact', 0.5, 'apart', 'on_demand', 'engram', NULL, 'ann@example.org',
            'common', NULL, NULL, 1000000000, 1000000000, 1, '[]', '{\"repo\":\"loci\"}',
            '[[\"file\",\"src/okapi.rs\",\"1-9\",null,\"' || printf('%.20000c', 'x') || '\"]]'),
        (2, 'main', 'message', 'fact', 'fact', 0.5, 'short_term', 'on_demand', 'memory-mcp', 'ann', NULL,
            'private', 'talk', 4, 1000000000, 1000000000, 1, '[]', '{}', '[]');
    INSERT INTO content VALUES (1, 'the content of discovery'), (2, 'the content of message');
    INSERT INTO passage VALUES ((1 << 20), 0, 9, x'01056f6b617069', NULL, NULL, NULL),
        ((2 << 20), 0, 9, x'01056c656d7572', NULL, NULL, NULL);
    INSERT INTO change VALUES (1, 1), (2, 2);";

#[test]
fn a_database_of_version_4_has_no_titles_and_nothing_forgotten() {
    let (folder, database) = folder_of_version(4, V4_DATA);
    let renewed = "UPDATE analysis SET version = ?1";
    database
        .connect()
        .unwrap()
        .execute(renewed, [reanalysis::VERSION])
        .unwrap();
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    the_backup(folder.path(), 4);
    assert_eq!(store.structure_check(), Ok(Vec::new()));
    let mut discovery = discovery();
    discovery.citations[0].excerpt = Some("x".repeat(20_000));
    let message = Memory {
        tier: Tier::ShortTerm,
        thread: Some(Thread {
            name: "talk".to_owned(),
            position: 4,
        }),
        origin: "memory-mcp".to_owned(),
        owner: Some("ann".to_owned()),
        visibility: Visibility::Private,
        ..memory("message")
    };
    let hide = Filter {
        forgotten: Forgotten::Hide,
        ..filter()
    };
    let page = Page {
        offset: 0,
        limit: 10,
    };
    assert_eq!(
        store.list(&hide, page),
        Ok(vec![discovery.clone(), message.clone()])
    );
    assert_eq!(
        (find(&store, "okapi"), find(&store, "lemur")),
        (vec!["discovery".into()], vec!["message".into()])
    );
    let space = &hide.space;
    assert_eq!(
        store
            .count_by_status(space, "ann", hide.live_at)
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        (store.note_files(space), store.note_folder(space)),
        (Ok(Vec::new()), Ok(None))
    );
    let secret = store.secret().unwrap();
    assert_ne!(secret, [0; 32]);

    let moment = Some(Timestamp::from_microseconds(7));
    let titled = Memory {
        title: Some("A title".to_owned()),
        revision: 2,
        ..discovery
    };
    let gone = Memory {
        forgotten_at: moment,
        revision: 2,
        ..message
    };
    for changed in [&titled, &gone] {
        store.commit(replace(changed, None)).unwrap();
    }
    drop(store);
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    assert_eq!(
        (store.list(&hide, page), store.get(space, &gone.id)),
        (Ok(vec![titled]), Ok(Some(gone)))
    );
    assert_eq!(
        store.count_by_status(space, "ann", hide.live_at),
        Ok(Vec::new())
    );
    assert_eq!(store.secret(), Ok(secret), "it never changes");
    assert_eq!(store.structure_check(), Ok(Vec::new()));
}

/// Memories as version 5 wrote them, each of a kind that says how it is to be counted.
const V5_DATA: &str = "
    INSERT INTO memory (row, space, id, collection, section, kind, weight, tier, delivery, origin, owner, visibility,
        thread, position, expires_at, created_at, updated_at, deleted_at, forgotten_at, revision, tags)
    VALUES
        (1, 'main', 'common', 'b', 'x', 'common', 0.5, 'long_term', 'on_demand', 'mememory', 'ann', 'common',
            'file', 0, NULL, 1, 1000000007, NULL, NULL, 1, '[]'),
        (2, 'main', 'nobodys', NULL, 'x', 'nobodys', 0.5, 'long_term', 'on_demand', 'engram', NULL, 'private',
            NULL, NULL, NULL, 1, 1000000006, NULL, NULL, 1, '[]'),
        (3, 'main', 'shared', 'b', 'x', 'shared', 0.5, 'apart', 'on_demand', 'engram', 'ann', 'shared',
            NULL, NULL, NULL, 1, 1000000005, NULL, NULL, 1, '[]'),
        (4, 'main', 'private', 'b', 'x', 'private', 0.5, 'long_term', 'on_demand', 'memory-mcp', 'ann', 'private',
            NULL, NULL, NULL, 1, 1000000004, NULL, NULL, 1, '[]'),
        (5, 'main', 'message', 'b', 'x', 'message', 0.5, 'short_term', 'on_demand', 'memory-mcp', 'ann', 'private',
            'talk', 0, 2000000000, 1, 1000000003, NULL, NULL, 1, '[]'),
        (6, 'main', 'expired', 'b', 'x', 'expired', 0.5, 'long_term', 'on_demand', 'mememory', NULL, 'common',
            NULL, NULL, 2, 1, 1000000002, NULL, NULL, 1, '[]'),
        (7, 'main', 'forgotten', 'b', 'x', 'forgotten', 0.5, 'long_term', 'on_demand', 'vault', NULL, 'common',
            NULL, NULL, NULL, 1, 1000000001, NULL, 9, 1, '[]'),
        (8, 'main', 'deleted', 'b', 'x', 'deleted', 0.5, 'long_term', 'on_demand', 'vault', NULL, 'common',
            NULL, NULL, NULL, 1, 1000000000, 9, NULL, 1, '[]'),
        (9, 'other', 'elsewhere', 'b', 'x', 'elsewhere', 0.5, 'long_term', 'on_demand', 'vault', NULL, 'common',
            NULL, NULL, NULL, 1, 1000000000, NULL, NULL, 1, '[]');
    INSERT INTO content SELECT row, 'the content of ' || id FROM memory;
    INSERT INTO passage SELECT row << 20, 0, 9, x'01056f6b617069', NULL, NULL, NULL FROM memory WHERE row <> 8;
    INSERT INTO change VALUES (1, 9);";

#[test]
fn a_database_of_version_5_is_counted_and_listed_as_if_it_had_always_been() {
    let (folder, database) = folder_of_version(5, V5_DATA);
    let renewed = "UPDATE analysis SET version = ?1";
    database
        .connect()
        .unwrap()
        .execute(renewed, [reanalysis::VERSION])
        .unwrap();
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    the_backup(folder.path(), 5);
    assert_eq!(store.structure_check(), Ok(Vec::new()));

    let strict = Reader {
        shared: false,
        own_origin: Some("engram".to_owned()),
        ..reader(Some("ann"))
    };
    let rows = [
        (
            reader(None),
            vec!["nobodys", "common", "forgotten", "shared"],
        ),
        (
            reader(Some("ann")),
            vec![
                "nobodys",
                "common",
                "forgotten",
                "message",
                "private",
                "shared",
            ],
        ),
        (
            reader(Some("bob")),
            vec!["nobodys", "common", "forgotten", "shared"],
        ),
        (strict, vec!["nobodys", "common", "forgotten", "shared"]),
        (
            Reader::everything(),
            vec![
                "nobodys",
                "common",
                "forgotten",
                "message",
                "private",
                "shared",
            ],
        ),
    ];
    for (reader, expected) in rows {
        let filter = Filter { reader, ..filter() };
        let counted = store.count_by_location(&filter).unwrap();
        assert_eq!(
            counted
                .iter()
                .map(|tally| (&*tally.kind, tally.memories))
                .collect::<Vec<_>>(),
            of_one(&expected)
        );
        assert_eq!(store.count_uncached(&filter), Ok(counted));
        let narrow = Filter {
            tiers: vec![Tier::LongTerm],
            forgotten: Forgotten::Hide,
            ..filter
        };
        assert_eq!(
            store.count_uncached(&narrow),
            store.count_by_location(&narrow)
        );
    }
    let page = Page {
        offset: 0,
        limit: 10,
    };
    let ids = |memories: Vec<Memory>| {
        memories
            .into_iter()
            .map(|memory| memory.id.to_string())
            .collect::<Vec<_>>()
    };
    // The memory that was updated last was filed first.
    let order = [
        "common",
        "nobodys",
        "shared",
        "private",
        "message",
        "forgotten",
    ];
    assert_eq!(ids(store.list(&filter(), page).unwrap()), order);
    assert_eq!(
        ids(store
            .list_by_insertion(&filter(), FilingOrder::FirstFirst, page)
            .unwrap()),
        order
    );
    let of_thread = Filter {
        thread: Some("talk".to_owned()),
        ..filter()
    };
    assert_eq!(ids(store.list(&of_thread, page).unwrap()), ["message"]);
    assert_eq!(store.thread_end(&of_thread.space, "ann", "talk"), Ok(1));
    let taken = Memory {
        tier: Tier::ShortTerm,
        owner: Some("ann".to_owned()),
        thread: Some(Thread {
            name: "talk".to_owned(),
            position: 0,
        }),
        ..memory("new")
    };
    assert_eq!(
        store
            .commit(put(&taken, vec![passage("word")]))
            .unwrap_err()
            .code,
        ErrorCode::Conflict
    );

    assert_eq!(
        store
            .wipe(&filter().space, "ann", None, None, filter().live_at)
            .unwrap()
            .memories,
        3
    );
    assert_eq!(
        store.count_by_location(&filter()),
        store.count_uncached(&filter())
    );
    assert_eq!(store.structure_check(), Ok(Vec::new()));
}

/// One of each kind.
fn of_one<'a>(kinds: &[&'a str]) -> Vec<(&'a str, u64)> {
    kinds.iter().map(|kind| (*kind, 1)).collect()
}

#[test]
fn an_older_schema_is_upgraded_after_a_backup() {
    let folder = folder_with_a_memory();
    let sql = format!(
        "ALTER TABLE memory ADD COLUMN added TEXT; PRAGMA user_version = {};",
        schema::VERSION + 1
    );
    let connection = upgrade(folder.path(), &sql).unwrap();
    let ids: String = connection
        .query_row("SELECT id FROM memory WHERE added IS NULL", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(ids, "kept");
    drop(connection);
    let refused = SqliteStore::open(folder.path(), Options::default()).unwrap_err();
    assert!(
        matches!(refused, OpenError::Newer { found, known: schema::VERSION, .. } if found == schema::VERSION + 1),
        "{refused}"
    );
    let backup = the_backup(folder.path(), schema::VERSION);
    let restored = tempfile::tempdir().unwrap();
    fs::copy(backup, restored.path().join(DATABASE)).unwrap();
    let restored = SqliteStore::open(restored.path(), Options::default()).unwrap();
    let kept = memory("kept");
    assert_eq!(restored.get(&kept.space, &kept.id), Ok(Some(kept)));
}

#[test]
fn an_upgrade_that_fails_leaves_the_database_as_it_was() {
    let folder = folder_with_a_memory();
    let refused = upgrade(folder.path(), "DROP TABLE content; SELECT nonsense;").unwrap_err();
    assert!(matches!(refused, OpenError::Upgrade { .. }), "{refused}");
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let kept = memory("kept");
    assert_eq!(store.get(&kept.space, &kept.id), Ok(Some(kept)));
    assert_eq!(store.structure_check(), Ok(Vec::new()));
    // A process that starts again and again does not fill the disk.
    assert_eq!(
        fs::read_dir(folder.path().join(BACKUPS)).unwrap().count(),
        0
    );
}

#[test]
fn what_people_did_to_the_tables_is_no_obstacle() {
    let odd = "DROP INDEX memory_by_deletion; CREATE VIEW texts AS SELECT m.id, c.text FROM memory AS m, content AS c;";
    let (folder, database) = folder_of_version(3, odd);
    SqliteStore::open(folder.path(), Options::default()).unwrap();
    let views: i64 = database
        .connect()
        .unwrap()
        .query_row("SELECT count(*) FROM texts", [], |row| row.get(0))
        .unwrap();
    assert_eq!(views, 0);
}

#[test]
fn a_creation_that_was_cut_off_is_completed() {
    let folder = tempfile::tempdir().unwrap();
    let connection = Connection::open(folder.path().join(DATABASE)).unwrap();
    connection.execute_batch("CREATE TABLE refinery_schema_history (version int4 PRIMARY KEY, name VARCHAR(255), applied_on VARCHAR(255), checksum VARCHAR(255))").unwrap();
    drop(connection);
    SqliteStore::open(folder.path(), Options::default()).unwrap();
}

#[test]
fn every_refusal_says_what_to_do() {
    let path = PathBuf::from("here");
    let refusals = [
        OpenError::Newer {
            database: path.clone(),
            found: 2,
            known: 1,
        },
        OpenError::NewerAnalysis {
            database: path.clone(),
            found: 9,
            known: 2,
        },
        OpenError::ReadOnly { path: path.clone() },
        OpenError::NetworkFileSystem {
            folder: path.clone(),
            kind: "nfs4".to_owned(),
        },
        OpenError::NotOwner {
            folder: path.clone(),
            uid: 7,
        },
        OpenError::NotADatabase {
            database: path.clone(),
        },
        OpenError::Full { path: path.clone() },
        OpenError::Busy { path: path.clone() },
        OpenError::InUse {
            folder: path.clone(),
        },
        OpenError::Upgrade {
            database: path.clone(),
            problem: "x".to_owned(),
        },
        OpenError::Io {
            path,
            problem: "x".to_owned(),
        },
    ];
    for refusal in refusals {
        let text = Error::from(refusal).message;
        assert!(text.contains("here") && text.contains(": "), "{text}");
    }
}

/// Memories as version 2 wrote them, with terms that no analysis makes: one of two passages, as it
/// would not be cut now, one with a summary, and one whose passage is no part of its text.
const V2_DATA: &str = "
    INSERT INTO memory (row, space, id, section, kind, tags, weight, delivery, visibility, created_at, updated_at,
        revision, tier, enrichment, summary)
    VALUES
        (1, 'main', 'two', 'fact', 'fact', '[\"walrus\"]', 0.5, 'on_demand', 'common', 7, 8, 1, 'long_term', NULL, 'yak'),
        (2, 'main', 'summed', 'fact', 'fact', '[]', 0.5, 'on_demand', 'common', 7, 8, 1, 'long_term', 'completed', 'yak'),
        (3, 'main', 'odd', 'fact', 'fact', '[]', 0.5, 'on_demand', 'common', 7, 8, 1, 'long_term', NULL, NULL);
    INSERT INTO content VALUES (1, 'zebra otter'), (2, 'lemur'), (3, 'x');
    INSERT INTO model VALUES (1, 'test');
    INSERT INTO passage VALUES
        ((1 << 20), 0, 5, x'01056669727374', 1, 0.0078125, x'8100'),
        ((1 << 20) + 1, 6, 11, x'01056669727374', NULL, NULL, NULL),
        ((2 << 20), 0, 5, x'01056669727374', 1, 0.0078125, x'8100'),
        ((3 << 20), 0, 99, x'01056669727374', NULL, NULL, NULL);
    INSERT INTO change VALUES (1, 1), (2, 2), (3, 3);";

/// The ids that one word finds, sorted.
fn find(store: &SqliteStore, word: &str) -> Vec<String> {
    let (terms, everything) = ([word.to_owned()], filter());
    let query = CandidateQuery {
        terms: &terms,
        ..CandidateQuery::of(&everything, 10)
    };
    let mut ids: Vec<_> = store
        .candidates(&query)
        .unwrap()
        .hits
        .into_iter()
        .map(|hit| hit.id.to_string())
        .collect();
    ids.sort();
    ids
}

/// Returns the results of a search by meaning.
fn nearest(store: &SqliteStore) -> Vec<(String, Option<f32>)> {
    let vector = QueryVector {
        model: ModelId::new("test"),
        values: vec![1.0, 0.0],
    };
    let everything = filter();
    let query = CandidateQuery {
        vector: Some(&vector),
        ..CandidateQuery::of(&everything, 10)
    };
    store
        .candidates(&query)
        .unwrap()
        .hits
        .into_iter()
        .map(|hit| (hit.id.to_string(), hit.cosine))
        .collect()
}

#[test]
fn texts_that_an_older_version_analysed_are_analysed_anew() {
    let (folder, database) = folder_of_version(2, V2_DATA);
    for before in [2, schema::VERSION] {
        let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
        let rows = [
            ("zebra", &["two"][..]),
            ("otter", &["two"]),
            ("walrus", &["two"]),
            ("lemur", &["summed"]),
            ("yak", &["summed"]),
            ("x", &["odd"]),
            ("first", &[]),
        ];
        for (word, expected) in rows {
            assert_eq!(find(&store, word), expected, "{word}");
        }
        assert_eq!(
            nearest(&store),
            [("summed".to_owned(), Some(-127.0 / 128.0))],
            "of what is cut as before"
        );
        let waiting = store
            .without_vector(
                &Partition::Whole,
                &ModelId::new("test"),
                FilingOrder::FirstFirst,
                10,
            )
            .unwrap();
        assert_eq!(
            waiting
                .into_iter()
                .map(|(_, id)| id.to_string())
                .collect::<Vec<_>>(),
            ["two", "odd"]
        );
        drop(store);
        the_backup(folder.path(), before);
        fs::remove_dir_all(folder.path().join(BACKUPS)).unwrap();
        // As if a newer analysis had come since, which the schema knows nothing of.
        let stale = "UPDATE analysis SET version = 1; UPDATE passage SET terms = x'01056669727374'";
        database.connect().unwrap().execute_batch(stale).unwrap();
    }
}

/// A long text of as many passages as before, cut at other places: each vector would be of another
/// text.
#[test]
fn vectors_stay_only_where_a_text_is_cut_as_before() {
    let content = "The quick brown fox jumps over the lazy dog near the river. ".repeat(60);
    let ranges = loci_text::passages::passages(&content);
    assert!(ranges.len() > 2);
    let model = ModelId::new("test");
    for is_moved in [false, true] {
        let folder = folder_with_a_memory();
        let database = Database::new(folder.path().join(DATABASE), Duration::from_secs(1));
        let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
        let long = Memory {
            content: content.clone(),
            ..memory("long")
        };
        let vectors: Vec<Vector> = (1..)
            .take(ranges.len())
            .map(|value| Vector {
                model: model.clone(),
                scale: 0.1,
                values: vec![value],
            })
            .collect();
        let with_vector = |(range, vector): (&Range<usize>, &Vector)| {
            let start = range.start + usize::from(is_moved && range.start > 0);
            Passage {
                range: start..range.end,
                vector: Some(vector.clone()),
                ..passage("word")
            }
        };
        store
            .commit(put(
                &long,
                ranges.iter().zip(&vectors).map(with_vector).collect(),
            ))
            .unwrap();
        drop(store);
        database
            .connect()
            .unwrap()
            .execute("UPDATE analysis SET version = 1", [])
            .unwrap();
        let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
        assert_eq!(find(&store, "fox"), ["long"]);
        let expected = if is_moved { Vec::new() } else { vectors };
        assert_eq!(store.vectors(&long.space, &long.id, &model), Ok(expected));
        let stored = "SELECT first_byte, end_byte FROM passage AS p JOIN memory AS m ON m.row = p.row >> 20 AND m.id = 'long'";
        let connection = database.connect().unwrap();
        let mut stored = connection.prepare(stored).unwrap();
        let stored = stored.query_map([], |row| {
            Ok(row.get::<_, i64>(0)? as usize..row.get::<_, i64>(1)? as usize)
        });
        assert_eq!(
            stored.unwrap().map(Result::unwrap).collect::<Vec<_>>(),
            ranges
        );
        assert_eq!(store.structure_check(), Ok(Vec::new()));
    }
}

#[test]
fn a_damaged_text_does_not_keep_the_others_from_being_analysed() {
    let folder = folder_with_a_memory();
    let database = Database::new(folder.path().join(DATABASE), Duration::from_secs(1));
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let zebra = Memory {
        content: "zebra".to_owned(),
        ..memory("zebra")
    };
    store.commit(put(&zebra, vec![passage("other")])).unwrap();
    drop(store);
    let damage = "UPDATE content SET text = CAST(x'ff' AS TEXT) WHERE memory = 1; UPDATE analysis SET version = 1";
    database.connect().unwrap().execute_batch(damage).unwrap();
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    assert_eq!(
        (find(&store, "word"), find(&store, "zebra")),
        (vec!["kept".to_owned()], vec!["zebra".to_owned()])
    );
    assert!(!store.structure_check().unwrap().is_empty());
}

#[test]
fn a_damaged_passage_does_not_keep_the_others_from_being_analysed() {
    let folder = folder_with_a_memory();
    let database = Database::new(folder.path().join(DATABASE), Duration::from_secs(1));
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let zebra = Memory {
        content: "zebra".to_owned(),
        ..memory("zebra")
    };
    store.commit(put(&zebra, vec![passage("other")])).unwrap();
    drop(store);
    // A column takes a value of another type only while it is not strict, which each connection
    // reads once.
    let strict = |old: &str, new: &str| {
        let set = "UPDATE sqlite_schema SET sql = replace(sql, ?1, ?2) WHERE name = 'passage'";
        let connection = database.connect().unwrap();
        connection
            .pragma_update(None, "writable_schema", true)
            .unwrap();
        assert_eq!(connection.execute(set, [old, new]).unwrap(), 1);
    };
    strict("\n) STRICT", "\n)");
    let damage =
        "UPDATE passage SET end_byte = 'x' WHERE row = 1 << 20; UPDATE analysis SET version = 1";
    database.connect().unwrap().execute_batch(damage).unwrap();
    strict("\n)", "\n) STRICT");
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    assert_eq!(
        (find(&store, "word"), find(&store, "zebra")),
        (vec!["kept".to_owned()], vec!["zebra".to_owned()])
    );
    assert!(!store.structure_check().unwrap().is_empty());
}

#[test]
fn what_a_memory_cites_finds_it_after_a_new_analysis() {
    let folder = folder_with_a_memory();
    let database = Database::new(folder.path().join(DATABASE), Duration::from_secs(1));
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    store
        .commit(put(&discovery(), vec![passage("other")]))
        .unwrap();
    drop(store);
    database
        .connect()
        .unwrap()
        .execute("UPDATE analysis SET version = 1", [])
        .unwrap();
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    assert_eq!(
        (find(&store, "okapi"), find(&store, "other")),
        (vec!["discovery".to_owned()], Vec::new())
    );
}

#[test]
fn what_was_mined_before_paths_were_noted_gets_its_path() {
    let folder = folder_with_a_memory();
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let file = |path: &str, is_whole| SourceFile {
        machine: String::new(),
        collection: Some("shop".to_owned()),
        path: path.to_owned(),
        root: "/srv/shop".to_owned(),
        format: "project".to_owned(),
        stamp: FileStamp {
            bytes: 5,
            modified_nanoseconds: 1,
        },
        bytes_read: 5,
        hash: ContentHash([1; 32]),
        parts: 1,
        is_pending: false,
        is_whole,
    };
    let rows = [
        (
            "whole",
            "/srv/shop/db/okapi.rs",
            Some(true),
            Some("db/okapi.rs"),
        ),
        ("grows", "/srv/shop/talk.jsonl", Some(false), None),
        ("by_hand", "/srv/shop/hand.rs", None, None),
    ];
    for (id, path, is_whole, _) in rows {
        let drawer = Memory {
            location: Location {
                collection: Some("shop".to_owned()),
                section: "src".to_owned(),
            },
            attributes: BTreeMap::from([(SOURCE_FILE.to_owned(), path.to_owned())]),
            ..memory(id)
        };
        store.commit(put(&drawer, vec![passage("other")])).unwrap();
        let row = is_whole.map(|is_whole| Change::PutSourceFile {
            file: Box::new(file(path, is_whole)),
            expect: None,
        });
        store
            .commit(Batch::new(Space::default(), row.into_iter().collect()))
            .unwrap();
    }
    drop(store);
    let database = Database::new(folder.path().join(DATABASE), Duration::from_secs(1));
    database
        .connect()
        .unwrap()
        .execute("UPDATE analysis SET version = 2", [])
        .unwrap();
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    for (id, path, _, expected) in rows {
        let drawer = store
            .get(&Space::default(), &MemoryId::new(id))
            .unwrap()
            .unwrap();
        assert_eq!(
            (
                drawer.source_path(),
                drawer.attributes[SOURCE_FILE].as_str()
            ),
            (expected, path),
            "{id}"
        );
    }
    assert_eq!(find(&store, "okapi"), ["whole"]);
    let (filter, required) = (filter(), ["@file=db/okapi.rs".to_owned()]);
    let found = store
        .candidates(&CandidateQuery {
            required: &required,
            ..CandidateQuery::of(&filter, 10)
        })
        .unwrap();
    assert_eq!(
        found
            .hits
            .iter()
            .map(|hit| hit.id.as_str())
            .collect::<Vec<_>>(),
        ["whole"]
    );
    assert_eq!(store.structure_check(), Ok(Vec::new()));
}

#[test]
fn a_lost_version_of_the_analysis_is_as_an_old_one() {
    let folder = folder_with_a_memory();
    let database = Database::new(folder.path().join(DATABASE), Duration::from_secs(1));
    database
        .connect()
        .unwrap()
        .execute("DELETE FROM analysis", [])
        .unwrap();
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    assert_eq!(
        reanalysis::version(&database.connect().unwrap()),
        Ok(reanalysis::VERSION)
    );
    assert_eq!(
        find(&store, "word"),
        Vec::<String>::new(),
        "the text has other terms than were put"
    );
    let again = memory("again");
    store.commit(put(&again, vec![passage("word")])).unwrap();
    assert_eq!(find(&store, "word"), ["again"]);
}

/// The first analysis embedded passages as they stand in the text, which later ones do only where
/// nothing is said of who speaks or shown in brackets.
#[test]
fn vectors_of_what_is_embedded_otherwise_now_are_forgotten() {
    let model = ModelId::new("test");
    let vector = Vector {
        model: model.clone(),
        scale: 0.1,
        values: vec![7],
    };
    let rows = [
        ("plain", "The zebra is in the garden.", true),
        ("speaker", "Caroline: The zebra is in the garden.", false),
        ("picture", "The zebra. [Image: a zebra in a garden]", false),
    ];
    for (id, content, stays) in rows {
        let folder = folder_with_a_memory();
        let written = Memory {
            content: content.to_owned(),
            ..memory(id)
        };
        let whole = Passage {
            range: 0..content.len(),
            vector: Some(vector.clone()),
            ..passage("word")
        };
        let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
        store.commit(put(&written, vec![whole])).unwrap();
        drop(store);
        let database = Database::new(folder.path().join(DATABASE), Duration::from_secs(1));
        let mut connection = database.connect().unwrap();
        for (version, stays) in [(2, true), (1, stays)] {
            connection
                .execute("UPDATE analysis SET version = ?1", [version])
                .unwrap();
            assert_eq!(reanalysis::renew(&mut connection).unwrap(), 2);
            let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
            let expected = if stays {
                vec![vector.clone()]
            } else {
                Vec::new()
            };
            assert_eq!(
                store.vectors(&written.space, &written.id, &model),
                Ok(expected),
                "{id} of {version}"
            );
            let waiting = store
                .without_vector(&Partition::Whole, &model, FilingOrder::FirstFirst, 10)
                .unwrap();
            assert_eq!(
                waiting.iter().any(|(_, waiting)| *waiting == written.id),
                !stays,
                "{id} of {version}"
            );
            assert_eq!(find(&store, "zebra"), [id]);
            assert_eq!(store.structure_check(), Ok(Vec::new()));
        }
    }
}

#[test]
fn a_renewal_that_is_cut_off_makes_one_backup() {
    let folder = folder_with_a_memory();
    let database = Database::new(folder.path().join(DATABASE), Duration::from_secs(1));
    let connection = database.connect().unwrap();
    let cut = "UPDATE analysis SET version = 1;
        CREATE TRIGGER cut BEFORE UPDATE ON analysis BEGIN SELECT RAISE(ABORT, 'cut off'); END;";
    connection.execute_batch(cut).unwrap();
    let mut backups = Vec::new();
    for _ in 0..3 {
        let refused = SqliteStore::open(folder.path(), Options::default()).unwrap_err();
        assert!(refused.to_string().contains("cut off"), "{refused}");
        assert_eq!(reanalysis::version(&connection), Ok(1));
        backups.push(the_backup(folder.path(), schema::VERSION));
    }
    connection.execute("DROP TRIGGER cut", []).unwrap();
    assert_eq!(
        find(
            &SqliteStore::open(folder.path(), Options::default()).unwrap(),
            "word"
        ),
        Vec::<String>::new()
    );
    backups.push(the_backup(folder.path(), schema::VERSION));
    assert!(backups.iter().all(|backup| *backup == backups[0]));
    let untouched = Connection::open(&backups[0]).unwrap();
    assert_eq!(reanalysis::version(&untouched), Ok(1));
}

#[test]
fn texts_that_a_newer_version_analysed_are_left_alone() {
    let folder = folder_with_a_memory();
    let database = Database::new(folder.path().join(DATABASE), Duration::from_secs(1));
    database
        .connect()
        .unwrap()
        .execute("UPDATE analysis SET version = 99", [])
        .unwrap();
    let refused = SqliteStore::open(folder.path(), Options::default()).unwrap_err();
    assert!(
        matches!(refused, OpenError::NewerAnalysis { found: 99, .. }),
        "{refused}"
    );
    assert!(refused.to_string().contains("update loci"), "{refused}");
    assert_eq!(reanalysis::version(&database.connect().unwrap()), Ok(99));
}

#[test]
fn a_damaged_database_is_not_upgraded() {
    let (folder, database) = folder_of_version(7, "");
    let connection = database.connect().unwrap();
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'keyed_answer_by_expiry'";
    let root: u32 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    drop(connection);
    let mut file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&database.path)
        .unwrap();
    io::Seek::seek(&mut file, io::SeekFrom::Start(u64::from(root - 1) * 4_096)).unwrap();
    file.write_all(&[0; 4_096]).unwrap();
    let before = fs::read(&database.path).unwrap();
    let refused = SqliteStore::open(folder.path(), Options::default()).unwrap_err();
    assert!(
        matches!(&refused, OpenError::Damaged { problem, .. } if problem.contains(&format!("page {root}"))),
        "{refused}"
    );
    assert!(fs::read(&database.path).unwrap() == before);
    assert!(
        !folder.path().join(BACKUPS).exists(),
        "nobody needs a copy of it"
    );
}
