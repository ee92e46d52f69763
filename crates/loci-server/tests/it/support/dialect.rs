use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use loci_core::{Batch, Ownership, Result, Scope, Space, Store, Timestamp};
use loci_dialects::{Dialect, Hints, Reply, Resource, Resources, Tool, TypedTool, UsualTools};
use loci_engine::{Call, Engine, SearchMode};
use loci_server::{AppPages, Host, HostOptions};
use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};
use loci_vault::VaultFolder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tokio::sync::mpsc;

/// The texts of the resources `test://note/{name}`, shared by all tests: each test has its own
/// name.
static NOTES: LazyLock<Mutex<HashMap<String, String>>> = LazyLock::new(Mutex::default);

/// Says back what it was told.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EchoArguments {
    /// The text to say.
    #[schemars(length(min = 1))]
    text: String,
}

#[derive(Serialize, JsonSchema)]
struct EchoOutput {
    text: String,
    subject: Option<String>,
}

struct Echo;

impl TypedTool for Echo {
    const NAME: &'static str = "echo";
    const TITLE: &'static str = "Echo";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "test";
    type Arguments = EchoArguments;
    type Output = EchoOutput;

    fn run(call: &Call<'_>, arguments: EchoArguments) -> Result<Reply> {
        let subject = call.caller().principal.subject.clone();
        let output = EchoOutput {
            text: arguments.text,
            subject,
        };
        Reply::json(&output, None)
    }
}

/// Takes nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

struct Numbers;

impl TypedTool for Numbers {
    const NAME: &'static str = "numbers";
    const TITLE: &'static str = "Numbers";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "test";
    type Arguments = NoArguments;
    type Output = Vec<u32>;

    fn run(_call: &Call<'_>, _arguments: NoArguments) -> Result<Reply> {
        Reply::json(&[1, 2, 3], Some(3))
    }
}

struct Forget;

impl TypedTool for Forget {
    const NAME: &'static str = "forget";
    const TITLE: &'static str = "Forget";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints::REPLACES;
    const OPERATION: &'static str = "test";
    type Arguments = NoArguments;
    type Output = EchoOutput;

    fn run(_call: &Call<'_>, _arguments: NoArguments) -> Result<Reply> {
        let output = serde_json::json!({"text": "gone", "subject": null});
        Reply::json(&output, None)
    }
}

struct Panics;

impl TypedTool for Panics {
    const NAME: &'static str = "panics";
    const TITLE: &'static str = "Panics";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "test";
    type Arguments = NoArguments;
    type Output = EchoOutput;

    fn run(_call: &Call<'_>, _arguments: NoArguments) -> Result<Reply> {
        panic!("as the test wants it")
    }
}

struct Noted;

impl TypedTool for Noted {
    const NAME: &'static str = "noted";
    const TITLE: &'static str = "Noted";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "test";
    type Arguments = NoArguments;
    type Output = Vec<u32>;

    fn run(_call: &Call<'_>, _arguments: NoArguments) -> Result<Reply> {
        let empty: [u32; 0] = [];
        let reply = Reply::json(&empty, Some(0))?.with_notice(Some("half of it".to_owned()));
        Ok(reply.with_explanations(vec![serde_json::json!({"id": "a", "final": 0.5})]))
    }
}

/// Says something long.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LongArguments {
    /// The name under which the calls are counted.
    name: String,
    /// The length of the text.
    bytes: usize,
}

/// The number of calls of the tool `long`, by name.
static LONG_CALLS: LazyLock<Mutex<HashMap<String, usize>>> = LazyLock::new(Mutex::default);

/// Returns the number of calls of the tool `long` with this name that have started.
pub fn long_calls(name: &str) -> usize {
    LONG_CALLS
        .lock()
        .unwrap()
        .get(name)
        .copied()
        .unwrap_or_default()
}

struct Long;

