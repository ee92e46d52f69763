//! Parses a question into what it asks for.

pub mod identifiers;

use std::collections::HashMap;
use std::ops::RangeInclusive;

use jiff::civil::Date;

use crate::analysis::fold::{clusters, fold, fold_width};
use crate::analysis::language::is_stop_word;
use crate::analysis::units::{Unit, units};
use crate::analysis::vocabulary::without_contraction;
use crate::analysis::{query_terms, term_of_unit, terms_of_run};
use crate::dates::{self, marks};
use crate::document::speaker_mark;
use crate::paths::{self, NamedPath};
use identifiers::Identifier;

/// The maximum number of speaker marks of a query.
pub const SPEAKER_MARKS_MAX: usize = 16;
/// The maximum number of date marks of a query.
pub const DATE_MARKS_MAX: usize = 32;
/// The maximum number of phrases of a query; further quotes are ordinary words.
pub const PHRASES_MAX: usize = 8;
/// The maximum number of words of a phrase that are used: [`Phrase::is_in`] has a bit for each.
pub const PHRASE_WORDS_MAX: usize = u64::BITS as usize;

/// A parsed question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The distinct terms to score, at most [`crate::analysis::QUERY_TERMS_MAX`]; stop words are
    /// dropped unless nothing else remains.
    pub terms: Vec<String>,
    /// The texts in quotation marks, which must be in an answer; a quote without terms is ignored.
    pub phrases: Vec<Phrase>,
    /// The identifiers that it names, at most [`identifiers::IDENTIFIERS_MAX`]: memories that
    /// contain them come first.
    pub identifiers: Vec<Identifier>,
    /// The files that it names, at most [`PATHS_MAX`](crate::paths::PATHS_MAX): memories made from
    /// them come first.
    pub paths: Vec<NamedPath>,
    /// The marks of the speakers that it may name: its capitalised words and runs of up to three.
    pub speakers: Vec<String>,
    /// The marks of the time that it names: a passage with any mark matches.
    pub dates: Vec<String>,
    /// The same time as days, to compare with the date of a record. `None` if it names no time, or
    /// one of every year (a month, a birthday).
    pub days: Option<RangeInclusive<Date>>,
    /// True if the question asks for a time.
    pub asks_when: bool,
}

impl Query {
    /// Parses a question that is asked on this day.
    pub fn parse(text: &str, today: Date) -> Query {
        let folded = fold_width(text);
        let (dates, days) = named_time(&folded, today);
        Query {
            terms: query_terms(text),
            phrases: quotes(&folded)
                .filter_map(Phrase::of)
                .take(PHRASES_MAX)
                .collect(),
            identifiers: identifiers::identifiers(&folded),
            paths: paths::named(&folded),
            speakers: speakers(&folded),
            dates,
            days,
            asks_when: asks_when(&folded),
        }
    }

    /// True if it quotes text that must be in an answer.
    pub fn quotes(&self) -> bool {
        !self.phrases.is_empty()
    }

    /// Returns the distinct terms that every text with all the phrases has.
    pub fn required(&self) -> Vec<String> {
        let mut terms: Vec<String> = self
            .phrases
            .iter()
            .flat_map(|phrase| phrase.terms.iter().cloned())
            .collect();
        terms.sort_unstable();
        terms.dedup();
        terms
    }
}

/// A phrase of adjacent words; of a long quotation, its first [`PHRASE_WORDS_MAX`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase {
    text: String,
    /// The positions of each word in the phrase, the first in the lowest bit.
    places: HashMap<String, u64>,
    /// The positions that continue a run of characters; never the first.
    continuing: u64,
    /// The position of the last word.
    last: u64,
    terms: Vec<String>,
}

/// A folded word, or one character of a script without spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    text: String,
    /// True if it continues a run of such characters.
    continues: bool,
}

