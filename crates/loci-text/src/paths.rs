//! Paths of files: the marks by which the index finds memories made from a file, and the files that
//! a question names.
//!
//! A path is found by its end: `deletion.py`, `models/deletion.py` and `models/deletion` all match
//! `db/models/deletion.py`. Its folders are not terms of its content, so that a question with the
//! word "models" does not match everything in such a folder.

use crate::analysis::fold::{fold, fold_width};

/// The maximum number of paths of a query that are searched.
pub const PATHS_MAX: usize = 8;

/// The maximum number of path components of a mark.
const MARK_NAMES_MAX: usize = 4;

/// Returns the marks of a file with this path: its last components, with the file extension and, if
/// they include a folder, without it.
pub fn marks(path: &str) -> Vec<String> {
    let path = folded(path);
    let stem = stem(&path);
    let ends = |path: &str, names_min: usize| -> Vec<String> {
        (names_min..=MARK_NAMES_MAX)
            .map_while(|names| end_of(path, names).map(mark))
            .collect()
    };
    let mut marks = ends(&path, 1);
    if let Some(stem) = stem {
        marks.extend(ends(stem, 2));
    }
    marks
}

/// A path that a query names, or its end.
///
/// ```
/// use loci_text::query::Query;
///
/// let query = Query::parse("what does `models/deletion.py` do first?", jiff::civil::date(2026, 1, 1));
/// assert!(query.paths[0].is_of("db/models/deletion.py"));
/// assert!(!query.paths[0].is_of("db/other_models/deletion.py"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPath(String);

impl NamedPath {
    fn of(piece: &str) -> Option<NamedPath> {
        // The number of a line follows a colon.
        let path = piece.split_once(':').map_or(piece, |(path, _)| path);
        let path = folded(path);
        let name = path.rsplit('/').next().unwrap_or_default();
        let has_ending = name.rsplit_once('.').is_some_and(|(stem, ending)| {
            !stem.is_empty() && ending.starts_with(|first: char| first.is_alphabetic())
        });
        (path.contains('/') || has_ending).then_some(NamedPath(path))
    }

    /// True if this is the path of a file, its end, or a longer (absolute) form.
    pub fn is_of(&self, path: &str) -> bool {
        let path = folded(path);
        let is_end = |path: &str, end: &str| {
            path.strip_suffix(end)
                .is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        is_end(&path, &self.0)
            || self.0.contains('/') && stem(&path).is_some_and(|stem| is_end(stem, &self.0))
            || path.contains('/') && is_end(&self.0, &path)
    }

    /// Returns the marks of the files whose path it may be, those with the most components first.
    pub fn marks(&self) -> impl Iterator<Item = String> {
        let names_min = if self.0.contains('/') { 2 } else { 1 };
        (names_min..=MARK_NAMES_MAX)
            .rev()
            .filter_map(|names| end_of(&self.0, names).map(mark))
    }
}

/// Returns the distinct paths of a width-folded query, at most [`PATHS_MAX`].
pub(crate) fn named(query: &str) -> Vec<NamedPath> {
    let mut paths = Vec::new();
    let is_inner = |character: char| character.is_alphanumeric() || character == '_';
    for chunk in query
        .split_whitespace()
        .filter(|chunk| !chunk.contains("://"))
    {
        let Some(path) = NamedPath::of(chunk.trim_matches(|sign| !is_inner(sign))) else {
            continue;
        };
        if paths.len() < PATHS_MAX && !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

fn mark(end: &str) -> String {
    format!("@file={end}")
}

/// Folds a path, with `/` between its components and not before the first.
fn folded(path: &str) -> String {
    let path = fold(&fold_width(path)).replace('\\', "/");
    path.split('/')
        .filter(|name| !matches!(*name, "" | "." | ".."))
        .collect::<Vec<_>>()
        .join("/")
}

/// Returns the last `names` components of a folded path; `None` if it has fewer.
fn end_of(path: &str, names: usize) -> Option<&str> {
    match path.rmatch_indices('/').nth(names - 1) {
        Some((at, _)) => Some(&path[at + 1..]),
        None => (path.split('/').count() == names && !path.is_empty()).then_some(path),
    }
}

/// Returns a path without its file extension; `None` if it has no extension.
fn stem(path: &str) -> Option<&str> {
    let (stem, ending) = path.rsplit_once('.')?;
    (!ending.contains('/') && !stem.is_empty() && !stem.ends_with('/')).then_some(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_marks_of_its_ends() {
        let rows: &[(&str, &[&str])] = &[
            ("base.py", &["@file=base.py"]),
            (
                "Models/Base.py",
                &["@file=base.py", "@file=models/base.py", "@file=models/base"],
            ),
            (
                "a/b/c/d/e.rs",
                &[
                    "@file=e.rs",
                    "@file=d/e.rs",
                    "@file=c/d/e.rs",
                    "@file=b/c/d/e.rs",
                    "@file=d/e",
                    "@file=c/d/e",
                    "@file=b/c/d/e",
                ],
            ),
            ("Makefile", &["@file=makefile"]),
            ("a.b/Makefile", &["@file=makefile", "@file=a.b/makefile"]),
            ("", &[]),
        ];
        for (path, expected) in rows {
            assert_eq!(marks(path), *expected, "{path}");
        }
    }

    #[test]
    fn questions_name_files_by_the_ends_of_their_paths() {
        let rows = [
            ("what is in deletion.py?", "db/models/deletion.py", true),
            ("what is in `Deletion.py`?", "db/models/deletion.py", true),
            ("(models/deletion.py:120:4)", "db/models/deletion.py", true),
            (
                "models/deletion and its collector",
                "db/models/deletion.py",
                true,
            ),
            (r"see db\models\deletion.py.", "db/models/deletion.py", true),
            ("./db/models/deletion.py", "db/models/deletion.py", true),
            (
                "/srv/ann/shop/db/models/deletion.py",
                "db/models/deletion.py",
                true,
            ),
            (
                "/srv/ann/one/two/three/db/models/deletion.py",
                "one/two/three/db/models/deletion.py",
                true,
            ),
            ("els/deletion.py", "db/models/deletion.py", false),
            ("admin/deletion.py", "db/models/deletion.py", false),
            ("other/base.py", "base.py", false),
            ("deletion", "db/models/deletion.py", false),
            ("the models of db", "db/models/deletion.py", false),
            (
                "https://example.org/db/models/deletion.py",
                "db/models/deletion.py",
                false,
            ),
            ("deletion.rs", "db/models/deletion.py", false),
            ("version 2.3", "notes/2.3", false),
        ];
        for (query, path, expected) in rows {
            let paths = named(query);
            assert_eq!(
                paths.iter().any(|named| named.is_of(path)),
                expected,
                "{query} {path} {paths:?}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn what_names_a_file_has_a_mark_of_it(
            path in "[a-cA-C]{1,2}(/[a-c.]{1,3}){0,6}",
            before in "([a-c]/){0,3}",
            skipped in 0_usize..6,
        ) {
            let end = path.split('/').skip(skipped).collect::<Vec<_>>().join("/");
            for query in [end, format!("{before}{path}"), path.clone()] {
                for named in named(&query).into_iter().filter(|named| named.is_of(&path)) {
                    let of_path = marks(&path);
                    proptest::prop_assert!(named.marks().any(|mark| of_path.contains(&mark)), "{query} {path}");
                }
            }
        }
    }
}
