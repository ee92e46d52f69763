//! Finds out whether a text says all that another one says, so that nothing is lost if a reader sees
//! only the first of the two.
//!
//! It goes by words, because an embedding model finds "the staging server" and "the build server" as
//! similar as two ways to say the same. So it errs on one side: a text that says the same in other
//! words, of which the tables know nothing, counts as another one. Only English is compared in this way;
//! texts in other languages say the same if they have the same words in the same order.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::LazyLock;

use super::vocabulary::tells_of_change;
use super::{Kind, STATEMENT_BYTES_MAX, Statement, Token};
use crate::analysis::fold::fold;
use crate::analysis::language::Language;
use crate::analysis::{term_of_unit, words};

/// The share of the content of the longer text that the shorter one has at least. What says much more
/// than another text may say it under a condition.
const SHARE_MIN: f64 = 0.5;

/// Signs that are a part of a word.
const SIGNS: &str = "+#%$€£/*&@\\^|_";
/// Signs that compare, direct or negate.
const OPERATORS: &str = "<>=≤≥≠~±→←⇒¬";

/// Words of the frame in which notes put what they say: they add nothing.
const FRAME: &[&str] = &[
    "also",
    "fact",
    "info",
    "information",
    "just",
    "keep",
    "mention",
    "mind",
    "note",
    "person",
    "please",
    "really",
    "recall",
    "remember",
    "reminder",
    "say",
    "said",
    "state",
    "tell",
    "told",
    "user",
    "very",
];

/// Words that say the same in notes.
const SYNONYMS: &[&[&str]] = &[
    &["app", "application"],
    &["begin", "commence", "start"],
    &["bicycle", "bike"],
    &["buy", "purchase"],
    &["car", "automobile"],
    &["choose", "pick", "select"],
    &["config", "configuration"],
    &["database", "db"],
    &["directory", "folder"],
    &["display", "show"],
    &["doc", "docs", "documentation"],
    &["doctor", "physician"],
    &["employ", "use", "utilise", "utilize"],
    &["enjoy", "favor", "favour", "like", "prefer"],
    &["env", "environment"],
    &["fast", "quick", "quickly"],
    &["film", "movie"],
    &["fix", "repair"],
    &["help", "assist"],
    &["holiday", "vacation"],
    &["job", "occupation"],
    &["kid", "child", "children"],
    &["little", "small"],
    &["big", "large"],
    &["live", "reside"],
    &["locate", "located", "situated"],
    &["mom", "mother", "mum"],
    &["dad", "father"],
    &["need", "require"],
    &["phone", "telephone"],
    &["photo", "photograph", "picture"],
    &["repo", "repository"],
];

/// Words that limit, date or direct what is said, with the sign under which they are compared: a text
/// without the same ones says something else.
const LIMITS: &[(&str, &str)] = &[
    ("after", "after"),
    ("although", "but"),
    ("always", "always"),
    ("before", "before"),
    ("but", "but"),
    ("can", "can"),
    ("could", "may"),
    ("did", "past"),
    ("else", "else"),
    ("except", "except"),
    ("former", "past"),
    ("formerly", "past"),
    ("had", "past"),
    ("he", "he"),
    ("her", "she"),
    ("hers", "she"),
    ("him", "he"),
    ("his", "he"),
    ("if", "if"),
    ("may", "may"),
    ("maybe", "may"),
    ("might", "may"),
    ("must", "must"),
    ("only", "only"),
    ("or", "or"),
    ("perhaps", "may"),
    ("previously", "past"),
    ("probably", "may"),
    ("she", "she"),
    ("should", "should"),
    ("sometimes", "sometimes"),
    ("than", "than"),
    ("unless", "unless"),
    ("until", "until"),
    ("usually", "usually"),
    ("was", "past"),
    ("were", "past"),
    ("when", "if"),
    ("while", "if"),
    ("will", "will"),
    ("would", "may"),
];

/// The first and the second person, who may be two different ones.
const FIRST: &[&str] = &["i", "me", "mine", "my", "our", "ours", "us", "we"];
const SECOND: &[&str] = &["you", "your", "yours"];

static SYNONYM_GROUPS: LazyLock<HashMap<String, usize>> = LazyLock::new(|| {
    let groups = SYNONYMS.iter().enumerate();
    groups
        .flat_map(|(group, words)| words.iter().map(move |word| (stem(word), group)))
        .collect()
});
static FRAME_STEMS: LazyLock<BTreeSet<String>> =
    LazyLock::new(|| FRAME.iter().map(|word| stem(word)).collect());

