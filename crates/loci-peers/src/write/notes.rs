//! Notes in Markdown, as basic-memory and Obsidian read them: a file for each memory, with keys in YAML
//! before the text, and links after it.
//!
//! The name of a file is told by the title, or the first words, and a part of a hash of the id, so that it
//! is the same in each export and a link can name it without a `|`.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{OWN_ID, OWN_PROJECT, Target, Written, make_file, moment};
use crate::{PeerFact, PeerMemory};

/// The line between a text and its links.
pub(crate) const END_OF_TEXT: &str = "<!-- loci: the links of this memory, no part of its text -->";
/// The key of a note that only has facts.
pub(crate) const FACTS: &str = "loci_facts";
/// The key of the title that the memory itself has.
pub(crate) const OWN_TITLE: &str = "loci_title";
/// The folder of memories without a project.
const NO_PROJECT: &str = "global";
/// The folder of facts.
const FACTS_FOLDER: &str = "facts";
/// The type of a note whose memory has no type.
const KIND: &str = "note";
/// The characters of a name before the hash.
const NAME_CHARACTERS: usize = 60;
/// The bytes of the hash in a name.
const HASH_BYTES: usize = 4;

pub struct Notes {
    root: PathBuf,
    /// The names of the files, by the id.
    names: HashMap<String, String>,
    /// The links of a file, which may lead to memories that come later.
    links: Vec<(PathBuf, Vec<(String, String)>)>,
    /// The lines about each subject.
    facts: BTreeMap<String, String>,
}

impl Notes {
    pub fn new(root: &Path) -> Self {
        Notes {
            root: root.to_owned(),
            names: HashMap::new(),
            links: Vec::new(),
            facts: BTreeMap::new(),
        }
    }

    fn write(&self, folder: &str, name: &str, text: &str) -> io::Result<PathBuf> {
        let folder = self.root.join(folder);
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{name}.md"));
        let mut file = make_file(&path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        Ok(path)
    }
}

impl Target for Notes {
    fn memory(&mut self, memory: &PeerMemory, _: &mut Written) -> io::Result<()> {
        let shown = memory.title.as_deref().unwrap_or(&memory.text);
        let name = file_name(shown, &memory.id);
        let project = memory.container.as_deref().unwrap_or(NO_PROJECT);
        let folder = words(project, NAME_CHARACTERS).unwrap_or_else(|| NO_PROJECT.to_owned());
        let mut text = head(&name, memory.kind.as_deref().unwrap_or(KIND), &folder);
        put_key(&mut text, OWN_ID, &json!(memory.id));
        if let Some(project) = &memory.container {
            put_key(&mut text, OWN_PROJECT, &json!(project));
        }
        if let Some(title) = &memory.title {
            put_key(&mut text, OWN_TITLE, &json!(title));
            // Obsidian offers it where a link is written.
            put_key(&mut text, "aliases", &json!([title]));
        }
        if !memory.tags.is_empty() {
            put_key(&mut text, "tags", &json!(memory.tags));
        }
        for (key, time) in [
            ("created", memory.created_at),
            ("updated", memory.updated_at),
        ] {
            if let Some(time) = time {
                put_key(&mut text, key, &json!(moment(time)));
            }
        }
        text += "---\n\n";
        text += &memory.text;
        if !memory.links.is_empty() || memory.text.contains(END_OF_TEXT) {
            let _ = write!(text, "\n\n{END_OF_TEXT}\n");
        }
        let path = self.write(&folder, &name, &text)?;
        self.names.insert(memory.id.clone(), name);
        if !memory.links.is_empty() {
            self.links.push((path, memory.links.clone()));
        }
        Ok(())
    }

    fn fact(&mut self, fact: &PeerFact, _: &mut Written) -> io::Result<Option<&'static str>> {
        let PeerFact {
            subject,
            predicate,
            object,
            valid_from,
            valid_to,
            ..
        } = fact;
        // Signs that a line of facts is made of would be read as something else.
        let is_plain = |name: &str| {
            !name.trim().is_empty()
                && name.trim() == name
                && !name.contains([
                    '[', ']', '(', ')', '#', '"', '\'', '|', '\n', '\r', '@', '`',
                ])
        };
        // Of one character, it would be the mark of a task.
        let is_word = predicate.chars().count() > 1 && !predicate.contains(':');
        if ![subject, predicate, object]
            .iter()
            .all(|name| is_plain(name))
            || !is_word
        {
            return Ok(Some("facts with signs that a line of facts is made of"));
        }
        let line = match (valid_from, valid_to) {
            (None, None) => format!("- \"{predicate}\" [[{object}]]\n"),
            (from, to) => {
                let from = from.map_or_else(String::new, bound);
                let to = to.map_or_else(String::new, bound);
                format!("- [{predicate}] @effective[{from},{to}] {object}\n")
            }
        };
        *self.facts.entry(subject.clone()).or_default() += &line;
        Ok(None)
    }

    fn finish(&mut self) -> io::Result<()> {
        for (path, links) in std::mem::take(&mut self.links) {
            let mut lines = String::new();
            for (target, relation) in links {
                // A link may lead to what was forgotten, or is another person's.
                if let Some(name) = self.names.get(&target) {
                    let _ = writeln!(lines, "- {relation} [[{name}]]");
                }
            }
            let mut file = OpenOptions::new().append(true).open(path)?;
            file.write_all(lines.as_bytes())?;
            file.sync_all()?;
        }
        for (subject, lines) in std::mem::take(&mut self.facts) {
            let name = file_name(&subject, &subject);
            let mut text = head(&subject, FACTS_FOLDER, FACTS_FOLDER);
            put_key(&mut text, FACTS, &json!(true));
            text += "---\n\n";
            text += &lines;
            self.write(FACTS_FOLDER, &name, &text)?;
        }
        Ok(())
    }
}

/// Returns a day, or a moment.
fn bound((first, last): (Timestamp, Timestamp)) -> String {
    let text = first.to_string();
    let is_day = first != last;
    match text.split_once('T') {
        Some((day, _)) if is_day => day.to_owned(),
        _ => text,
    }
}

/// Returns the start of the keys of a note.
fn head(name: &str, kind: &str, folder: &str) -> String {
    let mut text = "---\n".to_owned();
    put_key(&mut text, "title", &json!(name));
    put_key(&mut text, "type", &json!(kind));
    let permalink = format!("{folder}/{name}").replace(' ', "-").to_lowercase();
    put_key(&mut text, "permalink", &json!(permalink));
    text
}

/// Adds a key. JSON on one line is YAML.
fn put_key(text: &mut String, key: &str, value: &serde_json::Value) {
    let _ = writeln!(text, "{key}: {value}");
}

fn file_name(shown: &str, id: &str) -> String {
    let hash = HEXLOWER.encode(&Sha256::digest(id)[..HASH_BYTES]);
    match words(shown, NAME_CHARACTERS) {
        Some(words) => format!("{words} {hash}"),
        None => hash,
    }
}

/// Returns the first words of a text that any file system has as a name, and no link reads otherwise.
fn words(text: &str, characters: usize) -> Option<String> {
    let plain = |character: char| character.is_alphanumeric() || "-_".contains(character);
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    let words: String = line
        .chars()
        .map(|character| if plain(character) { character } else { ' ' })
        .collect();
    let words: Vec<&str> = words.split_whitespace().collect();
    let short: String = words.join(" ").chars().take(characters).collect();
    let short = short.trim().trim_start_matches('-').trim();
    (!short.is_empty()).then(|| short.to_owned())
}
