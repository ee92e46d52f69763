//! Transcripts as programs write them beside their usual form: with broken lines, with words of a
//! person in unusual places, and with words that no person said.

#![expect(clippy::unwrap_used, reason = "a failed test may panic")]

use std::fs;
use std::path::Path;

use loci_mine::conversation::{self, TranscriptReading};
use serde_json::{Value, json};

mod agents;
mod broken;
mod databases;
mod exports;

fn read_at(path: &Path) -> Option<TranscriptReading> {
    conversation::read(path, None, u64::MAX).unwrap()
}

/// Reads a file of that name.
fn read_named(name: &str, bytes: &[u8]) -> Option<TranscriptReading> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    read_at(&path)
}

fn read(bytes: &[u8]) -> TranscriptReading {
    read_named("transcript", bytes).expect("a transcript")
}

fn said(reading: &TranscriptReading) -> Vec<(&str, &str)> {
    let conversations = reading.transcript.conversations.iter();
    let messages = conversations.flat_map(|conversation| &conversation.messages);
    messages
        .map(|said| (said.speaker.as_str(), said.text.as_str()))
        .collect()
}

fn lines(values: &[Value]) -> Vec<u8> {
    let lines = values.iter().map(|value| format!("{value}\n"));
    lines.collect::<String>().into_bytes()
}

/// An event of Claude Code.
fn event(kind: &str, content: &Value) -> Value {
    json!({"type": kind, "sessionId": "s", "timestamp": "2026-05-01T08:00:00Z", "message": {"role": kind, "content": content}})
}

/// A line of Codex.
fn item(payload: &Value) -> Value {
    json!({"timestamp": "2026-05-01T08:00:00Z", "type": "response_item", "payload": payload})
}

fn codex_message(role: &str, text: &str) -> Value {
    let kind = if role == "user" {
        "input_text"
    } else {
        "output_text"
    };
    item(&json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}))
}

fn session(meta: &Value) -> Value {
    json!({"timestamp": "2026-05-01T08:00:00Z", "type": "session_meta", "payload": meta})
}
