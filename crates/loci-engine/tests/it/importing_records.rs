//! Imports the records of an archive.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;

use loci_core::{
    Access, Archived, Batch, CacheEntry, CacheStore, Change, Citation, CitationKind, ContentHash,
    Decision, EnrichmentStatus, Expect, Fact, FileStamp, IdempotentReply, JobStore, Link, Name,
    NoteFile, NoteStore, Period, Record, Relation, SourceFile, Store, Thread, Tunnel, TunnelEnd,
};
use loci_engine::ImportReport;

use super::faulty_store::FaultyStore;
use super::*;

const NOW: Timestamp = Timestamp::from_microseconds(1_000_000);

pub fn archive(store: &dyn Store) -> Vec<Archived> {
    let mut all = Vec::new();
    let mut add = |archived| {
        all.push(archived);
        Ok(())
    };
    store.archive(NOW, &mut add).unwrap();
    all
}

fn in_main(record: Record) -> Archived {
    Archived {
        space: Space::default(),
        record,
    }
}

fn filed(id: &str, content: &str) -> Memory {
    let memory = Memory::new(
        Space::default(),
        MemoryId::new(id),
        content,
        "fact",
        Timestamp::from_microseconds(7),
    );
    Memory {
        origin: "engram".to_owned(),
        visibility: Visibility::Common,
        ..memory
    }
}

fn record(memory: Memory) -> Archived {
    Archived {
        space: memory.space.clone(),
        record: Record::Memory(Box::new(memory)),
    }
}

fn owned(owner: &str, memory: Memory) -> Memory {
    Memory {
        owner: Some(owner.to_owned()),
        visibility: Visibility::Private,
        ..memory
    }
}

fn name(key: &str) -> Name {
    Name {
        key: key.to_owned(),
        spelling: key.to_uppercase(),
    }
}

fn fact_of(id: &str, object: &str) -> Fact {
    Fact {
        space: Space::default(),
        id: id.to_owned(),
        subject: name("hive"),
        predicate: name("keeps"),
        object: name(object),
        valid_from: None,
        valid_to: None,
        source: None,
        author: Some("bob".to_owned()),
        created_at: NOW,
    }
}

fn tunnel(id: &str, memory: Option<&str>) -> Tunnel {
    let end = |section: &str, memory: Option<&str>| TunnelEnd {
        collection: None,
        section: section.to_owned(),
        memory: memory.map(MemoryId::new),
    };
    Tunnel {
        space: Space::default(),
        id: id.to_owned(),
        source: end("a", memory),
        target: end("b", None),
        label: String::new(),
        owner: Some("ann".to_owned()),
        is_common: false,
        created_at: NOW,
        updated_at: NOW,
    }
}

fn cached(owner: &str, id: &str, query: &str) -> CacheEntry {
    CacheEntry {
        space: Space::default(),
        id: MemoryId::new(id),
        owner: owner.to_owned(),
        query: query.to_owned(),
        response: "because".to_owned(),
        vector: None,
        created_at: NOW,
        expires_at: NOW.plus_seconds(60),
    }
}

