//! Deduplication of search results: the best memory represents all with the same text.

use std::collections::{BTreeSet, HashMap};

use loci_core::{Memory, MemoryId, Result};

use crate::search::Search;
use crate::search::order::{CANDIDATES_MIN, CANDIDATES_PER_RESULT, Paging, RankedCandidate};
use crate::search::recall::{Hit, Ranking, Recall};
use crate::search::signals::Signals;

/// The number of results that are read at a time, before their size is known.
const HITS_READ: usize = 16;
/// The most results for which candidates are scored if equal texts displace others.
const DEPTH_MAX: usize = 800;
/// The most bytes of text that are read for the results of one reply, before they are cut to its
/// budget.
const HITS_BYTES_MAX: usize = 16 << 20;
/// The largest difference of the cosines of equal texts: a model may embed a text in a batch with
/// others.
const EQUAL_COSINES: f32 = 0.01;

impl Signals {
    /// Reports whether two memories with these scores may have the same text.
    fn may_be_of_equals(&self, other: &Signals) -> bool {
        let is_near = match (self.cosine, other.cosine) {
            (Some(one), Some(other)) => (one - other).abs() <= EQUAL_COSINES,
            _ => self.bm25 > 0.0,
        };
        is_near && self.bm25.to_bits() == other.bm25.to_bits()
    }
}

impl Ranking {
    /// Returns the number of results of a search with this limit. A candidate that a result stands
    /// for takes a place, because a reply shall say in fewer words what it said before; but half of the
    /// places are left for other results.
    pub(super) fn places(&self, limit: usize) -> usize {
        limit - self.represented.min(limit / 2)
    }

    /// Reports whether more candidates may contain results that equal texts displaced, or more
    /// memories with the same text.
    fn may_lack(&self, hits: &[Hit], is_full: bool) -> bool {
        let [by_words, by_meaning] = self.cut_at;
        let is_behind = |hit: &Hit| {
            let Signals { bm25, cosine, .. } = hit.signals;
            let is_within_words = bm25 > 0.0 && by_words.is_none_or(|last| bm25 > last);
            let is_within_meaning = cosine
                .is_some_and(|cosine| by_meaning.is_none_or(|last| cosine - EQUAL_COSINES > last));
            !is_within_words && !is_within_meaning
        };
        let is_cut = self.cut_at.iter().any(Option::is_some);
        hits.iter()
            .any(|hit| !hit.repeats.is_empty() && (is_cut && !is_full || is_behind(hit)))
    }
}

impl Hit {
    /// Notes a further candidate that the result stands for: `behind` is its memory if it is marked to
    /// stand behind this one, or behind one with its text. Returns true if it takes a place.
    fn represent(&mut self, id: MemoryId, behind: Option<&Memory>) -> bool {
        match behind {
            // It was shown for one that stands behind it.
            None if self.memory.id == id => true,
            Some(behind) if !have_equal_texts(&self.memory, behind) => {
                self.behind.push(id);
                true
            }
            // Equal texts were one result before one stood behind the other.
            _ => {
                self.repeats.push(id);
                false
            }
        }
    }
}

