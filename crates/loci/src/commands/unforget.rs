//! `loci unforget`: brings forgotten memories back.

use loci_core::ErrorCode;
use loci_engine::{Effect, LiftReport, UnforgetReport};
use serde_json::json;

use crate::cli;
use crate::commands::forget::{Direction, run_many, say_lifted};
use crate::commands::show::named_memory;
use crate::exit::Failure;
use crate::output::{Output, status_line};
use crate::settings::Settings;
use crate::wiring::Parts;

/// The outcome for a memory that is to come back.
enum Outcome {
    Unforgotten(Box<UnforgetReport>),
    /// It was removed for good, and its text may be read again.
    Lifted(LiftReport),
}

pub fn run(settings: &Settings, arguments: &cli::Unforget, output: Output) -> Result<(), Failure> {
    let parts = Parts::open_current(settings)?;
    let Some(id) = &arguments.id else {
        let direction = Direction::Unforget {
            since: arguments.since.as_deref(),
            conversation: arguments.conversation.as_deref(),
        };
        return run_many(&parts, &arguments.many, direction, output);
    };
    let id = named_memory(&parts.looking(), id)?;
    let outcome = parts.logged(("unforget", "memory:write", Effect::Write), |call| {
        let outcome = match call.memories().unforget(&id) {
            Err(error) if error.code == ErrorCode::NotFound => call
                .memories()
                .lift(&id)
                .map(Outcome::Lifted)
                // What neither knows is told as what the first one says.
                .map_err(|lift| match lift.code {
                    ErrorCode::NotFound => error,
                    _ => lift,
                }),
            unforgotten => unforgotten.map(Box::new).map(Outcome::Unforgotten),
        };
        Ok(outcome?)
    })?;
    let unforgotten = match outcome {
        Outcome::Unforgotten(unforgotten) => unforgotten,
        Outcome::Lifted(lifted) => {
            say_lifted(&lifted);
            let value = json!({"id": id.as_str(), "unforgotten": false, "lifted": lifted.memories});
            return Ok(output.either(&value, "")?);
        }
    };
    // The user may have given a part of the id of a deleted one.
    let id = &unforgotten.memory.id;
    status_line(if unforgotten.is_changed {
        format!("{id} is back")
    } else {
        format!("{id} was not forgotten; nothing is changed")
    });
    let value = json!({"id": id.as_str(), "unforgotten": unforgotten.is_changed});
    Ok(output.either(&value, "")?)
}
