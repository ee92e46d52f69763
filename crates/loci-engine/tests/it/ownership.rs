//! Tests of the ownership of memories: chosen ids, clearing, sharing, and claimed names.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;
use std::thread;

use loci_core::{
    Batch, Change, Citation, CitationKind, Delivery, Expect, FilingOrder, Link, Ownership,
    Relation, Store, WipeCounts,
};
use loci_engine::{Browse, Discard, PageRequest, check};
use loci_testkit::GatedEmbedder;

use super::faulty_store::FaultyStore;
use super::*;

const ID: &str = "0198c0de-7a31-7000-8000-3f2a5b6c7d8e";
const DARK: &str = "I prefer dark mode in every editor that I use";

/// Returns a caller through the tool set with strict ownership.
fn strict(caller: Caller) -> Caller {
    Caller {
        origin: "engram",
        ownership: Ownership::Strict,
        ..caller
    }
}

/// Returns an anonymous caller that claims to be this user.
fn claiming(user: &str) -> Caller {
    Caller {
        origin: "memory-mcp",
        ..anonymous()
    }
    .acting_for("user_id", user)
    .unwrap()
}

fn discovery(content: &str) -> Remember {
    Remember {
        tier: Tier::Unlisted,
        collection: Some("maps".to_owned()),
        ..Remember::new(content, "discovery")
    }
}

fn id() -> MemoryId {
    MemoryId::new(ID)
}

fn apart(engine: &Engine, caller: &Caller, query: &str) -> Vec<String> {
    let recall = Recall {
        tiers: vec![Tier::Unlisted],
        ..question(query)
    };
    engine
        .system(caller)
        .search()
        .recall(&recall)
        .unwrap()
        .hits
        .into_iter()
        .map(|hit| hit.memory.content)
        .collect()
}

/// Returns two engines on one store, which takes them for two processes.
fn two() -> (Engine, Arc<Engine>, Arc<FaultyStore>) {
    let store = FaultyStore::new(Arc::new(NaiveStore::new()));
    let engine = || {
        let embedder = Arc::new(HashingEmbedder::default());
        Engine::new(
            store.clone(),
            embedder,
            Arc::new(FixedClock::default()),
            SearchMode::Hybrid,
        )
    };
    (engine(), Arc::new(engine()), store)
}

/// Calls `act` before each of the first `times` commits of the store.
fn before_commits(
    store: &FaultyStore,
    times: usize,
    act: impl Fn() -> Result<()> + Send + Sync + 'static,
) {
    let counted = AtomicUsize::new(0);
    // The action commits, too.
    let is_within = AtomicBool::new(false);
    store.before(move |method| {
        if method != "commit"
            || is_within.load(Ordering::SeqCst)
            || counted.load(Ordering::SeqCst) >= times
        {
            return Ok(());
        }
        counted.fetch_add(1, Ordering::SeqCst);
        is_within.store(true, Ordering::SeqCst);
        let outcome = act();
        is_within.store(false, Ordering::SeqCst);
        outcome
    });
}

#[test]
fn a_named_id_is_created_and_then_replaced_in_place() {
    let Bench { engine, clock, .. } = bench();
    let ann = strict(caller("ann", &WRITER));
    let ann = Caller {
        principal: Principal {
            actor: Some("Ann".to_owned()),
            ..ann.principal.clone()
        },
        ..ann
    };
    let first = engine.system(&ann).memories().remember_as(
        &id(),
        Remember {
            tags: vec!["old".to_owned()],
            ..discovery("honey jars")
        },
    );
    let first = first.unwrap().memory;
    assert_eq!(
        (&first.id, first.revision, first.owner.as_deref()),
        (&id(), 1, Some("ann"))
    );
    assert_eq!(
        (first.actor.as_deref(), first.origin.as_str()),
        (Some("Ann"), "engram")
    );
    let shared = engine
        .system(&ann)
        .memories()
        .set_shared(&id(), true)
        .unwrap();
    clock.advance(60);

    // Under another actor's name, and through another tool set.
    let later = Caller::new(Space::default(), Principal::new("ann", Scopes::of(&WRITER)));
    let citation = Citation {
        kind: CitationKind::File,
        reference: "bees.rs".to_owned(),
        locator: None,
        pin: None,
        excerpt: None,
    };
    let request = Remember {
        citations: vec![citation],
        section: Some("map".to_owned()),
        ..discovery("wax candles")
    };
    let second = engine
        .system(&later)
        .memories()
        .remember_as(&id(), request.clone())
        .unwrap()
        .memory;
    let expected = Memory {
        content: "wax candles".to_owned(),
        location: Location {
            collection: Some("maps".to_owned()),
            section: "map".to_owned(),
        },
        tags: Vec::new(),
        citations: request.citations,
        updated_at: engine.now(),
        revision: 3,
        ..shared
    };
    assert_eq!(second, expected);
    assert_eq!(
        engine.system(&ann).memories().show(&id()).unwrap(),
        expected
    );
    assert_eq!(apart(&engine, &ann, "wax candles"), ["wax candles"]);
    // The words and the meaning of the old text are gone, the new one's are there.
    let ranking = |signals: &Signals| f64::from(signals.bm25);
    let score = |query| {
        let recall = Recall {
            tiers: vec![Tier::Unlisted],
            ranking: &ranking,
            ..question(query)
        };
        engine
            .system(&ann)
            .search()
            .recall(&recall)
            .unwrap()
            .hits
            .first()
            .map_or(0.0, |hit| hit.score)
    };
    assert_eq!((score("honey jars"), score("old")), (0.0, 0.0));
    assert!(score("bees.rs") > 0.0);
}

