//! Relative links in Markdown lead to files of the repository.

use pulldown_cmark::{Event, Options, Parser, Tag};

use super::{Fault, Tree};

/// A fault for each link that leads nowhere. Web addresses and anchors are not followed.
pub fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (path, text) in tree.texts("md") {
        for (event, range) in
            Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES)
                .into_offset_iter()
        {
            let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event
            else {
                continue;
            };
            if let Some(message) = broken(tree, path, &dest_url) {
                let line = text[..range.start].matches('\n').count() + 1;
                faults.push(Fault::new(format!("{path}:{line}"), message));
            }
        }
    }
    faults
}

fn broken(tree: &Tree, path: &str, link: &str) -> Option<String> {
    let target = link
        .split(['#', '?'])
        .next()
        .unwrap_or_default()
        .replace("%20", " ");
    if target.is_empty() || target.contains(':') || target.starts_with("//") {
        return None;
    }
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let Some(resolved) = resolve(folder, &target) else {
        return Some(format!("the link {link} leads out of the repository"));
    };
    (!tree.holds(&resolved))
        .then(|| format!("the link {link} leads to no file: correct it, or add {resolved}"))
}

/// The path of `target`, seen from `folder`, relative to the root; `None` above the root.
fn resolve(folder: &str, target: &str) -> Option<String> {
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
            ("docs/adr/0001.md", ""),
            ("README.md", ""),
        ]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn links_to_files_folders_and_the_web_pass() {
        let text = "[a](../adr/0001.md#why) [b](../adr/) [c](../../README.md) [d](/README.md) [root](../..)\n\
                    [e](https://example.org/x) [f](#here) [g](mailto:a@example.org) ![h][ref]\n\n[ref]: ../adr/0001.md\n\
                    `[code](nowhere.md)`\n";
        assert_eq!(faults_of(text), Vec::<String>::new());
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
