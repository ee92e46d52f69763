//! Tests of filing a text once, changing filed memories, and browsing them.

use loci_core::{Clock, FilingOrder, NoteStore, Space, Store};
use loci_engine::{AppendNote, AppendOutcome, Browse, Discard, FilingResult, Refile};

use super::faulty_store::FaultyStore;
use super::note_folder::MemoryFolder;
use super::*;

fn drawer(content: &str, wing: &str, room: &str) -> Remember {
    let (collection, section) = (Some(wing.to_owned()), Some(room.to_owned()));
    Remember {
        collection,
        section,
        ..fact(content, Visibility::Common)
    }
}

/// Files under `name`, `name-1`, ...: returns the id, and true if it is new.
fn file(engine: &Engine, caller: &Caller, name: &str, request: Remember) -> Result<(String, bool)> {
    let id_of = |number| {
        MemoryId::new(if number == 0 {
            name.to_owned()
        } else {
            format!("{name}-{number}")
        })
    };
    Ok(
        match engine
            .system(caller)
            .memories()
            .store_once(&id_of, request)?
        {
            FilingResult::New(remembered) => (remembered.memory.id.to_string(), true),
            FilingResult::Existing(memory) => (memory.id.to_string(), false),
        },
    )
}

#[test]
fn a_text_is_filed_once_in_a_place() {
    let Bench {
        engine,
        store,
        clock,
    } = bench();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let tea = || drawer("tea at four", "home", "kitchen");
    let filed = |caller: &Caller, request| file(&engine, caller, "tea", request).unwrap();
    assert_eq!(filed(&ann, tea()), ("tea".to_owned(), true));
    let version = store.version(&Space::default()).unwrap();
    for again in [&ann, &bob, &anonymous()] {
        assert_eq!(filed(again, tea()), ("tea".to_owned(), false));
    }
    assert_eq!(
        store.version(&Space::default()).unwrap(),
        version,
        "nothing is written"
    );
    // The same id for another text.
    assert_eq!(
        filed(&ann, drawer("tea at four", "home", "garden")),
        ("tea-1".to_owned(), true)
    );
    assert_eq!(
        filed(&ann, drawer("tea at five", "home", "garden")),
        ("tea-2".to_owned(), true)
    );
    assert_eq!(
        filed(&ann, drawer("tea at four", "home", "garden")),
        ("tea-1".to_owned(), false)
    );
    // A memory that has another text by now.
    engine
        .system(&bob)
        .memories()
        .update(&MemoryId::new("tea"), "tea at six", None)
        .unwrap();
    assert_eq!(filed(&ann, tea()), ("tea-3".to_owned(), true));
    engine
        .system(&ann)
        .memories()
        .forget_softly(&MemoryId::new("tea-3"))
        .unwrap();
    assert_eq!(filed(&ann, tea()), ("tea-4".to_owned(), true));
    let private = |owner| {
        filed(
            owner,
            Remember {
                visibility: Visibility::Private,
                ..drawer("secret", "home", "safe")
            },
        )
    };
    assert_eq!(private(&ann), ("tea-5".to_owned(), true));
    assert_eq!(
        private(&bob),
        ("tea-6".to_owned(), true),
        "what is private to others is nobody's business"
    );
    assert_eq!(private(&ann), ("tea-5".to_owned(), false));
    let short = Remember {
        ttl_seconds: Some(60),
        ..drawer("soon over", "home", "hall")
    };
    assert_eq!(filed(&ann, short.clone()), ("tea-7".to_owned(), true));
    clock.advance(60);
    assert_eq!(
        filed(&ann, short),
        ("tea-8".to_owned(), true),
        "what has expired is not there"
    );
    // A memory that no caller can see keeps its id all the same.
    let discarded = Discard {
        id: Some(MemoryId::new("tea-4")),
        ..Discard::default()
    };
    assert_eq!(engine.system(&ann).memories().discard(&discarded), Ok(1));
    assert_eq!(filed(&ann, tea()), ("tea-9".to_owned(), true));
    let bad = engine
        .system(&ann)
        .memories()
        .store_once(&|_| mint(), drawer(" ", "home", "hall"))
        .unwrap_err();
    assert_eq!(bad.code, ErrorCode::InvalidArgument);
    let only = |_| MemoryId::new("tea");
    let taken = engine
        .system(&ann)
        .memories()
        .store_once(&only, tea())
        .unwrap_err();
    assert_eq!(taken.code, ErrorCode::Conflict);
    assert!(!taken.message.contains("four"), "{taken}");
}

