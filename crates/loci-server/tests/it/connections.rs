//! Connection limits and eviction.

use std::time::Duration;

use loci_admission::usual_share;
use loci_core::limits::REPLY_CONTENT_BYTES_MAX;
use loci_server::{Authentication, HttpConfig};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::support::{Gate, Server, World, call, request, with_issuer};

async fn start(connections_max: usize) -> Server {
    let config = HttpConfig {
        connections_max,
        ..HttpConfig::new(Authentication::Anonymous)
    };
    Server::start_with(&World::new(), config).await
}

async fn connect(server: &Server, said: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(said).await.unwrap();
    stream
}

/// Returns a request on a connection that is kept open.
fn posted(server: &Server, more: &str, message: &serde_json::Value) -> Vec<u8> {
    let body = message.to_string();
    let head = format!(
        "POST /mcp/test HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n{more}content-length: {}\r\n\r\n",
        server.address,
        body.len()
    );
    (head + &body).into_bytes()
}

/// Reads until the words arrive.
async fn until(stream: &mut TcpStream, words: &str) {
    let mut said = Vec::new();
    while !String::from_utf8_lossy(&said).contains(words) {
        assert!(
            stream.read_buf(&mut said).await.unwrap() > 0,
            "{}",
            String::from_utf8_lossy(&said)
        );
    }
}

/// Waits until the server has closed the connection.
async fn closed(mut stream: TcpStream) {
    let end =
        tokio::time::timeout(Duration::from_mins(2), stream.read_to_end(&mut Vec::new())).await;
    let _ = end.expect("an end");
}

#[tokio::test]
async fn who_says_nothing_gives_way_and_who_is_served_does_not() {
    let server = start(5).await;
    let mut stream = server
        .listen(
            &[],
            json!({"notifications": {"resourceSubscriptions": ["test://about"]}}),
        )
        .await;
    assert!(stream.next().await.is_some());
    let mut gate = Gate::new("place");
    let waiting = server.begin_call("waits", json!({"gate": "place"})).await;
    gate.begun().await;
    let half = b"POST /mcp/test HTTP/1.1\r\nhost: lo";
    let mut silent = Vec::new();
    for said in [&b""[..], half, b"", half, b"", half, b"", half] {
        silent.push(connect(&server, said).await);
    }
    let ping = request(1, "ping", json!({})).to_string();
    for _ in 0..8 {
        assert_eq!(server.post(&[], ping.as_bytes()).await.status, 200);
    }
    for stream in silent {
        closed(stream).await;
    }
    gate.open();
    assert_eq!(waiting.rest().await.status, 200);
    let stopped = server.begin_to_stop();
    assert!(
        stream.next().await.unwrap()["result"].is_object(),
        "the subscription was cut"
    );
    stopped.await.unwrap();
}

