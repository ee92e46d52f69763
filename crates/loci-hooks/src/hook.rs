//! Handles the events of a host's session: saves what its transcript has new, and tells an agent at
//! the start, and at each prompt, what it should know.

use std::error::Error as StdError;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use loci_core::limits::SESSION_START_BYTES_MAX;
use loci_core::{Error, ErrorCode, Visibility};
use loci_dialects::mempalace;
use loci_engine::{Call, CallInfo, Effect, Engine, Parts, Remember};
use loci_hosts::{Event, Input, Reply};
use loci_ingest::trust::Trust;
use loci_ingest::wings::Wings;
use loci_ingest::{Notice, conversation};
use loci_mine::conversation as conversation_format;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::DIALECT;
use crate::prompt::{self, Prompt};

/// The time for which a hook reads a transcript; another process reads the rest. With the start of
/// the process and the last step, a hook takes less than 300 ms.
const READING_TIME: Duration = Duration::from_millis(120);
/// The number of messages after which an agent is asked to save, if its host is not to save
/// silently.
const MESSAGES_UNASKED_MAX: u64 = 30;
/// The setting with the message up to which the agent was asked, for each of the last transcripts.
const ASKED: &str = "hook_asked";
const ASKED_TRANSCRIPTS_MAX: usize = 32;
/// The kind of the summary of a conversation.
const SUMMARY: &str = "summary";

/// The time for which a hook waits for the host to write the last answer into its transcript.
/// Claude Code writes with a timer of about 100 ms, beside its hook of the event `Stop`; a later
/// answer is saved at the end of the session.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// The interval of the checks for it.
const ANSWER_POLL: Duration = Duration::from_millis(10);

/// A session of an agent, and how its transcript is filed.
pub struct HookSession<'a> {
    /// The engine with the memories.
    pub engine: &'a Engine,
    /// The name of the host.
    pub host: &'a str,
    /// The plans that count.
    pub trust: &'a Trust,
    /// The folder that the session works in.
    pub folder: &'a Path,
    /// The name of the dialect whose tools the agent has.
    pub dialect: &'a str,
    /// True if the other callers in the space may read the messages, too.
    pub is_shared: bool,
    /// True if secrets stay in the messages.
    pub is_verbatim: bool,
}

/// The reason why a hook does not do its work.
#[derive(Debug)]
pub enum HookError {
    /// The transcript cannot be saved, as this message says.
    NotSaved(String),
    /// An operation failed.
    Failed(Error),
}

impl From<Error> for HookError {
    fn from(error: Error) -> Self {
        HookError::Failed(error)
    }
}

impl fmt::Display for HookError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HookError::NotSaved(message) => formatter.write_str(message),
            HookError::Failed(error) => error.fmt(formatter),
        }
    }
}

impl StdError for HookError {}

/// The message of a transcript up to which the agent was asked to save.
#[derive(Serialize, Deserialize)]
struct SaveRequest {
    transcript: String,
    messages: u64,
}

