//! Search for memories by a question in natural language.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::vec;

use loci_core::{
    Access, Caller, Candidate, CandidateQuery, Candidates, CollectionFilter, Filter, Forgotten,
    Memory, MemoryId, QueryVector, Result, Superseded, Tier, Timestamp,
};
use loci_search::dates;
use loci_search::fusion::{Fused, fuse, reciprocal_rank};
use loci_search::paths::NamedPath;
use loci_search::query::Query;
use loci_search::query::identifiers::Identifier;

use crate::models::QueryReading;
use crate::search::fusion_input::{FusionInput, Marks, cut_at, input};

use crate::{Engine, FusionWeights, SearchMode, check};

/// Candidates that are scored for each result, so that the caller's own ranking has a choice and
/// enough remain after pairs are removed.
pub(super) const CANDIDATES_PER_RESULT: usize = 4;
/// The least number of candidates that are scored.
pub(super) const CANDIDATES_MIN: usize = 50;
/// The most candidates that are requested to find the text that a query quotes.
const QUOTING_CANDIDATES_MAX: usize = 3_200;
/// The most candidates that are requested to find an identifier: the texts that contain it whole
/// are among the best by words.
const IDENTIFIED_CANDIDATES_MAX: usize = 800;
/// The number of identifiers that a memory of a file counts for if the query names the file: the
/// file comes before texts about it.
const FILE_COUNTS_AS: usize = 2;
/// The most bytes of text that are read to find literal matches.
const HOLDERS_BYTES_MAX: usize = 64 << 20;
/// The number of texts that are read at a time.
const HOLDERS_READ: usize = 64;

/// A question.
pub struct Recall<'a> {
    /// The question, in natural language.
    pub query: &'a str,
    /// Only memories of these tiers; of all tiers if empty.
    pub tiers: Vec<Tier>,
    /// The collections to search.
    pub collections: CollectionFilter,
    /// Only memories of this thread; of any if `None`.
    pub thread: Option<String>,
    /// Only these sections; all, if empty.
    pub sections: Vec<String>,
    /// Only memories with all of these tags.
    pub tags: Vec<String>,
    /// The maximum number of results; clamps to
    /// [`RECALL_RESULTS_MAX`](loci_core::limits::RECALL_RESULTS_MAX), or to `results_max` of the
    /// [`Policy`](crate::Policy) if that is greater.
    pub limit: usize,
    /// The caller's own ranking: the score of a candidate.
    pub ranking: &'a dyn Fn(&Signals) -> f64,
    /// True if returning a memory counts as an access, and the ranking sees the number of accesses.
    pub counts_access: bool,
}

impl<'a> Recall<'a> {
    /// Creates a question to all long-term memories.
    pub fn new(query: &'a str, limit: usize, ranking: &'a dyn Fn(&Signals) -> f64) -> Self {
        Recall {
            query,
            tiers: vec![Tier::LongTerm],
            collections: CollectionFilter::Any,
            thread: None,
            sections: Vec::new(),
            tags: Vec::new(),
            limit,
            ranking,
            counts_access: false,
        }
    }
}

/// The values of a candidate that a ranking can use.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Signals {
    /// Fused relevance, 0 to 1.
    pub relevance: f64,
    /// BM25 score of the best passage.
    pub bm25: f32,
    /// Cosine similarity of the nearest passage, if it has a vector.
    pub cosine: Option<f32>,
    /// The share of the query that its words cover, 0 to 1, independent of other memories.
    pub coverage: f64,
    /// The weight of the words in this search, 0 to 1; the meaning has the rest.
    pub words_weight: f64,
    /// The contribution of its neighbours and its thread to the relevance, before that was scaled
    /// to 1.
    pub context: f64,
    /// The bonus for a speaker or time that the query names.
    pub asked_for: f64,
    /// The number of the query's identifiers that it contains; it counts two for a file that the
    /// query names if the memory is of that file. A candidate with more identifiers comes first,
    /// whatever its score by the caller's ranking, unless that is negative infinity.
    pub identifiers: usize,
    /// Its rank, from 1, among the candidates by a score that favours the words; `None` if no
    /// candidate has a word of the query.
    pub rank_by_words: Option<usize>,
    /// Its rank, from 1, by a score that favours the meaning; `None` if it has no vector to
    /// compare.
    pub rank_by_meaning: Option<usize>,
    /// The number of times that it was returned before; 0 unless the request counts accesses.
    pub access_count: u64,
    /// The index of the best-scoring passage in the memory, from 0.
    pub passage: u32,
    /// The weight of the memory, 0 to 1.
    pub weight: f64,
    /// Days since its text last changed; 0 for a time in the future.
    pub age_days: f64,
    /// Its collection.
    pub collection: Option<Arc<str>>,
}

