//! Tests of the knowledge graph: which facts hold when.

use std::collections::{BTreeMap, BTreeSet};

use loci_core::limits::FACTS_MAX;
use loci_core::{Batch, Change, Clock, Direction, Fact, Period, Store};
use loci_engine::{AddedFact, Facts, NewFact};
use loci_testkit::Random;

use super::faulty_store::FaultyStore;
use super::*;

const DAY: i64 = 86_400_000_000;
const NOON: i64 = DAY / 2;

fn at(microseconds: i64) -> Timestamp {
    Timestamp::from_microseconds(microseconds)
}

fn moment(microseconds: i64) -> Period {
    Period {
        first: at(microseconds),
        last: at(microseconds),
    }
}

fn day(number: i64) -> Period {
    Period {
        first: at(number * DAY),
        last: at((number + 1) * DAY - 1),
    }
}

fn relate(
    [subject, predicate, object]: [&str; 3],
    from: Option<Period>,
    to: Option<Period>,
) -> NewFact {
    let [subject, predicate, object] = [subject, predicate, object].map(str::to_owned);
    NewFact {
        subject,
        predicate,
        object,
        valid_from: from,
        valid_to: to,
        source: None,
    }
}

fn added(engine: &Engine, request: NewFact) -> Fact {
    match engine
        .system(&Caller::local())
        .graph()
        .add_fact(request)
        .unwrap()
    {
        AddedFact::New(fact) => fact,
        AddedFact::Before(fact) => panic!("{fact:?} was there before"),
    }
}

fn about(engine: &Engine, entity: &str, as_of: Option<Period>) -> Vec<Fact> {
    engine
        .system(&Caller::local())
        .graph()
        .facts_about(entity, Direction::Both, as_of, 0, FACTS_MAX)
        .unwrap()
        .facts
}

fn ids(facts: &[Fact]) -> Vec<&str> {
    facts.iter().map(|fact| fact.id.as_str()).collect()
}

const MAX_LOVES: [&str; 3] = ["Max", "loves", "Tea"];

#[test]
fn names_are_one_however_they_are_spelled_and_shown_as_at_first() {
    let engine = engine();
    let first = added(
        &engine,
        relate([" Max Müller ", "works_on", "Loci"], None, None),
    );
    assert!(
        first.id.starts_with("t_") && first.id.len() == 38,
        "{}",
        first.id
    );
    let again = relate(
        ["ＭＡＸ-mu\u{308}ller", "Works On", "LOCI"],
        Some(day(0)),
        None,
    );
    assert_eq!(
        engine
            .system(&Caller::local())
            .graph()
            .add_fact(again)
            .unwrap(),
        AddedFact::Before(first.clone())
    );
    // A predicate and an entity with the same name are independent.
    let other = added(
        &engine,
        relate(["max_müller", "WORKS-ON", "works-on"], None, None),
    );
    let spelled =
        [&other.subject, &other.predicate, &other.object].map(|name| name.spelling.as_str());
    assert_eq!(spelled, ["Max Müller", "works_on", "works-on"]);
    assert_eq!(about(&engine, "max  müller", None), [first.clone(), other]);
    assert_eq!(about(&engine, "loci", None), [first]);
    assert_eq!(about(&engine, "muller", None), []);
}

