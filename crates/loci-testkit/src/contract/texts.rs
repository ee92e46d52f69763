//! The contract of texts: no store keeps NUL.

use std::collections::BTreeMap;

use loci_core::{
    AuditFailure, AuditQuery, AuditRecord, Batch, CacheEntry, Change, CitationKind, Decision,
    ErrorCode, FileProblem, FileProblemKind, IdempotentReply, Job, JobOutcome, Link, Location,
    Memory, MemoryId, Record, RecordVerb, Relation, Result, SourceFile, Thread, Timestamp, Tunnel,
    TunnelEnd,
};

use super::examples::{
    NOW, audit_entry, cache_entry, change, citation, decision, embed, fact, idempotent_reply,
    memory, name, note_file, passage, put, put_fact, put_note_file, put_reply, put_setting,
    put_source_file, put_tunnel, source_file, space, tunnel, vector, with_vector,
};
use super::tokens::token;
use super::{MakeStore, StoreAndTokens};

const NUL: &str = "a\0b";

fn nul() -> String {
    NUL.to_owned()
}

/// Returns memories with NUL in one text each, with the name of the text.
fn memories() -> Vec<(Memory, &'static str)> {
    let with = |change: &dyn Fn(&mut Memory)| {
        let mut memory = memory("m");
        change(&mut memory);
        memory
    };
    let id = || Some(MemoryId::new(NUL));
    let cited = |text: &str| citation(CitationKind::File, text);
    vec![
        (with(&|it| it.id = MemoryId::new(NUL)), "id"),
        (with(&|it| NUL.clone_into(&mut it.content)), "content"),
        (with(&|it| it.title = Some(nul())), "title"),
        (
            with(&|it| it.location.collection = Some(nul())),
            "collection",
        ),
        (
            with(&|it| {
                it.location = Location {
                    collection: None,
                    section: NUL.to_owned(),
                }
            }),
            "section",
        ),
        (with(&|it| NUL.clone_into(&mut it.kind)), "kind"),
        (with(&|it| it.summary = Some(nul())), "summary"),
        (
            with(&|it| it.tags = vec!["a".to_owned(), NUL.to_owned()]),
            "tags",
        ),
        (
            with(&|it| {
                it.thread = Some(Thread {
                    name: NUL.to_owned(),
                    position: 0,
                });
            }),
            "thread",
        ),
        (with(&|it| it.source = id()), "source"),
        (
            with(&|it| {
                it.links = vec![Link {
                    target: MemoryId::new(NUL),
                    relation: Relation::RelatedTo,
                    similarity: 0.5,
                }];
            }),
            "links",
        ),
        (with(&|it| it.citations = vec![cited(NUL)]), "citations"),
        (
            with(&|it| {
                it.citations = vec![cited("a")];
                it.citations[0].excerpt = Some(nul());
            }),
            "citations",
        ),
        (
            with(&|it| it.attributes = BTreeMap::from([("a".to_owned(), NUL.to_owned())])),
            "attributes",
        ),
        (
            with(&|it| it.attributes = BTreeMap::from([(NUL.to_owned(), "a".to_owned())])),
            "attributes",
        ),
        (with(&|it| NUL.clone_into(&mut it.origin)), "origin"),
        (with(&|it| it.owner = Some(nul())), "owner"),
        (with(&|it| it.actor = Some(nul())), "actor"),
        (with(&|it| it.updated_by = Some(nul())), "updated_by"),
        (with(&|it| it.supersedes = id()), "supersedes"),
    ]
}

/// Returns batches that write NUL in one text each, with the name of the text.
fn batches() -> Vec<(Batch, &'static str)> {
    let mut batches: Vec<(Batch, &str)> = memories()
        .into_iter()
        .map(|(memory, argument)| (put(&memory, vec![passage("word")]), argument))
        .collect();
    let foreign = vector(NUL, &[127]);
    let mut with_foreign = with_vector(passage("word"), &[127]);
    with_foreign.vector = Some(foreign.clone());
    let problem = Some(FileProblem {
        kind: FileProblemKind::NotText,
        message: NUL.to_owned(),
    });
    let mut linked = note_file("a.md", None);
    linked.links = vec![NUL.to_owned()];
    let mut troubled = note_file("a.md", None);
    troubled.problem = problem;
    let mut sourced = fact("f", ["a", "b", "c"]);
    sourced.source = Some(nul());
    let mut misspelled = fact("f", ["a", "b", "c"]);
    misspelled.predicate = name(NUL);
    let far = TunnelEnd {
        memory: Some(MemoryId::new(NUL)),
        ..tunnel("t").target
    };
    let settle = |outcome| {
        change(Change::Settle {
            job: Job {
                space: space("main"),
                memory: MemoryId::new("m"),
                attempts: 1,
                lease: "lease".to_owned(),
            },
            outcome,
        })
    };
    let (due_at, text) = (NOW, NUL.to_owned());
    let import = |record| {
        change(Change::Import {
            record: Box::new(record),
            passages: Vec::new(),
            since: 0,
            now: NOW,
        })
    };
    let reply = idempotent_reply(Some("ann"), "key");
    batches.extend([
        (put(&memory("m"), vec![passage(NUL)]), "passages"),
        (put(&memory("m"), vec![with_foreign]), "model"),
        (embed(&memory("m"), vec![foreign]), "model"),
        (
            settle(JobOutcome::Failed {
                problem: text.clone(),
            }),
            "problem",
        ),
        (
            settle(JobOutcome::Retry {
                due_at,
                problem: text.clone(),
            }),
            "problem",
        ),
        (put_note_file(&note_file(NUL, None)), "path"),
        (put_note_file(&note_file("a.md", Some(NUL))), "memory"),
        (put_note_file(&linked), "links"),
        (put_note_file(&troubled), "problem"),
        (
            change(Change::PutNoteFolder {
                identity: text.clone(),
            }),
            "identity",
        ),
        (
            put_reply(&IdempotentReply {
                answer: text.clone(),
                ..reply.clone()
            }),
            "answer",
        ),
        (put_reply(&idempotent_reply(Some("ann"), NUL)), "key"),
        (put_fact(&fact(NUL, ["a", "b", "c"])), "id"),
        (put_fact(&sourced), "source"),
        (put_fact(&misspelled), "predicate"),
        (put_tunnel(&tunnel(NUL), None), "id"),
        (
            put_tunnel(
                &Tunnel {
                    label: text.clone(),
                    ..tunnel("t")
                },
                None,
            ),
            "label",
        ),
        (
            put_tunnel(
                &Tunnel {
                    target: far,
                    ..tunnel("t")
                },
                None,
            ),
            "target",
        ),
        (
            put_setting(Some(nul()).as_deref(), "name", "value"),
            "owner",
        ),
        (put_setting(None, NUL, "value"), "name"),
        (put_setting(None, "name", NUL), "value"),
        (put_source_file(&source_file(None, NUL), None), "path"),
        (
            put_source_file(
                &SourceFile {
                    machine: nul(),
                    ..source_file(None, "/a")
                },
                None,
            ),
            "machine",
        ),
        (
            put_source_file(
                &SourceFile {
                    root: text,
                    ..source_file(None, "/a")
                },
                None,
            ),
            "root",
        ),
        (
            import(Record::Decision(Box::new(decision("ann", NUL)))),
            "key",
        ),
        (
            import(Record::CacheEntry(Box::new(cache_entry(NUL, "c")))),
            "owner",
        ),
    ]);
    batches
}

