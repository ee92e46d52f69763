//! Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`, an event a line. What the two say
//! stands in events of the types `user` and `assistant`, or in an attachment where a person wrote
//! while the model worked. Some words of a person stand elsewhere: behind a slash command, in the
//! result of a tool that was refused, and in answers to questions of the model.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::marks::{self, CLAUDE_CODE};
use super::value::{Tally, answers, blocks, kinds, moment, text_of, texts, title};
use super::{Conversation, ConversationReader};

/// The marks of events that neither says to the other, and as what they are counted.
const UNSAID: [(&str, &str); 5] = [
    ("isSidechain", kinds::HELPER),
    ("isMeta", kinds::PROGRAM),
    ("isCompactSummary", kinds::SUMMARY),
    ("isVisibleInTranscriptOnly", kinds::PROGRAM),
    ("isApiErrorMessage", kinds::PROGRAM),
];
/// Sources of prompts that no person wrote.
const SYSTEM_SOURCES: [&str; 6] = [
    "cron",
    "loop_wakeup",
    "poll_event",
    "schedule_wakeup",
    "scheduled",
    "system",
];
/// Slash commands whose arguments choose something of the program.
const SETTINGS: [&str; 18] = [
    "add-dir",
    "agents",
    "color",
    "config",
    "effort",
    "export",
    "fast",
    "login",
    "mcp",
    "model",
    "output-style",
    "permissions",
    "plugin",
    "rename",
    "resume",
    "theme",
    "usage",
    "vim",
];
/// The words of the program before a person's, in the result of a tool that was refused.
const REFUSALS: [&str; 3] = [
    "To tell you how to proceed, the user said:",
    "The user provided the following reason for the rejection:",
    "User feedback:",
];
/// The words of the program after them.
const AFTER_REFUSAL: &str = "\n\nNote: The user's next message may";
/// The start and the end of the answers to questions in the result of a tool.
const ANSWERED: [&str; 2] = [
    "User has answered your questions:",
    "Your questions have been answered:",
];
const AFTER_ANSWERS: &str = ". You can now continue";
/// The words before a plan in the result of the tool that showed it.
const PLANS: [(&str, &str); 2] = [
    ("## Approved Plan (edited by user):", "user"),
    ("## Approved Plan:", "assistant"),
];

/// Types of further events that a transcript may start with.
const KINDS: [&str; 10] = [
    "agent-name",
    "ai-title",
    "attachment",
    "custom-title",
    "last-prompt",
    "mode",
    "permission-mode",
    "progress",
    "queue-operation",
    "system",
];

/// Returns whether only this form has such a line.
pub(super) fn tells(line: &Value) -> bool {
    let Some(kind) = line["type"].as_str() else {
        return false;
    };
    let has = |key| line[key].is_string();
    match kind {
        "user" | "assistant" => line["message"].is_object(),
        "summary" => has("summary") && has("leafUuid"),
        "file-history-snapshot" => line["snapshot"].is_object(),
        _ => has("sessionId") && KINDS.contains(&kind),
    }
}

/// The state of a reading.
#[derive(Default)]
pub(super) struct ClaudeCode {
    conversation: Conversation,
    tally: Tally,
    is_named: bool,
    /// The places of the texts of each message of the model, by its id.
    answers: HashMap<String, Vec<usize>>,
    /// The last plan that the model showed.
    plan: Option<String>,
    /// The ids of the calls that ask a person nothing.
    unasked: HashSet<String>,
}

impl ClaudeCode {
    /// Takes an event; none if it is broken.
    fn event(&mut self, event: &Value) -> Option<()> {
        let kind = event["type"].as_str()?;
        let conversation = &mut self.conversation;
        if conversation.folder.is_none() {
            conversation.folder = title(&event["cwd"]);
        }
        match kind {
            "custom-title" => {
                conversation.title = Some(title(&event["customTitle"])?);
                self.is_named = true;
            }
            "ai-title" if !self.is_named => conversation.title = Some(title(&event["aiTitle"])?),
            "summary" if !self.is_named => conversation.title = Some(title(&event["summary"])?),
            "user" | "assistant" => self.message(kind, event)?,
            "attachment" => self.queued(event, &event["attachment"])?,
            _ => {}
        }
        Some(())
    }

