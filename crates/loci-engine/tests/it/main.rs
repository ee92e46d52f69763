//! Tests of the operations over the naive store: access, races, missing models. The dialects' cases
//! test the replies of tools.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

mod answers;
mod arriving;
mod audit;
mod authors;
mod bundles;
mod consolidating;
mod conversations;
mod deciding;
mod enrichment;
mod examining;
mod excerpts;
mod explaining;
mod facts;
mod faulty_store;
mod filing;
mod forgetting;
mod history;
mod idempotency;
mod identifiers;
mod importing_records;
mod imports;
mod machines;
mod maintenance;
mod models;
mod note_folder;
mod noting;
mod observing;
mod ownership;
mod pages;
mod paths;
mod provenance;
mod quoting;
mod recalls;
mod reconciling;
mod record_history;
mod redacting;
mod reranking;
mod room_graph;
mod sources;
mod syncing;
mod tombstones;
mod tunnels;
mod undoing;
mod users;
mod vault_files;
mod versions;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use loci_core::{
    AuditEntry, Caller, CollectionFilter, Embedder, Error, ErrorCode, Location, Memory, MemoryId,
    ModelId, Principal, Provenance, Result, SaidBy, Scope, Scopes, Space, Tier, Timestamp,
    Visibility, limits,
};
use loci_engine::{
    Conversation, Embedding, Engine, Facets, List, Message, Recall, Remember, Role, SearchMode,
    Signals, StoredMessages,
};
use loci_testkit::{FailingEmbedder, FixedClock, HashingEmbedder, NaiveStore};

const WRITER: [Scope; 2] = [Scope::Read, Scope::Write];

/// An engine with the parts that a test inspects.
struct Bench {
    engine: Engine,
    store: Arc<NaiveStore>,
    clock: Arc<FixedClock>,
}

fn bench_with(embedder: Arc<dyn Embedder>, mode: SearchMode) -> Bench {
    let store = Arc::new(NaiveStore::new());
    let clock = Arc::new(FixedClock::new(Timestamp::from_microseconds(1_000_000)));
    Bench {
        engine: Engine::new(store.clone(), embedder, clock.clone(), mode),
        store,
        clock,
    }
}

fn bench() -> Bench {
    bench_with(Arc::new(HashingEmbedder::default()), SearchMode::Hybrid)
}

fn engine_with(embedder: Arc<dyn Embedder>) -> Engine {
    bench_with(embedder, SearchMode::Hybrid).engine
}

fn engine() -> Engine {
    bench().engine
}

/// Returns a caller without a subject.
fn anonymous() -> Caller {
    Caller::new(Space::default(), Principal::anonymous())
}

/// Returns where words come from that a caller without a program stored.
fn words_of(said_by: SaidBy) -> Provenance {
    Provenance {
        said_by,
        ..Provenance::default()
    }
}

/// Returns an id that is unique in this process.
fn mint() -> MemoryId {
    static LAST: AtomicU64 = AtomicU64::new(0);
    MemoryId::new(format!("{:024x}", LAST.fetch_add(1, Ordering::Relaxed)))
}

fn message(role: Role, content: &str) -> Message {
    Message {
        role,
        content: content.to_owned(),
        tags: Vec::new(),
    }
}

fn say(
    engine: &Engine,
    caller: &Caller,
    thread: &str,
    messages: Vec<Message>,
) -> Result<StoredMessages> {
    engine
        .system(caller)
        .conversations()
        .store_messages(Conversation {
            thread: thread.to_owned(),
            messages,
            mint: &mint,
        })
}

fn everything(limit: usize) -> List {
    List {
        collections: CollectionFilter::Any,
        sections: Vec::new(),
        kinds: Vec::new(),
        tags: Vec::new(),
        delivery: None,
        facets: Facets::default(),
        offset: 0,
        limit,
        as_of: None,
    }
}

fn listed(engine: &Engine, caller: &Caller) -> Vec<Memory> {
    engine
        .system(caller)
        .listings()
        .list(everything(1_000))
        .unwrap()
}

fn caller(subject: &str, scopes: &[Scope]) -> Caller {
    Caller::new(
        Space::default(),
        Principal::new(subject, Scopes::of(scopes)),
    )
}

fn fact(content: &str, visibility: Visibility) -> Remember {
    Remember {
        visibility,
        ..Remember::new(content, "fact")
    }
}

fn question(query: &str) -> Recall<'_> {
    Recall::new(query, 10, &|signals| signals.relevance)
}

fn found(engine: &Engine, caller: &Caller, query: &str) -> Vec<MemoryId> {
    engine
        .system(caller)
        .search()
        .recall(&question(query))
        .unwrap()
        .hits
        .into_iter()
        .map(|hit| hit.memory.id)
        .collect()
}

