//! The index as a file: processes find the same with it as without, whatever befalls it.
use loci_core::Maintenance;

use std::fs;
use std::path::Path;

use loci_core::{
    Batch, CandidateQuery, Candidates, Filter, IndexLoads, Memory, MemoryId, ModelId, Passage,
    QueryVector, Store, Thread, Timestamp, Visibility, Work,
};
use loci_store_sqlite::{Options, SqliteStore};
use loci_testkit::contract::{
    Subject, agrees_with_the_naive_store, filter, memory, passage, put, replace, sweep_of_expired,
};
use loci_testkit::{Random, quantise};

use crate::processes::{as_child, start_child, tell_parent};

const MODEL: &str = "segments";
const DIMENSIONS: usize = 70;
const WORDS: [&str; 5] = ["ant", "bee", "cat", "dog", "eel"];

fn options(segment_min: usize) -> Options {
    Options {
        segment_min,
        ..Options::default()
    }
}

/// A store that has a segment as soon as it has one memory.
fn open(folder: &Path) -> SqliteStore {
    SqliteStore::open(folder, options(1)).unwrap()
}

/// A store that opens the segment, if there is one, and writes none.
fn open_only(folder: &Path) -> SqliteStore {
    SqliteStore::open(folder, options(usize::MAX)).unwrap()
}

fn segment(folder: &Path) -> std::path::PathBuf {
    folder.join("index").join("segment")
}

fn example(id: &str, random: &mut Random) -> (Memory, Vec<Passage>) {
    let thread = random.chance(60).then(|| Thread {
        name: random.pick(&WORDS).to_owned(),
        position: random.below(9) as u64,
    });
    let supersedes = random
        .chance(20)
        .then(|| MemoryId::new(random.below(50).to_string()));
    let memory = Memory {
        thread,
        supersedes,
        tags: vec![random.pick(&WORDS).to_owned()],
        ..memory(id)
    };
    let passages = (0..random.below(4)).map(|_| {
        let words: Vec<&str> = (0..random.below(12)).map(|_| random.pick(&WORDS)).collect();
        let values: Vec<f32> = (0..DIMENSIONS).map(|_| random.signed_unit()).collect();
        let vector = random
            .chance(80)
            .then(|| quantise(&ModelId::new(MODEL), &values));
        Passage {
            vector,
            ..passage(&words.join(" "))
        }
    });
    (memory, passages.collect())
}

fn fill(store: &SqliteStore, ids: std::ops::Range<usize>, random: &mut Random) {
    let changes = ids.flat_map(|id| {
        let (memory, passages) = example(&id.to_string(), random);
        put(&memory, passages).changes
    });
    store
        .commit(Batch::new(memory("a").space, changes.collect()))
        .unwrap();
}

/// The results of several queries; threads have no order of their own.
fn found(store: &SqliteStore) -> Vec<Candidates> {
    let mut random = Random::new(4);
    let queries = (0..12).map(|number| {
        let terms: Vec<String> = WORDS
            .iter()
            .filter(|_| random.chance(50))
            .map(|word| (*word).to_owned())
            .collect();
        let values = (0..DIMENSIONS).map(|_| random.signed_unit()).collect();
        let vector = QueryVector {
            model: ModelId::new(MODEL),
            values,
        };
        let tags = if number % 4 == 0 {
            vec!["ant".to_owned()]
        } else {
            Vec::new()
        };
        let filter = Filter { tags, ..filter() };
        let query = CandidateQuery {
            terms: &terms,
            marks: &terms,
            vector: (number % 3 > 0).then_some(&vector),
            with_context: number % 2 == 0,
            ..CandidateQuery::of(&filter, 10 + number)
        };
        let mut found = store.candidates(&query).unwrap();
        found.hits.sort_by(|left, right| left.id.cmp(&right.id));
        found
            .hits
            .iter_mut()
            .for_each(|hit| hit.place_in_thread = None);
        found
            .threads
            .sort_by(|left, right| left.bm25.total_cmp(&right.bm25));
        found
    });
    queries.collect()
}