/// Returns records of every kind in two spaces, in the order of an archive, with times that no call
/// gives.
fn everything_there_is() -> Vec<Archived> {
    let elsewhere = Space::parse("space", "other").unwrap();
    let message = Memory {
        tier: Tier::ShortTerm,
        thread: Some(Thread {
            name: "talk".to_owned(),
            position: 4,
        }),
        access: Access {
            count: 9,
            last: Some(NOW),
        },
        ..owned("ann", filed("message", "the bees swarm"))
    };
    let pending = Memory {
        enrichment: Some(EnrichmentStatus::Pending),
        source: Some(message.id.clone()),
        revision: 12,
        ..owned("ann", filed("pending", "bees"))
    };
    let odd = Memory {
        location: Location {
            collection: Some("\u{202e} ..".to_owned()),
            section: "/".to_owned(),
        },
        weight: 0.1 + 0.2,
        forgotten_at: Some(NOW),
        supersedes: Some(MemoryId::new("gone")),
        created_at: Timestamp::from_microseconds(i64::MIN),
        updated_at: Timestamp::from_microseconds(i64::MAX),
        ..filed("odd \u{feff}", "\u{1}")
    };
    let decision = Decision {
        space: Space::default(),
        owner: "ann".to_owned(),
        key: "editor".to_owned(),
        value: "ed".to_owned(),
        created_at: Timestamp::from_microseconds(3),
        updated_at: NOW,
        expires_at: None,
    };
    let answer = IdempotentReply {
        space: Space::default(),
        owner: None,
        origin: "vault".to_owned(),
        operation: "append".to_owned(),
        key: "k".to_owned(),
        request: ContentHash([3; 32]),
        answer: "done".to_owned(),
        memories: vec![MemoryId::new("pending")],
        created_at: NOW,
        expires_at: NOW.plus_seconds(9),
    };
    let stamp = FileStamp {
        bytes: 3,
        modified_nanoseconds: -5,
    };
    let note_file = NoteFile {
        path: "a/b.md".to_owned(),
        stamp,
        is_settled: true,
        hash: ContentHash([4; 32]),
        memory: Some(MemoryId::new("pending")),
        says_id: false,
        links: vec!["c".to_owned()],
        problem: None,
        missing_since: None,
    };
    let source = SourceFile {
        machine: String::new(),
        collection: None,
        path: "/x".to_owned(),
        root: "/".to_owned(),
        format: "text".to_owned(),
        stamp,
        bytes_read: 3,
        hash: ContentHash([5; 32]),
        parts: 2,
        is_pending: true,
        is_whole: false,
    };
    let setting = Record::Setting {
        owner: Some("ann".to_owned()),
        name: "n".to_owned(),
        value: "v".to_owned(),
    };
    vec![
        record(message),
        record(pending),
        record(odd),
        in_main(Record::NoteFolder("here".to_owned())),
        in_main(Record::NoteFile(Box::new(note_file))),
        in_main(Record::Fact(Box::new(fact_of("t2", "bees")))),
        in_main(Record::Fact(Box::new(fact_of("t1", "wasps")))),
        in_main(Record::Tunnel(Box::new(tunnel("tie", Some("message"))))),
        in_main(setting),
        in_main(Record::SourceFile(Box::new(source))),
        in_main(Record::CacheEntry(Box::new(cached(
            "ann",
            "why",
            "why do bees swarm?",
        )))),
        in_main(Record::Decision(Box::new(decision))),
        in_main(Record::IdempotentReply(Box::new(answer))),
        record(Memory {
            space: elsewhere,
            ..filed("message", "elsewhere")
        }),
    ]
}

fn counted(brought: &ImportReport) -> (u64, u64, Vec<usize>) {
    (
        brought.stored,
        brought.present,
        brought.refused.iter().map(|(number, _)| *number).collect(),
    )
}

#[test]
fn what_was_archived_comes_back_as_it_was() {
    let Bench { engine, store, .. } = bench();
    let all = everything_there_is();
    let mut brought = ImportReport::default();
    engine
        .system(&Caller::local())
        .imports()
        .import_records(&all, &mut brought)
        .unwrap();
    assert_eq!(counted(&brought), (14, 0, vec![]));
    assert_eq!(archive(&*store), all);
    // A second import finds all records.
    engine
        .system(&Caller::local())
        .imports()
        .import_records(&all, &mut brought)
        .unwrap();
    assert_eq!(counted(&brought), (14, 14, vec![]));
    assert_eq!(archive(&*store), all);
    // A pending enrichment is queued again, and cached answers are found by meaning again.
    assert_eq!(store.job_counts().unwrap().waiting, 1);
    let jobs = store
        .lease_jobs(NOW, NOW.plus_seconds(9), "lease", 9)
        .unwrap();
    assert_eq!(
        jobs.iter()
            .map(|job| job.memory.as_str())
            .collect::<Vec<_>>(),
        ["pending"]
    );
    let ann = caller("ann", &WRITER);
    let (nearest, _) = engine
        .system(&ann)
        .conversations()
        .cached_answer("why bees swarm", Some(0.1))
        .unwrap();
    assert_eq!(nearest.unwrap().entry.id, MemoryId::new("why"));
    while engine.background().embed_pending().unwrap() > 0 {}
    assert_eq!(engine.models().pending_embeddings().unwrap(), 0);
    assert_eq!(found(&engine, &ann, "bees"), [MemoryId::new("pending")]);
}

#[test]
fn the_collection_global_is_none() {
    let Bench { engine, store, .. } = bench();
    let mut named = filed("a", "text");
    named.location.collection = Some("global".to_owned());
    engine
        .system(&Caller::local())
        .imports()
        .import_records(&[record(named.clone())], &mut ImportReport::default())
        .unwrap();
    named.location.collection = None;
    assert_eq!(archive(&*store), [record(named)]);
}

