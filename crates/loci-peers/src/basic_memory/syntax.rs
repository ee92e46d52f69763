//! The statements in the lines of a note of basic-memory: observations and relations.

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};

use crate::times;

/// The category of an observation that names none.
const CATEGORY: &str = "note";
/// The relation of a link in a sentence.
pub const LINKS_TO: &str = "links_to";
/// A mark at the end of a line whose links are only links.
const LINKS_ONLY: &str = "#bm:links_to";
/// The kinds of times in a qualifier.
const KINDS: [&str; 5] = ["effective", "valid", "occurred", "due", "mentioned"];
/// The ones that say when the statement does not hold, but something about it.
const ASIDE: [&str; 2] = ["due", "mentioned"];

/// An item of a list that states something.
#[derive(Debug, PartialEq, Eq)]
pub struct Observation<'a> {
    /// Its category.
    pub category: &'a str,
    /// Its text, with its tags.
    pub text: &'a str,
    /// The time that is written before the text.
    pub qualifier: Option<Qualifier<'a>>,
}

/// A time that is written before the text of an observation.
#[derive(Debug, PartialEq, Eq)]
pub struct Qualifier<'a> {
    /// Its text, as it is written.
    pub token: &'a str,
    /// True if it does not say when the statement holds.
    pub is_aside: bool,
    times: Times<'a>,
}

#[derive(Debug, PartialEq, Eq)]
enum Times<'a> {
    /// A range; a bound that is left out is blank.
    Range {
        lower: &'a str,
        is_from: bool,
        upper: &'a str,
        is_until: bool,
    },
    Point(Cow<'a, str>),
}

/// The first and the last moment of a bound.
type Span = (Timestamp, Timestamp);

/// From when and until when a statement holds.
pub type Holds = (Option<Span>, Option<Span>);

/// A relation to another note.
#[derive(Debug, PartialEq, Eq, Hash, Clone, Copy)]
pub struct Relation<'a> {
    /// Its name.
    pub kind: &'a str,
    /// The note that it leads to, as it is written.
    pub target: &'a str,
}

/// The observations and relations of a note.
#[derive(Debug, Default)]
pub struct Statements<'a> {
    /// The observations, in order.
    pub observations: Vec<Observation<'a>>,
    /// The relations, in order, each once.
    pub relations: Vec<Relation<'a>>,
}

/// Reads the text of a note after its keys.
pub fn read(body: &str) -> Statements<'_> {
    let mut statements = Statements::default();
    let mut fence: Option<&str> = None;
    for line in body.lines() {
        let mut line = line.trim();
        if let Some(open) = fence {
            let is_end = line.starts_with(open) && line.trim_start_matches(&open[..1]).is_empty();
            fence = (!is_end).then_some(open);
            continue;
        }
        let is_quoted = line.starts_with('>');
        while let Some(inner) = line.strip_prefix('>') {
            line = inner.trim_start();
        }
        if let Some(open) = opens_fence(line) {
            fence = Some(open);
            continue;
        }
        let item = list_item(line);
        let (content, is_linking) = match item.unwrap_or(line).strip_suffix(LINKS_ONLY) {
            Some(content) => (content.trim_end(), true),
            None => (item.unwrap_or(line), false),
        };
        if let Some(content) = item.map(|_| content).filter(|_| !is_quoted) {
            statements.observations.extend(observation(content));
        }
        let explicit = item
            .filter(|_| !is_linking)
            .and_then(|_| explicit_relation(content));
        let relations = match explicit {
            Some(relation) => vec![relation],
            None => links(content),
        };
        for relation in relations {
            if !statements.relations.contains(&relation) {
                statements.relations.push(relation);
            }
        }
    }
    statements
}

/// Returns the mark of a block of code that the line opens.
fn opens_fence(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|mark| "`~".contains(*mark))?;
    let length = line.len() - line.trim_start_matches(mark).len();
    (length >= 3).then(|| &line[..length])
}

