//! Tests of storing the messages of conversations.

use std::sync::Mutex;
use std::thread;

use loci_core::{EnrichmentStatus, FilingOrder, JobStore, Partition, Store, Thread};
use loci_engine::{Discard, Policy};

use super::*;

const LONG: &str = "my sister moved to Lisbon in spring";

fn human(content: &str) -> Message {
    message(Role::Human, content)
}

#[test]
fn a_message_is_working_memory_and_what_a_person_says_a_candidate() {
    let Bench { engine, store, .. } = bench();
    let ann = caller("ann", &WRITER);
    let now = engine.now();
    let tags = ["family", "travel", "family"].map(str::to_owned).to_vec();
    let messages = vec![
        Message {
            tags,
            ..human(LONG)
        },
        message(Role::Assistant, "How nice for her, and for you!"),
    ];
    let said = say(&engine, &ann, "c1", messages).unwrap();
    assert_eq!((said.ids.len(), &said.pending), (2, &None));

    let first = store.get(&ann.space, &said.ids[0]).unwrap().unwrap();
    let expected = Memory {
        location: Location {
            collection: None,
            section: "message".to_owned(),
        },
        tags: vec!["family".to_owned(), "travel".to_owned()],
        tier: Tier::ShortTerm,
        thread: Some(Thread {
            name: "c1".to_owned(),
            position: 0,
        }),
        origin: ann.origin.to_owned(),
        owner: Some("ann".to_owned()),
        provenance: words_of(SaidBy::User),
        expires_at: Some(now.plus_seconds(86_400)),
        ..Memory::new(ann.space.clone(), said.ids[0].clone(), LONG, "human", now)
    };
    assert_eq!(first, expected);
    let second = store.get(&ann.space, &said.ids[1]).unwrap().unwrap();
    assert_eq!(
        (
            second.kind.as_str(),
            second.thread.map(|thread| thread.position)
        ),
        ("ai", Some(1))
    );

    let candidates = listed(&engine, &ann);
    let [candidate] = candidates.as_slice() else {
        panic!("{candidates:?}")
    };
    let expected = Memory {
        id: candidate.id.clone(),
        location: Location {
            collection: None,
            section: "other".to_owned(),
        },
        kind: "other".to_owned(),
        tier: Tier::LongTerm,
        source: Some(first.id.clone()),
        enrichment: Some(EnrichmentStatus::Pending),
        expires_at: None,
        ..first
    };
    assert_eq!(*candidate, expected);

    // Embedded and due at once, and the background is woken.
    assert_eq!(
        store
            .without_vector(
                &Partition::Whole,
                HashingEmbedder::default().model(),
                FilingOrder::FirstFirst,
                10
            )
            .unwrap(),
        []
    );
    assert!(
        engine
            .background()
            .enrich_wakeup()
            .wait(std::time::Duration::ZERO)
    );
    let jobs = store
        .lease_jobs(now, now.plus_seconds(1), "lease", 10)
        .unwrap();
    assert_eq!(
        jobs.into_iter().map(|job| job.memory).collect::<Vec<_>>(),
        std::slice::from_ref(&candidate.id)
    );

    // The next call continues at this one's end; without a candidate no thread is woken.
    let more = say(&engine, &ann, "c1", vec![human("yes")]).unwrap();
    let third = store.get(&ann.space, &more.ids[0]).unwrap().unwrap();
    assert_eq!(third.thread.map(|thread| thread.position), Some(2));
    assert!(
        !engine
            .background()
            .enrich_wakeup()
            .wait(std::time::Duration::ZERO)
    );
}

