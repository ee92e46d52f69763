//! A database with something in every table and pages of every kind.
use loci_core::Maintenance;

use std::collections::BTreeMap;
use std::path::Path;

use loci_core::{
    Access, AccessIncrement, ArchiveStore, Archived, AuditEntry, AuditFailure, AuditStore, Batch,
    CacheEntry, CacheStore, Change, Citation, CitationKind, ContentHash, Decision, DecisionStore,
    Delivery, EnrichmentStatus, ErrorCode, Expect, Fact, FileProblem, FileProblemKind, FileStamp,
    IdempotentReply, Link, Location, Memory, MemoryId, ModelId, Name, NoteFile, Passage, Period,
    Record, Relation, Scope, Scopes, SourceFile, Space, Store, Term, Thread, Tier, Timestamp,
    Token, TokenStore, Tunnel, TunnelEnd, Vector, Visibility,
};
use loci_store_sqlite::{Options, SqliteStore};
use loci_text::passages::passages;
use loci_text::{dates, document};

pub const NOW: Timestamp = Timestamp::from_microseconds(1_700_000_000_000_000);
const MEMORIES: usize = 180;
const OWNERS: [Option<&str>; 3] = [None, Some("ann"), Some("bob")];
const WORDS: [&str; 8] = [
    "harbour", "lantern", "meadow", "quartz", "river", "saddle", "thimble", "willow",
];

pub fn open(folder: &Path) -> SqliteStore {
    SqliteStore::open(folder, Options::default()).unwrap()
}

/// Everything that a store hands out.
pub fn archive(store: &SqliteStore) -> loci_core::Result<Vec<Archived>> {
    let mut all = Vec::new();
    store.archive(NOW, &mut |archived| {
        all.push(archived);
        Ok(())
    })?;
    Ok(all)
}

fn space(number: usize) -> Space {
    Space::parse("space", if number % 9 == 8 { "other" } else { "main" }).unwrap()
}

fn text(number: usize) -> String {
    // One is in many pages; of long words, so that it has few.
    if number == 40 {
        return (0..110)
            .map(|word| WORDS[word % 8].repeat(150))
            .collect::<Vec<_>>()
            .join(" ");
    }
    let words = if number % 23 == 5 {
        600
    } else {
        6 + number % 30
    };
    let words = (0..words).map(|word| {
        format!(
            "{}{}",
            WORDS[(word * 7 + number) % WORDS.len()],
            word % (number + 2)
        )
    });
    format!("Number {number}: {}", words.collect::<Vec<_>>().join(" "))
}

pub fn memory(number: usize) -> Memory {
    let owner = OWNERS[number % 3].map(str::to_owned);
    let is_message = number % 7 == 1 && owner.is_some();
    let id = |number: usize| MemoryId::new(format!("m-{number}"));
    let is_pending = number % 11 == 3 && !is_message && owner.is_some();
    let citation = Citation {
        kind: CitationKind::ALL[number % CitationKind::ALL.len()],
        reference: format!("src/part{number}.rs"),
        locator: Some("10-20".to_owned()),
        pin: None,
        excerpt: Some("fn main()".to_owned()),
    };
    Memory {
        title: (number.is_multiple_of(5)).then(|| format!("Title {number}")),
        location: Location {
            collection: (!number.is_multiple_of(4)).then(|| format!("project {}", number % 4)),
            section: ["fact", "notes", "room"][number % 3].to_owned(),
        },
        tags: if number.is_multiple_of(6) {
            vec!["one".to_owned(), format!("tag\"{number}")]
        } else {
            Vec::new()
        },
        weight: [1.0, 0.0, 0.3, 0.85][number % 4],
        tier: match number % 13 {
            _ if is_message => Tier::ShortTerm,
            4 => Tier::Unlisted,
            _ => Tier::LongTerm,
        },
        thread: is_message.then(|| Thread {
            name: "talk".to_owned(),
            position: number as u64,
        }),
        source: is_pending.then(|| id(number - 1)),
        enrichment: is_pending.then_some(EnrichmentStatus::Pending),
        links: if number % 8 == 2 {
            vec![Link {
                target: id(number / 2),
                relation: Relation::RelatedTo,
                similarity: 0.75,
            }]
        } else {
            Vec::new()
        },
        citations: if number % 10 == 7 {
            vec![citation]
        } else {
            Vec::new()
        },
        attributes: if number % 9 == 4 {
            BTreeMap::from([("kind\n".to_owned(), format!("naïve {number}"))])
        } else {
            BTreeMap::new()
        },
        delivery: if number.is_multiple_of(17) {
            Delivery::Bootstrap
        } else {
            Delivery::OnDemand
        },
        origin: ["vault", "mememory", "memory-mcp", "engram", "mempalace"][number % 5].to_owned(),
        actor: (number.is_multiple_of(12)).then(|| "somebody".to_owned()),
        visibility: if owner.is_none() {
            Visibility::Common
        } else {
            [Visibility::Private, Visibility::Shared][number % 2]
        },
        owner,
        supersedes: (number % 14 == 9).then(|| id(number - 4)),
        expires_at: (number % 15 == 6).then(|| {
            NOW.plus_seconds(if number.is_multiple_of(2) {
                3_600
            } else {
                -3_600
            })
        }),
        forgotten_at: (number % 19 == 11).then_some(NOW),
        updated_at: NOW.plus_seconds(number as i64),
        ..Memory::new(space(number), id(number), text(number), "fact", NOW)
    }
}

