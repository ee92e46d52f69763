//! How much it matters to remember a text.

use super::kind::{is_decision, is_preference, is_small_talk, is_task};
use super::sentence::Sentence;

/// How much a text matters, 0 to 1, to two digits.
///
/// Each signal `s`, 0 to 1, has a weight `w`: the importance of a text that has this signal alone.
/// They combine like independent reasons (a noisy-or, Pearl 1988), so that each one raises the sum,
/// none passes 1 and no order matters; what speaks against it then scales the sum down:
///
/// `importance = (1 - product of (1 - w s)) x product of (1 - d t)`
///
/// | for it | w | s | because |
/// |---|---|---|---|
/// | said at all | 0.3 | 1 | whoever says more than 30 characters means something |
/// | about the speaker | 0.15 | yes or no | the memory is about its user |
/// | preference | 0.4 | yes or no | it holds for every later answer |
/// | decision | 0.5 | yes or no | later work contradicts it at a price |
/// | request to remember | 0.5 | yes or no | the user says so |
/// | task | 0.25 | yes or no | it matters until it is done |
/// | `n` numbers, dates, names, identifiers | 0.3 | 1 - e^(-n/2) | what cannot be guessed anew must be kept; the first ones tell the most |
/// | `n` words | 0.3 | 1 - e^(-n/20) | more is said, with diminishing returns |
///
/// | against it | d | t | because |
/// |---|---|---|---|
/// | questions | 0.5 | their share of the sentences | they ask for knowledge, they hold none |
/// | small talk | 0.8 | its share of the sentences | it holds for the moment alone |
/// | hedges | 0.3 | yes or no | it may not be so |
pub(super) fn importance(sentences: &[Sentence<'_>]) -> f64 {
    let told = || sentences.iter().filter(|sentence| !sentence.is_question);
    let any = |holds: fn(&Sentence<'_>) -> bool| f64::from(u8::from(told().any(holds)));
    let share = |holds: fn(&Sentence<'_>) -> bool| {
        sentences.iter().filter(|sentence| holds(sentence)).count() as f64 / sentences.len().max(1) as f64
    };
    let saturated = |count: usize, scale: f64| 1.0 - (-(count as f64) / scale).exp();
    let specifics = sentences.iter().map(Sentence::specifics).sum();
    let words = sentences.iter().map(|sentence| sentence.words).sum();
    let reasons = [
        (0.3, 1.0),
        (0.15, any(|sentence| sentence.says(FIRST_PERSON))),
        (0.4, any(is_preference)),
        (0.5, any(is_decision)),
        (0.5, any(|sentence| sentence.says(REQUESTS))),
        (0.25, any(is_task)),
        (0.3, saturated(specifics, 2.0)),
        (0.3, saturated(words, 20.0)),
    ];
    let doubts = [
        (0.5, share(|sentence| sentence.is_question)),
        (0.8, share(is_small_talk)),
        (0.3, any(|sentence| sentence.says(HEDGES))),
    ];
    let none_of =
        |signals: &[(f64, f64)]| signals.iter().map(|(weight, signal)| 1.0 - weight * signal).product::<f64>();
    let importance = (1.0 - none_of(&reasons)) * none_of(&doubts);
    (importance * 100.0).round() / 100.0
}

const FIRST_PERSON: &[&str] = &[
    "i", "i'm", "i've", "i'd", "i'll", "me", "my", "mine", "myself", "we", "we're", "we've", "we'd", "we'll", "us",
    "our", "ours", "the user", "user's",
];
const REQUESTS: &[&str] = &[
    "remember",
    "don't forget",
    "do not forget",
    "never forget",
    "note that",
    "take note",
    "keep in mind",
    "bear in mind",
    "important",
    "for the record",
    "for future reference",
    "write this down",
    "make a note",
];
const HEDGES: &[&str] = &[
    "maybe",
    "perhaps",
    "possibly",
    "might",
    "not sure",
    "i guess",
    "i think",
    "i suppose",
    "probably",
    "kind of",
    "sort of",
    "apparently",
    "i wonder",
    "not certain",
];

#[cfg(test)]
mod tests {
    use crate::enrichment::judge;

    #[test]
    fn table_of_importance() {
        let rows = [
            ("Thanks a lot, that was really helpful", 0.0..0.15),
            ("What is the capital of France, by the way?", 0.1..0.35),
            ("The backup runs every night on the second server", 0.3..0.5),
            ("Perhaps the backup runs every night on the second server", 0.2..0.35),
            ("素晴らしい天気ですね", 0.3..0.6),
            ("My favourite editor is Helix, with dark colours", 0.6..0.8),
            ("We decided to use PostgreSQL 16 for billing from 2026-03-01", 0.8..1.0),
            ("Remember that the deploy key rotates every 90 days", 0.6..0.8),
        ];
        for (text, expected) in rows {
            let importance = judge(text).importance;
            assert!(expected.contains(&importance), "{text}: {importance}");
        }
    }

    #[test]
    fn each_signal_moves_it_in_its_direction() {
        let rows = [
            ("The backup runs at night", "My backup runs at night"),
            ("The backup runs at night", "The backup runs at night on atlas-7"),
            ("The backup runs at night", "Keep in mind that the backup runs at night"),
            ("The backup runs at night", "The backup must run at night"),
            ("The backup runs at night", "We decided that the backup runs at night"),
            ("The backup runs at night", "I prefer that the backup runs at night"),
            ("The backup runs at night", "The backup runs at night and copies all the photos to the disk"),
            ("Does the backup run at night?", "The backup does run at night"),
            ("Apparently the backup runs at night", "The backup runs at night"),
            ("Great, that is nice", "The backup runs late"),
        ];
        for (less, more) in rows {
            assert!(judge(less).importance < judge(more).importance, "{less:?} should matter less than {more:?}");
        }
    }
}
