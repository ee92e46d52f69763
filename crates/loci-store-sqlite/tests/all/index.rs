//! The index in memory is the same, however it came about.
use loci_core::Maintenance;

use loci_core::{
    CandidateQuery, Candidates, Filter, Forgotten, Memory, ModelId, Partition, QueryVector, Space,
    Store, Superseded, ThreadPosition, ThreadScore, Timestamp, Work,
};
use loci_store_sqlite::SqliteStore;
use loci_testkit::Random;
use loci_testkit::contract::{
    Subject, agrees_with_the_naive_store, filter, memory, passage, put, replace, sweep_of_expired,
};
use rusqlite::Connection;

use crate::{open, search};

#[test]
fn an_index_kept_current_equals_one_loaded_anew() {
    let folder = tempfile::tempdir().unwrap();
    let kept = open(folder.path());
    agrees_with_the_naive_store(&kept, Subject::Memories, 4_711, 150);
    let loaded = open(folder.path());
    let mut random = Random::new(4_712);
    for (superseded, forgotten) in [
        (Superseded::Hide, Forgotten::Hide),
        (Superseded::Hide, Forgotten::Show),
        (Superseded::Show, Forgotten::Hide),
        (Superseded::Show, Forgotten::Show),
    ] {
        let filter = Filter {
            superseded,
            forgotten,
            ..filter()
        };
        for model in ["first", "second"] {
            let values = (0..24).map(|_| random.signed_unit()).collect();
            let vector = QueryVector {
                model: ModelId::new(model),
                values,
            };
            let terms = ["ant".to_owned(), "猫".to_owned(), "fox".to_owned()];
            for limit in [1, 3, 100] {
                for required in [&terms[..0], &terms[..1]] {
                    let query = CandidateQuery {
                        terms: &terms,
                        required,
                        marks: &terms[1..],
                        vector: Some(&vector),
                        with_context: true,
                        ..CandidateQuery::of(&filter, limit)
                    };
                    assert_eq!(sorted(&kept, &query), sorted(&loaded, &query));
                }
            }
        }
    }
}

/// The candidates by id, with the score of the thread of each; threads have no order of their own.
fn sorted(
    store: &SqliteStore,
    query: &CandidateQuery<'_>,
) -> (Candidates, Vec<Option<ThreadScore>>) {
    let mut found = store.candidates(query).unwrap();
    found.hits.sort_by(|left, right| left.id.cmp(&right.id));
    let threads = std::mem::take(&mut found.threads);
    let places = found
        .hits
        .iter_mut()
        .map(|hit| hit.place_in_thread.as_mut());
    let of_thread = |place: Option<&mut ThreadPosition>| {
        place.map(|place| threads[std::mem::take(&mut place.thread)])
    };
    let of_threads = places.map(of_thread).collect();
    (found, of_threads)
}

#[test]
fn a_reload_drops_the_index_until_the_next_search() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let kept = memory("kept");
    store.commit(put(&kept, vec![passage("word")])).unwrap();
    for _ in 0..2 {
        assert_eq!(
            search(&store, &filter(), "word"),
            std::slice::from_ref(&kept.id)
        );
        assert!(store.size().unwrap().index_bytes > 0);
        assert_eq!(store.reload(), Ok(()));
        assert_eq!(store.size().unwrap().index_bytes, 0);
    }
}

#[test]
fn an_index_survives_many_changes_of_one_memory() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let mut changing = memory("changing");
    store
        .commit(put(&changing, vec![passage("first word")]))
        .unwrap();
    store
        .commit(put(&memory("steady"), vec![passage("steady word")]))
        .unwrap();
    for number in 0..1_500 {
        changing.revision += 1;
        let mut batch = replace(&changing, Some(vec![passage("x"); 3]));
        changing.revision += 1;
        batch.changes.extend(
            replace(
                &changing,
                Some(vec![passage(&format!("n{number} word")); 8]),
            )
            .changes,
        );
        store.commit(batch).unwrap();
        assert_eq!(
            search(&store, &filter(), &format!("n{number}")),
            std::slice::from_ref(&changing.id)
        );
    }
    assert_eq!(search(&store, &filter(), "x"), []);
    assert_eq!(search(&store, &filter(), "word").len(), 2);
    let size = store.size().unwrap();
    assert_eq!(size.passages, 9);
    assert!(
        size.index_bytes > 0 && size.index_bytes < 200_000,
        "dead passages go: {size:?}"
    );
}

#[test]
fn a_memory_that_is_forgotten_or_brought_back_keeps_its_passages() {
    let folder = tempfile::tempdir().unwrap();
    let (store, other) = (open(folder.path()), open(folder.path()));
    let old = memory("old");
    let mut new = Memory {
        supersedes: Some(old.id.clone()),
        ..memory("new")
    };
    store.commit(put(&old, vec![passage("word")])).unwrap();
    store.commit(put(&new, vec![passage("word")])).unwrap();
    let show = Filter {
        superseded: Superseded::Hide,
        ..filter()
    };
    let hide = Filter {
        forgotten: Forgotten::Hide,
        ..show.clone()
    };
    for forgotten_at in [None, Some(new.created_at), None, Some(new.created_at)] {
        new = Memory {
            forgotten_at,
            revision: new.revision + 1,
            ..new
        };
        store.commit(replace(&new, None)).unwrap();
        let is_forgotten = forgotten_at.is_some();
        for store in [&store, &other, &open(folder.path())] {
            // A forgotten memory hides no other, for any caller.
            let shown = if is_forgotten {
                vec![new.id.clone(), old.id.clone()]
            } else {
                vec![new.id.clone()]
            };
            assert_eq!(search(store, &show, "word"), shown);
            let hidden = if is_forgotten { &old.id } else { &new.id };
            assert_eq!(search(store, &hide, "word"), std::slice::from_ref(hidden));
            assert_eq!(store.size().unwrap().passages, 2);
        }
    }
}