#[test]
fn only_long_messages_of_people_make_candidates() {
    let thirty = "x".repeat(30);
    let rows = [
        (Role::Human, thirty.clone(), false),
        (Role::Human, format!("{thirty}\n"), true),
        (Role::Human, "ü".repeat(30), false),
        (Role::Human, "ü".repeat(31), true),
        (Role::Human, format!("{thirty}x"), true),
        (Role::Assistant, LONG.to_owned(), false),
        (Role::System, LONG.to_owned(), false),
        (Role::Tool, LONG.to_owned(), false),
    ];
    for (role, content, expected) in rows {
        let engine = engine();
        let ann = caller("ann", &WRITER);
        say(&engine, &ann, "c1", vec![message(role, &content)]).unwrap();
        assert_eq!(
            listed(&engine, &ann).len(),
            usize::from(expected),
            "{role:?} {content:?}"
        );
    }
}

#[test]
fn a_conversation_is_no_collection() {
    for name in ["talk", "global"] {
        let Bench { engine, store, .. } = bench();
        let ann = caller("ann", &WRITER);
        let said = say(&engine, &ann, name, vec![human(LONG)]).unwrap();
        let message = store.get(&ann.space, &said.ids[0]).unwrap().unwrap();
        for memory in [&message, &listed(&engine, &ann)[0]] {
            assert_eq!(
                (memory.location.collection.as_deref(), memory.conversation()),
                (None, Some(name))
            );
        }
        assert_eq!(
            engine.system(&ann).listings().collections().unwrap(),
            Vec::<String>::new()
        );
    }
}

#[test]
fn what_is_out_of_its_limits_stores_nothing() {
    let engine = engine();
    let ann = caller("ann", &WRITER);
    let good = || human(LONG);
    let tagged = |tags: &[&str]| Message {
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..good()
    };
    let too_long = "x".repeat(limits::CONTENT_BYTES_MAX + 1);
    let rows = [
        ("c1", Vec::new(), ErrorCode::InvalidArgument, "`messages` "),
        (
            "c1",
            vec![good(); limits::MESSAGES_MAX + 1],
            ErrorCode::InvalidArgument,
            "`messages` ",
        ),
        (
            " ",
            vec![good()],
            ErrorCode::InvalidArgument,
            "`conversation_id` ",
        ),
        (
            "c1",
            vec![good(), human(" ")],
            ErrorCode::InvalidArgument,
            "`messages.1.content` ",
        ),
        (
            "c1",
            vec![human("a\0b")],
            ErrorCode::InvalidArgument,
            "`messages.0.content` ",
        ),
        (
            "c1",
            vec![human(&too_long)],
            ErrorCode::TooLarge,
            "`messages.0.content` ",
        ),
        (
            "c1",
            vec![good(), tagged(&[""])],
            ErrorCode::InvalidArgument,
            "`messages.1.tags.0` ",
        ),
        (
            "c1",
            vec![tagged(&["t"; limits::TAGS_MAX + 1])],
            ErrorCode::InvalidArgument,
            "`messages.0.tags` ",
        ),
    ];
    for (thread, messages, code, beginning) in rows {
        let error = say(&engine, &ann, thread, messages).unwrap_err();
        assert_eq!(error.code, code, "{}", error.message);
        assert!(error.message.starts_with(beginning), "{}", error.message);
    }
    assert_eq!(
        say(&engine, &anonymous(), "c1", vec![good()])
            .unwrap_err()
            .code,
        ErrorCode::Forbidden
    );
    assert_eq!(engine.size().unwrap().memories, 0);
    say(
        &engine,
        &ann,
        "c1",
        vec![human("short"); limits::MESSAGES_MAX],
    )
    .unwrap();
    assert_eq!(engine.size().unwrap().memories, limits::MESSAGES_MAX as u64);
}

