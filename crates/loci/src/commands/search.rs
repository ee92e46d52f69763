//! `loci search`: finds memories by a question.

use loci_core::limits::RECALL_RESULTS_MAX;
use loci_core::{Caller, CollectionFilter, Error, Tier, Timestamp};
use loci_dialects::explained;
use loci_dialects::mememory::{self, Record};
use loci_engine::{Hit, LocationNouns, PastHit, Recall, SearchMode, Signals, UnsearchedMemories};
use serde_json::json;

use crate::cli::Search;
use crate::exit::{Exit, Failure};
use crate::listing::{Listing, value_of};
use crate::output::{self, Output, clamped, counted, status_line};
use crate::past::{of_past, past};
use crate::settings::Settings;
use crate::time_format;
use crate::wiring::Parts;

/// The names of a collection and a section in messages.
pub const NOUNS: LocationNouns = LocationNouns {
    collection: "project",
    section: "type",
};

pub fn run(settings: &Settings, arguments: &Search, output: Output) -> Result<(), Failure> {
    let parts = Parts::open_current(settings)?;
    let limit = clamped(arguments.limit, RECALL_RESULTS_MAX);
    let (places, types) = (
        collections(arguments.project.as_deref()),
        arguments.only.r#type.iter().cloned().collect(),
    );
    let named = parts
        .system()
        .listings()
        .named(NOUNS, &[Tier::LongTerm], places, types)?;
    if let Some(notice) = &named.notice {
        status_line(format_args!("note: {notice}"));
    }
    let request = Recall {
        collections: named.collections,
        sections: named.sections,
        tags: arguments.only.tags.clone(),
        is_consolidated: !arguments.all,
        ..Recall::new(&arguments.query, limit, &mememory::score)
    };
    if let Some(at) = past(arguments.as_of.as_deref())? {
        return as_it_stood(&parts, &request, at, output);
    }
    let recalled = parts.looking().search().recall(&request);
    let recalled = recalled.map_err(|error| explained_failure(settings, &parts, error))?;
    if let Some(notice) = recalled.notice() {
        status_line(format_args!("note: {notice}"));
    }
    status_line(looked_at(&parts.looking(), &request.collections)?);
    let listing = Listing::of_stdout(Some(&arguments.query));
    let mut values = Vec::new();
    let mut text = String::new();
    for hit in recalled.hits {
        let why = explained(&hit);
        let times_said = hit.times_said();
        let Hit {
            memory,
            score,
            signals,
            ..
        } = hit;
        let record = Record::of(&Caller::local(), memory.clone());
        text += &format!("{score:.3}  {}", listing.listed(&record));
        let mut value = json!({"memory": value_of(memory), "score": score});
        if signals.strength.is_some() {
            value["strength"] = why["strength"].clone();
        }
        if times_said > 1 {
            text += &format!("    found {times_said} times\n");
            value["times_said"] = json!(times_said);
        }
        if arguments.explain {
            text += &explanation(&signals, score);
            value["explain"] = why;
        }
        values.push(value);
    }
    if values.is_empty() && !output.json {
        status_line("nothing was found");
    }
    let limit_next = (limit * 2).min(RECALL_RESULTS_MAX);
    let has_more = values.len() == limit && limit_next > limit;
    let more = has_more.then(|| format!("--limit {limit_next}"));
    Ok(listing.print(output, &output::listing("results", values, more), &text)?)
}

/// Returns the failure of a search, which the model may have caused.
fn explained_failure(settings: &Settings, parts: &Parts, error: Error) -> Failure {
    let needs_model = settings.search == SearchMode::Vector && error.is_unavailable();
    if needs_model && parts.embedder.embed(&["question"]).is_err() {
        Failure::new(Exit::Model, error.message)
    } else {
        error.into()
    }
}

/// Prints what a search would have found at a time.
fn as_it_stood(
    parts: &Parts,
    request: &Recall<'_>,
    at: Timestamp,
    output: Output,
) -> Result<(), Failure> {
    let hits = parts
        .looking()
        .search()
        .recall_as_of(request, at)
        .map_err(of_past)?;
    status_line(format_args!("as of {}", time_format::format(at)));
    let listing = Listing::of_stdout(Some(request.query));
    let (mut values, mut text) = (Vec::new(), String::new());
    for PastHit { memory, score } in hits {
        let record = Record::of(&Caller::local(), memory.clone());
        text += &format!("{score:.3}  {}", listing.listed(&record));
        values.push(json!({"memory": value_of(memory), "score": score}));
    }
    if values.is_empty() && !output.json {
        status_line("nothing was found");
    }
    let mut value = output::listing("results", values, None);
    value["as_of"] = json!(time_format::format(at));
    Ok(listing.print(output, &value, &text)?)
}

/// Returns a line that says what a search looked at, and what not.
fn looked_at(parts: &loci_engine::Parts<'_>, searched: &CollectionFilter) -> Result<String, Error> {
    let listings = parts.listings();
    let projects = |count: usize| counted(count as u64, "project");
    let place = match searched {
        CollectionFilter::GlobalAnd(project) => {
            format!("the project {project} and the global memories")
        }
        CollectionFilter::Global => "the global memories".to_owned(),
        _ => {
            let all = listings.collections()?.len();
            if all == 0 {
                return Ok("looked everywhere".to_owned());
            }
            return Ok(format!(
                "looked everywhere: at the global memories and at {}, of which an agent's `recall` takes the one that it names (--project NAME, --project global)",
                projects(all)
            ));
        }
    };
    let UnsearchedMemories {
        memories,
        collections,
    } = listings.unsearched(&[Tier::LongTerm], searched)?;
    if memories == 0 {
        return Ok(format!("looked at {place}"));
    }
    let memories = if memories == 1 {
        "1 memory".to_owned()
    } else {
        format!("{memories} memories")
    };
    Ok(format!(
        "looked at {place}, not at {memories} of {}; without --project the search looks everywhere",
        projects(collections)
    ))
}

fn collections(project: Option<&str>) -> CollectionFilter {
    match project {
        None => CollectionFilter::Any,
        Some("global") => CollectionFilter::Global,
        Some(project) => CollectionFilter::GlobalAnd(project.to_owned()),
    }
}

fn explanation(signals: &Signals, score: f64) -> String {
    let cosine = signals
        .cosine
        .map_or_else(|| "no vector".to_owned(), |cosine| format!("{cosine:.3}"));
    let strength = signals
        .strength
        .map_or_else(|| "unknown".to_owned(), |strength| format!("{strength:.2}"));
    format!(
        "    why: strength {strength}; score {score:.3} from relevance {:.3} (words {:.0} %: {:.3} of bm25 {:.3}, meaning: {:.3} of cosine {cosine}, context {:.3}, signals {:.3}, passage {}), identifiers {}, weight {}, age {:.1} days, {}\n",
        signals.relevance,
        signals.words_weight * 100.0,
        signals.words,
        signals.bm25,
        signals.meaning,
        signals.context,
        signals.asked_for,
        signals.passage + 1,
        signals.identifiers,
        signals.weight,
        signals.age_days,
        if signals.collection.is_some() {
            "of a project"
        } else {
            "global, which counts 0.8 times"
        },
    )
}