/// The results without a segment.
fn found_in_tables(folder: &Path) -> Vec<Candidates> {
    let apart = folder.with_extension("apart");
    let index = folder.join("index");
    if index.exists() {
        fs::rename(&index, &apart).unwrap();
    }
    let found = found(&open_only(folder));
    assert!(!index.exists());
    if apart.exists() {
        fs::rename(&apart, &index).unwrap();
    }
    found
}

#[test]
fn a_store_with_segments_agrees_with_the_naive_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    for seed in 0..4 {
        if seed > 0 {
            store.write_segment().unwrap();
        }
        let inner = tempfile::tempdir_in(folder.path()).unwrap();
        agrees_with_the_naive_store(&open(inner.path()), Subject::Memories, 5_000 + seed, 120);
    }
}

#[test]
fn loads_are_counted_by_where_the_index_comes_from() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_only(folder.path());
    fill(&store, 0..20, &mut Random::new(1));
    let loads = |store: &SqliteStore| store.size().unwrap().index_loads;
    assert_eq!(loads(&store), IndexLoads::default());
    found(&store);
    let from_tables = IndexLoads {
        from_tables: 1,
        ..IndexLoads::default()
    };
    assert_eq!(loads(&store), from_tables);
    assert_eq!(open(folder.path()).write_segment(), Ok(true));
    let mapped = open_only(folder.path());
    found(&mapped);
    let from_file = IndexLoads {
        from_file: 1,
        ..IndexLoads::default()
    };
    assert_eq!(loads(&mapped), from_file);
}

#[test]
fn a_process_finds_the_same_from_a_segment_and_the_changes_since() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(1);
    let store = open_only(folder.path());
    let writer = open(folder.path());
    fill(&store, 0..300, &mut random);
    for round in 0..6 {
        assert_eq!(writer.write_segment(), Ok(true), "round {round}");
        for turn in 0..3 {
            let mapped = found(&open_only(folder.path()));
            assert_eq!(
                mapped,
                found_in_tables(folder.path()),
                "round {round}, turn {turn}"
            );
            assert_eq!(mapped, found(&store), "the one that was open all the while");
            assert_eq!(mapped, found(&writer), "and the one that writes segments");
            let first = 1_000 * (round + 1) + 100 * turn;
            fill(&store, first..first + 20, &mut random);
            for _ in 0..5 {
                let id = MemoryId::new(random.below(300).to_string());
                let Some(old) = store.get_all(&filter(), &[id]).unwrap().pop() else {
                    continue;
                };
                let (new, passages) = example(old.id.as_str(), &mut random);
                let new = Memory {
                    revision: old.revision + 1,
                    ..new
                };
                store.commit(replace(&new, Some(passages))).unwrap();
            }
        }
    }
}

#[test]
fn a_process_that_has_a_segment_holds_little_itself() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    fill(&store, 0..2_000, &mut Random::new(2));
    let bytes = |store: &SqliteStore| {
        found(store);
        store.size().unwrap().index_bytes
    };
    let loaded = bytes(&open_only(folder.path()));
    assert_eq!(store.write_segment(), Ok(true));
    let mapped = bytes(&open_only(folder.path()));
    assert!(mapped * 8 < loaded, "{mapped} bytes of {loaded}");
    assert!(
        bytes(&store) * 8 < loaded,
        "nor does the process that wrote it"
    );
}

#[test]
fn a_segment_is_written_by_itself_once_it_is_worth_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path(), options(10)).unwrap();
    fill(&store, 0..9, &mut Random::new(3));
    found(&store);
    assert_eq!(store.write_segment(), Ok(false), "too few");
    fill(&store, 9..10, &mut Random::new(3));
    found(&store);
    // It waits for what is being written.
    drop(store);
    assert!(segment(folder.path()).exists());
    assert!(!folder.path().join("index").join("segment.new").exists());
}

