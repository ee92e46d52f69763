//! The tool `mempalace_delete_tunnel`: deletes a tunnel.

use loci_core::{Error, ErrorCode, Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::drawer_id;
use crate::faults::Faults;
use crate::{Hints, Reply, TypedTool};

pub struct DeleteTunnel;

/// Remove a tunnel for good. Its places stay.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its id.
    tunnel_id: String,
}

/// The tunnel that was deleted.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Always true.
    success: bool,
    /// The id of the tunnel.
    tunnel_id: String,
}

impl TypedTool for DeleteTunnel {
    const NAME: &'static str = "mempalace_delete_tunnel";
    const TITLE: &'static str = "Remove a tunnel";
    const SCOPE: Scope = Scope::Write;
    // The reply reveals existing data.
    const FURTHER_SCOPES: &'static [Scope] = &[Scope::Read];
    const HINTS: Hints = Hints::REPLACES;
    const OPERATION: &'static str = "graph:delete";
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments).check("tunnel_id", drawer_id).found()
    }

    fn run(call: &Call<'_>, Arguments { tunnel_id }: Arguments) -> Result<Reply> {
        call.graph()
            .delete_tunnel(&tunnel_id)
            .map_err(|error| match error.code {
                ErrorCode::NotFound => Error::not_found(format!(
                    "Tunnel not found: {tunnel_id}; mempalace_list_tunnels shows the ids"
                )),
                _ => error,
            })?;
        let output = Output {
            success: true,
            tunnel_id,
        };
        Reply::json(&output, None)
    }
}
