//! What becomes of a folder when the program that writes into it is killed, the power goes, or the
//! disk fails.
//!
//! [`DiskLibrary`] is a library in C that is preloaded into the program: it records every operation
//! on the files of a folder in the order in which they happened, with what the program said on
//! stdout, kills it at a chosen operation, or lets operations fail. [`Disk`] plays a record back
//! and builds the folder as a power cut could have left it. [`Agent`] is a program that speaks MCP
//! over stdio, [`Ledger`] makes up random calls for it and knows what must, may and must not be
//! there.

mod agent;
mod calls;
mod disk;
mod ledger;
mod log;
mod power;
#[cfg(test)]
mod tests;

pub use agent::{Agent, Event};
pub use disk::{Action, DiskLibrary, Fault};
pub use ledger::{Call, Found, Ledger, Seen, Thing, ThingKind, text, version_of};
pub use log::{Operation, OperationKind, read_log};
pub use power::{Disk, Survivors};