impl Phrase {
    fn of(text: &str) -> Option<Phrase> {
        let (mut words, mut terms): (Vec<Word>, Vec<String>) = (Vec::new(), Vec::new());
        for (_, unit) in units(text) {
            let room = PHRASE_WORDS_MAX - words.len();
            match unit {
                _ if room == 0 => break,
                Unit::Word(word) => {
                    terms.extend(term_of_unit(&fold(word)));
                    words.extend(folded_words(unit));
                }
                Unit::Run(run) => {
                    let run = &run[..clusters(run).take(room).map(str::len).sum()];
                    terms.extend(terms_of_run(run));
                    words.extend(folded_words(Unit::Run(run)));
                }
            }
        }
        // Stop words are in most passages: searching for them is expensive and selects little.
        if terms.iter().any(|term| !is_stop_word(term)) {
            terms.retain(|term| !is_stop_word(term));
        }
        if terms.is_empty() {
            return None;
        }
        let (mut places, mut continuing, mut last) = (HashMap::new(), 0, 0);
        for (at, word) in words.into_iter().enumerate() {
            last = 1 << at;
            continuing |= if word.continues { last } else { 0 };
            *places.entry(word.text).or_default() |= last;
        }
        Some(Phrase {
            text: text.trim().to_owned(),
            places,
            continuing,
            last,
            terms,
        })
    }

    /// Returns the phrase as it was written, without the quotation marks.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the terms that every passage with the phrase has.
    pub fn terms(&self) -> &[String] {
        &self.terms
    }

    /// True if these words are in the content in this order, with only white space and punctuation
    /// between them. Case, width and diacritics are ignored, endings are not. In scripts without
    /// spaces, the characters must be adjacent.
    pub fn is_in(&self, content: &str) -> bool {
        let content = fold_width(content);
        // Shift-And (Baeza-Yates and Gonnet, 1992): a bit is set if the phrase up to this position
        // ends here. Linear in time even with repetitions.
        let mut matched = 0_u64;
        units(&content)
            .flat_map(|(_, unit)| folded_words(unit))
            .any(|word| {
                let fitting = self.places.get(&word.text).copied().unwrap_or(0);
                let fitting = if word.continues {
                    fitting
                } else {
                    fitting & !self.continuing
                };
                matched = (matched << 1 | 1) & fitting;
                matched & self.last != 0
            })
    }
}

fn folded_words(unit: Unit<'_>) -> Vec<Word> {
    match unit {
        Unit::Word(word) => vec![Word {
            text: fold(word),
            continues: false,
        }],
        Unit::Run(run) => {
            let word = |(at, cluster): (usize, &str)| Word {
                text: cluster.to_owned(),
                continues: at > 0,
            };
            clusters(run).enumerate().map(word).collect()
        }
    }
}

/// Returns the texts in quotation marks. A straight mark after a letter or digit does not open a
/// quote (5' 10").
fn quotes(text: &str) -> impl Iterator<Item = &str> {
    const PAIRS: [(char, char); 6] = [
        ('"', '"'),
        ('“', '”'),
        ('„', '“'),
        ('«', '»'),
        ('「', '」'),
        ('『', '』'),
    ];
    let (mut at, mut missing) = (0, Vec::new());
    std::iter::from_fn(move || {
        while let Some(start) =
            text[at..].find(|mark| PAIRS.iter().any(|(opening, _)| *opening == mark))
        {
            let start = at + start;
            let before = text[..start].chars().next_back();
            let opening = text[start..].chars().next()?;
            let inside = start + opening.len_utf8();
            at = inside;
            if opening == '"' && before.is_some_and(char::is_alphanumeric) {
                continue;
            }
            let (_, closing) = PAIRS.iter().find(|(mark, _)| *mark == opening)?;
            if missing.contains(closing) {
                continue;
            }
            let Some(length) = text[inside..].find(*closing) else {
                // The closing mark cannot follow any later opening one either.
                missing.push(*closing);
                continue;
            };
            at = inside + length + closing.len_utf8();
            return Some(&text[inside..inside + length]);
        }
        None
    })
}

