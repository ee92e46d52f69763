//! Decides which memories have to do with a prompt that no person asked to search with.
//!
//! The floors are for the bundled model, because each model has its own scale of cosine
//! similarities; `loci-bench prompts` fits them on its dev half. With any other model a hook
//! searches by words only, and the coverage decides.

use crate::search::signals::Signals;

/// The weight of the coverage beside the cosine in the score of a memory.
const COVERAGE_WEIGHT: f64 = 0.2;
/// The least score of the best candidate.
const BEST_MIN: f64 = 0.45;
/// The least score of each further one.
const SCORE_MIN: f64 = 0.3;
/// The least coverage of a memory that is compared by words only.
const COVERAGE_MIN: f64 = 0.35;

/// Returns the score of a memory that was compared by meaning; `None` for one that was not.
pub fn score(signals: &Signals) -> Option<f64> {
    let cosine = f64::from(signals.cosine?);
    Some(cosine + COVERAGE_WEIGHT * signals.coverage)
}

/// Returns true if a prompt with this candidate asks for memories of the store.
pub fn is_best(signals: &Signals) -> bool {
    score(signals).map_or_else(|| is_relevant(signals), |score| score >= BEST_MIN)
}

/// Returns true if a memory has to do with such a prompt.
pub fn is_relevant(signals: &Signals) -> bool {
    score(signals).map_or(signals.coverage >= COVERAGE_MIN, |score| score >= SCORE_MIN)
}
