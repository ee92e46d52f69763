//! Tests of the data of one user: deleting, counting and wiping it.

use std::sync::atomic::AtomicUsize;
use std::thread;

use loci_core::{
    Batch, Change, EnrichmentStatus, Expect, JobStore, StatusCount, Store, TombstoneStore,
    WipeCounts,
};
use loci_engine::{Discard, ForgetConditions};
use loci_testkit::GatedEmbedder;

use super::faulty_store::FaultyStore;
use super::*;

const LONG: &str = "the meeting on Friday is about the budget";

fn tagged(tag: &str) -> Message {
    Message {
        tags: vec![tag.to_owned()],
        ..message(Role::Human, LONG)
    }
}

fn by_tag(tag: &str) -> Discard {
    Discard {
        tags: vec![tag.to_owned()],
        ..Discard::default()
    }
}

/// Marks a long-term memory as enriched.
fn complete(store: &NaiveStore, memory: &Memory) {
    let revision = memory.revision + 1;
    let judged = Memory {
        enrichment: Some(EnrichmentStatus::Completed),
        revision,
        ..memory.clone()
    };
    let expect = Expect::Revision(memory.revision);
    let change = Change::Put {
        memory: Box::new(judged),
        passages: None,
        expect,
    };
    store
        .commit(Batch::new(memory.space.clone(), vec![change]))
        .unwrap();
}

