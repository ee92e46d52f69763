//! Why a question finds a memory, or does not.
//!
//! A missing memory is the commonest question about a store. The answer comes from the ranking
//! itself: the same search runs, and the place of the memory in it is read off. What keeps the
//! memory out before anything is ranked, e.g. another project, is found by comparing it with the
//! filter of the search, one condition at a time; then a second search with a filter that admits the
//! memory says where it would rank.

use loci_core::{
    CollectionFilter, ErrorCode, Filter, Forgotten, Memory, MemoryId, Result, SoftDeleted,
    Superseded, Tier, Timestamp, limits,
};

use crate::check;
use crate::search::Search;
use crate::search::order::RankedCandidate;
use crate::search::recall::{Hit, Ranking, Recall};
use crate::search::recall_within::within;
use crate::search::signals::Signals;

/// The numbers of results for which candidates are ranked, one after the other, to find a memory that
/// is not among the results that were asked for.
const DEPTHS: [usize; 2] = [100, 800];

/// A question about the results of a question.
pub struct ExplainRequest<'a> {
    /// The search.
    pub recall: Recall<'a>,
    /// The memory to look for.
    pub id: &'a MemoryId,
    /// The token budget of the reply; that [of the installation](crate::Budgets::reply_budget) if
    /// `None`.
    pub budget_tokens: Option<usize>,
}

/// What decides whether a question shows a memory.
#[derive(Debug, Clone, PartialEq)]
pub enum Cause {
    /// It expired at this time.
    Expiry(Timestamp),
    /// It was soft-deleted at this time.
    Deletion(Timestamp),
    /// It was forgotten at this time.
    Forgetting(Timestamp),
    /// This memory replaces it.
    Successor(MemoryId),
    /// The search does not look at memories of its tier.
    Tier(Tier),
    /// The search does not look at its collection.
    Collection,
    /// It lacks the section, kind, tag, thread, owner or time that the search asks for.
    Facets,
    /// The question quotes something that it does not contain, and other memories do.
    Quotation,
    /// A result has the same text and represents it.
    EqualText(MemoryId),
    /// It stands behind this result, which says the same.
    StandsBehind(MemoryId),
    /// It was made from this memory, or this one from it, and the other one ranks higher.
    Counterpart(MemoryId),
    /// It is one of the results, and the budget of the reply ends before it.
    Budget,
    /// More memories than the reply has results rank higher.
    Limit,
    /// It has no vector yet, and others rank higher by their words or have one.
    NoVector,
    /// The search goes by words, and it has none of the question.
    NoWord,
    /// So many memories rank higher that its place is not known.
    Depth,
    /// Nothing: it is one of the results.
    Shown,
}

/// The place of a memory in a ranking.
#[derive(Debug, Clone, PartialEq)]
pub struct Placement {
    /// The place, from 1. Beyond the results that were asked for, equal texts count each.
    pub place: usize,
    /// The number of memories that were ranked.
    pub candidates: usize,
    /// The score by the caller's ranking.
    pub score: f64,
    /// The values behind the score.
    pub signals: Signals,
}

/// Why a question finds a memory, or does not.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The memory.
    pub memory: Memory,
    /// What decides, the most important first; at least one.
    pub causes: Vec<Cause>,
    /// Its place; `None` if it was not ranked.
    pub placement: Option<Placement>,
    /// True if the place is that in a wider search, which admits the memory.
    pub is_widened: bool,
    /// The number of results that the search shows at most.
    pub limit: usize,
    /// Why the search was degraded; `None` if it was complete.
    pub degraded: Option<String>,
}

impl Explanation {
    /// Returns what decides.
    pub fn cause(&self) -> &Cause {
        self.causes.first().unwrap_or(&Cause::Shown)
    }

    /// Reports whether the search compared the memory by meaning; `None` if it was not ranked.
    pub fn is_embedded(&self) -> Option<bool> {
        let placement = self.placement.as_ref()?;
        Some(placement.signals.cosine.is_some())
    }
}

