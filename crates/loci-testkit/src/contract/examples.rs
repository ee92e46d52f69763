//! Short constructors for memories, passages, filters and batches.

use std::collections::BTreeMap;

use loci_core::{
    AuditEntry, Batch, CacheEntry, Change, Citation, CitationKind, ClientGrant, CodeBinding,
    Condition, ContentHash, Decision, Expect, Fact, FileStamp, Filter, IdempotentReply, Job,
    Location, LocationCount, Memory, MemoryId, ModelId, Name, NoteFile, Passage, Reader, Scope,
    Scopes, SourceFile, Space, Sweep, Term, Timestamp, Token, Tombstone, Tunnel, TunnelEnd, Vector,
    Visibility,
};

/// The time of the examples.
pub(super) const NOW: Timestamp = Timestamp::from_microseconds(1_000_000_000);

/// Texts that a faulty serialization changes.
pub(super) const ODD_TEXTS: [&str; 12] = [
    "",
    " ",
    "\"quoted\"",
    "it's",
    "back\\slash",
    "two\r\nlines\t",
    "{\"a\":[1]}",
    "null",
    "$.a[0].b",
    "naïve 日本 🦀 e\u{301} é",
    "\u{1}\u{7f}\u{85}\u{2028}\u{feff}",
    "'; DROP TABLE memory; --",
];

/// Creates a common global fact, first stored now, whose content contains its id.
pub fn memory(id: &str) -> Memory {
    let fact = Memory::new(
        Space::default(),
        MemoryId::new(id),
        format!("the content of {id}"),
        "fact",
        NOW,
    );
    Memory {
        visibility: Visibility::Common,
        ..fact
    }
}

/// Returns the same memory as a private one of this owner.
pub(super) fn private(owner: &str, memory: Memory) -> Memory {
    Memory {
        owner: Some(owner.to_owned()),
        visibility: Visibility::Private,
        ..memory
    }
}

/// Returns the same memory, forgotten now.
pub(super) fn forgotten(memory: Memory) -> Memory {
    Memory {
        forgotten_at: Some(NOW),
        ..memory
    }
}

/// Returns the same memory in another location.
pub(super) fn filed_in(collection: Option<&str>, section: &str, memory: Memory) -> Memory {
    let place = Location {
        collection: collection.map(str::to_owned),
        section: section.to_owned(),
    };
    Memory {
        location: place,
        ..memory
    }
}

/// Creates a citation of a whole source in any state.
pub(super) fn citation(kind: CitationKind, reference: &str) -> Citation {
    Citation {
        kind,
        reference: reference.to_owned(),
        locator: None,
        pin: None,
        excerpt: None,
    }
}

/// Creates a passage of these words, without a vector.
pub fn passage(words: &str) -> Passage {
    let mut counts = BTreeMap::new();
    for word in words.split_whitespace() {
        *counts.entry(word).or_insert(0) += 1;
    }
    let terms = counts
        .into_iter()
        .map(|(text, count)| Term {
            text: text.to_owned(),
            count,
        })
        .collect();
    Passage {
        range: 0..words.len(),
        terms,
        vector: None,
    }
}

/// Creates a passage that the word `word` finds, and any question of the model `findable`.
pub(super) fn findable() -> Passage {
    Passage {
        vector: Some(vector("findable", &[127])),
        ..passage("word")
    }
}

pub(super) fn vector(model: &str, values: &[i8]) -> Vector {
    Vector {
        model: ModelId::new(model),
        scale: 1.0 / 127.0,
        values: values.to_vec(),
    }
}

/// Creates a batch that adds a memory with these passages.
pub fn put(memory: &Memory, passages: Vec<Passage>) -> Batch {
    let change = Change::Put {
        memory: Box::new(memory.clone()),
        passages: Some(passages),
        expect: Expect::Absent,
    };
    Batch::new(memory.space.clone(), vec![change])
}

/// Creates a batch that replaces a memory, whose revision is one less than this one's.
pub fn replace(memory: &Memory, passages: Option<Vec<Passage>>) -> Batch {
    let expect = Expect::Revision(memory.revision - 1);
    let change = Change::Put {
        memory: Box::new(memory.clone()),
        passages,
        expect,
    };
    Batch::new(memory.space.clone(), vec![change])
}

/// Creates a batch of this one change in the default space.
pub(super) fn change(change: Change) -> Batch {
    Batch::new(Space::default(), vec![change])
}

/// Creates a batch that adds a job for a memory of the default space.
pub(super) fn enqueue(id: &str, due_at: Timestamp) -> Batch {
    change(Change::Enqueue {
        memory: MemoryId::new(id),
        due_at,
    })
}

/// Creates a batch that comes through this tool set and requires that the owner's data was not
/// wiped after `since`.
pub(super) fn not_wiped(owner: &str, origin: &str, since: u64) -> Batch {
    Batch {
        conditions: vec![Condition::NotWiped {
            owner: owner.to_owned(),
            origin: origin.to_owned(),
            since,
        }],
        ..Batch::new(Space::default(), Vec::new())
    }
}

