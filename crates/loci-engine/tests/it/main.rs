//! What the operations promise, over the naive store: access, races, missing models. What a
//! caller of a tool sees is in the dialects' cases.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use std::sync::Arc;

use loci_core::{
    Caller, CollectionFilter, Delivery, Embedder, ErrorCode, MemoryId, Principal, Scope, Scopes, Space, Timestamp,
    Visibility,
};
use loci_engine::{Embedding, Engine, List, Recall, Remember, SearchMode};
use loci_testkit::{FailingEmbedder, FixedClock, HashingEmbedder, NaiveStore};

const WRITER: [Scope; 2] = [Scope::Read, Scope::Write];

fn engine_with(embedder: Arc<dyn Embedder>) -> Engine {
    let clock = Arc::new(FixedClock::new(Timestamp::from_microseconds(1_000_000)));
    Engine::new(Arc::new(NaiveStore::new()), embedder, clock, SearchMode::Hybrid)
}

fn engine() -> Engine {
    engine_with(Arc::new(HashingEmbedder::default()))
}

fn caller(subject: &str, scopes: &[Scope]) -> Caller {
    let principal = Principal { subject: Some(subject.to_owned()), scopes: Scopes::of(scopes) };
    Caller { space: Space::default(), principal }
}

fn fact(content: &str, visibility: Visibility) -> Remember {
    Remember {
        content: content.to_owned(),
        collection: None,
        section: None,
        kind: "fact".to_owned(),
        tags: Vec::new(),
        weight: 1.0,
        delivery: Delivery::OnDemand,
        visibility,
        ttl_seconds: None,
        supersedes: None,
        similar: None,
    }
}

fn found(engine: &Engine, caller: &Caller, query: &str) -> Vec<MemoryId> {
    let recall = Recall {
        query,
        collections: CollectionFilter::Any,
        sections: Vec::new(),
        tags: Vec::new(),
        limit: 10,
        ranking: &|signals| signals.relevance,
    };
    engine.recall(caller, &recall).unwrap().hits.into_iter().map(|hit| hit.memory.id).collect()
}

#[test]
fn a_private_memory_is_absent_to_everyone_else() {
    let engine = engine();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let id = engine.remember(&ann, fact("ann keeps bees", Visibility::Private)).unwrap().memory.id;
    let absent = engine.show(&bob, &MemoryId::new("absent")).unwrap_err();
    for error in [
        engine.show(&bob, &id).unwrap_err(),
        engine.forget(&bob, &id).unwrap_err(),
        engine.update(&bob, &id, "bob was here").unwrap_err(),
        engine.remember(&bob, Remember { supersedes: Some(id.clone()), ..fact("x", Visibility::Common) }).unwrap_err(),
    ] {
        assert_eq!(error.code, ErrorCode::NotFound);
        assert_eq!(error.message.replace(id.as_str(), "absent"), absent.message);
    }
    assert!(found(&engine, &bob, "bees").is_empty());
    assert_eq!(engine.tally(&bob).unwrap(), []);
    assert_eq!(found(&engine, &ann, "bees"), [id]);
}

#[test]
fn a_shared_memory_is_read_by_all_and_written_by_its_owner() {
    let engine = engine();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let id = engine.remember(&ann, fact("the wifi is slow", Visibility::Shared)).unwrap().memory.id;
    assert_eq!(engine.show(&bob, &id).unwrap().content, "the wifi is slow");
    assert_eq!(engine.forget(&bob, &id).unwrap_err().code, ErrorCode::Forbidden);
    engine.forget(&ann, &id).unwrap();
}

#[test]
fn spaces_see_nothing_of_each_other() {
    let engine = engine();
    let here = caller("ann", &[Scope::Admin]);
    let there = Caller { space: Space::parse("space", "elsewhere").unwrap(), ..here.clone() };
    let id = engine.remember(&here, fact("only here", Visibility::Common)).unwrap().memory.id;
    assert_eq!(engine.show(&there, &id).unwrap_err().code, ErrorCode::NotFound);
    assert!(found(&engine, &there, "only here").is_empty());
}

