//! Orders in memories: directives, which an author means, and sentences of texts that are none.

use loci_core::{Delivery, Memory, SPEAKER};
use loci_text::prompt_injection::{Order, find_orders};

/// The characters of an order that its key is made from.
const ORDER_CHARACTERS: usize = 300;
/// The types of memories that tell agents what to do.
const DIRECTIVES: [&str; 3] = ["rule", "feedback", "bootstrap"];

pub(crate) fn is_directive(memory: &Memory) -> bool {
    DIRECTIVES.contains(&memory.kind.as_str()) || memory.delivery == Delivery::Bootstrap
}

/// Returns the sentences that give agents orders in a memory that is no directive, and what they are
/// read as if they are disguised, each cut after 300 characters.
pub fn orders_in(memory: &Memory) -> Vec<Order> {
    if is_directive(memory) {
        Vec::new()
    } else {
        all_orders_in(memory)
    }
}

/// Returns the sentences that give agents orders in what hooks and session starts show of a memory: its
/// text, its title, and the names of its place and its speaker.
pub(crate) fn all_orders_in(memory: &Memory) -> Vec<Order> {
    let names = [
        memory.title.as_deref(),
        memory.attributes.get(SPEAKER).map(String::as_str),
        memory.location.collection.as_deref(),
        Some(memory.location.section.as_str()),
        Some(memory.kind.as_str()),
        memory.source_path(),
    ];
    let texts = std::iter::once(memory.content.as_str()).chain(names.into_iter().flatten());
    let cut = |text: String| text.chars().take(ORDER_CHARACTERS).collect();
    let found = texts.flat_map(find_orders).map(|order| Order {
        sentence: cut(order.sentence),
        read_as: order
            .read_as
            .map(|(disguise, words)| (disguise, cut(words))),
    });
    found.collect()
}
