//! Chooses the parts of a long text that answer a question.
//!
//! The text is split into blocks: its paragraphs, a heading together with the one below it. A
//! paragraph that is too long by itself is split after lines and sentences. A block is scored by
//! the words of the query in it, each weighted by how few blocks contain it, and by its overlap
//! with the passage that the index found. One pass over the text finds the words, without stemming:
//! a word matches a term if it starts with the term and ends at most a few letters later.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};

use unicode_normalization::char::decompose_canonical;

use crate::analysis::QUERY_TERMS_MAX;
use crate::analysis::fold::{is_unspaced, is_word_character};

/// Stands in a line of its own for omitted text.
pub const GAP: &str = "\u{2026}";
/// Estimated tokens of a gap with the blank lines around it.
const GAP_TOKENS: usize = 2;
/// The bytes on either side of the passage found by the index in which words of the query are
/// searched.
const LOOKED_AT_BYTES: usize = 128 << 10;
/// The maximum bytes of a token by [`estimated_tokens`].
const TOKEN_BYTES_MAX: usize = 4;
/// The maximum estimated tokens of a piece of a paragraph that is split.
const PIECE_TOKENS_MAX: usize = 200;
/// The sizes of excerpts in which one paragraph of several lines should not displace all others: it
/// is split if it is longer than half of the room, in pieces of at most a quarter of it.
const SMALL_ROOM: RangeInclusive<usize> = 100..=600;
/// Words that start a line which defines the more indented lines below it.
const DEFINING_WORDS: [&str; 17] = [
    "abstract",
    "async",
    "class",
    "def",
    "enum",
    "export",
    "fn",
    "func",
    "function",
    "impl",
    "interface",
    "mod",
    "module",
    "pub",
    "struct",
    "trait",
    "type",
];
/// The maximum estimated tokens of an excerpt, even if there is more room, unless the given part of
/// the room is more.
const EXCERPT_TOKENS: usize = 1_000;
const PART_OF_ROOM: usize = 4;
/// The number of letters by which a word may be longer than its stem.
const ENDING_CHARACTERS_MAX: usize = 4;
/// Ends of sentences: before white space, or without it in scripts that use none.
const SENTENCE_ENDS: [&str; 6] = [". ", "! ", "? ", "\u{3002}", "\u{ff01}", "\u{ff1f}"];

/// Returns the parts of `content` that answer a query best, in the order of the text. With a
/// [`GAP`] between two parts and at either end they have at most `tokens_max` tokens by
/// [`estimated_tokens`], and of these at most 1,000 or a quarter, whichever is more. Empty for a
/// blank text.
///
/// `terms` are the terms of the query, `near` is the range of bytes of the passage that the index
/// found; an invalid range is ignored. Text far from that passage is not examined. Without terms
/// and passage the beginning is returned.
pub fn excerpt(
    content: &str,
    terms: &[String],
    near: Option<Range<usize>>,
    tokens_max: usize,
) -> Vec<Range<usize>> {
    let room = tokens_max.saturating_sub(2 * GAP_TOKENS).max(1);
    let room = room.min(EXCERPT_TOKENS.max(room / PART_OF_ROOM));
    let near = near.filter(|near| {
        content
            .get(near.clone())
            .is_some_and(|passage| !passage.is_empty())
    });
    let (from, until) = match &near {
        Some(near) => (
            near.start.saturating_sub(LOOKED_AT_BYTES),
            near.end + LOOKED_AT_BYTES,
        ),
        None if terms.is_empty() => (0, LOOKED_AT_BYTES.max(room * TOKEN_BYTES_MAX)),
        None => (0, content.len()),
    };
    let until = content.floor_char_boundary(until);
    // Start at the beginning of a line, unless the line is too long.
    let line = content[..content.floor_char_boundary(from)]
        .rfind('\n')
        .map_or(0, |end| end + 1);
    let from = if from - line <= LOOKED_AT_BYTES {
        line
    } else {
        content.floor_char_boundary(from)
    };
    let (content, near) = (
        &content[from..until],
        near.map(|near| near.start - from..near.end - from),
    );
    let blocks = blocks(content, room);
    let scores = scores(content, &blocks, terms, near);
    let is_taken = chosen(content, &blocks, &scores, room);
    let signature = signature(content, &blocks, &scores, &is_taken, room);
    let mut ranges: Vec<Range<usize>> = signature
        .map(|line| from + line.start..from + line.end)
        .into_iter()
        .collect();
    for (block, _) in blocks
        .iter()
        .zip(&is_taken)
        .filter(|(_, is_taken)| **is_taken)
    {
        match ranges.last_mut() {
            Some(last) if last.end == from + block.start => last.end = from + block.end,
            _ => ranges.push(from + block.start..from + block.end),
        }
    }
    ranges
}