/// Archives of older versions file messages, and the memories made from them, under the name of the
/// conversation.
#[test]
fn a_conversation_comes_back_as_no_collection() {
    let thread = Some(Thread {
        name: "talk".to_owned(),
        position: 0,
    });
    let of = |id: &str, collection: &str, memory: Memory| {
        let place = Location {
            collection: Some(collection.to_owned()),
            section: "other".to_owned(),
        };
        owned(
            "ann",
            Memory {
                id: MemoryId::new(id),
                location: place,
                thread: thread.clone(),
                ..memory
            },
        )
    };
    let text = filed("", "text");
    let completed = Memory {
        enrichment: Some(EnrichmentStatus::Completed),
        ..text.clone()
    };
    let rows = [
        (
            of(
                "message",
                "talk",
                Memory {
                    tier: Tier::ShortTerm,
                    ..text.clone()
                },
            ),
            None,
        ),
        (of("kept", "talk", completed.clone()), None),
        (of("moved", "shop", completed), Some("shop")),
        (of("mined", "talk", text), Some("talk")),
    ];
    let Bench { engine, store, .. } = bench();
    let records = rows.clone().map(|(memory, _)| record(memory));
    engine
        .system(&Caller::local())
        .imports()
        .import_records(&records, &mut ImportReport::default())
        .unwrap();
    for (memory, expected) in rows {
        let found = store.get(&memory.space, &memory.id).unwrap().unwrap();
        assert_eq!(
            (found.location.collection.as_deref(), found.thread),
            (expected, memory.thread),
            "{}",
            memory.id
        );
    }
}

/// Returns records with the same ids and keys and other contents.
fn newer() -> Vec<Archived> {
    let mut there = everything_there_is();
    for archived in &mut there {
        match &mut archived.record {
            Record::Memory(memory) => "newer".clone_into(&mut memory.content),
            Record::NoteFolder(identity) => "newer".clone_into(identity),
            Record::NoteFile(file) => file.links.clear(),
            // Another fact with the same triple.
            Record::Fact(fact) => fact.id += " newer",
            Record::Tunnel(tunnel) => "newer".clone_into(&mut tunnel.label),
            Record::Setting { value, .. } => "newer".clone_into(value),
            Record::SourceFile(file) => file.parts = 77,
            Record::CacheEntry(entry) => "newer".clone_into(&mut entry.response),
            Record::Decision(decision) => "newer".clone_into(&mut decision.value),
            Record::IdempotentReply(answer) => "newer".clone_into(&mut answer.answer),
            // It has nothing that changes.
            Record::Tombstone(_) => {}
        }
    }
    there
}

#[test]
fn what_is_there_stays_as_it_is() {
    let Bench { engine, store, .. } = bench();
    let there = newer();
    let mut brought = ImportReport::default();
    engine
        .system(&Caller::local())
        .imports()
        .import_records(&there, &mut brought)
        .unwrap();
    let before = archive(&*store);
    engine
        .system(&Caller::local())
        .imports()
        .import_records(&everything_there_is(), &mut brought)
        .unwrap();
    assert_eq!(counted(&brought), (14, 14, vec![]));
    assert_eq!(archive(&*store), before);
}

