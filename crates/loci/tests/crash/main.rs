//! The built `loci` under kills, power cuts and failing disks, and with a PostgreSQL server that dies
//! or whose connections are cut: no acknowledged write is lost, none is stored in part, and the next
//! start needs no repair. Only Linux lets a library intercept system calls.
//!
//! `LOCI_CRASH_SECONDS` is the duration of each test (10). Random choices come from the same seed
//! each time; `LOCI_CRASH_SEED=$RANDOM just crash` uses another one, and each test prints its seed,
//! to repeat it. The instant that a call hits still depends on the machine. `LOCI_FAULTS=all` makes
//! every operation of the scenario fail in every way, however long that takes, `LOCI_FAULTS=s` only
//! every flush (the kinds of `Fault`), and `LOCI_FAULT` selects the cases whose names start with
//! it: the one that a failure names, or with `vault` all of one dialect.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that fails may panic, and says how much it tried"
)]

mod cluster;
mod encrypting;
mod failover;
mod faults;
mod kills;
mod observe;
mod patroni;
mod place;
mod power;
mod proxy;
mod run;
#[path = "../it/scratch.rs"]
mod scratch;
