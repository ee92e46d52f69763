//! Tests of why a question finds a memory, or does not: the answer is that of the search itself.

use loci_engine::{Cause, ExplainRequest, Explanation};

use super::*;

const KILN: &str = "How hot is the kiln?";

fn explained(engine: &Engine, caller: &Caller, recall: Recall<'_>, id: &MemoryId) -> Explanation {
    explained_within(engine, caller, recall, id, None).unwrap()
}

fn explained_within(
    engine: &Engine,
    caller: &Caller,
    recall: Recall<'_>,
    id: &MemoryId,
    budget_tokens: Option<usize>,
) -> Result<Explanation> {
    engine.system(caller).search().explain(&ExplainRequest {
        recall,
        id,
        budget_tokens,
    })
}

fn remember(engine: &Engine, request: Remember) -> MemoryId {
    remember_as(engine, &Caller::local(), request)
}

fn remember_as(engine: &Engine, caller: &Caller, request: Remember) -> MemoryId {
    let remembered = engine.system(caller).memories().remember(request);
    remembered.unwrap().memory.id
}

fn few(query: &str, limit: usize) -> Recall<'_> {
    Recall {
        limit,
        ..question(query)
    }
}

/// The place and the ranks are those that the search gives, for every memory and number of results.
#[test]
fn the_place_is_that_of_the_search() {
    let engine = engine();
    let local = Caller::local();
    let ids: Vec<MemoryId> = (0..30)
        .map(|number| {
            let text = format!(
                "The kiln {} hot. {}",
                number % 7,
                "Tiles. ".repeat(number % 5)
            );
            remember(
                &engine,
                fact(&format!("{text} {number}"), Visibility::Common),
            )
        })
        .collect();
    let all = engine
        .system(&local)
        .search()
        .recall(&few(KILN, 30))
        .unwrap();
    assert_eq!(all.hits.len(), 30);
    for (index, hit) in all.hits.iter().enumerate() {
        let found = explained(&engine, &local, few(KILN, 30), &hit.memory.id);
        let placement = found.placement.unwrap();
        assert_eq!(
            (found.causes, found.is_widened),
            (vec![Cause::Shown], false)
        );
        assert_eq!(placement.place, index + 1);
        assert_eq!(
            (placement.score, &placement.signals),
            (hit.score, &hit.signals)
        );
    }
    let first = engine
        .system(&local)
        .search()
        .recall(&few(KILN, 5))
        .unwrap();
    let shown: Vec<&MemoryId> = first.hits.iter().map(|hit| &hit.memory.id).collect();
    for id in &ids {
        let found = explained(&engine, &local, few(KILN, 5), id);
        let place = found.placement.as_ref().unwrap().place;
        let expected = if shown.contains(&id) {
            Cause::Shown
        } else {
            Cause::Limit
        };
        assert_eq!(found.cause(), &expected);
        assert_eq!(place <= 5, expected == Cause::Shown, "{place}");
    }
}

#[test]
fn a_place_far_behind_is_found_too() {
    let engine = engine();
    let local = Caller::local();
    for number in 0..300 {
        let text = format!("The kiln is hot, says the log of day {number}.");
        remember(&engine, fact(&text, Visibility::Common));
    }
    let last = remember(&engine, fact("Tea is at four.", Visibility::Common));
    let found = explained(&engine, &local, few(KILN, 5), &last);
    let placement = found.placement.as_ref().unwrap();
    assert_eq!((found.cause(), placement.place), (&Cause::Limit, 301));
}

