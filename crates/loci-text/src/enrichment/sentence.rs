//! A sentence in the form in which the rules read it.

use crate::analysis;

use super::lexicon::{self, Phrases};

/// Marks that end a clause, besides " - ".
const CLAUSE_MARKS: [char; 14] = [
    ',', ';', ':', '.', '!', '?', '…', '(', ')', '"', '“', '”', '–', '—',
];

/// A sentence with its words.
pub(super) struct Sentence<'a> {
    /// The text, without surrounding blanks.
    pub(super) text: &'a str,
    /// The number of its words.
    pub(super) words: usize,
    /// The request to the listener's memory, if any.
    pub(super) request: Option<Request>,
    /// The words and, as `.`, the ends of clauses, each between two spaces; without the words of
    /// the request to remember the rest.
    line: String,
    /// The same with ASCII letters in lower case, so that both have the same offsets.
    lower: String,
    /// The offsets of its words.
    starts: Vec<usize>,
}

/// A request to the listener's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    /// To remember this sentence.
    This,
    /// To remember the sentence before it.
    Previous,
    /// To remember the sentence after it.
    Next,
    /// To remind the speaker of a task.
    Reminder,
}

/// Some words of a sentence: the words of its line from `start` to `end`, without surrounding
/// spaces.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'s> {
    sentence: &'s Sentence<'s>,
    start: usize,
    end: usize,
}

impl<'a> Sentence<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let mut line = " .".to_owned();
        let (mut words, mut end) = (0, 0);
        for (start, word) in analysis::words(text) {
            let between = &text[end..start];
            if words > 0 && (between.contains(CLAUSE_MARKS) || between.contains(" - ")) {
                line.push_str(" .");
            }
            line.push(' ');
            line.push_str(&written_out(&word.replace('\u{2019}', "'")));
            (words, end) = (words + 1, start + word.len());
        }
        line.push_str(" . ");
        let lower = line.to_ascii_lowercase();
        let mut sentence = Sentence {
            text,
            words,
            request: None,
            starts: starts(&lower),
            line,
            lower,
        };
        sentence.take_request();
        sentence
    }

    /// Returns the matches of these phrases.
    pub(super) fn places(&self, list: Phrases) -> impl Iterator<Item = Cursor<'_>> {
        list.split(", ").flat_map(move |phrase| {
            let is_there = move |start: &usize| {
                // A test of the first byte excludes most of the hundreds of phrases.
                self.lower.as_bytes().get(*start) == phrase.as_bytes().first()
                    && self.lower[*start..]
                        .strip_prefix(phrase)
                        .is_some_and(|after| after.starts_with(' '))
            };
            let starts = self.starts.iter().copied().filter(is_there);
            starts.map(move |start| Cursor {
                sentence: self,
                start,
                end: start + phrase.len(),
            })
        })
    }

    /// Returns true if it has one of these phrases without a negation before it.
    pub(super) fn says(&self, list: Phrases) -> bool {
        self.places(list).any(|place| !place.is_negated())
    }

    /// Returns true if it starts with one of these phrases.
    pub(super) fn begins_with(&self, list: Phrases) -> bool {
        Cursor {
            sentence: self,
            start: 1,
            end: 2,
        }
        .followed_by(list)
        .is_some()
    }

    /// Returns its introductory words, e.g. "so", "well" and "please".
    pub(super) fn opening(&self) -> Cursor<'_> {
        Cursor {
            sentence: self,
            start: 0,
            end: 0,
        }
        .skip_forward(lexicon::OPENERS)
    }

    /// Counts the words that name something exactly: with a digit, written like an identifier, an
    /// address or a path, or with a capital, except at the beginning of the text.
    pub(super) fn specifics(&self) -> usize {
        let is_specific = |(place, chunk): (usize, &str)| {
            let chunk = chunk.trim_matches(|character: char| !character.is_alphanumeric());
            let mut characters = chunk.chars();
            let is_capital = characters.next().is_some_and(char::is_uppercase);
            let is_first_person =
                chunk == "I" || chunk.starts_with("I'") || chunk.starts_with("I\u{2019}");
            let has_inner_capital = chunk.is_ascii()
                && characters
                    .as_str()
                    .contains(|c: char| c.is_ascii_uppercase());
            (is_capital && place > 0 && !is_first_person)
                || has_inner_capital
                || chunk.contains(|character: char| {
                    character.is_numeric() || "_@/\\".contains(character)
                })
        };
        self.text
            .split_whitespace()
            .enumerate()
            .filter(|chunk| is_specific(*chunk))
            .count()
    }

    /// Returns true if it ends with a question mark, is worded as a question and ends without a
    /// mark, or demands an answer. A request to remember is not a question.
    pub(super) fn is_question(&self) -> bool {
        const CLOSING: [char; 9] = ['"', '\'', '\u{201d}', '\u{2019}', ')', '!', '.', '»', '」'];
        let opening = self.opening();
        let is_marked = self
            .text
            .trim_end_matches(CLOSING)
            .ends_with(['?', '？', '؟']);
        let is_tagged = || self.places(lexicon::TAGS).any(Cursor::is_last_clause);
        let is_worded = || {
            opening.is_followed_by_question()
                && (is_marked || self.text.ends_with(char::is_alphanumeric))
        };
        self.request.is_none()
            && ((is_marked && !is_tagged())
                || is_worded()
                || opening.followed_by(lexicon::DEMANDS).is_some())
    }

    /// Finds the request to remember something and removes its words, so that the rest is rated by
    /// itself.
    fn take_request(&mut self) {
        let is_asked = |place: &Cursor<'_>| place.invitation().is_some() && !place.asks_back();
        let asked = |list| {
            self.places(list)
                .find(is_asked)
                .map(|place| (place, place.invitation().unwrap_or(place)))
        };
        let Some((place, invitation)) = asked(lexicon::REQUESTS) else {
            self.request = asked(lexicon::REMINDERS).map(|_| Request::Reminder);
            return;
        };
        if place.followed_by("to").is_some() {
            self.request = Some(Request::Reminder);
            return;
        }
        let (start, end) = (invitation.start, place.skip_forward(lexicon::LINKS).end);
        let is_of_next = self.text.ends_with([':', '：'])
            || [" this ", " following "]
                .iter()
                .any(|word| self.lower[start..].contains(word));
        self.line.replace_range(start..end, ".");
        self.lower.replace_range(start..end, ".");
        self.starts = starts(&self.lower);
        let is_alone = self
            .lower
            .split_whitespace()
            .all(|word| lexicon::has(lexicon::BLANKS, word));
        self.request = Some(match (is_alone, is_of_next) {
            (false, _) => Request::This,
            (true, true) => Request::Next,
            (true, false) => Request::Previous,
        });
    }
}

