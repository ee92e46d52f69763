//! Tests each limit that a client of the server can reach: a request at the limit is served, one
//! beyond it is refused with the reason. The limits of bodies are in `bad_input`, of rates in
//! `rate`, of connections in `connections`, of concurrent calls beside [`loci_server::Host`].

use std::time::Duration;

use loci_core::limits::{
    BATCH_REQUESTS_MAX, CALL_SECONDS_MAX, REPLY_TEXT_BYTES_MAX, REQUEST_HEAD_BYTES_MAX,
    REQUEST_HEADERS_MAX, REQUEST_NESTING_MAX, REQUEST_VALUES_MAX, SUBSCRIPTIONS_MAX,
    TOKEN_BYTES_MAX,
};
use loci_server::Authentication;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Gate, Server, World, call, request, with_issuer};

/// A limit, a message within it, one beyond it, and the error code of the latter.
type Row = (&'static str, String, String, i64);

/// Returns the status of a request with that head, which ends with its last header.
async fn status(server: &Server, head: &str) -> u16 {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    // A server that refuses early need not read the whole request.
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(b"\r\n").await;
    let mut reply = Vec::new();
    let _ = stream.read_to_end(&mut reply).await;
    String::from_utf8_lossy(&reply)
        .split(' ')
        .nth(1)
        .unwrap_or("0")
        .parse()
        .unwrap()
}

#[tokio::test]
async fn heads() {
    let server = Server::start(&World::new(), Authentication::Anonymous).await;
    let usual = format!("host: {}\r\nconnection: close\r\n", server.address);
    let line = |path: &str| format!("GET {path} HTTP/1.1\r\n{usual}");
    let end = "\r\n".len();
    for (beyond, expected) in [(0, 200), (1, 431)] {
        let room = REQUEST_HEAD_BYTES_MAX + beyond - end;
        let padding = "x".repeat(room - line("/healthz").len() - "p: \r\n".len());
        assert_eq!(
            status(&server, &format!("{}p: {padding}\r\n", line("/healthz"))).await,
            expected,
            "headers"
        );
        let padding = "x".repeat(room - line("/healthz?").len());
        assert_eq!(
            status(&server, &line(&format!("/healthz?{padding}"))).await,
            expected,
            "path"
        );
        let more = "p: x\r\n".repeat(REQUEST_HEADERS_MAX - 2 + beyond);
        assert_eq!(
            status(&server, &format!("{}{more}", line("/healthz"))).await,
            expected,
            "number of headers"
        );
    }
}

#[tokio::test]
async fn tokens() {
    let (_, _, authentication) = with_issuer();
    let server = Server::start(&World::new(), authentication).await;
    for (beyond, words) in [(0, "unknown"), (1, "longer than")] {
        let token = format!("Bearer {}", "x".repeat(TOKEN_BYTES_MAX + beyond));
        let reply = server.post(&[("authorization", &token)], b"{}").await;
        assert!(
            reply.status == 401 && reply.body.contains(words),
            "{reply:?}"
        );
    }
}

/// Returns a message whose text nests this deep.
fn nested(levels: usize) -> String {
    // The message, its parameters and the arguments are three of the levels.
    let list = format!("{}{}", "[".repeat(levels - 3), "]".repeat(levels - 3));
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"numbers","arguments":{{"a":{list}}}}}}}"#
    )
}

/// Returns a message of this many values.
fn wide(values: usize) -> String {
    let list = vec!["0"; values - 15].join(",");
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"numbers","arguments":{{"a":[{list}]}}}}}}"#
    )
}

#[tokio::test]
async fn messages() {
    let server = Server::start(&World::new(), Authentication::Anonymous).await;
    let ping = request(1, "ping", json!({})).to_string();
    let batch = |count: usize| format!("[{}]", vec![ping.as_str(); count].join(","));
    let long = |bytes: usize| {
        request(
            1,
            "tools/call",
            call("long", json!({"name": "limit", "bytes": bytes})),
        )
        .to_string()
    };
    let code = |reply: &Value| reply["error"]["code"].as_i64();
    // A value that is nested deeper is read as a text.
    for depth in [REQUEST_NESTING_MAX - 1, REQUEST_NESTING_MAX] {
        let served = server.post(&[], nested(depth).as_bytes()).await;
        assert_eq!(
            (served.status, code(&served.json())),
            (200, None),
            "{depth}"
        );
    }
    let rows: [Row; 2] = [
        (
            "values",
            wide(REQUEST_VALUES_MAX),
            wide(REQUEST_VALUES_MAX + 1),
            -32600,
        ),
        (
            "batch",
            batch(BATCH_REQUESTS_MAX),
            batch(BATCH_REQUESTS_MAX + 1),
            -32600,
        ),
    ];
    for (limit, within, beyond, expected) in rows {
        let served = server.post(&[], within.as_bytes()).await;
        assert!(
            served.status == 200 && code(&served.json()).is_none(),
            "{limit}: {served:?}"
        );
        let refused = server.post(&[], beyond.as_bytes()).await;
        assert_eq!(
            (refused.status, code(&refused.json())),
            (400, Some(expected)),
            "{limit}: {refused:?}"
        );
    }
    for (bytes, is_error) in [
        (REPLY_TEXT_BYTES_MAX, false),
        (REPLY_TEXT_BYTES_MAX + 1, true),
    ] {
        let reply = server.post(&[], long(bytes).as_bytes()).await.json();
        assert_eq!(reply["result"]["isError"], is_error);
        let told = &reply["result"]["_meta"]["loci/error"]["code"];
        assert_eq!(told == "too_large", is_error);
    }
}

#[tokio::test]
async fn subscriptions() {
    let server = Server::start(&World::new(), Authentication::Anonymous).await;
    let about = json!({"notifications": {"resourceSubscriptions": ["test://about"]}});
    let mut open = Vec::new();
    for _ in 0..SUBSCRIPTIONS_MAX {
        let mut stream = server.listen(&[], about.clone()).await;
        stream.next().await.unwrap();
        open.push(stream);
    }
    let mut refused = server.listen(&[], about.clone()).await;
    let mut last = refused.next().await.unwrap();
    while last["error"].is_null() {
        last = refused.next().await.expect("a refusal before the end");
    }
    assert!(
        last["error"]["message"]
            .as_str()
            .unwrap()
            .contains(&SUBSCRIPTIONS_MAX.to_string()),
        "{last}"
    );
    // A client that disconnects frees its slot, though not immediately.
    open.pop();
    loop {
        let mut stream = server.listen(&[], about.clone()).await;
        stream.next().await.unwrap();
        if tokio::time::timeout(Duration::from_millis(200), stream.next())
            .await
            .is_err()
        {
            break;
        }
    }
}

#[tokio::test]
async fn seconds_of_a_call() {
    let server = Server::start(&World::new(), Authentication::Anonymous).await;
    let mut gate = Gate::new("seconds");
    let waiting = server.begin_call("waits", json!({"gate": "seconds"})).await;
    gate.begun().await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(CALL_SECONDS_MAX + 1)).await;
    tokio::time::resume();
    let reply = waiting.rest().await.json();
    let result = &reply["result"];
    assert_eq!(
        result["_meta"]["loci/error"]["code"], "unavailable",
        "{reply}"
    );
    assert!(
        result["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("goes on in the background"),
        "{reply}"
    );
    gate.open();
}
