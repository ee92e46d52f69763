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
                // A day belongs to the fact that ends on it, a moment to the one that starts then.
                let all = json!({"entity": "crane"});
                let all = call(&engine, "mempalace", "mempalace_kg_query", all).unwrap();
                let [starts, ends] = ["valid_from", "valid_to"].map(|name| &all["facts"][0][name]);
                let never_held =
                    starts == ends && starts.as_str().is_some_and(|at| at.contains('T'));
                assert_eq!(
                    still["count"],
                    u64::from(!never_held),
                    "a fact holds from {from:?} until {to:?}: {all}"
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
