//! Search for memories by a question in natural language.

use std::collections::HashMap;
use std::vec;

use loci_core::{
    Access, Candidate, CandidateQuery, Candidates, CollectionFilter, CosineScale, Filter, Memory,
    MemoryId, QueryVector, Result, Superseded, Tier, Timestamp,
};
use loci_text::dates;
use loci_text::query::Query;

use crate::check;
use crate::engine::SearchMode;
use crate::listings::facets::Facets;
use crate::models::QueryReading;
use crate::search::Search;
use crate::search::fusion::{FusedScores, fuse};
use crate::search::fusion_input::{FusionInput, Marks, cut_at, input};
use crate::search::literal::Pool;
use crate::search::order::{Paging, RankedCandidate, candidates_for, in_order, ranked};
use crate::search::signals::Signals;
use crate::search::strength::{ONLY_LOOSELY_RELATED, is_weak};

/// A question.
///
/// The filter decides which memories can answer, the ranking of the caller in which order they do.
/// Here the heavier memory comes first, and what another project says about kilns is left out:
///
/// ```
/// use std::sync::Arc;
///
/// use loci_core::{Caller, CollectionFilter, Scope};
/// use loci_engine::{CallInfo, Effect, Engine, Recall, Remember, SearchMode};
/// use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};
///
/// let engine = Engine::new(
///     Arc::new(NaiveStore::new()),
///     Arc::new(HashingEmbedder::default()),
///     Arc::new(FixedClock::default()),
///     SearchMode::Hybrid,
/// );
/// let scopes = [Scope::Read, Scope::Write];
/// let info = CallInfo::new("example", "note", "memory:write", Effect::Write, &scopes);
/// let found = engine.call(Caller::local(), info, |call| {
///     for (project, weight, text) in [
///         ("pottery", 0.5, "The kiln is hot on Mondays."),
///         ("pottery", 0.9, "The kiln fires bowls and plates."),
///         ("brickworks", 1.0, "The kiln needs a new door."),
///     ] {
///         call.memories().remember(Remember {
///             collection: Some(project.to_owned()),
///             weight,
///             ..Remember::new(text, "fact")
///         })?;
///     }
///     call.search().recall(&Recall {
///         collections: CollectionFilter::Only("pottery".to_owned()),
///         ..Recall::new("What is known about the kiln?", 5, &|signals| signals.weight)
///     })
/// })?;
/// let texts: Vec<&str> = found.hits.iter().map(|hit| hit.memory.content.as_str()).collect();
/// assert_eq!(texts, ["The kiln fires bowls and plates.", "The kiln is hot on Mondays."]);
/// # Ok::<(), loci_core::Error>(())
/// ```
pub struct Recall<'a> {
    /// The question, in natural language.
    pub query: &'a str,
    /// Only memories of these tiers; of all tiers if empty.
    pub tiers: Vec<Tier>,
    /// The collections to search.
    pub collections: CollectionFilter,
    /// Only these sections; all, if empty.
    pub sections: Vec<String>,
    /// Only these kinds; all if empty.
    pub kinds: Vec<String>,
    /// Only memories with all of these tags.
    pub tags: Vec<String>,
    /// Further conditions.
    pub facets: Facets,
    /// The maximum number of results; clamps to
    /// [`RECALL_RESULTS_MAX`](loci_core::limits::RECALL_RESULTS_MAX), or to `results_max` of the
    /// [`Policy`](crate::Policy) if that is greater.
    pub limit: usize,
    /// The caller's own ranking: the score of a candidate.
    pub ranking: &'a dyn Fn(&Signals) -> f64,
    /// True if returning a memory counts as an access, and the ranking sees the number of accesses.
    pub counts_access: bool,
    /// True if the reranker of the engine, if it has one, orders the best candidates.
    pub is_reranked: bool,
    /// Looks at the state of this time instead of now; only in
    /// [`recall_within`](crate::Search::recall_within).
    pub as_of: Option<Timestamp>,
    /// True if a memory that [stands behind](loci_core::STANDS_BEHIND) another one is shown by that one.
    pub is_consolidated: bool,
}

