//! From text to terms: one function for what is indexed and what is asked, so that both sides
//! always agree.
//!
//! A text is cut at white space into chunks, a chunk into words (Unicode Annex 29), a word into
//! parts at underscores, dots, changes of case and between letters and digits. A chunk or word
//! with several parts is kept whole *and* split, so `ERR_4012`, `src/lib.rs:120` and `CamelCase`
//! are found exactly and by their pieces. Everything is folded (case, width, diacritics);
//! English is stemmed (Snowball); runs of Chinese, Japanese and Korean become overlapping pairs
//! of characters; number words become digits and ISO dates also month and day.
//!
//! Stop words are indexed like any other word. A query drops them, unless nothing else is left.

use std::cell::RefCell;
use std::collections::HashMap;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// Bytes of a term that are kept; what two longer terms share is what can be found of them.
const TERM_BYTES_MAX: usize = 64;

/// English words that carry no topic. Folded, unstemmed, sorted.
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because",
    "been", "before", "being", "both", "but", "by", "can", "could", "did", "do", "does", "doing", "down", "during",
    "each", "for", "from", "further", "had", "has", "have", "having", "he", "her", "here", "hers", "him", "his", "how",
    "i", "if", "in", "into", "is", "it", "its", "just", "me", "might", "more", "most", "must", "my", "no", "nor",
    "not", "now", "of", "off", "on", "once", "only", "or", "other", "our", "ours", "out", "over", "own", "same",
    "shall", "she", "should", "so", "some", "such", "than", "that", "the", "their", "theirs", "them", "then", "there",
    "these", "they", "this", "those", "through", "to", "too", "under", "until", "up", "us", "very", "was", "we",
    "were", "what", "when", "where", "which", "while", "who", "whom", "whose", "why", "will", "with", "would", "you",
    "your", "yours",
];

/// Words for numbers and their digits. Sorted by word.
const NUMBER_WORDS: &[(&str, &str)] = &[
    ("eight", "8"),
    ("eighteen", "18"),
    ("eighty", "80"),
    ("eleven", "11"),
    ("fifteen", "15"),
    ("fifth", "5th"),
    ("fifty", "50"),
    ("first", "1st"),
    ("five", "5"),
    ("forty", "40"),
    ("four", "4"),
    ("fourteen", "14"),
    ("fourth", "4th"),
    ("hundred", "100"),
    ("million", "1000000"),
    ("nine", "9"),
    ("nineteen", "19"),
    ("ninety", "90"),
    ("one", "1"),
    ("second", "2nd"),
    ("seven", "7"),
    ("seventeen", "17"),
    ("seventy", "70"),
    ("six", "6"),
    ("sixteen", "16"),
    ("sixty", "60"),
    ("ten", "10"),
    ("third", "3rd"),
    ("thirteen", "13"),
    ("thirty", "30"),
    ("thousand", "1000"),
    ("three", "3"),
    ("twelve", "12"),
    ("twenty", "20"),
    ("two", "2"),
    ("zero", "0"),
];

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The terms of a text with the number of times that each occurs, in order of first occurrence.
pub fn term_counts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<(String, u32)> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut counts: Vec<(String, u32)> = Vec::new();
    for text in texts {
        analyse(text, &mut |term, _| {
            if let Some(&place) = places.get(&term) {
                counts[place].1 += 1;
            } else {
                places.insert(term.clone(), counts.len());
                counts.push((term, 1));
            }
        });
    }
    counts
}

/// The terms of a query, each once: stop words are dropped, unless nothing else is left.
pub fn query_terms(query: &str) -> Vec<String> {
    let mut all: Vec<(String, bool)> = Vec::new();
    analyse(query, &mut |term, is_stop_word| {
        if all.iter().all(|(seen, _)| *seen != term) {
            all.push((term, is_stop_word));
        }
    });
    let has_topic = all.iter().any(|(_, is_stop_word)| !is_stop_word);
    all.into_iter().filter(|(_, is_stop_word)| !has_topic || !is_stop_word).map(|(term, _)| term).collect()
}

/// The words of a text (Unicode Annex 29) with the bytes at which they begin. Of scripts that put no
/// spaces between words, most characters count as a word.
pub fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.unicode_word_indices()
}

/// The sentences of a text (Unicode Annex 29) without the blanks around them; the end of a line ends
/// one, too.
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split_sentence_bounds().map(str::trim).filter(|sentence| !sentence.is_empty())
}

/// Calls `emit` with each term of the text and whether it is a stop word.
fn analyse(text: &str, emit: &mut impl FnMut(String, bool)) {
    // Folding can leave nothing of a word that is all diacritics.
    let emit = &mut |term: String, is_stop_word| {
        if !term.is_empty() {
            emit(term, is_stop_word);
        }
    };
    for chunk in text.split_whitespace() {
        let chunk = chunk.trim_matches(|character: char| !character.is_alphanumeric());
        if chunk.is_empty() {
            continue;
        }
        if is_plain_word(chunk) {
            word(chunk, emit);
        } else {
            compound(chunk, emit);
        }
    }
}