    fn message(&mut self, kind: &str, event: &Value) -> Option<()> {
        let message = &event["message"];
        let blocks = blocks(&message["content"])?;
        // The program answers in the model's place when it has to.
        let unsaid =
            unsaid(event).or((message["model"] == "<synthetic>").then_some(kinds::PROGRAM));
        if let Some(kind) = unsaid {
            self.tally.leave(kind);
            return Some(());
        }
        for block in blocks {
            match (kind, block["type"].as_str()) {
                ("user", Some("tool_result")) => self.result(event, block),
                ("assistant", Some("tool_use")) => self.call(event, block),
                _ => {
                    if let Some(text) = text_of(block, &["text"], &mut self.tally) {
                        self.say(kind, event, text);
                    }
                }
            }
        }
        Some(())
    }

    /// Takes what was written while the model worked.
    fn queued(&mut self, event: &Value, attachment: &Value) -> Option<()> {
        if attachment["type"] != "queued_command" {
            return Some(());
        }
        let is_prompt = attachment["commandMode"]
            .as_str()
            .is_none_or(|mode| mode == "prompt");
        let unsaid = unsaid(event).or_else(|| unsaid(attachment));
        if let Some(kind) = unsaid.or((!is_prompt).then_some(kinds::PROGRAM)) {
            self.tally.leave(kind);
            return Some(());
        }
        for text in texts(&attachment["prompt"], &["text"], &mut self.tally)? {
            self.say("user", event, text);
        }
        Some(())
    }

    /// Files the words of the model to a person in calls of tools, i.e. plans and questions.
    fn call(&mut self, event: &Value, call: &Value) {
        let input = &call["input"];
        match call["name"].as_str() {
            Some("ExitPlanMode" | "exit_plan_mode") => {
                if let Some(plan) = title(&input["plan"]) {
                    self.say("assistant", event, &plan);
                    self.plan = Some(plan);
                    return;
                }
            }
            Some("AskUserQuestion") => {
                let questions = input["questions"].as_array().into_iter().flatten();
                for question in questions.filter_map(|one| one["question"].as_str()) {
                    self.say("assistant", event, question);
                }
                return;
            }
            _ => {
                let id = call["id"].as_str();
                self.unasked.extend(id.map(str::to_owned));
            }
        }
        self.tally.leave(kinds::TOOL_CALL);
    }

    /// Files the words of a person in the result of a tool.
    fn result(&mut self, event: &Value, result: &Value) {
        let mut ignored = Tally::default();
        let texts = texts(&result["content"], &["text"], &mut ignored).unwrap_or_default();
        let text = texts.join("\n");
        // A page that a tool fetched may begin as the answers of a person do.
        let is_asked = result["tool_use_id"]
            .as_str()
            .is_none_or(|id| !self.unasked.contains(id));
        let told = &event["toolUseResult"];
        let given = if is_asked && told["questions"].is_array() {
            answers(&told["answers"])
        } else {
            Vec::new()
        };
        let answered = ANSWERED
            .iter()
            .find_map(|begin| text.trim_start().strip_prefix(begin))
            .filter(|_| is_asked);
        if !given.is_empty() {
            for answer in given {
                self.say("user", event, answer);
            }
        } else if let Some(answered) = answered {
            for answer in quoted_answers(answered) {
                self.say("user", event, answer);
            }
        } else if let Some(words) = refusal(&text).filter(|_| result["is_error"] == true) {
            self.say("user", event, words);
        } else if let Some((speaker, plan)) = approved(&text).filter(|_| is_asked) {
            if self.plan.as_deref().map(str::trim) != Some(plan) {
                self.say(speaker, event, plan);
            }
        } else {
            self.tally.leave(kinds::TOOL_RESULT);
        }
    }

    fn say(&mut self, speaker: &str, event: &Value, text: &str) {
        let at = moment(&event["timestamp"]);
        if speaker == "assistant" {
            return self.answer(event, text);
        }
        match by_person(text, event["origin"]["kind"] == "human") {
            Some(said) => self.conversation.say(speaker, at, said),
            None if text.trim().is_empty() => {}
            None => self.tally.leave(kinds::PROGRAM),
        }
    }

