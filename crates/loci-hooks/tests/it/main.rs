//! Tests of the events of hosts over the naive store.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

mod wings;