#[test]
fn what_is_no_fact_is_refused() {
    let engine = engine();
    let long = "x".repeat(limits::ENTITY_BYTES_MAX + 1);
    // One character becomes four words, of 33 bytes in all.
    let swollen = "\u{fdfa}".repeat(limits::ENTITY_BYTES_MAX / 3);
    let with = |request: NewFact, source: &str| NewFact {
        source: Some(source.to_owned()),
        ..request
    };
    let rows = [
        (
            relate([" ", "loves", "Tea"], None, None),
            "`subject`",
            ErrorCode::InvalidArgument,
        ),
        (
            relate(["Max", "_-_", "Tea"], None, None),
            "`predicate`",
            ErrorCode::InvalidArgument,
        ),
        (
            relate(["Max", "loves", "a\0b"], None, None),
            "`object`",
            ErrorCode::InvalidArgument,
        ),
        (
            relate(["Max", "loves", &long], None, None),
            "`object`",
            ErrorCode::InvalidArgument,
        ),
        (
            relate([&swollen, "loves", "Tea"], None, None),
            "`subject` has more than 4096 bytes when it is normalised",
            ErrorCode::InvalidArgument,
        ),
        (
            relate(MAX_LOVES, Some(day(2)), Some(day(1))),
            "`valid_to`",
            ErrorCode::InvalidArgument,
        ),
        (
            relate(MAX_LOVES, Some(moment(NOON)), Some(moment(NOON - 1))),
            "`valid_to`",
            ErrorCode::InvalidArgument,
        ),
        (
            with(relate(MAX_LOVES, None, None), "a\0b"),
            "`source`",
            ErrorCode::InvalidArgument,
        ),
        (
            with(relate(MAX_LOVES, None, None), &"x".repeat(5_000)),
            "`source`",
            ErrorCode::TooLarge,
        ),
    ];
    for (request, argument, code) in rows {
        let error = engine
            .system(&Caller::local())
            .graph()
            .add_fact(request)
            .unwrap_err();
        assert_eq!(
            (error.code, &error.message[..argument.len()]),
            (code, argument)
        );
    }
    for entity in ["", "\u{7}", "--"] {
        let errors = [
            engine
                .system(&Caller::local())
                .graph()
                .facts_about(entity, Direction::Both, None, 0, FACTS_MAX)
                .unwrap_err(),
            engine
                .system(&Caller::local())
                .graph()
                .timeline(Some(entity), 0)
                .unwrap_err(),
        ];
        for error in errors {
            assert!(
                error.code == ErrorCode::InvalidArgument && error.message.starts_with("`entity`"),
                "{error}"
            );
        }
        let error = engine
            .system(&Caller::local())
            .graph()
            .end_facts(["Max", "loves", entity], None)
            .unwrap_err();
        assert!(error.message.starts_with("`object`"), "{error}");
    }
    assert_eq!(
        engine
            .system(&Caller::local())
            .graph()
            .fact_counts()
            .unwrap()
            .facts,
        0
    );
    // With the longest texts, within one day, and a blank source.
    let longest = &long[1..];
    let fact = added(
        &engine,
        with(
            relate([longest, "loves", "Tea"], Some(moment(NOON)), Some(day(0))),
            " ",
        ),
    );
    assert_eq!(
        (fact.subject.spelling.as_str(), fact.source),
        (longest, None)
    );
}

/// A fact holds up to the boundaries of its days, and of moments within them.
#[test]
fn a_fact_holds_from_the_first_moment_to_the_last() {
    let engine = engine();
    let fact = added(&engine, relate(MAX_LOVES, Some(day(10)), Some(day(20))));
    let within = added(
        &engine,
        relate(
            ["Max", "is in", "Rome"],
            Some(moment(10 * DAY + NOON)),
            None,
        ),
    );
    let (fact, within) = (fact.id.as_str(), within.id.as_str());
    let rows: [(Period, &[&str]); 10] = [
        (day(9), &[]),
        (moment(10 * DAY - 1), &[]),
        (moment(10 * DAY), &[fact]),
        (moment(10 * DAY + NOON - 1), &[fact]),
        (moment(10 * DAY + NOON), &[fact, within]),
        (day(10), &[fact, within]),
        (day(20), &[fact, within]),
        (moment(21 * DAY - 1), &[fact, within]),
        (moment(21 * DAY), &[within]),
        (day(21), &[within]),
    ];
    for (as_of, expected) in rows {
        assert_eq!(
            ids(&about(&engine, "max", Some(as_of))),
            expected,
            "{as_of:?}"
        );
    }
}

#[test]
fn an_ended_fact_is_over_at_once_and_ended_once() {
    let Bench { engine, clock, .. } = bench();
    let local = Caller::local();
    clock.set(at(100 * DAY + NOON));
    let fact = added(&engine, relate(MAX_LOVES, None, None));
    let counts = || {
        engine
            .system(&local)
            .graph()
            .fact_counts()
            .map(|counts| (counts.facts, counts.open))
            .unwrap()
    };
    assert_eq!(counts(), (1, 1));
    let (ended, end) = engine
        .system(&local)
        .graph()
        .end_facts(["MAX", "Loves", "tea"], None)
        .unwrap();
    assert_eq!(
        end,
        Period {
            first: at(100 * DAY),
            last: at(100 * DAY + NOON)
        }
    );
    assert_eq!(
        ended,
        [Fact {
            valid_to: Some(end),
            ..fact.clone()
        }]
    );
    assert_eq!(counts(), (1, 0));
    assert_eq!(about(&engine, "Max", None), ended);
    clock.advance(1);
    let error = engine
        .system(&local)
        .graph()
        .end_facts(MAX_LOVES, None)
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
    let error = engine
        .system(&local)
        .graph()
        .end_facts(["Max", "loves", "Coffee"], None)
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
    // A past fact may start again, and both are reported.
    let again = added(
        &engine,
        relate(MAX_LOVES, Some(moment(clock.now().microseconds())), None),
    );
    assert_eq!(ids(&about(&engine, "Max", None)), [&fact.id, &again.id]);
    // With an end in the future it stays current, until an earlier end is set.
    engine
        .system(&local)
        .graph()
        .end_facts(MAX_LOVES, Some(day(105)))
        .unwrap();
    assert_eq!(counts(), (2, 1));
    let (ended, _) = engine
        .system(&local)
        .graph()
        .end_facts(MAX_LOVES, Some(day(104)))
        .unwrap();
    assert_eq!(ids(&ended), [&again.id]);
    assert_eq!(
        engine
            .system(&local)
            .graph()
            .end_facts(MAX_LOVES, Some(day(104)))
            .unwrap_err()
            .code,
        ErrorCode::NotFound
    );
    clock.set(at(105 * DAY - 1));
    assert_eq!(counts(), (2, 1));
    clock.set(at(105 * DAY));
    assert_eq!(counts(), (2, 0));
}