#[test]
fn an_index_keeps_its_size_while_a_large_memory_changes_again_and_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let mut note = memory("note");
    let passages = |round: u64| {
        (0..400)
            .map(|number| passage(&format!("w{number} v{} r{round}", number % 9)))
            .collect::<Vec<_>>()
    };
    store.commit(put(&note, passages(0))).unwrap();
    let mut largest = [0, 0];
    for round in 1..=60 {
        note.revision += 1;
        store.commit(replace(&note, Some(passages(round)))).unwrap();
        assert_eq!(
            search(&store, &filter(), &format!("r{round}")),
            std::slice::from_ref(&note.id)
        );
        let largest = &mut largest[usize::from(round > 30)];
        *largest = store.size().unwrap().index_bytes.max(*largest);
    }
    assert!(largest[1] < largest[0] * 3 / 2, "{largest:?}");
}

#[test]
fn a_process_that_fell_behind_the_change_log_loads_anew() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, behind) = (open(folder.path()), open(folder.path()));
    writer
        .commit(put(&memory("a"), vec![passage("word")]))
        .unwrap();
    assert_eq!(search(&behind, &filter(), "word").len(), 1);
    for id in ["b", "c", "d"] {
        writer
            .commit(put(&memory(id), vec![passage("word")]))
            .unwrap();
    }
    let database = Connection::open(folder.path().join("loci.db")).unwrap();
    database
        .execute(
            "DELETE FROM change WHERE number < (SELECT max(number) FROM change)",
            [],
        )
        .unwrap();
    assert_eq!(search(&behind, &filter(), "word").len(), 4);
    writer
        .commit(put(&memory("e"), vec![passage("word")]))
        .unwrap();
    assert_eq!(search(&behind, &filter(), "word").len(), 5);
}

#[test]
fn the_change_log_stays_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store
        .commit(put(&memory("a"), vec![passage("word")]))
        .unwrap();
    let database = Connection::open(folder.path().join("loci.db")).unwrap();
    let grow = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
        INSERT INTO change (memory) SELECT 1 FROM n";
    database.execute(grow, []).unwrap();
    let version = store.version(&Space::default()).unwrap();
    let nothing_expired = sweep_of_expired(filter().live_at);
    let rows = || {
        database
            .query_row("SELECT count(*) FROM change", [], |row| {
                row.get::<_, i64>(0)
            })
            .unwrap()
    };
    let mut left = rows();
    while !store
        .partitions_with(Work::Sweep(&nothing_expired), None, 1)
        .unwrap()
        .is_empty()
    {
        let swept = store
            .sweep(&Partition::Whole, &nothing_expired, 10)
            .unwrap();
        let trimmed = left - rows();
        assert!(
            (1..=5_000).contains(&trimmed),
            "each sweep trims some, and little: {trimmed}"
        );
        assert_eq!(
            swept,
            usize::from(trimmed == 5_000),
            "whoever sweeps goes on while more is left"
        );
        left = rows();
    }
    assert!(left <= 20_000, "{left}");
    while store
        .sweep(&Partition::Whole, &nothing_expired, 10)
        .unwrap()
        > 0
    {}
    let version = version + 1;
    store
        .commit(put(&memory("b"), vec![passage("other")]))
        .unwrap();
    assert_eq!(
        store.sweep(&Partition::Whole, &nothing_expired, 10),
        Ok(0),
        "what comes in meanwhile is no reason to go on"
    );
    assert_eq!(store.version(&Space::default()), Ok(version));
    assert_eq!(search(&store, &filter(), "word").len(), 1);
}

#[test]
fn a_large_memory_goes_in_parts_that_leave_a_sound_database() {
    // Parts are powers of two, too, so that at one moment there is the memory without any passage.
    const PASSAGES: usize = 512;
    let folder = tempfile::tempdir().unwrap();
    let kept = open(folder.path());
    let large = Memory {
        expires_at: Some(filter().live_at),
        ..memory("large")
    };
    kept.commit(put(&large, vec![passage("word"); PASSAGES]))
        .unwrap();
    kept.commit(put(&memory("small"), vec![passage("word")]))
        .unwrap();
    let alive = Filter {
        live_at: Timestamp::MIN,
        ..filter()
    };
    assert_eq!(search(&kept, &alive, "word").len(), 2);
    let mut left = kept.size().unwrap().passages;
    // Each part by a process that ends after it.
    while open(folder.path())
        .sweep(&Partition::Whole, &sweep_of_expired(filter().live_at), 1)
        .unwrap()
        > 0
    {
        let loaded = open(folder.path());
        for store in [&kept, &loaded] {
            assert_eq!(search(store, &alive, "word"), [memory("small").id]);
        }
        assert_eq!(loaded.structure_check(), Ok(Vec::new()));
        let size = loaded.size().unwrap();
        assert!(
            left - size.passages <= 100,
            "a part is small: {left} {size:?}"
        );
        left = size.passages;
    }
    assert_eq!((left, kept.size().unwrap().memories), (1, 1));
}
