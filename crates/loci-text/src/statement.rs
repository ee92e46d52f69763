//! Finds the differences between two short texts that an embedding model misses: "2023" and "2024",
//! "with" and "without", "Oslo to Utrecht" and "Utrecht to Oslo" have similar vectors but different
//! meanings.
//!
//! English, with the negations of German; in other languages only numbers and names are compared.

pub mod repetition;
mod vocabulary;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::analysis::fold::{fold, fold_width, is_unspaced, is_word_character};
use crate::analysis::language::is_stop_word;
use crate::analysis::{sentences, term_of_unit, terms_of_run};
use vocabulary::{
    alternatives, are_opposites, dimension, is_common, is_direction, is_negated, is_negation, role,
    tells_of_change, unit,
};

/// The maximum bytes of a text that are compared; the rest is ignored.
pub const STATEMENT_BYTES_MAX: usize = 2_000;

/// The maximum statements of a text that are compared; further ones are ignored.
pub const STATEMENTS_MAX: usize = 32;

/// The weight of a word that most statements contain, relative to a word of their subject.
const COMMON_WEIGHT: f32 = 0.25;
/// The minimum number of letters of a short name (`Postgres`) that matches a longer one
/// (`PostgreSQL`).
const SHORT_NAME_CHARACTERS_MIN: usize = 6;
/// Words between a preposition and its object.
const ARTICLES: [&str; 9] = ["a", "an", "the", "my", "our", "your", "his", "her", "their"];
/// Signs that are units next to a number.
const UNIT_SIGNS: [char; 4] = ['%', '€', '$', '£'];

/// The kind of difference between the sets that two texts name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// Both name the same.
    Same,
    /// One names more than the other.
    OneSided,
    /// Each names something that the other does not.
    Replaced,
}

/// A parsed short text, for comparisons with others.
///
/// ```
/// use loci_text::statement::Statement;
///
/// let asked = Statement::of("Can I take ibuprofen with alcohol?");
/// assert!(asked.asks_the_same_as(&Statement::of("can I take ibuprofen with alcohol")));
/// assert!(!asked.asks_the_same_as(&Statement::of("Can I take ibuprofen without alcohol?")));
/// ```
#[derive(Debug, Clone)]
pub struct Statement {
    tokens: Vec<Token>,
}

#[derive(Debug, Clone, PartialEq)]
struct Token {
    /// Folded.
    text: String,
    stem: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A number, a code, a version, which must match exactly.
    Exact,
    Unit,
    Name,
    Negation,
    /// A stop word.
    Stop,
    Topic,
}

/// The differences between an older statement and a newer one.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a difference of its own"
)]
pub struct Differences {
    /// The difference of numbers with their units, codes, versions.
    pub numbers: Difference,
    /// The difference of capitalised words that do not start a sentence.
    pub names: Difference,
    /// True if only one sentence is negated.
    pub negation: bool,
    /// True if things that both name have changed places or roles.
    pub order: bool,
    /// True if one has the opposite of a word of the other.
    pub opposites: bool,
    /// True if each has a different one of several mutually exclusive words.
    pub alternatives: bool,
    /// True if the newer one mentions a change.
    pub change: bool,
    /// The share of the topics of the shorter one that the other has, by weight, 0 to 1.
    pub shared: f32,
    /// The share of the topics of the older one that the newer one lacks, by weight, 0 to 1.
    pub removed: f32,
    /// The share of the topics of the newer one that the older one lacks, by weight, 0 to 1.
    pub added: f32,
}

impl Differences {
    /// True if no difference was found.
    pub fn are_none(&self) -> bool {
        (self.numbers, self.names) == (Difference::Same, Difference::Same)
            && !(self.negation || self.order || self.opposites || self.alternatives)
            && self.removed == 0.0
            && self.added == 0.0
    }
}

impl Statement {
    /// Parses the first [`STATEMENT_BYTES_MAX`] bytes of a text.
    pub fn of(text: &str) -> Statement {
        let text = fold_width(&text[..text.floor_char_boundary(STATEMENT_BYTES_MAX)]).into_owned();
        let mut reader = Reader {
            tokens: Vec::new(),
            begins_sentence: true,
        };
        text.split_whitespace()
            .for_each(|chunk| reader.chunk(chunk));
        Statement {
            tokens: reader.tokens,
        }
    }

