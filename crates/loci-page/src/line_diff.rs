//! The difference between two texts, line by line.

use similar::{ChangeTag, TextDiff};

/// A line of a comparison of two texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    /// Its fate.
    pub change: LineChange,
    /// The line, without its end.
    pub text: String,
}

/// The fate of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineChange {
    /// It is only in the former text.
    Removed,
    /// It is only in the later text.
    Added,
    /// It is in both.
    Same,
}

impl LineChange {
    /// Returns its name in replies.
    pub const fn name(self) -> &'static str {
        match self {
            LineChange::Removed => "removed",
            LineChange::Added => "added",
            LineChange::Same => "same",
        }
    }
}

/// Returns the lines of two texts in order, each with its fate.
///
/// ```
/// use loci_page::line_diff::{LineChange, line_diff};
///
/// let lines = line_diff("at four\nwith milk\n", "at five\nwith milk\n");
/// let told: Vec<_> = lines.iter().map(|line| (line.change.name(), &*line.text)).collect();
/// assert_eq!(told, [("removed", "at four"), ("added", "at five"), ("same", "with milk")]);
/// ```
pub fn line_diff(before: &str, after: &str) -> Vec<DiffLine> {
    TextDiff::from_lines(before, after)
        .iter_all_changes()
        .map(|change| DiffLine {
            change: match change.tag() {
                ChangeTag::Delete => LineChange::Removed,
                ChangeTag::Insert => LineChange::Added,
                ChangeTag::Equal => LineChange::Same,
            },
            text: change.value().trim_end_matches('\n').to_owned(),
        })
        .collect()
}
