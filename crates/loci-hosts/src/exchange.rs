//! The JSON that a host and a hook exchange. Claude Code and Codex have the same forms; Gemini CLI
//! has other names of events and of the last answer.

use std::io::{self, Read};

use loci_mine::conversation;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use crate::host::{Event, HookReply, Host};

/// The largest input of a hook, in bytes.
const INPUT_BYTES_MAX: u64 = 8 << 20;

/// The sources of prompts that no person wrote.
const SYSTEM_SOURCES: [&str; 4] = ["system", "loop_wakeup", "schedule_wakeup", "poll_event"];

/// The answer that Gemini CLI names where it expects one.
const NO_ANSWER: &str = "[no response text]";

/// The input from a host, without the fields that no hook needs.
#[derive(Debug, Clone, Deserialize)]
pub struct Input {
    /// The text of the agent's last answer, at the event [`Stop`](crate::Event::Stop).
    #[serde(default)]
    last_assistant_message: Value,
    /// The same, as Gemini CLI names it.
    #[serde(default)]
    prompt_response: Value,
    /// The text of the prompt, at the event [`Prompt`](crate::Event::Prompt).
    #[serde(default)]
    prompt: Value,
    /// The source of the prompt, or of the session's start.
    #[serde(default)]
    source: Value,
    /// The id of the session.
    #[serde(default)]
    session_id: Value,
    /// The summary of the conversation, at the event [`PostCompact`](crate::Event::PostCompact).
    #[serde(default)]
    compact_summary: Value,
    /// The path of the session's transcript; `None` if the host keeps none.
    #[serde(rename = "transcript_path", default, deserialize_with = "text")]
    pub transcript: Option<String>,
    /// The folder that the session works in.
    #[serde(rename = "cwd", default, deserialize_with = "text")]
    pub folder: Option<String>,
    /// The folders of the session, of which Cursor names all.
    #[serde(default)]
    workspace_roots: Value,
    /// True if the agent goes on because a hook asked it to.
    #[serde(rename = "stop_hook_active", default, deserialize_with = "truth")]
    pub is_continued: bool,
}

/// Reads a text, or nothing of another type: a field that a host fills in another way must not stop the
/// work that needs the others.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => Some(text),
        _ => None,
    })
}

fn truth<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(value == true || value == "true")
}

impl Input {
    /// Reads the input of a hook; of more than 8 MiB, what comes before.
    ///
    /// # Errors
    /// It cannot be read, or is not the JSON of a host.
    pub fn read(input: impl Read) -> io::Result<Self> {
        let mut text = Vec::new();
        input.take(INPUT_BYTES_MAX).read_to_end(&mut text)?;
        // As an object first, because a list would be read as the fields in their order.
        let (fields, _) = if text.len() as u64 == INPUT_BYTES_MAX {
            loci_json::from_cut_slice::<Map<String, Value>>(&text)?
        } else {
            loci_json::from_slice::<Map<String, Value>>(&text)?
        };
        let mut input: Input = serde_json::from_value(Value::Object(fields))?;
        let first = input.workspace_roots.get(0).and_then(Value::as_str);
        input.folder = input.folder.take().or_else(|| first.map(str::to_owned));
        Ok(input)
    }

    /// Returns the text of the agent's last answer; `None` if the host did not name it.
    pub fn answer(&self) -> Option<&str> {
        let answer = self.last_assistant_message.as_str();
        answer
            .or_else(|| self.prompt_response.as_str())
            .filter(|answer| *answer != NO_ANSWER)
    }

    /// Returns the prompt of a person or a program that drives the host, without what the host put
    /// around it; `None` without one, or if the host itself made it, as for a timer.
    pub fn prompt(&self) -> Option<&str> {
        let is_of_system = self
            .source
            .as_str()
            .is_some_and(|source| SYSTEM_SOURCES.contains(&source));
        let prompt = self.prompt.as_str().filter(|_| !is_of_system)?;
        conversation::prompt(prompt)
    }

    /// Returns the id of the session; `None` if the host did not name it.
    pub fn session(&self) -> Option<&str> {
        self.session_id.as_str().filter(|id| !id.is_empty())
    }

    /// Returns what tells an event from others of this and other sessions: the session, the event,
    /// the source, the prompt and the path of the transcript; `None` if the host did not name the
    /// session.
    pub fn identity(&self, event: Event) -> Option<[&str; 5]> {
        let source = self.source.as_str().unwrap_or_default();
        let prompt = self.prompt.as_str().unwrap_or_default();
        let transcript = self.transcript.as_deref().unwrap_or_default();
        Some([self.session()?, event.name(), source, prompt, transcript])
    }

    /// Returns the summary that takes the place of the conversation; `None` if the host did not
    /// name it.
    pub fn summary(&self) -> Option<&str> {
        self.compact_summary.as_str()
    }
}

/// The reply of a hook to its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A text for the agent at an event, which is the start of its session or a prompt.
    Context(Event, String),
    /// A request to the agent, which does not stop yet.
    Continue(String),
}

