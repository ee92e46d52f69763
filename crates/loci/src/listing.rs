//! Memories as people read them: whole and with exact ids and times in a pipe; on a terminal cut,
//! with short ids, times ago and the words that were looked for marked.

use std::collections::HashSet;
use std::io::{self, IsTerminal};

use loci_core::{Caller, Clock, Memory, Timestamp};
use loci_dialects::mememory::Record;
use loci_engine::short_id;
use loci_text::analysis::{query_terms, words};
use serde_json::{Value, json};

use crate::escaped::{Escaped, OneLine};
use crate::output::{Output, print};
use crate::style::Styles;
use crate::time_format::ago;
use crate::wiring::SystemClock;

/// The lines and characters of a memory's text that a list shows on a terminal.
const LINES_LISTED_MAX: usize = 6;
const CHARACTERS_LISTED_MAX: usize = 400;
/// The parts of a head line that are not dimmed: id, type and place.
const HEAD_PARTS: usize = 3;

/// The form in which memories are shown.
pub struct Listing {
    terminal: Option<Terminal>,
}

/// The form on a terminal. The texts for it are escaped, and are printed as they are.
struct Terminal {
    styles: Styles,
    now: Timestamp,
    /// The terms that were looked for.
    terms: HashSet<String>,
}

impl Listing {
    /// Returns how memories are shown on stdout, found by this question if there is one.
    pub fn of_stdout(question: Option<&str>) -> Self {
        let terminal = io::stdout().is_terminal().then(|| Terminal {
            styles: Styles::of_stdout(),
            now: SystemClock.now(),
            terms: question.map(query_terms).into_iter().flatten().collect(),
        });
        Listing { terminal }
    }

    /// Prints the value if JSON is asked for, otherwise the text, which has memories as this shows
    /// them.
    ///
    /// # Errors
    /// If stdout is closed or full.
    pub fn print(&self, output: Output, value: &Value, text: &str) -> io::Result<()> {
        if self.terminal.is_some() && !output.json {
            print(text)
        } else {
            output.either(value, text)
        }
    }

    /// Formats a memory in a list.
    pub fn listed(&self, record: &Record) -> String {
        match &self.terminal {
            Some(terminal) => terminal.listed(record),
            None => memory_text(record),
        }
    }

    /// Formats one memory, whole, with its id and its time.
    pub fn whole(&self, record: &Record) -> String {
        match &self.terminal {
            Some(terminal) => {
                let time = format!("{} ({})", terminal.time(record), to_second(record));
                terminal.text(&head(record, &record.id, time), &record.content)
            }
            None => memory_text(record),
        }
    }
}

impl Terminal {
    fn time(&self, record: &Record) -> String {
        let updated_at = record.updated_at.parse::<jiff::Timestamp>();
        updated_at.map_or_else(
            |_| to_second(record),
            |at| ago(self.now, Timestamp::from_microseconds(at.as_microsecond())),
        )
    }

    /// Formats a memory with at most [`LINES_LISTED_MAX`] lines and [`CHARACTERS_LISTED_MAX`]
    /// characters of its text.
    fn listed(&self, record: &Record) -> String {
        let content = record.content.trim_end();
        let by_lines = content
            .match_indices('\n')
            .nth(LINES_LISTED_MAX - 1)
            .map_or(content.len(), |(end, _)| end);
        let by_characters = content
            .char_indices()
            .nth(CHARACTERS_LISTED_MAX)
            .map_or(content.len(), |(end, _)| end);
        let end = by_lines.min(by_characters);
        let id = short_id(&record.id);
        let head = head(record, id, self.time(record));
        if end == content.len() {
            return self.text(&head, content);
        }
        let left = content[end..].chars().count();
        let more = format!("{left} more characters: loci show {}", OneLine(id));
        format!(
            "{}    {}\n",
            self.text(&head, &format!("{} …", content[..end].trim_end())),
            self.styles.dim(more)
        )
    }

    fn text(&self, head: &[String], content: &str) -> String {
        let (plain, dimmed) = head.split_at(HEAD_PARTS.min(head.len()));
        let id = plain.first().map_or("", String::as_str);
        let mut line = self.styles.bold(OneLine(id)).to_string();
        for part in plain.iter().skip(1) {
            line += &format!("  {}", OneLine(part));
        }
        let dimmed = OneLine(dimmed.join("  ")).to_string();
        format!(
            "{line}  {}\n    {}\n",
            self.styles.dim(dimmed),
            self.marked(content.trim_end()).replace('\n', "\n    ")
        )
    }

    /// Returns a text, escaped, with the words marked that were looked for.
    fn marked(&self, text: &str) -> String {
        if self.terms.is_empty() {
            return Escaped(text).to_string();
        }
        let mut marked = String::new();
        let mut done = 0;
        for (start, word) in words(text) {
            let is_found = query_terms(word)
                .iter()
                .any(|term| self.terms.contains(term));
            if is_found && start >= done {
                marked += &Escaped(&text[done..start]).to_string();
                marked += &self.styles.bright(Escaped(word)).to_string();
                done = start + word.len();
            }
        }
        marked + &Escaped(&text[done..]).to_string()
    }
}