#[test]
fn a_dry_run_counts_what_is_deleted() {
    type Which = fn(&[MemoryId]) -> Discard;
    let rows: [(&str, Which, usize); 7] = [
        (
            "a message",
            |ids| Discard {
                id: Some(ids[0].clone()),
                ..Discard::default()
            },
            1,
        ),
        (
            "an unknown id",
            |_| Discard {
                id: Some(MemoryId::new("absent")),
                ..Discard::default()
            },
            0,
        ),
        ("a tag: messages and candidates", |_| by_tag("a"), 4),
        (
            "an id with another tag",
            |ids| Discard {
                id: Some(ids[0].clone()),
                ..by_tag("b")
            },
            0,
        ),
        (
            "from a moment",
            |_| Discard {
                created_from: Some(at(200)),
                ..Discard::default()
            },
            4,
        ),
        (
            "until a moment",
            |_| Discard {
                created_until: Some(at(100)),
                ..Discard::default()
            },
            2,
        ),
        (
            "a tag in a range",
            |_| Discard {
                created_from: Some(at(100)),
                created_until: Some(at(200)),
                ..by_tag("a")
            },
            4,
        ),
    ];
    for (name, which, expected) in rows {
        let Bench { engine, clock, .. } = bench();
        let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
        let mut ids = Vec::new();
        for (seconds, tag) in [(100, "a"), (200, "a"), (300, "b")] {
            clock.set(at(seconds));
            ids.extend(say(&engine, &ann, "c1", vec![tagged(tag)]).unwrap().ids);
            say(&engine, &bob, "c1", vec![tagged(tag)]).unwrap();
        }
        let which = which(&ids);
        let before = all(&engine, &bob);
        assert_eq!(
            engine.system(&ann).memories().count_discarded(&which),
            Ok(expected),
            "{name}"
        );
        assert_eq!(
            engine.system(&ann).memories().discard(&which),
            Ok(expected),
            "{name}"
        );
        assert_eq!(
            engine.system(&ann).memories().count_discarded(&which),
            Ok(0),
            "{name}"
        );
        assert_eq!(all(&engine, &bob), before, "{name}");
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_microseconds(seconds * 1_000_000)
}

fn all(engine: &Engine, caller: &Caller) -> u64 {
    engine
        .system(caller)
        .listings()
        .count_by_status()
        .unwrap()
        .into_iter()
        .map(|row| row.memories)
        .sum()
}

#[test]
fn a_message_and_what_was_made_from_it_go_together() {
    for (is_completed, by_message) in [(false, false), (false, true), (true, false), (true, true)] {
        let Bench { engine, store, .. } = bench();
        let ann = caller("ann", &WRITER);
        let said = say(&engine, &ann, "c1", vec![message(Role::Human, LONG)]).unwrap();
        let kept = listed(&engine, &ann)[0].clone();
        if is_completed {
            complete(&store, &kept);
        }
        let id = if by_message { &said.ids[0] } else { &kept.id };
        let which = Discard {
            id: Some(id.clone()),
            ..Discard::default()
        };
        assert_eq!(
            engine.system(&ann).memories().count_discarded(&which),
            Ok(1)
        );
        assert_eq!(engine.system(&ann).memories().discard(&which), Ok(1));
        assert_eq!(
            (all(&engine, &ann), found(&engine, &ann, "budget")),
            (0, Vec::new())
        );
        // A soft deletion: its position stays taken.
        say(&engine, &ann, "c1", vec![message(Role::Human, "more")]).unwrap();
        assert_eq!(store.thread_end(&ann.space, "ann", "c1"), Ok(2));
    }
}

#[test]
fn what_was_discarded_comes_back_with_what_was_made_from_it() {
    for (is_completed, by_message) in [(false, false), (false, true), (true, false), (true, true)] {
        let Bench { engine, store, .. } = bench();
        let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
        for (thread, text) in [("c1", LONG), ("c2", "short")] {
            say(&engine, &ann, thread, vec![message(Role::Human, text)]).unwrap();
        }
        let kept = listed(&engine, &ann)[0].clone();
        if is_completed {
            complete(&store, &kept);
        }
        let before = archive_of(&store);
        let said = kept.source.clone().unwrap();
        let of_ann = engine.system(&ann);
        let memories = of_ann.memories();
        assert_eq!(memories.discard(&Discard::of(said.clone())), Ok(1));
        let (id, other) = if by_message {
            (&said, &kept.id)
        } else {
            (&kept.id, &said)
        };
        let refused = engine.system(&bob).memories().unforget(id).unwrap_err();
        assert_eq!(refused.code, ErrorCode::NotFound);
        let back = memories.unforget(id).unwrap();
        assert_eq!(
            (&back.memory.id, back.is_changed, back.was_deleted),
            (id, true, true)
        );
        assert_eq!(
            found(&engine, &ann, "budget"),
            std::slice::from_ref(&kept.id)
        );
        let after = archive_of(&store);
        assert_eq!(after, before, "{id} and {other} are as they were");
        let waiting = store.job_counts().unwrap().waiting;
        assert_eq!(waiting, u64::from(!is_completed));
        assert_eq!(store.tombstones(&ann.space, None, 9), Ok(Vec::new()));
        let again = memories.unforget(&said).unwrap_err();
        assert_eq!(
            again.code,
            ErrorCode::NotFound,
            "a message is not forgotten"
        );
    }
}

/// Returns the memories with the times of their last changes.
fn archive_of(store: &NaiveStore) -> Vec<Memory> {
    let filter = loci_core::Filter::of(Space::default(), loci_core::Reader::everything(), at(0));
    let page = loci_core::Page {
        offset: 0,
        limit: 100,
    };
    store.list(&filter, page).unwrap()
}

#[test]
fn a_conversation_that_was_discarded_comes_back() {
    let Bench { engine, clock, .. } = bench();
    let (ann, admin) = (caller("ann", &WRITER), Caller::local());
    clock.set(at(100));
    for thread in ["c1", "c2"] {
        let messages = vec![message(Role::Human, LONG), message(Role::Assistant, "yes")];
        say(&engine, &ann, thread, messages).unwrap();
    }
    let discard = |thread: &str| Discard {
        thread: Some(thread.to_owned()),
        ..Discard::default()
    };
    for (seconds, thread) in [(200, "c1"), (300, "c2")] {
        clock.set(at(seconds));
        let discarded = engine.system(&ann).memories().discard(&discard(thread));
        assert_eq!(discarded, Ok(3));
    }
    let of_first = ForgetConditions {
        conversation: Some("c1".to_owned()),
        ..ForgetConditions::default()
    };
    let since = |seconds| ForgetConditions {
        forgotten_from: Some(at(seconds)),
        ..ForgetConditions::default()
    };
    let bob = caller("bob", &WRITER);
    let counts = |caller: &Caller, which: &ForgetConditions| {
        let system = engine.system(caller);
        let matching = system.memories().matching_forgotten(which, 2).unwrap();
        (matching.memories, matching.first.len(), matching.of_others)
    };
    assert_eq!(counts(&ann, &of_first), (3, 2, 0));
    assert_eq!(counts(&bob, &of_first), (0, 0, 0));
    assert_eq!(counts(&admin, &since(300)), (3, 2, 0));
    let page = loci_core::Page {
        offset: 1,
        limit: 9,
    };
    let system = engine.system(&ann);
    assert_eq!(system.memories().deleted(page).unwrap().len(), 5);
    for (which, left) in [(of_first, 3), (since(0), 0)] {
        let marked = engine.system(&admin).memories().unforget_where(&which);
        assert_eq!(marked.unwrap().memories, 3);
        let page = loci_core::Page { offset: 0, ..page };
        assert_eq!(system.memories().deleted(page).unwrap().len(), left);
    }
    assert_eq!(all(&engine, &ann), 6);
}

/// Through the other tool sets, which see only the memory made from a message.
#[test]
fn a_message_goes_with_what_was_made_from_it_wherever_that_is_deleted() {
    let rows: [fn(&Engine, &Caller, &MemoryId); 2] = [
        |engine, caller, id| engine.system(caller).memories().forget(id).unwrap(),
        |engine, caller, id| drop(engine.system(caller).memories().forget_softly(id).unwrap()),
    ];
    for delete in rows {
        let Bench { engine, .. } = bench();
        let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
        for caller in [&ann, &bob] {
            say(&engine, caller, "c1", vec![message(Role::Human, LONG)]).unwrap();
        }
        let kept = listed(&engine, &ann)[0].id.clone();
        delete(&engine, &ann, &kept);
        let both = Recall {
            tiers: Tier::OF_CONVERSATIONS.to_vec(),
            ..question("budget")
        };
        let left = |caller| {
            (
                all(&engine, caller),
                engine
                    .system(caller)
                    .search()
                    .recall(&both)
                    .unwrap()
                    .hits
                    .len(),
            )
        };
        assert_eq!([left(&ann), left(&bob)], [(0, 0), (2, 1)]);
    }
}

#[test]
fn many_memories_are_deleted_in_several_transactions() {
    let engine = bench_with(Arc::new(HashingEmbedder::default()), SearchMode::Words).engine;
    let ann = caller("ann", &WRITER);
    for _ in 0..3 {
        say(&engine, &ann, "c1", vec![tagged("a"); 100]).unwrap();
    }
    assert_eq!(
        engine.system(&ann).memories().count_discarded(&by_tag("a")),
        Ok(600)
    );
    assert_eq!(
        engine.system(&ann).memories().discard(&by_tag("a")),
        Ok(600)
    );
    assert_eq!(all(&engine, &ann), 0);
}

#[test]
fn deleting_asks_for_a_condition_a_user_and_the_scope() {
    let engine = engine();
    let ann = caller("ann", &WRITER);
    engine
        .system(&anonymous())
        .memories()
        .remember(Remember {
            tags: vec!["a".to_owned()],
            ..fact("x", Visibility::Common)
        })
        .unwrap();
    let rows = [
        (ann.clone(), Discard::default(), ErrorCode::InvalidArgument),
        (ann, by_tag(" "), ErrorCode::InvalidArgument),
        (
            caller("ann", &[Scope::Read]),
            by_tag("a"),
            ErrorCode::Forbidden,
        ),
        (anonymous(), by_tag("a"), ErrorCode::Forbidden),
    ];
    for (caller, which, code) in rows {
        assert_eq!(
            engine
                .system(&caller)
                .memories()
                .discard(&which)
                .unwrap_err()
                .code,
            code,
            "{caller:?}"
        );
        assert_eq!(
            engine
                .system(&caller)
                .memories()
                .count_discarded(&which)
                .unwrap_err()
                .code,
            code,
            "{caller:?}"
        );
    }
    // Records of other owners, or without one, are not the admin's own.
    assert_eq!(
        engine
            .system(&Caller::local())
            .memories()
            .discard(&by_tag("a")),
        Ok(0)
    );
    assert_eq!(engine.size().unwrap().memories, 1);
}

#[test]
fn a_census_counts_the_callers_conversations() {
    let Bench {
        engine,
        store,
        clock,
    } = bench();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    say(
        &engine,
        &ann,
        "c1",
        vec![message(Role::Human, LONG), message(Role::Assistant, "fine")],
    )
    .unwrap();
    say(&engine, &ann, "c2", vec![message(Role::Human, LONG)]).unwrap();
    engine
        .system(&ann)
        .memories()
        .remember(fact("not of a conversation", Visibility::Private))
        .unwrap();
    complete(
        &store,
        &listed(&engine, &ann)
            .into_iter()
            .find(|memory| memory.source.is_some())
            .unwrap(),
    );
    let row = |tier, enrichment, memories| StatusCount {
        tier,
        enrichment,
        memories,
    };
    let long_term = [
        row(Tier::LongTerm, Some(EnrichmentStatus::Pending), 1),
        row(Tier::LongTerm, Some(EnrichmentStatus::Completed), 1),
    ];
    assert_eq!(
        engine.system(&ann).listings().count_by_status().unwrap(),
        [&long_term[..], &[row(Tier::ShortTerm, None, 3)]].concat()
    );
    assert_eq!(
        engine.system(&bob).listings().count_by_status().unwrap(),
        []
    );
    assert_eq!(
        engine
            .system(&anonymous())
            .listings()
            .count_by_status()
            .unwrap(),
        []
    );
    clock.advance(86_400);
    assert_eq!(
        engine.system(&ann).listings().count_by_status().unwrap(),
        long_term
    );
}

#[test]
fn a_decision_is_kept_under_its_key_until_it_expires() {
    let Bench { engine, clock, .. } = bench();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let value = |caller: &Caller| {
        engine
            .system(caller)
            .conversations()
            .decided("theme")
            .unwrap()
            .map(|decision| decision.value)
    };
    let created_at = engine.now();
    assert_eq!(
        engine
            .system(&ann)
            .conversations()
            .decide("theme", "dark", None),
        Ok(true)
    );
    assert_eq!(
        engine
            .system(&bob)
            .conversations()
            .decide("theme", "light", Some(2)),
        Ok(true)
    );
    clock.advance(86_400);
    assert_eq!(
        engine
            .system(&ann)
            .conversations()
            .decide("theme", "darker", Some(1)),
        Ok(false)
    );
    let decision = engine
        .system(&ann)
        .conversations()
        .decided("theme")
        .unwrap()
        .unwrap();
    let tomorrow = Some(engine.now().plus_seconds(86_400));
    assert_eq!(
        (
            decision.created_at,
            decision.updated_at,
            decision.expires_at
        ),
        (created_at, engine.now(), tomorrow)
    );
    assert_eq!(
        (value(&ann), value(&bob)),
        (Some("darker".to_owned()), Some("light".to_owned()))
    );
    assert_eq!(value(&anonymous()), None);
    clock.advance(86_400);
    assert_eq!((value(&ann), value(&bob)), (None, None));
    assert_eq!(
        engine
            .system(&ann)
            .conversations()
            .decide("theme", "dark", None),
        Ok(true)
    );
}

#[test]
fn a_decision_has_limits() {
    let engine = engine();
    let ann = caller("ann", &WRITER);
    let long = "x".repeat(limits::CONTENT_BYTES_MAX + 1);
    let days_max = limits::TTL_DAYS_MAX;
    let rows = [
        (" ", "v", None, ErrorCode::InvalidArgument, "`key` "),
        ("k", " ", None, ErrorCode::InvalidArgument, "`value` "),
        ("k", &long, None, ErrorCode::TooLarge, "`value` "),
        ("k", "v", Some(0), ErrorCode::InvalidArgument, "`ttl_days` "),
        (
            "k",
            "v",
            Some(days_max + 1),
            ErrorCode::InvalidArgument,
            "`ttl_days` ",
        ),
    ];
    for (key, value, ttl_days, code, beginning) in rows {
        let error = engine
            .system(&ann)
            .conversations()
            .decide(key, value, ttl_days)
            .unwrap_err();
        assert_eq!(
            (error.code, error.message.starts_with(beginning)),
            (code, true),
            "{}",
            error.message
        );
    }
    assert_eq!(
        engine
            .system(&anonymous())
            .conversations()
            .decide("k", "v", None)
            .unwrap_err()
            .code,
        ErrorCode::Forbidden
    );
    assert_eq!(
        engine
            .system(&ann)
            .conversations()
            .decide("k", "v", Some(days_max)),
        Ok(true)
    );
    assert_eq!(
        engine
            .system(&ann)
            .conversations()
            .decided("")
            .unwrap_err()
            .code,
        ErrorCode::InvalidArgument
    );
}

#[test]
fn a_wipe_takes_everything_of_one_user() {
    let Bench { engine, store, .. } = bench();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    for user in [&ann, &bob] {
        say(&engine, user, "c1", vec![message(Role::Human, LONG)]).unwrap();
        engine
            .system(user)
            .memories()
            .remember(fact("private", Visibility::Private))
            .unwrap();
        engine
            .system(user)
            .memories()
            .remember(fact("common", Visibility::Common))
            .unwrap();
        engine
            .system(user)
            .conversations()
            .cache_answer(mint(), "when is the meeting?", "on Friday")
            .unwrap();
        engine
            .system(user)
            .conversations()
            .decide("theme", "dark", None)
            .unwrap();
        engine
            .system(user)
            .search()
            .recall(&Recall {
                counts_access: true,
                ..question("budget")
            })
            .unwrap();
    }
    for caller in [anonymous(), caller("ann", &[Scope::Read])] {
        assert_eq!(
            engine.system(&caller).wipe().unwrap_err().code,
            ErrorCode::Forbidden
        );
    }
    // An audit entry that was not written yet counts, too.
    engine.audit().record(audit_entry("ann", engine.now()));
    let wiped = WipeCounts {
        memories: 3,
        cache_entries: 1,
        audit_entries: 1,
        decisions: 1,
    };
    assert_eq!(engine.system(&ann).wipe(), Ok(wiped));
    assert_eq!(
        engine.system(&ann).listings().count_by_status(),
        Ok(Vec::new())
    );
    assert_eq!(
        engine
            .system(&ann)
            .conversations()
            .cached_answer("when is the meeting?", None)
            .unwrap()
            .0,
        None
    );
    assert_eq!(
        engine.system(&ann).conversations().decided("theme"),
        Ok(None)
    );
    let mut left: Vec<_> = listed(&engine, &ann)
        .into_iter()
        .map(|memory| (memory.content, memory.owner))
        .collect();
    left.sort_unstable();
    let pseudonym = left[1].1.clone();
    assert!(
        pseudonym.as_deref().is_some_and(loci_core::is_pseudonym),
        "{left:?}"
    );
    assert_eq!(
        left,
        [
            ("common".to_owned(), Some("bob".to_owned())),
            ("common".to_owned(), pseudonym)
        ]
    );
    assert_eq!(store.thread_end(&ann.space, "ann", "c1"), Ok(0));
    assert_eq!(engine.system(&ann).wipe(), Ok(WipeCounts::default()));

    assert_eq!(all(&engine, &bob), 2);
    assert!(
        engine
            .system(&bob)
            .conversations()
            .cached_answer("when is the meeting?", None)
            .unwrap()
            .0
            .is_some()
    );
    assert!(
        engine
            .system(&bob)
            .conversations()
            .decided("theme")
            .unwrap()
            .is_some()
    );
    // A user may start again.
    say(&engine, &ann, "c1", vec![message(Role::Human, LONG)]).unwrap();
    assert_eq!(all(&engine, &ann), 2);
}

fn audit_entry(user: &str, at: Timestamp) -> AuditEntry {
    AuditEntry {
        space: Space::default(),
        at,
        user: Some(user.to_owned()),

        caller: None,
        client: None,
        session: None,
        dialect: "memory-mcp".to_owned(),
        tool: "recall_memory".to_owned(),
        operation: "memory:read".to_owned(),
        duration_microseconds: 1,
        query: None,
        results: None,
        reply_tokens: None,
        failure: None,
        records: Vec::new(),
        further_records: 0,
        further_stored: 0,
    }
}

/// A write in progress when its user is wiped restores nothing.
#[test]
fn a_write_under_way_does_not_outlive_a_wipe() {
    type Write = fn(&Engine, &Caller, &MemoryId) -> Result<()>;
    let writes: [(&str, Write); 4] = [
        ("converse", |engine, ann, _| {
            say(engine, ann, "c1", vec![message(Role::Human, LONG)]).map(drop)
        }),
        ("remember", |engine, ann, _| {
            engine
                .system(ann)
                .memories()
                .remember(fact(LONG, Visibility::Private))
                .map(drop)
        }),
        ("supersede", |engine, ann, old| {
            let request = Remember {
                supersedes: Some(old.clone()),
                ..fact(LONG, Visibility::Private)
            };
            engine.system(ann).memories().remember(request).map(drop)
        }),
        ("cache_answer", |engine, ann, _| {
            engine
                .system(ann)
                .conversations()
                .cache_answer(mint(), LONG, "yes")
        }),
    ];
    for (name, write) in writes {
        let embedder = Arc::new(GatedEmbedder::default());
        let Bench {
            engine,
            store,
            clock,
        } = bench_with(embedder.clone(), SearchMode::Hybrid);
        // Another process, which needs no model.
        let other = Engine::new(
            store,
            Arc::new(FailingEmbedder::default()),
            clock,
            SearchMode::Words,
        );
        let ann = caller("ann", &WRITER);
        let old = other
            .system(&ann)
            .memories()
            .remember(fact("everybody may change this", Visibility::Common))
            .unwrap()
            .memory
            .id;
        say(&other, &ann, "c1", vec![message(Role::Human, "before")]).unwrap();
        thread::scope(|scope| {
            let written = scope.spawn(|| write(&engine, &ann, &old));
            embedder.wait_until_entered();
            other.system(&ann).wipe().unwrap();
            // A caller that continues after the wipe is not a reason to let the older write
            // through.
            say(&other, &ann, "c1", vec![message(Role::Human, "after")]).unwrap();
            embedder.open();
            assert_eq!(
                written.join().unwrap().unwrap_err().code,
                ErrorCode::Conflict,
                "{name}"
            );
        });
        assert_eq!(all(&other, &ann), 1, "{name}");
        assert_eq!(listed(&other, &ann).len(), 1, "{name}");
        assert_eq!(
            other.system(&ann).conversations().forget_answers(None),
            Ok(0),
            "{name}"
        );
    }
}

/// A change of the superseded memory is not a reason to fail, and a wipe is not one to retry.
#[test]
fn a_successor_is_tried_again_while_the_old_memory_changes() {
    for (is_wiped, expected) in [(false, Ok(())), (true, Err(ErrorCode::Conflict))] {
        let store = FaultyStore::new(Arc::new(NaiveStore::new()));
        let engine = || {
            let embedder = Arc::new(HashingEmbedder::default());
            Engine::new(
                store.clone(),
                embedder,
                Arc::new(FixedClock::default()),
                SearchMode::Words,
            )
        };
        let (engine, other, ann) = (engine(), engine(), caller("ann", &WRITER));
        let old = engine
            .system(&ann)
            .memories()
            .remember(fact("everybody may change this", Visibility::Common))
            .unwrap()
            .memory
            .id;
        let (changing, id, counted) = (ann.clone(), old.clone(), AtomicUsize::new(0));
        store.before(move |method| {
            if method != "commit" {
                return Ok(());
            }
            match (counted.fetch_add(1, Ordering::SeqCst), is_wiped) {
                (0, true) => other.system(&changing).wipe().map(drop),
                (0, false) => other
                    .system(&changing)
                    .memories()
                    .update(&id, "and somebody did", None)
                    .map(drop),
                (tries, _) if tries > 5 => Err(Error::internal("it goes on and on")),
                _ => Ok(()),
            }
        });
        let successor = Remember {
            supersedes: Some(old.clone()),
            ..fact("instead", Visibility::Common)
        };
        let outcome = engine
            .system(&ann)
            .memories()
            .remember(successor)
            .map(drop)
            .map_err(|error| error.code);
        assert_eq!(outcome, expected);
        assert_eq!(
            engine.system(&ann).memories().show(&old).unwrap().weight < 1.0,
            !is_wiped
        );
        store.before(|_| Ok(()));
    }
}

/// Two users with the same texts, questions and decisions stay fully separate.
#[test]
fn users_with_the_same_texts_have_nothing_in_common() {
    let engine = engine();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let both = Recall {
        tiers: Tier::OF_CONVERSATIONS.to_vec(),
        counts_access: true,
        ..question(LONG)
    };
    let said = say(&engine, &ann, "c1", vec![tagged("a")]).unwrap();
    engine
        .system(&ann)
        .conversations()
        .cache_answer(mint(), LONG, "ann's")
        .unwrap();
    engine
        .system(&ann)
        .conversations()
        .decide("theme", "ann's", None)
        .unwrap();
    let mine = engine.system(&ann).search().recall(&both).unwrap().hits;
    assert!(!mine.is_empty());

    // There is nothing of Bob's.
    assert!(
        engine
            .system(&bob)
            .search()
            .recall(&both)
            .unwrap()
            .hits
            .is_empty()
    );
    assert_eq!(
        engine
            .system(&bob)
            .conversations()
            .cached_answer(LONG, Some(-1.0)),
        Ok((None, None))
    );
    assert_eq!(
        engine.system(&bob).conversations().decided("theme"),
        Ok(None)
    );
    assert_eq!(
        engine.system(&bob).memories().discard(&Discard {
            id: Some(said.ids[0].clone()),
            ..Discard::default()
        }),
        Ok(0)
    );
    assert_eq!(engine.system(&bob).memories().discard(&by_tag("a")), Ok(0));
    assert_eq!(
        engine.system(&bob).conversations().forget_answers(None),
        Ok(0)
    );
    assert_eq!((all(&engine, &ann), all(&engine, &bob)), (2, 0));

    // With the same data of his own, he sees only that.
    say(&engine, &bob, "c1", vec![tagged("a")]).unwrap();
    engine
        .system(&bob)
        .conversations()
        .cache_answer(mint(), LONG, "bob's")
        .unwrap();
    assert_eq!(
        engine
            .system(&bob)
            .conversations()
            .decide("theme", "bob's", None),
        Ok(true)
    );
    let answer = |caller: &Caller| {
        engine
            .system(caller)
            .conversations()
            .cached_answer(LONG, None)
            .unwrap()
            .0
            .unwrap()
            .entry
            .response
    };
    assert_eq!(
        (answer(&ann), answer(&bob)),
        ("ann's".to_owned(), "bob's".to_owned())
    );
    for hit in engine.system(&bob).search().recall(&both).unwrap().hits {
        assert_eq!(
            (hit.memory.owner.as_deref(), hit.signals.access_count),
            (Some("bob"), 0)
        );
    }
    assert_eq!(engine.system(&bob).memories().discard(&by_tag("a")), Ok(2));
    assert_eq!(
        engine
            .system(&bob)
            .conversations()
            .forget_answers(Some("meeting")),
        Ok(1)
    );
    assert_eq!((all(&engine, &ann), answer(&ann)), (2, "ann's".to_owned()));
    let again: Vec<MemoryId> = engine
        .system(&ann)
        .search()
        .recall(&both)
        .unwrap()
        .hits
        .into_iter()
        .map(|hit| hit.memory.id)
        .collect();
    assert_eq!(
        again,
        mine.into_iter()
            .map(|hit| hit.memory.id)
            .collect::<Vec<_>>()
    );
}
