//! What still reads of a damaged database.
//!
//! Not by statements: SQLite finds a row by the way down a tree of pages, and one broken page of
//! that way hides all that lies below it. Here every page of the file is looked at by itself, in
//! the form that <https://www.sqlite.org/fileformat2.html> describes. A row is known by its own
//! bytes: the number and the types of its columns are those of a table, and the checksum that it
//! carries is that of its values (`checksum.rs`). So rows are found whose page no tree leads to any
//! more, and a row with one flipped bit is none.
//!
//! A page counts in its newest version that a commit wrote into the write-ahead log, as far as the
//! log can be read (`log.rs`), else in that of the database file. What follows a damaged place in
//! the log is not used, though much of it may be whole: the row of a memory and its text lie in two
//! pages, and only commits without a gap say that two pages belong together.
//!
//! # What cannot be detected
//!
//! - A database file of no bytes in a folder to which nothing but the file was copied: so a
//!   database begins. Where loci made it, a mark in `loci.lock` says that there was one.
//! - Where a checkpoint has copied a log whose end was then cut off, that the database is newer
//!   than the rest of the log. Pages of two times then come together, which the checksums of texts
//!   and the check of integrity name.
//! - A log that ends exactly after a commit, or of whose last commit nothing but other bytes is
//!   left: so it would be if the machine had lost power before that commit.
//! - A page that the disk gives back as it was at an earlier time, whole: nothing in it is wrong.
//!   Where other pages say otherwise (an index, the terms of a text) the check of integrity finds
//!   it.
//! - A row that somebody wrote on purpose: the checksum finds accidents, it is no signature.
//! - Several flipped bits, further apart than 32, that leave the checksum as it was: one such row
//!   in 4,294,967,296.
//! - What lies in free space and belongs to nothing. Nothing is lost by it.
//!
//! Salvage itself knows no more of a row that is gone than indexes that are whole say. It does not
//! look into rollback journals, which loci never uses, and finds nothing in databases from before
//! schema 7, whose rows carry no checksums.

mod log;
mod pages;
mod scratch;
mod tables;
mod tree_page;
mod trees;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use loci_core::{Archived, Error, Timestamp};
use rusqlite::Connection;

use self::pages::Pages;
use self::scratch::{Scratch, TEXTS, noun};
use self::tables::Tables;
use self::tree_page::{Kind, TreePage};
use self::trees::{Missing, Trees};
use crate::failure::Result;
use crate::{checksum, identity, schema};

pub(crate) use self::log::{Log, log_of};
pub use self::log::{LogState, look_at_log};

/// Entries of each list of a report.
const LIST_MAX: usize = 1_000;

/// What was salvaged, and what not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Salvaged {
    /// Records that were handed out.
    pub records: u64,
    /// Rows that were found once more and left out, the older ones if they differ.
    pub repeated: u64,
    /// What is known to be lost, in words; at most 1,000 entries. Ids and keys may be in them,
    /// never contents.
    pub lost: Vec<String>,
    /// How many more there are of them.
    pub lost_more: u64,
    /// Pages that were found of the database.
    pub pages: u64,
    /// Pages that it had besides, as far as that is known: it was cut off.
    pub missing_pages: u64,
    /// Pages in which something is wrong, in no order; at most 1,000.
    pub damaged_pages: Vec<DamagedPage>,
    /// How many more there are of them.
    pub damaged_pages_more: u64,
    /// How far the write-ahead log was read.
    pub log: LogState,
}

impl Salvaged {
    /// Whether nothing is wrong, so that nothing can be lost.
    pub fn is_whole(&self) -> bool {
        // Of a list of which there is more, there is something.
        self.lost.is_empty()
            && self.damaged_pages.is_empty()
            && self.missing_pages == 0
            && self.log.unread == 0
    }
}

/// A page of a database in which something is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedPage {
    /// Its number; the first is 1.
    pub number: u32,
    /// What is wrong, in words.
    pub problem: String,
}

/// A report that is being written.
#[derive(Debug, Default)]
pub(crate) struct Report(Salvaged);

impl Report {
    fn damage(&mut self, page: DamagedPage) {
        if self.0.damaged_pages.len() < LIST_MAX {
            self.0.damaged_pages.push(page);
        } else {
            self.0.damaged_pages_more += 1;
        }
    }

    /// Tells of a page in which a record of this tree ends, and which says that it goes on.
    fn leads_on(&mut self, number: u32, tree: &str) {
        self.damage(DamagedPage {
            number,
            problem: format!("a record of {tree} ends in it, and it leads on"),
        });
    }

    fn lose(&mut self, what: String) {
        if self.0.lost.len() < LIST_MAX {
            self.0.lost.push(what);
        } else {
            self.0.lost_more += 1;
        }
    }
}