#[test]
fn what_keeps_a_memory_out_is_named_with_its_place_if_it_were_let_in() {
    let Bench { engine, clock, .. } = bench();
    let local = Caller::local();
    let of = |content: &str| fact(content, Visibility::Common);
    let in_project = remember(
        &engine,
        Remember {
            collection: Some("pottery".to_owned()),
            ..of("The kiln is hot on Mondays.")
        },
    );
    let old = remember(&engine, of("The kiln is at 1200 degrees."));
    let new = remember(
        &engine,
        Remember {
            supersedes: Some(old.clone()),
            ..of("The kiln is at 1240 degrees.")
        },
    );
    let short_lived = remember(
        &engine,
        Remember {
            ttl_seconds: Some(60),
            ..of("The kiln is hot today.")
        },
    );
    let forgotten = remember(&engine, of("The kiln is hot and loud."));
    engine
        .system(&local)
        .memories()
        .forget_softly(&forgotten)
        .unwrap();
    let global = || Recall {
        collections: CollectionFilter::Global,
        ..question(KILN)
    };
    let cause = |recall, id: &MemoryId| explained(&engine, &local, recall, id);

    let found = cause(global(), &in_project);
    assert_eq!(found.causes, [Cause::Collection]);
    assert!(found.is_widened && found.placement.is_some());
    assert_eq!(cause(question(KILN), &in_project).causes, [Cause::Shown]);

    let found = cause(question(KILN), &old);
    assert_eq!(found.causes, [Cause::Successor(new.clone())]);
    assert!(found.is_widened && found.placement.is_some());

    let found = cause(question(KILN), &forgotten);
    assert!(
        matches!(found.causes[..], [Cause::Forgetting(_)]),
        "{:?}",
        found.causes
    );
    assert!(found.placement.is_some());

    let of_another_type = Recall {
        sections: vec!["rule".to_owned()],
        ..question(KILN)
    };
    assert_eq!(cause(of_another_type, &new).causes, [Cause::Facets]);
    // All of it is said, the most important first.
    let of_another_place_and_type = Recall {
        sections: vec!["rule".to_owned()],
        ..global()
    };
    assert_eq!(
        cause(of_another_place_and_type, &in_project).causes,
        [Cause::Collection, Cause::Facets]
    );

    assert_eq!(cause(question(KILN), &short_lived).causes, [Cause::Shown]);
    clock.advance(120);
    let found = cause(question(KILN), &short_lived);
    assert_eq!(
        found.causes,
        [Cause::Expiry(Timestamp::from_microseconds(61_000_000))]
    );
    assert_eq!(found.placement, None);
}

#[test]
fn equal_texts_and_counterparts_stand_for_each_other() {
    let engine = engine();
    let local = Caller::local();
    let one = remember(&engine, fact("The kiln is hot.", Visibility::Common));
    let other = remember(
        &engine,
        Remember {
            collection: Some("pottery".to_owned()),
            ..fact("The kiln  is hot.", Visibility::Common)
        },
    );
    let hits = engine
        .system(&local)
        .search()
        .recall(&question(KILN))
        .unwrap()
        .hits;
    assert_eq!(hits.len(), 1);
    let (first, second) = if hits[0].memory.id == one {
        (one, other)
    } else {
        (other, one)
    };
    assert_eq!(
        explained(&engine, &local, question(KILN), &first).causes,
        [Cause::Shown]
    );
    assert_eq!(
        explained(&engine, &local, question(KILN), &second).causes,
        [Cause::EqualText(first)]
    );

    let ann = caller("ann", &WRITER);
    say(
        &engine,
        &ann,
        "c",
        vec![message(Role::Human, "I drink the green tea of the morning")],
    )
    .unwrap();
    let both = || Recall {
        tiers: Tier::OF_CONVERSATIONS.to_vec(),
        ..question("green tea")
    };
    let hits = engine.system(&ann).search().recall(&both()).unwrap().hits;
    let kept = &hits[0].memory;
    let message = kept.source.clone().unwrap();
    assert_eq!(
        explained(&engine, &ann, both(), &message).causes,
        [Cause::Counterpart(kept.id.clone())]
    );
    assert_eq!(
        explained(&engine, &ann, question("green tea"), &message).causes,
        [Cause::Tier(Tier::ShortTerm)]
    );
}

