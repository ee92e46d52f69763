//! Tests of the history of memories, and of the way back.

use loci_core::{ChangeQuery, Clock, Delivery, LOCAL, Store, VersionStore};
use loci_engine::{CallInfo, ChangesMeant, Effect, MemoryState, Refile, TakenBack};

use super::reconciling::vault;
use super::*;

/// Makes a call of a caller whose client, session and token have these names.
pub(super) fn in_call<T>(
    engine: &Engine,
    (caller, session): (&Caller, &str),
    run: impl FnOnce(&loci_engine::Parts<'_>) -> T,
) -> T {
    let caller = Caller {
        client: Some("codex".to_owned()),
        session: Some(session.to_owned()),
        token: Some(format!("token-{session}")),
        ..caller.clone()
    };
    let scopes = [Scope::Write];
    let info = CallInfo::new("test", "change", "memory:write", Effect::Write, &scopes);
    engine.call(caller, info, |call| Ok(run(call))).unwrap()
}

pub(super) fn remember(parts: &loci_engine::Parts<'_>, text: &str) -> MemoryId {
    let request = fact(text, Visibility::Common);
    parts.memories().remember(request).unwrap().memory.id
}

fn states(engine: &Engine, caller: &Caller, id: &MemoryId) -> Vec<MemoryState> {
    engine.system(caller).memories().history(id).unwrap()
}

pub(super) fn take_back(engine: &Engine, caller: &Caller, meant: &ChangesMeant) -> TakenBack {
    engine
        .system(caller)
        .changes()
        .take_back(meant, false)
        .unwrap()
}

pub(super) fn of_session(session: &str) -> ChangesMeant {
    ChangesMeant {
        session: Some(session.to_owned()),
        ..ChangesMeant::default()
    }
}

#[test]
fn each_change_is_a_state_with_its_author_and_what_changed() {
    let Bench { engine, clock, .. } = bench();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let id = in_call(&engine, (&ann, "one"), |call| remember(call, "bees"));
    clock.advance(1);
    in_call(&engine, (&bob, "two"), |call| {
        let tagged = Refile {
            tags: Some(vec!["garden".to_owned()]),
            delivery: Some(Delivery::Bootstrap),
            ..Refile::default()
        };
        call.memories().refile(&id, tagged).unwrap();
        call.memories().update(&id, "wasps", None).unwrap();
        call.memories().forget_softly(&id).unwrap();
        call.memories().unforget(&id).unwrap();
    });
    let states = states(&engine, &ann, &id);
    let told: Vec<(u64, &str, Vec<&str>)> = states
        .iter()
        .map(|state| {
            let text = state.memory.content.as_str();
            (state.revision, text, state.changed.clone())
        })
        .collect();
    assert_eq!(
        told,
        [
            (5, "wasps", vec!["brought back"]),
            (4, "wasps", vec!["forgotten"]),
            (3, "wasps", vec!["text"]),
            (2, "bees", vec!["tags", "pinned"]),
            (1, "bees", vec![]),
        ]
    );
    let of_bob = states[0].began.clone().unwrap();
    assert_eq!(of_bob.by.as_deref(), Some("bob"));
    assert_eq!(
        (&*of_bob.tool, of_bob.program.as_deref()),
        ("change", Some("codex"))
    );
    assert_eq!((of_bob.session, of_bob.token), (None, None), "bob's alone");
    let first = states[4].began.clone().unwrap();
    assert!(states[4].is_first && first.by.is_none());
    assert_eq!(first.session.as_deref(), Some("one"));
    assert_eq!(first.token.as_deref(), Some("token-one"));
    // A change that changes nothing leaves no state.
    let calls: Vec<u64> = states
        .iter()
        .map(|it| it.began.clone().unwrap().call)
        .collect();
    assert!(calls[..4].iter().all(|call| *call == calls[0]) && calls[4] < calls[0]);
}

#[test]
fn a_state_is_restored_and_that_is_taken_back() {
    let engine = engine();
    let ann = caller("ann", &WRITER);
    let id = in_call(&engine, (&ann, "one"), |call| {
        let id = remember(call, "bees");
        let moved = Refile {
            content: Some("wasps".to_owned()),
            collection: Some(Some("garden".to_owned())),
            tags: Some(vec!["sting".to_owned()]),
            ..Refile::default()
        };
        call.memories().refile(&id, moved).unwrap();
        call.memories().forget_softly(&id).unwrap();
        id
    });
    let restored = in_call(&engine, (&ann, "two"), |call| {
        call.memories().restore(&id, 1).unwrap()
    });
    assert_eq!((&*restored.content, &*restored.tags), ("bees", &[][..]));
    assert_eq!((restored.forgotten_at, restored.revision), (None, 4));
    assert_eq!(restored.location.collection, None);
    assert_eq!(found(&engine, &ann, "bees"), std::slice::from_ref(&id));
    let taken = take_back(&engine, &ann, &of_session("two"));
    // The state from before is a forgotten one.
    assert_eq!(
        (taken.changes, &*taken.forgotten),
        (1, std::slice::from_ref(&id))
    );
    let now = states(&engine, &ann, &id).remove(0).memory;
    assert_eq!((&*now.content, now.tags.len()), ("wasps", 1));
    let refused = engine.system(&ann).memories().restore(&id, 77).unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidArgument);
    assert_eq!(refused.argument.as_deref(), Some("version"));
    let bob = caller("bob", &[Scope::Read]);
    let refused = engine.system(&bob).memories().restore(&id, 1).unwrap_err();
    assert_eq!(refused.code, ErrorCode::Forbidden);
}