/// Returns the line that defines the scope of the best block, if it comes before all chosen blocks
/// and there is room for it.
fn signature(
    content: &str,
    blocks: &[Range<usize>],
    scores: &[f64],
    is_taken: &[bool],
    room: usize,
) -> Option<Range<usize>> {
    let taken = || (0..blocks.len()).filter(|block| is_taken[*block]);
    let best = taken().max_by(|a, b| scores[*a].total_cmp(&scores[*b]).then(b.cmp(a)))?;
    let first = blocks[taken().next()?].start;
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut margin = indent(
        content[blocks[best].clone()]
            .lines()
            .find(|line| !line.trim().is_empty())?,
    );
    let mut end = content[..blocks[best].start]
        .rfind('\n')
        .map_or(0, |at| at + 1);
    while margin > 0 && end > 0 {
        let start = content[..end - 1].rfind('\n').map_or(0, |at| at + 1);
        let line = &content[start..end];
        if !line.trim().is_empty() && indent(line) < margin {
            margin = indent(line);
            let word = line
                .trim_start()
                .split(|sign: char| !sign.is_alphanumeric())
                .next()
                .unwrap_or_default();
            if DEFINING_WORDS.contains(&word) {
                let used: usize = taken()
                    .map(|block| estimated_tokens(&content[blocks[block].clone()]))
                    .sum();
                let fits = used + estimated_tokens(line) + GAP_TOKENS <= room;
                return (end <= first && fits).then_some(start..end);
            }
        }
        end = start;
    }
    None
}

/// Returns the chosen parts as one text, with a [`GAP`] for each omitted stretch.
pub fn written(content: &str, ranges: &[Range<usize>]) -> String {
    let is_left_out = |range: Range<usize>| !content[range].trim().is_empty();
    let (mut text, mut end) = (String::new(), 0);
    for range in ranges {
        let part = content[range.clone()].trim_end();
        let part = part.trim_start_matches(['\n', '\r']);
        if is_left_out(end..range.start) {
            text.push_str(GAP);
            text.push_str("\n\n");
        }
        text.push_str(part);
        text.push_str("\n\n");
        end = range.end;
    }
    if is_left_out(end..content.len()) {
        text.push_str(GAP);
    }
    text.truncate(text.trim_end().len());
    text
}

/// Estimates the tokens of a text for any model: four ASCII characters per token, every other
/// character one. The estimate is on the high side for prose.
pub fn estimated_tokens(text: &str) -> usize {
    let (mut ascii, mut others) = (0usize, 0usize);
    for character in text.chars() {
        if character.is_ascii() {
            ascii += 1;
        } else {
            others += 1;
        }
    }
    ascii.div_ceil(4) + others
}

/// Returns the end of the longest prefix that has at most this many [`estimated_tokens`], in bytes;
/// at least one character.
pub fn beginning(text: &str, tokens_max: usize) -> usize {
    // Fits with any characters.
    if text.len() <= 2 * tokens_max {
        return text.len();
    }
    let mut quarters = 0;
    let is_over = |(at, character): &(usize, char)| {
        quarters += if character.is_ascii() { 1 } else { 4 };
        quarters > tokens_max.saturating_mul(4) && *at > 0
    };
    text.char_indices()
        .find(is_over)
        .map_or(text.len(), |(at, _)| at)
}