/// The state of a missing file is replaced, that of a file with another memory is not.
#[test]
fn a_file_is_the_memory_again_that_it_was() {
    let archived = everything_there_is();
    let file = |change: &dyn Fn(&mut NoteFile)| {
        let file = archived.iter().find_map(|archived| match &archived.record {
            Record::NoteFile(file) => Some((**file).clone()),
            _ => None,
        });
        let mut file = file.unwrap();
        change(&mut file);
        file
    };
    let exported = file(&|_| {});
    let another = |file: &mut NoteFile| file.memory = Some(MemoryId::new("another"));
    let rows = [
        (file(&|file| file.missing_since = Some(NOW)), true),
        (file(&another), false),
        (
            file(&|file| (another(file), file.hash = ContentHash([5; 32])).1),
            false,
        ),
        (file(&|file| (another(file), file.says_id = true).1), false),
    ];
    for (known, gives_way) in rows {
        let Bench { engine, store, .. } = bench();
        let changes = vec![
            put_change(filed("another", "the same")),
            Change::PutNoteFile(Box::new(known.clone())),
        ];
        store.commit(Batch::new(Space::default(), changes)).unwrap();
        let mut brought = ImportReport::default();
        engine
            .system(&Caller::local())
            .imports()
            .import_records(&archived, &mut brought)
            .unwrap();
        assert_eq!(
            counted(&brought),
            (13 + u64::from(gives_way), u64::from(!gives_way), vec![]),
            "{known:?}"
        );
        let others = if gives_way {
            vec![]
        } else {
            vec![known.path.clone()]
        };
        assert_eq!(brought.others, others, "{known:?}");
        assert_eq!(
            store.note_files(&Space::default()).unwrap(),
            [if gives_way { exported.clone() } else { known }]
        );
        assert!(
            store
                .get(&Space::default(), &MemoryId::new("another"))
                .unwrap()
                .is_some()
        );
        engine
            .system(&Caller::local())
            .imports()
            .import_records(&archived, &mut brought)
            .unwrap();
        assert_eq!(
            brought.stored,
            13 + u64::from(gives_way),
            "a second time everything is there"
        );
    }
}

#[test]
fn what_cannot_be_stored_is_refused_and_the_rest_goes_on() {
    let Bench { engine, store, .. } = bench();
    let local = Caller::local();
    let thread = Some(Thread {
        name: "talk".to_owned(),
        position: 4,
    });
    let at_one_place = |id: &str| {
        record(Memory {
            tier: Tier::ShortTerm,
            thread: thread.clone(),
            ..owned("ann", filed(id, "hello"))
        })
    };
    store
        .commit(Batch::new(
            Space::default(),
            vec![put_change(filed("deleted", "x"))],
        ))
        .unwrap();
    let all = loci_core::Filter::of(Space::default(), local.reader(), NOW);
    assert_eq!(store.soft_delete(&all, None, NOW, 9), Ok(1));
    let mut records: Vec<Archived> = (0..40)
        .map(|number| record(filed(&number.to_string(), "text")))
        .collect();
    records.insert(11, record(filed("deleted", "as it was")));
    records.insert(20, at_one_place("first"));
    records.insert(21, at_one_place("second"));
    // One record appears twice, and one tunnel leads to a missing memory.
    records.push(record(filed("3", "text")));
    records.push(in_main(Record::Tunnel(Box::new(tunnel(
        "tie",
        Some("unheard of"),
    )))));
    records.push(in_main(Record::Fact(Box::new(fact_of("same id", "bees")))));
    records.push(in_main(Record::Fact(Box::new(fact_of("same id", "wasps")))));
    records.push(in_main(Record::CacheEntry(Box::new(cached(
        "bob", "taken", "q",
    )))));
    records.push(in_main(Record::CacheEntry(Box::new(cached(
        "ann", "taken", "q",
    )))));
    let mut brought = ImportReport::default();
    engine
        .system(&local)
        .imports()
        .import_records(&records, &mut brought)
        .unwrap();
    assert_eq!(counted(&brought), (45, 1, vec![21, 46, 48]), "{brought:?}");
    let ids = archive(&*store)
        .into_iter()
        .filter_map(|archived| match archived.record {
            Record::Memory(memory) => Some(memory.id.as_str().to_owned()),
            _ => None,
        });
    let numbers = |range: std::ops::Range<u32>| range.map(|number| number.to_string());
    let filed: Vec<String> = numbers(0..11)
        .chain(["deleted".to_owned()])
        .chain(numbers(11..19))
        .chain(["first".to_owned()])
        .collect();
    assert_eq!(
        ids.take(21).collect::<Vec<_>>(),
        filed,
        "as they were filed"
    );
}