/// The common case, one lower-case ASCII word, needs no folding.
fn is_plain_word(chunk: &str) -> bool {
    chunk.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Takes a chunk apart: whole, words, parts; each form at most once.
fn compound(chunk: &str, emit: &mut impl FnMut(String, bool)) {
    let chunk = fold_width(chunk);
    let mut forms: Vec<String> = Vec::new();
    for run in runs(&chunk) {
        if run.starts_with(is_cjk) {
            bigrams(run, emit);
            continue;
        }
        for piece in run.unicode_words().map(without_possessive) {
            let parts = parts(piece);
            if parts.len() > 1 {
                forms.push(fold(piece));
            }
            forms.extend(parts.into_iter().map(fold));
        }
    }
    let has_cjk = chunk.chars().any(is_cjk);
    let whole = fold(without_possessive(&chunk));
    if !has_cjk && forms.len() > 1 && !forms.contains(&whole) {
        emit(clip(whole), false);
    }
    if let Some((month, day)) = iso_month_and_day(&chunk) {
        word(month, emit);
        emit(day.to_string(), false);
    }
    for (index, form) in forms.iter().enumerate() {
        if !forms[..index].contains(form) {
            word(form, emit);
        }
    }
}

/// Emits one folded word: stemmed if English, as digits if it names a number.
fn word(word: &str, emit: &mut impl FnMut(String, bool)) {
    if let Ok(place) = NUMBER_WORDS.binary_search_by_key(&word, |(name, _)| name) {
        return emit(NUMBER_WORDS[place].1.to_owned(), false);
    }
    if STOP_WORDS.binary_search(&word).is_ok() {
        return emit(word.to_owned(), true);
    }
    if word.len() <= TERM_BYTES_MAX && is_plain_word(word) {
        return emit(stem(word), false);
    }
    // "1,000" is 1000; "v1.2" is version 1.2.
    let number = word.strip_prefix('v').unwrap_or(word);
    if number.starts_with(|first: char| first.is_ascii_digit())
        && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b',' || byte == b'.')
    {
        return emit(clip(number.replace(',', "")), false);
    }
    emit(clip(word.to_owned()), false);
}

thread_local! {
    /// Stems of recent words: text repeats itself, and stemming is the dearest step.
    static STEMS: RefCell<(Stemmer, HashMap<String, String>)> =
        RefCell::new((Stemmer::create(Algorithm::English), HashMap::new()));
}

fn stem(word: &str) -> String {
    const STEMS_MAX: usize = 8_192;
    STEMS.with_borrow_mut(|(stemmer, stems)| {
        if let Some(stem) = stems.get(word) {
            return stem.clone();
        }
        let stem = stemmer.stem(word).into_owned();
        if stems.len() >= STEMS_MAX {
            stems.clear();
        }
        stems.insert(word.to_owned(), stem.clone());
        stem
    })
}

fn clip(mut term: String) -> String {
    if term.len() > TERM_BYTES_MAX {
        term.truncate(term.floor_char_boundary(TERM_BYTES_MAX));
    }
    term
}

/// Full-width and other compatibility forms become the ordinary ones; case and accents stay, for
/// the split at changes of case.
fn fold_width(text: &str) -> String {
    if text.is_ascii() { text.to_owned() } else { text.nfkc().collect() }
}

/// Lower case without diacritics. Marks that make another letter (Japanese voicing) stay.
fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let folded: String = text.nfkd().filter(|&character| !is_diacritic(character)).nfc().collect();
    folded.to_lowercase().replace('ß', "ss")
}

/// Combining marks of European scripts, Hebrew points, Arabic vowel signs and elongation.
fn is_diacritic(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}')
}

/// Scripts that are written without spaces between words, or (Korean) inflect within them.
fn is_cjk(character: char) -> bool {
    matches!(character,
        '\u{1100}'..='\u{11ff}' | '\u{3040}'..='\u{30ff}' | '\u{3130}'..='\u{318f}' | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// The text cut where characters of those scripts meet others.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let is_cjk_run = is_cjk(rest.chars().next()?);
        let end = rest.find(|character| is_cjk(character) != is_cjk_run).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        Some(run)
    })
}

fn without_possessive(text: &str) -> &str {
    let without = ["'s", "\u{2019}s", "'S", "\u{2019}S"].iter().find_map(|ending| text.strip_suffix(ending));
    without.unwrap_or(text)
}