/// Returns the marks of every capitalised word that is not a stop word and of runs of up to three;
/// in scripts without spaces, of the beginnings of a run.
fn speakers(text: &str) -> Vec<String> {
    const RUN_WORDS_MAX: usize = 3;
    const NAME_CHARACTERS: RangeInclusive<usize> = 2..=4;
    let mut marks: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        let mark = speaker_mark(name);
        if marks.len() < SPEAKER_MARKS_MAX && !marks.contains(&mark) {
            marks.push(mark);
        }
    };
    let mut run: Vec<String> = Vec::new();
    let mut end_before = 0;
    for (start, unit) in units(text) {
        let gap = &text[end_before..start];
        end_before = start + unit.text().len();
        if !(1..=2).contains(&gap.len()) || gap.contains(|sign| !matches!(sign, ' ' | '-' | '.')) {
            run.clear();
        }
        let word = match unit {
            Unit::Word(word) => word,
            Unit::Run(name) => {
                let ends = name
                    .char_indices()
                    .map(|(at, _)| at)
                    .chain([name.len()])
                    .enumerate();
                ends.filter(|(count, _)| NAME_CHARACTERS.contains(count))
                    .for_each(|(_, end)| add(&name[..end]));
                continue;
            }
        };
        let folded = fold(word);
        // The owner may have an apostrophe: `O'Brien's`.
        let base = without_contraction(&folded)
            .or_else(|| folded.strip_suffix("'s"))
            .unwrap_or(&folded);
        if !word.starts_with(char::is_uppercase) || is_stop_word(base) {
            run.clear();
            continue;
        }
        run.push(base.to_owned());
        for first in run.len().saturating_sub(RUN_WORDS_MAX)..run.len() {
            add(&run[first..].join(" "));
        }
        if base.len() < folded.len() {
            run.clear();
        }
    }
    marks
}

/// Returns the marks of the time that a query names, and its days: of several times, from the first
/// to the last.
fn named_time(text: &str, today: Date) -> (Vec<String>, Option<RangeInclusive<Date>>) {
    let (mut found, mut days): (Vec<String>, Option<RangeInclusive<Date>>) = (Vec::new(), None);
    for expression in dates::expressions(text, today) {
        for mark in marks::of_query(&expression.time) {
            if found.len() < DATE_MARKS_MAX && !found.contains(&mark) {
                found.push(mark);
            }
        }
        if let Some(named) = marks::days(&expression.time) {
            days = Some(days.map_or(named.clone(), |days| {
                *days.start().min(named.start())..=*days.end().max(named.end())
            }));
        }
    }
    (found, days)
}

/// Returns true for "when" near the beginning or after a word such as "know", for "how long", "how
/// many days", "what year". In "what did she do when ..." it does not ask for a time.
fn asks_when(text: &str) -> bool {
    const WORDS_BEFORE_WHEN_MAX: usize = 2;
    const LEADS_TO_WHEN: [&str; 14] = [
        "about",
        "and",
        "determine",
        "exactly",
        "find",
        "know",
        "me",
        "on",
        "out",
        "remember",
        "say",
        "since",
        "tell",
        "until",
    ];
    const TIMES: [&str; 14] = [
        "date", "dates", "day", "days", "decade", "hour", "hours", "month", "months", "time",
        "week", "weeks", "year", "years",
    ];
    let words: Vec<String> = units(text).map(|(_, unit)| fold(unit.text())).collect();
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    (0..words.len()).any(|at| {
        let (before, next) = (if at > 0 { word(at - 1) } else { "" }, word(at + 1));
        match word(at) {
            "when" | "when's" => at <= WORDS_BEFORE_WHEN_MAX || LEADS_TO_WHEN.contains(&before),
            "how" => {
                matches!(next, "long" | "recently")
                    || next == "many" && TIMES.contains(&word(at + 2))
            }
            "what" | "which" => TIMES.contains(&next) || next == "time",
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests;
