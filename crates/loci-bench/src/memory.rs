//! `loci-bench memory`: measures the memory that processes hold after a burst of calls.

use std::io;
use std::thread;
use std::time::Duration;

use loci::exit::{Exit, Failure};
use loci::output::{Output, status_line};
use serde_json::json;

use super::client::Client;
use super::clients::{CLIENTS as USERS, fill};
use super::corpus::{Random, question, sentence};
use super::figure::{Figure, print};
use super::http::{HttpClient, Server};
use super::speed::{engine, side_by_side};

/// The number of clients of the burst.
const CLIENTS: usize = 256;
/// The number of calls of each: one in five stores, the others return up to a hundred memories.
const CALLS: usize = 20;
/// The number of processes beside the server.
const PROCESSES: usize = 5;
/// The time after which what the burst needed is given back.
const REST: Duration = Duration::from_secs(15);
/// The time after which the model is given up, and what it needed is given back.
const LONG_REST: Duration = Duration::from_secs(75);

pub fn run(memories: usize, output: Output) -> Result<(), Failure> {
    let broken = |error: io::Error| Failure::new(Exit::Failure, error.to_string());
    let folder = tempfile::tempdir().map_err(broken)?;
    let data = folder.path().join("memory");
    status_line(format_args!("storing {memories} memories …"));
    fill(&engine(&data)?, memories)?;
    let mut figures = Vec::new();
    let server = Server::start(&data).map_err(broken)?;
    let mut add = |name: &str, goal: &'static str, bytes: Option<u64>| {
        let megabytes = bytes.map_or(f64::NAN, |bytes| bytes as f64 / f64::from(1 << 20));
        figures.push(Figure::one(name, megabytes, "MiB", goal));
    };
    add("server, before the first call", "", server.resident_bytes());
    status_line(format_args!("{CLIENTS} clients call …"));
    side_by_side(CLIENTS, |number| {
        burst(&server.address, number).map_err(|error| {
            loci_core::Error::unavailable(format!("a call of the burst failed: {error}"))
        })
    })?;
    add("server, after the burst", "", server.resident_bytes());
    status_line("waiting …");
    wait(REST);
    add("server, 15 s later", "", server.resident_bytes());
    let mut processes = Vec::new();
    for _ in 0..PROCESSES {
        let mut client = Client::start(&data, "hybrid").map_err(broken)?;
        let arguments = json!({"name": "recall", "arguments": {"query": question(&mut Random(1))}});
        client
            .request(1, "tools/call", &arguments)
            .map_err(broken)?;
        processes.push(client);
    }
    let share = |processes: &[Client]| processes.first().and_then(Client::proportional_bytes);
    add(
        "`loci mcp` beside five others, after a search by meaning",
        "",
        share(&processes),
    );
    wait(LONG_REST);
    add("server, the model given up", "60", server.resident_bytes());
    let anonymous = server.anonymous_bytes();
    add("server, without pages of files", "", anonymous);
    add(
        "`loci mcp` beside five others, the model given up",
        "15",
        share(&processes),
    );
    let first = processes.first();
    add(
        "`loci mcp`, without pages of files",
        "",
        first.and_then(Client::proportional_anonymous_bytes),
    );
    print(&figures, output)
}

/// Makes the calls of one client.
fn burst(address: &str, number: usize) -> io::Result<()> {
    let mut client = HttpClient::connect(address)?;
    let mut random = Random((1 << 40) + number as u64);
    let user = format!("user-{}", number % USERS);
    for call in 0..CALLS {
        if call % 5 == number % 5 {
            let message = json!({"role": "human", "content": sentence(&mut random)});
            let arguments =
                json!({"user_id": user, "conversation_id": "bench", "messages": [message]});
            client.call("memory-mcp", "store_memory", &arguments)?;
        } else {
            let arguments = json!({"user_id": user, "query": question(&mut random), "limit": 100});
            client.call("memory-mcp", "recall_memory", &arguments)?;
        }
    }
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the memory is given back after a time, and nothing tells of it"
)]
fn wait(time: Duration) {
    thread::sleep(time);
}