#[test]
fn a_private_memory_is_absent_to_everyone_else() {
    let engine = engine();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let id = engine
        .system(&ann)
        .memories()
        .remember(fact("ann keeps bees", Visibility::Private))
        .unwrap()
        .memory
        .id;
    let absent = engine
        .system(&bob)
        .memories()
        .show(&MemoryId::new("absent"))
        .unwrap_err();
    for error in [
        engine.system(&bob).memories().show(&id).unwrap_err(),
        engine.system(&bob).memories().forget(&id).unwrap_err(),
        engine
            .system(&bob)
            .memories()
            .update(&id, "bob was here", None)
            .unwrap_err(),
        engine
            .system(&bob)
            .memories()
            .remember(Remember {
                supersedes: Some(id.clone()),
                ..fact("x", Visibility::Common)
            })
            .unwrap_err(),
    ] {
        assert_eq!(error.code, ErrorCode::NotFound);
        assert_eq!(error.message.replace(id.as_str(), "absent"), absent.message);
    }
    assert!(found(&engine, &bob, "bees").is_empty());
    assert_eq!(
        engine.system(&bob).listings().count_by_location().unwrap(),
        []
    );
    assert_eq!(found(&engine, &ann, "bees"), [id]);
}

#[test]
fn a_shared_memory_is_read_by_all_and_written_by_its_owner() {
    let engine = engine();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let id = engine
        .system(&ann)
        .memories()
        .remember(fact("the wifi is slow", Visibility::Shared))
        .unwrap()
        .memory
        .id;
    assert_eq!(
        engine.system(&bob).memories().show(&id).unwrap().content,
        "the wifi is slow"
    );
    assert_eq!(
        engine.system(&bob).memories().forget(&id).unwrap_err().code,
        ErrorCode::Forbidden
    );
    engine.system(&ann).memories().forget(&id).unwrap();
}

#[test]
fn spaces_see_nothing_of_each_other() {
    let engine = engine();
    let here = caller("ann", &[Scope::Admin]);
    let there = Caller {
        space: Space::parse("space", "elsewhere").unwrap(),
        ..here.clone()
    };
    let id = engine
        .system(&here)
        .memories()
        .remember(fact("only here", Visibility::Common))
        .unwrap()
        .memory
        .id;
    assert_eq!(
        engine.system(&there).memories().show(&id).unwrap_err().code,
        ErrorCode::NotFound
    );
    assert!(found(&engine, &there, "only here").is_empty());
}

/// A successor that the caller may not read hides nothing from it.
#[test]
fn an_unreadable_successor_does_not_hide() {
    let engine = engine();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let old = engine
        .system(&ann)
        .memories()
        .remember(fact("tea at four", Visibility::Common))
        .unwrap()
        .memory
        .id;
    let successor = Remember {
        supersedes: Some(old.clone()),
        ..fact("tea at five", Visibility::Private)
    };
    let new = engine
        .system(&ann)
        .memories()
        .remember(successor)
        .unwrap()
        .memory
        .id;
    assert_eq!(found(&engine, &ann, "tea"), [new]);
    assert_eq!(found(&engine, &bob, "tea"), [old]);
}

#[test]
fn concurrent_changes_of_one_memory_are_all_made() {
    const WRITERS: u64 = 40;
    let engine = Arc::new(engine());
    let ann = caller("ann", &WRITER);
    let id = engine
        .system(&ann)
        .memories()
        .remember(fact("counts to zero", Visibility::Common))
        .unwrap()
        .memory
        .id;
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| {
            let (engine, ann, id) = (engine.clone(), ann.clone(), id.clone());
            std::thread::spawn(move || {
                engine
                    .system(&ann)
                    .memories()
                    .update(&id, &format!("counts to {number}"), None)
                    .unwrap()
                    .0
                    .revision
            })
        })
        .collect();
    let mut revisions: Vec<u64> = writers
        .into_iter()
        .map(|writer| writer.join().unwrap())
        .collect();
    revisions.sort_unstable();
    assert!(revisions.into_iter().eq(2..WRITERS + 2));
    assert_eq!(
        engine.system(&ann).memories().show(&id).unwrap().revision,
        WRITERS + 1
    );
}

/// Otherwise storing a similar text would be a way to read.
#[test]
fn a_caller_that_may_only_write_is_told_of_nothing_similar() {
    let engine = engine();
    let old = fact("the password is in the safe", Visibility::Common);
    let old = engine
        .system(&caller("ann", &WRITER))
        .memories()
        .remember(old)
        .unwrap()
        .memory
        .id;
    for (scopes, told) in [(&WRITER[..], true), (&[Scope::Write], false)] {
        for (content, is_same) in [
            ("the password is not in the safe", false),
            ("the password is in the safe", true),
        ] {
            let compare_in = Some(CollectionFilter::Any);
            let request = Remember {
                compare_in,
                once: true,
                ..fact(content, Visibility::Private)
            };
            let remembered = engine
                .system(&caller("bob", scopes))
                .memories()
                .remember(request)
                .unwrap();
            let is_told = remembered
                .contradicted
                .iter()
                .any(|similar| similar.memory.id == old);
            assert_eq!(is_told, told && !is_same, "{scopes:?} {content}");
            assert_eq!(
                remembered.duplicate_of,
                Some(old.clone()).filter(|_| told && is_same),
                "{scopes:?} {content}"
            );
            assert_eq!(
                remembered.memory.id == old,
                told && is_same,
                "{scopes:?} {content}"
            );
        }
    }
}

