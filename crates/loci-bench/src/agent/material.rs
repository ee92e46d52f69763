//! The calls that fill the store: those with the memories of the tasks, and the wanted number of
//! others around them.

use std::collections::BTreeMap;

use loci::exit::{Exit, Failure};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::corpus::Random;

/// The highest age of the memories around, in days.
const DAYS_AGO_MAX: usize = 300;
/// The default age of a memory, in days.
const DAYS_AGO: i64 = 20;
/// The number of sentences in a paragraph of a long text.
const SENTENCES_OF_A_PARAGRAPH: usize = 6;

/// A tool call. In the strings of its arguments, `{filler 4000}` stands for paragraphs of about
/// 4,000 characters, `{id NAME}`, `{tail NAME}` and `{head NAME}` for the id of the memory of that
/// name, its last and its first eight characters.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The name of the memory that it stores, for tasks that need its id.
    pub name: Option<String>,
    /// The dialect; in a step of a task, that of the task if left out.
    pub dialect: Option<String>,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// The caller; if left out, the local user, who may read everything.
    #[serde(rename = "as")]
    pub caller: Option<String>,
    /// The time of the call, in days before the questions.
    #[serde(default = "days_ago")]
    pub days_ago: i64,
    /// The number of times that it is made.
    #[serde(default = "once")]
    pub times: usize,
    /// In a step of a task: a part of the text of a result, whose id becomes `{shown}` from then
    /// on.
    pub shows: Option<String>,
}

const fn days_ago() -> i64 {
    DAYS_AGO
}

const fn once() -> usize {
    1
}

impl Call {
    /// Returns a call of that tool.
    pub fn now(tool: &str, arguments: Map<String, Value>) -> Self {
        let tool = tool.to_owned();
        Call {
            name: None,
            dialect: None,
            tool,
            arguments,
            caller: None,
            days_ago: 0,
            times: 1,
            shows: None,
        }
    }

    /// Returns the number of memories that it stores: its messages, or one.
    pub fn memories(&self) -> usize {
        self.times
            * self
                .arguments
                .get("messages")
                .and_then(Value::as_array)
                .map_or(1, Vec::len)
    }
}

/// The words, sentences and calls from which the memories around are made.
#[derive(Deserialize)]
struct Surroundings {
    /// The words for `{NAME}` in a text.
    words: BTreeMap<String, Vec<String>>,
    /// The sentences of long texts, `{filler …}`.
    sentences: Vec<String>,
    kinds: Vec<Kind>,
}

/// A kind of memory.
#[derive(Deserialize)]
struct Kind {
    /// The share of this kind in all calls, in proportion to the others.
    share: usize,
    /// The call; `{text}` in it stands for one of the texts.
    call: Call,
    texts: Vec<String>,
    /// The least and greatest length of the texts `{long}`, in characters.
    #[serde(default)]
    long: [usize; 2],
}

/// Parses one of the files that are built into the program.
pub fn read<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, Failure> {
    toml::from_str(text).map_err(|error| Failure::new(Exit::Failure, format!("{name}: {error}")))
}

/// Returns the calls that fill a store of about that many memories, oldest first; always including
/// the memories of the tasks.
///
/// # Errors
/// If the files are not in the form above.
pub fn calls(seed: u64, memories: usize) -> Result<Vec<Call>, Failure> {
    #[derive(Deserialize)]
    struct Memories {
        memories: Vec<Call>,
    }
    let around: Surroundings = read("surroundings.toml", include_str!("surroundings.toml"))?;
    let Memories {
        memories: mut calls,
    } = read("memories.toml", include_str!("memories.toml"))?;
    let mut random = Random(seed);
    for call in &mut calls {
        around.complete(&mut call.arguments, &mut random, None);
    }
    let mut left = memories.saturating_sub(calls.iter().map(Call::memories).sum());
    let shares: usize = around.kinds.iter().map(|kind| kind.share).sum();
    while left > 0 {
        let mut place = random.below(shares);
        let Some(kind) = around.kinds.iter().find(|kind| {
            let is_it = place < kind.share;
            place = place.saturating_sub(kind.share);
            is_it
        }) else {
            break;
        };
        let mut call = kind.call.clone();
        around.complete(&mut call.arguments, &mut random, Some(kind));
        call.days_ago = 1 + random.below(DAYS_AGO_MAX) as i64;
        left = left.saturating_sub(call.memories());
        calls.push(call);
    }
    calls.sort_by_key(|call| -call.days_ago);
    Ok(calls)
}