#[cfg(unix)]
#[test]
fn a_segment_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    fill(&store, 0..9, &mut Random::new(3));
    assert_eq!(store.write_segment(), Ok(true));
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let index = folder.path().join("index");
    assert_eq!(mode(&index), 0o700);
    for file in fs::read_dir(&index).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
}

/// Where the bytes of a file are changed, whatever they mean: everywhere, and in the head at each
/// place.
fn places(length: usize) -> impl Iterator<Item = usize> {
    (0..64)
        .chain((64..4_096).step_by(61))
        .chain((4_096..length).step_by(197))
}

#[test]
fn whatever_is_damaged_in_a_segment_the_results_are_right() {
    let folder = tempfile::tempdir().unwrap();
    let writer = open(folder.path());
    fill(&writer, 0..150, &mut Random::new(5));
    assert_eq!(writer.write_segment(), Ok(true));
    drop(writer);
    let expected = found_in_tables(folder.path());
    let path = segment(folder.path());
    let whole = fs::read(&path).unwrap();
    let mut tried = 0;
    for place in places(whole.len()) {
        let mut bytes = whole.clone();
        bytes[place] ^= 1 << (place % 8);
        // Another file, as a restart of the machine would leave it: what is mapped does not change.
        fs::remove_file(&path).unwrap_or_default();
        fs::write(&path, &bytes).unwrap();
        assert_eq!(
            found(&open_only(folder.path())),
            expected,
            "byte {place} of {}",
            whole.len()
        );
        tried += 1;
    }
    assert!(tried > 300, "{tried}");
    for length in (0..whole.len())
        .step_by(whole.len() / 90)
        .chain([whole.len() - 1])
    {
        fs::remove_file(&path).unwrap_or_default();
        fs::write(&path, &whole[..length]).unwrap();
        assert_eq!(
            found(&open_only(folder.path())),
            expected,
            "cut to {length} bytes of {}",
            whole.len()
        );
    }
    for section in 0..whole.len() / 4_096 {
        let mut bytes = whole.clone();
        bytes[section * 4_096..][..4_096].fill(0);
        fs::remove_file(&path).unwrap_or_default();
        fs::write(&path, &bytes).unwrap();
        assert_eq!(
            found(&open_only(folder.path())),
            expected,
            "zeros from page {section} on"
        );
    }
}

#[test]
fn a_damaged_segment_is_taken_away_and_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    fill(&store, 0..150, &mut Random::new(5));
    assert_eq!(store.write_segment(), Ok(true));
    drop(store);
    let expected = found_in_tables(folder.path());
    let path = segment(folder.path());
    let whole = fs::read(&path).unwrap();
    // Behind the head and what is compared at once, there are lists and vectors.
    let mut bytes = whole.clone();
    bytes[4_096..].iter_mut().for_each(|byte| *byte = !*byte);
    fs::write(&path, bytes).unwrap();
    let store = open(folder.path());
    assert_eq!(found(&store), expected);
    drop(store);
    assert!(path.exists(), "another one");
    assert_eq!(found(&open_only(folder.path())), expected);
    assert_eq!(fs::read(&path).unwrap().len(), whole.len());
}

