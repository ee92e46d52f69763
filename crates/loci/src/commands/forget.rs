//! `loci forget`: puts one memory out of sight, or all that match.

mod many;

use loci_engine::Effect;
use serde_json::json;

pub use self::many::{Direction, line, memories, run_many, say_lifted};
use crate::cli;
use crate::commands::show::named_memory;
use crate::exit::Failure;
use crate::output::{Output, status_line};
use crate::settings::Settings;
use crate::wiring::Parts;

pub fn run(settings: &Settings, arguments: &cli::Forget, output: Output) -> Result<(), Failure> {
    let parts = Parts::open_current(settings)?;
    let Some(id) = &arguments.id else {
        return run_many(&parts, &arguments.many, Direction::Forget, output);
    };
    let id = named_memory(&parts.looking(), id)?;
    // An error is that of the change.
    let is_in_sight = parts.looking().memories().show(&id).is_ok();
    parts.logged(("forget", "memory:delete", Effect::Destroy), |call| {
        Ok(call.memories().forget_softly(&id)?)
    })?;
    status_line(if is_in_sight {
        format!("forgot {id}; this brings it back: loci unforget {id}")
    } else {
        format!("{id} was forgotten before; nothing is changed")
    });
    let value = json!({"id": id.as_str(), "forgotten": is_in_sight});
    Ok(output.either(&value, "")?)
}