/// Returns the end of a page that starts with the text and has at most this many
/// [`estimated_tokens`]: after a line or a sentence, else after a word, else after the last
/// character that fits. In bytes.
pub fn page_end(text: &str, tokens_max: usize) -> usize {
    let end = beginning(text, tokens_max);
    if end == text.len() {
        return end;
    }
    let head = &text[..end];
    let line = head.rfind('\n').map(|at| at + 1);
    let sentence = SENTENCE_ENDS
        .iter()
        .filter_map(|sign| Some(head.rfind(sign)? + sign.len()))
        .max();
    let word = || {
        head.rfind(char::is_whitespace)
            .map(|at| head.ceil_char_boundary(at + 1))
    };
    line.max(sentence).or_else(word).unwrap_or(end)
}

/// Returns the blocks of a text, which cover it from its first line that is not blank.
fn blocks(content: &str, room: usize) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let mut paragraph: Option<Range<usize>> = None;
    let (mut at, mut is_heading_alone, mut is_ended) = (0, false, false);
    for line in content.split_inclusive('\n') {
        let end = at + line.len();
        let is_blank = line.trim().is_empty();
        match &mut paragraph {
            None if is_blank => {}
            Some(before) if is_blank || !is_ended => {
                before.end = end;
                is_ended |= is_blank && !is_heading_alone;
                is_heading_alone &= is_blank;
            }
            _ => {
                if let Some(before) = paragraph.replace(at..end) {
                    add_block(content, before, room, &mut blocks);
                }
                is_heading_alone =
                    line.starts_with('#') && line.trim_start_matches('#').starts_with(' ');
                is_ended = false;
            }
        }
        at = end;
    }
    if let Some(last) = paragraph {
        add_block(content, last, room, &mut blocks);
    }
    blocks
}

/// Adds a paragraph, in pieces if it is longer than the room.
fn add_block(content: &str, paragraph: Range<usize>, room: usize, blocks: &mut Vec<Range<usize>>) {
    let Range { mut start, end } = paragraph;
    let is_small = SMALL_ROOM.contains(&room) && content[start..end].trim_end().contains('\n');
    let (whole, piece_tokens) = if is_small {
        (room / 2, room / 4)
    } else {
        (room, room)
    };
    if beginning(&content[start..end], whole) < end - start {
        while start < end {
            let piece =
                start..start + page_end(&content[start..end], piece_tokens.min(PIECE_TOKENS_MAX));
            start = piece.end;
            match blocks.last_mut() {
                _ if !content[piece.clone()].trim().is_empty() => blocks.push(piece),
                Some(before) if before.end == piece.start => before.end = piece.end,
                _ => {}
            }
        }
    } else {
        blocks.push(start..end);
    }
}

/// Scores how well each block answers the query.
fn scores(
    content: &str,
    blocks: &[Range<usize>],
    terms: &[String],
    near: Option<Range<usize>>,
) -> Vec<f64> {
    const WORDS: usize = QUERY_TERMS_MAX.div_ceil(u64::BITS as usize);
    // The terms that each block has, one bit for each, for blocks with any.
    let mut found: Vec<(usize, [u64; WORDS])> = Vec::new();
    let mut block = 0;
    let needles = Needles::of(terms);
    needles.find(content, &mut |at, term| {
        while blocks.get(block).is_some_and(|range| range.end <= at) {
            block += 1;
        }
        if found.last().is_none_or(|(last, _)| *last != block) {
            found.push((block, [0; WORDS]));
        }
        if let Some((_, has)) = found.last_mut() {
            has[term / u64::BITS as usize] |= 1 << (term % u64::BITS as usize);
        }
    });
    let has_term = |has: &[u64; WORDS], term: usize| {
        has[term / u64::BITS as usize] >> (term % u64::BITS as usize) & 1
    };
    let mut blocks_with = vec![0; needles.terms.len()];
    for (_, has) in &found {
        for (term, blocks) in blocks_with.iter_mut().enumerate() {
            *blocks += has_term(has, term);
        }
    }
    let weights: Vec<f64> = blocks_with
        .iter()
        .map(|blocks| 1.0 / (1.0 + (*blocks as f64).ln_1p()))
        .collect();
    let mut scores = vec![0.0; blocks.len()];
    for (block, has) in &found {
        if let Some(score) = scores.get_mut(*block) {
            *score = weights
                .iter()
                .enumerate()
                .map(|(term, weight)| weight * has_term(has, term) as f64)
                .sum();
        }
    }
    if let Some(near) = near {
        let whole = weights.iter().sum::<f64>().max(1.0);
        for (block, score) in blocks.iter().zip(&mut scores) {
            let shared = block
                .end
                .min(near.end)
                .saturating_sub(block.start.max(near.start));
            *score += whole * shared as f64 / near.len() as f64;
        }
    }
    scores
}

