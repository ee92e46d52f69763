//! Parses the keys of a frontmatter with their values and lines.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, StrInput};

use super::keys::Key;
use super::value::{Item, Value};
use super::{FRONTMATTER_BYTES_MAX, FrontmatterError};

/// The maximum depth of nesting.
const DEPTH_MAX: usize = 32;
/// The most texts that are taken from one foreign value.
const TEXTS_MAX: usize = 64;

/// A key at the top level of a frontmatter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub name: String,
    /// The key of loci that it is, if any.
    pub key: Option<Key>,
    /// The lines, from 0, of the key and its value, without the comments and blank lines that
    /// follow.
    pub lines: Range<usize>,
    pub value: Value,
    /// The texts of a foreign value with several, in order.
    pub texts: Vec<String>,
    /// A comment at the end of the line, with the white space before it.
    pub comment: String,
    /// True if the value is a block scalar, in which indented lines are text, even if they start
    /// with `#`.
    is_block_text: bool,
}

/// Parses the keys; returns `None` if the text is not a mapping. Valid YAML that cannot be changed
/// line by line is an error too.
pub(super) fn entries(yaml: &str, lines: &[&str]) -> Result<Option<Vec<Entry>>, FrontmatterError> {
    // A text between two rules.
    if !lines.iter().any(|line| may_have_key(line)) && lines.iter().any(|line| is_said(line)) {
        return Ok(None);
    }
    let one_end_each = with_one_end_each(yaml, lines);
    let mut reader = Reader {
        parser: Parser::new_from_str(&one_end_each),
        lines,
    };
    let mut entries: Vec<Entry> = Vec::new();
    let mut names = HashSet::new();
    let indent = match reader.begin()? {
        YamlStart::Keys(indent) => indent,
        YamlStart::Nothing => return Ok(Some(entries)),
        YamlStart::Text => return Ok(None),
    };
    if yaml.len() > FRONTMATTER_BYTES_MAX {
        return Err(FrontmatterError::new(
            0,
            format!("it is larger than {FRONTMATTER_BYTES_MAX} bytes"),
        ));
    }
    if let Some(line) = lines
        .iter()
        .position(|line| line.trim_end_matches(['\r', '\n']).contains('\r'))
    {
        return Err(FrontmatterError::new(
            line + 1,
            "it has a carriage return in the middle",
        ));
    }
    loop {
        let (event, span) = reader.next()?;
        let line = span.start.line().saturating_sub(1);
        let name = match event {
            Event::MappingEnd => break,
            Event::Scalar(name, ..) => name.into_owned(),
            _ => return Err(FrontmatterError::new(line + 1, "a key is not a word")),
        };
        reader.check_key(span, indent)?;
        if !names.insert(name.clone()) {
            return Err(FrontmatterError::new(
                line + 1,
                "the key of this line occurs twice",
            ));
        }
        if let Some(before) = entries.last_mut() {
            before.lines.end = line;
        }
        entries.push(reader.entry(name, span)?);
    }
    reader.finish()?;
    for entry in &mut entries {
        trim(entry, lines);
    }
    for key in Key::ALL {
        // The name that loci writes comes before another that people mean by it.
        let named = entries.iter().position(|entry| entry.name == key.name());
        let meant = || {
            entries
                .iter()
                .position(|entry| Key::meant(&entry.name, &entry.value) == Some(key))
        };
        if let Some(index) = named.or_else(meant) {
            entries[index].key = Some(key);
        }
    }
    Ok(Some(entries))
}

/// Normalises line ends for a parser that counts each carriage return before a line feed, except
/// the last, as a line end.
fn with_one_end_each<'a>(yaml: &'a str, lines: &[&str]) -> Cow<'a, str> {
    if !yaml.contains("\r\r\n") {
        return Cow::Borrowed(yaml);
    }
    let line = |line: &&str| line.trim_end_matches(['\r', '\n']).to_owned() + "\n";
    Cow::Owned(lines.iter().map(line).collect())
}

/// True if the line may contain a key: a colon followed by white space or the end of the line.
fn may_have_key(line: &str) -> bool {
    line.trim_start().starts_with('{')
        || line.match_indices(':').any(|(colon, _)| {
            line[colon + 1..]
                .chars()
                .next()
                .is_none_or(char::is_whitespace)
        })
}

/// True if the line is neither blank nor a comment.
pub(super) fn is_said(line: &str) -> bool {
    !line.trim().is_empty() && !line.trim_start().starts_with('#')
}

/// The beginning of a YAML text.
enum YamlStart {
    /// Starts with keys in that column.
    Keys(usize),
    /// Contains only comments.
    Nothing,
    /// Starts with something that has no keys.
    Text,
}

