//! The local sockets on which processes that serve answer the hooks of prompts: they have loaded the
//! index and the model, which a hook would have to load for each prompt.
//!
//! Each process has a socket of its own in a folder of the data folder that only its owner can
//! enter. An encrypted store seals the messages with its key. A hook asks the first one that answers,
//! and works by itself if none does ([ADR 54](../../../docs/adr/0054-a-prompt-brings-up-memories.md)).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, process};

use loci_archive::files::create_private_folder;
use loci_engine::Engine;
use loci_hooks::prompt::{Prompt, PromptMemories, log_shown, surfaced};
use loci_keys::{SEALED_FROM, SubKey, open_bytes, seal_bytes};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::runtime;
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, spawn_blocking};
use tokio::time::timeout;

use crate::models::search_of_prompts;
use crate::output::notice;
use crate::own_server::RUN_FOLDER;
use crate::settings::Settings;
use crate::store::{StoreId, StoreLocation};

/// The version of the form of questions and answers.
const FORM: u32 = 4;
/// The most bytes of a question or an answer.
const BYTES_MAX: u64 = (64 << 10) + SEALED_FROM as u64;
/// The time in which a hook sends its question.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(1);
/// The time for which a hook waits for an answer, of all processes together; one may have to load
/// its model for it, and one that is stopped never answers.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(400);
/// The most questions that a process answers at once.
const QUESTIONS_MAX: usize = 4;

/// The keys of an encrypted store for both ways; none for one in the clear.
#[derive(Clone, Default)]
struct Seals(Option<(SubKey, SubKey)>);

impl Seals {
    /// Returns the keys of the store that the settings name; `None` if it is encrypted and its key is not
    /// there.
    fn of(settings: &Settings) -> Option<Self> {
        let StoreLocation::Folder { folder, options } = settings.store.location(&settings.data)
        else {
            return Some(Seals::default());
        };
        let key = options.keys.of(&folder).ok()?;
        Some(Seals(key.map(|key| {
            (key.subkey("hook question"), key.subkey("hook answer"))
        })))
    }

    fn question(&self) -> Option<&SubKey> {
        self.0.as_ref().map(|(question, _)| question)
    }

    fn answer(&self) -> Option<&SubKey> {
        self.0.as_ref().map(|(_, answer)| answer)
    }
}

/// Seals a message, if there is a key.
fn seal(key: Option<&SubKey>, message: Vec<u8>) -> io::Result<Vec<u8>> {
    match key {
        Some(key) => seal_bytes(key, &message),
        None => Ok(message),
    }
}

/// Opens a message, if there is a key.
fn unseal(key: Option<&SubKey>, message: Vec<u8>) -> io::Result<Vec<u8>> {
    match key {
        Some(key) => Ok(open_bytes(key, &message)?.to_vec()),
        None => Ok(message),
    }
}

/// The question of a hook.
#[derive(Serialize, Deserialize)]
struct Question {
    form: u32,
    /// The store that the hook would open.
    store: StoreId,
    prompt: Prompt,
}

/// The answer to a hook.
#[derive(Serialize, Deserialize)]
enum Answer {
    /// The text with the memories, if there are any.
    Surfaced(Option<String>),
    /// The process cannot answer, for this reason.
    Refused(String),
}

/// The socket of this process. Dropping it ends the work on questions, and removes the file.
pub struct HookSocket {
    file: PathBuf,
    answering: AbortHandle,
}

impl Drop for HookSocket {
    fn drop(&mut self) {
        self.answering.abort();
        let _ = fs::remove_file(&self.file);
    }
}

/// Answers the hooks of prompts from now on, within a runtime. `kind` is the command of this
/// process. Without a socket, hooks work by themselves.
pub fn listen(settings: &Settings, kind: &str, engine: &Arc<Engine>) -> Option<HookSocket> {
    // The floor is for the model that prompts are searched with.
    if search_of_prompts(settings) != settings.search {
        return None;
    }
    let seals = Seals::of(settings)?;
    let folder = settings.data.join(RUN_FOLDER);
    let file = folder.join(format!("{kind}-{}.socket", process::id()));
    let (engine, store, own) = (Arc::clone(engine), store_of(settings), file.clone());
    let answering = tokio::spawn(async move {
        let listener = match bind(&folder, &own).await {
            Ok(listener) => listener,
            Err(error) => {
                tracing::debug!(%error, file = %own.display(), "hooks cannot ask this process");
                return;
            }
        };
        if let Err(error) = answer_all(&listener, &engine, &Arc::new((store, seals))).await {
            tracing::warn!(%error, "hooks cannot ask this process any more; they work by themselves");
        }
    });
    Some(HookSocket {
        file,
        answering: answering.abort_handle(),
    })
}

async fn bind(folder: &Path, file: &Path) -> io::Result<UnixListener> {
    create_private_folder(folder)?;
    // Processes that were killed left theirs.
    for other in sockets(folder) {
        let _ = timeout(QUESTION_TIMEOUT, connect(&other)).await;
    }
    let _ = fs::remove_file(file);
    UnixListener::bind(file)
}

