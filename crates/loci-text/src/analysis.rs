//! Analyses text into terms: one function for indexed text and for queries, so that both sides
//! always agree.
//!
//! A text is split at white space and brackets into pieces, a piece into words, a word into parts
//! at changes of case and between letters and digits. A piece or word with several parts is kept
//! whole *and* split, so `ERR_4012`, `src/lib.rs:120` and `CamelCase` are found exactly and by
//! their parts. The whole form has no hyphens and underscores: `user_name`, `user-name` and
//! `userName` are the same term. All terms are folded (case, width, diacritics); words are stemmed
//! with a Snowball stemmer, in the Latin script as English; English contractions become their first
//! word; number words become digits, and a full date in any format is found as `2023-05-07` and by
//! month and day.
//!
//! A text in another language of the Latin script ([`Language`]) also has the stems of that
//! language, where they differ; a query in that language looks for both. All queries find texts
//! that are taken for English as before.
//!
//! Runs of scripts without spaces (Chinese, Japanese, Korean, Thai, Lao, Burmese, Khmer) become
//! overlapping pairs of characters. Where a single character may be a word (Chinese, Korean), it is
//! indexed too; a query looks for it only where it is a word by itself.
//!
//! Symbols such as emoji and arrows are terms that count like stop words: a query of symbols finds
//! the texts that have them, and beside words they say nothing.
//!
//! Stop words are indexed like any other word. A query drops the stop words of its language, and
//! all stop words of scripts other than Latin, unless nothing else remains.
//!
//! Not supported on purpose: numbers of several words ("two hundred"), `ue` for `ü`.

pub(crate) mod fold;
pub(crate) mod language;
mod symbols;
pub(crate) mod units;
pub(crate) mod vocabulary;

use std::cell::RefCell;
use std::collections::HashMap;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_segmentation::UnicodeSegmentation;

use crate::dates::{self, MONTHS};
use fold::{clusters, fold, fold_width, is_word_character, may_be_a_word, without_arabic_article};
use language::{is_function_word_of_script, is_stop_word, stemmer_of_script};
use symbols::symbols;
use units::{Unit, parts, units};
use vocabulary::{hyphenated_number, number, without_contraction};

pub use language::Language;

/// The version of the analysis, incremented when the terms of the same text change, so that stored
/// texts can be analysed again.
pub const VERSION: u32 = 5;

/// The maximum length of a term in bytes; longer terms are truncated and match by their common
/// prefix.
const TERM_BYTES_MAX: usize = 64;

/// The maximum number of terms of a query; further ones are dropped.
pub const QUERY_TERMS_MAX: usize = 256;

/// The maximum length of an identifier in bytes. A longer piece is encoded data: its words are
/// terms, but not the whole and not their parts.
const IDENTIFIER_BYTES_MAX: usize = 512;

/// The use of a term in queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Topic,
    StopWord,
    /// Matches only a query for exactly this term, never a part of a longer query.
    IndexOnly,
}

/// The terms of texts with the number of times that each occurs, in order of first occurrence.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    places: HashMap<String, usize>,
    pub(crate) terms: Vec<(String, u32)>,
}

impl Counts {
    /// Adds the terms of a text and, if a language is given, its stems in that language.
    pub(crate) fn add(&mut self, text: &str, language: Option<Language>) {
        analyse(text, &mut |term, _| self.count(term));
        if let Some(language) = language {
            own_stems(text, language, &mut |stem| self.count(stem));
        }
    }

    fn count(&mut self, term: &str) {
        if let Some(&place) = self.places.get(term) {
            self.terms[place].1 += 1;
        } else {
            self.places.insert(term.to_owned(), self.terms.len());
            self.terms.push((term.to_owned(), 1));
        }
    }
}

/// Returns the terms of texts with the number of times that each occurs, in order of first
/// occurrence.
pub fn term_counts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<(String, u32)> {
    let mut counts = Counts::default();
    texts
        .into_iter()
        .for_each(|text| counts.add(text, Language::other_latin(text)));
    counts.terms
}

