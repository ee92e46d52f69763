//! `loci undo`: takes an import back, or changes of memories.

mod changes;

use loci_engine::{BatchInfo, Effect, UndoReport};
use serde_json::{Value, json};

use crate::cli;
use crate::commands::history::{parse_call, take_files_back};
use crate::exit::{Exit, Failure};
use crate::output::{Output, counted, is_confirmed, status_line};
use crate::settings::Settings;
use crate::time_format;
use crate::wiring::{CommandInfo, Parts};

/// An import that is taken back, in the audit log.
const UNDO: CommandInfo = ("undo", "memory:delete", Effect::Destroy);

pub fn run(settings: &Settings, arguments: &cli::Undo, output: Output) -> Result<(), Failure> {
    if arguments.list {
        return list(&Parts::open_to_read(settings)?, output);
    }
    let call = arguments.batch.as_deref().and_then(parse_call);
    if let Some(call) = call
        && take_files_back(settings, call, (arguments.dry_run, arguments.yes), output)?.is_some()
    {
        return Ok(());
    }
    if let Some(meant) = changes::meant(arguments)? {
        return changes::run(settings, arguments, &meant, output);
    }
    let Some(id) = &arguments.batch else {
        let message = "which changes? Name the ID of an import (`loci undo --list`) or of a change (`loci history`), \
            or one or more of --session, --client, --by and --token; --since alone would mean everyone's changes, \
            and --by local means yours";
        return Err(Failure::new(Exit::Usage, message));
    };
    let parts = Parts::open_current(settings)?;
    // The question is no change, and not in the audit log.
    let preview = parts.system().imports().undo(id, true)?;
    if arguments.dry_run {
        let mut value = value_of(id, &preview);
        value["dry_run"] = json!(true);
        let text = format!("nothing is changed; it would have: {}\n", said(&preview));
        return Ok(output.either(&value, text)?);
    }
    if !arguments.yes {
        status_line(said(&preview));
        let question = format!("take the import {id} back? [y/N]");
        if !is_confirmed(&question, "--yes")? {
            status_line("nothing is changed");
            return Ok(());
        }
    }
    let report = parts.logged_in_all(UNDO, |call| Ok(call.imports().undo(id, false)?))?;
    Ok(output.either(&value_of(id, &report), format!("{}\n", said(&report)))?)
}

fn list(parts: &Parts, output: Output) -> Result<(), Failure> {
    let batches = parts.system().imports().batches()?;
    let value = |batch: &BatchInfo| {
        json!({
            "batch": batch.id, "from": batch.from, "path": batch.path,
            "started_at": time_format::format(batch.started_at), "records": batch.records,
        })
    };
    let line = |batch: &BatchInfo| {
        let records = batch.records.map_or_else(
            || "cut off, or still running".to_owned(),
            |records| counted(records, "record"),
        );
        let BatchInfo { id, from, path, .. } = batch;
        let at = time_format::format(batch.started_at);
        format!("{id}  {at}  {from}  {records}  {path}\n")
    };
    let values: Vec<Value> = batches.iter().map(value).collect();
    let lines: Vec<String> = batches.iter().map(line).collect();
    let text = if lines.is_empty() {
        "no import can be taken back\n".to_owned()
    } else {
        lines.concat()
    };
    Ok(output.either(&json!({ "imports": values }), text)?)
}

fn value_of(id: &str, report: &UndoReport) -> Value {
    let UndoReport {
        memories,
        restored,
        facts,
        tunnels,
        decisions,
        settings,
        source_files,
        gone,
        changed,
        changed_ids,
        stays,
    } = report;
    json!({
        "batch": id, "memories": memories, "restored": restored, "facts": facts, "tunnels": tunnels,
        "decisions": decisions, "settings": settings, "source_files": source_files, "gone": gone,
        "changed": changed, "changed_ids": changed_ids, "stays": stays,
    })
}

/// Says what was taken back, and what stays.
fn said(report: &UndoReport) -> String {
    let removed = [
        (report.memories, "memories"),
        (report.facts, "facts"),
        (report.tunnels, "tunnels"),
        (report.decisions, "decisions"),
        (report.settings, "settings"),
        (report.source_files, "states of files"),
    ];
    let removed: Vec<String> = removed
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{name} {count}"))
        .collect();
    let mut text = if removed.is_empty() {
        "removed nothing".to_owned()
    } else {
        format!("removed {}", removed.join(", "))
    };
    if report.restored > 0 {
        text += &format!("; former texts restored {}", report.restored);
    }
    if report.gone > 0 {
        text += &format!("; gone already {}", report.gone);
    }
    if report.changed > 0 {
        let more = match report.changed - report.changed_ids.len() as u64 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        text += &format!(
            "; changed since, and kept {}: {}{more}",
            report.changed,
            report.changed_ids.join(", ")
        );
    }
    for (kind, count) in &report.stays {
        text += &format!("; never taken back, {kind} {count}");
    }
    text
}
