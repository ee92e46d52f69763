//! Finds keys, tokens and passwords in a text and removes them.
//!
//! A mark with the kind replaces each secret, e.g. `[redacted: github-token]`. Text between
//! `<private>` and `</private>` is removed as a whole.
//!
//! ```
//! let key = format!("ghp_{}", "9aZ3".repeat(9));
//! let redacted = loci_secrets::redact("see README");
//! assert!(redacted.removed.is_empty());
//! let text = format!("token {key}, <private>between us</private> done");
//! let redacted = loci_secrets::redact(&text);
//! assert_eq!(redacted.text, "token [redacted: github-token],  done");
//! assert_eq!(redacted.found().to_string(), "github-token 1, private 1");
//! ```

#[macro_use]
mod tables;

mod alphabet;
mod announcement;
mod assignment;
mod code;
mod columns;
mod cookies;
mod default_value;
mod escapes;
mod fields;
mod finder;
mod forms;
mod languages;
mod lines;
mod names;
mod options;
mod own;
mod passwords;
mod patterns;
mod positions;
mod private;
mod random;
mod sentence;
mod special;
mod value;
mod value_position;
mod work;

use std::borrow::Cow;
use std::ops::Range;

use loci_core::{RedactedText, Redactor, RemovedSecret};

use finder::Finder;

pub use own::{TOKEN_BYTES, is_own_token, own_token};

/// The kind of text that a person marked as private.
pub const PRIVATE: &str = "private";
/// Maximum passes over a text: removing one secret can join the parts of another.
const PASSES_MAX: usize = 8;
/// Bytes of a secret or a value that are rated.
const JUDGED_MAX: usize = 512;

/// Redacts texts by [`redact`] and [`redact_file`].
#[derive(Debug, Clone, Copy, Default)]
pub struct SecretRedactor;

impl Redactor for SecretRedactor {
    fn redact<'a>(&self, text: &'a str) -> RedactedText<'a> {
        redact(text)
    }

    fn redact_file<'a>(&self, text: &'a str) -> RedactedText<'a> {
        redact_file(text)
    }
}

/// The marks of private text to apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PrivateMarks {
    /// All marks. Without an end mark, the private text ends with its paragraph, or with its line
    /// if no empty line follows.
    All,
    /// Marks with an end mark, outside of backticks.
    Closed,
}

/// Returns the text without its secrets: a mark with the kind replaces each secret, and private
/// text is removed. Without an end mark, the text after `<private>` is private to the end of its
/// paragraph, or of its line if no empty line follows. Redaction is idempotent. The first call
/// builds the tables, which takes some milliseconds.
pub fn redact(text: &str) -> RedactedText<'_> {
    redact_with(text, PrivateMarks::All)
}

/// Redacts a file of a project, which may be about such marks: removes only private text between
/// two marks outside of backticks.
pub fn redact_file(text: &str) -> RedactedText<'_> {
    redact_with(text, PrivateMarks::Closed)
}

fn redact_with(text: &str, marks: PrivateMarks) -> RedactedText<'_> {
    let finder = Finder::get();
    let mut redacted = RedactedText::unchanged(text);
    for pass in 0..PASSES_MAX {
        let cuts = finder.cuts(&redacted.text, marks, pass + 1 == PASSES_MAX);
        if cuts.is_empty() {
            break;
        }
        apply(&mut redacted, &cuts);
    }
    redacted
}

/// The range of a secret, and its kind.
type SecretMatch = (Range<usize>, &'static str);

/// A range of the text to remove.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RemovedRange {
    range: Range<usize>,
    kind: &'static str,
    /// True if the secret itself determines the kind, not the name of its assignment.
    is_certain: bool,
}

/// Removes ranges, which must be sorted and disjoint.
fn apply(redacted: &mut RedactedText<'_>, cuts: &[RemovedRange]) {
    let text = &redacted.text;
    let mut left = String::with_capacity(text.len());
    let mut removed = Vec::with_capacity(redacted.removed.len() + cuts.len());
    let mut before = redacted.removed.iter().copied().peekable();
    let mut end = 0;
    for RemovedRange { range, kind, .. } in cuts {
        while let Some(earlier) = before.next_if(|earlier| earlier.at < range.start) {
            removed.push(RemovedSecret {
                at: earlier.at - end + left.len(),
                ..earlier
            });
        }
        left.push_str(&text[end..range.start]);
        if *kind != PRIVATE {
            left.push_str("[redacted: ");
            left.push_str(kind);
            left.push(']');
        }
        let at = left.len();
        let lines = text[range.clone()]
            .bytes()
            .filter(|byte| *byte == b'\n')
            .count();
        // Secrets that an earlier pass removed within this range.
        while let Some(earlier) = before.next_if(|earlier| earlier.at <= range.end) {
            removed.push(RemovedSecret { at, ..earlier });
        }
        removed.push(RemovedSecret { at, kind, lines });
        end = range.end;
    }
    removed.extend(before.map(|earlier| RemovedSecret {
        at: earlier.at - end + left.len(),
        ..earlier
    }));
    left.push_str(&text[end..]);
    redacted.text = Cow::Owned(left);
    redacted.removed = removed;
}

