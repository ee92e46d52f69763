//! Tests of the files of hosts as a whole.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

mod links;
mod writes;
