//! Asks the questions of a set.

use loci::exit::Failure;
use loci_core::{Caller, Tier};
use loci_dialects::Dialect;
use loci_engine::{Recall, Signals};
use serde_json::{Value, json};

use super::data::Question;
use super::stored::{StoredSet, USER};
use crate::laboratory::{Laboratory, object};

/// The numbers of first results that are scored.
pub const DEPTHS: [usize; 3] = [1, 5, 10];
/// The number of results that are asked for.
pub const RESULTS: usize = 10;
/// The number of results to order only by words or only by vectors: more than are scored, because
/// results with an identifier come before better ones.
const ORDERED: usize = 100;

/// The number of questions with an answer among the first results, at each depth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hits(pub [usize; DEPTHS.len()]);

impl Hits {
    /// Counts a question by the texts of its results.
    fn add(&mut self, question: &Question, results: &[Option<String>]) {
        let is_answer = |text: &Option<String>| {
            text.as_ref()
                .is_some_and(|text| question.answers.contains(text))
        };
        let place = results.iter().position(is_answer);
        for (hits, depth) in self.0.iter_mut().zip(DEPTHS) {
            *hits += usize::from(place.is_some_and(|place| place < depth));
        }
    }
}

/// Asks a tool.
///
/// # Errors
/// The errors of the tool and of the store.
pub fn tool(
    questions: &[&Question],
    stored: &StoredSet,
    laboratory: &Laboratory<'_>,
    dialect: &Dialect,
    tool: &str,
) -> Result<Hits, Failure> {
    let folder = tempfile::tempdir()?;
    let parts = stored.open(folder.path(), laboratory)?;
    let mut hits = Hits::default();
    for question in questions {
        let query = &question.query;
        let arguments: Value = match tool {
            "recall_memory" | "hybrid_search" => {
                json!({"user_id": USER, "query": query, "limit": RESULTS})
            }
            "memory_search" => json!({"query": query, "top_k": RESULTS}),
            _ => json!({"query": query, "limit": RESULTS}),
        };
        let reply = parts.call_in(dialect, tool, object(arguments))?.structured;
        hits.add(question, &stored.texts_of(&reply, &parts)?);
    }
    Ok(hits)
}

/// Returns the hits only by BM25, and only by the cosine: without context, signals, identifiers,
/// quotations and the ranking of a tool.
///
/// # Errors
/// The errors of the search.
pub fn alone(
    questions: &[&Question],
    stored: &StoredSet,
    laboratory: &Laboratory<'_>,
) -> Result<[Hits; 2], Failure> {
    let folder = tempfile::tempdir()?;
    let parts = stored.open(folder.path(), laboratory)?;
    let mut hits = [Hits::default(); 2];
    // A text without a word of the question, or without a vector, is left out.
    let orders: [fn(&Signals) -> f64; 2] = [
        |signals| {
            if signals.bm25 > 0.0 {
                f64::from(signals.bm25)
            } else {
                f64::NEG_INFINITY
            }
        },
        |signals| signals.cosine.map_or(f64::NEG_INFINITY, f64::from),
    ];
    for question in questions {
        for (hits, order) in hits.iter_mut().zip(orders) {
            let tiers = Tier::OF_CONVERSATIONS.to_vec();
            let request = Recall {
                tiers,
                ..Recall::new(&question.query, ORDERED, &order)
            };
            let mut found = parts
                .engine
                .system(&Caller::local())
                .search()
                .recall(&request)?
                .hits;
            found.retain(|hit| order(&hit.signals) > f64::NEG_INFINITY);
            found.sort_by(|left, right| order(&right.signals).total_cmp(&order(&left.signals)));
            let texts: Vec<_> = found
                .iter()
                .take(RESULTS)
                .map(|hit| stored.text_of(&hit.memory))
                .collect();
            hits.add(question, &texts);
        }
    }
    Ok(hits)
}