/// A call that is repeated because its reply was lost adds nothing.
#[test]
fn a_fact_is_noted_once_with_one_beginning_and_end() {
    let engine = engine();
    let rows = [
        (Some(day(1)), Some(day(3))),
        (None, Some(day(3))),
        (Some(moment(NOON)), Some(day(3))),
        (None, None),
    ];
    for (from, to) in rows {
        let fact = added(&engine, relate(MAX_LOVES, from, to));
        let again = engine
            .system(&Caller::local())
            .graph()
            .add_fact(relate(["max", "LOVES", "tea"], from, to))
            .unwrap();
        assert_eq!(again, AddedFact::Before(fact));
    }
    // Another end makes another fact.
    added(
        &engine,
        relate(MAX_LOVES, Some(day(1)), Some(moment(3 * DAY))),
    );
}

#[test]
fn a_fact_that_ended_before_is_told_from_none() {
    let engine = engine();
    let local = Caller::local();
    added(&engine, relate(MAX_LOVES, None, Some(day(3))));
    let of = |triple| {
        engine
            .system(&local)
            .graph()
            .end_facts(triple, Some(day(5)))
            .unwrap_err()
    };
    let (over, none) = (of(MAX_LOVES), of(["Max", "loves", "Coffee"]));
    assert_eq!(
        (over.code, none.code),
        (ErrorCode::NotFound, ErrorCode::NotFound)
    );
    assert!(
        over.message.contains("is over, or ends by then") && none.message.contains("is open"),
        "{over} {none}"
    );
}

#[test]
fn a_fact_that_begins_later_is_not_ended() {
    let engine = engine();
    let local = Caller::local();
    added(&engine, relate(MAX_LOVES, Some(day(10)), None));
    let later = added(&engine, relate(MAX_LOVES, Some(day(12)), Some(day(15))));
    for ended in [None, Some(day(9)), Some(moment(10 * DAY - 1))] {
        let error = engine
            .system(&local)
            .graph()
            .end_facts(MAX_LOVES, ended)
            .unwrap_err();
        assert_eq!(
            (error.code, &error.message[..7]),
            (ErrorCode::InvalidArgument, "`ended`")
        );
    }
    let (ended, _) = engine
        .system(&local)
        .graph()
        .end_facts(MAX_LOVES, Some(moment(10 * DAY)))
        .unwrap();
    assert_eq!(ended.len(), 1);
    assert_eq!(about(&engine, "tea", Some(day(13))), [later]);
}

/// A retracted fact is found by nothing, and may be added again.
#[test]
fn a_retracted_fact_never_held() {
    let engine = engine();
    let local = Caller::local();
    let facts = [
        added(&engine, relate(MAX_LOVES, None, None)),
        added(
            &engine,
            relate(["Max", "is in", "Rome"], Some(day(1)), Some(day(2))),
        ),
        added(
            &engine,
            relate(["Max", "was in", "Bonn"], None, Some(day(2))),
        ),
    ];
    for fact in &facts {
        let triple =
            [&fact.subject, &fact.predicate, &fact.object].map(|name| name.spelling.as_str());
        assert_eq!(
            engine
                .system(&local)
                .graph()
                .fact(triple, &fact.id)
                .as_ref(),
            Ok(fact)
        );
        engine.system(&local).graph().retract_fact(fact).unwrap();
        assert_eq!(
            engine
                .system(&local)
                .graph()
                .fact(triple, &fact.id)
                .unwrap_err()
                .code,
            ErrorCode::NotFound
        );
        let again = engine
            .system(&local)
            .graph()
            .retract_fact(fact)
            .unwrap_err();
        assert_eq!(again.code, ErrorCode::Conflict);
        let ended = engine
            .system(&local)
            .graph()
            .end_facts(triple, Some(day(5)))
            .unwrap_err();
        assert!(ended.message.contains("is open"), "{ended}");
    }
    for as_of in [None, Some(day(1)), Some(day(-9_000))] {
        assert_eq!(about(&engine, "Max", as_of), []);
    }
    assert_eq!(
        engine
            .system(&local)
            .graph()
            .timeline(None, 0)
            .unwrap()
            .facts,
        []
    );
    let again = added(&engine, facts[1].clone().into());
    assert_eq!(about(&engine, "Max", None), [again]);
}

