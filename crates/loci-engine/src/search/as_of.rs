//! Memories as they stood at a time.
//!
//! The memories that were changed since are put together from their versions; the others stand as
//! they are. So the work grows with what was changed since, not with the store. A search ranks what
//! stands by the index, and puts what was changed in its place by a score that needs no index, the
//! words and the meaning that a text shares with the question, because no index has former texts.

use std::collections::{HashMap, HashSet};

use loci_core::{
    ChangeQuery, CollectionFilter, Error, ErrorCode, Filter, Forgotten, Memory, MemoryId, Page,
    QueryVector, Result, Superseded, Timestamp, Version, limits,
};
use loci_text::analysis::query_terms;
use loci_text::indexed;

use crate::budget::FittedMemory;
use crate::check;
use crate::listings::list::List;
use crate::models::Urgency;
use crate::search::Search;
use crate::search::recall::{Hit, Recall, RecallResults};
use crate::search::signals::Signals;

/// The versions and memories that are read at once.
const READ_AT_ONCE: usize = 500;
/// The most changes since a time that are put together.
const CHANGES_MAX: usize = 100_000;
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

/// The memories that were changed since a time, as they stood then.
struct Past {
    at: Timestamp,
    /// `None` for a memory that did not exist.
    changed: HashMap<MemoryId, Option<Memory>>,
}