#[test]
fn all_of_a_session_is_taken_back_but_for_what_was_changed_later() {
    let engine = engine();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let (kept, late) = in_call(&engine, (&ann, "before"), |call| {
        (remember(call, "kept"), remember(call, "late"))
    });
    let new = in_call(&engine, (&ann, "bad"), |call| {
        for text in ["kept, but worse", "kept, but worst"] {
            call.memories().update(&kept, text, None).unwrap();
        }
        call.memories()
            .update(&late, "late, but worse", None)
            .unwrap();
        remember(call, "nonsense")
    });
    in_call(&engine, (&bob, "after"), |call| {
        call.memories().update(&late, "late, by bob", None).unwrap();
    });
    let before = states(&engine, &ann, &kept);
    let meant = of_session("bad");
    let preview = engine
        .system(&ann)
        .changes()
        .take_back(&meant, true)
        .unwrap();
    assert_eq!(
        states(&engine, &ann, &kept),
        before,
        "a dry run changes nothing"
    );
    let taken = take_back(&engine, &ann, &meant);
    assert_eq!(taken, preview);
    assert_eq!(taken.changes, 4);
    assert_eq!(taken.forgotten, std::slice::from_ref(&new));
    assert_eq!(taken.restored, std::slice::from_ref(&kept));
    let [stands] = &taken.stands[..] else {
        panic!("{taken:?}")
    };
    assert_eq!(
        (&stands.memory.id, &*stands.memory.content),
        (&late, "late, by bob")
    );
    assert_eq!(stands.later.as_ref().unwrap().by.as_deref(), Some("bob"));
    let text = |id: &MemoryId| states(&engine, &ann, id).remove(0).memory.content;
    assert_eq!((&*text(&kept), &*text(&late)), ("kept", "late, by bob"));
    assert!(!found(&engine, &ann, "nonsense").contains(&new));
    // A second call finds that all of it is changed by now.
    let again = take_back(&engine, &ann, &meant);
    assert_eq!(
        (again.restored.len(), again.stands.len()),
        (0, 3),
        "{again:?}"
    );
}

