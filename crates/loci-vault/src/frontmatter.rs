//! Reads the frontmatter of a note, and changes it without losing text that a person wrote.

mod edit;
mod entries;
mod keys;
mod scalar;
#[cfg(test)]
mod tests;
mod value;
mod values;

use std::borrow::Cow;
use std::ops::Range;

#[cfg(doc)]
use loci_core::NoteContent;
use loci_core::limits::TAGS_MAX;
use loci_core::{Error, ErrorCode, FileProblem, FileProblemKind, Note, NoteState, Result};

use entries::{Entry, entries};
use keys::{Key, NoteKeys};

/// The maximum bytes of a frontmatter; a larger one is not read.
pub(crate) const FRONTMATTER_BYTES_MAX: usize = 64 << 10;
const BYTE_ORDER_MARK: char = '\u{feff}';
/// The line that opens and closes a frontmatter.
const RULE: &str = "---";

/// An error in a frontmatter.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FrontmatterError {
    /// The line in the YAML, from 1.
    line: usize,
    problem: Cow<'static, str>,
}

impl FrontmatterError {
    fn new(line: usize, problem: impl Into<Cow<'static, str>>) -> Self {
        FrontmatterError {
            line,
            problem: problem.into(),
        }
    }

    fn message(&self) -> String {
        // The opening line precedes the YAML.
        format!(
            "line {}: {}; the file is read as plain text until that is mended",
            self.line + 1,
            self.problem
        )
    }
}

/// The position of the frontmatter in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Head {
    yaml: Range<usize>,
    /// The start of the body, after the closing line.
    body: usize,
}

/// A parsed text with a valid frontmatter or without one.
struct ParsedNote<'a> {
    head: Option<Head>,
    /// The lines of the YAML with their line ends.
    lines: Vec<&'a str>,
    entries: Vec<Entry>,
    note: Note,
}

/// The values under keys that are not loci's.
#[derive(Debug, Default)]
pub(crate) struct Foreign {
    /// The [values](NoteContent::values).
    pub values: Vec<String>,
    /// The other names of the note, each once and in one line.
    pub aliases: Vec<String>,
}

/// Parses a text as a note; returns it with its other values. A text with a broken
/// frontmatter is plain text from its beginning, with the status that a line of the frontmatter
/// says.
pub(crate) fn read(text: &str) -> (Note, Foreign, Option<FileProblem>) {
    match parse(text) {
        Ok(parsed) => {
            let foreign = Foreign {
                values: values::of(&parsed.entries),
                aliases: values::aliases(&parsed.entries),
            };
            (parsed.note, foreign, None)
        }
        Err(broken) => {
            let problem = FileProblem {
                kind: FileProblemKind::BrokenFrontmatter,
                message: broken.message(),
            };
            let mut note = plain(text);
            set_plain_status(&mut note, text);
            (note, Foreign::default(), Some(problem))
        }
    }
}

/// Returns the text of a new file.
///
/// # Errors
/// `internal` if it would not be read as the same note.
pub(crate) fn fresh(note: &Note) -> Result<String> {
    let note = normal(note);
    let mut text = format!("{RULE}\n");
    for key in Key::ALL {
        if key == Key::Status || !note.is_default(key) {
            text += &edit::lines(key, &note, "\n");
        }
    }
    text += &format!("{RULE}\n");
    if !note.body.is_empty() {
        text += &note.body;
        text.push('\n');
    }
    verify(&text, &note)?;
    Ok(text)
}

/// Changes the text so that it contains the note, and changes nothing else. `None` if it already
/// does.
///
/// # Errors
/// `conflict` if its frontmatter is broken, or could not be changed line by line without losing
/// something, e.g. a value that other keys refer to.
pub(crate) fn rewrite(text: &str, note: &Note) -> Result<Option<String>> {
    let parsed = parse(text).map_err(|broken| {
        let message = format!(
            "the note cannot be changed, since its frontmatter is broken ({})",
            broken.message()
        );
        Error::new(ErrorCode::Conflict, message)
    })?;
    let note = normal(note);
    if parsed.note == note {
        return Ok(None);
    }
    let by_hand = |why: &str| Error::new(ErrorCode::Conflict, format!("{why}; change it by hand"));
    let has_too_many = |entry: &Entry| keys::has_too_many_tags(&entry.value);
    if !parsed.note.agrees(Key::Tags, &note) && parsed.entry(Key::Tags).is_some_and(has_too_many) {
        return Err(by_hand(&format!(
            "the frontmatter of the note has more than {TAGS_MAX} tags"
        )));
    }
    let end = line_end(text);
    let (start, old_body) = match &parsed.head {
        Some(head) => (head.yaml.start, head.body),
        None => (mark_len(text), mark_len(text)),
    };
    let yaml = edit::yaml(&parsed, &note, end);
    let mut new = text[..start].to_owned();
    match &parsed.head {
        Some(head) => {
            new += &yaml;
            new += &text[head.yaml.end..head.body];
        }
        // A frontmatter without keys is needed if the text without it would be read as something
        // else.
        None if yaml.is_empty() && parse(&note.body).is_ok_and(|alone| alone.note == note) => {}
        None => new += &format!("{RULE}{end}{yaml}{RULE}{end}"),
    }
    if parsed.note.body == note.body {
        new += &text[old_body..];
    } else {
        if !new.is_empty() && !new.ends_with(['\n', BYTE_ORDER_MARK]) {
            new += end;
        }
        if !note.body.is_empty() {
            new += &note.body.replace('\n', end);
            new += end;
        }
    }
    match verify(&new, &note) {
        Ok(foreign) if foreign == parsed.foreign() => Ok(Some(new)),
        _ => Err(by_hand(
            "the frontmatter of the note has something in it that loci cannot change without breaking it",
        )),
    }
}

