//! Resolves links to notes.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::iter;

use loci_core::{FileProblem, FileProblemKind, MemoryId, NoteFile};
use unicode_normalization::UnicodeNormalization;

/// The notes by their names, before and after a reconciliation. Names are compared without case and
/// in one Unicode form. Resolving a link takes a few look-ups, regardless of the number of notes.
#[derive(Default)]
pub(super) struct NoteNames<'a> {
    /// By their paths.
    paths: HashMap<&'a str, NameResolution<'a>>,
    /// By every suffix of their paths that starts at a folder or file name.
    ends: HashMap<&'a str, NameResolution<'a>>,
    /// By the words of their file names.
    words: HashMap<String, NameResolution<'a>>,
    /// By their other names.
    aliases: HashMap<String, NameResolution<'a>>,
    #[cfg(test)]
    look_ups: std::cell::Cell<usize>,
}

/// The note of a name, before and after; the first one if there are several.
pub(super) type NameResolution<'a> = (Option<&'a MemoryId>, Option<&'a MemoryId>);

impl<'a> NoteNames<'a> {
    /// Adds a file by its [key](name_key). Files must be added in the order of paths.
    pub(super) fn add(
        &mut self,
        key: &'a str,
        before: Option<&'a MemoryId>,
        after: Option<&'a MemoryId>,
    ) {
        let add = |meaning: &mut NameResolution<'a>| {
            *meaning = (meaning.0.or(before), meaning.1.or(after));
        };
        add(self.paths.entry(key).or_default());
        for start in iter::once(0).chain(key.match_indices('/').map(|(slash, _)| slash + 1)) {
            add(self.ends.entry(&key[start..]).or_default());
        }
        let words = words(key.rsplit_once('/').map_or(key, |(_, stem)| stem));
        if !words.is_empty() {
            add(self.words.entry(words).or_default());
        }
    }

    /// Adds another name of a note. Notes must be added in the order of paths.
    pub(super) fn add_alias(
        &mut self,
        alias: &str,
        before: Option<&'a MemoryId>,
        after: Option<&'a MemoryId>,
    ) {
        let meaning = self.aliases.entry(alias_key(alias)).or_default();
        *meaning = (meaning.0.or(before), meaning.1.or(after));
    }

    /// Returns the note that a link in the file with the key `from` names: the one at this path,
    /// relative to the top or to the folder of the file; otherwise the first one whose path ends
    /// with it; otherwise the first one whose file name has the same words, e.g. one that was made
    /// from the title; otherwise the first one with that other name.
    pub(super) fn meaning(&self, from: &str, link: &str) -> NameResolution<'a> {
        let alias = alias_key(link);
        let link = name_key(link.trim());
        let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
        let is_relative = link.starts_with("./") || link.starts_with("../");
        let whole = joined("", &link).filter(|_| !is_relative);
        let near = joined(folder, &link);
        let words = whole.is_some().then(|| words(&link));
        let found = [
            self.find(&self.paths, whole.as_deref()),
            self.find(&self.paths, near.as_deref()),
            self.find(&self.ends, whole.as_deref()),
            self.find(&self.words, words.as_deref()),
            self.find(&self.aliases, Some(alias.as_str())),
        ];
        let first = |meant: fn(&NameResolution<'a>) -> Option<&'a MemoryId>| {
            found.iter().flatten().find_map(meant)
        };
        (first(|meaning| meaning.0), first(|meaning| meaning.1))
    }

    #[cfg_attr(
        not(test),
        expect(clippy::unused_self, reason = "tests count the look-ups")
    )]
    fn find<K: Borrow<str> + Eq + Hash>(
        &self,
        names: &HashMap<K, NameResolution<'a>>,
        name: Option<&str>,
    ) -> Option<NameResolution<'a>> {
        #[cfg(test)]
        self.look_ups.set(self.look_ups.get() + 1);
        names.get(name?).copied()
    }
}

/// Returns the key by which names of files are compared, without the extension of notes.
pub(super) fn name_key(path: &str) -> String {
    let key: String = path.nfc().flat_map(char::to_lowercase).collect();
    key.strip_suffix(".md").map(str::to_owned).unwrap_or(key)
}

/// Returns the key by which other names are compared.
fn alias_key(alias: &str) -> String {
    let words: Vec<&str> = alias.split_whitespace().collect();
    words.join(" ").nfc().flat_map(char::to_lowercase).collect()
}