/// Returns a memory as JSON, with where its words come from.
pub fn value_of(memory: Memory) -> Value {
    let (said_by, program) = (memory.said_by(), memory.provenance.program.clone());
    let mut value = json!(Record::of(&Caller::local(), memory));
    value["said_by"] = json!(said_by.name());
    if let Some(program) = program {
        value["program"] = json!(program);
    }
    value
}

/// Returns the time of the last update, to the second.
fn to_second(record: &Record) -> String {
    let second = record.updated_at.split(['.', 'Z']).next();
    second.unwrap_or_default().to_owned() + "Z"
}

/// Returns the parts of the line above a memory: id, type and place, then the rest.
fn head(record: &Record, id: &str, updated: String) -> Vec<String> {
    let mut head = vec![id.to_owned(), record.r#type.clone()];
    head.push(record.project.as_ref().map_or_else(
        || "global".to_owned(),
        |project| format!("project {project}"),
    ));
    head.push(updated);
    if !record.tags.is_empty() {
        head.push(format!("tags {}", record.tags.join(", ")));
    }
    if record.weight < 1.0 {
        head.push(format!("weight {}", record.weight));
    }
    if record.delivery.is_some() && record.r#type != "bootstrap" {
        head.push("bootstrap".to_owned());
    }
    for (word, value) in [
        ("expires", &record.expires_at),
        ("supersedes", &record.supersedes),
        ("superseded by", &record.superseded_by),
    ] {
        head.extend(value.as_ref().map(|value| format!("{word} {value}")));
    }
    head.extend(record.from_file.place());
    head.extend(
        record
            .authorship
            .author()
            .map(|author| format!("by {author}")),
    );
    head.extend(
        record
            .authorship
            .updated_by()
            .map(|writer| format!("rewritten by {writer}")),
    );
    head
}

/// Formats a memory for a pipe: a head line, then the whole text, indented.
fn memory_text(record: &Record) -> String {
    let head = head(record, &record.id, to_second(record)).join("  ");
    let content = record.content.trim_end().replace('\n', "\n    ");
    format!("{}\n    {content}\n", OneLine(head))
}

#[cfg(test)]
mod tests {
    use loci_core::{MemoryId, Space};

    use super::*;

    fn record(id: &str, content: &str) -> Record {
        let id = MemoryId::parse("id", id).unwrap();
        let at = Timestamp::from_microseconds(0);
        let memory = Memory::new(Space::default(), id, content, "fact", at);
        Record::of(&Caller::local(), memory)
    }

    fn terminal(question: &str) -> Terminal {
        Terminal {
            styles: Styles::of_stdout(),
            now: Timestamp::from_microseconds(0).plus_seconds(7_200),
            terms: query_terms(question).into_iter().collect(),
        }
    }

    #[test]
    fn a_long_text_is_cut_in_a_list() {
        let shown = |content: &str| {
            let text = terminal("").listed(&record("m1", content));
            text.split_once('\n').unwrap().1.to_owned()
        };
        assert_eq!(shown("one\ntwo\n"), "    one\n    two\n");
        assert_eq!(
            shown(&"é".repeat(400)),
            format!("    {}\n", "é".repeat(400))
        );
        let cut = format!(
            "    {} …\n    7 more characters: loci show m1\n",
            "é".repeat(400)
        );
        assert_eq!(shown(&"é".repeat(407)), cut);
        let lines = "line\n".repeat(9);
        let cut = format!(
            "{}    line …\n    15 more characters: loci show m1\n",
            "    line\n".repeat(5)
        );
        assert_eq!(shown(&lines), cut);
    }

    #[test]
    fn ids_are_short_and_times_are_told_from_now() {
        let memory = record("0198c0de-0000-7000-8000-0123456789ab", "text");
        let text = terminal("").listed(&memory);
        let head = "456789ab  fact  global  2 hours ago  weight 0.5  by anonymous";
        assert_eq!(text, format!("{head}\n    text\n"));
        let piped = memory_text(&memory);
        assert!(
            piped.starts_with(
                "0198c0de-0000-7000-8000-0123456789ab  fact  global  1970-01-01T00:00:00Z  weight 0.5"
            ),
            "{piped}"
        );
    }

    #[test]
    fn the_words_that_were_looked_for_are_marked() {
        let marked = |question: &str, text: &str| {
            let styles = Styles::marking();
            Terminal {
                styles,
                ..terminal(question)
            }
            .marked(text)
            .replace("\u{1b}[1;33m", "<")
            .replace("\u{1b}[0m", ">")
        };
        let rows = [
            (
                "deploys",
                "The deploy runs: deployed!\n",
                "The <deploy> runs: <deployed>!\n",
            ),
            ("when is the tea?", "The tea is here", "The <tea> is here"),
            ("", "tea", "tea"),
            ("x", "x\u{1b}[2J x", "<x>\\u{1b}[2J <x>"),
        ];
        for (question, text, expected) in rows {
            assert_eq!(marked(question, text), expected, "{question}");
        }
    }
}
