//! What is filed and what is asked.

use super::super::corpus::Random;
use super::{distractors, exact, paraphrases, similar, times};

/// Days that lie between most facts and the questions, so that age favours none.
pub const DAYS_AGO: i64 = 20;

/// Kinds of questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The fact shares no word with the question.
    Paraphrase,
    /// The same, and the question begins with a pronoun that useless facts have.
    StrayWord,
    /// Error codes, paths, versions, names in code, hashes.
    Identifier,
    /// Names of people among others of whom they share a part.
    Name,
    /// Quoted phrases among facts with the same words in another order.
    Phrase,
    /// Days in another notation.
    Date,
    /// Times that mean something only on the day of the question.
    RelativeTime,
    /// A word of a fact in a script other than Latin.
    Script,
    /// Facts that differ in one number or name.
    NearDuplicate,
    /// A sentence within a long text.
    LongDocument,
    /// A fact among the messages of conversations.
    Mixed,
}

impl Class {
    /// Its name, and the least share of questions whose fact must be first, and among the first five.
    pub const fn row(self) -> (&'static str, f64, f64) {
        match self {
            Class::Paraphrase => ("paraphrases", 0.50, 0.75),
            Class::StrayWord => ("stray words", 0.40, 0.70),
            Class::Identifier => ("identifiers", 1.0, 1.0),
            Class::Name => ("names", 1.0, 1.0),
            Class::Phrase => ("phrases", 1.0, 1.0),
            Class::Date => ("dates", 0.90, 1.0),
            Class::RelativeTime => ("relative times", 0.70, 1.0),
            Class::Script => ("scripts", 1.0, 1.0),
            Class::NearDuplicate => ("near-duplicates", 1.0, 1.0),
            Class::LongDocument => ("long documents", 0.80, 1.0),
            Class::Mixed => ("facts among chat", 0.90, 0.95),
        }
    }
}

/// A fact to store.
#[derive(Debug, Clone)]
pub struct Fact {
    /// Its text.
    pub text: String,
    /// How long before the questions it is stored.
    pub days_ago: i64,
}

/// A question.
#[derive(Debug, Clone)]
pub struct Question {
    /// What kind it is.
    pub class: Class,
    /// What is asked.
    pub text: String,
    /// The fact that answers it: its index.
    pub fact: usize,
}

/// What goes into one store.
#[derive(Debug, Default)]
pub struct Shelf {
    /// Facts.
    pub facts: Vec<Fact>,
    /// Conversations of one user.
    pub conversations: Vec<Vec<String>>,
    /// What is asked.
    pub questions: Vec<Question>,
}

impl Shelf {
    /// Adds a fact; returns its index.
    pub fn add(&mut self, text: impl Into<String>) -> usize {
        self.add_then(text, DAYS_AGO)
    }

    /// Adds a fact that is stored that long before the questions; returns its index.
    pub fn add_then(&mut self, text: impl Into<String>, days_ago: i64) -> usize {
        self.facts.push(Fact { text: text.into(), days_ago });
        self.facts.len() - 1
    }

    /// Adds a question.
    pub fn ask(&mut self, class: Class, text: impl Into<String>, fact: usize) {
        self.questions.push(Question { class, text: text.into(), fact });
    }
}

/// Everything: a store of facts, and one of facts among the messages of a user.
pub fn shelves(seed: u64, distractors: usize) -> [Shelf; 2] {
    let mut random = Random(seed);
    let mut facts = Shelf::default();
    for text in distractors::facts(&mut random, distractors) {
        facts.add(text);
    }
    for (class, pairs) in
        [(Class::Paraphrase, &paraphrases::PAIRS[..]), (Class::StrayWord, &paraphrases::STRAY_PAIRS[..])]
    {
        for (question, fact) in pairs {
            let fact = facts.add(*fact);
            facts.ask(class, *question, fact);
        }
    }
    for stray in paraphrases::STRAYS {
        facts.add(stray);
    }
    exact::identifiers(&mut facts, &mut random);
    exact::names(&mut facts);
    exact::phrases(&mut facts, &mut random);
    exact::scripts(&mut facts);
    times::dates(&mut facts);
    times::relative(&mut facts);
    similar::near_duplicates(&mut facts);
    similar::long_documents(&mut facts, &mut random);
    [facts, similar::mixed(&mut random)]
}
