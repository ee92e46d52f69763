//! `loci unforget`: brings forgotten memories back.

use loci_core::Caller;
use serde_json::json;

use crate::cli;
use crate::commands::forget::{Direction, run_many};
use crate::commands::show::named_memory;
use crate::exit::Failure;
use crate::output::{Output, status_line};
use crate::settings::Settings;
use crate::wiring::Parts;

pub fn run(settings: &Settings, arguments: &cli::Unforget, output: Output) -> Result<(), Failure> {
    let parts = Parts::open_current(settings)?;
    let Some(id) = &arguments.id else {
        let since = arguments.since.as_deref();
        return run_many(
            &parts,
            &arguments.many,
            Direction::Unforget { since },
            output,
        );
    };
    let id = named_memory(&parts.engine, &Caller::local(), id)?;
    let unforgotten = parts.logged("unforget", "memory:write", |engine, caller| {
        engine.memories().unforget(caller, &id)
    })?;
    status_line(if unforgotten.is_changed {
        format!("{id} is back")
    } else {
        format!("{id} was not forgotten; nothing is changed")
    });
    let value = json!({"id": id.as_str(), "unforgotten": unforgotten.is_changed});
    Ok(output.either(&value, "")?)
}