#[test]
fn what_is_no_segment_of_this_store_is_none() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = open(folder.path());
    fill(&store, 0..50, &mut Random::new(6));
    assert_eq!(store.write_segment(), Ok(true));
    let other_store = open(other.path());
    fill(&other_store, 0..50, &mut Random::new(7));
    assert_eq!(other_store.write_segment(), Ok(true));
    drop((store, other_store));
    let expected = found_in_tables(folder.path());
    let path = segment(folder.path());
    let whole = fs::read(&path).unwrap();
    let mut of_the_future = whole.clone();
    of_the_future[8] += 1;
    let foreign = fs::read(segment(other.path())).unwrap();
    for (what, bytes) in [
        ("of another store", foreign),
        ("of another version", of_the_future),
        ("empty", Vec::new()),
        ("a text", b"no segment at all\n".repeat(1_000)),
    ] {
        fs::remove_file(&path).unwrap();
        fs::write(&path, bytes).unwrap();
        assert_eq!(found(&open_only(folder.path())), expected, "{what}");
    }
    fs::remove_file(&path).unwrap_or_default();
    fs::create_dir(&path).unwrap();
    assert_eq!(found(&open_only(folder.path())), expected, "a folder");
    fs::remove_dir(&path).unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        assert_eq!(
            found(&open_only(folder.path())),
            expected,
            "a link to a device"
        );
        fs::remove_file(&path).unwrap();
    }
    fs::remove_dir_all(folder.path().join("index")).unwrap();
    assert_eq!(
        found(&open_only(folder.path())),
        expected,
        "nothing is lost with the folder"
    );
    fs::write(folder.path().join("index"), "a file").unwrap();
    let store = open(folder.path());
    assert_eq!(found(&store), expected, "a file where the folder should be");
    store.write_segment().unwrap_err();
    assert_eq!(found(&store), expected);
}

/// A backup that is put in place by hand has another past after the same number of changes.
#[test]
fn a_segment_of_another_past_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    fill(&store, 0..40, &mut Random::new(8));
    drop(store);
    let database = folder.path().join("loci.db");
    let before = fs::read(&database).unwrap();
    let store = open(folder.path());
    fill(&store, 40..60, &mut Random::new(9));
    assert_eq!(store.write_segment(), Ok(true));
    drop(store);
    fs::write(&database, before).unwrap();
    // The same ids in the same rows, by the same number of changes, with other words.
    fill(&open_only(folder.path()), 40..60, &mut Random::new(10));
    assert!(segment(folder.path()).exists());
    assert_eq!(
        found(&open_only(folder.path())),
        found_in_tables(folder.path())
    );
    fill(&open_only(folder.path()), 60..70, &mut Random::new(11));
    assert_eq!(
        found(&open_only(folder.path())),
        found_in_tables(folder.path())
    );
}

#[test]
fn one_process_writes_a_segment_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    fill(&store, 0..40, &mut Random::new(8));
    fs::create_dir(folder.path().join("index")).unwrap();
    let lock = fs::File::create(folder.path().join("index").join("lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(store.write_segment(), Ok(false));
    drop(lock);
    assert_eq!(store.write_segment(), Ok(true));
}

#[test]
fn a_store_that_cannot_be_written_opens_its_segment_and_writes_none() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    fill(&store, 0..40, &mut Random::new(8));
    assert_eq!(store.write_segment(), Ok(true));
    drop(store);
    let expected = found_in_tables(folder.path());
    let whole = fs::read(segment(folder.path())).unwrap();
    let read_only = SqliteStore::open_read_only(folder.path(), options(1)).unwrap();
    assert_eq!(found(&read_only), expected);
    assert_eq!(read_only.write_segment(), Ok(false));
    drop(read_only);
    assert_eq!(fs::read(segment(folder.path())).unwrap(), whole);
}

/// Counts the occurrences of the text in the files of the index.
fn occurrences(folder: &Path, text: &str) -> usize {
    let files = fs::read_dir(folder.join("index"))
        .unwrap()
        .map(|entry| fs::read(entry.unwrap().path()).unwrap());
    files
        .map(|bytes| {
            bytes
                .windows(text.len())
                .filter(|part| *part == text.as_bytes())
                .count()
        })
        .sum()
}

#[test]
fn a_wipe_leaves_nothing_in_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let private = Memory {
        owner: Some("ann".to_owned()),
        visibility: Visibility::Private,
        ..memory("a")
    };
    store
        .commit(put(&private, vec![passage("zebraterm")]))
        .unwrap();
    store
        .commit(put(&memory("b"), vec![passage("steadyterm")]))
        .unwrap();
    assert_eq!(store.write_segment(), Ok(true));
    assert!(occurrences(folder.path(), "zebraterm") > 0);
    let other = open_only(folder.path());
    found(&other);
    store
        .wipe(&memory("a").space, "ann", None, None, Timestamp::MIN)
        .unwrap();
    assert_eq!(occurrences(folder.path(), "zebraterm"), 0);
    assert_eq!(
        found(&other),
        found_in_tables(folder.path()),
        "those who have it mapped go on"
    );
    assert_eq!(store.write_segment(), Ok(true));
    assert_eq!(occurrences(folder.path(), "zebraterm"), 0);
    assert!(occurrences(folder.path(), "steadyterm") > 0);
}

