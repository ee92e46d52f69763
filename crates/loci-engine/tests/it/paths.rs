//! Tests that a question that names a file finds the memories of that file first.

use loci_core::{FilingOrder, Partition, Store};

use super::sources::{Mine, WING};
use super::*;

/// Returns 40 files, of which several have the same name.
fn files() -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for folder in [
        "db",
        "db/models",
        "db/backends",
        "cache/backends",
        "core",
        "forms",
        "forms/models",
        "views",
    ] {
        files.push(format!("{folder}/__init__.py"));
    }
    for folder in [
        "db/models",
        "db/backends",
        "cache/backends",
        "core",
        "forms",
        "views",
    ] {
        files.push(format!("{folder}/base.py"));
    }
    for name in [
        "deletion", "query", "fields", "manager", "options", "signals",
    ] {
        files.push(format!("db/models/{name}.py"));
    }
    for name in ["locmem", "redis", "memcached", "filebased", "dummy"] {
        files.push(format!("cache/backends/{name}.py"));
    }
    for name in ["checks", "signing", "validators", "handlers", "paginator"] {
        files.push(format!("core/{name}.py"));
    }
    files.extend(["widgets", "fields", "formsets"].map(|name| format!("forms/{name}.py")));
    files.extend(["deletion", "generic", "static", "csrf"].map(|name| format!("views/{name}.py")));
    files.extend(["docs/backends.md", "docs/models.md", "README.md"].map(str::to_owned));
    assert_eq!(files.len(), 40);
    files
}

/// Files three drawers for each file: none contains its own name, one of each mentions another
/// file.
fn mined(files: &[String]) -> Mine {
    let mine = Mine::new();
    for (number, file) in files.iter().enumerate() {
        let other = &files[(number + 7) % files.len()];
        let texts = [
            format!("def part_{number}(): collect what the rows of number {number} refer to"),
            format!("see {other} before you change rule {number} of the models in the db"),
            format!("timeout, delete, cascade and cache: the words of number {number}"),
        ];
        let parts: Vec<(&str, &str)> = texts.iter().map(|text| (text.as_str(), "src")).collect();
        let mut read = mine.whole(&format!("/p/{file}"), &parts);
        for part in &mut read.parts {
            part.attributes
                .insert(loci_core::SOURCE_PATH.to_owned(), file.clone());
        }
        mine.file(read).unwrap();
    }
    mine
}

/// Returns the files of the best results, best first.
fn found(mine: &Mine, question: &str, limit: usize) -> Vec<String> {
    let ranking = |signals: &Signals| signals.relevance;
    let collections = CollectionFilter::Only(WING.to_owned());
    let request = Recall {
        collections,
        ..Recall::new(question, limit, &ranking)
    };
    let hits = mine
        .engine
        .system(&mine.ann)
        .search()
        .recall(&request)
        .unwrap()
        .hits;
    hits.iter()
        .map(|hit| hit.memory.source_path().unwrap().to_owned())
        .collect()
}

#[test]
fn a_path_in_a_question_finds_its_file_first() {
    let files = files();
    let mine = mined(&files);
    let ends = |path: &str| -> Vec<String> {
        files
            .iter()
            .filter(|file| **file == path || file.ends_with(&format!("/{path}")))
            .cloned()
            .collect()
    };
    let questions: &[(&str, &[&str])] = &[
        ("db/models/deletion.py", &["db/models/deletion.py"]),
        (
            "how does `db/models/deletion.py` cascade?",
            &["db/models/deletion.py"],
        ),
        (
            "what does models/deletion do about a cascade",
            &["db/models/deletion.py"],
        ),
        ("locmem.py timeout", &["cache/backends/locmem.py"]),
        (
            "is the timeout in LOCMEM.PY:12 right?",
            &["cache/backends/locmem.py"],
        ),
        ("/srv/work/p/core/signing.py", &["core/signing.py"]),
        ("read db/models/base.py", &["db/models/base.py"]),
        (
            "deletion.py",
            &["db/models/deletion.py", "views/deletion.py"],
        ),
        (
            "deletion.py and locmem.py",
            &[
                "db/models/deletion.py",
                "views/deletion.py",
                "cache/backends/locmem.py",
            ],
        ),
    ];
    for (question, expected) in questions {
        let mut first = found(&mine, question, 3 * expected.len());
        first.sort();
        first.dedup();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(first, expected, "{question}");
    }
    for name in ["base.py", "__init__.py", "models/__init__.py"] {
        let of_name = ends(name);
        let first = found(&mine, name, 3 * of_name.len());
        assert!(
            first.iter().all(|file| of_name.contains(file)),
            "{name}: {first:?}"
        );
        assert_eq!(
            of_name.iter().filter(|file| first.contains(file)).count(),
            of_name.len(),
            "{name}: {first:?}"
        );
    }
}

#[test]
fn the_word_of_a_folder_is_no_word_of_what_is_in_it() {
    let mine = mined(&files());
    let ranking = |signals: &Signals| signals.relevance;
    let found = mine
        .engine
        .system(&mine.ann)
        .search()
        .recall(&Recall::new("backends", 100, &ranking))
        .unwrap();
    let by_words = found.hits.iter().filter(|hit| hit.signals.bm25 > 0.0);
    let files: Vec<&str> = by_words
        .map(|hit| hit.memory.source_path().unwrap())
        .collect();
    assert!(!files.is_empty());
    for hit in found.hits.iter().filter(|hit| hit.signals.bm25 > 0.0) {
        let is_named = hit.memory.source_path() == Some("docs/backends.md");
        assert!(
            is_named || hit.memory.content.contains("backends"),
            "{:?}",
            hit.memory
        );
    }
}

#[test]
fn a_file_that_is_not_there_changes_nothing() {
    let mine = mined(&files());
    let plain = found(&mine, "which rule is about the cascade", 10);
    assert_eq!(
        found(&mine, "which rule is about the cascade and/or", 10),
        plain
    );
}

#[test]
fn a_moved_file_is_found_by_its_path_and_keeps_its_vectors() {
    let files = files();
    let mine = mined(&files);
    while mine.engine.background().embed_pending().unwrap() > 0 {}
    let (before, path) = ("/p/core/signing.py", "core/crypto/signatures.py");
    let known = mine.known(before).unwrap();
    let of_file = |memory: &Memory| {
        memory
            .attributes
            .get(loci_engine::SOURCE_FILE)
            .is_some_and(|file| file == before)
    };
    let filed: Vec<Memory> = mine.memories().into_iter().filter(of_file).collect();
    let parts: Vec<(&str, &str)> = filed
        .iter()
        .map(|memory| (memory.content.as_str(), "src"))
        .collect();
    let mut read = mine.whole(&format!("/p/{path}"), &parts);
    read.file.hash = known.hash;
    read.moved_from = Some(before.to_owned());
    for part in &mut read.parts {
        part.attributes
            .insert(loci_core::SOURCE_PATH.to_owned(), path.to_owned());
    }
    let moved = mine.file(read).unwrap();
    assert_eq!((moved.kept, moved.added, moved.removed), (3, 0, 0));
    assert_eq!(found(&mine, "crypto/signatures.py", 3), [path; 3]);
    assert!(!found(&mine, "core/signing.py", 3).contains(&"core/signing.py".to_owned()));
    let model = HashingEmbedder::default().model().clone();
    assert_eq!(
        mine.store
            .without_vector(&Partition::Whole, &model, FilingOrder::FirstFirst, 10)
            .unwrap(),
        []
    );
}
