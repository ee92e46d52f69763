//! Clients that send requests and do not read the replies.

use std::time::Duration;

use loci_admission::usual_share;
use loci_core::limits::{REPLIES_HELD_BYTES_MAX, REPLY_CONTENT_BYTES_MAX};
use loci_server::{Authentication, HttpConfig};
use serde_json::json;

use crate::support::{DIALECT, Pipe, Server, World, call, long_calls, request, with_issuer};

/// Longer than any of these tests: only a client that reads or disconnects releases a share of the
/// replies. On a busy machine eight replies take longer than the timeout of the product, which
/// `a_client_that_stops_reading_is_dropped` tests.
const WRITE_TIMEOUT: Duration = Duration::from_mins(10);
/// The number of replies of the maximum size that are held at a time for one subject.
const HELD_MAX: usize = usual_share(REPLIES_HELD_BYTES_MAX) / REPLY_CONTENT_BYTES_MAX;

#[tokio::test]
async fn replies_that_nobody_reads_keep_further_calls_waiting_over_http() {
    let config = HttpConfig {
        write_timeout: WRITE_TIMEOUT,
        ..HttpConfig::new(Authentication::Anonymous)
    };
    let server = Server::start_with(&World::new(), config).await;
    let arguments = json!({"name": "http", "bytes": REPLY_CONTENT_BYTES_MAX});
    let mut unread = Vec::new();
    for _ in 0..HELD_MAX {
        let mut stream = server.begin_call("long", arguments.clone()).await;
        stream.begun().await;
        unread.push(stream);
    }
    let waiting = [
        server.begin_call("long", arguments.clone()).await,
        server.begin_call("long", arguments).await,
    ];
    // A request with a short reply is served all the same.
    let ping = server
        .post(&[], request(1, "ping", json!({})).to_string().as_bytes())
        .await;
    assert_eq!(ping.status, 200);
    for (gone, mut stream) in (1..).zip(waiting) {
        assert!(
            long_calls("http") < HELD_MAX + gone,
            "a call began while the budget was used up"
        );
        unread.pop();
        stream.begun().await;
        assert_eq!(long_calls("http"), HELD_MAX + gone, "it was refused");
        drop(stream);
    }
}

#[tokio::test]
async fn replies_that_one_user_does_not_read_keep_no_other_waiting() {
    let (_, _, authentication) = with_issuer();
    let config = HttpConfig {
        write_timeout: WRITE_TIMEOUT,
        ..HttpConfig::new(authentication)
    };
    let server = Server::start_with(&World::new(), config).await;
    let ann = [("authorization", "Bearer secret-of-ann")];
    let reader = [("authorization", "Bearer secret-of-reader")];
    let arguments = json!({"name": "greedy", "bytes": REPLY_CONTENT_BYTES_MAX});
    let mut unread = Vec::new();
    for number in 0..3 * HELD_MAX {
        let mut stream = server.begin_call_as(&ann, "long", arguments.clone()).await;
        if number < HELD_MAX {
            stream.begun().await;
        }
        unread.push(stream);
    }
    for _ in 0..3 {
        let call = server.begin_call_as(&reader, "numbers", json!({})).await;
        assert_eq!(call.rest().await.status, 200);
    }
    assert_eq!(long_calls("greedy"), HELD_MAX);
}

#[tokio::test]
async fn replies_that_nobody_reads_keep_further_calls_waiting_over_a_pipe() {
    let mut pipe = Pipe::open(&World::new(), &DIALECT, "2025-11-25").await;
    let calls = 3 * HELD_MAX;
    for id in 0..calls {
        let arguments = json!({"name": "pipe", "bytes": REPLY_CONTENT_BYTES_MAX});
        pipe.send(&request(id as u64, "tools/call", call("long", arguments)))
            .await;
    }
    for read in 0..calls {
        assert!(
            long_calls("pipe") <= read + HELD_MAX + 1,
            "{} calls began, {read} read",
            long_calls("pipe")
        );
        pipe.next().await;
    }
    assert_eq!(long_calls("pipe"), calls);
}

#[tokio::test]
async fn a_batch_has_room_for_so_much() {
    let world = World::new();
    let arguments = json!({"name": "batch", "bytes": REPLY_CONTENT_BYTES_MAX});
    let batch = json!([
        request(1, "tools/call", call("long", arguments.clone())),
        request(2, "tools/call", call("long", arguments)),
    ]);
    let server = Server::start(&world, Authentication::Anonymous).await;
    let over_http = server.post(&[], batch.to_string().as_bytes()).await.json();
    let mut pipe = Pipe::open(&world, &DIALECT, "2025-03-26").await;
    for replies in [over_http, pipe.ask(&batch).await] {
        let replies = replies.as_array().unwrap();
        let code =
            |reply: &serde_json::Value| reply["result"]["_meta"]["loci/error"]["code"].clone();
        let refused = replies
            .iter()
            .filter(|reply| code(reply) == "too_large")
            .count();
        assert_eq!((replies.len(), refused), (2, 1));
    }
}

/// The paused clock advances as soon as all tasks wait.
#[tokio::test(start_paused = true)]
async fn a_client_that_stops_reading_is_dropped() {
    let server = Server::start(&World::new(), Authentication::Anonymous).await;
    let arguments = json!({"name": "stalled", "bytes": REPLY_CONTENT_BYTES_MAX});
    let mut stream = server.begin_call("long", arguments).await;
    stream.begun().await;
    tokio::time::sleep(Duration::from_secs(40)).await;
    assert!(stream.bytes_until_end().await < REPLY_CONTENT_BYTES_MAX);
}