/// Returns the offsets of the words of a line: after each space except the one at its end.
fn starts(line: &str) -> Vec<usize> {
    line.match_indices(' ')
        .map(|(space, _)| space + 1)
        .filter(|start| *start < line.len())
        .collect()
}

/// Writes out a contraction: "I am" for "I'm".
fn written_out(word: &str) -> String {
    const CONTRACTIONS: [(&str, &str); 4] = [
        ("'m", "am"),
        ("'re", "are"),
        ("'ve", "have"),
        ("'ll", "will"),
    ];
    let split = CONTRACTIONS
        .iter()
        .find_map(|(end, verb)| Some((word.strip_suffix(end)?, verb)));
    split.map_or_else(|| word.to_owned(), |(word, verb)| format!("{word} {verb}"))
}

impl<'s> Cursor<'s> {
    fn before(self) -> &'s str {
        &self.sentence.lower[..self.start]
    }

    fn after(self) -> &'s str {
        &self.sentence.lower[self.end..]
    }

    /// Returns the phrase of the list that comes next.
    pub(super) fn followed_by(self, list: Phrases) -> Option<Self> {
        let after = self.after().strip_prefix(' ')?;
        let phrase = list.split(", ").find(|phrase| {
            after
                .strip_prefix(phrase)
                .is_some_and(|rest| rest.starts_with(' '))
        })?;
        Some(Cursor {
            start: self.end + 1,
            end: self.end + 1 + phrase.len(),
            ..self
        })
    }

    /// Returns the phrase of the list that comes just before.
    pub(super) fn preceded_by(self, list: Phrases) -> Option<Self> {
        let before = self.before().strip_suffix(' ')?;
        let phrase = list.split(", ").find(|phrase| {
            before
                .strip_suffix(phrase)
                .is_some_and(|rest| rest.ends_with(' '))
        })?;
        Some(Cursor {
            start: before.len() - phrase.len(),
            end: before.len(),
            ..self
        })
    }

    /// Returns the last of the consecutive phrases of the list from here on.
    pub(super) fn skip_forward(self, list: Phrases) -> Self {
        std::iter::successors(Some(self), |place| place.followed_by(list))
            .last()
            .unwrap_or(self)
    }

    /// Returns the first of the consecutive phrases of the list before this place.
    pub(super) fn skip_back(self, list: Phrases) -> Self {
        std::iter::successors(Some(self), |place| place.preceded_by(list))
            .last()
            .unwrap_or(self)
    }

    /// Returns the next word as written.
    pub(super) fn next_word(self) -> &'s str {
        self.sentence.line[self.end..]
            .split_whitespace()
            .next()
            .unwrap_or_default()
    }

    /// Returns the word before, as written, and true if it is the first one of its clause.
    pub(super) fn previous_word(self) -> (&'s str, bool) {
        let mut words = self.sentence.line[..self.start].split_whitespace().rev();
        (
            words.next().unwrap_or_default(),
            words.next().is_none_or(|word| word == "."),
        )
    }

    /// Returns true if a negation stands before it.
    pub(super) fn is_negated(self) -> bool {
        let (word, _) = self.skip_back(lexicon::ADVERBS).previous_word();
        let word = word.to_ascii_lowercase();
        lexicon::has(lexicon::NEGATIONS, &word) || word.ends_with("n't")
    }

    /// Returns true if it is addressed to the listener: an order, or after words like "could you
    /// please".
    pub(super) fn is_addressed(self) -> bool {
        self.skip_back(lexicon::SOFTENERS)
            .preceded_by(lexicon::INVITATIONS)
            .is_some()
    }

    /// Returns the words that address it to the listener, or the conjunction in their place.
    fn invitation(self) -> Option<Self> {
        let softened = self.skip_back(lexicon::SOFTENERS);
        softened
            .preceded_by(lexicon::INVITATIONS)
            .or_else(|| softened.preceded_by(lexicon::CONJUNCTIONS))
    }

    /// Returns true if it asks what the listener remembers.
    fn asks_back(self) -> bool {
        let ends_with_verb = ["remember", "remind me"]
            .iter()
            .any(|verb| self.sentence.lower[..self.end].ends_with(verb));
        ends_with_verb && self.followed_by(lexicon::RECOLLECTIONS).is_some()
    }

    /// Returns true if it is the last clause, but not the only one.
    fn is_last_clause(self) -> bool {
        self.start > 3 && self.preceded_by(".").is_some() && self.after() == " . "
    }

    fn is_followed_by_question(self) -> bool {
        let asks = |list| self.followed_by(list);
        asks(lexicon::ASKING).is_some()
            || asks(lexicon::ASKING_WITH_VERB)
                .is_some_and(|word| word.followed_by(lexicon::QUESTION_VERBS).is_some())
            || match (asks(lexicon::ORDER_VERBS), asks(lexicon::QUESTION_VERBS)) {
                (Some(verb), _) => verb.followed_by(lexicon::QUESTION_PERSONS).is_some(),
                (None, Some(verb)) => verb.followed_by(lexicon::QUESTION_SUBJECTS).is_some(),
                (None, None) => false,
            }
    }
}

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
            assert_eq!(Sentence::of(text).says("decided"), expected, "{text}");
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
            ("tell me how the queue works.", true),
            ("The door is open, ok?", false),
            ("Can you open the door, ok?", true),
            ("Can you remember that the door is open?", false),
            ("Have it ready by noon", false),
            ("When I was young I lived in Rome", false),
        ];
        for (text, expected) in rows {
            assert_eq!(Sentence::of(text).is_question(), expected, "{text}");
        }
    }

    #[test]
    fn requests_are_told_from_memories() {
        let rows = [
            ("can you remember that it is late?", Some(Request::This)),
            (
                "It is late, and please don't forget that!",
                Some(Request::This),
            ),
            (
                "Would you please always bear in mind that it is late?",
                Some(Request::This),
            ),
            ("Remember this: it is late", Some(Request::This)),
            ("Please remember that.", Some(Request::Previous)),
            (
                "Could you keep that in mind for next time?",
                Some(Request::Previous),
            ),
            ("Remember:", Some(Request::Next)),
            ("Please note down the following.", Some(Request::Next)),
            ("Remember to lock the door", Some(Request::Reminder)),
            (
                "Could you remind me to lock the door?",
                Some(Request::Reminder),
            ),
            ("Could you remind me what is locked?", None),
            ("Can you remember where the door is?", None),
            ("Do you remember that it was late?", None),
            ("I can't remember that it was late", None),
            ("I remember that summer", None),
            ("It is hard to remember", None),
        ];
        for (text, expected) in rows {
            assert_eq!(Sentence::of(text).request, expected, "{text}");
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
