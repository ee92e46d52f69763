//! Regular expressions of `cache_invalidate`: refused or run, in bounded time, and what is removed
//! matches.

use crate::{call, engine, text};
use loci_core::ErrorCode;
use serde_json::json;

pub(crate) fn run(data: &[u8]) {
    let Some(pattern) = text(data) else { return };
    let engine = engine();
    let cached = [
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!",
        "When does the ferry leave?",
        "\u{10ffff}é",
    ];
    for query in cached {
        let entry = json!({"user_id": "local", "query": query, "response": "soon"});
        call(&engine, "memory-mcp", "store_cache", entry).unwrap();
    }
    let arguments = json!({"user_id": "local", "pattern": pattern});
    match call(&engine, "memory-mcp", "cache_invalidate", arguments.clone()) {
        Ok(reply) => {
            assert!(
                reply["deleted_count"]
                    .as_u64()
                    .is_some_and(|deleted| deleted <= 3),
                "{reply}"
            );
            let again = call(&engine, "memory-mcp", "cache_invalidate", arguments).unwrap();
            assert_eq!(again["deleted_count"], 0, "what matched is gone");
        }
        Err(code) => assert_eq!(code, ErrorCode::InvalidArgument),
    }
}
