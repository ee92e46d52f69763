//! `loci list`: browses memories.

use loci_core::limits::LIST_RESULTS_MAX;
use loci_core::{Caller, CollectionFilter, LOCAL, Memory, Tier, Visibility};
use loci_dialects::mememory::Record;
use serde_json::{Value, json};

use super::search::NOUNS;
use crate::cli;
use crate::exit::Failure;
use crate::listing::{Listing, value_of};
use crate::output::{self, Output, clamped, status_line};
use crate::past::{of_past, past};
use crate::settings::Settings;
use crate::wiring::Parts;

pub fn run(settings: &Settings, arguments: &cli::List, output: Output) -> Result<(), Failure> {
    let collections = match arguments.project.as_deref() {
        None => CollectionFilter::Any,
        Some("global") => CollectionFilter::Global,
        Some(project) => CollectionFilter::Only(project.to_owned()),
    };
    let limit = clamped(arguments.limit, LIST_RESULTS_MAX);
    let parts = Parts::open_current(settings)?;
    let types = arguments.only.r#type.iter().cloned().collect();
    let named = parts
        .system()
        .listings()
        .named(NOUNS, &[Tier::LongTerm], collections, types)?;
    if let Some(notice) = &named.notice {
        status_line(format_args!("note: {notice}"));
    }
    let request = loci_engine::List {
        collections: named.collections,
        sections: named.sections,
        kinds: Vec::new(),
        tags: arguments.only.tags.clone(),
        delivery: None,
        facets: loci_engine::Facets::default(),
        offset: arguments.offset as usize,
        limit,
        as_of: past(arguments.as_of.as_deref())?,
    };
    let looking = parts.looking();
    let listed = |request| looking.listings().list(request).map_err(of_past);
    let memories = listed(request.clone())?;
    let next = request.offset + memories.len();
    let following = loci_engine::List {
        offset: next,
        limit: 1,
        ..request
    };
    let has_more = memories.len() == limit && !listed(following)?.is_empty();
    let more = has_more.then(|| format!("--offset {next}"));
    if let Some(more) = &more {
        status_line(format_args!("there are more: {more}"));
    }
    let listing = Listing::of_stdout(None);
    let text: String = memories
        .iter()
        .map(|memory| listing.listed(&Record::of(&Caller::local(), memory.clone())))
        .collect();
    let values = memories.into_iter().map(with_access);
    Ok(listing.print(output, &output::listing("memories", values, more), &text)?)
}

/// Returns a memory with its visibility, unless it is common, and its owner, unless that is the local
/// user, so that an import elsewhere keeps them.
fn with_access(memory: Memory) -> Value {
    let (visibility, owner) = (memory.visibility, memory.owner.clone());
    let mut value = value_of(memory);
    let is_common = visibility == Visibility::Common;
    if !is_common {
        value["visibility"] = json!(visibility.name());
    }
    if let Some(owner) = owner.filter(|owner| !is_common || owner != LOCAL) {
        value["owner"] = json!(owner);
    }
    value
}
