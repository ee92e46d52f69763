//! Which note a link means.

use std::collections::HashMap;

use loci_core::MemoryId;
use unicode_normalization::UnicodeNormalization;

/// The notes by their names, as they were before a reconciliation and as they are after it. Upper and lower
/// case and the forms of Unicode make no difference.
#[derive(Default)]
pub(super) struct Names<'a> {
    notes: Vec<Name<'a>>,
    by_path: HashMap<String, Vec<usize>>,
    by_stem: HashMap<String, Vec<usize>>,
}

/// A path, and which note it was and is.
struct Name<'a> {
    key: String,
    before: Option<&'a MemoryId>,
    after: Option<&'a MemoryId>,
}

/// What a link means: before, and after.
pub(super) type Meaning<'a> = (Option<&'a MemoryId>, Option<&'a MemoryId>);

impl<'a> Names<'a> {
    /// Adds a file. They come in the order of paths.
    pub(super) fn add(&mut self, path: &str, before: Option<&'a MemoryId>, after: Option<&'a MemoryId>) {
        let (key, number) = (key(path), self.notes.len());
        self.by_stem.entry(stem(&key).to_owned()).or_default().push(number);
        self.by_path.entry(key.clone()).or_default().push(number);
        self.notes.push(Name { key, before, after });
    }

    /// The note that a link in the file `from` means: the one with this path, be it from the top or from the
    /// folder of the file, or else the first one whose path ends so.
    pub(super) fn meaning(&self, from: &str, link: &str) -> Meaning<'a> {
        let link = key(link.trim());
        let folder = key(from.rsplit_once('/').map_or("", |(folder, _)| folder));
        let is_relative = link.starts_with("./") || link.starts_with("../");
        let whole = joined("", &link).filter(|_| !is_relative);
        let paths = [whole.clone(), joined(&folder, &link)];
        let by_path = |path: &Option<String>| self.by_path.get(path.as_ref()?);
        let mut candidates: Vec<&[usize]> = paths.iter().filter_map(by_path).map(Vec::as_slice).collect();
        if let Some(numbers) = whole.as_deref().and_then(|whole| self.by_stem.get(stem(whole))) {
            candidates.push(numbers);
        }
        let end = whole.filter(|whole| whole.contains('/')).map(|whole| format!("/{whole}"));
        let first = |meant: fn(&Name<'a>) -> Option<&'a MemoryId>| {
            let mut notes = candidates.iter().copied().flatten().map(|number| &self.notes[*number]);
            notes.find_map(|note| {
                let is_named = paths.iter().flatten().any(|path| *path == note.key)
                    || end.as_ref().is_none_or(|end| note.key.ends_with(end.as_str()));
                meant(note).filter(|_| is_named)
            })
        };
        (first(|note| note.before), first(|note| note.after))
    }
}

/// What names are compared by: without the ending of notes.
fn key(path: &str) -> String {
    let key: String = path.nfc().flat_map(char::to_lowercase).collect();
    key.strip_suffix(".md").map(str::to_owned).unwrap_or(key)
}

fn stem(key: &str) -> &str {
    key.rsplit_once('/').map_or(key, |(_, stem)| stem)
}

/// A path from a folder on; none if it leads out of the top.
fn joined(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = if path.starts_with('/') { Vec::new() } else { folder.split('/').collect() };
    for part in path.split('/') {
        match part {
            ".." => {
                let last = parts.iter().rposition(|part| !part.is_empty())?;
                parts.truncate(last);
            }
            "." => {}
            part => parts.push(part),
        }
    }
    parts.retain(|part| !part.is_empty());
    Some(parts.join("/")).filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_mean_the_nearest_note() {
        let paths =
            ["Ideas.md", "a/Bees.md", "a/b/Deep.md", "a/index.MD", "b/Cafe\u{301}.md", "b/bees.md", "b/ideas.md"];
        let ids = paths.map(MemoryId::new);
        let mut names = Names::default();
        for (path, id) in paths.iter().zip(&ids) {
            names.add(path, None, Some(id));
        }
        let rows = [
            ("x.md", "ideas", Some("Ideas.md")),
            ("b/x.md", "Ideas", Some("Ideas.md")),
            ("b/x.md", "./Ideas.md", Some("b/ideas.md")),
            ("b/x.md", "BEES", Some("b/bees.md")),
            ("x.md", "Bees", Some("a/Bees.md")),
            ("x.md", "b/Bees.md", Some("b/bees.md")),
            ("x.md", "/b/bees", Some("b/bees.md")),
            ("x.md", "b/deep", Some("a/b/Deep.md")),
            ("a/b/x.md", "../Bees.md", Some("a/Bees.md")),
            ("a/b/x.md", "../../../Bees", None),
            ("x.md", "c/Deep", None),
            ("x.md", "CAF\u{c9}", Some("b/Cafe\u{301}.md")),
            ("x.md", "Index", Some("a/index.MD")),
            ("x.md", "", None),
            ("x.md", "/", None),
            ("x.md", "nothing", None),
        ];
        for (from, link, expected) in rows {
            let (before, after) = names.meaning(from, link);
            assert_eq!((before, after.map(MemoryId::as_str)), (None, expected), "{link} in {from}");
        }
    }
}
