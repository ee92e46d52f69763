//! The built `loci` under kills, power cuts and failing disks: nothing that it acknowledged is
//! lost, nothing is half there, and the next start needs no repair. Linux alone hands over system
//! calls.
//!
//! `LOCI_CRASH_SECONDS` says how long each of the tests tries (10). What is drawn at random is
//! drawn from the same seed each time; `LOCI_CRASH_SEED=$RANDOM just crash` draws from another, and
//! each test prints which, to be given again. Which call meets which instant depends on the machine
//! all the same; and `LOCI_FAULTS=all` has every operation of the scenario fail in every way,
//! however long that takes, `LOCI_FAULTS=s` only every flush (the kinds of `Fault`), and
//! `LOCI_FAULT` keeps to the cases whose names begin so: the one that a failure names, or with
//! `vault` all of one dialect.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that fails may panic, and says how much it tried"
)]

mod faults;
mod kills;
mod observe;
mod place;
mod power;
mod run;
#[path = "../it/scratch.rs"]
mod scratch;
