//! Batches, which only revision 2025-03-26 has.

use std::collections::BTreeMap;

use loci_server::Authentication;
use serde_json::{Value, json};

use crate::support::{DIALECT, LEGACY, Pipe, Server, World, call, initialize, request};

fn batch() -> Value {
    json!([
        request(1, "tools/call", call("numbers", json!({}))),
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}},
        {"jsonrpc": "2.0", "id": 2},
        request(3, "no/such", json!({})),
        initialize(4, "2025-03-26"),
        request(5, "ping", json!({})),
    ])
}

fn check(replies: &Value) {
    let by_id: BTreeMap<u64, &Value> = replies
        .as_array()
        .unwrap()
        .iter()
        .map(|reply| (reply["id"].as_u64().unwrap(), reply))
        .collect();
    assert_eq!(by_id.keys().copied().collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!(
        by_id[&1]["result"]["structuredContent"],
        json!({"result": [1, 2, 3]})
    );
    assert_eq!(by_id[&2]["error"]["code"], -32600);
    assert_eq!(by_id[&3]["error"]["code"], -32601);
    assert_eq!(by_id[&4]["error"]["code"], -32600);
    assert_eq!(by_id[&5]["result"], json!({}));
}

#[tokio::test]
async fn a_pipe_serves_them_in_their_revision() {
    let world = World::new();
    let mut pipe = Pipe::open(&world, &DIALECT, "2025-03-26").await;
    check(&pipe.ask(&batch()).await);
    pipe.send(&json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]))
        .await;
    let faulty = pipe.ask(&json!([1, {"jsonrpc": "2.0", "id": 9}])).await;
    assert_eq!(faulty.as_array().unwrap().len(), 2);
    assert!(pipe.close().await.is_empty());
    for version in LEGACY
        .into_iter()
        .filter(|version| *version != "2025-03-26")
    {
        let mut pipe = Pipe::open(&world, &DIALECT, version).await;
        let refused = pipe.ask(&batch()).await;
        assert_eq!(
            (&refused["id"], &refused["error"]["code"]),
            (&Value::Null, &json!(-32600))
        );
        assert!(
            refused["error"]["message"]
                .as_str()
                .unwrap()
                .contains("2025-03-26")
        );
    }
}

#[tokio::test]
async fn one_id_twice_in_a_batch_is_an_error_for_the_second() {
    let mut pipe = Pipe::open(&World::new(), &DIALECT, "2025-03-26").await;
    let twice = json!([request(1, "ping", json!({})), request(1, "ping", json!({}))]);
    let replies = pipe.ask(&twice).await;
    let errors = replies
        .as_array()
        .unwrap()
        .iter()
        .filter(|reply| reply["error"]["code"] == -32600)
        .count();
    assert_eq!((replies.as_array().unwrap().len(), errors), (2, 1));
}

#[tokio::test]
async fn http_serves_them_in_their_revision() {
    let server = Server::start(&World::new(), Authentication::Anonymous).await;
    let body = batch().to_string();
    for headers in [&[][..], &[("mcp-protocol-version", "2025-03-26")]] {
        let reply = server.post(headers, body.as_bytes()).await;
        assert_eq!(reply.status, 200);
        check(&reply.json());
    }
    for version in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        let reply = server
            .post(&[("mcp-protocol-version", version)], body.as_bytes())
            .await;
        assert_eq!(
            (reply.status, &reply.json()["error"]["code"]),
            (400, &json!(-32600))
        );
    }
    let notifications =
        json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]).to_string();
    assert_eq!(server.post(&[], notifications.as_bytes()).await.status, 202);
    let foreign = server
        .post(&[("origin", "https://elsewhere.example")], body.as_bytes())
        .await;
    assert_eq!(foreign.status, 403);
}

#[tokio::test]
async fn over_http_a_batch_has_the_replies_that_its_messages_would_have_alone() {
    let server = Server::start(&World::new(), Authentication::Anonymous).await;
    let messages = [
        request(1, "tools/call", call("numbers", json!({}))),
        request(2, "ping", json!({})),
        request(3, "no/such", json!({})),
    ];
    let mut alone = Vec::new();
    for message in &messages {
        let reply = server.post(&[], message.to_string().as_bytes()).await;
        alone.push(reply.body);
    }
    let batch = server
        .post(&[], json!(messages).to_string().as_bytes())
        .await;
    assert_eq!(batch.headers["content-type"], "application/json");
    assert_eq!(batch.body, format!("[{}]", alone.join(",")));
}
