//! The contract of archives.

use loci_core::{
    Access, ArchiveStore, Archived, Batch, CacheEntry, Change, Decision, Error, ErrorCode,
    IdempotentReply, Link, Memory, MemoryId, NoteFile, Passage, Period, Record, Relation,
    SourceFile, Space, Timestamp, Touch, Tunnel, TunnelEnd,
};

use super::examples::{
    NOW, cache_entry, change, decision, delete, end, fact, filter, forgotten, idempotent_reply,
    memory, message, note_file, passage, period, put, put_fact, put_note_file, put_reply,
    put_setting, put_source_file, put_tunnel, replace, source_file, space, sweep_of_expired,
    tunnel, vector,
};
use super::generator::Generator;
use super::partitions::{sweep_some, version_now};
use super::tombstones::{put_tombstones, tombstone};
use super::writing::commit;
use super::{MakeStore, StoreAndTokens};

/// Returns the whole archive of the store.
pub(super) fn archive(
    store: &(impl ArchiveStore + ?Sized),
    now: Timestamp,
) -> loci_core::Result<Vec<Archived>> {
    let mut all = Vec::new();
    store.archive(now, &mut |archived| {
        all.push(archived);
        Ok(())
    })?;
    Ok(all)
}

fn archived(store: &dyn StoreAndTokens) -> Vec<Archived> {
    archive(store, NOW).expect("the store can be read")
}

/// Returns the kind and the key of each record.
fn keys(archived: &[Archived]) -> Vec<String> {
    let key = |record: &Record| match record {
        Record::Memory(memory) => format!("memory {}", memory.id),
        Record::NoteFolder(identity) => format!("folder {identity}"),
        Record::NoteFile(file) => format!("file {}", file.path),
        Record::Fact(fact) => format!("fact {}", fact.id),
        Record::Tunnel(tunnel) => format!("tunnel {}", tunnel.id),
        Record::Setting { owner, name, .. } => format!("setting {owner:?} {name}"),
        Record::SourceFile(file) => format!(
            "source {:?} {:?} {}",
            file.machine, file.collection, file.path
        ),
        Record::CacheEntry(entry) => format!("entry {}", entry.id),
        Record::Decision(decision) => format!("decision {} {}", decision.owner, decision.key),
        Record::IdempotentReply(answer) => format!("answer {:?} {}", answer.owner, answer.key),
        Record::Tombstone(tombstone) => format!("tombstone {:?}", tombstone.text),
    };
    archived
        .iter()
        .map(|archived| format!("{}: {}", archived.space, key(&archived.record)))
        .collect()
}

