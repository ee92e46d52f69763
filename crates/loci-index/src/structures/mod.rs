//! The parts of an index: postings scored by BM25, quantised vectors, and the selection of the
//! best. They use slots (small numbers for passages) and do not depend on memories or filters; a
//! store maps its records to slots and decides which slots count. Their data is in memory, or in a
//! segment, which is a file that many processes map, with later changes in memory.

mod bits;
mod kernel;
mod postings;
pub mod segment;
mod sketch;
mod top;
mod vectors;

pub use bits::Bits;
pub use kernel::Instructions;
pub use postings::{AdmittedSlots, Postings, Statistics, WordQuery, bm25};
pub use top::top;
pub use vectors::Vectors;