/// Returns the distinct terms of a query, at most [`QUERY_TERMS_MAX`]: stop words are dropped
/// unless nothing else remains.
pub fn query_terms(query: &str) -> Vec<String> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut all: Vec<(String, Use)> = Vec::new();
    analyse(query, &mut |term, used_for| match places.get(term) {
        _ if used_for == Use::IndexOnly => {}
        // "US" beside "us".
        Some(&place) if used_for == Use::Topic => all[place].1 = Use::Topic,
        Some(_) => {}
        None => {
            places.insert(term.to_owned(), all.len());
            all.push((term.to_owned(), used_for));
        }
    });
    if let Some(language) = Language::other_latin(query) {
        for (term, used_for) in uses_in(language, query) {
            match places.get(&term) {
                Some(&place) => all[place].1 = used_for,
                None => all.push((term, used_for)),
            }
        }
    }
    let has_topic = all.iter().any(|(_, used_for)| *used_for == Use::Topic);
    let useful = all
        .into_iter()
        .filter(|(_, used_for)| !has_topic || *used_for == Use::Topic);
    useful.map(|(term, _)| term).take(QUERY_TERMS_MAX).collect()
}

/// Returns the terms of a query in a language other than English, and their stems in that language.
/// A term is a stop word if all of its words are.
fn uses_in(language: Language, query: &str) -> Vec<(String, Use)> {
    let mut uses: Vec<(String, Use)> = Vec::new();
    let mut add =
        |term: String, used_for: Use| match uses.iter_mut().find(|(known, _)| *known == term) {
            Some((_, known)) if used_for == Use::Topic => *known = Use::Topic,
            Some(_) => {}
            None => uses.push((term, used_for)),
        };
    let use_of = |folded: &str| {
        let is_stop_word = language.has_function_word(folded) || is_function_word_of_script(folded);
        if is_stop_word {
            Use::StopWord
        } else {
            Use::Topic
        }
    };
    for chunk in fold_width(query).split_whitespace() {
        if units(chunk).any(|(_, unit)| matches!(unit, Unit::Run(_))) {
            continue;
        }
        let words: Vec<String> = units(chunk).map(|(_, unit)| fold(unit.text())).collect();
        let parts = || {
            words
                .iter()
                .flat_map(|word| word.split('\''))
                .filter(|part| !part.is_empty())
        };
        // "qu'est-ce"
        if words.len() > 1 && parts().all(|part| use_of(part) == Use::StopWord) {
            analyse(chunk, &mut |term, _| add(term.to_owned(), Use::StopWord));
        }
        // "l'appartement"
        for (word, (head, _)) in words
            .iter()
            .filter_map(|word| Some((word, word.split_once('\'')?)))
        {
            if let Some(term) = term_of_unit(&word.replace('\'', "")) {
                add(term, use_of(head));
            }
        }
        for part in parts() {
            if let Some(term) = term_of_unit(part) {
                add(term, use_of(part));
            }
        }
    }
    own_stems(query, language, &mut |stem| {
        add(stem.to_owned(), Use::Topic);
    });
    uses
}

/// Calls `emit` with the stem of each word in a language of the Latin script, if the stem differs
/// from the word's term and the word is not a function word.
fn own_stems(text: &str, language: Language, emit: &mut impl FnMut(&str)) {
    let Some(algorithm) = language.stemmer() else {
        return;
    };
    for (_, unit) in units(&fold_width(text)) {
        let Unit::Word(word) = unit else { continue };
        let word = word.rsplit(['\'', '\u{2019}']).next().unwrap_or(word);
        let mut letters = word.chars();
        let is_ordinary =
            letters.next().is_some_and(char::is_alphabetic) && letters.all(char::is_lowercase);
        let folded = fold(word);
        if !is_ordinary || word.len() > TERM_BYTES_MAX || language.has_function_word(&folded) {
            continue;
        }
        let term = term_of_unit(&folded);
        let stem = with_stem(algorithm, &word.to_lowercase(), fold);
        if !stem.is_empty() && term.is_none_or(|term| term != stem) {
            emit(kept(&stem));
        }
    }
}

/// Returns the words of a text (Unicode Annex 29) and the bytes at which they start. In scripts
/// without spaces between words, most characters count as a word.
pub fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.unicode_word_indices()
}

/// Returns the sentences of a text (Unicode Annex 29) without surrounding white space; the end of a
/// line ends a sentence too.
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split_sentence_bounds()
        .map(str::trim)
        .filter(|sentence| !sentence.is_empty())
}

