//! The sets that `scripts/retrieval-sets` builds.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Deserialize;

use crate::commands::bench::needles;
use crate::exit::{Exit, Failure};

/// Facts among the needles that answer no question.
const DISTRACTORS: usize = 1_500;

/// By which tools a set is filed and asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Through {
    Facts,
    Drawers,
    Notes,
    Messages,
    Mined,
}

#[derive(Deserialize)]
struct About {
    name: String,
    through: Through,
}

/// A text to file.
#[derive(Debug, Clone, Deserialize)]
pub struct Text {
    pub id: String,
    pub text: String,
    /// The conversation of a message.
    pub thread: Option<String>,
}

/// A question.
#[derive(Debug, Clone, Deserialize)]
pub struct Question {
    #[serde(rename = "question")]
    pub text: String,
    /// The ids of the texts that answer it; of a mined project, the paths of the files.
    pub answers: BTreeSet<String>,
    /// `train` or `test`.
    pub half: String,
}

/// Texts and questions.
pub struct Set {
    pub name: String,
    pub through: Through,
    pub folder: PathBuf,
    /// In order; none of a mined project, whose files are in the folder.
    pub texts: Vec<Text>,
    pub questions: Vec<Question>,
}

/// Reads the sets in a folder, those with these names or all, by name.
///
/// # Errors
/// [`Exit::Usage`] if there is none, or a file of one is none of a set.
pub fn read(folder: &Path, only: &[String]) -> Result<Vec<Set>, Failure> {
    let usage = |problem: String| {
        Failure::new(Exit::Usage, format!("{problem}; give --data the folder that scripts/retrieval-sets has filled"))
    };
    let listed =
        fs::read_dir(folder).map_err(|error| usage(format!("{} cannot be read ({error})", folder.display())))?;
    let mut folders: Vec<PathBuf> =
        listed.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.join("set.json").is_file()).collect();
    folders.sort();
    let mut sets = Vec::new();
    for folder in folders {
        let set = of(&folder).map_err(|problem| usage(format!("{} is no set: {problem}", folder.display())))?;
        if only.is_empty() || only.contains(&set.name) {
            sets.push(set);
        }
    }
    let missing = only.iter().find(|name| !sets.iter().any(|set| set.name == **name));
    match missing {
        Some(name) => Err(usage(format!("{} has no set {name}", folder.display()))),
        None if sets.is_empty() => Err(usage(format!("{} has no set", folder.display()))),
        None => Ok(sets),
    }
}

/// The facts and questions of `loci bench needles`, for training alone: its store is kept in this folder.
///
/// # Errors
/// If the folder cannot be made.
pub fn needles(folder: &Path) -> io::Result<Set> {
    let name = "needles".to_owned();
    let folder = folder.join(&name);
    fs::create_dir_all(&folder)?;
    let (facts, questions) = needles::facts(DISTRACTORS);
    let text = |(number, text): (usize, String)| Text { id: number.to_string(), text, thread: None };
    let question = |(text, fact): (String, usize)| Question {
        text,
        answers: BTreeSet::from([fact.to_string()]),
        half: "train".to_owned(),
    };
    let texts = facts.into_iter().enumerate().map(text).collect();
    let questions = questions.into_iter().map(question).collect();
    Ok(Set { name, through: Through::Facts, folder, texts, questions })
}

fn of(folder: &Path) -> Result<Set, String> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).map_err(|error| format!("{name}: {error}"));
    let About { name, through } = serde_json::from_str(&read("set.json")?).map_err(|error| error.to_string())?;
    let texts = if through == Through::Mined { Vec::new() } else { lines(&read("texts.jsonl")?)? };
    let questions = lines(&read("questions.jsonl")?)?;
    Ok(Set { name, through, folder: folder.to_owned(), texts, questions })
}

fn lines<T: for<'a> Deserialize<'a>>(text: &str) -> Result<Vec<T>, String> {
    let line = |(number, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| format!("line {}: {error}", number + 1))
    };
    text.lines().enumerate().map(line).collect()
}
