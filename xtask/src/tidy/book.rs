//! The table of contents of the book (`docs/SUMMARY.md`) names each page of `docs` once, because
//! mdBook leaves a page that it does not name out of the book without a word.

use std::collections::BTreeMap;

use pulldown_cmark::{Event, Parser, Tag};

use super::links::{headings, resolve};
use super::{Fault, Tree};

const FOLDER: &str = "docs/";
const SUMMARY: &str = "docs/SUMMARY.md";

/// A fault for each page of `docs` without a line in the table of contents, with the line to add,
/// and for each page that has several.
pub fn check(tree: &Tree) -> Vec<Fault> {
    let summary = tree.text(SUMMARY).unwrap_or_default();
    let mut lines = BTreeMap::<String, usize>::new();
    for event in Parser::new(summary) {
        if let Event::Start(Tag::Link { dest_url, .. }) = event
            && let Some(page) = resolve(FOLDER, &dest_url)
        {
            *lines.entry(page).or_default() += 1;
        }
    }
    let pages = tree
        .texts("md")
        .filter(|(path, _)| path.starts_with(FOLDER) && *path != SUMMARY);
    pages
        .filter_map(|(path, text)| {
            let message = match lines.get(path) {
                Some(1) => return None,
                Some(count) => format!("it names {path} {count} times: leave one of the lines"),
                None => format!("it does not name {path}: add {}", line(path, text)),
            };
            Some(Fault::new(SUMMARY, message))
        })
        .collect()
}

/// The line of a page in the table of contents, e.g. `- [Models](models.md)`.
fn line(path: &str, text: &str) -> String {
    let title = headings(text).into_iter().next().unwrap_or_default();
    let link = path.strip_prefix(FOLDER).unwrap_or(path);
    format!("`- [{title}]({link})`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_without_a_line_is_a_fault_with_its_line() {
        let faults = |summary: &str| -> Vec<String> {
            let tree = Tree::from([
                (SUMMARY, summary),
                ("docs/start.md", "# First `loci` steps\n"),
                ("docs/adr/0001-a.md", "text\n"),
                ("docs/page/now.png", ""),
                ("README.md", "# loci\n"),
            ]);
            check(&tree).iter().map(ToString::to_string).collect()
        };
        let all = "# Contents\n\n[Start](start.md)\n\n# Decisions\n\n- [A](adr/0001-a.md)\n";
        assert_eq!(faults(all), Vec::<String>::new());
        assert_eq!(
            faults("- [A](adr/0001-a.md)\n- [A](./adr/0001-a.md)\n`start.md`\n"),
            [
                "docs/SUMMARY.md: it names docs/adr/0001-a.md 2 times: leave one of the lines",
                "docs/SUMMARY.md: it does not name docs/start.md: add `- [First loci steps](start.md)`",
            ]
        );
    }

    #[test]
    fn without_a_table_of_contents_each_page_is_a_fault() {
        assert_eq!(check(&Tree::from([("docs/a.md", "# A\n")])).len(), 1);
        assert_eq!(check(&Tree::from([("README.md", "# A\n")])), []);
    }
}