/// Reads all that is whole of the database in this file and of its write-ahead log, whatever else
/// is damaged, and gives it to `visit` in the order of
/// [`ArchiveStore::archive`](loci_core::ArchiveStore::archive), which also says what is left out at
/// `now`. Each record is as it was written, but for one thing: how often a memory was returned is 0
/// if that is lost. Neither file is changed; nobody else may change them meanwhile.
///
/// # Errors
/// `unavailable` if the file cannot be opened, or if there is no place for temporary files; the
/// first error of `visit`.
pub fn salvage(
    database: &Path,
    now: Timestamp,
    visit: &mut dyn FnMut(Archived) -> loci_core::Result<()>,
) -> Result<Salvaged, Error> {
    if let Some(folder) = database.parent() {
        identity::compare(folder)?;
    }
    let pages = Pages::open(database)?;
    let (scratch, mut report) = search(&pages)?;
    let records = scratch.hand_out(now, &mut report, visit)?;
    Ok(Salvaged {
        records,
        pages: u64::from(pages.count),
        log: pages.state,
        ..report.0
    })
}

/// How many rows of each table that records are made from are found in any page, whether or not a
/// tree leads to it.
pub(crate) fn found_rows(database: &Path) -> Result<BTreeMap<String, i64>> {
    let (scratch, _) = search(&Pages::open(database)?)?;
    scratch.counts()
}

/// The rows that are found in any page of a database.
#[derive(Debug)]
pub(crate) struct FoundRows(Scratch);

/// How many rows of a table were found, and how many are known to have been there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CarriedOver {
    pub(crate) found: usize,
    pub(crate) known: usize,
}

impl FoundRows {
    /// Looks for those of this database, which nobody may change meanwhile.
    pub(crate) fn of(database: &Path) -> Result<Self> {
        Ok(FoundRows(search(&Pages::open(database)?)?.0))
    }

    /// Gives them to a table of another database, for which salvage takes rows; those whose keys it
    /// has are left out.
    pub(crate) fn carry_over(&self, table: &str, to: &Connection) -> Result<CarriedOver> {
        self.0.carry_over(table, to)
    }
}

/// Whether rows of this table are what records are made from, so that salvage looks for them.
pub(crate) fn looks_for(table: &str) -> bool {
    noun(table).is_some()
}

/// Collects the rows of all pages.
fn search(pages: &Pages) -> Result<(Scratch, Report)> {
    let mut report = Report::default();
    for (number, problem) in &pages.problems {
        report.damage(DamagedPage {
            number: *number,
            problem: (*problem).to_owned(),
        });
    }
    let trees = Trees::walk(pages, &mut report);
    let (scratch, tables) = Scratch::new()?;
    if let Some(version) = pages.version {
        let wrong = scratch.wrong_definitions(&trees.definitions)?;
        if version == schema::VERSION && wrong > 0 {
            let problem =
                format!("{wrong} tables, indexes or triggers are not defined as loci defines them");
            report.damage(DamagedPage { number: 1, problem });
        }
        if version != schema::VERSION && wrong == 0 {
            let problem = format!(
                "the header says version {version}, and the tables are those of {}",
                schema::VERSION
            );
            report.damage(DamagedPage { number: 1, problem });
        }
    }
    report_missing_pages(pages, &trees, &mut report);
    let mut search = Search {
        pages,
        trees: &trees,
        tables: &tables,
        scratch: &scratch,
        report,
        later: Vec::new(),
    };
    for number in 1..=pages.count {
        search.look_at(number)?;
    }
    search.take_the_rest()?;
    let report = search.report;
    Ok((scratch, report))
}

/// Says what pages held that are not there, of which nobody can say more.
fn report_missing_pages(pages: &Pages, trees: &Trees, report: &mut Report) {
    let claimed: BTreeSet<u32> = trees
        .missing
        .values()
        .flat_map(|missing| &missing.pages)
        .copied()
        .collect();
    let claimed = claimed.len() as u64;
    let noted = pages
        .noted
        .map_or(0, |noted| u64::from(noted.saturating_sub(pages.count)));
    report.0.missing_pages = claimed.max(noted);
    for (tree, Missing { pages, has_root }) in &trees.missing {
        let Some(noun) = noun(tree) else { continue };
        // The first page of a tree may be empty; any other has a row or leads to one.
        let least = match pages.len() - usize::from(*has_root) {
            0 => String::new(),
            least => format!(", but at least {least}"),
        };
        let pages = match pages.len() {
            1 => "1 page that is".to_owned(),
            count => format!("{count} pages that are"),
        };
        report.lose(format!(
            "what was in {pages} not in the file, and below, if it is not named apart: how many is not \
             known{least}; each is a {noun}"
        ));
    }
    let unclaimed = report.0.missing_pages - claimed;
    if unclaimed > 0 && !trees.are_whole {
        report.lose(format!(
            "what was in {unclaimed} more pages that are not in the file, if it is not named apart: of what kind is not \
             known"
        ));
    }
    if pages.noted.is_none() {
        let why = "the beginning of the database, which says how many there were, cannot be read";
        report.lose(format!(
            "what may have been in pages that are not in the file, of what kind is not known: {why}"
        ));
    }
}