#[test]
fn what_to_take_back_is_named_by_call_user_program_token_and_time() {
    let engine = engine();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let one = in_call(&engine, (&ann, "one"), |call| remember(call, "one"));
    let two = in_call(&engine, (&bob, "two"), |call| remember(call, "two"));
    let call = states(&engine, &ann, &one)[0].began.clone().unwrap().call;
    let any = ChangesMeant::default();
    let some = |text: &str| Some(text.to_owned());
    let future = engine.now().plus_seconds(60);
    let rows = [
        (
            ChangesMeant {
                call: Some(call),
                ..any.clone()
            },
            vec![&one],
        ),
        (
            ChangesMeant {
                by: some("bob"),
                ..any.clone()
            },
            vec![&two],
        ),
        (
            ChangesMeant {
                token: some("token-one"),
                ..any.clone()
            },
            vec![&one],
        ),
        (
            ChangesMeant {
                program: some("codex"),
                ..any.clone()
            },
            vec![&one, &two],
        ),
    ];
    let admin = Caller::local();
    for (meant, ids) in rows {
        let taken = engine
            .system(&admin)
            .changes()
            .take_back(&meant, true)
            .unwrap();
        let mut forgotten: Vec<&MemoryId> = taken.forgotten.iter().collect();
        forgotten.sort();
        let mut ids = ids;
        ids.sort();
        assert_eq!(forgotten, ids, "{meant:?}");
        let later = ChangesMeant {
            since: Some(future),
            ..meant
        };
        let refused = engine.system(&admin).changes().take_back(&later, true);
        assert_eq!(refused.unwrap_err().code, ErrorCode::NotFound);
    }
    let refused = engine
        .system(&admin)
        .changes()
        .take_back(&any, true)
        .unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidArgument);
    // Another user may not: what ann cannot write stands.
    let private = in_call(&engine, (&bob, "three"), |call| {
        let request = fact("bob's own", Visibility::Private);
        call.memories().remember(request).unwrap().memory.id
    });
    let of_bob = ChangesMeant {
        session: some("three"),
        ..any
    };
    let taken = take_back(&engine, &ann, &of_bob);
    assert_eq!((taken.forgotten, taken.stands), (vec![], vec![]));
    assert_eq!(states(&engine, &bob, &private).len(), 1);
}

#[test]
fn work_without_a_person_leaves_no_version() {
    let bench = bench();
    let engine = &bench.engine;
    let local = Caller::local();
    let id = in_call(engine, (&local, "one"), |call| {
        remember(call, "bees at noon")
    });
    while engine.background().embed_pending().unwrap() > 0 {}
    let parts = engine.system(&local);
    parts
        .search()
        .recall(&Recall::new("bees", 5, &|it| it.relevance))
        .unwrap();
    engine.audit().flush().unwrap();
    drop(parts);
    let query = ChangeQuery {
        limit: 10,
        ..ChangeQuery::default()
    };
    let kept = bench.store.changes(&query).unwrap();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(kept[0].is_before_all() && kept[0].memory == id);
    assert_eq!(kept[0].change.as_ref().unwrap().subject(Some(LOCAL)), LOCAL);
}

#[test]
fn a_note_goes_back_in_its_file() {
    let vault = vault();
    vault.folder.write("tea.md", "# Tea\n\nAt four.\n");
    vault.reconcile();
    let (id, local) = (vault.id("tea.md"), Caller::local());
    in_call(&vault.engine, (&local, "bad"), |call| {
        call.memories().update(&id, "Never.", None).unwrap();
    });
    vault.folder.replace("tea.md", "Never", "Never ever");
    vault.reconcile();
    let kept = states(&vault.engine, &local, &id);
    let tools: Vec<&str> = kept
        .iter()
        .filter_map(|state| Some(&*state.began.as_ref()?.tool))
        .collect();
    assert_eq!(tools, ["", "change"], "{kept:?}");
    let taken = take_back(&vault.engine, &local, &of_session("bad"));
    assert_eq!(taken.stands.len(), 1, "the file was edited later");
    let first = kept.last().unwrap().revision;
    vault
        .engine
        .system(&local)
        .memories()
        .restore(&id, first)
        .unwrap();
    let file = vault.folder.text("tea.md");
    assert!(
        file.contains("At four.") && !file.contains("Never"),
        "{file}"
    );
}

