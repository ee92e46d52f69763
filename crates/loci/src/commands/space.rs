//! `loci space`: places the spaces of a store on a cluster of servers.

use indicatif::DecimalBytes;
use loci_core::{Placement, Space, Transfer};
use serde_json::json;

use crate::cli::SpaceCommand;
use crate::exit::Failure;
use crate::output::Output;
use crate::progress::Progress;
use crate::settings::Settings;
use crate::wiring::Parts;

pub fn run(settings: &Settings, command: &SpaceCommand, output: Output) -> Result<(), Failure> {
    let (SpaceCommand::Show { space }
    | SpaceCommand::Isolate { space }
    | SpaceCommand::Move { space, .. }) = command;
    let space = Space::parse("SPACE", space)?;
    let parts = Parts::open_existing(settings)?;
    let placement = match command {
        SpaceCommand::Show { .. } => parts.store.placement(&space)?,
        SpaceCommand::Isolate { .. } => {
            let _progress = Progress::of_step("copying the space");
            parts.store.isolate(&space)?
        }
        SpaceCommand::Move {
            worker,
            block_writes,
            ..
        } => {
            let _progress = Progress::of_step("copying the space");
            let transfer = if *block_writes {
                Transfer::Blocking
            } else {
                Transfer::Online
            };
            parts.store.move_space(&space, worker, transfer)?
        }
    };
    let Placement {
        worker,
        shard,
        is_alone,
        bytes,
        workers,
    } = placement;
    let value = json!({
        "space": space.as_str(),
        "worker": worker,
        "shard": shard,
        "shared": !is_alone,
        "bytes": bytes,
        "workers": workers,
    });
    let company = if is_alone {
        "of this space only"
    } else {
        "shared with other spaces, which move along"
    };
    let text = format!(
        "space {space}\nworker {worker} (of {})\nshard {shard}, {company}, {}\n",
        workers.join(", "),
        DecimalBytes(bytes)
    );
    Ok(output.either(&value, text)?)
}