#[tokio::test]
async fn strangers_give_way_before_those_we_know() {
    let (_, _, authentication) = with_issuer();
    let config = HttpConfig {
        connections_max: 2,
        ..HttpConfig::new(authentication)
    };
    let server = Server::start_with(&World::new(), config).await;
    let ping = request(1, "ping", json!({}));
    let ours = posted(&server, "authorization: Bearer secret-of-ann\r\n", &ping);
    let mut known = connect(&server, &ours).await;
    until(&mut known, r#""result""#).await;
    for _ in 0..3 {
        let mut stranger = connect(&server, &posted(&server, "", &ping)).await;
        until(&mut stranger, "unauthorized").await;
        let next = connect(&server, b"").await;
        closed(stranger).await;
        drop(next);
    }
    known.write_all(&ours).await.unwrap();
    until(&mut known, r#""result""#).await;
}

/// Returns a request that an unauthenticated client keeps under way: without a token and with a
/// body that never arrives.
fn half_a_request(server: &Server) -> Vec<u8> {
    let whole = posted(server, "", &request(1, "ping", json!({})));
    whole[..whole.len() - 5].to_vec()
}

#[tokio::test]
async fn strangers_with_requests_under_way_give_way_too() {
    let (_, _, authentication) = with_issuer();
    let config = HttpConfig {
        connections_max: 3,
        ..HttpConfig::new(authentication)
    };
    let server = Server::start_with(&World::new(), config).await;
    let ours = posted(
        &server,
        "authorization: Bearer secret-of-ann\r\n",
        &request(1, "ping", json!({})),
    );
    let mut known = connect(&server, &ours).await;
    until(&mut known, r#""result""#).await;
    let mut strangers = Vec::new();
    for _ in 0..4 {
        for _ in 0..4 {
            strangers.push(connect(&server, &half_a_request(&server)).await);
        }
        let mut new = connect(&server, &ours).await;
        until(&mut new, r#""result""#).await;
        known.write_all(&ours).await.unwrap();
        until(&mut known, r#""result""#).await;
    }
}

#[tokio::test]
async fn requests_under_way_of_one_subject_leave_places_for_others() {
    const PLACES: usize = 4;
    let (_, _, authentication) = with_issuer();
    let config = HttpConfig {
        connections_max: PLACES,
        ..HttpConfig::new(authentication)
    };
    let server = Server::start_with(&World::new(), config).await;
    let token = "authorization: Bearer secret-of-ann\r\n";
    let (mut gates, mut greedy) = (Vec::new(), Vec::new());
    for number in 0..PLACES {
        let name = format!("greedy {number}");
        let called = request(1, "tools/call", call("waits", json!({"gate": name})));
        gates.push(Gate::new(&name));
        greedy.push(connect(&server, &posted(&server, token, &called)).await);
        // The last one waits for the others, which hold the share of their subject.
        if number < usual_share(PLACES) {
            gates[number].begun().await;
        }
    }
    for _ in 0..3 {
        let token = "authorization: Bearer secret-of-reader\r\n";
        let ping = posted(&server, token, &request(2, "ping", json!({})));
        let mut other = connect(&server, &ping).await;
        let answered = tokio::time::timeout(Duration::from_mins(1), until(&mut other, "result"));
        answered.await.expect("a place");
    }
    closed(greedy.pop().unwrap()).await;
    for (gate, mut stream) in gates.iter().zip(greedy) {
        gate.open();
        until(&mut stream, r#""result""#).await;
    }
}

#[tokio::test]
async fn a_request_beyond_the_share_of_its_subject_is_served_after_others() {
    let server = start(4).await;
    let mut gates = Vec::new();
    let mut streams = Vec::new();
    for number in 0..4 {
        let name = format!("share {number}");
        gates.push(Gate::new(&name));
        streams.push(server.begin_call("waits", json!({"gate": name})).await);
        if number < usual_share(4) {
            gates[number].begun().await;
        }
    }
    for (gate, stream) in gates.iter().zip(streams) {
        gate.open();
        assert_eq!(stream.rest().await.status, 200);
    }
}

/// HTTP has all of the reply in its buffers, so that only the stream shows that it is unread.
#[tokio::test]
async fn who_reads_its_reply_slowly_is_served_to_the_end() {
    let (_, _, authentication) = with_issuer();
    // On a busy machine this test may take long while the client does not read.
    let write_timeout = Duration::from_mins(10);
    let config = HttpConfig {
        connections_max: 3,
        write_timeout,
        ..HttpConfig::new(authentication)
    };
    let server = Server::start_with(&World::new(), config).await;
    let token = "authorization: Bearer secret-of-ann\r\n";
    let arguments = json!({"name": "slowly", "bytes": REPLY_CONTENT_BYTES_MAX});
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4 << 10).unwrap();
    let mut slow = socket.connect(server.address).await.unwrap();
    slow.write_all(&posted(
        &server,
        token,
        &request(1, "tools/call", call("long", arguments)),
    ))
    .await
    .unwrap();
    until(&mut slow, "200 OK").await;
    let ping = posted(&server, token, &request(2, "ping", json!({})));
    let mut kept = Vec::new();
    for _ in 0..8 {
        // Each connection is authenticated, and then idle.
        let mut other = connect(&server, &ping).await;
        until(&mut other, r#""result""#).await;
        kept.push(other);
    }
    let mut read = 0;
    let mut buffer = vec![0; 1 << 20];
    while read < REPLY_CONTENT_BYTES_MAX {
        let more = slow.read(&mut buffer).await.unwrap();
        assert!(more > 0, "cut after {read} bytes");
        read += more;
    }
}

#[tokio::test]
async fn while_all_are_served_the_next_one_waits() {
    let server = start(1).await;
    let mut gate = Gate::new("only");
    let called = request(1, "tools/call", call("waits", json!({"gate": "only"})));
    let mut first = connect(&server, &posted(&server, "", &called)).await;
    gate.begun().await;
    let mut second = connect(
        &server,
        &posted(&server, "", &request(2, "ping", json!({}))),
    )
    .await;
    gate.open();
    until(&mut first, r#""result""#).await;
    // The first connection is kept open by its client, and idle.
    until(&mut second, r#""result""#).await;
    closed(first).await;
}

/// The paused clock advances as soon as all tasks wait.
#[tokio::test(start_paused = true)]
async fn a_first_request_has_to_come_soon() {
    let server = start(16).await;
    let begin = tokio::time::Instant::now();
    closed(connect(&server, b"").await).await;
    assert!(
        (5..15).contains(&begin.elapsed().as_secs()),
        "{:?}",
        begin.elapsed()
    );
    let mut slow = connect(&server, b"GET /healthz HTTP/1.1\r\nx: ").await;
    let begin = tokio::time::Instant::now();
    while slow.write_all(b"x").await.is_ok() && begin.elapsed() < Duration::from_mins(1) {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!(
        (5..20).contains(&begin.elapsed().as_secs()),
        "{:?}",
        begin.elapsed()
    );

    let ping = posted(&server, "", &request(1, "ping", json!({})));
    let mut kept = connect(&server, &ping).await;
    until(&mut kept, r#""result""#).await;
    tokio::time::sleep(Duration::from_mins(1)).await;
    kept.write_all(&ping).await.unwrap();
    until(&mut kept, r#""result""#).await;
}
