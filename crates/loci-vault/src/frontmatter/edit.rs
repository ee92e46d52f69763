//! Changes the lines of changed keys, and no others.

use loci_core::Note;

use super::ParsedNote;
use super::entries::Entry;
use super::keys::{Key, NoteKeys, normal_tag};
use super::scalar;
use super::value::{Item, Value};

/// A piece of the YAML: an entry of loci, or the text between two entries.
struct Piece {
    key: Option<Key>,
    text: String,
}

/// Returns the lines of a key for a file that does not have it.
pub(super) fn lines(key: Key, note: &Note, end: &str) -> String {
    let name = key.name();
    match note.scalar(key) {
        Some(value) => format!("{name}: {value}{end}"),
        None if key == Key::Tags && !note.tags.is_empty() => {
            block_list("", name, "", &note.tags, end)
        }
        None => String::new(),
    }
}

/// Returns the YAML for the note.
pub(super) fn yaml(parsed: &ParsedNote<'_>, note: &Note, end: &str) -> String {
    let mut pieces = pieces(parsed);
    let first = parsed
        .entries
        .first()
        .map_or("", |entry| parsed.lines[entry.lines.start]);
    let indent = &first[..first.len() - first.trim_start_matches(' ').len()];
    for (index, key) in Key::ALL.into_iter().enumerate() {
        if parsed.note.agrees(key, note) {
            continue;
        }
        if let Some(entry) = parsed.entry(key) {
            let text = changed(parsed, entry, key, note, indent, end);
            pieces
                .iter_mut()
                .filter(|piece| piece.key == Some(key))
                .for_each(|piece| piece.text.clone_from(&text));
            continue;
        }
        let text = lines(key, note, end);
        let text = text
            .split_inclusive('\n')
            .flat_map(|line| [indent, line])
            .collect();
        let place = place(&pieces, &Key::ALL[..index], &Key::ALL[index + 1..]);
        pieces.insert(
            place,
            Piece {
                key: Some(key),
                text,
            },
        );
    }
    pieces.into_iter().map(|piece| piece.text).collect()
}

/// Returns the position of a new key: after the nearest of the keys before it, else before the
/// nearest of the keys after it, else at the end.
fn place(pieces: &[Piece], before: &[Key], after: &[Key]) -> usize {
    let position = |key: &Key| pieces.iter().position(|piece| piece.key == Some(*key));
    let preceding = before
        .iter()
        .rev()
        .find_map(position)
        .map(|place| place + 1);
    preceding
        .or_else(|| after.iter().find_map(position))
        .unwrap_or(pieces.len())
}

fn pieces(parsed: &ParsedNote<'_>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut next = 0;
    for entry in &parsed.entries {
        let Some(key) = entry.key else {
            continue;
        };
        pieces.push(Piece {
            key: None,
            text: parsed.lines[next..entry.lines.start].concat(),
        });
        pieces.push(Piece {
            key: Some(key),
            text: parsed.lines[entry.lines.clone()].concat(),
        });
        next = entry.lines.end;
    }
    pieces.push(Piece {
        key: None,
        text: parsed.lines[next..].concat(),
    });
    pieces
}

/// Returns the new lines of an existing entry.
fn changed(
    parsed: &ParsedNote<'_>,
    entry: &Entry,
    key: Key,
    note: &Note,
    indent: &str,
    end: &str,
) -> String {
    let lines = &parsed.lines[entry.lines.clone()];
    let (name, comment) = (&entry.name, &entry.comment);
    if let Some(value) = note.scalar(key) {
        return format!("{indent}{name}: {value}{comment}{end}");
    }
    // Comments on separate lines stay.
    let is_list = matches!(entry.value, Value::List { .. });
    let remarks = lines
        .iter()
        .skip(1)
        .filter(|line| is_list && line.trim_start().starts_with('#'));
    let remarks: String = remarks.copied().collect();
    if key != Key::Tags || note.tags.is_empty() {
        return remarks;
    }
    if let Value::List {
        items,
        is_block: true,
    } = &entry.value
        && let Some(text) = kept_items(parsed, entry, items, &note.tags, end)
    {
        return text;
    }
    if lines.len() == 1 && entry.value != Value::Null {
        let tags: Vec<_> = note
            .tags
            .iter()
            .map(|tag| scalar::written(tag, true))
            .collect();
        return format!("{indent}{name}: [{}]{comment}{end}", tags.join(", "));
    }
    block_list(indent, name, comment, &note.tags, end) + &remarks
}

fn block_list(indent: &str, name: &str, comment: &str, tags: &[String], end: &str) -> String {
    let mut text = format!("{indent}{name}:{comment}{end}");
    for tag in tags {
        text += &format!("{indent}  - {}{end}", scalar::written(tag, false));
    }
    text
}

/// Returns the lines of a list without the lines of removed tags, and with new ones after its last
/// item. `None` if an item spans several lines, or the remaining tags are in another order.
fn kept_items(
    parsed: &ParsedNote<'_>,
    entry: &Entry,
    items: &[Item],
    tags: &[String],
    end: &str,
) -> Option<String> {
    let mut kept: Vec<&str> = Vec::new();
    let mut gone = Vec::new();
    let mut last = None;
    for item in items {
        let line = item.line?;
        match item
            .text
            .as_deref()
            .map(normal_tag)
            .filter(|tag| !tag.is_empty())
        {
            Some(tag) if !tags.iter().any(|wanted| wanted == tag) => gone.push(line),
            Some(tag) if !kept.contains(&tag) => kept.push(tag),
            _ => {}
        }
        last = Some(line);
    }
    let (stay, new) = tags.split_at_checked(kept.len())?;
    if stay != kept {
        return None;
    }
    let last = last?;
    let before = parsed.lines[last];
    let before = &before[..before.find('-')?];
    let mut text = String::new();
    for line in entry.lines.clone() {
        if !gone.contains(&line) {
            text += parsed.lines[line];
        }
        if line == last {
            text.extend(
                new.iter()
                    .map(|tag| format!("{before}- {}{end}", scalar::written(tag, false))),
            );
        }
    }
    Some(text)
}
