//! Pairs of memories that contradict or repeat each other, for a person to decide about.

use std::borrow::Cow;

use loci_core::{CollectionFilter, Memory, MemoryId, QueryVector, Result, SOURCE_FILE, Superseded};
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
    /// How certain the relation is: of a contradiction the weighted sum of the evidence (log-odds), of
    /// a duplicate the cosine similarity.
    pub certainty: f64,
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

/// The pairs that a look at one memory may change.
pub(crate) struct PairsAround {
    /// All pairs of a newer memory, of several.
    pub(crate) pairs: Vec<(Memory, Vec<Pair>)>,
    /// The newer memories that contradict or repeat the one that was looked at.
    pub(crate) newer: Vec<(PairRelation, MemoryId)>,
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
            let found = self.pairs_of(newer, vector.as_slice(), duplicate_from)?.0;
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

    /// Returns the pairs that a look at one memory may change, each with all pairs of its newer
    /// memory: the pairs of the memory itself with older ones, and of the clearest newer ones that
    /// contradict or repeat it. Beside them it returns all newer ones that do.
    pub(crate) fn pairs_around(&self, memory: &Memory, duplicate_from: f32) -> Result<PairsAround> {
        let pairs_of = |memory: &Memory| {
            let stored = self.stored_opening(memory)?;
            self.pairs_of(memory, stored.as_slice(), duplicate_from)
        };
        let (pairs, newer) = pairs_of(memory)?;
        let all = newer.iter();
        let all = all.map(|(relation, .., newer)| (*relation, newer.id.clone()));
        let all = all.collect();
        let mut around = vec![(memory.clone(), pairs)];
        for (.., newer) in clearest(newer) {
            let (pairs, _) = pairs_of(&newer)?;
            around.push((newer, pairs));
        }
        Ok(PairsAround {
            pairs: around,
            newer: all,
        })
    }

    /// Returns the stored vector of the first passage of a text.
    pub(crate) fn stored_opening(&self, memory: &Memory) -> Result<Option<QueryVector>> {
        if self.mode == SearchMode::Words {
            return Ok(None);
        }
        let serving = self.models.active();
        let stored = self
            .store
            .vectors(&memory.space, &memory.id, serving.model())?;
        Ok(stored.first().map(dequantise))
    }

    /// Returns the clearest pairs of a memory with older ones, and all newer memories that contradict
    /// or repeat it.
    fn pairs_of(
        &self,
        memory: &Memory,
        vectors: &[QueryVector],
        duplicate_from: f32,
    ) -> Result<(Vec<Pair>, Vec<Paired>)> {
        if memory.superseded_by.is_some() {
            return Ok((Vec::new(), Vec::new()));
        }
        let collection = memory.location.collection.clone();
        let mut filter = self
            .access
            .filter(collection.map_or(CollectionFilter::Global, CollectionFilter::Only));
        filter.superseded = Superseded::Hide;
        let near = self.near_in_words_or_meaning(&filter, &memory.content, vectors)?;
        let model = vectors.first().map(|vector| &vector.model);
        let judge = Judge::of(&memory.content);
        let is_of_file = |memory: &Memory| memory.attributes.contains_key(SOURCE_FILE);
        let (mut as_newer, mut as_older) = (Vec::new(), Vec::new());
        self.each_near(&filter, near.first, &near.unread, |other| {
            if other.id == memory.id || (is_of_file(memory) && is_of_file(&other)) {
                return;
            }
            let is_older = (other.created_at, &other.id) < (memory.created_at, &memory.id);
            let (newer, older) = if is_older {
                (memory, &other)
            } else {
                (&other, memory)
            };
            if newer.supersedes.as_ref() == Some(&older.id) || is_settled(newer, older) {
                return;
            }
            let cosine = near.cosines.get(&other.id).copied().flatten();
            let is_same = is_same_text(older, newer);
            let sum = match model.zip(cosine) {
                _ if is_same => f64::MIN,
                known if is_older => judge.contradiction(&older.content, known),
                known => Judge::of(&newer.content).contradiction(&older.content, known),
            };
            let comparable = model
                .zip(cosine)
                .map_or(0.0, |(model, cosine)| self.models.comparable(model, cosine));
            let cosine = if is_same { 1.0 } else { comparable };
            let (relation, certainty) = if sum > 0.0 {
                (PairRelation::Contradiction, sum)
            } else if is_same || comparable >= duplicate_from {
                (PairRelation::Duplicate, f64::from(cosine))
            } else {
                return;
            };
            let found = if is_older {
                &mut as_newer
            } else {
                &mut as_older
            };
            found.push((relation, certainty, cosine, other));
        })?;
        let pairs = clearest(as_newer).into_iter();
        let pairs = pairs.map(|(relation, certainty, cosine, older)| Pair {
            index: 0,
            newer: memory.clone(),
            older,
            relation,
            cosine,
            certainty,
        });
        Ok((pairs.collect(), as_older))
    }
}

/// Returns true if one of two memories stands behind the other, or both behind a third one, so that no
/// person needs to decide about them.
fn is_settled(one: &Memory, other: &Memory) -> bool {
    let head = |memory: &Memory| {
        memory
            .stands_behind()
            .map_or_else(|| memory.id.clone(), |(_, id)| id)
    };
    head(one) == head(other)
}

/// A memory that is one of a pair: the relation, its certainty, the cosine similarity.
type Paired = (PairRelation, f64, f32, Memory);

/// Returns the clearest ones of each relation, contradictions first, ties by id.
fn clearest(found: Vec<Paired>) -> Vec<Paired> {
    let is_contradiction = |paired: &Paired| paired.0 == PairRelation::Contradiction;
    let (contradictions, duplicates): (Vec<_>, Vec<_>) =
        found.into_iter().partition(is_contradiction);
    let mut clearest = Vec::new();
    for mut found in [contradictions, duplicates] {
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.3.id.cmp(&b.3.id)));
        found.truncate(PAIRS_PER_MEMORY_MAX);
        clearest.append(&mut found);
    }
    clearest
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