fn vector(model: &str, seed: usize) -> Vector {
    let values = (0..32)
        .map(|place| ((seed * 31 + place * 17) % 251) as u8 as i8)
        .collect();
    Vector {
        model: ModelId::new(model),
        scale: 1.0 / 127.0,
        values,
    }
}

/// The passages of a memory as the engine makes them.
pub fn passages_of(memory: &Memory, seed: usize) -> Vec<Passage> {
    let (metadata, day) = (
        memory.metadata(),
        dates::day(memory.updated_at.microseconds()),
    );
    let passage = |(place, range): (usize, std::ops::Range<usize>)| {
        let terms = document::terms(&memory.content, range.clone(), &metadata, day);
        let terms = terms
            .into_iter()
            .map(|(text, count)| Term { text, count })
            .collect();
        Passage {
            range,
            terms,
            vector: (!seed.is_multiple_of(4)).then(|| vector("first", seed + place)),
        }
    };
    passages(&memory.content)
        .into_iter()
        .enumerate()
        .map(passage)
        .collect()
}

pub fn put(memory: Memory, seed: usize) -> Batch {
    let (passages, expect) = (Some(passages_of(&memory, seed)), Expect::Absent);
    Batch::new(
        memory.space.clone(),
        vec![Change::Put {
            memory: Box::new(memory),
            passages,
            expect,
        }],
    )
}

fn hash(number: usize) -> ContentHash {
    ContentHash([number as u8; 32])
}

fn note_file(number: usize) -> Change {
    let problem = FileProblem {
        kind: FileProblemKind::ALL[0],
        message: "it is too long".to_owned(),
    };
    Change::PutNoteFile(Box::new(NoteFile {
        path: format!("folder {}/a note with a name {number}.md", number % 5),
        stamp: FileStamp {
            bytes: number as u64,
            modified_nanoseconds: -(number as i64),
        },
        is_settled: number.is_multiple_of(2),
        hash: hash(number),
        memory: (!number.is_multiple_of(7)).then(|| MemoryId::new(format!("m-{number}"))),
        says_id: number.is_multiple_of(3),
        links: vec!["another note".to_owned()],
        problem: (number % 20 == 19).then_some(problem),
        missing_since: None,
    }))
}

fn name(key: &str) -> Name {
    Name {
        key: key.to_lowercase(),
        spelling: key.to_owned(),
    }
}

fn fact(number: usize, space: &Space) -> Change {
    let period = Period {
        first: NOW,
        last: NOW.plus_seconds(number as i64),
    };
    Change::PutFact(Box::new(Fact {
        space: space.clone(),
        id: format!("fact-{number}"),
        subject: name(&format!("Person {}", number % 50)),
        predicate: name(["Knows", "Likes"][number % 2]),
        object: name(&format!("Thing {number}")),
        valid_from: (number.is_multiple_of(2)).then_some(period),
        valid_to: (number.is_multiple_of(3)).then_some(period),
        source: (number.is_multiple_of(4)).then(|| "said".to_owned()),
        author: (!number.is_multiple_of(5)).then(|| format!("author {}", number % 7)),
        created_at: NOW.plus_seconds(number as i64),
    }))
}

