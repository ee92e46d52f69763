//! Damaged rows in tables other than the memories'.
use loci_core::Maintenance;

use loci_core::{
    ArchiveStore, AuditQuery, AuditStore, Batch, CacheStore, Change, ContentHash, DailyQuery,
    Decision, DecisionStore, Direction, FactQuery, FactStore, FileStamp, IdempotencyStore,
    IdempotentReply, MemoryId, Name, NoteStore, Partition, Period, SettingStore, SourceFile,
    SourceStore, Space, Timestamp, TokenStore, TombstoneStore, Tunnel, TunnelEnd, TunnelStore,
    Vector, Version, VersionStore,
};
use loci_testkit::contract::sweep_of_expired;

use super::*;

/// Two rows of each table: one that is lost, and one that is kept.
const TWO_OF_EACH: &str = "
    INSERT INTO token (id, hash, space, subject, scopes, created_at) VALUES
        ('lost', zeroblob(32), 'main', 'words of a token', 'read', 5), ('kept', randomblob(32), 'main', 'ann', 'read', 6);
    INSERT INTO cache_entry (space, id, owner, created_at, expires_at, query, response) VALUES
        ('main', 'lost', 'ann', 1, 9000, 'asked', 'words of a response'),
        ('main', 'kept', 'bob', 1, 9000, 'asked', 'response');
    INSERT INTO decision (space, owner, key, value, created_at, updated_at, expires_at) VALUES
        ('main', 'ann', 'lost', 'words of a decision', 1, 2, NULL), ('main', 'ann', 'kept', 'value', 1, 2, NULL);
    INSERT INTO audit (space, at, user, caller, dialect, tool, operation, duration, query) VALUES
        ('main', 1, 'zoe', 'cid', 'engram', 'tool', 'operation', 2, 'words of a call'),
        ('main', 1, 'bob', 'cid', 'engram', 'tool', 'operation', 2, 'query');
    INSERT INTO note_file (space, path, bytes, modified, settled, hash, says_id, problem, message, links) VALUES
        ('main', 'lost', 1, 2, 1, zeroblob(32), 1, 'unreadable', 'words of a note file', '[]'),
        ('other', 'kept', 1, 2, 1, zeroblob(32), 1, NULL, NULL, '[]');
    INSERT INTO note_folder (space, identity) VALUES ('main', 'words of a folder'), ('other', 'identity');
    INSERT INTO keyed_answer (row, space, owner, origin, operation, key, request, created_at, expires_at, answer) VALUES
        (5, 'main', 'ann', 'vault', 'operation', 'lost', zeroblob(32), 1, 2000, 'words of an answer'),
        (6, 'main', 'ann', 'vault', 'operation', 'kept', zeroblob(32), 1, 2000, 'answer');
    INSERT INTO graph_name (space, is_relation, key, spelling) VALUES
        ('main', 0, 'ann', 'Ann'), ('main', 1, 'knows', 'knows'), ('main', 0, 'bob', 'Bob'), ('main', 0, 'cid', 'Cid'),
        ('main', 1, 'seeks', 'words of a relation');
    INSERT INTO fact (row, space, id, subject, predicate, object, source, created_at) VALUES
        (1, 'main', 'lost', 'ann', 'knows', 'bob', 'words of a fact', 5), (2, 'main', 'kept', 'cid', 'knows', 'bob', NULL, 5),
        (3, 'main', 'unnamed', 'cid', 'seeks', 'cid', NULL, 5);
    INSERT INTO tunnel (space, id, source_section, target_section, label, owner, is_common, created_at, updated_at) VALUES
        ('main', 'lost', 'b', 'd', 'words of a tunnel', 'eve', 1, 1, 2), ('other', 'kept', 'b', 'd', 'label', NULL, 1, 1, 2);
    INSERT INTO setting (space, owner, name, value) VALUES
        ('main', 'ann', 'lost', 'words of a setting'), ('main', 0, 'kept', 'other');
    INSERT INTO source_file (space, machine, collection, path, root, format, bytes, modified, bytes_read, hash, parts, is_pending,
        is_whole) VALUES
        ('main', 'm', 'a', 'lost', 'words of a source', 'format', 1, 2, 3, zeroblob(32), 4, 1, 1),
        ('main', 'm', 'b', 'kept', 'root', 'format', 1, 2, 3, zeroblob(32), 4, 0, 1);
    INSERT INTO tombstone (space, text, memory, salt, source, forgotten_at, is_removed) VALUES
        ('main', zeroblob(32), zeroblob(32), zeroblob(16), CAST('the words of a tombstone are few' AS BLOB), 1, 1),
        ('main', randomblob(32), zeroblob(32), zeroblob(16), zeroblob(32), 1, 1);";

