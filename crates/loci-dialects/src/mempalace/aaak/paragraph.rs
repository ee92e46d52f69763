//! The analysis of a paragraph for the encoder.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use loci_text::sentences::sentences;

use super::VALUES_MAX;
use super::lexicon::{EMOTIONS, FLAGS, NO_EMOTIONS, SHORT_WORDS, STOP_WORDS, WEIGHTS};

/// The maximum characters of a quote.
const QUOTE_CHARACTERS_MAX: usize = 160;
/// The maximum characters of a topic word.
const TOPIC_CHARACTERS_MAX: usize = 24;
/// The minimum bytes of a topic word: four letters in English, two in most other scripts.
const TOPIC_BYTES_MIN: usize = 4;
/// The number of topic words that add to the strength of a sentence; more only make it long.
const STRENGTH_WORDS_MAX: usize = 12;
/// The maximum number of sentences of a paragraph to rate.
const SENTENCES_MAX: usize = 200;

/// The word counts of a whole text, and the words that are names.
pub struct Vocabulary {
    counts: HashMap<String, usize>,
    names: HashSet<String>,
}

/// The fields of the line for a paragraph.
pub struct Paragraph<'a> {
    /// The names in it, most frequent first.
    pub entities: Vec<&'a str>,
    /// Its most frequent words.
    pub topics: Vec<String>,
    /// Its strongest sentence.
    pub quote: String,
    /// Its emotions, in the order of the words that indicate them.
    pub emotions: Vec<&'static str>,
    /// Its flags.
    pub flags: Vec<&'static str>,
    /// Its importance, 0 to 5.
    pub stars: usize,
}

impl Vocabulary {
    pub fn of(text: &str) -> Self {
        let (mut counts, mut names): (HashMap<String, usize>, HashSet<String>) = Default::default();
        let mut lower: HashSet<String> = HashSet::new();
        let mut begins: HashMap<String, usize> = HashMap::new();
        for sentence in sentences(text) {
            for (place, word) in words(sentence).enumerate() {
                let key = word.to_lowercase();
                *counts.entry(key.clone()).or_default() += 1;
                if is_identifier(word) {
                    names.insert(key);
                } else if !is_capitalised(word) {
                    lower.insert(key);
                } else if place > 0 && !is_common(&key) {
                    names.insert(key);
                } else if place == 0 && !is_common(&key) {
                    *begins.entry(key).or_default() += 1;
                }
            }
        }
        // Every sentence starts with a capital; a word that does so twice and is never lower case
        // is a name.
        names.extend(
            begins
                .into_iter()
                .filter(|(_, times)| *times > 1)
                .map(|(key, _)| key),
        );
        names.retain(|name| !lower.contains(name));
        Vocabulary { counts, names }
    }

    fn is_name(&self, word: &str) -> bool {
        (is_identifier(word) || is_capitalised(word)) && self.names.contains(&word.to_lowercase())
    }
}

impl<'a> Paragraph<'a> {
    pub fn of(text: &'a str, vocabulary: &Vocabulary) -> Self {
        let folded = folded(text);
        let mut flags: Vec<&str> = FLAGS
            .iter()
            .filter(|(_, cues)| says(&folded, cues))
            .map(|(flag, _)| *flag)
            .collect();
        if (text.contains("```") || words(text).any(is_identifier)) && !flags.contains(&"TECHNICAL")
        {
            let later = flags
                .iter()
                .position(|flag| *flag == "SENSITIVE")
                .unwrap_or(flags.len());
            flags.insert(later, "TECHNICAL");
        }
        flags.truncate(VALUES_MAX);
        Paragraph {
            entities: entities(text, vocabulary),
            topics: topics(text, vocabulary),
            quote: quote(text, vocabulary),
            emotions: emotions(text),
            flags,
            stars: WEIGHTS
                .iter()
                .find(|(_, cues)| says(&folded, cues))
                .map_or(0, |(stars, _)| *stars),
        }
    }

