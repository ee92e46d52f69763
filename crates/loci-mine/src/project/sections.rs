//! The sections of a text.

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::path::Path;

use loci_core::limits::NAME_CHARACTERS_MAX;

/// Characters that neighbours may have together to be one section.
const JOINED_CHARACTERS_MAX: usize = 1_200;
/// Characters below which a section is joined where a neighbour has room.
const ALONE_CHARACTERS_MIN: usize = 200;
/// Characters of a section.
const SECTION_CHARACTERS_MAX: usize = 4_000;

/// Endings of files in which what belongs together is indented below a line at the margin.
const CODE_ENDINGS: &[&str] = &[
    "bash", "c", "cc", "cfg", "cjs", "clj", "cpp", "cs", "css", "cts", "cxx", "dart", "elm", "erl",
    "ex", "exs", "fish", "fs", "go", "gradle", "graphql", "groovy", "h", "hcl", "hh", "hpp", "hs",
    "hxx", "ini", "java", "jl", "js", "jsx", "kt", "kts", "less", "lua", "m", "mjs", "ml", "mli",
    "mm", "mts", "nim", "nix", "php", "pl", "pm", "proto", "ps1", "py", "pyi", "r", "rb", "rs",
    "sc", "scala", "scss", "sh", "sol", "sql", "svelte", "swift", "tf", "toml", "ts", "tsx", "v",
    "vue", "yaml", "yml", "zig", "zsh",
];
/// Endings of files in Markdown.
const MARKDOWN_ENDINGS: &[&str] = &["markdown", "md", "mdc", "mdown", "mdx", "mkd"];
/// Words that a definition's name follows.
const DEFINING_WORDS: &[&str] = &[
    "class",
    "const",
    "def",
    "defmodule",
    "defp",
    "enum",
    "fn",
    "fun",
    "func",
    "function",
    "interface",
    "macro_rules!",
    "message",
    "mod",
    "module",
    "namespace",
    "object",
    "protocol",
    "record",
    "service",
    "struct",
    "sub",
    "trait",
    "type",
    "union",
];
/// Words that may stand before those.
const MODIFIERS: &[&str] = &[
    "abstract",
    "async",
    "data",
    "declare",
    "default",
    "export",
    "extern",
    "final",
    "inline",
    "internal",
    "local",
    "open",
    "override",
    "partial",
    "private",
    "protected",
    "pub",
    "pub(crate)",
    "pub(super)",
    "public",
    "sealed",
    "static",
    "unsafe",
    "virtual",
];

/// A section of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Its bytes.
    pub bytes: Range<usize>,
    /// Its first and last line, from 1.
    pub lines: (usize, usize),
    /// Its heading, or what it defines, where that is cheap to see.
    pub title: Option<String>,
}

/// The sections of a text, which together are the whole text, byte for byte. By headings for
/// Markdown, by definitions at the margin for source code, by paragraphs else; small neighbours
/// stand together, and none has more than 4,000 characters, but for the end of a line and for white
/// space: a larger one is split at blank lines, else between lines, else within a line. None is
/// blank, unless the text is.
pub fn sections(path: &Path, text: &str) -> Vec<Section> {
    let ending = path
        .extension()
        .and_then(|ending| ending.to_str())
        .unwrap_or_default()
        .to_ascii_lowercase();
    let lines = lines(text);
    let starts = if MARKDOWN_ENDINGS.contains(&ending.as_str()) {
        markdown_starts(&lines)
    } else if CODE_ENDINGS.contains(&ending.as_str()) {
        code_starts(&lines)
    } else {
        paragraph_starts(&lines, 0..lines.len())
            .into_iter()
            .map(|start| (start, None))
            .collect()
    };
    let blocks = joined(
        blocks(&lines, starts)
            .into_iter()
            .flat_map(|block| split(&lines, block))
            .collect(),
    );
    blocks
        .into_iter()
        .filter_map(|block| block.section(&lines))
        .collect()
}

/// A line with its end, or a part of one that is too long.
struct Line<'a> {
    start: usize,
    text: &'a str,
    characters: usize,
    /// From 1.
    number: usize,
    /// True if it is part of a line, and not the first one.
    goes_on: bool,
}

impl Line<'_> {
    fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}

/// Lines that belong together.
struct Block {
    lines: Range<usize>,
    characters: usize,
    is_blank: bool,
    title: Option<String>,
}

