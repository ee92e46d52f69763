//! Dumps of PostgreSQL as SQL, which `pg_dump` writes unless it is asked for another form: rows in
//! `COPY … FROM stdin` or in `INSERT INTO`.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

use crate::{PeerError, Result, folder};

/// The first bytes of a dump in the form that only `pg_restore` reads.
const CUSTOM: &[u8; 5] = b"PGDMP";
/// The largest size of a statement, or of a row of `COPY`, in bytes.
const STATEMENT_BYTES_MAX: usize = 64 << 20;
/// The first words of a line of `CREATE TABLE` that is no column.
const CONSTRAINTS: [&str; 7] = [
    "constraint",
    "primary",
    "unique",
    "foreign",
    "check",
    "exclude",
    "like",
];

/// A row: its values by the names of their columns; NULL is left out.
pub type Row = HashMap<String, String>;

/// A part of a dump.
pub enum Part {
    /// A row of a table, which is named without its schema.
    Row(String, Row),
    /// A row or statement that cannot be read, with the number of its first line.
    Broken(u64),
}

/// Returns true if the file is a dump that only `pg_restore` reads.
pub fn is_custom(path: &Path) -> bool {
    folder::begins_with(path, CUSTOM)
}

/// Passes each row of a dump to `visit`.
///
/// # Errors
/// If the file cannot be read; the first error of `visit`.
pub fn rows(path: &Path, mut visit: impl FnMut(Part) -> Result<()>) -> Result<()> {
    let unreadable = |source| PeerError::File {
        file: path.display().to_string(),
        source,
    };
    let file = File::open(path).map_err(unreadable)?;
    let mut dump = Dump {
        input: BufReader::new(file),
        number: 0,
        columns: HashMap::new(),
    };
    while let Some(line) = dump.line().map_err(unreadable)? {
        let number = dump.number;
        let Line::Text(line) = line else {
            continue;
        };
        if let Some((table, columns)) = copy_of(&line) {
            while let Some(line) = dump.line().map_err(unreadable)? {
                let row = match &line {
                    Line::Text(line) if line == "\\." => break,
                    Line::Text(line) => copied_row(line, &columns),
                    Line::Other => None,
                };
                let part = row.map_or(Part::Broken(dump.number), |row| {
                    Part::Row(table.clone(), row)
                });
                visit(part)?;
            }
        } else if starts_with(&line, "insert into ") {
            let statement = dump.statement(line).map_err(unreadable)?;
            match statement.and_then(|text| inserted(&text, &dump.columns)) {
                Some((table, rows)) => rows
                    .into_iter()
                    .try_for_each(|row| visit(Part::Row(table.clone(), row)))?,
                None => visit(Part::Broken(number))?,
            }
        } else if starts_with(&line, "create table ") {
            let statement = dump.statement(line).map_err(unreadable)?;
            if let Some((table, columns)) = statement.and_then(|text| created(&text)) {
                dump.columns.insert(table, columns);
            }
        }
    }
    Ok(())
}

enum Line {
    Text(String),
    /// A line that is too long, or no UTF-8.
    Other,
}

struct Dump {
    input: BufReader<File>,
    /// The number of the line that was read last, from 1.
    number: u64,
    /// The columns of each table.
    columns: HashMap<String, Vec<String>>,
}

impl Dump {
    fn line(&mut self) -> std::io::Result<Option<Line>> {
        let mut line = Vec::new();
        let limit = STATEMENT_BYTES_MAX as u64;
        let read = (&mut self.input).take(limit).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if read == STATEMENT_BYTES_MAX {
            self.input.skip_until(b'\n')?;
            return Ok(Some(Line::Other));
        }
        Ok(Some(
            String::from_utf8(line).map_or(Line::Other, Line::Text),
        ))
    }

    /// Returns the statement that the line starts: up to a semicolon at the end of a line that is outside
    /// quotation marks. `None` if it has no such end, or is too long.
    fn statement(&mut self, first: String) -> std::io::Result<Option<String>> {
        let marks = |text: &str| text.bytes().filter(|byte| *byte == b'\'').count();
        let mut count = marks(&first);
        let mut text = first;
        let mut is_whole = true;
        while !(count.is_multiple_of(2) && text.trim_end().ends_with(';')) {
            match self.line()? {
                None => return Ok(None),
                Some(Line::Text(line))
                    if is_whole && text.len() + line.len() < STATEMENT_BYTES_MAX =>
                {
                    count += marks(&line);
                    text.push('\n');
                    text.push_str(&line);
                }
                Some(Line::Text(line)) => {
                    // Only its end is looked for.
                    is_whole = false;
                    count += marks(&line);
                    text = line;
                }
                Some(Line::Other) => is_whole = false,
            }
        }
        Ok(is_whole.then_some(text))
    }
}

fn starts_with(line: &str, words: &str) -> bool {
    let start = line.as_bytes().get(..words.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(words.as_bytes()))
}

