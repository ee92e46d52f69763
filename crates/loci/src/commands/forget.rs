//! `loci forget`: removes one memory, or forgets all that match.

mod many;

use serde_json::{Map, json};

pub use self::many::{Direction, run_many, say_lifted};
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
    // Calls the tool, so that the audit log has an entry.
    parts.call(
        "forget",
        Map::from_iter([("id".to_owned(), json!(id.as_str()))]),
    )?;
    status_line(format_args!("forgot {id}"));
    Ok(output.either(&json!({"forgotten": id.as_str()}), "")?)
}