const NOW: Timestamp = Timestamp::from_microseconds(1_000);

/// A store with a damaged row: one letter of this text is another.
fn damaged(text: &str) -> (tempfile::TempDir, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    drop(SqliteStore::open(folder.path(), Options::default()).unwrap());
    connect(folder.path()).execute_batch(TWO_OF_EACH).unwrap();
    flip(folder.path(), text);
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    (folder, store)
}

fn commit(store: &SqliteStore, change: Change) -> loci_core::Result<()> {
    store.commit(Batch::new(Space::default(), vec![change]))
}

fn facts(
    store: &SqliteStore,
    entity: Option<&str>,
    as_of: Option<Period>,
) -> loci_core::Result<Vec<loci_core::Fact>> {
    let entity = entity.map(|entity| (entity.to_owned(), Direction::Outgoing));
    store.facts(&FactQuery {
        space: Space::default(),
        entity,
        triple: None,
        relation: None,
        as_of,
        beyond: None,
        offset: 0,
        limit: 9,
    })
}

fn fact(subject: &str, predicate: &str) -> Change {
    let name = |key: &str| Name {
        key: key.to_owned(),
        spelling: key.to_owned(),
    };
    Change::PutFact(Box::new(loci_core::Fact {
        space: Space::default(),
        id: "new".to_owned(),
        subject: name(subject),
        predicate: name(predicate),
        object: name("ann"),
        valid_from: None,
        valid_to: None,
        source: None,
        author: Some("ann".to_owned()),
        created_at: NOW,
    }))
}

fn decision(key: &str) -> Decision {
    Decision {
        space: Space::default(),
        owner: "ann".to_owned(),
        key: key.to_owned(),
        value: "new".to_owned(),
        created_at: NOW,
        updated_at: NOW,
        expires_at: None,
    }
}

fn answer(key: &str) -> Change {
    Change::PutIdempotentReply(Box::new(IdempotentReply {
        space: Space::default(),
        owner: Some("ann".to_owned()),
        origin: "vault".to_owned(),
        operation: "operation".to_owned(),
        key: key.to_owned(),
        request: ContentHash([0; 32]),
        answer: "new".to_owned(),
        memories: Vec::new(),
        created_at: Timestamp::from_microseconds(3_000),
        expires_at: Timestamp::from_microseconds(9_000),
    }))
}

fn tunnel(id: &str) -> Change {
    let end = |section: &str| TunnelEnd {
        collection: None,
        section: section.to_owned(),
        memory: None,
    };
    let tunnel = Tunnel {
        space: Space::default(),
        id: id.to_owned(),
        source: end("b"),
        target: end("d"),
        label: "new".to_owned(),
        owner: None,
        is_common: true,
        created_at: NOW,
        updated_at: NOW,
    };
    Change::PutTunnel {
        tunnel: Box::new(tunnel),
        expect: None,
    }
}

fn source(collection: &str, path: &str) -> Change {
    let file = SourceFile {
        machine: "m".to_owned(),
        collection: Some(collection.to_owned()),
        path: path.to_owned(),
        root: "new".to_owned(),
        format: "format".to_owned(),
        stamp: FileStamp {
            bytes: 1,
            modified_nanoseconds: 2,
        },
        bytes_read: 3,
        hash: ContentHash([0; 32]),
        parts: 4,
        is_pending: false,
        is_whole: true,
    };
    Change::PutSourceFile {
        file: Box::new(file),
        expect: None,
    }
}

/// Something that is asked of a store with a damaged row.
type Ask = fn(&SqliteStore) -> loci_core::Result<bool>;

/// A text of a row that gets damaged, how a failure names the row, what must fail, and what goes
/// on.
type Case = (&'static str, &'static str, &'static [Ask], &'static [Ask]);