#[test]
fn a_budget_and_a_quotation_leave_out_what_ranks() {
    let engine = engine();
    let local = Caller::local();
    for number in 0..4 {
        let text = format!(
            "The kiln of house {number} is hot. {}",
            "It is red. ".repeat(200)
        );
        remember(&engine, fact(&text, Visibility::Common));
    }
    let ids: Vec<MemoryId> = {
        let hits = engine
            .system(&local)
            .search()
            .recall(&question(KILN))
            .unwrap()
            .hits;
        hits.into_iter().map(|hit| hit.memory.id).collect()
    };
    let shown = engine
        .system(&local)
        .search()
        .recall_within(&question(KILN), Some(700))
        .unwrap()
        .hits
        .len();
    assert!((1..4).contains(&shown), "{shown}");
    for (index, id) in ids.iter().enumerate() {
        let found = explained_within(&engine, &local, question(KILN), id, Some(700)).unwrap();
        let expected = if index < shown {
            Cause::Shown
        } else {
            Cause::Budget
        };
        assert_eq!(found.causes, [expected]);
    }
    let quoting = question("\"house 3 is hot\"");
    let without = ids.iter().find(|id| {
        let found = engine.system(&local).memories().show(id).unwrap();
        !found.content.contains("house 3")
    });
    assert_eq!(
        explained(&engine, &local, quoting, without.unwrap()).causes,
        [Cause::Quotation]
    );
}

#[test]
fn a_memory_that_the_model_has_not_read_is_found_by_its_words_only() {
    let away = bench_with(Arc::new(FailingEmbedder::default()), SearchMode::Hybrid);
    let Bench {
        engine,
        store,
        clock,
    } = away;
    let local = Caller::local();
    let unread = remember(&engine, fact("Tea is at four.", Visibility::Common));
    // By words only, it has no word of the question.
    let found = explained(&engine, &local, question(KILN), &unread);
    assert_eq!(found.causes, [Cause::NoWord]);
    assert!(found.degraded.is_some());

    let model = Arc::new(HashingEmbedder::default());
    let engine = Engine::new(store, model, clock, SearchMode::Hybrid);
    let found = explained(&engine, &local, question(KILN), &unread);
    assert_eq!(
        (found.causes, found.placement),
        (vec![Cause::NoVector], None)
    );
}

/// A memory that the caller may not read gives the answer of an unknown id, whatever its state.
#[test]
fn a_memory_of_another_user_is_as_unknown_as_none() {
    let Bench { engine, clock, .. } = bench();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let private = |content: &str| fact(content, Visibility::Private);
    let live = remember_as(&engine, &ann, private("The kiln of ann is hot."));
    let forgotten = remember_as(&engine, &ann, private("The kiln of ann is cold."));
    engine
        .system(&ann)
        .memories()
        .forget_softly(&forgotten)
        .unwrap();
    let expired = Remember {
        ttl_seconds: Some(60),
        ..private("The kiln of ann is warm.")
    };
    let expired = remember_as(&engine, &ann, expired);
    let replaced = remember(&engine, fact("The kiln is hot.", Visibility::Common));
    // Bob may not know what ann has in its place.
    let successor = Remember {
        supersedes: Some(replaced.clone()),
        ..private("The kiln is red.")
    };
    let successor = remember_as(&engine, &ann, successor);
    clock.advance(120);

    let unknown = MemoryId::new("0123456789");
    let answer = |id: &MemoryId| {
        let error = explained_within(&engine, &bob, question(KILN), id, None).unwrap_err();
        (error.code, error.message.replace(id.as_str(), "ID"))
    };
    let expected = answer(&unknown);
    assert_eq!(expected.0, ErrorCode::NotFound);
    for id in [&live, &forgotten, &expired, &successor] {
        assert_eq!(answer(id), expected);
        explained(&engine, &ann, question(KILN), id);
    }
    let cause = |caller: &Caller| explained(&engine, caller, question(KILN), &replaced).causes;
    assert_eq!(cause(&bob), [Cause::Shown]);
    assert_eq!(cause(&ann), [Cause::Successor(successor)]);
    // What ann has does not move what bob sees.
    let found = explained(&engine, &bob, question(KILN), &replaced);
    assert_eq!(found.placement.unwrap().candidates, 1);
}
