//! Shutdown.

use std::io::{self, ErrorKind};
use std::time::Duration;

use loci_core::Caller;
use loci_server::{Authentication, serve_stdio};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::support::{DIALECT, Gate, Pipe, Server, World, call, initialize, modern, request};

#[tokio::test]
async fn a_call_that_ends_in_time_is_answered_and_another_refused() {
    let world = World::new();
    let server = Server::start(&world, Authentication::Anonymous).await;
    let (mut quick, mut stuck) = (Gate::new("quick"), Gate::new("stuck"));
    let quick_call = server.begin_call("waits", json!({"gate": "quick"})).await;
    let stuck_call = server.begin_call("waits", json!({"gate": "stuck"})).await;
    quick.begun().await;
    stuck.begun().await;
    let mut stream = server
        .listen(
            &[],
            json!({"notifications": {"resourceSubscriptions": ["test://about"]}}),
        )
        .await;
    stream.next().await.unwrap();
    let address = server.address;
    let stopped = server.begin_to_stop();
    // The subscription ends as soon as the server does.
    assert!(stream.next().await.unwrap()["result"].is_object());
    while TcpStream::connect(address).await.is_ok() {}
    quick.open();
    let quick_reply = quick_call.rest().await;
    assert_eq!(
        (quick_reply.status, &quick_reply.json()["result"]["isError"]),
        (200, &json!(false))
    );
    let stuck_reply = stuck_call.rest().await;
    assert_eq!(
        (stuck_reply.status, &stuck_reply.json()["error"]["code"]),
        (503, &json!("unavailable"))
    );
    stopped.await.unwrap();
}

#[tokio::test]
async fn a_pipe_that_takes_no_replies_ends_the_service() {
    let (mut input, reader) = duplex(1 << 10);
    let (writer, output) = duplex(1 << 10);
    let host = World::new().host;
    let service = tokio::spawn(serve_stdio(&DIALECT, host, Caller::local(), reader, writer));
    let mut output = BufReader::new(output);
    let line = |id| format!("{}\n", modern(id, "server/discover", json!({})));
    input.write_all(line(1).as_bytes()).await.unwrap();
    output.read_line(&mut String::new()).await.unwrap();
    drop(output);
    input.write_all(line(2).as_bytes()).await.unwrap();
    // The other end stays open.
    let ended = tokio::time::timeout(Duration::from_mins(1), service).await;
    assert_eq!(
        ended
            .expect("an end within a minute")
            .unwrap()
            .unwrap_err()
            .kind(),
        ErrorKind::BrokenPipe
    );
    drop(input);
}

#[tokio::test]
async fn a_call_that_does_not_end_in_time_is_refused_over_a_pipe() {
    let waits = |id, gate: &str| request(id, "tools/call", call("waits", json!({"gate": gate})));
    let refused = |reply: &Value| {
        assert_eq!(reply["error"]["data"]["code"], "unavailable", "{reply}");
        assert!(
            reply["error"]["message"]
                .as_str()
                .unwrap()
                .contains("look at its outcome"),
            "{reply}"
        );
    };
    let world = World::new();
    let mut pipe = Pipe::open(&world, &DIALECT, "2025-11-25").await;
    let (mut quick, mut stuck) = (Gate::new("quick call"), Gate::new("stuck call"));
    pipe.send(&waits(1, "quick call")).await;
    pipe.send(&waits(2, "stuck call")).await;
    quick.begun().await;
    stuck.begun().await;
    world.host.close();
    quick.open();
    assert_eq!(pipe.next().await["result"]["isError"], false);
    let reply = pipe.next().await;
    assert_eq!(reply["id"], 2);
    refused(&reply);
    stuck.open();
    assert!(pipe.ended().await.is_empty());

    // In a batch, which is answered as a whole.
    let world = World::new();
    let mut pipe = Pipe::open(&world, &DIALECT, "2025-03-26").await;
    let mut stuck = Gate::new("stuck batch");
    pipe.send(&json!([
        waits(1, "stuck batch"),
        request(2, "ping", json!({}))
    ]))
    .await;
    stuck.begun().await;
    world.host.close();
    let replies = pipe.next().await;
    let replies = replies.as_array().unwrap();
    assert_eq!(replies.len(), 2, "{replies:?}");
    refused(replies.iter().find(|reply| reply["id"] == 1).unwrap());
    assert!(pipe.ended().await.is_empty());
}

/// Starts a service whose client has sent this many requests for its tools; returns the ends of the
/// client, which has read nothing yet.
async fn asked(
    world: &World,
    count: u64,
) -> (DuplexStream, DuplexStream, JoinHandle<io::Result<()>>) {
    let (mut input, reader) = duplex(64 << 10);
    let (writer, output) = duplex(1 << 10);
    let service = tokio::spawn(serve_stdio(
        &DIALECT,
        world.host.clone(),
        Caller::local(),
        reader,
        writer,
    ));
    let opening = [
        initialize(0, "2025-11-25"),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ];
    for message in opening
        .into_iter()
        .chain((1..=count).map(|id| request(id, "tools/list", json!({}))))
    {
        input
            .write_all(format!("{message}\n").as_bytes())
            .await
            .unwrap();
    }
    (input, output, service)
}

// The paused clock advances as soon as all tasks wait, in these tests.

#[tokio::test(start_paused = true)]
async fn a_client_that_closes_its_end_and_reads_nothing_is_given_up() {
    let (input, output, service) = asked(&World::new(), 100).await;
    drop(input);
    let begun = Instant::now();
    let ended = tokio::time::timeout(Duration::from_mins(1), service).await;
    ended.expect("an end within a minute").unwrap().unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(12),
        "{:?}",
        begun.elapsed()
    );
    drop(output);
}

#[tokio::test(start_paused = true)]
async fn replies_that_nobody_reads_hold_up_no_end_of_the_host() {
    for unread in [0, 1, 12, 17, 18, 60, 300] {
        let world = World::new();
        let (input, output, service) = asked(&world, unread).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let begun = Instant::now();
        world.host.close();
        let ended = tokio::time::timeout(Duration::from_mins(1), service).await;
        ended.expect("an end within a minute").unwrap().unwrap();
        assert!(
            begun.elapsed() < Duration::from_millis(1_500),
            "{unread}: {:?}",
            begun.elapsed()
        );
        drop((input, output));
    }
}
