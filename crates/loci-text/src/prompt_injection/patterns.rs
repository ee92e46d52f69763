//! The patterns of orders, and their comparison with the words of a text.
//!
//! A file for each language has lines of these forms:
//!
//! ```text
//! # A remark.
//! USER = user users human          names some words; `ignor*` is every word that begins so
//! > ignore|forget ..3 FORMER $     a pattern: words, or names of words, in this order
//! + Ignore all of the former.      an example that the patterns before it find
//! - Ignore the noise.              an example that no pattern finds
//! ```
//!
//! `..3` lets at most three other words stand between, `^` before words asks that they start the
//! sentence, and `$` that the sentence ends. `FILLERS` may stand before the first word of a sentence,
//! and `NEGATIONS` right before a pattern turn it into its opposite. `URL` and `MAIL` are addresses.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use unicode_security::confusable_detection::skeleton;

use super::word::{MAIL, Token, URL, folded};
use super::{Disguise, Place};

/// The files, each with its language.
pub(super) const FILES: [(&str, &str); 11] = [
    ("ar", include_str!("patterns/ar.txt")),
    ("bn", include_str!("patterns/bn.txt")),
    ("de", include_str!("patterns/de.txt")),
    ("en", include_str!("patterns/en.txt")),
    ("es", include_str!("patterns/es.txt")),
    ("fr", include_str!("patterns/fr.txt")),
    ("hi", include_str!("patterns/hi.txt")),
    ("pt", include_str!("patterns/pt.txt")),
    ("ru", include_str!("patterns/ru.txt")),
    ("ur", include_str!("patterns/ur.txt")),
    ("zh", include_str!("patterns/zh.txt")),
];
/// Letters that are taken for Latin ones though no table of look-alikes has them in their small form.
const NEARLY_LATIN: [(char, char); 12] = [
    ('к', 'k'),
    ('т', 't'),
    ('м', 'm'),
    ('н', 'h'),
    ('в', 'b'),
    ('п', 'n'),
    ('и', 'u'),
    ('κ', 'k'),
    ('τ', 't'),
    ('η', 'n'),
    ('ω', 'w'),
    ('ε', 'e'),
];
/// The small Cyrillic and Greek letters that look like a Latin one, in one of their forms.
const LATIN_ALIKE: &str = "асеорхуіјѕһԁԛԝӏькмнтвпиαβεικνορτυχωηγϲ";
/// The fewest letters of a word that is sought in a text without spaces, in other scripts than those
/// without any.
const PART_LETTERS_MIN: usize = 3;

pub(super) static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| Patterns::of(&FILES));

/// The patterns of all languages.
#[derive(Default)]
pub(super) struct Patterns {
    all: Vec<Pattern>,
    words: HashMap<String, Vec<SlotPlace>>,
    beginnings: HashMap<String, Vec<SlotPlace>>,
    /// The first letters of these.
    first_letters: Vec<char>,
    /// The words that look alike, by the form that they share.
    alike: HashMap<String, String>,
    /// The most bytes of a word, and of a beginning.
    bytes_max: usize,
    fillers: HashSet<String>,
    negations: HashSet<String>,
    /// The lines that cannot be read, which a test finds.
    problems: Vec<String>,
}

#[derive(Debug, Default, PartialEq)]
struct Pattern {
    slots: Vec<Slot>,
    /// True if the sentence ends with it.
    ends: bool,
    /// The index of the first of its slots among all.
    offset: usize,
}

#[derive(Debug, PartialEq)]
struct Slot {
    /// The most other words before it.
    gap: usize,
    /// True if it starts the sentence.
    is_first: bool,
}

/// A slot of a pattern that a word fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SlotPlace {
    pattern: usize,
    slot: usize,
}

/// How far the words of a sentence fit a pattern.
#[derive(Clone, Copy)]
struct Reached {
    sentence: usize,
    /// The first word that fits, and the last one.
    from: usize,
    to: usize,
}

