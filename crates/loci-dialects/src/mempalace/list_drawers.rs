//! The tool `mempalace_list_drawers`: lists drawers in the order of filing.

use loci_core::{Caller, Error, FilingOrder, Memory, Result, Scope, Tier};
use loci_engine::{Browse, Call, Facets, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{FILED, ResolvedPlace, collections, given, resolve_place, wing};
use super::record::{PREVIEW_CHARACTERS, is_of_file, preview};
use crate::faults::Faults;
use crate::past::AsOf;
use crate::wire::{Authorship, Count, FromFile, Offset};
use crate::{Hints, Reply, TypedTool};

/// The default of `limit`.
const LIMIT_DEFAULT: usize = 20;
/// The maximum number of drawers.
const LIMIT_MAX: usize = 100;

pub struct ListDrawers;

/// List the drawers of a wing, a room or all in the order of filing, each with its beginning
/// (`mempalace_get_drawer` has the whole), diaries too.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Only this wing.
    wing: Option<String>,
    /// Only this room.
    room: Option<String>,
    /// Only drawers of this file: its absolute path, or the path that drawers show.
    source_file: Option<String>,
    /// Only what was filed on this day or moment, or later.
    since: Option<String>,
    /// Only what was filed before this day or moment.
    before: Option<String>,
    as_of: Option<AsOf>,
    /// At most: 20 if left out, up to 100.
    limit: Option<Count>,
    /// The number of drawers to skip.
    offset: Option<Offset>,
}

/// A page of drawers.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The drawers, first filed first.
    drawers: Vec<DrawerRow>,
    /// The total number of drawers.
    total: u64,
    /// The maximum number of drawers on this page.
    limit: usize,
    /// The number of drawers that were skipped.
    offset: usize,
    /// The number of drawers on this page.
    count: usize,
}

/// A drawer.
#[derive(Serialize, JsonSchema)]
struct DrawerRow {
    /// Its id.
    drawer_id: String,
    /// Its wing.
    wing: String,
    /// Its room.
    room: String,
    /// Its title, if it has one: that of a note.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Its first 200 characters.
    content_preview: String,
    #[serde(flatten)]
    from_file: FromFile,
    #[serde(flatten)]
    authorship: Authorship,
}

impl DrawerRow {
    /// Converts a drawer for this reader.
    fn of(reader: &Caller, memory: Memory) -> Self {
        DrawerRow {
            authorship: Authorship::of(reader, &memory),
            from_file: FromFile::of(&memory),
            drawer_id: memory.id.to_string(),
            title: memory.title,
            content_preview: preview(&memory.content),
            wing: wing(memory.location.collection),
            room: memory.location.section,
        }
    }
}

impl TypedTool for ListDrawers {
    const NAME: &'static str = "mempalace_list_drawers";
    const TITLE: &'static str = "List drawers";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "memory:read";
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .optional("wing", check::name)
            .optional("room", check::name)
            .optional("source_file", check::reference)
            .and(FILED.faults(arguments))
            .and(AsOf::faults(arguments))
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let ResolvedPlace { wing, room, notice } =
            resolve_place(call, arguments.wing, arguments.room)?;
        // The places are those of now.
        let notice = notice.filter(|_| arguments.as_of.is_none());
        let limit = arguments
            .limit
            .map_or(LIMIT_DEFAULT, |count| count.0)
            .min(LIMIT_MAX);
        let offset = arguments.offset.map_or(0, |offset| offset.0);
        let file = given(arguments.source_file);
        let thread = file.as_ref().map(|file| call.sources().thread_of(file));
        let filed = FILED.facets(arguments.since.as_deref(), arguments.before.as_deref())?;
        let request = Browse {
            collections: collections(wing.as_deref()),
            // The tiers that the counts include.
            tiers: vec![Tier::LongTerm, Tier::Unlisted],
            sections: room.into_iter().collect(),
            kinds: Vec::new(),
            facets: Facets { thread, ..filed },
            order: FilingOrder::FirstFirst,
            offset,
            limit,
            characters_max: Some(PREVIEW_CHARACTERS),
            as_of: AsOf::moment(call, arguments.as_of.as_ref())?,
            ..Browse::default()
        };
        let browsed = match file {
            Some(file) => call
                .listings()
                .browse_source(request, |memory| is_of_file(memory, &file))?,
            None => call.listings().browse(request)?,
        };
        let listed = |memory| DrawerRow::of(call.caller(), memory);
        let drawers: Vec<DrawerRow> = browsed.memories.into_iter().map(listed).collect();
        let output = Output {
            total: browsed.total,
            limit,
            offset,
            count: drawers.len(),
            drawers,
        };
        Ok(Reply::json(&output, Some(output.count as u64))?.with_notice(notice))
    }
}
