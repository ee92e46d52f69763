//! The parts of an index: postings scored by BM25, quantised vectors, and the choice of the best.
//! They know slots (small numbers for passages) and nothing of memories or filters; a store maps
//! its records to slots and says which slots count. What they hold lies in memory, or in a segment,
//! which is a file that many processes map, with what changed since in memory.

mod bits;
mod kernel;
mod postings;
pub mod segment;
mod sketch;
mod top;
mod vectors;

pub use bits::Bits;
pub use kernel::Instructions;
pub use postings::{Admitted, Postings, Statistics, WordQuery, bm25};
pub use top::top;
pub use vectors::Vectors;
