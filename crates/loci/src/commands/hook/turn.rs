//! The turn to answer an event of a session. With a plug-in beside the hooks of `loci connect`, a
//! host runs two hooks at the same event, at once or one after the other; the agent reads the answer
//! of one.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use data_encoding::HEXLOWER;
use loci_archive::files::create_private_folder;
use loci_core::Clock;
use loci_hosts::{Event, Input};
use sha2::{Digest, Sha256};

use crate::wiring::SystemClock;

/// The folder of the files, in the data folder.
const FOLDER: &str = "hooks";
/// The time after an answer in which other hooks at the same event are silent.
const ANSWERED: Duration = Duration::from_secs(1);
/// The longest time that a hook works on an answer: then hosts give up on it.
const WORK: Duration = Duration::from_secs(10);
/// The bytes of the hash of an event in the name of its file.
const HASH_BYTES: usize = 16;

/// The turn of this hook: a file, whose time is that of the answer. While the hook works, that is
/// ahead.
pub struct Turn {
    file: Option<PathBuf>,
}

impl Turn {
    /// Takes the turn to answer an event; `None` if another hook has it, or had it a moment ago.
    /// Where the session has no id, or the folder cannot be written, every hook answers.
    pub fn take(data: &Path, event: Event, input: &Input) -> Option<Self> {
        let Some(parts) = input.identity(event) else {
            return Some(Turn { file: None });
        };
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        // A transcript that has grown is that of a later event.
        let transcript = input.transcript.as_ref().map(fs::metadata);
        let length = transcript.map_or(0, |found| found.map_or(0, |found| found.len()));
        hash.update(length.to_le_bytes());
        let name = HEXLOWER.encode(&hash.finalize()[..HASH_BYTES]);
        let file = data.join(FOLDER).join(name);
        match claim(&file) {
            Ok(()) => Some(Turn { file: Some(file) }),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => None,
            Err(error) => {
                tracing::debug!(%error, "the hooks of a plug-in may give the same answer");
                Some(Turn { file: None })
            }
        }
    }

    /// Gives the turn back after a failure, so that another hook may answer.
    pub fn give_back(mut self) {
        if let Some(file) = self.file.take() {
            let _ = fs::remove_file(file);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            let _ = File::open(file).and_then(|file| file.set_modified(now()));
        }
    }
}

/// Makes the file of a turn, and removes the ones that are over.
fn claim(file: &Path) -> io::Result<()> {
    let folder = file.parent().unwrap_or(file);
    // The data folder is there once there is something to tell.
    if folder.parent().is_some_and(|data| !data.is_dir()) {
        return Ok(());
    }
    create_private_folder(folder)?;
    for entry in fs::read_dir(folder)?.flatten() {
        if is_over(entry.metadata()?.modified()?) {
            let _ = fs::remove_file(entry.path());
        }
    }
    File::create_new(file)?.set_modified(now() + WORK)
}

/// Returns true if the time of a turn is over. A clock that was set back ends it, too.
fn is_over(at: SystemTime) -> bool {
    match now().duration_since(at) {
        Ok(since) => since >= ANSWERED,
        Err(ahead) => ahead.duration() > 2 * WORK,
    }
}

fn now() -> SystemTime {
    let microseconds = SystemClock.now().microseconds();
    SystemTime::UNIX_EPOCH + Duration::from_micros(u64::try_from(microseconds).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn input(value: Value) -> Input {
        Input::read(value.to_string().as_bytes()).unwrap()
    }

    fn begun(session: &str, source: &str) -> Input {
        input(json!({"session_id": session, "source": source}))
    }

    #[test]
    fn one_hook_answers_an_event() {
        let folder = tempfile::tempdir().unwrap();
        let take = |event, input: &Input| Turn::take(folder.path(), event, input);
        let start = begun("a", "startup");
        let turn = take(Event::SessionStart, &start).unwrap();
        assert!(take(Event::SessionStart, &start).is_none(), "it works");
        drop(turn);
        assert!(take(Event::SessionStart, &start).is_none(), "it answered");
        let asked = |prompt: &str| input(json!({"session_id": "a", "prompt": prompt}));
        for (event, other) in [
            (Event::SessionStart, begun("a", "compact")),
            (Event::SessionStart, begun("b", "startup")),
            (Event::Stop, begun("a", "startup")),
            (Event::Prompt, asked("Tea?")),
            (Event::Prompt, asked("Cake?")),
        ] {
            assert!(take(event, &other).is_some(), "{event}");
        }
        assert!(take(Event::Prompt, &asked("Tea?")).is_none());
        let transcript = folder.path().join("transcript");
        let stopped = input(json!({"session_id": "a", "transcript_path": &transcript}));
        for text in ["one", "one and two"] {
            fs::write(&transcript, text).unwrap();
            assert!(take(Event::Stop, &stopped).is_some(), "{text}");
            assert!(take(Event::Stop, &stopped).is_none(), "{text}");
        }
        let nameless = input(json!({"source": "startup"}));
        for _ in 0..2 {
            assert!(take(Event::SessionStart, &nameless).is_some());
        }
    }

    #[test]
    fn a_turn_ends_soon() {
        let folder = tempfile::tempdir().unwrap();
        let start = begun("a", "startup");
        let take = || Turn::take(folder.path(), Event::SessionStart, &start);
        let set = |at: SystemTime| {
            let mut files = fs::read_dir(folder.path().join(FOLDER)).unwrap();
            let file = files.next().unwrap().unwrap().path();
            assert!(files.next().is_none());
            File::open(file).unwrap().set_modified(at).unwrap();
        };
        take().unwrap().give_back();
        drop(take().unwrap());
        for (at, is_free) in [
            (now(), false),
            (now() - ANSWERED, true),
            (now() + WORK, false),
            (now() + 3 * WORK, true),
        ] {
            set(at);
            let turn = take();
            assert_eq!(turn.is_some(), is_free);
        }
    }

    #[test]
    fn without_a_data_folder_every_hook_answers() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("none");
        for _ in 0..2 {
            assert!(Turn::take(&data, Event::Prompt, &begun("a", "")).is_some());
        }
        assert!(!data.exists());
        fs::write(&data, "").unwrap();
        assert!(Turn::take(&data, Event::Prompt, &begun("a", "")).is_some());
    }
}
