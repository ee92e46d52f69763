//! `loci history`, `loci diff` and `loci restore ID VERSION`: what a memory was, and the way back.

mod files;
mod records;

pub use files::take_back as take_files_back;
pub use records::instead;

use loci_core::{Caller, Clock, Error, MemoryId, RecordKind};
use loci_dialects::mememory::Record;
use loci_engine::{ChangeNote, ChangesOfCall, Effect, MemoryState, short_id};
use loci_page::line_diff::{DiffLine, LineChange, line_diff};
use serde_json::{Value, json};

use super::show::named_memory;
use crate::cli;
use crate::escaped::OneLine;
use crate::exit::Failure;
use crate::listing::{Listing, value_of};
use crate::output::{self, Output, counted, status_line};
use crate::settings::Settings;
use crate::time_format;
use crate::wiring::{CommandInfo, Parts, SystemClock};

/// A memory that is brought back to a former version, in the audit log.
const RESTORE: CommandInfo = ("restore", "memory:write", Effect::Write);
/// The argument that names a version.
const VERSION: &str = "VERSION";
/// The ids that a line about a call names.
const NAMED_MAX: usize = 5;

/// Formats the number of a call, as [`parse_call`] reads it back.
pub fn format_call(call: u64) -> String {
    format!("{call:016x}")
}

/// Reads the number of a call; `None` for another text.
pub fn parse_call(text: &str) -> Option<u64> {
    let is_call = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_call
        .then(|| u64::from_str_radix(text, 16).ok())
        .flatten()
}

pub fn run(settings: &Settings, arguments: &cli::History, output: Output) -> Result<(), Failure> {
    let limit = arguments.limit as usize;
    if let Some(named) = arguments.id.as_deref() {
        if named == files::ALL {
            return files::list(settings, limit, output);
        }
        if let Some(file) = files::named_file(settings, named)? {
            return files::history(&file, limit, output);
        }
    }
    let parts = Parts::open_current(settings)?;
    let looking = parts.looking();
    let Some(id) = &arguments.id else {
        return last_changes(&looking, arguments.limit as usize, output);
    };
    let named = id;
    let id = named_memory(&looking, named)?;
    let states = match looking.memories().history(&id) {
        Ok(states) => states,
        Err(error) => {
            let (kind, id) = instead(&looking, named, error)?;
            let limit = arguments.limit as usize;
            return records::history(&looking, (kind, &id), limit, output);
        }
    };
    let all = states.len();
    let shown: Vec<MemoryState> = states.into_iter().take(arguments.limit as usize).collect();
    let more = (shown.len() < all).then(|| format!("--limit {all}"));
    let text: String = shown.iter().map(state_line).collect();
    let values: Vec<Value> = shown.into_iter().map(state_value).collect();
    let value = json!({"id": id.as_str(), "versions": values, "more": more});
    Ok(output.either(&value, text)?)
}

/// Returns the lines of two texts, each with the sign of its change, for people and as JSON.
fn told_lines(before: &str, after: &str) -> (String, Vec<Value>) {
    let lines = line_diff(before, after);
    let signed = |line: &DiffLine| {
        let sign = match line.change {
            LineChange::Removed => '-',
            LineChange::Added => '+',
            LineChange::Same => ' ',
        };
        format!("{sign} {}\n", line.text)
    };
    let value = |line: &DiffLine| json!({"change": line.change.name(), "text": line.text});
    (
        lines.iter().map(signed).collect(),
        lines.iter().map(value).collect(),
    )
}

/// Lists the calls that changed memories, facts and tunnels, the last one first.
fn last_changes(
    parts: &loci_engine::Parts<'_>,
    limit: usize,
    output: Output,
) -> Result<(), Failure> {
    let changes = parts.changes().last(limit)?;
    if changes.is_empty() && !output.json {
        status_line("no change is kept");
    }
    let line = |call: &ChangesOfCall| {
        let change = format_call(call.note.call);
        format!("{change}  {}  {}\n", told(&call.note), named(call))
    };
    let value = |call: &ChangesOfCall| {
        let ids: Vec<&str> = call.memories.iter().map(MemoryId::as_str).collect();
        let of_kind = |kind| {
            let records = call.records.iter().filter(move |it| it.kind == kind);
            records.map(|it| it.id.as_str()).collect::<Value>()
        };
        let mut value = note_value(&call.note);
        value["memories"] = json!(ids);
        value["facts"] = of_kind(RecordKind::Fact);
        value["tunnels"] = of_kind(RecordKind::Tunnel);
        value["settings"] = of_kind(RecordKind::Setting);
        value
    };
    let text: String = changes.iter().map(line).collect();
    let values: Vec<Value> = changes.iter().map(value).collect();
    Ok(output.either(&output::listing("changes", values, None), text)?)
}

/// Names what a call changed.
fn named(call: &ChangesOfCall) -> String {
    let all = call.memories.len() + call.records.len();
    let ids = call
        .memories
        .iter()
        .map(|id| short_id(id.as_str()).to_owned());
    let records = call.records.iter().map(|record| match record.kind {
        RecordKind::Setting => record.label.clone(),
        _ => format!("{} ({})", record.id, record.label),
    });
    let shown = ids.chain(records).take(NAMED_MAX);
    let mut shown: Vec<String> = shown.map(|it| OneLine(it).to_string()).collect();
    shown.extend((all > NAMED_MAX).then(|| "…".to_owned()));
    let of_kind = |kind| {
        let records = call.records.iter().filter(|it| it.kind == kind);
        records.count() as u64
    };
    let counts = [
        (call.memories.len() as u64, "memory"),
        (of_kind(RecordKind::Fact), "fact"),
        (of_kind(RecordKind::Tunnel), "tunnel"),
        (of_kind(RecordKind::Setting), "setting"),
    ];
    let counts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, noun)| counted(count, noun).replace("memorys", "memories"))
        .collect();
    format!("{}: {}", counts.join(", "), shown.join(", "))
}