impl Patterns {
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let mut patterns = Patterns::default();
        for (language, file) in files {
            let mut named = HashMap::new();
            for line in file.lines().map(str::trim) {
                if line.is_empty() || line.starts_with(['#', '+', '-']) {
                    continue;
                }
                if let Some(pattern) = line.strip_prefix('>') {
                    if patterns.add(pattern, &named).is_none() {
                        patterns.problems.push(format!("{language}: {line}"));
                    }
                } else if let Some((name, words)) = line.split_once(" = ") {
                    let words: Vec<&str> = words.split_whitespace().collect();
                    match name {
                        "FILLERS" => patterns.fillers.extend(words.iter().map(|one| folded(one))),
                        "NEGATIONS" => {
                            patterns
                                .negations
                                .extend(words.iter().map(|one| folded(one)));
                        }
                        _ => drop(named.insert(name, words)),
                    }
                } else {
                    patterns.problems.push(format!("{language}: {line}"));
                }
            }
        }
        let words = patterns.words.keys().chain(patterns.beginnings.keys());
        patterns.bytes_max = words.map(String::len).max().unwrap_or_default();
        let first = |beginning: &String| beginning.chars().next();
        patterns.first_letters = patterns.beginnings.keys().filter_map(first).collect();
        patterns.first_letters.sort_unstable();
        patterns.first_letters.dedup();
        let latin = patterns.words.keys().filter(|word| word.is_ascii());
        for word in latin {
            for form in forms(word) {
                patterns.alike.entry(form).or_insert_with(|| word.clone());
            }
        }
        patterns
    }

    /// Returns the lines of the files that cannot be read.
    #[cfg(test)]
    pub(super) fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Adds a pattern; `None` if it cannot be read.
    fn add(&mut self, line: &str, named: &HashMap<&str, Vec<&str>>) -> Option<()> {
        let offset = self
            .all
            .last()
            .map_or(0, |last| last.offset + last.slots.len());
        let mut pattern = Pattern {
            offset,
            ..Pattern::default()
        };
        let mut gap = 0;
        for part in line.split_whitespace() {
            if let Some(words) = part.strip_prefix("..") {
                gap = words.parse().ok()?;
                continue;
            }
            if part == "$" {
                pattern.ends = true;
                continue;
            }
            if pattern.ends {
                return None;
            }
            let bare = part.strip_prefix('^').unwrap_or(part);
            let place = SlotPlace {
                pattern: self.all.len(),
                slot: pattern.slots.len(),
            };
            for words in bare.split('|') {
                match named.get(words) {
                    Some(words) => words.iter().for_each(|word| self.add_word(word, place)),
                    None if words == "URL" => self.add_word(URL, place),
                    None if words == "MAIL" => self.add_word(MAIL, place),
                    None if words.chars().all(|one| one.is_ascii_uppercase()) => return None,
                    None => self.add_word(words, place),
                }
            }
            pattern.slots.push(Slot {
                gap,
                is_first: bare.len() < part.len(),
            });
            gap = 0;
        }
        (pattern.slots.len() > 1).then(|| self.all.push(pattern))
    }

    fn add_word(&mut self, word: &str, place: SlotPlace) {
        let places = match word.strip_suffix('*') {
            Some(beginning) => self.beginnings.entry(folded(beginning)),
            None => self.words.entry(folded(word)),
        };
        places.or_default().push(place);
    }

    /// Returns true if a pattern has a word.
    pub(super) fn knows(&self, word: &str) -> bool {
        self.words.contains_key(word) || self.beginning(word).is_some()
    }

    /// Returns the longest beginning of a word that is one of a pattern.
    fn beginning(&self, word: &str) -> Option<&str> {
        let ends = word.char_indices().map(|(at, one)| at + one.len_utf8());
        let ends: Vec<usize> = ends.take_while(|end| *end <= self.bytes_max).collect();
        let known = |end: &&usize| self.beginnings.contains_key(&word[..**end]);
        let end = ends.iter().rev().find(known)?;
        self.beginnings
            .get_key_value(&word[..*end])
            .map(|(known, _)| known.as_str())
    }

    /// Returns the words that a text without spaces consists of: of the words of patterns the longest
    /// one at each place, and what is between.
    pub(super) fn parted<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let mut parts = Vec::new();
        let (mut at, mut unknown) = (0, 0);
        while let Some(character) = text[at..].chars().next() {
            let rest = &text[at..];
            let ends = rest.char_indices().map(|(at, one)| at + one.len_utf8());
            let ends: Vec<usize> = ends.take_while(|end| *end <= self.bytes_max).collect();
            let known = |(letters, end): &(usize, &usize)| {
                let is_long = character >= '\u{2e80}' || letters + 1 >= PART_LETTERS_MIN;
                is_long && self.words.contains_key(&rest[..**end])
            };
            let found = ends
                .iter()
                .enumerate()
                .rev()
                .find(known)
                .map(|(_, end)| *end);
            let after = at + found.unwrap_or(character.len_utf8());
            // Each character of a script without spaces may be a word.
            if (found.is_some() || character >= '\u{2e80}') && unknown < at {
                parts.push(&text[unknown..at]);
            }
            if found.is_some() || character >= '\u{2e80}' {
                parts.push(&text[at..after]);
                unknown = after;
            }
            at = after;
        }
        if unknown < at {
            parts.push(&text[unknown..at]);
        }
        parts
    }

    /// Adds the slots that a word fits, the later ones of a pattern first, because a word fits one of
    /// a pattern at a time. Returns the word that it looks like, if it only looks like one.
    fn slots(&self, word: &str, slots: &mut Vec<SlotPlace>) -> Option<&str> {
        slots.clear();
        slots.extend(self.words.get(word).into_iter().flatten());
        let mut alike = None;
        // Few words start with the first letter of a beginning, and a look-up of each part costs much.
        if word.starts_with(&self.first_letters[..]) {
            let ends = word.char_indices().map(|(at, one)| at + one.len_utf8());
            for end in ends.take_while(|end| *end <= self.bytes_max) {
                slots.extend(self.beginnings.get(&word[..end]).into_iter().flatten());
            }
        }
        if slots.is_empty() && word.len() <= self.bytes_max * 3 && may_look_latin(word) {
            alike = looks(word).find_map(|form| self.alike.get(&form));
            slots.extend(
                alike
                    .and_then(|known| self.words.get(known))
                    .into_iter()
                    .flatten(),
            );
        }
        slots.sort_by_key(|place| (place.pattern, std::cmp::Reverse(place.slot)));
        slots.dedup();
        alike.map(String::as_str)
    }

    /// Returns the places of orders, at most one in each sentence.
    pub(super) fn find(&self, tokens: &[Token]) -> Vec<Place> {
        let slots = self
            .all
            .last()
            .map_or(0, |last| last.offset + last.slots.len());
        let mut reached: Vec<Option<Reached>> = vec![None; slots];
        let mut alike: HashMap<usize, &str> = HashMap::new();
        let (mut places, mut found, mut fitting) = (Vec::new(), None, Vec::new());
        let (mut sentence, mut is_open) = (0, true);
        for (at, token) in tokens.iter().enumerate() {
            sentence += usize::from(token.breaks);
            is_open |= token.starts || token.breaks;
            let is_first = is_open && !self.fillers.contains(&token.text);
            is_open &= !is_first;
            if let Some(known) = self.slots(&token.text, &mut fitting) {
                alike.insert(at, known);
            }
            for place in &fitting {
                if found == Some(sentence) {
                    break;
                }
                let to = self.step(*place, (at, tokens), (sentence, is_first), &mut reached);
                if let Some(from) = to {
                    found = Some(sentence);
                    places.push(place_of(&tokens[from..=at], from, &alike));
                }
            }
        }
        places
    }

    /// Notes that a word fits a slot, if the words before it fit the slots before. Returns the first
    /// word if that was the last slot.
    fn step(
        &self,
        place: SlotPlace,
        (at, tokens): (usize, &[Token]),
        (sentence, is_first): (usize, bool),
        reached: &mut [Option<Reached>],
    ) -> Option<usize> {
        let pattern = &self.all[place.pattern];
        let slot = &pattern.slots[place.slot];
        if slot.is_first && !is_first {
            return None;
        }
        let from = if place.slot == 0 {
            let before = at.checked_sub(1).filter(|_| !tokens[at].breaks);
            if before.is_some_and(|before| self.negations.contains(&tokens[before].text)) {
                return None;
            }
            at
        } else {
            let before = reached[pattern.offset + place.slot - 1]?;
            let is_near = before.sentence == sentence && at - before.to <= slot.gap + 1;
            if !is_near || before.to == at {
                return None;
            }
            before.from
        };
        if place.slot + 1 < pattern.slots.len() {
            let to = Reached {
                sentence,
                from,
                to: at,
            };
            reached[pattern.offset + place.slot] = Some(to);
            return None;
        }
        let is_end = tokens
            .get(at + 1)
            .is_none_or(|next| next.breaks || next.starts);
        (is_end || !pattern.ends).then_some(from)
    }
}