impl Signals {
    /// Returns the reciprocal rank fusion of the two ranks, with these weights.
    pub fn reciprocal_rank(&self, weights: FusionWeights) -> f64 {
        reciprocal_rank([
            (weights.vector, self.rank_by_meaning),
            (weights.text, self.rank_by_words),
        ])
    }
}

/// A result.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The memory, with the accesses before this search if accesses count. Its content is cut if
    /// there is a `length`.
    pub memory: Memory,
    /// The number of characters of the whole content, if not all of it is shown.
    pub length: Option<usize>,
    /// Its score by the caller's ranking.
    pub score: f64,
    /// The values behind the score.
    pub signals: Signals,
    /// The other memories with the same text, except for white space, best first; this hit
    /// represents them. If two have titles, the titles are equal.
    pub repeats: Vec<MemoryId>,
}

impl Hit {
    /// Returns the number of memories with its text: 1 for a text without repeats.
    pub fn times_said(&self) -> usize {
        1 + self.repeats.len()
    }
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Recalled {
    /// Results, best first; ties in score go to memories made from a message, then by id. No two
    /// have the same text.
    pub hits: Vec<Hit>,
    /// The number of further results that the reply has no room for.
    pub left_out: usize,
    /// The reasons why the search was degraded, in a sentence; `None` if it was complete.
    pub degraded: Option<String>,
}

/// The state from which a paged search continues.
pub(crate) struct Paging<'a> {
    /// The number of results on the earlier pages.
    pub(crate) returned: usize,
    /// Returns true if a memory was among them.
    pub(crate) is_returned: &'a dyn Fn(&MemoryId) -> bool,
    /// [`Ranking::is_quoted`] of the first page; `None` on the first page itself.
    pub(crate) is_quoted: Option<bool>,
    /// The treatment of forgotten memories.
    pub(crate) forgotten: Forgotten,
}

/// The ranked candidates of a search, before their texts are read.
pub(crate) struct Ranking {
    /// The filter that they matched.
    pub(super) filter: Filter,
    /// The score, signals and id of each, best first.
    pub(super) ranked: vec::IntoIter<(f64, Signals, MemoryId)>,
    /// The candidates that earlier pages returned.
    pub(super) returned: Vec<(Signals, MemoryId)>,
    /// The scores of the last candidates by words and by meaning, if more candidates may follow
    /// them.
    pub(super) cut_at: [Option<f32>; 2],
    /// Accesses that are not written to the store yet.
    pub(super) unwritten: HashMap<MemoryId, Access>,
    /// True if every candidate contains the query's quotations word for word.
    pub(crate) is_quoted: bool,
    /// The reasons why the search was degraded.
    pub(crate) notices: Vec<String>,
    /// Present if some admitted texts have no vector to compare with the question.
    lacking: Option<Lacking>,
}

/// A question with which some texts cannot be compared by meaning.
struct Lacking {
    /// Its vector.
    question: QueryVector,
    /// The candidates that were ranked.
    candidates: usize,
    /// The number of them without a vector of the question's model.
    without_vector: usize,
}