/// Lists which callers may replace which existing records under their ids.
#[test]
fn a_named_id_of_something_else_is_refused() {
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let (root, nobody) = (caller("root", &[Scope::Admin]), anonymous());
    let of = |visibility| Remember {
        visibility,
        ..discovery("there before")
    };
    let (private, shared, common) = (Visibility::Private, Visibility::Shared, Visibility::Common);
    let long_term = Remember {
        tier: Tier::LongTerm,
        ..of(private)
    };
    let other_kind = Remember {
        kind: "fact".to_owned(),
        ..of(private)
    };
    let (missing, conflict) = (Some(ErrorCode::NotFound), Some(ErrorCode::Conflict));
    let rows = [
        ("her own", &ann, of(private), strict(ann.clone()), None),
        (
            "her own that is shared",
            &ann,
            of(shared),
            strict(ann.clone()),
            None,
        ),
        (
            "her own that is common",
            &ann,
            of(common),
            strict(ann.clone()),
            None,
        ),
        (
            "her own of another tier",
            &ann,
            long_term.clone(),
            strict(ann.clone()),
            conflict,
        ),
        (
            "her own of another kind",
            &ann,
            other_kind,
            strict(ann.clone()),
            conflict,
        ),
        ("another's", &ann, of(private), strict(bob.clone()), missing),
        (
            "another's of another tier",
            &ann,
            long_term,
            strict(bob.clone()),
            missing,
        ),
        (
            "another's that is shared",
            &ann,
            of(shared),
            strict(bob.clone()),
            missing,
        ),
        (
            "another's that is common",
            &ann,
            of(common),
            strict(bob.clone()),
            missing,
        ),
        (
            "another's that is common, where that is everyone's",
            &ann,
            of(common),
            bob,
            None,
        ),
        (
            "another's, of nobody's",
            &ann,
            of(private),
            strict(nobody.clone()),
            missing,
        ),
        (
            "another's, for an admin",
            &ann,
            of(private),
            strict(root),
            None,
        ),
        (
            "nobody's",
            &nobody,
            of(private),
            strict(nobody.clone()),
            None,
        ),
        (
            "nobody's, for somebody",
            &nobody,
            of(private),
            strict(ann.clone()),
            missing,
        ),
        (
            "her own, for who claims her name",
            &ann,
            of(private),
            claiming("ann"),
            missing,
        ),
        (
            "her own, without the scope",
            &ann,
            of(private),
            strict(caller("ann", &[Scope::Read])),
            missing,
        ),
    ];
    for (name, owner, before, writer, expected) in rows {
        let engine = engine();
        let old = engine
            .system(owner)
            .memories()
            .remember_as(&id(), before)
            .unwrap()
            .memory;
        let outcome = engine
            .system(&writer)
            .memories()
            .remember_as(&id(), discovery("put in its place"));
        assert_eq!(
            outcome.as_ref().err().map(|error| error.code),
            expected,
            "{name}"
        );
        let now = engine
            .system(&caller("root", &[Scope::Admin]))
            .memories()
            .show(&id())
            .unwrap();
        match expected {
            None => assert_eq!(
                (now.content.as_str(), now.owner),
                ("put in its place", old.owner),
                "{name}"
            ),
            Some(_) => assert_eq!(now, old, "{name}"),
        }
    }
}

#[test]
fn the_id_of_a_message_and_of_what_expired_or_was_deleted_is_no_new_one() {
    let Bench { engine, clock, .. } = bench();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let said = say(&engine, &ann, "c", vec![message(Role::Assistant, DARK)])
        .unwrap()
        .ids
        .remove(0);
    let expiring = Remember {
        ttl_seconds: Some(1),
        ..fact("soon over", Visibility::Private)
    };
    let expired = engine
        .system(&ann)
        .memories()
        .remember(expiring)
        .unwrap()
        .memory
        .id;
    let deleted = engine
        .system(&ann)
        .memories()
        .remember(fact("soon deleted", Visibility::Private))
        .unwrap()
        .memory
        .id;
    assert_eq!(
        engine.system(&ann).memories().discard(&Discard {
            id: Some(deleted.clone()),
            ..Discard::default()
        }),
        Ok(1)
    );
    clock.advance(1);
    let (missing, conflict) = (ErrorCode::NotFound, ErrorCode::Conflict);
    let rows = [
        (&said, conflict, missing),
        (&expired, conflict, missing),
        (&deleted, conflict, conflict),
    ];
    for (id, hers, his) in rows {
        for (caller, code) in [(&ann, hers), (&bob, his)] {
            let error = engine
                .system(&strict(caller.clone()))
                .memories()
                .remember_as(id, discovery("in its place"))
                .unwrap_err();
            assert_eq!(error.code, code, "{error}");
            assert!(error.message.contains(id.as_str()), "{error}");
        }
    }
    assert!(apart(&engine, &ann, "place").is_empty());
    // After a permanent removal an id is free.
    let forgotten = engine
        .system(&bob)
        .memories()
        .remember(fact("soon forgotten", Visibility::Private))
        .unwrap()
        .memory
        .id;
    engine.system(&bob).memories().forget(&forgotten).unwrap();
    engine
        .system(&strict(ann.clone()))
        .memories()
        .remember_as(&forgotten, discovery("in its place"))
        .unwrap();
}