fn tunnel(number: usize, space: &Space) -> Change {
    let end = |collection: &str, memory: Option<usize>| TunnelEnd {
        collection: Some(collection.to_owned()),
        section: "room".to_owned(),
        memory: memory.map(|number| MemoryId::new(format!("m-{number}"))),
    };
    let tunnel = Tunnel {
        space: space.clone(),
        id: format!("tunnel-{number}"),
        source: end(
            "project 1",
            (number.is_multiple_of(2)).then_some(9 * number),
        ),
        target: end("project 2", None),
        label: format!("the label of {number}"),
        owner: OWNERS[number % 3].map(str::to_owned),
        is_common: number.is_multiple_of(2),
        created_at: NOW,
        updated_at: NOW,
    };
    Change::PutTunnel {
        tunnel: Box::new(tunnel),
        expect: None,
    }
}

fn source_file(number: usize) -> Change {
    let file = SourceFile {
        machine: ["", "laptop"][number % 2].to_owned(),
        collection: (!number.is_multiple_of(3)).then(|| "project 1".to_owned()),
        path: format!("/projects/one/src/file{number}.rs"),
        root: "/projects/one".to_owned(),
        format: "text".to_owned(),
        stamp: FileStamp {
            bytes: 1 << (number % 40),
            modified_nanoseconds: 7,
        },
        bytes_read: 9,
        hash: hash(number),
        parts: 2,
        is_pending: number.is_multiple_of(8),
        is_whole: true,
    };
    Change::PutSourceFile {
        file: Box::new(file),
        expect: None,
    }
}

fn kept_answer(number: usize, space: &Space) -> Change {
    let long = if number == 7 { 9_000 } else { 40 };
    Change::PutIdempotentReply(Box::new(IdempotentReply {
        space: space.clone(),
        owner: OWNERS[number % 3].map(str::to_owned),
        origin: "vault".to_owned(),
        operation: "append".to_owned(),
        key: format!("key {number}"),
        request: hash(number),
        answer: "answer ".repeat(long),
        memories: (number % 4 == 1)
            .then(|| MemoryId::new(format!("m-{number}")))
            .into_iter()
            .collect(),
        created_at: NOW,
        expires_at: NOW.plus_seconds(if number.is_multiple_of(5) { -1 } else { 3_600 }),
    }))
}

/// Stores the other kinds of records, with this number.
pub fn others(store: &SqliteStore, number: usize) {
    let space = space(number);
    let (id, owner) = (
        MemoryId::new(format!("e-{number}")),
        OWNERS[1 + number % 2].unwrap().to_owned(),
    );
    let mut changes = vec![
        fact(number, &space),
        note_file(number),
        source_file(number),
        kept_answer(number, &space),
    ];
    let (setting, value) = (format!("setting {number}"), "{\"a\": 1}".to_owned());
    changes.push(Change::PutSetting {
        owner: OWNERS[number % 3].map(str::to_owned),
        name: setting,
        value,
    });
    if number.is_multiple_of(5) && space == Space::default() {
        changes.push(tunnel(number / 5, &space));
    }
    store.commit(Batch::new(space.clone(), changes)).unwrap();
    if number.is_multiple_of(2) {
        let (query, response) = (
            format!("query {number}"),
            format!("response {number} ").repeat(20),
        );
        let expires_at = NOW.plus_seconds(if number.is_multiple_of(10) { -1 } else { 60 });
        let vector = (number.is_multiple_of(4)).then(|| vector("first", number));
        let entry = CacheEntry {
            space,
            id,
            owner,
            query,
            response,
            vector,
            created_at: NOW,
            expires_at,
        };
        store.put_cache_entry(&entry, u64::MAX >> 1).unwrap();
    } else {
        let (key, value) = (format!("key {number}"), format!("value {number}"));
        let expires_at = (number.is_multiple_of(3)).then(|| NOW.plus_seconds(5));
        let decision = Decision {
            space,
            owner,
            key,
            value,
            created_at: NOW,
            updated_at: NOW,
            expires_at,
        };
        store.put_decision(&decision, u64::MAX >> 1).unwrap();
    }
}

