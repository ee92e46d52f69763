//! `loci-bench palace`: measures the tools on many drawers, hooks, and mining a project.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use loci::exit::{Exit, Failure};
use loci::output::{Output, status_line};
use loci::progress::Progress;
use loci::wiring::SystemClock;
use loci_core::{Caller, Embedder, Store};
use loci_dialects::{Context, mempalace};
use loci_embed::LocalModel;
use loci_engine::{Engine, Import, ImportOutcome, Remember, SearchMode};
use loci_ingest::{Report, project};
use loci_mine::project::propose;
use loci_store_sqlite::{Options, SqliteStore};
use serde_json::{Map, Value, json};

use super::client::{Client, loci, succeed};
use super::corpus::{Random, sentence};
use super::figure::{self, Figure};
use super::hooks::hook;
use super::speed::{engine, folder_in, milliseconds, searches};

/// The number of wings, and of rooms in each.
const WINGS: usize = 20;
const ROOMS: usize = 25;
/// The number of sentences of a drawer: about 600 bytes.
const SENTENCES: usize = 6;
/// The number of drawers that are stored together.
const STORED_TOGETHER: usize = 1_000;
/// The number of measured calls of each tool.
const CALLS: usize = 50;
/// The number of drawers that are added one after the other, and of those between two rounds of as
/// many flushes.
const ADDED: usize = 200;
const ADDED_BLOCK: usize = 20;
/// The number of files of the mined project.
const FILES: usize = 2_000;
/// The number of its drawers that are embedded.
const EMBEDDED: usize = 256;
/// The bytes of a transcript that is new to a hook, and of a tool's result between two messages.
const TRANSCRIPT_BYTES: usize = 20_000_000;
const TOOL_RESULT_BYTES: usize = 4_000;
/// The number of measured hooks.
const NEW_TRANSCRIPTS: usize = 5;
const GROWN_TRANSCRIPTS: usize = 20;

pub fn run(folder: Option<&Path>, drawers: usize, output: Output) -> Result<(), Failure> {
    let folder = folder_in(folder)?;
    let data = folder.path().join("data");
    status_line(format_args!("storing {drawers} drawers …"));
    let mut figures = Vec::new();
    {
        let engine = engine(&data)?;
        fill(&engine, drawers)?;
        let size = engine.size()?;
        figures.push(Figure::one(
            format!("disk of {drawers} drawers"),
            size.disk_bytes as f64 / 1e6,
            "MB",
            "150",
        ));
        status_line("calling tools …");
        figures.extend(calls(&engine, drawers)?);
        figures.extend(searches(&engine, drawers)?);
        status_line("adding …");
        figures.extend(adds(&engine, folder.path())?);
    }
    figures.extend(
        resident(&data, drawers).map_err(|error| Failure::new(Exit::Failure, error.to_string()))?,
    );
    status_line("running hooks …");
    figures.extend(hooks(folder.path(), &data)?);
    status_line("mining …");
    figures.extend(mines(folder.path())?);
    figure::print(&figures, output)
}

fn fill(engine: &Engine, drawers: usize) -> Result<(), Failure> {
    let mut random = Random(3);
    let mut stored = 0;
    while stored < drawers {
        let count = STORED_TOGETHER.min(drawers - stored);
        let imports: Vec<Import> = (0..count).map(|_| drawer(&mut random)).collect();
        engine
            .system(&loci_ingest::caller())
            .imports()
            .import(&imports, &mut ImportOutcome::default())?;
        stored += count;
    }
    while engine.background().embed_pending()? > 0 {}
    Ok(())
}

fn drawer(random: &mut Random) -> Import {
    let sentences: Vec<String> = (0..SENTENCES).map(|_| sentence(random)).collect();
    let (wing, room) = (
        format!("wing_{}", random.below(WINGS)),
        format!("room-{}", random.below(ROOMS)),
    );
    let content = sentences.join(" ");
    let id = mempalace::drawer_id(&wing, &room, &content, 0);
    let memory = Remember {
        collection: Some(wing),
        section: Some(room),
        visibility: loci_core::Visibility::Common,
        ..Remember::new(content, "drawer")
    };
    Import {
        id: Some(id),
        ..Import::new(memory)
    }
}

