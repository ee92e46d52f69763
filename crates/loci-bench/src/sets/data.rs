//! Reads sets from the disk.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use loci::exit::{Exit, Failure};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::StoringTools;
use crate::locomo::data::Conversation;
use crate::{locomo, needles};

/// The number of facts among the needles that answer no question.
const DISTRACTORS: usize = 1_500;
/// The file that marks a folder as a set.
const ABOUT: &str = "set.json";

/// The description of a set.
#[derive(Debug, Clone, Deserialize)]
pub struct About {
    /// Its name.
    pub name: String,
    /// The kind of texts; sets of one kind resemble each other.
    pub kind: String,
    /// The tools that store it.
    pub through: StoringTools,
}

/// A text to store.
#[derive(Debug, Deserialize)]
pub struct Text {
    /// Its id in the set.
    pub id: String,
    /// The content of the memory.
    #[serde(rename = "text")]
    pub content: String,
    /// The conversation of the message.
    #[serde(default)]
    pub thread: String,
    /// The speaker: `human`, `ai` or `tool`.
    #[serde(default = "human")]
    pub role: String,
    /// The tags of a message.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The title of a note.
    #[serde(default)]
    pub title: String,
}

fn human() -> String {
    "human".to_owned()
}

/// A question.
#[derive(Debug, Deserialize)]
pub struct Question {
    /// The text of the question.
    #[serde(rename = "question")]
    pub query: String,
    /// The texts of which any is an answer.
    pub answers: Vec<String>,
    /// `train` or `test`.
    pub half: String,
    /// The kind of question, if a set has several; each is scored separately.
    #[serde(default)]
    pub kind: String,
}

/// A set that was read.
pub struct Set {
    /// Its folder.
    pub folder: PathBuf,
    /// Its description.
    pub about: About,
    /// The texts to store, in this order; empty for files that are mined.
    pub texts: Vec<Text>,
    /// The questions about the texts.
    pub questions: Vec<Question>,
    /// The SHA-256 of the stored content, in hexadecimal digits.
    pub version: String,
}

impl Set {
    /// Reads the set of a folder.
    ///
    /// # Errors
    /// [`Exit::Usage`], naming the file that cannot be read or understood.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        let about: About = parsed(&folder.join(ABOUT), &text_of(&folder.join(ABOUT))?)?;
        let mut digest = Sha256::new();
        let texts = if about.through == StoringTools::Mined {
            for file in files(&folder.join(FILES))? {
                digest.update(file.as_os_str().as_encoded_bytes());
                digest.update(fs::read(&file).map_err(|error| unreadable(&file, &error))?);
            }
            Vec::new()
        } else {
            let file = folder.join("texts.jsonl");
            let text = text_of(&file)?;
            digest.update(&text);
            lines(&file, &text)?
        };
        let file = folder.join("questions.jsonl");
        let questions = lines(&file, &text_of(&file)?)?;
        Ok(Set {
            folder: folder.to_owned(),
            about,
            texts,
            questions,
            version: HEXLOWER.encode(&digest.finalize()),
        })
    }
}

impl Set {
    /// Returns the needles of a half (`train` or `test`), as facts of a set whose store is kept in
    /// that folder.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn of_needles(data: &Path, half: &str) -> Result<Self, Failure> {
        let name = match half {
            "train" => "needles".to_owned(),
            _ => format!("needles-{half}"),
        };
        let folder = data.join(&name);
        fs::create_dir_all(&folder)?;
        let (facts, questions) = needles::facts(half, DISTRACTORS);
        let version = HEXLOWER.encode(&Sha256::digest(facts.join("\n")));
        let text = |(number, content): (usize, String)| Text {
            id: number.to_string(),
            content,
            thread: String::new(),
            role: human(),
            tags: Vec::new(),
            title: String::new(),
        };
        let question = |(kind, query, fact): (&str, String, usize)| Question {
            kind: kind.to_owned(),
            query,
            answers: vec![fact.to_string()],
            half: half.to_owned(),
        };
        let about = About {
            name,
            kind: "isolated facts".to_owned(),
            through: StoringTools::Facts,
        };
        let texts = facts.into_iter().enumerate().map(text).collect();
        let questions = questions.into_iter().map(question).collect();
        Ok(Set {
            folder,
            about,
            texts,
            questions,
            version,
        })
    }
}