/// The later of two concurrent writers replaces the record of the first one, if it may.
#[test]
fn of_two_writers_with_one_id_the_later_one_replaces_or_finds_nothing() {
    for (other, expected) in [("ann", None), ("bob", Some(ErrorCode::NotFound))] {
        let (engine, faster, store) = two();
        let ann = strict(caller("ann", &WRITER));
        let other = strict(caller(other, &WRITER));
        let (racing, racer) = (faster.clone(), other.clone());
        before_commits(&store, 1, move || {
            racing
                .system(&racer)
                .memories()
                .remember_as(&id(), discovery("of the faster one"))
                .map(drop)
        });
        let outcome = engine
            .system(&ann)
            .memories()
            .remember_as(&id(), discovery("of the slower one"));
        assert_eq!(outcome.as_ref().err().map(|error| error.code), expected);
        store.before(|_| Ok(()));
        let stored = faster.system(&other).memories().show(&id()).unwrap();
        let (content, revision) = if expected.is_none() {
            ("of the slower one", 2)
        } else {
            ("of the faster one", 1)
        };
        assert_eq!(
            (stored.content.as_str(), stored.revision),
            (content, revision)
        );
    }
}

#[test]
fn many_writers_of_one_id_all_succeed() {
    const WRITERS: u64 = 16;
    let engine = engine();
    let ann = strict(caller("ann", &WRITER));
    thread::scope(|scope| {
        let write = |number| {
            engine
                .system(&ann)
                .memories()
                .remember_as(&id(), discovery(&format!("number {number}")))
                .unwrap()
        };
        let writers: Vec<_> = (0..WRITERS)
            .map(|number| scope.spawn(move || write(number).memory.revision))
            .collect();
        let mut revisions: Vec<u64> = writers
            .into_iter()
            .map(|writer| writer.join().unwrap())
            .collect();
        revisions.sort_unstable();
        assert!(revisions.into_iter().eq(1..=WRITERS));
    });
    assert_eq!(
        (
            engine.system(&ann).memories().show(&id()).unwrap().revision,
            engine.size().unwrap().memories
        ),
        (WRITERS, 1)
    );
}

/// After a wipe at any time, none of her data is left, new or replaced.
#[test]
fn a_named_id_does_not_outlive_a_wipe() {
    for is_there in [false, true] {
        for is_late in [false, true] {
            let embedder = Arc::new(GatedEmbedder::default());
            let store = FaultyStore::new(Arc::new(NaiveStore::new()));
            let engine = |embedder: Arc<dyn Embedder>, mode| {
                Engine::new(
                    store.clone(),
                    embedder,
                    Arc::new(FixedClock::default()),
                    mode,
                )
            };
            // Another process, which needs no model.
            let other = Arc::new(engine(
                Arc::new(FailingEmbedder::default()),
                SearchMode::Words,
            ));
            let writing = engine(embedder.clone(), SearchMode::Hybrid);
            let ann = strict(caller("ann", &WRITER));
            if is_there {
                other
                    .system(&ann)
                    .memories()
                    .remember_as(&id(), discovery("before"))
                    .unwrap();
            }
            thread::scope(|scope| {
                let written = scope.spawn(|| {
                    writing
                        .system(&ann)
                        .memories()
                        .remember_as(&id(), discovery("after"))
                });
                embedder.wait_until_entered();
                if is_late {
                    let (other, ann) = (other.clone(), ann.clone());
                    before_commits(&store, 1, move || other.system(&ann).wipe().map(drop));
                } else {
                    other.system(&ann).wipe().unwrap();
                }
                embedder.open();
                assert_eq!(
                    written.join().unwrap().unwrap_err().code,
                    ErrorCode::Conflict,
                    "{is_there} {is_late}"
                );
            });
            store.before(|_| Ok(()));
            assert_eq!(other.size().unwrap().memories, 0, "{is_there} {is_late}");
        }
    }
}