fn call(engine: &Engine, tool: &str, arguments: Value) -> Result<Value, Failure> {
    let Value::Object(arguments) = arguments else {
        return Ok(Value::Null);
    };
    let unknown = || Failure::new(Exit::Failure, format!("there is no tool {tool}"));
    let tool = mempalace::DIALECT.tool(tool).ok_or_else(unknown)?;
    let context = Context {
        engine,
        caller: &Caller::local(),
    };
    Ok(mempalace::DIALECT
        .call(tool, context, Map::from_iter(arguments))?
        .structured)
}

/// Measures the duration of calls, without transport.
fn calls(engine: &Engine, drawers: usize) -> Result<Vec<Figure>, Failure> {
    let page = |offset: usize| json!({"limit": 20, "offset": offset});
    let room = json!({"wing": "wing_3", "room": "room-7"});
    let last = drawers.saturating_sub(20);
    let rows = [
        ("mempalace_status", json!({}), "1", String::new()),
        ("mempalace_list_wings", json!({}), "1", String::new()),
        ("mempalace_get_taxonomy", json!({}), "1", String::new()),
        ("mempalace_graph_stats", json!({}), "1", String::new()),
        (
            "mempalace_list_drawers",
            page(0),
            "1",
            ", the first page".to_owned(),
        ),
        ("mempalace_list_drawers", room, "1", " of a room".to_owned()),
        (
            "mempalace_list_drawers",
            page(drawers / 2),
            "1",
            format!(" from {}", drawers / 2),
        ),
        (
            "mempalace_list_drawers",
            page(last),
            "1",
            format!(" from {last}"),
        ),
        (
            "mempalace_search",
            json!({"query": "the password for the server", "limit": 5}),
            "",
            String::new(),
        ),
    ];
    let measure = |(tool, arguments, goal, what): (&str, Value, &'static str, String)| {
        call(engine, tool, arguments.clone())?;
        let mut times = Vec::with_capacity(CALLS);
        for _ in 0..CALLS {
            let begin = Instant::now();
            call(engine, tool, arguments.clone())?;
            times.push(milliseconds(begin.elapsed()));
        }
        let name = tool.trim_start_matches("mempalace_");
        Ok(Figure::many(format!("{name}{what}"), times, "ms", goal))
    };
    rows.into_iter().map(measure).collect()
}

/// Measures added drawers, and the device's own time in the same run.
fn adds(engine: &Engine, folder: &Path) -> Result<Vec<Figure>, Failure> {
    let mut random = Random(1 << 32);
    let (mut added, mut flushed) = (Vec::new(), Vec::new());
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(folder.join("flush"))?;
    for _ in 0..ADDED / ADDED_BLOCK {
        for _ in 0..ADDED_BLOCK {
            let content: Vec<String> = (0..SENTENCES).map(|_| sentence(&mut random)).collect();
            let arguments =
                json!({"wing": "wing_3", "room": "room-7", "content": content.join(" ")});
            let begin = Instant::now();
            call(engine, "mempalace_add_drawer", arguments)?;
            added.push(milliseconds(begin.elapsed()));
        }
        for _ in 0..ADDED_BLOCK {
            let begin = Instant::now();
            file.write_all(&[0; 4_096])?;
            file.sync_data()?;
            flushed.push(milliseconds(begin.elapsed()));
        }
    }
    let added = Figure::many("add_drawer without embedding", added, "ms", "");
    let flushed = Figure::many(
        "the device's own append and flush of 4 KiB",
        flushed,
        "ms",
        "",
    );
    let beyond = Figure::one(
        "add_drawer beyond the device's own",
        added.p50 - flushed.p50,
        "ms",
        "1",
    );
    Ok(vec![added, flushed, beyond])
}

/// Measures the memory of a server after a search by words.
fn resident(data: &Path, drawers: usize) -> std::io::Result<Option<Figure>> {
    let mut client = Client::start(data, "words")?;
    let question = json!({"name": "recall", "arguments": {"query": Random(1).words(6)}});
    client.request(1, "tools/call", &question)?;
    let figure = |bytes: u64| {
        Figure::one(
            format!("resident memory, {drawers} drawers, no model"),
            bytes as f64 / 1e6,
            "MB",
            "150",
        )
    };
    Ok(client.resident_bytes().map(figure))
}

