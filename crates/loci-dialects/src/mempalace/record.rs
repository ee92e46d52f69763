//! A memory in this dialect's terms.

use std::collections::BTreeMap;

use loci_core::{Error, ErrorCode, Forgotten, LocationCount, Memory, MemoryId, Result, Tier};

use super::arguments::wing;
use crate::Context;
use crate::wire::reading_call;

/// The attribute that says who filed a drawer.
pub const ADDED_BY: &str = "added_by";
/// Characters of a preview.
pub const PREVIEW_CHARACTERS: usize = 200;

/// The beginning of a text.
pub fn preview(content: &str) -> String {
    content.chars().take(PREVIEW_CHARACTERS).collect()
}

/// The drawer with this id. What other tool sets keep apart from all others is none.
///
/// # Errors
/// `not_found` in the words of this dialect if the caller can read none; `unavailable` if the store
/// cannot be read.
pub fn drawer(context: Context<'_>, id: &MemoryId) -> Result<Memory> {
    drawer_among(context, id, Forgotten::Hide)
}

/// The same, be it forgotten or not, if forgotten ones are shown.
///
/// # Errors
/// As for [`drawer`].
pub fn drawer_among(context: Context<'_>, id: &MemoryId, forgotten: Forgotten) -> Result<Memory> {
    let memory = context
        .engine
        .show_among(context.caller, id, forgotten)
        .map_err(in_words(id))?;
    if memory.tier == Tier::Unlisted && memory.origin != context.caller.origin {
        return Err(not_found(id));
    }
    Ok(memory)
}

/// The failure of an operation on the drawer with this id, in the words of this dialect.
pub fn in_words(id: &MemoryId) -> impl Fn(Error) -> Error + '_ {
    const WORDS: [(&str, &str); 3] = [
        ("memory ", "drawer "),
        ("`collection` ", "`wing` "),
        ("`section` ", "`room` "),
    ];
    move |error| {
        if error.code == ErrorCode::NotFound {
            return not_found(id);
        }
        let renamed =
            |(from, to): (&str, &str)| Some(to.to_owned() + error.message.strip_prefix(from)?);
        match WORDS.into_iter().find_map(renamed) {
            Some(message) => Error { message, ..error },
            None => error,
        }
    }
}

fn not_found(id: &MemoryId) -> Error {
    // Clients match on this text.
    Error::not_found(format!("Drawer not found: {id}"))
}

/// How many drawers there are in each wing.
pub fn by_wing(places: &[LocationCount]) -> BTreeMap<String, u64> {
    counts(places, |place| wing(place.collection.clone()))
}

/// How many drawers there are in each room.
pub fn by_room(places: &[LocationCount]) -> BTreeMap<String, u64> {
    counts(places, |place| place.section.clone())
}

fn counts(
    places: &[LocationCount],
    name: impl Fn(&LocationCount) -> String,
) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for place in places {
        *counts.entry(name(place)).or_default() += place.memories;
    }
    counts
}

/// The call that reads a drawer, from an offset if there is one.
pub fn reading(id: &MemoryId, offset: Option<usize>) -> String {
    reading_call(
        "mempalace_get_drawer",
        &[("drawer_id", id.as_str())],
        offset,
    )
}