#[test]
fn a_wrong_fact_gives_way_to_the_right_one() {
    let Bench { engine, clock, .. } = bench();
    let local = Caller::local();
    let wrong = added(
        &engine,
        relate(["Max", "is in", "Rome"], Some(day(1)), None),
    );
    let known = added(&engine, relate(["Max", "is in", "Bonn"], None, None));
    assert_eq!(
        engine
            .system(&local)
            .graph()
            .correct_fact(&wrong, wrong.clone().into()),
        Ok(wrong.clone())
    );
    // The right one may not be there already, and then nothing changes.
    let taken = engine
        .system(&local)
        .graph()
        .correct_fact(&wrong, known.clone().into())
        .unwrap_err();
    assert_eq!(taken.code, ErrorCode::Conflict);
    let reversed = relate(["Max", "is in", "Rom"], Some(day(2)), Some(day(1)));
    assert_eq!(
        engine
            .system(&local)
            .graph()
            .correct_fact(&wrong, reversed)
            .unwrap_err()
            .argument
            .as_deref(),
        Some("valid_to")
    );
    assert_eq!(about(&engine, "Max", None), [known.clone(), wrong.clone()]);
    clock.advance(1);
    let right = engine
        .system(&local)
        .graph()
        .correct_fact(
            &wrong,
            relate(["MAX", "is in", "Rom"], Some(day(1)), Some(day(3))),
        )
        .unwrap();
    assert_eq!(right.subject.spelling, "Max", "the first spelling stays");
    assert_eq!(about(&engine, "Max", None), [known.clone(), right.clone()]);
    // Back again, with an open end.
    let back = engine
        .system(&local)
        .graph()
        .correct_fact(&right, wrong.clone().into())
        .unwrap();
    assert_eq!((&back.object, back.valid_to), (&wrong.object, None));
    assert_eq!(about(&engine, "Max", None), [known, back]);
}

#[test]
fn one_fact_is_ended_again_and_again() {
    let engine = engine();
    let local = Caller::local();
    let fact = added(&engine, relate(MAX_LOVES, Some(day(3)), None));
    let early = engine
        .system(&local)
        .graph()
        .end_fact(&fact, day(2))
        .unwrap_err();
    assert_eq!(early.argument.as_deref(), Some("ended"));
    let ended = engine
        .system(&local)
        .graph()
        .end_fact(&fact, day(9))
        .unwrap();
    assert_eq!(about(&engine, "Max", None), std::slice::from_ref(&ended));
    assert_eq!(
        engine
            .system(&local)
            .graph()
            .end_fact(&fact, day(9))
            .unwrap_err()
            .code,
        ErrorCode::Conflict
    );
    let later = engine
        .system(&local)
        .graph()
        .end_fact(&ended, day(12))
        .unwrap();
    assert_eq!(about(&engine, "Max", Some(day(11))), [later]);
}

/// A caller without the scope `read` does not learn which facts exist.
#[test]
fn a_fact_is_shown_to_readers_alone() {
    let engine = engine();
    let fact = added(&engine, relate(MAX_LOVES, None, None));
    let blind = Caller::new(
        Space::default(),
        Principal {
            scopes: Scopes::of(&[Scope::Write]),
            ..Principal::local()
        },
    );
    let error = engine
        .system(&blind)
        .graph()
        .fact(MAX_LOVES, &fact.id)
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
}

#[test]
fn spaces_have_graphs_of_their_own() {
    let engine = engine();
    let there = Caller {
        space: Space::parse("space", "elsewhere").unwrap(),
        ..Caller::local()
    };
    added(&engine, relate(MAX_LOVES, None, None));
    assert_eq!(
        engine
            .system(&there)
            .graph()
            .timeline(None, 0)
            .unwrap()
            .facts,
        []
    );
    assert_eq!(
        engine
            .system(&there)
            .graph()
            .end_facts(MAX_LOVES, None)
            .unwrap_err()
            .code,
        ErrorCode::NotFound
    );
    assert!(matches!(
        engine
            .system(&there)
            .graph()
            .add_fact(relate(["max", "LOVES", "tea"], None, None))
            .unwrap(),
        AddedFact::New(_)
    ));
    assert_eq!(
        engine
            .system(&there)
            .graph()
            .fact_counts()
            .unwrap()
            .predicates,
        ["LOVES"]
    );
}

#[test]
fn more_facts_than_a_reply_holds_are_cut() {
    let engine = engine();
    let numbers = 0..=FACTS_MAX;
    for number in numbers {
        let Facts { facts, is_cut } = engine
            .system(&Caller::local())
            .graph()
            .timeline(None, 0)
            .unwrap();
        assert_eq!((facts.len(), is_cut), (number, false));
        added(
            &engine,
            relate(["Max", "counts", &number.to_string()], None, None),
        );
    }
    let Facts { facts, is_cut } = engine
        .system(&Caller::local())
        .graph()
        .timeline(Some("max"), 0)
        .unwrap();
    assert_eq!((facts.len(), is_cut), (FACTS_MAX, true));
    for offset in [1, FACTS_MAX, FACTS_MAX + 1, usize::MAX] {
        let rest = engine
            .system(&Caller::local())
            .graph()
            .timeline(None, offset)
            .unwrap();
        let about = engine
            .system(&Caller::local())
            .graph()
            .facts_about("max", Direction::Outgoing, None, offset, FACTS_MAX)
            .unwrap();
        let expected = (FACTS_MAX + 1).saturating_sub(offset);
        assert_eq!(
            (rest.facts.len(), rest.is_cut),
            (expected, false),
            "{offset}"
        );
        assert_eq!(about, rest);
        assert!(
            rest.facts
                .first()
                .is_none_or(|first| facts.get(offset).is_none_or(|there| there == first))
        );
    }
    assert!(
        !engine
            .system(&Caller::local())
            .graph()
            .timeline(Some("7"), 0)
            .unwrap()
            .is_cut
    );
}