/// Creates a cached answer, valid for an hour, without a vector; its query contains its id.
pub(super) fn cache_entry(owner: &str, id: &str) -> CacheEntry {
    CacheEntry {
        space: Space::default(),
        id: MemoryId::new(id),
        owner: owner.to_owned(),
        query: format!("the query of {id}"),
        response: format!("the response of {id}"),
        vector: None,
        created_at: NOW,
        expires_at: NOW.plus_seconds(3_600),
    }
}

/// Creates a permanent decision, made now.
pub(super) fn decision(owner: &str, key: &str) -> Decision {
    Decision {
        space: Space::default(),
        owner: owner.to_owned(),
        key: key.to_owned(),
        value: format!("the value of {key}"),
        created_at: NOW,
        updated_at: NOW,
        expires_at: None,
    }
}

/// Creates a reply of the tool set `vault` to an operation `append`, kept for an hour.
pub fn idempotent_reply(owner: Option<&str>, key: &str) -> IdempotentReply {
    IdempotentReply {
        space: Space::default(),
        owner: owner.map(str::to_owned),
        origin: "vault".to_owned(),
        operation: "append".to_owned(),
        key: key.to_owned(),
        request: ContentHash([1; 32]),
        answer: format!("the answer to {key}"),
        memories: Vec::new(),
        created_at: NOW,
        expires_at: NOW.plus_seconds(3_600),
    }
}

/// Creates a batch that stores the reply.
pub fn put_reply(answer: &IdempotentReply) -> Batch {
    Batch::new(
        answer.space.clone(),
        vec![Change::PutIdempotentReply(Box::new(answer.clone()))],
    )
}

/// Creates an existing file without problems, of this memory, if any.
pub(super) fn note_file(path: &str, memory: Option<&str>) -> NoteFile {
    NoteFile {
        path: path.to_owned(),
        stamp: FileStamp {
            bytes: 12,
            modified_nanoseconds: 1_000_000_000,
        },
        is_settled: true,
        hash: ContentHash([2; 32]),
        memory: memory.map(MemoryId::new),
        says_id: true,
        links: Vec::new(),
        problem: None,
        missing_since: None,
    }
}

/// Creates a batch that stores the row of a note file of the default space.
pub(super) fn put_note_file(file: &NoteFile) -> Batch {
    change(Change::PutNoteFile(Box::new(file.clone())))
}

/// Creates a name that is spelled like its key.
pub(super) fn name(key: &str) -> Name {
    Name {
        key: key.to_owned(),
        spelling: key.to_owned(),
    }
}

/// Creates a fact without start and end, noted now.
pub(super) fn fact(id: &str, [subject, predicate, object]: [&str; 3]) -> Fact {
    Fact {
        space: Space::default(),
        id: id.to_owned(),
        subject: name(subject),
        predicate: name(predicate),
        object: name(object),
        valid_from: None,
        valid_to: None,
        source: None,
        author: Some("ann".to_owned()),
        created_at: NOW,
    }
}

/// Creates a batch that adds the fact.
pub(super) fn put_fact(fact: &Fact) -> Batch {
    Batch::new(
        fact.space.clone(),
        vec![Change::PutFact(Box::new(fact.clone()))],
    )
}

/// Creates an end of a tunnel that names no memory.
pub(super) fn end(collection: Option<&str>, section: &str) -> TunnelEnd {
    TunnelEnd {
        collection: collection.map(str::to_owned),
        section: section.to_owned(),
        memory: None,
    }
}

/// Creates a common tunnel without an owner from `a/x` to `b/x`.
pub(super) fn tunnel(id: &str) -> Tunnel {
    Tunnel {
        space: Space::default(),
        id: id.to_owned(),
        source: end(Some("a"), "x"),
        target: end(Some("b"), "x"),
        label: format!("the label of {id}"),
        owner: None,
        is_common: true,
        created_at: NOW,
        updated_at: NOW,
    }
}

/// Creates a batch that stores the tunnel in the place of `expect`.
pub(super) fn put_tunnel(tunnel: &Tunnel, expect: Option<&Tunnel>) -> Batch {
    let put = Change::PutTunnel {
        tunnel: Box::new(tunnel.clone()),
        expect: expect.cloned().map(Box::new),
    };
    Batch::new(tunnel.space.clone(), vec![put])
}

/// Creates a batch that stores a setting of the default space.
pub(super) fn put_setting(owner: Option<&str>, name: &str, value: &str) -> Batch {
    let (owner, name) = (owner.map(str::to_owned), name.to_owned());
    change(Change::PutSetting {
        owner,
        name,
        value: value.to_owned(),
    })
}