/// Returns each record with one field that no call may write, and the expected message.
fn beyond_the_limits() -> Vec<(Archived, &'static str)> {
    let long = |length: usize| "a".repeat(length);
    let memory = |change: fn(&mut Memory)| {
        let mut memory = filed("m", "text");
        change(&mut memory);
        record(memory)
    };
    let citation = |excerpt: usize| Citation {
        kind: CitationKind::File,
        reference: "a.rs".to_owned(),
        locator: None,
        pin: None,
        excerpt: Some("a".repeat(excerpt)),
    };
    let said = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
    let mut all = vec![
        (memory(|it| it.id = MemoryId::new("")), "id"),
        (memory(|it| it.id = MemoryId::new("a\u{1b}")), "id"),
        (
            memory(|it| it.id = MemoryId::new("a".repeat(limits::ID_BYTES_MAX + 1))),
            "id",
        ),
        (memory(|it| it.content = "a\0b".into()), "content"),
        (memory(|it| it.content = " ".into()), "content"),
        (
            memory(|it| it.content = "a".repeat(limits::CONTENT_BYTES_MAX + 1)),
            "content",
        ),
        (memory(|it| it.title = Some("a\u{7}".to_owned())), "title"),
        (
            memory(|it| it.title = Some("a".repeat(limits::NAME_CHARACTERS_MAX + 1))),
            "title",
        ),
        (
            memory(|it| it.location.collection = Some("\n".to_owned())),
            "collection",
        ),
        (memory(|it| it.location.section = String::new()), "section"),
        (memory(|it| it.kind = "\u{9b}31m".into()), "kind"),
        (
            memory(|it| it.summary = Some("a".repeat(limits::REFERENCE_BYTES_MAX + 1))),
            "summary",
        ),
        (
            memory(|it| it.tags = vec!["a".to_owned(); limits::TAGS_MAX + 1]),
            "tags",
        ),
        (
            memory(|it| it.tags = vec!["a".to_owned(), String::new()]),
            "tags.1",
        ),
        (
            memory(|it| {
                it.thread = Some(Thread {
                    name: String::new(),
                    position: 1,
                });
            }),
            "thread",
        ),
        (memory(|it| it.source = Some(MemoryId::new("\0"))), "source"),
        (
            memory(|it| it.supersedes = Some(MemoryId::new(" "))),
            "supersedes",
        ),
        (memory(|it| it.origin = "\r".into()), "origin"),
        (memory(|it| it.owner = Some(String::new())), "owner"),
        (memory(|it| it.actor = Some("a".repeat(9_999))), "actor"),
        (
            memory(|it| it.updated_by = Some("\0".to_owned())),
            "updated_by",
        ),
        (
            record(Memory {
                citations: vec![citation(limits::EXCERPT_BYTES_MAX + 1)],
                ..filed("m", "x")
            }),
            "citations.0.excerpt",
        ),
        (
            record(Memory {
                citations: vec![citation(1); limits::CITATIONS_MAX + 1],
                ..filed("m", "x")
            }),
            "citations",
        ),
        (
            record(Memory {
                citations: vec![citation(1)],
                ..filed("m", &long(limits::CITED_CONTENT_BYTES_MAX + 1))
            }),
            "content",
        ),
        (
            record(Memory {
                attributes: said("\t", "x"),
                ..filed("m", "x")
            }),
            "attributes",
        ),
        (
            record(Memory {
                attributes: said("room", "\0"),
                ..filed("m", "x")
            }),
            "attributes.room",
        ),
        (
            record(Memory {
                links: vec![Link {
                    target: MemoryId::new(""),
                    relation: Relation::RelatedTo,
                    similarity: 0.5,
                }],
                ..filed("m", "x")
            }),
            "links",
        ),
        (in_main(Record::NoteFolder(String::new())), "identity"),
        (
            in_main(Record::Setting {
                owner: None,
                name: "\n".to_owned(),
                value: String::new(),
            }),
            "name",
        ),
        (
            in_main(Record::Setting {
                owner: None,
                name: "n".to_owned(),
                value: "\0".to_owned(),
            }),
            "value",
        ),
    ];
    for archived in everything_there_is() {
        let mut change = |change: &dyn Fn(&mut Record), argument| {
            let mut changed = archived.clone();
            change(&mut changed.record);
            all.push((changed, argument));
        };
        macro_rules! beyond {
            ($kind:ident, $($field:ident $(. $part:ident)* = $value:expr => $argument:literal),+ $(,)?) => {
                if let Record::$kind(_) = &archived.record {
                    $(change(
                        &|record| if let Record::$kind(it) = record { it.$field $(. $part)* = $value },
                        $argument,
                    );)+
                }
            };
        }
        beyond!(NoteFile, path = String::new() => "path", memory = Some(MemoryId::new("")) => "memory");
        beyond!(NoteFile, links = vec!["\0".to_owned()] => "links");
        beyond!(Fact, id = String::new() => "id", source = Some(long(9_999)) => "source");
        beyond!(Fact, subject.spelling = long(513) => "subject", object.key = "\u{1}".to_owned() => "object");
        beyond!(Tunnel, id = "\n".to_owned() => "id", target.section = String::new() => "target");
        beyond!(Tunnel, source.memory = Some(MemoryId::new("")) => "source", label = long(9_999) => "label");
        beyond!(SourceFile, machine = long(257) => "machine");
        beyond!(SourceFile, path = String::new() => "path", root = "\0".to_owned() => "root");
        beyond!(SourceFile, collection = Some(long(257)) => "collection", format = String::new() => "format");
        beyond!(CacheEntry, id = MemoryId::new("") => "id", query = long(limits::QUERY_BYTES_MAX + 1) => "query");
        beyond!(CacheEntry, response = long(limits::CONTENT_BYTES_MAX + 1) => "response", owner = String::new() => "owner");
        beyond!(Decision, key = long(257) => "key", value = "\0".to_owned() => "value", owner = String::new() => "owner");
        beyond!(IdempotentReply, key = String::new() => "key", answer = "\0".to_owned() => "answer");
        beyond!(IdempotentReply, memories = vec![MemoryId::new("")] => "memories", operation = String::new() => "operation");
    }
    all
}

