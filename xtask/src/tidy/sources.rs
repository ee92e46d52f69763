//! Duties of every Rust file: a head that says what its crate is, no test that is skipped, no
//! unsafe code but in one place.

use std::collections::BTreeMap;

use proc_macro2::{TokenStream, TokenTree};
use syn::{AttrStyle, Expr, Lit, Meta};

use super::Fault;
use super::rust_source::{FoundAttribute, RustSource};

/// The files that may hold unsafe code, each with its proofs: the vector kernels, and the
/// registration of a virtual table of SQLite that is written in C.
const UNSAFE_FILES: [&str; 2] = [
    "crates/loci-index/src/structures/kernel.rs",
    "crates/loci-store-sqlite/src/integrity/salvage/dbdata.rs",
];

/// Holds every file against the rules.
pub fn check(sources: &BTreeMap<String, RustSource>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (path, source) in sources {
        let is_root = path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs");
        if is_root && !has_head(source) {
            faults.push(Fault::new(
                path,
                "begin with a `//!` head that says what the crate is for and its main choice",
            ));
        }
        for attribute in source.attributes() {
            let place = format!("{path}:{}", attribute.line);
            if skips_a_test(&attribute) {
                let message = "a skipped test guards nothing: assert what happens today, with a FIXME, or remove it";
                faults.push(Fault::new(&place, message));
            }
            if lifts_unsafe(&attribute) && !UNSAFE_FILES.contains(&path.as_str()) {
                faults.push(Fault::new(
                    place,
                    format!(
                        "unsafe code belongs in {} alone: write it without",
                        UNSAFE_FILES.join(" and ")
                    ),
                ));
            }
        }
    }
    faults
}

fn has_head(source: &RustSource) -> bool {
    source.syntax.attrs.iter().any(|attribute| {
        let Meta::NameValue(meta) = &attribute.meta else {
            return false;
        };
        let text = match &meta.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => text.value(),
                _ => return false,
            },
            // `#![doc = include_str!(…)]`
            _ => return meta.path.is_ident("doc"),
        };
        matches!(attribute.style, AttrStyle::Inner(_))
            && meta.path.is_ident("doc")
            && !text.trim().is_empty()
    })
}

fn skips_a_test(attribute: &FoundAttribute) -> bool {
    match first_name(&attribute.content).as_deref() {
        Some("ignore") => true,
        Some("cfg_attr") => names(&attribute.content, "ignore"),
        _ => false,
    }
}

fn lifts_unsafe(attribute: &FoundAttribute) -> bool {
    let lifts = matches!(
        first_name(&attribute.content).as_deref(),
        Some("allow" | "expect" | "warn" | "cfg_attr")
    );
    lifts && names(&attribute.content, "unsafe_code")
}

fn first_name(content: &TokenStream) -> Option<String> {
    match content.clone().into_iter().next() {
        Some(TokenTree::Ident(name)) => Some(name.to_string()),
        _ => None,
    }
}

/// Returns whether `name` occurs as a word at any depth.
fn names(content: &TokenStream, name: &str) -> bool {
    content.clone().into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == name,
        TokenTree::Group(group) => names(&group.stream(), name),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::Tree;
    use crate::tidy::rust_source::parse_all;

    fn faults_of(path: &str, text: &str) -> Vec<String> {
        let (sources, _) = parse_all(&Tree::from([(path, text)]));
        check(&sources).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_crate_without_a_head_is_a_fault() {
        assert_eq!(
            faults_of("crates/a/src/lib.rs", "//! What it is.\nfn f() {}\n"),
            Vec::<String>::new()
        );
        assert_eq!(
            faults_of("crates/a/src/part.rs", "fn f() {}\n"),
            Vec::<String>::new()
        );
        for text in [
            "fn f() {}\n",
            "//!\nfn f() {}\n",
            "/// About f.\nfn f() {}\n",
            "#![warn(missing_docs)]\n",
        ] {
            assert_eq!(faults_of("crates/a/src/main.rs", text).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_skipped_test_is_a_fault() {
        for text in [
            "#[test]\n#[ignore]\nfn f() {}",
            "#[test]\n#[ignore = \"slow\"]\nfn f() {}",
            "\n#[cfg_attr(windows, ignore)]\nfn f() {}",
        ] {
            let faults = faults_of("crates/a/tests/all.rs", text);
            assert_eq!(faults.len(), 1, "{text}");
            assert!(
                faults[0].starts_with("crates/a/tests/all.rs:2: a skipped test"),
                "{}",
                faults[0]
            );
        }
        assert_eq!(
            faults_of("crates/a/tests/all.rs", "#[test]\nfn ignore() {}"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn unsafe_code_elsewhere_is_a_fault() {
        let text = "#![expect(unsafe_code, reason = \"intrinsics\")]\n";
        assert_eq!(faults_of(UNSAFE_FILES[0], text), Vec::<String>::new());
        assert_eq!(
            faults_of("crates/loci-index/src/structures/scan.rs", text).len(),
            1
        );
        assert_eq!(
            faults_of(
                "crates/a/src/part.rs",
                "#[cfg_attr(unix, allow(unsafe_code))]\nfn f() {}"
            )
            .len(),
            1
        );
        assert_eq!(
            faults_of("crates/a/src/part.rs", "#![forbid(unsafe_code)]\n"),
            Vec::<String>::new()
        );
    }
}