/// Another process does the same just before this one commits.
#[test]
fn a_race_adds_one_fact_and_ends_it_once() {
    let store = FaultyStore::new(Arc::new(NaiveStore::new()));
    let clock = Arc::new(FixedClock::new(at(DAY)));
    let of = |store: Arc<dyn Store>| {
        Arc::new(Engine::new(
            store,
            Arc::new(HashingEmbedder::default()),
            clock.clone(),
            SearchMode::Words,
        ))
    };
    let (engine, other) = (of(store.clone()), of(store.inner.clone()));
    let race = |act: fn(&Engine)| {
        let (other, is_done) = (other.clone(), AtomicBool::new(false));
        store.before(move |method| {
            if method == "commit" && !is_done.swap(true, Ordering::SeqCst) {
                act(&other);
            }
            Ok(())
        });
    };
    race(|other| drop(added(other, relate(["max", "LOVES", "tea"], None, None))));
    let AddedFact::Before(fact) = engine
        .system(&Caller::local())
        .graph()
        .add_fact(relate(MAX_LOVES, None, None))
        .unwrap()
    else {
        panic!("it was added twice");
    };
    assert_eq!(fact.subject.spelling, "max");
    let closed = || relate(["Max", "lived in", "Rome"], Some(day(1)), Some(day(2)));
    race(|other| {
        added(
            other,
            relate(["max", "lived in", "rome"], Some(day(1)), Some(day(2))),
        );
    });
    let AddedFact::Before(fact) = engine
        .system(&Caller::local())
        .graph()
        .add_fact(closed())
        .unwrap()
    else {
        panic!("what is over was added twice");
    };
    assert_eq!(fact.object.spelling, "rome");
    assert_eq!(
        engine
            .system(&Caller::local())
            .graph()
            .timeline(None, 0)
            .unwrap()
            .facts
            .len(),
        2
    );
    race(|other| {
        drop(
            other
                .system(&Caller::local())
                .graph()
                .end_facts(MAX_LOVES, None)
                .unwrap(),
        );
    });
    assert_eq!(
        engine
            .system(&Caller::local())
            .graph()
            .end_facts(MAX_LOVES, None)
            .unwrap_err()
            .code,
        ErrorCode::NotFound
    );
    assert_eq!(
        engine
            .system(&Caller::local())
            .graph()
            .timeline(None, 0)
            .unwrap()
            .facts
            .len(),
        2
    );
}

#[test]
fn the_same_fact_is_found_among_more_than_a_reply_has() {
    let Bench { engine, store, .. } = bench();
    let first = added(&engine, relate(MAX_LOVES, Some(day(0)), Some(day(9))));
    // All facts hold when the same one ends.
    let others = (0..=FACTS_MAX as i64).map(|number| Fact {
        id: number.to_string(),
        valid_from: Some(moment(-number - 1)),
        ..first.clone()
    });
    let changes = others.map(|fact| Change::PutFact(Box::new(fact))).collect();
    store.commit(Batch::new(Space::default(), changes)).unwrap();
    let again = engine
        .system(&Caller::local())
        .graph()
        .add_fact(relate(MAX_LOVES, Some(day(0)), Some(day(9))))
        .unwrap();
    assert_eq!(again, AddedFact::Before(first));
}

/// Returns the objects and the authors of all facts.
fn authors(engine: &Engine) -> Vec<(String, Option<String>)> {
    let caller = Caller::local();
    let system = engine.system(&caller);
    let facts = system.graph().timeline(None, 0).unwrap().facts;
    let named = facts
        .into_iter()
        .map(|fact| (fact.object.spelling, fact.author));
    named.collect()
}

fn by<const N: usize>(rows: [(&str, &str); N]) -> Vec<(String, Option<String>)> {
    rows.map(|(object, author)| (object.to_owned(), Some(author.to_owned())))
        .to_vec()
}

