//! Relative links in Markdown, and paths that it shows as code, lead to files of the repository, and
//! anchors to headings of these files.

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::{Fault, Tree};

/// The folders whose paths are checked where they are shown as code.
const FOLDERS: [&str; 5] = ["crates/", "docs/", "packaging/", "scripts/", "xtask/"];
/// Texts about former states of the repository, whose paths may be gone.
const HISTORY: [&str; 2] = ["docs/adr/", "CHANGELOG.md"];

/// A fault for each link, and each path shown as code, that leads nowhere. Web addresses are not
/// followed.
pub fn check(tree: &Tree) -> Vec<Fault> {
    let anchors: Anchors = tree
        .texts("md")
        .map(|(path, text)| (path, anchors(text)))
        .collect();
    let mut faults = Vec::new();
    for (path, text) in tree.texts("md") {
        for (event, range) in
            Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES)
                .into_offset_iter()
        {
            let message = match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    broken(tree, &anchors, path, &dest_url)
                }
                Event::Code(code) if !HISTORY.iter().any(|old| path.starts_with(old)) => {
                    gone(tree, &code)
                }
                _ => None,
            };
            if let Some(message) = message {
                let line = text[..range.start].matches('\n').count() + 1;
                faults.push(Fault::new(format!("{path}:{line}"), message));
            }
        }
    }
    faults
}

/// The anchors of each Markdown file, by its path.
type Anchors<'a> = BTreeMap<&'a str, BTreeSet<String>>;

fn broken(tree: &Tree, anchors: &Anchors<'_>, path: &str, link: &str) -> Option<String> {
    let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = target
        .split('?')
        .next()
        .unwrap_or_default()
        .replace("%20", " ");
    if target.contains(':') || target.starts_with("//") {
        return None;
    }
    let resolved = if target.is_empty() {
        path.to_owned()
    } else {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let Some(resolved) = resolve(folder, &target) else {
            return Some(format!("the link {link} leads out of the repository"));
        };
        resolved
    };
    if !tree.holds(&resolved) {
        return Some(format!(
            "the link {link} leads to no file: correct it, or add {resolved}"
        ));
    }
    let is_missing = !anchor.is_empty()
        && anchors
            .get(resolved.as_str())
            .is_some_and(|known| !known.contains(anchor));
    is_missing.then(|| format!("the link {link} leads to no heading of {resolved}: correct it"))
}

/// The texts of the headings of a document, in order.
pub fn headings(text: &str) -> Vec<String> {
    let mut headings = Vec::new();
    let mut open = None::<String>;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => open = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => headings.extend(open.take()),
            Event::Text(part) | Event::Code(part) => {
                if let Some(heading) = &mut open {
                    heading.push_str(&part);
                }
            }
            _ => {}
        }
    }
    headings
}

/// The anchors that GitHub and mdBook give the headings of a document: the letters, digits, `_` and
/// `-` of each in lower case, `-` for a space, and a number after the second of a name.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut counts = BTreeMap::<String, usize>::new();
    headings(text)
        .iter()
        .map(|heading| {
            let kept = heading.trim().chars().filter_map(|letter| match letter {
                ' ' => Some('-'),
                '-' | '_' => Some(letter),
                _ => letter.is_alphanumeric().then_some(letter),
            });
            let name = kept.collect::<String>().to_lowercase();
            let count = counts.entry(name.clone()).or_default();
            *count += 1;
            match *count {
                1 => name,
                more => format!("{name}-{}", more - 1),
            }
        })
        .collect()
}

/// A fault if the code is a path that leads to nothing. Of a pattern, e.g. `docs/*.md`, the folder
/// counts.
fn gone(tree: &Tree, code: &str) -> Option<String> {
    let is_path = FOLDERS.iter().any(|folder| code.starts_with(folder))
        && code
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "/._-*".contains(letter));
    if !is_path {
        return None;
    }
    let fixed = code.split('*').next().unwrap_or_default();
    let place = if fixed == code {
        code.trim_end_matches('/')
    } else {
        fixed.rsplit_once('/').map_or("", |(folder, _)| folder)
    };
    (!tree.holds(place)).then(|| format!("there is no {place}: correct `{code}`"))
}

/// The path of `target`, seen from `folder`, relative to the root; `None` above the root.
pub fn resolve(folder: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = if target.starts_with('/') {
        Vec::new()
    } else {
        folder.split('/').collect()
    };
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.retain(|part| !part.is_empty());
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    parts.retain(|part| !part.is_empty());
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(text: &str) -> Vec<String> {
        let tree = Tree::from([
            ("docs/guide/start.md", text),
            ("docs/adr/0001.md", "# Why\n\n## `a_b`: it's 1\n\n## Why\n"),
            ("README.md", ""),
        ]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn links_to_files_folders_and_the_web_pass() {
        let text = "[a](../adr/0001.md#why) [b](../adr/) [c](../../README.md) [d](/README.md) [root](../..)\n\
                    [e](https://example.org/x) [f](#here-we-are) [g](mailto:a@example.org) ![h][ref]\n\n[ref]: ../adr/0001.md\n\
                    `[code](nowhere.md)`\n\n## Here, we are\n";
        assert_eq!(faults_of(text), Vec::<String>::new());
    }

    #[test]
    fn paths_in_code_that_lead_to_nothing_are_faults() {
        let text = "`docs/adr/0001.md` `docs/adr/*.md` `docs/` `docs/PAGE.md FILE` `docs/<name>` `tests/gone.rs`\n\
                    `docs/adr/2.md` `crates/gone/*.rs`\n";
        assert_eq!(
            faults_of(text),
            [
                "docs/guide/start.md:2: there is no docs/adr/2.md: correct `docs/adr/2.md`",
                "docs/guide/start.md:2: there is no crates/gone: correct `crates/gone/*.rs`"
            ]
        );
        let tree = Tree::from([("docs/adr/0001.md", "`crates/gone.rs`")]);
        assert!(check(&tree).is_empty());
    }

    #[test]
    fn anchors_of_no_heading_are_faults() {
        let known = "[a](../adr/0001.md#a_b-its-1) [b](../adr/0001.md#why-1) [c](../adr#any)";
        assert_eq!(faults_of(known), Vec::<String>::new());
        assert_eq!(
            faults_of("[a](../adr/0001.md#why-2) [b](#there)\n\n```\n# There\n```\n"),
            [
                "docs/guide/start.md:1: the link ../adr/0001.md#why-2 leads to no heading of docs/adr/0001.md: correct it",
                "docs/guide/start.md:1: the link #there leads to no heading of docs/guide/start.md: correct it",
            ]
        );
    }

    #[test]
    fn links_to_nothing_are_faults() {
        assert_eq!(
            faults_of("first\n\n[a](missing.md)\n"),
            [
                "docs/guide/start.md:3: the link missing.md leads to no file: correct it, or add docs/guide/missing.md"
            ]
        );
        assert!(faults_of("![a](../picture.png)")[0].contains("docs/picture.png"));
        assert!(faults_of("[a][b]\n\n[b]: gone.md")[0].contains("gone.md"));
        assert!(faults_of("[a](../../../other/x.md)")[0].contains("out of the repository"));
    }
}