const HOME: fn() -> Space = Space::default;

fn other() -> Space {
    Space::parse("space", "other").unwrap()
}

fn days(user: Option<&str>) -> DailyQuery {
    DailyQuery {
        user: user.map(str::to_owned),
        until: 9,
        ..DailyQuery::default()
    }
}

const CASES: [Case; 12] = [
    (
        "words of a token",
        "token `lost`",
        &[
            |store| store.tokens().map(|_| true),
            |store| store.token_by_hash(&[0; 32]).map(|_| true),
            |store| store.revoke_token("lost", NOW).map(|()| true),
        ],
        &[
            |store| store.token_by_hash(&[1; 32]).map(|token| token.is_none()),
            |store| store.revoke_token("kept", NOW).map(|()| true),
        ],
    ),
    (
        "words of a response",
        "cached answer `lost`",
        &[
            |store| {
                store
                    .nearest_cache_entries(&HOME(), "ann", "asked", None, NOW, 1)
                    .map(|_| true)
            },
            |store| store.cached_queries(&HOME(), "ann", NOW).map(|_| true),
        ],
        &[
            |store| {
                store
                    .nearest_cache_entries(&HOME(), "bob", "asked", None, NOW, 1)
                    .map(|found| !found.is_empty())
            },
            |store| {
                store
                    .delete_cache_entries(&HOME(), "ann", &[MemoryId::new("lost")])
                    .map(|deleted| deleted == 1)
            },
            |store| {
                store
                    .cached_queries(&HOME(), "ann", NOW)
                    .map(|queries| queries.is_empty())
            },
        ],
    ),
    (
        "words of a decision",
        "decision `lost`",
        &[
            |store| store.decision(&HOME(), "ann", "lost", NOW).map(|_| true),
            |store| store.put_decision(&decision("lost"), u64::MAX),
        ],
        &[
            |store| {
                store
                    .decision(&HOME(), "ann", "kept", NOW)
                    .map(|decision| decision.is_some())
            },
            |store| {
                store
                    .put_decision(&decision("kept"), u64::MAX)
                    .map(|is_new| !is_new)
            },
        ],
    ),
    (
        "words of a call",
        "audit entry `1`",
        &[|store| {
            store
                .audit(&AuditQuery {
                    limit: 9,
                    ..AuditQuery::default()
                })
                .map(|_| true)
        }],
        &[|store| {
            let query = AuditQuery {
                user: Some("bob".to_owned()),
                limit: 9,
                ..AuditQuery::default()
            };
            store.audit(&query).map(|entries| entries.len() == 1)
        }],
    ),
    (
        "words of a note file",
        "note file `lost`",
        &[|store| store.note_files(&HOME()).map(|_| true)],
        &[|store| store.note_files(&other()).map(|files| files.len() == 1)],
    ),
    (
        "words of a folder",
        "folder of notes of `main`",
        &[|store| store.note_folder(&HOME()).map(|_| true)],
        &[|store| store.note_folder(&other()).map(|folder| folder.is_some())],
    ),
    (
        "words of an answer",
        "",
        &[
            |store| {
                store
                    .idempotent_reply(&HOME(), Some("ann"), "operation", "lost", NOW)
                    .map(|_| true)
            },
            // It takes the place of what has expired.
            |store| commit(store, answer("lost")).map(|()| true),
        ],
        &[
            |store| {
                store
                    .idempotent_reply(&HOME(), Some("ann"), "operation", "kept", NOW)
                    .map(|answer| answer.is_some())
            },
            |store| commit(store, answer("kept")).map(|()| true),
        ],
    ),
    (
        "words of a relation",
        "",
        &[
            |store| facts(store, Some("cid"), None).map(|_| true),
            |store| store.fact_counts(&HOME(), NOW).map(|_| true),
            |store| commit(store, fact("bob", "seeks")).map(|()| true),
        ],
        &[
            |store| facts(store, Some("ann"), None).map(|facts| facts.len() == 1),
            |store| commit(store, fact("bob", "knows")).map(|()| true),
        ],
    ),
    (
        "words of a fact",
        "fact `lost`",
        &[
            |store| facts(store, None, None).map(|_| true),
            |store| {
                facts(
                    store,
                    Some("ann"),
                    Some(Period {
                        first: NOW,
                        last: NOW,
                    }),
                )
                .map(|_| true)
            },
            |store| {
                let valid_to = Period {
                    first: NOW,
                    last: NOW,
                };
                commit(
                    store,
                    Change::EndFact {
                        id: "lost".to_owned(),
                        before: None,
                        valid_to: Some(valid_to),
                    },
                )
                .map(|()| true)
            },
        ],
        &[
            |store| facts(store, Some("cid"), None).map(|facts| facts.len() == 2),
            |store| {
                let valid_to = Period {
                    first: NOW,
                    last: NOW,
                };
                commit(
                    store,
                    Change::EndFact {
                        id: "kept".to_owned(),
                        before: None,
                        valid_to: Some(valid_to),
                    },
                )
                .map(|()| true)
            },
        ],
    ),
    (
        "words of a tunnel",
        "tunnel `lost`",
        &[
            |store| store.tunnels(&HOME()).map(|_| true),
            |store| commit(store, tunnel("lost")).map(|()| true),
        ],
        &[
            |store| store.tunnels(&other()).map(|tunnels| tunnels.len() == 1),
            |store| commit(store, tunnel("new")).map(|()| true),
            |store| {
                commit(
                    store,
                    Change::DeleteTunnel {
                        id: "lost".to_owned(),
                    },
                )
                .map(|()| true)
            },
            |store| store.tunnels(&HOME()).map(|tunnels| tunnels.len() == 1),
        ],
    ),
    (
        "words of a source",
        "source file `lost`",
        &[
            |store| {
                store
                    .source_file(&HOME(), "m", Some("a"), "lost")
                    .map(|_| true)
            },
            |store| store.source_files(&HOME(), "m", Some("a")).map(|_| true),
            |store| store.sources_at(&HOME(), "m", "lost").map(|_| true),
            |store| store.pending_sources(&HOME(), "m", 9).map(|_| true),
            |store| commit(store, source("a", "lost")).map(|()| true),
        ],
        &[
            |store| {
                store
                    .source_files(&HOME(), "m", Some("b"))
                    .map(|files| files.len() == 1)
            },
            |store| commit(store, source("a", "new")).map(|()| true),
        ],
    ),
    (
        "words of a tombstone",
        "tombstone `0000",
        &[
            |store| store.tombstones_of(&HOME(), &[[0; 32]]).map(|_| true),
            |store| store.tombstones(&HOME(), None, 9).map(|_| true),
        ],
        &[
            |store| {
                store
                    .tombstones_of(&HOME(), &[[1; 32]])
                    .map(|tombstones| tombstones.is_empty())
            },
            |store| {
                let texts = vec![[0; 32]];
                commit(store, Change::DeleteTombstones { texts }).map(|()| true)
            },
            |store| {
                store
                    .tombstones(&HOME(), None, 9)
                    .map(|tombstones| tombstones.len() == 1)
            },
        ],
    ),
];

