//! The built `loci`, as a person uses it: arguments in, exit code and output out.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

mod audit;
mod bench;
mod commands;
mod faults;
mod import;
mod program;
mod reference;
mod servers;
mod settings;
