//! Search with a token budget.

use loci_core::{Result, limits};
use loci_text::analysis::query_terms;

use crate::budget::ReplyBudget;
use crate::search::Search;
use crate::search::recall::{Hit, Ranking, Recall, RecallResults};
use crate::search::strength;

impl Search<'_> {
    /// Does the same as [`recall`](crate::Search::recall), cut to a budget of `tokens`, or [of the
    /// installation](crate::Budgets::reply_budget): the relevant passages of long texts, and as
    /// many results as there is room for, best first, at least one.
    ///
    /// # Errors
    /// As for [`recall`](crate::Search::recall); with a time, as for
    /// [`recall_as_of`](crate::Search::recall_as_of).
    pub fn recall_within(
        &self,
        request: &Recall<'_>,
        tokens: Option<usize>,
    ) -> Result<RecallResults> {
        if let Some(at) = request.as_of {
            return self.recall_as_of_within(request, at, tokens);
        }
        self.recall_as(request, |ranking, found| {
            within(found, self.budget_of(ranking, tokens), request.query)
        })
    }

    /// Returns a budget of `tokens`, or of the installation if `None`. Results that surely do not
    /// answer have less room, because the reader of a reply pays for them.
    pub(super) fn budget_of(&self, ranking: &Ranking, tokens: Option<usize>) -> ReplyBudget<'_> {
        let short = strength::reply_tokens(ranking.strength, ranking.scale);
        let short = short.map(|tokens| tokens.min(self.budgets.reply_tokens(None)));
        self.budgets.reply_budget(tokens.or(short))
    }

    /// Searches, and returns the results that are left by `cut`.
    ///
    /// # Errors
    /// As for [`recall`](crate::Search::recall).
    pub(super) fn recall_as(
        &self,
        request: &Recall<'_>,
        cut: impl FnOnce(&Ranking, Vec<Hit>) -> Result<Vec<Hit>>,
    ) -> Result<RecallResults> {
        let limit = request
            .limit
            .clamp(1, limits::RECALL_RESULTS_MAX.max(self.policy.results_max));
        let (found, ranking) = self.first_hits(request, limit, None)?;
        let all = found.len();
        let mut hits = cut(&ranking, found)?;
        self.access
            .return_found(hits.iter_mut().map(|hit| &mut hit.memory))?;
        let places = ranking.places(limit);
        let left_out = all - hits.len() + ranking.len().min(places.saturating_sub(all));
        if request.counts_access {
            for hit in &mut hits {
                // The signals may be of a memory that stands behind it.
                if hit.behind.is_empty() {
                    hit.memory.access.count = hit.signals.access_count;
                }
                self.audit.count_access(&self.caller.space, &hit.memory.id);
            }
        }
        Ok(RecallResults {
            hits,
            left_out,
            degraded: ranking.degraded(),
            strength: ranking.strength,
        })
    }
}

/// Returns the first of the results of a query for which a budget has room, at least one, each cut
/// to its share.
///
/// # Errors
/// `unavailable` if the store cannot be read.
pub(super) fn within(
    found: Vec<Hit>,
    mut budget: ReplyBudget<'_>,
    query: &str,
) -> Result<Vec<Hit>> {
    let terms = query_terms(query);
    let all = found.len();
    let mut hits: Vec<Hit> = Vec::with_capacity(all);
    for mut hit in found {
        let (sharing, passage) = (all - hits.len(), Some(hit.signals.passage));
        match budget.cut(&mut hit.memory, sharing, &terms, passage)? {
            Some(length) => hits.push(Hit { length, ..hit }),
            None => break,
        }
    }
    Ok(hits)
}
