//! Damages of the database file.

use std::fs;
use std::sync::Mutex;

use loci_core::SalvageReport;
use loci_core::{Access, Archived, Record};
use loci_store_sqlite::{OpenError, Options, SqliteStore};
use loci_testkit::Random;
use rusqlite::Connection;

use crate::content::{archive, fill, open};
use crate::trial::{Files, Fixed, Original, Outcome, run, try_each};
use crate::{is_complete, new_folder};

pub const PAGE: usize = 4_096;
/// The tables of derived rows.
const DERIVED: [&str; 11] = [
    "passage",
    "further_vector",
    "model",
    "access",
    "cache_entry",
    "job",
    "lease",
    "place_count",
    "graph_count",
    "keyed_answer_total",
    "answer_memory",
];

/// A page as SQLite's own statistics describe it.
#[derive(Debug, Clone)]
pub struct Page {
    /// The table or index; none if it is free.
    owner: String,
    kind: String,
    cells: usize,
    is_index: bool,
}

impl Page {
    fn is_derived(&self) -> bool {
        self.is_index || DERIVED.contains(&self.owner.as_str())
    }

    /// Counts the records that may be lost with it.
    fn records(&self, original: &Original) -> usize {
        match (self.owner.as_str(), self.kind.as_str()) {
            ("graph_name", _) => original.archive.len(),
            // With each, an answer that holds its text.
            ("memory" | "content", "leaf") => 2 * self.cells,
            ("fact" | "tunnel" | "cache_entry" | "decision" | "keyed_answer", "leaf")
            | ("note_folder" | "note_file" | "setting" | "source_file", "leaf" | "internal") => {
                self.cells
            }
            ("content" | "keyed_answer" | "memory", "overflow") => 1,
            _ => 0,
        }
    }
}

/// One damage of the file.
#[derive(Debug, Clone)]
pub enum Damage {
    Zeros { page: usize },
    Flip { place: usize, bit: u8 },
    Cut { length: usize },
}

impl Damage {
    pub fn apply(&self, whole: &[u8]) -> Vec<u8> {
        let mut bytes = whole.to_vec();
        match *self {
            Damage::Zeros { page } => bytes[page * PAGE..(page + 1) * PAGE].fill(0),
            Damage::Flip { place, bit } => bytes[place] ^= 1 << bit,
            Damage::Cut { length } => bytes.truncate(length),
        }
        bytes
    }

    /// The pages that it touches.
    fn pages(&self, count: usize) -> std::ops::Range<usize> {
        match *self {
            Damage::Zeros { page } => page..page + 1,
            Damage::Flip { place, .. } => place / PAGE..place / PAGE + 1,
            Damage::Cut { length } => length / PAGE..count,
        }
    }

    /// Counts the records that may be lost by it.
    pub fn records(&self, pages: &[Page], original: &Original) -> usize {
        let touched = self.pages(pages.len());
        let records = |page: &Page| page.records(original);
        pages[touched].iter().map(records).sum()
    }
}

/// The pages of the database that a connection is open to.
pub fn pages(connection: &Connection, count: usize) -> Vec<Page> {
    let free = Page {
        owner: String::new(),
        kind: String::new(),
        cells: 0,
        is_index: false,
    };
    let mut pages = vec![free; count];
    let sql = "SELECT pageno, s.name, pagetype, ncell, m.type IS 'index' FROM dbstat AS s LEFT JOIN sqlite_master AS m USING (name)";
    let mut statement = connection.prepare(sql).unwrap();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let [number, cells] = [0, 3].map(|column| row.get::<_, i64>(column).unwrap() as usize);
        let [owner, kind] = [1, 2].map(|column| row.get(column).unwrap());
        pages[number - 1] = Page {
            owner,
            kind,
            cells,
            is_index: row.get(4).unwrap(),
        };
    }
    pages
}

/// Where in an interior page another page's number is, and which.
fn pointers(page: &[u8]) -> Vec<(usize, u32)> {
    let short = |place: usize| usize::from(u16::from_be_bytes([page[place], page[place + 1]]));
    let places = std::iter::once(8).chain((0..short(3)).map(|cell| short(12 + 2 * cell)));
    places
        .map(|place| {
            (
                place,
                u32::from_be_bytes(page[place..place + 4].try_into().unwrap()),
            )
        })
        .collect()
}

