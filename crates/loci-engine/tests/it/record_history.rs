//! Tests of the history of facts and tunnels, and of the way back.

use loci_core::{
    ANONYMOUS, ChangeQuery, Page, Period, RecordKind, RecordState, Store, Tunnel, TunnelEnd,
    VersionStore,
};
use loci_engine::{
    AddedFact, ChangesMeant, Conversation, Discard, KeptState, Message, NewFact, RecordOutcome,
    Role, TakenBack, TakenRecord, is_retracted,
};

use super::history::{in_call, of_session, remember, take_back};
use super::*;

const DAY: i64 = 86_400_000_000;

fn day(number: i64) -> Period {
    Period {
        first: Timestamp::from_microseconds(number * DAY),
        last: Timestamp::from_microseconds((number + 1) * DAY - 1),
    }
}

fn says([subject, predicate, object]: [&str; 3]) -> NewFact {
    let [subject, predicate, object] = [subject, predicate, object].map(str::to_owned);
    NewFact {
        subject,
        predicate,
        object,
        valid_from: None,
        valid_to: None,
        source: None,
    }
}

/// Adds a fact and returns its id.
fn add(parts: &loci_engine::Parts<'_>, triple: [&str; 3]) -> String {
    match parts.graph().add_fact(says(triple)).unwrap() {
        AddedFact::New(fact) => fact.id,
        AddedFact::Before(fact) => panic!("{fact:?} was there before"),
    }
}

fn states(engine: &Engine, caller: &Caller, kind: RecordKind, id: &str) -> Vec<KeptState> {
    let parts = engine.system(caller);
    parts.graph().record_history(kind, id).unwrap()
}

fn words(states: &[KeptState]) -> Vec<(u64, Vec<&str>, bool)> {
    let words = |it: &KeptState| (it.number, it.changed.clone(), it.is_first);
    states.iter().map(words).collect()
}

/// Returns the objects of the facts of a subject that are not taken back, with their ends.
fn objects(engine: &Engine, subject: &str) -> Vec<(String, Option<Period>)> {
    let parts = engine.system(&Caller::local());
    let facts = parts.graph().timeline(Some(subject), 0).unwrap().facts;
    let part = |fact: loci_core::Fact| (fact.object.spelling, fact.valid_to);
    facts.into_iter().map(part).collect()
}

fn outcomes(taken: &TakenBack) -> Vec<(&str, &RecordOutcome)> {
    fn outcome(it: &TakenRecord) -> (&str, &RecordOutcome) {
        (&it.record.label, &it.outcome)
    }
    taken.records.iter().map(outcome).collect()
}

