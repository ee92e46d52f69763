//! A memory in this dialect's terms.

use std::collections::BTreeMap;

use loci_core::{Error, ErrorCode, Memory, Tally};
use loci_engine::SOURCE_FILE;

use super::arguments::wing;

/// The attribute that says who filed a drawer.
pub const ADDED_BY: &str = "added_by";
/// The attribute that says which lines of its file a drawer holds.
pub const LINES: &str = "lines";
/// Characters of a preview.
const PREVIEW_CHARACTERS: usize = 200;

/// The beginning of a text.
pub fn preview(content: &str) -> String {
    content.chars().take(PREVIEW_CHARACTERS).collect()
}

/// The base name of the file that a drawer was made from: where it lies is nobody's business.
pub fn source_name(memory: &Memory) -> Option<String> {
    let path = memory.attributes.get(SOURCE_FILE)?;
    path.rsplit(['/', '\\']).find(|name| !name.is_empty()).map(str::to_owned)
}

/// The failure of an operation on the drawer with this id, in the words of this dialect.
pub fn in_words(id: &str) -> impl Fn(Error) -> Error + '_ {
    move |error| match error.code {
        // Clients match on this text.
        ErrorCode::NotFound => Error::not_found(format!("Drawer not found: {id}")),
        _ => error,
    }
}

/// How many drawers there are in each wing.
pub fn by_wing(places: &[Tally]) -> BTreeMap<String, u64> {
    counts(places, |place| wing(place.collection.clone()))
}

/// How many drawers there are in each room.
pub fn by_room(places: &[Tally]) -> BTreeMap<String, u64> {
    counts(places, |place| place.section.clone())
}

fn counts(places: &[Tally], name: impl Fn(&Tally) -> String) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for place in places {
        *counts.entry(name(place)).or_default() += place.memories;
    }
    counts
}
