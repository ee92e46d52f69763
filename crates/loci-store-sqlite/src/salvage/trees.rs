//! Which page belongs to which table or index, as far as the way down from the first page is whole.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::types::ValueRef;

use super::pages::Pages;
use super::tree_page::{Kind, Record, TreePage};
use super::{DamagedPage, Report};

/// The tree that lists all others, in the first page and below it.
const LIST: &str = "sqlite_schema";

/// The trees of a database and their pages.
#[derive(Debug, Default)]
pub(crate) struct Trees {
    names: Vec<String>,
    /// For each page of the database, from number 1 on, the place of its name.
    owners: Vec<Option<u16>>,
    /// What is said of each table, index and trigger, by its name.
    pub(crate) definitions: BTreeMap<String, Defined>,
    /// The pages of each tree behind the end of the file, where it was cut off.
    pub(crate) missing: BTreeMap<String, Missing>,
    /// Whether all trees are known, and every way down was whole as far as there are pages.
    pub(crate) are_whole: bool,
}

/// What the list of trees says of one of them, or of a trigger.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Defined {
    pub(crate) kind: String,
    pub(crate) table: String,
    /// What defines it; nothing for an index that a constraint brings.
    pub(crate) sql: Option<String>,
    /// Whether it has pages.
    pub(crate) is_tree: bool,
}

/// Pages of a tree that the file ends before.
#[derive(Debug, Default)]
pub(crate) struct Missing {
    pub(crate) pages: BTreeSet<u32>,
    /// Whether the page is among them from which all others are reached.
    pub(crate) has_root: bool,
}

impl Trees {
    /// Goes down all trees; says which pages should be of a tree and are not.
    pub(crate) fn walk(pages: &Pages, report: &mut Report) -> Self {
        let mut trees = Trees {
            owners: vec![None; pages.count as usize],
            are_whole: true,
            ..Trees::default()
        };
        let mut roots = vec![(LIST.to_owned(), 1)];
        let (mut broken, mut leads_on) = (Vec::new(), Vec::new());
        let mut definitions = BTreeMap::new();
        trees.go_down(pages, LIST.to_owned(), 1, report, &mut |number, page| {
            for place in 0..page.cells {
                let root = page.cell(place).and_then(|cell| {
                    let record = cell.record(pages)?;
                    leads_on.extend(record.leads_on);
                    let (name, root, definition) = defined(&record)?;
                    definitions.insert(name.clone(), definition);
                    Some((name, root))
                });
                broken.extend(root.is_none().then_some(number));
                roots.extend(root);
            }
        });
        trees.definitions = definitions;
        trees.are_whole &= broken.is_empty();
        broken.dedup();
        for number in broken {
            let problem = format!("it does not name all tables and indexes that {LIST} has in it");
            report.damage(DamagedPage { number, problem });
        }
        for number in leads_on {
            report.leads_on(number, LIST);
        }
        for (name, root) in roots.into_iter().skip(1).filter(|(_, root)| *root > 0) {
            trees.go_down(pages, name, root, report, &mut |_, _| {});
        }
        trees
    }

    /// The name of the table or index that the page belongs to.
    pub(crate) fn owner(&self, page: u32) -> Option<&str> {
        let owner = *self.owners.get(page.checked_sub(1)? as usize)?;
        self.names.get(usize::from(owner?)).map(String::as_str)
    }

    fn go_down(
        &mut self,
        pages: &Pages,
        name: String,
        root: u32,
        report: &mut Report,
        visit_leaf: &mut dyn FnMut(u32, &TreePage<'_>),
    ) {
        let Ok(owner) = u16::try_from(self.names.len()) else {
            return;
        };
        let mut is_whole = true;
        let mut problem = |page, what: &str| {
            is_whole = false;
            report.damage(DamagedPage {
                number: page,
                problem: format!("{what}, where {name} goes on"),
            });
        };
        // Each with the rows that it has: those after one, and up to another.
        let mut waiting = vec![(root, None, None)];
        let mut of_table = None;
        while let Some((number, above, up_to)) = waiting.pop() {
            // A page has one place. Whoever comes second is on a wrong way.
            match number
                .checked_sub(1)
                .and_then(|place| self.owners.get_mut(place as usize))
            {
                Some(free @ None) => *free = Some(owner),
                Some(Some(_)) => {
                    problem(number, "it has another place already");
                    continue;
                }
                None if pages.may_have_had(number) => {
                    // Nobody knows of which trees it told.
                    self.are_whole &= name != LIST;
                    let missing = self.missing.entry(name.clone()).or_default();
                    missing.pages.insert(number);
                    missing.has_root |= number == root;
                    continue;
                }
                None => {
                    problem(number, "it is not in the file");
                    continue;
                }
            }
            let Some(bytes) = pages.read(number) else {
                problem(number, "the disk does not give it back");
                continue;
            };
            match TreePage::parse(number, &bytes) {
                None => problem(number, "it is no page of a table or index"),
                // It belongs to another, who may come later.
                Some(page)
                    if *of_table.get_or_insert(page.kind.is_of_table())
                        != page.kind.is_of_table() =>
                {
                    self.owners[number as usize - 1] = None;
                    problem(number, "it is of another kind");
                }
                Some(page) => {
                    if !page.is_sound(above, up_to) {
                        problem(number, "its parts do not fit together");
                    }
                    if matches!(page.kind, Kind::TableLeaf | Kind::IndexLeaf) {
                        visit_leaf(number, &page);
                    }
                    let mut after = above;
                    for (child, last) in page.children() {
                        waiting.push((child, after, last.or(up_to)));
                        after = last.or(after);
                    }
                }
            }
        }
        self.are_whole &= is_whole;
        self.names.push(name);
    }
}

/// The name, the first page and the definition that a row of the list of trees has.
fn defined(record: &Record) -> Option<(String, u32, Defined)> {
    let values = record.values()?;
    let [
        ValueRef::Text(kind),
        ValueRef::Text(name),
        ValueRef::Text(table),
        ValueRef::Integer(root),
        sql,
    ] = values[..]
    else {
        return None;
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let sql = match sql {
        ValueRef::Null => None,
        ValueRef::Text(sql) => Some(text(sql)),
        _ => return None,
    };
    let defined = Defined {
        kind: text(kind),
        table: text(table),
        sql,
        is_tree: root > 0,
    };
    Some((text(name), u32::try_from(root).ok()?, defined))
}