/// Returns the texts that a search, a list and a look find at a time.
fn as_of(engine: &Engine, caller: &Caller, at: Timestamp) -> (Vec<String>, Vec<String>) {
    let parts = engine.system(caller);
    let texts = |memories: Vec<Memory>| -> Vec<String> {
        let mut texts: Vec<String> = memories.into_iter().map(|it| it.content).collect();
        texts.sort();
        texts
    };
    let question = Recall::new("when does the ferry leave?", 20, &|it| it.relevance);
    let hits = parts.search().recall_as_of(&question, at).unwrap();
    let list = List {
        collections: CollectionFilter::Any,
        sections: Vec::new(),
        kinds: Vec::new(),
        tags: Vec::new(),
        delivery: None,
        facets: Facets::default(),
        offset: 0,
        limit: 20,
        as_of: Some(at),
    };
    let listed = parts.listings().list(list).unwrap();
    (
        texts(hits.into_iter().map(|hit| hit.memory).collect()),
        texts(listed),
    )
}

#[test]
fn what_was_known_is_found_as_it_stood() {
    let Bench { engine, clock, .. } = bench();
    let local = Caller::local();
    let parts = engine.system(&local);
    let memories = parts.memories();
    let ids = [
        "the ferry leaves at seven",
        "the ferry is blue",
        "the ferry is old",
    ]
    .map(|text| remember(&parts, text));
    let first = clock.advance(10);
    clock.advance(10);
    memories
        .update(&ids[0], "the ferry leaves at eight", None)
        .unwrap();
    memories.forget_softly(&ids[1]).unwrap();
    let late = remember(&parts, "the ferry has a bar");
    let replaced = Remember {
        supersedes: Some(ids[2].clone()),
        ..fact("the ferry is new", Visibility::Common)
    };
    memories.remember(replaced).unwrap();
    let second = clock.advance(10);
    clock.advance(10);
    memories.update(&ids[0], "no ferry leaves", None).unwrap();
    memories.unforget(&ids[1]).unwrap();
    let owned = |texts: &[&str]| -> Vec<String> {
        let mut texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        texts.sort();
        texts
    };
    let then = owned(&[
        "the ferry leaves at seven",
        "the ferry is blue",
        "the ferry is old",
    ]);
    assert_eq!(as_of(&engine, &local, first), (then.clone(), then));
    let found = owned(&[
        "the ferry leaves at eight",
        "the ferry has a bar",
        "the ferry is new",
    ]);
    let mut listed = found.clone();
    listed.push("the ferry is old".to_owned());
    listed.sort();
    assert_eq!(as_of(&engine, &local, second), (found, listed));
    let shown = |id, at| parts.memories().show_as_of(id, at);
    assert_eq!(
        shown(&ids[0], second).unwrap().content,
        "the ferry leaves at eight"
    );
    for (id, at) in [(&late, first), (&ids[1], second)] {
        assert_eq!(shown(id, at).unwrap_err().code, ErrorCode::NotFound);
    }
    let days = |days: i64| engine.now().plus_seconds(days * 86_400);
    for at in [days(-31), days(1)] {
        let refused = shown(&ids[0], at).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument);
        assert_eq!(refused.argument.as_deref(), Some("as_of"));
    }
    // Nobody reads in the past what is out of reach now.
    let bob = caller("bob", &WRITER);
    let private = fact("the ferry of ann", Visibility::Private);
    let ann = caller("ann", &WRITER);
    engine.system(&ann).memories().remember(private).unwrap();
    let third = clock.advance(10);
    assert!(
        as_of(&engine, &ann, third)
            .0
            .contains(&"the ferry of ann".to_owned())
    );
    assert!(
        !as_of(&engine, &bob, third)
            .0
            .contains(&"the ferry of ann".to_owned())
    );
}