/// Creates a file that was read as a whole, on the machine that the store lies on.
pub(super) fn source_file(collection: Option<&str>, path: &str) -> SourceFile {
    SourceFile {
        machine: String::new(),
        collection: collection.map(str::to_owned),
        path: path.to_owned(),
        root: "/projects".to_owned(),
        format: "text".to_owned(),
        stamp: FileStamp {
            bytes: 12,
            modified_nanoseconds: 1_000_000_000,
        },
        bytes_read: 12,
        hash: ContentHash([4; 32]),
        parts: 1,
        is_pending: false,
        is_whole: true,
    }
}

/// Creates a batch that stores the row of a source file of the default space in the place of
/// `expect`.
pub(super) fn put_source_file(file: &SourceFile, expect: Option<&SourceFile>) -> Batch {
    change(Change::PutSourceFile {
        file: Box::new(file.clone()),
        expect: expect.cloned().map(Box::new),
    })
}

/// Creates the entry of a successful call, made now.
pub fn audit_entry(user: &str, tool: &str) -> AuditEntry {
    AuditEntry {
        space: Space::default(),
        at: NOW,
        user: Some(user.to_owned()),
        caller: None,
        client: None,
        session: None,
        dialect: "memory-mcp".to_owned(),
        tool: tool.to_owned(),
        operation: "memory:write".to_owned(),
        duration_microseconds: 12,
        query: None,
        results: None,
        reply_tokens: None,
        failure: None,
        records: Vec::new(),
        further_records: 0,
        further_stored: 0,
    }
}

pub(super) fn delete(memory: &Memory) -> Batch {
    let change = Change::Delete {
        id: memory.id.clone(),
        revision: memory.revision,
    };
    Batch::new(memory.space.clone(), vec![change])
}

pub(super) fn embed(memory: &Memory, vectors: Vec<Vector>) -> Batch {
    let change = Change::Embed {
        id: memory.id.clone(),
        revision: memory.revision,
        vectors,
    };
    Batch::new(memory.space.clone(), vec![change])
}

/// Matches all memories of the default space that are live now, superseded, forgotten or not, for a
/// reader of everything.
pub fn filter() -> Filter {
    Filter::of(Space::default(), Reader::everything(), NOW)
}

/// Creates a sweep that removes only records that have expired at `now`.
pub fn sweep_of_expired(now: Timestamp) -> Sweep {
    let (deleted_until, audited_before, wiped_before) =
        (Timestamp::MIN, Timestamp::MIN, Timestamp::MIN);
    Sweep {
        expired_at: now,
        deleted_until,
        audited_before,
        wiped_before,
        counted_before: i64::MIN,
        changed_before: Timestamp::MIN,
    }
}

/// Creates a count of memories of this location and kind.
pub(super) fn tally(
    collection: Option<&str>,
    section: &str,
    kind: &str,
    memories: u64,
) -> LocationCount {
    let (section, kind) = (section.to_owned(), kind.to_owned());
    LocationCount {
        collection: collection.map(str::to_owned),
        section,
        kind,
        memories,
    }
}

/// Creates a reader with this subject that is not an administrator.
pub fn reader(subject: Option<&str>) -> Reader {
    Reader::of(subject)
}

pub(super) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

pub(super) fn space(name: &str) -> Space {
    Space::parse("space", name).expect("the name of an example is valid")
}

/// Creates a leased job of a memory of the default space.
pub(super) fn job(memory: &str) -> Job {
    Job {
        space: Space::default(),
        memory: MemoryId::new(memory),
        attempts: 1,
        lease: "lease".to_owned(),
    }
}

/// Creates a token with this id and hash that lets ann read and write.
pub(super) fn token(id: &str, hash: u8) -> Token {
    Token {
        id: id.to_owned(),
        hash: [hash; 32],
        space: Space::default(),
        subject: "ann".to_owned(),
        scopes: Scopes::of(&[Scope::Read, Scope::Write]),
        created_at: NOW,
        expires_at: None,
        revoked_at: None,
        grant: None,
    }
}

/// Creates such a token that a client got by a code, which it has not redeemed.
pub(super) fn granted_token(id: &str, hash: u8) -> Token {
    let grant = ClientGrant {
        client_id: "https://client.example/id".to_owned(),
        client: "client.example".to_owned(),
        resource: "https://memory.example".to_owned(),
        parent: "parent".to_owned(),
        family: [hash; 32],
        secret: [hash; 32],
        renewable_until: NOW,
        code: Some(CodeBinding {
            redirect_uri: "https://client.example/callback".to_owned(),
            challenge: "a challenge".to_owned(),
        }),
    };
    Token {
        grant: Some(grant),
        ..token(id, hash)
    }
}

/// Creates a tombstone, whose hashes contain the first byte of this text.
pub(super) fn tombstone(text: &str) -> Tombstone {
    let hash = [text.as_bytes()[0]; 32];
    Tombstone {
        salt: [7; 16],
        text: hash,
        memory: hash,
        source: None,
        forgotten_at: NOW,
        is_removed: true,
    }
}
