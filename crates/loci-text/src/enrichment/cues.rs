//! The signals by which the rules rate a sentence.

use super::lexicon::{self as words, Phrases, has};
use super::sentence::{Cursor, Request, Sentence};

/// A signal of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cue {
    /// It asks the listener to remember something.
    Request,
    /// It is about something that changes or shapes a life: health, diet, family, home, work.
    Life,
    /// It is a permanent order, e.g. "never use tabs".
    StandingOrder,
    /// It permanently requires or forbids something, e.g. "tabs are not allowed".
    Rule,
    /// Something was settled.
    Decision,
    /// A person likes, dislikes or always does something.
    Preference,
    /// A person should do something, is about to do it, or is asked to do it.
    Task,
    /// It says who a person is or how to reach them.
    Detail,
    /// It calls something important.
    Emphasis,
    /// Something happens at a time.
    Event,
    /// It is about the speaker.
    Speaker,
    /// It states something.
    Statement,
    /// It asks for an answer.
    Question,
    /// It is only politeness or a filler.
    SmallTalk,
    /// It is about something passing, e.g. the weather or a mood.
    Moment,
    /// It expresses uncertainty.
    Hedge,
}

/// Signals that make a sentence lasting, so that it is neither small talk nor about a moment.
const LASTING: [Cue; 7] = [
    Cue::Request,
    Cue::Life,
    Cue::StandingOrder,
    Cue::Rule,
    Cue::Decision,
    Cue::Preference,
    Cue::Task,
];

/// Returns the signals of a sentence.
pub(super) fn cues(sentence: &Sentence<'_>) -> Vec<Cue> {
    let has_order = sentence
        .places(words::STANDING_ORDERS)
        .any(is_standing_order);
    let found = [
        (
            Cue::Request,
            matches!(sentence.request, Some(Request::This)),
        ),
        (
            Cue::Life,
            sentence.says(words::LIFE)
                || sentence
                    .places(words::LIFE_OF_PERSONS)
                    .any(|verb| !verb.is_negated() && has_person(after_subject(verb))),
        ),
        (Cue::StandingOrder, has_order),
        (Cue::Rule, !has_order && sentence.says(words::RULES)),
        (Cue::Decision, sentence.says(words::DECISIONS)),
        (Cue::Preference, is_preference(sentence)),
        (Cue::Task, is_task(sentence)),
        (Cue::Detail, is_detail(sentence)),
        (Cue::Emphasis, sentence.says(words::EMPHASIS)),
        (
            Cue::Event,
            sentence.says(words::EVENTS) || sentence.text.split_whitespace().any(is_iso_date),
        ),
        (Cue::Speaker, sentence.says(words::SPEAKER)),
        (Cue::Statement, sentence.says(words::STATEMENTS)),
        // "Could you never use tabs?" is an order.
        (Cue::Question, !has_order && sentence.is_question()),
        (Cue::Hedge, sentence.says(words::HEDGES)),
    ];
    let mut cues: Vec<Cue> = found
        .into_iter()
        .filter_map(|(cue, holds)| holds.then_some(cue))
        .collect();
    if !cues.iter().any(|cue| LASTING.contains(cue)) {
        if is_small_talk(sentence, &cues) {
            cues.push(Cue::SmallTalk);
        }
        if sentence.says(words::MOMENTS) {
            cues.push(Cue::Moment);
        }
    }
    cues
}

/// Returns true if a person stands before the verb, by pronoun, role or name.
fn has_person(verb: Cursor<'_>) -> bool {
    let (word, is_first) = verb.previous_word();
    // "Ann's", "I'd".
    let word = word.split('\'').next().unwrap_or_default();
    let lower = word.to_ascii_lowercase();
    let is_name = || word.starts_with(char::is_uppercase) && !(is_first && word.ends_with('s'));
    let is_person = || has(words::AGENTS, &lower) || has(words::RELATIVES, &lower) || is_name();
    !has(words::THINGS, &lower) && is_person()
}

/// Skips back from a verb to the end of its subject.
fn after_subject(verb: Cursor<'_>) -> Cursor<'_> {
    verb.skip_back(words::ADVERBS)
        .skip_back(words::AUXILIARIES)
        .skip_back(words::ADVERBS)
}

fn is_preference(sentence: &Sentence<'_>) -> bool {
    let subject_of = |place: Cursor<'_>| has_person(place.skip_back(words::ADVERBS));
    let is_taste =
        |place: Cursor<'_>| subject_of(place) && place.followed_by(words::REACTIONS).is_none();
    // "I never said that" is about the past.
    let is_habit = |place: Cursor<'_>| {
        subject_of(place)
            && is_verb_next(place, words::NO_ORDERS)
            && !place.next_word().ends_with("ed")
    };
    sentence.says(words::PREFERENCES)
        || sentence
            .opening()
            .followed_by(words::MANNERS)
            .is_some_and(begins_order)
        || sentence
            .places(words::TASTES)
            .any(|place| !place.is_negated() && is_taste(place))
        || sentence.places(words::HABITS).any(is_habit)
}