impl TypedTool for Long {
    const NAME: &'static str = "long";
    const TITLE: &'static str = "Long";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "test";
    type Arguments = LongArguments;
    type Output = EchoOutput;

    fn run(_call: &Call<'_>, arguments: LongArguments) -> Result<Reply> {
        *LONG_CALLS
            .lock()
            .unwrap()
            .entry(arguments.name)
            .or_default() += 1;
        let structured = serde_json::json!({"text": "", "subject": null});
        Ok(Reply::new("x".repeat(arguments.bytes), structured, None))
    }
}

/// Waits until it may end.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WaitsArguments {
    /// The gate to wait at.
    gate: String,
}

/// The channels between the tool `waits` and its gates, by the name of the gate.
static GATES: LazyLock<Mutex<HashMap<String, CallAtGate>>> = LazyLock::new(Mutex::default);

type CallAtGate = (mpsc::UnboundedSender<()>, std::sync::mpsc::Receiver<()>);

/// The test's side of a call of the tool `waits`.
pub struct Gate {
    begun: mpsc::UnboundedReceiver<()>,
    open: std::sync::mpsc::Sender<()>,
}

impl Gate {
    /// Returns a gate for one call, which names it.
    pub fn new(name: &str) -> Self {
        let ((told, begun), (open, opened)) =
            (mpsc::unbounded_channel(), std::sync::mpsc::channel());
        GATES
            .lock()
            .unwrap()
            .insert(name.to_owned(), (told, opened));
        Gate { begun, open }
    }

    /// Waits until the call has started.
    pub async fn begun(&mut self) {
        self.begun.recv().await.unwrap();
    }

    /// Lets the call end.
    pub fn open(&self) {
        self.open.send(()).unwrap();
    }
}

struct Waits;

impl TypedTool for Waits {
    const NAME: &'static str = "waits";
    const TITLE: &'static str = "Waits";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "test";
    type Arguments = WaitsArguments;
    type Output = Vec<u32>;

    fn run(_call: &Call<'_>, arguments: WaitsArguments) -> Result<Reply> {
        let (told, opened) = GATES.lock().unwrap().remove(&arguments.gate).unwrap();
        told.send(()).unwrap();
        // Receiving also ends when the test drops the gate.
        let _ = opened.recv();
        let empty: [u32; 0] = [];
        Reply::json(&empty, Some(0))
    }
}

static TOOLS: [Tool; 7] = [
    Tool::of::<Numbers>(),
    Tool::of::<Echo>(),
    Tool::of::<Forget>(),
    Tool::of::<Panics>(),
    Tool::of::<Noted>(),
    Tool::of::<Long>(),
    Tool::of::<Waits>(),
];
static PLAIN_TOOLS: [Tool; 1] = [Tool::of::<Echo>()];

/// A dialect with tools of every kind and resources.
pub static DIALECT: Dialect = Dialect {
    name: "test",
    title: "Test",
    instructions: "Try things here.",
    usual_tools: UsualTools {
        find: "numbers",
        project_argument: None,
        store: "noted",
        begin: None,
        shows: loci_dialects::bootstrap_command,
    },
    ownership: Ownership::Usual,
    user_argument: None,
    tools: &TOOLS,
    resources: Some(Resources {
        fixed: &[Resource {
            uri: "test://about",
            name: "about",
            title: "About",
            description: "What this is.",
            mime_type: "text/plain",
        }],
        templates: &[Resource {
            uri: "test://note/{name}",
            name: "note",
            title: "Note",
            description: "One note.",
            mime_type: "text/markdown",
        }],
        read,
        complete,
    }),
};

/// For a dialect without tools to find and to store.
pub const NO_USUAL_TOOLS: UsualTools = UsualTools {
    find: "",
    project_argument: None,
    store: "",
    begin: None,
    shows: loci_dialects::bootstrap_command,
};