    /// Returns true if no field but the quote has a value.
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
            && self.topics.is_empty()
            && self.emotions.is_empty()
            && self.flags.is_empty()
    }

    /// Returns the strength of the paragraph, by which paragraphs are selected.
    pub fn strength(&self) -> usize {
        4 * self.stars
            + 3 * self.flags.len()
            + 2 * (self.entities.len() + self.emotions.len())
            + self.topics.len()
    }
}

/// Splits a text into words: letters and digits of any script, with inner apostrophes, hyphens and
/// underscores.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_inside = |character: char| {
        character.is_alphanumeric() || matches!(character, '_' | '\'' | '’' | '-')
    };
    let joins = ['\'', '’', '-'];
    text.split(move |character| !is_inside(character))
        .map(move |word| word.trim_matches(joins))
        .filter(|word| word.contains(char::is_alphanumeric))
}

/// Returns true for a program identifier: with an underscore, or with a capital after a small
/// letter.
fn is_identifier(word: &str) -> bool {
    let has_joint = word.trim_matches('_').contains('_');
    let mut pairs = word.chars().zip(word.chars().skip(1));
    has_joint || pairs.any(|(first, second)| first.is_lowercase() && second.is_uppercase())
}

fn is_capitalised(word: &str) -> bool {
    word.starts_with(char::is_uppercase) && word.chars().nth(1).is_some()
}

/// Returns true if a lower-case word is a common word.
fn is_common(word: &str) -> bool {
    static COMMON: LazyLock<HashSet<&str>> =
        LazyLock::new(|| SHORT_WORDS.iter().chain(STOP_WORDS).copied().collect());
    COMMON.contains(word)
}

/// Returns the names by their frequency here, ties in order of appearance.
fn entities<'a>(text: &'a str, vocabulary: &Vocabulary) -> Vec<&'a str> {
    let mut found: Vec<(&str, usize)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for word in words(text).filter(|word| vocabulary.is_name(word)) {
        let place = *places.entry(word).or_insert_with(|| {
            found.push((word, 0));
            found.len() - 1
        });
        found[place].1 += 1;
    }
    found.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    found
        .into_iter()
        .take(VALUES_MAX)
        .map(|(word, _)| word)
        .collect()
}

/// Returns the topic words by their frequency here, then in the whole text, ties in order of
/// appearance.
fn topics(text: &str, vocabulary: &Vocabulary) -> Vec<String> {
    let mut found: Vec<(String, usize)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for word in words(text).filter(|word| is_topic(word, vocabulary)) {
        let key = word.to_lowercase();
        let place = *places.entry(key.clone()).or_insert_with(|| {
            found.push((key, 0));
            found.len() - 1
        });
        found[place].1 += 1;
    }
    let in_text = |key: &str| vocabulary.counts.get(key).copied().unwrap_or_default();
    found.sort_by_key(|(key, times)| std::cmp::Reverse((*times, in_text(key))));
    found
        .into_iter()
        .take(VALUES_MAX)
        .map(|(key, _)| key)
        .collect()
}

fn is_topic(word: &str, vocabulary: &Vocabulary) -> bool {
    let characters = word.chars().count();
    word.len() >= TOPIC_BYTES_MIN
        && (2..=TOPIC_CHARACTERS_MAX).contains(&characters)
        && word
            .chars()
            .all(|character| character.is_alphabetic() || character == '-')
        && !is_common(&word.to_lowercase())
        && !vocabulary.is_name(word)
}

/// Returns the strongest sentence by its cues, names and words: the first one of equals, truncated
/// if it is long.
fn quote(text: &str, vocabulary: &Vocabulary) -> String {
    let strength = |sentence: &str| {
        let folded = folded(sentence);
        let cues = FLAGS.iter().filter(|(_, cues)| says(&folded, cues)).count();
        let weight = usize::from(WEIGHTS.iter().any(|(_, cues)| says(&folded, cues)));
        let names = words(sentence)
            .filter(|word| vocabulary.is_name(word))
            .count()
            .min(VALUES_MAX);
        let topics = words(sentence)
            .filter(|word| is_topic(word, vocabulary))
            .count()
            .min(STRENGTH_WORDS_MAX);
        3 * (cues + weight) + 2 * names + topics
    };
    let has_words = |sentence: &&str| words(sentence).next().is_some();
    let judged = sentences(text)
        .filter(has_words)
        .take(SENTENCES_MAX)
        .map(|sentence| (strength(sentence), sentence));
    let best = judged.reduce(|best, next| if next.0 > best.0 { next } else { best });
    let sentence = best.map_or("", |(_, sentence)| sentence);
    match sentence.char_indices().nth(QUOTE_CHARACTERS_MAX) {
        Some((end, _)) => {
            let cut = &sentence[..end];
            let whole = cut
                .rfind(char::is_whitespace)
                .map_or(cut, |word| &cut[..word]);
            format!("{}…", whole.trim_end())
        }
        None => sentence.to_owned(),
    }
}