pub(super) fn what_was_put_is_archived_as_it_was_put(make: MakeStore<'_>) {
    let store = make();
    let mut random = Generator::new(7);
    let home = Space::default();
    let mut expected: Vec<Record> = Vec::new();
    for number in 0..30 {
        let id = MemoryId::new(format!("id {number}"));
        let memory = Memory {
            thread: None,
            revision: 7,
            expires_at: None,
            ..random.memory(&home, id)
        };
        commit(&*store, put(&memory, vec![passage("word")]));
        expected.push(Record::Memory(Box::new(memory)));
    }
    let Record::Memory(said) = &mut expected[3] else {
        unreachable!("it is a memory")
    };
    let access = Access {
        count: 3,
        last: Some(NOW),
    };
    store
        .touch(&[Touch {
            space: home.clone(),
            id: said.id.clone(),
            access,
        }])
        .expect("the store can be written");
    said.access = access;
    let (identity, file) = ("the folder".to_owned(), random.note_file());
    commit(
        &*store,
        change(Change::PutNoteFolder {
            identity: identity.clone(),
        }),
    );
    commit(&*store, put_note_file(&file));
    expected.extend([
        Record::NoteFolder(identity),
        Record::NoteFile(Box::new(file)),
    ]);
    let mut held = fact("held", ["a", "b", "c"]);
    "A".clone_into(&mut held.subject.spelling);
    (held.valid_from, held.valid_to) = (
        Some(period(1, 2)),
        Some(Period {
            first: NOW,
            last: NOW,
        }),
    );
    commit(&*store, put_fact(&held));
    // Its subject has the first spelling.
    let mut open = fact("open", ["a", "c", "d"]);
    commit(&*store, put_fact(&open));
    "A".clone_into(&mut open.subject.spelling);
    expected.extend([Record::Fact(Box::new(held)), Record::Fact(Box::new(open))]);
    let to = TunnelEnd {
        memory: Some(MemoryId::new("id 4")),
        ..end(None, "x")
    };
    let tied = Tunnel {
        target: to,
        owner: Some("ann".to_owned()),
        is_common: false,
        ..tunnel("tied")
    };
    commit(&*store, put_tunnel(&tied, None));
    commit(&*store, put_setting(None, "name", "value"));
    let source = SourceFile {
        is_pending: true,
        bytes_read: u64::MAX,
        ..random.source_file()
    };
    commit(&*store, put_source_file(&source, None));
    let setting = Record::Setting {
        owner: None,
        name: "name".to_owned(),
        value: "value".to_owned(),
    };
    expected.extend([
        Record::Tunnel(Box::new(tied)),
        setting,
        Record::SourceFile(Box::new(source)),
    ]);
    let entry = cache_entry("ann", "entry");
    let with_vector = CacheEntry {
        vector: Some(vector("test", &[1, 2])),
        ..entry.clone()
    };
    store
        .put_cache_entry(&with_vector, 0)
        .expect("the store can be written");
    let (decision, answer) = (decision("ann", "key"), idempotent_reply(None, "key"));
    store
        .put_decision(&decision, 0)
        .expect("the store can be written");
    let grave = tombstone("forgotten", "a");
    commit(&*store, put_tombstones(std::slice::from_ref(&grave)));
    commit(&*store, put_reply(&answer));
    expected.push(Record::CacheEntry(Box::new(entry)));
    expected.extend([
        Record::Decision(Box::new(decision)),
        Record::IdempotentReply(Box::new(answer)),
        Record::Tombstone(Box::new(grave)),
    ]);
    let expected: Vec<Archived> = expected
        .into_iter()
        .map(|record| Archived {
            space: home.clone(),
            record,
        })
        .collect();
    assert_eq!(archived(&*store), expected);
}

/// Adds a record of each kind to a space, in another order than that of an archive.
fn fill(store: &dyn StoreAndTokens, into: &Space) {
    let commit = |batch: Batch| {
        commit(
            store,
            Batch {
                space: into.clone(),
                ..batch
            },
        );
    };
    for (owner, key) in [(Some("ann"), "b"), (Some("ann"), "a"), (None, "c")] {
        commit(put_reply(&IdempotentReply {
            space: into.clone(),
            ..idempotent_reply(owner, key)
        }));
        commit(put_setting(owner, key, "value"));
        for machine in ["laptop", ""] {
            let file = SourceFile {
                machine: machine.to_owned(),
                ..source_file(owner, key)
            };
            commit(put_source_file(&file, None));
        }
        commit(put_note_file(&note_file(key, None)));
        commit(put_tunnel(
            &Tunnel {
                space: into.clone(),
                ..tunnel(key)
            },
            None,
        ));
        let mut noted = fact(key, [key, "is", "there"]);
        noted.space = into.clone();
        commit(put_fact(&noted));
        commit(put(
            &Memory {
                space: into.clone(),
                ..memory(key)
            },
            Vec::new(),
        ));
        let owner = owner.unwrap_or("bob");
        let entry = CacheEntry {
            space: into.clone(),
            ..cache_entry(owner, key)
        };
        store
            .put_cache_entry(&entry, 0)
            .expect("the store can be written");
        let decided = Decision {
            space: into.clone(),
            ..decision(owner, key)
        };
        store
            .put_decision(&decided, 0)
            .expect("the store can be written");
    }
    commit(change(Change::PutNoteFolder {
        identity: "here".to_owned(),
    }));
}

