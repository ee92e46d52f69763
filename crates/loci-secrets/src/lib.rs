//! Finds keys, tokens and passwords in a text and removes them.
//!
//! A mark with the kind replaces each secret, such as `[redacted: github-token]`. Text between
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

mod assignment;
mod forms;
mod random;
mod special;
mod work;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use loci_core::{Redacted, Redactor, Removed};

use assignment::{NAME_PART_PASS, NAME_PARTS};
use forms::{FORMS, Form};
use special::Found;

/// The kind of text that a person marked as private.
pub const PRIVATE: &str = "private";
/// Maximum passes over a text: removing one secret can join the parts of another.
const PASSES_MAX: usize = 8;
/// Bytes of a secret that are read for its recognition.
const FORM_REACH_MAX: usize = 4096;
/// Bytes of a secret or a value that are rated.
const JUDGED_MAX: usize = 512;
/// Bytes before a secret that are used as its context.
const NEAR_MAX: usize = 64;
/// Prefixes of secrets from which the same bytes are read again.
const READINGS_MAX: usize = 8;

const PRIVATE_BEGIN: &str = "<private>";
const PRIVATE_END: &str = "</private>";

/// Redacts texts by [`redact`] and [`redact_file`].
#[derive(Debug, Clone, Copy, Default)]
pub struct SecretRedactor;

impl Redactor for SecretRedactor {
    fn redact<'a>(&self, text: &'a str) -> Redacted<'a> {
        redact(text)
    }

    fn redact_file<'a>(&self, text: &'a str) -> Redacted<'a> {
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
pub fn redact(text: &str) -> Redacted<'_> {
    redact_with(text, PrivateMarks::All)
}

/// Redacts a file of a project, which may be about such marks: removes only private text between
/// two marks outside of backticks.
pub fn redact_file(text: &str) -> Redacted<'_> {
    redact_with(text, PrivateMarks::Closed)
}

fn redact_with(text: &str, marks: PrivateMarks) -> Redacted<'_> {
    let finder = Finder::get();
    let mut redacted = Redacted::unchanged(text);
    for pass in 0..PASSES_MAX {
        let cuts = finder.cuts(&redacted.text, marks, pass + 1 == PASSES_MAX);
        if cuts.is_empty() {
            break;
        }
        apply(&mut redacted, &cuts);
    }
    redacted
}

/// A range of the text to remove.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cut {
    range: Range<usize>,
    kind: &'static str,
    /// True if the secret itself determines the kind, not the name of its assignment.
    is_certain: bool,
}

