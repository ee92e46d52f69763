//! Extractive summaries of texts.

use std::collections::HashMap;

use loci_core::limits::SUMMARY_WORDS_MAX;

use super::cues::Cue;
use super::{SUMMARY_CHARACTERS_MAX, SentenceSignals};
use crate::analysis;

/// The bonus of the sentence closest to the topic over one on another topic.
const TOPIC_BONUS: f64 = 0.25;
/// The bonus of the first sentence; the next ones gain half, a third, ...
const PLACE_BONUS: f64 = 0.1;
/// The minimum score of a sentence, relative to the best one.
const SCORE_MIN: f64 = 0.5;

/// Returns a summary of at most [`SUMMARY_WORDS_MAX`] words and [`SUMMARY_CHARACTERS_MAX`]
/// characters: the text itself if it fits, otherwise its best sentences that fit, in their order,
/// and if no sentence fits, the beginning of the best one.
///
/// The score of a sentence is its worth by the signals of importance (the cue words, fixed phrases
/// and capitals of Edmundson, New Methods in Automatic Extracting, 1969, and Kupiec, Pedersen and
/// Chen, A Trainable Document Summarizer, 1995), raised by up to a quarter if it has the terms that
/// are frequent in the text (Luhn, The Automatic Creation of Literature Abstracts, 1958), and by up
/// to a tenth for an early place (Edmundson):
///
/// `score = worth x (1 + 0.25 topic + 0.1 / place)`
///
/// `topic = (sum of ln(sentences with the term)) / sqrt(words)`, divided by the largest one
///
/// Stop words do not count, nor do terms of only one sentence, which are not the topic of the text.
/// The logarithm keeps one frequent term from deciding by itself; the root keeps length from doing
/// so. Sentences below half the best score are left out even if they would fit, as trivia. Small
/// talk is left out, unless the text has nothing else.
pub(super) fn summary(text: &str, sentences: &[SentenceSignals<'_>]) -> String {
    let text = text.trim();
    if fits(text) {
        return text.to_owned();
    }
    let order = best_first(sentences);
    let (mut words_left, mut characters_left) = (SUMMARY_WORDS_MAX, SUMMARY_CHARACTERS_MAX);
    let mut chosen: Vec<usize> = Vec::new();
    for &place in &order {
        let SentenceSignals { text, words, .. } = sentences[place];
        let characters = text.chars().count() + usize::from(!chosen.is_empty());
        let is_repeated = || chosen.iter().any(|&other| sentences[other].text == text);
        if words <= words_left && characters <= characters_left && !is_repeated() {
            words_left -= words;
            characters_left -= characters;
            chosen.push(place);
        }
    }
    chosen.sort_unstable();
    match order.first() {
        Some(&best) if chosen.is_empty() => beginning(sentences[best].text),
        _ => chosen
            .into_iter()
            .map(|place| sentences[place].text)
            .collect::<Vec<_>>()
            .join(" "),
    }
}

/// Returns true if a text is short enough for a summary.
pub(super) fn fits(text: &str) -> bool {
    text.chars().nth(SUMMARY_CHARACTERS_MAX).is_none()
        && analysis::words(text).nth(SUMMARY_WORDS_MAX).is_none()
}

/// Returns the places of the sentences with a sufficient score, best first, ties in their order.
fn best_first(sentences: &[SentenceSignals<'_>]) -> Vec<usize> {
    let topics = topics(sentences);
    let score = |place: usize| {
        sentences[place].worth
            * (1.0 + TOPIC_BONUS * topics[place] + PLACE_BONUS / (place + 1) as f64)
    };
    let says_nothing = |place: &usize| sentences[*place].has(Cue::SmallTalk);
    let (idle, saying): (Vec<usize>, Vec<usize>) = (0..sentences.len()).partition(says_nothing);
    let places = if saying.is_empty() { idle } else { saying };
    let mut order: Vec<(f64, usize)> = places
        .into_iter()
        .map(|place| (score(place), place))
        .collect();
    order.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
    let score_min = order.first().map_or(0.0, |best| best.0 * SCORE_MIN);
    order
        .into_iter()
        .take_while(|(score, _)| *score >= score_min)
        .map(|(_, place)| place)
        .collect()
}

/// Returns how close each sentence is to the topic of the text, 0 to 1.
fn topics(sentences: &[SentenceSignals<'_>]) -> Vec<f64> {
    let terms: Vec<Vec<String>> = sentences
        .iter()
        .map(|sentence| analysis::query_terms(sentence.text))
        .collect();
    let mut frequencies: HashMap<&str, f64> = HashMap::new();
    for term in terms.iter().flatten() {
        *frequencies.entry(term).or_default() += 1.0;
    }
    let significance = |(terms, sentence): (&Vec<String>, &SentenceSignals<'_>)| {
        terms
            .iter()
            .map(|term| frequencies[term.as_str()].ln())
            .sum::<f64>()
            / (sentence.words.max(1) as f64).sqrt()
    };
    let significances: Vec<f64> = terms.iter().zip(sentences).map(significance).collect();
    let largest = significances
        .iter()
        .copied()
        .fold(f64::MIN_POSITIVE, f64::max);
    significances
        .into_iter()
        .map(|significance| significance / largest)
        .collect()
}

/// Cuts a text to the maximum length at the end of a word, and adds an ellipsis.
fn beginning(text: &str) -> String {
    let end_max = text
        .char_indices()
        .nth(SUMMARY_CHARACTERS_MAX - 1)
        .map_or(text.len(), |(end, _)| end);
    let ends = analysis::words(text).map(|(start, word)| start + word.len());
    let end = ends
        .take(SUMMARY_WORDS_MAX)
        .take_while(|end| *end <= end_max)
        .last()
        .unwrap_or(end_max);
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enrichment::judge;

    fn summary(text: &str) -> String {
        judge(text).summary
    }

    #[test]
    fn a_short_text_is_its_own_summary() {
        assert_eq!(
            summary("  Tea at four.\nBring cake. "),
            "Tea at four.\nBring cake."
        );
        let words = "word ".repeat(SUMMARY_WORDS_MAX);
        assert_eq!(summary(&words), words.trim());
    }

    #[test]
    fn whole_sentences_about_the_topic_are_kept_in_their_order() {
        // Sentences without a common word.
        let letter = |number: u8| char::from(b'a' + number);
        let word = |number: u8, word: u8| format!("zq{}{}", letter(number), letter(word));
        let other = |number: u8| {
            (0..12)
                .map(|place| word(number, place))
                .collect::<Vec<_>>()
                .join(" ")
                .replacen('z', "Z", 1)
                + ". "
        };
        let others = |numbers: std::ops::Range<u8>| numbers.map(other).collect::<String>();
        let text = format!(
            "The billing database moves to PostgreSQL. {} The billing database moves at night. {} Billing keeps one database.",
            others(0..10),
            others(10..20),
        );
        let summary = summary(&text);
        let places: Vec<_> = [
            "moves to PostgreSQL.",
            "moves at night.",
            "Billing keeps one database.",
        ]
        .map(|sentence| summary.find(sentence))
        .to_vec();
        assert!(
            places.iter().all(Option::is_some) && places.is_sorted(),
            "{summary}"
        );
        assert!(summary.ends_with('.') && fits(&summary), "{summary}");
    }

    #[test]
    fn what_matters_is_kept_and_chatter_is_left() {
        let rows: [(&str, &[&str], &[&str]); 3] = [
            (
                "Hi! So today was quite a long day and I am only sitting down now. The train from the suburbs \
                 was nine minutes late, which is almost punctual for that line. There was a man in my \
                 carriage who had a parrot on his shoulder, and the parrot said good morning to everybody who \
                 got on. The train then stopped for a while between two stations and nobody knew why. Anyway. \
                 When I finally arrived, Lena had already finished the coffee. We talked for a bit about the \
                 train and about how the line is always late in autumn. Before I forget, my new address is 12 \
                 Harbour Street, Bristol, and the landlord is called Mr Okafor. Lunch was a sandwich with too \
                 much mustard. In the afternoon we decided to cancel the gym contract because nobody uses it. \
                 I really don't like how loud that place is anyway. You know how it is. I have to send the \
                 letter by the end of the month. Then the train home was full, so I stood all the way. Thanks \
                 for listening!",
                &[
                    "my new address is 12 Harbour Street",
                    "we decided to cancel the gym contract",
                    "I have to send the letter",
                ],
                &[
                    "Hi!",
                    "So today",
                    "The train",
                    "parrot",
                    "Anyway",
                    "mustard",
                    "You know how it is",
                    "Thanks",
                ],
            ),
            (
                "Hello everyone, hope you all had a nice weekend. I wanted to write down where we are with \
                 the shop. The shop has been quite busy and the shop window looks lovely with the new lights. \
                 We agreed to move the checkout to Stripe, and the old provider is switched off on \
                 2026-09-30. Never deploy on a Friday, because the warehouse is closed on Saturdays and \
                 nobody can help. The shop music was a bit loud on Thursday, some customers said. Does \
                 anybody know whether the shop cat belongs to the neighbours? Maria needs to renew the \
                 certificate of shop.example.org before the audit. The weather has been terrible, so the shop \
                 was nearly empty on some mornings. The staging database listens on port 6432 of atlas-7, \
                 with the user readonly. I prefer reviews in the morning, so please send pull requests the \
                 day before. The shop plants look a bit sad, to be honest. What else is there to say about \
                 the shop. Have a great week!",
                &[
                    "We agreed to move the checkout to Stripe",
                    "Never deploy on a Friday",
                    "Maria needs to renew the certificate",
                    "port 6432 of atlas-7",
                    "I prefer reviews in the morning",
                ],
                &[
                    "Hello everyone",
                    "shop window",
                    "shop cat",
                    "weather",
                    "plants",
                    "What else",
                    "great week",
                ],
            ),
            (
                "I've been meaning to write. The flat is still full of boxes and I can't find the kettle. My \
                 sister Ines is staying with me until the baby comes, she's due in February. She is \
                 vegetarian, so I cook without meat now, which is easier than I thought. The kettle turned up \
                 in the box with the shoes. We watched a silly film about a talking horse. The horse was \
                 voiced by somebody famous but I forgot who. I was thinking about the old garden. The \
                 neighbours seem nice, they brought bread. I'm supposed to see a cardiologist on 3 March \
                 because of my heart murmur. The film was two hours long. I decided not to go back to the old \
                 company. The horse won the race in the end, of course. It rained the whole time. Could you \
                 suggest a good film for next week? By the way, my phone number changed, it's 0171 555 0199.",
                &[
                    "My sister Ines is staying",
                    "She is vegetarian",
                    "cardiologist on 3 March",
                    "I decided not to go back",
                    "0171 555 0199",
                ],
                &["kettle", "horse", "It rained", "Could you", "garden"],
            ),
        ];
        for (text, kept, left) in rows {
            let summary = summary(text);
            assert!(fits(&summary), "{summary}");
            for part in kept {
                assert!(summary.contains(part), "{part:?} is missing: {summary}");
            }
            for part in left {
                assert!(
                    text.contains(part) && !summary.contains(part),
                    "{part:?} is there: {summary}"
                );
            }
        }
    }

    #[test]
    fn sentences_without_capitals_are_told_apart() {
        let idle =
            "the train was late and the soup was cold, as it was on most of the other days. ";
        let text = format!(
            "{}my sister is allergic to cats, e.g. to mine. {}",
            idle.repeat(5),
            idle.repeat(5)
        );
        assert_eq!(
            summary(&text),
            "my sister is allergic to cats, e.g. to mine."
        );
    }

    #[test]
    fn small_talk_is_a_summary_if_there_is_nothing_else() {
        let talk = "Good morning! Thanks a lot! Have a nice day! ".repeat(20);
        assert_eq!(
            summary(&talk),
            "Good morning! Thanks a lot! Have a nice day!"
        );
        assert_eq!(
            summary(&format!("{talk}The door is open.")),
            "The door is open."
        );
    }

    #[test]
    fn a_repeated_sentence_is_said_once() {
        assert_eq!(
            summary(&"The door is open now. ".repeat(60)),
            "The door is open now."
        );
    }

    #[test]
    fn a_sentence_that_is_too_long_is_cut_at_a_word() {
        let text = "several words without an end ".repeat(50);
        let summary = summary(&text);
        assert_eq!(analysis::words(&summary).count(), SUMMARY_WORDS_MAX);
        assert!(summary.ends_with("an end…"), "{summary}");
    }

    #[test]
    fn texts_without_spaces_and_endless_words_stay_bounded() {
        for piece in ["天気", "ก", "a", "カメラ", "!", "🦀"] {
            let summary = summary(&piece.repeat(5_000));
            assert!(
                fits(&summary) && summary.ends_with('…') && summary.starts_with(piece),
                "{summary}"
            );
        }
    }
}