#[test]
fn a_fact_is_of_who_asserted_it_whoever_ends_it() {
    let engine = engine();
    let (ann, bob) = (
        caller("ann", &[Scope::Read, Scope::Write]),
        caller("bob", &[Scope::Read, Scope::Write]),
    );
    let add = |caller: &Caller, object: &str| {
        let fact = relate(["Max", "loves", object], None, None);
        engine.system(caller).graph().add_fact(fact).unwrap()
    };
    add(&ann, "Tea");
    add(&bob, "Rum");
    add(&anonymous(), "Milk");
    add(&Caller::local(), "Mate");
    let expected = by([
        ("Tea", "ann"),
        ("Rum", "bob"),
        ("Milk", "anonymous"),
        ("Mate", "local"),
    ]);
    assert_eq!(authors(&engine), expected);
    let AddedFact::Before(again) = add(&bob, "tea") else {
        panic!("it is noted")
    };
    assert_eq!(again.author.as_deref(), Some("ann"));
    let bobs = engine.system(&bob);
    let (ended, _) = bobs.graph().end_facts(MAX_LOVES, None).unwrap();
    assert_eq!(ended[0].author.as_deref(), Some("ann"));
    assert_eq!(authors(&engine), expected);
}

#[test]
fn a_corrected_fact_is_of_who_corrected_it_and_one_that_is_taken_back_of_its_author() {
    let Bench { engine, store, .. } = bench();
    let (ann, bob) = (
        caller("ann", &[Scope::Read, Scope::Write]),
        caller("bob", &[Scope::Read, Scope::Write]),
    );
    let (anns, bobs) = (engine.system(&ann), engine.system(&bob));
    let tea = relate(MAX_LOVES, None, None);
    let rum = relate(["Max", "loves", "Rum"], None, None);
    let AddedFact::New(wrong) = anns.graph().add_fact(tea).unwrap() else {
        panic!("it was noted before")
    };
    let right = bobs.graph().correct_fact(&wrong, rum.clone()).unwrap();
    assert_eq!(authors(&engine), by([("Rum", "bob")]));
    bobs.graph().restore_fact(&right, &wrong).unwrap();
    assert_eq!(authors(&engine), by([("Tea", "ann")]));
    // What is not taken back because nothing differs stays as it is.
    let wrong = about(&engine, "Max", None).remove(0);
    bobs.graph().restore_fact(&wrong, &wrong).unwrap();
    assert_eq!(about(&engine, "Max", None), std::slice::from_ref(&wrong));
    // A wipe since then has taken the name off the fact that was corrected.
    let right = bobs.graph().correct_fact(&wrong, rum).unwrap();
    let pseudonym = loci_core::pseudonym(7);
    let (home, now) = (Space::default(), engine.now());
    store
        .wipe(&home, "ann", None, Some(&pseudonym), now)
        .unwrap();
    bobs.graph().restore_fact(&right, &wrong).unwrap();
    assert_eq!(authors(&engine), by([("Tea", &pseudonym)]));
    store.wipe(&home, &pseudonym, None, None, now).unwrap();
    assert_eq!(authors(&engine), [("Tea".to_owned(), None)]);
}

#[test]
fn many_at_once_add_one_fact() {
    let engine = Arc::new(engine());
    let adding: Vec<_> = (0..16)
        .map(|_| {
            let engine = engine.clone();
            std::thread::spawn(move || {
                engine
                    .system(&Caller::local())
                    .graph()
                    .add_fact(relate(MAX_LOVES, None, None))
                    .unwrap()
            })
        })
        .collect();
    let related: Vec<AddedFact> = adding
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    assert_eq!(
        related
            .iter()
            .filter(|related| matches!(related, AddedFact::New(_)))
            .count(),
        1
    );
    assert_eq!(
        engine
            .system(&Caller::local())
            .graph()
            .timeline(None, 0)
            .unwrap()
            .facts
            .len(),
        1
    );
}

/// A fact in the model: names are numbers, ends are whole numbers.
#[derive(Debug, Clone)]
struct Noted {
    id: String,
    names: [usize; 3],
    from: Option<(i64, i64)>,
    to: Option<(i64, i64)>,
    stored_at: i64,
}

/// The spellings of each entity or predicate.
const SPELLINGS: [&[&str]; 4] = [
    &[
        "Max Müller",
        "max_müller",
        "MAX-MÜLLER",
        " Max  Müller ",
        "Ｍａｘ　Ｍüller",
        "max mu\u{308}ller",
    ],
    &[
        "works_on",
        "Works On",
        "WORKS-ON",
        "works__on",
        "ｗｏｒｋｓ＿ｏｎ",
    ],
    &["Straße 2", "STRASSE-2", "straße ２", "_Straße_2_"],
    &["Ωmega", "ωMEGA", "ωmega"],
];

struct Model {
    bench: Bench,
    random: Random,
    noted: Vec<Noted>,
    /// The first spellings of entities and predicates.
    first: [BTreeMap<usize, String>; 2],
}

impl Model {
    /// Returns moments near the boundaries of days and within days: all that the model ever uses.
    fn instants() -> Vec<i64> {
        (0..6)
            .flat_map(|day| [0, 1, NOON, DAY - 2, DAY - 1].map(|offset| day * DAY + offset))
            .collect()
    }

