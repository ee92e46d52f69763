//! Extraction of the question from an over-long query: hosts put prompts and transcripts before the
//! question, and a search for everything finds texts near the prompt.

use loci_text::sentences::{asks, sentences};
use schemars::JsonSchema;
use serde::Serialize;

/// The maximum characters of a query that is searched unchanged.
const QUERY_CHARACTERS_MAX: usize = 250;
/// The minimum bytes of a question, so that "OK?" does not count.
const QUESTION_BYTES_MIN: usize = 10;
/// The minimum words of a last sentence, so that "Thanks." does not count.
const SENTENCE_WORDS_MIN: usize = 3;
/// The approximate number of letters per word in scripts without spaces.
const LETTERS_PER_WORD: usize = 2;

/// The way in which a query was shortened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sanitizer {
    /// The part that was searched for: `question` for the last sentence that asks, `last_sentence`,
    /// or `end` for the last 250 characters.
    method: &'static str,
    /// Characters of the query that was sent.
    original_length: usize,
    /// Characters of what was searched for.
    clean_length: usize,
}

/// Returns the text to search for, and how it was extracted if it is not the whole query.
pub fn question(query: &str) -> (&str, Option<Sanitizer>) {
    let query = query.trim();
    let original_length = query.chars().count();
    if original_length <= QUERY_CHARACTERS_MAX {
        return (query, None);
    }
    let fits = |sentence: &&str| sentence.chars().count() <= QUERY_CHARACTERS_MAX;
    let asking = sentences(query)
        .filter(|sentence| asks(sentence) && sentence.len() >= QUESTION_BYTES_MIN)
        .last();
    let says_enough = |sentence: &&str| words(sentence) >= SENTENCE_WORDS_MIN;
    let last = || sentences(query).filter(says_enough).last().filter(fits);
    let (method, clean) = match asking {
        Some(asking) => ("question", asking),
        None => last().map_or(("end", query), |last| ("last_sentence", last)),
    };
    let clean = ending(clean);
    (
        clean,
        Some(Sanitizer {
            method,
            original_length,
            clean_length: clean.chars().count(),
        }),
    )
}

/// Returns the approximate number of words.
fn words(sentence: &str) -> usize {
    let is_unspaced = |letter: &char| matches!(letter, '\u{e00}'..='\u{eff}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{9fff}');
    let unspaced = sentence.chars().filter(is_unspaced).count();
    let has_letters = |word: &&str| word.contains(char::is_alphanumeric);
    sentence
        .split_whitespace()
        .filter(has_letters)
        .count()
        .max(unspaced / LETTERS_PER_WORD)
}

/// Returns the end of a text, up to the maximum length of a query, from the start of a word if
/// possible.
fn ending(text: &str) -> &str {
    let Some((start, _)) = text
        .char_indices()
        .rev()
        .nth(QUERY_CHARACTERS_MAX - 1)
        .filter(|(start, _)| *start > 0)
    else {
        return text;
    };
    let is_inside = !text[..start].ends_with(char::is_whitespace);
    let ending = &text[start..];
    let word = ending
        .find(char::is_whitespace)
        .filter(|_| is_inside)
        .unwrap_or(0);
    let whole = ending[word..].trim();
    if whole.is_empty() { ending } else { whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_over_long_query_is_searched_by_its_question() {
        let prompt = "You are a helpful assistant. ".repeat(20);
        let words = "word ".repeat(80);
        let unbroken = "x".repeat(300);
        let long_question = format!("why {}so?", "very ".repeat(60));
        let rows = [
            (
                "short and not asking".to_owned(),
                "short and not asking",
                None,
            ),
            ("a".repeat(250), &"a".repeat(250), None),
            ("  padded?  ".to_owned(), "padded?", None),
            (
                format!("{prompt}What colour is the crane? OK?"),
                "What colour is the crane?",
                Some("question"),
            ),
            (
                format!("What colour is the crane? {prompt}"),
                "What colour is the crane?",
                Some("question"),
            ),
            (
                format!("Is it red? {prompt}Or is it blue? Thanks."),
                "Or is it blue?",
                Some("question"),
            ),
            (
                format!("{prompt}何色ですか？"),
                "何色ですか？",
                Some("question"),
            ),
            (
                format!("{prompt}the crane colour"),
                "the crane colour",
                Some("last_sentence"),
            ),
            (
                format!("{prompt}**What colour is the crane?** Thanks!"),
                "**What colour is the crane?**",
                Some("question"),
            ),
            (
                format!("{prompt}\"What colour is the crane?\"</query>"),
                "\"What colour is the crane?\"</query>",
                Some("question"),
            ),
            (
                format!("{prompt}what colour is it?! Tell me."),
                "what colour is it?!",
                Some("question"),
            ),
            (
                format!("{prompt}ما لون الرافعة؟ شكرا"),
                "ما لون الرافعة؟",
                Some("question"),
            ),
            (
                format!("{prompt}Find the crane colour. Thanks. -- \nBob"),
                "Find the crane colour.",
                Some("last_sentence"),
            ),
            (
                format!("{prompt}クレーンの色を探してください。"),
                "クレーンの色を探してください。",
                Some("last_sentence"),
            ),
            (words.clone(), words[150..].trim(), Some("end")),
            (unbroken.clone(), &unbroken[50..], Some("end")),
            (
                format!("{prompt}{long_question}"),
                &long_question[long_question.len() - 248..],
                Some("question"),
            ),
        ];
        for (query, expected, method) in rows {
            let (clean, sanitizer) = question(&query);
            assert_eq!(clean, expected);
            let counts = |clean: &str| (query.trim().chars().count(), clean.chars().count());
            let expected = method.map(|method| Sanitizer {
                method,
                original_length: counts(clean).0,
                clean_length: counts(clean).1,
            });
            assert_eq!(sanitizer, expected, "{query:?}");
            assert!(clean.chars().count() <= QUERY_CHARACTERS_MAX && !clean.is_empty());
        }
    }
}
