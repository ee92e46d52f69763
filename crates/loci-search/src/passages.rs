//! Cuts content into the passages that the index and the model read.
//!
//! A passage ends at the end of a sentence or paragraph where it can, and begins with the end of
//! the one before, so that no sentence loses its context. Short content is one passage.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

/// Estimated model tokens of one passage. The bundled model reads 256; the estimate is rough, so
/// there is room to spare.
pub const PASSAGE_TOKENS_MAX: usize = 200;
/// Estimated model tokens that a passage repeats of the one before.
const OVERLAP_TOKENS_MAX: usize = 40;

/// The ranges of bytes of the passages of `content`, in order. They cover it; at least one.
pub fn passages(content: &str) -> Vec<Range<usize>> {
    let sentences = sentences(content);
    let mut passages = Vec::new();
    let mut first = 0;
    while first < sentences.len() {
        let (end, _) = take(&sentences[first..], PASSAGE_TOKENS_MAX);
        let end = first + end;
        passages.push(sentences[first].0.start..sentences[end - 1].0.end);
        if end == sentences.len() {
            break;
        }
        // The overlap never reaches back to where this passage began, so there is always progress.
        let backwards = sentences[first + 1..end].iter().rev();
        let mut tokens = 0;
        let overlap = backwards.take_while(|(_, sentence_tokens)| {
            tokens += sentence_tokens;
            tokens <= OVERLAP_TOKENS_MAX
        });
        first = end - overlap.count();
    }
    if passages.is_empty() {
        passages.push(0..content.len());
    }
    passages
}

/// How many of the leading sentences fit (at least one), and their tokens.
fn take(sentences: &[(Range<usize>, usize)], tokens_max: usize) -> (usize, usize) {
    let mut tokens = 0;
    for (count, (_, sentence_tokens)) in sentences.iter().enumerate() {
        if count > 0 && tokens + sentence_tokens > tokens_max {
            return (count, tokens);
        }
        tokens += sentence_tokens;
    }
    (sentences.len(), tokens)
}

/// Sentences with their estimated tokens; one that alone is too long is cut at words.
fn sentences(content: &str) -> Vec<(Range<usize>, usize)> {
    let mut sentences = Vec::new();
    for (start, sentence) in content.split_sentence_bound_indices() {
        let tokens = estimated_model_tokens(sentence);
        if tokens <= PASSAGE_TOKENS_MAX {
            sentences.push((start..start + sentence.len(), tokens));
            continue;
        }
        let (mut piece_start, mut piece_tokens) = (start, 0);
        for (offset, word) in words(sentence) {
            let word_tokens = estimated_model_tokens(word);
            if piece_tokens > 0 && piece_tokens + word_tokens > PASSAGE_TOKENS_MAX {
                sentences.push((piece_start..start + offset, piece_tokens));
                (piece_start, piece_tokens) = (start + offset, 0);
            }
            piece_tokens += word_tokens;
        }
        sentences.push((piece_start..start + sentence.len(), piece_tokens));
    }
    sentences
}

/// Words with the white space after them; an endless word (a data URL) in pieces.
fn words(sentence: &str) -> impl Iterator<Item = (usize, &str)> {
    const PIECE_BYTES_MAX: usize = 200;
    sentence.split_word_bound_indices().flat_map(|(start, word)| {
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

/// About how many word pieces a WordPiece vocabulary makes of the text: one for six ASCII letters
/// of a word, one for each other visible character. Over-estimates ordinary prose slightly.
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

    proptest::proptest! {
        #[test]
        fn passages_cover_and_advance(content in "(\\PC|[a-z .\\n]){0,4000}") {
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
