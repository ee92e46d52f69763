//! `loci-bench hooks`: measures the time for which a prompt waits for its hook.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use loci::exit::{Exit, Failure};
use loci::output::{Output, status_line};
use loci::settings::Settings;
use loci::wiring::Parts;
use loci_core::Caller;
use loci_engine::Remember;
use serde_json::{Value, json};

use super::client::{loci, succeed};
use super::corpus::{Random, memory, sentence};
use super::figure::{Figure, print};
use super::http::Server;
use super::laboratory::settle;
use super::speed::{engine, folder_in, milliseconds, side_by_side};

/// The number of threads that store.
const WRITERS: usize = 16;
/// The number of prompts with and without a server. Each brings up a memory of its own.
const PROMPTS: usize = 200;

pub fn run(
    settings: &Settings,
    folder: Option<&Path>,
    memories: usize,
    output: Output,
) -> Result<(), Failure> {
    let folder = folder_in(folder)?;
    let data = folder.path().join("data");
    status_line(format_args!("storing {memories} memories …"));
    let engine = engine(&data)?;
    side_by_side(WRITERS, |writer| {
        let mut random = Random(writer as u64);
        (writer..memories).step_by(WRITERS).try_for_each(|_| {
            // Every session searches them.
            let request = Remember {
                collection: None,
                ..memory(&mut random)
            };
            let stored = engine.system(&Caller::local()).memories().remember(request);
            stored.map(|_| ())
        })
    })?;
    drop(engine);
    let prompts = with_vectors(settings, &data)?;
    let mut figures = Vec::new();
    status_line("asking without a server …");
    figures.extend(ask(&data, &prompts, "no server", ["", "150"])?);
    status_line("asking with a server …");
    let server =
        Server::start(&data).map_err(|error| Failure::new(Exit::Failure, error.to_string()))?;
    // Loads the index and the model of the server.
    hook(&data, "prompt", &input(folder.path(), "first", &prompts[0]))?;
    figures.extend(ask(&data, &prompts, "a server", ["25", "60"])?);
    drop(server);
    print(&figures, output)
}

/// Stores texts with vectors of the bundled model, and returns a prompt for each.
fn with_vectors(settings: &Settings, data: &Path) -> Result<Vec<String>, Failure> {
    let parts = Parts::open_at(settings, data)?;
    let mut random = Random(99);
    let mut prompts = Vec::with_capacity(PROMPTS);
    for _ in 0..PROMPTS {
        let text = sentence(&mut random);
        prompts.push(format!("Is it still true? {text}"));
        let request = Remember::new(text, "fact");
        parts
            .engine
            .system(&Caller::local())
            .memories()
            .remember(request)?;
    }
    settle(&parts)?;
    Ok(prompts)
}

/// Asks each prompt in a session of its own; returns the median and the 99th percentile of the
/// times.
fn ask(
    data: &Path,
    prompts: &[String],
    with: &str,
    goals: [&'static str; 2],
) -> Result<[Figure; 2], Failure> {
    let folder = data.parent().unwrap_or(data);
    let mut times = Vec::with_capacity(prompts.len());
    for (number, prompt) in prompts.iter().enumerate() {
        let input = input(folder, &format!("{with} {number}"), prompt);
        let (time, reply) = hook(data, "prompt", &input)?;
        if !reply.contains("additionalContext") {
            let message = format!("the prompt \"{prompt}\" brought up nothing");
            return Err(Failure::new(Exit::Failure, message));
        }
        times.push(time);
    }
    times.sort_by(f64::total_cmp);
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    Ok([
        Figure::one(
            format!("hook of a prompt, {with}, p50"),
            at(50),
            "ms",
            goals[0],
        ),
        Figure::one(
            format!("hook of a prompt, {with}, p99"),
            at(99),
            "ms",
            goals[1],
        ),
    ])
}

fn input(folder: &Path, session: &str, prompt: &str) -> Value {
    json!({"cwd": folder.to_string_lossy(), "session_id": session, "prompt": prompt})
}

/// Runs a hook of Claude Code; returns the milliseconds from the start of its process to its end,
/// and its reply.
///
/// # Errors
/// If it cannot be started, or fails.
pub fn hook(data: &Path, event: &str, input: &Value) -> Result<(f64, String), Failure> {
    let mut command = loci(data)?;
    command
        .args(["hook", "run", "--host", "claude-code", "--event", event])
        .arg("--data")
        .arg(data)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let begin = Instant::now();
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.to_string().as_bytes())?;
    }
    let done = child.wait_with_output()?;
    let taken = milliseconds(begin.elapsed());
    succeed(&done)?;
    Ok((taken, String::from_utf8_lossy(&done.stdout).into_owned()))
}
