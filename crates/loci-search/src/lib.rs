//! Text analysis, passages, ranking, and the index structures: pure functions over slices, with
//! no clock, no disk and no runtime, so that every store ranks alike and a test needs nothing.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test may panic"))]

pub mod analysis;
pub mod dates;
pub mod document;
pub mod excerpt;
pub mod fusion;
pub mod index;
pub mod passages;
pub mod paths;
pub mod query;
pub mod statement;
