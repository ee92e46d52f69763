//! Tests of importing many memories at once.

use loci_core::{Batch, Change, Expect, Store};
use loci_engine::{Import, ImportOutcome};

use super::faulty_store::FaultyStore;
use super::*;

fn import(id: &str, content: &str) -> Import {
    Import {
        id: Some(MemoryId::new(id)),
        ..Import::new(fact(content, Visibility::Common))
    }
}

fn of(owner: &str, visibility: Visibility, import: Import) -> Import {
    Import {
        memory: Remember {
            visibility,
            ..import.memory
        },
        owner: Some(owner.to_owned()),
        ..import
    }
}

#[test]
fn what_is_private_is_its_owners_alone() {
    let engine = engine();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let imports = [
        of(
            "ann",
            Visibility::Private,
            import("diary", "the diary of ann"),
        ),
        of("ann", Visibility::Shared, import("plan", "the diary plan")),
    ];
    let mut imported = ImportOutcome::default();
    let refused = engine
        .system(&bob)
        .imports()
        .import(&imports, &mut imported)
        .unwrap_err();
    assert_eq!(
        (refused.code, imported),
        (ErrorCode::Forbidden, ImportOutcome::default())
    );
    assert!(
        refused.message.starts_with("memory 1: `owner`"),
        "{refused}"
    );
    engine
        .system(&Caller::local())
        .imports()
        .import(&imports, &mut imported)
        .unwrap();
    assert_eq!(
        imported,
        ImportOutcome {
            forgotten: 0,
            stored: 2,
            present: 0
        }
    );
    let sorted = |caller: &Caller| {
        let mut ids = found(&engine, caller, "diary");
        ids.sort();
        ids
    };
    assert_eq!(
        sorted(&ann),
        [MemoryId::new("diary"), MemoryId::new("plan")]
    );
    assert_eq!(sorted(&bob), [MemoryId::new("plan")]);
    let plan = engine
        .system(&bob)
        .memories()
        .show(&MemoryId::new("plan"))
        .unwrap();
    assert_eq!(
        (plan.owner.as_deref(), plan.visibility),
        (Some("ann"), Visibility::Shared)
    );
    engine
        .system(&ann)
        .imports()
        .import(&imports, &mut imported)
        .unwrap();
    assert_eq!(
        imported,
        ImportOutcome {
            forgotten: 0,
            stored: 2,
            present: 2
        }
    );
}

#[test]
fn global_is_no_collection() {
    let engine = engine();
    let of = |collection: &str, import: Import| {
        let collection = Some(collection.to_owned());
        Import {
            memory: Remember {
                collection,
                ..import.memory
            },
            ..import
        }
    };
    let imports = [
        of("global", import("a", "the plan")),
        of("Global", import("b", "the plan")),
    ];
    engine
        .system(&Caller::local())
        .imports()
        .import(&imports, &mut ImportOutcome::default())
        .unwrap();
    let collection = |id: &str| {
        engine
            .system(&Caller::local())
            .memories()
            .show(&MemoryId::new(id))
            .unwrap()
            .location
            .collection
    };
    assert_eq!(
        (collection("a"), collection("b")),
        (None, Some("Global".to_owned()))
    );
}

/// An import in progress does not undo the wipe of an owner's data.
#[test]
fn a_wipe_between_is_not_undone() {
    let store = FaultyStore::new(Arc::new(NaiveStore::new()));
    let clock = Arc::new(FixedClock::default());
    let engine = |store| {
        Engine::new(
            store,
            Arc::new(HashingEmbedder::default()),
            clock.clone(),
            SearchMode::Words,
        )
    };
    let importing = engine(store.clone());
    let inner = store.inner.clone();
    let is_wiped = AtomicBool::new(false);
    store.before(move |method| {
        if method == "commit" && !is_wiped.swap(true, Ordering::SeqCst) {
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
    let mut imported = ImportOutcome::default();
    let imports = [of(
        "ann",
        Visibility::Private,
        import("diary", "the diary of ann"),
    )];
    let error = importing
        .system(&Caller::local())
        .imports()
        .import(&imports, &mut imported)
        .unwrap_err();
    assert_eq!(
        (error.code, imported),
        (ErrorCode::Conflict, ImportOutcome::default())
    );
    assert_eq!(store.inner.size().unwrap().memories, 0);
}

/// If some ids exist already, memories are stored one by one.
#[test]
fn what_is_stored_before_a_failure_is_counted() {
    // The commits that succeed, and the counts of stored and present memories then.
    let rows = [(0, 0, 0), (1, 0, 1), (2, 1, 1), (3, 2, 1)];
    for (commits, stored, present) in rows {
        let store = FaultyStore::new(Arc::new(NaiveStore::new()));
        let clock = Arc::new(FixedClock::default());
        let embedder = Arc::new(HashingEmbedder::default());
        let engine = Engine::new(store.clone(), embedder, clock, SearchMode::Words);
        let local = Caller::local();
        engine
            .system(&local)
            .imports()
            .import(&[import("there", "before")], &mut ImportOutcome::default())
            .unwrap();
        let left = AtomicU64::new(commits);
        store.before(move |method| match method {
            "commit"
                if left
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                        left.checked_sub(1)
                    })
                    .is_err() =>
            {
                Err(Error::unavailable("the disk is full"))
            }
            _ => Ok(()),
        });
        let imports = ["there", "one", "two", "three"].map(|id| import(id, "now"));
        let mut imported = ImportOutcome::default();
        let error = engine
            .system(&local)
            .imports()
            .import(&imports, &mut imported)
            .unwrap_err();
        assert_eq!(
            (error.code, imported),
            (
                ErrorCode::Unavailable,
                ImportOutcome {
                    stored,
                    present,
                    forgotten: 0
                }
            ),
            "{commits}"
        );
        assert_eq!(store.inner.size().unwrap().memories, 1 + stored as u64);
    }
}

/// A memory whose stored passages differ from those into which its text is divided now.
#[test]
fn a_memory_that_was_cut_otherwise_is_embedded_all_the_same() {
    let Bench { engine, store, .. } = bench();
    let local = Caller::local();
    let imports = ["odd", "even"].map(|id| import(id, &format!("honey and {id} bread")));
    engine
        .system(&local)
        .imports()
        .import(&imports, &mut ImportOutcome::default())
        .unwrap();
    let odd = engine
        .system(&local)
        .memories()
        .show(&MemoryId::new("odd"))
        .unwrap();
    let part = |range| loci_core::Passage {
        range,
        terms: Vec::new(),
        vector: None,
    };
    let changed = Memory {
        revision: odd.revision + 1,
        ..odd.clone()
    };
    let (passages, expect) = (
        Some(vec![part(0..5), part(5..9)]),
        Expect::Revision(odd.revision),
    );
    let change = Change::Put {
        memory: Box::new(changed),
        passages,
        expect,
    };
    store
        .commit(Batch::new(odd.space.clone(), vec![change]))
        .unwrap();
    while engine.background().embed_pending().unwrap() > 0 {}
    assert_eq!(engine.models().pending_embeddings(), Ok(0));
    let recalled = engine
        .system(&local)
        .search()
        .recall(&question("odd"))
        .unwrap();
    let hit = recalled
        .hits
        .iter()
        .find(|hit| hit.memory.id == odd.id)
        .unwrap();
    assert!(hit.signals.cosine.is_some());
    assert_eq!(
        (&hit.memory.content, hit.memory.updated_at),
        (&odd.content, odd.updated_at)
    );
}
