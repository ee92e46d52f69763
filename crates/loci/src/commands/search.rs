//! `loci search`: finds memories by a question.

use loci_core::limits::RECALL_RESULTS_MAX;
use loci_core::{Caller, CollectionFilter, Tier};
use loci_dialects::explained;
use loci_dialects::mememory::{self, Record};
use loci_engine::{Hit, LocationNouns, Recall, SearchMode, Signals};
use serde_json::{Value, json};

use crate::cli::Search;
use crate::exit::{Exit, Failure};
use crate::output::{Output, clamped, listed_text, status_line};
use crate::settings::Settings;
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
        ..Recall::new(&arguments.query, limit, &mememory::score)
    };
    let recalled = parts.looking().search().recall(&request).map_err(|error| {
        let needs_model = settings.search == SearchMode::Vector && error.is_unavailable();
        let is_the_models = needs_model && parts.embedder.embed(&[&arguments.query]).is_err();
        if is_the_models {
            Failure::new(Exit::Model, error.message)
        } else {
            error.into()
        }
    })?;
    if let Some(degraded) = &recalled.degraded {
        status_line(format_args!("note: {degraded}"));
    }
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
        let record = Record::of(&Caller::local(), memory);
        text += &format!("{score:.3}  {}", listed_text(&record));
        let mut value = json!({"memory": record, "score": score});
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
    Ok(output.either(&Value::Array(values), text)?)
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
    format!(
        "    why: score {score:.3} from relevance {:.3} (words {:.0} %: {:.3} of bm25 {:.3}, meaning: {:.3} of cosine {cosine}, context {:.3}, signals {:.3}, passage {}), identifiers {}, weight {}, age {:.1} days, {}\n",
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
