//! The tool sets ("dialects") through which agents use the memory server.
//!
//! A dialect translates arguments into one operation of the engine, and the result into a reply. It
//! implements no logic of its own, imports no other dialect, and is independent of the protocol.
//! Each tool is one file; a dialect's `mod.rs` lists its tools.
//!
//! ```
//! use loci_dialects::DIALECTS;
//!
//! let names: Vec<&str> = DIALECTS.iter().map(|dialect| dialect.name).collect();
//! assert!(names.contains(&"mempalace"));
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test may panic"))]

mod answers;
pub mod anthropic;
pub mod apps;
pub mod engram;
mod faults;
mod forgetting;
mod hints;
mod lenient;
pub mod mememory;
pub mod memory_mcp;
pub mod mempalace;
pub mod openai;
mod overview;
mod past;
pub mod questions;
pub mod reference;
mod schema;
mod tool;
pub mod vault;
mod violations;
mod window;
mod wire;

pub use hints::Hints;
pub use tool::{
    Complete, Context, Dialect, RaisedQuestion, Reply, Resource, Resources, Tool, TypedTool,
    UsualTools, bootstrap_command,
};
pub use wire::{explained, ttl_seconds};

/// Every dialect, in the order of the documentation.
pub static DIALECTS: &[&Dialect] = &[
    &vault::DIALECT,
    &mememory::DIALECT,
    &memory_mcp::DIALECT,
    &engram::DIALECT,
    &mempalace::DIALECT,
    &reference::DIALECT,
    &anthropic::DIALECT,
    &openai::DIALECT,
];

/// Returns the dialect with that name.
pub fn dialect(name: &str) -> Option<&'static Dialect> {
    DIALECTS
        .iter()
        .copied()
        .find(|dialect| dialect.name == name)
}
