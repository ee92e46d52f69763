//! A sentence as the rules read it.

use loci_search::analysis;

/// Words that turn round what follows, besides those that end in "n't".
const NEGATIONS: [&str; 4] = ["not", "never", "no", "without"];

/// A sentence with its words.
pub(super) struct Sentence<'a> {
    /// The text, without blanks around it.
    pub(super) text: &'a str,
    /// How many words it has.
    pub(super) words: usize,
    /// Whether it asks.
    pub(super) is_question: bool,
    /// The words in lower case, each between two spaces.
    line: String,
}

impl<'a> Sentence<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let mut line = " ".to_owned();
        let mut words = 0;
        for (_, word) in analysis::words(text) {
            words += 1;
            line.push_str(&word.to_lowercase().replace('\u{2019}', "'"));
            line.push(' ');
        }
        Sentence { text, words, is_question: is_question(text, &line), line }
    }

    /// Whether it has one of these phrases (lower case, one space between words), and no negation
    /// before it.
    pub(super) fn says(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| {
            self.line.match_indices(&format!(" {phrase} ")).any(|(start, _)| {
                let before = self.line[..start].rsplit(' ').next().unwrap_or_default();
                !NEGATIONS.contains(&before) && !before.ends_with("n't")
            })
        })
    }

    /// Whether it begins with one of these phrases.
    pub(super) fn begins_with(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.line.starts_with(&format!(" {phrase} ")))
    }

    /// Words that name something exactly: with a digit, written like an identifier, an address or
    /// a path, or with a capital where no sentence begins.
    pub(super) fn specifics(&self) -> usize {
        let is_specific = |(place, chunk): (usize, &str)| {
            let chunk = chunk.trim_matches(|character: char| !character.is_alphanumeric());
            let mut characters = chunk.chars();
            let is_capital = characters.next().is_some_and(char::is_uppercase);
            let is_first_person = chunk == "I" || chunk.starts_with("I'") || chunk.starts_with("I\u{2019}");
            let has_inner_capital = chunk.is_ascii() && characters.as_str().contains(|c: char| c.is_ascii_uppercase());
            (is_capital && place > 0 && !is_first_person)
                || has_inner_capital
                || chunk.contains(|character: char| character.is_numeric() || "_@/\\".contains(character))
        };
        self.text.split_whitespace().enumerate().filter(|chunk| is_specific(*chunk)).count()
    }
}

/// Whether a sentence asks: it ends with a question mark, or it is worded as a question and ends with
/// no mark at all.
fn is_question(text: &str, line: &str) -> bool {
    const CLOSING: [char; 9] = ['"', '\'', '\u{201d}', '\u{2019}', ')', '!', '.', '»', '」'];
    if text.trim_end_matches(CLOSING).ends_with(['?', '？', '؟']) {
        return true;
    }
    let mut words = line.split_whitespace();
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_worded = match first {
        "what's" | "who's" | "where's" | "how's" => true,
        "what" | "who" | "whose" | "which" | "where" | "why" | "how" => QUESTION_VERBS.contains(&second),
        // "Do it" and "have it" are orders.
        "do" | "have" => matches!(second, "i" | "you" | "we" | "they"),
        _ => QUESTION_VERBS.contains(&first) && QUESTION_SUBJECTS.contains(&second),
    };
    is_worded && text.ends_with(char::is_alphanumeric)
}

const QUESTION_VERBS: [&str; 21] = [
    "is", "are", "was", "were", "do", "does", "did", "can", "could", "should", "would", "will", "has", "have", "had",
    "am", "to", "many", "much", "long", "often",
];
const QUESTION_SUBJECTS: [&str; 14] =
    ["i", "you", "we", "they", "he", "she", "it", "there", "this", "that", "the", "my", "your", "our"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_whole_words_without_negation() {
        let rows = [
            ("We have decided to stay.", true),
            ("We DECIDED: stay", true),
            ("We have not decided yet.", false),
            ("We haven’t decided yet.", false),
            ("It is undecided.", false),
            ("We had not decided, but today we decided.", true),
        ];
        for (text, expected) in rows {
            assert_eq!(Sentence::of(text).says(&["decided"]), expected, "{text}");
        }
    }

    #[test]
    fn questions_with_and_without_a_mark() {
        let rows = [
            ("Is it late?", true),
            ("\"Is it late?\"", true),
            ("Really?!", true),
            ("何時ですか？", true),
            ("what is the port of the staging server", true),
            ("how do i rotate the key", true),
            ("can you send me the file", true),
            ("do we have a backup", true),
            ("What a day.", false),
            ("What is done is done.", false),
            ("Do it tomorrow", false),
            ("Have it ready by noon", false),
            ("When I was young I lived in Rome", false),
        ];
        for (text, expected) in rows {
            assert_eq!(Sentence::of(text).is_question, expected, "{text}");
        }
    }

    #[test]
    fn specifics_are_numbers_names_and_identifiers() {
        let rows = [
            ("The weather is nice today", 0),
            ("Nice weather, I'm told, and I agree", 0),
            ("We fly to Lisbon on 2026-05-04", 2),
            ("set MAX_RETRIES in src/lib.rs, not camelCase", 3),
            ("write to ann@example.org", 1),
        ];
        for (text, expected) in rows {
            assert_eq!(Sentence::of(text).specifics(), expected, "{text}");
        }
    }
}