/// All passages of a long text are compared, not only its beginning.
#[test]
fn a_late_sentence_is_found_to_contradict() {
    let engine = engine();
    let local = Caller::local();
    let old = engine
        .system(&local)
        .memories()
        .remember(fact("release trains leave on mondays", Visibility::Common))
        .unwrap()
        .memory
        .id;
    let filler = "quite unrelated filler sentence with many words in it. ".repeat(20);
    let content = format!(
        "{filler}\n\n{}",
        "release trains leave on fridays. ".repeat(4)
    );
    let request = Remember {
        compare_in: Some(CollectionFilter::Any),
        ..fact(&content, Visibility::Common)
    };
    let found = engine
        .system(&local)
        .memories()
        .remember(request)
        .unwrap()
        .contradicted;
    assert_eq!(
        found
            .into_iter()
            .map(|similar| similar.memory.id)
            .collect::<Vec<_>>(),
        [old]
    );
}

/// Refuses some texts for good, and every text while it is away.
struct MoodyEmbedder {
    inner: HashingEmbedder,
    is_away: AtomicBool,
}

impl Embedder for MoodyEmbedder {
    fn model(&self) -> &ModelId {
        self.inner.model()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        if self.is_away.load(Ordering::SeqCst) || texts.iter().any(|text| text.contains("poison")) {
            return Err(Error::unavailable("the model does not take it\0"));
        }
        self.inner.embed(texts)
    }
}

#[test]
fn a_text_that_the_model_refuses_holds_up_no_other() {
    let embedder = Arc::new(MoodyEmbedder {
        inner: HashingEmbedder::default(),
        is_away: AtomicBool::new(true),
    });
    let engine = engine_with(embedder.clone());
    let local = Caller::local();
    for number in 0..5 {
        engine
            .system(&local)
            .memories()
            .remember(fact(&format!("poison {number}"), Visibility::Common))
            .unwrap();
    }
    let good = engine
        .system(&local)
        .memories()
        .remember(fact("honey and bread", Visibility::Common))
        .unwrap()
        .memory
        .id;
    assert!(engine.background().embed_pending().is_err());
    embedder.is_away.store(false, Ordering::SeqCst);
    let rounds: Vec<_> = (0..4)
        .map(|_| engine.background().embed_pending().unwrap_or(0))
        .collect();
    assert_eq!(rounds.iter().sum::<usize>(), 1, "{rounds:?}");
    let ranking = |signals: &Signals| f64::from(signals.cosine.unwrap_or(-1.0));
    let recall = Recall {
        limit: 1,
        ranking: &ranking,
        ..question("honey")
    };
    let recalled = engine.system(&local).search().recall(&recall).unwrap();
    assert_eq!(recalled.hits[0].memory.id, good);
    assert!(recalled.hits[0].signals.cosine.is_some());
    assert!(recalled.degraded.unwrap().starts_with("5 of 6"));
}

#[test]
fn a_missing_model_costs_no_memory_and_no_search() {
    let engine = engine_with(Arc::new(FailingEmbedder::default()));
    let remembered = engine
        .system(&Caller::local())
        .memories()
        .remember(fact("the moon is full", Visibility::Common))
        .unwrap();
    assert!(matches!(remembered.embedding, Embedding::Pending(_)));
    assert_eq!(
        found(&engine, &Caller::local(), "full moon"),
        [remembered.memory.id]
    );
    assert_eq!(
        engine.background().embed_pending().unwrap_err().code,
        ErrorCode::Unavailable
    );
}

#[test]
fn repeated_tags_count_once_and_limits_hold() {
    let engine = engine();
    let local = Caller::local();
    let tags = ["a", "b", "a"].map(str::to_owned).to_vec();
    let memory = engine
        .system(&local)
        .memories()
        .remember(Remember {
            tags,
            ..fact("x", Visibility::Common)
        })
        .unwrap()
        .memory;
    assert_eq!(memory.tags, ["a", "b"]);
    for request in [
        Remember {
            weight: 1.1,
            ..fact("x", Visibility::Common)
        },
        Remember {
            weight: f64::NAN,
            ..fact("x", Visibility::Common)
        },
        Remember {
            collection: Some("a\nb".to_owned()),
            ..fact("x", Visibility::Common)
        },
        Remember {
            tags: vec![" ".to_owned()],
            ..fact("x", Visibility::Common)
        },
        fact("\u{2003}", Visibility::Common),
    ] {
        assert_eq!(
            engine
                .system(&local)
                .memories()
                .remember(request)
                .unwrap_err()
                .code,
            ErrorCode::InvalidArgument
        );
    }
    assert_eq!(engine.size().unwrap().memories, 1);
}
