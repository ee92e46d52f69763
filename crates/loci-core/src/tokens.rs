//! Token counting for language models.

/// Counts the tokens of a text as a language model's tokenizer does.
pub trait TokenCounter: Send + Sync {
    /// Returns the number of tokens in the text.
    fn count(&self, text: &str) -> usize;
}
