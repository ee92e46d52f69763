use std::collections::BTreeMap;
use std::fs;
use std::io::Write;

use loci_core::{Provenance, Record, Store};
use loci_keys::Keys;
use loci_testkit::Random;
use loci_testkit::contract::{memory, passage, put};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use rusqlite::Connection;

use super::database_file::PAGE_SIZE;
use super::scratch::SalvageScope;
use super::*;
use crate::integrity::checksum;
use crate::{Options, SqliteStore};

const NOW: Timestamp = Timestamp::from_microseconds(0);

/// All that is salvaged of a file with these bytes.
fn salvaged(bytes: &[u8]) -> (SalvageReport, Vec<Record>) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    let mut records = Vec::new();
    let visit = &mut |archived: Archived| {
        records.push(archived.record);
        Ok(())
    };
    (
        salvage(file.path(), &Keys::default(), NOW, visit).unwrap(),
        records,
    )
}

/// A page that starts as one of a tree does, with any cells.
fn page() -> impl Strategy<Value = Vec<u8>> {
    let kind = select(&[0x02_u8, 0x05, 0x0a, 0x0d]);
    (
        kind,
        0_u16..60,
        any::<u64>(),
        vec((0_u16..4_096, vec(any::<u8>(), 1..30)), 0..60),
    )
        .prop_map(|parts| {
            let (kind, count, seed, cells) = parts;
            let mut random = Random::new(seed);
            let mut page: Vec<u8> = (0..PAGE_SIZE)
                .map(|_| {
                    if random.chance(70) {
                        0
                    } else {
                        random.bits() as u8
                    }
                })
                .collect();
            page[0] = kind;
            page[3..5].copy_from_slice(&count.to_be_bytes());
            for (number, (place, bytes)) in cells.iter().enumerate() {
                page[12 + 2 * number..14 + 2 * number].copy_from_slice(&place.to_be_bytes());
                let end = PAGE_SIZE.min(usize::from(*place) + bytes.len());
                page[usize::from(*place)..end].copy_from_slice(&bytes[..end - usize::from(*place)]);
            }
            page
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_pages_are_read_without_panic(pages in vec(page(), 1..6)) {
        let (report, records) = salvaged(&pages.concat());
        prop_assert!(!report.is_whole());
        prop_assert_eq!(records, Vec::new());
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in vec(any::<u8>(), 0..9_000)) {
        let (report, records) = salvaged(&bytes);
        prop_assert!(!report.is_whole());
        prop_assert_eq!(records, Vec::new());
    }
}

#[test]
fn a_record_that_claims_two_gigabytes_does_not_end_a_salvage() {
    let whole = database(3);
    for length in [2_147_483_000_u32, 1_900_000_000, u32::MAX] {
        let mut page = vec![0; PAGE_SIZE];
        page[0] = 0x0d;
        (page[4], page[9]) = (1, 100);
        let varint = (0..5).map(|group| (length >> (28 - 7 * group) & 0x7f) as u8 | 0x80);
        for (place, byte) in (100..).zip(varint) {
            page[place] = byte;
        }
        page[104] &= 0x7f;
        page[105] = 1;
        let (report, records) = salvaged(&[&whole[..], &page].concat());
        assert_eq!(records.len(), 3, "{length}: {report:?}");
    }
}

#[test]
fn of_a_database_with_many_changed_bytes_nothing_changed_is_handed_out() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let mut expected = BTreeMap::new();
    for number in 0..60 {
        let mut memory = memory(&number.to_string());
        memory.content = format!("{number} ").repeat(1 + number * 40);
        store
            .commit(put(&memory, vec![passage("some words")]))
            .unwrap();
        expected.insert(memory.id.clone(), memory);
    }
    drop(store);
    let whole = fs::read(folder.path().join("loci.db")).unwrap();
    let mut found = 0;
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let mut damaged = whole.clone();
        for _ in 0..=random.below(200) {
            let place = random.below(damaged.len());
            damaged[place] = random.bits() as u8;
        }
        let (report, records) = salvaged(&damaged);
        for record in records {
            let Record::Memory(memory) = record else {
                panic!("only memories were stored: {record:?}")
            };
            assert_eq!(expected.get(&memory.id), Some(&*memory), "seed {seed}");
            found += 1;
        }
        assert!(
            !report.lost.is_empty() || report.records == 60,
            "seed {seed}: {report:?}"
        );
    }
    assert!(found > 1_000, "most is whole: {found}");
}

