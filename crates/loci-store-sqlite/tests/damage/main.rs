//! Any page and any file zeroed, cut off or with flipped bits: it is noticed, and the rest can be
//! read.
//!
//! Each damage is tried in a copy of one database, which has something in every table. These
//! promises must hold:
//!
//! - Opening, or the integrity check, names a problem; or else all that the store hands out is as
//!   it was.
//! - Salvage hands out nothing that was not there, changed nothing, and leaves out nothing of the
//!   pages that are whole.
//!
//! `LOCI_DAMAGES=all` tries several times as much as a test run has time for.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a failed test may panic, and says how much it tried"
)]

mod content;
mod database;
mod encrypted;
mod log;
mod misled;
mod trial;

/// Returns whether to try everything.
fn is_complete() -> bool {
    std::env::var("LOCI_DAMAGES").is_ok_and(|which| which == "all")
}

/// A folder in memory, where there is one: nothing here has to outlive a power cut, and flushing
/// takes its time.
fn new_folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}