    /// Returns the differences between this older statement and a newer one.
    pub fn differences(&self, newer: &Statement) -> Differences {
        let (topics, newer_topics) = (self.topics(), newer.topics());
        let [all, newer_all] = [&topics, &newer_topics].map(|topics| topics.values().sum::<f32>());
        let shared: f32 = topics
            .iter()
            .filter(|(stem, _)| newer_topics.contains_key(*stem))
            .map(|(_, weight)| weight)
            .sum();
        let share = |part: f32, whole: f32| {
            if whole > 0.0 {
                (part / whole).clamp(0.0, 1.0)
            } else {
                0.0
            }
        };
        Differences {
            numbers: self.numbers(newer),
            names: difference(&self.unmatched_names(newer), &newer.unmatched_names(self)),
            negation: self.denies() != newer.denies(),
            order: self.is_reordered(newer),
            opposites: self.has_opposite(newer),
            alternatives: self.has_alternative(newer),
            change: newer
                .tokens
                .iter()
                .any(|token| tells_of_change(&token.stem)),
            shared: share(shared, all.min(newer_all)),
            removed: share(all - shared, all),
            added: share(newer_all - shared, newer_all),
        }
    }

    /// True if two questions ask for the same, judged by numbers, units, names, negations,
    /// opposites and the order of named things. Other wording and meaning are not compared.
    pub fn asks_the_same_as(&self, other: &Statement) -> bool {
        let differences = self.differences(other);
        let Differences {
            numbers,
            names,
            negation,
            order,
            opposites,
            alternatives,
            ..
        } = differences;
        numbers == Difference::Same
            && names == Difference::Same
            && !negation
            && !order
            && !opposites
            && !alternatives
            && self.negations() == other.negations()
    }

    /// Returns the stems of its topics, with their weights.
    fn topics(&self) -> BTreeMap<&str, f32> {
        let topics = self
            .tokens
            .iter()
            .filter(|token| matches!(token.kind, Kind::Topic | Kind::Name | Kind::Exact));
        topics
            .map(|token| {
                (
                    &*token.stem,
                    if is_common(&token.stem) {
                        COMMON_WEIGHT
                    } else {
                        1.0
                    },
                )
            })
            .collect()
    }

    fn negations(&self) -> usize {
        let tokens = self.tokens.iter();
        let negations = tokens.filter(|token| token.kind == Kind::Negation);
        negations.count()
    }

    fn denies(&self) -> bool {
        self.negations() % 2 == 1
    }

    fn stems(&self) -> HashSet<&str> {
        self.tokens.iter().map(|token| &*token.stem).collect()
    }

    /// Returns numbers with the units that follow them, and other units separately.
    fn measures(&self) -> (BTreeSet<Measure<'_>>, BTreeSet<&str>) {
        let (mut numbers, mut units) = (BTreeSet::new(), BTreeSet::new());
        for (at, token) in self.tokens.iter().enumerate() {
            let unit = |place: usize| {
                self.tokens
                    .get(place)
                    .filter(|next| next.kind == Kind::Unit)
            };
            match token.kind {
                Kind::Exact => {
                    // The sign of a currency may precede its number.
                    let sign = at
                        .checked_sub(1)
                        .and_then(unit)
                        .filter(|sign| sign.text.starts_with(UNIT_SIGNS));
                    let unit = unit(at + 1).or(sign).map_or("", |unit| &unit.stem);
                    numbers.insert((&*token.text, unit));
                }
                Kind::Unit => {
                    units.insert(&*token.stem);
                }
                _ => {}
            }
        }
        (numbers, units)
    }

