//! `loci hook`: what a host asks for at the events of a session.

mod install;

use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use loci_dialects::{Context, mempalace};
use loci_engine::Engine;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cli::Hook;
use crate::exit::{Exit, Failure};
use crate::mining::{self, conversation};
use crate::output::{Output, note, print};
use crate::settings::Settings;
use crate::wiring::Parts;

/// How long a hook reads on; what is left then is for whichever process comes to it. Together with the start of the
/// process and the last step it stays below 300 ms.
const READING_TIME: Duration = Duration::from_millis(120);
/// How long a hook waits for another process that writes. The transcript stays, and the next event saves it.
const BUSY_TIMEOUT: Duration = Duration::from_millis(150);
/// Bytes of what a host says on stdin.
const INPUT_BYTES_MAX: u64 = 8 << 20;
/// Messages after which an agent whose host is not to save silently is asked to save by itself.
const MESSAGES_UNASKED_MAX: u64 = 30;
/// The tokens of what an agent reads at the start of a session.
const WAKE_UP_TOKENS: usize = 2_000;
/// The setting that says up to which message of which transcript the agent was asked.
const ASKED: &str = "hook_asked";

/// What a host says. There is more, which nothing here needs.
#[derive(Deserialize)]
struct Input {
    /// Its file of the session; none, if the host keeps none.
    transcript_path: Option<String>,
    /// The folder that the session works in.
    cwd: Option<String>,
    /// Whether the agent goes on because a hook asked it to.
    #[serde(default)]
    stop_hook_active: bool,
}

pub fn run(settings: &Settings, command: &Hook, output: Output) -> Result<(), Failure> {
    match command {
        // To a host an exit code of 2 means that the agent must not go on; nothing here is worth that.
        Hook::Run { event, .. } => {
            run_event(settings, event).map_err(|failure| Failure { exit: Exit::Failure, ..failure })
        }
        Hook::Install(arguments) => install::install(settings, arguments, output),
        Hook::Uninstall(arguments) => install::uninstall(arguments, output),
    }
}

fn run_event(settings: &Settings, event: &str) -> Result<(), Failure> {
    let until = Instant::now() + READING_TIME;
    let mut text = String::new();
    let unusable =
        |problem: String| Failure::new(Exit::Failure, format!("stdin is not what a host says to its hooks: {problem}"));
    io::stdin().lock().take(INPUT_BYTES_MAX).read_to_string(&mut text).map_err(|error| unusable(error.to_string()))?;
    let input: Input = serde_json::from_str(&text).map_err(|error| unusable(error.to_string()))?;
    let busy_timeout = settings.busy_timeout.min(BUSY_TIMEOUT);
    let parts = Parts::open(&Settings { busy_timeout, ..settings.clone() })?;
    let folder = input.cwd.as_deref().map_or_else(std::env::current_dir, |cwd| Ok(cwd.into())).unwrap_or_default();
    let wing = mining::wing_of(&folder);
    let reply = match event {
        "session-start" => Some(session_start(&parts.engine, &wing)?),
        event => save(&parts.engine, &input, &wing, until, event == "stop")?,
    };
    match reply {
        Some(reply) => Ok(print(format_args!("{reply}\n"))?),
        None => Ok(()),
    }
}

/// What the agent should know.
fn session_start(engine: &Engine, wing: &str) -> Result<Value, Failure> {
    let context = Context { engine, caller: &mining::caller() };
    let text = mempalace::wake_up(context, Some(wing), WAKE_UP_TOKENS)?;
    Ok(json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}}))
}

/// Saves what the transcript has new. What to say to the host, if anything.
fn save(engine: &Engine, input: &Input, wing: &str, until: Instant, may_ask: bool) -> Result<Option<Value>, Failure> {
    let Some(path) = &input.transcript_path else { return Ok(None) };
    let path = mining::absolute(Path::new(path))?;
    let root = Path::new(&path).parent().and_then(Path::to_str).unwrap_or_default();
    let transcripts = conversation::Transcripts { wing, root, is_dry: false, until: Some(until) };
    let Some(told) = conversation::file(engine, &transcripts, &path)? else {
        return Err(Failure::new(Exit::Failure, format!("{path} is no transcript that loci can read")));
    };
    let caller = mining::caller();
    let context = Context { engine, caller: &caller };
    let settings = mempalace::hook_settings(context)?;
    if told.filed.added > 0 {
        mempalace::put_checkpoint(context, told.filed.added)?;
        if settings.desktop_toast {
            toast(told.filed.added);
        }
    }
    if settings.silent_save || !may_ask || input.stop_hook_active {
        return Ok(None);
    }
    let said = engine.source_file(&caller, Some(wing), &path)?.map_or(0, |file| file.parts);
    ask(engine, &path, said)
}

/// Has the agent save by itself what matters, every so many messages.
fn ask(engine: &Engine, path: &str, said: u64) -> Result<Option<Value>, Failure> {
    let caller = mining::caller();
    let asked: Value =
        engine.setting(&caller, ASKED)?.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let asked_until = if asked["transcript"] == path { asked["messages"].as_u64().unwrap_or(0) } else { 0 };
    if said < asked_until + MESSAGES_UNASKED_MAX {
        return Ok(None);
    }
    engine.put_setting(&caller, ASKED, json!({"transcript": path, "messages": said}).to_string())?;
    let reason = "Before you stop, save what should outlast this session: decisions with their reasons, quotations, facts \
                  and open ends, with mempalace_add_drawer, mempalace_kg_add and mempalace_diary_write. Then you are done.";
    Ok(Some(json!({"decision": "block", "reason": reason})))
}

/// Tells the person at the desktop, where something there shows it.
fn toast(messages: u64) {
    let words = if messages == 1 { "1 message saved".to_owned() } else { format!("{messages} messages saved") };
    let shown = Command::new("notify-send")
        .args(["--app-name=loci", "loci", &words])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Err(error) = shown
        && error.kind() != io::ErrorKind::NotFound
    {
        note(format_args!("note: notify-send does not start: {error}"));
    }
}
