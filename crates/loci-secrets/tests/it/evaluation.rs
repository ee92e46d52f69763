//! Measures the rates of secrets that are found and of other text that is redacted by mistake.

use std::collections::BTreeMap;

use crate::generator::{with_secret, without_secret};

const TEXTS: usize = 1_000;

/// Each half by itself: the first is for development, and the second has forms of texts that the
/// first lacks.
#[test]
fn of_1000_secrets_at_least_99_percent_are_found_in_each_half() {
    for half in 0..2 {
        let mut missed: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let (mut all, mut found) = (0, 0);
        for case in (0..TEXTS)
            .filter(|number| number % 2 == half)
            .map(with_secret)
        {
            assert!(
                case.text.contains(&case.secret),
                "{}: {}",
                case.form,
                case.text
            );
            all += 1;
            let redacted = loci_secrets::redact(&case.text);
            if redacted.text.contains(&case.secret) || redacted.removed.is_empty() {
                missed.entry(case.form).or_default().push(case.text);
            } else {
                found += 1;
            }
        }
        let recall = f64::from(found) / f64::from(all);
        assert!(recall >= 0.99, "half {half}: {found} of {all}: {missed:#?}");
    }
}

#[test]
fn of_1000_innocent_texts_at_most_half_a_percent_are_changed_in_each_half() {
    for half in 0..2 {
        let texts = (0..TEXTS)
            .filter(|number| number % 2 == half)
            .map(without_secret);
        let changed: Vec<(String, &str, String)> = texts
            .filter_map(|(text, form)| {
                let redacted = loci_secrets::redact(&text).text.into_owned();
                (redacted != text).then_some((redacted, form, text))
            })
            .collect();
        assert!(
            changed.len() * 200 <= TEXTS / 2,
            "half {half}: {}: {changed:#?}",
            changed.len()
        );
    }
}

/// A token gets its own kind if its form determines it.
#[test]
fn tokens_are_called_by_their_kinds() {
    const ASSIGNED: [&str; 11] = [
        "aws-secret-key",
        "azure-storage-key",
        "api-key",
        "secret",
        "token",
        "credential",
        "password",
        "url",
        "netrc",
        "bearer-token",
        "basic-credentials",
    ];
    for case in (0..TEXTS)
        .map(with_secret)
        .filter(|case| !ASSIGNED.contains(&case.form.as_str()))
    {
        let redacted = loci_secrets::redact(&case.text);
        if !redacted.removed.is_empty() {
            let mark = format!("[redacted: {}]", case.form);
            assert!(
                redacted.text.contains(&mark),
                "{}: {}",
                case.text,
                redacted.text
            );
        }
    }
}
