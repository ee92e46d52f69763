//! The tool `list`: lists memories by exact filters.

use loci_core::limits::LIST_RESULTS_MAX;
use loci_core::{Delivery, Forgotten, Memory, Result, Tier, Timestamp};
use loci_engine::{Call, FittedMemory, ListPage, is_pinned};
use schemars::JsonSchema;
use serde::Deserialize;

use super::arguments::{DeliveryArgument, MemoryType, NOUNS, Scope, collections_to_list, sections};
use super::record::Record;
use crate::past::AsOf;
use crate::wire::{Count, Offset, Tags, both, left_out};
use crate::{Hints, Reply, TypedTool};

/// The default of `limit`.
const LIMIT_DEFAULT: usize = 20;

pub struct List;

/// Browse memories by exact filters, last updated first, or read one by its `id`. To find something
/// by what it says, use `recall`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id of a memory to read word for word, without any filter. A text that is too long for
    /// one reply comes in pages.
    id: Option<String>,
    /// Only `global` or only `project` memories.
    scope: Option<Scope>,
    /// Only memories of this project.
    project: Option<String>,
    /// Only memories of this type.
    r#type: Option<MemoryType>,
    /// Only memories with all of these tags.
    tags: Option<Tags>,
    /// Only memories that every session start reads (`bootstrap`), that every prompt reads as well
    /// (`pinned`), or only the others (`on_demand`).
    delivery: Option<DeliveryArgument>,
    /// The maximum number of records: 20 if left out, at most 1000.
    limit: Option<Count>,
    /// The number of records to skip, for the next page; with `id`, the number of characters of the
    /// text.
    offset: Option<Offset>,
    as_of: Option<AsOf>,
    /// Tokens of the reply: 25,000 if left out, unless the installation says otherwise.
    budget_tokens: Option<Count>,
}

impl TypedTool for List {
    const NAME: &'static str = "list";
    const TITLE: &'static str = "List";
    const SCOPE: loci_core::Scope = loci_core::Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "memory:read";
    type Arguments = Arguments;
    type Output = Vec<Record>;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let offset = arguments.offset.map_or(0, |offset| offset.0);
        let tokens = arguments.budget_tokens.map(|count| count.0);
        let as_of = AsOf::moment(call, arguments.as_of.as_ref())?;
        if let Some(id) = &arguments.id {
            return page(call, (id, as_of), offset, tokens);
        }
        let asked = collections_to_list(arguments.scope, arguments.project)?;
        let named = call
            .listings()
            .named(NOUNS, &[Tier::LongTerm], asked, Vec::new())?;
        let request = loci_engine::List {
            collections: named.collections,
            sections: sections(arguments.r#type),
            kinds: Vec::new(),
            tags: arguments.tags.unwrap_or_default().0,
            delivery: arguments.delivery.map(Delivery::from),
            facets: loci_engine::Facets::default(),
            offset,
            limit: arguments.limit.map_or(LIMIT_DEFAULT, |limit| limit.0),
            as_of,
        };
        let listed = match arguments.delivery {
            Some(DeliveryArgument::Bootstrap) => delivered(call, request, tokens, false)?,
            Some(DeliveryArgument::Pinned) => delivered(call, request, tokens, true)?,
            Some(DeliveryArgument::OnDemand) | None => {
                call.listings().list_within(request, tokens)?
            }
        };
        let next = format!(
            "give `offset` {} for the others",
            offset + listed.shown.len()
        );
        let notice = left_out(listed.shown.len(), listed.left_out, &next);
        let record = |shown: FittedMemory| Record::shown(call.caller(), shown.memory, shown.length);
        let records: Vec<Record> = listed.shown.into_iter().map(record).collect();
        Ok(Reply::json(&records, Some(records.len() as u64))?
            .with_notice(both(named.notice, notice)))
    }
}

/// Returns a page of the memories that every session start reads, and that every prompt reads or
/// not. The first 1,000 are looked through.
fn delivered(
    call: &Call<'_>,
    request: loci_engine::List,
    tokens: Option<usize>,
    pinned: bool,
) -> Result<ListPage> {
    let (offset, limit) = (request.offset, request.limit.clamp(1, LIST_RESULTS_MAX));
    let all = call.listings().list(loci_engine::List {
        offset: 0,
        limit: LIST_RESULTS_MAX,
        ..request
    })?;
    let memories: Vec<Memory> = all
        .into_iter()
        .filter(|memory| is_pinned(memory) == pinned)
        .skip(offset)
        .take(limit)
        .collect();
    let found = memories.len();
    let shown = call.engine().budgets().cut_to_budget(memories, tokens)?;
    Ok(ListPage {
        left_out: found - shown.len(),
        shown,
    })
}

/// Returns the memory with only this id, with a page of its text.
fn page(
    call: &Call<'_>,
    (id, as_of): (&str, Option<Timestamp>),
    offset: usize,
    tokens: Option<usize>,
) -> Result<Reply> {
    let id = call.memories().memory_id("id", id)?;
    let memory = call.memories().show_at(&id, Forgotten::Hide, as_of)?;
    let page = call.engine().budgets().text_page(memory, offset, tokens)?;
    Reply::json(&[Record::page(call.caller(), page)], Some(1))
}
