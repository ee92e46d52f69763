//! The tool `loci_view_review`: shows a view what waits for a decision of the person.

use std::cmp::Reverse;
use std::collections::HashMap;

use loci_core::{Forgotten, Memory, MemoryId, OpenItem, Result, Scope};
use loci_engine::{Call, Certainty, ItemKind, orders_in};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shown_memory::{ShownMemory, reply};
use crate::{Hints, Reply, TypedTool};

/// The most items that are shown.
const ITEMS_MAX: usize = 30;
/// The most sentences of a text that are shown by themselves.
const ORDERS_MAX: usize = 5;
/// The kinds that a view shows: a secret and a file are only for the page, on the machine of the person.
const KINDS: [ItemKind; 5] = [
    ItemKind::Order,
    ItemKind::Arrived,
    ItemKind::Contradiction,
    ItemKind::Duplicate,
    ItemKind::Directive,
];

pub struct ShowReview;

/// Read what waits for a decision of the person, for a view of the conversation. Views call this; a
/// model has no use for it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The user, in tool sets whose calls name one.
    #[serde(rename = "user_id")]
    _user_id: Option<String>,
}

/// The items.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The items, the most pressing ones first.
    items: Vec<Item>,
    /// The number of further ones of these kinds.
    more: usize,
    /// The number of items that only the page shows: secrets, and files that are gone.
    on_page: usize,
}

/// Something to decide.
#[derive(Serialize, JsonSchema)]
struct Item {
    /// The key by which it is dismissed.
    key: String,
    /// `order`, `arrived`, `contradiction`, `duplicate` or `directive`.
    kind: &'static str,
    /// How certain a contradiction is.
    #[serde(skip_serializing_if = "Option::is_none")]
    certainty: Option<&'static str>,
    /// The sentences that give agents orders.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    orders: Vec<String>,
    /// True if the reader may accept the memory, which came in a file.
    may_accept: bool,
    /// The memory; of a pair, the newer one.
    memory: ShownMemory,
    /// The older memory of a pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<ShownMemory>,
}

impl TypedTool for ShowReview {
    const NAME: &'static str = "loci_view_review";
    const TITLE: &'static str = "Review";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "memory:read";
    const BY_A_PERSON: bool = true;
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, _: Arguments) -> Result<Reply> {
        let dismissed = call.settings().dismissed()?;
        let open = call.open_items().list()?.into_iter();
        let open = open.filter(|(_, item)| !dismissed.contains(&item.key));
        let (mut shown, other): (Vec<_>, Vec<_>) = open.partition(|(kind, _)| KINDS.contains(kind));
        shown.sort_by_key(|(kind, item)| {
            (*kind, Reverse(item.certainty), Reverse(item.memory.clone()))
        });
        let more = shown.len().saturating_sub(ITEMS_MAX);
        shown.truncate(ITEMS_MAX);
        let ids = shown
            .iter()
            .flat_map(|(_, item)| [Some(&item.memory), item.other.as_ref()]);
        let ids: Vec<MemoryId> = ids.flatten().cloned().collect();
        let found = call.memories().show_all(&ids, Forgotten::Hide)?.into_iter();
        let found: HashMap<MemoryId, Memory> =
            found.map(|memory| (memory.id.clone(), memory)).collect();
        let items = shown
            .iter()
            .filter_map(|(kind, item)| shown_item(call, *kind, item, &found));
        let output = Output {
            items: items.collect(),
            more,
            on_page: other.len(),
        };
        reply("Read.", &output, None)
    }
}

/// Returns an item with its memories; `None` if one of them is not there any more.
fn shown_item(
    call: &Call<'_>,
    kind: ItemKind,
    item: &OpenItem,
    found: &HashMap<MemoryId, Memory>,
) -> Option<Item> {
    let memory = found.get(&item.memory)?;
    let other = match &item.other {
        Some(id) => Some(ShownMemory::of(call, found.get(id)?, true)),
        None => None,
    };
    let orders = if kind == ItemKind::Order {
        let orders = orders_in(memory).into_iter().take(ORDERS_MAX);
        orders.map(|order| order.sentence).collect()
    } else {
        Vec::new()
    };
    Some(Item {
        key: item.key.clone(),
        kind: kind.name(),
        certainty: Certainty::of(kind, item).map(Certainty::name),
        orders,
        may_accept: kind == ItemKind::Arrived && call.memories().may_accept(memory),
        memory: ShownMemory::of(call, memory, true),
        other,
    })
}
