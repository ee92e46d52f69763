//! Cancelled calls.

use loci_admission::usual_share;
use loci_core::limits::{REPLIES_HELD_BYTES_MAX, REPLY_CONTENT_BYTES_MAX};
use loci_server::Authentication;
use serde_json::json;

use crate::support::{DIALECT, Gate, Pipe, Server, World, call, long_calls, request};

/// The number of calls with long replies of one subject that run at a time.
const READS_MAX: usize = usual_share(REPLIES_HELD_BYTES_MAX) / REPLY_CONTENT_BYTES_MAX;

#[tokio::test]
async fn a_queued_call_whose_client_is_gone_never_runs() {
    let server = Server::start(&World::new(), Authentication::Anonymous).await;
    let (mut gates, mut running) = (Vec::new(), Vec::new());
    for number in 0..READS_MAX {
        let name = format!("gone {number}");
        let mut gate = Gate::new(&name);
        running.push(server.begin_call("waits", json!({"gate": name})).await);
        gate.begun().await;
        gates.push(gate);
    }
    let long = |name: &str| json!({"name": name, "bytes": 1});
    drop(server.begin_call("long", long("gone")).await);
    let next = server.begin_call("long", long("stays")).await;
    // Calls in this queue are served in order, and the end of a connection is seen before a later
    // one's reply.
    gates.pop().unwrap().open();
    assert_eq!(next.rest().await.status, 200);
    assert_eq!((long_calls("gone"), long_calls("stays")), (0, 1));
    gates.iter().for_each(Gate::open);
    for stream in running {
        assert_eq!(stream.rest().await.status, 200);
    }
}

#[tokio::test]
async fn a_queued_call_that_is_cancelled_never_runs() {
    let mut pipe = Pipe::open(&World::new(), &DIALECT, "2025-11-25").await;
    let mut gates = Vec::new();
    for number in 0..READS_MAX {
        let name = format!("cancelled {number}");
        gates.push(Gate::new(&name));
        pipe.send(&request(
            number as u64,
            "tools/call",
            call("waits", json!({"gate": name})),
        ))
        .await;
        gates.last_mut().unwrap().begun().await;
    }
    let long = |id: u64, name: &str| {
        request(
            id,
            "tools/call",
            call("long", json!({"name": name, "bytes": 1})),
        )
    };
    pipe.send(&long(100, "cancelled")).await;
    let params = json!({"requestId": 100, "reason": "a test"});
    pipe.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
        .await;
    pipe.send(&long(101, "wanted")).await;
    gates.iter().for_each(Gate::open);
    let mut answered = Vec::new();
    while !answered.contains(&json!(101)) {
        answered.push(pipe.next().await["id"].clone());
    }
    assert!(!answered.contains(&json!(100)));
    assert_eq!((long_calls("cancelled"), long_calls("wanted")), (0, 1));
}
