//! Finds near duplicates of a text before it is stored.

use std::collections::HashMap;

use loci_core::{
    Caller, CandidateQuery, Filter, Memory, MemoryId, QueryVector, Result, Superseded,
};
use loci_search::query::Query;
use loci_search::{dates, document, passages::passages};

use crate::ops::remember::PASSAGES_EMBEDDED_AT_ONCE_MAX;
use crate::{Engine, SearchMode, Similar, SimilarQuery, check};

/// Memories near each passage that are looked at.
const CANDIDATES_PER_PASSAGE: usize = 64;
/// Bytes of a text by whose words the same one is looked for.
const WORDS_BYTES_MAX: usize = 2_000;
/// Memories that are looked at then.
const CANDIDATES_BY_WORDS: usize = 50;
/// Texts that are read at a time.
const READ_AT_ONCE: usize = 8;

/// A near duplicate of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Duplicates {
    /// The memories, nearest first, ties by id.
    pub similar: Vec<Similar>,
    /// Why the comparison was less than it should be, in a sentence; none if it was whole.
    pub degraded: Option<String>,
}

impl Engine {
    /// Long-term memories that say what the text says. Of a text of several passages, the
    /// similarity is the mean of what each passage finds in a memory, so that a beginning which
    /// many texts share makes none of them the same. The very same text is looked for by its words,
    /// too: it may not be embedded yet. Without a model, it alone is found. Nothing is stored.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the text (argument `content`); `unavailable` if the
    /// store cannot be read.
    pub fn find_duplicates(
        &self,
        caller: &Caller,
        content: &str,
        query: &SimilarQuery,
    ) -> Result<Duplicates> {
        check::content("content", content)?;
        let mut filter = self.filter(caller, query.collections.clone());
        filter.superseded = Superseded::Hide;
        self.await_search(self.begin_search())?;
        let (mut similar, has_words) = self.same_by_words(&filter, content)?;
        let ranges = passages(content);
        let compared = ranges.len().min(PASSAGES_EMBEDDED_AT_ONCE_MAX);
        let texts: Vec<_> = ranges
            .iter()
            .take(compared)
            .map(|range| document::titled_text(None, content, range.clone()))
            .collect();
        let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
        let vectors = match self.search_mode {
            SearchMode::Words => Err("search is set to go by words alone".to_owned()),
            _ => self.vectors(&texts).map_err(|error| {
                tracing::warn!(%error, "comparing a text without its embedding");
                error.message
            }),
        };
        let mut notices = Vec::new();
        match vectors {
            Ok(vectors) => {
                let (near, without_vector) = self.near(&filter, content, &vectors, query)?;
                let is_found =
                    |memory: &Memory| similar.iter().any(|same| same.memory.id == memory.id);
                let near: Vec<Similar> = near
                    .into_iter()
                    .filter(|near| !is_found(&near.memory))
                    .collect();
                similar.extend(near);
                if compared < ranges.len() {
                    let all = ranges.len();
                    notices.push(format!(
                        "only the first {compared} of {all} passages of the text were compared"
                    ));
                }
                if without_vector > 0 {
                    let notice =
                        format!("{without_vector} passages of other texts are not embedded yet");
                    notices.push(notice + " and were compared word for word alone");
                }
            }
            Err(problem) if has_words => {
                notices.push(format!("only the very same text was looked for: {problem}"));
            }
            Err(problem) => {
                notices.push(format!(
                    "nothing was compared, since the text has no words to find it by: {problem}"
                ));
            }
        }
        similar.retain(|similar| similar.cosine >= query.cosine_min);
        similar.sort_by(|a, b| {
            b.cosine
                .total_cmp(&a.cosine)
                .then_with(|| a.memory.id.cmp(&b.memory.id))
        });
        similar.truncate(query.limit);
        Ok(Duplicates {
            similar,
            degraded: (!notices.is_empty()).then(|| notices.join("; ")),
        })
    }

    /// The memories nearest to these passages of the text, and how many passages of others have no
    /// vector.
    fn near(
        &self,
        filter: &Filter,
        content: &str,
        vectors: &[QueryVector],
        query: &SimilarQuery,
    ) -> Result<(Vec<Similar>, usize)> {
        let mut near: HashMap<MemoryId, f32> = HashMap::new();
        let mut without_vector = 0;
        for vector in vectors {
            let query = CandidateQuery {
                vector: Some(vector),
                ..CandidateQuery::of(filter, CANDIDATES_PER_PASSAGE)
            };
            let candidates = self.store.candidates(&query)?;
            without_vector = candidates.passages_without_vector;
            for hit in candidates.hits {
                let cosine = hit
                    .cosine
                    .map_or(0.0, |cosine| self.comparable(&vector.model, cosine));
                *near.entry(hit.id).or_default() += cosine.max(0.0) / vectors.len() as f32;
            }
        }
        let mut near: Vec<(MemoryId, f32)> = near
            .into_iter()
            .filter(|(_, cosine)| *cosine >= query.cosine_min)
            .collect();
        near.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        near.truncate(query.limit);
        let ids: Vec<MemoryId> = near.iter().map(|(id, _)| id.clone()).collect();
        // One that was removed meanwhile is missing among the memories, so they are matched by id.
        let similar = self
            .store
            .get_all(filter, &ids)?
            .into_iter()
            .filter_map(|memory| {
                let (_, cosine) = near.iter().find(|(id, _)| *id == memory.id)?;
                // The loss by quantisation does not count as a difference.
                let cosine = if memory.content == content {
                    1.0
                } else {
                    *cosine
                };
                Some(Similar { memory, cosine })
            });
        Ok((similar.collect(), without_vector))
    }

    /// The memories with this very text among those that its first words find, and whether it has
    /// any.
    fn same_by_words(&self, filter: &Filter, content: &str) -> Result<(Vec<Similar>, bool)> {
        let words = content.trim_start();
        let words = &words[..words.floor_char_boundary(WORDS_BYTES_MAX)];
        let terms = Query::parse(words, dates::day(filter.live_at.microseconds())).terms;
        if terms.is_empty() {
            return Ok((Vec::new(), false));
        }
        let candidates = CandidateQuery {
            terms: &terms,
            ..CandidateQuery::of(filter, CANDIDATES_BY_WORDS)
        };
        let ids: Vec<MemoryId> = self
            .store
            .candidates(&candidates)?
            .hits
            .into_iter()
            .map(|hit| hit.id)
            .collect();
        let mut same = Vec::new();
        for ids in ids.chunks(READ_AT_ONCE) {
            let memories = self
                .store
                .get_all(filter, ids)?
                .into_iter()
                .filter(|memory| memory.content == content);
            same.extend(memories.map(|memory| Similar {
                memory,
                cosine: 1.0,
            }));
        }
        Ok((same, true))
    }
}

/// Into how many passages the index divides a text.
pub fn passage_count(content: &str) -> usize {
    passages(content).len()
}