/// Every page zeroed; in every page some bits flipped, of its header, of its list of cells,
/// anywhere; the file cut off at borders of pages and within. Of a sample, every second page has one or
/// the other.
fn damages(whole: &[u8], pages: &[Page]) -> Vec<Damage> {
    let step = if is_complete() { 1 } else { 25 };
    let mut random = Random::new(8);
    let mut damages = Vec::new();
    for (page, Page { cells, .. }) in pages.iter().enumerate() {
        if is_complete() || page.is_multiple_of(4) {
            damages.push(Damage::Zeros { page });
        }
        let flips = if is_complete() {
            12
        } else {
            usize::from(page % 4 == 1)
        };
        let start = page * PAGE;
        let mut flip = |end: usize| {
            damages.push(Damage::Flip {
                place: start + random.below(end),
                bit: random.below(8) as u8,
            });
        };
        for number in 0..flips {
            flip(if (page + number).is_multiple_of(3) {
                12 + 2 * cells
            } else {
                PAGE
            });
        }
        if page.is_multiple_of(step) {
            damages.push(Damage::Cut { length: start });
            damages.push(Damage::Cut {
                length: start + 1 + random.below(PAGE - 1),
            });
        }
    }
    // Where one page leads to another, so that it leads to a wrong one.
    for (page, _) in pages
        .iter()
        .enumerate()
        .filter(|(page, Page { kind, .. })| *page > 0 && kind == "internal")
    {
        let leads = pointers(&whole[page * PAGE..][..PAGE])
            .into_iter()
            .flat_map(|(place, child)| {
                let is_page =
                    move |bit: &u32| (1..=pages.len() as u32).contains(&(child ^ 1 << bit));
                (0..32)
                    .filter(is_page)
                    .map(move |bit| (page * PAGE + place + 3 - bit as usize / 8, (bit % 8) as u8))
            });
        let leads: Vec<_> = leads.collect();
        let tried = if is_complete() { leads.len() } else { 2 };
        for _ in 0..tried.min(leads.len()) {
            let (place, bit) = leads[random.below(leads.len())];
            damages.push(Damage::Flip { place, bit });
        }
    }
    // The header of a derived row.
    for table in DERIVED {
        let leaf = |page: &Page| page.owner == table && page.kind == "leaf" && page.cells > 0;
        let Some(page) = pages.iter().position(leaf) else {
            continue;
        };
        let start = page * PAGE;
        let list = whole[start..].windows(2).nth(8).unwrap();
        let row = start + usize::from(u16::from_be_bytes([list[0], list[1]]));
        let step = if is_complete() { 3 } else { 107 };
        let bits = (random.below(step)..40 * 8).step_by(step);
        damages.extend(bits.map(|bit| Damage::Flip {
            place: row + bit / 8,
            bit: (bit % 8) as u8,
        }));
    }
    // The header of the file.
    let header = (0..100).step_by(if is_complete() { 1 } else { 5 });
    damages.extend(header.map(|place| Damage::Flip {
        place,
        bit: random.below(8) as u8,
    }));
    damages
}

/// The records that callers filed, without what a repair may forget, e.g. counts of returns and
/// cached answers.
fn filed(archive: &[Archived]) -> Vec<Archived> {
    let is_filed = |archived: &&Archived| !matches!(archived.record, Record::CacheEntry(_));
    let without_access = |mut archived: Archived| {
        if let Record::Memory(memory) = &mut archived.record {
            memory.access = Access::default();
        }
        archived
    };
    let filed = archive.iter().filter(is_filed).cloned();
    filed.map(without_access).collect()
}

/// The records, without the memories that tunnels end at: a rebuild removes the lost ones.
fn without_ends(archive: &[Archived]) -> Vec<Archived> {
    let without_ends = |mut archived: Archived| {
        if let Record::Tunnel(tunnel) = &mut archived.record {
            (tunnel.source.memory, tunnel.target.memory) = (None, None);
        }
        archived
    };
    archive.iter().cloned().map(without_ends).collect()
}

