//! Memories as they stood at a time.
//!
//! A search ranks what [stands](crate::access::past) by the index, and puts what was changed in its
//! place by a score that needs no index, the words and the meaning that a text shares with the
//! question, because no index has former texts.

use std::collections::{HashMap, HashSet};

use loci_core::{
    CollectionFilter, Filter, Forgotten, Memory, MemoryId, QueryVector, Result, Superseded,
    Timestamp, limits,
};
use loci_text::analysis::query_terms;
use loci_text::indexed;

use crate::access::past::{Past, filter_as_of};
use crate::budget::FittedMemory;
use crate::models::Urgency;
use crate::search::Search;
use crate::search::order::Paging;
use crate::search::recall::{Hit, Ranking, Recall, RecallResults};
use crate::search::signals::Signals;

/// The changed memories that are compared with the question by meaning: the ones with most of its
/// words, then the latest.
const EMBEDDED_MAX: usize = 128;

/// A result of a search of what was known at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct PastHit {
    /// The memory, as it stood.
    pub memory: Memory,
    /// How much it has in common with the question, 0 to 1. The order follows the index, too.
    pub score: f64,
}

impl Search<'_> {
    /// Returns the best memories for a question among the ones that the caller may read now, as they
    /// stood at a time: with the texts of then, without later ones, and with what was forgotten or
    /// deleted softly since.
    ///
    /// # Errors
    /// As for [`recall`](Self::recall); `invalid_argument` for a time that lies in the future, or before
    /// what is kept.
    pub fn recall_as_of(&self, request: &Recall<'_>, at: Timestamp) -> Result<Vec<PastHit>> {
        let limit = request.limit.clamp(1, limits::RECALL_RESULTS_MAX);
        let (mut hits, _) = self.past_hits(request, at, limit, None)?;
        self.access
            .return_found(hits.iter_mut().map(|hit| &mut hit.memory))?;
        Ok(hits)
    }

    /// Returns the best memories as they stood, at most `limit`, after the ones of earlier pages, and
    /// the ranking of the ones that were not changed since.
    pub(super) fn past_hits(
        &self,
        request: &Recall<'_>,
        at: Timestamp,
        limit: usize,
        paging: Option<&Paging<'_>>,
    ) -> Result<(Vec<PastHit>, Ranking)> {
        let past = self.access.past(at)?;
        let filter = Filter {
            forgotten: Forgotten::Show,
            superseded: Superseded::Show,
            ..filter_as_of(&self.recall_filter(request)?, at)
        };
        let is_returned = |id: &MemoryId| paging.is_some_and(|paging| (paging.is_returned)(id));
        let forgotten = paging.map_or(Forgotten::Hide, |paging| paging.forgotten);
        let question: HashSet<String> = query_terms(request.query).into_iter().collect();
        // A changed memory takes the place of a result at most.
        let wanted = limit + past.changed.len().min(limits::RECALL_RESULTS_MAX);
        let mut ranking = self.rank_among(&filter, request, wanted, paging)?;
        // It is about the texts of now.
        ranking.strength = None;
        let vector = self.query_vector(request.query)?.0;
        let mut hits = Vec::new();
        while hits.len() < wanted {
            let ranked: Vec<(MemoryId, Option<f32>)> = ranking
                .ranked
                .by_ref()
                .filter(|one| !past.changed.contains_key(&one.id))
                .take(wanted - hits.len())
                .map(|one| (one.id, one.signals.cosine))
                .collect();
            if ranked.is_empty() {
                break;
            }
            let ids: Vec<MemoryId> = ranked.iter().map(|(id, _)| id.clone()).collect();
            let read = self.store.get_all(&filter, &ids)?;
            let mut read: HashMap<MemoryId, Memory> = read
                .into_iter()
                .map(|memory| (memory.id.clone(), memory))
                .collect();
            for (id, cosine) in ranked {
                let memory = read.remove(&id).and_then(|it| past.unchanged(it));
                let memory = memory.filter(|it| forgotten.admits(it.forgotten_at.is_some()));
                hits.extend(memory.map(|memory| PastHit {
                    score: in_common(&question, &memory, cosine),
                    memory,
                }));
            }
        }
        let changed = Filter {
            forgotten,
            ..filter
        };
        for hit in self.changed_hits(&past, &changed, &question, vector.as_ref())? {
            if is_returned(&hit.memory.id) {
                continue;
            }
            let place = hits.iter().position(|other| other.score < hit.score);
            hits.insert(place.unwrap_or(hits.len()), hit);
        }
        if forgotten == Forgotten::Hide {
            let replaced = self.replaced_then(&past, hits.iter().map(|hit| &hit.memory))?;
            hits.retain(|hit| !replaced.contains(&hit.memory.id));
        }
        hits.truncate(limit);
        Ok((hits, ranking))
    }

    /// Does the same, cut to a budget of `tokens`, or of the installation: the beginnings of long texts,
    /// and as many results as there is room for. Their scores and relevances are what they have in
    /// common with the question.
    ///
    /// # Errors
    /// As for [`recall_as_of`](Self::recall_as_of).
    pub(crate) fn recall_as_of_within(
        &self,
        request: &Recall<'_>,
        at: Timestamp,
        tokens: Option<usize>,
    ) -> Result<RecallResults> {
        let found = self.recall_as_of(request, at)?;
        let (memories, scores): (Vec<Memory>, Vec<f64>) =
            found.into_iter().map(|hit| (hit.memory, hit.score)).unzip();
        let all = memories.len();
        let shown = self.budgets.cut_to_budget(memories, tokens)?;
        let left_out = all - shown.len();
        let hit = |(shown, score): (FittedMemory, f64)| Hit {
            length: shown.length,
            ..PastHit {
                memory: shown.memory,
                score,
            }
            .into()
        };
        Ok(RecallResults {
            hits: shown.into_iter().zip(scores).map(hit).collect(),
            left_out,
            degraded: None,
            strength: None,
        })
    }

    /// Returns the changed memories that a filter admits as they stood, the best first.
    fn changed_hits(
        &self,
        past: &Past,
        filter: &Filter,
        question: &HashSet<String>,
        vector: Option<&QueryVector>,
    ) -> Result<Vec<PastHit>> {
        let mut hits: Vec<PastHit> = past
            .changed
            .values()
            .flatten()
            .filter(|memory| filter.admits(memory))
            .map(|memory| PastHit {
                score: in_common(question, memory, None),
                memory: memory.clone(),
            })
            .collect();
        let by_score = |hits: &mut Vec<PastHit>| {
            hits.sort_by(|one, other| {
                let by_score = other.score.total_cmp(&one.score);
                by_score
                    .then_with(|| other.memory.updated_at.cmp(&one.memory.updated_at))
                    .then_with(|| one.memory.id.cmp(&other.memory.id))
            });
        };
        by_score(&mut hits);
        let Some(vector) = vector else {
            hits.retain(|hit| hit.score > 0.0);
            return Ok(hits);
        };
        hits.truncate(EMBEDDED_MAX);
        for hit in &mut hits {
            let memory = &hit.memory;
            let mut passages = indexed::passages(memory);
            let title = memory.title.as_deref();
            let vectors =
                self.models
                    .embed(title, &memory.content, &mut passages, Urgency::Call)?;
            let cosines = vectors.iter().filter(|it| it.model == vector.model);
            let cosine = cosines
                .map(|it| dot(&it.values, &vector.values))
                .max_by(f32::total_cmp);
            hit.score = in_common(question, memory, cosine);
        }
        by_score(&mut hits);
        Ok(hits)
    }

    /// Returns the memories that another memory replaced then.
    fn replaced_then<'a>(
        &self,
        past: &Past,
        memories: impl Iterator<Item = &'a Memory>,
    ) -> Result<HashSet<MemoryId>> {
        let mut replaced: HashSet<MemoryId> = past
            .changed
            .values()
            .flatten()
            .filter(|memory| memory.forgotten_at.is_none())
            .filter_map(|memory| memory.supersedes.clone())
            .collect();
        let (mut olders, mut newers) = (Vec::new(), Vec::new());
        for memory in memories {
            if let Some(newer) = &memory.superseded_by
                && !past.changed.contains_key(newer)
            {
                olders.push(memory.id.clone());
                newers.push(newer.clone());
            }
        }
        let filter = Filter {
            forgotten: Forgotten::Show,
            ..self.access.filter(CollectionFilter::Any)
        };
        for newer in self.store.get_all(&filter, &newers)? {
            let stood = past.unchanged(newer);
            let stood = stood.filter(|memory| memory.forgotten_at.is_none());
            replaced.extend(stood.and_then(|memory| memory.supersedes));
        }
        Ok(replaced)
    }
}

impl From<PastHit> for Hit {
    fn from(PastHit { memory, score }: PastHit) -> Self {
        Hit {
            memory,
            length: None,
            score,
            signals: Signals {
                relevance: score,
                ..Signals::default()
            },
            repeats: Vec::new(),
            behind: Vec::new(),
        }
    }
}

/// Returns how much a text has in common with a question, 0 to 1: the share of the words of the
/// question that it has, and the cosine, if there is one.
fn in_common(question: &HashSet<String>, memory: &Memory, cosine: Option<f32>) -> f64 {
    let text: HashSet<String> = memory
        .metadata()
        .iter()
        .chain([&memory.content])
        .flat_map(|text| query_terms(text))
        .collect();
    let shared = question.iter().filter(|term| text.contains(*term)).count();
    let words = shared as f64 / question.len().max(1) as f64;
    cosine.map_or(words, |cosine| {
        words.midpoint(f64::from(cosine).clamp(0.0, 1.0))
    })
}

fn dot(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}
