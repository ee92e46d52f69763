//! Finds keys, tokens and passwords in a text and takes them out.
//!
//! A secret becomes a mark that says what it was, such as `[redacted: github-token]`. What stands between `<private>`
//! and `</private>` is dropped whole.
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

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use loci_core::{Redacted, Redactor, Removed};

use assignment::{NAME_PART_PASS, NAME_PARTS};
use forms::{FORMS, Form};
use special::Found;

/// The kind of what a person marked as private.
pub const PRIVATE: &str = "private";
/// Passes over a text: what is taken out may bring together what makes a secret.
const PASSES_MAX: usize = 8;
/// Bytes of a secret that are looked at before it is taken for one.
const FORM_REACH_MAX: usize = 4096;

const PRIVATE_BEGIN: &str = "<private>";
const PRIVATE_END: &str = "</private>";

/// Finds secrets as [`redact`] does.
#[derive(Debug, Clone, Copy, Default)]
pub struct SecretRedactor;

impl Redactor for SecretRedactor {
    fn redact<'a>(&self, text: &'a str) -> Redacted<'a> {
        redact(text)
    }
}

/// The text without its secrets: each is replaced by a mark with its kind, what is marked as private is dropped.
/// Redacting what this returns changes nothing. The first call builds the tables, which takes some milliseconds.
pub fn redact(text: &str) -> Redacted<'_> {
    let finder = Finder::get();
    let mut redacted = Redacted::unchanged(text);
    for pass in 0..PASSES_MAX {
        let cuts = finder.cuts(&redacted.text, pass + 1 == PASSES_MAX);
        if cuts.is_empty() {
            break;
        }
        apply(&mut redacted, &cuts);
    }
    redacted
}

/// A piece of a text that is taken out.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cut {
    range: Range<usize>,
    kind: &'static str,
    /// Whether the kind is known by the secret itself and not by the name that it is assigned to.
    is_certain: bool,
}

/// Takes pieces out, which stand in their order and apart from each other.
fn apply(redacted: &mut Redacted<'_>, cuts: &[Cut]) {
    let text = &redacted.text;
    let mut left = String::with_capacity(text.len());
    let mut removed = Vec::with_capacity(redacted.removed.len() + cuts.len());
    let mut before = redacted.removed.iter().copied().peekable();
    let mut end = 0;
    for Cut { range, kind, .. } in cuts {
        while let Some(earlier) = before.next_if(|earlier| earlier.at < range.start) {
            removed.push(Removed { at: earlier.at - end + left.len(), ..earlier });
        }
        left.push_str(&text[end..range.start]);
        if *kind != PRIVATE {
            left.push_str("[redacted: ");
            left.push_str(kind);
            left.push(']');
        }
        let at = left.len();
        let lines = text[range.clone()].bytes().filter(|byte| *byte == b'\n').count();
        // Secrets that were taken out within this piece before.
        while let Some(earlier) = before.next_if(|earlier| earlier.at <= range.end) {
            removed.push(Removed { at, ..earlier });
        }
        removed.push(Removed { at, kind, lines });
        end = range.end;
    }
    removed.extend(before.map(|earlier| Removed { at: earlier.at - end + left.len(), ..earlier }));
    left.push_str(&text[end..]);
    redacted.text = Cow::Owned(left);
    redacted.removed = removed;
}

/// The rule for the place where one of the patterns stands.
#[derive(Debug, Clone, Copy)]
enum Trigger {
    Form(&'static Form),
    Name,
    NamePass,
    Private,
    /// A form that [`special`] knows; the pattern has to stand exactly so, if it is case-sensitive.
    Special {
        pattern: &'static str,
        is_exact: bool,
        find: fn(&str, Range<usize>) -> Option<Found>,
    },
}

/// Beginnings of tokens of Discord: the digits that numbers of users begin with, in base64.
const DISCORD: [&str; 12] = ["MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT", "MD", "Mg", "NA"];

fn specials() -> Vec<Trigger> {
    let exact = |pattern, find| Trigger::Special { pattern, is_exact: true, find };
    let any_case = |pattern, find| Trigger::Special { pattern, is_exact: false, find };
    let mut specials = vec![
        exact("-----BEGIN ", special::private_key),
        exact("eyJ", special::json_web_token),
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
        exact("hooks.slack.com/", |text, hit| special::webhook(text, hit, "slack-webhook")),
        exact("discord.com/api/webhooks/", |text, hit| special::webhook(text, hit, "discord-webhook")),
        exact("discordapp.com/api/webhooks/", |text, hit| special::webhook(text, hit, "discord-webhook")),
    ];
    specials.extend(DISCORD.map(|pattern| exact(pattern, special::discord)));
    specials
}

/// Finds the places in a text where a secret may be.
struct Finder {
    patterns: AhoCorasick,
    /// For each pattern, in their order.
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
        Finder { patterns, triggers: rows.into_iter().map(|(_, trigger)| trigger).collect() }
    }

