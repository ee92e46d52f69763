//! What the index keeps of a memory: passages, their terms and their vectors.

use std::ops::Range;

use crate::ModelId;

/// One stretch of a memory's content, as the index sees it. The whole record is always what is
/// returned; passages never reach a caller.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// Bytes of the content that it covers.
    pub range: Range<usize>,
    /// Its analysed terms, each once, with the number of times it occurs.
    pub terms: Vec<Term>,
    /// Its embedding; none until a model has read it.
    pub vector: Option<Vector>,
}

/// An analysed term of a passage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// The term, folded and stemmed.
    pub text: String,
    /// How often it occurs in the passage. 0: it is a mark, which a query may ask for by name and
    /// which adds nothing to any score or length.
    pub count: u32,
}

/// A unit vector quantised to eight bits: component `i` is `values[i] * scale`.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector {
    /// The model that made it. Vectors of two models are never compared.
    pub model: ModelId,
    /// What one step of the integers is worth.
    pub scale: f32,
    /// The components.
    pub values: Vec<i8>,
}
