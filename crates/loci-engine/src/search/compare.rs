//! The comparison of a new memory with the ones that it repeats or contradicts.

use std::collections::HashMap;

use loci_core::{
    CandidateQuery, CollectionFilter, Filter, Memory, MemoryId, ModelId, Nearest, QueryVector,
    Result, Scope, Superseded,
};
use loci_text::contradiction::Judge;
use loci_text::dates;
use loci_text::query::Query;

use crate::certainty::Certainty;
use crate::search::Search;

/// A memory that is similar to a new text.
#[derive(Debug, Clone, PartialEq)]
pub struct SimilarMemory {
    /// The existing memory.
    pub memory: Memory,
    /// The cosine similarity of the two; 0 if unknown.
    pub cosine: f32,
    /// How certain it is that the two contradict each other; `None` if they do not, or were not
    /// compared.
    pub certainty: Option<Certainty>,
}

/// The number of nearest memories by words, and again by meaning, with which a new one is compared.
const CANDIDATES: usize = 20;
/// The most contradictions that are reported, the clearest ones.
const CONTRADICTIONS_MAX: usize = 5;
/// Bytes of a text whose words find similar memories.
const WORDS_BYTES_MAX: usize = 2_000;
/// The number of texts that are read at a time: as many as one query finds.
const READ_AT_ONCE: usize = 2 * CANDIDATES;

/// The memories that a new one repeats or contradicts.
#[derive(Debug, Default)]
pub(crate) struct MemoryComparison {
    /// The oldest one with the same text in the same collection.
    pub(crate) duplicate: Option<Memory>,
    /// The clearest contradiction first, ties by id.
    pub(crate) contradicted: Vec<SimilarMemory>,
    /// The version of the space before the comparison.
    pub(crate) version: u64,
}

/// The memories nearest to a text.
pub(crate) struct NearestMemories {
    version: u64,
    /// Each with its highest cosine similarity to a passage of the text.
    pub(crate) cosines: HashMap<MemoryId, Option<f32>>,
    /// The first one by id.
    pub(crate) first: Vec<Memory>,
    /// The ids of the others, in order.
    pub(crate) unread: Vec<MemoryId>,
}