impl<'a> Recall<'a> {
    /// Creates a question to all long-term memories.
    pub fn new(query: &'a str, limit: usize, ranking: &'a dyn Fn(&Signals) -> f64) -> Self {
        Recall {
            query,
            tiers: vec![Tier::LongTerm],
            collections: CollectionFilter::Any,
            sections: Vec::new(),
            kinds: Vec::new(),
            tags: Vec::new(),
            facets: Facets::default(),
            limit,
            ranking,
            counts_access: false,
            is_reranked: true,
            as_of: None,
            is_consolidated: true,
        }
    }
}

/// A result.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The memory, with the accesses before this search if accesses count. Its content is cut if
    /// there is a `length`.
    pub memory: Memory,
    /// The number of characters of the whole content, if it is not shown as a whole.
    pub length: Option<usize>,
    /// Its score by the caller's ranking.
    pub score: f64,
    /// The values behind the score.
    pub signals: Signals,
    /// The other memories with the same text, except for white space, best first; this hit
    /// represents them. If two have titles, the titles are equal.
    pub repeats: Vec<MemoryId>,
    /// The memories of this search that [stand behind](loci_core::STANDS_BEHIND) it, best first. The
    /// score and the signals are of the best of all.
    pub behind: Vec<MemoryId>,
}

impl Hit {
    /// Returns the number of memories of this search that say what it says: 1 for a text without
    /// repeats.
    pub fn times_said(&self) -> usize {
        1 + self.repeats.len() + self.behind.len()
    }

    /// Returns true if it is this memory, or represents it.
    pub(crate) fn stands_for(&self, id: &MemoryId) -> bool {
        let mut represented = self.repeats.iter().chain(&self.behind);
        self.memory.id == *id || represented.any(|other| other == id)
    }
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct RecallResults {
    /// Results, best first; ties in score go to memories made from a message, then by id. No two
    /// have the same text.
    pub hits: Vec<Hit>,
    /// The number of further results that the reply has no room for.
    pub left_out: usize,
    /// The reasons why the search was degraded, in a sentence; `None` if it was complete.
    pub degraded: Option<String>,
    /// The [strength](crate::StrengthFeatures), 0 to 1: how likely it is that the store has an
    /// answer. `None` if it is not known: in a search only by meaning, or where a text that has no
    /// vector yet may be the answer.
    pub strength: Option<f64>,
}

impl RecallResults {
    /// Returns true if there are results and it is likely that no memory answers the query.
    pub fn is_weak(&self) -> bool {
        !self.hits.is_empty() && is_weak(self.strength)
    }

    /// Returns the number of results that may answer the query, for the audit log: all, or 0 if
    /// they are [weak](Self::is_weak).
    pub fn answers(&self) -> u64 {
        answers(self.hits.len(), self.strength)
    }

