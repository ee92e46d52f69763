//! What is shown of texts that are longer than there is room for.

use loci_core::TokenCounter;
use loci_search::analysis::query_terms;

use super::*;

const FILLER: &str = "The quick brown fox jumps over the lazy dog near the river bank today.\n\n";

/// Two for each character, where the estimate says a quarter.
#[derive(Debug)]
struct Expensive;

impl TokenCounter for Expensive {
    fn count(&self, text: &str) -> usize {
        2 * text.chars().count()
    }
}

#[test]
fn a_short_text_is_whole_and_a_long_one_shows_what_answers() {
    let engine = engine();
    let whole = engine.excerpt(FILLER, &[], None, 18);
    assert_eq!((&*whole.text, whole.is_whole, whole.tokens), (FILLER, true, 18));
    let content = format!("{}The safe is blue.\n\n{}", FILLER.repeat(10_000), FILLER.repeat(4_000));
    let excerpt = engine.excerpt(&content, &query_terms("which colour has the safe?"), None, 25);
    assert_eq!((&*excerpt.text, excerpt.is_whole), ("…\n\nThe safe is blue.\n\n…", false));
}

#[test]
fn what_has_more_tokens_than_estimated_is_made_shorter() {
    let engine = engine().with_token_counter(Arc::new(Expensive));
    let content = FILLER.repeat(1_000);
    for tokens_max in [60, 100, 1_000, 9_999] {
        let excerpt = engine.excerpt(&content, &query_terms("fox"), None, tokens_max);
        assert!(!excerpt.is_whole && (1..=tokens_max).contains(&excerpt.tokens), "{excerpt:?} of {tokens_max}");
        assert_eq!(excerpt.tokens, 2 * excerpt.text.chars().count());
    }
}