const SETTING: Case = (
    "words of a setting",
    "setting `lost`",
    &[|store| store.setting(&HOME(), Some("ann"), "lost").map(|_| true)],
    &[
        |store| {
            store
                .setting(&HOME(), None, "kept")
                .map(|value| value.as_deref() == Some("other"))
        },
        // The whole value is the caller's, who may replace it.
        |store| {
            let (owner, name, value) =
                (Some("ann".to_owned()), "lost".to_owned(), "new".to_owned());
            commit(store, Change::PutSetting { owner, name, value }).map(|()| true)
        },
        |store| {
            store
                .setting(&HOME(), Some("ann"), "lost")
                .map(|value| value.as_deref() == Some("new"))
        },
    ],
);

#[test]
fn no_damaged_row_of_any_table_is_given_out_changed_or_archived() {
    for (text, name, refused, goes_on) in CASES.into_iter().chain([SETTING]) {
        let (_folder, store) = damaged(text);
        let before = store.structure_check().unwrap();
        let [problem] = &before[..] else {
            panic!("{text}: {before:?}")
        };
        assert!(
            problem.text.contains("whose checksums do not hold"),
            "{text}: {problem:?}"
        );
        let is_refused = |error: loci_core::Error, number: usize| {
            assert_eq!(error.code, ErrorCode::Corrupt, "{text} {number}: {error}");
            assert!(error.message.contains(name), "{text} {number}: {error}");
            assert!(
                error.message.contains(" is damaged; ") && error.message.contains("loci doctor"),
                "{text}: {error}"
            );
            assert!(!error.message.contains("words"), "{text} {number}: {error}");
        };
        for (number, ask) in refused.iter().enumerate() {
            is_refused(ask(&store).unwrap_err(), number);
        }
        // Neither tokens nor calls are archived.
        let is_archived = !["token", "call"].iter().any(|kind| text.ends_with(kind));
        let archived = store.archive(NOW, &mut |_| Ok(()));
        match archived {
            Err(error) if is_archived => is_refused(error, usize::MAX),
            archived => assert_eq!((archived, is_archived), (Ok(()), false), "{text}"),
        }
        assert_eq!(
            store.structure_check().unwrap(),
            before,
            "{text}: no refusal makes it look good"
        );
        for (number, ask) in goes_on.iter().enumerate() {
            assert_eq!(ask(&store), Ok(true), "{text} {number}");
        }
    }
}

