//! Bytes that are not a valid message: each gets an error reply, and the server continues.

use loci_core::limits::REQUEST_BYTES_MAX;
use loci_server::Authentication;
use serde_json::{Value, json};

use crate::support::{DIALECT, Pipe, Server, World, call, modern, request};

/// Lines with the code of the reply, and whether the id 7 can still be read.
fn rows() -> Vec<(&'static str, Vec<u8>, i64, bool)> {
    let nested = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}{}}}"#,
        "[".repeat(20_000),
        "]".repeat(19_999)
    );
    let objects = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}1{}}}"#,
        r#"{"a":"#.repeat(20_000),
        "}".repeat(19_999)
    );
    vec![
        ("no JSON", b"hello".to_vec(), -32700, false),
        (
            "no UTF-8",
            b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\",\"params\":{\"a\":\"\xff\"}".to_vec(),
            -32700,
            true,
        ),
        (
            "a word",
            br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":tea}}}"#
                .to_vec(),
            -32700,
            true,
        ),
        ("nested arrays", nested.into_bytes(), -32700, true),
        ("nested objects", objects.into_bytes(), -32700, true),
        ("broken off", br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"#.to_vec(), -32700, true),
        ("no version", br#"{"id":7,"method":"tools/list"}"#.to_vec(), -32600, true),
        ("no method", br#"{"jsonrpc":"2.0","id":7}"#.to_vec(), -32600, true),
        ("a number", b"42".to_vec(), -32600, false),
        ("null as id", br#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#.to_vec(), -32600, false),
        ("NUL", b"\0\0\0".to_vec(), -32700, false),
        ("a batch", br#"[{"jsonrpc":"2.0","id":7,"method":"tools/list"}]"#.to_vec(), -32600, false),
        ("an empty batch", b"[]".to_vec(), -32600, false),
    ]
}

fn check(name: &str, reply: &Value, code: i64, has_id: bool) {
    assert_eq!(reply["error"]["code"], code, "{name}: {reply}");
    assert_eq!(
        reply.get("id"),
        Some(&if has_id { json!(7) } else { Value::Null }),
        "{name}"
    );
    assert_eq!(reply["jsonrpc"], "2.0");
    assert!(!reply["error"]["message"].as_str().unwrap().is_empty());
}

#[tokio::test]
async fn a_pipe_answers_every_faulty_line() {
    let mut pipe = Pipe::open(&World::new(), &DIALECT, "2025-11-25").await;
    for (name, line, code, has_id) in rows() {
        pipe.send_bytes(&line).await;
        check(name, &pipe.next().await, code, has_id);
        let next = pipe
            .request(8, "tools/call", call("numbers", json!({})))
            .await;
        assert_eq!(next["result"]["isError"], false, "after {name}");
    }
    pipe.send_bytes(b"  ").await;
    assert!(pipe.close().await.is_empty());
}

#[tokio::test]
async fn a_pipe_answers_faulty_lines_before_the_handshake() {
    let mut pipe = Pipe::connect(&World::new(), &DIALECT);
    for (name, line, code, has_id) in rows() {
        pipe.send_bytes(&line).await;
        check(name, &pipe.next().await, code, has_id);
    }
    let served = pipe.ask(&modern(1, "server/discover", json!({}))).await;
    assert!(served["result"]["capabilities"].is_object());
}

#[tokio::test]
async fn http_answers_every_faulty_body() {
    let server = Server::start(&World::new(), Authentication::Anonymous).await;
    for (name, body, code, has_id) in rows() {
        let reply = server
            .post(&[("mcp-protocol-version", "2025-11-25")], &body)
            .await;
        assert_eq!(reply.status, 400, "{name}: {reply:?}");
        assert_eq!(reply.headers["content-type"], "application/json");
        check(name, &reply.json(), code, has_id);
    }
}

#[tokio::test]
async fn what_is_too_long_is_refused_and_the_next_message_served() {
    let world = World::new();
    let text = "x".repeat(REQUEST_BYTES_MAX);
    let message = request(7, "tools/call", call("echo", json!({"text": text}))).to_string();
    let mut pipe = Pipe::open(&world, &DIALECT, "2025-11-25").await;
    pipe.send_bytes(message.as_bytes()).await;
    check("too long", &pipe.next().await, -32600, true);
    let next = pipe
        .request(8, "tools/call", call("numbers", json!({})))
        .await;
    assert_eq!(next["result"]["isError"], false);

    let server = Server::start(&world, Authentication::Anonymous).await;
    let reply = server.post(&[], message.as_bytes()).await;
    assert_eq!(reply.status, 413);
    check("too long", &reply.json(), -32600, true);
}

#[tokio::test]
async fn a_message_just_within_the_limit_is_served() {
    let world = World::new();
    let frame = request(1, "tools/call", call("echo", json!({"text": ""})))
        .to_string()
        .len();
    let message = request(
        1,
        "tools/call",
        call(
            "echo",
            json!({"text": "x".repeat(REQUEST_BYTES_MAX - frame)}),
        ),
    );
    let message = message.to_string();
    assert_eq!(message.len(), REQUEST_BYTES_MAX);
    let mut pipe = Pipe::open(&world, &DIALECT, "2025-11-25").await;
    pipe.send_bytes(message.as_bytes()).await;
    assert_eq!(pipe.next().await["result"]["isError"], false);
    let server = Server::start(&world, Authentication::Anonymous).await;
    assert_eq!(server.post(&[], message.as_bytes()).await.status, 200);
}

#[tokio::test]
async fn an_integer_id_that_is_too_large_is_echoed_and_said_to_be() {
    let world = World::new();
    let message = request(1 << 63, "tools/list", json!({})).to_string();
    let mut pipe = Pipe::open(&world, &DIALECT, "2025-11-25").await;
    pipe.send_bytes(message.as_bytes()).await;
    let server = Server::start(&world, Authentication::Anonymous).await;
    let over_http = server.post(&[], message.as_bytes()).await;
    assert_eq!(over_http.status, 400);
    for reply in [pipe.next().await, over_http.json()] {
        assert_eq!(
            (&reply["id"], &reply["error"]["code"]),
            (&json!(1_u64 << 63), &json!(-32600))
        );
        assert!(
            reply["error"]["message"]
                .as_str()
                .unwrap()
                .contains("9223372036854775807"),
            "{reply}"
        );
    }
    let largest = pipe
        .request(i64::MAX.unsigned_abs(), "ping", json!({}))
        .await;
    assert_eq!(
        (&largest["id"], &largest["result"]),
        (&json!(i64::MAX), &json!({}))
    );
}

#[tokio::test]
async fn an_id_in_flight_is_not_taken_twice() {
    let mut pipe = Pipe::open(&World::new(), &DIALECT, "2025-11-25").await;
    let listen = modern(
        5,
        "subscriptions/listen",
        json!({"notifications": {"resourceSubscriptions": ["test://about"]}}),
    );
    let acknowledged = pipe.ask(&listen).await;
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
    let refused = pipe.request(5, "tools/list", json!({})).await;
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&json!(5), &json!(-32600))
    );
}