/// Returns the text of an item of a list.
fn list_item(line: &str) -> Option<&str> {
    const DIGITS_MAX: usize = 9;
    let numbered = || {
        let rest = line.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let digits = line.len() - rest.len();
        let rest = rest.strip_prefix(['.', ')'])?;
        (1..=DIGITS_MAX).contains(&digits).then_some(rest)
    };
    let rest = line.strip_prefix(['-', '*', '+']).or_else(numbered)?;
    rest.starts_with([' ', '\t']).then(|| rest.trim())
}

fn observation(content: &str) -> Option<Observation<'_>> {
    let has_tag = content.split_whitespace().any(|word| word.starts_with('#'));
    let (category, text) = match category(content) {
        Some(parts) => parts,
        None if has_tag && !is_task(content) => (CATEGORY, content),
        None => return None,
    };
    // Brackets at the end are no part of the statement.
    let text = match text
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once('('))
    {
        Some((text, _)) => text.trim(),
        None => text.trim(),
    };
    let (qualifier, text) = match qualifier(text) {
        Some((qualifier, text)) => (Some(qualifier), text),
        None => (None, text),
    };
    (!text.is_empty()).then_some(Observation {
        category,
        text,
        qualifier,
    })
}

fn is_task(content: &str) -> bool {
    ["[ ]", "[x]", "[-]"]
        .iter()
        .any(|mark| content.starts_with(mark))
}

/// Returns the category in brackets and what follows it. A time of a clock and the mark of a task are
/// no category.
fn category(content: &str) -> Option<(&str, &str)> {
    let (category, rest) = content.strip_prefix('[')?.split_once(']')?;
    let text = rest.trim_start();
    let is_clock = category.contains(':')
        && category
            .chars()
            .all(|character| character.is_ascii_digit() || " :.,-".contains(character));
    let category = category.trim();
    let mut characters = category.chars();
    let is_mark = match (characters.next(), characters.next()) {
        (None, _) => true,
        (Some(only), None) => "xX".contains(only) || !only.is_alphanumeric(),
        _ => false,
    };
    let is_category = !is_clock
        && !is_mark
        && !category.contains(['[', '(', ')'])
        && text.len() < rest.len()
        && !text.is_empty();
    is_category.then_some((category, text))
}

/// Returns the time at the start of a text, and the rest.
fn qualifier(text: &str) -> Option<(Qualifier<'_>, &str)> {
    let after = text.strip_prefix('@')?;
    let named =
        after.find(|character: char| !(character.is_ascii_alphanumeric() || character == '_'));
    let named = named.unwrap_or(after.len());
    let (kind, rest) = match after.chars().next()? {
        first if first.is_ascii_alphabetic() => after.split_at(named),
        _ => ("", after),
    };
    if !kind.is_empty() && !KINDS.contains(&kind) {
        return None;
    }
    let (times, length) = match rest.strip_prefix(':') {
        Some(point) if !kind.is_empty() => {
            let (point, length) = written_point(point)?;
            (Times::Point(point), length + 1)
        }
        _ if rest.starts_with(['[', '(']) => range(rest)?,
        _ if kind.is_empty()
            && rest.starts_with(|first: char| first == '"' || first.is_ascii_digit()) =>
        {
            let (point, length) = written_point(rest)?;
            (Times::Point(point), length)
        }
        _ => return None,
    };
    let (token, text) = text.split_at(1 + kind.len() + length);
    let qualifier = Qualifier {
        token,
        is_aside: ASIDE.contains(&kind),
        times,
    };
    let text = text.trim_start();
    (!text.is_empty()).then_some((qualifier, text))
}

/// Returns the range in brackets at the start of a text, and its length.
fn range(text: &str) -> Option<(Times<'_>, usize)> {
    let end = text[1..].find(['[', '(', ']', ')'])? + 1;
    let (lower, upper) = text[1..end].split_once(',')?;
    let is_whole = text[end..].starts_with([']', ')'])
        && text[end + 1..]
            .chars()
            .next()
            .is_none_or(char::is_whitespace);
    let times = Times::Range {
        lower: lower.trim(),
        is_from: text.starts_with('['),
        upper: upper.trim(),
        is_until: text[end..].starts_with(']'),
    };
    is_whole.then_some((times, end + 1))
}