    fn numbers(&self, other: &Statement) -> Difference {
        let ((numbers, units), (other_numbers, other_units)) = (self.measures(), other.measures());
        let left: Vec<_> = numbers.difference(&other_numbers).collect();
        let right: Vec<_> = other_numbers.difference(&numbers).collect();
        // "12 nodes" does not replace "10 seconds", nor "eu-west-1".
        let is_code = |number: &str| number.contains(char::is_alphabetic);
        let are_alike = |(number, unit): &Measure<'_>, (other, other_unit): &Measure<'_>| {
            dimension(unit) == dimension(other_unit) && is_code(number) == is_code(other)
        };
        let are_replaced = left
            .iter()
            .any(|one| right.iter().any(|other| are_alike(one, other)));
        // A unit that only one sentence names may be phrased differently ("how long", "how many
        // hours").
        let is_other_unit = left.is_empty()
            && right.is_empty()
            && units.difference(&other_units).next().is_some()
            && other_units.difference(&units).next().is_some();
        if are_replaced || is_other_unit {
            Difference::Replaced
        } else if left.is_empty() && right.is_empty() {
            Difference::Same
        } else {
            Difference::OneSided
        }
    }

    /// Returns the names that the other text does not have, ignoring case.
    fn unmatched_names(&self, other: &Statement) -> Vec<&str> {
        let joined = |statement: &Statement| -> HashSet<String> {
            statement
                .tokens
                .windows(2)
                .map(|two| format!("{}{}", two[0].text, two[1].text))
                .collect()
        };
        let (stems, texts) = (
            other.stems(),
            other
                .tokens
                .iter()
                .map(|token| &*token.text)
                .collect::<HashSet<_>>(),
        );
        let other_joined = joined(other);
        let is_matched = |at: usize| {
            let token = &self.tokens[at];
            let next = self
                .tokens
                .get(at + 1)
                .map(|next| format!("{}{}", token.text, next.text));
            let before = at
                .checked_sub(1)
                .map(|before| format!("{}{}", self.tokens[before].text, token.text));
            stems.contains(&*token.stem)
                || other_joined.contains(&token.text)
                || next.is_some_and(|joined| texts.contains(&*joined))
                || before.is_some_and(|joined| texts.contains(&*joined))
                || texts
                    .iter()
                    .any(|text| is_short_for(text, &token.text) || is_short_for(&token.text, text))
        };
        let names = (0..self.tokens.len())
            .filter(|at| self.tokens[*at].kind == Kind::Name && !is_matched(*at));
        names.map(|at| &*self.tokens[at].text).collect()
    }

    /// Returns the words that the other text lacks, including negations and stop words.
    fn own_tokens(&self, other: &Statement) -> Vec<&Token> {
        let stems = other.stems();
        self.tokens
            .iter()
            .filter(|token| !stems.contains(&*token.stem))
            .collect()
    }

    fn has_opposite(&self, other: &Statement) -> bool {
        let (own, others) = (self.own_tokens(other), other.own_tokens(self));
        let are_opposites = |one: &Token, other: &Token| {
            are_opposites(&one.stem, &other.stem)
                || is_negated(&one.text, &other.text)
                || is_negated(&other.text, &one.text)
        };
        own.iter()
            .any(|one| others.iter().any(|other| are_opposites(one, other)))
    }

    /// Returns the groups of alternatives of which it has a word, each with the words.
    fn alternatives(&self) -> BTreeMap<usize, BTreeSet<String>> {
        let mut found: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
        let singles = self
            .tokens
            .iter()
            .filter(|token| token.kind != Kind::Stop)
            .map(|token| token.stem.clone());
        let pairs = self
            .tokens
            .windows(2)
            .map(|two| format!("{} {}", two[0].stem, two[1].stem));
        for stem in singles.chain(pairs) {
            for group in alternatives(&stem) {
                found.entry(*group).or_default().insert(stem.clone());
            }
        }
        found
    }

    fn has_alternative(&self, other: &Statement) -> bool {
        let (own, others) = (self.alternatives(), other.alternatives());
        let has_same = |words: &BTreeSet<String>, others: &BTreeSet<String>| {
            words.iter().any(|one| {
                others
                    .iter()
                    .any(|two| one == two || is_short_for(one, two) || is_short_for(two, one))
            })
        };
        own.iter().any(|(group, words)| {
            others
                .get(group)
                .is_some_and(|others| !has_same(words, others))
        })
    }

