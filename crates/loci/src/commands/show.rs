//! `loci show`: one memory.

use loci_core::{Caller, Error, MemoryId};
use loci_dialects::mememory::Record;
use serde_json::json;

use crate::escaped::{self, OneLine};
use crate::exit::Failure;
use crate::listing::{Listing, value_of};
use crate::output::Output;
use crate::past::{of_past, past};
use crate::settings::Settings;
use crate::wiring::Parts;

pub fn run(
    settings: &Settings,
    (id, as_of): (&str, Option<&str>),
    output: Output,
) -> Result<(), Failure> {
    let (parts, caller) = (Parts::open_current(settings)?, Caller::local());
    let id = named_memory(&parts.looking(), id)?;
    let memory = match past(as_of)? {
        Some(at) => {
            let memories = parts.looking().memories().show_as_of(&id, at);
            memories.map_err(of_past)?
        }
        None => parts.looking().memories().show(&id)?,
    };
    let record = Record::of(&caller, memory.clone());
    let listing = Listing::of_stdout(None);
    let mut text = listing.whole(&record);
    let mut value = value_of(memory.clone());
    if as_of.is_none() {
        let looking = parts.looking();
        let consolidation = looking.consolidation();
        if let Some(representative) = consolidation.representative(&memory)? {
            text += &format!("    stands behind {}\n", OneLine(representative.as_str()));
            value["stands_behind"] = json!(representative.as_str());
        }
        let behind = consolidation.behind(&memory)?;
        let of_kind = |is_summary: bool| -> Vec<&str> {
            let behind = behind.iter().filter(|one| one.is_summary() == is_summary);
            behind.map(|one| one.id.as_str()).collect()
        };
        for (key, words, ids) in [
            ("stands_for", "stands for", of_kind(false)),
            ("summaries", "summary of these:", of_kind(true)),
        ] {
            if !ids.is_empty() {
                text += &format!("    {words} {}\n", OneLine(ids.join(", ")));
                value[key] = json!(ids);
            }
        }
    }
    Ok(listing.print(output, &value, &text)?)
}

/// Finds a memory by the id that a user gives: as it is, or as a list shows it, with the escaped
/// hidden characters that former imports let into ids.
///
/// # Errors
/// As for [`Memories::memory_id`](loci_engine::Memories::memory_id).
pub fn named_memory(parts: &loci_engine::Parts<'_>, id: &str) -> Result<MemoryId, Error> {
    let as_listed = escaped::unescaped(id);
    let memories = parts.memories();
    memories
        .memory_id("id", &as_listed)
        .or_else(|_| memories.memory_id("id", id))
}
