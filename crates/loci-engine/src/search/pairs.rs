//! Pairs of memories that contradict or repeat each other, for a person to decide about.

use loci_core::{Caller, CollectionFilter, Memory, QueryVector, Result, SOURCE_FILE, Superseded};
use loci_search::{document, passages::passages};

use super::compare::is_same_text;
use crate::contradiction::Judge;
use crate::models::PASSAGES_EMBEDDED_AT_ONCE_MAX;
use crate::{Search, SearchMode};

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
    /// The place of the newer one among those that were compared.
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
    /// Why the texts were compared by their words alone, in a sentence; `None` if they were not.
    pub degraded: Option<String>,
}

impl Search<'_> {
    /// Compares memories with older ones of the same collection that are near by words or by
    /// meaning: with one query of the store for each, and an embedding of its first passage. A
    /// pair of which neither contradicts the other is a duplicate if its cosine similarity is
    /// `duplicate_from` or more, or the texts are the same except for white space. Memories that
    /// are superseded, and pairs of which both were made from files, are left out. Stores nothing.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read, or is not ready to search.
    pub fn find_pairs(
        &self,
        caller: &Caller,
        memories: &[Memory],
        duplicate_from: f32,
    ) -> Result<Pairs> {
        let ready_by = self.begin_search();
        let (vectors, degraded) = self.vectors_of_openings(memories);
        self.await_search(ready_by)?;
        let mut pairs = Vec::new();
        for (index, newer) in memories.iter().enumerate() {
            if newer.superseded_by.is_some() {
                continue;
            }
            let vector = vectors.get(index).map(std::slice::from_ref);
            let found = self.pairs_of(caller, newer, vector.unwrap_or_default(), duplicate_from)?;
            pairs.extend(found.into_iter().map(|pair| Pair { index, ..pair }));
        }
        Ok(Pairs { pairs, degraded })
    }

    /// Returns a vector for the first passage of each text, or none and the reason.
    fn vectors_of_openings(&self, memories: &[Memory]) -> (Vec<QueryVector>, Option<String>) {
        if self.mode == SearchMode::Words {
            return (Vec::new(), None);
        }
        let texts: Vec<_> = memories
            .iter()
            .map(|memory| {
                let first = passages(&memory.content).into_iter().next();
                let range = first.unwrap_or(0..0);
                document::titled_text(memory.title.as_deref(), &memory.content, range)
            })
            .collect();
        let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
        let mut vectors = Vec::with_capacity(texts.len());
        for part in texts.chunks(PASSAGES_EMBEDDED_AT_ONCE_MAX) {
            match self.models.vectors(part) {
                Ok(some) => vectors.extend(some),
                Err(error) => {
                    tracing::warn!(%error, "memories are compared by their words alone");
                    return (Vec::new(), Some(error.message));
                }
            }
        }
        (vectors, None)
    }

    fn pairs_of(
        &self,
        caller: &Caller,
        newer: &Memory,
        vectors: &[QueryVector],
        duplicate_from: f32,
    ) -> Result<Vec<Pair>> {
        let collection = newer.location.collection.clone();
        let mut filter = self.access.filter(
            caller,
            collection.map_or(CollectionFilter::Global, CollectionFilter::Only),
        );
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