    /// True if two things that both name once have changed places or roles.
    fn is_reordered(&self, other: &Statement) -> bool {
        if self.asks_for_object_of(other) || other.asks_for_object_of(self) {
            return true;
        }
        let things: Vec<(Mention<'_>, Mention<'_>)> = self
            .named()
            .filter_map(|thing| Some((thing, other.only(thing.stem)?)))
            .collect();
        things.iter().enumerate().any(|(at, one)| {
            things[at + 1..]
                .iter()
                .any(|two| self.are_swapped(other, one, two))
        })
    }

    /// True if this asks what something does ("which services does billing need"), and the other
    /// what does something to that ("which services need billing").
    fn asks_for_object_of(&self, other: &Statement) -> bool {
        const ASKING: [&str; 5] = ["what", "which", "who", "whom", "whose"];
        const DOING: [&str; 3] = ["did", "do", "does"];
        const AUXILIARIES: [&str; 17] = [
            "am", "are", "can", "could", "did", "do", "does", "had", "has", "have", "is", "may",
            "must", "should", "was", "were", "will",
        ];
        let asks = |statement: &Statement| {
            statement
                .tokens
                .first()
                .is_some_and(|first| ASKING.contains(&&*first.text) && statement.tokens.len() > 1)
        };
        let has_auxiliary = other
            .tokens
            .iter()
            .any(|token| AUXILIARIES.contains(&&*token.text));
        if !asks(self) || !asks(other) || has_auxiliary {
            return false;
        }
        let after = self
            .tokens
            .iter()
            .skip_while(|token| !DOING.contains(&&*token.text))
            .skip(1);
        let subject = after
            .into_iter()
            .find(|token| !ARTICLES.contains(&&*token.text));
        subject.is_some_and(|subject| other.tokens.iter().any(|token| token.stem == subject.stem))
    }

    fn are_swapped(
        &self,
        other: &Statement,
        one: &(Mention<'_>, Mention<'_>),
        two: &(Mention<'_>, Mention<'_>),
    ) -> bool {
        let is_directed = |role: Option<&str>| role.is_some_and(is_direction);
        let roles = [one.0.role, two.0.role];
        let other_roles = [one.1.role, two.1.role];
        let is_inverted = (one.0.at < two.0.at) != (one.1.at < two.1.at);
        if !is_inverted {
            return roles[0] != roles[1]
                && roles.iter().rev().eq(&other_roles)
                && roles.iter().copied().all(is_directed);
        }
        let are_told_by_roles = roles == other_roles && roles[0] != roles[1];
        // The first word of a text is capitalised even if it is not a name.
        let is_name = |thing: &(Mention<'_>, Mention<'_>)| thing.0.is_name || thing.1.is_name;
        let are_names = is_name(one) && is_name(two);
        let are_directed =
            roles.iter().copied().any(is_directed) && other_roles.iter().copied().any(is_directed);
        (are_names || are_directed)
            && !are_told_by_roles
            && !self.are_listed(one.0.at, two.0.at)
            && !other.are_listed(one.1.at, two.1.at)
    }

    /// True if only stop words, "and" or "or" are between two positions.
    fn are_listed(&self, one: usize, two: usize) -> bool {
        const CONJUNCTIONS: [&str; 5] = ["and", "or", "und", "vs", "versus"];
        let between = &self.tokens[one.min(two) + 1..one.max(two)];
        between
            .iter()
            .all(|token| token.kind == Kind::Stop || CONJUNCTIONS.contains(&&*token.text))
            && (between.is_empty()
                || between
                    .iter()
                    .any(|token| CONJUNCTIONS.contains(&&*token.text)))
    }

    /// Returns the things that it names once.
    fn named(&self) -> impl Iterator<Item = Mention<'_>> {
        let stems = self.tokens.iter().filter(|token| {
            matches!(
                token.kind,
                Kind::Topic | Kind::Name | Kind::Exact | Kind::Unit
            )
        });
        stems.filter_map(|token| self.only(&token.stem))
    }

    /// Returns the thing with this stem, if it is named once.
    fn only(&self, stem: &str) -> Option<Mention<'_>> {
        let mut places = self
            .tokens
            .iter()
            .enumerate()
            .filter(|(_, token)| token.stem == stem);
        let (at, token) = places.next()?;
        if places.next().is_some() {
            return None;
        }
        let before = self.tokens[..at]
            .iter()
            .rev()
            .find(|token| !ARTICLES.contains(&&*token.text));
        let role = before.and_then(|before| role(&before.text));
        Some(Mention {
            stem: &token.stem,
            at,
            role,
            is_name: token.kind == Kind::Name,
        })
    }
}

