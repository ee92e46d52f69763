//! The parts of an index in memory: postings scored by BM25, quantised vectors, and the choice of
//! the best. They know slots (small numbers for passages) and nothing of memories, filters or
//! files; a store maps its records to slots and says which slots count.

mod bits;
mod kernel;
mod postings;
mod sketch;
mod top;
mod vectors;

pub use bits::Bits;
pub use kernel::Instructions;
pub use postings::{Admitted, Postings, Statistics, WordQuery, bm25};
pub use top::top;
pub use vectors::Vectors;