#[test]
fn a_sweep_takes_what_was_deleted_out_of_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let gone = memory("a");
    store
        .commit(put(&gone, vec![passage("zebraterm")]))
        .unwrap();
    store
        .commit(put(&memory("b"), vec![passage("steadyterm")]))
        .unwrap();
    assert_eq!(store.write_segment(), Ok(true));
    assert_eq!(
        store.soft_delete(&filter(), Some(&gone.id), gone.created_at, 1),
        Ok(1)
    );
    let sweep = sweep_of_expired(Timestamp::MIN);
    store.partitions_with(Work::Sweep(&sweep), None, 1).unwrap();
    assert!(occurrences(folder.path(), "zebraterm") > 0, "not at once");
    let file = fs::File::options()
        .write(true)
        .open(segment(folder.path()))
        .unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    store.partitions_with(Work::Sweep(&sweep), None, 1).unwrap();
    // It waits for what is being written.
    drop(store);
    assert_eq!(occurrences(folder.path(), "zebraterm"), 0);
    assert!(occurrences(folder.path(), "steadyterm") > 0);
}

#[test]
fn work_that_makes_anew_what_is_derived_leaves_no_old_segment() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path(), options(1)).unwrap();
    fill(&store, 0..40, &mut Random::new(8));
    for work in [
        &(|| store.reindex(false).map(drop)) as &dyn Fn() -> _,
        &|| store.repair().map(drop),
        &|| store.reload(),
    ] {
        assert_eq!(store.write_segment(), Ok(true));
        work().unwrap();
        assert!(!segment(folder.path()).exists());
    }
}

#[test]
fn a_process_that_is_killed_while_it_writes_segments_leaves_none_that_is_wrong() {
    use std::io::{BufRead, BufReader};
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(12);
    fill(&open_only(folder.path()), 0..400, &mut random);
    for round in 0..6 {
        let mut child = start_child(
            "segment::child_that_writes_segments_until_killed",
            folder.path(),
            &round.to_string(),
        );
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let written = 1 + random.below(4);
        let segments = lines
            .by_ref()
            .map(Result::unwrap)
            .filter(|line| line == "segment")
            .take(written);
        assert_eq!(segments.count(), written);
        // Somewhere in the next one.
        let _ = lines.nth(random.below(40));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(
            found(&open_only(folder.path())),
            found_in_tables(folder.path()),
            "round {round}"
        );
        let store = open(folder.path());
        assert_eq!(
            store.write_segment(),
            Ok(true),
            "what was left is no obstacle"
        );
        assert!(!folder.path().join("index").join("segment.new").exists());
    }
}

#[test]
fn child_that_writes_segments_until_killed() {
    let Some((folder, round)) = as_child() else {
        return;
    };
    let store = open(&folder);
    let mut random = Random::new(round.parse().unwrap());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            loop {
                if store.write_segment().unwrap() {
                    tell_parent("segment");
                }
            }
        });
        for number in 0.. {
            let (memory, passages) = example(&format!("{round}-{number}"), &mut random);
            store.commit(put(&memory, passages)).unwrap();
            tell_parent("memory");
            let id = MemoryId::new(random.below(400).to_string());
            let Some(old) = store.get_all(&filter(), &[id]).unwrap().pop() else {
                continue;
            };
            let (new, passages) = example(old.id.as_str(), &mut random);
            let change = Memory {
                revision: old.revision + 1,
                ..new
            };
            store.commit(replace(&change, Some(passages))).unwrap();
            tell_parent("memory");
        }
    });
}
