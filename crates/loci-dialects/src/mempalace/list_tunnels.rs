//! `mempalace_list_tunnels`: the tunnels that somebody made.

use loci_core::{Error, Result, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{Faults, collection, given};
use super::graph::TunnelRecord;
use crate::{Context, Hints, Reply, TypedTool};

pub struct ListTunnels;

/// List the tunnels that somebody made, oldest first; of one wing, if you name it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Only tunnels that begin or end in this wing.
    wing: Option<String>,
}

/// The tunnels.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The tunnels, oldest first.
    tunnels: Vec<TunnelRecord>,
    /// How many there are.
    count: usize,
}

impl TypedTool for ListTunnels {
    const NAME: &'static str = "mempalace_list_tunnels";
    const TITLE: &'static str = "List tunnels";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };
    const OPERATION: &'static str = "graph:read";
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments).filter("wing").found()
    }

    fn run(context: Context<'_>, arguments: Arguments) -> Result<Reply> {
        let wing = given(arguments.wing).map(collection);
        let tunnels = context.engine.tunnels(context.caller, wing.as_ref().map(Option::as_deref))?;
        let tunnels: Vec<TunnelRecord> = tunnels.into_iter().map(TunnelRecord::from).collect();
        let output = Output { count: tunnels.len(), tunnels };
        Ok(Reply::json(crate::tool::to_value(&output)?))
    }
}
