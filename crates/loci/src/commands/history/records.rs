//! `loci history`, `loci diff` and `loci restore` of facts, tunnels and settings.

use loci_core::{Error, ErrorCode, RecordKind, RecordState};
use loci_dialects::mempalace::shown_period;
use loci_engine::{KeptState, is_retracted, record_label, shown_name};
use serde_json::{Value, json};

use super::{RESTORE, VERSION, note_value, told};
use crate::escaped::{OneLine, unescaped};
use crate::exit::Failure;
use crate::output::{Output, status_line};
use crate::time_format;
use crate::wiring::Parts;

/// Returns the kind and the id of the fact or the tunnel with this id, where no memory has it.
///
/// # Errors
/// The error of the memory, if no fact and no tunnel has it, either.
pub fn instead(
    parts: &loci_engine::Parts<'_>,
    id: &str,
    error: Error,
) -> Result<(RecordKind, String), Failure> {
    if error.code == ErrorCode::NotFound {
        let id = unescaped(id);
        if let Some(kind) = parts.graph().record_kind(&id)? {
            return Ok((kind, id));
        }
    }
    Err(error.into())
}

/// Lists the states of a record.
pub fn history(
    parts: &loci_engine::Parts<'_>,
    (kind, id): (RecordKind, &str),
    limit: usize,
    output: Output,
) -> Result<(), Failure> {
    let states = parts.graph().record_history(kind, id)?;
    let all = states.len();
    let shown: Vec<KeptState> = states.into_iter().take(limit).collect();
    let more = (shown.len() < all).then(|| format!("--limit {all}"));
    let text: String = shown.iter().map(line).collect();
    let values: Vec<Value> = shown.iter().map(|it| value_of(kind, it)).collect();
    let value = json!({"id": id, "kind": kind.name(), "versions": values, "more": more});
    Ok(output.either(&value, text)?)
}

/// Compares two states of a record.
pub fn diff(
    parts: &loci_engine::Parts<'_>,
    (kind, id): (RecordKind, &str),
    (from, to): (Option<u64>, Option<u64>),
    output: Output,
) -> Result<(), Failure> {
    let states = parts.graph().record_history(kind, id)?;
    let chosen = |number: Option<u64>, place: usize| match number {
        None => states.get(place).ok_or_else(|| {
            let message = format!("{id} has no former version that is kept");
            Error::not_found(message)
        }),
        Some(number) => states.iter().find(|it| it.number == number).ok_or_else(|| {
            let problem = format!("{number} is no version that is kept; `loci history` lists them");
            Error::invalid(VERSION, problem)
        }),
    };
    let (from, to) = (chosen(from, 1)?, chosen(to, 0)?);
    let changed = from.changes_to(to);
    let what = if changed.is_empty() {
        "the same".to_owned()
    } else {
        changed.join(", ")
    };
    let text = format!(
        "version {} → {}: {what}\n- {}\n+ {}\n",
        from.number,
        to.number,
        OneLine(said(from)),
        OneLine(said(to))
    );
    let side = |it: &KeptState| json!({"version": it.number, kind.name(): state_value(it)});
    let value = json!({
        "id": id, "kind": kind.name(), "from": side(from), "to": side(to), "changed": changed,
    });
    Ok(output.either(&value, text)?)
}

/// Brings a state of a record back.
pub fn restore(
    parts: &Parts,
    (kind, id): (RecordKind, &str),
    version: u64,
    output: Output,
) -> Result<(), Failure> {
    let state = parts.logged(RESTORE, |call| {
        let restored = call.graph().restore_record(kind, id, version);
        Ok(restored.map_err(|error| error.renamed("version", VERSION))?)
    })?;
    status_line(format_args!(
        "version {version} is back, as version {}; `loci history {}` has the others",
        state.number,
        OneLine(id)
    ));
    let value = value_of(kind, &state);
    Ok(output.either(&value, format!("{}\n", OneLine(said(&state))))?)
}

fn line(state: &KeptState) -> String {
    let what = match (state.is_first, state.changed.is_empty()) {
        (true, _) => "stored".to_owned(),
        (false, true) => "the first version that is kept".to_owned(),
        (false, false) => state.changed.join(", "),
    };
    let began = state.began.as_ref();
    let began = began.map_or_else(|| "unknown".to_owned(), told);
    format!(
        "{:>4}  {began}  {what}\n      {}\n",
        state.number,
        OneLine(said(state))
    )
}

/// Says what a record was.
fn said(state: &KeptState) -> String {
    let Some(record) = &state.state else {
        return "(deleted)".to_owned();
    };
    let label = record_label(record);
    match record {
        RecordState::Fact(fact) if is_retracted(fact) => format!("{label} (taken back)"),
        RecordState::Fact(fact) => {
            let from = fact
                .valid_from
                .map(|from| format!(" from {}", shown_period(from)));
            let to = fact
                .valid_to
                .map(|to| format!(" until {}", shown_period(to)));
            format!(
                "{label}{}{}",
                from.unwrap_or_default(),
                to.unwrap_or_default()
            )
        }
        RecordState::Tunnel(tunnel) if tunnel.label.is_empty() => label,
        RecordState::Tunnel(tunnel) => format!("{label}: {}", tunnel.label),
        RecordState::Setting(setting) => format!("{label}: {}", setting.value),
    }
}

fn value_of(kind: RecordKind, state: &KeptState) -> Value {
    let mut value = state.began.as_ref().map_or_else(|| json!({}), note_value);
    value["version"] = json!(state.number);
    value["changed"] = json!(state.changed);
    value["stored"] = json!(state.is_first);
    let name = match &state.state {
        Some(record) => record.kind().name(),
        None => kind.name(),
    };
    value[name] = state_value(state);
    value
}

/// Returns a state as JSON; null for a record that was deleted.
fn state_value(state: &KeptState) -> Value {
    match &state.state {
        None => Value::Null,
        Some(RecordState::Fact(fact)) => {
            let is_retracted = is_retracted(fact);
            json!({
                "subject": fact.subject.spelling, "predicate": fact.predicate.spelling,
                "object": fact.object.spelling, "valid_from": fact.valid_from.map(shown_period),
                "valid_to": fact.valid_to.filter(|_| !is_retracted).map(shown_period),
                "source": fact.source, "author": fact.author.as_deref().map(shown_name),
                "created_at": time_format::format(fact.created_at), "taken_back": is_retracted,
            })
        }
        Some(RecordState::Setting(setting)) => {
            json!({"name": record_label(&RecordState::Setting(setting.clone())), "value": setting.value})
        }
        Some(RecordState::Tunnel(tunnel)) => {
            let end = |end: &loci_core::TunnelEnd| {
                json!({
                    "project": end.collection, "type": end.section,
                    "memory": end.memory.as_ref().map(loci_core::MemoryId::as_str),
                })
            };
            json!({
                "source": end(&tunnel.source), "target": end(&tunnel.target), "label": tunnel.label,
                "created_at": time_format::format(tunnel.created_at),
                "updated_at": time_format::format(tunnel.updated_at),
            })
        }
    }
}