/// Returns the name of a table or column without its quotation marks, and what follows it. Of
/// `schema.table` it is the last part.
fn name(text: &str) -> Option<(String, &str)> {
    let mut rest = text.trim_start();
    loop {
        let (name, after) = if let Some(quoted) = rest.strip_prefix('"') {
            let (name, after) = quoted.split_once('"')?;
            (name.to_owned(), after)
        } else {
            let is_part = |character: char| character.is_alphanumeric() || "_$".contains(character);
            let end = rest.find(|character| !is_part(character));
            let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
            (name.to_lowercase(), after)
        };
        match after.strip_prefix('.') {
            Some(after) => rest = after,
            None => return (!name.is_empty()).then_some((name, after)),
        }
    }
}

/// Returns the names in brackets at the start of a text, and what follows them.
fn names(text: &str) -> Option<(Vec<String>, &str)> {
    let mut rest = text.trim_start().strip_prefix('(')?;
    let mut names = Vec::new();
    loop {
        let (name, after) = name(rest)?;
        names.push(name);
        let after = after.trim_start();
        if let Some(after) = after.strip_prefix(')') {
            return Some((names, after));
        }
        rest = after.strip_prefix(',')?;
    }
}

/// Returns the table and the columns of a line `COPY table (columns) FROM stdin;`.
fn copy_of(line: &str) -> Option<(String, Vec<String>)> {
    if !starts_with(line, "copy ") || !line.to_lowercase().contains(" from stdin") {
        return None;
    }
    let (table, rest) = name(&line["copy ".len()..])?;
    Some((table, names(rest)?.0))
}

fn copied_row(line: &str, columns: &[String]) -> Option<Row> {
    let values: Vec<&str> = line.split('\t').collect();
    if values.len() != columns.len() {
        return None;
    }
    let values = columns
        .iter()
        .zip(values)
        .filter(|(_, value)| *value != "\\N");
    values
        .map(|(column, value)| Some((column.clone(), unescaped(value)?)))
        .collect()
}

/// Returns a value of `COPY` without its backslashes; `None` if it is no UTF-8.
fn unescaped(value: &str) -> Option<String> {
    if !value.contains('\\') {
        return Some(value.to_owned());
    }
    let mut text = Vec::with_capacity(value.len());
    let mut bytes = value.bytes().peekable();
    let number = |first: u8,
                  bytes: &mut std::iter::Peekable<std::str::Bytes<'_>>,
                  base: u32,
                  most: usize| {
        let mut number = char::from(first).to_digit(base)?;
        for _ in 1..most {
            let Some(digit) = bytes
                .peek()
                .and_then(|byte| char::from(*byte).to_digit(base))
            else {
                break;
            };
            number = number * base + digit;
            bytes.next();
        }
        u8::try_from(number & 0xff).ok()
    };
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            text.push(byte);
            continue;
        }
        let escaped = bytes.next()?;
        text.push(match escaped {
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'0'..=b'7' => number(escaped, &mut bytes, 8, 3)?,
            b'x' if bytes.peek().is_some_and(u8::is_ascii_hexdigit) => {
                let first = bytes.next()?;
                number(first, &mut bytes, 16, 2)?
            }
            other => other,
        });
    }
    String::from_utf8(text).ok()
}

/// Returns the table and the columns of a statement `CREATE TABLE`.
fn created(statement: &str) -> Option<(String, Vec<String>)> {
    let (table, rest) = name(&statement["create table ".len()..])?;
    let lines = rest.trim_start().strip_prefix('(')?.lines();
    let columns = lines.filter_map(|line| {
        let (column, _) = name(line)?;
        let is_column = line.trim_start().starts_with('"') || !CONSTRAINTS.contains(&&*column);
        is_column.then_some(column)
    });
    Some((table, columns.collect()))
}

/// Returns the table and the rows of a statement `INSERT INTO`. Columns that it does not name are
/// those of the statement that created the table.
fn inserted(statement: &str, known: &HashMap<String, Vec<String>>) -> Option<(String, Vec<Row>)> {
    let (table, rest) = name(&statement["insert into ".len()..])?;
    let (columns, rest) = match names(rest) {
        Some((columns, rest)) => (columns, rest),
        None => (known.get(&table)?.clone(), rest),
    };
    let rest = rest.trim_start();
    if !starts_with(rest, "values") {
        return None;
    }
    let mut rest = &rest["values".len()..];
    let mut rows = Vec::new();
    loop {
        rest = rest.trim_start().strip_prefix('(')?;
        let mut values = Vec::new();
        loop {
            let (value, after) = value(rest)?;
            values.push(value);
            let after = after.trim_start();
            if let Some(after) = after.strip_prefix(')') {
                rest = after.trim_start();
                break;
            }
            rest = after.strip_prefix(',')?;
        }
        if values.len() != columns.len() {
            return None;
        }
        let pairs = columns.iter().cloned().zip(values);
        rows.push(
            pairs
                .filter_map(|(column, value)| Some((column, value?)))
                .collect(),
        );
        match rest.strip_prefix(',') {
            Some(after) => rest = after,
            None => return Some((table, rows)),
        }
    }
}

