//! `loci vault`: shows and updates the notes and their index.

use std::fmt::Write;

use loci_core::FileProblem;
use loci_engine::{NoteStatus, ReconciliationReport, SetAside};
use loci_vault::is_watched;
use serde_json::{Value, json};

use crate::cli::Vault;
use crate::escaped::OneLine;
use crate::exit::{Exit, Failure};
use crate::output::{Output, status_line};
use crate::settings::Settings;
use crate::wiring::Parts;

pub fn run(settings: &Settings, command: &Vault, output: Output) -> Result<(), Failure> {
    let parts = match command {
        Vault::Status | Vault::Check => Parts::open_to_read(settings)?,
        Vault::Reconcile { .. } => Parts::open(settings)?,
    };
    match command {
        Vault::Status => status(&parts, output),
        Vault::Check => {
            let system = parts.system();
            let notes = system.notes();
            check(&notes.status()?, notes.set_aside()?, output)
        }
        Vault::Reconcile { accept_missing } => reconcile(&parts, *accept_missing, output),
    }
}

fn status(parts: &Parts, output: Output) -> Result<(), Failure> {
    let NoteStatus {
        location,
        notes,
        forgotten,
        not_indexed,
        problems,
        away,
    } = parts.system().notes().status()?;
    let watched = is_watched(&parts.vault.watch_lock);
    let value = json!({
        "folder": location,
        "notes": notes,
        "deleted": forgotten,
        "not_indexed": not_indexed.len(),
        "problems": problems.len(),
        "watched": watched,
        "away": away,
    });
    let mut text =
        format!("folder       {location}\nnotes        {notes}, and {forgotten} deleted ones\n");
    let _ = writeln!(text, "not indexed  {}", not_indexed.len());
    let _ = writeln!(
        text,
        "problems     {}{}",
        problems.len(),
        if problems.is_empty() {
            ""
        } else {
            "; see `loci vault check`"
        }
    );
    let by_whom = if watched {
        "yes, by a running loci"
    } else {
        "no; the next command or server reads what changed"
    };
    let _ = writeln!(text, "watched      {by_whom}");
    if let Some(why) = away {
        let _ = writeln!(text, "away         {why}");
    }
    Ok(output.either(&value, text)?)
}

fn check(status: &NoteStatus, set_aside: SetAside, output: Output) -> Result<(), Failure> {
    let NoteStatus {
        not_indexed,
        problems,
        away,
        ..
    } = status;
    let problem = |(path, FileProblem { kind, message }): &(String, FileProblem)| json!({"path": path, "problem": kind.name(), "text": message});
    let value = json!({
        "problems": problems.iter().map(problem).collect::<Value>(),
        "not_indexed": not_indexed,
        "away": away,
        "set_aside": set_aside_value(set_aside),
    });
    let mut text = String::new();
    for (path, FileProblem { kind, message }) in problems {
        let _ = writeln!(text, "{kind:18}  {}\n    {message}", OneLine(path));
    }
    for path in not_indexed {
        let _ = writeln!(text, "{:18}  {}", "not_indexed", OneLine(path));
    }
    output.either(&value, text)?;
    for line in set_aside_lines(set_aside) {
        status_line(format_args!("note: {line}"));
    }
    if let Some(why) = away {
        status_line(format_args!("note: {why}"));
    }
    match (problems.len(), not_indexed.len()) {
        (0, 0) if away.is_none() => {
            status_line("nothing is wrong with the notes");
            Ok(())
        }
        (0, 0) => Err(Failure::new(Exit::Failure, "")),
        (0, new) => {
            status_line(format_args!(
                "{new} notes wait to be read; `loci vault reconcile` or a running loci does it"
            ));
            Ok(())
        }
        _ => Err(Failure::new(Exit::Failure, "")),
    }
}

fn set_aside_value(set_aside: SetAside) -> Value {
    let SetAside {
        superseded,
        expired,
        unfiled,
        inbox,
        bookkeeping,
    } = set_aside;
    json!({"superseded": superseded, "expired": expired, "unfiled": unfiled, "inbox": inbox, "meta": bookkeeping})
}

/// Returns a line for each way in which notes count for less than others, if there are such notes.
fn set_aside_lines(set_aside: SetAside) -> Vec<String> {
    let lines = [
        (
            [
                (set_aside.superseded, "with the status `superseded`"),
                (set_aside.expired, "with the status `expired`"),
            ],
            "out of sight; `status: active` brings a note back",
        ),
        (
            [
                (set_aside.unfiled, "with the status `unfiled`"),
                (set_aside.inbox, "in a folder `_inbox`"),
            ],
            "found after others; `status: active` in another folder changes that",
        ),
        (
            [(set_aside.bookkeeping, "in a folder `_meta`"), (0, "")],
            "not read; a note that lies in another folder is",
        ),
    ];
    let line = |(parts, effect): ([(usize, &str); 2], &str)| {
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts
            .map(|(count, place)| format!("{count} {place}"))
            .collect();
        (!parts.is_empty()).then(|| format!("{}: {effect}", parts.join(", ")))
    };
    lines.into_iter().filter_map(line).collect()
}

fn reconcile(parts: &Parts, accept_missing: bool, output: Output) -> Result<(), Failure> {
    if !parts.vault.is_kept {
        let message = "no folder of notes is named here: name one with --vault";
        return Err(Failure::new(Exit::Usage, message));
    }
    let reconciled = if accept_missing {
        parts.system().notes().reconcile_accepting_missing()?
    } else {
        parts.system().notes().reconcile()?
    };
    let ReconciliationReport {
        indexed,
        moved,
        removed,
        unchanged,
        away,
    } = reconciled;
    let value = json!({"indexed": indexed, "moved": moved, "removed": removed, "unchanged": unchanged, "away": away});
    output.either(
        &value,
        format_args!(
            "indexed {indexed}, moved {moved}, removed {removed}, unchanged {unchanged}\n"
        ),
    )?;
    let Some(why) = away else { return Ok(()) };
    Err(Failure::new(
        Exit::Failure,
        format!("{why}; if they are gone for good: `loci vault reconcile --accept-missing`"),
    ))
}