/// Selects the blocks to show: those with at least half of the best score, best first, as many as
/// fit; then their neighbours.
fn chosen(content: &str, blocks: &[Range<usize>], scores: &[f64], room: usize) -> Vec<bool> {
    let tokens = |block: usize| estimated_tokens(&content[blocks[block].clone()]);
    let best = scores.iter().copied().fold(0.0, f64::max);
    let mut seeds: Vec<usize> = if best > 0.0 {
        (0..blocks.len())
            .filter(|block| scores[*block] >= best / 2.0)
            .collect()
    } else {
        (0..blocks.len().min(1)).collect()
    };
    seeds.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then_with(|| a.cmp(b)));
    let mut is_taken = vec![false; blocks.len()];
    let mut used = 0;
    // The stretches that grow: the first block of each and the one after its last.
    let mut stretches: Vec<Range<usize>> = Vec::new();
    for seed in seeds {
        let cost = tokens(seed) + if used == 0 { 0 } else { GAP_TOKENS };
        // Only the first may exceed the room, because of trailing white space.
        if used == 0 || used + cost <= room {
            used += cost;
            is_taken[seed] = true;
            stretches.push(seed..seed + 1);
        }
        if used + GAP_TOKENS >= room {
            break;
        }
    }
    while !stretches.is_empty() {
        stretches.retain_mut(|stretch| {
            let mut grows = false;
            let mut take = |block: usize| {
                let cost = if is_taken[block] { 0 } else { tokens(block) };
                let fits = used + cost <= room;
                if fits {
                    used += cost;
                    is_taken[block] = true;
                    grows = true;
                }
                fits
            };
            if stretch.end < blocks.len() && take(stretch.end) {
                stretch.end += 1;
            }
            if stretch.start > 0 && take(stretch.start - 1) {
                stretch.start -= 1;
            }
            grows
        });
    }
    is_taken
}

/// Terms to search for in a text.
struct Needles {
    terms: Vec<Vec<char>>,
    by_first: HashMap<char, Vec<usize>>,
    /// True for the ASCII characters that a term starts with.
    begins: [bool; 128],
}

impl Needles {
    fn of(terms: &[String]) -> Self {
        let stem = |term: &String| {
            // The stem of "happy" is "happi".
            let is_word = term.len() > 3 && term.bytes().all(|byte| byte.is_ascii_lowercase());
            let term = if is_word {
                term.strip_suffix('i').unwrap_or(term)
            } else {
                term
            };
            term.chars().collect::<Vec<char>>()
        };
        let terms: Vec<Vec<char>> = terms
            .iter()
            .map(stem)
            .filter(|term| !term.is_empty())
            .take(QUERY_TERMS_MAX)
            .collect();
        let (mut by_first, mut begins) = (HashMap::<char, Vec<usize>>::new(), [false; 128]);
        for (place, term) in terms.iter().enumerate() {
            by_first.entry(term[0]).or_default().push(place);
            if let Some(begins) = begins.get_mut(term[0] as usize) {
                *begins = true;
            }
        }
        for of_one in by_first.values_mut() {
            // The longest term that fits comes first.
            of_one.sort_by_key(|place| Reverse(terms[*place].len()));
        }
        Needles {
            terms,
            by_first,
            begins,
        }
    }

    /// Calls `found` with the position of each word that matches a term, in order, and the index of
    /// the term.
    fn find(&self, content: &str, found: &mut dyn FnMut(usize, usize)) {
        if self.terms.is_empty() {
            return;
        }
        let bytes = content.as_bytes();
        let (mut at, mut is_inside) = (0, false);
        while let Some(&byte) = bytes.get(at) {
            if byte.is_ascii() {
                let is_word = byte.is_ascii_alphanumeric();
                // `DependencyError` has two words.
                let is_hump =
                    byte.is_ascii_uppercase() && at > 0 && bytes[at - 1].is_ascii_lowercase();
                if (!is_inside || is_hump)
                    && is_word
                    && self.begins[byte.to_ascii_lowercase() as usize]
                {
                    self.find_at(content, at, byte.to_ascii_lowercase().into(), found);
                }
                is_inside = is_word;
                at += 1;
            } else {
                let Some(character) = content[at..].chars().next() else {
                    return;
                };
                if !is_inside || is_unspaced(character) {
                    self.find_at(content, at, folded(character), found);
                }
                is_inside = is_word_character(character) && !is_unspaced(character);
                at += character.len_utf8();
            }
        }
    }