/// Returns the place of an order with these words, and what they are read as if they are disguised.
fn place_of(tokens: &[Token], from: usize, alike: &HashMap<usize, &str>) -> Place {
    let range = tokens[0].start..tokens[tokens.len() - 1].end;
    let known = |number: usize| alike.get(&(from + number));
    let of_token = |(number, token): (usize, &Token)| {
        token
            .disguise
            .or(known(number).map(|_| Disguise::LookAlikes))
    };
    let disguise = tokens.iter().enumerate().filter_map(of_token);
    // Scripts without spaces are parted, which is no disguise.
    let read_as = disguise.min().map(|disguise| {
        let words = tokens.iter().enumerate();
        let words = words.map(|(number, token)| known(number).copied().unwrap_or(&token.text));
        (disguise, words.collect::<Vec<_>>().join(" "))
    });
    Place { range, read_as }
}

/// Returns the forms that a word is known by if it only looks like itself: of small letters, of capital
/// ones, and with a capital one at the beginning.
fn forms(word: &str) -> impl Iterator<Item = String> {
    let capital = word.to_uppercase();
    [word, capital.as_str()]
        .map(|form| skeleton(form).collect::<String>().to_lowercase())
        .into_iter()
}

/// Returns the forms by which a word looks like another one.
fn looks(word: &str) -> impl Iterator<Item = String> {
    let latin = |one: char| {
        let near = NEARLY_LATIN.iter().find(|(near, _)| *near == one);
        near.map_or(one, |(_, latin)| *latin)
    };
    let nearly: String = word.chars().map(latin).collect();
    let capital = word.to_uppercase();
    [nearly.as_str(), word, capital.as_str()]
        .map(|form| skeleton(form).collect::<String>().to_lowercase())
        .into_iter()
}

/// Returns true if a word has letters of scripts that have look-alikes of Latin ones.
fn may_look_latin(word: &str) -> bool {
    let of_script = |one: char| {
        matches!(one, '\u{180}'..='\u{2af}' | '\u{370}'..='\u{58f}' | '\u{13a0}'..='\u{13ff}'
            | '\u{1d00}'..='\u{1d7f}' | '\u{2100}'..='\u{214f}' | '\u{2c60}'..='\u{2c7f}' | '\u{a4d0}'..='\u{a4ff}'
            | '\u{ab70}'..='\u{abbf}')
    };
    let is_mixed = || word.bytes().any(|one| one.is_ascii_alphabetic());
    // Nearly every word in Russian or Greek has a letter that is like no Latin one.
    let is_alike = |one: char| !matches!(one, '\u{370}'..='\u{52f}') || LATIN_ALIKE.contains(one);
    word.chars().any(of_script) && (is_mixed() || word.chars().all(is_alike))
}
