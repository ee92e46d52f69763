//! The content of a text: its terms, passages, dates, statements, kind and instructions. Pure functions
//! over strings, without a clock, a disk or a runtime, because every store and the engine must read
//! a text in the same way.
//!
//! ```
//! use loci_text::analysis::query_terms;
//!
//! assert_eq!(query_terms("When are the kilns fired?"), ["kiln", "fire"]);
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test may panic"))]

pub mod analysis;
pub mod contradiction;
pub mod dates;
pub mod document;
pub mod enrichment;
pub mod excerpt;
pub mod indexed;
pub mod passages;
pub mod paths;
pub mod prompt_injection;
pub mod query;
pub mod sentences;
pub mod statement;