/// The indexed words belong to the memory that is there after another writer came between.
#[test]
fn an_update_of_what_was_replaced_meanwhile_has_the_new_metadata() {
    let (engine, faster, store) = two();
    let ann = strict(caller("ann", &WRITER));
    let tagged = |tag: &str| Remember {
        tags: vec![tag.to_owned()],
        ..discovery("the gateway")
    };
    engine
        .system(&ann)
        .memories()
        .remember_as(&id(), tagged("walrus"))
        .unwrap();
    let (racing, racer) = (faster.clone(), ann.clone());
    before_commits(&store, 1, move || {
        racing
            .system(&racer)
            .memories()
            .remember_as(&id(), tagged("pelican"))
            .map(drop)
    });
    let (memory, _) = engine
        .system(&ann)
        .memories()
        .update(&id(), "the new gateway", None)
        .unwrap();
    store.before(|_| Ok(()));
    assert_eq!(
        (memory.tags, memory.revision),
        (vec!["pelican".to_owned()], 3)
    );
    for (query, is_there) in [("pelican", true), ("walrus", false)] {
        let recall = Recall {
            tiers: vec![Tier::Unlisted],
            ..question(query)
        };
        let hits = engine.system(&ann).search().recall(&recall).unwrap().hits;
        assert_eq!(
            hits.iter().any(|hit| hit.signals.bm25 > 0.0),
            is_there,
            "{query}"
        );
    }
}

#[test]
fn what_is_said_of_a_memory_has_limits() {
    let engine = engine();
    let ann = strict(caller("ann", &WRITER));
    let said = |name: &str, text: &str| Remember {
        attributes: BTreeMap::from([(name.to_owned(), text.to_owned())]),
        ..discovery("x")
    };
    let summary = |text: &str| Remember {
        summary: Some(text.to_owned()),
        ..discovery("x")
    };
    let cited = |reference: &str, pin: Option<&str>, excerpt: Option<&str>| Citation {
        kind: CitationKind::File,
        reference: reference.to_owned(),
        locator: None,
        pin: pin.map(str::to_owned),
        excerpt: excerpt.map(str::to_owned),
    };
    let citing = |citations: Vec<Citation>| Remember {
        citations,
        ..discovery("x")
    };
    let good = || cited("a.rs", None, None);
    let long = "x".repeat(limits::REFERENCE_BYTES_MAX + 1);
    let excerpt = "x".repeat(limits::EXCERPT_BYTES_MAX);
    let located = Citation {
        locator: Some(" ".to_owned()),
        ..good()
    };
    let (invalid, large) = (ErrorCode::InvalidArgument, ErrorCode::TooLarge);
    let rows = [
        (Remember::new("x", "a\0"), invalid, "`kind` "),
        (
            Remember {
                section: Some("a\0".to_owned()),
                ..discovery("x")
            },
            invalid,
            "`section` ",
        ),
        (said("repo", " "), invalid, "`repo` "),
        (said("repo", "a\0"), invalid, "`repo` "),
        (said("base_dir", &long), large, "`base_dir` "),
        (summary(""), invalid, "`summary` "),
        (summary(&long), large, "`summary` "),
        (
            citing(vec![good(); limits::CITATIONS_MAX + 1]),
            invalid,
            "`citations` ",
        ),
        (
            citing(vec![good(), cited(" ", None, None)]),
            invalid,
            "`citations.1.ref` ",
        ),
        (
            citing(vec![cited(&long, None, None)]),
            large,
            "`citations.0.ref` ",
        ),
        (citing(vec![located]), invalid, "`citations.0.locator` "),
        (
            citing(vec![cited("a", Some(&long), None)]),
            large,
            "`citations.0.pin` ",
        ),
        (
            citing(vec![cited("a", None, Some("\0"))]),
            invalid,
            "`citations.0.excerpt` ",
        ),
        (
            citing(vec![cited("a", None, Some(&format!("{excerpt}x")))]),
            large,
            "`citations.0.excerpt` ",
        ),
    ];
    for (request, code, beginning) in rows {
        for error in [
            engine
                .system(&ann)
                .memories()
                .remember(request.clone())
                .unwrap_err(),
            engine
                .system(&ann)
                .memories()
                .remember_as(&id(), request.clone())
                .unwrap_err(),
        ] {
            assert_eq!(
                (error.code, error.message.starts_with(beginning)),
                (code, true),
                "{error}"
            );
        }
    }
    assert_eq!(engine.size().unwrap().memories, 0);
    let largest = Remember {
        summary: Some(long[1..].to_owned()),
        ..said("repo", &long[1..])
    };
    let citations =
        vec![cited(&long[1..], Some(&long[1..]), Some(&excerpt)); limits::CITATIONS_MAX];
    engine
        .system(&ann)
        .memories()
        .remember(Remember {
            citations,
            ..largest
        })
        .unwrap();
}

#[test]
fn a_uuid_has_one_form() {
    for text in [ID, &ID.to_uppercase()] {
        assert_eq!(check::uuid("id", text), Ok(id()), "{text}");
    }
    for text in [
        &ID.replace('-', ""),
        &format!("urn:uuid:{ID}"),
        &format!("{{{ID}}}"),
        "",
        " ",
        "x",
        &ID[1..],
        &format!("{ID}0"),
        &format!(" {ID}"),
        &ID.replace('7', "g"),
        "\u{663}",
    ] {
        let error = check::uuid("id", text).unwrap_err();
        assert_eq!(
            (error.code, error.message.starts_with("`id` ")),
            (ErrorCode::InvalidArgument, true),
            "{text}"
        );
    }
}