#[test]
fn the_conversations_of_what_would_be_discarded_are_counted() {
    let engine = engine();
    let ann = caller("ann", &WRITER);
    let tagged = |content: &str| Message {
        tags: vec!["old".to_owned()],
        ..human(content)
    };
    for (thread, messages) in [
        ("c1", vec![tagged(LONG), tagged("short"), human("other")]),
        ("c2", vec![tagged("shorter")]),
        ("c3", vec![human("not tagged")]),
    ] {
        say(&engine, &ann, thread, messages).unwrap();
    }
    let said = listed(&engine, &ann)[0].id.clone();
    let kept = engine.system(&ann).memories().remember(Remember {
        tags: vec!["old".to_owned()],
        ..fact("no conversation has this", Visibility::Private)
    });
    let kept = kept.unwrap().memory.id;
    let old = Discard {
        tags: vec!["old".to_owned()],
        ..Discard::default()
    };
    let by_id = |id: &MemoryId| Discard {
        id: Some(id.clone()),
        ..Discard::default()
    };
    let bob = caller("bob", &WRITER);
    for (caller, which, expected) in [
        (&ann, old.clone(), 2),
        (&bob, old.clone(), 0),
        (&ann, by_id(&said), 1),
        (&bob, by_id(&said), 0),
        (&ann, by_id(&kept), 0),
    ] {
        let system = engine.system(caller);
        assert_eq!(
            system.memories().count_conversations(&which),
            Ok(expected),
            "{which:?}"
        );
    }
    let memories = engine.system(&ann);
    memories.memories().discard(&old).unwrap();
    assert_eq!(memories.memories().count_conversations(&old), Ok(0));
    let refused = memories.memories().count_conversations(&Discard::default());
    assert_eq!(refused.unwrap_err().code, ErrorCode::InvalidArgument);
}

#[test]
fn messages_expire_and_what_was_made_from_them_does_not() {
    let Bench { engine, clock, .. } = bench();
    let engine = engine.with_policy(Policy {
        message_ttl_seconds: 60,
        ..Policy::default()
    });
    let ann = caller("ann", &WRITER);
    let said = say(&engine, &ann, "c1", vec![human(LONG)]).unwrap();
    let both = || {
        engine
            .system(&ann)
            .search()
            .recall(&Recall {
                tiers: vec![Tier::ShortTerm],
                ..question("sister")
            })
            .unwrap()
            .hits
    };
    clock.advance(59);
    assert_eq!(both().len(), 1);
    assert_eq!(both()[0].memory.id, said.ids[0]);
    clock.advance(1);
    assert!(both().is_empty());
    assert_eq!(found(&engine, &ann, "sister").len(), 1);
}

/// The calls of the other dialects work as if there were no messages.
#[test]
fn messages_are_absent_where_nobody_asks_for_them() {
    let engine = engine();
    let ann = caller("ann", &[Scope::Admin]);
    let id = say(&engine, &ann, "c1", vec![message(Role::Assistant, LONG)])
        .unwrap()
        .ids
        .remove(0);
    for error in [
        engine.system(&ann).memories().show(&id).unwrap_err(),
        engine.system(&ann).memories().forget(&id).unwrap_err(),
        engine
            .system(&ann)
            .memories()
            .update(&id, "something else", None)
            .unwrap_err(),
        engine
            .system(&ann)
            .memories()
            .remember(Remember {
                supersedes: Some(id.clone()),
                ..fact("x", Visibility::Common)
            })
            .unwrap_err(),
    ] {
        assert_eq!(error.code, ErrorCode::NotFound);
    }
    assert!(listed(&engine, &ann).is_empty());
    assert!(
        engine
            .system(&ann)
            .listings()
            .count_by_location()
            .unwrap()
            .is_empty()
    );
    assert!(
        engine
            .system(&ann)
            .listings()
            .collections()
            .unwrap()
            .is_empty()
    );
    assert!(
        engine
            .system(&ann)
            .context()
            .bootstrap(Some("c1"))
            .unwrap()
            .markdown
            .is_empty()
    );
    assert!(found(&engine, &ann, LONG).is_empty());
    let compare_in = Some(CollectionFilter::Any);
    let remembered = engine
        .system(&ann)
        .memories()
        .remember(Remember {
            compare_in,
            ..fact(LONG, Visibility::Private)
        })
        .unwrap();
    assert_eq!(
        (remembered.duplicate_of, remembered.contradicted),
        (None, Vec::new())
    );
}

