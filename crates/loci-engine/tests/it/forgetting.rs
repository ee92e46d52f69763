//! Tests of forgetting by conditions, and of taking a forgetting back.

use std::collections::BTreeMap;

use loci_core::{AuditQuery, Clock, RecordVerb, Store};
use loci_engine::{AppendNote, AppendOutcome, CallInfo, Effect, ForgetConditions, SOURCE_FILE};

use super::reconciling::{Vault, vault};
use super::*;

fn ann() -> Caller {
    caller("ann", &WRITER)
}

fn in_project(project: &str) -> ForgetConditions {
    ForgetConditions {
        collections: Some(CollectionFilter::Only(project.to_owned())),
        ..ForgetConditions::default()
    }
}

fn texts(memories: Vec<Memory>) -> Vec<String> {
    let mut texts: Vec<String> = memories.into_iter().map(|memory| memory.content).collect();
    texts.sort();
    texts
}

fn append(vault: &Vault, title: &str) -> MemoryId {
    let note = AppendNote {
        title: title.to_owned(),
        body: "honey".to_owned(),
        tags: Vec::new(),
        keyed: None,
    };
    match vault.engine.system(&ann()).notes().append(note).unwrap() {
        AppendOutcome::New(note, _) => note.id,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_memory_comes_back_with_all_it_had() {
    let bench = bench();
    let id = bench
        .engine
        .system(&ann())
        .memories()
        .remember(fact("ann keeps bees", Visibility::Private))
        .unwrap()
        .memory
        .id;
    let before = bench.engine.system(&ann()).memories().show(&id).unwrap();
    let untouched = bench
        .engine
        .system(&ann())
        .memories()
        .unforget(&id)
        .unwrap();
    assert_eq!(
        (untouched.is_changed, untouched.memory),
        (false, before.clone())
    );
    bench
        .engine
        .system(&ann())
        .memories()
        .forget_softly(&id)
        .unwrap();
    assert!(found(&bench.engine, &ann(), "bees").is_empty());
    let info = CallInfo::new("test", "unforget", "memory:write", Effect::Write, &[]);
    let back = bench
        .engine
        .call(ann(), info, |call| call.memories().unforget(&id));
    let back = back.unwrap();
    assert!(back.is_changed);
    let expected = Memory {
        revision: before.revision + 2,
        ..before
    };
    assert_eq!(
        bench.engine.system(&ann()).memories().show(&id).unwrap(),
        expected
    );
    assert_eq!(
        found(&bench.engine, &ann(), "bees"),
        std::slice::from_ref(&id)
    );
    let query = AuditQuery {
        limit: 1,
        ..AuditQuery::default()
    };
    let logged = bench.engine.audit().entries(&query).unwrap();
    assert!(
        logged[0]
            .1
            .records
            .iter()
            .any(|record| record.id == id.as_str() && record.verb == RecordVerb::Changed)
    );
}

#[test]
fn a_message_comes_back_with_what_was_made_from_it() {
    let bench = bench();
    let said = say(
        &bench.engine,
        &ann(),
        "talk",
        vec![message(Role::Human, "the harbour opens at six")],
    )
    .unwrap();
    let source = said.ids[0].clone();
    let made = Memory {
        source: Some(source.clone()),
        ..bench
            .engine
            .system(&ann())
            .memories()
            .remember(fact("harbour hours", Visibility::Private))
            .unwrap()
            .memory
    };
    let put = loci_core::Change::Put {
        expect: loci_core::Expect::Revision(made.revision),
        memory: Box::new(Memory {
            revision: made.revision + 1,
            ..made.clone()
        }),
        passages: None,
    };
    bench
        .store
        .commit(loci_core::Batch::new(Space::default(), vec![put]))
        .unwrap();
    let are_forgotten = || {
        [&made.id, &source].map(|id| {
            let memory = bench.store.get(&Space::default(), id).unwrap().unwrap();
            memory.forgotten_at.is_some()
        })
    };
    bench
        .engine
        .system(&ann())
        .memories()
        .forget_softly(&made.id)
        .unwrap();
    assert_eq!(are_forgotten(), [true, true]);
    bench
        .engine
        .system(&ann())
        .memories()
        .unforget(&made.id)
        .unwrap();
    assert_eq!(are_forgotten(), [false, false]);
    let which = ForgetConditions {
        sections: vec!["fact".to_owned()],
        ..ForgetConditions::default()
    };
    assert_eq!(
        bench
            .engine
            .system(&ann())
            .memories()
            .forget_where(&which)
            .unwrap()
            .memories,
        1
    );
    assert_eq!(are_forgotten(), [true, true]);
    assert_eq!(
        bench
            .engine
            .system(&ann())
            .memories()
            .unforget_where(&which)
            .unwrap()
            .memories,
        1
    );
    assert_eq!(are_forgotten(), [false, false]);
}

#[test]
fn what_cannot_come_back_is_refused() {
    let engine = engine();
    let remember = |text: &str, visibility| {
        engine
            .system(&ann())
            .memories()
            .remember(fact(text, visibility))
            .unwrap()
            .memory
            .id
    };
    let deleted = remember("gone", Visibility::Shared);
    engine.system(&ann()).memories().forget(&deleted).unwrap();
    let (shared, private) = (
        remember("shared", Visibility::Shared),
        remember("private", Visibility::Private),
    );
    for id in [&shared, &private] {
        engine.system(&ann()).memories().forget_softly(id).unwrap();
    }
    let bob = caller("bob", &WRITER);
    let reader = caller("ann", &[Scope::Read]);
    for (caller, id, code) in [
        (&ann(), &deleted, ErrorCode::NotFound),
        (&ann(), &MemoryId::new("never"), ErrorCode::NotFound),
        (&bob, &private, ErrorCode::NotFound),
        (&bob, &shared, ErrorCode::Forbidden),
        (&reader, &private, ErrorCode::Forbidden),
    ] {
        let error = engine.system(caller).memories().unforget(id).unwrap_err();
        assert_eq!(error.code, code, "{id}");
        let says_so = error.message.contains("deleted for good");
        assert_eq!(says_so, code == ErrorCode::NotFound, "{}", error.message);
    }
    assert!(listed(&engine, &ann()).is_empty());
}

#[test]
fn a_note_comes_back_in_its_file() {
    let vault = vault();
    let id = append(&vault, "One");
    vault
        .engine
        .system(&ann())
        .memories()
        .forget_softly(&id)
        .unwrap();
    assert!(vault.folder.text("one.md").contains("status: deleted"));
    let back = vault
        .engine
        .system(&ann())
        .memories()
        .unforget(&id)
        .unwrap();
    assert_eq!((back.is_changed, back.memory.forgotten_at), (true, None));
    let text = vault.folder.text("one.md");
    assert!(
        !text.contains("status: deleted") && text.contains("honey"),
        "{text}"
    );
    assert!(
        !vault
            .engine
            .system(&ann())
            .memories()
            .unforget(&id)
            .unwrap()
            .is_changed
    );
    assert_eq!(vault.folder.text("one.md"), text);
    vault.reconcile();
    assert_eq!(vault.memory("one.md").forgotten_at, None);
    assert_eq!(found(&vault.engine, &ann(), "honey"), [id]);
}

/// Each condition by itself and all together select the same before and after the forgetting, and
/// what was forgotten before stays forgotten.
#[test]
fn conditions_select_what_is_forgotten_and_what_comes_back() {
    let rows: [(&str, ForgetConditions, &[&str]); 8] = [
        ("project", in_project("acme"), &["a", "b", "c"]),
        (
            "global",
            ForgetConditions {
                collections: Some(CollectionFilter::Global),
                ..ForgetConditions::default()
            },
            &["d"],
        ),
        (
            "type",
            ForgetConditions {
                sections: vec!["rule".to_owned()],
                ..ForgetConditions::default()
            },
            &["b"],
        ),
        (
            "tags",
            ForgetConditions {
                tags: vec!["x".to_owned(), "y".to_owned()],
                ..ForgetConditions::default()
            },
            &["a"],
        ),
        (
            "file",
            ForgetConditions {
                source: Some("/p/docs/a.md".to_owned()),
                ..ForgetConditions::default()
            },
            &["a"],
        ),
        (
            "folder",
            ForgetConditions {
                source: Some("/p/docs".to_owned()),
                ..ForgetConditions::default()
            },
            &["a", "b"],
        ),
        (
            "before",
            ForgetConditions {
                created_before: Some(Timestamp::from_microseconds(1_000_000).plus_seconds(20)),
                ..ForgetConditions::default()
            },
            &["a", "b"],
        ),
        (
            "all",
            ForgetConditions {
                tags: vec!["x".to_owned()],
                source: Some("/p/docs".to_owned()),
                ..in_project("acme")
            },
            &["a", "b"],
        ),
    ];
    for (name, which, expected) in rows {
        let bench = bench();
        let remember = |content: &str, project: Option<&str>, kind, tags: &[&str], file: &str| {
            let request = Remember {
                collection: project.map(str::to_owned),
                tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
                attributes: BTreeMap::from([(SOURCE_FILE.to_owned(), file.to_owned())]),
                visibility: Visibility::Common,
                ..Remember::new(content, kind)
            };
            let id = bench
                .engine
                .system(&ann())
                .memories()
                .remember(request)
                .unwrap()
                .memory
                .id;
            bench.clock.advance(10);
            id
        };
        remember("a", Some("acme"), "fact", &["x", "y"], "/p/docs/a.md");
        remember("b", Some("acme"), "rule", &["x"], "/p/docs/b/c.md");
        remember("c", Some("acme"), "fact", &["z"], "/p/docs2/a.md");
        remember("d", None, "fact", &[], "/q");
        let long_forgotten = remember("e", Some("acme"), "rule", &["x", "y"], "/p/docs/a.md");
        bench
            .engine
            .system(&ann())
            .memories()
            .forget_softly(&long_forgotten)
            .unwrap();
        bench.clock.advance(10);

        let matching = bench
            .engine
            .system(&ann())
            .memories()
            .matching(&which, 1)
            .unwrap();
        assert_eq!(matching.memories, expected.len() as u64, "{name}");
        assert_eq!(matching.first.len(), 1, "{name}");
        let all = texts(listed(&bench.engine, &ann()));
        let marked = bench
            .engine
            .system(&ann())
            .memories()
            .forget_where(&which)
            .unwrap();
        assert_eq!(marked.memories, expected.len() as u64, "{name}");
        let left: Vec<String> = all
            .iter()
            .filter(|text| !expected.contains(&text.as_str()))
            .cloned()
            .collect();
        assert_eq!(texts(listed(&bench.engine, &ann())), left, "{name}");
        assert_eq!(
            bench
                .engine
                .system(&ann())
                .memories()
                .forget_where(&which)
                .unwrap()
                .memories,
            0
        );
        let undone = ForgetConditions {
            forgotten_from: Some(marked.begun_at),
            ..which
        };
        let matching = bench
            .engine
            .system(&ann())
            .memories()
            .matching_forgotten(&undone, 10)
            .unwrap();
        assert_eq!(texts(matching.first), expected, "{name}");
        let back = bench
            .engine
            .system(&ann())
            .memories()
            .unforget_where(&undone)
            .unwrap();
        assert_eq!(back.memories, expected.len() as u64, "{name}");
        assert_eq!(texts(listed(&bench.engine, &ann())), all, "{name}");
    }
}

#[test]
fn nothing_is_forgotten_without_a_condition_or_for_a_wrong_one() {
    let engine = engine();
    let wrong = ForgetConditions {
        tags: vec![String::new()],
        ..ForgetConditions::default()
    };
    for which in [ForgetConditions::default(), wrong] {
        for error in [
            engine
                .system(&ann())
                .memories()
                .matching(&which, 10)
                .unwrap_err(),
            engine
                .system(&ann())
                .memories()
                .forget_where(&which)
                .unwrap_err(),
            engine
                .system(&ann())
                .memories()
                .unforget_where(&which)
                .unwrap_err(),
        ] {
            assert_eq!(error.code, ErrorCode::InvalidArgument);
        }
    }
}

#[test]
fn what_belongs_to_others_stays() {
    let engine = engine();
    let bob = caller("bob", &WRITER);
    for (caller, text, visibility) in [
        (&ann(), "ann's", Visibility::Private),
        (&bob, "bob's shared", Visibility::Shared),
        (&bob, "bob's private", Visibility::Private),
        (&bob, "common", Visibility::Common),
    ] {
        let request = Remember {
            collection: Some("acme".to_owned()),
            ..fact(text, visibility)
        };
        engine.system(caller).memories().remember(request).unwrap();
    }
    let which = in_project("acme");
    let matching = engine
        .system(&ann())
        .memories()
        .matching(&which, 10)
        .unwrap();
    assert_eq!((matching.memories, matching.of_others), (2, 1));
    let marked = engine
        .system(&ann())
        .memories()
        .forget_where(&which)
        .unwrap();
    assert_eq!((marked.memories, marked.of_others), (2, 1));
    assert_eq!(
        texts(listed(&engine, &bob)),
        ["bob's private", "bob's shared"]
    );
    let may_only_write = caller("carl", &[Scope::Write]);
    assert_eq!(
        engine
            .system(&may_only_write)
            .memories()
            .matching(&which, 10)
            .unwrap(),
        loci_engine::MatchSummary::default()
    );
}

#[test]
fn notes_and_memories_are_forgotten_together_and_a_broken_note_stays() {
    let vault = vault();
    let (one, two) = (append(&vault, "One"), append(&vault, "Two"));
    vault
        .engine
        .system(&ann())
        .memories()
        .remember(fact("bees", Visibility::Common))
        .unwrap();
    vault.folder.replace("two.md", "title", "broken\ntitle");
    vault.reconcile();
    let which = ForgetConditions {
        collections: Some(CollectionFilter::Global),
        ..ForgetConditions::default()
    };
    let before = vault.clock.now();
    let marked = vault
        .engine
        .system(&ann())
        .memories()
        .forget_where(&which)
        .unwrap();
    let kept: Vec<&MemoryId> = marked.kept.iter().map(|(id, _)| id).collect();
    assert_eq!((marked.memories, kept), (2, vec![&two]));
    assert!(vault.folder.text("one.md").contains("status: deleted"));
    assert!(marked.begun_at <= before);
    let undone = ForgetConditions {
        forgotten_from: Some(marked.begun_at),
        ..which
    };
    assert_eq!(
        vault
            .engine
            .system(&ann())
            .memories()
            .unforget_where(&undone)
            .unwrap()
            .memories,
        2
    );
    assert_eq!(vault.stored(&one).unwrap().forgotten_at, None);
}

/// More memories than one transaction changes.
#[test]
fn many_are_forgotten_part_by_part() {
    const MEMORIES: usize = 600;
    let bench = bench();
    for number in 0..MEMORIES {
        let request = Remember {
            collection: Some("acme".to_owned()),
            ..fact(&format!("text {number}"), Visibility::Common)
        };
        bench
            .engine
            .system(&ann())
            .memories()
            .remember(request)
            .unwrap();
    }
    let which = in_project("acme");
    let marked = bench
        .engine
        .system(&ann())
        .memories()
        .forget_where(&which)
        .unwrap();
    assert_eq!(marked.memories, MEMORIES as u64);
    assert!(listed(&bench.engine, &ann()).is_empty());
    let marked = bench
        .engine
        .system(&ann())
        .memories()
        .unforget_where(&which)
        .unwrap();
    assert_eq!(marked.memories, MEMORIES as u64);
    let counts = bench
        .engine
        .system(&ann())
        .listings()
        .count_by_location()
        .unwrap();
    let total: u64 = counts.iter().map(|count| count.memories).sum();
    assert_eq!(total, MEMORIES as u64);
}
