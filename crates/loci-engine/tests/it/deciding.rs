//! Tests of what people decide: pairs of memories, secrets, and memories whose files are gone.

use loci_core::{Citation, CitationKind, Forgotten};
use loci_engine::{ConflictResolution, PairRelation, Staleness};

use super::conversations::CountingEmbedder;
use super::sources::Mine;
use super::syncing::Tree;
use super::*;

fn remembered(engine: &Engine, caller: &Caller, request: Remember) -> Memory {
    let stored = engine.system(caller).memories().remember(request);
    stored.unwrap().memory
}

fn said(engine: &Engine, caller: &Caller, text: &str) -> Memory {
    remembered(engine, caller, Remember::new(text, "fact"))
}

fn shown(engine: &Engine, caller: &Caller, id: &MemoryId) -> Memory {
    let shown = engine
        .system(caller)
        .memories()
        .show_among(id, Forgotten::Show);
    shown.unwrap()
}

/// Returns the pairs of the memories with older ones.
fn pairs(engine: &Engine, memories: &[Memory]) -> Vec<(PairRelation, MemoryId, MemoryId)> {
    let found = engine
        .system(&caller("ann", &WRITER))
        .search()
        .find_pairs(memories, 0.9)
        .unwrap();
    let pair = |pair: loci_engine::Pair| {
        assert_eq!(pair.newer.id, memories[pair.index].id);
        (pair.relation, pair.newer.id, pair.older.id)
    };
    found.pairs.into_iter().map(pair).collect()
}

#[test]
fn pairs_are_found_from_the_newer_one_and_in_one_collection() {
    for mode in [SearchMode::Hybrid, SearchMode::Words] {
        let Bench { engine, .. } = bench_with(Arc::new(HashingEmbedder::default()), mode);
        let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
        said(&engine, &bob, "The API listens on port 7070.");
        let old = said(&engine, &ann, "The API listens on port 8080.");
        let new = said(&engine, &ann, "The API listens on port 9090.");
        let same = said(&engine, &ann, "The API  listens on port 9090.");
        let elsewhere = Remember {
            collection: Some("other".to_owned()),
            ..Remember::new("The API listens on port 6060.", "fact")
        };
        let elsewhere = remembered(&engine, &ann, elsewhere);
        let all = [old.clone(), new.clone(), same.clone(), elsewhere];
        let expected = [
            (PairRelation::Contradiction, new.id.clone(), old.id.clone()),
            (PairRelation::Contradiction, same.id.clone(), old.id.clone()),
            (PairRelation::Duplicate, same.id.clone(), new.id.clone()),
        ];
        assert_eq!(pairs(&engine, &all), expected, "{mode:?}");
        // A pair that is decided is not found again.
        engine
            .system(&ann)
            .memories()
            .resolve_conflict(&new.id, &old.id)
            .unwrap();
        let all = all.map(|memory| shown(&engine, &ann, &memory.id));
        assert_eq!(pairs(&engine, &all), expected[2..], "{mode:?}");
    }
}

#[test]
fn pairs_are_compared_by_the_vectors_that_are_stored() {
    let embedder = Arc::new(CountingEmbedder::default());
    let engine = engine_with(embedder.clone());
    let ann = caller("ann", &WRITER);
    let old = said(&engine, &ann, "The API listens on port 8080.");
    let new = said(&engine, &ann, "The API listens on port 9090.");
    let stored = embedder.calls.lock().unwrap().clone();
    assert!(!stored.is_empty());
    assert_eq!(pairs(&engine, &[old, new]).len(), 1);
    assert_eq!(*embedder.calls.lock().unwrap(), stored);
}

#[test]
fn without_a_model_pairs_are_found_by_words() {
    let engine = engine_with(Arc::new(FailingEmbedder::default()));
    let ann = caller("ann", &WRITER);
    said(&engine, &ann, "The API listens on port 8080.");
    let new = said(&engine, &ann, "The API listens on port 9090.");
    let found = engine
        .system(&ann)
        .search()
        .find_pairs(&[new], 0.9)
        .unwrap();
    assert_eq!(found.pairs.len(), 1);
    assert!(found.degraded.is_some());
}

#[test]
fn a_decision_is_taken_back() {
    let engine = engine();
    let ann = caller("ann", &WRITER);
    let [old, new] = ["one", "two"].map(|text| said(&engine, &ann, text));
    let settled = engine
        .system(&ann)
        .memories()
        .resolve_conflict(&new.id, &old.id)
        .unwrap();
    assert_eq!(settled, ConflictResolution::Superseded { weight: 1.0 });
    let faded = shown(&engine, &ann, &old.id);
    assert_eq!(
        (faded.superseded_by, faded.weight),
        (Some(new.id.clone()), 0.1)
    );
    // The other way round, it would be a circle.
    let circle = engine
        .system(&ann)
        .memories()
        .resolve_conflict(&old.id, &new.id)
        .unwrap();
    assert_eq!(circle, ConflictResolution::Forgotten);
    assert!(shown(&engine, &ann, &new.id).forgotten_at.is_some());
    engine
        .system(&ann)
        .memories()
        .undo_resolution(&old.id, &new.id, &circle)
        .unwrap();
    engine
        .system(&ann)
        .memories()
        .undo_resolution(&new.id, &old.id, &settled)
        .unwrap();
    for before in [&old, &new] {
        let after = shown(&engine, &ann, &before.id);
        assert_eq!(
            Memory {
                revision: before.revision,
                ..after
            },
            *before
        );
    }
    // A fact that is retracted already stays so.
    let revision = shown(&engine, &ann, &old.id).revision;
    engine
        .system(&ann)
        .memories()
        .undo_resolution(&new.id, &old.id, &settled)
        .unwrap();
    assert_eq!(shown(&engine, &ann, &old.id).revision, revision);
}

