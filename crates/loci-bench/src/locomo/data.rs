//! LoCoMo's file (Maharana et al., "Evaluating Very Long-Term Conversational Memory of LLM Agents",
//! 2024): conversations of many sessions, and questions with the turns that answer them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use loci::exit::{Exit, Failure};
use serde_json::Value;

/// The name of the file in its folder.
const FILE: &str = "locomo10.json";

/// A conversation of two people.
pub struct Conversation {
    /// Its name in the file.
    pub name: String,
    /// The sessions, in order.
    pub sessions: Vec<Session>,
    /// The questions about it.
    pub questions: Vec<Question>,
}

/// The turns of one day.
pub struct Session {
    /// The number of the session, from 1.
    pub number: u64,
    /// The day, as in 2023-05-08, if the file has it.
    pub date: Option<String>,
    /// The turns, in order.
    pub turns: Vec<Turn>,
}

/// A turn of one speaker.
pub struct Turn {
    /// Its id in the file.
    pub id: String,
    /// `Speaker: text [photo: caption]`.
    pub text: String,
    /// True if the first of the two speakers says it.
    pub is_first_speaker: bool,
}

/// A question.
pub struct Question {
    /// The text in natural language.
    pub text: String,
    /// The kind of question, from 1.
    pub category: u64,
    /// The ids of the turns that answer it, as the file writes them.
    pub turns: BTreeSet<String>,
    /// The sessions of these turns.
    pub sessions: BTreeSet<u64>,
}

/// Reads the file, or the one in that folder or its folder `locomo`.
///
/// # Errors
/// [`Exit::Usage`], with the expected argument.
pub fn read(path: &Path) -> Result<Vec<Conversation>, Failure> {
    let places = [
        path.to_owned(),
        path.join(FILE),
        path.join("locomo").join(FILE),
    ];
    let file: &PathBuf = places
        .iter()
        .find(|place| place.is_file())
        .unwrap_or(&places[0]);
    let wrong = |problem: &str| {
        let message = format!(
            "{} {problem}; give --data LoCoMo's {FILE}, or the folder with it",
            file.display()
        );
        Failure::new(Exit::Usage, message)
    };
    let text = std::fs::read_to_string(file)
        .map_err(|error| wrong(&format!("cannot be read ({error})")))?;
    let samples: Vec<Value> = serde_json::from_str(&text)
        .map_err(|error| wrong(&format!("is no list of conversations ({error})")))?;
    let conversations = samples.iter().map(conversation).collect::<Option<Vec<_>>>();
    conversations.ok_or_else(|| wrong("has a conversation without `sample_id` or `conversation`"))
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn conversation(sample: &Value) -> Option<Conversation> {
    let name = sample["sample_id"].as_str()?.to_owned();
    let conversation = sample["conversation"].as_object()?;
    let first = sample["conversation"]["speaker_a"]
        .as_str()
        .unwrap_or_default();
    let session = |number: u64| {
        let turns = conversation.get(&format!("session_{number}"))?.as_array()?;
        let date = conversation
            .get(&format!("session_{number}_date_time"))
            .and_then(Value::as_str)
            .and_then(date);
        Some(Session {
            number,
            date,
            turns: turns.iter().map(|value| turn(value, first)).collect(),
        })
    };
    let sessions = (1..).map_while(session).collect();
    let questions = items(&sample["qa"]).iter().map(question).collect();
    Some(Conversation {
        name,
        sessions,
        questions,
    })
}

fn turn(value: &Value, first_speaker: &str) -> Turn {
    let of = |key: &str| value[key].as_str().unwrap_or_default();
    let photo = value["blip_caption"]
        .as_str()
        .map_or_else(String::new, |caption| format!(" [photo: {caption}]"));
    Turn {
        id: of("dia_id").to_owned(),
        text: format!("{}: {}{photo}", of("speaker"), of("text")),
        is_first_speaker: of("speaker") == first_speaker,
    }
}

fn question(value: &Value) -> Question {
    let turns: BTreeSet<String> = items(&value["evidence"])
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    Question {
        text: value["question"].as_str().unwrap_or_default().to_owned(),
        category: value["category"].as_u64().unwrap_or_default(),
        sessions: turns.iter().filter_map(|id| session_of(id)).collect(),
        turns,
    }
}

/// Returns the session of a turn: `D3:5` is in the third. Some ids in the file have another form.
pub fn session_of(turn: &str) -> Option<u64> {
    let (session, _) = turn.strip_prefix('D')?.split_once(':')?;
    session
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| session.parse().ok())?
}

/// Parses `1:56 pm on 8 May, 2023` as 2023-05-08.
fn date(moment: &str) -> Option<String> {
    let (_, day) = moment.split_once(" on ")?;
    Date::strptime("%d %B, %Y", day.trim())
        .ok()
        .map(|date| date.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_sessions() {
        assert_eq!(
            date("1:56 pm on 8 May, 2023").as_deref(),
            Some("2023-05-08")
        );
        assert_eq!(
            date("12:48 am on 21 December, 2022").as_deref(),
            Some("2022-12-21")
        );
        assert_eq!(date("some day"), None);
        let rows = [
            ("D3:5", Some(3)),
            ("D30:05", Some(30)),
            ("D8:6; D9:17", Some(8)),
        ];
        for (turn, session) in rows
            .into_iter()
            .chain(["D:11:26", "D", "", "D+1:2"].map(|turn| (turn, None)))
        {
            assert_eq!(session_of(turn), session, "{turn}");
        }
    }
}
