//! The tool `mempalace_list_tunnels`: lists the tunnels that callers made.

use loci_core::{Error, Page, Result, Scope};
use loci_engine::{Call, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{asked, collection, resolve_place};
use super::graph::TunnelRecord;
use crate::faults::Faults;
use crate::past::AsOf;
use crate::wire::{Count, Offset};
use crate::{Hints, Reply, TypedTool};

/// The default of `limit`.
const LIMIT_DEFAULT: usize = 100;
/// The maximum number of tunnels.
const LIMIT_MAX: usize = 1_000;

pub struct ListTunnels;

/// List tunnels, oldest first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Only tunnels of this wing.
    wing: Option<String>,
    as_of: Option<AsOf>,
    /// At most: 100 if left out, up to 1,000.
    limit: Option<Count>,
    /// The number of tunnels to skip.
    offset: Option<Offset>,
}

/// The tunnels.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The tunnels, oldest first.
    tunnels: Vec<TunnelRecord>,
    /// The number of tunnels on this page.
    count: usize,
    /// The total number of tunnels.
    total: usize,
    /// The maximum number of tunnels on this page.
    limit: usize,
    /// The number of tunnels that were skipped.
    offset: usize,
}

impl TypedTool for ListTunnels {
    const NAME: &'static str = "mempalace_list_tunnels";
    const TITLE: &'static str = "List tunnels";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "graph:read";
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .optional("wing", check::name)
            .and(AsOf::faults(arguments))
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let wing = asked(arguments.wing);
        let limit = arguments
            .limit
            .map_or(LIMIT_DEFAULT, |count| count.0)
            .min(LIMIT_MAX);
        let offset = arguments.offset.map_or(0, |offset| offset.0);
        let page = Page { offset, limit };
        let as_of = AsOf::moment(call, arguments.as_of.as_ref())?;
        let listed = |wing: &Option<String>| {
            let wing = wing.as_ref().map(collection);
            let wing = wing.as_ref().map(Option::as_deref);
            match as_of {
                Some(at) => call.graph().tunnels_as_of(wing, at, page),
                None => call.graph().tunnels(wing, page),
            }
        };
        let (mut tunnels, mut total) = listed(&wing)?;
        let mut notice = None;
        // A tunnel may still lead to a wing without drawers.
        if total == 0 {
            let meant = resolve_place(call, wing, None)?;
            (tunnels, total) = listed(&meant.wing)?;
            notice = meant.notice;
        }
        let tunnels: Vec<TunnelRecord> = tunnels
            .into_iter()
            .map(|tunnel| TunnelRecord::of(call.caller(), tunnel))
            .collect();
        let output = Output {
            count: tunnels.len(),
            tunnels,
            total,
            limit,
            offset,
        };
        Ok(Reply::json(&output, Some(output.count as u64))?.with_notice(notice))
    }
}
