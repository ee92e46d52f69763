//! How many tokens a language model will count.

use loci_core::TokenCounter;

/// An estimate for any model: four ASCII characters a token, every other character one. It errs
/// on the high side for prose.
pub fn estimated_tokens(text: &str) -> usize {
    let (mut ascii, mut others) = (0usize, 0usize);
    for character in text.chars() {
        if character.is_ascii() { ascii += 1 } else { others += 1 }
    }
    ascii.div_ceil(4) + others
}

/// Counts by [`estimated_tokens`], where there is no tokenizer.
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