    /// Returns what a reply has to say besides its results: that they are weak, and the reasons why
    /// the search was degraded.
    pub fn notice(&self) -> Option<String> {
        notice(&self.hits, self.strength, self.degraded.as_ref())
    }
}

/// Returns the number of results that may answer a query.
pub(super) fn answers(hits: usize, strength: Option<f64>) -> u64 {
    if is_weak(strength) { 0 } else { hits as u64 }
}

/// Returns what a reply has to say besides its results.
pub(super) fn notice(
    hits: &[Hit],
    strength: Option<f64>,
    degraded: Option<&String>,
) -> Option<String> {
    let weak = (!hits.is_empty() && is_weak(strength)).then_some(ONLY_LOOSELY_RELATED);
    let said: Vec<&str> = weak
        .into_iter()
        .chain(degraded.map(String::as_str))
        .collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// The ranked candidates of a search, before their texts are read.
pub(crate) struct Ranking {
    /// The filter that they matched.
    pub(super) filter: Filter,
    /// Best first.
    pub(super) ranked: vec::IntoIter<RankedCandidate>,
    /// The candidates that earlier pages returned.
    pub(super) returned: Vec<RankedCandidate>,
    /// True if memories that stand behind others are shown by these.
    pub(super) is_consolidated: bool,
    /// The number of candidates that an earlier result stands for.
    pub(super) represented: usize,
    /// The scores of the last candidates by words and by meaning, if more candidates may follow
    /// them.
    pub(super) cut_at: [Option<f32>; 2],
    /// Accesses that are not written to the store yet.
    pub(super) unwritten: HashMap<MemoryId, Access>,
    /// True if every candidate contains the query's quotations word for word.
    pub(crate) is_quoted: bool,
    /// True if texts with a vector were compared by meaning.
    pub(super) is_by_meaning: bool,
    /// The strength; `None` if it is not known.
    pub(crate) strength: Option<f64>,
    /// The scale of the cosines that it comes from.
    pub(super) scale: CosineScale,
    /// The reasons why the search was degraded.
    pub(crate) notices: Vec<String>,
    /// Present if some admitted texts have no vector to compare with the question.
    lacking: Option<MissingVectors>,
}

/// A question with which some texts cannot be compared by meaning.
struct MissingVectors {
    /// Its vector.
    question: QueryVector,
    /// The candidates that were ranked.
    candidates: usize,
    /// The number of passages without a vector of the question's model.
    without_vector: usize,
}

impl Ranking {
    /// Returns true if all candidates were read.
    pub(crate) fn is_read(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if every memory that the filter admits was a candidate.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_by_meaning && self.lacking.is_none() && !self.is_quoted && self.cut_at[1].is_none()
    }

    /// Returns the number of candidates that were not read yet.
    pub(crate) fn len(&self) -> usize {
        self.ranked.as_slice().len()
    }

    /// Returns the reasons why the search was degraded, in a sentence; `None` if it was complete.
    pub(crate) fn degraded(&self) -> Option<String> {
        let mut notices = self.notices.clone();
        if let Some(MissingVectors {
            candidates,
            without_vector,
            ..
        }) = &self.lacking
        {
            notices.push(format!(
                "{without_vector} of the {candidates} candidates for this search have no vector yet"
            ));
        }
        (!notices.is_empty()).then(|| notices.join("; "))
    }
}

impl Search<'_> {
    /// Returns the best memories for a question among the ones that the caller may read, with their
    /// whole texts. Leaves out memories that a live one supersedes, and the lower-ranked one of a
    /// message and the memory made from it. Equal texts are one result.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for a blank or over-long query; `unavailable` if the store
    /// cannot be read. A model that does not answer degrades the search and does not fail it.
    pub fn recall(&self, request: &Recall<'_>) -> Result<RecallResults> {
        self.recall_as(request, |_, found| Ok(found))
    }

    /// Returns the candidates in the caller's ranking for so many results, without the results of
    /// earlier pages. In a paged search the score is the same on every page, and ties go only by
    /// id.
    ///
    /// # Errors
    /// As for [`recall`](crate::Search::recall).
    pub(crate) fn rank(
        &self,
        request: &Recall<'_>,
        limit: usize,
        paging: Option<&Paging<'_>>,
    ) -> Result<Ranking> {
        let mut filter = self.recall_filter(request)?;
        filter.forgotten = paging.map_or(filter.forgotten, |paging| paging.forgotten);
        self.rank_among(&filter, request, limit, paging)
    }

    /// Returns the same among the memories that a filter admits.
    ///
    /// # Errors
    /// As for [`recall`](crate::Search::recall).
    pub(super) fn rank_among(
        &self,
        filter: &Filter,
        request: &Recall<'_>,
        limit: usize,
        paging: Option<&Paging<'_>>,
    ) -> Result<Ranking> {
        let ranking = self.rank_once(filter, request, limit, paging)?;
        // While the engine switches models, the active model may change between the embedding of
        // the question and the search.
        let is_behind = ranking.lacking.as_ref().is_some_and(|lacking| {
            self.models
                .active_model_changed(&self.caller.space, &lacking.question)
        });
        if is_behind {
            self.rank_once(filter, request, limit, paging)
        } else {
            Ok(ranking)
        }
    }

    fn rank_once(
        &self,
        filter: &Filter,
        request: &Recall<'_>,
        limit: usize,
        paging: Option<&Paging<'_>>,
    ) -> Result<Ranking> {
        check::query("query", request.query)?;
        let ready_by = self.begin_search();
        let (vector, reading, problem) = self.query_vector(request.query)?;
        self.await_search(ready_by)?;
        let mut notices: Vec<String> = problem.into_iter().collect();
        let query = Query::parse(request.query, dates::day(filter.live_at.microseconds()));
        let marks = Marks::of(&query);
        // The results of earlier pages may rank first again.
        let wanted = candidates_for(limit) + paging.map_or(0, |paging| paging.returned);
        let find = |required: &[String], wanted| {
            self.find(filter, &query, &marks, required, vector.as_ref(), wanted)
        };
        let pool = Pool {
            filter,
            limit,
            paging,
            find: &find,
        };
        let (mut candidates, holders) = self.quoting(&pool, &query, wanted, &mut notices)?;
        let identified = self.identified(&pool, &query, &mut candidates)?;
        let lacking = vector
            .as_ref()
            .filter(|_| candidates.passages_without_vector > 0);
        notices.extend(lacking.map(|_| unembedded_notice(&candidates)));
        let (accesses, unwritten) = self.accesses(request, &candidates.hits)?;
        // A scale that starts at the last candidate would differ from page to page.
        let depth = if paging.is_some() { usize::MAX } else { wanted };
        let input = input(&candidates, &query, &marks, reading, &identified);
        let mut fused = self.fused(&candidates, &input, depth);
        self.rerank(filter, request, &candidates.hits, &mut fused, &mut notices)?;
        let (strengths, strength) = self.strengths(&input, holders.is_some());
        let mut ranked = ranked(
            &candidates.hits,
            &fused,
            &accesses,
            &input,
            &strengths,
            filter.live_at,
            request.ranking,
        );
        if let Some(held) = &holders {
            ranked.retain(|one| held.contains_key(&one.id));
        }
        let (ranked, returned) = in_order(ranked, paging);
        // If fewer memories than requested contain the quotation, they are all there are.
        let cut_at = match &holders {
            Some(holders) if holders.len() < limit => [None, None],
            _ => cut_at(&candidates.hits, wanted),
        };
        Ok(Ranking {
            is_by_meaning: vector.is_some(),
            lacking: lacking.map(|question| self.lacking(question, &ranked)),
            filter: filter.clone(),
            ranked: ranked.into_iter(),
            returned,
            is_consolidated: request.is_consolidated,
            represented: 0,
            cut_at,
            unwritten,
            is_quoted: holders.is_some(),
            // A text without a vector, which was no candidate, may be the answer.
            strength: strength.filter(|_| lacking.is_none() || !is_weak(strength)),
            scale: reading.scale,
            notices,
        })
    }

    /// Counts the candidates without a vector of the question's model; the background embeds these
    /// before others.
    fn lacking(&self, question: &QueryVector, ranked: &[RankedCandidate]) -> MissingVectors {
        let lacks: Vec<&MemoryId> = ranked
            .iter()
            .filter(|one| one.signals.cosine.is_none())
            .map(|one| &one.id)
            .collect();
        self.rounds.of(&question.model).wanted.put(
            lacks
                .iter()
                .map(|id| (self.caller.space.clone(), (*id).clone())),
        );
        MissingVectors {
            question: question.clone(),
            candidates: ranked.len(),
            without_vector: lacks.len(),
        }
    }

    /// Returns candidates whose passages have the required terms.
    fn find(
        &self,
        filter: &Filter,
        query: &Query,
        marks: &Marks,
        required: &[String],
        vector: Option<&QueryVector>,
        wanted: usize,
    ) -> Result<Candidates> {
        let by_words = self.mode != SearchMode::Vector;
        self.store.candidates(&CandidateQuery {
            terms: if by_words { &query.terms } else { &[] },
            required,
            marks: if by_words { &marks.names } else { &[] },
            vector,
            with_context: by_words,
            with_hubness: by_words && self.weights.apartness > 0.0,
            ..CandidateQuery::of(filter, wanted)
        })
    }

    /// Returns the fused scores of each candidate.
    fn fused(
        &self,
        candidates: &Candidates,
        input: &FusionInput,
        depth: usize,
    ) -> Vec<FusedScores> {
        if self.mode == SearchMode::Vector {
            let meaning = |hit: &Candidate| f64::from(hit.cosine.unwrap_or(0.0).max(0.0));
            let of = |meaning| FusedScores {
                meaning,
                meaning_in_context: meaning,
                relevance: meaning,
                ..FusedScores::default()
            };
            return candidates.hits.iter().map(meaning).map(of).collect();
        }
        fuse(&input.of(), self.weights, depth)
    }

    /// Returns the strength of each candidate, and of the search; nothing for a search only by
    /// meaning, which knows no words. A text that holds the query's quotation word for word is what
    /// was asked for.
    fn strengths(&self, input: &FusionInput, is_quoted: bool) -> (Vec<f64>, Option<f64>) {
        if self.mode == SearchMode::Vector {
            return (Vec::new(), None);
        }
        if is_quoted {
            return (vec![1.0; input.scores.len()], Some(1.0));
        }
        let (strengths, strength) = input.strengths(self.weights);
        (strengths, Some(strength))
    }

    /// Returns the candidates of a question in the form in which the fusion reads them, for fitting
    /// its weights.
    ///
    /// # Errors
    /// As for [`recall`](crate::Search::recall).
    pub fn fusion_input(&self, request: &Recall<'_>) -> Result<FusionInput> {
        check::query("query", request.query)?;
        let filter = self.recall_filter(request)?;
        let (vector, reading, _) = self.query_vector(request.query)?;
        let query = Query::parse(request.query, dates::day(filter.live_at.microseconds()));
        let marks = Marks::of(&query);
        let wanted = candidates_for(request.limit);
        let find = |required: &[String], wanted| {
            self.find(&filter, &query, &marks, required, vector.as_ref(), wanted)
        };
        let mut candidates = find(&[], wanted)?;
        let pool = Pool {
            filter: &filter,
            limit: request.limit,
            paging: None,
            find: &find,
        };
        let identified = self.identified(&pool, &query, &mut candidates)?;
        let mut input = input(&candidates, &query, &marks, reading, &identified);
        input.ids = candidates.hits.into_iter().map(|hit| hit.id).collect();
        Ok(input)
    }

    /// Returns the filter for memories that may answer the question.
    pub(super) fn recall_filter(&self, request: &Recall<'_>) -> Result<Filter> {
        let mut filter = self.access.filter(request.collections.clone());
        filter.tiers.clone_from(&request.tiers);
        filter.sections.clone_from(&request.sections);
        filter.kinds.clone_from(&request.kinds);
        request.facets.clone().narrow(&mut filter);
        check::tags("tags", &request.tags)?;
        filter.tags.clone_from(&request.tags);
        filter.superseded = Superseded::Hide;
        Ok(filter)
    }

    /// Returns the number of times that each candidate was returned before, if the request counts
    /// accesses, and the accesses that are not in the store yet.
    fn accesses(
        &self,
        request: &Recall<'_>,
        candidates: &[Candidate],
    ) -> Result<(Vec<u64>, HashMap<MemoryId, Access>)> {
        let ids = candidates.iter().map(|candidate| &candidate.id);
        // Read before the store, here and for the hits, so that a flush in between hides no access.
        let unwritten = self
            .audit
            .unwritten_accesses(&self.caller.space, ids.clone());
        if !request.counts_access {
            return Ok((Vec::new(), unwritten));
        }
        let ids: Vec<MemoryId> = ids.cloned().collect();
        let mut counts = self.store.accesses(&self.caller.space, &ids)?;
        for (count, id) in counts.iter_mut().zip(&ids) {
            *count += unwritten.get(id).map_or(0, |access| access.count);
        }
        Ok((counts, unwritten))
    }

    /// Returns the query's vector and how to read its model's cosines; no vector, but the reason,
    /// if the search has to do without.
    pub(super) fn query_vector(
        &self,
        query: &str,
    ) -> Result<(Option<QueryVector>, QueryReading, Option<String>)> {
        if self.mode == SearchMode::Words {
            return Ok((None, QueryReading::default(), None));
        }
        match self.models.embed_query(query) {
            Ok((vector, reading)) => Ok((Some(vector), reading, None)),
            Err(error) if self.mode == SearchMode::Vector => Err(error),
            Err(error) => {
                tracing::warn!(%error, "searching by words alone");
                Ok((
                    None,
                    QueryReading::default(),
                    Some(format!("searched by words alone: {}", error.message)),
                ))
            }
        }
    }
}

/// Returns the notice that some passages were searched only by their words.
fn unembedded_notice(candidates: &Candidates) -> String {
    format!(
        "{} of {} passages are not embedded yet and were searched by words alone",
        candidates.passages_without_vector, candidates.passages
    )
}