/// Returns whether the report of a salvage tells of the loss of this record: by its name, or as one
/// of some that are of its kind or of which the kind is not known.
fn is_told(key: &str, lost: &[String]) -> bool {
    let (_, key) = key.split_once(' ').unwrap();
    let (kind, name) = key.split_once(' ').unwrap_or((key, ""));
    let nouns: &[&str] = match kind {
        "memory" => &["memory", "text"],
        "folder" => &["name of the folder of notes"],
        "file" => &["file of notes"],
        "fact" => &["fact", "spelling of a name in facts"],
        "tunnel" => &["tunnel"],
        "setting" => &["setting"],
        "source" => &["file that memories were made from"],
        "entry" => &["cached answer"],
        "decision" => &["decision"],
        "answer" => &["answer under a key"],
        other => panic!("{other}"),
    };
    let name = name
        .rsplit_once(" key ")
        .map_or(name.to_owned(), |(_, number)| format!("key {number}"));
    lost.iter().any(|lost| {
        let is_of_kind = |noun: &&str| {
            lost.ends_with(&format!("each is a {noun}"))
                || lost.starts_with(&format!("{noun} in row "))
                || lost.starts_with(&format!("a {noun}"))
        };
        lost.contains(&format!("`{name}`"))
            || lost.contains("of what kind is not known")
            || nouns.iter().any(is_of_kind)
    })
}

/// The numbers of damages that were named, harmless, and with a loss; and what did not hold.
#[derive(Debug, Default)]
struct Tally {
    named: usize,
    harmless: usize,
    lossy: usize,
    repaired: usize,
    rebuilt: usize,
    wrong: Vec<String>,
}

impl Tally {
    fn add(&mut self, damage: &Damage, pages: &[Page], original: &Original, outcome: &Outcome) {
        let touched = &pages[damage.pages(pages.len())];
        let mut wrong = |what: String| {
            self.wrong
                .push(format!("{damage:?} in {:?}: {what}", touched.first()));
        };
        if outcome.is_named() {
            self.named += 1;
        } else {
            self.harmless += 1;
            if outcome.archive.as_ref() != Some(&original.archive) {
                wrong("there is a change, and nobody noticed".to_owned());
            }
        }
        match &outcome.fixed {
            Some(Fixed { problems, done, .. }) if !problems.is_empty() => {
                wrong(format!(
                    "{:?} was not mended by {done:?}: {problems:?}",
                    outcome.problems
                ));
            }
            Some(Fixed {
                rebuilt: None,
                archive,
                done,
                ..
            }) => {
                self.repaired += 1;
                let kept = archive.as_deref().map(filed);
                if kept != Some(filed(&original.archive)) {
                    wrong(format!("a repair in place changed records: {done:?}"));
                }
            }
            Some(Fixed {
                rebuilt: Some(rebuilt),
                archive: None,
                ..
            }) if !outcome.handed_out.is_empty() => {
                wrong(format!("there is something to rebuild: {rebuilt:?}"));
            }
            Some(Fixed {
                rebuilt: Some(_),
                archive: Some(archive),
                ..
            }) => {
                self.rebuilt += 1;
                let (rebuilt, salvaged) =
                    (without_ends(archive), without_ends(&outcome.handed_out));
                if rebuilt != salvaged {
                    let differ = rebuilt
                        .iter()
                        .zip(&salvaged)
                        .find(|(one, other)| one != other);
                    wrong(format!(
                        "a rebuild has other records than a salvage: {} of {}, {differ:?}",
                        rebuilt.len(),
                        salvaged.len()
                    ));
                }
            }
            _ => {}
        }
        // Pages that two trees lead to may be of either.
        if outcome.is_damaged
            && matches!(touched, [page] if page.is_derived())
            && matches!(damage, Damage::Zeros { .. })
        {
            wrong(format!(
                "only derived rows are lost: {:?}",
                outcome.problems
            ));
        }
        let missing = match outcome.missing(original) {
            Ok(missing) => missing,
            Err(problem) => return wrong(problem),
        };
        self.lossy += usize::from(!missing.is_empty());
        let most = damage.records(pages, original);
        let SalvageReport {
            lost, lost_more, ..
        } = &outcome.salvaged;
        assert_eq!(*lost_more, 0);
        if missing.len() > most {
            wrong(format!(
                "{} are missing, and not only {most}: {missing:?}",
                missing.len()
            ));
        }
        if !missing.is_empty() && outcome.salvaged.is_whole() {
            wrong(format!("{missing:?} are missing, and nothing says so"));
        }
        if outcome.is_damaged && outcome.salvaged.is_whole() {
            wrong(format!(
                "{:?}, and salvage says that all is whole",
                outcome.problems
            ));
        }
        if let Damage::Cut { .. } = damage {
            // An answer that holds the text of a memory goes with it.
            let goes_with = |key: &&&str| {
                let memory = key
                    .rsplit_once(" key ")
                    .map(|(_, number)| format!(" memory m-{number}"));
                memory.is_some_and(|memory| missing.iter().any(|key| key.ends_with(&memory)))
            };
            let untold: Vec<_> = missing
                .iter()
                .filter(|key| !is_told(key, lost) && !goes_with(key))
                .collect();
            if !untold.is_empty() {
                wrong(format!("{untold:?} are lost and not told of in {lost:?}"));
            }
        }
        if matches!(touched, [page] if matches!(page.owner.as_str(), "memory" | "content")) {
            let ids = missing
                .iter()
                .filter_map(|key| key.split_once("memory "))
                .map(|(_, id)| format!("`{id}`"));
            let mut unnamed = ids
                .filter(|id| !lost.iter().any(|lost| lost.contains(id.as_str())))
                .peekable();
            if unnamed.peek().is_some() {
                wrong(format!(
                    "{:?} are lost and not named in {lost:?}",
                    unnamed.collect::<Vec<_>>()
                ));
            }
        }
    }
}