impl Search<'_> {
    /// Compares a new memory with those nearest to it by words and by meaning, except the one that
    /// it supersedes.
    pub(crate) fn compared(
        &self,
        memory: &Memory,
        collections: CollectionFilter,
        vectors: &[QueryVector],
    ) -> Result<MemoryComparison> {
        let mut filter = self.access.filter(collections);
        filter.superseded = Superseded::Hide;
        let near = self.near_in_words_or_meaning(&filter, &memory.content, vectors)?;
        let model: Option<&ModelId> = vectors.first().map(|vector| &vector.model);
        let judge = Judge::of(&memory.content);
        let mut contradicted = Vec::new();
        let mut compared = MemoryComparison {
            version: near.version,
            ..MemoryComparison::default()
        };
        self.each_near(&filter, near.first, &near.unread, |older| {
            if Some(&older.id) == memory.supersedes.as_ref() {
                return;
            }
            if is_same_text(&older, memory) {
                let is_first = compared
                    .duplicate
                    .as_ref()
                    .is_none_or(|found| older.created_at < found.created_at);
                if is_first && older.location.collection == memory.location.collection {
                    compared.duplicate = Some(older);
                }
                return;
            }
            let cosine = near.cosines.get(&older.id).copied().flatten();
            let sum = judge.contradiction(&older.content, model.zip(cosine));
            if sum > 0.0 {
                let similar = SimilarMemory {
                    cosine: cosine.unwrap_or(0.0),
                    certainty: Certainty::of_contradiction(sum),
                    memory: older,
                };
                contradicted.push((sum, similar));
            }
        })?;
        contradicted.sort_by(|a, b| {
            b.0.total_cmp(&a.0)
                .then_with(|| a.1.memory.id.cmp(&b.1.memory.id))
        });
        compared.contradicted = contradicted
            .into_iter()
            .map(|(_, similar)| similar)
            .take(CONTRADICTIONS_MAX)
            .collect();
        Ok(compared)
    }

    /// Returns the oldest other memory that the caller may read with the same title and text,
    /// except for white space, in the same collection. `None`, with a warning in the log, if the
    /// store cannot be read.
    pub fn duplicate_of(&self, memory: &Memory) -> Option<MemoryId> {
        if !self.caller.principal.scopes.allow(Scope::Read) {
            return None;
        }
        let found = self.same_texts(memory);
        let same = found
            .inspect_err(|error| tracing::warn!(%error, "a memory is not compared with others"))
            .ok()?;
        same.into_iter()
            .min_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)))
            .map(|memory| memory.id)
    }

    fn same_texts(&self, memory: &Memory) -> Result<Vec<Memory>> {
        let collection = memory.location.collection.clone();
        let mut filter = self
            .access
            .filter(collection.map_or(CollectionFilter::Global, CollectionFilter::Only));
        filter.superseded = Superseded::Hide;
        let near = self.near_in_words_or_meaning(&filter, &memory.content, &[])?;
        let mut same = Vec::new();
        self.each_near(&filter, near.first, &near.unread, |other| {
            if other.id != memory.id && is_same_text(&other, memory) {
                same.push(other);
            }
        })?;
        Ok(same)
    }

    /// Returns the memories nearest by words and by meaning.
    pub(crate) fn near_in_words_or_meaning(
        &self,
        filter: &Filter,
        content: &str,
        vectors: &[QueryVector],
    ) -> Result<NearestMemories> {
        let words = content.trim_start();
        let words = &words[..words.floor_char_boundary(WORDS_BYTES_MAX)];
        let terms = Query::parse(words, dates::day(filter.live_at.microseconds())).terms;
        let queries: Vec<CandidateQuery<'_>> = vectors
            .iter()
            .map(Some)
            .chain(vectors.is_empty().then_some(None))
            .enumerate()
            .map(|(at, vector)| CandidateQuery {
                terms: if at == 0 { &terms } else { &[] },
                vector,
                ..CandidateQuery::of(filter, CANDIDATES)
            })
            .collect();
        let nearest = self.store.nearest(filter, &queries, READ_AT_ONCE)?;
        let mut unread = Nearest::ids(&nearest.candidates);
        unread.drain(..unread.len().min(READ_AT_ONCE));
        let mut cosines: HashMap<MemoryId, Option<f32>> = HashMap::new();
        for hit in nearest
            .candidates
            .iter()
            .flat_map(|candidates| &candidates.hits)
        {
            // Rounding makes the cosine of equal vectors slightly greater than 1.
            let cosine = hit.cosine.map(|cosine| cosine.min(1.0));
            let highest = cosines.entry(hit.id.clone()).or_default();
            if cosine > *highest {
                *highest = cosine;
            }
        }
        Ok(NearestMemories {
            version: nearest.version,
            cosines,
            unread,
            first: nearest.memories,
        })
    }

    /// Passes each of the nearest memories, in the order of their ids.
    pub(crate) fn each_near(
        &self,
        filter: &Filter,
        first: Vec<Memory>,
        unread: &[MemoryId],
        mut take: impl FnMut(Memory),
    ) -> Result<()> {
        first.into_iter().for_each(&mut take);
        for ids in unread.chunks(READ_AT_ONCE) {
            self.store
                .get_all(filter, ids)?
                .into_iter()
                .for_each(&mut take);
        }
        Ok(())
    }
}

/// Reports whether two memories have the same title and text, except for white space.
pub(super) fn is_same_text(one: &Memory, other: &Memory) -> bool {
    one.title == other.title
        && one
            .content
            .split_whitespace()
            .eq(other.content.split_whitespace())
}
