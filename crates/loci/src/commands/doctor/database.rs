//! Checks of the content of the database and of the progress of the work on it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use indicatif::DecimalBytes;
use loci_core::{
    Clock, ClockJump, CollectionFilter, OpenStore, Problem, ProblemKind, SweepClock, Timestamp,
    lease_end_max,
};
use loci_engine::{Facets, List, ModelState, NoteStatus};

use super::{Finding, Findings, Verdict, languages, place};
use crate::corruption;
use crate::exit::{Exit, Failure};
use crate::output::moment;
use crate::secret::{self, TokenInFile};
use crate::settings::Settings;
use crate::wiring::{Parts, SystemClock};

/// The largest lead of the newest memory over the clock, since other machines have clocks too.
const CLOCK_AHEAD_SECONDS_MAX: i64 = 300;
/// The largest number of memories with a failed enrichment that are named.
const FAILED_JOBS_SHOWN_MAX: usize = 10;
/// The longest time for which a job may have been due before the check warns.
const JOB_DUE_SECONDS_MAX: i64 = 3_600;

pub fn look(settings: &Settings, parts: &Parts, findings: &mut Findings) {
    let found = integrity(settings, parts);
    let is_damaged = found
        .iter()
        .any(|(_, verdict, _)| matches!(verdict, Verdict::Fail(Exit::Database)));
    findings.extend(found);
    // A write into a corrupt file may overwrite what is still readable.
    if !is_damaged {
        findings.push(writing(settings, parts));
    }
    findings.extend(embeddings(parts));
    findings.extend(languages::look(parts));
    findings.extend(enrichment(parts));
    if parts.vault.is_kept {
        findings.push(notes(parts));
        let unwritable = place::unwritable(&parts.vault.folder);
        findings.extend(unwritable.map(|why| ("notes", Verdict::Warn, why)));
    }
    if let Ok(tokens) = parts.store.tokens() {
        let now = SystemClock.now();
        let valid = tokens.iter().filter(|token| token.is_valid(now)).count();
        findings.push((
            "tokens",
            Verdict::Ok,
            format!("{valid} of {} are valid", tokens.len()),
        ));
    }
    findings.extend(token_file(&secret::file_in(&settings.data), &*parts.store));
    findings.extend(newest(parts));
    findings.extend(jumped_clock(parts));
}

fn integrity(settings: &Settings, parts: &Parts) -> Vec<Finding> {
    const WHAT: &str = "database";
    const BAD: Verdict = Verdict::Fail(Exit::Database);
    let size = parts.engine.size().unwrap_or_default();
    let problems = match parts.store.integrity_check() {
        Ok(problems) if problems.is_empty() => {
            let (memories, bytes) = (size.memories, DecimalBytes(size.disk_bytes));
            let why =
                format!("opens, has the current schema, is whole: {memories} memories in {bytes}");
            return vec![(WHAT, Verdict::Ok, why)];
        }
        Ok(problems) => problems,
        Err(error) => {
            let failure = Failure::from(error);
            return vec![(WHAT, Verdict::Fail(failure.exit), failure.message)];
        }
    };
    let (verdict, why) = if corruption::damages(&problems).next().is_some() {
        (
            BAD,
            format!("is damaged: {}", corruption::recovery_advice(settings)),
        )
    } else if problems
        .iter()
        .any(|problem| problem.kind == ProblemKind::Derived)
    {
        (
            BAD,
            "its texts are whole, but not what is made of them: run `loci doctor --fix`".to_owned(),
        )
    } else {
        (
            Verdict::Warn,
            "is whole, and has definitions that loci did not make".to_owned(),
        )
    };
    let row = |problem: Problem| match problem.kind {
        ProblemKind::Damaged => ("damage", BAD, problem.text),
        ProblemKind::Derived => ("derived", BAD, problem.text),
        ProblemKind::Foreign => ("foreign", Verdict::Warn, problem.text),
    };
    std::iter::once((WHAT, verdict, why))
        .chain(problems.into_iter().map(row))
        .collect()
}

/// Reports whether a write reaches the disk; if not, why, and which process blocks it.
fn writing(settings: &Settings, parts: &Parts) -> Finding {
    const WHAT: &str = "writing";
    let begin = Instant::now();
    match parts.store.check_write() {
        Ok(()) => (
            WHAT,
            Verdict::Ok,
            format!(
                "a write was on the disk after {} ms",
                begin.elapsed().as_millis()
            ),
        ),
        Err(error) => {
            let Failure { exit, message } = Failure::from(error);
            (
                WHAT,
                Verdict::Fail(exit),
                place::naming_holders(settings, message),
            )
        }
    }
}

/// Reports whether every memory can be found by its meaning, and by which model.
fn embeddings(parts: &Parts) -> Option<Finding> {
    const WHAT: &str = "embeddings";
    let ModelState {
        chosen,
        serving,
        pending,
        not_found,
        ..
    } = parts.engine.models().model_state().ok()??;
    Some(if not_found > 0 {
        let why = format!(
            "{not_found} memories are found by words alone until `loci serve` or `loci mcp` has embedded them"
        );
        (WHAT, Verdict::Warn, why)
    } else if pending > 0 {
        let (serving, chosen) = (serving.as_str(), chosen.as_str());
        let why = format!(
            "{serving} finds every memory; {pending} wait for {chosen}, which takes its place then"
        );
        (WHAT, Verdict::Ok, why)
    } else {
        (
            WHAT,
            Verdict::Ok,
            "every memory has its embedding".to_owned(),
        )
    })
}

