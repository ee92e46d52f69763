//! What resembles a text, before it is stored.

use std::collections::HashMap;

use loci_core::{Caller, CandidateQuery, Memory, MemoryId, Result, Superseded};
use loci_search::{document, passages::passages};

use crate::ops::remember::PASSAGES_EMBEDDED_AT_ONCE_MAX;
use crate::{Engine, Recall, SearchMode, Similar, SimilarQuery, check};

/// Memories near each passage that are looked at.
const CANDIDATES_PER_PASSAGE: usize = 64;
/// Bytes of a text by whose words the same one is looked for where nothing can be compared by meaning.
const WORDS_BYTES_MAX: usize = 2_000;
/// Memories that are looked at then.
const CANDIDATES_BY_WORDS: usize = 20;

/// What resembles a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Resembling {
    /// The memories, nearest first, ties by id.
    pub similar: Vec<Similar>,
    /// Why the comparison was less than it should be, in a sentence; none if it was whole.
    pub degraded: Option<String>,
}

impl Engine {
    /// Long-term memories that say what the text says. Of a text of several passages, the similarity is the mean of
    /// what each passage finds in a memory, so that a beginning which many texts share makes none of them the same.
    /// Without a model, only the same text is found. Nothing is stored.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the text (argument `content`); `unavailable` if the store cannot be read.
    pub fn resembling(&self, caller: &Caller, content: &str, query: &SimilarQuery) -> Result<Resembling> {
        check::content("content", content)?;
        let ranges = passages(content);
        let compared = ranges.len().min(PASSAGES_EMBEDDED_AT_ONCE_MAX);
        let texts: Vec<_> =
            ranges.iter().take(compared).map(|range| document::titled_text(None, content, range.clone())).collect();
        let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
        let vectors = if self.search_mode == SearchMode::Words { None } else { Some(self.vectors(&texts)) };
        let vectors = match vectors {
            Some(Ok(vectors)) => vectors,
            Some(Err(error)) => {
                tracing::warn!(%error, "comparing a text without its embedding");
                return self.same_by_words(caller, content, query, &error.message);
            }
            None => return self.same_by_words(caller, content, query, "search is set to go by words alone"),
        };
        let mut filter = self.filter(caller, query.collections.clone());
        filter.superseded = Superseded::Hide;
        let mut near: HashMap<MemoryId, f32> = HashMap::new();
        let mut without_vector = 0;
        for vector in &vectors {
            let query = CandidateQuery { vector: Some(vector), ..CandidateQuery::of(&filter, CANDIDATES_PER_PASSAGE) };
            let candidates = self.store.candidates(&query)?;
            without_vector = candidates.passages_without_vector;
            for hit in candidates.hits {
                *near.entry(hit.id).or_default() += hit.cosine.unwrap_or(0.0).max(0.0) / vectors.len() as f32;
            }
        }
        let mut near: Vec<(MemoryId, f32)> =
            near.into_iter().filter(|(_, cosine)| *cosine >= query.cosine_min).collect();
        near.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        near.truncate(query.limit);
        let ids: Vec<MemoryId> = near.iter().map(|(id, _)| id.clone()).collect();
        let memories = self.store.get_all(&filter, &ids)?;
        // One that was removed meanwhile is missing among the memories, so they are matched by id.
        let similar = memories.into_iter().filter_map(|memory| {
            let (_, cosine) = near.iter().find(|(id, _)| *id == memory.id)?;
            // What quantisation takes is no difference.
            let cosine = if memory.content == content { 1.0 } else { *cosine };
            Some(Similar { memory, cosine })
        });
        let mut notices = Vec::new();
        if compared < ranges.len() {
            notices.push(format!("only the first {compared} of {} passages of the text were compared", ranges.len()));
        }
        if without_vector > 0 {
            notices
                .push(format!("{without_vector} passages of other texts are not embedded yet and were not compared"));
        }
        Ok(Resembling { similar: similar.collect(), degraded: (!notices.is_empty()).then(|| notices.join("; ")) })
    }

    /// The memories with this very text, found by its words.
    fn same_by_words(&self, caller: &Caller, content: &str, query: &SimilarQuery, problem: &str) -> Result<Resembling> {
        let words = content.trim_start();
        let words = &words[..words.floor_char_boundary(WORDS_BYTES_MAX)];
        let ranking = |signals: &crate::Signals| signals.relevance;
        let recall =
            Recall { collections: query.collections.clone(), ..Recall::new(words, CANDIDATES_BY_WORDS, &ranking) };
        let hits = self.recall(caller, &recall)?.hits;
        let is_same = |memory: &Memory| memory.content == content;
        let same = hits.into_iter().map(|hit| hit.memory).filter(is_same).take(query.limit);
        Ok(Resembling {
            similar: same.map(|memory| Similar { memory, cosine: 1.0 }).collect(),
            degraded: Some(format!("only the very same text was looked for: {problem}")),
        })
    }
}

/// Into how many passages the index divides a text.
pub fn passage_count(content: &str) -> usize {
    passages(content).len()
}
