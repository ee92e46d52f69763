//! `loci doctor`: looks for what is wrong and says the way out. Changes no memory.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use loci_core::{Caller, Clock, CollectionFilter, JobStore, Store, TokenStore, TokenVerifier};
use loci_engine::{List, NoteStatus, SearchMode};
use loci_oidc::{KeyStatus, OidcVerifier};
use loci_server::{MonotonicTime, Tls};
use serde_json::{Value, json};

use crate::damage;
use crate::exit::{Exit, Failure};
use crate::output::{Output, moment};
use crate::secret;
use crate::settings::{Settings, TlsFiles};
use crate::wiring::{Parts, SystemClock, probe};

/// The clock stands at an impossible time before this: seconds since 1970, 2025-01-01.
const CLOCK_SECONDS_MIN: i64 = 1_735_689_600;
/// How far ahead of the clock the newest memory may be, since other machines have clocks too.
const CLOCK_AHEAD_SECONDS_MAX: i64 = 300;
/// Free space below which writes will soon fail.
const FREE_BYTES_MIN: u64 = 100 << 20;
/// Memories whose enrichment failed that are named.
const FAILED_JOBS_SHOWN_MAX: usize = 10;
/// Memories without an embedding that are counted.
const PENDING_MAX: usize = 10_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Ok,
    Warn,
    /// With the exit code that a command would end with.
    Fail(Exit),
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Verdict::Ok => "ok",
            Verdict::Warn => "warn",
            Verdict::Fail(_) => "fail",
        })
    }
}

