//! Equal texts among what a search finds: the best memory stands for all that say the same.

use loci_core::{Caller, Memory, MemoryId, Result};

use crate::ops::recall::{CANDIDATES_MIN, CANDIDATES_PER_RESULT, Paging, Ranking};
use crate::{Engine, Hit, Recall, Signals};

/// Results that are read at a time, before it is known how large they are.
const HITS_READ: usize = 16;
/// Results that candidates are scored for at most, where equal texts take the places of others.
const DEPTH_MAX: usize = 800;
/// Bytes of text that are read at most for the results of one reply, before they are cut to its
/// budget.
const HITS_BYTES_MAX: usize = 16 << 20;
/// How far the cosines of equal texts may be apart: a model may read a text in a batch with others.
const EQUAL_COSINES: f32 = 0.01;

impl Signals {
    /// Whether two memories that score so may have the same text.
    fn may_be_of_equals(&self, other: &Signals) -> bool {
        let is_near = match (self.cosine, other.cosine) {
            (Some(one), Some(other)) => (one - other).abs() <= EQUAL_COSINES,
            _ => self.bm25 > 0.0,
        };
        is_near && self.bm25.to_bits() == other.bm25.to_bits()
    }
}

impl Ranking {
    /// Whether more candidates may have what equal texts took the places of: other results, if
    /// there are not enough, or more of the same text.
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

impl Engine {
    /// The first results, no two with the same text, and what is left. They are `limit` unless no
    /// more were found, or they hold more than is read for a reply.
    ///
    /// # Errors
    /// As for [`recall`](Engine::recall).
    pub(crate) fn first_hits(
        &self,
        caller: &Caller,
        request: &Recall<'_>,
        limit: usize,
        paging: Option<&Paging<'_>>,
    ) -> Result<(Vec<Hit>, Ranking)> {
        let mut depth = limit;
        loop {
            let mut ranking = self.rank(caller, request, depth, paging)?;
            let mut hits = Vec::with_capacity(limit);
            let mut is_full = false;
            while !is_full && !ranking.is_read() {
                self.next_hits(&mut ranking, &mut hits, limit)?;
                let bytes = hits
                    .iter()
                    .map(|hit| hit.memory.text_bytes())
                    .sum::<usize>();
                is_full = hits.len() == limit || bytes > HITS_BYTES_MAX;
            }
            self.find_repeats(&ranking, &mut hits)?;
            if depth >= DEPTH_MAX || !ranking.may_lack(&hits, is_full) {
                return Ok((hits, ranking));
            }
            depth = (depth * CANDIDATES_PER_RESULT).clamp(CANDIDATES_MIN, DEPTH_MAX);
        }
    }

    /// Adds some of the next results, so that there are `limit` at most. One with the text of an
    /// earlier result is counted with that, and is none if the pages before had it. They are read a
    /// few at a time; another process may have removed or changed some since they were found.
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
            .take((limit - hits.len()).min(HITS_READ))
            .collect();
        let ids: Vec<MemoryId> = next.iter().map(|(_, _, id)| id.clone()).collect();
        let is_suspect = |(returned, _): &&(Signals, MemoryId)| {
            next.iter()
                .any(|(_, signals, _)| signals.may_be_of_equals(returned))
        };
        let suspects: Vec<MemoryId> = ranking
            .returned
            .iter()
            .filter(is_suspect)
            .map(|(_, id)| id.clone())
            .collect();
        let returned = if suspects.is_empty() {
            Vec::new()
        } else {
            self.store.get_all(&ranking.filter, &suspects)?
        };
        let mut memories = self
            .store
            .get_all(&ranking.filter, &ids)?
            .into_iter()
            .peekable();
        for (score, signals, id) in next {
            let Some(mut memory) = memories.next_if(|memory| memory.id == id) else {
                continue;
            };
            if returned
                .iter()
                .any(|returned| have_equal_texts(returned, &memory))
            {
                continue;
            }
            if let Some(first) = hits
                .iter_mut()
                .find(|hit| have_equal_texts(&hit.memory, &memory))
            {
                first.repeats.push(id);
                continue;
            }
            memory.access = memory
                .access
                .plus(ranking.unwritten.get(&id).copied().unwrap_or_default());
            hits.push(Hit {
                memory,
                length: None,
                score,
                signals,
                repeats: Vec::new(),
            });
        }
        Ok(())
    }

    /// Looks for the texts of the results among all that is left of the search.
    fn find_repeats(&self, ranking: &Ranking, hits: &mut [Hit]) -> Result<()> {
        let is_suspect =
            |signals: &Signals| hits.iter().any(|hit| hit.signals.may_be_of_equals(signals));
        let left = ranking
            .ranked
            .as_slice()
            .iter()
            .filter(|(_, signals, _)| is_suspect(signals));
        let suspects: Vec<MemoryId> = left.map(|(_, _, id)| id.clone()).collect();
        for ids in suspects.chunks(HITS_READ) {
            for memory in self.store.get_all(&ranking.filter, ids)? {
                if let Some(first) = hits
                    .iter_mut()
                    .find(|hit| have_equal_texts(&hit.memory, &memory))
                {
                    first.repeats.push(memory.id);
                }
            }
        }
        Ok(())
    }
}

/// Whether two memories say the same: their texts are equal but for white space, and so are their
/// titles, if both have one.
fn have_equal_texts(one: &Memory, other: &Memory) -> bool {
    let titles = one.title.as_deref().zip(other.title.as_deref());
    let are_equal =
        |(one, other): (&str, &str)| one.split_whitespace().eq(other.split_whitespace());
    // A forgotten memory stands for none that is remembered.
    one.forgotten_at.is_some() == other.forgotten_at.is_some()
        && titles.is_none_or(are_equal)
        && are_equal((&one.content, &other.content))
}