impl Set {
    /// Returns the conversations of LoCoMo, each as a set of messages whose store is kept in that
    /// folder. A question that the conversation does not answer has no answers.
    ///
    /// # Errors
    /// [`Exit::Usage`] if the file cannot be read; else if a folder cannot be made.
    pub fn of_locomo(data: &Path, file: &Path) -> Result<Vec<Self>, Failure> {
        let conversations = locomo::data::read(file)?.into_iter().enumerate();
        conversations
            .map(|(number, conversation)| {
                let half = if number < locomo::DEV_CONVERSATIONS {
                    "train"
                } else {
                    "test"
                };
                Set::of_conversation(data, &conversation, half)
            })
            .collect()
    }

    fn of_conversation(
        data: &Path,
        conversation: &Conversation,
        half: &str,
    ) -> Result<Self, Failure> {
        let name = format!("locomo-{}", conversation.name);
        let folder = data.join(&name);
        fs::create_dir_all(&folder)?;
        let mut texts = Vec::new();
        for session in &conversation.sessions {
            texts.extend(session.turns.iter().map(|turn| Text {
                id: turn.id.clone(),
                content: turn.text.clone(),
                thread: format!("session {}", session.number),
                role: if turn.is_first_speaker { "human" } else { "ai" }.to_owned(),
                tags: session.date.iter().cloned().collect(),
                title: String::new(),
            }));
        }
        let known: HashSet<&str> = texts.iter().map(|text| text.id.as_str()).collect();
        let question = |question: &locomo::data::Question| {
            let is_answered = question.category != UNANSWERED;
            let answers: Vec<String> = question.turns.iter().cloned().collect();
            let is_known = answers.iter().all(|turn| known.contains(turn.as_str()));
            let is_usable = !is_answered || (is_known && !answers.is_empty());
            is_usable.then(|| Question {
                query: question.text.clone(),
                answers: if is_answered { answers } else { Vec::new() },
                half: half.to_owned(),
                kind: String::new(),
            })
        };
        let questions = conversation.questions.iter().filter_map(question).collect();
        let mut digest = Sha256::new();
        for text in &texts {
            digest.update(&text.content);
        }
        Ok(Set {
            folder,
            about: About {
                name,
                kind: "talk".to_owned(),
                through: StoringTools::Messages,
            },
            questions,
            texts,
            version: HEXLOWER.encode(&digest.finalize()),
        })
    }
}

/// The category of LoCoMo's questions that the conversation does not answer.
const UNANSWERED: u64 = 5;

/// The folder of the files to mine.
pub const FILES: &str = "files";

/// Returns the sets in a folder, or the ones with these names, in the order of their names.
///
/// # Errors
/// [`Exit::Usage`] if there is no set, or none of a name.
pub fn folders(data: &Path, only: &[String]) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(data).map_err(|error| unreadable(data, &error))?;
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    folders.retain(|folder| folder.join(ABOUT).is_file());
    folders.sort();
    let is_named =
        |folder: &Path, name: &str| folder.file_name().is_some_and(|found| found == name);
    if let Some(name) = only
        .iter()
        .find(|name| !folders.iter().any(|folder| is_named(folder, name)))
    {
        let problem = format!("--only: there is no set {name} in {}", data.display());
        return Err(Failure::new(Exit::Usage, problem));
    }
    folders.retain(|folder| only.is_empty() || only.iter().any(|name| is_named(folder, name)));
    if folders.is_empty() {
        let problem = format!(
            "{} holds no set; build them with scripts/retrieval-sets {0}",
            data.display()
        );
        return Err(Failure::new(Exit::Usage, problem));
    }
    Ok(folders)
}

/// Returns the files in a folder and its subfolders, in the order of their paths.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let (mut found, mut waiting) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| unreadable(&folder, &error))? {
            let path = entry.map_err(|error| unreadable(&folder, &error))?.path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn text_of(file: &Path) -> Result<String, Failure> {
    fs::read_to_string(file).map_err(|error| unreadable(file, &error))
}

fn lines<T: DeserializeOwned>(file: &Path, text: &str) -> Result<Vec<T>, Failure> {
    text.lines().map(|line| parsed(file, line)).collect()
}

fn parsed<T: DeserializeOwned>(file: &Path, text: &str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| {
        let problem = format!(
            "{} is not as scripts/retrieval-sets writes it: {error}",
            file.display()
        );
        Failure::new(Exit::Usage, problem)
    })
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let problem = format!(
        "{} cannot be read ({error}); give --data a folder of sets",
        path.display()
    );
    Failure::new(Exit::Usage, problem)
}