/// Returns the emotions that the words indicate, in order.
fn emotions(text: &str) -> Vec<&'static str> {
    let mut found = Vec::new();
    for word in words(text) {
        let word = word.to_lowercase();
        let tells = |(_, stems): &&(&str, &[&str])| stems.iter().any(|stem| word.starts_with(stem));
        let emotion = EMOTIONS
            .iter()
            .find(tells)
            .filter(|_| !NO_EMOTIONS.contains(&word.as_str()));
        if let Some((emotion, _)) = emotion
            && !found.contains(emotion)
        {
            found.push(*emotion);
        }
        if found.len() == VALUES_MAX {
            break;
        }
    }
    found
}

/// Returns the words in lower case, with a blank before and after each.
fn folded(text: &str) -> String {
    let mut folded = " ".to_owned();
    for word in words(text) {
        folded.push_str(&word.to_lowercase().replace('’', "'"));
        folded.push(' ');
    }
    folded
}

/// Returns true if the text contains one of the phrases as whole words.
fn says(folded: &str, phrases: &[&str]) -> bool {
    let is_word = |at: usize, phrase: &str| {
        folded.as_bytes().get(at.wrapping_sub(1)) == Some(&b' ')
            && folded.as_bytes().get(at + phrase.len()) == Some(&b' ')
    };
    phrases.iter().any(|phrase| {
        folded
            .match_indices(phrase)
            .any(|(at, _)| is_word(at, phrase))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_the_beginnings_of_sentences() {
        let text = "The crane is old. Today Ann paints it. Bob helps. Bob is late. Paint dries. We use HttpServer.";
        let vocabulary = Vocabulary::of(text);
        let names: Vec<&str> = words(text)
            .filter(|word| vocabulary.is_name(word))
            .collect();
        assert_eq!(names, ["Ann", "Bob", "Bob", "HttpServer"]);
    }

    #[test]
    fn cues_are_whole_words() {
        let rows = [
            ("We decided it.", vec!["DECISION"], 0),
            ("An undecided mustard.", vec![], 0),
            (
                "It turned out we must keep the password secret.",
                vec!["CORE", "PIVOT", "SENSITIVE"],
                0,
            ),
            ("The most important thing is critical.", vec![], 5),
            ("See my_function.", vec!["TECHNICAL"], 0),
            (
                "Decided. Founded. Never. Switched. Crash.",
                vec!["DECISION", "ORIGIN", "CORE"],
                0,
            ),
        ];
        for (text, flags, stars) in rows {
            let paragraph = Paragraph::of(text, &Vocabulary::of(text));
            assert_eq!((paragraph.flags, paragraph.stars), (flags, stars), "{text}");
        }
        let text = "He was glad, then worried, lovely saddle, proud and afraid of hope.";
        assert_eq!(emotions(text), ["joy", "fear", "pride"]);
    }

    #[test]
    fn the_strongest_sentence_is_quoted() {
        let quoted = |text: &str| quote(text, &Vocabulary::of(text));
        assert_eq!(
            quoted("It rained. We decided to paint the crane. Then lunch."),
            "We decided to paint the crane."
        );
        assert_eq!(quoted("three four\nseven eight"), "three four");
        let long = quoted(&"lengthy ".repeat(40));
        assert!(
            long.ends_with("lengthy…") && long.chars().count() <= QUOTE_CHARACTERS_MAX + 1,
            "{long}"
        );
        assert_eq!(quoted("---"), "");
    }
}