/// A dialect with one tool and nothing else, whose failures are flat.
pub static PLAIN: Dialect = Dialect {
    name: "plain",
    title: "Plain",
    instructions: "",
    usual_tools: NO_USUAL_TOOLS,
    ownership: Ownership::Usual,
    user_argument: None,
    tools: &PLAIN_TOOLS,
    resources: None,
};

#[expect(clippy::unnecessary_wraps, reason = "the seam demands the type")]
fn read(call: &Call<'_>, uri: &str) -> Result<Option<String>> {
    match uri {
        "test://about" => return Ok(Some("a test".to_owned())),
        "test://note/origin" => return Ok(Some(call.caller().origin.to_owned())),
        _ => {}
    }
    let name = uri.strip_prefix("test://note/");
    let first = name.and_then(|name| FIRST_READINGS.lock().unwrap().remove(name));
    if let Some(first) = first {
        first();
    }
    Ok(name.and_then(|name| NOTES.lock().unwrap().get(name).cloned()))
}

#[expect(clippy::unnecessary_wraps, reason = "the seam demands the type")]
fn complete(
    _call: &Call<'_>,
    uri: &str,
    argument: &str,
    prefix: &str,
) -> Result<Option<Vec<String>>> {
    let known = uri == "test://note/{name}" && argument == "name";
    Ok(known.then(|| {
        (0..150)
            .map(|n| format!("n{n}"))
            .filter(|name| name.starts_with(prefix))
            .collect()
    }))
}

type Work = Box<dyn FnOnce() + Send>;

/// Work that runs right before notes are read for the first time.
static FIRST_READINGS: LazyLock<Mutex<HashMap<String, Work>>> = LazyLock::new(Mutex::default);

/// Writes a note right before it is read for the first time.
pub fn set_resource_before_reading(world: &World, name: &'static str, text: &'static str) {
    let world = world.clone();
    let work = Box::new(move || set_resource(&world, name, text));
    FIRST_READINGS.lock().unwrap().insert(name.to_owned(), work);
}

/// Writes a note as another process would, without the server.
pub fn set_resource(world: &World, name: &str, text: &str) {
    NOTES
        .lock()
        .unwrap()
        .insert(name.to_owned(), text.to_owned());
    world
        .store
        .commit(Batch::new(Space::default(), Vec::new()))
        .unwrap();
}

/// A host over an empty store, with an empty folder of notes.
#[derive(Clone)]
pub struct World {
    pub host: Arc<Host>,
    pub engine: Arc<Engine>,
    store: Arc<NaiveStore>,
    _notes: Arc<TempDir>,
}

impl World {
    pub fn new() -> Self {
        let store = Arc::new(NaiveStore::new());
        let clock = Arc::new(FixedClock::new(Timestamp::from_microseconds(0)));
        let notes = tempfile::tempdir().unwrap();
        let folder = VaultFolder::new(
            notes.path().join("vault"),
            notes.path().join("lock"),
            clock.clone(),
        );
        let engine = Engine::new(
            store.clone(),
            Arc::new(HashingEmbedder::new(8)),
            clock,
            SearchMode::Words,
        );
        let engine = Arc::new(engine.with_notes(Arc::new(folder), "vault"));
        World {
            host: Host::new(engine.clone()),
            engine,
            store,
            _notes: Arc::new(notes),
        }
    }

    /// Returns the same for another server, with or without pages of views of the conversation.
    pub fn with_app_pages(&self, pages: Option<AppPages>) -> Self {
        World {
            host: Host::with_options(
                self.engine.clone(),
                HostOptions {
                    app_pages: pages,
                    ..HostOptions::default()
                },
            ),
            ..self.clone()
        }
    }

    /// Returns the same for another server, which asks persons with this time for an answer.
    pub fn with_questions(&self, limit: Duration) -> Self {
        World {
            host: Host::with_options(
                self.engine.clone(),
                HostOptions {
                    question_limit: Some(limit),
                    ..HostOptions::default()
                },
            ),
            ..self.clone()
        }
    }
}
