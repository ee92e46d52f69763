use proptest::prelude::*;

use super::*;
use crate::vocabulary::tests::LOOKUPS;

/// Counts with the reference implementation.
fn reference(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton()
        .encode_ordinary(text)
        .len()
}

#[test]
fn known_counts() {
    let rows = [
        ("", 0),
        ("hello world", 2),
        (
            "Prose: the harbour master's 3 ferries don't sail before 06:45.",
            18,
        ),
        ("Überprüfung der Straßenschäden", 7),
        ("Она пишет письмо брату", 5),
        ("記憶は文章のまま残る。", 11),
        ("한국어 문장입니다", 5),
        ("ذاكرة المدينة", 3),
        ("👩‍👩‍👧‍👦 🎉", 13),
        ("fn main() {\n    let x = vec![1_000, 20];\n}\n", 18),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n", 17),
        ("a\t\t b \r\n\r\n  c   ", 7),
        ("1234567890", 4),
        ("<|endoftext|>", 7),
        ("c2Vuc2VsZXNzIGJ5dGVzIGluIGJhc2U2NA==", 24),
    ];
    for (text, count) in rows {
        assert_eq!(BpeTokens.count(text), count, "{text:?}");
        assert_eq!(reference(text), count, "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn counts_are_those_of_tiktoken(text in any::<String>()) {
        prop_assert_eq!(BpeTokens.count(&text), reference(&text));
    }

    #[test]
    fn counts_of_mixed_scripts_are_those_of_tiktoken(
        text in "([ \t\r\n\u{3000}'/.#-]{0,3}([a-z]{1,9}|[A-Z]{1,4}[a-z]{0,5}('s|'LL)?|[0-9]{1,5}|[\u{4e00}-\u{4f00}]{1,4}|[\u{430}-\u{44f}]{1,8}|[\u{1f600}-\u{1f64f}]{1,2}|e\u{301})){0,40}",
    ) {
        prop_assert_eq!(BpeTokens.count(&text), reference(&text));
    }
}

/// Returns the number of lookups for counting the tokens.
fn lookups(text: &str) -> usize {
    LOOKUPS.set(0);
    BpeTokens.count(text);
    LOOKUPS.get()
}

#[test]
fn the_work_is_at_most_four_lookups_a_byte() {
    for unit in [
        "a", " ", "\n", ",", "aA", "ab", "1", "漢", "😀", "e\u{301}", " \n", "\u{3000}", "ſ", "'",
    ] {
        let text = unit.repeat((1 << 17) / unit.len());
        let lookups = lookups(&text);
        assert!(lookups <= 4 * text.len(), "{unit:?}: {lookups}");
    }
}

#[test]
fn a_long_run_is_counted_as_the_sum_of_its_parts() {
    let part = "ab".repeat(PIECE_BYTES_MAX / 2);
    assert_eq!(BpeTokens.count(&part), reference(&part));
    assert_eq!(
        BpeTokens.count(&part.repeat(256)),
        256 * BpeTokens.count(&part)
    );
}