/// Removes the comments and blank lines at the end from an entry.
fn trim(entry: &mut Entry, lines: &[&str]) {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let first = entry.lines.start;
    let is_left = |line: &str| {
        let is_text = entry.is_block_text && indent(line) > indent(lines[first]);
        line.trim().is_empty() || line.trim_start().starts_with('#') && !is_text
    };
    while entry.lines.len() > 1 && is_left(lines[entry.lines.end - 1]) {
        entry.lines.end -= 1;
    }
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    lines: &'a [&'a str],
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), FrontmatterError> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            // The parser's message may quote the text.
            Some(Err(error)) => Err(FrontmatterError::new(
                error.marker().line(),
                "it is no YAML from here on",
            )),
            None => Err(FrontmatterError::new(self.lines.len(), "it ends too early")),
        }
    }

    /// Advances to the first key.
    fn begin(&mut self) -> Result<YamlStart, FrontmatterError> {
        loop {
            let (event, span) = self.next()?;
            let problem = match event {
                Event::StreamStart | Event::DocumentStart(false) => continue,
                Event::StreamEnd => return Ok(YamlStart::Nothing),
                Event::MappingStart(0, None) if !self.rest(span.start).starts_with('{') => {
                    return Ok(YamlStart::Keys(span.start.col()));
                }
                Event::MappingStart(..) => "it should have one key on each line, without braces",
                Event::DocumentStart(true) => {
                    "it should have neither directives nor several documents"
                }
                _ => return Ok(YamlStart::Text),
            };
            return Err(FrontmatterError::new(span.start.line(), problem));
        }
    }

    fn finish(&mut self) -> Result<(), FrontmatterError> {
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::DocumentEnd => {}
                Event::StreamEnd => return Ok(()),
                _ => {
                    return Err(FrontmatterError::new(
                        span.start.line(),
                        "it should not have several documents",
                    ));
                }
            }
        }
    }

    /// Checks that a key is in the same column as the others, with its colon on its line.
    fn check_key(&self, span: Span, indent: usize) -> Result<(), FrontmatterError> {
        let line = self
            .lines
            .get(span.start.line().saturating_sub(1))
            .copied()
            .unwrap_or_default();
        let before = line
            .char_indices()
            .nth(span.start.col())
            .map_or(line, |(start, _)| &line[..start]);
        let is_plain = span.start.col() == indent
            && before.chars().all(|character| character == ' ')
            && span.start.line() == span.end.line()
            && self.rest(span.end).trim_start().starts_with(':');
        if is_plain {
            return Ok(());
        }
        Err(FrontmatterError::new(
            span.start.line(),
            "a key should stand at the beginning of its line, with its colon, and without a tab",
        ))
    }

    /// Parses the value of an entry after its key.
    fn entry(&mut self, name: String, key: Span) -> Result<Entry, FrontmatterError> {
        let line = key.start.line().saturating_sub(1);
        let mut entry = Entry {
            name,
            key: None,
            lines: line..self.lines.len(),
            value: Value::Other,
            texts: Vec::new(),
            comment: String::new(),
            is_block_text: false,
        };
        let (event, span) = self.next()?;
        let end = match event {
            Event::Scalar(text, style, ..) => {
                entry.is_block_text = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                let end = match style {
                    ScalarStyle::Plain if !text.is_empty() => span.end,
                    ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
                        self.end_of_quoted(span.start)
                    }
                    _ => self.after_colon(key.end),
                };
                entry.value = scalar(text.into_owned(), style);
                end
            }
            Event::SequenceStart(..) if Key::meant(&entry.name, &Value::Other).is_some() => {
                let (value, end) = self.list(key, span)?;
                entry.value = value;
                end
            }
            Event::Alias(_) => return Ok(entry),
            begin => {
                self.collect(&begin, &mut entry.texts)?;
                return Ok(entry);
            }
        };
        entry.comment = self.comment(end);
        Ok(entry)
    }

    /// Parses the rest of a list that has started; returns it with the end of its line.
    fn list(&mut self, key: Span, start: Span) -> Result<(Value, Marker), FrontmatterError> {
        let is_block = !self.rest(start.start).starts_with('[');
        let mut items = Vec::new();
        let mut is_flat = true;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::SequenceEnd => {
                    let value = if is_flat {
                        Value::List { items, is_block }
                    } else {
                        Value::Other
                    };
                    let bracket = span.start;
                    let after = Marker::new(bracket.index(), bracket.line(), bracket.col() + 1);
                    return Ok((
                        value,
                        if is_block {
                            self.after_colon(key.end)
                        } else {
                            after
                        },
                    ));
                }
                Event::Scalar(text, style, ..) => {
                    let text = match scalar(text.into_owned(), style) {
                        Value::Text(text) => Some(text),
                        _ => None,
                    };
                    // A list in brackets may have very many items on one line.
                    let line = if is_block {
                        self.line_of_item(span)
                    } else {
                        None
                    };
                    items.push(Item { text, line });
                }
                Event::Alias(_) => is_flat = false,
                begin => {
                    is_flat = false;
                    self.collect(&begin, &mut Vec::new())?;
                }
            }
        }
    }

    /// Reads the rest of a collection that has started with this event, and collects the texts in
    /// it, but for the keys of its mappings.
    fn collect(
        &mut self,
        begin: &Event<'_>,
        texts: &mut Vec<String>,
    ) -> Result<(), FrontmatterError> {
        // For each open collection: whether it is a mapping, and whether a key is next in it.
        let mut open = vec![(matches!(begin, Event::MappingStart(..)), true)];
        while let Some((is_mapping, is_key)) = open.last_mut() {
            let is_value = !*is_mapping || !*is_key;
            *is_key = !*is_key;
            let (event, span) = self.next()?;
            match event {
                Event::SequenceStart(..) => open.push((false, true)),
                Event::MappingStart(..) => open.push((true, true)),
                Event::SequenceEnd | Event::MappingEnd => drop(open.pop()),
                Event::Scalar(text, style, ..) if is_value && texts.len() < TEXTS_MAX => {
                    if let Value::Text(text) = scalar(text.into_owned(), style) {
                        texts.push(text);
                    }
                }
                _ => {}
            }
            if open.len() > DEPTH_MAX {
                return Err(FrontmatterError::new(
                    span.start.line(),
                    format!("it is nested in more than {DEPTH_MAX} levels"),
                ));
            }
        }
        Ok(())
    }

    /// Returns the line of an item of a block list, if nothing else is on it and the item ends
    /// there.
    fn line_of_item(&self, span: Span) -> Option<usize> {
        let line = span.start.line().checked_sub(1)?;
        let text = self.lines.get(line)?;
        let before = text
            .char_indices()
            .nth(span.start.col())
            .map(|(start, _)| &text[..start])?;
        (before.trim() == "-" && span.start.line() == span.end.line()).then_some(line)
    }

    /// Returns the comment that follows on the line, with the white space before it.
    fn comment(&self, end: Marker) -> String {
        let rest = self.rest(end).trim_end();
        let is_comment = rest.starts_with([' ', '\t']) && rest.trim_start().starts_with('#');
        if is_comment {
            rest.to_owned()
        } else {
            String::new()
        }
    }

    /// Returns the rest of the line.
    fn rest(&self, from: Marker) -> &'a str {
        let Some(line) = from
            .line()
            .checked_sub(1)
            .and_then(|line| self.lines.get(line))
        else {
            return "";
        };
        line.char_indices()
            .nth(from.col())
            .map_or("", |(start, _)| &line[start..])
    }

    /// Returns the position after the colon of a key that ends there, and after the header of a
    /// block scalar.
    fn after_colon(&self, key: Marker) -> Marker {
        let rest = self.rest(key);
        let head = |character: char| " \t:|>+-".contains(character) || character.is_ascii_digit();
        let passed = rest[..rest.len() - rest.trim_start_matches(head).len()].trim_end();
        Marker::new(key.index(), key.line(), key.col() + passed.len())
    }

    /// Returns the position after the closing quotation mark of a scalar, which the parser's spans
    /// exceed.
    fn end_of_quoted(&self, start: Marker) -> Marker {
        let mut quote = None;
        let mut line = start.line();
        let mut column = start.col();
        while let Some(text) = line.checked_sub(1).and_then(|line| self.lines.get(line)) {
            let mut characters = text.chars().enumerate().skip(column).peekable();
            while let Some((index, character)) = characters.next() {
                match quote {
                    None if matches!(character, '"' | '\'') => quote = Some(character),
                    Some('"') if character == '\\' => drop(characters.next()),
                    Some('\'')
                        if character == '\''
                            && characters.peek().is_some_and(|(_, next)| *next == '\'') =>
                    {
                        characters.next();
                    }
                    Some(open) if open == character => return Marker::new(0, line, index + 1),
                    _ => {}
                }
            }
            (line, column) = (line + 1, 0);
        }
        start
    }
}

fn scalar(text: String, style: ScalarStyle) -> Value {
    if style == ScalarStyle::Plain && matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL") {
        return Value::Null;
    }
    Value::Text(text)
}
