//! Finding memories by a question in natural language.

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
use crate::ops::fusion_input::{FusionInput, Marks, cut_at, input};

use crate::{Engine, FusionWeights, SearchMode, check};

/// Candidates that are scored for each result, so that the caller's own ranking has a choice, and
/// enough are left of pairs.
pub(super) const CANDIDATES_PER_RESULT: usize = 4;
/// Candidates that are scored at least.
pub(super) const CANDIDATES_MIN: usize = 50;
/// Candidates that are asked for at most to find what the query quotes.
const QUOTING_CANDIDATES_MAX: usize = 3_200;
/// Candidates that are asked for at most to find an identifier: what holds it whole is among the
/// best by words.
const IDENTIFIED_CANDIDATES_MAX: usize = 800;
/// As how many identifiers it counts that a memory is of a file which the query names: the file
/// comes before what speaks of it.
const FILE_COUNTS_AS: usize = 2;
/// Bytes of text that are read at most to find what has to be there word for word.
const HOLDERS_BYTES_MAX: usize = 64 << 20;
/// Texts that are read at a time.
const HOLDERS_READ: usize = 64;

/// A question.
pub struct Recall<'a> {
    /// The question, in natural language.
    pub query: &'a str,
    /// Only memories of these tiers; of all, if empty.
    pub tiers: Vec<Tier>,
    /// Where to look.
    pub collections: CollectionFilter,
    /// Only memories of this thread; of any, if none.
    pub thread: Option<String>,
    /// Only these sections; all, if empty.
    pub sections: Vec<String>,
    /// Only memories with all of these tags.
    pub tags: Vec<String>,
    /// How many results at most; clamps to
    /// [`RECALL_RESULTS_MAX`](loci_core::limits::RECALL_RESULTS_MAX), or to `results_max` of the
    /// [`Policy`](crate::Policy) where that is more.
    pub limit: usize,
    /// The caller's own ranking: the score of a candidate.
    pub ranking: &'a dyn Fn(&Signals) -> f64,
    /// Whether returning a memory counts as an access, and the ranking sees how many there were.
    pub counts_access: bool,
}

impl<'a> Recall<'a> {
    /// A question to all long-term memories.
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

/// The features of a candidate that a ranking can use.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Signals {
    /// Fused relevance, 0 to 1.
    pub relevance: f64,
    /// BM25 of the best passage.
    pub bm25: f32,
    /// Cosine of the nearest passage, if it has a vector.
    pub cosine: Option<f32>,
    /// The share of the query that its words cover, 0 to 1, whatever other memories say.
    pub coverage: f64,
    /// The weight of the words in this search, 0 to 1; the rest is the weight of the meaning.
    pub words_weight: f64,
    /// The part of the relevance from its neighbours and its thread, before it was scaled to 1.
    pub context: f64,
    /// The bonus for a speaker or time that the query names.
    pub asked_for: f64,
    /// How many of the identifiers that the query names it holds; a file that it names and the
    /// memory is of counts as two. A memory that holds more comes first, whatever its score by the
    /// caller's ranking, unless that is negative infinity.
    pub identifiers: usize,
    /// Its place, from 1, in the list of the candidates that leans to the words; none if no
    /// candidate has a word of the query.
    pub rank_by_words: Option<usize>,
    /// Its place, from 1, in the list that leans to the meaning; none if it could not be compared.
    pub rank_by_meaning: Option<usize>,
    /// How often it was returned before; 0 unless the request counts accesses.
    pub access_count: u64,
    /// Which passage of the memory that was, or else the one with the best BM25; from 0.
    pub passage: u32,
    /// Weight of the memory, 0 to 1.
    pub weight: f64,
    /// Days since its text last changed; 0 for a moment in the future.
    pub age_days: f64,
    /// Its collection.
    pub collection: Option<Arc<str>>,
}

