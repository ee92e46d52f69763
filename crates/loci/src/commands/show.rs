//! `loci show`: one memory.

use loci_core::{Caller, MemoryId};
use loci_dialects::mememory::Record;
use serde_json::json;

use crate::exit::Failure;
use crate::output::{Output, memory_text};
use crate::settings::Settings;
use crate::wiring::Parts;

pub fn run(settings: &Settings, id: &str, output: Output) -> Result<(), Failure> {
    let id = MemoryId::parse("id", id)?;
    let record = Record::from(Parts::open_current(settings)?.engine.show(&Caller::local(), &id)?);
    Ok(output.either(&json!(record), memory_text(&record))?)
}
