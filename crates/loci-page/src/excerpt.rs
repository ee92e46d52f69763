//! The part of a text that a question is about, with the words of the question marked.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use loci_text::analysis::{query_terms, words};
use serde::Serialize;
use utoipa::ToSchema;

/// The words of a text that are compared with a question.
const WORDS_MAX: usize = 3_000;
/// The characters that an excerpt shows before the first word that was found.
const BEFORE: usize = 60;

/// A piece of an excerpt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ExcerptPiece)]
pub(crate) struct Piece {
    pub(crate) text: String,
    /// True if it is a word of the question.
    pub(crate) is_found: bool,
}

/// The terms of a question, to mark them in many texts.
pub(crate) struct Marker {
    terms: HashSet<String>,
}

impl Marker {
    pub(crate) fn of(question: &str) -> Self {
        Marker {
            terms: query_terms(question).into_iter().collect(),
        }
    }

    /// Returns the ranges of the words of a text that the question has, too.
    fn found<'t>(&self, text: &'t str) -> Vec<Range<usize>> {
        let mut known: HashMap<&'t str, bool> = HashMap::new();
        let mut is_found = |word: &'t str| {
            *known.entry(word).or_insert_with(|| {
                query_terms(word)
                    .iter()
                    .any(|term| self.terms.contains(term))
            })
        };
        let looked_at = words(text).take(WORDS_MAX);
        looked_at
            .filter(|&(_, word)| is_found(word))
            .map(|(start, word)| start..start + word.len())
            .collect()
    }

    /// Returns at most about `characters_max` characters of a text, where most of what was asked for
    /// stands together.
    pub(crate) fn excerpt(&self, text: &str, characters_max: usize) -> Vec<Piece> {
        let text = text.trim();
        let found = self.found(text);
        let window = window(text, &found, characters_max);
        let mut pieces = Vec::new();
        let mut push = |text: &str, is_found| {
            if !text.is_empty() {
                let text = text.to_owned();
                pieces.push(Piece { text, is_found });
            }
        };
        if window.start > 0 {
            push("… ", false);
        }
        let mut at = window.start;
        for word in &found {
            if word.start >= at && word.end <= window.end {
                push(&text[at..word.start], false);
                push(&text[word.clone()], true);
                at = word.end;
            }
        }
        push(&text[at..window.end], false);
        if window.end < text.len() {
            push(" …", false);
        }
        pieces
    }
}

/// Returns the part of a text that has most of these words, of which the first stands near its
/// start; the first part of equal ones. It ends between words.
fn window(text: &str, found: &[Range<usize>], characters_max: usize) -> Range<usize> {
    let end_of = |start: usize| {
        let cut = text[start..].char_indices().nth(characters_max);
        match cut {
            None => text.len(),
            Some((length, _)) => {
                let part = &text[start..start + length];
                let space = part.rfind(char::is_whitespace);
                start + space.filter(|space| *space > 0).unwrap_or(length)
            }
        }
    };
    let start_before = |word: usize| {
        let before = text[..word].char_indices().rev().nth(BEFORE);
        match before {
            None => 0,
            Some((start, _)) => {
                let part = &text[start..word];
                let space = part.find(char::is_whitespace);
                space.map_or(start, |space| {
                    let rest = part[space..].trim_start().len();
                    word - rest
                })
            }
        }
    };
    let whole = 0..end_of(0);
    if whole.end == text.len() {
        return whole;
    }
    let starts = std::iter::once(0).chain(found.iter().map(|word| start_before(word.start)));
    let scored = starts.map(|start| {
        let window = start..end_of(start);
        let within = found
            .iter()
            .filter(|word| word.start >= window.start && word.end <= window.end);
        (within.count(), window)
    });
    // The first of the best.
    scored
        .reduce(|best, one| if one.0 > best.0 { one } else { best })
        .map_or(whole, |(_, window)| window)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(question: &str, text: &str, characters: usize) -> String {
        let pieces = Marker::of(question).excerpt(text, characters);
        let shown = pieces.into_iter().map(|piece| {
            if piece.is_found {
                format!("[{}]", piece.text)
            } else {
                piece.text
            }
        });
        shown.collect()
    }

    #[test]
    fn words_of_the_question_are_marked_where_they_stand_together() {
        let long = format!(
            "A kiln. {} The kiln fires at 1240 degrees. {}",
            "Nothing of that here. ".repeat(30),
            "And on it goes. ".repeat(30)
        );
        let rows = [
            (
                "how hot does the kiln fire",
                "The Kiln fires.",
                "The [Kiln] [fires].",
            ),
            ("marigold", "The Kiln fires.", "The Kiln fires."),
            ("", "The Kiln fires.", "The Kiln fires."),
            ("kiln", "", ""),
        ];
        for (question, text, expected) in rows {
            assert_eq!(shown(question, text, 100), expected, "{question}");
        }
        let found = shown("does the kiln fire at 1240", &long, 100);
        assert!(found.contains("[kiln] [fires] at [1240]"), "{found}");
        assert!(found.starts_with("… ") && found.ends_with(" …"), "{found}");
        assert!(found.chars().count() < 130, "{found}");
        let start = shown("marigold", &long, 20);
        assert_eq!(start, "A kiln. Nothing of …");
    }

    #[test]
    fn a_text_without_spaces_is_cut_between_characters() {
        let text = "窯".repeat(500);
        let found = shown("何", &text, 10);
        assert_eq!(found, format!("{} …", "窯".repeat(10)));
        shown("窯", &text, 10);
    }
}