/// Measures the time that a host waits for a hook: whole processes, on the stored drawers.
fn hooks(folder: &Path, data: &Path) -> Result<Vec<Figure>, Failure> {
    let mut random = Random(11);
    let mut new = Vec::with_capacity(NEW_TRANSCRIPTS);
    let mut path = folder.to_owned();
    for number in 0..NEW_TRANSCRIPTS {
        path = folder.join(format!("session{number}.jsonl"));
        let mut transcript = String::new();
        while transcript.len() < TRANSCRIPT_BYTES {
            say(&mut transcript, &mut random, folder)?;
        }
        fs::write(&path, transcript)?;
        new.push(stop(data, &path, folder)?);
    }
    // Reads the rest that the last hook left to the background, so that only later messages are
    // new.
    mine_transcript(data, &path)?;
    let mut grown = Vec::with_capacity(GROWN_TRANSCRIPTS);
    for _ in 0..GROWN_TRANSCRIPTS {
        let mut said = String::new();
        say(&mut said, &mut random, folder)?;
        OpenOptions::new()
            .append(true)
            .open(&path)?
            .write_all(said.as_bytes())?;
        grown.push(stop(data, &path, folder)?);
    }
    let left = mine_transcript(data, &path)?;
    if left != json!(0) {
        return Err(Failure::new(
            Exit::Failure,
            format!("the hooks left {left} messages, which the bench did not expect"),
        ));
    }
    let megabytes = TRANSCRIPT_BYTES / 1_000_000;
    Ok(vec![
        Figure::many(
            format!("hook of a large transcript ({megabytes} MB), new"),
            new,
            "ms",
            "300",
        ),
        Figure::many("hook of the same, grown by a message", grown, "ms", "300"),
    ])
}

/// Adds a message and a tool result to it, as Claude Code writes them.
fn say(transcript: &mut String, random: &mut Random, folder: &Path) -> Result<(), Failure> {
    let text: Vec<String> = (0..SENTENCES).map(|_| sentence(random)).collect();
    let result = random.words(TOOL_RESULT_BYTES / 8);
    for (kind, content) in [
        ("assistant", json!({"type": "text", "text": text.join(" ")})),
        ("user", json!({"type": "tool_result", "content": result})),
    ] {
        let line = json!({
            "type": kind,
            "sessionId": "bench",
            "cwd": folder.to_string_lossy(),
            "timestamp": "2026-01-01T00:00:00.000Z",
            "message": {"role": kind, "content": [content]},
        });
        writeln!(transcript, "{line}")
            .map_err(|error| Failure::new(Exit::Failure, error.to_string()))?;
    }
    Ok(())
}

/// Returns the milliseconds of the hook at the end of an answer.
fn stop(data: &Path, transcript: &Path, folder: &Path) -> Result<f64, Failure> {
    let input =
        json!({"cwd": folder.to_string_lossy(), "transcript_path": transcript.to_string_lossy()});
    hook(data, "stop", &input).map(|(time, _)| time)
}

/// Reads a transcript to its end; returns the number of new messages.
fn mine_transcript(data: &Path, transcript: &Path) -> Result<Value, Failure> {
    let mut command = loci(data)?;
    command
        .args(["palace", "mine", "--mode", "convos", "--no-wait", "--json"])
        .arg(transcript);
    let done = command.arg("--data").arg(data).output()?;
    succeed(&done)?;
    let report: Value = serde_json::from_slice(&done.stdout).map_err(std::io::Error::from)?;
    Ok(report["drawers"]["added"].clone())
}