/// A text is filed however many of its ids are taken; and if one of these is free again, a memory
/// under a later one is still found.
#[test]
fn a_text_is_filed_whatever_became_of_its_ids() {
    let engine = engine();
    let ann = caller("ann", &WRITER);
    let tea = || drawer("tea at four", "home", "kitchen");
    let mut ids = Vec::new();
    for number in 0..20 {
        let (id, is_new) = file(&engine, &ann, "tea", tea()).unwrap();
        assert!(is_new && !ids.contains(&id), "{number}: {id}");
        engine
            .system(&ann)
            .memories()
            .update(&MemoryId::new(&id), "tea at five", None)
            .unwrap();
        ids.push(id);
    }
    assert_eq!((ids[0].as_str(), ids[15].as_str()), ("tea", "tea-15"));
    for freed in ["tea-9", "tea-3", "tea"] {
        engine
            .system(&ann)
            .memories()
            .forget(&MemoryId::new(freed))
            .unwrap();
        if freed == "tea-9" {
            assert_eq!(
                file(&engine, &ann, "tea", tea()).unwrap(),
                ("tea-9".to_owned(), true)
            );
        }
        assert_eq!(
            file(&engine, &ann, "tea", tea()).unwrap(),
            ("tea-9".to_owned(), false),
            "{freed} is free"
        );
    }
}

/// Another process files a text under the id just before this one does.
#[test]
fn two_processes_file_one_text_once() {
    for (theirs, expected) in [
        ("tea at four", ("tea", false)),
        ("tea at five", ("tea-1", true)),
    ] {
        let store = FaultyStore::new(Arc::new(NaiveStore::new()));
        let clock = Arc::new(FixedClock::default());
        let engine = Engine::new(
            store.clone(),
            Arc::new(HashingEmbedder::default()),
            clock.clone(),
            SearchMode::Words,
        );
        let other = Engine::new(
            store.inner.clone(),
            Arc::new(HashingEmbedder::default()),
            clock,
            SearchMode::Words,
        );
        let ann = caller("ann", &WRITER);
        let (is_first, by) = (AtomicBool::new(true), caller("bob", &WRITER));
        store.before(move |method| {
            if method == "commit" && is_first.swap(false, Ordering::SeqCst) {
                file(&other, &by, "tea", drawer(theirs, "home", "kitchen"))?;
            }
            Ok(())
        });
        let (id, is_new) = file(
            &engine,
            &ann,
            "tea",
            drawer("tea at four", "home", "kitchen"),
        )
        .unwrap();
        assert_eq!((id.as_str(), is_new), expected);
    }
}

#[test]
fn a_wipe_brings_back_nothing_that_is_being_filed() {
    let store = FaultyStore::new(Arc::new(NaiveStore::new()));
    let clock = Arc::new(FixedClock::default());
    let engine = Engine::new(
        store.clone(),
        Arc::new(HashingEmbedder::default()),
        clock,
        SearchMode::Words,
    );
    let inner = store.inner.clone();
    store.before(move |method| {
        if method == "commit" {
            inner.wipe(
                &Space::default(),
                "ann",
                None,
                None,
                Timestamp::from_microseconds(1),
            )?;
        }
        Ok(())
    });
    let error = file(
        &engine,
        &caller("ann", &WRITER),
        "tea",
        drawer("tea", "home", "hall"),
    )
    .unwrap_err();
    assert_eq!(
        (error.code, store.inner.size().unwrap().memories),
        (ErrorCode::Conflict, 0)
    );
}

