//! The tool `mempalace_delete_by_source`: deletes the drawers of a source file.

use loci_core::{Error, Result, Scope};
use loci_engine::{Call, SOURCE_FILE, SourceDrawers, check, shown_name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::wing;
use crate::faults::Faults;
use crate::questions::Question;
use crate::{Hints, Reply, TypedTool};

pub struct DeleteBySource;

/// Remove all drawers of one source file for good, such as test data that was mined by mistake. Shows
/// how many there are and where, and removes them only with `dry_run` false.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The absolute path of a file that was mined, or the source that drawers were filed with, to
    /// the letter.
    source_file: String,
    /// False to remove them; true, if left out, to count them.
    dry_run: Option<bool>,
}

/// The drawers that were found, or removed.
#[derive(Serialize, JsonSchema)]
pub struct SourceRemoval {
    /// Always true.
    success: bool,
    /// True if nothing was to be changed.
    dry_run: bool,
    /// The source.
    source_file: String,
    /// The number of drawers that you may remove.
    #[serde(skip_serializing_if = "Option::is_none")]
    match_count: Option<u64>,
    /// Their places: five at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    sample: Option<Vec<Place>>,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// The number of drawers that were removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
struct Place {
    /// The wing.
    wing: String,
    /// The room.
    room: String,
}

impl TypedTool for DeleteBySource {
    const NAME: &'static str = "mempalace_delete_by_source";
    const TITLE: &'static str = "Delete what a file brought";
    const SCOPE: Scope = Scope::Write;
    // The reply reveals existing data.
    const FURTHER_SCOPES: &'static [Scope] = &[Scope::Read];
    const HINTS: Hints = Hints::REPLACES;
    const OPERATION: &'static str = "memory:delete";
    type Arguments = Arguments;
    type Output = SourceRemoval;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .check(SOURCE_FILE, check::reference)
            .found()
    }

    fn question(call: &Call<'_>, arguments: &Arguments) -> Result<Option<Question>> {
        if arguments.dry_run.unwrap_or(true) {
            return Ok(None);
        }
        let source = arguments.source_file.trim();
        let found = call.memories().of_source(source)?.memories;
        let what = format!("what came from {}, {found} in number,", shown_name(source));
        Ok((found > 0).then(|| Question::of_deletion(&what)))
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let source_file = arguments.source_file.trim().to_owned();
        let dry_run = arguments.dry_run.unwrap_or(true);
        let memories = call.memories();
        let SourceDrawers {
            memories,
            of_others,
            locations,
        } = if dry_run {
            memories.of_source(&source_file)?
        } else {
            memories.forget_source(&source_file)?
        };
        let place = |location: loci_core::Location| Place {
            wing: wing(location.collection),
            room: location.section,
        };
        let output = SourceRemoval {
            success: true,
            dry_run,
            source_file,
            match_count: dry_run.then_some(memories),
            sample: dry_run.then(|| locations.into_iter().map(place).collect()),
            hint: dry_run.then(|| hint(memories)),
            deleted: (!dry_run).then_some(memories),
        };
        let stay = (of_others > 0).then(|| match of_others {
            1 => "1 more drawer of this source belongs to someone else, and stays".to_owned(),
            more => format!("{more} more drawers of this source belong to others, and stay"),
        });
        Ok(Reply::json(&output, None)?.with_notice(stay))
    }
}

fn hint(memories: u64) -> String {
    match memories {
        0 => "no drawer has this source; a file that was mined is named by its absolute path"
            .to_owned(),
        count => format!("nothing was removed; `dry_run` false removes these {count} for good"),
    }
}
