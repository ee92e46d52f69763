//! Times to live: a text is refused, or what is kept by it is over within the longest time there
//! is.

use crate::{call, engine, text};
use loci_core::{ErrorCode, limits::TTL_DAYS_MAX};
use serde_json::{Value, json};

pub(crate) fn run(data: &[u8]) {
    let Some(ttl) = text(data) else { return };
    let engine = engine();
    match call(
        &engine,
        "mememory",
        "remember",
        json!({"content": "a tide table", "ttl": ttl}),
    ) {
        Ok(record) => {
            // Nothing is the argument left out.
            if ttl.is_empty() {
                assert!(record["expires_at"].is_null(), "{record}");
                return;
            }
            let shown = record["ttl"]
                .as_str()
                .expect("a memory that ends says when");
            // The time that is shown is taken again and means the same.
            let second = call(
                &engine,
                "mememory",
                "remember",
                json!({"content": "another", "ttl": shown}),
            )
            .unwrap();
            assert_eq!(
                second["expires_at"], record["expires_at"],
                "{ttl:?} is shown as {shown:?}"
            );
        }
        Err(code) => assert_eq!(code, ErrorCode::InvalidArgument),
    }
    // Days as numbers of all kinds, and as texts.
    if let Ok(days) = serde_json::from_str::<Value>(ttl) {
        let arguments = json!({"user_id": "local", "key": "k", "value": "v", "ttl_days": days});
        let is_left_out = [json!(null), json!(""), json!([]), json!({})].contains(&days);
        if call(&engine, "memory-mcp", "store_decision", arguments).is_ok() && !is_left_out {
            let days = match days.as_str() {
                Some(text) => text.trim().parse().ok(),
                None => days.as_f64(),
            };
            let days = days.expect("a time to live is a number, or a text that holds one");
            assert!(days >= 1.0 && days <= TTL_DAYS_MAX as f64, "{days}");
        }
    }
}
