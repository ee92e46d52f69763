//! Search by words and by meaning, and comparisons of texts.

pub mod as_of;
pub mod compare;
pub mod explain;
pub mod find_duplicates;
pub mod fusion;
pub mod fusion_input;
mod literal;
mod order;
pub mod page;
pub mod pairs;
pub mod prompt_floors;
pub mod ready;
pub mod recall;
pub mod recall_within;
pub mod repeats;
mod rerank;
pub mod search_web;
pub mod signals;
pub mod strength;

use std::collections::HashMap;
use std::time::Duration;

use loci_core::{
    CandidateQuery, Filter, MemoryId, QueryVector, Reranker, Result, Store, WebSearch,
};

use crate::access::Access;
use crate::actor::Actor;
use crate::audit::Audit;
use crate::budget::Budgets;
use crate::engine::{Engine, SearchMode};
use crate::leases::rounds::Rounds;
use crate::models::Models;
use crate::policy::Policy;
use crate::search::fusion::Weights;

/// Search by words and by meaning, and comparisons of texts.
#[derive(Clone, Copy)]
pub struct Search<'a> {
    caller: Actor<'a>,
    store: &'a dyn Store,
    mode: SearchMode,
    policy: &'a Policy,
    weights: &'a Weights,
    web: Option<&'a dyn WebSearch>,
    reranker: Option<&'a dyn Reranker>,
    wait: Option<Duration>,
    rounds: &'a Rounds,
    access: Access<'a>,
    audit: Audit<'a>,
    budgets: Budgets<'a>,
    models: Models<'a>,
}

impl Engine {
    /// Returns the search by words and by meaning, and the comparisons of texts.
    pub(crate) fn search<'a>(&'a self, caller: Actor<'a>) -> Search<'a> {
        Search {
            caller,
            store: &*self.store,
            mode: self.search_mode,
            policy: &self.policy,
            weights: &self.weights,
            web: self.web_search.as_deref(),
            reranker: self.reranker.as_deref(),
            wait: self.search_wait,
            rounds: &self.rounds,
            access: self.access(caller),
            audit: self.audit(),
            budgets: self.budgets(),
            models: self.models(),
        }
    }
}

/// Returns the memories nearest to any of these vectors with their cosine similarities, at
/// least `limit` if so many exist, nearest first, ties by id.
pub(crate) fn nearest(
    store: &dyn Store,
    filter: &Filter,
    vectors: &[QueryVector],
    limit: usize,
) -> Result<Vec<(f32, MemoryId)>> {
    let mut nearest: HashMap<MemoryId, f32> = HashMap::new();
    for vector in vectors {
        let query = CandidateQuery {
            vector: Some(vector),
            ..CandidateQuery::of(filter, limit)
        };
        for hit in store.candidates(&query)?.hits {
            let cosine = nearest.entry(hit.id).or_insert(f32::MIN);
            // Rounding makes the cosine of equal vectors slightly greater than 1.
            *cosine = cosine.max(hit.cosine.map_or(f32::MIN, |cosine| cosine.min(1.0)));
        }
    }
    let mut near: Vec<(f32, MemoryId)> = nearest
        .into_iter()
        .map(|(id, cosine)| (cosine, id))
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    Ok(near)
}
