//! `loci undo` of changes of memories, facts and tunnels: of one call, or all of a session, a program, a
//! user or a token.

use loci_core::{Clock, MemoryId};
use loci_engine::{
    ChangeNote, ChangesMeant, Effect, RecordOutcome, StandingMemory, TakenBack, TakenRecord,
    short_id,
};
use serde_json::{Value, json};

use crate::cli;
use crate::commands::history::{note_value, parse_call};
use crate::escaped::OneLine;
use crate::exit::Failure;
use crate::output::{Output, is_confirmed, status_line};
use crate::settings::Settings;
use crate::time_format;
use crate::wiring::{CommandInfo, Parts, SystemClock};

/// Changes that are taken back, in the audit log. Nothing is removed for good.
const UNDO: CommandInfo = ("undo", "memory:write", Effect::Write);
/// The memories that a text names.
const NAMED_MAX: usize = 20;

/// Returns the changes that the arguments mean; `None` if they name an import.
///
/// # Errors
/// A wrong time.
pub fn meant(arguments: &cli::Undo) -> Result<Option<ChangesMeant>, Failure> {
    let call = arguments.batch.as_deref().and_then(parse_call);
    let named = [
        &arguments.session,
        &arguments.client,
        &arguments.by,
        &arguments.token,
    ];
    if call.is_none() && named.iter().all(|it| it.is_none()) {
        return Ok(None);
    }
    let since = arguments.since.as_deref();
    let since = since.map(|since| time_format::parse("--since", since, SystemClock.now()));
    Ok(Some(ChangesMeant {
        call,
        session: arguments.session.clone(),
        program: arguments.client.clone(),
        by: arguments.by.clone(),
        token: arguments.token.clone(),
        since: since.transpose()?,
    }))
}

pub fn run(
    settings: &Settings,
    arguments: &cli::Undo,
    meant: &ChangesMeant,
    output: Output,
) -> Result<(), Failure> {
    let parts = Parts::open_current(settings)?;
    // The question is no change, and not in the audit log.
    let preview = parts.looking().changes().take_back(meant, true)?;
    if arguments.dry_run {
        let mut value = value_of(&preview);
        value["dry_run"] = json!(true);
        let text = format!(
            "nothing is changed; without --dry-run it would be:\n{}",
            said(&preview)
        );
        return Ok(output.either(&value, text)?);
    }
    if !arguments.yes {
        status_line(said(&preview).trim_end());
        if !is_confirmed("take these changes back? [y/N]", "--yes")? {
            status_line("nothing is changed");
            return Ok(());
        }
    }
    let taken = parts.logged(UNDO, |call| Ok(call.changes().take_back(meant, false)?))?;
    Ok(output.either(&value_of(&taken), said(&taken))?)
}

fn value_of(taken: &TakenBack) -> Value {
    let ids = |ids: &[MemoryId]| ids.iter().map(MemoryId::as_str).collect::<Value>();
    let stands = |it: &StandingMemory| {
        json!({
            "id": it.memory.id.as_str(), "content": it.memory.content, "reason": it.reason,
            "later": it.later.as_ref().map(note_value),
        })
    };
    json!({
        "changes": taken.changes, "forgotten": ids(&taken.forgotten), "restored": ids(&taken.restored),
        "unchanged": ids(&taken.unchanged), "stands": taken.stands.iter().map(stands).collect::<Value>(),
        "records": taken.records.iter().map(record_value).collect::<Value>(),
    })
}

/// Returns a fact or a tunnel with its outcome.
fn record_value(taken: &TakenRecord) -> Value {
    let TakenRecord { record, outcome } = taken;
    let (outcome, later, reason) = match outcome {
        RecordOutcome::Removed => ("removed", None, None),
        RecordOutcome::Restored => ("restored", None, None),
        RecordOutcome::Unchanged => ("unchanged", None, None),
        RecordOutcome::Stands { later, reason } => ("stands", later.as_ref(), Some(reason)),
    };
    json!({
        "kind": record.kind.name(), "id": record.id, "label": record.label, "outcome": outcome,
        "later": later.map(note_value), "reason": reason,
    })
}

/// Says what was taken back, and what stays.
fn said(taken: &TakenBack) -> String {
    let mut text = String::new();
    for (ids, verb) in [
        (&taken.forgotten, "forgotten, because it was stored then:"),
        (&taken.restored, "restored:"),
        (&taken.unchanged, "as before already:"),
    ] {
        if !ids.is_empty() {
            text += &format!("{verb} {} ({})\n", ids.len(), named(ids));
        }
    }
    for it in taken.records.iter().take(NAMED_MAX) {
        let TakenRecord { record, outcome } = it;
        let said = match outcome {
            RecordOutcome::Removed => "removed, because it was stored then".to_owned(),
            RecordOutcome::Restored => "restored".to_owned(),
            RecordOutcome::Unchanged => "as before already".to_owned(),
            RecordOutcome::Stands { later, reason } => {
                let later = later.as_ref().map(said_later).unwrap_or_default();
                format!("stays, {reason}{later}")
            }
        };
        text += &format!(
            "{} {}: {}\n",
            record.kind.name(),
            OneLine(&*record.label),
            OneLine(said)
        );
    }
    if taken.records.len() > NAMED_MAX {
        let more = taken.records.len() - NAMED_MAX;
        text += &format!("{more} more facts and tunnels\n");
    }
    for it in taken.stands.iter().take(NAMED_MAX) {
        let later = it.later.as_ref().map(said_later);
        let first: String = it.memory.content.chars().take(60).collect();
        text += &format!(
            "stays {}: {}{}: {}\n",
            OneLine(short_id(it.memory.id.as_str())),
            it.reason,
            OneLine(later.unwrap_or_default()),
            OneLine(first)
        );
    }
    if taken.stands.len() > NAMED_MAX {
        text += &format!("{} more stay\n", taken.stands.len() - NAMED_MAX);
    }
    text
}

/// Says who made a later change, and when.
fn said_later(later: &ChangeNote) -> String {
    let by = later.by.as_deref().unwrap_or("you");
    let program = later.program.as_deref().unwrap_or(&later.tool);
    format!(" by {by} in {program} at {}", time_format::format(later.at))
}

fn named(ids: &[MemoryId]) -> String {
    let shown = ids.iter().take(NAMED_MAX);
    let mut shown: Vec<String> = shown
        .map(|id| OneLine(short_id(id.as_str())).to_string())
        .collect();
    shown.extend((ids.len() > NAMED_MAX).then(|| format!("and {} more", ids.len() - NAMED_MAX)));
    shown.join(", ")
}
