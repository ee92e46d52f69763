//! Tests of filing over the naive store.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

mod machines;