#[test]
fn what_is_kept_apart_is_not_replaced_by_what_is_not() {
    let engine = engine();
    let ann = caller("ann", &WRITER);
    let apart = engine
        .system(&ann)
        .memories()
        .remember(discovery("kept apart"))
        .unwrap()
        .memory;
    let instead = Remember {
        supersedes: Some(apart.id.clone()),
        ..Remember::new("instead", "fact")
    };
    let error = engine
        .system(&ann)
        .memories()
        .remember(instead)
        .unwrap_err();
    assert_eq!(
        (error.code, error.message.starts_with("`supersedes` ")),
        (ErrorCode::InvalidArgument, true)
    );
    let instead = Remember {
        supersedes: Some(apart.id),
        ..discovery("instead")
    };
    assert!(engine.system(&ann).memories().remember(instead).is_ok());
}

#[test]
fn a_clear_takes_ones_own_of_one_tool_set_and_place() {
    let engine = bench_with(Arc::new(FailingEmbedder::default()), SearchMode::Words).engine;
    let (ann, bob) = (
        strict(caller("ann", &WRITER)),
        strict(caller("bob", &WRITER)),
    );
    let filed = |collection: &str| Remember {
        collection: Some(collection.to_owned()).filter(|name| name != "global"),
        ..Remember::new("filed", "fact")
    };
    let kept = [
        engine.system(&bob).memories().remember(filed("here")),
        engine
            .system(&strict(anonymous()))
            .memories()
            .remember(filed("here")),
        engine
            .system(&Caller {
                origin: "mememory",
                ..ann.clone()
            })
            .memories()
            .remember(filed("here")),
        engine.system(&ann).memories().remember(filed("there")),
        engine.system(&ann).memories().remember(filed("global")),
        engine
            .system(&Caller {
                space: Space::parse("space", "elsewhere").unwrap(),
                ..ann.clone()
            })
            .memories()
            .remember(filed("here")),
    ]
    .map(|outcome| outcome.unwrap().memory);
    let talking = Caller {
        origin: "engram",
        ..caller("ann", &WRITER)
    };
    say(
        &engine,
        &talking,
        "here",
        vec![message(Role::Assistant, "a message")],
    )
    .unwrap();
    // More than three transactions, including shared and unlisted memories.
    for number in 0..100 {
        let memory = match number % 3 {
            0 => Remember {
                visibility: Visibility::Shared,
                ..filed("here")
            },
            1 => Remember {
                tier: Tier::Unlisted,
                ..filed("here")
            },
            _ => filed("here"),
        };
        engine.system(&ann).memories().remember(memory).unwrap();
    }
    let here = || CollectionFilter::Only("here".to_owned());
    assert_eq!(
        engine
            .system(&strict(caller("ann", &[Scope::Read])))
            .memories()
            .clear(here())
            .unwrap_err()
            .code,
        ErrorCode::Forbidden
    );
    assert_eq!(
        engine
            .system(&strict(caller("root", &[Scope::Admin])))
            .memories()
            .clear(here()),
        Ok(0)
    );
    assert_eq!(
        engine.system(&claiming("ann")).memories().clear(here()),
        Ok(0)
    );
    assert_eq!(engine.system(&ann).memories().clear(here()), Ok(100));
    assert_eq!(engine.system(&ann).memories().clear(here()), Ok(0));
    // With the message.
    assert_eq!(engine.size().unwrap().memories, kept.len() as u64 + 1);
    let root = caller("root", &[Scope::Admin]);
    for memory in kept {
        let reader = Caller {
            space: memory.space.clone(),
            ..root.clone()
        };
        assert_eq!(
            engine.system(&reader).memories().show(&memory.id),
            Ok(memory)
        );
    }
    assert_eq!(
        engine
            .system(&ann)
            .memories()
            .clear(CollectionFilter::Global),
        Ok(1)
    );
    assert_eq!(
        engine.system(&strict(anonymous())).memories().clear(here()),
        Ok(1)
    );
    assert_eq!(
        engine
            .system(&strict(caller("bob", &[Scope::Write])))
            .memories()
            .clear(here()),
        Ok(1)
    );
}

/// A clear removes memories that change or disappear before that in their state then, leaves new
/// ones, and gives up on memories that keep changing.
#[test]
fn a_clear_goes_on_over_the_changes_of_others() {
    type Act = fn(&Engine, &Caller, &MemoryId) -> Result<()>;
    let rows: [(&str, Act, usize, Result<usize, ErrorCode>); 4] = [
        (
            "changed once",
            |other, ann, id| {
                other
                    .system(ann)
                    .memories()
                    .update(id, "changed", None)
                    .map(drop)
            },
            1,
            Ok(40),
        ),
        (
            "deleted",
            |other, ann, id| other.system(ann).memories().forget(id),
            1,
            Ok(39),
        ),
        (
            "one more",
            |other, ann, _| {
                other
                    .system(ann)
                    .memories()
                    .remember(Remember::new("new", "fact"))
                    .map(drop)
            },
            1,
            Ok(40),
        ),
        (
            "changed for ever",
            |other, ann, id| {
                other
                    .system(ann)
                    .memories()
                    .update(id, "again", None)
                    .map(drop)
            },
            200,
            Err(ErrorCode::Conflict),
        ),
    ];
    for (name, act, times, expected) in rows {
        let (engine, other, store) = two();
        let ann = strict(caller("ann", &WRITER));
        let mut last = None;
        for _ in 0..40 {
            last = Some(
                engine
                    .system(&ann)
                    .memories()
                    .remember(Remember::new("filed", "fact"))
                    .unwrap()
                    .memory
                    .id,
            );
        }
        let (changing, id) = (ann.clone(), last.unwrap());
        before_commits(&store, times, move || act(&other, &changing, &id));
        let cleared = engine
            .system(&ann)
            .memories()
            .clear(CollectionFilter::Global);
        assert_eq!(cleared.map_err(|error| error.code), expected, "{name}");
        store.before(|_| Ok(()));
        let is_left = expected.is_err() || name == "one more";
        assert_eq!(!listed(&engine, &ann).is_empty(), is_left, "{name}");
    }
}

