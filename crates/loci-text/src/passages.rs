//! Splits content into passages for the index and the embedding model.
//!
//! A passage ends at the end of a paragraph or before a heading if one is near, else at the end of
//! a sentence or line, and starts with the end of the previous one, so that no sentence loses its
//! context. Short content is one passage. The topic of later passages (a title, the speaker) is
//! added to their terms by [`crate::document::terms`].

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

/// The maximum estimated model tokens of one passage. The bundled model reads 256; the margin
/// allows for the rough estimate.
pub const PASSAGE_TOKENS_MAX: usize = 200;
/// The maximum estimated model tokens that a passage repeats from the previous one.
const OVERLAP_TOKENS_MAX: usize = 40;
/// The estimated model tokens from which a passage may end with its paragraph.
const PARAGRAPH_TOKENS_MIN: usize = 120;

/// Abbreviations whose full stop does not end a sentence. Without it, sorted.
const ABBREVIATIONS: &[&str] = &[
    "Capt", "Col", "Dr", "Fig", "Gen", "Jr", "Lt", "Mr", "Mrs", "Ms", "No", "Prof", "Rev", "Sgt",
    "Sr", "St", "cf", "e.g", "fig", "i.e", "no", "vs",
];

/// The fitness of a sentence as the start of a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Border {
    /// It belongs to the previous one: after a heading, an abbreviation, the number of a list item.
    None,
    Sentence,
    Paragraph,
    Heading,
}

/// A sentence, a line, or a piece of one that is too long.
struct Sentence {
    range: Range<usize>,
    tokens: usize,
    /// The border at its beginning.
    border: Border,
}

/// Returns the ranges of bytes of the passages of `content`, in order. They cover it; at least one.
pub fn passages(content: &str) -> Vec<Range<usize>> {
    if estimated_model_tokens(content) <= PASSAGE_TOKENS_MAX {
        return vec![Range {
            start: 0,
            end: content.len(),
        }];
    }
    let sentences = sentences(content);
    let mut passages = Vec::new();
    let mut first = 0;
    while first < sentences.len() {
        let end = first + take(&sentences[first..]);
        passages.push(sentences[first].range.start..sentences[end - 1].range.end);
        if end == sentences.len() {
            break;
        }
        first = end - overlap(&sentences[first..=end]);
    }
    passages
}

/// Returns the number of leading sentences that make a passage: as many as fit (at least one),
/// fewer if a good end is near.
fn take(sentences: &[Sentence]) -> usize {
    let (mut tokens, mut best, mut last_sentence) = (0, None, None);
    for (count, sentence) in sentences.iter().enumerate() {
        if count > 0 {
            match sentence.border {
                Border::Paragraph | Border::Heading if tokens >= PARAGRAPH_TOKENS_MIN => {
                    best = Some(count);
                }
                Border::None => {}
                _ => last_sentence = Some(count),
            }
            if tokens + sentence.tokens > PASSAGE_TOKENS_MAX {
                return best.or(last_sentence).unwrap_or(count);
            }
        }
        tokens += sentence.tokens;
    }
    sentences.len()
}

/// Returns the number of sentences at the end of a passage that the next one repeats; the last of
/// `sentences` is the one after the passage. Text before a heading is never repeated below it. The
/// overlap never reaches back to the beginning of the passage, so there is always progress.
fn overlap(sentences: &[Sentence]) -> usize {
    let [_, inside @ .., next] = sentences else {
        return 0;
    };
    if next.border == Border::Heading {
        return 0;
    }
    let mut tokens = 0;
    let repeated = inside.iter().rev().take_while(|sentence| {
        tokens += sentence.tokens;
        tokens <= OVERLAP_TOKENS_MAX
    });
    repeated.count()
}

/// Returns the sentences (Unicode Annex 29; the end of a line ends one too); one that is too long
/// is split at words.
fn sentences(content: &str) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    let (mut before, mut is_code, mut is_below_heading) = ("\n", false, false);
    for (start, sentence) in content.split_sentence_bound_indices() {
        let border = match border(before, sentence) {
            _ if is_code => Border::Sentence,
            // A heading stays with its text despite blank lines between them.
            Border::Paragraph if is_below_heading => Border::None,
            border => border,
        };
        if !sentence.trim().is_empty() {
            is_below_heading = border == Border::Heading;
        }
        if before.ends_with('\n') && sentence.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        before = sentence;
        let tokens = estimated_model_tokens(sentence);
        if tokens <= PASSAGE_TOKENS_MAX {
            sentences.push(Sentence {
                range: start..start + sentence.len(),
                tokens,
                border,
            });
            continue;
        }
        let (mut piece_start, mut piece_tokens, mut border) = (start, 0, border);
        for (offset, word) in words(sentence) {
            let word_tokens = estimated_model_tokens(word);
            if piece_tokens > 0 && piece_tokens + word_tokens > PASSAGE_TOKENS_MAX {
                sentences.push(Sentence {
                    range: piece_start..start + offset,
                    tokens: piece_tokens,
                    border,
                });
                (piece_start, piece_tokens, border) = (start + offset, 0, Border::Sentence);
            }
            piece_tokens += word_tokens;
        }
        sentences.push(Sentence {
            range: piece_start..start + sentence.len(),
            tokens: piece_tokens,
            border,
        });
    }
    sentences
}

