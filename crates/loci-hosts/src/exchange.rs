//! The JSON that a host and a hook exchange. Claude Code and Codex have the same forms.

use std::io::{self, Read};

use serde::Deserialize;
use serde_json::{Value, json};

/// The largest input of a hook, in bytes.
const INPUT_BYTES_MAX: u64 = 8 << 20;

/// The input from a host, without the fields that no hook needs.
#[derive(Debug, Clone, Deserialize)]
pub struct Input {
    /// The text of the agent's last answer, at the event [`Stop`](crate::Event::Stop).
    #[serde(default)]
    last_assistant_message: Value,
    /// The path of the session's transcript; `None` if the host keeps none.
    #[serde(rename = "transcript_path")]
    pub transcript: Option<String>,
    /// The folder that the session works in.
    #[serde(rename = "cwd")]
    pub folder: Option<String>,
    /// True if the agent goes on because a hook asked it to.
    #[serde(rename = "stop_hook_active", default)]
    pub is_continued: bool,
}

impl Input {
    /// Reads the input of a hook, of at most 8 MiB.
    ///
    /// # Errors
    /// It cannot be read, or is not the JSON of a host.
    pub fn read(input: impl Read) -> io::Result<Self> {
        let mut text = String::new();
        input.take(INPUT_BYTES_MAX).read_to_string(&mut text)?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Returns the text of the agent's last answer; `None` if the host did not name it.
    pub fn answer(&self) -> Option<&str> {
        self.last_assistant_message.as_str()
    }
}

/// The reply of a hook to its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A text for the agent at the start of its session.
    Context(String),
    /// A request to the agent, which does not stop yet.
    Continue(String),
}

impl Reply {
    /// Returns the reply as JSON.
    pub fn value(&self) -> Value {
        match self {
            Reply::Context(text) => json!({
                "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}
            }),
            Reply::Continue(request) => json!({"decision": "block", "reason": request}),
        }
    }
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
        for text in ["", "{", "3", r#"{"cwd": 3}"#] {
            assert!(input(text).is_err(), "{text}");
        }
    }
}
