//! Salvage: the archive of the rows of a corrupt database whose checksums hold.
//!
//! SQLite finds a row by the way down a tree of pages, and one corrupt page of that way hides all
//! rows below it. Salvage reads each page by itself instead, through SQLite's own `sqlite_dbdata`
//! (`dbdata.rs`), and collects the rows in a new database of our schema (`scratch.rs`). A row is
//! recognized by its own bytes: its fields have the number and the types of the columns of a table,
//! and the checksum that it carries is that of its values (`checksum.rs`). So rows are found whose
//! page no tree leads to any more, and a row with one flipped bit is left out.
//!
//! The commits in a write-ahead log count as far as SQLite itself recovers them
//! (`database_file.rs`).
//!
//! # What cannot be detected
//!
//! - A database file of no bytes in a folder to which only the file was copied, because a new
//!   database starts as one. Where loci made it, a mark in `loci.lock` says that there was one.
//! - Commits that a corrupt write-ahead log holds after the first corrupt byte: SQLite takes the
//!   log as ending there, as after a write that was cut off.
//! - A page that the disk returns as it was at an earlier time, whole: nothing in it is wrong.
//!   Where other pages say otherwise (an index, the terms of a text), the integrity check finds it.
//! - A row that was written on purpose: the checksum finds accidents, it is not a signature.
//! - Several flipped bits, further apart than 32, that leave the checksum as it was: one such row
//!   in 4,294,967,296.
//!
//! Salvage knows of a row that is lost only through indexes that are whole. It does not read
//! rollback journals, which loci never uses, and finds nothing in databases from before schema 7,
//! whose rows carry no checksums.

mod database_file;
mod dbdata;
mod row_formats;
mod scratch;
mod trees;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use loci_core::{Archived, Error, SalvageReport, Timestamp};
use loci_keys::Keys;

use self::database_file::{DatabaseFile, PageKind};
use self::dbdata::{PageReader, PageRecord};
use self::row_formats::{RowFormat, RowFormats};
use self::scratch::TEXTS;
pub(crate) use self::scratch::{SalvageScope, Scratch};
use self::trees::{MissingPages, Trees};
use crate::failure::Result;
use crate::integrity::doctor::integrity;
use crate::key::StoreKey;
use crate::opening::{identity, schema};
use crate::tables;
use crate::tables::TABLES;

/// Entries of each list of a report.
const LIST_MAX: usize = 1_000;
/// The first version of the schema whose rows carry checksums.
const FIRST_VERSION: i64 = 7;

/// A page of a database in which something is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DamagedPage {
    /// Its number; the first is 1.
    number: u32,
    /// The problem, in words.
    problem: String,
}

/// A report that is being written.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) salvaged: SalvageReport,
    /// Pages that the database had and that are not in the file, as far as that is known.
    missing_pages: u64,
}

impl Report {
    fn damage(&mut self, DamagedPage { number, problem }: DamagedPage) {
        self.damage_in_words(format!("page {number}: {problem}"));
    }

    fn damage_in_words(&mut self, what: String) {
        if self.salvaged.damage.len() < LIST_MAX {
            self.salvaged.damage.push(what);
        } else {
            self.salvaged.damage_more += 1;
        }
    }

    fn lose(&mut self, what: String) {
        if self.salvaged.lost.len() < LIST_MAX {
            self.salvaged.lost.push(what);
        } else {
            self.salvaged.lost_more += 1;
        }
    }
}

/// Reads all rows that are whole of the database in this file and of its write-ahead log, whatever
/// else is corrupt, and gives the records that they make to `visit` in the order of
/// [`ArchiveStore::archive`](loci_core::ArchiveStore::archive), which also says what is left out at
/// `now`. An encrypted database needs its key. Each record is as it was written, but for one thing: how often a memory was returned is 0
/// if that is lost. Neither file is changed; no process may change them while it runs.
///
/// # Errors
/// `unavailable` if the file cannot be opened, or if there is no space for temporary files; the
/// first error of `visit`.
pub fn salvage(
    database: &Path,
    keys: &Keys,
    now: Timestamp,
    visit: &mut dyn FnMut(Archived) -> loci_core::Result<()>,
) -> Result<SalvageReport, Error> {
    let key = StoreKey::beside(keys, database).map_err(Error::from)?;
    let (scratch, mut report) = collect(database, key.as_ref(), now, SalvageScope::Filed)?;
    report.salvaged.records = scratch.hand_out(now, visit)?;
    Ok(report.salvaged)
}

