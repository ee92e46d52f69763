//! The dialects' tests. Cases are files under `cases/`; `case.rs` says what one may hold.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

mod case;
mod cases;
mod folder;
mod matching;
mod schemas;
mod wake_up;
