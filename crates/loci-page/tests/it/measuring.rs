//! Figures for monitoring.

use std::sync::Arc;

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt;
use loci_dialects::{Context, mememory};
use loci_engine::{Engine, SearchMode};
use loci_page::Metrics;
use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};
use serde_json::json;
use tower::ServiceExt;

use crate::support::caller;

#[tokio::test]
async fn calls_and_their_parts_are_counted_by_their_outcome() {
    let metrics = Metrics::new().unwrap();
    let engine = Engine::new(
        Arc::new(NaiveStore::new()),
        Arc::new(HashingEmbedder::default()),
        Arc::new(FixedClock::default()),
        SearchMode::Hybrid,
    );
    let engine = Arc::new(engine.with_observer(metrics.observer()));
    let caller = caller("ann");
    let context = Context {
        engine: &engine,
        caller: &caller,
    };
    let dialect = &mememory::DIALECT;
    let remember = dialect.tool("remember").unwrap();
    for arguments in [
        json!({"content": "one"}),
        json!({"content": "two"}),
        json!({"wrong": 1}),
    ] {
        let arguments = arguments.as_object().unwrap().clone();
        let _ = dialect.call(remember, context, arguments);
    }
    let request = Request::get("/metrics").body(Body::empty()).unwrap();
    let reply = metrics.router(&engine).oneshot(request).await.unwrap();
    let text = reply.into_body().collect().await.unwrap().to_bytes();
    let text = String::from_utf8(text.to_vec()).unwrap();
    let of = |outcome| {
        format!(
            "loci_call_duration_seconds_count{{dialect=\"mememory\",outcome=\"{outcome}\",tool=\"remember\"}}"
        )
    };
    for line in [
        format!("{} 2", of("ok")),
        format!("{} 1", of("invalid_argument")),
        "loci_memories 2".to_owned(),
        "loci_embedded_texts_total{texts=\"passages\"} 2".to_owned(),
        "loci_embedding_duration_seconds_count{outcome=\"ok\",texts=\"passages\"} 2".to_owned(),
        "loci_store_operation_duration_seconds_count{operation=\"commit\",outcome=\"ok\"} 2"
            .to_owned(),
        "loci_index_loads_total{outcome=\"file\"} 0".to_owned(),
        "loci_sweep_steps_total 0".to_owned(),
        "loci_store_up 1".to_owned(),
    ] {
        assert!(text.contains(&line), "{line}: {text}");
    }
}