impl Block {
    fn new(lines: &[Line<'_>], range: Range<usize>, title: Option<String>) -> Self {
        let characters = lines[range.clone()]
            .iter()
            .map(|line| line.characters)
            .sum();
        let is_blank = lines[range.clone()].iter().all(Line::is_blank);
        Block {
            lines: range,
            characters,
            is_blank,
            title,
        }
    }

    fn section(self, lines: &[Line<'_>]) -> Option<Section> {
        let own = &lines[self.lines];
        let (first, last) = (own.first()?, own.last()?);
        let bytes = first.start..last.start + last.text.len();
        Some(Section {
            bytes,
            lines: (first.number, last.number),
            title: self.title,
        })
    }
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut start = 0;
    for (index, mut rest) in text.split_inclusive('\n').enumerate() {
        let mut goes_on = false;
        while !rest.is_empty() {
            let cut = rest
                .char_indices()
                .nth(SECTION_CHARACTERS_MAX)
                .map(|(end, _)| end);
            // The end of a line stays with it.
            let end = cut
                .filter(|end| !rest[*end..].trim_end_matches(['\r', '\n']).is_empty())
                .unwrap_or(rest.len());
            let (part, behind) = rest.split_at(end);
            lines.push(Line {
                start,
                text: part,
                characters: part.chars().count(),
                number: index + 1,
                goes_on,
            });
            start += part.len();
            rest = behind;
            goes_on = true;
        }
    }
    lines
}

/// The blocks that start at these lines, with their titles, and what is before the first one.
fn blocks(lines: &[Line<'_>], mut starts: Vec<(usize, Option<String>)>) -> Vec<Block> {
    if starts.first().is_none_or(|(first, _)| *first > 0) {
        starts.insert(0, (0, None));
    }
    let ends: Vec<usize> = starts
        .iter()
        .skip(1)
        .map(|(start, _)| *start)
        .chain([lines.len()])
        .collect();
    starts
        .into_iter()
        .zip(ends)
        .map(|((start, title), end)| Block::new(lines, start..end, title))
        .collect()
}

/// Where a heading is (<https://spec.commonmark.org/0.31.2/>), neither in frontmatter nor in a
/// fenced block, and where frontmatter ends.
fn markdown_starts(lines: &[Line<'_>]) -> Vec<(usize, Option<String>)> {
    let mut starts = Vec::new();
    let begin = frontmatter(lines);
    if begin > 0 {
        starts.push((begin, None));
    }
    let mut fence: Option<&str> = None;
    for (index, line) in lines
        .iter()
        .enumerate()
        .skip(begin)
        .filter(|(_, line)| !line.goes_on)
    {
        match (fence, fence_of(line.text)) {
            (None, Some((mark, _))) => fence = Some(mark),
            (Some(open), Some((mark, ""))) if mark.starts_with(open) => fence = None,
            (None, None) => {
                if let Some(title) = heading(line.text).or_else(|| underlined(lines, index)) {
                    starts.retain(|(start, _)| *start != index);
                    starts.push((index, named(title)));
                }
            }
            _ => {}
        }
    }
    starts
}

/// The number of lines of the frontmatter.
fn frontmatter(lines: &[Line<'_>]) -> usize {
    let is_rule = |line: &Line<'_>| matches!(line.text.trim_end(), "---" | "...");
    if lines
        .first()
        .is_none_or(|line| line.text.trim_start_matches('\u{feff}').trim_end() != "---")
    {
        return 0;
    }
    lines
        .iter()
        .skip(1)
        .position(is_rule)
        .map_or(0, |end| end + 2)
}

/// The mark of a line that opens or closes a fenced block, and what follows it.
fn fence_of(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let mark = line
        .chars()
        .next()
        .filter(|mark| matches!(mark, '`' | '~'))?;
    let behind = line.trim_start_matches(mark);
    let length = line.len() - behind.len();
    // Three fences and as many behind a word are code within a line.
    (length >= 3 && !(mark == '`' && behind.contains('`')))
        .then(|| (&line[..length], behind.trim()))
}

/// The text without an indentation of up to three spaces; none if there is more.
fn at_margin(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    (line.len() - text.len() <= 3 && !text.starts_with('\t')).then_some(text)
}

fn heading(line: &str) -> Option<&str> {
    let text = at_margin(line)?;
    let behind = text.trim_start_matches('#');
    let level = text.len() - behind.len();
    if !(1..=6).contains(&level)
        || !(behind.is_empty() || behind.starts_with([' ', '\t', '\r', '\n']))
    {
        return None;
    }
    let title = behind.trim();
    let bare = title.trim_end_matches('#');
    Some(if bare.is_empty() || bare.ends_with([' ', '\t']) {
        bare.trim_end()
    } else {
        title
    })
}

/// The text of a line with a rule of `=` or `-` under it, which is a paragraph of its own.
fn underlined<'a>(lines: &[Line<'a>], index: usize) -> Option<&'a str> {
    let rule = at_margin(lines.get(index + 1)?.text)?.trim_end();
    let is_rule = rule.len() >= 3
        && (rule.chars().all(|mark| mark == '=') || rule.chars().all(|mark| mark == '-'));
    let text = at_margin(lines[index].text)?.trim_end();
    let is_text = !text.is_empty() && !text.starts_with(['-', '*', '+', '>', '|', '<', '=']);
    let is_alone = index == 0 || lines[index - 1].is_blank();
    (is_rule && is_text && is_alone).then_some(text)
}

/// Where a line at the margin follows a blank one, unless it closes something.
fn code_starts(lines: &[Line<'_>]) -> Vec<(usize, Option<String>)> {
    let is_start = |index: &usize| {
        let text = lines[*index].text;
        lines[*index - 1].is_blank()
            && !text.starts_with(char::is_whitespace)
            && !text.starts_with(['}', ')', ']'])
            && text.trim_end() != "end"
    };
    let starts: Vec<usize> = [0]
        .into_iter()
        .chain((1..lines.len()).filter(is_start))
        .collect();
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    let title = |range: Range<usize>| lines[range].iter().find_map(|line| defined(line.text));
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| (*start, title(*start..end)))
        .collect()
}

/// Returns the name that a line at the margin defines.
fn defined(line: &str) -> Option<String> {
    let is_implementation =
        line.starts_with("impl ") || line.starts_with("impl<") || line.starts_with("unsafe impl");
    if is_implementation {
        return named(
            line.split(['{', '\n'])
                .next()?
                .trim_end()
                .trim_end_matches(" where"),
        );
    }
    if line.starts_with(char::is_whitespace) {
        return None;
    }
    let mut words = line.split_whitespace();
    let mut is_definition = false;
    while let Some(word) = words.next() {
        let word = word.strip_suffix('*').unwrap_or(word);
        if DEFINING_WORDS.contains(&word) {
            is_definition = true;
        } else if is_definition && word.starts_with('(') {
            // The type that a method of Go belongs to.
            let _ = word.ends_with(')') || words.any(|word| word.ends_with(')'));
        } else if is_definition {
            let is_inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | ':');
            return named(
                word.split(|c| !is_inside(c))
                    .next()?
                    .trim_end_matches(['.', ':']),
            );
        } else if !MODIFIERS.contains(&word) && !word.starts_with('"') {
            return None;
        }
    }
    None
}

fn named(title: &str) -> Option<String> {
    (!title.is_empty()).then(|| title.chars().take(NAME_CHARACTERS_MAX).collect())
}

/// Where something follows a blank line.
fn paragraph_starts(lines: &[Line<'_>], range: Range<usize>) -> Vec<usize> {
    let is_start = |index: &usize| {
        *index == range.start || lines[*index - 1].is_blank() && !lines[*index].is_blank()
    };
    range.clone().filter(is_start).collect()
}

/// The parts of a block that is too large, of about the same size; of another one, itself.
fn split(lines: &[Line<'_>], block: Block) -> Vec<Block> {
    if block.characters <= SECTION_CHARACTERS_MAX {
        return vec![block];
    }
    let goal = block
        .characters
        .div_ceil(block.characters.div_ceil(SECTION_CHARACTERS_MAX));
    let paragraphs = paragraph_starts(lines, block.lines.clone());
    let ends = paragraphs.iter().skip(1).copied().chain([block.lines.end]);
    let mut parts: Vec<Block> = Vec::new();
    for range in paragraphs.iter().zip(ends).map(|(start, end)| *start..end) {
        let paragraph = Block::new(lines, range, block.title.clone());
        let single = |index| Block::new(lines, index..index + 1, block.title.clone());
        let pieces = if paragraph.characters > SECTION_CHARACTERS_MAX {
            paragraph.lines.map(single).collect()
        } else {
            vec![paragraph]
        };
        for piece in pieces {
            match parts.last_mut() {
                Some(part)
                    if part.characters < goal
                        && part.characters + piece.characters <= SECTION_CHARACTERS_MAX =>
                {
                    part.take(piece);
                }
                _ => parts.push(piece),
            }
        }
    }
    parts
}

/// Blocks of which small neighbours are one.
fn joined(blocks: Vec<Block>) -> Vec<Block> {
    let count = blocks.len();
    let mut kept: Vec<Block> = Vec::new();
    for (index, block) in blocks.into_iter().enumerate() {
        let is_small_end = index + 1 == count && block.characters < ALONE_CHARACTERS_MIN;
        match kept.last_mut() {
            Some(before) => {
                let is_small = is_small_end || before.characters < ALONE_CHARACTERS_MIN;
                let most = if is_small {
                    SECTION_CHARACTERS_MAX
                } else {
                    JOINED_CHARACTERS_MAX
                };
                let has_room = before.characters + block.characters <= most;
                if has_room || before.is_blank || block.is_blank {
                    before.take(block);
                } else {
                    kept.push(block);
                }
            }
            None => kept.push(block),
        }
    }
    kept
}

impl Block {
    /// Adds what follows.
    fn take(&mut self, next: Block) {
        self.lines.end = next.lines.end;
        self.characters += next.characters;
        self.is_blank &= next.is_blank;
        self.title = self.title.take().or(next.title);
    }
}
