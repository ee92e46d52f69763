//! An entry in YAML, line by line. A parser says where the keys are; the entry is written as lines
//! of its own, and the caller compares the meaning of both texts.

use std::ops::Range;

use saphyr_parser::{Event, Parser, Span};
use serde_json::{Map, Value};

use super::Slot;

/// The spaces of one level, for a map that has no entry to go by.
const INDENT: usize = 2;
/// Words that are no strings in some version of YAML.
const NOT_STRINGS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// Parses a text, which is a map; a text without one is an empty map.
pub fn value(text: &str) -> Result<Value, String> {
    // YAML takes them for ends of lines, and nothing else does.
    if text.replace("\r\n", "").contains('\r') {
        return Err("it has carriage returns without a line feed".to_owned());
    }
    if text.lines().all(|line| !has_content(line)) {
        return Ok(Value::Object(Map::new()));
    }
    let value: Value = serde_saphyr::from_str(text)
        .map_err(|error| format!("it is no YAML ({})", one_line(&error)))?;
    match value {
        Value::Null => Ok(Value::Object(Map::new())),
        Value::Object(_) => Ok(value),
        _ => Err("it holds no YAML map".to_owned()),
    }
}

pub fn put(text: &str, slot: &Slot<'_>, entry: &Value) -> Result<String, String> {
    let outline = Outline::of(text, slot.key)?;
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let written = |indent: usize| {
        let mut lines = Vec::new();
        write(&mut lines, indent, slot.name, entry);
        lines.push(String::new());
        lines.join(end)
    };
    let whole = || format!("{}:{end}{}", key(slot.key), written(INDENT));
    match &outline.entries {
        Entries::Missing => Ok(inserted(text, text.lines().count(), &whole(), end)),
        Entries::Empty { line } => Ok(inserted(text, line + 1, &written(INDENT), end)),
        Entries::Flow(map) => Ok(map.put(text, slot.name, entry)),
        Entries::Block(keys) => {
            let indent = keys.first().map_or(INDENT, |key| key.column);
            match outline.lines_of(slot.name) {
                Some(range) => Ok(replaced(text, &range, &written(indent))),
                None => Ok(inserted(text, outline.end, &written(indent), end)),
            }
        }
    }
}

pub fn remove(text: &str, slot: &Slot<'_>) -> Result<String, String> {
    let outline = Outline::of(text, slot.key)?;
    let missing = || format!("`{}` in it is not written line by line", slot.key);
    match &outline.entries {
        Entries::Flow(map) if map.pairs.len() > 1 => {
            map.remove(text, slot.name).ok_or_else(missing)
        }
        Entries::Flow(map) => Ok(replaced(text, &(outline.line..map.end_line + 1), "")),
        entries => {
            let mut range = outline.lines_of(slot.name).ok_or_else(missing)?;
            if matches!(entries, Entries::Block(keys) if keys.len() == 1) {
                range.start = outline.line;
            }
            Ok(replaced(text, &range, ""))
        }
    }
}

/// A key of a map.
struct Key {
    name: String,
    /// The line, from 0.
    line: usize,
    /// The number of characters before it in the line.
    column: usize,
}

/// The value of the key whose entries are changed.
enum Entries {
    /// There is no such key.
    Missing,
    /// The key has no value.
    Empty { line: usize },
    /// A map in braces.
    Flow(FlowMap),
    /// A map with a key at the beginning of a line for each entry.
    Block(Vec<Key>),
}

/// A map in braces. The places are offsets in bytes.
struct FlowMap {
    /// The place behind the first brace.
    begin: usize,
    /// The line of the last brace, from 0.
    end_line: usize,
    pairs: Vec<Pair>,
}

/// A key in braces with its value.
struct Pair {
    name: String,
    key: Range<usize>,
    value: Range<usize>,
}

impl FlowMap {
    /// Returns the text with an entry in the place of the one that is there or before all others.
    fn put(&self, text: &str, name: &str, entry: &Value) -> String {
        if let Some(pair) = self.pairs.iter().find(|pair| pair.name == name) {
            let (before, after) = (&text[..pair.value.start], &text[pair.value.end..]);
            return format!("{before}{entry}{after}");
        }
        let first = self.pairs.first();
        let (before, after) = text.split_at(first.map_or(self.begin, |pair| pair.key.start));
        let comma = if first.is_some() { ", " } else { "" };
        format!("{before}{}: {entry}{comma}{after}", Value::from(name))
    }

