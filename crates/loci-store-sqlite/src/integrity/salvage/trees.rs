//! The table or index that each page belongs to, as far as the way down from the first page is
//! whole.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::types::Value;

use super::database_file::{DatabaseFile, PageKind};
use super::dbdata::{PageReader, PageRecord};
use super::{DamagedPage, Report};
use crate::failure::Result;

/// The tree that lists all others, in the first page and below it.
const LIST: &str = "sqlite_schema";

/// The trees of a database and their pages.
#[derive(Debug, Default)]
pub(crate) struct Trees {
    names: Vec<String>,
    /// For each page of the database, from number 1 on, the position of its name.
    owners: Vec<Option<u16>>,
    /// The definitions of tables, indexes and triggers, by name.
    pub(crate) definitions: BTreeMap<String, TreeDefinition>,
    /// The pages of each tree behind the end of the file, where it was cut off.
    pub(crate) missing: BTreeMap<String, MissingPages>,
    /// True if all trees are known, and every way down was whole as far as there are pages.
    pub(crate) are_whole: bool,
}

/// A definition in the list of trees.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TreeDefinition {
    pub(crate) kind: String,
    pub(crate) table: String,
    /// The SQL text; none for an index that a constraint brings.
    pub(crate) sql: Option<String>,
    /// True if it has pages.
    pub(crate) is_tree: bool,
}

/// Pages of a tree that the file ends before.
#[derive(Debug, Default)]
pub(crate) struct MissingPages {
    pub(crate) pages: BTreeSet<u32>,
    /// True if the page is among them from which all others are reached.
    pub(crate) has_root: bool,
}

impl Trees {
    /// Follows the child pointers of all trees; reports the pages that should be part of a tree and
    /// are not.
    pub(crate) fn walk(
        file: &DatabaseFile,
        reader: &PageReader,
        report: &mut Report,
    ) -> Result<Self> {
        let mut trees = Trees {
            owners: vec![None; file.pages as usize],
            are_whole: true,
            ..Trees::default()
        };
        let mut roots = Vec::new();
        for number in trees.go_down(file, reader, (LIST, 1), report)? {
            let records = reader.records(number)?;
            let expected = file.kind(number).map_or(0, |(_, cells)| cells);
            let defined: Vec<_> = records.iter().filter_map(defined).collect();
            if defined.len() < expected {
                trees.are_whole = false;
                let problem =
                    format!("it does not name all tables and indexes that {LIST} has in it");
                report.damage(DamagedPage { number, problem });
            }
            for (name, root, definition) in defined {
                roots.push((name.clone(), root));
                trees.definitions.insert(name, definition);
            }
        }
        for (name, root) in roots.iter().filter(|(_, root)| *root > 0) {
            trees.go_down(file, reader, (name, *root), report)?;
        }
        Ok(trees)
    }

    /// The name of the table or index that the page belongs to.
    pub(crate) fn owner(&self, page: u32) -> Option<&str> {
        let owner = *self.owners.get(page.checked_sub(1)? as usize)?;
        self.names.get(usize::from(owner?)).map(String::as_str)
    }

    /// Visits the pages of one tree, which has this name and root; returns its leaves.
    fn go_down(
        &mut self,
        file: &DatabaseFile,
        reader: &PageReader,
        (name, root): (&str, u32),
        report: &mut Report,
    ) -> Result<Vec<u32>> {
        let mut leaves = Vec::new();
        let Ok(owner) = u16::try_from(self.names.len()) else {
            return Ok(leaves);
        };
        let (mut waiting, mut of_table, mut is_whole) = (vec![root], None, true);
        while let Some(number) = waiting.pop() {
            let position = number.wrapping_sub(1) as usize;
            let kind = file.kind(number).map(|(kind, _)| kind);
            let problem = match (self.owners.get_mut(position), kind) {
                (None, _) if file.may_have_had(number) => {
                    // It is not known which trees it named.
                    self.are_whole &= name != LIST;
                    let missing = self.missing.entry(name.to_owned()).or_default();
                    missing.pages.insert(number);
                    missing.has_root |= number == root;
                    continue;
                }
                (None, _) => Some("it is not in the file"),
                // A page has one place. The second way to it is wrong.
                (Some(Some(_)), _) => Some("it has another place already"),
                (Some(free), None) => {
                    *free = Some(owner);
                    Some("it is not a page of a table or index")
                }
                // It belongs to another tree, which may come later.
                (Some(None), Some(kind))
                    if *of_table.get_or_insert(kind.is_of_table()) != kind.is_of_table() =>
                {
                    Some("it is of another kind")
                }
                (Some(free), Some(PageKind::TableLeaf | PageKind::IndexLeaf)) => {
                    *free = Some(owner);
                    leaves.push(number);
                    None
                }
                (Some(free), Some(_)) => {
                    *free = Some(owner);
                    waiting.extend(reader.children(number)?);
                    None
                }
            };
            if let Some(problem) = problem {
                is_whole = false;
                let problem = format!("{problem}, where {name} goes on");
                report.damage(DamagedPage { number, problem });
            }
        }
        self.are_whole &= is_whole;
        self.names.push(name.to_owned());
        Ok(leaves)
    }
}

/// The name, the first page and the definition in a row of the list of trees.
fn defined(record: &PageRecord) -> Option<(String, u32, TreeDefinition)> {
    let [
        Value::Text(kind),
        Value::Text(name),
        Value::Text(table),
        Value::Integer(root),
        sql,
    ] = &record.values[..]
    else {
        return None;
    };
    let sql = match sql {
        Value::Null => None,
        Value::Text(sql) => Some(sql.clone()),
        _ => return None,
    };
    let defined = TreeDefinition {
        kind: kind.clone(),
        table: table.clone(),
        sql,
        is_tree: *root > 0,
    };
    Some((name.clone(), u32::try_from(*root).ok()?, defined))
}