#[test]
fn text_and_place_change_in_one_step() {
    let Bench {
        engine,
        store,
        clock,
    } = bench();
    let (ann, reader) = (caller("ann", &WRITER), caller("bob", &[Scope::Read]));
    let summary = Some("tea".to_owned());
    let request = Remember {
        summary,
        ..drawer("tea at four", "home", "kitchen")
    };
    let before = engine
        .system(&ann)
        .memories()
        .remember(request)
        .unwrap()
        .memory;
    let vectors = || {
        store
            .vectors(
                &Space::default(),
                &before.id,
                HashingEmbedder::default().model(),
            )
            .unwrap()
    };
    let refile = |change| {
        clock.advance(1);
        let version = store.version(&Space::default()).unwrap();
        let memory = engine
            .system(&ann)
            .memories()
            .refile(&before.id, change)
            .unwrap()
            .memory;
        assert_eq!(
            engine.system(&ann).memories().show(&before.id).unwrap(),
            memory
        );
        (memory, store.version(&Space::default()).unwrap() > version)
    };
    let text = |text: &str| Some(text.to_owned());
    let none = Refile::default();
    let (first_vectors, made) = (vectors(), before.updated_at);
    assert_eq!(first_vectors.len(), 1);
    // An equal value is not a change.
    for change in [
        none.clone(),
        Refile {
            content: text("tea at four"),
            collection: Some(text("home")),
            section: text("kitchen"),
            ..Refile::default()
        },
    ] {
        assert_eq!(refile(change), (before.clone(), false));
    }
    let place = |memory: &Memory| {
        (
            memory.location.collection.clone(),
            memory.location.section.clone(),
        )
    };
    let (moved, is_written) = refile(Refile {
        section: text("garden"),
        content: text("tea at four"),
        ..none.clone()
    });
    assert!(is_written);
    assert_eq!(place(&moved), (text("home"), "garden".to_owned()));
    assert_eq!(
        (moved.updated_at, &moved.summary, moved.revision),
        (made, &text("tea"), 2)
    );
    let (moved, _) = refile(Refile {
        collection: Some(None),
        ..none.clone()
    });
    assert_eq!(place(&moved), (None, "garden".to_owned()));
    assert_eq!(vectors(), first_vectors, "a place is not embedded");
    assert_eq!(found(&engine, &ann, "tea four")[0], before.id);
    let (changed, _) = refile(Refile {
        content: text("coffee at five"),
        collection: Some(text("work")),
        section: None,
        ..Refile::default()
    });
    assert_eq!(place(&changed), (text("work"), "garden".to_owned()));
    assert_eq!(
        (
            changed.content.as_str(),
            changed.summary,
            changed.updated_at
        ),
        ("coffee at five", None, clock.now())
    );
    assert_ne!(vectors(), first_vectors);
    assert_eq!(found(&engine, &ann, "coffee")[0], before.id);

    let refused = [
        (
            &ann,
            "absent",
            Refile {
                section: text("x"),
                ..none.clone()
            },
            ErrorCode::NotFound,
        ),
        (
            &reader,
            before.id.as_str(),
            Refile {
                section: text("x"),
                ..none.clone()
            },
            ErrorCode::Forbidden,
        ),
        (
            &ann,
            before.id.as_str(),
            Refile {
                section: text(" "),
                ..none.clone()
            },
            ErrorCode::InvalidArgument,
        ),
        (
            &ann,
            before.id.as_str(),
            Refile {
                collection: Some(text("a\nb")),
                ..none.clone()
            },
            ErrorCode::InvalidArgument,
        ),
        (
            &ann,
            before.id.as_str(),
            Refile {
                content: text(" \n"),
                ..none.clone()
            },
            ErrorCode::InvalidArgument,
        ),
    ];
    for (caller, id, change, code) in refused {
        assert_eq!(
            engine
                .system(caller)
                .memories()
                .refile(&MemoryId::new(id), change)
                .unwrap_err()
                .code,
            code
        );
    }
    assert_eq!(
        engine
            .system(&ann)
            .memories()
            .show(&before.id)
            .unwrap()
            .revision,
        4
    );
}

