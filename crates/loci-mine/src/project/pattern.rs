//! The lines of an ignore file, for a library that reads some of them otherwise than git does:
//! there, braces enclose alternatives, a class may stand for `/` and knows no escapes, and every
//! white space at the end is left out.
//!
//! After gitignore(5) and git's `dir.c` and `wildmatch.c`.

use std::iter::Peekable;
use std::str::Chars;

/// The characters of a class that is called by a name, as wildmatch.c has them: ASCII alone.
const NAMED_CLASSES: [(&str, &[(char, char)]); 12] = [
    ("alnum", &[('0', '9'), ('A', 'Z'), ('a', 'z')]),
    ("alpha", &[('A', 'Z'), ('a', 'z')]),
    ("blank", &[(' ', ' '), ('\t', '\t')]),
    ("cntrl", &[('\0', '\x1f'), ('\x7f', '\x7f')]),
    ("digit", &[('0', '9')]),
    ("graph", &[('!', '~')]),
    ("lower", &[('a', 'z')]),
    ("print", &[(' ', '~')]),
    ("punct", &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')]),
    ("space", &[(' ', ' '), ('\t', '\r')]),
    ("upper", &[('A', 'Z')]),
    ("xdigit", &[('0', '9'), ('A', 'F'), ('a', 'f')]),
];

/// Characters that stand apart in a class of the library.
const CLASS_MARKS: [char; 4] = [']', '!', '^', '-'];

/// The line in the notation of the library; none if it can match nothing.
pub(super) fn translated(line: &str) -> Option<String> {
    let line = without_end_spaces(line);
    if line.starts_with('#') {
        return None;
    }
    let (negation, line) = line
        .strip_prefix('!')
        .map_or(("", line), |rest| ("!", rest));
    let (line, ending) = line
        .strip_suffix('/')
        .map_or((line, ""), |rest| (rest, "/"));
    let is_path = line.contains('/');
    let line = line.strip_prefix('/').unwrap_or(line);
    if line.is_empty() {
        return None;
    }
    let start = if is_path { "/" } else { "**/" };
    Some(format!("{negation}{start}{}{ending}", glob(line, is_path)?))
}

/// Spaces at the end say nothing unless they are escaped; other white space does.
fn without_end_spaces(line: &str) -> &str {
    let mut end = 0;
    let mut characters = line.char_indices();
    while let Some((place, character)) = characters.next() {
        match character {
            ' ' => {}
            '\\' => {
                end = characters
                    .next()
                    .map_or(line.len(), |(place, escaped)| place + escaped.len_utf8());
            }
            _ => end = place + character.len_utf8(),
        }
    }
    &line[..end]
}

fn glob(line: &str, is_path: bool) -> Option<String> {
    let mut glob = String::new();
    let mut characters = line.chars().peekable();
    let mut before = None;
    while let Some(character) = characters.next() {
        match character {
            '\\' => push_literal(&mut glob, characters.next()?),
            '?' => glob.push('?'),
            '[' => push_class(&mut glob, &mut characters)?,
            '*' => {
                let is_double = characters.peek() == Some(&'*');
                while characters.next_if_eq(&'*').is_some() {}
                let is_part = before.is_none_or(|before| before == '/')
                    && characters.peek().is_none_or(|c| *c == '/');
                glob.push_str(if is_double && is_part && is_path {
                    "**"
                } else {
                    "*"
                });
            }
            _ => push_literal(&mut glob, character),
        }
        before = Some(character);
    }
    Some(glob)
}

fn push_literal(glob: &mut String, character: char) {
    match character {
        '*' | '?' | '[' | '{' | '}' => glob.extend(['\\', character]),
        // At the end of a line or before its last slash, these would be left out.
        '\\' => glob.push_str("[\\]"),
        _ if character.is_whitespace() => glob.extend(['{', character, '}']),
        _ => glob.push(character),
    }
}

/// Reads a class behind its `[`. None if it is not closed, holds an unknown name or nothing: then
/// the line matches nothing.
fn push_class(glob: &mut String, characters: &mut Peekable<Chars<'_>>) -> Option<()> {
    let is_negated = characters
        .next_if(|mark| matches!(mark, '!' | '^'))
        .is_some();
    let mut ascii = [false; 128];
    let mut others = String::new();
    for (first, last) in class_ranges(characters)? {
        if last.is_ascii() {
            ascii
                .get_mut(first as usize..=last as usize)
                .unwrap_or_default()
                .fill(true);
        } else if first <= last {
            // Both git and the library take such characters apart into bytes.
            others.extend([first, '-', last]);
        }
    }
    // No class stands for `/`.
    ascii['/' as usize] = is_negated;

    let is_plain =
        |character: &char| ascii[*character as usize] && !CLASS_MARKS.contains(character);
    let mut inside = String::new();
    if ascii[']' as usize] {
        inside.push(']');
    }
    let mut plain = ('\0'..='\x7f').peekable();
    while let Some(first) = plain.next() {
        if is_plain(&first) {
            let last = std::iter::from_fn(|| plain.next_if(is_plain)).last();
            inside.push(first);
            inside.extend(last.into_iter().flat_map(|last| ['-', last]));
        }
    }
    inside.push_str(&others);
    let marks: Vec<char> = CLASS_MARKS[1..]
        .iter()
        .copied()
        .filter(|mark| ascii[*mark as usize])
        .collect();
    if !inside.is_empty() || is_negated {
        inside.extend(marks);
        glob.push_str(if is_negated { "[!" } else { "[" });
        glob.push_str(&inside);
        glob.push(']');
    } else if !marks.is_empty() {
        // `[!]` and `[^]` would be no classes.
        let marks: Vec<String> = marks.iter().map(char::to_string).collect();
        glob.push_str(&format!("{{{}}}", marks.join(",")));
    } else {
        return None;
    }
    Some(())
}

/// What a class holds, up to and without its `]`.
fn class_ranges(characters: &mut Peekable<Chars<'_>>) -> Option<Vec<(char, char)>> {
    let mut ranges = Vec::new();
    // Where a range may begin, if a hyphen follows.
    let mut begin = None;
    let mut is_first = true;
    loop {
        let mut character = characters.next()?;
        let next = characters.peek().copied();
        match (character, begin) {
            (']', _) if !is_first => return Some(ranges),
            ('-', Some(first)) if next.is_some_and(|next| next != ']') => {
                let last = characters.next()?;
                let last = if last == '\\' {
                    characters.next()?
                } else {
                    last
                };
                ranges.push((first, last));
                begin = None;
            }
            ('[', _) if next == Some(':') && class_name(characters).is_some() => {
                let name = class_name(characters)?;
                characters.by_ref().nth(name.len() + 2);
                ranges.extend(NAMED_CLASSES.iter().find(|(known, _)| *known == name)?.1);
                begin = None;
            }
            _ => {
                if character == '\\' {
                    character = characters.next()?;
                }
                ranges.push((character, character));
                begin = Some(character);
            }
        }
        is_first = false;
    }
}

/// The name in `:name:]`.
fn class_name(characters: &Peekable<Chars<'_>>) -> Option<String> {
    let inside: String = characters
        .clone()
        .skip(1)
        .take_while(|character| *character != ']')
        .collect();
    inside.strip_suffix(':').map(str::to_owned)
}