fn stem(word: &str) -> String {
    term_of_unit(word).unwrap_or_else(|| word.to_owned())
}

/// True if a text says all that the other one says, and the other one nothing more, so that it can stand
/// for that one. A text that is not English, or longer than [`STATEMENT_BYTES_MAX`], stands only for one
/// with the same words.
///
/// ```
/// use loci_text::statement::repetition::says_all_of;
///
/// let kept = "The user prefers dark mode in the editor at night";
/// assert!(says_all_of(kept, "Note: user likes dark mode in the editor"));
/// assert!(!says_all_of(kept, "The user prefers dark mode in the terminal"));
/// assert!(!says_all_of("The user likes dark mode", kept));
/// ```
pub fn says_all_of(text: &str, other: &str) -> bool {
    if have_same_words(text, other) {
        return true;
    }
    let is_compared = |text: &str| {
        let language = Language::of(text);
        text.len() <= STATEMENT_BYTES_MAX
            && text.chars().all(is_latin_or_sign)
            && language.is_none_or(|language| language.code() == "en")
    };
    is_compared(text)
        && is_compared(other)
        && operators(text) == operators(other)
        && Statement::of(text).says_all_of(&Statement::of(other))
}

/// Returns the number of different content words of a text, for the order of texts that say the same.
pub fn content_words(text: &str) -> usize {
    Statement::of(text).content().len()
}

/// True for what an English text is made of: letters of the Latin script, and all that is no letter.
fn is_latin_or_sign(character: char) -> bool {
    !character.is_alphabetic() || character < '\u{250}'
}

/// True if two texts differ only in case, punctuation and white space, and have any words. Signs that
/// are a part of a word or a number count, because `C++` is not `C`.
fn have_same_words(text: &str, other: &str) -> bool {
    let signs =
        |text: &str| -> String { text.chars().filter(|sign| SIGNS.contains(*sign)).collect() };
    let folded = |text: &str| -> Vec<String> { words(text).map(|(_, word)| fold(word)).collect() };
    let own = folded(text);
    !own.is_empty()
        && own == folded(other)
        && signs(text) == signs(other)
        && operators(text) == operators(other)
}

/// Returns what compares, directs or negates numbers and names and is no word, in order.
fn operators(text: &str) -> Vec<char> {
    let mut before = ' ';
    let mut characters = text.chars().peekable();
    let mut found = Vec::new();
    while let Some(sign) = characters.next() {
        let is_signed = matches!(sign, '-' | '\u{2212}' | '+')
            && !before.is_alphanumeric()
            && characters.peek().is_some_and(char::is_ascii_digit);
        let next = characters.peek().copied().unwrap_or(' ');
        let is_not = sign == '!' && (next == '=' || next.is_alphanumeric());
        if is_signed || is_not || OPERATORS.contains(sign) {
            found.push(sign);
        }
        before = sign;
    }
    found
}

impl Statement {
    /// True if this statement has all that the other one has: its numbers with their units, its names
    /// and its content words, or such as say the same, with the same negations, limits, times and
    /// order. It may have more, up to as much again.
    fn says_all_of(&self, other: &Statement) -> bool {
        let (numbers, units) = self.measures();
        let (other_numbers, other_units) = other.measures();
        let has_measures = other_numbers.is_subset(&numbers) && other_units.is_subset(&units);
        has_measures
            && other.unmatched_names(self).is_empty()
            && self.negations() == other.negations()
            && self.limits() == other.limits()
            && self.changes() == other.changes()
            && !self.are_of_other_persons(other)
            && !self.has_opposite(other)
            && !self.has_alternative(other)
            && !self.is_reordered(other)
            && self.has_content_of(other)
    }

    fn has_content_of(&self, other: &Statement) -> bool {
        let (own, others) = (self.content(), other.content());
        // "A needs B" has the words of "B needs A".
        let in_order = own.iter().filter(|word| others.contains(word));
        !others.is_empty()
            && in_order.eq(&others)
            && others.len() as f64 >= SHARE_MIN * own.len() as f64
    }

    /// Returns the stems of its content words, of words that say the same the name of their group, each
    /// once, in the order of the first mention.
    fn content(&self) -> Vec<String> {
        let is_content = |token: &&Token| {
            matches!(token.kind, Kind::Topic | Kind::Name | Kind::Exact)
                && !FRAME_STEMS.contains(&token.stem)
        };
        let named = |token: &Token| {
            SYNONYM_GROUPS
                .get(&token.stem)
                .map_or_else(|| token.stem.clone(), |group| format!("={group}"))
        };
        let mut seen = HashSet::new();
        let content = self.tokens.iter().filter(is_content).map(named);
        content.filter(|word| seen.insert(word.clone())).collect()
    }