/// Counts the rows that a condition finds.
fn count(folder: &Path, rows: &str) -> i64 {
    connect(folder)
        .query_row(&format!("SELECT count(*) FROM {rows}"), [], |row| {
            row.get(0)
        })
        .unwrap()
}

/// Changes the only row of a table as a fault would: its checksum stays.
fn fault(folder: &Path, change: &str, table: &str) {
    let connection = connect(folder);
    let sum: i64 = connection
        .query_row(&format!("SELECT checksum FROM {table}"), [], |row| {
            row.get(0)
        })
        .unwrap();
    let flags = FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_UTF8;
    connection
        .create_scalar_function(NAME, -1, flags, move |_| Ok(sum))
        .unwrap();
    assert_eq!(connection.execute(change, []), Ok(1));
}

#[test]
fn a_wipe_leaves_nothing_damaged_that_looks_good() {
    for (text, owner, rows) in [
        ("words of a tunnel", "eve", "tunnel WHERE id = 'lost'"),
        ("words of a call", "cid", "audit WHERE user = 'zoe'"),
    ] {
        let (folder, store) = damaged(text);
        assert_eq!(count(folder.path(), rows), 1);
        store.wipe(&HOME(), owner, None, None, NOW).unwrap();
        assert_eq!(count(folder.path(), rows), 0, "{text}");
        assert_eq!(store.structure_check(), Ok(Vec::new()), "{text}");
    }
    // The note of a wipe does not go on from one that is damaged.
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    store.wipe(&HOME(), "ann", None, None, NOW).unwrap();
    fault(folder.path(), "UPDATE wipe SET at = 70000", "wipe");
    assert!(!store.structure_check().unwrap().is_empty());
    store.wipe(&HOME(), "ann", None, None, NOW).unwrap();
    assert_eq!(count(folder.path(), "wipe WHERE at = 1000"), 1);
    assert_eq!(store.structure_check(), Ok(Vec::new()));
    // A whole row stays, without the name.
    let (folder, store) = damaged("words of a decision");
    for (owner, rows) in [
        ("eve", "tunnel WHERE id = 'lost' AND owner IS NULL"),
        ("cid", "audit WHERE user = 'zoe' AND caller IS NULL"),
    ] {
        store.wipe(&HOME(), owner, None, None, NOW).unwrap();
        assert_eq!(count(folder.path(), rows), 1, "{rows}");
    }
}

#[test]
fn a_damaged_count_of_calls_is_named_and_not_added_to() {
    let (folder, store) = damaged("words of a call");
    let query = AuditQuery {
        user: Some("bob".to_owned()),
        limit: 9,
        ..AuditQuery::default()
    };
    let (_, call) = store.audit(&query).unwrap().remove(0);
    store.append_audit(std::slice::from_ref(&call)).unwrap();
    assert_eq!(store.daily(&days(None)).unwrap().len(), 1);
    fault(folder.path(), "UPDATE daily SET calls = 70000", "daily");
    store.append_audit(&[call]).unwrap();
    let error = store.daily(&days(None)).unwrap_err();
    assert_eq!(error.code, ErrorCode::Corrupt, "{error}");
    assert!(error.message.contains("daily count `0`"), "{error}");
    store.wipe(&HOME(), "bob", None, None, NOW).unwrap();
    assert_eq!(store.daily(&days(None)), Ok(Vec::new()));
}