/// Calls `emit` with each term of the text.
fn analyse(text: &str, emit: &mut impl FnMut(&str, Use)) {
    // Folding can remove all of a word that consists of diacritics.
    let emit = &mut |term: &str, used_for| {
        if !term.is_empty() {
            emit(kept(term), used_for);
        }
    };
    let text = fold_width(text);
    for chunk in text.split_whitespace() {
        if is_plain_word(chunk) {
            word(chunk, emit);
        } else {
            pieces(chunk, emit);
            symbols(chunk, &mut |symbol| emit(symbol, Use::StopWord));
        }
    }
    if text.bytes().any(|byte| byte.is_ascii_digit()) {
        full_dates(&text, emit);
    }
}

/// Truncates a term to its maximum length.
fn kept(term: &str) -> &str {
    &term[..term.floor_char_boundary(TERM_BYTES_MAX)]
}

/// Returns true in the common case of one lower-case ASCII word, which needs no folding.
fn is_plain_word(chunk: &str) -> bool {
    chunk.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Signs that an identifier, a path or an address may contain.
const INNER_SIGNS: &str = "_-.:/\\@#+&'\u{2019}~%=?$,";
/// The signs among these characters that do not end a stretch (`docs.rs`, `snake_case`, `R&D`).
const JOINING_SIGNS: &str = "_-.&+'\u{2019},";

/// Splits the text between white space: at brackets, quotes and the like, at doubled dots and
/// hyphens, and at commas between words.
fn pieces(chunk: &str, emit: &mut impl FnMut(&str, Use)) {
    let mut rest = chunk;
    while let Some(start) = rest.find(is_word_character) {
        let mut end = rest.len();
        let mut before = ' ';
        for (at, character) in rest[start..].char_indices() {
            let is_inner = is_word_character(character) || INNER_SIGNS.contains(character);
            let is_doubled = matches!(character, '.' | '-') && before == character;
            let ends_here = character == ','
                && !(before.is_ascii_digit()
                    && rest[start + at + 1..].starts_with(|next: char| next.is_ascii_digit()));
            if !is_inner || is_doubled || ends_here {
                end = start + at;
                break;
            }
            before = character;
        }
        let piece = rest[start..end].trim_end_matches(|character| !is_word_character(character));
        with_signs(rest, start, piece, emit);
        if piece.len() > 10 && dates::iso_date(piece).is_some() {
            emit(&piece[..10], Use::Topic);
        }
        compound(piece, emit);
        rest = &rest[end.max(start + piece.len())..];
    }
}

/// Emits names that start or end with a sign: `C++`, `C#`, `.NET`, `.env`.
fn with_signs(text: &str, start: usize, piece: &str, emit: &mut impl FnMut(&str, Use)) {
    if !piece.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return;
    }
    let after = &text[start + piece.len()..];
    for sign in ["++", "#"] {
        if after
            .strip_prefix(sign)
            .is_some_and(|rest| !rest.starts_with(is_word_character))
        {
            emit(&(fold(piece) + sign), Use::Topic);
        }
    }
    if text[..start].ends_with('.') && !text[..start].ends_with("..") {
        emit(&format!(".{}", fold(piece)), Use::Topic);
    }
}

/// Emits the terms of a piece: the whole, stretches between slashes and the like, words, parts;
/// each form at most once.
fn compound(piece: &str, emit: &mut impl FnMut(&str, Use)) {
    let mut found = units(piece);
    let (Some((_, first)), second) = (found.next(), found.next()) else {
        return;
    };
    if second.is_none() {
        return unit(first, emit);
    }
    if piece.len() > IDENTIFIER_BYTES_MAX {
        return units(piece).for_each(|(_, one)| unit(one, emit));
    }
    let mut forms: Vec<(String, Use)> = Vec::new();
    let mut add = |term: &str, used_for| {
        if forms.iter().all(|(seen, _)| seen != term) {
            forms.push((term.to_owned(), used_for));
        }
    };
    let has_run = units(piece).any(|(_, unit)| matches!(unit, Unit::Run(_)));
    if !has_run {
        whole(piece, &mut add);
        let stretches =
            piece.split(|sign: char| INNER_SIGNS.contains(sign) && !JOINING_SIGNS.contains(sign));
        for stretch in stretches.filter(|stretch| units(stretch).nth(1).is_some()) {
            whole(stretch, &mut add);
        }
        if let Some((tens, ones)) = piece.split_once('-')
            && let Some(number) = hyphenated_number(&fold(tens), &fold(ones))
        {
            add(&number, Use::Topic);
        }
    }
    for (_, one) in units(piece) {
        match one {
            Unit::Word(_) => unit(one, &mut add),
            Unit::Run(run) => bigrams(run, emit),
        }
    }
    for (form, used_for) in forms {
        emit(&form, used_for);
    }
}