#[test]
fn sharing_changes_who_reads_and_nothing_else() {
    let embedder = Arc::new(MoodyEmbedder {
        inner: HashingEmbedder::default(),
        is_away: AtomicBool::new(false),
    });
    let Bench { engine, clock, .. } = bench_with(embedder.clone(), SearchMode::Hybrid);
    let (ann, bob) = (
        strict(caller("ann", &WRITER)),
        strict(caller("bob", &WRITER)),
    );
    let start = Remember {
        delivery: Delivery::Bootstrap,
        ..fact("bees and honey", Visibility::Private)
    };
    let before = engine
        .system(&ann)
        .memories()
        .remember(start)
        .unwrap()
        .memory;
    let id = before.id.clone();
    clock.advance(60);
    // The model is not called.
    embedder.is_away.store(true, Ordering::SeqCst);
    assert_eq!(
        engine
            .system(&bob)
            .memories()
            .set_shared(&id, true)
            .unwrap_err()
            .code,
        ErrorCode::NotFound
    );
    for (shared, visibility, revision, his) in [
        (true, Visibility::Shared, 2, ErrorCode::Forbidden),
        (true, Visibility::Shared, 3, ErrorCode::Forbidden),
        (false, Visibility::Private, 4, ErrorCode::NotFound),
    ] {
        let expected = Memory {
            visibility,
            revision,
            ..before.clone()
        };
        assert_eq!(
            engine.system(&ann).memories().set_shared(&id, shared),
            Ok(expected.clone())
        );
        assert_eq!(engine.system(&ann).memories().show(&id), Ok(expected));
        assert_eq!(
            engine
                .system(&bob)
                .memories()
                .set_shared(&id, false)
                .unwrap_err()
                .code,
            his
        );
    }
    embedder.is_away.store(false, Ordering::SeqCst);
    let hits = engine
        .system(&ann)
        .search()
        .recall(&question("bees"))
        .unwrap()
        .hits;
    assert!(
        hits[0].signals.cosine.is_some(),
        "its vector is still there"
    );
    let reading = strict(caller("ann", &[Scope::Read]));
    assert_eq!(
        engine
            .system(&reading)
            .memories()
            .set_shared(&id, true)
            .unwrap_err()
            .code,
        ErrorCode::Forbidden
    );
}

#[test]
fn what_is_common_is_shared_already() {
    let engine = engine();
    let (ann, bob) = (
        strict(caller("ann", &WRITER)),
        strict(caller("bob", &WRITER)),
    );
    let id = engine
        .system(&ann)
        .memories()
        .remember(fact("of everyone", Visibility::Common))
        .unwrap()
        .memory
        .id;
    for (caller, code) in [
        (&bob, ErrorCode::Forbidden),
        (&strict(anonymous()), ErrorCode::Forbidden),
    ] {
        assert_eq!(
            engine
                .system(caller)
                .memories()
                .set_shared(&id, false)
                .unwrap_err()
                .code,
            code
        );
        assert_eq!(
            engine
                .system(caller)
                .memories()
                .update(&id, "mine", Some(false))
                .unwrap_err()
                .code,
            code
        );
        assert_eq!(
            engine
                .system(caller)
                .memories()
                .forget(&id)
                .unwrap_err()
                .code,
            code
        );
    }
    assert_eq!(
        engine
            .system(&ann)
            .memories()
            .set_shared(&id, true)
            .unwrap()
            .visibility,
        Visibility::Common
    );
    // Through a tool set where every caller owns common memories.
    assert!(
        engine
            .system(&caller("bob", &WRITER))
            .memories()
            .update(&id, "still of everyone", None)
            .is_ok()
    );
    // No call could make it common again.
    assert_eq!(
        engine
            .system(&ann)
            .memories()
            .set_shared(&id, false)
            .unwrap_err()
            .code,
        ErrorCode::InvalidArgument
    );
    assert_eq!(
        engine
            .system(&ann)
            .memories()
            .update(&id, "mine", Some(false))
            .unwrap_err()
            .code,
        ErrorCode::InvalidArgument
    );
    assert_eq!(
        engine.system(&ann).memories().show(&id).unwrap().visibility,
        Visibility::Common
    );
}

