//! `loci delete`: removes memories for good.

use loci_core::MemoryId;
use loci_engine::{DeletionPreview, Effect, ForgetReport};
use serde_json::{Value, json};

use crate::cli;
use crate::commands::forget::{line, memories};
use crate::commands::show::named_memory;
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
    for id in &arguments.ids {
        let id = named_memory(&looking, id)?;
        if previews.iter().all(|known| known.memory.id != id) {
            previews.push(looking.memories().deletion_preview(&id)?);
        }
    }
    for preview in &previews {
        status_line(said(preview));
    }
    let question = format!(
        "remove {} for good? Only a backup or an export may still have it then. [y/N]",
        memories(previews.len() as u64)
    );
    if !arguments.yes && !is_confirmed(&question, "--yes")? {
        status_line("nothing is changed");
        return Ok(());
    }
    parts.logged(("delete", "memory:delete", Effect::Destroy), |call| {
        for preview in &previews {
            call.memories().forget_text(&preview.memory.id)?;
        }
        Ok(())
    })?;
    let ids = |notes: bool| -> Vec<&str> {
        let chosen = previews.iter().filter(|preview| preview.is_note == notes);
        let ids = chosen.map(|preview| &preview.memory.id);
        ids.map(MemoryId::as_str).collect()
    };
    let (deleted, forgotten) = (ids(false), ids(true));
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
