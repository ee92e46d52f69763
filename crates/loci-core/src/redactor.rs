//! The interface to the removal of secrets from texts.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Counts of removed secrets by kind.
///
/// Its text form, e.g. `github-token 2, private 1`, is the value of the attribute
/// [`Redactions::ATTRIBUTE`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Redactions(BTreeMap<String, u64>);

impl Redactions {
    /// The attribute of a memory that lists the kinds of secrets removed from its text.
    pub const ATTRIBUTE: &'static str = "redacted";

    /// Counts removed secrets by kind.
    pub fn of<'a>(removed: impl IntoIterator<Item = &'a RemovedSecret>) -> Self {
        let mut redactions = Redactions::default();
        for removed in removed {
            redactions.add(removed.kind, 1);
        }
        redactions
    }

    /// Adds a number of secrets of a kind.
    pub fn add(&mut self, kind: &str, count: u64) {
        if count > 0 {
            *self.0.entry(kind.to_owned()).or_default() += count;
        }
    }

    /// Adds all counts of another value.
    pub fn add_all(&mut self, other: &Redactions) {
        for (kind, count) in other.iter() {
            self.add(kind, count);
        }
    }

    /// Returns the kinds in alphabetical order, each with its count.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(kind, count)| (kind.as_str(), *count))
    }

    /// Returns true if nothing was removed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of secrets of all kinds.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Parses the text form and ignores parts that do not match it.
    pub fn from_text(text: &str) -> Self {
        let mut redactions = Redactions::default();
        for (kind, count) in text.split(", ").filter_map(|part| part.rsplit_once(' ')) {
            redactions.add(kind, count.parse().unwrap_or_default());
        }
        redactions
    }

    /// Adds these counts to those in the attributes of a memory.
    pub fn write_to(&self, attributes: &mut BTreeMap<String, String>) {
        if self.is_empty() {
            return;
        }
        let before = attributes
            .get(Redactions::ATTRIBUTE)
            .map(String::as_str)
            .unwrap_or_default();
        let mut sum = Redactions::from_text(before);
        sum.add_all(self);
        attributes.insert(Redactions::ATTRIBUTE.to_owned(), sum.to_string());
    }
}

impl fmt::Display for Redactions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (kind, count)) in self.iter().enumerate() {
            let separator = if number > 0 { ", " } else { "" };
            write!(formatter, "{separator}{kind} {count}")?;
        }
        Ok(())
    }
}

/// A text with its secrets removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedText<'a> {
    /// The text; borrowed if it held no secret.
    pub text: Cow<'a, str>,
    /// The secrets that were removed, in order.
    pub removed: Vec<RemovedSecret>,
}

/// A secret that was removed from a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemovedSecret {
    /// The byte offset in the redacted text, after the placeholder of the secret, if it has one.
    pub at: usize,
    /// Its kind, e.g. `github-token`.
    pub kind: &'static str,
    /// The number of line breaks in the secret.
    pub lines: usize,
}

impl<'a> RedactedText<'a> {
    /// Wraps a text that holds no secret.
    pub fn unchanged(text: &'a str) -> Self {
        RedactedText {
            text: Cow::Borrowed(text),
            removed: Vec::new(),
        }
    }

    /// Returns the same with an owned text.
    pub fn into_owned(self) -> RedactedText<'static> {
        RedactedText {
            text: Cow::Owned(self.text.into_owned()),
            removed: self.removed,
        }
    }

    /// Returns the removed secrets, counted by kind.
    pub fn found(&self) -> Redactions {
        Redactions::of(&self.removed)
    }

    /// Returns the number of line breaks that were removed up to a byte offset in the redacted
    /// text.
    pub fn lines_removed_until(&self, offset: usize) -> usize {
        self.removed
            .iter()
            .take_while(|removed| removed.at <= offset)
            .map(|removed| removed.lines)
            .sum()
    }
}

/// Removes secrets from texts: keys, tokens, passwords, and text that a person marked as private.
pub trait Redactor: Send + Sync {
    /// Returns the text without its secrets. Redacting a redacted text changes nothing.
    fn redact<'a>(&self, text: &'a str) -> RedactedText<'a>;

    /// Redacts a file of a project, where a private mark counts only if it is closed and outside of
    /// backticks.
    fn redact_file<'a>(&self, text: &'a str) -> RedactedText<'a> {
        self.redact(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_back_from_their_text_form() {
        let mut redactions = Redactions::default();
        assert_eq!(
            (redactions.to_string().as_str(), redactions.is_empty()),
            ("", true)
        );
        redactions.add("private", 1);
        redactions.add("github-token", 2);
        redactions.add("jwt", 0);
        assert_eq!(redactions.to_string(), "github-token 2, private 1");
        assert_eq!(Redactions::from_text(&redactions.to_string()), redactions);
        assert_eq!(redactions.total(), 3);
        assert_eq!(
            Redactions::from_text("by hand, private x, private 1").to_string(),
            "private 1"
        );
    }

    #[test]
    fn the_attribute_adds_up() {
        let mut attributes = BTreeMap::new();
        Redactions::default().write_to(&mut attributes);
        assert!(attributes.is_empty());
        for _ in 0..2 {
            Redactions::from_text("jwt 1, private 1").write_to(&mut attributes);
        }
        assert_eq!(attributes[Redactions::ATTRIBUTE], "jwt 2, private 2");
    }
}