fn is_short_for(one: &str, two: &str) -> bool {
    one.len() >= SHORT_NAME_CHARACTERS_MIN && two.starts_with(one)
}

/// Returns the first [`STATEMENTS_MAX`] sentences of a text as statements.
pub fn statements(text: &str) -> Vec<Statement> {
    sentences(text)
        .take(STATEMENTS_MAX)
        .map(Statement::of)
        .collect()
}

/// Returns the differences between the older and the newer statement that have the most topics in
/// common, by weight; `None` if either side is empty.
pub fn closest(older: &[Statement], newer: &[Statement]) -> Option<Differences> {
    let common = |one: &BTreeMap<&str, f32>, other: &BTreeMap<&str, f32>| -> f32 {
        one.iter()
            .filter(|(stem, _)| other.contains_key(*stem))
            .map(|(_, weight)| weight)
            .sum()
    };
    let newer_topics: Vec<_> = newer.iter().map(Statement::topics).collect();
    let mut closest: Option<(f32, &Statement, &Statement)> = None;
    for one in older {
        let topics = one.topics();
        for (other, other_topics) in newer.iter().zip(&newer_topics) {
            let common = common(&topics, other_topics);
            if closest.is_none_or(|(most, ..)| common > most) {
                closest = Some((common, one, other));
            }
        }
    }
    closest.map(|(_, older, newer)| older.differences(newer))
}

/// A number or code, and its unit, which is empty if there is no unit.
type Measure<'a> = (&'a str, &'a str);

/// A thing and its position.
#[derive(Debug, Clone, Copy)]
struct Mention<'a> {
    stem: &'a str,
    at: usize,
    role: Option<&'a str>,
    is_name: bool,
}

fn difference<T>(left: &[T], right: &[T]) -> Difference {
    match (left.is_empty(), right.is_empty()) {
        (true, true) => Difference::Same,
        (false, false) => Difference::Replaced,
        _ => Difference::OneSided,
    }
}

/// Parses a text in chunks between white space.
struct Reader {
    tokens: Vec<Token>,
    begins_sentence: bool,
}

impl Reader {
    fn chunk(&mut self, chunk: &str) {
        let is_kept =
            |character: char| is_word_character(character) || UNIT_SIGNS.contains(&character);
        let begins_sentence = std::mem::take(&mut self.begins_sentence);
        let rest = chunk.trim_start_matches(|character| !is_kept(character));
        let word = rest.trim_end_matches(|character| !is_kept(character));
        // `C#` and `C++` are names.
        let is_language =
            rest.len() <= 4 && (rest.ends_with("++") || rest.ends_with('#')) && !word.is_empty();
        let word = if is_language { rest } else { word };
        self.begins_sentence = rest
            .trim_end_matches(['"', '\'', ')'])
            .ends_with(['.', '!', '?', ':']);
        if is_language {
            return self.push(&fold(word), Kind::Name);
        }
        self.signed(word, begins_sentence);
    }

    /// Parses a stretch with unit signs around it.
    fn signed(&mut self, word: &str, begins_sentence: bool) {
        let bare = word.trim_start_matches(UNIT_SIGNS);
        let (before, bare) = (
            &word[..word.len() - bare.len()],
            bare.trim_end_matches(UNIT_SIGNS),
        );
        let after = &word[before.len() + bare.len()..];
        before
            .chars()
            .for_each(|sign| self.push(sign.encode_utf8(&mut [0; 4]), Kind::Unit));
        if bare.contains(is_unspaced) {
            self.unspaced(bare);
        } else if !bare.is_empty() {
            self.bare(bare, begins_sentence);
        }
        after
            .chars()
            .for_each(|sign| self.push(sign.encode_utf8(&mut [0; 4]), Kind::Unit));
    }

