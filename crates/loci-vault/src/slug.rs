//! Makes file names from titles that are valid on every system.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The maximum bytes of UTF-8 in the name without its number and `.md`.
const SLUG_BYTES_MAX: usize = 80;
/// The name for a title without letters and digits.
const NAMELESS: &str = "note";
/// The suffix of a name that is reserved on Windows.
const SUFFIX: &str = "-note";

/// Returns the title in kebab case: letters and digits of any script in lower case, with hyphens
/// between the words. At most 85 bytes of UTF-8, and valid on every file system.
pub fn slug(title: &str) -> String {
    let mut slug = String::new();
    for character in folded(title).chars() {
        let is_word = character.is_alphanumeric()
            || is_combining_mark(character) && !slug.is_empty() && !slug.ends_with('-');
        if is_word {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() > SLUG_BYTES_MAX {
            break;
        }
    }
    slug.truncate(slug.floor_char_boundary(SLUG_BYTES_MAX));
    slug.truncate(slug.trim_end_matches('-').len());
    if slug.is_empty() {
        slug.push_str(NAMELESS);
    }
    if is_reserved(&slug) {
        slug.push_str(SUFFIX);
    }
    slug
}

/// Folds a name for comparison: two names with the same folded form are the same on a file system
/// that ignores case and Unicode normalisation.
pub(crate) fn folded(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    // Lower-casing may decompose a letter.
    name.nfc()
        .collect::<String>()
        .to_lowercase()
        .nfc()
        .collect()
}

/// True for names of devices on Windows, in lower case, with any extension
/// (<https://learn.microsoft.com/windows/win32/fileio/naming-a-file>).
fn is_reserved(name: &str) -> bool {
    let is_numbered = |name: &str| {
        let mut characters = name.chars();
        let number = characters.next();
        number.is_some_and(|number| "0123456789¹²³".contains(number)) && characters.next().is_none()
    };
    let number = name
        .strip_prefix("com")
        .or_else(|| name.strip_prefix("lpt"));
    matches!(name, "con" | "prn" | "aux" | "nul" | "conin" | "conout")
        || number.is_some_and(is_numbered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs() {
        let rows = [
            ("Tea of the house", "tea-of-the-house"),
            ("  --Key: \"value\"!  (x)", "key-value-x"),
            ("../../etc/passwd", "etc-passwd"),
            ("..", "note"),
            (".hidden", "hidden"),
            ("", "note"),
            ("🐻🐝", "note"),
            ("Bears 🐻 and bees", "bears-and-bees"),
            ("CON", "con-note"),
            ("com1", "com1-note"),
            ("Com¹", "com¹-note"),
            ("LPT9", "lpt9-note"),
            ("com10", "com10"),
            ("con.md", "con-md"),
            ("Über Straße", "über-straße"),
            ("U\u{308}ber", "über"),
            ("İstanbul", "i\u{307}stanbul"),
            ("\u{301}a", "a"),
            ("हिन्दी में", "हिन्दी-में"),
            ("שלום \u{202e}עולם", "שלום-עולם"),
            ("line\none\r\ntwo\ttab\0nul", "line-one-two-tab-nul"),
            ("a/b\\c:d*e?f", "a-b-c-d-e-f"),
            ("1.2.3", "1-2-3"),
        ];
        for (title, expected) in rows {
            assert_eq!(slug(title), expected, "{title:?}");
        }
        assert_eq!(slug(&"w".repeat(256)), "w".repeat(80));
        assert_eq!(slug(&"日".repeat(100)), "日".repeat(26));
        assert_eq!(slug(&format!("{} x", "a".repeat(79))), "a".repeat(79));
    }

    proptest::proptest! {
        #[test]
        fn every_title_gets_a_safe_name(title in "(?s).{0,120}") {
            let slug = slug(&title);
            proptest::prop_assert!(!slug.is_empty() && slug.len() <= SLUG_BYTES_MAX + SUFFIX.len());
            proptest::prop_assert!(slug.chars().all(|character| character == '-' || character.is_alphanumeric() || is_combining_mark(character)));
            proptest::prop_assert!(!slug.starts_with('-') && !slug.ends_with('-') && !is_reserved(&slug));
            proptest::prop_assert_eq!(folded(&slug), slug);
        }
    }
}