impl HookSession<'_> {
    /// Does the work of an event. Passes the reply to the host, if there is one, to `answer`, before
    /// it notes what the agent was told.
    ///
    /// # Errors
    /// [`HookError::NotSaved`] if the transcript cannot be read, and the errors of the engine. The
    /// next event tries again.
    pub fn handle(
        &self,
        event: Event,
        input: &Input,
        notice: Notice,
        answer: &mut dyn FnMut(Reply),
    ) -> Result<(), HookError> {
        match event {
            Event::SessionStart => return Ok(self.begin(input, answer)?),
            Event::Prompt => {
                let Some(prompt) = Prompt::of(input, self.host, self.trust, self.folder) else {
                    return Ok(());
                };
                if let Some(shown) = prompt::surfaced(self.engine, &prompt)? {
                    answer(Reply::Context(event, shown.text.clone()));
                    prompt::log_shown(self.engine, &prompt, shown, notice);
                }
                return Ok(());
            }
            Event::PostCompact => {
                let file_summary = |call: &Call<'_>| self.file_summary(call, input);
                return Ok(self.write("post_compact", input, file_summary)?);
            }
            Event::Stop | Event::PreCompact | Event::SessionEnd => {}
        }
        let reply = self.write("save", input, |call| {
            if let (Some(transcript), Some(answer)) = (&input.transcript, input.answer()) {
                let transcript = Path::new(transcript);
                let from = bytes_read(call, transcript)?;
                await_answer(transcript, from, answer, ANSWER_TIMEOUT);
            }
            match self.save(call, input, Instant::now() + READING_TIME, event, notice) {
                Err(HookError::Failed(error)) => Err(error),
                saved => Ok(saved),
            }
        });
        reply??.into_iter().for_each(answer);
        Ok(())
    }

    /// Runs work that files something, as a call of the hook `tool`.
    fn write<T>(
        &self,
        tool: &str,
        input: &Input,
        run: impl FnOnce(&Call<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let info = CallInfo::new(DIALECT, tool, "memory:write", Effect::Write, &[])
            .of_client(Some(self.host), input.session())
            .logged_with_records();
        self.engine.call(loci_ingest::caller(), info, run)
    }

    /// Tells the agent what it should know at the start of its session.
    fn begin(&self, input: &Input, answer: &mut dyn FnMut(Reply)) -> Result<(), Error> {
        let info = CallInfo::new(DIALECT, "session_start", "memory:read", Effect::Read, &[])
            .of_client(Some(self.host), input.session())
            .logged_with_records();
        self.engine.call(loci_ingest::caller(), info, |call| {
            let wings = Wings::new(call, self.trust, false);
            let wing = wings.of(self.folder)?;
            let mut text = session_start(call, self.dialect, &wing)?;
            for apart in wings.apart() {
                let words = format!("\nTell the person: {}.\n", apart.sentence());
                if text.len() + words.len() <= SESSION_START_BYTES_MAX {
                    text += &words;
                }
            }
            let tokens = self.engine.budgets().approximate_tokens(&text);
            call.reply_with(Some(call.records()), Some(tokens as u64));
            answer(Reply::Context(Event::SessionStart, text));
            Ok(())
        })
    }

    /// Files the summary that takes the place of a conversation; the same summary once.
    fn file_summary(&self, parts: &Parts<'_>, input: &Input) -> Result<(), Error> {
        let Some(summary) = input.summary().filter(|text| !text.trim().is_empty()) else {
            return Ok(());
        };
        let wing = Wings::new(parts, self.trust, false).of(self.folder)?;
        let text = loci_ingest::redacted(parts, summary, self.is_verbatim).text;
        let visibility = if self.is_shared {
            Visibility::Common
        } else {
            Visibility::Private
        };
        let request = Remember {
            collection: mempalace::collection(&wing),
            section: Some(mempalace::CONVERSATIONS.to_owned()),
            visibility,
            ..Remember::new(text.as_ref(), SUMMARY)
        };
        let id = |n| mempalace::drawer_id(&wing, mempalace::CONVERSATIONS, &text, n);
        parts.memories().store_once(&id, request)?;
        Ok(())
    }

    /// Saves the new part of the transcript; returns the reply to the host, if any.
    fn save(
        &self,
        parts: &Parts<'_>,
        input: &Input,
        until: Instant,
        event: Event,
        notice: Notice,
    ) -> Result<Option<Reply>, HookError> {
        let HookSession {
            folder,
            is_shared,
            is_verbatim,
            ..
        } = *self;
        let Some(named) = &input.transcript else {
            return Ok(None);
        };
        let unreadable = |error: io::Error| {
            let message = format!(
                "nothing is saved: {named}, which the host names as its transcript, cannot be read: {error}; the next event \
                 tries again"
            );
            HookError::NotSaved(message)
        };
        let real = match loci_ingest::transcript(Path::new(named)) {
            // Nothing was said in the session.
            Err(error) if error.kind() == io::ErrorKind::NotFound && event == Event::SessionEnd => {
                return Ok(None);
            }
            found => found.map_err(unreadable)?,
        };
        let path = loci_ingest::in_utf8(real.clone())?;
        let wing =
            conversation::wing_of(&Wings::new(parts, self.trust, false), parts, &real, folder)?;
        let root = real.parent().and_then(Path::to_str).unwrap_or_default();
        let transcripts = conversation::Transcripts {
            rereads: false,
            files_again: false,
            wing: &wing,
            root,
            is_dry: false,
            is_shared,
            until: Some(until),
            is_verbatim,
        };
        let Some(told) = conversation::save(parts, &transcripts, &path)? else {
            return Err(HookError::NotSaved(format!(
                "nothing is saved: {path} is no transcript that loci can read, or it was filed as a part of a project in the \
                 wing {wing}"
            )));
        };
        let settings = mempalace::hook_settings(parts)?;
        if told.filed.added > 0 && settings.desktop_toast {
            toast(told.filed.added, notice);
        }
        if settings.silent_save || event != Event::Stop || input.is_continued {
            return Ok(None);
        }
        let said = parts
            .sources()
            .source_file(mempalace::collection(&wing).as_deref(), &path)?
            .map_or(0, |file| file.parts);
        Ok(ask(parts, &path, said)?)
    }
}

