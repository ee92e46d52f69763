//! `loci audit`: prints the entries of the audit log.

use std::time::Duration;

use loci_core::{AuditEntry, AuditQuery, AuditRecord, Error, RecordVerb, Space};
use loci_engine::Engine;
use serde_json::{Value, json};

use crate::cli::Audit;
use crate::commands::show::named_memory;
use crate::escaped::{self, OneLine};
use crate::exit::Failure;
use crate::output::{self, Output, moment, print};
use crate::settings::Settings;
use crate::time_format;
use crate::wiring::Parts;

/// The interval of the checks for new entries.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(500);
/// The largest number of new entries that are read at a time.
const FOLLOW_ENTRIES_MAX: usize = 1_000;

pub fn run(settings: &Settings, arguments: &Audit, output: Output) -> Result<(), Failure> {
    let parts = Parts::open_to_read(settings)?;
    let since = arguments
        .since
        .as_deref()
        .map(|text| time_format::parse("--since", text, parts.engine.now()))
        .transpose()?;
    // Of a record that is gone, only the whole id is known.
    let record = arguments.record.as_deref();
    let record = record.map(|id| named_memory(&parts.looking(), id));
    let query = AuditQuery {
        space: Space::parse("--space", &arguments.space)?,
        user: arguments.user.clone(),
        tool: arguments.tool.clone(),
        client: arguments.client.clone(),
        record: record.transpose()?.map(|id| id.as_str().to_owned()),
        since,
        after: None,
        before: arguments.before,
        limit: arguments.limit as usize,
    };
    let entries = if arguments.all {
        of_all_spaces(&parts.engine, query.clone())?
    } else {
        parts.engine.audit().entries(&query)?
    };
    if arguments.follow {
        return follow(&parts.engine, query, entries, output);
    }
    let more = more_before(&parts.engine, &query, &entries, arguments.all)?;
    let values = entries.iter().map(|(number, entry)| value(*number, entry));
    Ok(output.either(
        &output::listing("entries", values, more),
        entries
            .iter()
            .map(|(_, entry)| line(entry, query.record.as_deref()))
            .collect::<String>(),
    )?)
}

/// Returns the options that show the entries before these, if there are any.
fn more_before(
    engine: &Engine,
    query: &AuditQuery,
    entries: &[(u64, AuditEntry)],
    is_of_all: bool,
) -> Result<Option<String>, Error> {
    let Some((first, _)) = entries.first().filter(|_| entries.len() == query.limit) else {
        return Ok(None);
    };
    // The spaces number their entries apart.
    if is_of_all {
        return Ok(Some(format!("--limit {}", query.limit * 2)));
    }
    let before = AuditQuery {
        before: Some(*first),
        limit: 1,
        ..query.clone()
    };
    let has_more = !engine.audit().entries(&before)?.is_empty();
    Ok(has_more.then(|| format!("--before {first}")))
}

/// Returns the last entries of all spaces together, in the order of their times.
fn of_all_spaces(engine: &Engine, mut query: AuditQuery) -> Result<Vec<(u64, AuditEntry)>, Error> {
    let mut all = Vec::new();
    for space in engine.audit().spaces()? {
        query.space = space;
        all.extend(engine.audit().entries(&query)?);
    }
    all.sort_by_key(|(_, entry)| entry.at);
    all.drain(..all.len().saturating_sub(query.limit));
    Ok(all)
}

/// Prints entries as they come. Ends when the reader of the output is gone, or with the process.
#[expect(
    clippy::disallowed_methods,
    reason = "between two looks nothing happens that could wake it"
)]
fn follow(
    engine: &Engine,
    mut query: AuditQuery,
    mut entries: Vec<(u64, AuditEntry)>,
    output: Output,
) -> Result<(), Failure> {
    query.limit = FOLLOW_ENTRIES_MAX;
    query.after = Some(0);
    loop {
        for (number, entry) in &entries {
            query.after = Some(*number);
            if output.json {
                print(format_args!(
                    "{}\n",
                    escaped::json(&value(*number, entry).to_string())
                ))?;
            } else {
                output.text(line(entry, query.record.as_deref()))?;
            }
        }
        if entries.is_empty() {
            std::thread::sleep(FOLLOW_INTERVAL);
        }
        entries = engine.audit().entries(&query)?;
    }
}

/// Returns the line of an entry. Of the records that a search returned, which may be many, it names
/// only the one that is asked for.
fn line(entry: &AuditEntry, asked_for: Option<&str>) -> String {
    let mut line = format!(
        "{}  {:10}  {}/{}  {}  {:.1} ms",
        moment(entry.at),
        entry.user.as_deref().unwrap_or("anonymous"),
        entry.dialect,
        entry.tool,
        entry
            .failure
            .as_ref()
            .map_or("ok", |failure| failure.code.name()),
        entry.duration_microseconds as f64 / 1e3,
    );
    if let Some(caller) = &entry.caller {
        line += &format!("  by {caller}");
    }
    if let Some(client) = &entry.client {
        line += &format!("  client {client}");
    }
    if let Some(results) = entry.results {
        line += &format!("  results {results}");
    }
    if let Some(tokens) = entry.reply_tokens {
        line += &format!("  tokens {tokens}");
    }
    if let Some(query) = &entry.query {
        line += &format!("  {query:?}");
    }
    let is_named = |record: &&AuditRecord| {
        record.verb != RecordVerb::Returned || asked_for == Some(record.id.as_str())
    };
    for AuditRecord { id, verb, .. } in entry.records.iter().filter(is_named) {
        line += &format!("  {} {id}", verb.name());
    }
    if entry.further_records > 0 {
        line += &format!("  and {} more", entry.further_records);
    }
    if let Some(message) = entry
        .failure
        .as_ref()
        .and_then(|failure| failure.message.as_ref())
    {
        line += &format!("  {message}");
    }
    OneLine(line).to_string() + "\n"
}

fn record(record: &AuditRecord) -> Value {
    json!({"id": record.id, "verb": record.verb.name()})
}

fn value(number: u64, entry: &AuditEntry) -> Value {
    let mut metadata = json!({});
    if let Some(query) = &entry.query {
        metadata["query"] = json!(query);
    }
    if let Some(results) = entry.results {
        metadata["result_count"] = json!(results);
    }
    if let Some(tokens) = entry.reply_tokens {
        metadata["reply_tokens"] = json!(tokens);
    }
    if let Some(failure) = &entry.failure {
        metadata["error_code"] = json!(failure.code.name());
        if let Some(message) = &failure.message {
            metadata["error"] = json!(message);
        }
    }
    json!({
        "number": number,
        "timestamp": moment(entry.at),
        "space": entry.space.as_str(),
        "user_id": entry.user,
        "caller": entry.caller,
        "client": entry.client,
        "session": entry.session,
        "dialect": entry.dialect,
        "tool_name": entry.tool,
        "operation": entry.operation,
        "status": if entry.failure.is_some() { "error" } else { "success" },
        "duration_ms": entry.duration_microseconds as f64 / 1e3,
        "records": entry.records.iter().map(record).collect::<Vec<_>>(),
        "further_records": entry.further_records,
        "metadata": metadata,
    })
}
