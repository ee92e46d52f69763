//! The order of the best candidates by a model that reads each together with the question.

use loci_core::{Candidate, Error, Filter, Memory, MemoryId, Reranker, Result};
use loci_text::passages::passages;

use crate::search::Search;
use crate::search::fusion::FusedScores;
use crate::search::recall::Recall;

/// The candidates that are read, the most relevant ones. More cost a run of the model each, and few
/// answers lie deeper (docs/retrieval.md).
pub(crate) const RERANKED_MAX: usize = 30;

impl Search<'_> {
    /// Gives the relevances of the most relevant candidates to the same candidates in the order of
    /// the reranker, so that they stay on the scale that rankings expect, and notes the place of each
    /// in that order. Without a reranker the order stays, and if it fails, with a notice.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub(super) fn rerank(
        &self,
        filter: &Filter,
        request: &Recall<'_>,
        candidates: &[Candidate],
        fused: &mut [FusedScores],
        notices: &mut Vec<String>,
    ) -> Result<()> {
        let Some(reranker) = self.reranker.filter(|_| request.is_reranked) else {
            return Ok(());
        };
        let best = most_relevant(candidates, fused);
        let ids: Vec<MemoryId> = best
            .iter()
            .map(|&index| candidates[index].id.clone())
            .collect();
        let memories = self.store.get_all(filter, &ids)?;
        // A candidate that another process removed since is missing.
        let mut read: Vec<(usize, String)> = Vec::with_capacity(best.len());
        for memory in memories {
            let found = best
                .iter()
                .find(|&&index| candidates[index].id == memory.id);
            if let Some(&index) = found {
                read.push((
                    index,
                    self.answering_text(&memory, candidates[index].passage)?,
                ));
            }
        }
        if read.len() < 2 {
            return Ok(());
        }
        let texts: Vec<&str> = read.iter().map(|(_, text)| text.as_str()).collect();
        match checked_scores(reranker, request.query, &texts) {
            Ok(scores) => {
                let places: Vec<usize> = read.iter().map(|(index, _)| *index).collect();
                reorder(&places, &scores, fused);
            }
            Err(error) => {
                tracing::warn!(%error, "not reranked");
                notices.push(format!("not reranked: {}", error.message));
            }
        }
        Ok(())
    }

    /// Returns the passage of a memory that a search found, after its title.
    fn answering_text(&self, memory: &Memory, passage: u32) -> Result<String> {
        let content = &memory.content;
        let range = if passages(content).len() > 1 {
            self.budgets.passage_range(memory, passage)?
        } else {
            None
        };
        let text = range
            .and_then(|range| content.get(range))
            .unwrap_or(content);
        Ok(match &memory.title {
            Some(title) => format!("{title}\n{text}"),
            None => text.to_owned(),
        })
    }
}

/// Returns the indexes of the candidates that are read, the most relevant first, ties by id.
fn most_relevant(candidates: &[Candidate], fused: &[FusedScores]) -> Vec<usize> {
    let mut best: Vec<usize> = (0..candidates.len().min(fused.len())).collect();
    best.sort_by(|&one, &other| {
        let by_relevance = fused[other].relevance.total_cmp(&fused[one].relevance);
        by_relevance.then_with(|| candidates[one].id.cmp(&candidates[other].id))
    });
    best.truncate(RERANKED_MAX);
    best
}

/// Returns the scores of texts, which a model of others may give too few of, or not finite.
fn checked_scores(reranker: &dyn Reranker, query: &str, texts: &[&str]) -> Result<Vec<f32>> {
    let scores = reranker.scores(query, texts)?;
    if scores.len() == texts.len() && scores.iter().all(|score| score.is_finite()) {
        return Ok(scores);
    }
    Err(Error::unavailable(
        "the model of `rerank.model_folder` gave scores that are no numbers, or not one for each text",
    ))
}

/// Hands the relevances of these candidates, which are in their order, out in the order of their
/// scores, and notes their places in that. Equal scores stay in order.
fn reorder(places: &[usize], scores: &[f32], fused: &mut [FusedScores]) {
    let mut by_score: Vec<usize> = (0..places.len()).collect();
    by_score.sort_by(|&one, &other| scores[other].total_cmp(&scores[one]));
    let mut relevances: Vec<f64> = places.iter().map(|&index| fused[index].relevance).collect();
    relevances.sort_by(|one, other| other.total_cmp(one));
    for (rank, (number, relevance)) in by_score.into_iter().zip(relevances).enumerate() {
        let scores = &mut fused[places[number]];
        scores.relevance = relevance;
        scores.rank_by_reranker = Some(rank + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relevances_are_handed_out_in_the_order_of_the_scores() {
        let of = |relevance| FusedScores {
            relevance,
            ..FusedScores::default()
        };
        let mut fused = [0.2, 0.9, 0.5, 0.1, 0.5].map(of);
        reorder(&[1, 2, 4, 0], &[-3.0, 7.0, 7.0, 9.0], &mut fused);
        let relevances = fused.map(|fused| fused.relevance);
        let expected = [0.9, 0.2, 0.5, 0.1, 0.5];
        assert_eq!(relevances.map(f64::to_bits), expected.map(f64::to_bits));
        let ranks = fused.map(|fused| fused.rank_by_reranker);
        let expected = [Some(1), Some(4), Some(2), None, Some(3)];
        assert_eq!(ranks, expected, "equal scores stay in order");
    }
}