/// Two engines share a store as two processes do, and no lock.
#[test]
fn concurrent_calls_on_one_conversation_get_positions_of_their_own() {
    const CALLS: usize = 20;
    let Bench {
        engine,
        store,
        clock,
    } = bench();
    let other = Engine::new(
        store.clone(),
        Arc::new(HashingEmbedder::default()),
        clock,
        SearchMode::Hybrid,
    );
    let ann = caller("ann", &WRITER);
    let ids = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for number in 0..CALLS {
            let (ann, ids) = (&ann, &ids);
            let engine = if number % 2 == 0 { &engine } else { &other };
            scope.spawn(move || {
                let said = say(engine, ann, "c1", vec![human("one"), human("two")]).unwrap();
                ids.lock().unwrap().push(said.ids);
            });
        }
    });
    let position = |id: &MemoryId| {
        store
            .get(&ann.space, id)
            .unwrap()
            .unwrap()
            .thread
            .unwrap()
            .position
    };
    let pairs: Vec<(u64, u64)> = ids
        .into_inner()
        .unwrap()
        .iter()
        .map(|ids| (position(&ids[0]), position(&ids[1])))
        .collect();
    let mut firsts: Vec<u64> = pairs.iter().map(|(first, _)| *first).collect();
    firsts.sort_unstable();
    assert!(
        firsts
            .into_iter()
            .eq((0..CALLS as u64).map(|call| call * 2)),
        "{pairs:?}"
    );
    assert!(
        pairs.iter().all(|(first, second)| first + 1 == *second),
        "{pairs:?}"
    );
}

/// Records the number of texts in each call.
#[derive(Default)]
pub(super) struct CountingEmbedder {
    inner: HashingEmbedder,
    pub(super) calls: Mutex<Vec<usize>>,
}

impl Embedder for CountingEmbedder {
    fn model(&self) -> &ModelId {
        self.inner.model()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.calls.lock().unwrap().push(texts.len());
        self.inner.embed(texts)
    }
}

#[test]
fn many_messages_are_left_to_the_background() {
    let long = "one two three four five six seven eight nine ten. ".repeat(2_000);
    let short = || human(LONG);
    // The messages; the texts of each call of the model.
    let rows = [
        (vec![short(); 32], vec![32]),
        (vec![short(); 33], vec![]),
        (vec![short(), human(&long), short()], vec![]),
        (vec![human(&long)], vec![]),
    ];
    for (messages, calls) in rows {
        let waiting = if calls.is_empty() { messages.len() } else { 0 };
        let embedder = Arc::new(CountingEmbedder::default());
        let Bench { engine, store, .. } = bench_with(embedder.clone(), SearchMode::Hybrid);
        let said = say(&engine, &caller("ann", &WRITER), "c1", messages).unwrap();
        assert_eq!(*embedder.calls.lock().unwrap(), calls);
        assert_eq!(
            said.pending
                .is_some_and(|reason| reason.contains("background")),
            waiting > 0
        );
        // Each with its candidate.
        assert_eq!(
            store
                .without_vector(
                    &Partition::Whole,
                    embedder.model(),
                    FilingOrder::FirstFirst,
                    1_000
                )
                .unwrap()
                .len(),
            waiting * 2
        );
    }
}

#[test]
fn a_missing_model_costs_no_message() {
    let rows = [
        (SearchMode::Hybrid, true),
        (SearchMode::Vector, true),
        (SearchMode::Words, false),
    ];
    for (mode, is_pending) in rows {
        let Bench { engine, .. } = bench_with(Arc::new(FailingEmbedder::default()), mode);
        let ann = caller("ann", &WRITER);
        let said = say(&engine, &ann, "c1", vec![human(LONG)]).unwrap();
        assert_eq!(said.pending.is_some(), is_pending, "{mode:?}");
        assert_eq!(listed(&engine, &ann).len(), 1);
    }
}
