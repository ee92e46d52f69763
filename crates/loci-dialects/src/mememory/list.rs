//! `list`: browse memories by exact filters.

use loci_core::{Delivery, Result, Tier};
use schemars::JsonSchema;
use serde::Deserialize;

use super::arguments::{DeliveryArgument, MemoryType, NOUNS, Scope, collections_to_list, sections};
use super::record::Record;
use crate::wire::{Count, Offset, Tags};
use crate::{Context, Hints, Reply, TypedTool};

/// Records without `limit`.
const LIMIT_DEFAULT: usize = 20;

pub struct List;

/// Browse memories by exact filters, last updated first. To find something by what it says, use
/// `recall`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Only `global` or only `project` memories.
    scope: Option<Scope>,
    /// Only memories of this project.
    project: Option<String>,
    /// Only memories of this type.
    r#type: Option<MemoryType>,
    /// Only memories with all of these tags.
    tags: Option<Tags>,
    /// Only memories that every session start reads (`bootstrap`), or only the others
    /// (`on_demand`).
    delivery: Option<DeliveryArgument>,
    /// How many records at most: 20 if left out, 1000 at most.
    limit: Option<Count>,
    /// How many records to skip, for the next page.
    offset: Option<Offset>,
}

impl TypedTool for List {
    const NAME: &'static str = "list";
    const TITLE: &'static str = "List";
    const SCOPE: loci_core::Scope = loci_core::Scope::Read;
    const HINTS: Hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };
    const OPERATION: &'static str = "memory:read";
    type Arguments = Arguments;
    type Output = Vec<Record>;

    fn run(context: Context<'_>, arguments: Arguments) -> Result<Reply> {
        let asked = collections_to_list(arguments.scope, arguments.project)?;
        let named = context.engine.named(context.caller, NOUNS, &[Tier::LongTerm], asked, Vec::new())?;
        let request = loci_engine::List {
            collections: named.collections,
            sections: sections(arguments.r#type),
            tags: arguments.tags.unwrap_or_default().0,
            delivery: arguments.delivery.map(Delivery::from),
            offset: arguments.offset.map_or(0, |offset| offset.0),
            limit: arguments.limit.map_or(LIMIT_DEFAULT, |limit| limit.0),
        };
        let mut memories = context.engine.list(context.caller, request)?;
        context.engine.hide_references(context.caller, &mut memories)?;
        let records: Vec<Record> = memories.into_iter().map(|memory| Record::of(context.caller, memory)).collect();
        Ok(Reply::json(crate::tool::to_value(&records)?).with_notice(named.notice))
    }
}
