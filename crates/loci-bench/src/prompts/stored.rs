//! A conversation of LoCoMo, stored as the transcripts of an agent.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use loci::exit::{Exit, Failure};
use loci::output::status_line;
use loci::progress::Progress;
use loci_ingest::conversation::{Mining, mine};
use loci_ingest::trust::Trust;
use loci_mine::project::place_name;
use serde_json::json;

use crate::laboratory::{Laboratory, settle};
use crate::locomo::data::{Conversation, Session};

/// The day of a session without one.
const NO_DATE: &str = "2023-01-01";

/// Uses the store that an earlier run left in the folder, or makes it; returns its data folder.
///
/// # Errors
/// If the folder cannot be used, or not every turn could be filed.
pub fn stored(
    conversation: &Conversation,
    folder: &Path,
    laboratory: &Laboratory<'_>,
) -> Result<PathBuf, Failure> {
    let data = folder.join(format!("{}.transcripts", conversation.name));
    if data.exists() {
        return Ok(data);
    }
    status_line(format_args!("storing {} …", conversation.name));
    // An interrupted run leaves nothing under the name of a complete store.
    let making = folder.join(format!("{}.incomplete", conversation.name));
    let _ = fs::remove_dir_all(&making);
    let transcripts = tempfile::tempdir()?;
    for session in &conversation.sessions {
        write(session, &conversation.name, transcripts.path())?;
    }
    let parts = laboratory.open(&making)?;
    let trust = Trust::read_or_none(&making, |_| ());
    let mining = Mining {
        rereads: false,
        files_again: false,
        wing: Some(&place_name(conversation.name.as_ref())),
        root: transcripts.path(),
        is_dry: false,
        is_shared: false,
        is_verbatim: false,
        trust: &trust,
        batch: None,
    };
    let report = mine(
        &parts.engine.system(&loci_ingest::caller()),
        &mining,
        &Progress::of_bytes(),
    )?;
    let read: usize = conversation
        .sessions
        .iter()
        .map(|session| usize::from(!session.turns.is_empty()))
        .sum();
    if report.read != read as u64 || report.failures + report.broken > 0 {
        let message = format!("{} was not filed whole: {report:?}", conversation.name);
        return Err(Failure::new(Exit::Failure, message));
    }
    settle(&parts)?;
    drop(parts);
    fs::rename(&making, &data)?;
    Ok(data)
}

/// Writes a session as Claude Code does: the first speaker is the user.
fn write(session: &Session, name: &str, folder: &Path) -> io::Result<()> {
    let day = session.date.as_deref().unwrap_or(NO_DATE);
    let mut text = String::new();
    for (number, turn) in session.turns.iter().enumerate() {
        let kind = if turn.is_first_speaker {
            "user"
        } else {
            "assistant"
        };
        let line = json!({
            "type": kind,
            "sessionId": session.number.to_string(),
            "cwd": format!("/{name}"),
            "timestamp": format!("{day}T12:{:02}:{:02}.000Z", number / 60, number % 60),
            "message": {"role": kind, "content": [{"type": "text", "text": turn.text}]},
        });
        text += &format!("{line}\n");
    }
    fs::write(folder.join(format!("{}.jsonl", session.number)), text)
}
