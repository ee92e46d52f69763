//! The facts and the questions.

use super::super::corpus::Random;
use super::distractors;

const PARAPHRASES: &str = include_str!("paraphrases.tsv");
const EXACT: &str = include_str!("exact.tsv");
const LANGUAGES: &str = include_str!("languages.tsv");
const TRAIN: &str = include_str!("train.tsv");

/// The days between most facts and the questions, equal so that age favours none.
pub const DAYS_AGO: i64 = 20;

/// The kind of questions whose facts are in the middle of long texts.
const LONG_DOCUMENTS: &str = "long documents";
/// The kind of questions whose facts are among conversations about the same topics.
const AMONG_CHAT: &str = "facts among chat";
/// The kind of questions in which only the time distinguishes the facts.
const RELATIVE_TIMES: &str = "relative times";

/// The length of a conversation; there are as many conversations as facts among chat.
const MESSAGES_OF_A_CONVERSATION: usize = 20;

/// A fact to store.
#[derive(Debug, Clone)]
pub struct Fact {
    /// Its text.
    pub text: String,
    /// Its age at the time of the questions, in days.
    pub days_ago: i64,
}

/// A question.
#[derive(Debug, Clone)]
pub struct Question {
    /// The kind of question.
    pub kind: &'static str,
    /// The text of the question.
    pub text: &'static str,
    /// The index of the fact that answers it.
    pub fact: usize,
}

/// The content of one store, with its questions.
#[derive(Debug, Default)]
pub struct Shelf {
    /// The facts, in order.
    pub facts: Vec<Fact>,
    /// The conversations of one user.
    pub conversations: Vec<Vec<String>>,
    /// The questions about the facts.
    pub questions: Vec<Question>,
}

impl Shelf {
    fn add(&mut self, text: String, days_ago: i64) {
        self.facts.push(Fact { text, days_ago });
    }
}

/// A line of a file.
struct Row {
    kind: &'static str,
    /// The question; empty if the fact is only a distractor.
    question: &'static str,
    fact: &'static str,
    /// The age of a relative time in days, or the topic of the chat around a fact.
    more: &'static str,
}

/// Returns the questions of a set (`test`, `languages` or `train`) with their facts, and that many
/// others: a store of facts, and one of facts among the messages of a user.
pub fn shelves(set: &str, seed: u64, distractors: usize) -> [Shelf; 2] {
    let files = match set {
        "languages" => &[LANGUAGES][..],
        "train" => &[TRAIN],
        _ => &[PARAPHRASES, EXACT],
    };
    let mut random = Random(seed);
    let [mut alone, mut among_chat] = [Shelf::default(), Shelf::default()];
    for text in distractors::facts(&mut random, distractors) {
        alone.add(text, DAYS_AGO);
    }
    let mut topics = Vec::new();
    for Row {
        kind,
        question,
        fact,
        more,
    } in files.iter().flat_map(|file| rows(file))
    {
        let shelf = if kind == AMONG_CHAT {
            &mut among_chat
        } else {
            &mut alone
        };
        if !question.is_empty() {
            shelf.questions.push(Question {
                kind,
                text: question,
                fact: shelf.facts.len(),
            });
        }
        match kind {
            LONG_DOCUMENTS => {
                let number = shelf.questions.len();
                shelf.add(surrounded(fact, number, &mut random), DAYS_AGO);
            }
            RELATIVE_TIMES => shelf.add(fact.to_owned(), more.parse().unwrap_or(DAYS_AGO)),
            AMONG_CHAT => {
                topics.push(more);
                shelf.add(fact.to_owned(), DAYS_AGO);
            }
            _ => shelf.add(fact.to_owned(), DAYS_AGO),
        }
    }
    for _ in &topics {
        let message = |_| {
            let topic = random.pick(&topics);
            distractors::chatter(&mut random, topic)
        };
        among_chat
            .conversations
            .push((0..MESSAGES_OF_A_CONVERSATION).map(message).collect());
    }
    [alone, among_chat]
}

fn rows(file: &'static str) -> impl Iterator<Item = Row> {
    file.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let mut fields = line.split('\t');
            let mut next = || fields.next();
            Some(Row {
                kind: next()?,
                question: next()?,
                fact: next()?,
                more: next().unwrap_or_default(),
            })
        })
}

/// Puts the fact in the middle of a text of 2,000 to 8,000 bytes, whose length depends on the
/// number.
fn surrounded(fact: &str, number: usize, random: &mut Random) -> String {
    const HALF_MIN: usize = 1_000;
    const HALF_STEP: usize = 250;
    const LENGTHS: usize = 13;
    let half = HALF_MIN + number % LENGTHS * HALF_STEP;
    let before = filler(random, half);
    format!("{before}{fact} {}", filler(random, half).trim_end())
}

/// Returns sentences of about that many bytes, in paragraphs.
fn filler(random: &mut Random, bytes: usize) -> String {
    const SENTENCES_OF_A_PARAGRAPH: usize = 7;
    let mut text = String::new();
    let mut sentences = 0;
    while text.len() < bytes {
        text += &distractors::fact(random);
        sentences += 1;
        text += if sentences % SENTENCES_OF_A_PARAGRAPH == 0 {
            "\n\n"
        } else {
            " "
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use loci_text::analysis::{query_terms, term_counts};

    use super::*;

    #[test]
    fn every_question_has_a_fact_of_its_own() {
        for set in ["test", "languages", "train"] {
            for shelf in shelves(set, 1, 10) {
                let mut facts = HashSet::new();
                assert!(
                    shelf.facts.iter().all(|fact| facts.insert(&fact.text)),
                    "{set}"
                );
                let mut questions = HashSet::new();
                for question in &shelf.questions {
                    assert!(questions.insert(question.text), "{question:?}");
                }
            }
        }
    }

    #[test]
    fn there_are_enough_questions_of_every_kind() {
        let counts = |set| {
            let mut counts = BTreeMap::new();
            for shelf in shelves(set, 1, 0) {
                shelf
                    .questions
                    .iter()
                    .for_each(|question| *counts.entry(question.kind).or_insert(0) += 1);
            }
            counts
        };
        for (kind, count) in counts("test") {
            assert_eq!(
                count,
                if kind == "paraphrases" { 200 } else { 60 },
                "{kind}"
            );
        }
        for (kind, count) in counts("languages") {
            assert_eq!(
                count,
                if kind.ends_with("paraphrases") {
                    30
                } else {
                    20
                },
                "{kind}"
            );
        }
    }

    #[test]
    fn paraphrases_share_no_word_with_their_facts() {
        let mut shared = Vec::new();
        for row in [PARAPHRASES, LANGUAGES].into_iter().flat_map(rows) {
            if !row.kind.ends_with("paraphrases") || row.question.is_empty() {
                continue;
            }
            let terms = query_terms(row.question);
            let mut common = term_counts([row.fact]);
            common.retain(|(term, _)| terms.contains(term));
            if !common.is_empty() {
                shared.push((row.question, row.fact, common));
            }
        }
        assert!(shared.is_empty(), "{shared:#?}");
    }

    #[test]
    fn no_question_of_training_is_reported() {
        let questions = |set| {
            shelves(set, 1, 0)
                .into_iter()
                .flat_map(|shelf| shelf.questions)
                .map(|asked| asked.text)
        };
        let reported: HashSet<&str> = questions("test").chain(questions("languages")).collect();
        assert!(!questions("train").any(|question| reported.contains(question)));
    }
}