/// Stores tokens and entries of the audit log, which are in no archive.
fn records_of_use(store: &SqliteStore) {
    for number in 0..60_usize {
        let failure = AuditFailure {
            code: ErrorCode::NotFound,
            message: Some("there is none".to_owned()),
        };
        let entry = AuditEntry {
            space: space(number),
            at: NOW,
            user: OWNERS[number % 3].map(str::to_owned),
            caller: None,
            client: Some("codex".to_owned()),
            session: Some("a session".to_owned()),
            dialect: "vault".to_owned(),
            tool: "recall".to_owned(),
            operation: "memory:read".to_owned(),
            duration_microseconds: 12,
            query: Some("harbour".to_owned()),
            results: Some(3),
            reply_tokens: Some(40),
            failure: (number.is_multiple_of(6)).then_some(failure),
            records: Vec::new(),
            further_records: 0,
            further_stored: 0,
        };
        store.append_audit(&[entry]).unwrap();
    }
    for number in 0..4_u8 {
        let (id, subject, scopes) = (
            format!("token-{number}"),
            "ann".to_owned(),
            Scopes::of(&[Scope::Read]),
        );
        let (space, expires_at, revoked_at) = (Space::default(), Some(NOW), None);
        let token = Token {
            id,
            hash: [number; 32],
            space,
            subject,
            scopes,
            created_at: NOW,
            expires_at,
            revoked_at,
            grant: None,
        };
        store.add_token(&token).unwrap();
    }
}

/// Fills the folder's database, and gives what its store hands out.
pub fn fill(folder: &Path) -> Vec<Archived> {
    let store = open(folder);
    for number in 0..MEMORIES {
        let mut batch = put(memory(number), number);
        if number % 11 == 3 && !number.is_multiple_of(3) && number % 7 != 1 {
            let memory = MemoryId::new(format!("m-{number}"));
            batch.changes.push(Change::Enqueue {
                memory,
                due_at: NOW,
            });
        }
        store.commit(batch).unwrap();
    }
    for number in (0..MEMORIES).step_by(6) {
        let Memory { space, id, .. } = memory(number);
        let vectors = (0..passages_of(&memory(number), number).len())
            .map(|place| vector("second", number + place));
        let embed = Change::Embed {
            id: id.clone(),
            revision: 1,
            vectors: vectors.collect(),
        };
        store
            .commit(Batch::new(space.clone(), vec![embed]))
            .unwrap();
        store
            .touch(&[AccessIncrement {
                space,
                id,
                access: Access {
                    count: 1 + number as u64,
                    last: Some(NOW),
                },
            }])
            .unwrap();
    }
    for number in 0..70 {
        others(&store, number);
    }
    let folder = Change::PutNoteFolder {
        identity: "7:12".to_owned(),
    };
    store
        .commit(Batch::new(Space::default(), vec![folder]))
        .unwrap();
    records_of_use(&store);
    // Some are gone, so that pages are free.
    let everything = loci_testkit::contract::filter();
    store
        .soft_delete(&everything, Some(&MemoryId::new("m-100")), NOW, 10)
        .unwrap();
    store
        .soft_delete(&everything, Some(&MemoryId::new("m-103")), NOW, 10)
        .unwrap();
    for number in (130..160).filter(|number| number % 3 == 2) {
        let Memory { space, id, .. } = memory(number);
        let gone = Batch::new(space, vec![Change::Delete { id, revision: 1 }]);
        store.commit(gone).unwrap();
    }
    store
        .wipe(&Space::default(), "carol", None, None, NOW)
        .unwrap();
    assert!(
        store
            .lease("sweep", "a process", NOW, NOW.plus_seconds(60))
            .unwrap()
    );
    assert_eq!(
        store.integrity_check().unwrap().len(),
        0,
        "{:?}",
        store.integrity_check()
    );
    archive(&store).unwrap()
}

/// By which a record is known.
pub fn key(Archived { space, record }: &Archived) -> String {
    let key = match record {
        Record::Memory(memory) => format!("memory {}", memory.id),
        Record::NoteFolder(_) => "folder".to_owned(),
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
        Record::IdempotentReply(answer) => format!(
            "answer {:?} {} {}",
            answer.owner, answer.operation, answer.key
        ),
        Record::Tombstone(tombstone) => format!("tombstone {:?}", tombstone.text),
    };
    format!("{space} {key}")
}

/// A record without what is told by others, which may be lost: how often a memory was returned, and
/// which memory of its place a tunnel ends at.
pub fn alone(mut archived: Archived) -> Archived {
    match &mut archived.record {
        Record::Memory(memory) => memory.access = Access::default(),
        Record::Tunnel(tunnel) => (tunnel.source.memory, tunnel.target.memory) = (None, None),
        _ => {}
    }
    archived
}
