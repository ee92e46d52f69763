//! `loci forget`: removes one memory.

use loci_core::Caller;
use serde_json::json;

use crate::commands::show::named_memory;
use crate::exit::Failure;
use crate::output::{Output, note};
use crate::settings::Settings;
use crate::wiring::Parts;

pub fn run(settings: &Settings, id: &str, output: Output) -> Result<(), Failure> {
    let (parts, caller) = (Parts::open_current(settings)?, Caller::local());
    let id = named_memory(&parts.engine, &caller, id)?;
    parts.engine.forget(&caller, &id)?;
    note(format_args!("forgot {id}"));
    Ok(output.either(&json!({"forgotten": id.as_str()}), "")?)
}