    /// Adds what the model said, or puts it in the place of its beginning: some programs write a
    /// message again and again while it grows.
    fn answer(&mut self, event: &Value, text: &str) {
        let messages = &mut self.conversation.messages;
        let places = event["message"]["id"]
            .as_str()
            .map(|id| self.answers.entry(id.to_owned()).or_default());
        let before = places.as_ref().and_then(|places| {
            let same = |place: &&usize| {
                let before = &messages[**place].text;
                text.starts_with(before.as_str()) || before.starts_with(text)
            };
            places.iter().find(same).copied()
        });
        match before {
            Some(place) if text.len() > messages[place].text.len() => {
                text.clone_into(&mut messages[place].text);
            }
            Some(_) => {}
            None => {
                let place = messages.len();
                self.conversation
                    .say("assistant", moment(&event["timestamp"]), text);
                if self.conversation.messages.len() > place
                    && let Some(places) = places
                {
                    places.push(place);
                }
            }
        }
    }
}

impl ConversationReader for ClaudeCode {
    fn take(&mut self, value: &Value) {
        let taken = self.event(value);
        self.tally.check(taken);
    }

    fn folder(&self) -> Option<&str> {
        self.conversation.folder.as_deref()
    }

    fn finish(self: Box<Self>) -> (Vec<Conversation>, Tally) {
        (vec![self.conversation], self.tally)
    }
}

/// The kind as which an event is counted that is no word of a person or the model: it is marked as
/// something else, or comes from elsewhere.
fn unsaid(event: &Value) -> Option<&'static str> {
    let marked = UNSAID.iter().find(|(mark, _)| event[*mark] == true);
    let origin = &event["origin"]["kind"];
    let is_of_system = ["promptSource", "source"].iter().any(|source| {
        event[*source]
            .as_str()
            .is_some_and(|source| SYSTEM_SOURCES.contains(&source))
    });
    let is_of_other = !(origin.is_null() || origin == "human") || is_of_system;
    marked
        .map(|(_, kind)| *kind)
        .or(is_of_other.then_some(kinds::PROGRAM))
}

fn by_person(text: &str, is_typed: bool) -> Option<&str> {
    if let Some(arguments) = marks::element(text, "command-args")
        && let Some(name) = marks::element(text, "command-name")
        && text.trim_start().starts_with("<command-")
    {
        let is_setting = SETTINGS.contains(&name.trim().trim_start_matches('/'));
        return Some(arguments.trim()).filter(|words| !words.is_empty() && !is_setting);
    }
    CLAUDE_CODE.spoken(text, is_typed)
}

/// The words of a person who refused a tool.
fn refusal(text: &str) -> Option<&str> {
    let words = REFUSALS
        .iter()
        .find_map(|begin| text.split_once(begin).map(|(_, words)| words))?;
    let words = words
        .split_once(AFTER_REFUSAL)
        .map_or(words, |(words, _)| words);
    Some(words.trim()).filter(|words| !words.is_empty())
}

/// The plan that the result of a tool repeats, and whose it is.
fn approved(text: &str) -> Option<(&'static str, &str)> {
    PLANS.iter().find_map(|(begin, speaker)| {
        let (_, plan) = text.split_once(begin)?;
        Some((*speaker, plan.trim())).filter(|(_, plan)| !plan.is_empty())
    })
}

/// The answers in `"question"="answer", "question"="answer"`.
fn quoted_answers(text: &str) -> Vec<&str> {
    let text = text
        .rsplit_once(AFTER_ANSWERS)
        .map_or(text, |(text, _)| text);
    let parts: Vec<&str> = text.split("\"=\"").skip(1).collect();
    let last = parts.len().saturating_sub(1);
    let answers = parts.iter().enumerate().map(|(place, part)| {
        let end = if place == last {
            part.rfind('"')
        } else {
            part.rfind("\", \"").or_else(|| part.rfind('"'))
        };
        end.map_or(*part, |end| &part[..end])
    });
    answers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_from_the_words_of_the_program() {
        for (text, expected) in [
            (r#" "Tea?"="Green". You can now continue."#, vec!["Green"]),
            (
                r#" "Tea?"="Green", with milk", "Cake?"="No "cake"". You can now continue with"#,
                vec!["Green\", with milk", "No \"cake\""],
            ),
            (" ", vec![]),
            (r#" "Tea?"="cut"#, vec!["cut"]),
        ] {
            assert_eq!(quoted_answers(text), expected, "{text}");
        }
    }
}
