//! The built `loci-bench`, as a user runs it.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

mod bench;
#[path = "../../../loci/tests/it/program.rs"]
#[allow(dead_code, reason = "the tests of loci use the rest")]
mod program;
#[path = "../../../loci/tests/it/scratch.rs"]
mod scratch;

/// The program that the tests start.
const PROGRAM: &str = env!("CARGO_BIN_EXE_loci-bench");
