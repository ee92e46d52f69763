//! Checks that the model in use knows the languages of the stored texts.

use std::cmp::Reverse;

use loci_core::Caller;
use loci_embed::{CATALOGUE, CatalogueModel, Languages};
use loci_engine::Engine;

use super::{Finding, Verdict};
use crate::wiring::Parts;

const WHAT: &str = "languages";

/// The greatest share of texts in languages that the model does not know, in percent.
const UNKNOWN_PERCENT_MAX: usize = 20;

/// The model in use, and the languages of some of the stored texts.
pub struct ModelLanguages {
    /// The name of the model.
    pub model: String,
    /// The languages, the most frequent first, with the number of their texts and whether the model
    /// knows them; `None` if it is not of the catalogue.
    pub languages: Vec<(&'static str, usize, Option<bool>)>,
    /// Why another model would be better, and its name.
    pub offer: Option<(String, &'static str)>,
}

/// Returns the offer of another model, if the one in use does not know the languages of more than a
/// fifth of the texts.
pub fn model_offer(parts: &Parts) -> Option<String> {
    look(parts).and_then(|(_, verdict, why)| matches!(verdict, Verdict::Warn).then_some(why))
}

/// Returns the model in use with the languages of the stored texts; `None` if memories are found by
/// words only.
pub fn model_languages(engine: &Engine) -> Option<ModelLanguages> {
    let chosen = engine.models().model_state().ok()??.chosen;
    let model = CatalogueModel::of_fingerprint(&chosen);
    let counts = engine
        .system(&Caller::local())
        .listings()
        .languages()
        .ok()?;
    let is_known = |code: &str| model.map(|model| model.languages.include(code));
    let counts = counts.into_iter();
    let mut languages: Vec<_> = counts
        .map(|(code, count)| (code, count, is_known(code)))
        .collect();
    languages.sort_by_key(|(_, count, _)| Reverse(*count));
    Some(ModelLanguages {
        offer: model.and_then(|model| offer(model, &languages)),
        model: model.map_or_else(|| chosen.as_str().to_owned(), |model| model.name.to_owned()),
        languages,
    })
}

/// Returns the number of all texts, and of those in languages that the model does not know.
fn sums(languages: &[(&'static str, usize, Option<bool>)]) -> (usize, usize) {
    let all = languages.iter().map(|(_, count, _)| count).sum();
    let unknown = languages
        .iter()
        .filter(|(.., is_known)| *is_known == Some(false));
    (all, unknown.map(|(_, count, _)| count).sum())
}

fn percent(count: usize, all: usize) -> usize {
    100 * count / all.max(1)
}

fn offer(
    model: &CatalogueModel,
    languages: &[(&'static str, usize, Option<bool>)],
) -> Option<(String, &'static str)> {
    let (all, unknown) = sums(languages);
    if unknown * 100 <= all * UNKNOWN_PERCENT_MAX {
        return None;
    }
    let missing = languages
        .iter()
        .filter(|(.., is_known)| *is_known == Some(false));
    let missing: Vec<String> = missing
        .map(|(code, count, _)| format!("{code} {} %", percent(*count, all)))
        .collect();
    let other = CATALOGUE
        .iter()
        .find(|other| other.languages == Languages::Many)?;
    let why = format!(
        "{} does not know the languages of {} % of {all} texts ({}), which are found by their words and hardly by their meaning; \
         {} knows them",
        model.name,
        percent(unknown, all),
        missing.join(", "),
        other.name,
    );
    Some((why, other.name))
}

/// Returns `None` if no model of the catalogue is in use, or the language of no text is known.
pub fn look(parts: &Parts) -> Option<Finding> {
    let found = model_languages(&parts.engine)?;
    let (all, unknown) = sums(&found.languages);
    if all == 0
        || found
            .languages
            .iter()
            .any(|(.., is_known)| is_known.is_none())
    {
        return None;
    }
    if let Some((why, other)) = found.offer {
        let why = format!("{why}: `loci model install {other}`, then `loci model use {other}`");
        return Some((WHAT, Verdict::Warn, why));
    }
    let why = format!(
        "{} knows the languages of {} % of {all} texts",
        found.model,
        100 - percent(unknown, all)
    );
    Some((WHAT, Verdict::Ok, why))
}