    /// The pieces to take out of a text, in order. As long as something is marked as private, only that.
    fn cuts(&self, text: &str, is_last_pass: bool) -> Vec<Cut> {
        let mut cuts: Vec<Cut> = Vec::new();
        // Up to where a secret is known that nothing within has to be looked for in.
        let mut certain_end = 0;
        for hit in self.patterns.find_overlapping_iter(text) {
            let (range, trigger) = (hit.start()..hit.end(), self.triggers[hit.pattern().as_usize()]);
            if matches!(trigger, Trigger::Private) {
                return private_cuts(text, is_last_pass);
            }
            if range.start < certain_end {
                continue;
            }
            let (found, is_certain) = match trigger {
                Trigger::Form(form) => (of_form(text, range, form), true),
                Trigger::Special { pattern, is_exact, find } => {
                    let is_there = !is_exact || &text[range.clone()] == pattern;
                    (if is_there { find(text, range) } else { None }, true)
                }
                Trigger::NamePass => {
                    let is_name_end = text.as_bytes().get(range.end).is_none_or(|next| !next.is_ascii_alphanumeric());
                    (if is_name_end { assignment::secret(text, range) } else { None }, false)
                }
                Trigger::Name => (assignment::secret(text, range), false),
                Trigger::Private => (None, true),
            };
            if let Some((range, kind)) = found {
                if is_certain {
                    certain_end = certain_end.max(range.end);
                }
                cuts.push(Cut { range, kind, is_certain });
            }
        }
        joined(cuts)
    }
}

/// The cuts in their order; those that overlap as one.
fn joined(mut cuts: Vec<Cut>) -> Vec<Cut> {
    cuts.sort_by_key(|cut| (cut.range.start, !cut.is_certain));
    let mut joined: Vec<Cut> = Vec::with_capacity(cuts.len());
    for cut in cuts {
        match joined.last_mut().filter(|last| cut.range.start < last.range.end) {
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

/// The secret of this form whose beginning is there.
fn of_form(text: &str, hit: Range<usize>, form: &Form) -> Option<Found> {
    let bytes = text.as_bytes();
    if &text[hit.clone()] != form.prefix || !is_boundary(bytes, hit.start) {
        return None;
    }
    let is_of = |byte: &&u8| form.alphabet.has(**byte);
    let reach = &bytes[hit.end..bytes.len().min(hit.end + FORM_REACH_MAX)];
    let mut length = reach.iter().take_while(is_of).count();
    // A full stop ends a sentence and no secret.
    while length > 0 && matches!(reach[length - 1], b'.') {
        length -= 1;
    }
    let ends = bytes.get(hit.end + length).is_none_or(|next| !next.is_ascii_alphanumeric());
    if length < form.min || length > form.max || !(ends || length == FORM_REACH_MAX) {
        return None;
    }
    let tail = text.get(hit.end..hit.end + length)?;
    if random::is_placeholder(tail) {
        return None;
    }
    // The rest of one that is longer than what was looked at.
    let rest = if length == FORM_REACH_MAX { bytes[hit.end + length..].iter().take_while(is_of).count() } else { 0 };
    Some((hit.start..hit.end + length + rest, form.kind))
}

/// Whether a word may begin there: not within another, but after an escape such as `\n` or `%20`.
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

/// Cuts of all that is marked as private: from each mark to the one that ends it, or to the end of the text. In the last pass, all
/// from the first mark on.
fn private_cuts(text: &str, is_last_pass: bool) -> Vec<Cut> {
    let lower = text.to_ascii_lowercase();
    let mut cuts = Vec::new();
    let mut at = 0;
    while let Some(start) = lower[at..].find(PRIVATE_BEGIN).map(|start| at + start) {
        let end = if is_last_pass { text.len() } else { private_end(&lower, start) };
        cuts.push(Cut { range: start..end, kind: PRIVATE, is_certain: true });
        at = end;
    }
    cuts
}

/// Where the mark ends that begins there. Marks within it have ends of their own.
fn private_end(lower: &str, start: usize) -> usize {
    let (mut at, mut depth) = (start + PRIVATE_BEGIN.len(), 1_usize);
    while let Some(next) = lower[at..].find('<').map(|next| at + next) {
        let rest = &lower[next..];
        at = next + 1;
        if rest.starts_with(PRIVATE_BEGIN) {
            depth += 1;
        } else if rest.starts_with(PRIVATE_END) {
            depth -= 1;
            if depth == 0 {
                return next + PRIVATE_END.len();
            }
        }
    }
    lower.len()
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
            ("<private>a<private>b</private>c</private>d", "d", "private 1"),
            ("<pri<private>a</private>vate>b</private>c", "c", "private 2"),
            ("</private> stays", "</private> stays", ""),
        ] {
            let redacted = redact(text);
            assert_eq!((redacted.text.as_ref(), redacted.found().to_string().as_str()), (left, found), "{text}");
        }
    }

    #[test]
    fn removed_lines_are_known() {
        let text = "1\n<private>2\n3</private>\n4\n<private>\n\n\n</private>8";
        let redacted = redact(text);
        assert_eq!(redacted.text, "1\n\n4\n8");
        let removed: Vec<_> = redacted.removed.iter().map(|removed| (removed.at, removed.lines)).collect();
        assert_eq!(removed, [(2, 1), (5, 3)]);
        assert_eq!([0, 2, 4, 5, 6].map(|at| redacted.lines_removed_until(at)), [0, 1, 1, 4, 4]);
    }

    #[test]
    fn the_kind_of_a_secret_is_the_one_that_it_says_itself() {
        let key = ["ghp", "_", &"9aZ3".repeat(9)].concat();
        let redacted = redact(&key);
        assert_eq!(redacted.text, "[redacted: github-token]");
        let assigned = format!("GITHUB_TOKEN={key}");
        assert_eq!(redact(&assigned).text, "GITHUB_TOKEN=[redacted: github-token]");
        let url = format!("https://x:{key}@github.com/a/b");
        assert_eq!(redact(&url).found().total(), 1);
    }
}
