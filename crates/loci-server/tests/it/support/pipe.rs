use std::time::Duration;

use loci_core::Caller;
use loci_server::{ServedDialect, serve_stdio};
use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, split,
};
use tokio::task::JoinHandle;

use super::{MODERN, World, initialize, modern, request};

/// A client at the other end of a pair of pipes.
pub struct Pipe {
    input: WriteHalf<DuplexStream>,
    output: Lines<BufReader<ReadHalf<DuplexStream>>>,
    service: JoinHandle<std::io::Result<()>>,
    version: String,
}

impl Pipe {
    /// Connects without sending a message.
    pub fn connect(world: &World, dialect: impl Into<ServedDialect>) -> Self {
        let (here, there) = tokio::io::duplex(64 << 10);
        let (reader, writer) = split(there);
        let service = tokio::spawn(serve_stdio(
            dialect.into(),
            world.host.clone(),
            Caller::local(),
            reader,
            writer,
        ));
        let (output, input) = split(here);
        Pipe {
            input,
            output: BufReader::new(output).lines(),
            service,
            version: MODERN.to_owned(),
        }
    }

    /// Connects and completes the handshake of the revision, if it has one.
    pub async fn open(world: &World, dialect: impl Into<ServedDialect>, version: &str) -> Self {
        let mut pipe = Pipe::connect(world, dialect);
        pipe.version = version.to_owned();
        if version != MODERN {
            let reply = pipe.ask(&initialize(0, version)).await;
            assert_eq!(reply["result"]["protocolVersion"], version);
            pipe.send(
                &serde_json::json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            )
            .await;
        }
        pipe
    }

    pub async fn send(&mut self, message: &Value) {
        self.send_bytes(message.to_string().as_bytes()).await;
    }

    pub async fn send_bytes(&mut self, line: &[u8]) {
        self.input.write_all(line).await.unwrap();
        self.input.write_all(b"\n").await.unwrap();
    }

    /// Reads the next message of any kind.
    pub async fn next(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_mins(2), self.output.next_line()).await;
        let line = line
            .expect("a message within two minutes")
            .unwrap()
            .expect("a message before the end");
        serde_json::from_str(&line).unwrap()
    }

    pub async fn ask(&mut self, message: &Value) -> Value {
        self.send(message).await;
        self.next().await
    }

    /// Sends a request of the revision that the pipe was opened for and returns the reply.
    pub async fn request(&mut self, id: u64, method: &str, params: Value) -> Value {
        let message = if self.version == MODERN {
            modern(id, method, params)
        } else {
            request(id, method, params)
        };
        self.ask(&message).await
    }

    /// Closes this end; returns the remaining messages once the service has ended without an error.
    pub async fn close(mut self) -> Vec<Value> {
        self.input.shutdown().await.unwrap();
        self.ended().await
    }

    /// Returns the remaining messages once the service has ended without an error.
    pub async fn ended(mut self) -> Vec<Value> {
        let mut rest = Vec::new();
        while let Some(line) = self.output.next_line().await.unwrap() {
            rest.push(serde_json::from_str(&line).unwrap());
        }
        self.service.await.unwrap().unwrap();
        rest
    }
}