/// Returns the word at the start of a text, or the words in quotation marks, and its length.
fn written_point(text: &str) -> Option<(Cow<'_, str>, usize)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let word = text.split_whitespace().next()?;
        return text
            .starts_with(word)
            .then_some((Cow::Borrowed(word), word.len()));
    };
    let mut point = String::new();
    let mut characters = quoted.char_indices();
    while let Some((place, character)) = characters.next() {
        match character {
            '"' => return Some((Cow::Owned(point), place + 2)),
            '\\' => point.push(characters.next()?.1),
            other => point.push(other),
        }
    }
    None
}

impl Qualifier<'_> {
    /// Returns from when and until when the statement holds; `None` if the time is in words that only
    /// the package reads.
    pub fn holds(&self) -> Option<Holds> {
        match &self.times {
            Times::Range {
                lower,
                is_from,
                upper,
                is_until,
            } => holds_between((lower, *is_from), (upper, *is_until)),
            Times::Point(point) => {
                let span = times::wide_span(point)?;
                let (first, last) = span;
                let is_longer = last.duration_since(first) > SignedDuration::from_hours(24);
                Some((Some(span), is_longer.then_some((last, last))))
            }
        }
    }
}

/// Returns the ends of a range, each a text, blank where it is open, with whether it belongs to it.
pub fn holds_between(lower: (&str, bool), upper: (&str, bool)) -> Option<Holds> {
    let moment = SignedDuration::from_micros(1);
    let day = SignedDuration::from_hours(24);
    let bound = |text: &str| match text {
        "" => Some(None),
        text => times::wide_span(text).map(Some),
    };
    // A moment is not moved: the next one is too near to tell.
    let after = |(first, last): Span| {
        let next = (last.checked_add(moment).ok()?, last.checked_add(day).ok()?);
        Some(if first == last { (first, last) } else { next })
    };
    let before = |(first, last): Span| {
        let past = (
            first.checked_sub(day).ok()?,
            first.checked_sub(moment).ok()?,
        );
        Some(if first == last { (first, last) } else { past })
    };
    let from = match bound(lower.0)? {
        Some(span) if !lower.1 => Some(after(span)?),
        bound => bound,
    };
    let until = match bound(upper.0)? {
        Some(span) if !upper.1 => Some(before(span)?),
        bound => bound,
    };
    Some((from, until))
}

/// Returns the relation that an item names: a word, or words in quotation marks, before its only link.
fn explicit_relation(content: &str) -> Option<Relation<'_>> {
    let (before, rest) = content.split_once("[[")?;
    let (target, after) = rest.split_once("]]")?;
    let before = before.trim();
    let quoted = ['"', '\'']
        .iter()
        .find_map(|mark| before.strip_prefix(*mark)?.strip_suffix(*mark));
    let kind = match quoted {
        Some(words) => words.trim(),
        None if before.contains(char::is_whitespace) => return None,
        None => before,
    };
    let (target, after) = (target.trim(), after.trim());
    let is_whole = after.is_empty() || is_one_bracket(after);
    (!kind.is_empty() && !target.is_empty() && is_whole).then_some(Relation { kind, target })
}

/// Returns true if a text is one pair of brackets with what is in them.
fn is_one_bracket(text: &str) -> bool {
    let mut depth = 0_usize;
    for (place, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' if depth == 1 => return place + 1 == text.len(),
            ')' if depth > 0 => depth -= 1,
            _ if depth == 0 => return false,
            _ => {}
        }
    }
    false
}

