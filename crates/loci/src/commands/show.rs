//! `loci show`: one memory.

use loci_core::{Caller, Clock, Error, MemoryId};
use loci_dialects::mememory::Record;

use crate::escaped;
use crate::exit::Failure;
use crate::listing::{Listing, value_of};
use crate::output::Output;
use crate::settings::Settings;
use crate::time_format;
use crate::wiring::{Parts, SystemClock};

pub fn run(
    settings: &Settings,
    (id, as_of): (&str, Option<&str>),
    output: Output,
) -> Result<(), Failure> {
    let (parts, caller) = (Parts::open_current(settings)?, Caller::local());
    let id = named_memory(&parts.looking(), id)?;
    let memory = match as_of {
        Some(as_of) => {
            let at = time_format::parse("--as-of", as_of, SystemClock.now())?;
            parts.looking().search().show_as_of(&id, at)?
        }
        None => parts.looking().memories().show(&id)?,
    };
    let record = Record::of(&caller, memory.clone());
    let listing = Listing::of_stdout(None);
    let text = listing.whole(&record);
    Ok(listing.print(output, &value_of(memory), &text)?)
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
