//! Pages that are whole and not where they belong: a page of an earlier time, two pages that
//! changed places, a table or index that starts where another does. Not all of that can be noticed
//! (`salvage.rs`), but a repair must not take what can still be salvaged.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use loci_core::{Archived, Batch, Change, Space, Store};
use loci_testkit::Random;
use rusqlite::Connection;

use crate::content::{fill, key, memory, open, others, put};
use crate::trial::{Files, Fixed, Outcome, run, try_each};
use crate::{is_complete, new_folder};

const PAGE: usize = 4_096;

/// A damage in words, and the database with it.
type Damaged = (String, Vec<u8>);

fn database(folder: &Path) -> Vec<u8> {
    fs::read(folder.join("loci.db")).unwrap()
}

/// Memories, a setting and a file that memories were made from; most tables are empty.
fn fill_sparsely(folder: &Path) {
    let store = open(folder);
    for number in 0..12 {
        store.commit(put(memory(number), number)).unwrap();
    }
    let setting = Change::PutSetting {
        owner: None,
        name: "a".to_owned(),
        value: "1".to_owned(),
    };
    store
        .commit(Batch::new(Space::default(), vec![setting]))
        .unwrap();
    others(&store, 1);
}

fn pages_of_two_times(random: &mut Random) -> Vec<Damaged> {
    let folder = new_folder();
    fill(folder.path());
    let before = database(folder.path());
    let store = open(folder.path());
    for number in 200..420 {
        store.commit(put(memory(number), number)).unwrap();
    }
    (70..110)
        .filter(|number| number % 5 > 0)
        .for_each(|number| others(&store, number));
    drop(store);
    let now = database(folder.path());
    let pages = before.len().min(now.len()) / PAGE;
    let differ = |page: &usize| before[page * PAGE..][..PAGE] != now[page * PAGE..][..PAGE];
    let mut damaged: Vec<Damaged> = (1..pages)
        .filter(differ)
        .map(|page| {
            let mut bytes = now.clone();
            bytes[page * PAGE..][..PAGE].copy_from_slice(&before[page * PAGE..][..PAGE]);
            (format!("page {} of an earlier time", page + 1), bytes)
        })
        .collect();
    let count = now.len() / PAGE;
    for _ in 0..if is_complete() { 1_000 } else { 20 } {
        let [one, other] = [0; 2].map(|_| 1 + random.below(count - 1));
        let mut bytes = now.clone();
        bytes[one * PAGE..][..PAGE].copy_from_slice(&now[other * PAGE..][..PAGE]);
        bytes[other * PAGE..][..PAGE].copy_from_slice(&now[one * PAGE..][..PAGE]);
        damaged.push((
            format!("pages {} and {} changed places", one + 1, other + 1),
            bytes,
        ));
    }
    while !is_complete() && damaged.len() > 40 {
        damaged.swap_remove(random.below(damaged.len()));
    }
    damaged
}

fn roots_of_others(folder: &Path, fill: impl FnOnce(&Path)) -> Vec<Damaged> {
    fill(folder);
    let whole = database(folder);
    let file = folder.join("aside.db");
    fs::write(&file, &whole).unwrap();
    let connection = Connection::open(&file).unwrap();
    let mut statement = connection
        .prepare("SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0")
        .unwrap();
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?));
    let trees: Vec<_> = statement
        .query_map([], row)
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let mut damaged = Vec::new();
    for (name, root) in &trees {
        for (other, _) in trees
            .iter()
            .filter(|(_, other)| (root ^ other).count_ones() == 1)
        {
            fs::write(&file, &whole).unwrap();
            let connection = Connection::open(&file).unwrap();
            connection
                .pragma_update(None, "writable_schema", true)
                .unwrap();
            let lead = "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = ?2) WHERE name = ?1";
            connection.execute(lead, [name, other]).unwrap();
            drop(connection);
            damaged.push((
                format!("{name} begins where {other} does"),
                fs::read(&file).unwrap(),
            ));
        }
    }
    damaged
}

/// The records that a repair must keep: the ones that were salvaged before.
fn filed(archive: &[Archived]) -> BTreeSet<String> {
    archive.iter().map(key).collect()
}

fn fault(outcome: &Outcome) -> Option<String> {
    let Fixed {
        done,
        problems,
        archive,
        ..
    } = outcome.fixed.as_ref()?;
    if !problems.is_empty() {
        return Some(format!("it is not mended: {done:?} {problems:?}"));
    }
    let kept = archive.as_deref().map(filed).unwrap_or_default();
    let lost: Vec<_> = filed(&outcome.handed_out)
        .difference(&kept)
        .cloned()
        .collect();
    (!lost.is_empty()).then(|| {
        format!(
            "a repair took {} records, as {:?}: {:?} {done:?}",
            lost.len(),
            lost[0],
            outcome.problems
        )
    })
}

#[test]
fn a_repair_takes_nothing_that_can_be_salvaged() {
    let mut random = Random::new(10);
    let (full, sparse) = (new_folder(), new_folder());
    let mut damaged = pages_of_two_times(&mut random);
    let mut roots = roots_of_others(full.path(), |folder| drop(fill(folder)));
    roots.extend(roots_of_others(sparse.path(), fill_sparsely));
    while !is_complete() && roots.len() > 30 {
        roots.swap_remove(random.below(roots.len()));
    }
    damaged.extend(roots);
    let tally = Mutex::new((0, Vec::new()));
    try_each(&damaged, |folder, (what, bytes)| {
        let outcome = run(
            folder,
            Files {
                database: bytes,
                log: &[],
                index: &[],
            },
        );
        let (repaired, wrong) = &mut *tally.lock().unwrap();
        *repaired += usize::from(outcome.fixed.is_some());
        wrong.extend(fault(&outcome).map(|fault| format!("{what}: {fault}")));
    });
    let (repaired, wrong) = tally.into_inner().unwrap();
    eprintln!(
        "{} pages that are not where they belong; {repaired} repaired",
        damaged.len()
    );
    assert!(
        wrong.is_empty(),
        "{} are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(repaired > 0);
}