    fn limits(&self) -> BTreeSet<&'static str> {
        let sign = |token: &Token| {
            let place = LIMITS.binary_search_by_key(&&*token.text, |(word, _)| word);
            place.ok().map(|place| LIMITS[place].1)
        };
        self.tokens.iter().filter_map(sign).collect()
    }

    fn changes(&self) -> BTreeSet<&str> {
        let stems = self.tokens.iter().map(|token| &*token.stem);
        stems.filter(|stem| tells_of_change(stem)).collect()
    }

    /// True if one is about the first person and the other one about the second, so that "you" and "me"
    /// may be two.
    fn are_of_other_persons(&self, other: &Statement) -> bool {
        let has = |statement: &Statement, words: &[&str]| {
            statement
                .tokens
                .iter()
                .any(|token| words.contains(&&*token.text))
        };
        let persons = |statement: &Statement| (has(statement, FIRST), has(statement, SECOND));
        let (own, others) = (persons(self), persons(other));
        own != others && own != (false, false) && others != (false, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_sorted_for_binary_search() {
        assert!(LIMITS.is_sorted_by_key(|(word, _)| *word));
    }

    #[test]
    fn a_text_that_says_the_same_or_more_stands_for_another_one() {
        for (text, other) in [
            (
                "The backup runs at 03:00 on Sunday.",
                "the backup runs at 03:00 on sunday",
            ),
            (
                "The user prefers dark mode in the editor",
                "Note: user likes dark mode in the editor.",
            ),
            (
                "Anna Berg: dentist of the user, in Oslo",
                "Anna Berg is the user's dentist",
            ),
            (
                "The release branch of lantern-api is cut on Tuesdays",
                "Remember: the release branch of lantern-api is cut on Tuesdays!",
            ),
            (
                "We use PostgreSQL 17 for billing",
                "Our team uses PostgreSQL 17 for billing, the team says",
            ),
            ("Ich trinke keinen Kaffee.", "ich trinke keinen kaffee"),
            ("会议在周三。", "会议在周三"),
        ] {
            // The fifth pair has one more word on the right.
            let expected = !other.contains("Our team");
            assert_eq!(says_all_of(text, other), expected, "{text} / {other}");
        }
    }

    #[test]
    fn what_says_another_thing_is_told_apart() {
        for (text, other) in [
            (
                "The staging server runs Debian",
                "The build server runs Debian",
            ),
            ("Deploy on Fridays", "Do not deploy on Fridays"),
            ("Deploy on Fridays except in December", "Deploy on Fridays"),
            ("The limit is 30 seconds", "The limit is 30 minutes"),
            ("The limit is 30 seconds", "The limit is 40 seconds"),
            ("The port of billing is 8080", "The port of billing is 8081"),
            ("Anna lent Peter the drill", "Peter lent Anna the drill"),
            (
                "Move the data from Oslo to Bergen",
                "Move the data from Bergen to Oslo",
            ),
            (
                "Anna drinks coffee in the morning",
                "Anna drinks tea in the morning",
            ),
            ("The office was in Oslo", "The office is in Oslo"),
            ("Her dentist is Dr Lee", "His dentist is Dr Lee"),
            (
                "My password manager is Bitwarden",
                "Your password manager is Bitwarden",
            ),
            ("We now use Redis", "We use Redis"),
            ("Tests may use the network", "Tests must use the network"),
            ("Run the job before midnight", "Run the job after midnight"),
            ("The set point is -5", "The set point is 5"),
            ("Written in C++", "Written in C"),
            ("See src/a.rs for the parser", "See src/b.rs for the parser"),
            ("call parse_header first", "call parse_footer first"),
            ("Ich trinke keinen Kaffee", "Ich trinke Kaffee"),
            ("Je ne bois pas de café", "Je bois du café"),
            ("会议在周三", "会议在周四"),
            ("Is the backup done?", "The user"),
            ("billing needs ledger", "ledger needs billing"),
            ("The load must stay < 5", "The load must stay > 5"),
            ("", ""),
        ] {
            assert!(!says_all_of(text, other), "{text} / {other}");
            let is_refinement = other.len() < text.len() && text.contains("except");
            assert!(
                is_refinement || !says_all_of(other, text),
                "{other} / {text}"
            );
        }
    }
}
