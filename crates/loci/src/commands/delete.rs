//! `loci delete`: removes memories, facts and tunnels for good.

use loci_core::{MemoryId, RecordKind};
use loci_engine::{DeletionPreview, Effect, ForgetReport, record_label};
use serde_json::{Value, json};

use crate::cli;
use crate::commands::forget::{line, memories};
use crate::commands::history::instead;
use crate::commands::show::named_memory;
use crate::escaped::OneLine;
use crate::exit::{Exit, Failure};
use crate::output::{Output, counted, is_confirmed, status_line};
use crate::settings::Settings;
use crate::wiring::Parts;

pub fn run(settings: &Settings, arguments: &cli::Delete, output: Output) -> Result<(), Failure> {
    if !arguments.forever {
        let message = "it removes memories for good, which nothing takes back: add --forever if that is meant; \
                       `loci forget ID` puts one out of sight, and `loci unforget ID` brings it back";
        return Err(Failure::new(Exit::Usage, message));
    }
    let parts = Parts::open_current(settings)?;
    let looking = parts.looking();
    let mut previews: Vec<DeletionPreview> = Vec::new();
    let mut records: Vec<(RecordKind, String)> = Vec::new();
    for named in &arguments.ids {
        let id = named_memory(&looking, named)?;
        if previews.iter().any(|known| known.memory.id == id) {
            continue;
        }
        match looking.memories().deletion_preview(&id) {
            Ok(preview) => previews.push(preview),
            Err(error) => {
                let record = instead(&looking, named, error)?;
                if !records.contains(&record) {
                    records.push(record);
                }
            }
        }
    }
    for preview in &previews {
        status_line(said(preview));
    }
    for (kind, id) in &records {
        status_line(said_of_record(&looking, *kind, id)?);
    }
    let question = question(previews.len() as u64, records.len() as u64);
    if !arguments.yes && !is_confirmed(&question, "--yes")? {
        status_line("nothing is changed");
        return Ok(());
    }
    parts.logged(("delete", "memory:delete", Effect::Destroy), |call| {
        for preview in &previews {
            call.memories().forget_text(&preview.memory.id)?;
        }
        for (kind, id) in &records {
            call.graph().remove_record(*kind, id)?;
        }
        Ok(())
    })?;
    let ids = |notes: bool| -> Vec<&str> {
        let chosen = previews.iter().filter(|preview| preview.is_note == notes);
        let ids = chosen.map(|preview| &preview.memory.id);
        ids.map(MemoryId::as_str).collect()
    };
    let (mut deleted, forgotten) = (ids(false), ids(true));
    deleted.extend(records.iter().map(|(_, id)| id.as_str()));
    if !deleted.is_empty() {
        status_line(format_args!("deleted {}", deleted.join(", ")));
    }
    if !forgotten.is_empty() {
        let named = forgotten.join(", ");
        status_line(format_args!(
            "forgot {named}; the files stay, and `loci unforget` brings them back"
        ));
    }
    let value: Value = json!({"deleted": deleted, "forgotten": forgotten});
    Ok(output.either(&value, "")?)
}

/// Returns the question before so many memories, and facts and tunnels, are removed.
fn question(of_memories: u64, of_records: u64) -> String {
    let noun = if of_records == 1 {
        "1 fact or tunnel".to_owned()
    } else {
        format!("{of_records} facts and tunnels")
    };
    let counts = [
        (of_memories > 0).then(|| memories(of_memories)),
        (of_records > 0).then_some(noun),
    ];
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    format!(
        "remove {} for good? Only a backup or an export may still have it then. [y/N]",
        counts.join(" and ")
    )
}

/// Says what would go of a fact or a tunnel.
fn said_of_record(
    parts: &loci_engine::Parts<'_>,
    kind: RecordKind,
    id: &str,
) -> Result<String, Failure> {
    let states = parts.graph().record_history(kind, id)?;
    let known = states.iter().find_map(|it| it.state.as_ref());
    let label = known.map(record_label).unwrap_or_default();
    Ok(format!(
        "{} {}: {}\n    goes with it: {}",
        kind.name(),
        OneLine(id),
        OneLine(label),
        counted(states.len().saturating_sub(1) as u64, "former state")
    ))
}

/// Says what would go, on a line for the memory and one for what goes with it.
fn said(preview: &DeletionPreview) -> String {
    let DeletionPreview {
        memory,
        is_note,
        has_message,
        versions,
        texts: ForgetReport { copies, equal },
    } = preview;
    let memory = line(memory);
    let memory = memory.trim_end();
    if *is_note {
        return format!("{memory}\n    a note: it is forgotten, and its file stays");
    }
    let mut along = Vec::new();
    if *versions > 0 {
        along.push(counted(*versions, "former text"));
    }
    if *has_message {
        along.push("the message that it was made from".to_owned());
    }
    if *copies > 0 {
        let copies = match copies {
            1 => "1 copy".to_owned(),
            copies => format!("{copies} copies"),
        };
        along.push(format!("{copies} of its text from files"));
    }
    let mut text = memory.to_owned();
    if !along.is_empty() {
        text += &format!("\n    goes with it: {}", along.join(", "));
    }
    if *equal > 0 {
        text += &format!("\n    stays: {} with the same text", memories(*equal));
    }
    text
}