#[test]
fn every_damage_of_the_database_is_noticed_and_the_rest_is_salvaged() {
    let folder = new_folder();
    let original = Original::of(fill(folder.path()));
    let database = folder.path().join("loci.db");
    let whole = fs::read(&database).unwrap();
    let connection = Connection::open(&database).unwrap();
    let pages = pages(&connection, whole.len() / PAGE);
    drop(connection);
    for kind in ["internal", "leaf", "overflow", ""] {
        assert!(
            pages.iter().any(|page| page.kind == kind),
            "there are pages of every kind: {kind}"
        );
    }
    let sound = run(
        folder.path(),
        Files {
            database: &whole,
            log: &[],
            index: &[],
        },
    );
    assert!(
        sound.handed_out == original.archive,
        "what is whole is handed out as by the store, in its order"
    );
    assert_eq!(
        sound.salvaged,
        SalvageReport {
            records: sound.salvaged.records,
            ..SalvageReport::default()
        }
    );
    assert_eq!(sound.problems, Vec::<String>::new());
    let damages = damages(&whole, &pages);
    eprintln!("{} damages of {} pages", damages.len(), pages.len());
    let tally = Mutex::new(Tally::default());
    try_each(&damages, |folder, damage| {
        let outcome = run(
            folder,
            Files {
                database: &damage.apply(&whole),
                log: &[],
                index: &[],
            },
        );
        tally
            .lock()
            .unwrap()
            .add(damage, &pages, &original, &outcome);
    });
    let Tally {
        named,
        harmless,
        lossy,
        repaired,
        rebuilt,
        wrong,
    } = tally.into_inner().unwrap();
    eprintln!(
        "{} damages of {} pages: {named} named, {harmless} harmless; {lossy} with a loss, {repaired} repaired, {rebuilt} rebuilt",
        damages.len(),
        pages.len()
    );
    assert!(
        wrong.is_empty(),
        "{} are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!(named + harmless, damages.len());
}

#[test]
fn a_database_that_is_cut_off_to_nothing_is_no_new_one() {
    let folder = new_folder();
    let expected = fill(folder.path());
    let database = folder.path().join("loci.db");
    let whole = fs::read(&database).unwrap();
    fs::write(&database, "").unwrap();
    let refused = SqliteStore::open(folder.path(), Options::default()).unwrap_err();
    assert!(
        matches!(refused, OpenError::NotADatabase { .. }),
        "{refused}"
    );
    assert!(fs::read(&database).unwrap().is_empty());
    fs::write(&database, whole).unwrap();
    assert!(archive(&open(folder.path())).unwrap() == expected);
    // Without the file, a new one is meant; and one whose making was cut off is made again.
    fs::remove_file(&database).unwrap();
    assert_eq!(archive(&open(folder.path())).unwrap(), []);
    fs::write(folder.path().join("loci.lock"), "").unwrap();
    fs::write(&database, "").unwrap();
    assert_eq!(archive(&open(folder.path())).unwrap(), []);
}