/// Returns the border between two sentences outside of code.
fn border(before: &str, sentence: &str) -> Border {
    let is_heading =
        |line: &str| line.starts_with('#') && line.trim_start_matches('#').starts_with(' ');
    let text = before.trim();
    let is_line_start = before.ends_with('\n');
    if is_line_start && is_heading(sentence) {
        Border::Heading
    } else if sentence.trim().is_empty() || is_heading(text) {
        Border::None
    } else if text.is_empty() {
        Border::Paragraph
    } else if !is_line_start && text.strip_suffix('.').is_some_and(ends_with_abbreviation) {
        Border::None
    } else {
        Border::Sentence
    }
}

/// True if the last word before a full stop is an abbreviation, an initial or the number of a list
/// item.
fn ends_with_abbreviation(text: &str) -> bool {
    let word = text.rsplit(char::is_whitespace).next().unwrap_or(text);
    let word = word.trim_start_matches(['(', '"', '\'']);
    let is_initial = word.len() == 1 && word.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_item = word.len() == text.len()
        && !word.is_empty()
        && word.bytes().all(|byte| byte.is_ascii_digit());
    is_initial || is_item || ABBREVIATIONS.binary_search(&word).is_ok()
}

/// Returns words with the white space after them; a very long word (a data URL) in pieces.
fn words(sentence: &str) -> impl Iterator<Item = (usize, &str)> {
    const PIECE_BYTES_MAX: usize = 200;
    sentence
        .split_word_bound_indices()
        .flat_map(|(start, word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                if rest.is_empty() {
                    return None;
                }
                let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES_MAX));
                let offset = start + (word.len() - rest.len());
                rest = after;
                Some((offset, piece))
            })
        })
}

/// Estimates the number of word pieces of the text in a WordPiece vocabulary: one per six ASCII
/// letters of a word, one for each other visible character. Slightly overestimates ordinary prose.
pub fn estimated_model_tokens(text: &str) -> usize {
    let (mut tokens, mut letters) = (0, 0usize);
    for character in text.chars() {
        if character.is_ascii_alphabetic() {
            if letters.is_multiple_of(6) {
                tokens += 1;
            }
            letters += 1;
        } else {
            letters = 0;
            tokens += usize::from(!character.is_whitespace());
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_content_is_one_passage() {
        assert_eq!(passages("One sentence. Another one."), vec![0..26]);
        assert_eq!(passages(""), vec![0..0]);
    }

    #[test]
    fn long_prose_is_cut_after_sentences_and_overlaps() {
        let content = "The quick brown fox jumps over the lazy dog near the river. ".repeat(60);
        let cut = passages(&content);
        assert!(cut.len() > 2);
        for passage in &cut {
            assert!(content[passage.clone()].trim_end().ends_with('.'));
        }
        for pair in cut.windows(2) {
            assert!(pair[1].start < pair[0].end, "no overlap between {pair:?}");
        }
    }

    #[test]
    fn a_passage_ends_with_a_paragraph_that_is_near() {
        let paragraph = "The quick brown fox jumps over the lazy dog. ".repeat(14);
        let content = format!("{paragraph}\n\n{paragraph}");
        let cut = passages(&content);
        assert!(content[cut[0].clone()].ends_with("\n\n"), "{cut:?}");
        assert!(cut[1].start < cut[0].end, "{cut:?}");
    }

    #[test]
    fn a_heading_begins_a_passage_and_stays_with_its_text() {
        let text = "The quick brown fox jumps over the lazy dog. ".repeat(14);
        let content = format!("# One\n{text}\n\n## Two\n\n{text}");
        let cut = passages(&content);
        assert!(
            content[cut[1].clone()].starts_with("## Two\n\nThe quick"),
            "{cut:?}"
        );
        assert_eq!(cut[0].end, cut[1].start);
    }

    #[test]
    fn borders_between_sentences() {
        let rows = [
            ("One. ", "Two.", Border::Sentence),
            ("One.\n", "Two.", Border::Sentence),
            ("\n", "Two.", Border::Paragraph),
            ("One.\n", "# Two\n", Border::Heading),
            ("One.\n", "#tag", Border::Sentence),
            ("# One\n", "Two.", Border::None),
            ("One.\n", "\n", Border::None),
            ("We met Dr. ", "Smith.", Border::None),
            ("by J. ", "Smith.", Border::None),
            ("1. ", "First.", Border::None),
            ("in 2023. ", "Then", Border::Sentence),
        ];
        for (before, sentence, expected) in rows {
            assert_eq!(
                border(before, sentence),
                expected,
                "{before:?} {sentence:?}"
            );
        }
        assert!(ABBREVIATIONS.is_sorted());
    }

    #[test]
    fn chinese_is_cut_after_sentences() {
        let content = "昨天我和朋友一起去了东京都的博物馆。".repeat(40);
        let cut = passages(&content);
        assert!(cut.len() > 2);
        assert!(
            cut.iter()
                .all(|passage| content[passage.clone()].ends_with('。')),
            "{cut:?}"
        );
    }

    proptest::proptest! {
        #[test]
        fn passages_cover_and_advance(content in "(\\PC|[a-z .\\n]|\n# |Dr\\. |```\n){0,1500}") {
            let cut = passages(&content);
            proptest::prop_assert_eq!(cut[0].start, 0);
            proptest::prop_assert_eq!(cut[cut.len() - 1].end, content.len());
            for pair in cut.windows(2) {
                proptest::prop_assert!(pair[0].start < pair[1].start && pair[1].start <= pair[0].end);
            }
            for passage in cut {
                proptest::prop_assert!(estimated_model_tokens(&content[passage]) <= PASSAGE_TOKENS_MAX + 200);
            }
        }
    }
}