fn is_standing_order(place: Cursor<'_>) -> bool {
    place.is_addressed()
        && is_verb_next(place, words::NO_ORDERS)
        && is_verb_next(place, words::STATES)
        && !place.next_word().ends_with("ed")
        && (!place.next_word().ends_with('s') || place.next_word().ends_with("ss"))
}

/// Returns true if the next word can be a verb and is not one of `others`.
fn is_verb_next(place: Cursor<'_>, others: Phrases) -> bool {
    let next = place.skip_forward(words::ADVERBS);
    next.followed_by(words::DETERMINERS).is_none()
        && next.followed_by(others).is_none()
        && next.next_word().starts_with(char::is_lowercase)
}

/// Returns true if this verb at the beginning of a sentence starts an order, unlike in "use case"
/// or "update:".
fn begins_order(verb: Cursor<'_>) -> bool {
    verb.followed_by(words::NO_OBJECTS).is_none()
}

/// Returns true if the sentence names a task, starts with an order, or expresses an intention or an
/// obligation of a person. "That must be a joke" and "I have to laugh" are not tasks.
fn is_task(sentence: &Sentence<'_>) -> bool {
    let opening = sentence.opening();
    let has_object = |verb: &Cursor<'_>| {
        verb.next_word().starts_with(char::is_uppercase)
            || verb.followed_by(words::DETERMINERS).is_some()
            || verb.followed_by(words::RELATIVES).is_some()
    };
    let order = opening.followed_by(words::ORDERS);
    let order = order.or_else(|| {
        opening
            .followed_by(words::ORDERS_OR_NOUNS)
            .filter(has_object)
    });
    let is_intended = |place: Cursor<'_>| !place.is_negated() && is_verb_next(place, words::STATES);
    sentence.says(words::TASKS)
        || order.is_some_and(begins_order)
        || sentence.places(words::INTENTIONS).any(is_intended)
        || sentence.places(words::OBLIGATIONS).any(is_obliged)
        || sentence.request == Some(Request::Reminder)
}

fn is_obliged(place: Cursor<'_>) -> bool {
    let subject = after_subject(place);
    // Without a subject, the speaker is meant: "need to call Ann".
    let is_agent = has_person(subject) || subject.preceded_by(".").is_some();
    let is_doing = || match place.skip_forward(words::ADVERBS).followed_by("be") {
        Some(being) if is_agent => being.followed_by(words::APPOINTMENTS).is_some(),
        Some(being) => {
            being.next_word().ends_with("ed") || being.followed_by(words::APPOINTMENTS).is_some()
        }
        None => is_agent && is_verb_next(place, words::STATES),
    };
    !place.is_negated() && is_doing()
}

fn is_detail(sentence: &Sentence<'_>) -> bool {
    sentence.says(words::DETAILS)
        || sentence
            .places(words::RELATIVES)
            .any(|place| place.preceded_by(words::POSSESSIVES).is_some())
        || sentence
            .places(words::PROFESSIONS)
            .any(|place| place.followed_by(words::NO_PROFESSIONS).is_none())
}

fn is_small_talk(sentence: &Sentence<'_>, cues: &[Cue]) -> bool {
    const WORDS_MAX: usize = 8;
    let is_polite = sentence.words <= WORDS_MAX && sentence.begins_with(words::SMALL_TALK);
    // "Hi Bob" says nothing, "Great, Bob can come" does.
    let says_something = || {
        cues.contains(&Cue::Detail)
            || sentence.text.contains(char::is_numeric)
            || (cues.contains(&Cue::Statement) && sentence.specifics() > 0)
    };
    let is_blank = || matches!(sentence.request, Some(Request::Previous | Request::Next));
    let is_opening_alone = || sentence.words > 0 && sentence.opening().next_word().is_empty();
    is_blank() || is_opening_alone() || (is_polite && !says_something())
}

/// Returns true if it starts with a date, e.g. 2026-03-01.
fn is_iso_date(chunk: &str) -> bool {
    let mut fields = chunk
        .trim_start_matches(|character: char| !character.is_alphanumeric())
        .splitn(3, '-');
    let mut has_digits = |count: usize| {
        let field = fields.next().unwrap_or_default().as_bytes();
        field.len() >= count && field[..count].iter().all(u8::is_ascii_digit)
    };
    has_digits(4) && has_digits(2) && has_digits(2)
}