/// Adds a stretch of several words as one term: without hyphens and underscores (unless they
/// separate two numbers), apostrophes and the `v` of a version; paths with slashes.
fn whole(stretch: &str, add: &mut impl FnMut(&str, Use)) {
    let folded = fold(stretch);
    let folded = folded.trim_matches(|character| !is_word_character(character));
    let folded = folded.strip_suffix("'s").unwrap_or(folded);
    let version = folded
        .strip_prefix('v')
        .filter(|version| version.starts_with(|digit: char| digit.is_ascii_digit()));
    let folded = version.unwrap_or(folded);
    let mut term = String::with_capacity(folded.len());
    for (at, character) in folded.char_indices() {
        let is_digit = |next: Option<char>| next.is_some_and(|next| next.is_ascii_digit());
        let next = folded[at + character.len_utf8()..].chars().next();
        let between_digits = is_digit(term.chars().next_back()) && is_digit(next);
        match character {
            '-' | '_' | '\'' if !between_digits => {}
            ',' if between_digits => {}
            '\\' => term.push('/'),
            _ => term.push(character),
        }
    }
    word(&term, add);
}

/// Returns the term that every text has in which this word is a unit, in any case; `None` if there
/// is no such term.
pub(crate) fn term_of_unit(folded: &str) -> Option<String> {
    let mut first = None;
    let emit = &mut |term: &str, _| {
        if first.is_none() && !term.is_empty() {
            first = Some(kept(term).to_owned());
        }
    };
    unit(Unit::Word(folded), emit);
    first
}

/// Returns the terms that every text has in which these characters of a script without spaces are
/// adjacent.
pub(crate) fn terms_of_run(run: &str) -> Vec<String> {
    let mut terms = Vec::new();
    bigrams(run, &mut |term, used_for| {
        let is_indexed_anywhere =
            clusters(term).nth(1).is_some() || term.starts_with(may_be_a_word);
        if used_for == Use::Topic && is_indexed_anywhere {
            terms.push(kept(term).to_owned());
        }
    });
    terms
}

/// Emits the terms of one unit, which do not depend on its context.
fn unit(one: Unit<'_>, emit: &mut impl FnMut(&str, Use)) {
    let text = match one {
        Unit::Run(run) => return bigrams(run, emit),
        Unit::Word(text) => text,
    };
    if is_plain_word(text) {
        return word(text, emit);
    }
    if text.contains(['\'', '\u{2019}']) {
        return with_apostrophe(text, emit);
    }
    let is_capitalised = text.as_bytes()[1..].iter().all(u8::is_ascii_lowercase);
    if is_capitalised && text.as_bytes()[0].is_ascii_uppercase() {
        return word(&text.to_ascii_lowercase(), emit);
    }
    // "US", "IT" and "WHO" are names.
    if text.len() > 1 && text.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return word(&fold(text), &mut |term, _| emit(term, Use::Topic));
    }
    if text.contains(',') {
        return unit(Unit::Word(&text.replace(',', "")), emit);
    }
    let folded = fold(text);
    word(&folded, emit);
    if let Some(thousands) = folded.strip_suffix('k')
        && !thousands.is_empty()
        && thousands.bytes().all(|byte| byte.is_ascii_digit())
    {
        emit(&format!("{thousands}000"), Use::Topic);
    }
    let parts = if text.len() > IDENTIFIER_BYTES_MAX {
        Vec::new()
    } else {
        parts(text)
    };
    for (index, part) in parts.iter().enumerate() {
        if *part != text && !parts[..index].contains(part) {
            word(&fold(part), emit);
        }
    }
}