/// Returns the text that the agent reads at the start of a session.
fn session_start(parts: &Parts<'_>, dialect: &str, wing: &str) -> Result<String, Error> {
    let dialect = loci_dialects::dialect(dialect).ok_or_else(|| {
        Error::new(
            ErrorCode::InvalidArgument,
            format!("there is no dialect {dialect}"),
        )
    })?;
    // Hosts limit the bytes or the characters; each token has at least one.
    mempalace::wake_up(parts, Some(wing), dialect, SESSION_START_BYTES_MAX)
}

/// Returns the number of bytes of a transcript that were read before.
fn bytes_read(parts: &Parts<'_>, transcript: &Path) -> Result<u64, Error> {
    let Ok(real) = loci_ingest::transcript(transcript) else {
        return Ok(0);
    };
    let known = parts
        .sources()
        .sources_at(real.to_str().unwrap_or_default())?;
    let bytes = fs::metadata(&real).map_or(0, |file| file.len());
    // A transcript that was rewritten shorter is read from its beginning.
    Ok(known
        .iter()
        .map(|file| file.bytes_read)
        .max()
        .filter(|read| *read <= bytes)
        .unwrap_or(0))
}

/// Waits until `answer` is the last message of the transcript after the byte `from`: an earlier
/// answer may be the same. Returns false on timeout.
fn await_answer(transcript: &Path, from: u64, answer: &str, timeout: Duration) -> bool {
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let wanted = words(answer);
    // The host may join several texts of an answer, which the transcript lists one by one.
    let mut bytes_seen = None;
    let mut is_there = || {
        if wanted.is_empty() {
            return true;
        }
        // A file that has not grown is not read again.
        let bytes = fs::metadata(transcript).map(|file| file.len()).ok();
        if bytes.is_none() || std::mem::replace(&mut bytes_seen, bytes) == bytes {
            return false;
        }
        let last = conversation_format::last_answer(transcript, from)
            .ok()
            .flatten()
            .map(|text| words(&text));
        last.is_some_and(|last| {
            !last.is_empty() && (wanted.ends_with(&last) || last.ends_with(&wanted))
        })
    };
    let deadline = Instant::now() + timeout;
    while !is_there() {
        if Instant::now() >= deadline {
            return false;
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "another program writes, and tells nothing of it"
        )]
        std::thread::sleep(ANSWER_POLL);
    }
    true
}

/// Asks the agent to save what matters, each time a transcript has [`MESSAGES_UNASKED_MAX`] more
/// messages.
fn ask(parts: &Parts<'_>, path: &str, said: u64) -> Result<Option<Reply>, Error> {
    let setting = loci_ingest::setting_of_machine(parts, ASKED);
    let is_due = parts.settings().note(|draft| {
        let text = draft.get(&setting)?;
        let mut asked: Vec<SaveRequest> = text
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        let known = asked
            .iter()
            .position(|one| one.transcript == path)
            .map_or(0, |at| asked.remove(at).messages);
        // A transcript that was rewritten shorter is counted from its beginning.
        let begun = if known <= said { known } else { 0 };
        let is_due = said >= begun + MESSAGES_UNASKED_MAX;
        let messages = if is_due { said } else { begun };
        if messages != known {
            asked.push(SaveRequest {
                transcript: path.to_owned(),
                messages,
            });
            let last = &asked[asked.len().saturating_sub(ASKED_TRANSCRIPTS_MAX)..];
            draft.put(&setting, json!(last).to_string())?;
        }
        Ok(is_due)
    })?;
    if !is_due {
        return Ok(None);
    }
    let request = "Before you stop, save what should outlast this session: decisions with their reasons, quotations, facts \
                  and open ends, with mempalace_add_drawer, mempalace_kg_add and mempalace_diary_write. Then you are done.";
    Ok(Some(Reply::Continue(request.to_owned())))
}