/// Returns the links in a line, outside code.
fn links(line: &str) -> Vec<Relation<'_>> {
    let mut relations = Vec::new();
    let mut rest = line;
    while let Some(start) = rest.find(['`', '[']) {
        rest = &rest[start..];
        if rest.starts_with('`') {
            let inner = rest.trim_start_matches('`');
            let mark = &rest[..rest.len() - inner.len()];
            rest = inner
                .find(mark)
                .map_or(inner, |end| &inner[end + mark.len()..]);
            continue;
        }
        let Some(inner) = rest.strip_prefix("[[") else {
            rest = &rest[1..];
            continue;
        };
        let Some((target, after)) = inner.split_once("]]") else {
            break;
        };
        let target = target.trim();
        if !target.is_empty() {
            relations.push(Relation {
                kind: LINKS_TO,
                target,
            });
        }
        rest = after;
    }
    relations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(line: &str) -> Option<(String, String, Option<String>)> {
        let statements = read(line);
        let found = statements.observations.first()?;
        let times = found.qualifier.as_ref().map(|qualifier| {
            let (from, to) = qualifier.holds().unwrap_or_default();
            let day = |span: Option<Span>| {
                span.map_or_else(
                    || "-".to_owned(),
                    |(first, _)| first.to_string()[..10].to_owned(),
                )
            };
            format!("{} {}", day(from), day(to))
        });
        Some((found.category.to_owned(), found.text.to_owned(), times))
    }

    #[test]
    fn observations_are_items_with_a_category_or_a_tag() {
        for (line, category, text) in [
            (
                "- [decision] use lime #wall (from Orla)",
                "decision",
                "use lime #wall",
            ),
            ("* [decided on] two words", "decided on", "two words"),
            ("1. [ordered] numbered", "ordered", "numbered"),
            ("  - [a] one letter", "a", "one letter"),
            ("- a #tag only", "note", "a #tag only"),
            ("- [tip] two  (one) (context)", "tip", "two  (one)"),
            ("- [fact] @someone said it", "fact", "@someone said it"),
            (
                "- [fact] @todo:2026-01-01 is no time",
                "fact",
                "@todo:2026-01-01 is no time",
            ),
        ] {
            let expected = (category.to_owned(), text.to_owned(), None);
            assert_eq!(only(line), Some(expected), "{line}");
        }
        for line in [
            "- [ ] open",
            "- [x] done #tag",
            "- [?] asked",
            "- [10:30] a clock",
            "- [link](target)",
            "- plain",
            "> - [quoted] item",
            "```\n- [fenced] item\n```",
            "[no] item",
            "-[no] blank",
        ] {
            assert_eq!(only(line), None, "{line}");
        }
    }

    #[test]
    fn a_qualifier_says_when_a_statement_holds() {
        for (qualifier, times) in [
            ("@effective[2026-01-01,2026-06-01)", "2026-01-01 2026-05-31"),
            ("@valid(2026-01-01,2026-06-01]", "2026-01-02 2026-06-01"),
            ("@[2026-01-01,)", "2026-01-01 -"),
            ("@effective:2026-07-27", "2026-07-27 -"),
            ("@2026-07-27", "2026-07-27 -"),
            ("@occurred:\"June 10, 2026\"", "2026-06-10 -"),
            ("@valid:2026-06", "2026-06-01 2026-06-30"),
            ("@occurred:yesterday", "- -"),
        ] {
            let line = format!("- [fact] {qualifier} It holds. (so)");
            let expected = (
                "fact".to_owned(),
                "It holds.".to_owned(),
                Some(times.to_owned()),
            );
            assert_eq!(only(&line), Some(expected), "{line}");
        }
    }

    #[test]
    fn relations_are_named_before_their_only_link() {
        let of = |text| {
            let relations = read(text).relations;
            let told = relations
                .iter()
                .map(|one| format!("{}>{}", one.kind, one.target));
            told.collect::<Vec<_>>()
        };
        assert_eq!(of("- repairs [[A]] (since (late) March)"), ["repairs>A"]);
        assert_eq!(of("- \"is part of\" [[B c]]"), ["is part of>B c"]);
        for (line, targets) in [
            ("- [[A]]", &["links_to>A"][..]),
            (
                "- see [[A|b]] and [[C#d]]",
                &["links_to>A|b", "links_to>C#d"],
            ),
            ("- repairs [[A]] (one) and (two)", &["links_to>A"]),
            ("- repairs [[A]] #bm:links_to", &["links_to>A"]),
            ("Prose [[A]], `[[code]]` and [[A]] [b]", &["links_to>A"]),
            ("repairs [[A]]", &["links_to>A"]),
            ("~~~\n[[A]]\n~~~~\n[[B]]", &["links_to>B"]),
            ("[[never closed", &[]),
            ("- repairs [[ ]]", &[]),
        ] {
            assert_eq!(of(line), targets, "{line}");
        }
    }
}
