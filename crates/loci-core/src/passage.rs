//! The index data of a memory: passages, their terms and their vectors.

use std::ops::Range;

use crate::ModelId;

/// One passage of a memory's content in the index. Callers never see passages; they get the whole
/// record.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// The byte range of the content that it covers.
    pub range: Range<usize>,
    /// Its analysed terms, without duplicates, with their counts.
    pub terms: Vec<Term>,
    /// Its embedding; `None` until it has been embedded.
    pub vector: Option<Vector>,
}

/// An analysed term of a passage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// The term, folded and stemmed.
    pub text: String,
    /// The number of occurrences in the passage. A count of 0 denotes a mark, which a query can
    /// look up and which affects neither score nor length.
    pub count: u32,
}

/// A unit vector quantised to eight bits: component `i` is `values[i] * scale`.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector {
    /// The model that made it. Vectors of different models are never compared.
    pub model: ModelId,
    /// The quantisation step.
    pub scale: f32,
    /// The components.
    pub values: Vec<i8>,
}
