//! Near duplicates of a text, before it is stored.

use std::collections::HashMap;

use loci_core::{
    CandidateQuery, Filter, Memory, MemoryId, QueryVector, RecordVerb, Result, Superseded,
};
use loci_text::query::Query;
use loci_text::{dates, document, passages::passages};

use crate::check;
use crate::engine::SearchMode;
use crate::memories::remember::SimilarQuery;
use crate::models::PASSAGES_EMBEDDED_AT_ONCE_MAX;
use crate::search::Search;
use crate::search::compare::SimilarMemory;

/// The number of nearest memories of each passage that are examined.
const CANDIDATES_PER_PASSAGE: usize = 64;
/// Bytes of a text whose words find the same text.
const WORDS_BYTES_MAX: usize = 2_000;
/// The number of memories that are examined by words.
const CANDIDATES_BY_WORDS: usize = 50;
/// The number of texts that are read at a time.
const READ_AT_ONCE: usize = 8;

/// The near duplicates of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Duplicates {
    /// The memories, nearest first, ties by id.
    pub similar: Vec<SimilarMemory>,
    /// The reasons why the comparison was incomplete, in a sentence; `None` if it was complete.
    pub degraded: Option<String>,
}

impl Search<'_> {
    /// Returns long-term memories that are near duplicates of the text. For a text of several
    /// passages, the similarity is the mean over its passages of each one's best match in a memory,
    /// so that a beginning which many texts share does not make them duplicates. An identical text
    /// is also found by its words, because it may not be embedded yet; without a model, only that
    /// is found. Stores nothing.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the text (argument `content`); `unavailable` if the
    /// store cannot be read.
    pub fn find_duplicates(&self, content: &str, query: &SimilarQuery) -> Result<Duplicates> {
        check::content("content", content)?;
        let mut filter = self.access.filter(query.collections.clone());
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
        let vectors = match self.mode {
            SearchMode::Words => Err("search is set to go by words alone".to_owned()),
            _ => self.models.vectors(&texts).map_err(|error| {
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
                let near: Vec<SimilarMemory> = near
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
        keep_nearest(&mut similar, query);
        for found in &similar {
            self.caller.note(RecordVerb::Returned, &found.memory);
        }
        Ok(Duplicates {
            similar,
            degraded: (!notices.is_empty()).then(|| notices.join("; ")),
        })
    }

    /// Returns the memories nearest to these passages of the text, and the number of other passages
    /// without a vector.
    fn near(
        &self,
        filter: &Filter,
        content: &str,
        vectors: &[QueryVector],
        query: &SimilarQuery,
    ) -> Result<(Vec<SimilarMemory>, usize)> {
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
                    .map_or(0.0, |cosine| self.models.comparable(&vector.model, cosine));
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
        // A memory that was removed since is missing, so memories are matched by id.
        let similar = self
            .store
            .get_all(filter, &ids)?
            .into_iter()
            .filter_map(|memory| {
                let (_, cosine) = near.iter().find(|(id, _)| *id == memory.id)?;
                // Quantization makes the cosine of equal texts less than 1.
                let cosine = if memory.content == content {
                    1.0
                } else {
                    *cosine
                };
                Some(SimilarMemory {
                    memory,
                    cosine,
                    certainty: None,
                })
            });
        Ok((similar.collect(), without_vector))
    }

    /// Returns the memories with an identical text among the ones that its first words find, and
    /// true if it has any words.
    fn same_by_words(&self, filter: &Filter, content: &str) -> Result<(Vec<SimilarMemory>, bool)> {
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
            same.extend(memories.map(|memory| SimilarMemory {
                memory,
                cosine: 1.0,
                certainty: None,
            }));
        }
        Ok((same, true))
    }
}

/// Keeps as many as the query asks for, nearest first.
fn keep_nearest(similar: &mut Vec<SimilarMemory>, query: &SimilarQuery) {
    similar.retain(|similar| similar.cosine >= query.cosine_min);
    similar.sort_by(|a, b| {
        b.cosine
            .total_cmp(&a.cosine)
            .then_with(|| a.memory.id.cmp(&b.memory.id))
    });
    similar.truncate(query.limit);
}

/// Returns the number of passages into which the index divides a text.
pub fn passage_count(content: &str) -> usize {
    passages(content).len()
}