/// Counts the rows of each table that callers filed which are found in any page, whether or not a
/// tree leads to it.
pub(crate) fn found_rows(
    database: &Path,
    key: Option<&StoreKey>,
) -> Result<BTreeMap<&'static str, i64>> {
    let file = Arc::new(DatabaseFile::open(database, key)?);
    search(&file, SalvageScope::Filed, key.is_some())?
        .0
        .counts()
}

/// Collects the rows of a database file, and reports which are lost.
pub(crate) fn collect(
    database: &Path,
    key: Option<&StoreKey>,
    now: Timestamp,
    wanted: SalvageScope,
) -> Result<(Scratch, Report)> {
    if let Some(folder) = database.parent() {
        identity::compare(folder, key).map_err(Error::from)?;
    }
    let file = Arc::new(DatabaseFile::open(database, key)?);
    let (scratch, mut report) = search(&file, wanted, key.is_some())?;
    scratch.report_lost(now, &mut report)?;
    // A row may be lost without a trace.
    if report.salvaged.is_whole()
        && file.pages > 0
        && let Some(problem) = integrity::first_fault(file.path(), key)?
    {
        report.lose(format!(
            "rows without a trace, if any: SQLite's integrity check says: {problem}"
        ));
    }
    Ok((scratch, report))
}

/// Collects the rows of all pages.
fn search(
    file: &Arc<DatabaseFile>,
    wanted: SalvageScope,
    in_memory: bool,
) -> Result<(Scratch, Report)> {
    let mut report = Report::default();
    for (number, problem) in &file.problems {
        report.damage(DamagedPage {
            number: *number,
            problem: (*problem).to_owned(),
        });
    }
    let reader = PageReader::new(Arc::clone(file))?;
    let trees = Trees::walk(file, &reader, &mut report)?;
    let (scratch, formats) = Scratch::new(wanted, in_memory)?;
    report_version(file, &trees, &scratch, &mut report)?;
    report_missing_pages(file, &trees, &mut report);
    let mut search = Search {
        file,
        reader: &reader,
        trees: &trees,
        formats: &formats,
        scratch: &scratch,
        report,
        later: Vec::new(),
    };
    for number in 1..=file.pages {
        search.look_at(number)?;
    }
    search.take_the_rest()?;
    let report = search.report;
    Ok((scratch, report))
}

/// Reports a version of the schema that does not go with the definitions.
fn report_version(
    file: &DatabaseFile,
    trees: &Trees,
    scratch: &Scratch,
    report: &mut Report,
) -> Result<()> {
    let mut damage = |problem: String| report.damage(DamagedPage { number: 1, problem });
    let wrong = scratch.wrong_definitions(&trees.definitions)?;
    let has_just_begun = file.schema == 0 && trees.definitions.is_empty() && file.pages <= 1;
    if file.schema == schema::VERSION && wrong > 0 {
        damage(format!(
            "{wrong} tables, indexes or triggers are not defined as loci defines them"
        ));
    } else if file.schema != schema::VERSION && wrong == 0 {
        damage(format!(
            "the header says version {}, and the tables are those of {}",
            file.schema,
            schema::VERSION
        ));
    } else if (1..FIRST_VERSION).contains(&file.schema) {
        damage(
            "its rows carry no checksums, so that none is known again: the schema is older than 7"
                .to_owned(),
        );
    } else if !(FIRST_VERSION..=schema::VERSION).contains(&file.schema) && !has_just_begun {
        damage(format!(
            "the header says version {}, which this loci does not know",
            file.schema
        ));
    }
    Ok(())
}

/// Reports what pages held that are not in the file.
fn report_missing_pages(file: &DatabaseFile, trees: &Trees, report: &mut Report) {
    let claimed: BTreeSet<u32> = trees
        .missing
        .values()
        .flat_map(|missing| &missing.pages)
        .copied()
        .collect();
    let claimed = claimed.len() as u64;
    let cut_off = file
        .pages_expected
        .map_or(0, |expected| u64::from(expected.saturating_sub(file.pages)));
    report.missing_pages = claimed.max(cut_off);
    if report.missing_pages > 0 {
        report.damage_in_words(format!(
            "the file has {} pages, and {} are missing: it was cut off",
            file.pages, report.missing_pages
        ));
    }
    for (tree, MissingPages { pages, has_root }) in &trees.missing {
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
    let unclaimed = report.missing_pages - claimed;
    if unclaimed > 0 && !trees.are_whole {
        report.lose(format!(
            "what was in {unclaimed} more pages that are not in the file, if it is not named apart: of what kind is not \
             known"
        ));
    }
    if file.pages_expected.is_none() {
        let why = "the beginning of the database, which says how many there were, cannot be read";
        report.lose(format!(
            "what may have been in pages that are not in the file, of what kind is not known: {why}"
        ));
    }
}

/// One row of a table that archive records are made from, as a noun.
fn noun(table: &str) -> Option<&'static str> {
    tables::find(table)
        .filter(|table| table.is_archived)
        .map(|table| table.row)
}