/// Only the text of an unlisted memory changes, even if its own location is given.
#[test]
fn what_is_kept_apart_stays_in_its_place() {
    let engine = engine();
    let ann = caller("ann", &WRITER);
    let request = Remember {
        tier: Tier::Unlisted,
        ..drawer("a quiet day", "wing_ada", "diary")
    };
    let id = engine
        .system(&ann)
        .memories()
        .remember(request)
        .unwrap()
        .memory
        .id;
    let text = |text: &str| Some(text.to_owned());
    let none = Refile::default();
    for (argument, change) in [
        (
            "`collection`",
            Refile {
                collection: Some(None),
                content: text("a loud day"),
                ..none.clone()
            },
        ),
        (
            "`section`",
            Refile {
                section: text("kitchen"),
                collection: Some(text("wing_ada")),
                ..none.clone()
            },
        ),
    ] {
        let error = engine
            .system(&ann)
            .memories()
            .refile(&id, change)
            .unwrap_err();
        assert!(
            error.code == ErrorCode::InvalidArgument && error.message.starts_with(argument),
            "{error}"
        );
    }
    let same = Refile {
        content: text("a loud day"),
        collection: Some(text("wing_ada")),
        section: text("diary"),
        ..Refile::default()
    };
    let refiled = engine.system(&ann).memories().refile(&id, same).unwrap();
    assert_eq!(
        refiled.changed,
        Refile {
            content: text("a loud day"),
            ..none
        }
    );
    assert_eq!(refiled.memory.content, "a loud day");
}

/// Texts that are too long together show their beginnings.
#[test]
fn the_beginnings_of_long_texts_are_gone_through() {
    let engine = engine();
    let ann = caller("ann", &WRITER);
    for number in 0..30 {
        engine
            .system(&ann)
            .memories()
            .remember(drawer(
                &format!("{number:02} {}", "ä".repeat(200_000)),
                "home",
                "hall",
            ))
            .unwrap();
    }
    let all = Browse {
        collections: CollectionFilter::Any,
        sections: Vec::new(),
        kinds: Vec::new(),
        tiers: vec![Tier::LongTerm],
        order: FilingOrder::LastFirst,
        offset: 1,
        limit: 28,
        characters_max: Some(4),
        ..Browse::default()
    };
    let browsed = engine.system(&ann).listings().browse(all.clone()).unwrap();
    let expected: Vec<String> = (1..29)
        .rev()
        .map(|number| format!("{number:02} ä"))
        .collect();
    let shown: Vec<String> = browsed
        .memories
        .into_iter()
        .map(|memory| memory.content)
        .collect();
    assert_eq!((shown, browsed.total), (expected, 30));
    let whole = engine
        .system(&ann)
        .listings()
        .browse(Browse {
            characters_max: None,
            ..all
        })
        .unwrap()
        .memories;
    assert!(
        whole
            .iter()
            .all(|memory| memory.content.chars().count() == 200_003)
    );
    let shown = engine.budgets().cut_to_budget(whole, None).unwrap();
    assert_eq!(shown.len(), 28);
    assert!(
        shown
            .iter()
            .all(|shown| shown.length == Some(200_003) && shown.memory.content.ends_with("\n\n…"))
    );
}

/// A memory that changes between the read and the write keeps both changes.
#[test]
fn a_change_of_another_process_stays() {
    let store = FaultyStore::new(Arc::new(NaiveStore::new()));
    let clock = Arc::new(FixedClock::default());
    let engine_of = |store| {
        Engine::new(
            store,
            Arc::new(HashingEmbedder::default()),
            clock.clone(),
            SearchMode::Words,
        )
    };
    let (engine, other) = (engine_of(store.clone()), engine_of(store.inner.clone()));
    let ann = caller("ann", &WRITER);
    let id = engine
        .system(&ann)
        .memories()
        .remember(drawer("tea", "home", "kitchen"))
        .unwrap()
        .memory
        .id;
    let (is_first, by, of) = (AtomicBool::new(true), ann.clone(), id.clone());
    store.before(move |method| {
        if method == "commit" && is_first.swap(false, Ordering::SeqCst) {
            other.system(&by).memories().update(&of, "coffee", None)?;
        }
        Ok(())
    });
    let moved = engine.system(&ann).memories().refile(
        &id,
        Refile {
            section: Some("garden".to_owned()),
            ..Refile::default()
        },
    );
    let moved = moved.unwrap().memory;
    assert_eq!(
        (
            moved.content.as_str(),
            moved.location.section.as_str(),
            moved.revision
        ),
        ("coffee", "garden", 3)
    );
}

