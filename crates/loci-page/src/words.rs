//! The words in which two texts differ.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

/// The time for a comparison, after which it is coarser: a view has many comparisons.
const COMPARED_FOR: Duration = Duration::from_millis(2);

/// A part of a text beside another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) text: String,
    /// True if the other text does not have it.
    pub(crate) is_marked: bool,
}

/// Returns two texts in pieces, with the words marked that the other one lacks.
pub(crate) fn compared(one: &str, other: &str) -> [Vec<Piece>; 2] {
    let mut comparison = TextDiff::configure();
    let diff = comparison.timeout(COMPARED_FOR).diff_words(one, other);
    let mut sides: [Vec<Piece>; 2] = [Vec::new(), Vec::new()];
    for change in diff.iter_all_changes() {
        let text = change.value();
        // White space that differs is not seen, so a mark on it says nothing.
        let is_marked = change.tag() != ChangeTag::Equal && !text.trim().is_empty();
        let [left, right] = &mut sides;
        match change.tag() {
            ChangeTag::Delete => push(left, text, is_marked),
            ChangeTag::Insert => push(right, text, is_marked),
            ChangeTag::Equal => {
                push(left, text, false);
                push(right, text, false);
            }
        }
    }
    sides
}

fn push(pieces: &mut Vec<Piece>, text: &str, is_marked: bool) {
    match pieces.last_mut().filter(|last| last.is_marked == is_marked) {
        Some(last) => last.text.push_str(text),
        None => pieces.push(Piece {
            text: text.to_owned(),
            is_marked,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_differ_are_marked_on_either_side() {
        let rows = [
            (
                "opens at nine.",
                "opens at eleven.",
                "opens at [nine.]|opens at [eleven.]",
            ),
            ("a  b", "a b", "a  b|a b"),
            ("same", "same", "same|same"),
            ("", "new", "|[new]"),
        ];
        for (one, other, expected) in rows {
            let shown = compared(one, other).map(|pieces| {
                let shown = |piece: &Piece| {
                    if piece.is_marked {
                        format!("[{}]", piece.text)
                    } else {
                        piece.text.clone()
                    }
                };
                let pieces = pieces.iter().map(shown);
                pieces.collect::<String>()
            });
            assert_eq!(shown.join("|"), expected);
        }
    }
}