/// Asserts that a write was refused for the NUL in this text.
fn refuses<T: std::fmt::Debug>(outcome: Result<T>, argument: &str) {
    let error = outcome.expect_err(argument);
    assert_eq!(error.code, ErrorCode::InvalidArgument, "{argument}");
    assert_eq!(error.argument.as_deref(), Some(argument));
    assert!(error.message.contains("NUL"), "{error}");
}

/// Returns the number of records in the archive of a store.
fn records(store: &dyn StoreAndTokens) -> usize {
    let mut count = 0;
    let mut counting = |_| {
        count += 1;
        Ok(())
    };
    store
        .archive(Timestamp::MIN, &mut counting)
        .expect("the store can be read");
    count
}

pub(super) fn a_text_with_nul_is_refused(make: MakeStore<'_>) {
    let store = make();
    for (batch, argument) in batches() {
        refuses(store.commit(batch.clone()), argument);
        refuses(store.commit_rebuildable(batch), argument);
    }
    let entry = |response: &str| CacheEntry {
        response: response.to_owned(),
        ..cache_entry("ann", "c")
    };
    refuses(store.put_cache_entry(&entry(NUL), 0), "response");
    let valued = Decision {
        value: NUL.to_owned(),
        ..decision("ann", "key")
    };
    refuses(store.put_decision(&valued, 0), "value");
    refuses(store.put_cache_entry(&cache_entry(NUL, "c"), 0), "owner");
    refuses(store.put_decision(&decision(NUL, "key"), 0), "owner");
    refuses(store.add_token(&token(NUL, 1)), "id");
    assert_eq!(records(&*store), 0);
    assert_eq!(store.tokens(), Ok(Vec::new()));
}

pub(super) fn an_audit_entry_with_nul_is_refused_with_those_beside_it(make: MakeStore<'_>) {
    let store = make();
    let mut asked = audit_entry("ann", "recall");
    asked.query = Some(nul());
    let mut named_so = audit_entry("ann", "recall");
    named_so.client = Some(nul());
    let mut in_session = audit_entry("ann", "recall");
    in_session.session = Some(nul());
    let mut failed = audit_entry("ann", "recall");
    failed.failure = Some(AuditFailure {
        code: ErrorCode::NotFound,
        message: Some(nul()),
    });
    let mut named = audit_entry("ann", "recall");
    named.records = vec![AuditRecord {
        id: NUL.to_owned(),
        verb: RecordVerb::Read,
        is_own: true,
    }];
    for (entry, argument) in [
        (asked, "query"),
        (named_so, "client"),
        (in_session, "session"),
        (failed, "failure"),
        (named, "records"),
        (audit_entry(NUL, "recall"), "user"),
    ] {
        refuses(
            store.append_audit(&[audit_entry("ann", "recall"), entry]),
            argument,
        );
    }
    let all = AuditQuery {
        limit: 9,
        ..AuditQuery::default()
    };
    assert_eq!(store.audit(&all), Ok(Vec::new()));
}

pub(super) fn a_wipe_and_a_lease_refuse_nul(make: MakeStore<'_>) {
    let store = make();
    let main = space("main");
    for (owner, origin, pseudonym, argument) in [
        (NUL, None, None, "owner"),
        ("ann", Some(NUL), None, "origin"),
        ("ann", None, Some(NUL), "pseudonym"),
    ] {
        refuses(store.wipe(&main, owner, origin, pseudonym, NOW), argument);
    }
    let until = NOW.plus_seconds(1);
    refuses(store.lease(NUL, "holder", NOW, until), "name");
    refuses(store.lease("name", NUL, NOW, until), "holder");
    // Also while another holder has it.
    assert_eq!(store.lease("name", "holder", NOW, until), Ok(true));
    refuses(store.lease("name", NUL, NOW, until), "holder");
}