    fn instant(&mut self) -> i64 {
        self.random.pick(&Model::instants())
    }

    fn period(&mut self) -> (i64, i64) {
        let instant = self.instant();
        if self.random.chance(50) {
            (instant, instant)
        } else {
            (instant / DAY * DAY, instant / DAY * DAY + DAY - 1)
        }
    }

    fn maybe_period(&mut self) -> Option<(i64, i64)> {
        self.random.chance(70).then(|| self.period())
    }

    fn spelled(&mut self, name: usize) -> &'static str {
        self.random.pick(SPELLINGS[name])
    }

    fn triple(&mut self) -> [usize; 3] {
        [0; 3].map(|_| self.random.below(SPELLINGS.len()))
    }

    /// Reports whether two stretches of time have a moment in common, by trying all moments.
    fn meet(one: (i64, i64), other: (i64, i64)) -> bool {
        let lies_in =
            |instant: &i64, (first, last): (i64, i64)| first <= *instant && *instant <= last;
        Model::instants()
            .iter()
            .any(|instant| lies_in(instant, one) && lies_in(instant, other))
    }

    /// Returns the first moment at which what lasted until a period no longer holds: midnight after a
    /// day, and a moment itself.
    fn over((_, last): (i64, i64)) -> i64 {
        if (last + 1) % DAY == 0 {
            last + 1
        } else {
            last
        }
    }

    fn relate(&mut self) {
        let (names, from, to) = (self.triple(), self.maybe_period(), self.maybe_period());
        let spelled = names.map(|name| self.spelled(name));
        let period = |(first, last)| Period {
            first: at(first),
            last: at(last),
        };
        let related = self
            .bench
            .engine
            .system(&Caller::local())
            .graph()
            .add_fact(relate(spelled, from.map(period), to.map(period)));
        if from.zip(to).is_some_and(|(from, to)| to.1 < from.0) {
            assert_eq!(related.unwrap_err().code, ErrorCode::InvalidArgument);
            return;
        }
        let is_same = |noted: &&Noted| {
            let is_as_long = noted.to == to && (to.is_none() || noted.from == from);
            noted.names == names && is_as_long
        };
        let same: Vec<&String> = self
            .noted
            .iter()
            .filter(is_same)
            .map(|noted| &noted.id)
            .collect();
        match (related.unwrap(), same.is_empty()) {
            (AddedFact::Before(fact), false) => {
                assert!(same.contains(&&fact.id), "{fact:?} of {same:?}");
            }
            (AddedFact::New(fact), true) => {
                for (name, (spelled, of)) in
                    names.into_iter().zip(spelled.into_iter().zip([0, 1, 0]))
                {
                    self.first[of]
                        .entry(name)
                        .or_insert_with(|| spelled.trim().to_owned());
                }
                let stored_at = self.bench.clock.now().microseconds();
                self.noted.push(Noted {
                    id: fact.id.clone(),
                    names,
                    from,
                    to,
                    stored_at,
                });
                self.assert_shown(&fact);
            }
            (related, _) => panic!("{related:?}, where {same:?} say the same"),
        }
    }

    fn end(&mut self) {
        let (names, ended) = (self.triple(), self.maybe_period());
        let spelled = names.map(|name| self.spelled(name));
        let period = ended.map(|(first, last)| Period {
            first: at(first),
            last: at(last),
        });
        let outcome = self
            .bench
            .engine
            .system(&Caller::local())
            .graph()
            .end_facts(spelled, period);
        let now = self.bench.clock.now().microseconds();
        let end = ended.unwrap_or((now / DAY * DAY, now));
        let is_open = |noted: &&mut Noted| {
            noted.names == names
                && noted
                    .to
                    .is_none_or(|to| Model::over(to) > Model::over(end).max(now))
        };
        let open: Vec<&mut Noted> = self.noted.iter_mut().filter(is_open).collect();
        let was_open = !open.is_empty();
        let mut expected = BTreeSet::new();
        for noted in open
            .into_iter()
            .filter(|noted| noted.from.is_none_or(|from| from.0 <= end.1))
        {
            noted.to = Some(end);
            expected.insert(noted.id.clone());
        }
        match outcome {
            Ok((facts, given)) => {
                assert_eq!((given.first, given.last), (at(end.0), at(end.1)));
                assert_eq!(
                    facts
                        .iter()
                        .map(|fact| fact.id.clone())
                        .collect::<BTreeSet<_>>(),
                    expected
                );
                for fact in &facts {
                    self.assert_shown(fact);
                }
            }
            Err(error) => {
                let code = if was_open {
                    ErrorCode::InvalidArgument
                } else {
                    ErrorCode::NotFound
                };
                assert_eq!((error.code, expected.len()), (code, 0), "{error}");
            }
        }
    }

    /// Checks that a fact is shown as in the model.
    fn assert_shown(&self, fact: &Fact) {
        let noted = self.noted.iter().find(|noted| noted.id == fact.id).unwrap();
        let [subject, predicate, object] = noted.names;
        let first = [
            &self.first[0][&subject],
            &self.first[1][&predicate],
            &self.first[0][&object],
        ];
        assert_eq!(
            [&fact.subject, &fact.predicate, &fact.object].map(|name| &name.spelling),
            first
        );
        let ends = [fact.valid_from, fact.valid_to]
            .map(|end| end.map(|end| (end.first.microseconds(), end.last.microseconds())));
        assert_eq!(
            (ends, fact.created_at),
            ([noted.from, noted.to], at(noted.stored_at))
        );
    }

    fn assert_facts(&self, found: Facts, mut expected: Vec<&Noted>) {
        expected.sort_by_key(|noted| (noted.from.map(|from| from.0), noted.stored_at));
        assert!(!found.is_cut);
        for fact in &found.facts {
            self.assert_shown(fact);
        }
        assert_eq!(
            ids(&found.facts),
            expected
                .iter()
                .map(|noted| noted.id.as_str())
                .collect::<Vec<_>>()
        );
    }

    fn ask(&mut self) {
        let name = self.random.below(SPELLINGS.len());
        let (spelled, as_of) = (self.spelled(name), self.maybe_period());
        let direction =
            self.random
                .pick(&[Direction::Outgoing, Direction::Incoming, Direction::Both]);
        let has_part = |noted: &&Noted| match direction {
            Direction::Outgoing => noted.names[0] == name,
            Direction::Incoming => noted.names[2] == name,
            Direction::Both => [noted.names[0], noted.names[2]].contains(&name),
        };
        let holds = |noted: &&Noted| {
            let (first, last) = (
                noted.from.map_or(0, |from| from.0),
                noted.to.map_or(i64::MAX, |to| Model::over(to) - 1),
            );
            // A fact that ends at its start is found only around that moment.
            let is_around = |as_of: (i64, i64)| as_of.0 < first && first <= as_of.1;
            as_of.is_none_or(|as_of| {
                if first > last {
                    is_around(as_of)
                } else {
                    Model::meet(as_of, (first, last))
                }
            })
        };
        let engine = &self.bench.engine;
        let period = as_of.map(|(first, last)| Period {
            first: at(first),
            last: at(last),
        });
        let found = engine
            .system(&Caller::local())
            .graph()
            .facts_about(spelled, direction, period, 0, FACTS_MAX)
            .unwrap();
        self.assert_facts(
            found,
            self.noted.iter().filter(has_part).filter(holds).collect(),
        );
        let concerns = |noted: &&Noted| [noted.names[0], noted.names[2]].contains(&name);
        let told = engine
            .system(&Caller::local())
            .graph()
            .timeline(Some(spelled), 0)
            .unwrap();
        self.assert_facts(told, self.noted.iter().filter(concerns).collect());
        self.assert_facts(
            engine
                .system(&Caller::local())
                .graph()
                .timeline(None, 0)
                .unwrap(),
            self.noted.iter().collect(),
        );
    }

    fn count(&self) {
        let counts = self
            .bench
            .engine
            .system(&Caller::local())
            .graph()
            .fact_counts()
            .unwrap();
        let now = self.bench.clock.now().microseconds();
        let open = self
            .noted
            .iter()
            .filter(|noted| noted.to.is_none_or(|to| Model::over(to) > now))
            .count();
        let things: BTreeSet<usize> = self
            .noted
            .iter()
            .flat_map(|noted| [noted.names[0], noted.names[2]])
            .collect();
        assert_eq!(
            (counts.facts, counts.open),
            (self.noted.len() as u64, open as u64)
        );
        let is_to_come = |noted: &&Noted| noted.from.is_some_and(|from| from.0 > now);
        assert_eq!(
            counts.to_come,
            self.noted.iter().filter(is_to_come).count() as u64
        );
        assert_eq!(counts.entities, things.len() as u64);
        let mut relations: Vec<&String> = self.first[1].values().collect();
        let mut predicates: Vec<&String> = counts.predicates.iter().collect();
        relations.sort_unstable();
        predicates.sort_unstable();
        assert_eq!(predicates, relations);
    }
}

/// After any sequence of calls, the engine and the model agree.
#[test]
fn random_facts_hold_as_in_a_model() {
    for seed in 0..200 {
        let mut model = Model {
            bench: bench(),
            random: Random::new(seed),
            noted: Vec::new(),
            first: Default::default(),
        };
        // Shown when a step fails.
        println!("seed {seed}");
        for _ in 0..40 {
            let now = model.instant();
            model.bench.clock.set(at(now));
            match model.random.below(10) {
                0..5 => model.relate(),
                5..7 => model.end(),
                _ => model.ask(),
            }
            model.count();
        }
        model.ask();
    }
}
