//! Detects the language of a text, as far as the analysis of its words needs it: for stop words and
//! for stemming.
//!
//! Most scripts determine the language. In the Latin script a text is in the language that most of
//! its function words belong to: they make up a third of ordinary text, so that a question of five
//! words has enough, and code has none ([ADR 34](../../../../docs/adr/0034-words-by-language.md)
//! compares this with trigrams of letters).

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use rust_stemmers::Algorithm;

use super::fold::{fold, fold_width};
use super::units::{Unit, units};
use super::vocabulary::STOP_WORDS;

/// Bytes of a text that are examined.
const BYTES_MAX: usize = 1_024;
/// Words of a text that are examined.
const WORDS_MAX: usize = 64;
/// The minimum number of different function words of a language that a text must have to be in it,
/// not counting words that are also English.
const OWN_WORDS_MIN: usize = 2;
/// The maximum number of words per function word.
const WORDS_PER_FUNCTION_WORD: usize = 8;
/// In a Japanese text at least one in so many characters is kana.
const CHARACTERS_PER_KANA: usize = 10;

/// The language of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Language(&'static str);

const ENGLISH: Language = Language("en");

impl Language {
    /// Returns the language of a text if its beginning is unambiguous: in the Latin script only
    /// languages with a list of function words, in other scripts the most common language of the
    /// script.
    pub fn of(text: &str) -> Option<Language> {
        let text = beginning(text);
        match main_script(&text)? {
            LATIN => of_latin(&text),
            "ar" => Some(of_two(&text, "ar", "fa")),
            "ru" => Some(of_two(&text, "ru", "uk")),
            code => Some(Language(code)),
        }
    }

    /// Returns the same for texts in the Latin script only; `None` for English.
    pub(crate) fn other_latin(text: &str) -> Option<Language> {
        let text = beginning(text);
        let is_latin = main_script(&text) == Some(LATIN);
        is_latin
            .then(|| of_latin(&text))
            .flatten()
            .filter(|language| *language != ENGLISH)
    }

    /// Returns the ISO 639-1 code.
    pub fn code(self) -> &'static str {
        self.0
    }

    /// True if the folded word is a function word of this language.
    pub(super) fn has_function_word(self, word: &str) -> bool {
        FUNCTION_WORDS.languages_of(word) & FUNCTION_WORDS.bit(self) != 0
    }

    /// Returns the stemmer for words in the Latin script; `None` for English, whose stemmer is
    /// applied to all words, and for languages without a stemmer.
    pub(super) fn stemmer(self) -> Option<Algorithm> {
        Some(match self.0 {
            "da" => Algorithm::Danish,
            "de" => Algorithm::German,
            "es" => Algorithm::Spanish,
            "fi" => Algorithm::Finnish,
            "fr" => Algorithm::French,
            "hu" => Algorithm::Hungarian,
            "it" => Algorithm::Italian,
            "nb" => Algorithm::Norwegian,
            "nl" => Algorithm::Dutch,
            "pt" => Algorithm::Portuguese,
            "ro" => Algorithm::Romanian,
            "sv" => Algorithm::Swedish,
            "tr" => Algorithm::Turkish,
            _ => return None,
        })
    }
}

/// True if a folded word is a stop word: in the Latin script an English one, in another script one
/// of any of its languages.
pub(crate) fn is_stop_word(word: &str) -> bool {
    if word.is_ascii() {
        STOP_WORDS.binary_search(&word).is_ok()
    } else {
        is_function_word_of_script(word)
    }
}

/// True if a folded word in a script other than Latin is a function word in any language.
pub(super) fn is_function_word_of_script(word: &str) -> bool {
    // Arabic attaches "and" to the next word.
    let forms = [Some(word), word.strip_prefix('و')];
    let is_function_word = |word: &str| FUNCTION_WORDS.languages_of(word) != 0;
    !word.starts_with(|first: char| script(first) == Some(LATIN))
        && forms.into_iter().flatten().any(is_function_word)
}

/// Returns the stemmer for the script of this folded word, if the word determines it without its
/// text.
pub(super) fn stemmer_of_script(word: &str) -> Option<Algorithm> {
    // Letters that are specific to Persian, or to Ukrainian and others, do not occur in the
    // language of the stemmer.
    match script(word.chars().next()?)? {
        "ar" if !word.contains(['پ', 'چ', 'ژ', 'گ']) => Some(Algorithm::Arabic),
        "el" => Some(Algorithm::Greek),
        "ru" if word.chars().all(|letter| matches!(letter, 'а'..='я')) => {
            Some(Algorithm::Russian)
        }
        "ta" => Some(Algorithm::Tamil),
        _ => None,
    }
}

/// The Latin script, which determines no language.
const LATIN: &str = "latin";

/// Returns the script of a letter, named by its most common language.
fn script(letter: char) -> Option<&'static str> {
    Some(match letter {
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => "el",
        '\u{400}'..='\u{52f}' => "ru",
        '\u{530}'..='\u{58f}' => "hy",
        '\u{590}'..='\u{5ff}' => "he",
        '\u{600}'..='\u{6ff}' | '\u{750}'..='\u{77f}' => "ar",
        '\u{900}'..='\u{97f}' => "hi",
        '\u{980}'..='\u{9ff}' => "bn",
        '\u{a00}'..='\u{a7f}' => "pa",
        '\u{a80}'..='\u{aff}' => "gu",
        '\u{b80}'..='\u{bff}' => "ta",
        '\u{c00}'..='\u{c7f}' => "te",
        '\u{c80}'..='\u{cff}' => "kn",
        '\u{d00}'..='\u{d7f}' => "ml",
        '\u{d80}'..='\u{dff}' => "si",
        '\u{e00}'..='\u{e7f}' => "th",
        '\u{e80}'..='\u{eff}' => "lo",
        '\u{1000}'..='\u{109f}' => "my",
        '\u{10a0}'..='\u{10ff}' => "ka",
        '\u{1200}'..='\u{137f}' => "am",
        '\u{1780}'..='\u{17ff}' => "km",
        '\u{3040}'..='\u{30ff}' => "ja",
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' => "zh",
        '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7af}' => "ko",
        _ if letter.is_alphabetic() => LATIN,
        _ => return None,
    })
}