/// Reports whether the owner's token in its file is valid.
fn token_file(file: &Path, store: &dyn OpenStore) -> Option<Finding> {
    const WHAT: &str = "token file";
    let shown = file.display();
    Some(match secret::look(file, store) {
        // The check of the database reports failures of the store.
        Err(failure) if failure.exit != Exit::DataFolder => return None,
        Err(failure) => (WHAT, Verdict::Fail(failure.exit), failure.message),
        Ok(None) => return None,
        Ok(Some(TokenInFile::Known(token))) if token.is_valid(SystemClock.now()) => {
            (WHAT, Verdict::Ok, format!("{shown} opens the server"))
        }
        Ok(Some(TokenInFile::Known(_))) => {
            let why = format!(
                "the token in {shown} was revoked or has ended; remove the file, and make another one"
            );
            (WHAT, Verdict::Warn, format!("{why}: loci token create"))
        }
        Ok(Some(TokenInFile::NotYetKnown(_))) => (
            WHAT,
            Verdict::Warn,
            format!("the token in {shown} is not known yet; `loci serve` makes it valid"),
        ),
    })
}

/// Reports the problems of the notes in short; `loci vault check` lists them all.
fn notes(parts: &Parts) -> Finding {
    const WHAT: &str = "notes";
    let status = match parts.system().notes().status() {
        Ok(status) => status,
        Err(error) => return (WHAT, Verdict::Warn, error.message),
    };
    let NoteStatus {
        location,
        notes,
        forgotten,
        not_indexed,
        problems,
        away,
    } = status;
    if let Some(why) = away {
        return (WHAT, Verdict::Warn, why);
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, problem) in &problems {
        *counts.entry(problem.kind.name()).or_default() += 1;
    }
    let mut found: Vec<String> = counts
        .iter()
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    if !not_indexed.is_empty() {
        found.push(format!("{} not indexed yet", not_indexed.len()));
    }
    if found.is_empty() {
        return (
            WHAT,
            Verdict::Ok,
            format!("{notes} in {location}, and {forgotten} deleted ones"),
        );
    }
    (
        WHAT,
        Verdict::Warn,
        format!(
            "{notes} in {location}; {}: `loci vault check` names them",
            found.join(", ")
        ),
    )
}

/// Reports the memories that wait for enrichment, and those whose enrichment failed.
fn enrichment(parts: &Parts) -> Vec<Finding> {
    const WHAT: &str = "enrichment";
    let (Ok(counts), Ok(failed)) = (
        parts.store.job_counts(),
        parts.store.failed_jobs(FAILED_JOBS_SHOWN_MAX),
    ) else {
        return Vec::new();
    };
    let now = SystemClock.now();
    let next = parts.store.next_job_at(now).ok().flatten();
    let untimely = next
        .and_then(|next| untimely(next, now, counts.waiting))
        .map(|why| (WHAT, Verdict::Warn, why));
    if counts.failed == 0 {
        let why = format!("{} memories wait for it, none failed", counts.waiting);
        return vec![untimely.unwrap_or((WHAT, Verdict::Ok, why))];
    }
    let noun = if counts.failed == 1 {
        "memory"
    } else {
        "memories"
    };
    let why = format!(
        "{} {noun} could not be judged; they are kept as they are and found all the same; `loci doctor --fix` has them \
         tried again",
        counts.failed
    );
    let shown = failed.into_iter().map(|job| {
        let why = format!(
            "memory {} (attempts: {}): {}",
            job.memory, job.attempts, job.problem
        );
        (WHAT, Verdict::Warn, why)
    });
    untimely
        .into_iter()
        .chain([(WHAT, Verdict::Warn, why)])
        .chain(shown)
        .collect()
}

/// Returns the problem of a next job that is due at `next`: no process does it, or none will for
/// long.
fn untimely(next: Timestamp, now: Timestamp, waiting: u64) -> Option<String> {
    let shown = moment(next);
    if next.plus_seconds(JOB_DUE_SECONDS_MAX) < now {
        return Some(format!(
            "of {waiting} memories that wait for it, one has since {shown}: start `loci serve`, or see its log"
        ));
    }
    // Every retry comes before that.
    (next > lease_end_max(now)).then(|| {
        format!(
            "{waiting} memories wait for it, none of which is judged before {shown}: they were stored while the clock \
             ran ahead, or it is behind now; they are found all the same"
        )
    })
}

/// Reports a jump of the clock for which sweeps wait.
fn jumped_clock(parts: &Parts) -> Option<Finding> {
    let SweepClock { trusted, jump } = parts.store.sweep_clock().ok()??;
    let ClockJump {
        seen,
        stood_seconds,
    } = jump?;
    let why = format!(
        "it showed {} where it should be {}: {}; what has expired is hidden, and removed for good {}after `loci doctor \
         --trust-clock`",
        moment(seen),
        moment(trusted),
        if stood_seconds.is_none() {
            "it jumped"
        } else {
            "the store was not used for long, or comes from a backup, or it jumped"
        },
        stood_seconds.map_or_else(String::new, |seconds| {
            format!(
                "when it has gone on for 24 hours ({} so far), or ",
                seconds / 3_600
            )
        })
    );
    Some(("clock", Verdict::Warn, why))
}

/// Reports a memory from the future: the clock was wrong once, or is now.
fn newest(parts: &Parts) -> Option<Finding> {
    let collections = CollectionFilter::Any;
    let (sections, tags) = (Vec::new(), Vec::new());
    let request = List {
        collections,
        sections,
        kinds: Vec::new(),
        tags,
        delivery: None,
        facets: Facets::default(),
        offset: 0,
        limit: 1,
        as_of: None,
    };
    let newest = parts.system().listings().list(request).ok()?.pop()?;
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
