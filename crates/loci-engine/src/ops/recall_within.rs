//! What a search shows of its results.

use loci_core::{Caller, Result, limits};
use loci_search::analysis::query_terms;

use crate::{Engine, Hit, Recall, Recalled, ReplyBudget};

impl Engine {
    /// As [`recall`](Engine::recall), cut to a budget of so many tokens, or to that [of the
    /// installation](Engine::reply_budget): of long texts the passages that answer, best results first, and as many of
    /// these as there is room for, one at least.
    ///
    /// # Errors
    /// As for [`recall`](Engine::recall).
    pub fn recall_within(&self, caller: &Caller, request: &Recall<'_>, tokens: Option<usize>) -> Result<Recalled> {
        self.recall_as(caller, request, Some(self.reply_budget(tokens)))
    }

    pub(crate) fn recall_as(
        &self,
        caller: &Caller,
        request: &Recall<'_>,
        mut budget: Option<ReplyBudget<'_>>,
    ) -> Result<Recalled> {
        let limit = request.limit.clamp(1, limits::RECALL_RESULTS_MAX.max(self.policy.results_max));
        let mut ranking = self.rank(caller, request, limit, None)?;
        let terms = budget.as_ref().map_or_else(Vec::new, |_| query_terms(request.query));
        let mut hits: Vec<Hit> = Vec::with_capacity(limit);
        let mut left_out = 0;
        while hits.len() < limit && left_out == 0 && !ranking.is_read() {
            let next = self.next_hits(&mut ranking, limit - hits.len())?;
            let mut left = (next.len() + ranking.len()).min(limit - hits.len());
            for mut hit in next {
                if let Some(budget) = &mut budget {
                    let cut = budget.cut(&mut hit.memory, left, &terms, Some(hit.signals.passage))?;
                    let Some(length) = cut else {
                        left_out = left;
                        break;
                    };
                    hit.length = length;
                }
                left -= 1;
                hits.push(hit);
            }
        }
        if request.counts_access {
            for hit in &mut hits {
                hit.memory.access.count = hit.signals.access_count;
                self.count_access(&caller.space, &hit.memory.id);
            }
        }
        let notices = ranking.notices;
        Ok(Recalled { hits, left_out, degraded: (!notices.is_empty()).then(|| notices.join("; ")) })
    }
}