#[test]
fn an_update_may_say_whether_it_is_shared() {
    let engine = engine();
    let ann = strict(caller("ann", &WRITER));
    let id = engine
        .system(&ann)
        .memories()
        .remember(fact("zero", Visibility::Private))
        .unwrap()
        .memory
        .id;
    let rows = [
        (None, Visibility::Private),
        (Some(true), Visibility::Shared),
        (None, Visibility::Shared),
        (Some(false), Visibility::Private),
    ];
    for (number, (shared, expected)) in rows.into_iter().enumerate() {
        let (memory, _) = engine
            .system(&ann)
            .memories()
            .update(&id, &format!("number {number}"), shared)
            .unwrap();
        assert_eq!(memory.visibility, expected, "{number}");
        assert_eq!(engine.system(&ann).memories().show(&id), Ok(memory));
    }
}

/// A concurrent share and update are both kept.
#[test]
fn sharing_and_updating_at_once_are_both_made() {
    let (engine, other, store) = two();
    let ann = strict(caller("ann", &WRITER));
    let id = engine
        .system(&ann)
        .memories()
        .remember(fact("old", Visibility::Private))
        .unwrap()
        .memory
        .id;
    let (sharing, shared) = (ann.clone(), id.clone());
    let racing = other.clone();
    before_commits(&store, 1, move || {
        racing
            .system(&sharing)
            .memories()
            .set_shared(&shared, true)
            .map(drop)
    });
    engine
        .system(&ann)
        .memories()
        .update(&id, "new", None)
        .unwrap();
    let (updating, updated) = (ann.clone(), id.clone());
    let racing = other.clone();
    before_commits(&store, 1, move || {
        racing
            .system(&updating)
            .memories()
            .update(&updated, "newer", None)
            .map(drop)
    });
    engine
        .system(&ann)
        .memories()
        .set_shared(&id, false)
        .unwrap();
    store.before(|_| Ok(()));
    let memory = engine.system(&ann).memories().show(&id).unwrap();
    assert_eq!(
        (memory.content.as_str(), memory.visibility, memory.revision),
        ("newer", Visibility::Private, 5)
    );
}

#[test]
fn who_claims_a_name_deletes_and_wipes_what_came_in_that_way() {
    let engine = engine();
    let ann = strict(caller("ann", &WRITER));
    let tagged = || Remember {
        tags: vec!["a".to_owned()],
        ..fact(DARK, Visibility::Private)
    };
    let own = engine
        .system(&ann)
        .memories()
        .remember(tagged())
        .unwrap()
        .memory;
    let shared = Remember {
        visibility: Visibility::Shared,
        ..tagged()
    };
    let shared = engine
        .system(&ann)
        .memories()
        .remember(shared)
        .unwrap()
        .memory;
    let apart = engine
        .system(&ann)
        .memories()
        .remember(discovery(DARK))
        .unwrap()
        .memory;
    let common = Caller {
        origin: "mememory",
        ..caller("ann", &WRITER)
    };
    let common = engine
        .system(&common)
        .memories()
        .remember(fact(DARK, Visibility::Common))
        .unwrap()
        .memory;
    let claimed = claiming("ann");
    let tag = Discard {
        tags: vec!["a".to_owned()],
        ..Discard::default()
    };
    let one = |id: &MemoryId| Discard {
        id: Some(id.clone()),
        ..Discard::default()
    };
    for which in [
        tag.clone(),
        one(&own.id),
        one(&shared.id),
        one(&apart.id),
        one(&common.id),
    ] {
        assert_eq!(
            engine.system(&claimed).memories().count_discarded(&which),
            Ok(0)
        );
        assert_eq!(engine.system(&claimed).memories().discard(&which), Ok(0));
    }
    // Memories of the same tool set under that name count, stored by either caller.
    let said = Message {
        tags: vec!["a".to_owned()],
        ..message(Role::Assistant, DARK)
    };
    say(&engine, &claimed, "c", vec![said.clone()]).unwrap();
    say(
        &engine,
        &Caller {
            origin: "memory-mcp",
            ..caller("ann", &WRITER)
        },
        "c",
        vec![said],
    )
    .unwrap();
    assert_eq!(engine.system(&claimed).memories().discard(&tag), Ok(2));
    say(&engine, &claimed, "c", vec![message(Role::Human, DARK)]).unwrap();
    engine
        .system(&claimed)
        .conversations()
        .decide("theme", "dark", None)
        .unwrap();
    // The soft-deleted ones are among them.
    assert_eq!(
        engine.system(&claimed).wipe(),
        Ok(WipeCounts {
            memories: 4,
            decisions: 1,
            ..WipeCounts::default()
        })
    );
    assert_eq!(
        engine.system(&claiming("local")).wipe(),
        Ok(WipeCounts::default())
    );
    for memory in [&own, &shared, &apart, &common] {
        assert_eq!(
            engine.system(&ann).memories().show(&memory.id).as_ref(),
            Ok(memory),
            "name and all"
        );
    }
    // She herself can delete all of her data.
    assert_eq!(
        engine.system(&ann).memories().discard(&one(&apart.id)),
        Ok(0),
        "kept apart"
    );
    assert_eq!(
        engine.system(&ann).memories().discard(&one(&common.id)),
        Ok(1)
    );
    assert_eq!(engine.system(&ann).wipe().unwrap().memories, 3);
    assert_eq!(
        engine
            .system(&ann)
            .memories()
            .show(&shared.id)
            .unwrap_err()
            .code,
        ErrorCode::NotFound
    );
}