/// Emits a contraction as its first word, a possessive as its owner; `O'Brien` as one word and as
/// two.
fn with_apostrophe(text: &str, emit: &mut impl FnMut(&str, Use)) {
    let folded = fold(text);
    if let Some(base) = without_contraction(&folded) {
        // The owner may have parts: `GitHub's`.
        return match text.get(..base.len()).filter(|owner| fold(owner) == base) {
            Some(owner) => unit(Unit::Word(owner), emit),
            None => word(base, emit),
        };
    }
    word(&folded.replace('\'', ""), emit);
    folded.split('\'').for_each(|part| word(part, emit));
}

/// Emits one folded word: stemmed, or as digits if it is a number word.
fn word(word: &str, emit: &mut impl FnMut(&str, Use)) {
    if !is_plain_word(word) {
        return word_of_script(word, emit);
    }
    if let Some(digits) = number(word) {
        return emit(digits, Use::Topic);
    }
    if is_stop_word(word) {
        return emit(word, Use::StopWord);
    }
    if word == "second" {
        emit("2nd", Use::Topic);
    }
    if word.len() > TERM_BYTES_MAX {
        return emit(word, Use::Topic);
    }
    with_stem(Algorithm::English, word, |stem| emit(stem, Use::Topic));
}

/// Emits a folded word that has characters other than English letters.
fn word_of_script(word: &str, emit: &mut impl FnMut(&str, Use)) {
    if word.is_ascii() {
        return emit(word, Use::Topic);
    }
    if is_stop_word(word) {
        return emit(word, Use::StopWord);
    }
    let word = without_arabic_article(word);
    match stemmer_of_script(word).filter(|_| word.len() <= TERM_BYTES_MAX) {
        Some(algorithm) => with_stem(algorithm, word, |stem| emit(stem, Use::Topic)),
        None => emit(word, Use::Topic),
    }
}

thread_local! {
    /// Caches the stems of recent words by language: text repeats words, and stemming is the most
    /// expensive step.
    static STEMS: RefCell<Vec<(Algorithm, HashMap<String, String>)>> = const { RefCell::new(Vec::new()) };
}

/// Calls `use_stem` with the stem of a lower-case word and returns its result.
fn with_stem<T>(algorithm: Algorithm, word: &str, use_stem: impl FnOnce(&str) -> T) -> T {
    const STEMS_MAX: usize = 8_192;
    STEMS.with_borrow_mut(|languages| {
        let place = languages
            .iter()
            .position(|(known, _)| *known == algorithm)
            .unwrap_or_else(|| {
                languages.push((algorithm, HashMap::new()));
                languages.len() - 1
            });
        let stems = &mut languages[place].1;
        if let Some(stem) = stems.get(word) {
            return use_stem(stem);
        }
        let stem = Stemmer::create(algorithm).stem(word).into_owned();
        let made = use_stem(&stem);
        if stems.len() >= STEMS_MAX {
            stems.clear();
        }
        stems.insert(word.to_owned(), stem);
        made
    })
}

/// Emits the pairs of adjacent characters of a run; a single character becomes a term itself.
fn bigrams(run: &str, emit: &mut impl FnMut(&str, Use)) {
    let mut before: Option<&str> = None;
    let mut start = 0;
    for cluster in clusters(run) {
        let end = start + cluster.len();
        if cluster.len() < run.len() {
            if let Some(before) = before {
                emit(&run[start - before.len()..end], Use::Topic);
            }
            if cluster.starts_with(may_be_a_word) {
                emit(cluster, Use::IndexOnly);
            }
        } else {
            emit(cluster, Use::Topic);
        }
        (before, start) = (Some(cluster), end);
    }
}

/// Emits the forms of a full date that its words do not contain: the ISO form, the name of the
/// month, the day without a leading zero.
fn full_dates(text: &str, emit: &mut impl FnMut(&str, Use)) {
    for (range, date) in dates::full_dates(text) {
        let written = fold(&text[range]);
        let iso = date.to_string();
        if written != iso {
            emit(&iso, Use::Topic);
        }
        let month = MONTHS[usize::from(date.month().unsigned_abs()) - 1];
        if !written.contains(month) {
            word(month, emit);
        }
        if written.contains(&format!("0{}", date.day())) {
            emit(&date.day().to_string(), Use::Topic);
        }
    }
}

#[cfg(test)]
mod tests;