impl Search<'_> {
    /// Returns the first results, no two with the same text, and the rest of the ranking. There are
    /// `limit` results unless fewer were found, or their texts exceed the size limit of a reply.
    ///
    /// # Errors
    /// As for [`recall`](crate::Search::recall).
    pub(crate) fn first_hits(
        &self,
        request: &Recall<'_>,
        limit: usize,
        paging: Option<&Paging<'_>>,
    ) -> Result<(Vec<Hit>, Ranking)> {
        let mut depth = limit;
        loop {
            let mut ranking = self.rank(request, depth, paging)?;
            let mut hits = Vec::with_capacity(limit);
            let mut is_full = false;
            while !is_full && !ranking.is_read() {
                let places = ranking.places(limit);
                self.next_hits(&mut ranking, &mut hits, places)?;
                let bytes = hits
                    .iter()
                    .map(|hit| hit.memory.text_bytes())
                    .sum::<usize>();
                is_full = hits.len() >= ranking.places(limit) || bytes > HITS_BYTES_MAX;
            }
            self.find_repeats(&ranking, &mut hits)?;
            if depth >= DEPTH_MAX || !ranking.may_lack(&hits, is_full) {
                return Ok((hits, ranking));
            }
            depth = (depth * CANDIDATES_PER_RESULT).clamp(CANDIDATES_MIN, DEPTH_MAX);
        }
    }

    /// Adds some of the next results, up to `limit` in total. A memory with the text of an earlier
    /// result is counted with that result, or left out if the earlier pages had it. So is a memory that
    /// stands behind an earlier result; of a first one the result is the memory that stands for it.
    /// Reads a few at a time; skips the ones that another process removed since.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub(crate) fn next_hits(
        &self,
        ranking: &mut Ranking,
        hits: &mut Vec<Hit>,
        limit: usize,
    ) -> Result<()> {
        let next: Vec<_> = ranking
            .ranked
            .by_ref()
            .take(limit.saturating_sub(hits.len()).clamp(1, HITS_READ))
            .collect();
        let ids: Vec<MemoryId> = next.iter().map(|one| one.id.clone()).collect();
        let returned = self.returned_suspects(ranking, &next)?;
        let memories = self.store.get_all(&ranking.filter, &ids)?;
        let represented = self.represented(ranking, &memories)?;
        let mut memories = memories.into_iter().peekable();
        for RankedCandidate {
            id, score, signals, ..
        } in next
        {
            let Some(memory) = memories.next_if(|memory| memory.id == id) else {
                continue;
            };
            let (mut memory, behind) = match represented.get(&id) {
                Some(Some(other)) => (other.clone(), Some(memory)),
                Some(None) => continue,
                None => (memory, None),
            };
            let is_returned = |returned: &Memory| have_equal_texts(returned, &memory);
            let is_it = |one: &RankedCandidate| one.id == memory.id;
            let is_known = behind.is_some() && ranking.returned.iter().any(is_it);
            if is_known || returned.iter().any(is_returned) {
                continue;
            }
            let mut known = hits.iter_mut();
            let is_shown =
                |hit: &Hit| hit.memory.id == memory.id || have_equal_texts(&hit.memory, &memory);
            if let Some(first) = known.find(|hit| is_shown(hit)) {
                ranking.represented += usize::from(first.represent(id, behind.as_ref()));
                continue;
            }
            let behind = behind.filter(|behind| !have_equal_texts(behind, &memory));
            memory.access = memory.access.plus(
                ranking
                    .unwritten
                    .get(&memory.id)
                    .copied()
                    .unwrap_or_default(),
            );
            hits.push(Hit {
                memory,
                length: None,
                score,
                signals,
                repeats: Vec::new(),
                behind: behind.map(|behind| behind.id).into_iter().collect(),
            });
        }
        Ok(())
    }

    /// Returns the memories of earlier pages that may have the text of one of these candidates.
    fn returned_suspects(
        &self,
        ranking: &Ranking,
        next: &[RankedCandidate],
    ) -> Result<Vec<Memory>> {
        let is_suspect = |returned: &&RankedCandidate| {
            next.iter()
                .any(|one| one.signals.may_be_of_equals(&returned.signals))
        };
        let suspects: Vec<MemoryId> = ranking
            .returned
            .iter()
            .filter(is_suspect)
            .map(|one| one.id.clone())
            .collect();
        if suspects.is_empty() {
            return Ok(Vec::new());
        }
        self.store.get_all(&ranking.filter, &suspects)
    }

    /// Returns for the candidates that another memory stands for, and that this search may show, that
    /// memory; `None` for a summary of a language model that nothing stands for, which is no result.
    fn represented(
        &self,
        ranking: &Ranking,
        memories: &[Memory],
    ) -> Result<HashMap<MemoryId, Option<Memory>>> {
        if !ranking.is_consolidated {
            return Ok(HashMap::new());
        }
        let found = self.access.representatives(memories)?;
        let ids: BTreeSet<&MemoryId> = found.values().collect();
        let ids: Vec<MemoryId> = ids.into_iter().cloned().collect();
        let shown: HashMap<MemoryId, Memory> = if ids.is_empty() {
            HashMap::new()
        } else {
            let shown = self.store.get_all(&ranking.filter, &ids)?.into_iter();
            shown.map(|memory| (memory.id.clone(), memory)).collect()
        };
        let shown_for = |memory: &Memory| {
            let shown = found.get(&memory.id).and_then(|id| shown.get(id)).cloned();
            (shown.is_some() || memory.is_summary()).then(|| (memory.id.clone(), shown))
        };
        Ok(memories.iter().filter_map(shown_for).collect())
    }

    /// Adds repeats of the results from the rest of the ranking.
    fn find_repeats(&self, ranking: &Ranking, hits: &mut [Hit]) -> Result<()> {
        let is_suspect =
            |signals: &Signals| hits.iter().any(|hit| hit.signals.may_be_of_equals(signals));
        let left = ranking
            .ranked
            .as_slice()
            .iter()
            .filter(|one| is_suspect(&one.signals));
        let suspects: Vec<MemoryId> = left.map(|one| one.id.clone()).collect();
        for ids in suspects.chunks(HITS_READ) {
            for memory in self.store.get_all(&ranking.filter, ids)? {
                let mut known = hits.iter_mut();
                let first = known.find(|hit| have_equal_texts(&hit.memory, &memory));
                // It may be the result itself, which was found by one that stands behind it.
                if let Some(first) = first.filter(|hit| hit.memory.id != memory.id) {
                    first.repeats.push(memory.id);
                }
            }
        }
        Ok(())
    }
}

/// Reports whether two memories have equal texts except for white space, and equal titles if both
/// have one.
fn have_equal_texts(one: &Memory, other: &Memory) -> bool {
    let titles = one.title.as_deref().zip(other.title.as_deref());
    let are_equal =
        |(one, other): (&str, &str)| one.split_whitespace().eq(other.split_whitespace());
    // A forgotten memory does not represent a live one.
    one.forgotten_at.is_some() == other.forgotten_at.is_some()
        && titles.is_none_or(are_equal)
        && are_equal((&one.content, &other.content))
}