/// Normalises the body: LF at the end of each line, but not at the end of the text. All carriage
/// returns before a line feed are removed, so that a text which was read and written is read as the
/// same.
pub(crate) fn normal_body(text: &str) -> String {
    let text = text.trim_end_matches(['\r', '\n']);
    if !text.contains('\r') {
        return text.to_owned();
    }
    let lines: Vec<_> = text
        .split('\n')
        .map(|line| line.trim_end_matches('\r'))
        .collect();
    lines.join("\n")
}

impl ParsedNote<'_> {
    fn entry(&self, key: Key) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == Some(key))
    }

    /// Returns the names of the foreign keys.
    fn foreign(self) -> Vec<String> {
        let foreign = self.entries.into_iter().filter(|entry| entry.key.is_none());
        foreign.map(|entry| entry.name).collect()
    }
}

/// Checks that the text is read as this note; returns its foreign keys.
fn verify(text: &str, note: &Note) -> Result<Vec<String>> {
    match parse(text) {
        Ok(parsed) if parsed.note == *note => Ok(parsed.foreign()),
        _ => Err(Error::internal(
            "the note cannot be written so that it would be read as the same",
        )),
    }
}

fn parse(text: &str) -> Result<ParsedNote<'_>, FrontmatterError> {
    let no_head = || ParsedNote {
        head: None,
        lines: Vec::new(),
        entries: Vec::new(),
        note: plain(text),
    };
    let Some(head) = head(text)? else {
        return Ok(no_head());
    };
    let yaml = &text[head.yaml.clone()];
    let lines: Vec<_> = yaml.split_inclusive('\n').collect();
    let Some(entries) = entries(yaml, &lines)? else {
        return Ok(no_head());
    };
    let mut note = Note {
        body: normal_body(&text[head.body..]),
        ..Note::default()
    };
    for entry in &entries {
        if let Some(key) = entry.key {
            note.take(key, &entry.value).map_err(|problem| {
                FrontmatterError::new(entry.lines.start + 1, format!("`{}` {problem}", key.name()))
            })?;
        }
    }
    Ok(ParsedNote {
        head: Some(head),
        lines,
        entries,
        note,
    })
}

/// Finds the frontmatter. An unclosed rule at the beginning is part of the text, unless a key of
/// loci follows.
fn head(text: &str) -> Result<Option<Head>, FrontmatterError> {
    let rest = &text[mark_len(text)..];
    let Some((opening, after)) = rest.split_once('\n') else {
        return Ok(None);
    };
    if opening.trim_end() != RULE {
        return Ok(None);
    }
    let start = text.len() - after.len();
    let mut end = start;
    for line in after.split_inclusive('\n') {
        if matches!(line.trim_end(), RULE | "...") {
            return Ok(Some(Head {
                yaml: start..end,
                body: end + line.len(),
            }));
        }
        end += line.len();
    }
    let mut first = after.lines().take_while(|line| !line.trim().is_empty());
    if first.any(|line| {
        line.split_once(':')
            .is_some_and(|(name, _)| Key::named(name).is_some())
    }) {
        return Err(FrontmatterError::new(
            0,
            format!("no line `{RULE}` closes it"),
        ));
    }
    Ok(None)
}

/// Returns the text as a note without frontmatter.
fn plain(text: &str) -> Note {
    Note {
        body: normal_body(&text[mark_len(text)..]),
        ..Note::default()
    }
}

/// Gives a note the status of a line of the broken frontmatter at the beginning, if that puts the
/// note out of sight.
fn set_plain_status(note: &mut Note, text: &str) {
    let (yaml, is_closed) = match head(text) {
        Ok(Some(head)) => (&text[head.yaml], true),
        // The unclosed frontmatter ends with a blank line.
        _ => (text.split_once('\n').map_or("", |(_, after)| after), false),
    };
    let lines = || {
        yaml.lines()
            .take_while(|line| is_closed || !line.trim().is_empty())
    };
    let first = lines()
        .find(|line| entries::is_said(line))
        .unwrap_or_default();
    let indent = &first[..first.len() - first.trim_start().len()];
    let says = |line: &str| {
        let (name, value) = line.strip_prefix(indent)?.split_once(':')?;
        let value = value.split(" #").next()?.trim().trim_matches(['"', '\'']);
        let name = name.trim_end().trim_matches(['"', '\'']);
        (name == Key::Status.name()).then(|| value.to_owned())
    };
    for status in lines().filter_map(says) {
        let mut said = note.clone();
        keys::set_status(&mut said, &status);
        if said.is_out_of_sight() {
            *note = said;
            return;
        }
    }
}

/// Returns the note as it will be read: blank values become `None`.
fn normal(note: &Note) -> Note {
    let said = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    Note {
        title: said(&note.title),
        collection: said(&note.collection),
        section: said(&note.section),
        tags: keys::normal_tags(note.tags.iter().map(String::as_str), TAGS_MAX),
        body: normal_body(&note.body),
        state: if note.is_deleted {
            NoteState::Active
        } else {
            note.state
        },
        ..note.clone()
    }
}

fn mark_len(text: &str) -> usize {
    if text.starts_with(BYTE_ORDER_MARK) {
        BYTE_ORDER_MARK.len_utf8()
    } else {
        0
    }
}

/// Returns the line end of the first line of the text.
fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(end) if text[..end].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}
