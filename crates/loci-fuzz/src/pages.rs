//! Pages of a damaged database: whatever bytes are in it, salvage ends, and hands out nothing that
//! was not there.

use std::path::Path;
use std::sync::LazyLock;

use crate::{call, engine_over, folder};
use loci_core::{ArchiveStore, Archived, Clock};
use loci_store_sqlite::{Options, SqliteStore, salvage};
use loci_testkit::FixedClock;
use serde_json::json;

struct Whole {
    bytes: Vec<u8>,
    records: Vec<Archived>,
}

static WHOLE: LazyLock<Whole> = LazyLock::new(|| {
    let root = folder();
    let store = std::sync::Arc::new(SqliteStore::open(root.path(), Options::default()).unwrap());
    let engine = engine_over(store.clone());
    for number in 0..40 {
        let content = format!(
            "The crane {number} is yellow. {}",
            "Long. ".repeat(number * number)
        );
        call(&engine, "mememory", "remember", json!({"content": content})).unwrap();
    }
    let fact = json!({"subject": "crane", "predicate": "stands_in", "object": "harbour"});
    call(&engine, "mempalace", "mempalace_kg_add", fact).unwrap();
    call(
        &engine,
        "mempalace",
        "mempalace_hook_settings",
        json!({"silent_save": true}),
    )
    .unwrap();
    let mut records = Vec::new();
    store
        .archive(FixedClock::default().now(), &mut |archived| {
            records.push(archived);
            Ok(())
        })
        .unwrap();
    drop((engine, store));
    Whole {
        bytes: std::fs::read(root.path().join("loci.db")).unwrap(),
        records,
    }
});

pub(crate) fn run(data: &[u8]) {
    let Whole { bytes, records } = &*WHOLE;
    let mut bytes = bytes.clone();
    // Each five bytes change one; what is left over cuts the file off.
    let (changes, rest) = data.as_chunks::<5>();
    for [a, b, c, value, times] in changes {
        let at = u32::from_le_bytes([*a, *b, *c, 0]) as usize % bytes.len();
        let end = bytes.len().min(at + 1 + usize::from(*times));
        bytes[at..end].fill(*value);
    }
    if let [a, b, c, ..] = rest {
        bytes.truncate(u32::from_le_bytes([*a, *b, *c, 0]) as usize % bytes.len());
    }
    let root = folder();
    let database = root.path().join("loci.db");
    std::fs::write(&database, &bytes).unwrap();
    check(&database, records);
    assert_eq!(
        std::fs::read(&database).unwrap(),
        bytes,
        "what is damaged is left as it is"
    );
}

fn check(database: &Path, records: &[Archived]) {
    let mut found = Vec::new();
    let mut visit = |archived: Archived| {
        found.push(archived);
        Ok(())
    };
    // It may refuse what is no database any more.
    if salvage(
        database,
        &loci_store_sqlite::Keys::default(),
        FixedClock::default().now(),
        &mut visit,
    )
    .is_err()
    {
        return;
    }
    for archived in &found {
        assert!(
            records.contains(archived),
            "something was made up: {archived:?}"
        );
    }
    assert!(found.len() <= records.len(), "something came twice");
}