impl Ranking {
    /// Returns true if all candidates were read.
    pub(crate) fn is_read(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of candidates that were not read yet.
    pub(crate) fn len(&self) -> usize {
        self.ranked.as_slice().len()
    }

    /// Returns the reasons why the search was degraded, in a sentence; `None` if it was complete.
    pub(crate) fn degraded(&self) -> Option<String> {
        let mut notices = self.notices.clone();
        if let Some(Lacking {
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

/// The search in which memories with a literal match are looked for.
struct Pool<'a> {
    filter: &'a Filter,
    limit: usize,
    paging: Option<&'a Paging<'a>>,
    /// Finds so many candidates that have all of these terms.
    find: &'a dyn Fn(&[String], usize) -> Result<Candidates>,
}

/// The memories with a literal match.
struct Holders {
    candidates: Candidates,
    /// The candidates that match, each with the number of its matches.
    held: HashMap<MemoryId, usize>,
    /// True if more of them may exist that were not examined.
    is_cut: bool,
}

/// A candidate with its score.
type Ranked<'a> = (f64, Signals, &'a Candidate);
/// The candidates in the order of results, and the candidates that were returned before.
type InOrder = (Vec<(f64, Signals, MemoryId)>, Vec<(Signals, MemoryId)>);

impl Engine {
    /// Returns the best memories for a question among those that the caller may read, with their
    /// whole texts. Leaves out memories that a live one supersedes, and the lower-ranked one of a
    /// message and the memory made from it. Equal texts are one result.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for a blank or over-long query; `unavailable` if the store
    /// cannot be read. A model that does not answer degrades the search and does not fail it.
    pub fn recall(&self, caller: &Caller, request: &Recall<'_>) -> Result<Recalled> {
        self.recall_as(caller, request, None)
    }

    /// Returns the candidates in the caller's ranking for so many results, without the results of
    /// earlier pages. In a paged search the score is the same on every page, and ties go by id
    /// alone.
    ///
    /// # Errors
    /// As for [`recall`](Engine::recall).
    pub(crate) fn rank(
        &self,
        caller: &Caller,
        request: &Recall<'_>,
        limit: usize,
        paging: Option<&Paging<'_>>,
    ) -> Result<Ranking> {
        let ranking = self.rank_once(caller, request, limit, paging)?;
        // While the engine switches models, the active model may change between the embedding of
        // the question and the search.
        let is_behind = ranking
            .lacking
            .as_ref()
            .is_some_and(|lacking| self.active_model_changed(&lacking.question));
        if is_behind {
            self.rank_once(caller, request, limit, paging)
        } else {
            Ok(ranking)
        }
    }

    fn rank_once(
        &self,
        caller: &Caller,
        request: &Recall<'_>,
        limit: usize,
        paging: Option<&Paging<'_>>,
    ) -> Result<Ranking> {
        check::query("query", request.query)?;
        let mut filter = self.recall_filter(caller, request)?;
        filter.forgotten = paging.map_or(filter.forgotten, |paging| paging.forgotten);

        let ready_by = self.begin_search();
        let (vector, reading, problem) = self.query_vector(request.query)?;
        self.await_search(ready_by)?;
        let mut notices: Vec<String> = problem.into_iter().collect();
        let query = Query::parse(request.query, dates::day(filter.live_at.microseconds()));
        let marks = Marks::of(&query);
        // The results of earlier pages may rank first again.
        let wanted = candidates_for(limit) + paging.map_or(0, |paging| paging.returned);
        let find = |required: &[String], wanted| {
            self.find(&filter, &query, &marks, required, vector.as_ref(), wanted)
        };
        let quotes = self.weights.phrases && query.quotes();
        // Later pages show the same kind of results as the first page, quoted or not.
        let was_quoted = paging.and_then(|paging| paging.is_quoted);
        let pool = Pool {
            filter: &filter,
            limit,
            paging,
            find: &find,
        };
        let quoting = if quotes && was_quoted != Some(false) {
            let holds = |memory: &Memory| usize::from(holds_all(memory, &query));
            Some(self.holders(&pool, &query.required(), QUOTING_CANDIDATES_MAX, &holds)?)
        } else {
            None
        };
        let (mut candidates, holders) = match quoting {
            Some(quoting) if !quoting.held.is_empty() || was_quoted == Some(true) => {
                if quoting.is_cut && paging.is_some() {
                    notices.push(
                        "not all texts with the words of the quotation were looked through"
                            .to_owned(),
                    );
                }
                (quoting.candidates, Some(quoting.held))
            }
            _ => {
                if quotes {
                    let phrases = query
                        .phrases
                        .iter()
                        .map(|phrase| format!("\u{201c}{}\u{201d}", phrase.text()));
                    let phrases = phrases.collect::<Vec<_>>().join(" and ");
                    notices.push(format!(
                        "no text was found that holds {phrases} word for word; these come near"
                    ));
                }
                (find(&[], wanted)?, None)
            }
        };
        let identified = self.identified(&pool, &query, &mut candidates)?;
        let lacking = vector
            .as_ref()
            .filter(|_| candidates.passages_without_vector > 0);
        if lacking.is_some() {
            notices.push(format!(
                "{} of {} passages are not embedded yet and were searched by words alone",
                candidates.passages_without_vector, candidates.passages
            ));
        }
        // Read before the store, here and for the hits, so that a flush in between hides no access.
        let unwritten = self.unwritten_accesses(
            &caller.space,
            candidates.hits.iter().map(|candidate| &candidate.id),
        );
        let accesses = if request.counts_access {
            self.accesses(caller, &candidates.hits, &unwritten)?
        } else {
            Vec::new()
        };
        // A scale that begins at the last candidate would differ from page to page.
        let depth = if paging.is_some() { usize::MAX } else { wanted };
        let fused = self.fused(&candidates, &query, &marks, reading, depth);
        let held = |candidate: &Candidate| identified.get(&candidate.id).copied().unwrap_or(0);
        let mut ranked = ranked(
            &candidates.hits,
            &fused,
            &accesses,
            &held,
            filter.live_at,
            request.ranking,
        );
        ranked.retain(|(_, _, candidate)| {
            holders
                .as_ref()
                .is_none_or(|held| held.contains_key(&candidate.id))
        });
        let (ranked, returned) = in_order(ranked, paging);
        // If fewer memories than requested contain the quotation, they are all there are.
        let is_cut = holders
            .as_ref()
            .is_none_or(|holders| holders.len() >= limit);
        let cut_at = if is_cut {
            cut_at(&candidates.hits, wanted)
        } else {
            [None, None]
        };
        let lacking = lacking.map(|question| self.lacking(caller, question, &ranked));
        let (ranked, is_quoted) = (ranked.into_iter(), holders.is_some());
        Ok(Ranking {
            filter,
            ranked,
            returned,
            cut_at,
            unwritten,
            is_quoted,
            notices,
            lacking,
        })
    }

    /// Counts the candidates without a vector of the question's model; the background embeds these
    /// before others.
    fn lacking(
        &self,
        caller: &Caller,
        question: &QueryVector,
        ranked: &[(f64, Signals, MemoryId)],
    ) -> Lacking {
        let lacks: Vec<&MemoryId> = ranked
            .iter()
            .filter(|(_, signals, _)| signals.cosine.is_none())
            .map(|(_, _, id)| id)
            .collect();
        self.rounds
            .of(&question.model)
            .wanted
            .put(lacks.iter().map(|id| (caller.space.clone(), (*id).clone())));
        Lacking {
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
        let by_words = self.search_mode != SearchMode::Vector;
        self.store.candidates(&CandidateQuery {
            terms: if by_words { &query.terms } else { &[] },
            required,
            marks: if by_words { &marks.names } else { &[] },
            vector,
            with_context: by_words,
            ..CandidateQuery::of(filter, wanted)
        })
    }

    /// Returns the candidates for a literal match, and those that match and were not returned
    /// before. The index knows which texts have all the terms; the order of the terms and the signs
    /// between them are known from the text alone.
    fn holders(
        &self,
        pool: &Pool<'_>,
        required: &[String],
        wanted_max: usize,
        held_by: &dyn Fn(&Memory) -> usize,
    ) -> Result<Holders> {
        let (mut looked_at, mut held, mut bytes) = (HashSet::new(), HashMap::new(), 0);
        let returned = pool.paging.map_or(0, |paging| paging.returned);
        let is_returned =
            |id: &MemoryId| pool.paging.is_some_and(|paging| (paging.is_returned)(id));
        let wanted_max = wanted_max + returned;
        let mut wanted = candidates_for(pool.limit) + returned;
        loop {
            let mut candidates = (pool.find)(required, wanted)?;
            candidates.hits.sort_by(|left, right| {
                right
                    .bm25
                    .total_cmp(&left.bm25)
                    .then_with(|| left.id.cmp(&right.id))
            });
            let new = candidates.hits.iter().map(|candidate| &candidate.id);
            let new: Vec<MemoryId> = new
                .filter(|id| !looked_at.contains(*id) && !is_returned(id))
                .cloned()
                .collect();
            for ids in new.chunks(HOLDERS_READ) {
                if bytes < HOLDERS_BYTES_MAX {
                    for memory in self.store.get_all(pool.filter, ids)? {
                        bytes += memory.text_bytes();
                        let much = held_by(&memory);
                        if much > 0 {
                            held.insert(memory.id, much);
                        }
                    }
                }
            }
            // A message and the memory made from it count as one.
            let origins = candidates
                .hits
                .iter()
                .filter(|candidate| held.contains_key(&candidate.id));
            let origins: HashSet<_> = origins
                .map(|candidate| candidate.source.as_ref().unwrap_or(&candidate.id))
                .collect();
            let is_enough = origins.len() >= pool.limit;
            let is_cut = bytes >= HOLDERS_BYTES_MAX
                || candidates.hits.len() >= wanted && wanted >= wanted_max;
            if is_enough || is_cut || candidates.hits.len() < wanted {
                return Ok(Holders {
                    candidates,
                    held,
                    is_cut: is_cut && !is_enough,
                });
            }
            looked_at.extend(new);
            wanted = (wanted * 4).min(wanted_max);
        }
    }

    /// Returns the number of identifiers and files of the query that each memory contains, for
    /// those not returned before that contain any, and adds these to the candidates.
    fn identified(
        &self,
        pool: &Pool<'_>,
        query: &Query,
        candidates: &mut Candidates,
    ) -> Result<HashMap<MemoryId, usize>> {
        let mut identified = HashMap::new();
        let held_by = |memory: &Memory| {
            let texts = searched_texts(memory);
            let is_held =
                |identifier: &&Identifier| texts.iter().any(|text| identifier.is_in(text));
            let is_of =
                |path: &&NamedPath| memory.source_path().is_some_and(|file| path.is_of(file));
            query.identifiers.iter().filter(is_held).count()
                + FILE_COUNTS_AS * query.paths.iter().filter(is_of).count()
        };
        let mut add = |found: Holders| {
            let known: HashSet<&MemoryId> = candidates
                .hits
                .iter()
                .map(|candidate| &candidate.id)
                .collect();
            let is_new = |candidate: &Candidate| {
                found.held.contains_key(&candidate.id) && !known.contains(&candidate.id)
            };
            let mut new: Vec<Candidate> =
                found.candidates.hits.into_iter().filter(is_new).collect();
            for place in new
                .iter_mut()
                .filter_map(|candidate| candidate.place_in_thread.as_mut())
            {
                place.thread += candidates.threads.len();
            }
            if !new.is_empty() {
                candidates.threads.extend(found.candidates.threads);
                candidates.hits.extend(new);
            }
            identified.extend(found.held);
        };
        for identifier in &query.identifiers {
            add(self.holders(
                pool,
                identifier.terms(),
                IDENTIFIED_CANDIDATES_MAX,
                &held_by,
            )?);
        }
        for path in &query.paths {
            for mark in path.marks() {
                let found = self.holders(pool, &[mark], IDENTIFIED_CANDIDATES_MAX, &held_by)?;
                let is_found = !found.held.is_empty();
                add(found);
                if is_found {
                    break;
                }
            }
        }
        Ok(identified)
    }

    /// Returns the fused scores of each candidate.
    fn fused(
        &self,
        candidates: &Candidates,
        query: &Query,
        marks: &Marks,
        reading: QueryReading,
        depth: usize,
    ) -> Vec<Fused> {
        if self.search_mode == SearchMode::Vector {
            let meaning = |hit: &Candidate| f64::from(hit.cosine.unwrap_or(0.0).max(0.0));
            let of = |meaning| Fused {
                meaning,
                meaning_in_context: meaning,
                relevance: meaning,
                ..Fused::default()
            };
            return candidates.hits.iter().map(meaning).map(of).collect();
        }
        let input = input(candidates, query, marks, reading);
        fuse(&input.of(), &self.weights, depth)
    }

    /// Returns the candidates of a question in the form in which the fusion reads them, for fitting
    /// its weights.
    ///
    /// # Errors
    /// As for [`recall`](Engine::recall).
    pub fn fusion_input(&self, caller: &Caller, request: &Recall<'_>) -> Result<FusionInput> {
        check::query("query", request.query)?;
        let filter = self.recall_filter(caller, request)?;
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
        let held = |hit: &Candidate| identified.get(&hit.id).copied().unwrap_or(0);
        let mut input = input(&candidates, &query, &marks, reading);
        input.identifiers = candidates.hits.iter().map(held).collect();
        input.ids = candidates.hits.into_iter().map(|hit| hit.id).collect();
        Ok(input)
    }

    /// Returns the filter for memories that may answer the question.
    fn recall_filter(&self, caller: &Caller, request: &Recall<'_>) -> Result<Filter> {
        let mut filter = self.filter(caller, request.collections.clone());
        (filter.tiers, filter.thread) = (request.tiers.clone(), request.thread.clone());
        filter.sections.clone_from(&request.sections);
        check::tags("tags", &request.tags)?;
        filter.tags.clone_from(&request.tags);
        filter.superseded = Superseded::Hide;
        Ok(filter)
    }

    /// Returns the number of times that each candidate was returned before.
    fn accesses(
        &self,
        caller: &Caller,
        candidates: &[Candidate],
        unwritten: &HashMap<MemoryId, Access>,
    ) -> Result<Vec<u64>> {
        let ids: Vec<MemoryId> = candidates
            .iter()
            .map(|candidate| candidate.id.clone())
            .collect();
        let written = self.store.accesses(&caller.space, &ids)?;
        let unwritten = ids
            .iter()
            .map(|id| unwritten.get(id).map_or(0, |access| access.count));
        Ok(written
            .into_iter()
            .zip(unwritten)
            .map(|(written, unwritten)| written + unwritten)
            .collect())
    }

    /// Returns the query's vector and how to read its model's cosines; no vector, but the reason,
    /// if the search has to do without.
    fn query_vector(
        &self,
        query: &str,
    ) -> Result<(Option<QueryVector>, QueryReading, Option<String>)> {
        if self.search_mode == SearchMode::Words {
            return Ok((None, QueryReading::default(), None));
        }
        match self.embed_query(query) {
            Ok((vector, reading)) => Ok((Some(vector), reading, None)),
            Err(error) if self.search_mode == SearchMode::Vector => Err(error),
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

/// Reports whether the memory contains all quotations of the query.
fn holds_all(memory: &Memory, query: &Query) -> bool {
    let texts = searched_texts(memory);
    query
        .phrases
        .iter()
        .all(|phrase| texts.iter().any(|text| phrase.is_in(text)))
}

/// Returns the texts of a memory that are searched.
fn searched_texts(memory: &Memory) -> Vec<Cow<'_, str>> {
    let texts = std::iter::once(&memory.content)
        .chain(&memory.summary)
        .map(|text| Cow::from(text.as_str()));
    texts
        .chain(memory.metadata().into_iter().map(Cow::from))
        .collect()
}

/// Returns the number of candidates to score for so many results.
fn candidates_for(limit: usize) -> usize {
    (limit * CANDIDATES_PER_RESULT).max(CANDIDATES_MIN)
}

fn ranked<'a>(
    candidates: &'a [Candidate],
    fused: &[Fused],
    accesses: &[u64],
    held: &dyn Fn(&Candidate) -> usize,
    now: Timestamp,
    ranking: &dyn Fn(&Signals) -> f64,
) -> Vec<Ranked<'a>> {
    let by_words = ranks(
        candidates,
        |index| fused[index].words_in_context,
        |index| fused[index].words_in_context > 0.0,
    );
    let by_meaning = ranks(
        candidates,
        |index| fused[index].meaning_in_context,
        |index| candidates[index].cosine.is_some(),
    );
    let rank = |(index, (candidate, fused)): (usize, (&'a Candidate, &Fused))| {
        let signals = Signals {
            relevance: fused.relevance,
            bm25: candidate.bm25,
            cosine: candidate.cosine,
            coverage: fused.coverage,
            words_weight: fused.words_weight,
            context: fused.context,
            asked_for: fused.signals,
            identifiers: held(candidate),
            passage: candidate.passage,
            rank_by_words: by_words[index],
            rank_by_meaning: by_meaning[index],
            access_count: accesses.get(index).copied().unwrap_or(0),
            weight: candidate.weight,
            age_days: now.days_since(candidate.updated_at).max(0.0),
            collection: candidate.collection.clone(),
        };
        (ranking(&signals), signals, candidate)
    };
    candidates.iter().zip(fused).enumerate().map(rank).collect()
}

/// Returns the rank of each candidate by its score, from 1, ties by id; `None` for those without a
/// score.
fn ranks(
    candidates: &[Candidate],
    score: impl Fn(usize) -> f64,
    has: impl Fn(usize) -> bool,
) -> Vec<Option<usize>> {
    let mut scored: Vec<usize> = (0..candidates.len()).filter(|index| has(*index)).collect();
    scored.sort_by(|a, b| {
        score(*b)
            .total_cmp(&score(*a))
            .then_with(|| among_equals(&candidates[*a], &candidates[*b]))
    });
    let mut ranks = vec![None; candidates.len()];
    for (place, index) in scored.into_iter().enumerate() {
        ranks[index] = Some(place + 1);
    }
    ranks
}

/// A memory made from a message goes before that message, since it holds more; otherwise by id.
fn among_equals(left: &Candidate, right: &Candidate) -> Ordering {
    left.source
        .is_none()
        .cmp(&right.source.is_none())
        .then_with(|| left.id.cmp(&right.id))
}

/// Sorts the candidates, best first. Removes those that were returned before, those that pair with
/// them, and the lower-ranked one of each pair of a memory and its source. Raises each score to at
/// least that of the next result, so that identifiers keep the scores in order. Also returns the
/// candidates that were returned before.
fn in_order(mut ranked: Vec<Ranked<'_>>, paging: Option<&Paging<'_>>) -> InOrder {
    let (mut ids, mut sources, mut before) = (HashSet::new(), HashSet::new(), Vec::new());
    if let Some(paging) = paging {
        let is_new = |(_, _, candidate): &Ranked<'_>| {
            let mut origins = std::iter::once(&candidate.id).chain(&candidate.source);
            !origins.any(|id| (paging.is_returned)(id))
        };
        let (new, returned): (Vec<_>, Vec<_>) = ranked.into_iter().partition(is_new);
        for (_, signals, candidate) in returned {
            ids.insert(&candidate.id);
            sources.extend(&candidate.source);
            before.push((signals, candidate.id.clone()));
        }
        ranked = new;
    }
    let among_equals = if paging.is_some() {
        by_id
    } else {
        among_equals
    };
    // A ranking excludes a candidate by negative infinity.
    let identifiers = |one: &Ranked<'_>| {
        if one.0 > f64::NEG_INFINITY {
            one.1.identifiers
        } else {
            0
        }
    };
    ranked.sort_by(|a, b| {
        let by_score = || b.0.total_cmp(&a.0).then_with(|| among_equals(a.2, b.2));
        identifiers(b).cmp(&identifiers(a)).then_with(by_score)
    });
    ranked.retain(|(_, _, candidate)| {
        let is_single = !sources.contains(&candidate.id)
            && candidate.source.as_ref().is_none_or(|id| !ids.contains(id));
        if is_single {
            ids.insert(&candidate.id);
            sources.extend(&candidate.source);
        }
        is_single
    });
    let mut least = f64::NEG_INFINITY;
    for one in ranked.iter_mut().rev() {
        least = one.0.max(least);
        one.0 = least;
    }
    let ranked = ranked
        .into_iter()
        .map(|(score, signals, candidate)| (score, signals, candidate.id.clone()));
    (ranked.collect(), before)
}

fn by_id(left: &Candidate, right: &Candidate) -> Ordering {
    left.id.cmp(&right.id)
}
