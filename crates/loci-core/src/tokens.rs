//! Tokens of language models.

/// Counts the tokens that a language model makes of a text.
pub trait TokenCounter: Send + Sync {
    /// How many tokens the text has.
    fn count(&self, text: &str) -> usize;
}
