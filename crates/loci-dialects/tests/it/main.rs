//! Tests of the dialects. Cases are files under `cases/`; `case/mod.rs` documents their format.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

mod apps;
mod audit;
mod authors;
mod case;
mod cases;
mod explanations;
#[path = "../../../loci-engine/tests/it/faulty_store.rs"]
mod faulty_store;
mod identifiers;
mod not_found;
mod overviews;
mod questions;
mod round_trips;
mod schemas;
#[cfg(unix)]
mod stores;
mod wake_up;