impl Reply {
    /// Returns the reply as JSON for that host, which has its own names for events.
    pub fn value(&self, host: &Host) -> Value {
        match self {
            Reply::Context(_, text) if is_alone(host) => json!({"additional_context": text}),
            Reply::Context(event, text) => {
                let name = host.events().iter().find(|(_, one)| one == event);
                json!({
                    "hookSpecificOutput": {
                        "hookEventName": name.map_or(event.name(), |(name, _)| name),
                        "additionalContext": text,
                    }
                })
            }
            Reply::Continue(request) => json!({"decision": "block", "reason": request}),
        }
    }
}

/// Returns true if the host takes a text that only the agent sees.
fn is_alone(host: &Host) -> bool {
    host.hooks
        .is_some_and(|hooks| hooks.reply == HookReply::Alone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_no_hook_needs_may_have_any_form() {
        let input = |text: &str| Input::read(text.as_bytes());
        let full = input(
            r#"{"cwd": "/tea", "transcript_path": "/a", "stop_hook_active": true, "last_assistant_message": "At four.", "x": []}"#,
        )
        .unwrap();
        assert_eq!(full.folder.as_deref(), Some("/tea"));
        assert_eq!(full.transcript.as_deref(), Some("/a"));
        assert_eq!(full.answer(), Some("At four."));
        assert!(full.is_continued);
        let sparse =
            input(r#"{"transcript_path": null, "last_assistant_message": {"text": "?"}}"#).unwrap();
        assert_eq!(sparse.folder, None);
        assert_eq!(sparse.transcript, None);
        assert_eq!(sparse.answer(), None);
        assert!(!sparse.is_continued);
        assert_eq!(sparse.prompt(), None);
        assert_eq!(sparse.session(), None);
        assert_eq!(sparse.summary(), None);
        for text in ["", "{", "3"] {
            assert!(input(text).is_err(), "{text}");
        }
        let odd = input(
            r#"{"cwd": 3, "transcript_path": "/a", "stop_hook_active": null, "prompt": "Tea \ud83c"}"#,
        )
        .unwrap();
        assert_eq!(
            (odd.folder.as_deref(), odd.transcript.as_deref()),
            (None, Some("/a"))
        );
        assert_eq!(odd.prompt(), Some("Tea \u{fffd}"));
        let long = format!(r#"{{"session_id": "s", "prompt": "{}"#, "x".repeat(9 << 20));
        assert_eq!(input(&long).unwrap().session(), Some("s"));
    }

    #[test]
    fn prompts_of_the_system_are_none() {
        for (source, expected) in [
            (json!(null), Some("Tea?")),
            (json!("user"), Some("Tea?")),
            (json!("sdk"), Some("Tea?")),
            (json!("system"), None),
            (json!("loop_wakeup"), None),
            (json!("schedule_wakeup"), None),
            (json!("poll_event"), None),
        ] {
            let text = json!({"prompt": "Tea?", "source": source}).to_string();
            assert_eq!(Input::read(text.as_bytes()).unwrap().prompt(), expected);
        }
    }

    #[test]
    fn each_host_reads_its_own_name_of_an_event() {
        let reply = Reply::Context(Event::Prompt, "Tea.".to_owned());
        for (host, name) in [
            (&crate::CLAUDE_CODE, "UserPromptSubmit"),
            (&crate::CODEX, "UserPromptSubmit"),
            (&crate::GEMINI_CLI, "BeforeAgent"),
        ] {
            assert_eq!(
                reply.value(host),
                json!({"hookSpecificOutput": {"hookEventName": name, "additionalContext": "Tea."}})
            );
        }
    }

    #[test]
    fn cursor_names_folders_and_takes_a_text_alone() {
        let input = Input::read(&br#"{"workspace_roots": ["/tea", "/cake"]}"#[..]).unwrap();
        assert_eq!(input.folder.as_deref(), Some("/tea"));
        let input = Input::read(&br#"{"cwd": "/a", "workspace_roots": ["/tea"]}"#[..]).unwrap();
        assert_eq!(input.folder.as_deref(), Some("/a"));
        let input = Input::read(&br#"{"workspace_roots": [3]}"#[..]).unwrap();
        assert_eq!(input.folder, None);
        let reply = Reply::Context(Event::SessionStart, "Tea.".to_owned());
        assert_eq!(
            reply.value(&crate::CURSOR),
            json!({"additional_context": "Tea."})
        );
    }

    #[test]
    fn gemini_cli_names_an_answer_and_a_prompt_in_its_own_way() {
        let input = |value: Value| Input::read(value.to_string().as_bytes()).unwrap();
        let answered = input(json!({"prompt": "Tea?", "prompt_response": "At four."}));
        assert_eq!(answered.answer(), Some("At four."));
        let silent = input(json!({"prompt_response": NO_ANSWER}));
        assert_eq!(silent.answer(), None);
        let begun = input(json!({"prompt": "<hook_context>Cake.</hook_context>\n\nTea?"}));
        assert_eq!(begun.prompt(), Some("Tea?"));
        let alone = input(json!({"prompt": "<hook_context>Cake.</hook_context>"}));
        assert_eq!(alone.prompt(), None);
    }
}