    /// Returns the text without an entry, which is not the only one; `None` if it is not there.
    fn remove(&self, text: &str, name: &str) -> Option<String> {
        let index = self.pairs.iter().position(|pair| pair.name == name)?;
        let range = match self.pairs.get(index + 1) {
            Some(_) => {
                let end = self.pairs[index].value.end;
                let comma = end + text[end..].find(',')? + 1;
                let rest = &text[comma..];
                // A comment has a space before it.
                let space = rest.starts_with(' ') && !rest.trim_start().starts_with('#');
                self.pairs[index].key.start..comma + usize::from(space)
            }
            None => self.pairs[index - 1].value.end..self.pairs[index].value.end,
        };
        Some(format!("{}{}", &text[..range.start], &text[range.end..]))
    }
}

/// The lines of the entries in a text.
struct Outline {
    entries: Entries,
    /// The line of the key that holds the entries, from 0.
    line: usize,
    /// The line after the last entry.
    end: usize,
    /// For each entry the line after its last one.
    ends: Vec<usize>,
}

impl Outline {
    fn of(text: &str, wanted: &str) -> Result<Self, String> {
        let mut scan = Scan::new(text, wanted);
        for event in Parser::new_from_str(text) {
            let (event, span) = event.map_err(|error| format!("it is no YAML ({error})"))?;
            scan.take(&event, span)?;
        }
        let lines: Vec<&str> = text.lines().collect();
        let next = scan.next_top.unwrap_or(lines.len());
        let mut ends = Vec::new();
        if let Entries::Block(keys) = &scan.entries {
            for (index, key) in keys.iter().enumerate() {
                let next = keys.get(index + 1).map_or(next, |key| key.line);
                ends.push(without_rest(&lines, key.line + 1..next, key.column));
            }
        }
        Ok(Outline {
            line: scan.line,
            end: ends.last().copied().unwrap_or(scan.line + 1),
            entries: scan.entries,
            ends,
        })
    }

    /// Returns the lines of the entry of that name.
    fn lines_of(&self, name: &str) -> Option<Range<usize>> {
        let Entries::Block(keys) = &self.entries else {
            return None;
        };
        let index = keys.iter().position(|key| key.name == name)?;
        Some(keys[index].line..self.ends[index])
    }
}

/// Finds the keys while the events of a text pass.
struct Scan<'a> {
    text: &'a str,
    /// The offset in bytes of each character.
    offsets: Vec<usize>,
    wanted: &'a str,
    depth: usize,
    documents: usize,
    /// True if the next event in the map at the top starts a key.
    is_key: [bool; 2],
    /// True while the value of the wanted key passes.
    is_inside: bool,
    line: usize,
    entries: Entries,
    /// The line of the key after the wanted one.
    next_top: Option<usize>,
    is_found: bool,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str, wanted: &'a str) -> Self {
        Scan {
            text,
            offsets: text.char_indices().map(|(offset, _)| offset).collect(),
            wanted,
            depth: 0,
            documents: 0,
            is_key: [true; 2],
            is_inside: false,
            line: 0,
            entries: Entries::Missing,
            next_top: None,
            is_found: false,
        }
    }

    fn take(&mut self, event: &Event<'_>, span: Span) -> Result<(), String> {
        let line = span.start.line().saturating_sub(1);
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err("it holds several YAML documents".to_owned());
                }
            }
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                let is_map = matches!(event, Event::MappingStart(..));
                self.begin(is_map, span)?;
                self.pair_in_braces(None, span);
                self.depth += 1;
            }
            Event::MappingEnd | Event::SequenceEnd => {
                self.depth -= 1;
                self.end_in_braces(span);
                self.end_node();
            }
            Event::Scalar(name, ..) => {
                self.scalar(name, line, span);
                self.pair_in_braces(Some(name), span);
                self.end_in_braces(span);
                self.end_node();
            }
            Event::Alias(_) => {
                self.pair_in_braces(None, span);
                self.end_in_braces(span);
                self.end_node();
            }
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, is_map: bool, span: Span) -> Result<(), String> {
        if self.depth == 0 {
            if !is_map || self.brace(span).is_some() {
                return Err("it holds no YAML map that is written line by line".to_owned());
            }
        } else if self.depth == 1 && self.is_inside && is_map {
            self.is_key[1] = true;
            self.entries = match self.brace(span) {
                Some(brace) => Entries::Flow(FlowMap {
                    begin: brace + 1,
                    end_line: 0,
                    pairs: Vec::new(),
                }),
                None => Entries::Block(Vec::new()),
            };
        }
        Ok(())
    }

    fn scalar(&mut self, name: &str, line: usize, span: Span) {
        if self.depth == 1 && self.is_key[0] {
            if self.is_found && self.next_top.is_none() {
                self.next_top = Some(line);
            }
            self.is_inside = name == self.wanted;
            if self.is_inside {
                (self.is_found, self.line) = (true, line);
            }
        } else if self.depth == 1 && self.is_inside {
            self.entries = Entries::Empty { line: self.line };
        } else if self.depth == 2
            && self.is_inside
            && self.is_key[1]
            && let Entries::Block(keys) = &mut self.entries
        {
            keys.push(Key {
                name: name.to_owned(),
                line,
                column: span.start.col(),
            });
        }
    }

    /// Notes a key of the wanted map in braces, or the start of its value.
    fn pair_in_braces(&mut self, name: Option<&str>, span: Span) {
        let begin = self.offset(span.start.index());
        if self.depth == 2
            && self.is_inside
            && let Entries::Flow(map) = &mut self.entries
        {
            if self.is_key[1] {
                // A key that is no scalar has no name.
                map.pairs.push(Pair {
                    name: name.unwrap_or_default().to_owned(),
                    key: begin..begin,
                    value: begin..begin,
                });
            } else if let Some(pair) = map.pairs.last_mut() {
                pair.value.start = begin;
            }
        }
    }

    /// Notes the end of a key of the wanted map in braces, of its value, or of the map.
    fn end_in_braces(&mut self, span: Span) {
        let end = self.offset(span.end.index());
        let (depth, is_key) = (self.depth, self.is_key[1]);
        if self.is_inside
            && let Entries::Flow(map) = &mut self.entries
        {
            match map.pairs.last_mut() {
                Some(pair) if depth == 2 && is_key => {
                    pair.key.end = end;
                    pair.value = end..end;
                }
                Some(pair) if depth == 2 => pair.value.end = end,
                _ => {}
            }
            if depth == 1 && !self.is_key[0] {
                map.end_line = span.end.line().saturating_sub(1);
            }
        }
    }

    /// Notes that a key or a value has ended.
    fn end_node(&mut self) {
        if let Some(is_key) = self
            .depth
            .checked_sub(1)
            .and_then(|at| self.is_key.get_mut(at))
        {
            *is_key = !*is_key;
        }
    }

    /// Returns the offset of the brace with which a map starts; `None` if it has none.
    fn brace(&self, span: Span) -> Option<usize> {
        let offset = self.offset(span.start.index());
        self.text[offset..].starts_with('{').then_some(offset)
    }

    /// Returns the offset in bytes of a character.
    fn offset(&self, index: usize) -> usize {
        self.offsets.get(index).copied().unwrap_or(self.text.len())
    }
}

