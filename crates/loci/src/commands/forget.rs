//! `loci forget`: removes one memory.

use loci_core::{Caller, MemoryId};
use serde_json::json;

use crate::exit::Failure;
use crate::output::{Output, note};
use crate::settings::Settings;
use crate::wiring::Parts;

pub fn run(settings: &Settings, id: &str, output: Output) -> Result<(), Failure> {
    let id = MemoryId::parse("id", id)?;
    Parts::open_current(settings)?.engine.forget(&Caller::local(), &id)?;
    note(format_args!("forgot {id}"));
    Ok(output.either(&json!({"forgotten": id.as_str()}), "")?)
}
