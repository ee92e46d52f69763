//! Lines on the standard input of a server: whatever comes, every line that goes out is JSON-RPC,
//! and the end of the input ends the service.

use std::time::Duration;

use crate::engine;
use loci_core::Caller;
use loci_dialects::DIALECTS;
use loci_server::{Host, serve_stdio};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const HANDSHAKE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"#,
    r#""clientInfo":{"name":"fuzz","version":"0"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n"
);

pub(crate) fn run(data: &[u8]) {
    let Some((choice, lines)) = data.split_first() else {
        return;
    };
    let dialect = DIALECTS[usize::from(choice >> 1) % DIALECTS.len()];
    let mut input = if choice & 1 == 0 {
        HANDSHAKE.as_bytes().to_vec()
    } else {
        Vec::new()
    };
    input.extend_from_slice(lines);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let output = runtime.block_on(async {
        let (near, far) = tokio::io::duplex(1 << 20);
        let (reader, writer) = tokio::io::split(far);
        let served = tokio::spawn(serve_stdio(
            dialect,
            Host::new(engine()),
            Caller::local(),
            reader,
            writer,
        ));
        let (mut replies, mut requests) = tokio::io::split(near);
        let written = tokio::spawn(async move {
            // A server that ends early takes no more.
            let _ = requests.write_all(&input).await;
            let _ = requests.shutdown().await;
        });
        let mut output = Vec::new();
        let read = replies.read_to_end(&mut output);
        tokio::time::timeout(Duration::from_secs(20), read)
            .await
            .expect("the service ends")
            .unwrap();
        let _ = (
            written.await,
            served.await.expect("the service does not panic"),
        );
        output
    });
    runtime.shutdown_background();
    for line in output
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let message: Value = serde_json::from_slice(line).expect("a reply is JSON");
        let messages = match &message {
            Value::Array(batch) => batch.clone(),
            one => vec![one.clone()],
        };
        for message in messages {
            assert_eq!(message["jsonrpc"], "2.0", "{message}");
            let kinds = ["result", "error", "method"];
            assert_eq!(
                kinds
                    .iter()
                    .filter(|kind| message.get(**kind).is_some())
                    .count(),
                1,
                "{message}"
            );
        }
    }
}