#[test]
fn a_note_is_filed_in_its_file() {
    let Bench {
        engine,
        store,
        clock,
    } = bench();
    let folder = MemoryFolder::new(clock.clone());
    let engine = engine.with_notes(folder.clone(), "vault");
    let ann = caller("ann", &WRITER);
    let note = AppendNote {
        title: "Bees".to_owned(),
        body: "honey".to_owned(),
        tags: Vec::new(),
        keyed: None,
    };
    let AppendOutcome::New(note, _) = engine.system(&ann).notes().append(note).unwrap() else {
        panic!("it is new")
    };
    let place = |wing: Option<&str>, section: &str| Location {
        collection: wing.map(str::to_owned),
        section: section.to_owned(),
    };
    let refile = |change| {
        engine
            .system(&ann)
            .memories()
            .refile(&note.id, change)
            .unwrap()
            .memory
    };
    let none = Refile::default();
    let text = |text: &str| Some(text.to_owned());
    let before = folder.text("bees.md");
    assert_eq!(
        refile(Refile {
            content: text("honey\r\n"),
            collection: Some(None),
            ..none.clone()
        }),
        *note
    );
    assert_eq!(folder.text("bees.md"), before);

    clock.advance(10);
    let moved = refile(Refile {
        collection: Some(text("garden")),
        section: text("hives"),
        ..none.clone()
    });
    assert_eq!(
        (&moved.location, moved.updated_at),
        (&place(Some("garden"), "hives"), note.updated_at)
    );
    assert!(
        folder
            .text("bees.md")
            .contains("wing: garden\nroom: hives\n"),
        "{}",
        folder.text("bees.md")
    );
    let both = refile(Refile {
        content: text("wax"),
        collection: Some(None),
        section: None,
        ..Refile::default()
    });
    assert_eq!(
        (&both.location, both.content.as_str(), both.updated_at),
        (&place(None, "hives"), "wax", clock.now())
    );
    engine.system(&Caller::local()).notes().reconcile().unwrap();
    let status = store.note_file_of(&Space::default(), &note.id).unwrap();
    assert_eq!(
        (
            engine.system(&ann).memories().show(&note.id).unwrap(),
            status.is_some()
        ),
        (both, true)
    );
}

#[test]
fn what_was_filed_is_gone_through_in_its_order() {
    let Bench { engine, clock, .. } = bench();
    let through = |origin| Caller {
        origin,
        ..caller("ann", &WRITER)
    };
    let (ann, other) = (through("one"), through("two"));
    for number in 0..5 {
        clock.advance(1);
        let room = if number % 2 == 0 { "even" } else { "odd" };
        engine
            .system(&ann)
            .memories()
            .remember(drawer(&number.to_string(), "home", room))
            .unwrap();
    }
    for (caller, content) in [(&ann, "mine"), (&other, "theirs")] {
        engine
            .system(caller)
            .memories()
            .remember(Remember {
                tier: Tier::Unlisted,
                ..drawer(content, "home", "diary")
            })
            .unwrap();
    }
    let secret = Remember {
        visibility: Visibility::Private,
        ..drawer("secret", "home", "even")
    };
    engine
        .system(&caller("bob", &WRITER))
        .memories()
        .remember(secret)
        .unwrap();
    // A changed memory keeps its position.
    let first = engine
        .system(&ann)
        .memories()
        .remember(drawer("elsewhere", "work", "even"))
        .unwrap()
        .memory
        .id;
    clock.advance(1);
    engine
        .system(&ann)
        .memories()
        .update(&first, "changed", None)
        .unwrap();
    let all = Browse {
        collections: CollectionFilter::Only("home".to_owned()),
        sections: Vec::new(),
        kinds: Vec::new(),
        tiers: vec![Tier::LongTerm],
        order: FilingOrder::FirstFirst,
        offset: 0,
        limit: 10,
        characters_max: None,
        ..Browse::default()
    };
    let both = vec![Tier::LongTerm, Tier::Unlisted];
    let even = vec!["even".to_owned()];
    let rows = [
        (all.clone(), "0 1 2 3 4", 5),
        (
            Browse {
                offset: 1,
                limit: 2,
                ..all.clone()
            },
            "1 2",
            5,
        ),
        (
            Browse {
                order: FilingOrder::LastFirst,
                offset: 4,
                ..all.clone()
            },
            "0",
            5,
        ),
        (
            Browse {
                offset: 9,
                ..all.clone()
            },
            "",
            5,
        ),
        (
            Browse {
                limit: 0,
                ..all.clone()
            },
            "0",
            5,
        ),
        (
            Browse {
                sections: even.clone(),
                ..all.clone()
            },
            "0 2 4",
            3,
        ),
        (
            Browse {
                characters_max: Some(3),
                tiers: both.clone(),
                offset: 4,
                ..all.clone()
            },
            "4 min",
            6,
        ),
        (
            Browse {
                kinds: vec!["other".to_owned()],
                ..all.clone()
            },
            "",
            0,
        ),
        (
            Browse {
                kinds: vec!["fact".to_owned(), "other".to_owned()],
                limit: 2,
                ..all.clone()
            },
            "0 1",
            5,
        ),
        (
            Browse {
                tiers: both.clone(),
                order: FilingOrder::LastFirst,
                limit: 2,
                ..all.clone()
            },
            "mine 4",
            6,
        ),
        (
            Browse {
                collections: CollectionFilter::Any,
                sections: even,
                ..all.clone()
            },
            "0 2 4 changed",
            4,
        ),
        (
            Browse {
                collections: CollectionFilter::Global,
                ..all
            },
            "",
            0,
        ),
    ];
    for (request, contents, total) in rows {
        let browsed = engine
            .system(&ann)
            .listings()
            .browse(request.clone())
            .unwrap();
        let shown: Vec<&str> = browsed
            .memories
            .iter()
            .map(|memory| memory.content.as_str())
            .collect();
        assert_eq!(
            (shown.join(" "), browsed.total),
            (contents.to_owned(), total),
            "{request:?}"
        );
    }
}