/// The look at every page.
struct Search<'a> {
    pages: &'a Pages,
    trees: &'a Trees,
    tables: &'a Tables,
    scratch: &'a Scratch,
    report: Report,
    /// Rows to which no tree of their table leads: whether they are texts, how new they are, their
    /// pages, and their places in them.
    later: Vec<(bool, Reverse<i64>, u32, usize)>,
}

impl Search<'_> {
    fn look_at(&mut self, number: u32) -> Result<()> {
        let owner = self.trees.owner(number);
        let bytes = self.pages.read(number);
        let Some(page) = bytes
            .as_deref()
            .and_then(|bytes| TreePage::parse(number, bytes))
        else {
            self.report_page(number, owner);
            return Ok(());
        };
        if page.kind == Kind::TableInterior {
            return Ok(());
        }
        if owner.is_some_and(|owner| self.tables.find(owner).is_none()) {
            let records = (0..page.cells).filter_map(|place| page.cell(place)?.record(self.pages));
            if records.count() < page.cells {
                let problem = "it has records that cannot be read".to_owned();
                self.report.damage(DamagedPage { number, problem });
            }
        }
        if let Some(table) = owner.and_then(Scratch::indexed) {
            for cell in (0..page.cells).filter_map(|place| page.cell(place)) {
                if let Some(record) = cell.record(self.pages) {
                    self.scratch.expect_indexed(table, &record)?;
                }
            }
        }
        // Whoever claims a page may be wrong. A row is known by its checksum.
        let owner = owner.and_then(|owner| self.tables.find(owner));
        self.take_rows(number, &page, owner)
    }

    /// Says what a page without a form may have held.
    fn report_page(&mut self, number: u32, owner: Option<&str>) {
        let table = owner
            .and_then(|owner| self.tables.find(owner))
            .map(|table| table.name.as_str());
        if let Some(noun) = table.and_then(noun) {
            self.report.lose(format!(
                "what page {number} held, if it is not named apart; each is a {noun}"
            ));
        }
    }

    fn take_rows(
        &mut self,
        number: u32,
        page: &TreePage<'_>,
        owner: Option<&tables::Table>,
    ) -> Result<()> {
        let (mut broken, mut nameless) = (0, 0);
        for place in 0..page.cells {
            let cell = page.cell(place);
            let record = cell.as_ref().and_then(|cell| cell.record(self.pages));
            let row = cell
                .as_ref()
                .zip(record.as_ref())
                .and_then(|(cell, record)| self.tables.row(cell, record));
            match (row, owner) {
                (Some(row), Some(owner)) if row.table.name == owner.name => {
                    self.report.0.repeated += u64::from(!self.scratch.insert(&row)?);
                    if let Some(page) = record.as_ref().and_then(|record| record.leads_on) {
                        self.report.leads_on(page, &owner.name);
                    }
                }
                (Some(row), _) => {
                    if self.scratch.takes(&row.table.name) {
                        self.later.push((
                            row.table.name == TEXTS,
                            Reverse(row.age()),
                            number,
                            place,
                        ));
                    }
                }
                (None, Some(owner)) => {
                    broken += 1;
                    let row = cell.and_then(|cell| cell.row);
                    if let Some(row) =
                        row.filter(|_| owner.has_row_numbers && noun(&owner.name).is_some())
                    {
                        self.scratch.expect(&owner.name, row, None)?;
                    } else {
                        nameless += 1;
                    }
                }
                (None, None) => {}
            }
        }
        if let Some(noun) = owner
            .and_then(|owner| noun(&owner.name))
            .filter(|_| nameless > 0)
        {
            self.report.lose(match nameless {
                1 => format!("a {noun}, in page {number}"),
                // A damaged page may say that it has more rows than fit into it.
                _ => format!("up to {nameless} rows in page {number}, if they are not named apart; each is a {noun}"),
            });
        }
        if let Some(owner) = owner.filter(|_| broken > 0) {
            let problem = format!(
                "{broken} of its {} rows, of {}, are not as they were written",
                page.cells, owner.name
            );
            self.report.damage(DamagedPage { number, problem });
        }
        Ok(())
    }

    /// Takes the rows to which no tree leads, if there is none with their key; the newest first.
    /// Texts come last, since the records tell which is theirs.
    fn take_the_rest(&mut self) -> Result<()> {
        self.later.sort_unstable();
        let mut found: BTreeMap<(u32, String), usize> = BTreeMap::new();
        for (_, _, number, place) in std::mem::take(&mut self.later) {
            let Some(bytes) = self.pages.read(number) else {
                continue;
            };
            let Some(cell) = TreePage::parse(number, &bytes).and_then(|page| page.cell(place))
            else {
                continue;
            };
            let record = cell.record(self.pages);
            if let Some(row) = record
                .as_ref()
                .and_then(|record| self.tables.row(&cell, record))
            {
                if self.scratch.insert(&row)? {
                    *found.entry((number, row.table.name.clone())).or_default() += 1;
                } else {
                    self.report.0.repeated += 1;
                }
            }
        }
        for ((number, table), count) in found {
            let problem = format!("no way leads to {count} rows in it, of {table}");
            self.report.damage(DamagedPage { number, problem });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