/// Shows a notification on the desktop, if `notify-send` is installed.
fn toast(messages: u64, notice: Notice) {
    let noun = if messages == 1 { "message" } else { "messages" };
    let words = format!("{messages} {noun} saved");
    let shown = Command::new("notify-send")
        .args(["--app-name=loci", "loci", &words])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Err(error) = shown
        && error.kind() != io::ErrorKind::NotFound
    {
        notice(&format!("note: notify-send does not start: {error}"));
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use loci_core::{AuditQuery, Delivery, RecordVerb, Timestamp};
    use loci_engine::SearchMode;
    use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};

    use super::*;

    /// Returns an engine with an empty store in memory.
    pub(crate) fn engine() -> Engine {
        let clock = Arc::new(FixedClock::new(Timestamp::from_microseconds(
            1_767_225_600_000_000,
        )));
        Engine::new(
            Arc::new(NaiveStore::new()),
            Arc::new(HashingEmbedder::new(8)),
            clock,
            SearchMode::Words,
        )
    }

    #[test]
    fn a_save_that_the_background_finishes_is_heard_of() {
        let (engine, folder) = (engine(), tempfile::tempdir().unwrap());
        let transcript = folder.path().join("session.jsonl");
        let said = |text: &str| {
            json!({"type": "user", "message": {"role": "user", "content": text}}).to_string()
        };
        let between = json!({"type": "progress", "data": "x".repeat(1 << 20)}).to_string();
        let lines = [said("First."), between, said("Second."), said("Third.")];
        fs::write(&transcript, lines.map(|line| line + "\n").concat()).unwrap();
        let input = json!({"transcript_path": transcript.to_string_lossy()}).to_string();
        let input = Input::read(input.as_bytes()).unwrap();
        // The deadline leaves time for one step only.
        let trust = Trust::read_or_none(folder.path(), |_| ());
        let session = HookSession {
            engine: &engine,
            host: "codex",
            trust: &trust,
            folder: folder.path(),
            dialect: "mempalace",
            is_shared: false,
            is_verbatim: false,
        };
        let system = engine.system(&loci_ingest::caller());
        session
            .save(&system, &input, Instant::now(), Event::Stop, |_| ())
            .unwrap();
        let saved = || {
            mempalace::checkpoint(&system)
                .unwrap()
                .map(|checkpoint| checkpoint.message_count)
        };
        assert_eq!(saved(), Some(1));
        assert_eq!(
            conversation::read_on(&engine.system(&loci_ingest::caller())).unwrap(),
            1
        );
        assert_eq!(saved(), Some(2));
        assert_eq!(
            conversation::read_on(&engine.system(&loci_ingest::caller())).unwrap(),
            0
        );
        assert_eq!(
            saved(),
            Some(2),
            "where nothing is saved, the last save is told of"
        );
    }

    #[test]
    fn the_start_of_a_session_is_in_the_audit_log_if_it_shows_memories() {
        let (engine, folder) = (engine(), tempfile::tempdir().unwrap());
        let trust = Trust::read_or_none(folder.path(), |_| ());
        let session = HookSession {
            engine: &engine,
            host: "claude-code",
            trust: &trust,
            folder: folder.path(),
            dialect: "mempalace",
            is_shared: false,
            is_verbatim: false,
        };
        let input = Input::read(&br#"{"session_id": "s"}"#[..]).unwrap();
        let all = AuditQuery {
            limit: 9,
            ..AuditQuery::default()
        };
        let start = || {
            let mut text = None;
            let mut answer = |reply| {
                let entries = engine.audit().entries(&all).unwrap();
                if let Reply::Context(_, shown) = reply {
                    text = Some((shown, entries));
                }
            };
            session
                .handle(Event::SessionStart, &input, |_| (), &mut answer)
                .unwrap();
            let (text, before) = text.unwrap();
            assert_eq!(before, [], "the agent is told first");
            (text, engine.audit().entries(&all).unwrap())
        };
        assert_eq!(start().1, []);
        let rule = Remember {
            delivery: Delivery::Bootstrap,
            ..Remember::new("Always use tabs.", "rule")
        };
        let stored = engine
            .system(&loci_ingest::caller())
            .memories()
            .remember(rule)
            .unwrap();
        let (text, entries) = start();
        assert!(text.contains("Always use tabs."), "{text}");
        let [(_, entry)] = &entries[..] else {
            panic!("{entries:?}")
        };
        assert_eq!((&*entry.dialect, &*entry.tool), ("hook", "session_start"));
        let named = (entry.client.as_deref(), entry.session.as_deref());
        assert_eq!(named, (Some("claude-code"), Some("s")));
        let records: Vec<_> = entry.records.iter().map(|it| (it.verb, &*it.id)).collect();
        let expected = (RecordVerb::Returned, stored.memory.id.as_str());
        assert_eq!(records, [expected]);
    }

    /// A host writes its transcript while its hook runs.
    #[test]
    fn the_last_answer_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let transcript = folder.path().join("session.jsonl");
        let said = |kind: &str, text: &str| {
            json!({"type": kind, "message": {"role": kind, "content": text}}).to_string() + "\n"
        };
        let (waiting, is_waiting) = std::sync::mpsc::channel();
        let path = transcript.clone();
        let hook = std::thread::spawn(move || {
            waiting.send(()).unwrap();
            assert!(await_answer(
                &path,
                0,
                "One.\n\nThe  answer.",
                Duration::from_hours(1)
            ));
            fs::read_to_string(&path).unwrap()
        });
        is_waiting.recv().unwrap();
        fs::write(
            &transcript,
            said("user", "Question?") + &said("assistant", "One."),
        )
        .unwrap();
        let whole = fs::read_to_string(&transcript).unwrap() + &said("assistant", "The answer.");
        fs::write(&transcript, &whole).unwrap();
        assert_eq!(hook.join().unwrap(), whole);
        for (path, answer, expected) in [
            (&transcript, "The answer.", true),
            (&transcript, " \n", true),
            (&transcript, "Another answer.", false),
            (&folder.path().join("none"), "The answer.", false),
        ] {
            assert_eq!(
                await_answer(path, 0, answer, Duration::ZERO),
                expected,
                "{answer}"
            );
        }
    }

    #[test]
    fn an_agent_is_asked_by_the_messages_of_each_transcript() {
        let engine = engine();
        let asked = |path: &str, said: u64| {
            ask(&engine.system(&loci_ingest::caller()), path, said)
                .unwrap()
                .is_some()
        };
        for (path, said, expected) in [
            ("a", 29, false),
            ("a", 30, true),
            ("a", 30, false),
            ("b", 35, true),
            ("a", 59, false),
            ("b", 64, false),
            ("a", 60, true),
            // The transcript was rewritten shorter.
            ("b", 5, false),
            ("b", 29, false),
            ("b", 30, true),
            ("a", 89, false),
            ("a", 90, true),
        ] {
            assert_eq!(asked(path, said), expected, "{path} {said}");
        }
        // The transcripts with the latest requests are known.
        for number in 0..ASKED_TRANSCRIPTS_MAX - 1 {
            assert!(asked(&number.to_string(), 30));
        }
        assert!(!asked("a", 91));
        assert!(asked("b", 31));
    }

    #[test]
    fn what_is_kept_of_questions_may_be_of_another_loci() {
        let engine = engine();
        engine
            .system(&loci_ingest::caller())
            .settings()
            .put(ASKED, r#"{"transcript": "a", "messages": 30}"#.to_owned())
            .unwrap();
        assert!(
            ask(&engine.system(&loci_ingest::caller()), "a", 31)
                .unwrap()
                .is_some()
        );
        assert!(
            ask(&engine.system(&loci_ingest::caller()), "a", 32)
                .unwrap()
                .is_none()
        );
    }
}
