//! What the fuzz targets share: tools over a store of their own, in memory and without a model.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use loci_core::{Caller, ErrorCode, Store};
use loci_dialects::{Context, dialect};
use loci_engine::{Engine, SearchMode};
use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};
use serde_json::{Map, Value};

/// An engine over nothing, whose time stands still.
pub fn engine() -> Arc<Engine> {
    engine_over(Arc::new(NaiveStore::new()))
}

/// The same over a store.
pub fn engine_over(store: Arc<dyn Store>) -> Arc<Engine> {
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
pub fn call(
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
pub fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// A folder in memory, where the system has one, for the parsers that read files.
pub fn folder() -> tempfile::TempDir {
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
