//! A session of Codex that was forked from another starts with a copy of what was said there. The
//! program writes the copy with new times, so that only the other session tells what is one.

use std::fs;
use std::path::{Path, PathBuf};

use loci_core::Timestamp;
use serde_json::Value;

use super::value::{moment, title};
use super::{Conversation, Utterance};

/// The folder of all sessions, and the deepest folder in it with some.
const SESSIONS: &str = "sessions";
const DEPTH_MAX: usize = 4;
/// The most folders and files that are looked at for the other session.
const ENTRIES_MAX: usize = 100_000;
/// The shortest id of a session: a name of a file that holds a shorter one says little.
const ID_BYTES_MIN: usize = 16;
/// The time that the program takes for the copy.
const COPY_MICROSECONDS: i64 = 10_000_000;

/// The session that another one was forked from.
pub(super) struct Fork {
    id: String,
    /// When that was.
    at: Option<Timestamp>,
}

impl Fork {
    /// By the first line of the session; none if it was not forked.
    pub(super) fn of(first: &Value) -> Option<Self> {
        let id = title(&first["payload"]["forked_from_id"])?;
        let is_session = first["type"] == "session_meta";
        let is_id = id.len() >= ID_BYTES_MIN
            && id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        (is_session && is_id).then(|| Fork {
            id,
            at: moment(&first["timestamp"]),
        })
    }

    /// Removes the messages that are a copy of what was said in the other session.
    pub(super) fn remove_copy(&self, parent: &[Conversation], fork: &mut Conversation) {
        let said = parent.iter().flat_map(|parent| &parent.messages);
        let copied = fork
            .messages
            .iter()
            .zip(said)
            .take_while(|(copy, original)| self.is_copy(copy, original));
        let count = copied.count();
        fork.messages.drain(..count);
    }

    fn is_copy(&self, copy: &Utterance, original: &Utterance) -> bool {
        let is_early = copy.at.zip(self.at).is_some_and(|(said, forked)| {
            said.microseconds().saturating_sub(forked.microseconds()) <= COPY_MICROSECONDS
        });
        copy.speaker == original.speaker
            && copy.text == original.text
            && (copy.at == original.at || is_early)
    }

    /// The file of the other session, whose name holds its id; none if it is not there, so that the
    /// copy is all that is left.
    pub(super) fn file(&self, path: &Path) -> Option<PathBuf> {
        let folder = path.parent()?;
        let sessions = path
            .ancestors()
            .find(|folder| folder.file_name().is_some_and(|name| name == SESSIONS));
        let mut left = ENTRIES_MAX;
        self.find(folder, path, 0, &mut left)
            .or_else(|| self.find(sessions?, path, DEPTH_MAX, &mut left))
    }

    fn find(&self, folder: &Path, fork: &Path, depth: usize, left: &mut usize) -> Option<PathBuf> {
        let mut folders = Vec::new();
        for entry in fs::read_dir(folder).ok()?.flatten() {
            *left = left.checked_sub(1)?;
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let path = entry.path();
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file()
                && path != fork
                && entry.file_name().to_string_lossy().contains(&self.id)
            {
                return Some(path);
            }
        }
        // The last days come first, because most forks are from these days.
        folders.sort_unstable_by(|left, right| right.cmp(left));
        let mut folders = folders.iter().filter(|_| depth > 0);
        folders.find_map(|inner| self.find(inner, fork, depth - 1, left))
    }
}