#[test]
fn what_was_changed_and_deleted_softly_has_a_history() {
    let Bench { engine, clock, .. } = bench();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let id = in_call(&engine, (&ann, "one"), |call| {
        let private = fact("the ferry leaves at seven", Visibility::Private);
        call.memories().remember(private).unwrap().memory.id
    });
    let first = clock.advance(10);
    clock.advance(10);
    in_call(&engine, (&ann, "two"), |call| {
        let tagged = Refile {
            tags: Some(vec!["ferry".to_owned()]),
            ..Refile::default()
        };
        call.memories().refile(&id, tagged).unwrap();
    });
    let second = clock.advance(10);
    clock.advance(10);
    in_call(&engine, (&ann, "three"), |call| {
        let which = loci_engine::Discard {
            id: Some(id.clone()),
            ..loci_engine::Discard::default()
        };
        assert_eq!(call.memories().discard(&which).unwrap(), 1);
    });
    let kept = states(&engine, &ann, &id);
    let words: Vec<_> = kept
        .iter()
        .map(|it| (it.changed.clone(), it.is_first, it.is_deleted))
        .collect();
    let expected = [
        (vec!["deleted"], false, true),
        (vec!["tags"], false, false),
        (Vec::new(), true, false),
    ];
    assert_eq!(words, expected);
    let sessions = kept.iter().map(|it| it.began.clone().unwrap().session);
    let sessions: Vec<String> = sessions.map(Option::unwrap).collect();
    assert_eq!(sessions, ["three", "two", "one"]);
    let stood = |at| engine.system(&ann).memories().show_as_of(&id, at).unwrap();
    assert_eq!(stood(first).tags, Vec::<String>::new());
    assert_eq!(stood(second).tags, ["ferry"]);
    let parts = engine.system(&ann);
    for number in [kept[0].revision, 99] {
        let refused = parts.memories().restore(&id, number).unwrap_err();
        assert_eq!(refused.argument.as_deref(), Some("version"));
    }
    let of_bob = engine.system(&bob);
    assert_eq!(
        of_bob.memories().history(&id).unwrap_err().code,
        ErrorCode::NotFound
    );
    // It comes back as it was before the tags.
    let back = parts.memories().restore(&id, kept[2].revision).unwrap();
    assert_eq!(back.tags, Vec::<String>::new());
    assert_eq!(parts.memories().show(&id).unwrap(), back);
}

#[test]
fn versions_go_after_the_time_that_is_set() {
    let Bench { engine, clock, .. } = bench();
    let local = Caller::local();
    let parts = engine.system(&local);
    let id = remember(&parts, "bees");
    parts.memories().update(&id, "wasps", None).unwrap();
    clock.advance(29 * 86_400);
    parts.memories().update(&id, "hornets", None).unwrap();
    while engine.background().sweep().unwrap() > 0 {}
    assert_eq!(states(&engine, &local, &id).len(), 3);
    clock.advance(2 * 86_400);
    while engine.background().sweep().unwrap() > 0 {}
    let kept = states(&engine, &local, &id);
    let texts: Vec<&str> = kept.iter().map(|it| &*it.memory.content).collect();
    assert_eq!(texts, ["hornets", "wasps"]);
    assert!(!kept[1].is_first && kept[1].began.is_none());
}

/// A version between two others stays until the older one goes, because that may have its text.
#[test]
fn a_clock_that_jumps_back_leaves_each_version_its_text() {
    let Bench {
        engine,
        store,
        clock,
    } = bench();
    let local = Caller::local();
    let parts = engine.system(&local);
    let start = clock.now();
    let id = remember(&parts, "bees");
    clock.advance(40 * 86_400);
    let pinned = Refile {
        delivery: Some(Delivery::Bootstrap),
        ..Refile::default()
    };
    parts.memories().refile(&id, pinned).unwrap();
    clock.set(start.plus_seconds(60));
    parts.memories().update(&id, "wasps", None).unwrap();
    let texts = || -> Vec<String> {
        let kept = states(&engine, &local, &id).into_iter();
        kept.map(|it| it.memory.content).collect()
    };
    assert_eq!(texts(), ["wasps", "bees", "bees"]);
    // The change of the text is due, and the pin before it is not.
    let sweep = |days: i64| {
        let before = start.plus_seconds(days * 86_400);
        let sweep = loci_core::Sweep {
            expired_at: Timestamp::MIN,
            deleted_until: Timestamp::MIN,
            audited_before: Timestamp::MIN,
            wiped_before: Timestamp::MIN,
            counted_before: i64::MIN,
            changed_before: before,
        };
        let partition = store.partition_of(&Space::default());
        while store.sweep(&partition, &sweep, 9).unwrap() > 0 {}
    };
    sweep(30);
    assert_eq!(texts(), ["wasps", "bees", "bees"]);
    sweep(41);
    assert_eq!(texts(), ["wasps"]);
}