#[test]
fn a_damaged_version_is_named_and_no_wipe_keeps_its_writer() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    for id in ["lost", "kept"] {
        let memory = memory(id);
        store.commit(put(&memory, vec![passage("word")])).unwrap();
        let version = Version {
            content: Some(format!("words of a version of {id}")),
            updated_by: Some("bob".to_owned()),
            ..Version::of(&memory)
        };
        commit(&store, Change::PutVersion(Box::new(version))).unwrap();
    }
    drop(store);
    flip(folder.path(), "words of a version of lost");
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let versions = |id: &str| store.versions(&HOME(), &MemoryId::new(id));
    let refused = versions("lost").unwrap_err();
    let named = refused
        .message
        .contains("former version of the memory `lost`");
    assert!(named, "{refused}");
    assert_eq!(versions("kept").unwrap().len(), 1);
    let pseudonym = Some("wiped-0123456789abcdef0123456789abcdef");
    store.wipe(&HOME(), "bob", None, pseudonym, NOW).unwrap();
    assert_eq!(versions("lost"), Ok(Vec::new()));
    assert_eq!(
        versions("kept").unwrap()[0].updated_by.as_deref(),
        pseudonym
    );
    assert_eq!(store.structure_check(), Ok(Vec::new()));
}

/// A change of a damaged fact would give it a checksum that holds.
#[test]
fn a_wipe_takes_the_name_off_whole_facts_and_leaves_damaged_ones_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    for (subject, id) in [("bob", "lost"), ("cid", "kept")] {
        let Change::PutFact(mut fact) = fact(subject, "knows") else {
            panic!("a fact is put")
        };
        fact.id = id.to_owned();
        fact.source = Some(format!("words of the fact {id}"));
        commit(&store, Change::PutFact(fact)).unwrap();
    }
    drop(store);
    flip(folder.path(), "words of the fact lost");
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let pseudonym = Some("wiped-0123456789abcdef0123456789abcdef");
    store.wipe(&HOME(), "ann", None, pseudonym, NOW).unwrap();
    let kept = facts(&store, Some("cid"), None).unwrap();
    assert_eq!(kept[0].author.as_deref(), pseudonym);
    let refused = facts(&store, Some("bob"), None).unwrap_err();
    assert!(refused.message.contains("fact `lost`"), "{refused}");
}

/// A store with two memories of ann's, one of which is damaged; the passages of both have vectors.
fn with_memories(expires: bool) -> (tempfile::TempDir, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    for (id, title, expires_at) in [("lost", "words of a title", 400), ("kept", "title", 500)] {
        let mut memory = loci_core::Memory {
            title: Some(title.to_owned()),
            ..memory(id)
        };
        memory.owner = Some("ann".to_owned());
        memory.expires_at = expires.then(|| Timestamp::from_microseconds(expires_at));
        store
            .commit(put(&memory, vec![passage("word"); 70]))
            .unwrap();
    }
    drop(store);
    flip(folder.path(), "words of a title");
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    (folder, store)
}

#[test]
fn what_hides_or_keeps_memories_removes_those_that_are_damaged() {
    type Way = fn(&SqliteStore);
    let ways: [(bool, Way); 3] = [
        (false, |store| {
            assert_eq!(store.soft_delete(&filter(), None, NOW, 9), Ok(2));
        }),
        (false, |store| {
            assert_eq!(
                store
                    .wipe(&HOME(), "ann", None, None, NOW)
                    .unwrap()
                    .memories,
                1
            );
        }),
        // One step each: a part of those whose passages are many. A slow machine ends the turn
        // after the first.
        (true, |store| {
            assert!(matches!(
                store.sweep(&Partition::Whole, &sweep_of_expired(NOW), 2),
                Ok(1 | 2)
            ));
        }),
    ];
    for (number, (expires, way)) in ways.into_iter().enumerate() {
        let (folder, store) = with_memories(expires);
        way(&store);
        assert_eq!(
            count(folder.path(), "memory WHERE id = 'lost'"),
            0,
            "{number}"
        );
        assert_eq!(
            count(folder.path(), "memory WHERE id = 'kept'"),
            1,
            "{number}"
        );
        let problems = store.structure_check().unwrap();
        assert!(
            !problems
                .iter()
                .any(|problem| problem.kind == ProblemKind::Damaged),
            "{number}: {problems:?}"
        );
    }
}

