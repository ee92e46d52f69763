//! The contract of texts: no store keeps NUL, and the error names the text that has it.

use loci_core::{
    AuditEntry, AuditFailure, AuditRecord, Batch, CacheEntry, Change, CitationKind, ClientGrant,
    CodeBinding, Decision, ErrorCode, Fact, FileProblem, FileProblemKind, IdempotentReply,
    JobOutcome, Link, Memory, MemoryId, NoteFile, Record, RecordVerb, Relation, Result, SourceFile,
    Thread, Token, Tunnel, Version,
};

use super::calls::archive;
use super::examples::{
    NOW, audit_entry, cache_entry, change, citation, decision, embed, fact, granted_token,
    idempotent_reply, job, memory, note_file, passage, put, put_fact, put_note_file, put_reply,
    put_setting, put_source_file, put_tunnel, source_file, tunnel, vector,
};
use super::store::{MakeStore, StoreAndTokens};

const NUL: &str = "a\0b";

fn nul() -> String {
    NUL.to_owned()
}

fn id() -> MemoryId {
    MemoryId::new(NUL)
}

/// Puts NUL into one text of a record.
type Spoil<T> = fn(&mut T);

/// Returns a record with NUL in one text each, with the name of the text.
fn spoiled<T: Clone>(record: &T, texts: &[(&'static str, Spoil<T>)]) -> Vec<(T, &'static str)> {
    let texts = texts.iter().map(|(name, spoil)| {
        let mut record = record.clone();
        spoil(&mut record);
        (record, *name)
    });
    texts.collect()
}

fn memories() -> Vec<(Memory, &'static str)> {
    let link = || Link {
        target: id(),
        relation: Relation::RelatedTo,
        similarity: 0.5,
    };
    let mut memories = spoiled(
        &memory("m"),
        &[
            ("id", |it| it.id = id()),
            ("content", |it| it.content = nul()),
            ("title", |it| it.title = Some(nul())),
            ("collection", |it| it.location.collection = Some(nul())),
            ("section", |it| it.location.section = nul()),
            ("kind", |it| it.kind = nul()),
            ("summary", |it| it.summary = Some(nul())),
            ("tags", |it| it.tags = vec!["a".to_owned(), nul()]),
            ("source", |it| it.source = Some(id())),
            ("attributes", |it| {
                it.attributes = [("a".to_owned(), nul())].into();
            }),
            ("attributes", |it| {
                it.attributes = [(nul(), "a".to_owned())].into();
            }),
            ("origin", |it| it.origin = nul()),
            ("owner", |it| it.owner = Some(nul())),
            ("actor", |it| it.actor = Some(nul())),
            ("updated_by", |it| it.updated_by = Some(nul())),
            ("program", |it| it.provenance.program = Some(nul())),
            ("session", |it| it.provenance.session = Some(nul())),
            ("supersedes", |it| it.supersedes = Some(id())),
            ("citations", |it| {
                it.citations = vec![citation(CitationKind::File, NUL)];
            }),
            ("citations", |it| {
                it.citations = vec![citation(CitationKind::File, "a")];
                it.citations[0].excerpt = Some(nul());
            }),
            ("thread", |it| {
                let (name, position) = (nul(), 0);
                it.thread = Some(Thread { name, position });
            }),
        ],
    );
    let links = vec![link()];
    memories.push((
        Memory {
            links,
            ..memory("m")
        },
        "links",
    ));
    memories
}

fn note_files() -> Vec<(NoteFile, &'static str)> {
    spoiled(
        &note_file("a.md", None),
        &[
            ("path", |it| it.path = nul()),
            ("memory", |it| it.memory = Some(id())),
            ("links", |it| it.links = vec![nul()]),
            ("problem", |it| {
                let (kind, message) = (FileProblemKind::NotText, nul());
                it.problem = Some(FileProblem { kind, message });
            }),
        ],
    )
}

fn facts() -> Vec<(Fact, &'static str)> {
    spoiled(
        &fact("f", ["a", "b", "c"]),
        &[
            ("id", |it| it.id = nul()),
            ("source", |it| it.source = Some(nul())),
            ("author", |it| it.author = Some(nul())),
            ("subject", |it| it.subject.key = nul()),
            ("predicate", |it| it.predicate.spelling = nul()),
            ("object", |it| it.object.key = nul()),
        ],
    )
}

fn tunnels() -> Vec<(Tunnel, &'static str)> {
    spoiled(
        &tunnel("t"),
        &[
            ("id", |it| it.id = nul()),
            ("label", |it| it.label = nul()),
            ("owner", |it| it.owner = Some(nul())),
            ("source", |it| it.source.section = nul()),
            ("target", |it| it.target.memory = Some(id())),
        ],
    )
}

fn replies() -> Vec<(IdempotentReply, &'static str)> {
    spoiled(
        &idempotent_reply(Some("ann"), "key"),
        &[
            ("answer", |it| it.answer = nul()),
            ("key", |it| it.key = nul()),
            ("owner", |it| it.owner = Some(nul())),
            ("operation", |it| it.operation = nul()),
        ],
    )
}

fn source_files() -> Vec<(SourceFile, &'static str)> {
    spoiled(
        &source_file(None, "/a"),
        &[
            ("path", |it| it.path = nul()),
            ("machine", |it| it.machine = nul()),
            ("root", |it| it.root = nul()),
            ("collection", |it| it.collection = Some(nul())),
        ],
    )
}

fn entries() -> Vec<(CacheEntry, &'static str)> {
    spoiled(
        &cache_entry("ann", "c"),
        &[
            ("id", |it| it.id = id()),
            ("owner", |it| it.owner = nul()),
            ("query", |it| it.query = nul()),
            ("response", |it| it.response = nul()),
            ("model", |it| it.vector = Some(vector(NUL, &[1]))),
        ],
    )
}

fn decisions() -> Vec<(Decision, &'static str)> {
    spoiled(
        &decision("ann", "key"),
        &[
            ("owner", |it| it.owner = nul()),
            ("key", |it| it.key = nul()),
            ("value", |it| it.value = nul()),
        ],
    )
}

/// Returns batches that write NUL in one text each, with the name of the text.
fn batches() -> Vec<(Batch, &'static str)> {
    let import = |record| {
        change(Change::Import {
            record: Box::new(record),
            passages: Vec::new(),
            since: 0,
            now: NOW,
        })
    };
    let settle = |outcome| {
        let job = job("m");
        change(Change::Settle { job, outcome })
    };
    let mut foreign = passage("word");
    foreign.vector = Some(vector(NUL, &[127]));
    let (due_at, problem, identity) = (NOW, nul(), nul());
    let failed = JobOutcome::Failed {
        problem: problem.clone(),
    };
    let former = |memory: Memory| change(Change::PutVersion(Box::new(Version::of(&memory))));
    let mut all = vec![
        (put(&memory("m"), vec![passage(NUL)]), "passages"),
        (put(&memory("m"), vec![foreign]), "model"),
        (embed(&memory("m"), vec![vector(NUL, &[127])]), "model"),
        (settle(failed), "problem"),
        (settle(JobOutcome::Retry { due_at, problem }), "problem"),
        (change(Change::PutNoteFolder { identity }), "identity"),
        (put_setting(Some(NUL), "name", "value"), "owner"),
        (put_setting(None, NUL, "value"), "name"),
        (put_setting(None, "name", NUL), "value"),
        (former(memory(NUL)), "id"),
    ];
    for (memory, text) in memories() {
        let record = Record::Memory(Box::new(memory.clone()));
        all.extend([(put(&memory, Vec::new()), text), (import(record), text)]);
    }
    all.extend(
        note_files()
            .iter()
            .map(|(file, text)| (put_note_file(file), *text)),
    );
    all.extend(facts().iter().map(|(fact, text)| (put_fact(fact), *text)));
    all.extend(
        tunnels()
            .iter()
            .map(|(tunnel, text)| (put_tunnel(tunnel, None), *text)),
    );
    all.extend(
        replies()
            .iter()
            .map(|(reply, text)| (put_reply(reply), *text)),
    );
    let files = source_files();
    all.extend(
        files
            .iter()
            .map(|(file, text)| (put_source_file(file, None), *text)),
    );
    let records = entries().into_iter();
    let records = records.map(|(entry, text)| (Record::CacheEntry(Box::new(entry)), text));
    let decided = decisions().into_iter();
    let decided = decided.map(|(it, text)| (Record::Decision(Box::new(it)), text));
    all.extend(
        records
            .chain(decided)
            .map(|(record, text)| (import(record), text)),
    );
    all
}

/// Asserts that a write was refused for the NUL in this text.
fn refuses<T: std::fmt::Debug>(outcome: Result<T>, argument: &str) {
    let error = outcome.expect_err(argument);
    assert_eq!(error.code, ErrorCode::InvalidArgument, "{argument}");
    assert_eq!(error.argument.as_deref(), Some(argument));
    assert!(error.message.contains("NUL"), "{error}");
}

fn grant(token: &mut Token) -> &mut ClientGrant {
    token.grant.as_mut().expect("the token is of a client")
}

fn code(token: &mut Token) -> &mut CodeBinding {
    grant(token).code.as_mut().expect("the grant has a code")
}

fn refuse_all(store: &dyn StoreAndTokens) {
    for (batch, argument) in batches() {
        refuses(store.commit(batch.clone()), argument);
        refuses(store.commit_rebuildable(batch), argument);
    }
    for (entry, argument) in entries() {
        refuses(store.put_cache_entry(&entry, 0), argument);
    }
    for (decision, argument) in decisions() {
        refuses(store.put_decision(&decision, 0), argument);
    }
    let tokens: [(&str, Spoil<Token>); 8] = [
        ("id", |it| it.id = nul()),
        ("subject", |it| it.subject = nul()),
        ("client_id", |it| grant(it).client_id = nul()),
        ("client", |it| grant(it).client = nul()),
        ("resource", |it| grant(it).resource = nul()),
        ("parent", |it| grant(it).parent = nul()),
        ("redirect_uri", |it| code(it).redirect_uri = nul()),
        ("challenge", |it| code(it).challenge = nul()),
    ];
    for (token, argument) in spoiled(&granted_token("t", 1), &tokens) {
        refuses(store.add_token(&token), argument);
        let grant = token.grant.clone().expect("the token is of a client");
        refuses(store.renew_token(&grant.secret, &token), argument);
    }
    let calls: [(&str, Spoil<AuditEntry>); 6] = [
        ("user", |it| it.user = Some(nul())),
        ("query", |it| it.query = Some(nul())),
        ("client", |it| it.client = Some(nul())),
        ("session", |it| it.session = Some(nul())),
        ("failure", |it| {
            let (code, message) = (ErrorCode::NotFound, Some(nul()));
            it.failure = Some(AuditFailure { code, message });
        }),
        ("records", |it| {
            let (id, verb, is_own) = (nul(), RecordVerb::Read, true);
            it.records = vec![AuditRecord { id, verb, is_own }];
        }),
    ];
    let call = audit_entry("ann", "recall");
    for (entry, argument) in spoiled(&call, &calls) {
        refuses(store.append_audit(&[call.clone(), entry]), argument);
    }
}

pub(super) fn a_text_with_nul_is_refused(make: MakeStore<'_>) {
    let store = &*make();
    refuse_all(store);
    assert_eq!(archive(store, NOW), Ok(Vec::new()));
    assert_eq!(store.tokens(), Ok(Vec::new()));
    assert_eq!(store.audited_spaces(), Ok(Vec::new()));
    let space = memory("").space;
    for (names, argument) in [
        ((NUL, None, None), "owner"),
        (("ann", Some(NUL), None), "origin"),
        (("ann", None, Some(NUL)), "pseudonym"),
    ] {
        let (owner, origin, pseudonym) = names;
        refuses(store.wipe(&space, owner, origin, pseudonym, NOW), argument);
    }
    let until = NOW.plus_seconds(1);
    // Also while another holder has it.
    for _ in 0..2 {
        refuses(store.lease(NUL, "holder", NOW, until), "name");
        refuses(store.lease("name", NUL, NOW, until), "holder");
        assert_eq!(store.lease("name", "holder", NOW, until), Ok(true));
    }
}
