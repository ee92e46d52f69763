//! Identifiers: error codes, versions, hashes, paths, names in programs. They need an exact match:
//! `ERR-4021` is another error than `ERR-4012`, and only the text shows where an identifier ends,
//! because the index splits both into their parts.

use crate::analysis::fold::{fold, fold_width, is_unspaced, is_word_character};
use crate::dates;

use super::Phrase;

/// The maximum number of identifiers of a query; further ones are ordinary words.
pub const IDENTIFIERS_MAX: usize = 8;

/// The minimum digits of a number that is an identifier by itself; a quantity or a year has fewer.
const NUMBER_DIGITS_MIN: usize = 6;
/// The minimum digits of a hyphenated number that is an identifier (a telephone number or an ISBN).
const HYPHENATED_DIGITS_MIN: usize = 7;
/// The minimum characters of a hexadecimal hash, in the short form of programs.
const HASH_CHARACTERS_MIN: usize = 7;
/// The number of path components from which a path is an identifier without further evidence; fewer
/// may be alternatives (`red/green/blue`).
const PATH_NAMES_MIN: usize = 4;
/// Signs that join the parts of one identifier; any other sign ends it.
const JOINING_SIGNS: [char; 8] = ['_', '-', '.', '/', '\\', ':', '+', '@'];

/// An identifier that a query names.
///
/// ```
/// use loci_text::query::Query;
///
/// let query = Query::parse("who saw ERR-4021?", jiff::civil::date(2026, 1, 1));
/// assert!(query.identifiers[0].is_in("Again err-4021: the disk was full"));
/// assert!(!query.identifiers[0].is_in("ERR-40211 is another one, and so is PRE-ERR-4021"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identifier {
    /// Folded; a version without its `v`.
    text: String,
    phrase: Phrase,
}

impl Identifier {
    fn of(text: &str) -> Option<Identifier> {
        let folded = fold(text);
        let text = folded
            .strip_prefix('v')
            .filter(|rest| is_version(rest))
            .unwrap_or(&folded);
        let phrase = Phrase::of(text)?;
        Some(Identifier {
            text: text.to_owned(),
            phrase,
        })
    }

    /// Returns the terms that every passage with the identifier has.
    pub fn terms(&self) -> &[String] {
        self.phrase.terms()
    }

    /// True if the identifier is in the content by itself, character by character: not as the
    /// beginning, the end or the middle of a longer one. Case, width, diacritics and the `v` of a
    /// version are ignored.
    pub fn is_in(&self, content: &str) -> bool {
        let content = fold(&fold_width(content));
        let mut places = content.match_indices(&self.text);
        places.any(|(at, found)| {
            self.begins_after(&content[..at]) && self.ends_before(&content[at + found.len()..])
        })
    }

    fn begins_after(&self, before: &str) -> bool {
        let before = match before.strip_suffix('v') {
            Some(rest) if is_version(&self.text) => rest,
            _ => before,
        };
        // `user.get_name` contains the identifier `get_name`.
        let is_name = !self.text.contains(['.', '/', '\\'])
            && !self.text.starts_with(|first: char| first.is_ascii_digit());
        is_name && before.ends_with('.') || !self.goes_on(before.chars().rev())
    }

    fn ends_before(&self, after: &str) -> bool {
        !self.goes_on(after.chars())
    }

    /// True if these characters, the nearest first, extend the identifier.
    fn goes_on(&self, mut characters: impl Iterator<Item = char>) -> bool {
        characters.next().is_some_and(|sign| {
            is_part(sign) || self.joins(sign) && characters.next().is_some_and(is_part)
        })
    }

    /// True if the sign between this and another character joins both to a longer identifier.
    fn joins(&self, sign: char) -> bool {
        match sign {
            '-' | '.' | '+' => true,
            // Between digits, as in a number.
            ',' => self
                .text
                .contains(|character: char| character.is_ascii_digit()),
            '/' | '\\' | ':' | '@' => self.text.contains(sign),
            _ => false,
        }
    }
}

/// True if the character belongs to the word next to it.
fn is_part(character: char) -> bool {
    character == '_' || is_word_character(character) && !is_unspaced(character)
}

