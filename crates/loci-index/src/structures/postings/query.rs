use super::bm25::{self, Saturation, Statistics};
use super::view::View;
use super::{AdmittedSlots, Postings};

/// The prepared terms of a query, with their lists and document frequencies.
#[derive(Debug)]
pub struct WordQuery<'a> {
    pub(super) terms: Vec<QueryTerm<'a>>,
    pub(super) admitted: AdmittedSlots<'a>,
    pub(super) saturation: Saturation,
    factors: Vec<f32>,
}

/// A term that occurs in admitted passages.
#[derive(Debug)]
pub(super) struct QueryTerm<'a> {
    pub(super) factor: f32,
    pub(super) view: View<'a>,
}

impl WordQuery<'_> {
    /// Returns the limit of the score of a passage that contains all the terms very often: the sum
    /// of the [`factors`](WordQuery::factors).
    pub fn bound(&self) -> f32 {
        // The sum of no numbers is -0.
        0.0 + self.factors.iter().sum::<f32>()
    }

    /// Returns `(k1 + 1) idf` of each term in the given order, including terms that no passage has.
    pub fn factors(&self) -> &[f32] {
        &self.factors
    }
}

impl Postings {
    /// Looks up the distinct terms of a query. Document frequencies are counted among the admitted
    /// passages, to which the statistics must belong; a mark does not count as an occurrence.
    pub fn prepare<'a>(
        &'a self,
        terms: &[String],
        statistics: Statistics,
        admitted: AdmittedSlots<'a>,
    ) -> WordQuery<'a> {
        let mut factors = Vec::with_capacity(terms.len());
        let mut known = Vec::with_capacity(terms.len());
        for term in terms {
            let view = self.view(term);
            let containing = view.containing(admitted);
            let factor = bm25::factor(statistics.passages, containing);
            factors.push(factor);
            if containing > 0 {
                known.push(QueryTerm { factor, view });
            }
        }
        WordQuery {
            terms: known,
            admitted,
            saturation: Saturation::of(statistics.mean_length),
            factors,
        }
    }

    /// Returns the BM25 of each of the slots, which are ascending and admitted: bit for bit the
    /// scores of [`search`](Postings::search).
    pub fn scores(&self, query: &WordQuery<'_>, slots: &[u32]) -> Vec<f32> {
        let mut scores = vec![0.0; slots.len()];
        for term in &query.terms {
            term.view.seek(slots, |index, count| {
                let length = self.length(slots[index]) as f32;
                scores[index] += query.saturation.score(term.factor, count, length);
            });
        }
        scores
    }

    /// Returns the share of the query's [bound](WordQuery::bound) of the terms that occur in each
    /// of the slots, 0 to 1. The slots are ascending and admitted.
    pub fn matched(&self, query: &WordQuery<'_>, slots: &[u32]) -> Vec<f32> {
        let mut matched = vec![0.0; slots.len()];
        for term in &query.terms {
            term.view.seek(slots, |index, count| {
                if count > 0 {
                    matched[index] += term.factor / query.bound();
                }
            });
        }
        matched
    }

    /// Returns the admitted slots that have all the terms, with any count, ascending; empty if
    /// there are no terms.
    pub fn holding(&self, terms: &[String], admitted: AdmittedSlots<'_>) -> Vec<u32> {
        let mut by_length: Vec<&String> = terms.iter().collect();
        by_length.sort_by_key(|term| self.list_length(term));
        let Some((rarest, others)) = by_length.split_first() else {
            return Vec::new();
        };
        let mut slots = Vec::new();
        self.counts_by(rarest, |slot, _| {
            if admitted.contains(slot) {
                slots.push(slot);
            }
        });
        for term in others {
            let mut common = Vec::with_capacity(slots.len());
            self.counts_of(term, &slots, |index, _| common.push(slots[index]));
            slots = common;
        }
        slots
    }
}