async fn answer_all(
    listener: &UnixListener,
    engine: &Arc<Engine>,
    served: &Arc<(StoreId, Seals)>,
) -> io::Result<()> {
    let questions = Arc::new(Semaphore::new(QUESTIONS_MAX));
    loop {
        let share = Arc::clone(&questions).acquire_owned().await;
        let (mut stream, _) = listener.accept().await?;
        let (engine, served) = (Arc::clone(engine), Arc::clone(served));
        tokio::spawn(async move {
            let mut question = Vec::new();
            let mut limited = (&mut stream).take(BYTES_MAX);
            let reading = limited.read_to_end(&mut question);
            if !matches!(timeout(QUESTION_TIMEOUT, reading).await, Ok(Ok(_))) {
                return;
            }
            let answered = spawn_blocking({
                let (engine, served) = (Arc::clone(&engine), Arc::clone(&served));
                move || match unseal(served.1.question(), question) {
                    Ok(question) => answer(&engine, &served.0, &question),
                    Err(error) => {
                        let reason = format!("the question is sealed with another key: {error}");
                        (Answer::Refused(reason), None)
                    }
                }
            });
            let Ok((answer, shown)) = answered.await else {
                return;
            };
            let sealed = serde_json::to_vec(&answer)
                .map_err(io::Error::from)
                .and_then(|bytes| seal(served.1.answer(), bytes));
            let Ok(bytes) = sealed else {
                return;
            };
            let written = timeout(QUESTION_TIMEOUT, stream.write_all(&bytes)).await;
            // A hook that did not wait for the answer shows the memories by itself.
            if let (Ok(Ok(())), Some((prompt, shown))) = (written, shown) {
                drop(stream);
                let noting = move || log_shown(&engine, &prompt, shown, notice);
                let _ = spawn_blocking(noting).await;
            }
            drop(share);
        });
    }
}

/// Returns the answer, and the memories that it shows.
fn answer(
    engine: &Engine,
    store: &StoreId,
    question: &[u8],
) -> (Answer, Option<(Prompt, PromptMemories)>) {
    let refused = |reason: String| (Answer::Refused(reason), None);
    let question = match serde_json::from_slice::<Question>(question) {
        Ok(question) if question.form == FORM => question,
        Ok(_) => return refused("the hook is of another version of loci".to_owned()),
        Err(error) => return refused(format!("it is not the question of a hook: {error}")),
    };
    if question.store != *store {
        return refused("this process has another store".to_owned());
    }
    match surfaced(engine, &question.prompt) {
        Ok(shown) => (
            Answer::Surfaced(shown.as_ref().map(|shown| shown.text.clone())),
            shown.map(|shown| (question.prompt, shown)),
        ),
        Err(error) => refused(error.message),
    }
}

/// Why no process that serves answers.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// The question cannot be written.
    #[error("the question cannot be written")]
    Question(#[from] serde_json::Error),
    /// The system refuses what a connection needs.
    #[error("nothing can be connected to")]
    Runtime(#[from] io::Error),
    /// None serves here, or none answered in time.
    #[error("no process that serves answered")]
    Silence,
}

/// Asks the processes that serve for the text with the memories that a prompt brings up; `None`
/// without such memories.
///
/// # Errors
/// [`NoAnswer`]; the hook then works by itself.
pub fn ask(settings: &Settings, prompt: &Prompt) -> Result<Option<String>, NoAnswer> {
    let question = Question {
        form: FORM,
        store: store_of(settings),
        prompt: prompt.clone(),
    };
    let Some(seals) = Seals::of(settings) else {
        return Err(NoAnswer::Silence);
    };
    let question = seal(seals.question(), serde_json::to_vec(&question)?)?;
    let files = sockets(&settings.data.join(RUN_FOLDER));
    if files.is_empty() {
        return Err(NoAnswer::Silence);
    }
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime
        .block_on(async { timeout(ANSWER_TIMEOUT, ask_all(&files, &question, &seals)).await })
        .unwrap_or(Err(NoAnswer::Silence))
}

/// Asks one process after the other, until one answers.
async fn ask_all(
    files: &[PathBuf],
    question: &[u8],
    seals: &Seals,
) -> Result<Option<String>, NoAnswer> {
    for file in files {
        match exchange(file, question, seals).await {
            Ok(Answer::Surfaced(text)) => return Ok(text),
            Ok(Answer::Refused(reason)) => {
                tracing::debug!(file = %file.display(), reason, "a process does not answer the hook");
            }
            Err(error) => {
                tracing::debug!(file = %file.display(), %error, "a process does not answer the hook");
            }
        }
    }
    Err(NoAnswer::Silence)
}

async fn exchange(file: &Path, question: &[u8], seals: &Seals) -> io::Result<Answer> {
    let mut stream = connect(file).await?;
    stream.write_all(question).await?;
    stream.shutdown().await?;
    let mut answer = Vec::new();
    stream.take(BYTES_MAX).read_to_end(&mut answer).await?;
    let answer = unseal(seals.answer(), answer)?;
    Ok(serde_json::from_slice(&answer)?)
}

/// Connects to a socket; removes one that no process listens to. Does not wait where the queue of a
/// process that is stopped is full, for which the system would wait as long as that is stopped.
async fn connect(file: &Path) -> io::Result<UnixStream> {
    UnixStream::connect(file).await.inspect_err(|error| {
        if error.kind() == io::ErrorKind::ConnectionRefused {
            let _ = fs::remove_file(file);
        }
    })
}

/// Returns the sockets in the folder: servers' first, which keep their model longest.
fn sockets(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "socket"))
        .collect();
    files.sort_unstable_by(|a, b| b.cmp(a));
    files
}

/// Returns the store that the settings name.
fn store_of(settings: &Settings) -> StoreId {
    settings.store.location(&settings.data).id()
}
