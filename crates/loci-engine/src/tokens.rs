//! How many tokens a language model will count.

/// An estimate for any model: four ASCII characters a token, every other character one. It errs
/// on the high side for prose.
pub fn estimated_tokens(text: &str) -> usize {
    let (mut ascii, mut others) = (0usize, 0usize);
    for character in text.chars() {
        if character.is_ascii() { ascii += 1 } else { others += 1 }
    }
    ascii.div_ceil(4) + others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_round_up() {
        assert_eq!(estimated_tokens(""), 0);
        assert_eq!(estimated_tokens("hello"), 2);
        assert_eq!(estimated_tokens("日本語"), 3);
    }
}
