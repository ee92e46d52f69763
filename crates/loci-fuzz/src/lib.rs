//! Promises that hold for any bytes: each target takes an input, and panics if it breaks a promise.
//!
//! `just fuzz` draws inputs by what they reach in the code (`fuzz`); the tests of this crate run
//! the seeds and their simple changes.

#![allow(clippy::unwrap_used, reason = "a broken promise panics")]

mod archives;
mod cursor;
mod frontmatter;
mod messages;
mod orders;
mod pages;
mod patterns;
mod peers;
mod periods;
mod pickles;
mod query;
mod searches;
mod sections;
mod settings;
mod transcripts;
mod ttl;

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use loci_core::{Caller, ErrorCode, Store};
use loci_dialects::{Context, dialect};
use loci_engine::{Engine, SearchMode};
use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};
use serde_json::{Map, Value};

/// The name of a target, and the target. It panics if a promise does not hold for its input.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[
    ("archives", archives::run),
    ("cursor", cursor::run),
    ("frontmatter", frontmatter::run),
    ("messages", messages::run),
    ("orders", orders::run),
    ("pages", pages::run),
    ("patterns", patterns::run),
    ("peers", peers::run),
    ("periods", periods::run),
    ("pickles", pickles::run),
    ("query", query::run),
    ("searches", searches::run),
    ("sections", sections::run),
    ("settings", settings::run),
    ("transcripts", transcripts::run),
    ("ttl", ttl::run),
];

/// An engine over nothing, whose time stands still.
fn engine() -> Arc<Engine> {
    engine_over(Arc::new(NaiveStore::new()))
}

/// The same over a store.
fn engine_over(store: Arc<dyn Store>) -> Arc<Engine> {
    let (embedder, clock) = (
        Arc::new(HashingEmbedder::default()),
        Arc::new(FixedClock::default()),
    );
    Arc::new(Engine::new(store, embedder, clock, SearchMode::Hybrid))
}

/// Calls a tool as the local user: its reply, or the code of its failure. That a failure is the
/// caller's and says something is part of every tool's promise.
///
/// # Panics
/// If it fails by a fault of loci's own.
fn call(
    engine: &Engine,
    dialect_name: &str,
    tool: &str,
    arguments: Value,
) -> Result<Value, ErrorCode> {
    let dialect = dialect(dialect_name).expect("the dialect is there");
    let tool = dialect.tool(tool).expect("the tool is there");
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object")
    };
    let caller = Caller::local();
    let arguments: Map<String, Value> = arguments;
    match dialect.call(
        tool,
        Context {
            engine,
            caller: &caller,
        },
        arguments,
    ) {
        Ok(reply) => Ok(reply.structured),
        Err(error) => {
            assert_ne!(error.code, ErrorCode::Internal, "{}", error.message);
            assert!(!error.message.is_empty());
            Err(error.code)
        }
    }
}

/// The bytes as text, if they are.
fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// A folder in memory, where the system has one, for the parsers that read files.
fn folder() -> tempfile::TempDir {
    static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
        let memory = PathBuf::from("/dev/shm");
        if memory.is_dir() {
            memory
        } else {
            std::env::temp_dir()
        }
    });
    tempfile::tempdir_in(&*ROOT).expect("there is room for a folder")
}
