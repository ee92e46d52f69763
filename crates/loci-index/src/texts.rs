use loci_core::{ModelId, QueryVector};

use crate::structures::segment::Sections;
use crate::structures::{Postings, Vectors};

/// A passage as the database holds it.
#[derive(Debug)]
pub struct StoredPassage<'a> {
    /// Its terms with their counts.
    pub terms: Vec<(&'a str, u32)>,
    /// Its vectors, each of another model.
    pub vectors: Vec<StoredVector<'a>>,
}

/// A vector as the database holds it.
#[derive(Debug)]
pub struct StoredVector<'a> {
    /// The model's row.
    pub model: i64,
    /// The factor that turns the values into the vector.
    pub scale: f32,
    /// The values, quantised.
    pub values: &'a [i8],
}

/// The words and vectors of the passages, by slot. A load fills it apart from the memories.
#[derive(Debug, Default)]
pub struct Texts {
    pub(crate) postings: Postings,
    pub(crate) models: Vec<Model>,
    /// The segment, if a part lies in one.
    pub(crate) sections: Option<Sections>,
}

#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) row: i64,
    pub(crate) id: ModelId,
    pub(crate) vectors: Vectors,
}

impl Texts {
    /// Returns whether damage was found in a segment since it was opened.
    pub fn is_damaged(&self) -> bool {
        self.sections.as_ref().is_some_and(Sections::is_damaged)
    }

    /// Gives the memory of the segment back to the system.
    pub(crate) fn release(&self) {
        if let Some(sections) = &self.sections {
            sections.release();
        }
    }

    /// Makes a model known. Its row never means another one.
    pub fn add_model(&mut self, row: i64, id: ModelId) {
        if self.models.iter().all(|model| model.row != row) {
            self.models.push(Model {
                row,
                id,
                vectors: Vectors::default(),
            });
        }
    }

    /// Puts a passage into a free slot.
    pub fn insert(&mut self, slot: u32, passage: StoredPassage<'_>) {
        self.postings.insert(slot, passage.terms);
        for vector in passage.vectors {
            let Some(model) = self
                .models
                .iter_mut()
                .find(|model| model.row == vector.model)
            else {
                continue;
            };
            if model.vectors.is_empty() {
                model.vectors = Vectors::new(vector.values.len());
            }
            model.vectors.set(slot, vector.scale, vector.values);
        }
    }

    /// Takes the vectors of a slot that is dead now; its words stay until a purge.
    pub(crate) fn clear(&mut self, slot: u32) {
        self.models
            .iter_mut()
            .for_each(|model| model.vectors.clear(slot));
    }

    /// Gives back what models without vectors hold.
    pub(crate) fn release_empty(&mut self) {
        for model in self
            .models
            .iter_mut()
            .filter(|model| model.vectors.is_empty())
        {
            model.vectors = Vectors::default();
        }
    }

    /// The vectors that a query can be compared with, and the place of their model.
    pub(crate) fn comparable(&self, query: &QueryVector) -> Option<(usize, &Vectors)> {
        let place = self
            .models
            .iter()
            .position(|model| model.id == query.model)?;
        let vectors = &self.models[place].vectors;
        (vectors.dimensions() == query.values.len()).then_some((place, vectors))
    }

    /// Gives back memory that growing has reserved, after a load.
    pub fn shrink(&mut self) {
        self.postings.shrink();
        self.models
            .iter_mut()
            .for_each(|model| model.vectors.shrink());
    }

    pub(crate) fn bytes(&self) -> usize {
        self.postings.bytes()
            + self
                .models
                .iter()
                .map(|model| model.vectors.bytes())
                .sum::<usize>()
    }
}