    /// Parses runs of scripts without spaces, and the stretches between them.
    fn unspaced(&mut self, text: &str) {
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let is_run = is_unspaced(first);
            let end = rest
                .find(|character| is_unspaced(character) != is_run)
                .unwrap_or(rest.len());
            let stretch = &rest[..end];
            if is_run {
                for term in terms_of_run(stretch) {
                    self.push(&term, Kind::Topic);
                }
            } else {
                self.bare(stretch, true);
            }
            rest = &rest[end..];
        }
    }

    fn bare(&mut self, word: &str, begins_sentence: bool) {
        let folded = fold(word);
        if word.contains(|character: char| character.is_ascii_digit()) {
            return self.with_digits(&folded);
        }
        let is_inner = |sign: &str| folded.trim_matches('.').contains(sign);
        if folded.contains('_') || is_inner("::") || is_inner(".") && folded.chars().count() > 4 {
            return self.push(&folded, Kind::Exact);
        }
        for (part_at, part) in word
            .split(['-', '/', ',', ':', '\u{2014}', '\u{2013}', '>', '<', '='])
            .enumerate()
        {
            if !part.is_empty() {
                self.word(part, begins_sentence && part_at == 0);
            }
        }
    }

    /// Parses a number, a number with its unit, or a code.
    fn with_digits(&mut self, folded: &str) {
        let number_end = folded
            .find(|character: char| {
                !character.is_ascii_digit() && !matches!(character, '.' | ',' | ':')
            })
            .unwrap_or(folded.len());
        let (number, rest) = folded.split_at(number_end);
        let number = number.trim_end_matches(['.', ',', ':']);
        if !number.is_empty() && (rest.is_empty() || unit(rest, true).is_some()) {
            self.push(&number.replace(',', ""), Kind::Exact);
            if !rest.is_empty() {
                self.push(rest, Kind::Unit);
            }
            return;
        }
        let is_version = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
        let code = folded
            .strip_prefix('v')
            .filter(|rest| is_version(rest))
            .unwrap_or(folded);
        self.push(code, Kind::Exact);
    }

    fn word(&mut self, word: &str, begins_sentence: bool) {
        let folded = fold(word).replace('\u{2019}', "'");
        if let Some(base) = folded.strip_suffix("n't") {
            self.push(if base == "ca" { "can" } else { base }, Kind::Stop);
            return self.push("not", Kind::Negation);
        }
        let folded = folded
            .strip_suffix("'s")
            .or_else(|| folded.strip_suffix('\''))
            .unwrap_or(&folded);
        let is_after_number = self
            .tokens
            .last()
            .is_some_and(|before| before.kind == Kind::Exact);
        let mut characters = word.chars();
        let is_capital = characters.next().is_some_and(char::is_uppercase);
        let has_capitals = is_capital && characters.clone().any(char::is_uppercase);
        let is_single = characters.next().is_none();
        if is_negation(folded) {
            self.push(folded, Kind::Negation);
        } else if is_capital && is_single && !begins_sentence && folded != "i" {
            // `plan B`, `vitamin D`.
            self.push(folded, Kind::Exact);
        } else if unit(folded, is_after_number).is_some() {
            self.push(folded, Kind::Unit);
        } else if folded != "one"
            && term_of_unit(folded)
                .is_some_and(|term| term.starts_with(|first: char| first.is_ascii_digit()))
        {
            self.push(&term_of_unit(folded).unwrap_or_default(), Kind::Exact);
        } else if has_capitals || is_capital && !begins_sentence && !is_stop_word(folded) {
            self.push(folded, Kind::Name);
        } else if is_stop_word(folded) {
            self.push(folded, Kind::Stop);
        } else {
            self.push(folded, Kind::Topic);
        }
    }

    fn push(&mut self, text: &str, kind: Kind) {
        if text.is_empty() {
            return;
        }
        let stem = match kind {
            Kind::Unit => unit(text, true).unwrap_or(text).to_owned(),
            Kind::Exact => text.to_owned(),
            _ => term_of_unit(text).unwrap_or_else(|| text.to_owned()),
        };
        self.tokens.push(Token {
            text: text.to_owned(),
            stem,
            kind,
        });
    }
}

#[cfg(test)]
mod tests;