impl Search<'_> {
    /// Returns why a search shows a memory, or does not. The memory may be forgotten, replaced, of
    /// any tier, or expired or soft-deleted and not yet removed.
    ///
    /// # Errors
    /// `not_found`, with the same message, if there is no such memory or the caller may not read
    /// it; otherwise as for [`recall`](crate::Search::recall).
    pub fn explain(&self, request: &ExplainRequest<'_>) -> Result<Explanation> {
        let recall = &request.recall;
        check::query("query", recall.query)?;
        let filter = self.recall_filter(recall)?;
        let limit = recall
            .limit
            .clamp(1, limits::RECALL_RESULTS_MAX.max(self.policy.results_max));
        let unranked = |memory, cause| Explanation {
            memory,
            causes: vec![cause],
            placement: None,
            is_widened: false,
            limit,
            degraded: None,
        };
        let memory = match self.access.readable_ever(request.id) {
            Err(error) if error.code == ErrorCode::NotFound => {
                let found = self.access.soft_deleted(request.id)?;
                let SoftDeleted { memory, deleted_at } = found.ok_or(error)?;
                let memory = self.access.without_hidden(memory)?;
                return Ok(unranked(memory, Cause::Deletion(deleted_at)));
            }
            found => found?,
        };
        let causes = obstacles(&memory, &filter);
        let explanation = match causes.first() {
            None => self.explain_ranked(request, memory, limit)?,
            Some(Cause::Expiry(_)) => Explanation {
                causes,
                ..unranked(memory, Cause::Shown)
            },
            Some(_) => {
                let (placement, ranking) =
                    self.placement(&widened(filter, &memory), request, limit)?;
                Explanation {
                    memory,
                    causes,
                    placement,
                    is_widened: true,
                    limit,
                    degraded: ranking.degraded(),
                }
            }
        };
        let memory = self.access.without_hidden(explanation.memory)?;
        Ok(Explanation {
            memory,
            ..explanation
        })
    }

    /// Explains the place of a memory that the search admits.
    fn explain_ranked(
        &self,
        request: &ExplainRequest<'_>,
        memory: Memory,
        limit: usize,
    ) -> Result<Explanation> {
        let (found, ranking) = self.first_hits(&request.recall, limit, None)?;
        let degraded = ranking.degraded();
        let explained = |cause, placement| Explanation {
            causes: vec![cause],
            placement,
            is_widened: false,
            limit,
            degraded,
            memory: memory.clone(),
        };
        let candidates = found.len() + ranking.len();
        if let Some(index) = found.iter().position(|hit| hit.stands_for(request.id)) {
            let hit = &found[index];
            let placement = Placement {
                place: index + 1,
                candidates,
                score: hit.score,
                signals: hit.signals.clone(),
            };
            let representative = hit.memory.id.clone();
            let is_equal = hit.repeats.contains(request.id);
            let budget = self.budget_of(&ranking, request.budget_tokens);
            let shown = within(found, budget, request.recall.query)?.len();
            let cause = if index >= shown {
                Cause::Budget
            } else if representative == *request.id {
                Cause::Shown
            } else if is_equal {
                Cause::EqualText(representative)
            } else {
                Cause::StandsBehind(representative)
            };
            return Ok(explained(cause, Some(placement)));
        }
        let ahead = found.len();
        if let Some(placement) = placement_in(&ranking, request.id, ahead, candidates) {
            return Ok(explained(behind(&placement, &ranking), Some(placement)));
        }
        if let Some(counterpart) = counterpart(&memory, &found, &ranking) {
            return Ok(explained(Cause::Counterpart(counterpart), None));
        }
        if ranking.is_quoted {
            return Ok(explained(Cause::Quotation, None));
        }
        let (placement, ranking) = self.placement(&ranking.filter, request, limit)?;
        let cause = match &placement {
            Some(placement) => behind(placement, &ranking),
            None => match counterpart(&memory, &[], &ranking) {
                Some(counterpart) => Cause::Counterpart(counterpart),
                // Where candidates by meaning are left over, every memory with a vector was one.
                None if ranking.is_by_meaning && ranking.cut_at[1].is_none() => Cause::NoVector,
                None if !ranking.is_by_meaning && ranking.cut_at[0].is_none() => Cause::NoWord,
                None => Cause::Depth,
            },
        };
        Ok(explained(cause, placement))
    }

    /// Returns the place of the memory in a search with this filter, and its ranking: the first of
    /// several, each among more candidates, in which it is.
    fn placement(
        &self,
        filter: &Filter,
        request: &ExplainRequest<'_>,
        limit: usize,
    ) -> Result<(Option<Placement>, Ranking)> {
        let mut ranking = self.rank_among(filter, &request.recall, limit, None)?;
        let deeper = DEPTHS.into_iter().filter(|depth| *depth > limit);
        for depth in deeper {
            let placement = placement_in(&ranking, request.id, 0, ranking.len());
            if placement.is_some() || ranking.cut_at == [None, None] {
                return Ok((placement, ranking));
            }
            ranking = self.rank_among(filter, &request.recall, depth, None)?;
        }
        let placement = placement_in(&ranking, request.id, 0, ranking.len());
        Ok((placement, ranking))
    }
}