impl Past {
    /// Returns a memory that was not changed since, as it stood; `None` if it did not exist.
    fn unchanged(&self, memory: Memory) -> Option<Memory> {
        let stood = memory.created_at <= self.at && memory.is_live(self.at);
        stood.then(|| Memory {
            forgotten_at: memory.forgotten_at.filter(|at| *at <= self.at),
            ..memory
        })
    }
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
        let past = self.past(at)?;
        let limit = request.limit.clamp(1, limits::RECALL_RESULTS_MAX);
        let filter = Filter {
            forgotten: Forgotten::Show,
            superseded: Superseded::Show,
            ..as_of(&self.recall_filter(request)?, at)
        };
        let question: HashSet<String> = query_terms(request.query).into_iter().collect();
        // A changed memory takes the place of a result at most.
        let wanted = limit + past.changed.len().min(limits::RECALL_RESULTS_MAX);
        let ranking = self.rank_among(&filter, request, wanted, None)?;
        let vector = self.query_vector(request.query)?.0;
        let ranked: Vec<(MemoryId, Option<f32>)> = ranking
            .ranked
            .filter(|one| !past.changed.contains_key(&one.id))
            .take(wanted)
            .map(|one| (one.id, one.signals.cosine))
            .collect();
        let ids: Vec<MemoryId> = ranked.iter().map(|(id, _)| id.clone()).collect();
        let read = self.store.get_all(&filter, &ids)?;
        let mut read: HashMap<MemoryId, Memory> = read
            .into_iter()
            .map(|memory| (memory.id.clone(), memory))
            .collect();
        let mut hits = Vec::new();
        for (id, cosine) in ranked {
            let memory = read.remove(&id).and_then(|it| past.unchanged(it));
            hits.extend(memory.map(|memory| PastHit {
                score: in_common(&question, &memory, cosine),
                memory,
            }));
        }
        for hit in self.changed_hits(&past, &filter, &question, vector.as_ref())? {
            let place = hits.iter().position(|other| other.score < hit.score);
            hits.insert(place.unwrap_or(hits.len()), hit);
        }
        let replaced = self.replaced_then(&past, hits.iter().map(|hit| &hit.memory))?;
        hits.retain(|hit| hit.memory.forgotten_at.is_none() && !replaced.contains(&hit.memory.id));
        hits.truncate(limit);
        self.access
            .return_found(hits.iter_mut().map(|hit| &mut hit.memory))?;
        Ok(hits)
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
            memory: shown.memory,
            length: shown.length,
            score,
            signals: Signals {
                relevance: score,
                ..Signals::default()
            },
            repeats: Vec::new(),
            behind: Vec::new(),
        };
        Ok(RecallResults {
            hits: shown.into_iter().zip(scores).map(hit).collect(),
            left_out,
            degraded: None,
            strength: None,
        })
    }

    /// Returns the memories that a list would have shown at a time, last updated first; only of these
    /// kinds, if there are any.
    ///
    /// # Errors
    /// As for [`list`](crate::Listings::list); `invalid_argument` as for
    /// [`recall_as_of`](Self::recall_as_of).
    pub fn list_as_of(
        &self,
        request: List,
        kinds: &[String],
        at: Timestamp,
    ) -> Result<Vec<Memory>> {
        check::tags("tags", &request.tags)?;
        let past = self.past(at)?;
        let mut filter = self.access.filter(request.collections);
        filter.sections = request.sections;
        filter.tags = request.tags;
        filter.delivery = request.delivery;
        filter.kinds = kinds.to_vec();
        request.facets.narrow(&mut filter);
        filter.forgotten = Forgotten::Show;
        filter.live_at = at;
        let limit = request.limit.clamp(1, limits::LIST_RESULTS_MAX);
        let wanted = request.offset.saturating_add(limit);
        let mut found: Vec<Memory> = past
            .changed
            .values()
            .flatten()
            .filter(|memory| as_of(&filter, at).admits(memory))
            .cloned()
            .collect();
        let (mut offset, mut standing) = (0, 0);
        while standing < wanted {
            let page = Page {
                offset,
                limit: READ_AT_ONCE,
            };
            let read = self.store.list(&filter, page)?;
            let is_last = read.len() < page.limit;
            offset += read.len();
            for memory in read {
                if past.changed.contains_key(&memory.id) {
                    continue;
                }
                let stood = past.unchanged(memory);
                let stood = stood.filter(|it| it.forgotten_at.is_none());
                standing += usize::from(stood.is_some());
                found.extend(stood);
            }
            if is_last {
                break;
            }
        }
        found.retain(|memory| memory.forgotten_at.is_none());
        found.sort_by(|one, other| {
            let place = |it: &Memory| (it.updated_at, it.id.clone());
            place(other).cmp(&place(one))
        });
        let mut page: Vec<Memory> = found.into_iter().skip(request.offset).take(limit).collect();
        self.access.hide_references(&mut page)?;
        Ok(page)
    }

    /// Returns a memory as it stood at a time.
    ///
    /// # Errors
    /// `not_found` if the caller may not read it now, or if it did not exist then or was forgotten;
    /// `invalid_argument` as for [`recall_as_of`](Self::recall_as_of).
    pub fn show_as_of(&self, id: &MemoryId, at: Timestamp) -> Result<Memory> {
        let past = self.past(at)?;
        let stood = match past.changed.get(id) {
            Some(stood) => stood.clone(),
            None => past.unchanged(self.access.readable_ever(id)?),
        };
        let stood = stood.filter(|memory| memory.forgotten_at.is_none());
        let memory = stood.ok_or_else(|| {
            Error::not_found(format!("the memory {id} was not there at that time"))
        })?;
        self.access.without_hidden(memory)
    }

    /// Puts the memories together that were changed since a time and that the caller may read now.
    fn past(&self, at: Timestamp) -> Result<Past> {
        check_kept(
            "as_of",
            at,
            (self.access.now(), self.policy.history_seconds),
        )?;
        let mut past = Past {
            at,
            changed: self.deleted_since(at)?,
        };
        let versions = self.versions_since(at)?;
        let ids: Vec<MemoryId> = versions.keys().cloned().collect();
        let filter = Filter {
            tiers: Vec::new(),
            unlisted_origin: None,
            forgotten: Forgotten::Show,
            live_at: Timestamp::MIN,
            ..self.access.filter(CollectionFilter::Any)
        };
        for part in ids.chunks(READ_AT_ONCE) {
            for memory in self.store.get_all(&filter, part)? {
                let id = memory.id.clone();
                let versions = versions.get(&id).map_or(&[][..], Vec::as_slice);
                past.changed.insert(id, stood(memory, versions, at));
            }
        }
        Ok(past)
    }

    /// Returns the versions of memories whose changes came after a time, of each latest first.
    fn versions_since(&self, at: Timestamp) -> Result<HashMap<MemoryId, Vec<Version>>> {
        let since = Timestamp::from_microseconds(at.microseconds().saturating_add(1));
        let mut query = ChangeQuery {
            space: self.caller.space.clone(),
            since: Some(since),
            limit: READ_AT_ONCE,
            ..ChangeQuery::default()
        };
        let (mut versions, mut count) = (HashMap::<MemoryId, Vec<Version>>::new(), 0);
        loop {
            let page = self.store.changes(&query)?;
            count += page.len();
            if count > CHANGES_MAX {
                let message = format!(
                    "more than {CHANGES_MAX} memories were changed since then; name a later time"
                );
                let error = Error::about_argument(ErrorCode::InvalidArgument, "as_of", message);
                return Err(error);
            }
            let is_last = page.len() < query.limit;
            query.after = page.last().and_then(|last| {
                let at = last.change.as_ref()?.at;
                Some((at, last.memory.clone(), last.revision))
            });
            for version in page {
                versions
                    .entry(version.memory.clone())
                    .or_default()
                    .push(version);
            }
            if is_last || query.after.is_none() {
                return Ok(versions);
            }
        }
    }

    /// Returns the memories that were soft-deleted after a time, as they stood then.
    fn deleted_since(&self, at: Timestamp) -> Result<HashMap<MemoryId, Option<Memory>>> {
        let filter = Filter {
            created_until: Some(at),
            ..self.access.deleted_filter()
        };
        let since = Timestamp::from_microseconds(at.microseconds().saturating_add(1));
        let mut deleted = HashMap::new();
        loop {
            let page = Page {
                offset: deleted.len(),
                limit: READ_AT_ONCE,
            };
            let found = self.store.soft_deleted(&filter, None, since, page)?;
            let is_last = found.len() < page.limit;
            for found in found {
                let id = found.memory.id.clone();
                let stood = Some(found.memory).filter(|memory| memory.is_live(at));
                deleted.insert(id, stood);
            }
            if is_last {
                return Ok(deleted);
            }
        }
    }

    /// Returns the changed memories that a filter admits as they stood, the best first.
    fn changed_hits(
        &self,
        past: &Past,
        filter: &Filter,
        question: &HashSet<String>,
        vector: Option<&QueryVector>,
    ) -> Result<Vec<PastHit>> {
        let filter = as_of(filter, past.at);
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

/// Fails if it is not kept what was known at a time, because it lies in the future or before
/// `history_seconds`.
pub(crate) fn check_kept(
    argument: &str,
    at: Timestamp,
    (now, history_seconds): (Timestamp, u64),
) -> Result<()> {
    let kept = i64::try_from(history_seconds).unwrap_or(i64::MAX);
    if at > now {
        return Err(Error::invalid(argument, "lies in the future"));
    }
    if kept > 0 && at < now.plus_seconds(-kept) {
        let days = kept / 86_400;
        let problem = format!(
            "lies before what is kept: `history_days` is {days}, so name a time since then"
        );
        return Err(Error::invalid(argument, problem));
    }
    Ok(())
}

/// Returns a filter for memories as they stood at a time.
fn as_of(filter: &Filter, at: Timestamp) -> Filter {
    let until = filter.created_until.map_or(at, |until| until.min(at));
    Filter {
        live_at: at,
        created_until: Some(until),
        forgotten: Forgotten::Hide,
        ..filter.clone()
    }
}

/// Returns a memory as it stood at a time, from the versions whose changes came later, latest first;
/// `None` if it did not exist.
fn stood(memory: Memory, versions: &[Version], at: Timestamp) -> Option<Memory> {
    let mut state = memory;
    for version in versions {
        if version.is_before_all() {
            return None;
        }
        state = version.applied_to(&state);
    }
    (state.created_at <= at && state.is_live(at)).then_some(state)
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
