//! `loci list`: browses memories.

use loci_core::limits::LIST_RESULTS_MAX;
use loci_core::{Caller, CollectionFilter, LOCAL, Tier, Visibility};
use loci_dialects::mememory::Record;
use serde_json::{Value, json};

use super::search::NOUNS;
use crate::cli;
use crate::exit::Failure;
use crate::listing::Listing;
use crate::output::{Output, clamped, status_line};
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
        tags: arguments.only.tags.clone(),
        delivery: None,
        facets: loci_engine::Facets::default(),
        offset: arguments.offset as usize,
        limit,
    };
    let memories = parts.looking().listings().list(request)?;
    let access = memories
        .iter()
        .map(|memory| (memory.visibility, memory.owner.clone()));
    let access: Vec<(Visibility, Option<String>)> = access.collect();
    let records: Vec<Record> = memories
        .into_iter()
        .map(|memory| Record::of(&Caller::local(), memory))
        .collect();
    if records.len() == limit {
        status_line(format_args!(
            "there may be more: --offset {}",
            arguments.offset as usize + records.len()
        ));
    }
    let listing = Listing::of_stdout(None);
    let text: String = records
        .iter()
        .map(|record| listing.listed(record))
        .collect();
    let values: Vec<Value> = records
        .iter()
        .zip(access)
        .map(|(record, access)| with_access(record, access))
        .collect();
    Ok(listing.print(output, &json!(values), &text)?)
}

/// Adds the visibility to a record, unless it is common, and the owner, unless that is the local
/// user, so that an import elsewhere keeps them.
fn with_access(record: &Record, (visibility, owner): (Visibility, Option<String>)) -> Value {
    let mut value = json!(record);
    let is_common = visibility == Visibility::Common;
    if !is_common {
        value["visibility"] = json!(visibility.name());
    }
    if let Some(owner) = owner.filter(|owner| !is_common || owner != LOCAL) {
        value["owner"] = json!(owner);
    }
    value
}