impl Signals {
    /// Reciprocal rank fusion of the two places, with these weights.
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
    /// The memory. Where accesses count, its own are those before this search. Its content is cut,
    /// if there is a `length`.
    pub memory: Memory,
    /// Characters of the whole content, if not all is shown.
    pub length: Option<usize>,
    /// Its score by the caller's ranking.
    pub score: f64,
    /// Why.
    pub signals: Signals,
    /// The other memories that were found with the same text, but for white space, best first: it
    /// stands for them. Two that have titles have the same one.
    pub repeats: Vec<MemoryId>,
}

impl Hit {
    /// How often its text was found: 1 for a text of its own.
    pub fn times_said(&self) -> usize {
        1 + self.repeats.len()
    }
}

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Recalled {
    /// Results, best first; among equals those made from a message first, then by id. No two have
    /// the same text.
    pub hits: Vec<Hit>,
    /// Further results that were asked for and for which the reply has no room.
    pub left_out: usize,
    /// Why the search was less than it should be, in a sentence; none if it was whole.
    pub degraded: Option<String>,
}

/// The state from which a search by pages continues.
pub(crate) struct Paging<'a> {
    /// How many results the pages before had.
    pub(crate) returned: usize,
    /// Whether a memory was one of them.
    pub(crate) is_returned: &'a dyn Fn(&MemoryId) -> bool,
    /// [`Ranking::is_quoted`] of the first page; none, if this is it.
    pub(crate) is_quoted: Option<bool>,
    /// The rule for forgotten memories.
    pub(crate) forgotten: Forgotten,
}

/// The ranked results of a search, before they are read.
pub(crate) struct Ranking {
    /// The filter that they passed.
    pub(super) filter: Filter,
    /// With score and reasons, best first.
    pub(super) ranked: vec::IntoIter<(f64, Signals, MemoryId)>,
    /// Those of the candidates that the pages before had.
    pub(super) returned: Vec<(Signals, MemoryId)>,
    /// The scores of the last candidates by words and by meaning, where there may be more behind
    /// them.
    pub(super) cut_at: [Option<f32>; 2],
    /// Returns that the store does not know of yet.
    pub(super) unwritten: HashMap<MemoryId, Access>,
    /// Whether all of it holds what the query quotes, word for word.
    pub(crate) is_quoted: bool,
    /// Why the search was less than it should be.
    pub(crate) notices: Vec<String>,
    /// Present if not all that passed can be compared with the question.
    lacking: Option<Lacking>,
}

/// A question with which some texts cannot be compared by meaning.
struct Lacking {
    /// Its vector.
    question: QueryVector,
    /// The candidates that were ranked.
    candidates: usize,
    /// How many of them have no vector of the question's model.
    without_vector: usize,
}

impl Ranking {
    /// Whether all of it was read.
    pub(crate) fn is_read(&self) -> bool {
        self.len() == 0
    }

    /// How many were not read yet.
    pub(crate) fn len(&self) -> usize {
        self.ranked.as_slice().len()
    }

    /// Why the search was less than it should be, in a sentence; none if it was whole.
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

/// The memories that a search looks through for memories that hold something word for word.
struct Pool<'a> {
    filter: &'a Filter,
    limit: usize,
    paging: Option<&'a Paging<'a>>,
    /// Finds so many candidates that hold all of these terms.
    find: &'a dyn Fn(&[String], usize) -> Result<Candidates>,
}

/// The memories that hold something word for word.
struct Holders {
    candidates: Candidates,
    /// Those of the candidates that hold it, with how much of it.
    held: HashMap<MemoryId, usize>,
    /// Whether there may be more of them that were not looked at.
    is_cut: bool,
}

/// A candidate with its score.
type Ranked<'a> = (f64, Signals, &'a Candidate);
/// The candidates in the order of results, and those that were returned before.
type InOrder = (Vec<(f64, Signals, MemoryId)>, Vec<(Signals, MemoryId)>);

