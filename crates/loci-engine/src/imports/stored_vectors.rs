//! The vectors of another store, for records that are copied from it.

use std::borrow::Cow;

use loci_core::{
    Archived, CacheEntry, Change, Memory, ModelId, Passage, Record, Result, Store, Timestamp,
    Vector,
};

/// The vectors that a store keeps of its texts.
pub struct StoredVectors<'a> {
    store: &'a dyn Store,
    models: Vec<ModelId>,
    now: Timestamp,
}

impl<'a> StoredVectors<'a> {
    /// Returns the vectors of a store as of now.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn of(store: &'a dyn Store, now: Timestamp) -> Result<Self> {
        let models = store.models()?.into_iter().map(|(model, _)| model);
        Ok(StoredVectors {
            store,
            models: models.collect(),
            now,
        })
    }

    /// Returns the vectors of a memory, by model; none of a model that has not embedded all its
    /// passages.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn of_memory(&self, memory: &Memory) -> Result<Vec<Vec<Vector>>> {
        let mut all = Vec::new();
        for model in &self.models {
            let vectors = self.store.vectors(&memory.space, &memory.id, model)?;
            all.extend((!vectors.is_empty()).then_some(vectors));
        }
        Ok(all)
    }

    /// Adds the vectors of one model to the passages of a memory; returns the changes that add the
    /// vectors of the other models. A text that is cut otherwise here gets none.
    pub(crate) fn add_to(&self, passages: &mut [Passage], memory: &Memory) -> Result<Vec<Change>> {
        let mut all = self.of_memory(memory)?;
        all.retain(|vectors| vectors.len() == passages.len());
        let mut all = all.into_iter();
        for (passage, vector) in passages.iter_mut().zip(all.next().into_iter().flatten()) {
            passage.vector = Some(vector);
        }
        let embed = |vectors| Change::Embed {
            id: memory.id.clone(),
            revision: memory.revision,
            vectors,
        };
        Ok(all.map(embed).collect())
    }

    /// Returns the record to store: for a cached answer, with the vector of its question.
    pub(crate) fn with_vector<'b>(&self, archived: &'b Archived) -> Result<Cow<'b, Archived>> {
        let Record::CacheEntry(entry) = &archived.record else {
            return Ok(Cow::Borrowed(archived));
        };
        let nearest = self.store.nearest_cache_entries(
            &entry.space,
            &entry.owner,
            &entry.query,
            None,
            self.now,
            usize::MAX,
        )?;
        let stored = nearest
            .into_iter()
            .find(|(stored, _)| stored.id == entry.id);
        let record = Record::CacheEntry(Box::new(CacheEntry {
            vector: stored.and_then(|(stored, _)| stored.vector),
            ..(**entry).clone()
        }));
        Ok(Cow::Owned(Archived {
            space: archived.space.clone(),
            record,
        }))
    }
}