const FILLED: [&str; 31] = [
    "memory b",
    "memory a",
    "memory c",
    "folder here",
    "file a",
    "file b",
    "file c",
    "fact b",
    "fact a",
    "fact c",
    "tunnel a",
    "tunnel b",
    "tunnel c",
    "setting None c",
    "setting Some(\"ann\") a",
    "setting Some(\"ann\") b",
    "source \"\" None c",
    "source \"\" Some(\"ann\") a",
    "source \"\" Some(\"ann\") b",
    "source \"laptop\" None c",
    "source \"laptop\" Some(\"ann\") a",
    "source \"laptop\" Some(\"ann\") b",
    "entry a",
    "entry b",
    "entry c",
    "decision ann a",
    "decision ann b",
    "decision bob c",
    "answer None c",
    "answer Some(\"ann\") a",
    "answer Some(\"ann\") b",
];

pub(super) fn an_archive_goes_space_by_space_and_kind_by_kind(make: MakeStore<'_>) {
    let store = make();
    assert_eq!(archived(&*store), []);
    let spaces = ["other", "Main", "main"];
    for name in spaces {
        fill(&*store, &space(name));
    }
    let expected: Vec<String> = ["Main", "main", "other"]
        .iter()
        .flat_map(|name| FILLED.map(|key| format!("{name}: {key}")))
        .collect();
    assert_eq!(keys(&archived(&*store)), expected);
    // A changed memory keeps its place.
    let changed = Memory {
        revision: 2,
        updated_at: NOW.plus_seconds(9),
        ..memory("b")
    };
    commit(&*store, replace(&changed, None));
    assert_eq!(keys(&archived(&*store)), expected);
    // A space with only one kind of record is archived, too.
    commit(
        &*store,
        Batch {
            space: space("none"),
            ..put_setting(None, "name", "value")
        },
    );
    assert!(keys(&archived(&*store)).contains(&"none: setting None name".to_owned()));
}

pub(super) fn what_is_gone_is_in_no_archive(make: MakeStore<'_>) {
    let store = make();
    let later = NOW.plus_seconds(1);
    for (id, expires_at) in [
        ("expired", Some(NOW)),
        ("live", Some(later)),
        ("deleted", None),
        ("removed", None),
    ] {
        commit(
            &*store,
            put(
                &Memory {
                    expires_at,
                    ..memory(id)
                },
                Vec::new(),
            ),
        );
    }
    commit(&*store, put(&forgotten(memory("forgotten")), Vec::new()));
    commit(&*store, put(&message("ann", 3), Vec::new()));
    for (number, id) in ["expired", "live", "deleted"].into_iter().enumerate() {
        let named = TunnelEnd {
            memory: Some(MemoryId::new(id)),
            ..end(None, "x")
        };
        let tied = Tunnel {
            source: named.clone(),
            target: named,
            ..tunnel(&number.to_string())
        };
        commit(&*store, put_tunnel(&tied, None));
    }
    let deleted = MemoryId::new("deleted");
    assert_eq!(store.soft_delete(&filter(), Some(&deleted), NOW, 9), Ok(1));
    commit(&*store, delete(&memory("removed")));
    for (key, expires_at) in [("expired", NOW), ("live", later)] {
        store
            .put_cache_entry(
                &CacheEntry {
                    expires_at,
                    ..cache_entry("ann", key)
                },
                0,
            )
            .expect("it is stored");
        let decided = Decision {
            expires_at: Some(expires_at),
            ..decision("ann", key)
        };
        store.put_decision(&decided, 0).expect("it is stored");
        commit(
            &*store,
            put_reply(&IdempotentReply {
                expires_at,
                ..idempotent_reply(None, key)
            }),
        );
    }
    // A reply with the text of an expired memory.
    let memories = vec![MemoryId::new("expired")];
    let created_at = NOW.plus_seconds(-1);
    commit(
        &*store,
        put_reply(&IdempotentReply {
            memories,
            created_at,
            ..idempotent_reply(None, "held")
        }),
    );
    let all = archived(&*store);
    let expected = [
        "memory live",
        "memory forgotten",
        "memory ann-3",
        "tunnel 0",
        "tunnel 1",
        "tunnel 2",
        "entry live",
        "decision ann live",
        "answer None live",
    ];
    assert_eq!(keys(&all), expected.map(|key| format!("main: {key}")));
    let ends = all.iter().filter_map(|archived| match &archived.record {
        Record::Tunnel(tunnel) => {
            Some([&tunnel.source, &tunnel.target].map(|end| end.memory.is_some()))
        }
        _ => None,
    });
    assert_eq!(
        ends.collect::<Vec<_>>(),
        [[false; 2], [true; 2], [false; 2]]
    );
}