impl Engine {
    /// The best memories for a question among those that the caller may read, with their whole
    /// texts. Memories that a live one supersedes are left out, and so is the lesser one of a
    /// message and the memory made from it. Equal texts are one result.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for a blank or over-long query; `unavailable` if the store
    /// cannot be read. A model that does not answer degrades the search, it does not fail it.
    pub fn recall(&self, caller: &Caller, request: &Recall<'_>) -> Result<Recalled> {
        self.recall_as(caller, request, None)
    }

    /// Candidates for so many results in the caller's ranking, without the results of the pages
    /// before. Where there are pages, the score is the same on each, and ties go by id alone.
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
        // While one model takes the place of another, the change may come between the question and
        // the search.
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
        // The results that were returned may be the best again.
        let wanted = candidates_for(limit) + paging.map_or(0, |paging| paging.returned);
        let find = |required: &[String], wanted| {
            self.find(&filter, &query, &marks, required, vector.as_ref(), wanted)
        };
        let quotes = self.weights.phrases && query.quotes();
        // Who goes on stays with what the first page showed.
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
        // Before the store is asked, here and for the hits.
        let unwritten = self.unwritten_accesses(
            &caller.space,
            candidates.hits.iter().map(|candidate| &candidate.id),
        );
        let accesses = if request.counts_access {
            self.accesses(caller, &candidates.hits, &unwritten)?
        } else {
            Vec::new()
        };
        // A scale that begins at the last candidate would be another one on every page.
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
        // Fewer holders than asked for are all there are.
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

    /// The vectors that these candidates lack to be compared with the question; the background
    /// embeds them before others.
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

    /// Candidates whose passages hold the required terms.
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

    /// Candidates for what has to be there word for word, and those that hold some of it and were
    /// not returned before. The index knows who has all of its terms; in which order and between
    /// which signs, only the text does.
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

    /// How many of the identifiers and files of the query the memories hold that were not returned
    /// before, of those that hold any. These are among the candidates after it.
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

    /// Fuses the scores of each candidate.
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

    /// The candidates of a question as the fusion sees them, for fitting its weights.
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

    /// The memories that a question may be answered by.
    fn recall_filter(&self, caller: &Caller, request: &Recall<'_>) -> Result<Filter> {
        let mut filter = self.filter(caller, request.collections.clone());
        (filter.tiers, filter.thread) = (request.tiers.clone(), request.thread.clone());
        filter.sections.clone_from(&request.sections);
        check::tags("tags", &request.tags)?;
        filter.tags.clone_from(&request.tags);
        filter.superseded = Superseded::Hide;
        Ok(filter)
    }

    /// How often each candidate was returned before.
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

    /// The query's vector and how its model is to be taken; none, with the reason, if the search
    /// has to do without.
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

/// Whether the memory holds all that the query quotes.
fn holds_all(memory: &Memory, query: &Query) -> bool {
    let texts = searched_texts(memory);
    query
        .phrases
        .iter()
        .all(|phrase| texts.iter().any(|text| phrase.is_in(text)))
}

/// The texts of a memory that are searched.
fn searched_texts(memory: &Memory) -> Vec<Cow<'_, str>> {
    let texts = std::iter::once(&memory.content)
        .chain(&memory.summary)
        .map(|text| Cow::from(text.as_str()));
    texts
        .chain(memory.metadata().into_iter().map(Cow::from))
        .collect()
}

/// How many candidates are scored for so many results.
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

/// The place of each candidate, from 1, by its score, ties by id; none for those without.
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

/// Puts the memory that was made from a message before the message, since it holds more; else
/// orders by id.
fn among_equals(left: &Candidate, right: &Candidate) -> Ordering {
    left.source
        .is_none()
        .cmp(&right.source.is_none())
        .then_with(|| left.id.cmp(&right.id))
}

/// Orders the results, best first, without earlier results and their pairs, and without the lesser
/// one of each pair: a memory and the one that was made from it. A result with an identifier has at
/// least the score of the next one. Returns the earlier results, too.
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
    // A ranking leaves out by negative infinity.
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
