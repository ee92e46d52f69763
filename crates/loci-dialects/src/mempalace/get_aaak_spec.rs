//! The tool `mempalace_get_aaak_spec`: returns the grammar of the shorthand AAAK.

use loci_core::{Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::aaak::SPECIFICATION;
use crate::{Hints, Reply, TypedTool};

pub struct GetAaakSpec;

/// Read how AAAK is written, the shorthand for diaries and summaries.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// The specification.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The grammar, with an example.
    aaak_spec: &'static str,
}

impl TypedTool for GetAaakSpec {
    const NAME: &'static str = "mempalace_get_aaak_spec";
    const TITLE: &'static str = "The shorthand AAAK";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "help";
    type Arguments = Arguments;
    type Output = Output;

    fn run(_: &Call<'_>, _: Arguments) -> Result<Reply> {
        let output = Output {
            aaak_spec: SPECIFICATION,
        };
        Reply::json(&output, None)
    }
}