/// What was looked at, the verdict, and why.
type Finding = (&'static str, Verdict, String);

pub fn run(settings: &Settings, output: Output) -> Result<(), Failure> {
    let mut findings = vec![folder(&settings.data)];
    if settings.data.exists() {
        findings.extend(free_space(&settings.data));
        match Parts::open(settings) {
            Ok(parts) => findings.extend(database(settings, &parts)),
            Err(failure) if failure.exit == Exit::Usage => {
                findings.push((
                    "database",
                    Verdict::Warn,
                    "not looked at, since the model's settings are wrong".to_owned(),
                ));
            }
            Err(failure) => findings.push(("database", Verdict::Fail(failure.exit), failure.message)),
        }
        findings.extend(token_file(&secret::file_in(&settings.data)));
    }
    findings.push(model(settings));
    findings.extend(identity_provider(settings));
    findings.extend(certificate(settings));
    findings.push(clock());

    let mut text = String::new();
    for (what, verdict, why) in &findings {
        let _ = writeln!(text, "{verdict:4}  {what:12}  {why}");
    }
    let row = |(what, verdict, why): &Finding| json!({"check": what, "verdict": verdict.to_string(), "text": why});
    output.either(&findings.iter().map(row).collect::<Value>(), text)?;
    let worst = findings.iter().find_map(|(_, verdict, _)| match verdict {
        Verdict::Fail(exit) => Some(*exit),
        _ => None,
    });
    worst.map_or(Ok(()), |exit| Err(Failure::new(exit, "")))
}

/// Whether the provider of tokens answers, if there is one.
fn identity_provider(settings: &Settings) -> Option<Finding> {
    const WHAT: &str = "identity";
    let options = settings.network.oidc.clone()?;
    let verifier = match OidcVerifier::new(options, Arc::new(SystemClock)) {
        Ok(verifier) => verifier,
        Err(error) => return Some((WHAT, Verdict::Fail(Exit::Usage), error.message)),
    };
    Some(match verifier.probe() {
        Ok(KeyStatus { keys, .. }) => (WHAT, Verdict::Ok, format!("{} answers, with {keys} keys", verifier.issuer())),
        Err(error) => {
            (WHAT, Verdict::Warn, format!("{}; until it answers, none of its tokens is accepted", error.message))
        }
    })
}

/// Whether the certificate of the HTTP server can be used, if there is one.
fn certificate(settings: &Settings) -> Option<Finding> {
    const WHAT: &str = "certificate";
    let TlsFiles { certificate, key } = settings.network.tls.clone()?;
    let shown = certificate.display().to_string();
    Some(match Tls::from_files(certificate, key, MonotonicTime::default()) {
        Ok(_) => (WHAT, Verdict::Ok, format!("{shown} and its key can be used")),
        Err(error) => (WHAT, Verdict::Fail(Exit::Usage), error.message),
    })
}

fn folder(data: &Path) -> Finding {
    const WHAT: &str = "data folder";
    let shown = data.display();
    let Ok(metadata) = fs::metadata(data) else {
        return (WHAT, Verdict::Warn, format!("{shown} does not exist yet; the first command that needs it makes it"));
    };
    if !metadata.is_dir() {
        let why = format!("{shown} is no folder; choose another with --data");
        return (WHAT, Verdict::Fail(Exit::DataFolder), why);
    }
    let probe = data.join(format!("doctor.{}.tmp", std::process::id()));
    let written = fs::write(&probe, b"loci doctor").and_then(|()| fs::remove_file(&probe));
    if let Err(error) = written {
        let why = format!("{shown} cannot be written ({error}); correct its permissions or free some space");
        return (WHAT, Verdict::Fail(Exit::DataFolder), why);
    }
    if is_open_to_others(&metadata) {
        return (WHAT, Verdict::Warn, format!("others can look into {shown}; run: chmod 700 '{shown}'"));
    }
    (WHAT, Verdict::Ok, format!("{shown} can be written, by you alone"))
}

#[cfg(unix)]
fn is_open_to_others(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o077 != 0
}

#[cfg(not(unix))]
fn is_open_to_others(_metadata: &fs::Metadata) -> bool {
    false
}

#[cfg(unix)]
fn free_space(data: &Path) -> Option<Finding> {
    let space = rustix::fs::statvfs(data).ok()?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    let megabytes = free >> 20;
    Some(if free < FREE_BYTES_MIN {
        ("disk", Verdict::Warn, format!("only {megabytes} MB are free; free some space before writes fail"))
    } else {
        ("disk", Verdict::Ok, format!("{megabytes} MB are free"))
    })
}

#[cfg(not(unix))]
fn free_space(_data: &Path) -> Option<Finding> {
    None
}

fn database(settings: &Settings, parts: &Parts) -> Vec<Finding> {
    const WHAT: &str = "database";
    let size = parts.engine.size().unwrap_or_default();
    let mut findings = match parts.store.integrity_check() {
        Ok(problems) if problems.is_empty() => {
            let (memories, bytes) = (size.memories, size.disk_bytes);
            let why = format!("opens, has the current schema, is whole: {memories} memories in {bytes} bytes");
            vec![(WHAT, Verdict::Ok, why)]
        }
        Ok(problems) => {
            let why = format!("is damaged: {}", damage::way_out(&settings.data));
            let problems = problems.into_iter().map(|problem| ("damage", Verdict::Fail(Exit::Database), problem));
            std::iter::once((WHAT, Verdict::Fail(Exit::Database), why)).chain(problems).collect()
        }
        Err(error) => {
            let failure = Failure::from(error);
            vec![(WHAT, Verdict::Fail(failure.exit), failure.message)]
        }
    };
    if settings.search != SearchMode::Words
        && let Ok(pending) = parts.store.without_vector(parts.embedder.model(), PENDING_MAX)
    {
        findings.push(if pending.is_empty() {
            ("embeddings", Verdict::Ok, "every memory has its embedding".to_owned())
        } else {
            let why = format!(
                "{}{} memories are found by words alone until `loci serve` or `loci mcp` has embedded them",
                if pending.len() == PENDING_MAX { "at least " } else { "" },
                pending.len()
            );
            ("embeddings", Verdict::Warn, why)
        });
    }
    findings.extend(enrichment(parts));
    findings.push(notes(parts));
    if let Ok(tokens) = parts.store.tokens() {
        let now = SystemClock.now();
        let valid = tokens.iter().filter(|token| token.is_valid(now)).count();
        findings.push(("tokens", Verdict::Ok, format!("{valid} of {} are valid", tokens.len())));
    }
    findings.extend(newest(parts));
    findings
}

/// What is wrong with the notes, in short: `loci vault check` has it whole.
fn notes(parts: &Parts) -> Finding {
    const WHAT: &str = "notes";
    let status = match parts.engine.note_status() {
        Ok(status) => status,
        Err(error) => return (WHAT, Verdict::Warn, error.message),
    };
    let NoteStatus { location, notes, forgotten, not_indexed, problems, away } = status;
    if let Some(why) = away {
        return (WHAT, Verdict::Warn, why);
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, problem) in &problems {
        *counts.entry(problem.kind.name()).or_default() += 1;
    }
    let mut found: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    if !not_indexed.is_empty() {
        found.push(format!("{} not indexed yet", not_indexed.len()));
    }
    if found.is_empty() {
        return (WHAT, Verdict::Ok, format!("{notes} in {location}, and {forgotten} deleted ones"));
    }
    (WHAT, Verdict::Warn, format!("{notes} in {location}; {}: `loci vault check` names them", found.join(", ")))
}

/// Memories that wait to be judged, and those that nobody could judge.
fn enrichment(parts: &Parts) -> Vec<Finding> {
    const WHAT: &str = "enrichment";
    let (Ok(counts), Ok(failed)) = (parts.store.job_counts(), parts.store.failed_jobs(FAILED_JOBS_SHOWN_MAX)) else {
        return Vec::new();
    };
    if counts.failed == 0 {
        return vec![(WHAT, Verdict::Ok, format!("{} memories wait for it, none failed", counts.waiting))];
    }
    let noun = if counts.failed == 1 { "memory" } else { "memories" };
    let why = format!("{} {noun} could not be judged; they are kept as they are and found all the same", counts.failed);
    let shown = failed.into_iter().map(|job| {
        let why = format!("memory {} (attempts: {}): {}", job.memory, job.attempts, job.problem);
        (WHAT, Verdict::Warn, why)
    });
    std::iter::once((WHAT, Verdict::Warn, why)).chain(shown).collect()
}

/// A memory from the future hides that the clock was wrong once, or is now.
fn newest(parts: &Parts) -> Option<Finding> {
    let collections = CollectionFilter::Any;
    let (sections, tags) = (Vec::new(), Vec::new());
    let request = List { collections, sections, tags, delivery: None, offset: 0, limit: 1 };
    let newest = parts.engine.list(&Caller::local(), request).ok()?.pop()?;
    let is_ahead = newest.updated_at > SystemClock.now().plus_seconds(CLOCK_AHEAD_SECONDS_MAX);
    is_ahead.then(|| {
        let why = format!(
            "memory {} is of {}, in the future; see whether the clock is right",
            newest.id,
            moment(newest.updated_at)
        );
        ("newest", Verdict::Warn, why)
    })
}

fn token_file(file: &Path) -> Option<Finding> {
    let metadata = fs::metadata(file).ok()?;
    let shown = file.display();
    Some(if is_open_to_others(&metadata) {
        (
            "token file",
            Verdict::Warn,
            format!("others can read {shown}; run: chmod 600 '{shown}', and revoke the token"),
        )
    } else {
        ("token file", Verdict::Ok, format!("{shown} is yours alone"))
    })
}

fn model(settings: &Settings) -> Finding {
    const WHAT: &str = "model";
    if settings.search == SearchMode::Words {
        return (WHAT, Verdict::Ok, "none is used: searches go by words alone".to_owned());
    }
    let begin = Instant::now();
    match probe(&settings.embedding) {
        Ok((model, components)) => {
            let milliseconds = begin.elapsed().as_millis();
            let why = format!("{model} loads and answers in {milliseconds} ms, with {components} components");
            (WHAT, Verdict::Ok, why)
        }
        Err(error) => (WHAT, Verdict::Fail(Exit::Model), error.message),
    }
}

fn clock() -> Finding {
    let now = SystemClock.now();
    let why = format!("it is {}", moment(now));
    if now.microseconds() / 1_000_000 < CLOCK_SECONDS_MIN {
        return ("clock", Verdict::Warn, format!("{why}, which cannot be; set the clock, or ages will be wrong"));
    }
    ("clock", Verdict::Ok, why)
}