/// A successor that the caller may not read hides nothing from it.
#[test]
fn an_unreadable_successor_does_not_hide() {
    let engine = engine();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let old = engine.remember(&ann, fact("tea at four", Visibility::Common)).unwrap().memory.id;
    let successor = Remember { supersedes: Some(old.clone()), ..fact("tea at five", Visibility::Private) };
    let new = engine.remember(&ann, successor).unwrap().memory.id;
    assert_eq!(found(&engine, &ann, "tea"), [new]);
    assert_eq!(found(&engine, &bob, "tea"), [old]);
}

#[test]
fn concurrent_changes_of_one_memory_are_all_made() {
    let engine = Arc::new(engine());
    let ann = caller("ann", &WRITER);
    let id = engine.remember(&ann, fact("counts to zero", Visibility::Common)).unwrap().memory.id;
    let writers: Vec<_> = (0..4)
        .map(|number| {
            let (engine, ann, id) = (engine.clone(), ann.clone(), id.clone());
            std::thread::spawn(move || engine.update(&ann, &id, &format!("counts to {number}")).unwrap().0.revision)
        })
        .collect();
    let mut revisions: Vec<u64> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
    revisions.sort_unstable();
    assert_eq!(revisions, [2, 3, 4, 5]);
    assert_eq!(engine.show(&ann, &id).unwrap().revision, 5);
}

#[test]
fn a_missing_model_costs_no_memory_and_no_search() {
    let engine = engine_with(Arc::new(FailingEmbedder::default()));
    let remembered = engine.remember(&Caller::local(), fact("the moon is full", Visibility::Common)).unwrap();
    assert!(matches!(remembered.embedding, Embedding::Pending(_)));
    assert_eq!(found(&engine, &Caller::local(), "full moon"), [remembered.memory.id]);
    assert_eq!(engine.maintain().unwrap_err().code, ErrorCode::Unavailable);
}

#[test]
fn repeated_tags_count_once_and_limits_hold() {
    let engine = engine();
    let local = Caller::local();
    let tags = ["a", "b", "a"].map(str::to_owned).to_vec();
    let memory = engine.remember(&local, Remember { tags, ..fact("x", Visibility::Common) }).unwrap().memory;
    assert_eq!(memory.tags, ["a", "b"]);
    for request in [
        Remember { weight: 1.1, ..fact("x", Visibility::Common) },
        Remember { weight: f64::NAN, ..fact("x", Visibility::Common) },
        Remember { collection: Some("a\nb".to_owned()), ..fact("x", Visibility::Common) },
        Remember { tags: vec![" ".to_owned()], ..fact("x", Visibility::Common) },
        fact("\u{2003}", Visibility::Common),
    ] {
        assert_eq!(engine.remember(&local, request).unwrap_err().code, ErrorCode::InvalidArgument);
    }
    assert_eq!(engine.size().unwrap().memories, 1);
}

/// Records of more than 32 MiB together fit no reply: the caller is told, nothing is cut.
#[test]
fn a_reply_beyond_its_limit_is_refused_whole() {
    let engine = engine_with(Arc::new(FailingEmbedder::default()));
    let local = Caller::local();
    let content = "word ".repeat((1 << 20) / 5);
    for _ in 0..33 {
        engine.remember(&local, fact(&content, Visibility::Common)).unwrap();
    }
    let list = |limit| List {
        collections: CollectionFilter::Any,
        sections: Vec::new(),
        tags: Vec::new(),
        delivery: None,
        offset: 0,
        limit,
    };
    let error = engine.list(&local, list(33)).unwrap_err();
    assert_eq!(error.code, ErrorCode::TooLarge);
    assert!(error.message.contains("limit"));
    assert_eq!(engine.list(&local, list(30)).unwrap().len(), 30);
}