/// Pages near the end are read from there.
#[test]
fn every_page_is_a_part_of_the_whole_listing() {
    let store = FaultyStore::new(Arc::new(NaiveStore::new()));
    let embedder = Arc::new(HashingEmbedder::default());
    let engine = Arc::new(Engine::new(
        store.clone(),
        embedder,
        Arc::new(FixedClock::default()),
        SearchMode::Hybrid,
    ));
    for number in 0..60 {
        engine
            .system(&Caller::local())
            .memories()
            .remember(drawer(&number.to_string(), "home", "room"))
            .unwrap();
    }
    let page = |order, offset, limit| {
        let request = Browse {
            collections: CollectionFilter::Any,
            sections: Vec::new(),
            kinds: Vec::new(),
            tiers: vec![Tier::LongTerm],
            order,
            offset,
            limit,
            characters_max: Some(9),
            ..Browse::default()
        };
        let browsed = engine
            .system(&Caller::local())
            .listings()
            .browse(request)
            .unwrap();
        let number = |memory: &Memory| memory.content.parse::<usize>().unwrap();
        (
            browsed.memories.iter().map(number).collect::<Vec<_>>(),
            browsed.total,
        )
    };
    for limit in [1, 7, 30, 60, 100] {
        for offset in 0..62 {
            let numbers: Vec<usize> = (offset..60.min(offset + limit)).collect();
            let reversed = numbers.iter().map(|number| 59 - number).collect();
            assert_eq!(
                page(FilingOrder::FirstFirst, offset, limit),
                (numbers, 60),
                "{limit} from {offset}"
            );
            assert_eq!(
                page(FilingOrder::LastFirst, offset, limit),
                (reversed, 60),
                "{limit} from {offset}"
            );
        }
    }
    // Another process files a memory between the count and the read.
    let other = Engine::new(
        store.inner.clone(),
        Arc::new(HashingEmbedder::default()),
        Arc::new(FixedClock::default()),
        SearchMode::Hybrid,
    );
    let is_first = AtomicBool::new(true);
    store.before(move |method| {
        if method == "filed" && is_first.swap(false, Ordering::SeqCst) {
            other
                .system(&Caller::local())
                .memories()
                .remember(drawer("60", "home", "room"))
                .unwrap();
        }
        Ok(())
    });
    assert_eq!(page(FilingOrder::FirstFirst, 50, 5).0, [50, 51, 52, 53, 54]);
}