impl Surroundings {
    /// Replaces `{…}` in the arguments of a call by words, with the same one for `{project}`
    /// throughout.
    fn complete(
        &self,
        arguments: &mut Map<String, Value>,
        random: &mut Random,
        kind: Option<&Kind>,
    ) {
        let project = self.word("project", random).unwrap_or_default();
        let mut fill = |text: &str| self.filled(text, &project, random, kind);
        arguments
            .values_mut()
            .for_each(|value| in_strings(value, &mut fill));
    }

    fn filled(
        &self,
        text: &str,
        project: &str,
        random: &mut Random,
        kind: Option<&Kind>,
    ) -> String {
        expanded(text, |name| match (name, kind) {
            ("project", _) => Some(project.to_owned()),
            ("number", _) => Some((2 + random.below(998)).to_string()),
            ("text", Some(kind)) => {
                let text = kind.texts.get(random.below(kind.texts.len()))?;
                Some(self.filled(text, project, random, Some(kind)))
            }
            ("long", Some(kind)) => {
                let [least, most] = kind.long;
                let characters = least + random.below(most.saturating_sub(least));
                Some(self.paragraphs(characters, project, random))
            }
            _ => match name.strip_prefix("filler ") {
                Some(characters) => {
                    Some(self.paragraphs(characters.parse().ok()?, project, random))
                }
                None => self.word(name, random),
            },
        })
    }

    fn word(&self, name: &str, random: &mut Random) -> Option<String> {
        let words = self.words.get(name)?;
        words.get(random.below(words.len())).cloned()
    }

    /// Returns sentences of about that many characters, in paragraphs.
    fn paragraphs(&self, characters: usize, project: &str, random: &mut Random) -> String {
        let mut text = String::new();
        let mut sentences = 0;
        while text.len() < characters {
            let Some(sentence) = self.sentences.get(random.below(self.sentences.len())) else {
                break;
            };
            text += &self.filled(sentence, project, random, None);
            sentences += 1;
            text += if sentences % SENTENCES_OF_A_PARAGRAPH == 0 {
                "\n\n"
            } else {
                " "
            };
        }
        text.trim_end().to_owned()
    }
}

/// Changes every string in a value.
pub fn in_strings(value: &mut Value, change: &mut impl FnMut(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| in_strings(item, change)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| in_strings(field, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Replaces each `{name}` in the text for which `words` has a text.
pub fn expanded(text: &str, mut words: impl FnMut(&str) -> Option<String>) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        expanded += before;
        if let Some((word, after)) = after
            .split_once('}')
            .and_then(|(name, after)| Some((words(name)?, after)))
        {
            expanded += &word;
            rest = after;
        } else {
            expanded.push('{');
            rest = after;
        }
    }
    expanded + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_determines_the_store() {
        let of = |seed| calls(seed, 1_000).unwrap();
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        let memories: usize = of(1).iter().map(Call::memories).sum();
        assert!((1_000..1_010).contains(&memories), "{memories}");
        assert!(
            of(1)
                .windows(2)
                .all(|pair| pair[0].days_ago >= pair[1].days_ago),
            "oldest first"
        );
    }

    #[test]
    fn every_word_of_a_text_around_is_known() {
        for call in calls(1, 5_000).unwrap() {
            let arguments = Value::Object(call.arguments).to_string();
            let rest = arguments.replace("{id ", "");
            assert!(
                !rest.contains("{part") && !rest.contains("{text") && !rest.contains("{filler"),
                "{arguments}"
            );
        }
    }
}
