//! The tool `mempalace_get_drawers`: returns several drawers by id.

use loci_core::{Error, ErrorCode, Forgotten, Memory, Result, Scope, Timestamp};
use loci_engine::{Call, FittedMemory, passage_count};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::drawer_id;
use super::get_drawer::ShownDrawer;
use super::record::{drawer_among, reading};
use crate::faults::Faults;
use crate::past::AsOf;
use crate::wire::{Count, Truncation, left_out};
use crate::{Hints, Reply, TypedTool};

/// The most ids in one call.
const IDS_MAX: usize = 500;

pub struct GetDrawers;

/// Read several drawers at once, word for word, with what is known about each. One that is not there
/// has an `error` in its place; what the reply has no room for is named, and read by another call.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Their ids (1 to 500).
    #[schemars(length(min = 1, max = IDS_MAX))]
    drawer_ids: Vec<String>,
    as_of: Option<AsOf>,
    /// Tokens of the reply: 25,000 if left out, unless the installation says otherwise.
    budget_tokens: Option<Count>,
}

/// The drawers.
#[derive(Serialize, JsonSchema)]
pub struct ShownDrawers {
    /// A drawer or an error for each id, in their order.
    results: Vec<DrawerResult>,
    /// The number of ids.
    count: usize,
    /// The number of errors.
    errors: usize,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum DrawerResult {
    Drawer(Box<ShownDrawer>),
    Error(MissingDrawer),
}

#[derive(Serialize, JsonSchema)]
struct MissingDrawer {
    /// The id.
    drawer_id: String,
    /// The reason why it is not here.
    error: String,
}

impl TypedTool for GetDrawers {
    const NAME: &'static str = "mempalace_get_drawers";
    const TITLE: &'static str = "Read drawers";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "memory:read";
    type Arguments = Arguments;
    type Output = ShownDrawers;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .items("drawer_ids", IDS_MAX, drawer_id)
            .and(AsOf::faults(arguments))
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let as_of = AsOf::moment(call, arguments.as_of.as_ref())?;
        let ids = arguments.drawer_ids;
        let mut found = Vec::with_capacity(ids.len());
        for id in &ids {
            found.push(match known(call, id, as_of) {
                Ok(memory) => Ok(memory),
                Err(error) if is_about_id(&error) => Err(error.message),
                Err(error) => return Err(error),
            });
        }
        let drawers: Vec<Memory> = found.iter().flatten().cloned().collect();
        let (chunks, all) = (chunk_counts(&drawers), drawers.len());
        let tokens = arguments.budget_tokens.map(|count| count.0);
        let shown = call.engine().budgets().cut_to_budget(drawers, tokens)?;
        let notice = left_out(
            shown.len(),
            all - shown.len(),
            "call again with the ids of the others",
        );
        let mut shown = shown.into_iter().zip(chunks);
        let result = |(found, id): (Result<Memory, String>, &String)| {
            let error = match found.map(|_| shown.next()) {
                Ok(Some((FittedMemory { memory, length }, chunks))) => {
                    let cut = Truncation::of(length, |offset| reading(&memory.id, offset));
                    let drawer = ShownDrawer::of(call.caller(), memory, cut, chunks);
                    return DrawerResult::Drawer(Box::new(drawer));
                }
                Ok(None) => "the reply has no room for it; call again with its id".to_owned(),
                Err(error) => error,
            };
            DrawerResult::Error(MissingDrawer {
                drawer_id: id.clone(),
                error,
            })
        };
        let results: Vec<DrawerResult> = found.into_iter().zip(&ids).map(result).collect();
        let is_error = |result: &&DrawerResult| matches!(result, DrawerResult::Error(_));
        let output = ShownDrawers {
            count: results.len(),
            errors: results.iter().filter(is_error).count(),
            results,
        };
        let drawers = (output.count - output.errors) as u64;
        Ok(Reply::json(&output, Some(drawers))?.with_notice(notice))
    }
}

/// Returns the drawer with this id, or a part of its id.
fn known(call: &Call<'_>, id: &str, as_of: Option<Timestamp>) -> Result<Memory> {
    let id = call.memories().memory_id("drawer_ids", id)?;
    drawer_among(call, &id, Forgotten::Hide, as_of)
}

/// Returns true if another id may be known all the same.
fn is_about_id(error: &Error) -> bool {
    let is_about_time = error.argument.as_deref() == Some("as_of");
    !is_about_time && matches!(error.code, ErrorCode::NotFound | ErrorCode::InvalidArgument)
}

/// Returns the numbers of passages into which the index divides each.
fn chunk_counts(drawers: &[Memory]) -> Vec<usize> {
    let count = |drawer: &Memory| passage_count(&drawer.content);
    drawers.iter().map(count).collect()
}
