//! The number of tokens that a language model counts in a text.

use loci_core::TokenCounter;

pub use loci_text::excerpt::estimated_tokens;

/// Counts by [`estimated_tokens`], for an engine without a tokenizer.
#[derive(Debug, Clone, Copy, Default)]
pub struct EstimatedTokens;

impl TokenCounter for EstimatedTokens {
    fn count(&self, text: &str) -> usize {
        estimated_tokens(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_round_up() {
        assert_eq!(estimated_tokens(""), 0);
        assert_eq!(estimated_tokens("hello"), 2);
        assert_eq!(EstimatedTokens.count("日本語"), 3);
    }
}