pub fn diff(settings: &Settings, arguments: &cli::Diff, output: Output) -> Result<(), Failure> {
    if let Some(file) = files::named_file(settings, &arguments.id)? {
        return files::diff(&file, (arguments.from, arguments.to), output);
    }
    let parts = Parts::open_current(settings)?;
    let looking = parts.looking();
    let id = named_memory(&looking, &arguments.id)?;
    let states = match looking.memories().history(&id) {
        Ok(states) => states,
        Err(error) => {
            let (kind, id) = instead(&looking, &arguments.id, error)?;
            let numbers = (arguments.from, arguments.to);
            return records::diff(&looking, (kind, &id), numbers, output);
        }
    };
    let find = |revision: u64| {
        let found = states.iter().find(|state| state.revision == revision);
        found.ok_or_else(|| {
            let problem =
                format!("{revision} is no version that is kept; `loci history` lists them");
            Error::invalid(VERSION, problem)
        })
    };
    let to = match (arguments.to, states.first()) {
        (Some(revision), _) => find(revision)?,
        (None, Some(last)) => last,
        (None, None) => return Err(Error::internal("a memory has a state").into()),
    };
    let from = match (arguments.from, states.get(1)) {
        (Some(revision), _) => find(revision)?,
        (None, Some(former)) => former,
        (None, None) => {
            let message = format!("{id} has no former version that is kept");
            return Err(Error::not_found(message).into());
        }
    };
    let changed = from.changes_to(to);
    let (shown, lines) = told_lines(&from.memory.content, &to.memory.content);
    let changed_words = if changed.is_empty() {
        "the same".to_owned()
    } else {
        changed.join(", ")
    };
    let text = format!(
        "version {} → {}: {changed_words}\n{shown}",
        from.revision, to.revision
    );
    let side = |state: &MemoryState| json!({"version": state.revision, "memory": value_of(state.memory.clone())});
    let value = json!({
        "id": id.as_str(), "from": side(from), "to": side(to), "changed": changed, "lines": lines,
    });
    Ok(output.either(&value, text)?)
}

/// Brings a version of a memory back.
pub fn restore(
    settings: &Settings,
    (named, version): (&str, u64),
    output: Output,
) -> Result<(), Failure> {
    if let Some(file) = files::named_file(settings, named)? {
        return files::restore(&file, version, output);
    }
    let parts = Parts::open_current(settings)?;
    let looking = parts.looking();
    let id = named_memory(&looking, named)?;
    if let Err(error) = looking.memories().history(&id) {
        let (kind, id) = instead(&looking, named, error)?;
        return records::restore(&parts, (kind, &id), version, output);
    }
    let memory = parts.logged(RESTORE, |call| {
        let restored = call.memories().restore(&id, version);
        Ok(restored.map_err(|error| error.renamed("version", VERSION))?)
    })?;
    let listing = Listing::of_stdout(None);
    let text = listing.whole(&Record::of(&Caller::local(), memory.clone()));
    status_line(format_args!(
        "version {version} is back, as version {}; `loci history {}` has the others",
        memory.revision,
        OneLine(short_id(id.as_str()))
    ));
    Ok(listing.print(output, &value_of(memory), &text)?)
}

fn state_line(state: &MemoryState) -> String {
    let what = match (state.is_first, state.changed.is_empty()) {
        (true, _) => "stored".to_owned(),
        (false, true) => "the first version that is kept".to_owned(),
        (false, false) => state.changed.join(", "),
    };
    let began = state.began.as_ref();
    let began = began.map_or_else(
        || format!("{}  unknown", time_format::format(state.memory.updated_at)),
        told,
    );
    let first = state.memory.content.lines().next().unwrap_or_default();
    let text: String = first.chars().take(80).collect();
    format!(
        "{:>4}  {began}  {what}\n      {}\n",
        state.revision,
        OneLine(text)
    )
}

/// Says when a change was made, by whom and by what.
fn told(note: &ChangeNote) -> String {
    let by = note.by.as_deref().unwrap_or("you");
    let tool = if note.tool.is_empty() {
        "the folder of notes"
    } else {
        &note.tool
    };
    let program = note
        .program
        .as_deref()
        .map(|program| format!(" in {program}"));
    let session = note
        .session
        .as_deref()
        .map(|session| format!(", session {session}"));
    let (program, session) = (program.unwrap_or_default(), session.unwrap_or_default());
    let text = format!(
        "{} ({})  {by} by {tool}{program}{session}",
        time_format::format(note.at),
        time_format::ago(SystemClock.now(), note.at)
    );
    OneLine(text).to_string()
}

fn state_value(state: MemoryState) -> Value {
    let mut value = state.began.as_ref().map_or_else(|| json!({}), note_value);
    value["version"] = json!(state.revision);
    value["changed"] = json!(state.changed);
    value["stored"] = json!(state.is_first);
    value["deleted"] = json!(state.is_deleted);
    value["forgotten"] = json!(state.memory.forgotten_at.is_some());
    value["memory"] = value_of(state.memory);
    value
}

/// Returns a change as JSON.
pub fn note_value(note: &ChangeNote) -> Value {
    json!({
        "change": format_call(note.call), "at": time_format::format(note.at), "by": note.by, "tool": note.tool,
        "program": note.program, "session": note.session, "token": note.token,
    })
}
