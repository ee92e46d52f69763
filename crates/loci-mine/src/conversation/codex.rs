//! Codex: `~/.codex/sessions/**/rollout-*.jsonl`. Today each line is an envelope (`timestamp`,
//! `type`, `payload`), and what was said stands in those of the type `response_item`; the events
//! beside them repeat it for the screen. Until 2025 the lines were such items themselves, without a
//! time, after a first line about the session.

use serde_json::Value;

use super::value::{moment, spoken, texts, title};
use super::{Conversation, Gather};

/// Elements in what the program, not the person, says to the model.
const PROGRAM: &[&str] = &[
    "INSTRUCTIONS",
    "environment_context",
    "permissions instructions",
    "skill",
    "skills_instructions",
    "subagent_notification",
    "turn_aborted",
    "user_action",
    "user_instructions",
    "user_shell_command",
];
/// How the instructions of a project begin.
const INSTRUCTIONS_BEGIN: &str = "# AGENTS.md instructions";
/// What an envelope holds.
const ENVELOPES: [&str; 5] = [
    "session_meta",
    "response_item",
    "event_msg",
    "turn_context",
    "compacted",
];
const TEXT_KINDS: [&str; 3] = ["input_text", "output_text", "text"];

/// Whether only this form has such a line.
pub(super) fn tells(line: &Value) -> bool {
    let is_envelope = line["payload"].is_object()
        && line["type"]
            .as_str()
            .is_some_and(|kind| ENVELOPES.contains(&kind));
    let first_block = &line["content"][0]["type"];
    let is_message =
        line["type"] == "message" && (first_block == "input_text" || first_block == "output_text");
    is_envelope || is_message || line["record_type"] == "state"
}

/// What was gathered.
#[derive(Default)]
pub(super) struct Codex(Conversation);

impl Codex {
    /// Takes a line; none if it is broken.
    fn line(&mut self, line: &Value) -> Option<()> {
        let Some(kind) = line["type"].as_str() else {
            // Of the older form: about the session, or a state of the program.
            return line.is_object().then_some(());
        };
        if !ENVELOPES.contains(&kind) {
            return self.item(line, &Value::Null);
        }
        let payload = &line["payload"];
        if !payload.is_object() {
            return None;
        }
        if self.0.folder.is_none() {
            self.0.folder = title(&payload["cwd"]);
        }
        // The summary of a compaction is a message of the model like any other, but for this mark.
        let is_summary = line["metadata"]["compaction_output"] == true;
        if kind == "response_item" && !is_summary {
            self.item(payload, &line["timestamp"])
        } else {
            Some(())
        }
    }

    fn item(&mut self, item: &Value, at: &Value) -> Option<()> {
        if item["type"].as_str()? != "message" {
            return Some(());
        }
        let texts = texts(&item["content"], &TEXT_KINDS)?;
        let at = moment(at);
        match item["role"].as_str()? {
            "assistant" => texts
                .into_iter()
                .for_each(|text| self.0.say("assistant", at, text)),
            "user" => texts
                .into_iter()
                .filter_map(by_person)
                .for_each(|text| self.0.say("user", at, text)),
            // Instructions.
            _ => {}
        }
        Some(())
    }
}

impl Gather for Codex {
    fn take(&mut self, value: &Value) -> u64 {
        u64::from(self.line(value).is_none())
    }

    fn folder(&self) -> Option<&str> {
        self.0.folder.as_deref()
    }

    fn conversations(self: Box<Self>) -> Vec<Conversation> {
        vec![self.0]
    }
}

fn by_person(text: &str) -> Option<&str> {
    if text.trim_start().starts_with(INSTRUCTIONS_BEGIN) {
        None
    } else {
        spoken(text, PROGRAM)
    }
}