/// True if a line holds more than a comment.
fn has_content(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#')
}

/// Returns the end of an entry: without the blank lines and the comments that follow it, unless
/// they stand deeper than its key.
fn without_rest(lines: &[&str], range: Range<usize>, column: usize) -> usize {
    let mut end = range.end;
    while end > range.start {
        let line = lines[end - 1];
        let depth = line.chars().take_while(|letter| *letter == ' ').count();
        let is_of_entry = has_content(line) || (!line.trim().is_empty() && depth > column);
        if is_of_entry {
            break;
        }
        end -= 1;
    }
    end
}

/// Returns the text with further lines before that line.
fn inserted(text: &str, line: usize, new: &str, end: &str) -> String {
    let mut result = replaced(text, &(line..line), "");
    let at: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let needs_end = at > 0 && !text[..at].ends_with('\n');
    result.insert_str(at, &format!("{}{new}", if needs_end { end } else { "" }));
    result
}

/// Returns the text with other lines in the place of some.
fn replaced(text: &str, range: &Range<usize>, new: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let bounded = |line: usize| line.min(lines.len());
    let before = lines[..bounded(range.start)].concat();
    format!("{before}{new}{}", lines[bounded(range.end)..].concat())
}

/// Writes a key with its value as lines.
fn write(lines: &mut Vec<String>, indent: usize, name: &str, value: &Value) {
    let space = " ".repeat(indent);
    let name = key(name);
    match value {
        Value::Object(map) if !map.is_empty() => {
            lines.push(format!("{space}{name}:"));
            for (name, value) in map {
                write(lines, indent + INDENT, name, value);
            }
        }
        Value::Array(values) if !values.is_empty() => {
            lines.push(format!("{space}{name}:"));
            let items = values
                .iter()
                .map(|value| format!("{space}- {}", scalar(value)));
            lines.extend(items);
        }
        other => lines.push(format!("{space}{name}: {}", scalar(other))),
    }
}

fn key(name: &str) -> String {
    scalar(&Value::from(name))
}

/// Formats a value in one line: a plain word if it cannot be taken for anything else, or JSON.
fn scalar(value: &Value) -> String {
    let is_plain = |text: &str| {
        text.starts_with(|first: char| first.is_ascii_alphabetic() || "/_.".contains(first))
            && text.chars().any(|letter| letter.is_ascii_alphabetic())
            && text
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || "/_.-".contains(letter))
            && !NOT_STRINGS.contains(&text.to_ascii_lowercase().as_str())
            && !text.starts_with(['.', '-'])
    };
    match value {
        Value::String(text) if is_plain(text) => text.clone(),
        other => other.to_string(),
    }
}

fn one_line(error: &impl ToString) -> String {
    let text = error.to_string();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