/// A pass over every page.
struct Search<'a> {
    file: &'a DatabaseFile,
    reader: &'a PageReader,
    trees: &'a Trees,
    formats: &'a RowFormats,
    scratch: &'a Scratch,
    report: Report,
    /// Rows to which no tree of their table leads: whether they are texts, how new they are, their
    /// pages, and their positions there.
    later: Vec<(bool, Reverse<i64>, u32, usize)>,
}

impl Search<'_> {
    fn look_at(&mut self, number: u32) -> Result<()> {
        let owner = self.trees.owner(number);
        let Some((kind, cells)) = self.file.kind(number) else {
            self.report_page(number, owner);
            return Ok(());
        };
        if kind == PageKind::TableInterior {
            return Ok(());
        }
        let records = self.reader.records(number)?;
        let owning_format = owner.and_then(|owner| self.formats.find(owner));
        if owner.is_some() && owning_format.is_none() && records.len() < cells {
            let problem = "it has records that cannot be read".to_owned();
            self.report.damage(DamagedPage { number, problem });
        }
        let indexed = TABLES
            .iter()
            .find(|table| !table.index.is_empty() && owner == Some(table.index));
        if let Some(table) = indexed {
            for entry in &records {
                self.scratch.expect_indexed(table, entry)?;
            }
        }
        self.take_rows(number, cells, &records, owning_format)
    }

    /// Reports what a page may have held that is not a page of a tree any more.
    fn report_page(&mut self, number: u32, owner: Option<&str>) {
        let table = owner
            .and_then(|owner| self.formats.find(owner))
            .map(|format| format.name.as_str());
        if let Some(noun) = table.and_then(noun) {
            self.report.lose(format!(
                "what page {number} held, if it is not named apart; each is a {noun}"
            ));
        }
    }

    /// Takes the rows of a page that a tree of their own table leads to, and puts the others off.
    /// The tree may be wrong: a row is recognized by its checksum.
    fn take_rows(
        &mut self,
        number: u32,
        cells: usize,
        records: &[PageRecord],
        owner: Option<&RowFormat>,
    ) -> Result<()> {
        let (mut broken, mut nameless) = (0, 0);
        for position in 0..cells.max(records.len()) {
            let record = records.get(position);
            let row = record.and_then(|record| self.formats.row(record));
            match (row, owner) {
                (Some(row), Some(owner)) if row.format.name == owner.name => {
                    self.report.salvaged.repeated += u64::from(!self.scratch.insert(&row)?);
                }
                (Some(row), _) => {
                    if self.scratch.takes(&row.format.name) {
                        self.later.push((
                            row.format.name == TEXTS,
                            Reverse(row.age()),
                            number,
                            position,
                        ));
                    }
                }
                (None, Some(owner)) => {
                    broken += 1;
                    let row = record.and_then(|record| record.row);
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
                // A corrupt page may say that it has more rows than fit into it.
                _ => format!(
                    "up to {nameless} rows in page {number}, if they are not named apart; each is a {noun}"
                ),
            });
        }
        if let Some(owner) = owner.filter(|_| broken > 0) {
            let problem = format!(
                "{broken} of its {cells} rows, of {}, are not as they were written",
                owner.name
            );
            self.report.damage(DamagedPage { number, problem });
        }
        Ok(())
    }

    /// Takes the rows to which no tree leads, if no row has their key; the newest first. Texts come
    /// last, because the records tell which is theirs.
    fn take_the_rest(&mut self) -> Result<()> {
        self.later.sort_unstable();
        let mut found: BTreeMap<(u32, String), usize> = BTreeMap::new();
        for (_, _, number, position) in std::mem::take(&mut self.later) {
            let records = self.reader.records(number)?;
            let Some(row) = records
                .get(position)
                .and_then(|record| self.formats.row(record))
            else {
                continue;
            };
            if self.scratch.insert(&row)? {
                *found.entry((number, row.format.name.clone())).or_default() += 1;
            } else {
                self.report.salvaged.repeated += 1;
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