pub(super) fn an_archive_is_of_one_moment(make: MakeStore<'_>) {
    let store = make();
    fill(&*store, &Space::default());
    let before = archived(&*store);
    let mut seen = Vec::new();
    let outcome = store.archive(NOW, &mut |archived| {
        let number = seen.len();
        seen.push(archived);
        // Concurrent writes between any two records.
        commit(&*store, put(&memory(&format!("new {number}")), Vec::new()));
        commit(&*store, put_setting(None, "c", &format!("value {number}")));
        commit(
            &*store,
            put_fact(&fact(
                &format!("new {number}"),
                ["x", "y", &number.to_string()],
            )),
        );
        if number == 0 {
            commit(&*store, delete(&memory("c")));
            let space = space("another");
            commit(
                &*store,
                put(
                    &Memory {
                        space,
                        ..memory("elsewhere")
                    },
                    Vec::new(),
                ),
            );
        }
        Ok(())
    });
    assert_eq!((outcome, seen), (Ok(()), before.clone()));
    assert_ne!(archived(&*store), before);
}

pub(super) fn an_error_ends_an_archive(make: MakeStore<'_>) {
    let store = make();
    fill(&*store, &Space::default());
    let all = archived(&*store);
    for stop in [0, 1, 9, all.len() - 1] {
        let mut seen = Vec::new();
        let outcome = store.archive(NOW, &mut |archived| {
            seen.push(archived);
            if seen.len() > stop {
                Err(Error::invalid("stop", "here"))
            } else {
                Ok(())
            }
        });
        assert_eq!(outcome, Err(Error::invalid("stop", "here")));
        assert_eq!(seen, all[..=stop]);
    }
    assert_eq!(archived(&*store), all);
}

fn bring_back(record: &Record, passages: Vec<Passage>) -> Batch {
    change(Change::Import {
        record: Box::new(record.clone()),
        passages,
        since: 0,
        now: NOW,
    })
}

/// Returns one record of each kind with this text.
fn one_of_each(words: &str) -> Vec<Record> {
    let said = |value: &mut String| words.clone_into(value);
    let access = Access {
        count: 4,
        last: Some(NOW),
    };
    let mut filed = Memory {
        access,
        weight: 0.25,
        ..memory("m")
    };
    let mut noted = note_file("a.md", None);
    let mut tied = tunnel("t");
    let mut read = source_file(None, "/x");
    let mut cached = CacheEntry {
        vector: None,
        ..cache_entry("ann", "c")
    };
    let mut decided = decision("ann", "k");
    let mut kept = idempotent_reply(Some("ann"), "k");
    let mut stated = fact("f", ["a", "b", "c"]);
    said(&mut filed.content);
    noted.links = vec![words.to_owned()];
    said(&mut tied.label);
    said(&mut read.root);
    said(&mut cached.response);
    said(&mut decided.value);
    said(&mut kept.answer);
    stated.source = Some(words.to_owned());
    vec![
        Record::Memory(Box::new(filed)),
        Record::NoteFolder(words.to_owned()),
        Record::NoteFile(Box::new(noted)),
        Record::Fact(Box::new(stated)),
        Record::Tunnel(Box::new(tied)),
        Record::Setting {
            owner: Some("ann".to_owned()),
            name: "n".to_owned(),
            value: words.to_owned(),
        },
        Record::SourceFile(Box::new(read)),
        Record::CacheEntry(Box::new(cached)),
        Record::Decision(Box::new(decided)),
        Record::IdempotentReply(Box::new(kept)),
        Record::Tombstone(Box::new(tombstone("t", "m"))),
    ]
}