#[test]
fn what_no_call_may_write_is_refused_and_the_rest_comes_back() {
    let Bench { engine, store, .. } = bench();
    let (mut records, named): (Vec<Archived>, Vec<&str>) = beyond_the_limits().into_iter().unzip();
    let refused: Vec<usize> = (0..records.len()).collect();
    records.extend(everything_there_is());
    let mut brought = ImportReport::default();
    engine
        .system(&Caller::local())
        .imports()
        .import_records(&records, &mut brought)
        .unwrap();
    for ((_, error), (named, archived)) in brought.refused.iter().zip(named.iter().zip(&records)) {
        let is_limit = matches!(error.code, ErrorCode::InvalidArgument | ErrorCode::TooLarge);
        assert!(
            is_limit && error.argument.as_deref() == Some(*named),
            "{named}: {error:?} of {:?}",
            archived.record
        );
    }
    assert_eq!(counted(&brought), (14, 0, refused));
    assert_eq!(archive(&*store), everything_there_is());
}

/// Imports of older versions took any id.
#[test]
fn a_memory_whose_id_is_beyond_the_limits_can_be_named_and_forgotten() {
    let Bench { engine, store, .. } = bench();
    let local = Caller::local();
    let ids = ["", " ", "a\u{1}", "bell \u{7}", &"long ".repeat(200)];
    let puts = ids.iter().map(|id| put_change(filed(id, "text"))).collect();
    store.commit(Batch::new(Space::default(), puts)).unwrap();
    for id in ids {
        let blind = caller("ann", &[Scope::Write]);
        assert_eq!(
            engine
                .system(&blind)
                .memories()
                .memory_id("id", id)
                .unwrap_err()
                .code,
            ErrorCode::InvalidArgument,
            "{id:?}"
        );
        let named = engine
            .system(&local)
            .memories()
            .memory_id("id", id)
            .unwrap();
        assert_eq!(named.as_str(), id);
        engine.system(&local).memories().forget(&named).unwrap();
        assert_eq!(
            engine
                .system(&local)
                .memories()
                .memory_id("id", id)
                .unwrap_err()
                .code,
            ErrorCode::InvalidArgument,
            "{id:?}"
        );
    }
    assert_eq!(engine.size().unwrap().memories, 0);
}

fn put_change(memory: Memory) -> Change {
    Change::Put {
        memory: Box::new(memory),
        passages: Some(Vec::new()),
        expect: Expect::Absent,
    }
}

#[test]
fn nobody_else_brings_anything_back() {
    let engine = engine();
    let records = [record(filed("a", "text"))];
    for caller in [
        caller("local", &WRITER),
        caller("root", &[Scope::Admin]),
        anonymous(),
    ] {
        let refused = engine
            .system(&caller)
            .imports()
            .import_records(&records, &mut ImportReport::default())
            .unwrap_err();
        assert_eq!(refused.code, ErrorCode::Forbidden, "{caller:?}");
    }
    let too_many = vec![records[0].clone(); limits::IMPORT_MEMORIES_MAX + 1];
    let refused = engine
        .system(&Caller::local())
        .imports()
        .import_records(&too_many, &mut ImportReport::default())
        .unwrap_err();
    assert_eq!(
        (refused.code, engine.size().unwrap().memories),
        (ErrorCode::TooLarge, 0)
    );
}

