//! Checks that the model in use knows the languages of the stored texts.

use std::cmp::Reverse;

use loci_embed::{CATALOGUE, CatalogueModel, Languages};

use super::{Finding, Verdict};
use crate::wiring::Parts;

/// The greatest share of texts in languages that the model does not know, in percent.
const UNKNOWN_PERCENT_MAX: usize = 20;

/// Returns `None` if no model of the catalogue is in use, or the language of no text is known.
pub fn look(parts: &Parts) -> Option<Finding> {
    const WHAT: &str = "languages";
    let model = CatalogueModel::of_fingerprint(&parts.engine.models().model_state().ok()??.chosen)?;
    let counts = parts.system().listings().languages().ok()?;
    let all: usize = counts.values().sum();
    let unknown = |code: &&str| !model.languages.include(code);
    let mut missing: Vec<(&str, usize)> = counts
        .iter()
        .filter(|(code, _)| unknown(code))
        .map(|(code, count)| (*code, *count))
        .collect();
    missing.sort_by_key(|(_, count)| Reverse(*count));
    let share: usize = missing.iter().map(|(_, count)| count).sum();
    let percent = |count: usize| 100 * count / all.max(1);
    if all == 0 {
        return None;
    }
    if share * 100 <= all * UNKNOWN_PERCENT_MAX {
        let why = format!(
            "{} knows those of {} % of {all} texts",
            model.name,
            100 - percent(share)
        );
        return Some((WHAT, Verdict::Ok, why));
    }
    let missing = missing
        .into_iter()
        .map(|(code, count)| format!("{code} {} %", percent(count)));
    let other = CATALOGUE
        .iter()
        .find(|other| other.languages == Languages::Many)?;
    let why = format!(
        "{} does not know those of {} % of {all} texts ({}), which are found by their words and hardly by their meaning; \
         {} knows them: `loci model install {} --from FOLDER`, then `loci model use {}` (docs/models.md says where its \
         files come from)",
        model.name,
        percent(share),
        missing.collect::<Vec<_>>().join(", "),
        other.name,
        other.name,
        other.name
    );
    Some((WHAT, Verdict::Warn, why))
}