#[test]
fn a_decision_needs_the_right_to_make_it() {
    let engine = engine();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let shared = |text: &str| Remember {
        visibility: Visibility::Shared,
        ..Remember::new(text, "fact")
    };
    let anns = remembered(&engine, &ann, shared("of Ann"));
    let bobs = remembered(&engine, &bob, shared("of Bob"));
    let hidden = said(&engine, &ann, "hidden");
    let resolve_conflict = |caller, kept: &Memory, other: &Memory| {
        engine
            .system(caller)
            .memories()
            .resolve_conflict(&kept.id, &other.id)
    };
    assert_eq!(
        resolve_conflict(&ann, &anns, &bobs).unwrap_err().code,
        ErrorCode::Forbidden
    );
    assert_eq!(
        resolve_conflict(&bob, &bobs, &hidden).unwrap_err().code,
        ErrorCode::NotFound
    );
    assert_eq!(
        resolve_conflict(&bob, &hidden, &bobs).unwrap_err().code,
        ErrorCode::NotFound
    );
    assert_eq!(
        resolve_conflict(&ann, &anns, &anns).unwrap_err().code,
        ErrorCode::InvalidArgument
    );
    // The kept one belongs to someone else, and stays as it is.
    assert_eq!(
        resolve_conflict(&ann, &bobs, &anns),
        Ok(ConflictResolution::Forgotten)
    );
    assert_eq!(shown(&engine, &bob, &bobs.id), bobs);
}

#[test]
fn memories_whose_files_are_gone_are_found() {
    let tree = Tree::of(&["/p"], &[("/p/kept.rs", false), ("/p/built.rs", true)]);
    let mine = Mine::new();
    let mine = Mine {
        engine: mine.engine.with_source_tree(tree),
        ..mine
    };
    for path in ["/p/kept.rs", "/p/built.rs", "/p/gone.rs"] {
        mine.file(mine.whole(path, &[("a part", "x")])).unwrap();
    }
    let away = mine.whole("/away/file.rs", &[("a part", "x")]);
    let away = loci_engine::ReadSource {
        file: loci_core::SourceFile {
            root: "/away".to_owned(),
            ..away.file
        },
        ..away
    };
    mine.file(away).unwrap();
    let cite_in = |collection: Option<&str>, reference: &str, pin: Option<&str>| {
        let citation = Citation {
            kind: CitationKind::File,
            reference: reference.to_owned(),
            locator: None,
            pin: pin.map(str::to_owned),
            excerpt: None,
        };
        let request = Remember {
            collection: collection.map(str::to_owned),
            citations: vec![citation],
            ..Remember::new(format!("It says so in {reference}."), "fact")
        };
        remembered(&mine.engine, &mine.ann, request)
    };
    let cite = |reference: &str, pin: Option<&str>| cite_in(None, reference, pin);
    let hash = mine.known("/p/kept.rs").unwrap().hash;
    let digits = hash.0.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let now: String = digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect();
    let now = now.to_uppercase();
    let wing = mine.known("/p/kept.rs").unwrap().collection;
    let other = format!("sha256:{}", "0".repeat(64));
    let of_files = mine.memories();
    let cited = [
        cite("/p/gone.rs", None),
        cite("/p/kept.rs", Some(&other)),
        cite("/p/kept.rs", Some(&now)),
        cite("/p/kept.rs", Some("v1.0")),
        cite("/p/unknown.rs", None),
        cite("src/gone.rs", None),
        cite("/p/../p/gone.rs", None),
        cite_in(wing.as_deref(), "gone.rs", None),
        cite_in(wing.as_deref(), "./kept.rs", Some(&other)),
        cite_in(wing.as_deref(), "kept.rs", Some(&now)),
        cite_in(wing.as_deref(), "../p/gone.rs", None),
        cite_in(Some("another"), "gone.rs", None),
    ];
    let memories: Vec<Memory> = of_files.iter().chain(&cited).cloned().collect();
    let found = mine
        .engine
        .system(&mine.ann)
        .sources()
        .find_stale(&memories);
    let mut found: Vec<_> = found
        .unwrap()
        .into_iter()
        .map(|stale| {
            (
                stale.path,
                stale.staleness,
                cited.iter().position(|memory| memory.id == stale.memory),
            )
        })
        .collect();
    found.sort_by(|a, b| (&a.0, a.2).cmp(&(&b.0, b.2)));
    let expected = [
        ("/p/built.rs", Staleness::Ignored, None),
        ("/p/gone.rs", Staleness::Missing, None),
        ("/p/gone.rs", Staleness::Missing, Some(0)),
        ("/p/gone.rs", Staleness::Missing, Some(7)),
        ("/p/kept.rs", Staleness::Changed, Some(1)),
        ("/p/kept.rs", Staleness::Changed, Some(8)),
    ];
    assert_eq!(
        found,
        expected.map(|(path, staleness, cited)| (path.to_owned(), staleness, cited))
    );
    // Without a look at the disk, nothing is known.
    let blind = Mine::new().engine;
    assert_eq!(
        blind.system(&mine.ann).sources().find_stale(&memories),
        Ok(Vec::new())
    );
}