    /// Calls `found` for each term that matches the word at this position.
    fn find_at(&self, content: &str, at: usize, first: char, found: &mut dyn FnMut(usize, usize)) {
        for &term in self.by_first.get(&first).into_iter().flatten() {
            if begins_with(&content[at..], &self.terms[term]) {
                found(at, term);
            }
        }
    }
}

/// True if the text starts with a word of that term, which may end where a capital letter follows a
/// lower-case one. Hyphens and underscores within it are ignored, as in terms.
fn begins_with(text: &str, term: &[char]) -> bool {
    let mut characters = text.chars();
    let mut is_after_small = false;
    for &wanted in term {
        let is_letter = |character: &char| !matches!(character, '-' | '_') || *character == wanted;
        let Some(character) = characters.by_ref().find(is_letter) else {
            return false;
        };
        if folded(character) != wanted {
            return false;
        }
        is_after_small = character.is_lowercase();
    }
    if term.iter().any(|character| is_unspaced(*character)) {
        return true;
    }
    let goes_on = |character: &char| {
        let is_hump = is_after_small && character.is_ascii_uppercase();
        is_after_small = character.is_lowercase();
        is_word_character(*character) && !is_hump
    };
    let ending = characters
        .take_while(goes_on)
        .take(ENDING_CHARACTERS_MAX + 1);
    let is_word = term.iter().all(|character| character.is_alphabetic());
    ending.count() <= if is_word { ENDING_CHARACTERS_MAX } else { 0 }
}