#[test]
fn each_change_of_a_fact_is_a_state_with_its_author_and_is_restored() {
    let Bench { engine, clock, .. } = bench();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let triple = ["Ada", "works at", "Acme"];
    let id = in_call(&engine, (&ann, "one"), |call| add(call, triple));
    clock.advance(1);
    in_call(&engine, (&bob, "two"), |call| {
        call.graph().end_facts(triple, Some(day(9))).unwrap();
    });
    let kept = states(&engine, &ann, RecordKind::Fact, &id);
    assert_eq!(
        words(&kept),
        [(3, vec!["ended"], false), (2, Vec::new(), true)]
    );
    let ended = kept[0].began.clone().unwrap();
    assert_eq!((ended.by.as_deref(), &*ended.tool), (Some("bob"), "change"));
    assert_eq!(ended.program.as_deref(), Some("codex"));
    assert_eq!(ended.session, None, "only bob and an admin are told");
    let added = kept[1].began.clone().unwrap();
    assert_eq!((added.by, added.session.as_deref()), (None, Some("one")));
    let Some(RecordState::Fact(former)) = &kept[1].state else {
        panic!("{kept:?}")
    };
    assert_eq!(former.valid_to, None);

    clock.advance(1);
    let restored = in_call(&engine, (&ann, "three"), |call| {
        call.graph()
            .restore_record(RecordKind::Fact, &id, 2)
            .unwrap()
    });
    assert_eq!(restored.changed, ["open again"]);
    assert_eq!(objects(&engine, "ada"), [("Acme".to_owned(), None)]);
    let fact = |state: &KeptState| match &state.state {
        Some(RecordState::Fact(fact)) => fact.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(fact(&restored).id, id, "it is the same fact");
    assert_eq!(fact(&restored).author.as_deref(), Some("ann"));
    let refused = engine
        .system(&ann)
        .graph()
        .restore_record(RecordKind::Fact, &id, 9)
        .unwrap_err();
    assert!(refused.message.contains("4, 3, 2"), "{refused:?}");
}

#[test]
fn a_session_is_taken_back_with_its_memories_facts_and_tunnels() {
    let Bench { engine, clock, .. } = bench();
    let ann = caller("ann", &WRITER);
    let place = |section: &str| TunnelEnd {
        collection: Some("api".to_owned()),
        section: section.to_owned(),
        memory: None,
    };
    for section in ["design", "tests"] {
        let request = Remember {
            collection: Some("api".to_owned()),
            section: Some(section.to_owned()),
            ..fact(section, Visibility::Common)
        };
        engine.system(&ann).memories().remember(request).unwrap();
    }
    let (old, kept) = in_call(&engine, (&ann, "good"), |call| {
        let old = add(call, ["Ada", "works at", "Acme"]);
        let kept = add(call, ["Ada", "likes", "bees"]);
        (old, kept)
    });
    let tunnel = in_call(&engine, (&ann, "good"), |call| {
        let ends = (place("design"), place("tests"));
        call.graph()
            .create_tunnel(ends.0, ends.1, Some("why"))
            .unwrap()
    });
    clock.advance(60);
    let memory = in_call(&engine, (&ann, "bad"), |call| {
        let triple = ["Ada", "works at", "Acme"];
        call.graph().end_facts(triple, Some(day(3))).unwrap();
        add(call, ["Ada", "works at", "Bolt"]);
        call.graph().delete_tunnel(&tunnel.id).unwrap();
        call.graph()
            .end_facts(["Ada", "likes", "bees"], None)
            .unwrap();
        remember(call, "Ada left")
    });
    clock.advance(60);
    // A record that was changed since stands.
    in_call(&engine, (&ann, "later"), |call| {
        let known = call.graph().fact(["Ada", "likes", "bees"], &kept).unwrap();
        call.graph().end_fact(&known, day(5)).unwrap();
    });
    clock.advance(86_400);

    let meant = of_session("bad");
    let preview = engine
        .system(&ann)
        .changes()
        .take_back(&meant, true)
        .unwrap();
    let before = objects(&engine, "ada");
    let taken = take_back(&engine, &ann, &meant);
    assert_eq!(outcomes(&preview), outcomes(&taken), "as it was said");
    assert_eq!(taken.changes, 5);
    assert_eq!(taken.forgotten, [memory]);
    let mut by_label = outcomes(&taken);
    by_label.sort_by_key(|(label, _)| (*label).to_owned());
    let [bees, acme, bolt, tie] = &by_label[..] else {
        panic!("{by_label:?}")
    };
    assert!(
        matches!(bees, ("Ada likes bees", RecordOutcome::Stands { later: Some(later), .. })
            if later.session.as_deref() == Some("later")),
        "{bees:?}"
    );
    assert_eq!(*acme, ("Ada works at Acme", &RecordOutcome::Restored));
    assert_eq!(*bolt, ("Ada works at Bolt", &RecordOutcome::Removed));
    assert_eq!(*tie, ("api/design ↔ api/tests", &RecordOutcome::Restored));
    let now = objects(&engine, "ada");
    assert!(now.contains(&("Acme".to_owned(), None)), "{now:?}");
    assert!(now.contains(&("bees".to_owned(), Some(day(5)))), "{now:?}");
    assert_eq!(now.len(), 2, "{now:?}");
    let back = tunnels(&engine, &ann);
    assert_eq!((back.len(), &*back[0].label), (1, "why"));
    let history = states(&engine, &ann, RecordKind::Tunnel, &tunnel.id);
    let words: Vec<&str> = history.iter().flat_map(|it| it.changed.clone()).collect();
    assert_eq!(words, ["created again", "deleted"]);
    assert_eq!(
        states(&engine, &ann, RecordKind::Fact, &old).len(),
        3,
        "open, ended, open"
    );

    // It is a change, which is taken back in turn.
    let call = engine.system(&ann).changes().last(1).unwrap().remove(0);
    assert_eq!((call.memories.len(), call.records.len()), (1, 3));
    let all_of_it = ChangesMeant {
        by: Some("ann".to_owned()),
        since: Some(call.note.at),
        ..ChangesMeant::default()
    };
    take_back(&engine, &ann, &all_of_it);
    assert_eq!(objects(&engine, "ada"), before);
    assert_eq!(tunnels(&engine, &ann), Vec::new());
}

fn tunnels(engine: &Engine, caller: &Caller) -> Vec<Tunnel> {
    let page = Page {
        offset: 0,
        limit: usize::MAX,
    };
    engine.system(caller).graph().tunnels(None, page).unwrap().0
}

/// A wrong fact and the right one may differ in their source alone, so that only one can hold.
#[test]
fn a_correction_is_taken_back_whole() {
    let Bench { engine, clock, .. } = bench();
    let ann = caller("ann", &WRITER);
    let triple = ["Ada", "works at", "Acme"];
    let wrong = in_call(&engine, (&ann, "one"), |call| add(call, triple));
    clock.advance(1);
    in_call(&engine, (&ann, "two"), |call| {
        let known = call.graph().fact(triple, &wrong).unwrap();
        let right = NewFact {
            source: Some("a letter".to_owned()),
            ..says(triple)
        };
        call.graph().correct_fact(&known, right).unwrap();
    });
    let calls = engine.system(&ann).changes().last(9).unwrap();
    let counts: Vec<usize> = calls.iter().map(|call| call.records.len()).collect();
    assert_eq!(counts, [2, 1]);
    let meant = ChangesMeant {
        call: Some(calls[0].note.call),
        ..ChangesMeant::default()
    };
    let preview = engine.system(&ann).changes().take_back(&meant, true);
    let taken = take_back(&engine, &ann, &meant);
    assert_eq!(outcomes(&preview.unwrap()), outcomes(&taken));
    let parts = engine.system(&ann);
    let facts = parts.graph().timeline(None, 0).unwrap().facts;
    let [fact] = &facts[..] else {
        panic!("{facts:?}")
    };
    assert_eq!((&fact.id, &fact.source), (&wrong, &None));
    // The other one cannot come back beside it.
    let right = calls[0].records.iter().find(|it| it.id != wrong).unwrap();
    let history = states(&engine, &ann, RecordKind::Fact, &right.id);
    assert!(matches!(&history[0].state, Some(RecordState::Fact(fact)) if is_retracted(fact)));
    let number = history[1].number;
    let refused = engine
        .system(&ann)
        .graph()
        .restore_record(RecordKind::Fact, &right.id, number)
        .unwrap_err();
    assert_eq!(refused.code, ErrorCode::Conflict);
    assert!(refused.message.contains(&wrong), "{refused:?}");
}

#[test]
fn a_private_tunnel_has_no_history_for_others_and_goes_with_its_owner() {
    let Bench { engine, store, .. } = bench();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let end = |section: &str| TunnelEnd {
        collection: None,
        section: section.to_owned(),
        memory: None,
    };
    for section in ["secrets", "plans"] {
        let request = Remember {
            section: Some(section.to_owned()),
            ..fact(section, Visibility::Private)
        };
        engine.system(&ann).memories().remember(request).unwrap();
    }
    let tunnel = in_call(&engine, (&ann, "one"), |call| {
        let ends = (end("secrets"), end("plans"));
        call.graph().create_tunnel(ends.0, ends.1, None).unwrap()
    });
    let fact = in_call(&engine, (&ann, "one"), |call| {
        call.graph().delete_tunnel(&tunnel.id).unwrap();
        add(call, ["Ada", "likes", "bees"])
    });
    let history = |caller: &Caller| {
        let parts = engine.system(caller);
        parts.graph().record_history(RecordKind::Tunnel, &tunnel.id)
    };
    assert_eq!(history(&ann).unwrap().len(), 2);
    assert_eq!(history(&bob).unwrap_err().code, ErrorCode::NotFound);
    let of_ann = ChangesMeant {
        by: Some("ann".to_owned()),
        ..ChangesMeant::default()
    };
    let seen = engine.system(&bob).changes().take_back(&of_ann, true);
    let seen = seen.unwrap();
    assert_eq!(outcomes(&seen).len(), 1, "only the fact: {seen:?}");

    let pseudonym = Some("wiped-1");
    let (space, now) = (Space::default(), Timestamp::MIN);
    store.wipe(&space, "ann", None, pseudonym, now).unwrap();
    assert_eq!(history(&ann).unwrap_err().code, ErrorCode::NotFound);
    let query = ChangeQuery {
        limit: 9,
        ..ChangeQuery::default()
    };
    let left = store.record_changes(&query).unwrap();
    assert!(!format!("{left:?}").contains("ann"), "{left:?}");
    let [version] = &left[..] else {
        panic!("{left:?}")
    };
    assert_eq!((&version.id, version.owner.as_deref()), (&fact, pseudonym));
    assert_eq!(version.change.by.as_deref(), pseudonym);
    assert_eq!(
        (&version.change.session, &version.change.token),
        (&None, &None)
    );
}

#[test]
fn what_is_removed_for_good_leaves_no_state() {
    let Bench { engine, store, .. } = bench();
    let local = Caller::local();
    let parts = engine.system(&local);
    let triple = ["Ada", "likes", "bees"];
    let id = add(&parts, triple);
    parts.graph().end_facts(triple, Some(day(3))).unwrap();
    parts.graph().remove_record(RecordKind::Fact, &id).unwrap();
    let query = ChangeQuery {
        limit: 9,
        ..ChangeQuery::default()
    };
    assert_eq!(store.record_changes(&query), Ok(Vec::new()));
    assert_eq!(objects(&engine, "ada"), []);
    let again = parts.graph().remove_record(RecordKind::Fact, &id);
    assert_eq!(again.unwrap_err().code, ErrorCode::NotFound);
    assert_eq!(parts.graph().record_kind(&id), Ok(None));
}

#[test]
fn each_change_of_a_setting_is_a_state_of_its_owner_and_is_taken_back() {
    let Bench {
        engine,
        store,
        clock,
        ..
    } = bench();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let trust = |session, author: &str| {
        in_call(&engine, (&ann, session), |call| {
            call.settings().set_trusted(author, true).unwrap();
        });
        clock.advance(1);
    };
    trust("good", "eve");
    trust("bad", "mallory");
    trust("bad", "trudy");
    // Once more is no change, and what a program notes has no state.
    trust("bad", "trudy");
    in_call(&engine, (&ann, "bad"), |call| {
        call.settings().put("seen", "9".to_owned()).unwrap();
    });
    let name = "trusted_authors";
    let kept = states(&engine, &ann, RecordKind::Setting, name);
    let value = |it: &KeptState| match &it.state {
        Some(RecordState::Setting(setting)) => setting.value.clone(),
        other => panic!("{other:?}"),
    };
    let values: Vec<String> = kept.iter().map(value).collect();
    assert_eq!(values, ["eve\nmallory\ntrudy", "eve\nmallory", "eve"]);
    assert_eq!(kept[0].changed, ["value"]);
    assert!(kept[2].is_first && kept[2].began.is_some());
    let parts = engine.system(&ann);
    assert_eq!(parts.graph().record_kind("seen"), Ok(None));
    for id in [name, "trusted_authors@ann"] {
        assert_eq!(parts.graph().record_kind(id), Ok(Some(RecordKind::Setting)));
        let of_bob = engine.system(&bob);
        assert_eq!(of_bob.graph().record_kind(id), Ok(None), "{id}");
    }
    assert_eq!(
        engine.system(&bob).changes().last_settings(9),
        Ok(Vec::new())
    );
    assert_eq!(parts.changes().last_settings(9).unwrap().len(), 3);

    let taken = take_back(&engine, &ann, &of_session("bad"));
    assert_eq!(outcomes(&taken), [(name, &RecordOutcome::Restored)]);
    assert_eq!(parts.settings().trusted_authors().unwrap(), ["eve"]);
    let taken = take_back(&engine, &ann, &of_session("good"));
    assert_eq!(outcomes(&taken), [(name, &RecordOutcome::Removed)]);
    assert_eq!(parts.settings().trusted_authors(), Ok(Vec::new()));
    let number = kept[1].number;
    let graph = parts.graph();
    graph
        .restore_record(RecordKind::Setting, name, number)
        .unwrap();
    assert_eq!(
        parts.settings().trusted_authors().unwrap(),
        ["eve", "mallory"]
    );

    // No byte of them outlasts a wipe, and what is removed for good leaves no state.
    let query = ChangeQuery {
        limit: 99,
        ..ChangeQuery::default()
    };
    let (space, now) = (Space::default(), Timestamp::MIN);
    store
        .wipe(&space, "ann", None, Some("wiped-1"), now)
        .unwrap();
    assert_eq!(store.record_changes(&query), Ok(Vec::new()));
    let of_bob = engine.system(&bob);
    of_bob.settings().set_trusted("eve", true).unwrap();
    of_bob
        .graph()
        .remove_record(RecordKind::Setting, name)
        .unwrap();
    assert_eq!(store.record_changes(&query), Ok(Vec::new()));
    assert_eq!(of_bob.settings().trusted_authors(), Ok(Vec::new()));
}

#[test]
fn states_of_facts_go_after_the_time_that_is_set() {
    let Bench { engine, clock, .. } = bench();
    let nobody = Caller::new(Space::default(), Principal::anonymous());
    let id = add(&engine.system(&nobody), ["Ada", "likes", "bees"]);
    for days in [29, 2] {
        let kept = states(&engine, &nobody, RecordKind::Fact, &id);
        assert!(kept[0].is_first && kept[0].began.is_some(), "{kept:?}");
        clock.advance(days * 86_400);
        while engine.background().sweep().unwrap() > 0 {}
    }
    let kept = states(&engine, &nobody, RecordKind::Fact, &id);
    assert_eq!(words(&kept), [(1, Vec::new(), false)]);
    let of_nobody = ChangesMeant {
        by: Some(ANONYMOUS.to_owned()),
        ..ChangesMeant::default()
    };
    let refused = engine.system(&nobody).changes().take_back(&of_nobody, true);
    assert_eq!(refused.unwrap_err().code, ErrorCode::NotFound);
}

/// Messages that memory-mcp deletes are kept for a while, and so is who deleted them.
#[test]
fn a_soft_deletion_is_taken_back_with_the_session() {
    let Bench { engine, clock, .. } = bench();
    let ann = caller("ann", &WRITER);
    let said = in_call(&engine, (&ann, "good"), |call| {
        let message = Message {
            role: Role::Human,
            content: "The ferry leaves at seven.".to_owned(),
            tags: Vec::new(),
        };
        let conversation = Conversation {
            thread: "travel".to_owned(),
            messages: vec![message],
            mint: &mint,
        };
        call.conversations().store_messages(conversation).unwrap()
    });
    let id = said.ids[0].clone();
    clock.advance(60);
    in_call(&engine, (&ann, "bad"), |call| {
        let deleted = call.memories().discard(&Discard::of(id.clone()));
        assert_eq!(deleted, Ok(1));
    });
    clock.advance(3_600);
    let parts = engine.system(&ann);
    let page = Page {
        offset: 0,
        limit: 9,
    };
    let all = parts.memories().deleted(page).unwrap().len();
    let call = parts.changes().last(1).unwrap().remove(0);
    assert!(call.memories.contains(&id), "{call:?}");
    assert_eq!(
        (call.memories.len(), call.note.session.as_deref()),
        (all, Some("bad"))
    );
    let preview = parts.changes().take_back(&of_session("bad"), true).unwrap();
    let taken = take_back(&engine, &ann, &of_session("bad"));
    assert_eq!(preview, taken);
    assert_eq!((taken.restored.len(), taken.changes), (all, all));
    assert_eq!(parts.memories().deleted(page).unwrap(), []);
    let again = parts.changes().take_back(&of_session("bad"), true);
    assert_eq!(again.unwrap_err().code, ErrorCode::NotFound);
}