/// Cuts a word at everything that is no letter or digit, where lower case turns to upper
/// (`camelCase`, `HTTPServer`), and once between letters and digits (`sha256`). Words in which
/// letters and digits alternate (hashes, ids) stay whole.
fn parts(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for piece in word.split(|character: char| !character.is_alphanumeric()) {
        let characters: Vec<(usize, char)> = piece.char_indices().collect();
        let kind = |character: char| (character.is_numeric(), character.is_uppercase());
        let digit_borders = characters.windows(2).filter(|pair| kind(pair[0].1).0 != kind(pair[1].1).0).count();
        let mut start = 0;
        for index in 1..characters.len() {
            let (before, here) = (kind(characters[index - 1].1), kind(characters[index].1));
            let next_is_lower = characters.get(index + 1).is_some_and(|(_, next)| next.is_lowercase());
            let digit_border = before.0 != here.0 && digit_borders == 1;
            let case_border = digit_borders <= 1 && !before.0 && !here.0 && here.1 && (!before.1 || next_is_lower);
            if digit_border || case_border {
                parts.push(&piece[start..characters[index].0]);
                start = characters[index].0;
            }
        }
        if start < piece.len() {
            parts.push(&piece[start..]);
        }
    }
    parts
}

/// The pairs of neighbouring characters of a run; a single character stands for itself.
fn bigrams(run: &str, emit: &mut impl FnMut(String, bool)) {
    let characters: Vec<char> = run.nfkc().filter(|character| character.is_alphanumeric()).collect();
    match characters.as_slice() {
        [] => {}
        [single] => emit(single.to_lowercase().to_string(), false),
        several => several
            .windows(2)
            .for_each(|pair| emit(pair.iter().flat_map(|character| character.to_lowercase()).collect(), false)),
    }
}

/// Month name and day of a date written as `2023-05-07` (a time may follow).
fn iso_month_and_day(chunk: &str) -> Option<(&'static str, u8)> {
    let date = chunk.get(..10)?;
    let mut fields = date.split('-');
    let (year, month, day) = (fields.next()?, fields.next()?, fields.next()?);
    let digits = |text: &str, len: usize| text.len() == len && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(year, 4) || !digits(month, 2) || !digits(day, 2) {
        return None;
    }
    let month = MONTHS.get(month.parse::<usize>().ok()?.checked_sub(1)?)?;
    let day = day.parse().ok()?;
    (1..=31).contains(&day).then_some((month, day))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        term_counts([text]).into_iter().map(|(term, _)| term).collect()
    }

    #[test]
    fn tables_are_sorted_for_binary_search() {
        assert!(STOP_WORDS.is_sorted());
        assert!(NUMBER_WORDS.is_sorted_by_key(|(word, _)| word));
    }

    #[test]
    fn table_of_forms() {
        let rows: &[(&str, &[&str])] = &[
            ("Running runners ran", &["run", "runner", "ran"]),
            ("Café CAFÉ cafe", &["cafe"]),
            ("ＦＵＬＬ　ｗｉｄｔｈ", &["full", "width"]),
            ("snake_case", &["snake_case", "snake", "case"]),
            ("ERR_4012", &["err_4012", "err", "4012"]),
            ("CamelCase", &["camelcas", "camel", "case"]),
            ("HTTPServer", &["httpserver", "http", "server"]),
            ("sha256", &["sha256", "sha", "256"]),
            ("Caroline's", &["carolin"]),
            ("1,000", &["1000"]),
            ("v1.2.3", &["1.2.3", "1", "2", "3"]),
            ("seven", &["7"]),
            ("東京都", &["東京", "京都"]),
            ("서울에서", &["서울", "울에", "에서"]),
            ("カメラ", &["カメ", "メラ"]),
            ("Москва", &["москва"]),
            ("مُحَمَّد", &["محمد"]),
            ("straße", &["strass"]),
            ("a1b2c3d4", &["a1b2c3d4"]),
        ];
        for (text, expected) in rows {
            let found = terms(text);
            for term in *expected {
                assert!(found.iter().any(|found| found == term), "{text:?} lacks {term:?}: {found:?}");
            }
        }
    }

    #[test]
    fn identifiers_are_found_whole_and_by_their_parts() {
        let found = terms("see src/lib.rs:120 and 550e8400-e29b-41d4-a716-446655440000");
        for term in ["src/lib.rs:120", "lib.rs", "src", "120", "550e8400-e29b-41d4-a716-446655440000"] {
            assert!(found.iter().any(|found| found == term), "{term:?} is missing: {found:?}");
        }
    }

    #[test]
    fn iso_dates_are_found_by_month_and_day() {
        let found = terms("2023-05-07T10:00:00Z");
        for term in ["may", "7", "2023"] {
            assert!(found.iter().any(|found| found == term), "{term:?} is missing: {found:?}");
        }
    }

    #[test]
    fn query_drops_stop_words_unless_nothing_else_is_left() {
        assert_eq!(query_terms("what is the database"), ["databas"]);
        assert_eq!(query_terms("who am I"), ["who", "am", "i"]);
    }

    #[test]
    fn counts_repeat_and_keep_order() {
        assert_eq!(term_counts(["b a b"]), [("b".to_owned(), 2), ("a".to_owned(), 1)]);
    }

    proptest::proptest! {
        #[test]
        fn what_is_indexed_is_found(text in "\\PC{0,80}") {
            let indexed = terms(&text);
            for term in query_terms(&text) {
                proptest::prop_assert!(indexed.contains(&term));
                proptest::prop_assert!(!term.is_empty() && term.len() <= TERM_BYTES_MAX);
            }
        }
    }
}