/// True for digits with dots between them.
fn is_version(text: &str) -> bool {
    text.contains('.')
        && text
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns the distinct identifiers of a width-folded query, at most [`IDENTIFIERS_MAX`].
pub(super) fn identifiers(query: &str) -> Vec<Identifier> {
    let mut found: Vec<Identifier> = Vec::new();
    // The only word of a query may be an identifier in a less distinctive form.
    let is_alone = query.split_whitespace().nth(1).is_none();
    for chunk in query.split_whitespace() {
        each_identifier(chunk, is_alone, &mut |text| {
            if found.len() < IDENTIFIERS_MAX
                && let Some(identifier) = Identifier::of(text)
                && !found.contains(&identifier)
            {
                found.push(identifier);
            }
        });
    }
    found
}

/// Calls `emit` with each identifier in a chunk without white space.
fn each_identifier(chunk: &str, is_alone: bool, emit: &mut impl FnMut(&str)) {
    if let Some(at) = chunk.find("://") {
        let scheme = chunk[..at].trim_start_matches(|sign: char| !sign.is_ascii_alphanumeric());
        let address = &chunk[at - scheme.len()..];
        let address = &address[..address
            .find(['"', '<', '>', '`', ')', ']', '}'])
            .unwrap_or(address.len())];
        return emit(
            address.trim_end_matches(|sign: char| !is_word_character(sign) && sign != '/'),
        );
    }
    let is_inner = |character: char| is_part(character) || JOINING_SIGNS.contains(&character);
    let mut rest = chunk;
    while let Some(start) = rest.find(is_inner) {
        let length = rest[start..]
            .find(|character| !is_inner(character))
            .unwrap_or(rest.len() - start);
        let (before, piece, after) = (
            &rest[..start],
            &rest[start..start + length],
            &rest[start + length..],
        );
        let is_marked = before.ends_with('`') && after.starts_with('`') || after.starts_with("()");
        let is_number_of = before.ends_with('#')
            && piece.len() > 1
            && piece.bytes().all(|byte| byte.is_ascii_digit());
        if is_marked || is_number_of {
            emit(trimmed(piece));
        } else {
            of_piece(piece, is_alone && before.len() + after.len() <= 2, emit);
        }
        rest = after;
    }
}

/// Removes the surrounding signs that belong to the sentence.
fn trimmed(piece: &str) -> &str {
    let piece = piece.trim_end_matches(|sign: char| !is_part(sign));
    let begins = |sign: &str| {
        piece
            .strip_prefix(sign)
            .is_some_and(|rest| rest.starts_with(is_part))
    };
    if begins("--") || begins("/") {
        piece
    } else {
        piece.trim_start_matches(|sign: char| !is_part(sign))
    }
}

/// Emits the piece if it is an identifier; else its stretches between slashes and colons, as far as
/// these are. The label of an identifier (`sha256:7f3a9c1e`) is not a part.
fn of_piece(piece: &str, is_alone: bool, emit: &mut impl FnMut(&str)) {
    let piece = trimmed(piece);
    if is_identifier(piece) || is_alone && may_be_identifier(piece) {
        return emit(piece);
    }
    if let Some((label, value)) = piece.split_once(':')
        && label.chars().all(char::is_alphanumeric)
        && is_identifier(trimmed(value))
    {
        return emit(trimmed(value));
    }
    if let Some(sign) = [':', '/', '\\']
        .into_iter()
        .find(|sign| piece.contains(*sign))
    {
        piece
            .split(sign)
            .for_each(|stretch| of_piece(stretch, false, emit));
    }
}

/// True if a query of only this word asks for exactly this: it is not an ordinary word.
fn may_be_identifier(piece: &str) -> bool {
    piece.contains(|character: char| {
        character.is_ascii_digit() || JOINING_SIGNS.contains(&character)
    }) || humps(piece) > 0
}

fn is_identifier(piece: &str) -> bool {
    if dates::iso_date(piece).is_some()
        || dates::full_dates(piece)
            .iter()
            .any(|(range, _)| range.len() == piece.len())
    {
        return false;
    }
    let has = |accepts: fn(&char) -> bool| piece.chars().any(|character| accepts(&character));
    let has_digit = has(char::is_ascii_digit);
    let has_letter = has(|character| character.is_alphabetic());
    let is_email = piece
        .split_once('@')
        .is_some_and(|(user, host)| !user.is_empty() && host.contains('.'));
    let is_snake = piece.split('_').filter(|part| !part.is_empty()).count() > 1;
    let is_camel = humps(piece) > 1
        || humps(piece) > 0 && piece.starts_with(|first: char| first.is_lowercase());
    is_email
        || is_snake && has_letter
        || piece.contains("::")
        || piece.starts_with("--")
        || is_path(piece)
        || !piece.contains(['/', '\\', ':'])
            && match (has_letter, has_digit) {
                (true, true) => !is_number_with_words(piece),
                (false, true) => is_number(piece),
                (true, false) => is_camel || is_dotted(piece),
                (false, false) => false,
            }
}

/// Counts the changes from lower to upper case before lower case (`getUser`), after at least two
/// letters (not `iPhone`).
fn humps(piece: &str) -> usize {
    let characters: Vec<char> = piece.chars().collect();
    let is_hump = |four: &&[char]| {
        four[0].is_alphabetic()
            && four[1].is_lowercase()
            && four[2].is_uppercase()
            && four[3].is_lowercase()
    };
    characters.windows(4).filter(is_hump).count()
}

/// True for a path, but not for alternatives (`and/or`) and dates.
fn is_path(piece: &str) -> bool {
    let names: Vec<&str> = piece
        .split(['/', '\\'])
        .filter(|name| name.contains(is_part))
        .collect();
    let is_plain = |name: &&str| name.bytes().all(|byte| byte.is_ascii_digit());
    let ends = names.last().is_some_and(|name| is_dotted(name));
    let begins = piece.starts_with(['/', '.']);
    names.len() > 1
        && !piece.contains(':')
        && !names.iter().all(is_plain)
        && (begins || ends || piece.contains('\\') || names.len() >= PATH_NAMES_MIN)
}

/// True for names with dots between them (`main.rs`), but not for abbreviations (`e.g`) and the
/// ends of sentences.
fn is_dotted(piece: &str) -> bool {
    let mut parts = piece.split('.');
    let is_name =
        |part: &str| part.chars().nth(1).is_some() && part.chars().any(char::is_alphabetic);
    let ends_sentence = piece.starts_with(|first: char| first.is_lowercase())
        && piece
            .rsplit('.')
            .next()
            .is_some_and(|last| last.starts_with(char::is_uppercase));
    piece.contains('.') && parts.all(is_name) && !ends_sentence
}

/// True for a number with its unit or in words (`10am`, `5-year-old`, `mid-2023`, `top-10`), but
/// not for codes and hashes.
fn is_number_with_words(piece: &str) -> bool {
    let is_hash =
        piece.len() >= HASH_CHARACTERS_MIN && piece.bytes().all(|byte| byte.is_ascii_hexdigit());
    let after_number = piece.trim_start_matches(|character: char| {
        character.is_ascii_digit() || matches!(character, '.' | '-')
    });
    let is_with_unit = after_number.len() < piece.len()
        && after_number
            .chars()
            .all(|character| character.is_alphabetic() || matches!(character, '-' | '.'));
    let is_in_words = piece.rsplit_once('-').is_some_and(|(words, number)| {
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        let is_year = number.len() == 4 && (number.starts_with("19") || number.starts_with("20"));
        let is_written = words
            .chars()
            .skip(1)
            .all(|character| character.is_lowercase() || character == '-');
        let is_small = number.len() <= 2 && words.starts_with(|first: char| first.is_lowercase());
        is_number && is_written && (is_year || is_small)
    });
    !is_hash && (is_with_unit || is_in_words)
}

/// True for digits that are not a quantity: long numbers, versions and addresses of three parts,
/// telephone numbers.
fn is_number(piece: &str) -> bool {
    let digits = piece.bytes().filter(u8::is_ascii_digit).count();
    let is_range_of_years = piece.len() == 9 && piece.split('-').all(|year| year.len() == 4);
    match (piece.contains('.'), piece.contains('-')) {
        (true, false) => is_version(piece) && piece.split('.').count() > 2,
        (false, true) => digits >= HYPHENATED_DIGITS_MIN && !is_range_of_years,
        (false, false) => digits >= NUMBER_DIGITS_MIN && digits == piece.len(),
        (true, true) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(query: &str) -> Vec<String> {
        identifiers(query)
            .into_iter()
            .map(|identifier| identifier.text)
            .collect()
    }

    #[test]
    fn identifiers_are_told_from_words_quantities_and_dates() {
        let rows: &[(&str, &[&str])] = &[
            ("what is ERR-4021?", &["err-4021"]),
            ("did v2.3.1 or 10.4.2 break it", &["2.3.1", "10.4.2"]),
            (
                "see (JIRA-1234), JIRA-1234 and sha256:7f3a9c1e.",
                &["jira-1234", "7f3a9c1e"],
            ),
            (
                "who wrote src/main.rs:42, /etc/hosts and C:\\Temp\\a.txt",
                &["src/main.rs", "/etc/hosts", "temp\\a.txt"],
            ),
            (
                "std::fs::read_to_string fails",
                &["std::fs::read_to_string"],
            ),
            (
                "does getUserName() call parse() of NullPointerException",
                &["getusername", "parse", "nullpointerexception"],
            ),
            (
                "order 48213377 of user@example.org",
                &["48213377", "user@example.org"],
            ),
            (
                "get https://example.org/a?b=c, then",
                &["https://example.org/a?b=c"],
            ),
            (
                "use `retry` with --no-verify and MAX_SIZE",
                &["retry", "--no-verify", "max_size"],
            ),
            (
                "3f2a9c1e-4b5d-6e7f-8a9b-0c1d2e3f4a5b",
                &["3f2a9c1e-4b5d-6e7f-8a9b-0c1d2e3f4a5b"],
            ),
            ("错误ERR-4021发生", &["err-4021"]),
            ("PR #4021", &["4021"]),
            ("code=E11000", &["e11000"]),
            // A single word is searched exactly, unless it is an ordinary word.
            ("Jean-Luc", &["jean-luc"]),
            ("4021", &["4021"]),
            ("harbour", &[]),
            (
                "he said and/or she, e.g. at 10:30 in the U.S. or 5/7/2023",
                &[],
            ),
            (
                "on 2023-05-08 at 10am, mid-2023, in May-2023, 2019-2020, a 5-year-old",
                &[],
            ),
            ("my top-10, the 3rd, 1,000,000 of 12.5 in the 1990s", &[]),
            ("iPhone, GitHub and well-known it's", &[]),
            ("it ended.Then began", &[]),
        ];
        for (query, expected) in rows {
            assert_eq!(found(query), *expected, "{query}");
        }
        let many: Vec<String> = (1000..1100).map(|number| format!("ERR-{number}")).collect();
        assert_eq!(found(&many.join(" ")).len(), IDENTIFIERS_MAX);
    }

    #[test]
    fn an_identifier_stands_by_itself() {
        let rows = [
            ("ERR-4021", "err-4021.", true),
            ("ERR-4021", "code=ERR-4021:timeout", true),
            ("ERR-4021", "ERR-4021/ERR-4022", true),
            ("ERR-4021", "错误ERR-4021发生", true),
            ("ERR-4021", "ＥＲＲ-4021", true),
            ("ERR-4021", "ERR-40211", false),
            ("ERR-4021", "ERR-4021-b", false),
            ("ERR-4021", "XERR-4021", false),
            ("ERR-4021", "ERR 4021", false),
            ("ERR-4021", "ERR-40211, then ERR-4021", true),
            ("v2.3.1", "2.3.1 and later", true),
            ("v2.3.1", "v2.3.1", true),
            ("v2.3.1", "v2.3.10", false),
            ("v2.3.1", "2.3.1.4", false),
            ("v2.3.1", "12.3.1", false),
            ("v2.3.1", "1.2.3.1", false),
            ("v2.3.1", "2.3.1-rc1", false),
            ("src/main.rs", "src/main.rs:12", true),
            ("src/main.rs", "crates/src/main.rs", false),
            ("src/main.rs", "src/main.rs.bak", false),
            ("get_name", "user.get_name()", true),
            ("get_name", "get_names", false),
            ("get_name", "forget_name", false),
            ("read_name", "a_read_name", false),
        ];
        for (query, content, expected) in rows {
            let identifiers = identifiers(query);
            assert_eq!(identifiers.len(), 1, "{query}");
            assert_eq!(
                identifiers[0].is_in(content),
                expected,
                "{query} in {content}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn where_an_identifier_stands_its_terms_are(
            before in "([a-zA-Z0-9',._/: -]|\\PC){0,6}",
            query in "[a-zA-Z0-9]{1,4}[a-zA-Z0-9._:/@-]{0,12}",
            after in "([a-zA-Z0-9',._/: -]|\\PC){0,6}",
        ) {
            let content = format!("{before}{query}{after}");
            let indexed = crate::analysis::term_counts([content.as_str()]);
            for identifier in identifiers(&query) {
                if identifier.is_in(&content) {
                    for term in identifier.terms() {
                        proptest::prop_assert!(indexed.iter().any(|(found, _)| found == term), "{:?} of {:?} in {:?}: {:?}", term, query, content, indexed);
                    }
                }
            }
        }
    }
}
