//! Times of the knowledge graph: refused, or a fact that starts then holds then.

use crate::{call, engine, text};
use loci_core::ErrorCode;
use serde_json::json;

pub(crate) fn run(data: &[u8]) {
    let Some(times) = text(data) else { return };
    let (from, to) = times.split_once('\n').unwrap_or((times, times));
    let engine = engine();
    let fact = json!({"subject": "crane", "predicate": "stands_in", "object": "harbour", "valid_from": from});
    match call(&engine, "mempalace", "mempalace_kg_add", fact) {
        Ok(_) => {
            let query = json!({"entity": "crane", "as_of": from});
            let found = call(&engine, "mempalace", "mempalace_kg_query", query)
                .expect("a time that was taken is one");
            assert_eq!(found["count"], 1, "{from:?}");
            let ended = json!({"subject": "crane", "predicate": "stands_in", "object": "harbour", "ended": to});
            if call(&engine, "mempalace", "mempalace_kg_invalidate", ended).is_ok() {
                let query = json!({"entity": "crane", "as_of": from});
                let still = call(&engine, "mempalace", "mempalace_kg_query", query).unwrap();
                assert_eq!(
                    still["count"], 1,
                    "a fact holds from {from:?} to {to:?}, both included"
                );
            }
        }
        Err(code) => {
            assert_eq!(code, ErrorCode::InvalidArgument);
            let query = json!({"entity": "crane", "as_of": from});
            assert_eq!(
                call(&engine, "mempalace", "mempalace_kg_query", query).unwrap_err(),
                code,
                "{from:?}"
            );
        }
    }
}