/// Returns the place of a memory in the rest of a ranking, of which so many results are read.
fn placement_in(
    ranking: &Ranking,
    id: &MemoryId,
    read: usize,
    candidates: usize,
) -> Option<Placement> {
    let rest = ranking.ranked.as_slice();
    let index = rest.iter().position(|one| one.id == *id)?;
    let RankedCandidate { score, signals, .. } = &rest[index];
    Some(Placement {
        place: read + index + 1,
        candidates,
        score: *score,
        signals: signals.clone(),
    })
}

/// Returns what keeps a memory behind the results.
fn behind(placement: &Placement, ranking: &Ranking) -> Cause {
    if ranking.is_by_meaning && placement.signals.cosine.is_none() {
        Cause::NoVector
    } else {
        Cause::Limit
    }
}

/// Returns the candidate that this memory was made from, or that was made from it.
fn counterpart(memory: &Memory, found: &[Hit], ranking: &Ranking) -> Option<MemoryId> {
    let is_counterpart = |id: &MemoryId, source: Option<&MemoryId>| {
        memory.source.as_ref() == Some(id) || source == Some(&memory.id)
    };
    let read = found
        .iter()
        .map(|hit| (&hit.memory.id, hit.memory.source.as_ref()));
    let rest = ranking.ranked.as_slice().iter();
    read.chain(rest.map(|one| (&one.id, one.source.as_ref())))
        .find(|(id, source)| is_counterpart(id, *source))
        .map(|(id, _)| id.clone())
}

/// Returns the conditions of a search that a memory does not meet, the most important first.
fn obstacles(memory: &Memory, filter: &Filter) -> Vec<Cause> {
    let of_tier = filter.tiers.is_empty() || filter.tiers.contains(&memory.tier);
    let collection = memory.location.collection.as_deref();
    // The same filter without the conditions that have a cause of their own.
    let of_facets = Filter {
        live_at: Timestamp::MIN,
        tiers: Vec::new(),
        unlisted_origin: None,
        collections: CollectionFilter::Any,
        forgotten: Forgotten::Show,
        ..filter.clone()
    };
    let expired = memory
        .expires_at
        .filter(|_| !memory.is_live(filter.live_at));
    let causes = [
        expired.map(Cause::Expiry),
        memory.forgotten_at.map(Cause::Forgetting),
        memory.superseded_by.clone().map(Cause::Successor),
        (!of_tier).then_some(Cause::Tier(memory.tier)),
        (!filter.collections.admits(collection)).then_some(Cause::Collection),
        (!of_facets.admits(memory)).then_some(Cause::Facets),
    ];
    causes.into_iter().flatten().collect()
}

/// Returns the filter with as much more as it takes to admit a memory: where it looks at other
/// collections, that of the memory and the global memories, as a search for this collection does.
fn widened(filter: Filter, memory: &Memory) -> Filter {
    let mut wide = Filter {
        forgotten: Forgotten::Show,
        superseded: Superseded::Show,
        unlisted_origin: None,
        ..filter
    };
    let collection = memory.location.collection.as_deref();
    if !wide.collections.admits(collection) {
        wide.collections = match collection {
            Some(name) => CollectionFilter::GlobalAnd(name.to_owned()),
            None => CollectionFilter::Global,
        };
    }
    if !(wide.tiers.is_empty() || wide.tiers.contains(&memory.tier)) {
        wide.tiers.push(memory.tier);
    }
    if wide.admits(memory) {
        return wide;
    }
    let Filter {
        space,
        reader,
        live_at,
        tiers,
        collections,
        ..
    } = wide;
    Filter {
        tiers,
        collections,
        ..Filter::of(space, reader, live_at)
    }
}
