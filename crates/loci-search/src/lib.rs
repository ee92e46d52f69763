//! Text analysis, passages, ranking, and the index structures: pure functions over slices, without
//! a clock, a disk or a runtime, so that every store ranks in the same way and tests need no setup.
//!
//! ```
//! use loci_search::analysis::query_terms;
//!
//! assert_eq!(query_terms("When are the kilns fired?"), ["kiln", "fire"]);
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test may panic"))]

pub mod analysis;
pub mod dates;
pub mod document;
pub mod excerpt;
pub mod fusion;
pub mod index;
pub mod indexed;
pub mod passages;
pub mod paths;
pub mod query;
pub mod statement;
