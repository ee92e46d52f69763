//! The end of service.

use std::io::ErrorKind;

use loci_core::Caller;
use loci_server::{Authentication, serve_stdio};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex};
use tokio::net::TcpStream;

use crate::support::{DIALECT, Gate, Server, World, modern};

#[tokio::test]
async fn a_call_that_ends_in_time_is_answered_and_another_refused() {
    let world = World::new();
    let server = Server::start(&world, Authentication::Anonymous).await;
    let (mut quick, mut stuck) = (Gate::new("quick"), Gate::new("stuck"));
    let quick_call = server.begin_call("waits", json!({"gate": "quick"})).await;
    let stuck_call = server.begin_call("waits", json!({"gate": "stuck"})).await;
    quick.begun().await;
    stuck.begun().await;
    let mut stream = server.listen(&[], json!({"notifications": {"resourceSubscriptions": ["test://about"]}})).await;
    stream.next().await.unwrap();
    let address = server.address;
    let stopped = server.begin_to_stop();
    // The subscription ends as soon as the server does.
    assert!(stream.next().await.unwrap()["result"].is_object());
    while TcpStream::connect(address).await.is_ok() {}
    quick.open();
    let quick_reply = quick_call.rest().await;
    assert_eq!((quick_reply.status, &quick_reply.json()["result"]["isError"]), (200, &json!(false)));
    let stuck_reply = stuck_call.rest().await;
    assert_eq!((stuck_reply.status, &stuck_reply.json()["error"]["code"]), (503, &json!("unavailable")));
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
    let ended = tokio::time::timeout(std::time::Duration::from_secs(30), service).await;
    assert_eq!(ended.expect("an end within 30 s").unwrap().unwrap_err().kind(), ErrorKind::BrokenPipe);
    drop(input);
}
