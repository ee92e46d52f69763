//! `loci show`: one memory.

use loci_core::Caller;
use loci_dialects::mememory::Record;
use serde_json::json;

use crate::exit::Failure;
use crate::output::{Output, memory_text};
use crate::settings::Settings;
use crate::wiring::Parts;

pub fn run(settings: &Settings, id: &str, output: Output) -> Result<(), Failure> {
    let (parts, caller) = (Parts::open_current(settings)?, Caller::local());
    let id = parts.engine.memory_id(&caller, "id", id)?;
    let record = Record::from(parts.engine.show(&caller, &id)?);
    Ok(output.either(&json!(record), memory_text(&record))?)
}
