//! Which page belongs to which table or index, as far as the way down from the first page is whole.

use rusqlite::types::ValueRef;

use super::pages::Pages;
use super::tree_page::{Kind, TreePage};
use super::{DamagedPage, Report};

/// The tree that lists all others, in the first page and below it.
const LIST: &str = "sqlite_schema";

/// The trees of a database and their pages.
#[derive(Debug, Default)]
pub(crate) struct Trees {
    names: Vec<String>,
    /// For each page of the database, from number 1 on, the place of its name.
    owners: Vec<Option<u16>>,
}

impl Trees {
    /// Goes down all trees; says which pages should be of a tree and are not.
    pub(crate) fn walk(pages: &Pages, report: &mut Report) -> Self {
        let mut trees = Trees { names: Vec::new(), owners: vec![None; pages.count as usize] };
        let mut roots = vec![(LIST.to_owned(), 1)];
        let mut broken = Vec::new();
        trees.go_down(pages, LIST.to_owned(), 1, report, &mut |number, page| {
            for place in 0..page.cells {
                let root = page.cell(place).and_then(|cell| {
                    let record = cell.record(pages)?;
                    match record.values()?.as_slice() {
                        [_, ValueRef::Text(name), _, ValueRef::Integer(root), _] => {
                            Some((String::from_utf8_lossy(name).into_owned(), u32::try_from(*root).ok()?))
                        }
                        _ => None,
                    }
                });
                broken.extend(root.is_none().then_some(number));
                roots.extend(root);
            }
        });
        broken.dedup();
        for number in broken {
            let problem = format!("it does not name all tables and indexes that {LIST} has in it");
            report.damage(DamagedPage { number, problem });
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
        let Ok(owner) = u16::try_from(self.names.len()) else { return };
        let mut problem = |page, what: &str| {
            report.damage(DamagedPage { number: page, problem: format!("{what}, where {name} goes on") });
        };
        let mut waiting = vec![root];
        let mut of_table = None;
        while let Some(number) = waiting.pop() {
            // A page has one place. Whoever comes second is on a wrong way.
            match number.checked_sub(1).and_then(|place| self.owners.get_mut(place as usize)) {
                Some(free @ None) => *free = Some(owner),
                Some(Some(_)) => {
                    problem(number, "it has another place already");
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
                Some(page) if *of_table.get_or_insert(page.kind.is_of_table()) != page.kind.is_of_table() => {
                    self.owners[number as usize - 1] = None;
                    problem(number, "it is of another kind");
                }
                Some(page) if matches!(page.kind, Kind::TableLeaf | Kind::IndexLeaf) => visit_leaf(number, &page),
                Some(page) => waiting.extend(page.children()),
            }
        }
        self.names.push(name);
    }
}
