//! A memory in the format of this dialect.

use std::collections::BTreeMap;

use loci_core::{
    Error, ErrorCode, Forgotten, LocationCount, Memory, MemoryId, Result, SOURCE_FILE, Tier,
    Timestamp,
};

use super::arguments::wing;
use crate::wire::{reading_call, source_file};
use loci_engine::Call;

/// The attribute with the user or agent who filed a drawer.
pub const ADDED_BY: &str = "added_by";
/// The number of characters in a preview.
pub const PREVIEW_CHARACTERS: usize = 200;

/// Returns the beginning of a text.
pub fn preview(content: &str) -> String {
    content.chars().take(PREVIEW_CHARACTERS).collect()
}

/// Returns the drawer with this id. Unlisted memories of other tool sets are not drawers.
///
/// # Errors
/// `not_found` in the words of this dialect if the caller can read no such drawer; `unavailable` if
/// the store cannot be read.
pub fn drawer(call: &Call<'_>, id: &MemoryId) -> Result<Memory> {
    drawer_among(call, id, Forgotten::Hide, None)
}

/// Returns the drawer with this id, even if it is forgotten, unless `forgotten` hides such drawers; with
/// `as_of` as it stood at that time.
///
/// # Errors
/// As for [`drawer`].
pub fn drawer_among(
    call: &Call<'_>,
    id: &MemoryId,
    forgotten: Forgotten,
    as_of: Option<Timestamp>,
) -> Result<Memory> {
    let memory = call
        .memories()
        .show_at(id, forgotten, as_of)
        .map_err(in_words(id))?;
    if memory.tier == Tier::Unlisted && memory.origin != call.caller().origin {
        return Err(not_found(id));
    }
    Ok(memory)
}

/// Returns true if a drawer comes from this file, by its path as it was given or as drawers show it.
pub fn is_of_file(memory: &Memory, file: &str) -> bool {
    let path = memory.attributes.get(SOURCE_FILE);
    path.is_some_and(|path| path == file) || source_file(memory).as_deref() == Some(file)
}

/// Converts an error of an operation on the drawer with this id to the words of this dialect.
pub fn in_words(id: &MemoryId) -> impl Fn(Error) -> Error + '_ {
    move |error| match error.code {
        ErrorCode::NotFound => not_found(id),
        _ => error.with_subject("memory", "drawer"),
    }
}

fn not_found(id: &MemoryId) -> Error {
    // Clients match on this text.
    Error::not_found(format!("Drawer not found: {id}"))
}

/// Returns the number of drawers in each wing.
pub fn by_wing(places: &[LocationCount]) -> BTreeMap<String, u64> {
    counts(places, |place| wing(place.collection.clone()))
}

/// Returns the number of drawers in each room.
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

/// Formats the call that reads a drawer, from an offset if given.
pub fn reading(id: &MemoryId, offset: Option<usize>) -> String {
    reading_call(
        "mempalace_get_drawer",
        &[("drawer_id", id.as_str())],
        offset,
    )
}