/// Returns a character without case and diacritics.
fn folded(character: char) -> char {
    if character.is_ascii() {
        return character.to_ascii_lowercase();
    }
    let mut base = None;
    if !is_unspaced(character) {
        decompose_canonical(character, |part| base = base.or(Some(part)));
    }
    base.unwrap_or(character)
        .to_lowercase()
        .next()
        .unwrap_or(character)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::analysis::query_terms;

    const FILLER: &str = "The quick brown fox jumps over the lazy dog near the river bank today.";

    fn shown(content: &str, query: &str, tokens_max: usize) -> String {
        written(
            content,
            &excerpt(content, &query_terms(query), None, tokens_max),
        )
    }

    #[test]
    fn the_paragraph_with_the_words_is_shown_whole() {
        let filler = format!("{FILLER}\n\n").repeat(500);
        let wanted = "Deployments go out at four.\nThe key is in the blue safe.";
        let content = format!("{filler}{wanted}\n\n{filler}");
        let text = shown(&content, "who deployed with the key of the safe?", 30);
        assert_eq!(text, format!("{GAP}\n\n{wanted}\n\n{GAP}"));
        let text = shown(&content, "who deployed with the key of the safe?", 70);
        assert_eq!(
            text,
            format!("{GAP}\n\n{FILLER}\n\n{wanted}\n\n{FILLER}\n\n{GAP}")
        );
    }

    #[test]
    fn parts_stand_in_the_order_of_the_text() {
        let filler = format!("{FILLER}\n\n").repeat(50);
        let content = format!(
            "First the amber room.\n\n{filler}Then amber and copper.\n\n{filler}Last the copper."
        );
        let text = shown(&content, "amber copper", 30);
        assert_eq!(
            text,
            format!(
                "First the amber room.\n\n{GAP}\n\nThen amber and copper.\n\n{GAP}\n\nLast the copper."
            )
        );
    }

    #[test]
    fn a_heading_stays_with_its_text() {
        let filler = format!("{FILLER}\n\n").repeat(50);
        let content = format!("{filler}## Rollback\n\nPress the button.\n\n{filler}");
        assert_eq!(
            shown(&content, "rollback", 25),
            format!("{GAP}\n\n## Rollback\n\nPress the button.\n\n{GAP}")
        );
    }

    #[test]
    fn a_long_paragraph_is_cut_after_sentences() {
        let content = format!(
            "{} The safe is blue. {}",
            FILLER.repeat(300),
            FILLER.repeat(300)
        );
        let text = shown(&content, "safe", 230);
        let part = text
            .strip_prefix(&format!("{GAP}\n\n"))
            .and_then(|text| text.strip_suffix(&format!("\n\n{GAP}")));
        let part = part.unwrap();
        assert!(
            part.contains("The safe is blue.") && part.ends_with('.'),
            "{text}"
        );
    }

    #[test]
    fn a_part_of_code_comes_with_the_line_that_defines_it() {
        let body = "        self.count += 1\n".repeat(60);
        let content = format!(
            "import os\n\nclass Pump:\n    def start(self, harbour):\n{body}        self.open_valve()\n{body}"
        );
        let text = shown(&content, "which valve is opened", 120);
        assert!(
            text.contains("    def start(self, harbour):\n") && text.contains("self.open_valve()"),
            "{text}"
        );
        assert!(!text.contains("import os"), "{text}");
    }

    #[test]
    fn without_a_query_it_is_the_beginning() {
        let content = format!("{FILLER}\n\n").repeat(100);
        assert_eq!(
            written(&content, &excerpt(&content, &[], None, 50)),
            format!("{FILLER}\n\n{FILLER}\n\n{GAP}")
        );
        assert_eq!(excerpt(" \n\n ", &[], None, 50), []);
    }

    #[test]
    fn the_passage_of_the_index_counts_like_all_words() {
        let filler = format!("{FILLER}\n\n").repeat(50);
        let content = format!("A word.\n\n{filler}Another meaning.\n\n{filler}");
        let start = content.find("Another").unwrap();
        let terms = query_terms("word");
        let ranges = excerpt(&content, &terms, Some(start..start + 16), 24);
        assert_eq!(
            written(&content, &ranges),
            format!("A word.\n\n{GAP}\n\nAnother meaning.\n\n{GAP}")
        );
        // A range of another text, as after a change.
        let ranges = excerpt(&content, &terms, Some(content.len()..content.len() + 9), 24);
        assert_eq!(written(&content, &ranges), format!("A word.\n\n{GAP}"));
    }

    #[test]
    fn words_have_the_terms_of_the_query() {
        let rows = [
            ("happiness", "They are happy.", true),
            ("deployments", "We DEPLOYED it.", true),
            ("cafe", "Das Café hat zu.", true),
            ("ERR_4012", "It says err-4012 again.", true),
            ("4012", "It says 40123 again.", false),
            ("port", "A portfolio of shares.", false),
            ("port", "A PORTFOLIO of shares.", false),
            (
                "circular dependency",
                "raise CircularDependencyError()",
                true,
            ),
            ("東京", "昨日東京都に行った。", true),
            ("2026-03-01", "Since 2026-03-01 it is so.", true),
        ];
        for (query, text, expected) in rows {
            let mut has = false;
            Needles::of(&query_terms(query)).find(text, &mut |_, _| has = true);
            assert_eq!(has, expected, "{query} in {text}");
        }
    }

    proptest! {
        #[test]
        fn parts_are_of_the_text_and_fit(
            content in "(\\PC{0,9}|[a-e ]{1,40}|\\. |\n|\n\n|\n# ){0,60}",
            query in "[a-e ]{0,9}",
            near in (0usize..400, 0usize..400),
            tokens_max in 1usize..80,
        ) {
            let ranges = excerpt(&content, &query_terms(&query), Some(near.0..near.1), tokens_max);
            let mut end = 0;
            for range in &ranges {
                prop_assert!(end == 0 || end < range.start, "{ranges:?}");
                prop_assert!(!content[range.clone()].trim().is_empty());
                end = range.end;
            }
            prop_assert_eq!(ranges.is_empty(), content.trim().is_empty());
            let tokens = estimated_tokens(&written(&content, &ranges));
            prop_assert!(tokens <= tokens_max.max(2 * GAP_TOKENS + 1), "{tokens} of {tokens_max}");
        }
    }
}
