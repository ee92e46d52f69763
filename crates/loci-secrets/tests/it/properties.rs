//! Properties that hold for every text.

use std::borrow::Cow;

use loci_secrets::{redact, redact_file};
use proptest::prelude::*;

use crate::generator::with_secret;

/// Generates pieces of secrets and of the text around them.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        (0_usize..4_000).prop_map(|number| with_secret(number).text),
        (0_usize..4_000).prop_map(|number| with_secret(number).secret),
        prop::sample::select(vec![
            "<private>",
            "</private>",
            "<PRIVATE>",
            "<pri",
            "vate>",
            "password=",
            "api_key: \"",
            "token",
            "://",
            "@",
            "Bearer ",
            "Basic ",
            "-----BEGIN ",
            "PRIVATE KEY-----",
            "-----END ",
            "eyJ",
            "sk-",
            "ghp_",
            "[redacted: ",
            "]",
            "\"",
            "\\n",
            "\n",
            " ",
            "=",
            ":",
            "--token ",
        ])
        .prop_map(str::to_owned),
        "[a-zA-Z0-9_./+=-]{0,40}",
        "\\PC{0,20}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics_and_twice_is_once(pieces in prop::collection::vec(piece(), 0..8)) {
        let text = pieces.concat();
        let once = redact(&text);
        let twice = redact(&once.text);
        prop_assert_eq!(&twice.text, &once.text);
        prop_assert!(twice.removed.is_empty());
        prop_assert_eq!(once.removed.is_empty(), matches!(once.text, Cow::Borrowed(_)));
        if once.removed.is_empty() {
            prop_assert_eq!(&once.text, &text);
        }
        let of_file = redact_file(&text);
        prop_assert_eq!(&redact_file(&of_file.text).text, &of_file.text);
        let lines = |text: &str| text.matches('\n').count();
        prop_assert_eq!(lines(&once.text) + once.lines_removed_until(usize::MAX), lines(&text));
    }

    #[test]
    fn what_is_private_is_gone(before in "[a-z \n]{0,20}", private in "[a-z0-9 \n]{12,40}", after in "[A-Z \n]{0,20}") {
        let text = format!("{before}<private>{private}</private>{after}");
        let redacted = redact(&text);
        prop_assert_eq!(redacted.text.as_ref(), format!("{before}{after}"));
        let line = private.replace('\n', " ");
        let unclosed = format!("{before}<private>{line}\nand {line}\n\n{after}");
        let redacted = redact(&unclosed);
        prop_assert_eq!(redacted.text.as_ref(), format!("{before}\n{after}"));
    }

    #[test]
    fn a_secret_is_gone_wherever_it_stands(number in 0_usize..4_000, before in "[a-z .\n]{0,80}", after in "[a-z .\n]{0,80}") {
        let case = with_secret(number);
        let alone = redact(&case.text);
        prop_assume!(!alone.text.contains(&case.secret));
        let text = format!("{before}\n{}\n{after}", case.text);
        prop_assert!(!redact(&text).text.contains(&case.secret));
    }
}