#[test]
fn a_vector_does_not_make_the_words_of_a_damaged_passage_look_good() {
    let model = loci_core::ModelId::new("model");
    let vector = |model: &loci_core::ModelId| Vector {
        model: model.clone(),
        scale: 0.5,
        values: vec![1, 2],
    };
    let words = |store: &SqliteStore| {
        let problems = store.integrity_check().unwrap();
        problems
            .iter()
            .map(|problem| problem.text.clone())
            .collect::<Vec<_>>()
    };
    // Rebuilt from the text where a vector comes, and where the vector goes.
    for retires in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
        let memory = loci_core::Memory {
            content: "Zebras graze".to_owned(),
            ..memory("a")
        };
        store
            .commit(put(&memory, vec![passage("misprint")]))
            .unwrap();
        let embed = |store: &SqliteStore| {
            let (id, revision) = (memory.id.clone(), memory.revision);
            commit(
                store,
                Change::Embed {
                    id,
                    revision,
                    vectors: vec![vector(&model)],
                },
            )
        };
        if retires {
            embed(&store).unwrap();
        }
        drop(store);
        flip(folder.path(), "misprint");
        let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
        assert!(
            words(&store)[0].contains("whose checksums do not hold"),
            "{:?}",
            words(&store)
        );
        if retires {
            assert_eq!(store.retire_model(&Partition::Whole, &model, 9), Ok(1));
        } else {
            embed(&store).unwrap();
            assert_eq!(
                store.vectors(&HOME(), &memory.id, &model),
                Ok(vec![vector(&model)])
            );
        }
        assert_eq!(words(&store), Vec::<String>::new(), "{retires}");
    }
}

#[test]
fn a_repair_changes_nothing_beside_a_damaged_tunnel_and_no_damaged_cached_answer() {
    let folder = tempfile::tempdir().unwrap();
    drop(SqliteStore::open(folder.path(), Options::default()).unwrap());
    let connection = connect(folder.path());
    connection.execute_batch(TWO_OF_EACH).unwrap();
    connection
        .execute_batch("UPDATE tunnel SET source_memory = 'nowhere', target_memory = 'nowhere'")
        .unwrap();
    drop(connection);
    flip(folder.path(), "words of a tunnel");
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let connection = connect(folder.path());
    let broken = format!("tunnel WHERE {}", is_broken(&connection, "tunnel").unwrap());
    assert_eq!(count(folder.path(), &broken), 1);
    assert_eq!(store.repair().map(|repair| repair.done), Ok(Vec::new()));
    assert_eq!(count(folder.path(), &broken), 1);
    assert_eq!(
        count(folder.path(), "tunnel WHERE target_memory IS NOT NULL"),
        2
    );
    // One of a damaged model, which a repair takes the vectors of.
    let folder = tempfile::tempdir().unwrap();
    drop(SqliteStore::open(folder.path(), Options::default()).unwrap());
    let rows = "INSERT INTO model (row, fingerprint) VALUES (3, 'model');
        INSERT INTO cache_entry (space, id, owner, created_at, expires_at, query, model, scale, vector, response)
        VALUES ('main', 'lost', 'ann', 1, 9000, 'asked', 3, 0.5, x'01', 'words of a response'),
            ('main', 'kept', 'bob', 1, 9000, 'asked', 3, 0.5, x'01', 'response');";
    connect(folder.path()).execute_batch(rows).unwrap();
    flip(folder.path(), "words of a response");
    fault(
        folder.path(),
        "UPDATE model SET fingerprint = 'other'",
        "model",
    );
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    store.repair().unwrap();
    assert_eq!(count(folder.path(), "cache_entry WHERE id = 'lost'"), 0);
    assert_eq!(
        count(
            folder.path(),
            "cache_entry WHERE id = 'kept' AND model IS NULL"
        ),
        1
    );
}