pub(super) fn what_is_brought_back_takes_the_place_of_nothing(make: MakeStore<'_>) {
    let store = make();
    let records = one_of_each("first");
    for record in &records {
        commit(&*store, bring_back(record, vec![passage("word")]));
    }
    let before: Vec<Record> = archived(&*store)
        .into_iter()
        .map(|archived| archived.record)
        .collect();
    assert_eq!(before, records, "with its returns");
    for record in &one_of_each("second") {
        let refused = store
            .commit(bring_back(record, vec![]))
            .expect_err("it is there");
        assert_eq!(
            refused.code,
            ErrorCode::Conflict,
            "{record:?}: {}",
            refused.message
        );
    }
    let after: Vec<Record> = archived(&*store)
        .into_iter()
        .map(|archived| archived.record)
        .collect();
    assert_eq!(after, records);
    // Data that was wiped since is not imported.
    let since = version_now(&*store);
    store
        .wipe(&Space::default(), "ann", None, None, NOW)
        .expect("the store can be written");
    for record in records
        .into_iter()
        .filter(|record| record.whose().is_some())
    {
        let late = Change::Import {
            record: Box::new(record.clone()),
            passages: vec![],
            since,
            now: NOW,
        };
        assert_eq!(
            store.commit(change(late)).expect_err("it was wiped").code,
            ErrorCode::Conflict,
            "{record:?}"
        );
    }
}

pub(super) fn what_is_brought_back_takes_the_place_of_what_is_gone(make: MakeStore<'_>) {
    let store = make();
    let access = Access {
        count: 4,
        last: Some(NOW),
    };
    let deleted = Memory {
        access,
        content: "as it was".to_owned(),
        ..message("ann", 3)
    };
    commit(
        &*store,
        put(
            &Memory {
                content: "later".to_owned(),
                revision: 7,
                ..deleted.clone()
            },
            vec![passage("late")],
        ),
    );
    let all = filter();
    assert_eq!(store.soft_delete(&all, Some(&deleted.id), NOW, 9), Ok(1));
    let expired = Decision {
        expires_at: Some(NOW),
        value: "old".to_owned(),
        ..decision("ann", "k")
    };
    store
        .put_decision(&expired, 0)
        .expect("the store can be written");
    let decided = Decision {
        created_at: Timestamp::from_microseconds(5),
        ..decision("ann", "k")
    };
    let file = note_file("a.md", None);
    let missing = NoteFile {
        missing_since: Some(NOW),
        links: Vec::new(),
        ..file.clone()
    };
    commit(
        &*store,
        change(Change::PutNoteFile(Box::new(missing.clone()))),
    );
    let still_missing = bring_back(&Record::NoteFile(Box::new(missing)), vec![]);
    assert_eq!(
        store.commit(still_missing).expect_err("that is known").code,
        ErrorCode::Conflict
    );
    let records = [
        Record::Memory(Box::new(deleted.clone())),
        Record::NoteFile(Box::new(file)),
        Record::Decision(Box::new(decided)),
    ];
    for record in &records {
        commit(&*store, bring_back(record, vec![passage("word")]));
    }
    let after: Vec<Record> = archived(&*store)
        .into_iter()
        .map(|archived| archived.record)
        .collect();
    assert_eq!(after, records);
    let swept = sweep_some(&*store, &sweep_of_expired(NOW), 9).expect("the store can be written");
    assert_eq!(
        (
            swept,
            store
                .get(&all.space, &deleted.id)
                .map(|found| found.is_some())
        ),
        (0, Ok(true))
    );
}

pub(super) fn numbers_that_no_ranking_can_reckon_with_are_refused(make: MakeStore<'_>) {
    let store = make();
    let link = |similarity| Link {
        target: MemoryId::new("b"),
        relation: Relation::RelatedTo,
        similarity,
    };
    let links = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e30, -2.0];
    let of_links = links.map(|similarity| Memory {
        links: vec![link(similarity)],
        ..memory("a")
    });
    let weights = [f64::INFINITY, f64::NAN, -0.5, 1.5, 1e308].map(|weight| Memory {
        weight,
        ..memory("a")
    });
    for wrong in of_links.into_iter().chain(weights) {
        let record = Record::Memory(Box::new(wrong.clone()));
        for batch in [put(&wrong, vec![]), bring_back(&record, vec![])] {
            assert_eq!(
                store.commit(batch).expect_err("no number").code,
                ErrorCode::InvalidArgument,
                "{wrong:?}"
            );
        }
    }
    assert_eq!(archived(&*store), []);
}
