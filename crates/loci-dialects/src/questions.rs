//! Questions to the person, which a server asks where a client can show them (elicitation): what they
//! say, and what an answer does.
//!
//! A question is short, has a closed list of answers, and asks for no secret. It is a courtesy and no
//! barrier: a client that shows none gets what it always got. Each answer that changes something is a
//! call of its own in the audit log, as a change of the person in a [view](crate::apps).

use loci_core::{Error, ErrorCode, Forgotten, Memory, MemoryId, Result, Tier};
use loci_engine::{Certainty, Parts, SimilarMemory, item_key, shown_name};

/// One of the answers that a person can choose.
#[derive(Debug, PartialEq, Eq)]
pub struct Choice {
    /// The value on the wire.
    pub value: &'static str,
    /// Its words for people.
    pub title: &'static str,
}

const fn choice(value: &'static str, title: &'static str) -> Choice {
    Choice { value, title }
}

pub(crate) const DELETE: &str = "delete";
pub(crate) const KEEP_BOTH: &str = "keep_both";
pub(crate) const UPDATE: &str = "update_old";
pub(crate) const REPLACE: &str = "replace_old";
pub(crate) const FORGET: &str = "forget_old";
pub(crate) const YES: &str = "yes";

static OF_DELETION: [Choice; 2] = [
    choice("keep", "Keep it"),
    choice(DELETE, "Delete it for good"),
];
static OF_CONTRADICTION: [Choice; 4] = [
    choice(KEEP_BOTH, "Keep both: they do not contradict each other"),
    choice(UPDATE, "Give the old one the new text"),
    choice(REPLACE, "Keep the old one, replaced by the new one"),
    choice(FORGET, "Forget the old one"),
];
static OF_AUTHOR: [Choice; 2] = [
    choice("no", "No, agents see it as a note"),
    choice(YES, "Yes, agents follow this author"),
];
static OF_CHECKOUT: [Choice; 2] = [
    choice("no", "No, use the name of the project"),
    choice(YES, "Yes, use that name here"),
];

/// A question to the person.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The question, in one or two sentences.
    pub message: String,
    pub(crate) matter: Matter,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Matter {
    /// A deletion for good.
    Deletion,
    /// Two memories, of which one or both hold.
    Contradiction { newer: Version, older: Version },
    /// The directives of an author, which agents may follow.
    Author { name: String, key: String },
    /// The name that a checkout gives itself.
    Checkout { key: String },
}

/// A memory as the person was asked about it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Version {
    pub(crate) id: MemoryId,
    pub(crate) revision: u64,
}

impl Version {
    fn of(memory: &Memory) -> Self {
        Version {
            id: memory.id.clone(),
            revision: memory.revision,
        }
    }
}

/// The answer of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PersonAnswer {
    /// One of the [choices](Question::choices).
    Chosen(&'static str),
    /// The person declined, or closed the question.
    Refused,
    /// There is no answer: the time was over, or the client could not ask.
    Missing,
}

impl Question {
    /// Returns the question whether this is deleted for good.
    pub(crate) fn of_deletion(what: &str) -> Self {
        Question {
            message: format!("Delete {what} for good? Only a backup would bring it back."),
            matter: Matter::Deletion,
        }
    }

    /// Returns the question whether a memory is deleted for good; `None` if the call will say that it
    /// cannot be.
    ///
    /// # Errors
    /// `not_found` if the caller can read no such memory.
    pub(crate) fn of_deleting(parts: &Parts<'_>, id: &MemoryId) -> Result<Option<Self>> {
        let memories = parts.memories();
        let memory = memories.show_of(id, &Tier::ALL, Forgotten::Show)?;
        let place = memory.location.collection.as_deref().unwrap_or("global");
        let what = format!(
            "the memory {} (in {})",
            quotation(&memory.content),
            shown_name(place)
        );
        let may_delete = parts.caller().may_write(&memory);
        Ok(may_delete.then(|| Question::of_deletion(&what)))
    }

    /// Returns the question which of two memories holds; `None` unless it is sure that they contradict
    /// each other and the caller may change both.
    pub(crate) fn of_contradiction(
        parts: &Parts<'_>,
        stored: &Memory,
        contradicted: &[SimilarMemory],
    ) -> Option<Self> {
        let clearest = contradicted.first()?;
        let older = &clearest.memory;
        let is_sure = clearest.certainty == Some(Certainty::Sure);
        if !is_sure || !parts.caller().may_write(older) || !parts.caller().may_write(stored) {
            return None;
        }
        let message = format!(
            "{} was stored just now. It contradicts {}, which was there before. What holds?",
            quotation(&stored.content),
            quotation(&older.content)
        );
        let (newer, older) = (Version::of(stored), Version::of(older));
        let matter = Matter::Contradiction { newer, older };
        Some(Question { message, matter })
    }

    /// Returns the question whether the wing counts that a file of a checkout names. `key` is that of
    /// the file with its text, by which an answer is remembered.
    pub fn of_checkout(file: &str, wing: &str, key: String) -> Self {
        let message = format!(
            "The file {} of this checkout names the wing {} for what is filed here. Use that name?",
            shown_name(file),
            quotation(wing)
        );
        let matter = Matter::Checkout { key };
        Question { message, matter }
    }

    /// Returns the key under which the answer to the question of a checkout is remembered.
    pub fn checkout_key(folder: &str, text: &str) -> String {
        item_key("wing", &[folder, text])
    }

    /// Returns the answers to choose from; the one that changes least comes first.
    pub fn choices(&self) -> &'static [Choice] {
        match self.matter {
            Matter::Deletion => &OF_DELETION,
            Matter::Contradiction { .. } => &OF_CONTRADICTION,
            Matter::Author { .. } => &OF_AUTHOR,
            Matter::Checkout { .. } => &OF_CHECKOUT,
        }
    }

    /// Returns true if the person agreed to the name that a checkout gives itself.
    pub fn is_agreement_to_checkout(&self, answer: PersonAnswer) -> bool {
        matches!(self.matter, Matter::Checkout { .. }) && answer == PersonAnswer::Chosen(YES)
    }

    /// Returns the error of a call that the person does not want, so that it is not run; `None` if it
    /// is. Without an answer it is: as if the client could not ask.
    pub fn refusal(&self, answer: PersonAnswer) -> Option<Error> {
        let is_wanted = matches!(answer, PersonAnswer::Missing | PersonAnswer::Chosen(DELETE));
        if self.matter != Matter::Deletion || is_wanted {
            return None;
        }
        let message = "nothing was deleted: the person was asked and wants it kept. Do not try again by another way. If \
                       they want it deleted after all, they can tell you so, which is asked once more, or delete it \
                       themselves on loci's page or with `loci forget`";
        Some(Error::new(ErrorCode::Forbidden, message))
    }

    /// Returns what the model is told of a question that the person did not decide.
    pub fn undecided(&self, answer: PersonAnswer) -> &'static str {
        match answer {
            PersonAnswer::Refused => {
                "the person was asked what to do about this, and does not decide it now"
            }
            _ => "the person was asked what to do about this, and gave no answer in time",
        }
    }
}

/// Returns the beginning of a text in one line of visible characters, between quotation marks.
pub(crate) fn quotation(text: &str) -> String {
    format!("\u{201c}{}\u{201d}", shown_name(text))
}
