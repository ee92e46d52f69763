//! Pairs of memories that contradict or repeat each other, for a person to decide about.

use std::borrow::Cow;

use loci_core::{CollectionFilter, Memory, QueryVector, Result, SOURCE_FILE, Superseded};
use loci_text::contradiction::Judge;
use loci_text::{document, passages::passages};

use super::compare::is_same_text;
use crate::engine::SearchMode;
use crate::models::PASSAGES_EMBEDDED_AT_ONCE_MAX;
use crate::quantisation::dequantise;
use crate::search::Search;

/// The most pairs of one memory with older ones, the clearest of each relation.
const PAIRS_PER_MEMORY_MAX: usize = 3;

/// The relation of the newer memory of a pair to the older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PairRelation {
    /// It seems to contradict it.
    Contradiction,
    /// It says nearly the same.
    Duplicate,
}

/// Two memories that contradict or repeat each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// The place of the newer one among the compared ones.
    pub index: usize,
    /// The newer one.
    pub newer: Memory,
    /// The older one.
    pub older: Memory,
    /// The relation of the newer one to the older one.
    pub relation: PairRelation,
    /// The cosine similarity of the two on the scale of the bundled model; 0 if unknown.
    pub cosine: f32,
}

/// The pairs that were found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pairs {
    /// In the order of the newer ones, each with its clearest contradictions, then its nearest
    /// duplicates.
    pub pairs: Vec<Pair>,
    /// Why the texts were compared only by their words, in a sentence; `None` if they were not.
    pub degraded: Option<String>,
}

impl Search<'_> {
    /// Compares memories with older ones of the same collection that are near by words or by
    /// meaning: with one query of the store for each, by the vector of its first passage. A
    /// pair of which neither contradicts the other is a duplicate if its cosine similarity is
    /// `duplicate_from` or more, or the texts are the same except for white space. Memories that
    /// are superseded, and pairs of which both were made from files, are left out. Stores nothing.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read, or is not ready to search.
    pub fn find_pairs(&self, memories: &[Memory], duplicate_from: f32) -> Result<Pairs> {
        let ready_by = self.begin_search();
        let (vectors, degraded) = self.vectors_of_openings(memories)?;
        self.await_search(ready_by)?;
        let mut pairs = Vec::new();
        for (index, (newer, vector)) in memories.iter().zip(&vectors).enumerate() {
            if newer.superseded_by.is_some() {
                continue;
            }
            let found = self.pairs_of(newer, vector.as_slice(), duplicate_from)?;
            pairs.extend(found.into_iter().map(|pair| Pair { index, ..pair }));
        }
        Ok(Pairs { pairs, degraded })
    }

    /// Returns a vector for the first passage of each text: the stored one, else a new one. Texts
    /// that the model does not embed have none, and the reason is returned with them.
    fn vectors_of_openings(
        &self,
        memories: &[Memory],
    ) -> Result<(Vec<Option<QueryVector>>, Option<String>)> {
        let mut vectors = vec![None; memories.len()];
        if self.mode == SearchMode::Words {
            return Ok((vectors, None));
        }
        let serving = self.models.active();
        let mut missing = Vec::new();
        for (memory, vector) in memories.iter().zip(&mut vectors) {
            let stored = self
                .store
                .vectors(&memory.space, &memory.id, serving.model())?;
            *vector = stored.first().map(dequantise);
            if vector.is_none() {
                missing.push((memory, vector));
            }
        }
        for part in missing.chunks_mut(PASSAGES_EMBEDDED_AT_ONCE_MAX) {
            let openings: Vec<_> = part.iter().map(|(memory, _)| opening(memory)).collect();
            let texts: Vec<&str> = openings.iter().map(AsRef::as_ref).collect();
            match self.models.vectors(&texts) {
                Ok(embedded) => {
                    for ((_, vector), embedded) in part.iter_mut().zip(embedded) {
                        **vector = Some(embedded);
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "memories are compared by their words alone");
                    return Ok((vectors, Some(error.message)));
                }
            }
        }
        Ok((vectors, None))
    }

    fn pairs_of(
        &self,
        newer: &Memory,
        vectors: &[QueryVector],
        duplicate_from: f32,
    ) -> Result<Vec<Pair>> {
        let collection = newer.location.collection.clone();
        let mut filter = self
            .access
            .filter(collection.map_or(CollectionFilter::Global, CollectionFilter::Only));
        filter.superseded = Superseded::Hide;
        let near = self.near_in_words_or_meaning(&filter, &newer.content, vectors)?;
        let model = vectors.first().map(|vector| &vector.model);
        let judge = Judge::of(&newer.content);
        let is_of_file = |memory: &Memory| memory.attributes.contains_key(SOURCE_FILE);
        let (mut contradictions, mut duplicates) = (Vec::new(), Vec::new());
        self.each_near(&filter, near.first, &near.unread, |older| {
            let is_older = (older.created_at, &older.id) < (newer.created_at, &newer.id);
            let is_replaced = newer.supersedes.as_ref() == Some(&older.id);
            if !is_older || is_replaced || (is_of_file(newer) && is_of_file(&older)) {
                return;
            }
            let cosine = near.cosines.get(&older.id).copied().flatten();
            let is_same = is_same_text(&older, newer);
            let sum = if is_same {
                f64::MIN
            } else {
                judge.contradiction(&older.content, model.zip(cosine))
            };
            let comparable = model
                .zip(cosine)
                .map_or(0.0, |(model, cosine)| self.models.comparable(model, cosine));
            let cosine = if is_same { 1.0 } else { comparable };
            let (found, relation) = if sum > 0.0 {
                (&mut contradictions, PairRelation::Contradiction)
            } else if is_same || comparable >= duplicate_from {
                (&mut duplicates, PairRelation::Duplicate)
            } else {
                return;
            };
            let pair = Pair {
                index: 0,
                newer: newer.clone(),
                older,
                relation,
                cosine,
            };
            found.push((if sum > 0.0 { sum } else { f64::from(cosine) }, pair));
        })?;
        let mut pairs = Vec::new();
        for mut found in [contradictions, duplicates] {
            found.sort_by(|a, b| {
                let by_id = || a.1.older.id.cmp(&b.1.older.id);
                b.0.total_cmp(&a.0).then_with(by_id)
            });
            found.truncate(PAIRS_PER_MEMORY_MAX);
            pairs.extend(found.into_iter().map(|(_, pair)| pair));
        }
        Ok(pairs)
    }
}

/// Returns the first passage of a memory, with its title.
fn opening(memory: &Memory) -> Cow<'_, str> {
    let first = passages(&memory.content).into_iter().next();
    document::titled_text(
        memory.title.as_deref(),
        &memory.content,
        first.unwrap_or(0..0),
    )
}