/// Sorts the cuts and merges overlapping ones.
fn joined(mut cuts: Vec<RemovedRange>) -> Vec<RemovedRange> {
    cuts.sort_by_key(|cut| (cut.range.start, !cut.is_certain));
    let mut joined: Vec<RemovedRange> = Vec::with_capacity(cuts.len());
    for cut in cuts {
        match joined
            .last_mut()
            .filter(|last| cut.range.start < last.range.end)
        {
            Some(last) => {
                if cut.is_certain && !last.is_certain {
                    (last.kind, last.is_certain) = (cut.kind, true);
                }
                last.range.end = last.range.end.max(cut.range.end);
            }
            None => joined.push(cut),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_private_is_dropped() {
        for (text, left, found) in [
            ("a <private>b</private> c", "a  c", "private 1"),
            ("a <PRIVATE>b\nc</Private>d", "a d", "private 1"),
            ("a <private>b", "a ", "private 1"),
            ("a <private>b\nc", "a \nc", "private 1"),
            ("a <private>b\nc\n\nd", "a \nd", "private 1"),
            ("x: <private>\ny: <private>\nz", "x: \ny: \nz", "private 2"),
            ("<private>a<private>b</private>c", "", "private 1"),
            (
                "<private>a<private>b</private>c</private>d",
                "d",
                "private 1",
            ),
            (
                "<pri<private>a</private>vate>b</private>c",
                "c",
                "private 2",
            ),
            ("</private> stays", "</private> stays", ""),
        ] {
            let redacted = redact(text);
            assert_eq!(
                (
                    redacted.text.as_ref(),
                    redacted.found().to_string().as_str()
                ),
                (left, found),
                "{text}"
            );
        }
    }

    #[test]
    fn in_files_only_pairs_of_marks_outside_of_backticks_count() {
        for (text, left) in [
            ("a <private>b</private> c", "a  c"),
            ("a: <private>\nb\n\nc", "a: <private>\nb\n\nc"),
            (
                "`<private>` and `</private>` mark it",
                "`<private>` and `</private>` mark it",
            ),
            (
                "```\n<private>a</private>\n```\n<private>b</private>",
                "```\n<private>a</private>\n```\n",
            ),
            ("a ` <private>b</private>", "a ` "),
            ("```\n<private>a</private>\n", "```\n\n"),
        ] {
            assert_eq!(redact_file(text).text, left, "{text}");
        }
    }

    /// Texts of prefixes of secrets, from each of which the text could be read to its end.
    #[test]
    fn a_text_of_twice_the_length_costs_twice_the_work() {
        for piece in [
            "-eyJ",
            "-eyJ.",
            "Xtoken9=",
            "token:",
            "password=a,",
            "{token:(",
            "-sk-proj-",
            "-sk-ant-",
            "ya29.todo.",
            "hvs.",
            "-glpat-todo.",
            "api_key=\"",
            "auth ",
            "MT",
            "://a:",
            "Bearer ",
            " -u ",
            "-----BEGIN PRIVATE KEY-----",
            "&sig=",
            "<private>",
            "`<private>` ",
            "loci_0123456789abcd\n",
            "name: password ",
            "value=a1 key=\"password\" ",
            "<password a=1 ",
            "`password` `",
            "**token**\n\n",
            "password | ",
            "9 as the password ",
            "echo a1 | password\n",
            "password={value:",
            "password=${a_:",
            "password=\u{201e}a1",
            "key #1 (a) ",
            "token. It's ",
            "JQQJ99",
            "+ASt",
            "access_token$a$",
        ] {
            let work = |bytes: usize| {
                let text: String = piece.chars().cycle().take(bytes).collect();
                work::count(|| {
                    drop((
                        Finder::get().cuts(&text, PrivateMarks::All, false),
                        redact_file(&text),
                    ));
                })
            };
            let (once, twice) = (work(32 << 10), work(64 << 10));
            assert!(twice <= once * 9 / 4, "{piece}: {once}, then {twice}");
            // Each byte is compared with all placeholders, and is in several values.
            assert!(twice < (64 << 10) * 1_000, "{piece}: {twice}");
        }
    }

    #[test]
    fn removed_lines_are_known() {
        let text = "1\n<private>2\n3</private>\n4\n<private>\n\n\n</private>8";
        let redacted = redact(text);
        assert_eq!(redacted.text, "1\n\n4\n8");
        let removed: Vec<_> = redacted
            .removed
            .iter()
            .map(|removed| (removed.at, removed.lines))
            .collect();
        assert_eq!(removed, [(2, 1), (5, 3)]);
        assert_eq!(
            [0, 2, 4, 5, 6].map(|at| redacted.lines_removed_until(at)),
            [0, 1, 1, 4, 4]
        );
    }

    #[test]
    fn the_kind_of_a_secret_is_the_one_that_it_says_itself() {
        let key = ["ghp", "_", &"9aZ3".repeat(9)].concat();
        let redacted = redact(&key);
        assert_eq!(redacted.text, "[redacted: github-token]");
        let assigned = format!("GITHUB_TOKEN={key}");
        assert_eq!(
            redact(&assigned).text,
            "GITHUB_TOKEN=[redacted: github-token]"
        );
        let url = format!("https://x:{key}@github.com/a/b");
        assert_eq!(redact(&url).found().total(), 1);
    }
}