/// Returns the value at the start of a text, which is `None` for NULL, and what follows it.
fn value(text: &str) -> Option<(Option<String>, &str)> {
    let text = text.trim_start();
    let (has_escapes, quoted) = match text
        .strip_prefix(['E', 'e'])
        .and_then(|text| text.strip_prefix('\''))
    {
        Some(quoted) => (true, Some(quoted)),
        None => (false, text.strip_prefix('\'')),
    };
    let Some(mut rest) = quoted else {
        let end = text.find([',', ')'])?;
        let word = text[..end].trim();
        let value = (!word.eq_ignore_ascii_case("null")).then(|| word.to_owned());
        return Some((value, &text[end..]));
    };
    let mut value = String::new();
    loop {
        let (part, after) = rest.split_once('\'')?;
        value.push_str(part);
        let Some(doubled) = after.strip_prefix('\'') else {
            rest = after;
            break;
        };
        value.push('\'');
        rest = doubled;
    }
    // A cast may follow.
    if let Some(cast) = rest.strip_prefix("::") {
        rest = &cast[cast.find([',', ')'])?..];
    }
    let value = if has_escapes {
        unescaped(&value)?
    } else {
        value
    };
    Some((Some(value), rest))
}

/// Returns the elements of an array as PostgreSQL writes it: `{a,"b c"}`. NULL is left out.
pub fn array(text: &str) -> Vec<String> {
    let inner = text
        .trim()
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'));
    let mut elements = Vec::new();
    let (mut element, mut is_quoted, mut was_quoted) = (String::new(), false, false);
    let mut characters = inner.unwrap_or_default().chars();
    let mut end = |element: &mut String, was_quoted: &mut bool| {
        let element = std::mem::take(element);
        if std::mem::take(was_quoted)
            || !element.is_empty() && !element.eq_ignore_ascii_case("null")
        {
            elements.push(element);
        }
    };
    while let Some(character) = characters.next() {
        match character {
            '"' => {
                is_quoted = !is_quoted;
                was_quoted = true;
            }
            '\\' => element.extend(characters.next()),
            ',' if !is_quoted => end(&mut element, &mut was_quoted),
            other => element.push(other),
        }
    }
    end(&mut element, &mut was_quoted);
    elements
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the rows of a dump, each as `table column=value …`, or its first line if it is broken.
    fn told(dump: &str) -> Vec<String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), dump).unwrap();
        let mut told = Vec::new();
        rows(file.path(), |part| {
            told.push(match part {
                Part::Broken(line) => format!("line {line}"),
                Part::Row(table, row) => {
                    let mut pairs: Vec<String> = row
                        .iter()
                        .map(|(column, value)| format!("{column}={value}"))
                        .collect();
                    pairs.sort();
                    format!("{table} {}", pairs.join(" "))
                }
            });
            Ok(())
        })
        .unwrap();
        told
    }

    #[test]
    fn rows_of_copy_are_read_with_their_escapes() {
        let dump = "--\n-- PostgreSQL database dump\n--\nCOPY public.memories (id, content, \"Note\") FROM stdin;\n\
                    1\ta\\tb\\nc\\\\d\\101\\x42\t\\N\n2\tonly two\n3\t\t\\\\N\n\\.\n\nSELECT 1;\n";
        assert_eq!(
            told(dump),
            [
                "memories content=a\tb\nc\\dAB id=1",
                "line 6",
                "memories Note=\\N content= id=3"
            ]
        );
    }

    #[test]
    fn rows_of_insert_are_read_over_lines_and_by_the_columns_of_the_table() {
        let dump = "CREATE TABLE public.memories (\n    id uuid NOT NULL,\n    content text DEFAULT 'a;'::text,\n    \
                    weight real,\n    CONSTRAINT one CHECK ((weight > 0))\n);\n\
                    INSERT INTO public.memories VALUES ('1', 'it''s\n; (a), b', 0.5);\n\
                    INSERT INTO memories (id, content) VALUES\n\t('2', E'a\\\\b\\n'),\n\t('3', NULL);\n\
                    INSERT INTO other VALUES (1);\nINSERT INTO memories VALUES (1);\n\
                    INSERT INTO memories VALUES ('never closed";
        assert_eq!(
            told(dump),
            [
                "memories content=it's\n; (a), b id=1 weight=0.5",
                "memories content=a\\b\n id=2",
                "memories id=3",
                "line 12",
                "line 13",
                "line 14",
            ]
        );
    }

    #[test]
    fn arrays_are_read() {
        assert_eq!(
            array("{a,\"b, c\",\"d\\\"e\",NULL,\"NULL\",\"\"}"),
            ["a", "b, c", "d\"e", "NULL", ""]
        );
        assert_eq!(array("{}"), Vec::<String>::new());
        assert_eq!(array("no array"), Vec::<String>::new());
    }
}