/// Removes ranges, which must be sorted and disjoint.
fn apply(redacted: &mut Redacted<'_>, cuts: &[Cut]) {
    let text = &redacted.text;
    let mut left = String::with_capacity(text.len());
    let mut removed = Vec::with_capacity(redacted.removed.len() + cuts.len());
    let mut before = redacted.removed.iter().copied().peekable();
    let mut end = 0;
    for Cut { range, kind, .. } in cuts {
        while let Some(earlier) = before.next_if(|earlier| earlier.at < range.start) {
            removed.push(Removed {
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
            removed.push(Removed { at, ..earlier });
        }
        removed.push(Removed { at, kind, lines });
        end = range.end;
    }
    removed.extend(before.map(|earlier| Removed {
        at: earlier.at - end + left.len(),
        ..earlier
    }));
    left.push_str(&text[end..]);
    redacted.text = Cow::Owned(left);
    redacted.removed = removed;
}

/// The rule for a match of one of the patterns.
#[derive(Debug, Clone, Copy)]
enum Trigger {
    Form(&'static Form),
    Name,
    NamePass,
    JsonWebToken,
    Private,
    /// A rule of [`special`]; an exact pattern must match with its case.
    Special {
        pattern: &'static str,
        is_exact: bool,
        find: fn(&str, Range<usize>) -> Option<Found>,
    },
}

/// Prefixes of Discord tokens: the first digits of user ids, in base64.
const DISCORD: [&str; 12] = [
    "MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT", "MD", "Mg", "NA",
];

fn specials() -> Vec<Trigger> {
    let exact = |pattern, find| Trigger::Special {
        pattern,
        is_exact: true,
        find,
    };
    let any_case = |pattern, find| Trigger::Special {
        pattern,
        is_exact: false,
        find,
    };
    let mut specials = vec![
        exact("-----BEGIN ", special::private_key),
        exact("://", special::url_password),
        exact(" -u ", special::flag_password),
        exact(" --user ", special::flag_password),
        any_case("bearer ", special::bearer),
        any_case("authorization: token ", special::bearer),
        any_case("basic ", special::basic),
        exact(":AA", special::telegram),
        exact("-us", special::mailchimp),
        exact("NRAL", special::new_relic),
        exact(".atlasv1.", special::terraform),
        exact("Q~", special::azure_secret),
        exact("sig=", special::azure_signature),
        exact("hooks.slack.com/", |text, hit| {
            special::webhook(text, hit, "slack-webhook")
        }),
        exact("discord.com/api/webhooks/", |text, hit| {
            special::webhook(text, hit, "discord-webhook")
        }),
        exact("discordapp.com/api/webhooks/", |text, hit| {
            special::webhook(text, hit, "discord-webhook")
        }),
    ];
    specials.extend(DISCORD.map(|pattern| exact(pattern, special::discord)));
    specials
}

/// Finds the candidates for secrets in a text.
struct Finder {
    patterns: AhoCorasick,
    /// The rules of the patterns, in their order.
    triggers: Vec<Trigger>,
}

impl Finder {
    fn get() -> &'static Finder {
        static FINDER: OnceLock<Finder> = OnceLock::new();
        FINDER.get_or_init(Finder::new)
    }

    fn new() -> Self {
        let mut rows: Vec<(&'static str, Trigger)> = vec![(PRIVATE_BEGIN, Trigger::Private)];
        rows.extend(FORMS.iter().map(|form| (form.prefix, Trigger::Form(form))));
        rows.extend(NAME_PARTS.map(|part| (part, Trigger::Name)));
        rows.push((NAME_PART_PASS, Trigger::NamePass));
        rows.push(("eyJ", Trigger::JsonWebToken));
        rows.extend(specials().into_iter().filter_map(|trigger| match trigger {
            Trigger::Special { pattern, .. } => Some((pattern, trigger)),
            _ => None,
        }));
        let patterns = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(rows.iter().map(|(pattern, _)| pattern));
        #[expect(clippy::expect_used, reason = "the patterns are constants, and few")]
        let patterns = patterns.expect("the patterns of secrets are too many");
        Finder {
            patterns,
            triggers: rows.into_iter().map(|(_, trigger)| trigger).collect(),
        }
    }

    /// Returns the ranges to remove from a text, in order. As long as the text has private text,
    /// returns only that.
    fn cuts(&self, text: &str, marks: PrivateMarks, is_last_pass: bool) -> Vec<Cut> {
        let mut cuts: Vec<Cut> = Vec::new();
        // The end of the known certain secrets; matches before it are skipped.
        let mut certain_end = 0;
        let mut is_private_known = false;
        let (mut forms, mut names, mut web_tokens) = (
            Readings::default(),
            Readings::default(),
            Readings::default(),
        );
        for hit in self.patterns.find_overlapping_iter(text) {
            let (range, trigger) = (
                hit.start()..hit.end(),
                self.triggers[hit.pattern().as_usize()],
            );
            if matches!(trigger, Trigger::Private) && !is_private_known {
                let cuts = private_cuts(text, marks, is_last_pass);
                if !cuts.is_empty() {
                    return cuts;
                }
                is_private_known = true;
            }
            if range.start < certain_end {
                continue;
            }
            let (found, is_certain) = match trigger {
                Trigger::Form(form) => (
                    forms.read(text, range, |text, hit| of_form(text, hit, form)),
                    true,
                ),
                Trigger::Special {
                    pattern,
                    is_exact,
                    find,
                } => {
                    let is_there = !is_exact || &text[range.clone()] == pattern;
                    (if is_there { find(text, range) } else { None }, true)
                }
                Trigger::JsonWebToken if &text[range.clone()] == "eyJ" => {
                    (web_tokens.read(text, range, special::json_web_token), true)
                }
                Trigger::NamePass => {
                    let is_name_end = text
                        .as_bytes()
                        .get(range.end)
                        .is_none_or(|next| !next.is_ascii_alphanumeric());
                    (
                        if is_name_end {
                            names.read(text, range, assignment::secret)
                        } else {
                            None
                        },
                        false,
                    )
                }
                Trigger::Name => (names.read(text, range, assignment::secret), false),
                Trigger::JsonWebToken | Trigger::Private => (None, true),
            };
            if let Some((range, kind)) = found {
                if is_certain {
                    certain_end = certain_end.max(range.end);
                }
                cuts.push(Cut {
                    range,
                    kind,
                    is_certain,
                });
            }
        }
        joined(cuts)
    }
}

/// Counts the reads of the same text for secrets of one kind. Without a limit, a text full of their
/// prefixes would be read to its end from each of them.
#[derive(Debug, Default)]
struct Readings {
    /// The end of the text that was read.
    end: usize,
    /// The number of prefixes from which it was read.
    count: usize,
}

impl Readings {
    /// Returns the secret that `find` recognizes at a match; `None` in text that was read
    /// [`READINGS_MAX`] times. `find` also returns the end of the text that it read.
    fn read(
        &mut self,
        text: &str,
        hit: Range<usize>,
        find: impl FnOnce(&str, Range<usize>) -> (Option<Found>, usize),
    ) -> Option<Found> {
        let is_within = hit.start < self.end;
        if is_within && self.count >= READINGS_MAX {
            return None;
        }
        let (found, end) = find(text, hit.clone());
        if end > hit.end {
            self.count = if is_within { self.count + 1 } else { 1 };
            self.end = self.end.max(end);
        }
        found
    }
}

/// Sorts the cuts and merges overlapping ones.
fn joined(mut cuts: Vec<Cut>) -> Vec<Cut> {
    cuts.sort_by_key(|cut| (cut.range.start, !cut.is_certain));
    let mut joined: Vec<Cut> = Vec::with_capacity(cuts.len());
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

/// Returns the secret of this form at the match of its prefix, and the end of the text that was
/// read.
fn of_form(text: &str, hit: Range<usize>, form: &Form) -> (Option<Found>, usize) {
    let bytes = text.as_bytes();
    if &text[hit.clone()] != form.prefix || !is_boundary(bytes, hit.start) {
        return (None, 0);
    }
    let is_of = |byte: &&u8| form.alphabet.has(**byte);
    let reach_max = form.max.saturating_add(1).min(FORM_REACH_MAX);
    let reach = &bytes[hit.end..bytes.len().min(hit.end + reach_max)];
    let read = reach.iter().take_while(is_of).count();
    work::read(read);
    // A full stop ends a sentence, not a secret.
    let length = reach[..read]
        .iter()
        .rposition(|byte| *byte != b'.')
        .map_or(0, |last| last + 1);
    let ends = bytes
        .get(hit.end + length)
        .is_none_or(|next| !next.is_ascii_alphanumeric());
    let secret = || {
        if length < form.min || length > form.max || !(ends || length == FORM_REACH_MAX) {
            return None;
        }
        let tail = &text[hit.end..hit.end + length];
        let judged = &tail[..tail.len().min(JUDGED_MAX)];
        if random::is_placeholder(judged) || (form.is_common() && !random::is_random(judged)) {
            return None;
        }
        // Names of caches end with a hash after `key-`.
        let before = &bytes[hit.start.saturating_sub(NEAR_MAX)..hit.start];
        let is_cache = before
            .windows(5)
            .any(|word| word.eq_ignore_ascii_case(b"cache"));
        if form.prefix == "key-" && (before.ends_with(b"-") || is_cache) {
            return None;
        }
        // The rest of a secret that exceeds the maximum.
        let rest = if length == FORM_REACH_MAX {
            bytes[hit.end + length..].iter().take_while(is_of).count()
        } else {
            0
        };
        Some((hit.start..hit.end + length + rest, form.kind))
    };
    (secret(), hit.end + read)
}

/// Returns true if a word can begin here: not within another, but after an escape such as `\n` or
/// `%20`.
fn is_boundary(bytes: &[u8], at: usize) -> bool {
    let before = |distance: usize| at.checked_sub(distance).map(|place| bytes[place]);
    let Some(last) = before(1) else { return true };
    if !last.is_ascii_alphanumeric() && !matches!(last, b'+') {
        return true;
    }
    (before(2) == Some(b'\\') && matches!(last, b'n' | b'r' | b't'))
        || (before(3) == Some(b'%')
            && last.is_ascii_hexdigit()
            && before(2).is_some_and(|byte| byte.is_ascii_hexdigit()))
}

/// Returns the cuts of private text by the rules of [`PrivateMarks`]; in the last pass, one cut
/// from the first of them to the end.
fn private_cuts(text: &str, marks: PrivateMarks, is_last_pass: bool) -> Vec<Cut> {
    let lower = text.to_ascii_lowercase();
    let in_code = if marks == PrivateMarks::Closed {
        code_spans(text)
    } else {
        Vec::new()
    };
    let is_in_code = |at: usize| {
        let following = in_code.partition_point(|span| span.start <= at);
        following > 0 && in_code[following - 1].contains(&at)
    };
    // The marks without an end so far, and the cuts; nested ones are merged.
    let (mut open, mut cuts): (Vec<usize>, Vec<Cut>) = (Vec::new(), Vec::new());
    let cut = |range: Range<usize>| Cut {
        range,
        kind: PRIVATE,
        is_certain: true,
    };
    for (at, _) in lower.match_indices('<') {
        let rest = &lower[at..];
        let (is_begin, is_end) = (
            rest.starts_with(PRIVATE_BEGIN),
            rest.starts_with(PRIVATE_END),
        );
        if !(is_begin || is_end) || is_in_code(at) {
            continue;
        }
        if is_begin {
            open.push(at);
        } else if let Some(start) = open.pop() {
            cuts.push(cut(start..at + PRIVATE_END.len()));
        }
    }
    if marks == PrivateMarks::All && !open.is_empty() {
        let last_empty_line = last_empty_line(text);
        let mut end = 0;
        for start in open {
            if start >= end {
                end = unclosed_end(text, start, last_empty_line);
            }
            cuts.push(cut(start..end));
        }
    }
    let mut cuts = joined(cuts);
    if is_last_pass && let Some(first) = cuts.first_mut() {
        first.range.end = text.len();
        cuts.truncate(1);
    }
    cuts
}

/// Returns the start of the last empty line.
fn last_empty_line(text: &str) -> Option<usize> {
    let mut end = text.len();
    text.split_inclusive('\n').rev().find_map(|line| {
        end -= line.len();
        line.trim().is_empty().then_some(end)
    })
}

/// Returns the end of private text without an end mark: that of its paragraph, or of its line if no
/// empty line follows.
fn unclosed_end(text: &str, start: usize, last_empty_line: Option<usize>) -> usize {
    let rest = &text[start..];
    let has_paragraph_end = last_empty_line.is_some_and(|line| line > start);
    let mut end = start;
    for line in rest.split_inclusive('\n') {
        if !has_paragraph_end {
            return start + line.trim_end_matches(['\n', '\r']).len();
        }
        if end > start && line.trim().is_empty() {
            break;
        }
        end += line.len();
    }
    end
}

/// Returns the spans of a text between backticks, in order: within a line, and whole lines between
/// two fences of three backticks.
fn code_spans(text: &str) -> Vec<Range<usize>> {
    let (mut spans, mut fence, mut at) = (Vec::new(), None, 0);
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            match fence.take() {
                Some(start) => spans.push(start..at),
                None => fence = Some(at),
            }
        } else {
            let mut ticks = line.match_indices('`').map(|(tick, _)| at + tick);
            while let (Some(start), Some(end)) = (ticks.next(), ticks.next()) {
                spans.push(start..end);
            }
        }
        at += line.len();
    }
    spans.sort_by_key(|span: &Range<usize>| span.start);
    spans.dedup_by(|next, span| {
        let is_within = next.start < span.end;
        span.end = if is_within {
            span.end.max(next.end)
        } else {
            span.end
        };
        is_within
    });
    spans
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