/// Returns the files with an other name that a file before them has, too, each with that problem.
pub(super) fn ambiguous_aliases(rows: &[NoteFile]) -> Vec<(String, FileProblem)> {
    let mut first: HashMap<String, &str> = HashMap::new();
    let mut problems = Vec::new();
    let is_note = |row: &&NoteFile| row.missing_since.is_none() && row.memory.is_some();
    for row in rows.iter().filter(is_note) {
        let mut others: Vec<&str> = row
            .aliases()
            .map(|alias| *first.entry(alias_key(alias)).or_insert(&row.path))
            .filter(|other| *other != row.path)
            .collect();
        others.sort_unstable();
        others.dedup();
        problems.extend(others.into_iter().map(|other| {
            let message = format!(
                "it shares an alias with `{other}`, to which links by that alias lead; give one of the two another alias, or link by the name of the file"
            );
            let kind = FileProblemKind::AmbiguousAlias;
            (row.path.clone(), FileProblem { kind, message })
        }));
    }
    problems
}

/// Returns the letters and digits of a key, with one hyphen for each other sequence between them.
fn words(key: &str) -> String {
    let words = key
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

/// Joins a path to a folder; `None` if it leads out of the top or is empty.
fn joined(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = if path.starts_with('/') {
        Vec::new()
    } else {
        folder.split('/').collect()
    };
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
        let paths = [
            "Ideas.md",
            "a/Bees.md",
            "a/b/Deep.md",
            "a/index.MD",
            "b/Cafe\u{301}.md",
            "b/bees.md",
            "b/ideas.md",
            "c/on-bees.md",
            "d/tcp-ip-notes.md",
            "e.md/near.md",
            "e.md/x.md",
        ];
        let (ids, keys) = (paths.map(MemoryId::new), paths.map(name_key));
        let mut names = NoteNames::default();
        for (key, id) in keys.iter().zip(&ids) {
            names.add(key, None, Some(id));
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
            ("x.md", "On bees", Some("c/on-bees.md")),
            ("x.md", " \u{ab}On\u{bb} Bees! ", Some("c/on-bees.md")),
            ("x.md", "TCP/IP notes", Some("d/tcp-ip-notes.md")),
            ("x.md", "c/On bees", None),
            ("x.md", "../On bees", None),
            ("x.md", "onbees", None),
            ("x.md", "\u{1f41d}", None),
            ("e.md/x.md", "./near", Some("e.md/near.md")),
        ];
        for (from, link, expected) in rows {
            let (before, after) = names.meaning(&name_key(from), link);
            assert_eq!(
                (before, after.map(MemoryId::as_str)),
                (None, expected),
                "{link} in {from}"
            );
        }
    }

    #[test]
    fn a_link_by_another_name_means_the_note_unless_a_file_has_that_name() {
        let ids = ["a.md", "b.md", "c/Bees.md"].map(MemoryId::new);
        let keys = ["a.md", "b.md", "c/Bees.md"].map(name_key);
        let mut names = NoteNames::default();
        for (key, id) in keys.iter().zip(&ids) {
            names.add(key, None, Some(id));
        }
        names.add_alias("Apiary / Hive", None, Some(&ids[0]));
        names.add_alias("apiary", None, Some(&ids[0]));
        names.add_alias("APIARY", None, Some(&ids[1]));
        names.add_alias("bees", Some(&ids[0]), Some(&ids[0]));
        let rows = [
            ("Apiary", (None, Some("a.md"))),
            (" apiary  / hive ", (None, Some("a.md"))),
            ("Bees", (Some("a.md"), Some("c/Bees.md"))),
            ("apiaries", (None, None)),
        ];
        for (link, expected) in rows {
            let (before, after) = names.meaning("x", link);
            assert_eq!(
                (before.map(MemoryId::as_str), after.map(MemoryId::as_str)),
                expected,
                "{link}"
            );
        }
    }

    /// The cost of a link does not depend on the number of files of the same name.
    #[test]
    fn a_link_costs_as_much_among_many_notes_of_one_name() {
        const FOLDERS: usize = 3_000;
        let keys: Vec<String> = (0..FOLDERS)
            .map(|number| format!("all/topic{number}/docs/index"))
            .collect();
        let ids: Vec<MemoryId> = keys.iter().map(MemoryId::new).collect();
        let mut names = NoteNames::default();
        for (key, id) in keys.iter().zip(&ids) {
            names.add(key, None, Some(id));
        }
        for (number, id) in ids.iter().enumerate() {
            assert_eq!(
                names.meaning("x", &format!("topic{number}/docs/Index.md")),
                (None, Some(id))
            );
            assert_eq!(names.meaning("x", "Index"), (None, Some(&ids[0])));
            assert_eq!(names.meaning("x", "docs/index"), (None, Some(&ids[0])));
            assert_eq!(names.meaning("x", "nowhere/index"), (None, None));
        }
        assert!(
            names.look_ups.get() <= 4 * 5 * FOLDERS,
            "{}",
            names.look_ups.get()
        );
        assert!(names.ends.len() <= 4 * FOLDERS);
    }
}