#[test]
fn no_row_passes_for_one_of_another_table() {
    let (_, formats) = Scratch::new(SalvageScope::All, true).unwrap();
    formats.assert_rows_are_told_apart();
}

#[test]
fn of_rows_without_a_tree_the_newest_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("loci.db");
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let mut changing = memory("a");
    store.commit(put(&changing, vec![passage("word")])).unwrap();
    drop(store);
    let before = fs::read(&path).unwrap();
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    (changing.revision, changing.kind) = (2, "other".to_owned());
    store
        .commit(loci_testkit::contract::replace(&changing, None))
        .unwrap();
    drop(store);
    let after = fs::read(&path).unwrap();
    for bytes in [
        [&after[..], &before[PAGE_SIZE..]].concat(),
        [&before[..], &after[PAGE_SIZE..]].concat(),
    ] {
        let reached = salvaged(&bytes);
        assert!(reached.0.repeated > 0);
        // With the first page go the ways to all others.
        let mut orphaned = bytes.clone();
        orphaned[..PAGE_SIZE].fill(0);
        let (report, records) = salvaged(&orphaned);
        assert!(report.repeated > 0);
        assert_eq!(records, [Record::Memory(Box::new(changing.clone()))]);
        assert_eq!(reached.1.len(), 1);
        let is_reached_newer = bytes.starts_with(&after);
        assert_eq!(
            reached.1 == records,
            is_reached_newer,
            "what a tree leads to comes first"
        );
    }
}

#[test]
fn a_fact_without_an_author_is_salvaged() {
    for version in [7, 14, 15] {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut connection = Connection::open(file.path()).unwrap();
        checksum::register(&connection).unwrap();
        schema::migrate(&mut connection, &schema::migrations().unwrap()[..version]).unwrap();
        let rows = "INSERT INTO graph_name (space, is_relation, key, spelling)
                VALUES ('main', 0, 'ann', 'Ann'), ('main', 1, 'knows', 'knows'), ('main', 0, 'bob', 'Bob');
            INSERT INTO fact (space, id, subject, predicate, object, source, created_at)
                VALUES ('main', 'f', 'ann', 'knows', 'bob', 'words', 5)";
        connection.execute_batch(rows).unwrap();
        drop(connection);
        let (report, records) = salvaged(&fs::read(file.path()).unwrap());
        assert!(report.is_whole(), "{version}: {report:?}");
        let [Record::Fact(fact)] = &records[..] else {
            panic!("{version}: {records:?}")
        };
        assert_eq!(
            (fact.source.as_deref(), &fact.author),
            (Some("words"), &None),
            "{version}"
        );
    }
}

/// Each of these schemas has a table of memories with other columns.
#[test]
fn a_memory_of_any_schema_is_salvaged() {
    for version in [7, 9, 18, 19] {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut connection = Connection::open(file.path()).unwrap();
        checksum::register(&connection).unwrap();
        schema::migrate(&mut connection, &schema::migrations().unwrap()[..version]).unwrap();
        let rows = "INSERT INTO memory (row, space, id, section, kind, weight, tier, delivery, origin, visibility,
                created_at, updated_at, revision, text_checksum, title, tags)
            VALUES (1, 'main', 'm', 'fact', 'fact', 0.5, 'long_term', 'on_demand', 'vault', 'common', 1, 2, 1,
                loci_checksum('zebra'), 'title', '[]');
            INSERT INTO content (memory, text) VALUES (1, 'zebra')";
        connection.execute_batch(rows).unwrap();
        drop(connection);
        let (report, records) = salvaged(&fs::read(file.path()).unwrap());
        assert!(report.is_whole(), "{version}: {report:?}");
        let [Record::Memory(memory)] = &records[..] else {
            panic!("{version}: {records:?}")
        };
        assert_eq!(
            (&*memory.content, &memory.provenance, memory.by_admin),
            ("zebra", &Provenance::default(), false),
            "{version}"
        );
    }
}

#[test]
fn what_the_schema_before_wrote_is_salvaged() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut connection = Connection::open(file.path()).unwrap();
    checksum::register(&connection).unwrap();
    schema::migrate(&mut connection, &schema::migrations().unwrap()[..7]).unwrap();
    let row = "INSERT INTO keyed_answer (space, origin, operation, key, request, created_at, expires_at, answer)
        VALUES ('main', 'vault', 'append', 'k', zeroblob(32), 0, 1, 'words')";
    connection.execute_batch(row).unwrap();
    drop(connection);
    let (report, records) = salvaged(&fs::read(file.path()).unwrap());
    assert!(report.is_whole(), "{report:?}");
    let [Record::IdempotentReply(answer)] = &records[..] else {
        panic!("{records:?}")
    };
    assert_eq!(
        (answer.answer.as_str(), answer.memories.as_slice()),
        ("words", [].as_slice())
    );
}