/// Measures mining a project, and the time of the device and the model for the same work.
fn mines(folder: &Path) -> Result<Vec<Figure>, Failure> {
    let (root, data) = (folder.join("project"), folder.join("mined"));
    let bytes = write_project(&root)?;
    let store =
        Arc::new(SqliteStore::open(&data, Options::default()).map_err(loci_core::Error::from)?);
    let shared: Arc<dyn Store> = Arc::<SqliteStore>::clone(&store);
    let model = Arc::new(LocalModel::bundled());
    let embedder: Arc<dyn Embedder> = Arc::<LocalModel>::clone(&model);
    let engine = Engine::new(shared, embedder, Arc::new(SystemClock), SearchMode::Hybrid);
    let root = loci_ingest::absolute(&root)?;
    let plan = propose(Path::new(&root))?;
    let mining = project::Mining {
        files_again: false,
        root: &root,
        notes: None,
        plan: &plan,
        is_dry: false,
        rereads: false,
        is_verbatim: false,
    };
    let system = engine.system(&loci_ingest::caller());
    let mine = || {
        let begin = Instant::now();
        let report = project::mine(&system, &mining, &Progress::new("files"))?;
        Ok::<(Report, f64), Failure>((report, begin.elapsed().as_secs_f64()))
    };
    let ((report, seconds), (again, seconds_again)) = (mine()?, mine()?);
    if report.read != FILES as u64 || again.read != 0 || again.drawers.added != 0 {
        let message = format!(
            "mining did something else than the bench expected: {report:?}, then {again:?}"
        );
        return Err(Failure::new(Exit::Failure, message));
    }
    let flush = flush_seconds(folder)?;
    let (embedded, of_model) = embedding_rates(&engine, model.as_ref(), Path::new(&root))?;
    let (megabytes, drawers) = (bytes as f64 / 1e6, report.drawers.added as f64);
    Ok(vec![
        Figure::one(
            format!("mining {FILES} files ({megabytes:.1} MB), no embedding"),
            FILES as f64 / seconds,
            "files/s",
            "",
        ),
        Figure::one("the same in drawers", drawers / seconds, "/s", ""),
        Figure::one(
            "the device's flushes, one after the other",
            1.0 / flush,
            "/s",
            "",
        ),
        Figure::one(
            format!("mining the same {FILES} files again, unchanged"),
            FILES as f64 / seconds_again,
            "files/s",
            "",
        ),
        Figure::one(
            "drawers read by the model in the background",
            embedded,
            "/s",
            "",
        ),
        Figure::one(
            "texts of the same files read by the model alone",
            of_model,
            "/s",
            "",
        ),
    ])
}

/// Writes source files of about three kilobytes, in folders; returns their bytes.
fn write_project(root: &Path) -> Result<usize, Failure> {
    let mut random = Random(9);
    let mut bytes = 0;
    for number in 0..FILES {
        let folder = root.join(format!("part{}/module{}", number % 10, number % 40));
        fs::create_dir_all(&folder)?;
        let mut text = format!("//! Module {number}.\n\nuse std::fmt;\n");
        for function in 0..8 {
            let name = random.words(2).replace(' ', "_");
            text += &format!(
                "\n/// {}\npub fn {name}_{function}(value: u32) -> u32 {{\n",
                sentence(&mut random)
            );
            for _ in 0..4 {
                text += &format!(
                    "    let {} = value.wrapping_mul({});\n",
                    random.words(1),
                    random.below(1_000)
                );
            }
            text += "    value\n}\n";
        }
        bytes += text.len();
        fs::write(folder.join(format!("file{number}.rs")), text)?;
    }
    Ok(bytes)
}

fn flush_seconds(folder: &Path) -> Result<f64, Failure> {
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(folder.join("flush"))?;
    let begin = Instant::now();
    for _ in 0..ADDED {
        file.write_all(&[0; 4_096])?;
        file.sync_data()?;
    }
    Ok(begin.elapsed().as_secs_f64() / ADDED as f64)
}

/// Returns the memories per second in the background, and the texts per second of the model by
/// itself.
fn embedding_rates(
    engine: &Engine,
    model: &LocalModel,
    root: &Path,
) -> Result<(f64, f64), Failure> {
    let mut embedded = 0;
    let begin = Instant::now();
    while embedded < EMBEDDED {
        embedded += engine.background().embed_pending()?;
    }
    let background = embedded as f64 / begin.elapsed().as_secs_f64();
    let mut texts = Vec::new();
    for (path, _) in loci_mine::project::walk(root)?.files {
        let text = fs::read_to_string(&path)?;
        let sections = loci_mine::project::sections(&path, &text);
        texts.extend(
            sections
                .into_iter()
                .map(|section| text[section.bytes].to_owned()),
        );
        if texts.len() >= EMBEDDED {
            break;
        }
    }
    let texts: Vec<&str> = texts.iter().take(EMBEDDED).map(String::as_str).collect();
    let begin = Instant::now();
    model.embed(&texts)?;
    Ok((
        background,
        texts.len() as f64 / begin.elapsed().as_secs_f64(),
    ))
}
