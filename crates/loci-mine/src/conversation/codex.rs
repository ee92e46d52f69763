//! Codex: `~/.codex/sessions/**/rollout-*.jsonl`. Today each line is an envelope (`timestamp`,
//! `type`, `payload`), and what was said stands in lines of the type `response_item`; the events
//! beside them repeat it for the screen. Until 2025 the lines were such items themselves, without a
//! time, after a first line about the session; before that a session was one JSON document
//! (`rollout-*.json`). The first line says whether a person or a program started the session.

use std::collections::HashSet;

use serde_json::Value;

use super::marks::CODEX;
use super::value::{Tally, answers, kind_of_block, kinds, moment, texts, title};
use super::{Conversation, ConversationReader};

/// The types of envelopes.
const ENVELOPES: [&str; 5] = [
    "session_meta",
    "response_item",
    "event_msg",
    "turn_context",
    "compacted",
];
const TEXT_KINDS: [&str; 3] = ["input_text", "output_text", "text"];
/// Kinds of threads that belong to a person.
const THREADS_OF_PERSONS: [&str; 2] = ["main", "user"];
/// Words for who started a session, if no person did.
const PROGRAMS: [&str; 8] = [
    "compact",
    "guardian",
    "internal",
    "memory_consolidation",
    "review",
    "subAgent",
    "sub_agent",
    "subagent",
];
/// The tool that asks a person.
const QUESTION_TOOLS: [&str; 2] = ["ask_user", "request_user_input"];

/// Returns whether only this form has such a line.
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

/// Returns whether only the oldest form has such a document.
pub(super) fn tells_document(value: &Value) -> bool {
    value["session"].is_object() && value["items"].is_array()
}

/// The state of a reading.
#[derive(Default)]
pub(super) struct Codex {
    conversation: Conversation,
    tally: Tally,
    /// True if a program started the session; `None` before its first line.
    is_helper: Option<bool>,
    /// The calls of the tool that asks a person.
    questions: Vec<String>,
    /// The ids of the calls of other tools.
    unasked: HashSet<String>,
}

impl Codex {
    /// Takes a line; none if it is broken.
    fn line(&mut self, line: &Value) -> Option<()> {
        let Some(kind) = line["type"].as_str() else {
            if tells_document(line) {
                return self.document(line);
            }
            // Of the older form: about the session, or a state of the program.
            return line.is_object().then_some(());
        };
        if !ENVELOPES.contains(&kind) {
            return self.item(line, &line["timestamp"]);
        }
        let payload = &line["payload"];
        if !payload.is_object() {
            return None;
        }
        if self.conversation.folder.is_none() {
            self.conversation.folder = title(&payload["cwd"]);
        }
        // The summary of a compaction is a message of the model like any other, but for this mark.
        let is_summary = line["metadata"]["compaction_output"] == true;
        match kind {
            "session_meta" => self.session(payload),
            "response_item" if is_summary => self.tally.leave(kinds::SUMMARY),
            "response_item" => self.item(payload, &line["timestamp"])?,
            _ => {}
        }
        Some(())
    }

    /// Takes what a session says of itself. What follows another session's line is a copy of that.
    fn session(&mut self, session: &Value) {
        self.is_helper.get_or_insert_with(|| {
            let thread = session["thread_source"].as_str();
            let is_of_thread = thread.is_some_and(|kind| !THREADS_OF_PERSONS.contains(&kind));
            let source = &session["source"];
            let is_of_source = source.as_str().is_some_and(|kind| PROGRAMS.contains(&kind))
                || PROGRAMS.iter().any(|kind| !source[*kind].is_null());
            is_of_thread || is_of_source
        });
    }

    fn document(&mut self, document: &Value) -> Option<()> {
        self.conversation.folder = title(&document["session"]["cwd"]);
        for item in document["items"].as_array()? {
            let taken = self.item(item, &item["timestamp"]);
            self.tally.check(taken);
        }
        Some(())
    }

    fn item(&mut self, item: &Value, at: &Value) -> Option<()> {
        let kind = item["type"].as_str()?;
        if self.is_helper == Some(true) {
            self.tally.leave(kinds::HELPER);
            return Some(());
        }
        match kind {
            "message" => self.message(item, at),
            "function_call" | "custom_tool_call" => {
                self.call(item, at);
                Some(())
            }
            "function_call_output" | "custom_tool_call_output" => {
                self.output(item, at);
                Some(())
            }
            _ => {
                self.tally.leave(kind_of_block(kind));
                Some(())
            }
        }
    }

    fn message(&mut self, item: &Value, at: &Value) -> Option<()> {
        let speaker = item["role"].as_str()?;
        if !matches!(speaker, "assistant" | "user") {
            self.tally.leave(kinds::INSTRUCTION);
            return Some(());
        }
        let at = moment(at);
        for text in texts(&item["content"], &TEXT_KINDS, &mut self.tally)? {
            let said = if speaker == "user" {
                CODEX.spoken(text, false)
            } else {
                Some(text)
            };
            match said {
                Some(said) => self.conversation.say(speaker, at, said),
                None => self.tally.leave(kinds::PROGRAM),
            }
        }
        Some(())
    }

    /// Files the questions of the model to a person, which are calls of a tool.
    fn call(&mut self, call: &Value, at: &Value) {
        let is_question = call["name"]
            .as_str()
            .is_some_and(|name| QUESTION_TOOLS.contains(&name));
        let arguments = json_in(&call["arguments"]).filter(|_| is_question);
        let Some(arguments) = arguments else {
            self.unasked.extend(title(&call["call_id"]));
            return self.tally.leave(kinds::TOOL_CALL);
        };
        self.questions.extend(title(&call["call_id"]));
        let questions = arguments["questions"].as_array().into_iter().flatten();
        for question in questions.filter_map(|one| one["question"].as_str()) {
            self.conversation.say("assistant", moment(at), question);
        }
    }

    /// Files the answers of a person to such questions.
    fn output(&mut self, output: &Value, at: &Value) {
        let id = output["call_id"].as_str().unwrap_or_default();
        let is_answer = self.questions.iter().any(|known| known == id);
        // Of a call that is not in the file, the form of the answers tells; a page that a tool fetched has it, too.
        let may_answer = !self.unasked.contains(id);
        let given = json_in(&output["output"])
            .filter(|given| is_answer || may_answer && given["answers"].is_object());
        let Some(given) = given else {
            return self.tally.leave(kinds::TOOL_RESULT);
        };
        for answer in answers(&given["answers"]) {
            self.conversation.say("user", moment(at), answer);
        }
    }
}

/// An object that stands in a string, or as it is.
fn json_in(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) if text.trim_start().starts_with('{') => {
            loci_json::from_slice(text.as_bytes())
                .ok()
                .map(|(value, _)| value)
        }
        Value::Object(_) => Some(value.clone()),
        _ => None,
    }
}

impl ConversationReader for Codex {
    fn take(&mut self, value: &Value) {
        let taken = self.line(value);
        self.tally.check(taken);
    }

    fn resume(&mut self, head: &Value) {
        if head["type"] == "session_meta" {
            self.session(&head["payload"]);
        }
    }

    fn folder(&self) -> Option<&str> {
        self.conversation.folder.as_deref()
    }

    fn finish(self: Box<Self>) -> (Vec<Conversation>, Tally) {
        (vec![self.conversation], self.tally)
    }
}