/// The bytes of a database with memories.
fn database(memories: usize) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    for number in 0..memories {
        let memory = loci_core::Memory {
            content: "of string ".repeat(30),
            ..memory(&number.to_string())
        };
        store
            .commit(put(&memory, vec![passage("some words")]))
            .unwrap();
    }
    drop(store);
    fs::read(folder.path().join("loci.db")).unwrap()
}

#[test]
fn a_database_in_which_nothing_is_yet_is_whole() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let connection = Connection::open(file.path()).unwrap();
    connection
        .execute_batch("PRAGMA journal_mode = WAL")
        .unwrap();
    drop(connection);
    let (report, records) = salvaged(&fs::read(file.path()).unwrap());
    assert!(report.is_whole(), "{report:?}");
    assert_eq!(records, Vec::new());
}

/// A checkpoint that cannot be done yet leaves pages in the file that the database has no more.
#[test]
fn what_lies_behind_the_end_of_the_last_commit_is_no_part_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("loci.db");
    fs::write(&path, database(100)).unwrap();
    let connection = Connection::open(&path).unwrap();
    checksum::register(&connection).unwrap();
    connection
        .pragma_update(None, "secure_delete", false)
        .unwrap();
    // With its content, of which the page is not written again.
    let gone = "PRAGMA foreign_keys = OFF; DELETE FROM memory WHERE row > 5; DELETE FROM content WHERE memory > 5;";
    connection.execute_batch(gone).unwrap();
    let reader = Connection::open(&path).unwrap();
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM memory")
        .unwrap();
    connection.execute_batch("VACUUM").unwrap();
    let mut records = 0;
    let visit = &mut |_: Archived| {
        records += 1;
        Ok(())
    };
    let report = salvage(&path, &Keys::default(), NOW, visit).unwrap();
    assert!(
        report.damage.is_empty() && records <= 6,
        "{records}: {report:?}"
    );
}

#[test]
fn what_was_behind_the_end_of_a_file_that_was_cut_off_is_told() {
    let whole = database(600);
    let pages = whole.len() / PAGE_SIZE;
    for kept in [pages / 2, pages / 7, 14, 2] {
        let (report, records) = salvaged(&whole[..kept * PAGE_SIZE]);
        let cut_off = format!(
            "the file has {kept} pages, and {} are missing: it was cut off",
            pages - kept
        );
        assert!(report.damage.contains(&cut_off), "{report:?}");
        assert!(
            records.len() < 600 && report.lost_more == 0,
            "{kept}: {}",
            records.len()
        );
        let told = report
            .lost
            .iter()
            .find(|lost| lost.contains("not in the file") && lost.ends_with("each is a memory"));
        // Where the list of tables is cut off, too, the tables of the pages are not known.
        let told = told.or(report
            .lost
            .iter()
            .find(|lost| lost.ends_with("of what kind is not known")));
        let told = told.unwrap_or_else(|| panic!("{kept}: {:?}", report.lost));
        let least = told
            .split_once("at least ")
            .map(|(_, least)| least.split(';').next().unwrap().parse().unwrap());
        assert!(least.unwrap_or(0) <= 600 - records.len(), "{kept}: {told}");
    }
    let (report, _) = salvaged(&whole[..whole.len() - 1]);
    assert!(!report.is_whole(), "{report:?}");
    let (report, _) = salvaged(&[]);
    assert!(
        report
            .lost
            .iter()
            .any(|lost| lost.contains("of what kind is not known")),
        "{report:?}"
    );
}

#[test]
fn a_bit_of_a_definition_or_of_the_header_is_damage() {
    let whole = database(3);
    assert!(salvaged(&whole).0.is_whole());
    let places = whole
        .windows(10)
        .enumerate()
        .filter(|(_, bytes)| bytes.starts_with(b"CREATE "));
    let places: Vec<_> = places
        .map(|(place, _)| place)
        .step_by(7)
        .chain([18, 21, 30, 47, 63, 70])
        .collect();
    assert!(places.len() > 12, "{places:?}");
    for place in places {
        let mut damaged = whole.clone();
        damaged[place] ^= 1;
        let (report, records) = salvaged(&damaged);
        assert!(
            !report.is_whole() && !report.damage.is_empty(),
            "{place}: {report:?}"
        );
        assert_eq!(records.len(), 3, "{place}");
    }
}