/// A wipe during the whole import, not only during one call.
#[test]
fn a_wipe_between_is_not_undone() {
    let Bench { engine, store, .. } = bench();
    let local = Caller::local();
    let mut brought = ImportReport::default();
    engine
        .system(&local)
        .imports()
        .import_records(&[record(owned("ann", filed("before", "x")))], &mut brought)
        .unwrap();
    // Of one tool set: records of the others are imported.
    store
        .wipe(&Space::default(), "bob", Some("mememory"), None, NOW)
        .unwrap();
    store
        .wipe(&Space::default(), "ann", None, None, NOW)
        .unwrap();
    let mut records = everything_there_is();
    records.push(record(owned("bob", filed("of bob", "x"))));
    let of_mememory = Memory {
        origin: "mememory".to_owned(),
        ..owned("bob", filed("of bob, too", "x"))
    };
    records.push(record(of_mememory));
    brought.stored = 0;
    engine
        .system(&local)
        .imports()
        .import_records(&records, &mut brought)
        .unwrap();
    // Ann's message and memory, tunnel, setting, cached answer and decision, and Bob's.
    assert_eq!(
        counted(&brought),
        (9, 0, vec![0, 1, 7, 8, 10, 11, 15]),
        "{brought:?}"
    );
    assert!(!format!("{:?}", archive(&*store)).contains("ann\""));
    // A caller that starts a new import after the wipe wants these records.
    let mut anew = ImportReport::default();
    engine
        .system(&local)
        .imports()
        .import_records(&records, &mut anew)
        .unwrap();
    // With the reply that contained Ann's text, and was deleted at once.
    assert_eq!(counted(&anew), (8, 8, vec![]));
}

#[test]
fn a_store_that_is_away_stops_it_and_a_second_time_goes_on() {
    let store = FaultyStore::new(Arc::new(NaiveStore::new()));
    let clock = Arc::new(FixedClock::new(NOW));
    let engine = Engine::new(
        store.clone(),
        Arc::new(HashingEmbedder::default()),
        clock,
        SearchMode::Words,
    );
    let is_away = Arc::new(AtomicBool::new(true));
    let (away, commits) = (is_away.clone(), AtomicUsize::new(0));
    store.before(move |method| {
        let fails = method == "commit"
            && commits.fetch_add(1, Ordering::SeqCst) > 0
            && away.load(Ordering::SeqCst);
        if fails {
            Err(Error::unavailable("the disk is full"))
        } else {
            Ok(())
        }
    });
    let all = everything_there_is();
    let mut brought = ImportReport::default();
    let error = engine
        .system(&Caller::local())
        .imports()
        .import_records(&all, &mut brought)
        .unwrap_err();
    assert_eq!(
        (error.code, counted(&brought)),
        (ErrorCode::Unavailable, (13, 0, vec![]))
    );
    is_away.store(false, Ordering::SeqCst);
    let mut again = ImportReport::default();
    engine
        .system(&Caller::local())
        .imports()
        .import_records(&all, &mut again)
        .unwrap();
    assert_eq!(counted(&again), (1, 13, vec![]));
    assert_eq!(archive(&*store.inner), all);
    let queries = store.cached_queries(&Space::default(), "ann", NOW).unwrap();
    assert_eq!(queries.len(), 1);
}

/// A write that was acknowledged between the check of existing records and the commit.
#[test]
fn what_is_written_meanwhile_stays_as_it_is() {
    let store = FaultyStore::new(Arc::new(NaiveStore::new()));
    let clock = Arc::new(FixedClock::new(NOW));
    let engine = Engine::new(
        store.clone(),
        Arc::new(HashingEmbedder::default()),
        clock.clone(),
        SearchMode::Words,
    );
    let another = Engine::new(
        store.inner.clone(),
        Arc::new(HashingEmbedder::default()),
        clock,
        SearchMode::Words,
    );
    let was_written = AtomicBool::new(false);
    store.before(move |method| {
        if method == "commit" && !was_written.swap(true, Ordering::SeqCst) {
            another
                .system(&Caller::local())
                .imports()
                .import_records(&newer(), &mut ImportReport::default())?;
        }
        Ok(())
    });
    let mut brought = ImportReport::default();
    engine
        .system(&Caller::local())
        .imports()
        .import_records(&everything_there_is(), &mut brought)
        .unwrap();
    assert_eq!(counted(&brought), (0, 14, vec![]), "{brought:?}");
    assert_eq!(archive(&*store), newer());
}

