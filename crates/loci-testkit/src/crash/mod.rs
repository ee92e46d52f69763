//! Tests of crashes: kills the program that writes into a folder, cuts the power, or makes the disk
//! fail.
//!
//! [`DiskLibrary`] is a C library that is preloaded into the program: it records every operation on
//! the files of a folder in order, with the program's output on stdout, kills it at a chosen
//! operation, or lets operations fail. [`Disk`] replays a log and builds the folder as a power cut
//! could have left it. [`Agent`] is a child process that speaks MCP over stdio; [`Ledger`]
//! generates random calls for it and knows the state that must, may and must not result.

mod agent;
mod calls;
mod disk;
mod ledger;
mod log;
mod power;
mod small_sets;
#[cfg(test)]
mod tests;

pub use agent::{Agent, Event};
pub use disk::{Action, DiskLibrary, Fault};
pub use ledger::{Call, Found, Ledger, Seen, Thing, ThingKind, text, version_of};
pub use log::{Operation, OperationKind, read_log};
pub use power::{Disk, Survivors};