fn beginning(text: &str) -> Cow<'_, str> {
    fold_width(&text[..text.floor_char_boundary(BYTES_MAX)])
}

/// Returns the script of most letters.
fn main_script(text: &str) -> Option<&'static str> {
    if text.is_ascii() {
        return Some(LATIN);
    }
    let mut letters: Vec<(&'static str, usize)> = Vec::new();
    for script in text.chars().filter_map(script) {
        match letters.iter_mut().find(|(known, _)| *known == script) {
            Some((_, count)) => *count += 1,
            None => letters.push((script, 1)),
        }
    }
    let count = |script| {
        letters
            .iter()
            .find(|(known, _)| *known == script)
            .map_or(0, |(_, count)| *count)
    };
    let (kana, han) = (count("ja"), count("zh"));
    if kana > 0 && kana * CHARACTERS_PER_KANA >= kana + han {
        // Japanese uses both.
        letters.retain(|(script, _)| *script != "zh");
        letters
            .iter_mut()
            .filter(|(script, _)| *script == "ja")
            .for_each(|(_, count)| *count += han);
    }
    letters
        .into_iter()
        .max_by_key(|(_, count)| *count)
        .map(|(script, _)| script)
}

fn of_latin(text: &str) -> Option<Language> {
    let (votes, words) = votes(text);
    let english = FUNCTION_WORDS.bit(ENGLISH);
    let total = |bit: u32| {
        votes
            .iter()
            .filter(|languages| **languages & bit != 0)
            .count()
    };
    let own = |bit: u32| {
        votes
            .iter()
            .filter(|languages| **languages & bit != 0 && **languages & english == 0)
            .count()
    };
    let bits = (0..FUNCTION_WORDS.languages.len()).map(|place| 1 << place);
    // Ties go to the first language.
    let best = bits.rev().max_by_key(|bit| (total(*bit), own(*bit)))?;
    if total(best) * WORDS_PER_FUNCTION_WORD < words || total(best) == 0 {
        return None;
    }
    if total(english) >= total(best) {
        return Some(ENGLISH);
    }
    (own(best) >= OWN_WORDS_MIN).then(|| FUNCTION_WORDS.languages[best.trailing_zeros() as usize])
}

/// Returns the second language if the text has more of its function words than of the first one's.
fn of_two(text: &str, first: &'static str, second: &'static str) -> Language {
    let (votes, _) = votes(text);
    let count = |code| {
        let bit = FUNCTION_WORDS.bit(Language(code));
        votes
            .iter()
            .filter(|languages| **languages & bit != 0)
            .count()
    };
    Language(if count(second) > count(first) {
        second
    } else {
        first
    })
}

/// Returns the languages of each different function word of the text, and the number of words.
fn votes(text: &str) -> (Vec<u32>, usize) {
    let (mut votes, mut seen, mut count) = (Vec::new(), HashSet::new(), 0);
    let words = units(text).filter_map(|(_, unit)| match unit {
        Unit::Word(word) => Some(word),
        Unit::Run(_) => None,
    });
    let words = words
        .flat_map(|word| word.split(['\'', '\u{2019}']))
        .filter(|word| word.chars().nth(1).is_some());
    for word in words.take(WORDS_MAX) {
        count += 1;
        let word = fold(word);
        let languages = FUNCTION_WORDS.languages_of(&word);
        if languages != 0 && seen.insert(word) {
            votes.push(languages);
        }
    }
    (votes, count)
}

/// The function words of all languages.
struct FunctionWords {
    /// In the order of their bits.
    languages: Vec<Language>,
    /// The languages of each folded word, one bit for each.
    by_word: HashMap<String, u32>,
}

static FUNCTION_WORDS: LazyLock<FunctionWords> = LazyLock::new(|| {
    let mut words = FunctionWords {
        languages: Vec::new(),
        by_word: HashMap::new(),
    };
    words.add(ENGLISH, STOP_WORDS.iter().copied());
    for line in include_str!("function_words.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let mut entries = line.split(' ');
        if let Some(code) = entries.next() {
            words.add(Language(code), entries);
        }
    }
    words
});

impl FunctionWords {
    fn add(&mut self, language: Language, words: impl Iterator<Item = &'static str>) {
        let bit = 1 << self.languages.len();
        self.languages.push(language);
        for word in words {
            *self.by_word.entry(fold(word)).or_default() |= bit;
        }
    }

    /// Returns the languages in which the folded word is a function word, one bit for each.
    fn languages_of(&self, word: &str) -> u32 {
        self.by_word.get(word).copied().unwrap_or_default()
    }

    /// Returns the bit of the language; 0 if it has no list of function words.
    fn bit(&self, language: Language) -> u32 {
        self.languages
            .iter()
            .position(|known| *known == language)
            .map_or(0, |place| 1 << place)
    }
}

#[cfg(test)]
mod tests;