/// Stores of older versions may contain a past fact twice, and ending one may make two equal.
#[test]
fn a_fact_that_is_there_twice_comes_in_once() {
    let day = |number: i64| Period {
        first: NOW.plus_seconds(number * 86_400),
        last: NOW.plus_seconds(number * 86_400 + 9),
    };
    let over = |id: &str| Fact {
        valid_from: Some(day(1)),
        valid_to: Some(day(2)),
        ..fact_of(id, "bees")
    };
    let Bench {
        engine: former,
        store,
        ..
    } = bench();
    let put = |fact: Fact| Change::PutFact(Box::new(fact));
    let ends = Change::EndFact {
        id: "open".to_owned(),
        before: None,
        valid_to: Some(day(2)),
    };
    let open = Fact {
        valid_to: None,
        ..over("open")
    };
    let others =
        (0..20).map(|number| put(fact_of(&format!("other {number}"), &number.to_string())));
    let changes = [put(over("first"))]
        .into_iter()
        .chain(others)
        .chain([put(open), ends])
        .collect();
    store.commit(Batch::new(Space::default(), changes)).unwrap();
    let all = archive(&*store);
    assert_eq!(all.len(), 22);
    let said = |store: &NaiveStore| {
        let facts = archive(store)
            .into_iter()
            .filter_map(|archived| match archived.record {
                Record::Fact(fact) => {
                    Some((fact.object.key.clone(), fact.valid_from, fact.valid_to))
                }
                _ => None,
            });
        facts.collect::<Vec<_>>()
    };
    let mut expected = said(&store);
    expected.dedup();
    // In one batch, in which neither exists yet, and one by one.
    for at_once in [all.len(), 1] {
        let Bench { engine, store, .. } = bench();
        let mut brought = ImportReport::default();
        for part in all.chunks(at_once) {
            engine
                .system(&Caller::local())
                .imports()
                .import_records(part, &mut brought)
                .unwrap();
        }
        assert_eq!(counted(&brought), (21, 1, vec![]), "{brought:?}");
        assert_eq!(said(&store).len(), 21);
        assert!(expected.iter().all(|fact| said(&store).contains(fact)));
    }
    let mut brought = ImportReport::default();
    former
        .system(&Caller::local())
        .imports()
        .import_records(&all, &mut brought)
        .unwrap();
    assert_eq!(counted(&brought), (0, 22, vec![]));
}

/// Counts its calls, and never answers.
struct Away(Arc<HashingEmbedder>, AtomicUsize);

impl Embedder for Away {
    fn model(&self) -> &ModelId {
        self.0.model()
    }

    fn embed(&self, _: &[&str]) -> Result<Vec<Vec<f32>>> {
        Err(Error::unavailable("the model is away"))
    }

    fn embed_query(&self, _: &str) -> Result<Vec<f32>> {
        self.1.fetch_add(1, Ordering::SeqCst);
        Err(Error::unavailable("the model is away"))
    }
}

#[test]
fn a_model_that_is_away_is_asked_once() {
    let questions: Vec<Archived> = (0..40)
        .map(|number| {
            in_main(Record::CacheEntry(Box::new(cached(
                "ann",
                &number.to_string(),
                &format!("why {number}?"),
            ))))
        })
        .collect();
    for (by_words_alone, asked) in [(false, 1), (true, 0)] {
        let (store, clock) = (Arc::new(NaiveStore::new()), Arc::new(FixedClock::new(NOW)));
        let away = Arc::new(Away(Arc::default(), AtomicUsize::new(0)));
        let engine = Engine::new(store, away.clone(), clock, SearchMode::Hybrid);
        let mut brought = ImportReport::default();
        brought.by_words_alone = by_words_alone;
        for part in questions.chunks(9) {
            engine
                .system(&Caller::local())
                .imports()
                .import_records(part, &mut brought)
                .unwrap();
        }
        assert_eq!(
            (counted(&brought), away.1.load(Ordering::SeqCst)),
            ((40, 0, vec![]), asked)
        );
        assert!(brought.by_words_alone);
        let (found, _) = engine
            .system(&caller("ann", &WRITER))
            .conversations()
            .cached_answer("why 7?", None)
            .unwrap();
        assert_eq!(found.unwrap().entry.id, MemoryId::new("7"));
    }
}