/// Otherwise the links of a memory stored under a claimed name would reveal its owner's memories.
#[test]
fn a_claimed_name_is_tied_to_nothing_private_of_its_owner() {
    let Bench {
        engine,
        store,
        clock,
    } = bench();
    let ann = strict(caller("ann", &WRITER));
    let own = engine
        .system(&ann)
        .memories()
        .remember(Remember {
            weight: 0.5,
            ..fact(DARK, Visibility::Private)
        })
        .unwrap()
        .memory;
    let apart = Remember {
        visibility: Visibility::Shared,
        ..discovery(DARK)
    };
    engine.system(&ann).memories().remember(apart).unwrap();
    clock.advance(1);
    let hears = |caller: &Caller| {
        clock.advance(1);
        let said = say(&engine, caller, "c", vec![message(Role::Human, DARK)])
            .unwrap()
            .ids
            .remove(0);
        while engine.background().enrich().unwrap() {}
        let made = listed(&engine, caller)
            .into_iter()
            .find(|memory| memory.source.as_ref() == Some(&said))
            .unwrap();
        made.links
            .into_iter()
            .map(|link| link.target)
            .collect::<Vec<_>>()
    };
    assert_eq!(hears(&claiming("ann")), []);
    assert_eq!(store.get(&own.space, &own.id).unwrap(), Some(own.clone()));
    // A memory that came in the same way is linked.
    let again = hears(&claiming("ann"));
    assert_eq!(again.len(), 1);
    assert!(!again.contains(&own.id));
}

#[test]
fn no_read_names_a_memory_that_the_caller_may_not_read() {
    let Bench { engine, store, .. } = bench();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let secret = engine
        .system(&ann)
        .memories()
        .remember(fact("bees in May", Visibility::Private))
        .unwrap()
        .memory;
    let seen = engine
        .system(&ann)
        .memories()
        .remember(fact("honey in June", Visibility::Shared))
        .unwrap()
        .memory;
    let link = |target: &MemoryId| Link {
        target: target.clone(),
        relation: Relation::RelatedTo,
        similarity: 0.5,
    };
    let common = Memory {
        supersedes: Some(secret.id.clone()),
        links: vec![link(&secret.id), link(&seen.id)],
        revision: 2,
        ..engine
            .system(&ann)
            .memories()
            .remember(fact("wax in July", Visibility::Common))
            .unwrap()
            .memory
    };
    let change = Change::Put {
        memory: Box::new(common.clone()),
        passages: None,
        expect: Expect::Revision(1),
    };
    store
        .commit(Batch::new(common.space.clone(), vec![change]))
        .unwrap();
    let reads = |caller: &Caller| {
        let list = List {
            collections: CollectionFilter::Any,
            sections: Vec::new(),
            kinds: Vec::new(),
            tags: Vec::new(),
            delivery: None,
            facets: Facets::default(),
            offset: 0,
            limit: 10,
            as_of: None,
        };
        let browse = Browse {
            collections: CollectionFilter::Any,
            sections: Vec::new(),
            kinds: Vec::new(),
            tiers: vec![Tier::LongTerm],
            order: FilingOrder::FirstFirst,
            offset: 0,
            limit: 10,
            characters_max: None,
            ..Browse::default()
        };
        let page = PageRequest {
            query: "wax",
            with_forgotten: false,
            limit: 10,
            cursor: None,
            budget_tokens: None,
            as_of: None,
        };
        let all = [
            vec![engine.system(caller).memories().show(&common.id).unwrap()],
            engine.system(caller).listings().list(list.clone()).unwrap(),
            engine
                .system(caller)
                .listings()
                .list_by_insertion(&browse)
                .unwrap(),
            engine
                .system(caller)
                .listings()
                .browse(browse)
                .unwrap()
                .memories,
            (engine
                .system(caller)
                .listings()
                .list_within(list, None)
                .unwrap()
                .shown
                .into_iter())
            .map(|shown| shown.memory)
            .collect(),
            (engine
                .system(caller)
                .search()
                .recall(&question("wax"))
                .unwrap()
                .hits
                .into_iter())
            .map(|hit| hit.memory)
            .collect(),
            (engine
                .system(caller)
                .search()
                .page(&page)
                .unwrap()
                .hits
                .into_iter())
            .map(|hit| hit.memory)
            .collect(),
        ];
        all.map(|memories: Vec<Memory>| {
            let memory = memories.into_iter().find(|memory| memory.id == common.id);
            let memory = memory.expect("every read has it");
            (memory.supersedes, memory.links.len())
        })
    };
    for read in reads(&ann) {
        assert_eq!(read, (Some(secret.id.clone()), 2));
    }
    for read in reads(&bob) {
        assert_eq!(read, (None, 1));
    }
}
