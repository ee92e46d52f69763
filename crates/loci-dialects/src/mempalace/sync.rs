//! The tool `mempalace_sync`: removes drawers whose files no longer belong to their project.

use std::collections::BTreeMap;
use std::path::Path;

use loci_core::{Error, Result, Scope};
use loci_engine::{Call, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{asked, collections, given};
use crate::faults::Faults;
use crate::questions::Question;
use crate::{Hints, Reply, TypedTool};

/// The maximum number of folders that a notice names.
const AWAY_NAMED_MAX: usize = 5;

pub struct Sync;

/// Find drawers whose source file is gone or ignored by git, on the machine of the server, and
/// remove them with `apply`. Where a project's folder is itself missing, nothing is removed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The project's folder, as an absolute path; each file's own, if left out.
    project_dir: Option<String>,
    /// Only this wing.
    wing: Option<String>,
    /// True to remove them; needs `project_dir` or `wing`.
    #[serde(default)]
    apply: bool,
}

/// The result of the check. `kept`, `gitignored`, `missing`, `no_source` and `out_of_scope` add up
/// to `scanned`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Drawers that were looked at.
    scanned: u64,
    /// Drawers whose file is a part of its project.
    kept: u64,
    /// Drawers whose file is there and ignored.
    gitignored: u64,
    /// Drawers whose file is gone.
    missing: u64,
    /// Drawers that come from no file, or from one without an absolute path.
    no_source: u64,
    /// Drawers whose file lies outside `project_dir`, or on another machine.
    out_of_scope: u64,
    /// Drawers that were removed.
    removed_drawers: u64,
    /// Passages of the index that went with them.
    removed_closets: u64,
    /// True if nothing was to be changed.
    dry_run: bool,
    /// The files that are ignored or gone, by their paths, and how many drawers come from each.
    by_source: BTreeMap<String, u64>,
}

impl TypedTool for Sync {
    const NAME: &'static str = "mempalace_sync";
    const TITLE: &'static str = "Take out what is gone";
    const SCOPE: Scope = Scope::Write;
    // It reads the file system of the server.
    const FURTHER_SCOPES: &'static [Scope] = &[Scope::Admin];
    const HINTS: Hints = Hints::REPLACES;
    const OPERATION: &'static str = "memory:delete";
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        let is_given = |name| {
            arguments
                .get(name)
                .and_then(Value::as_str)
                .is_some_and(|text| !text.trim().is_empty())
        };
        let applies = arguments.get("apply").and_then(Value::as_bool) == Some(true);
        let is_unbound = applies && !is_given("project_dir") && !is_given("wing");
        let unbound = || {
            Error::invalid(
                "apply",
                "needs `project_dir` or `wing` beside it, so that it says where to remove something",
            )
        };
        Faults::of(arguments)
            .optional("project_dir", absolute)
            .optional("wing", check::name)
            .and(is_unbound.then(unbound))
            .found()
    }

    fn question(call: &Call<'_>, arguments: &Arguments) -> Result<Option<Question>> {
        if !arguments.apply {
            return Ok(None);
        }
        let wing = asked(arguments.wing.clone());
        let found = call.sources().sync(&loci_engine::Sync {
            root: given(arguments.project_dir.clone()),
            collections: collections(wing.as_deref()),
            apply: false,
        })?;
        let drawers: u64 = found.stale.values().sum();
        let what = format!("the {drawers} drawers whose files are gone or ignored");
        Ok((drawers > 0).then(|| Question::of_deletion(&what)))
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let wing = asked(arguments.wing);
        let request = loci_engine::Sync {
            root: given(arguments.project_dir),
            collections: collections(wing.as_deref()),
            apply: arguments.apply,
        };
        let synced = call.sources().sync(&request)?;
        let output = Output {
            scanned: synced.scanned,
            kept: synced.kept,
            gitignored: synced.ignored,
            missing: synced.missing,
            no_source: synced.no_source,
            out_of_scope: synced.out_of_scope,
            removed_drawers: synced.removed_memories,
            removed_closets: synced.removed_passages,
            dry_run: !arguments.apply,
            by_source: synced.stale,
        };
        Ok(Reply::json(&output, None)?.with_notice(away(&synced.away)))
    }
}

/// Returns a notice of the projects whose folders are missing.
fn away(roots: &[String]) -> Option<String> {
    let named = roots
        .iter()
        .take(AWAY_NAMED_MAX)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    let more = match roots.len().saturating_sub(AWAY_NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let notice = format!(
        "{named}{more}: not there, or nothing in it, as if the drive were not mounted; drawers of files there count as \
         kept, and while that is so `apply` removes nothing without a `project_dir` that is there"
    );
    (!roots.is_empty()).then_some(notice)
}

fn absolute(argument: &str, path: &str) -> Result<()> {
    if Path::new(path.trim()).is_absolute() && !path.contains('\0') {
        return Ok(());
    }
    Err(Error::invalid(
        argument,
        "must be the absolute path of a folder on the machine that the server runs on",
    ))
}
