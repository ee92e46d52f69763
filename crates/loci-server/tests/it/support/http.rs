use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use loci_dialects::Dialect;
use loci_server::{Authentication, HttpConfig, HttpServer};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{DIALECT, MODERN, PLAIN, World, modern, request};

/// A server on a loopback socket.
pub struct Server {
    pub address: SocketAddr,
    shutdown: oneshot::Sender<()>,
    serving: JoinHandle<std::io::Result<()>>,
}

/// A response.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: HashMap<String, String>,
    pub body: String,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }
}

impl Server {
    pub async fn start(world: &World, authentication: Authentication) -> Self {
        Self::start_with(world, HttpConfig::new(authentication)).await
    }

    pub async fn start_with(world: &World, config: HttpConfig) -> Self {
        let dialects: [&'static Dialect; 2] = [&DIALECT, &PLAIN];
        let server = HttpServer::new(config, world.host.clone()).with_dialects(&dialects);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (shutdown, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(server.serve(listener, async move {
            let _ = stopped.await;
        }));
        Server { address, shutdown, serving }
    }

    pub async fn stop(self) {
        self.shutdown.send(()).unwrap();
        self.serving.await.unwrap().unwrap();
    }

    /// Sends a request with exactly these headers besides the length.
    pub async fn send(&self, head: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut stream = self.open(head, headers, body).await;
        let mut text = String::new();
        tokio::time::timeout(Duration::from_secs(30), stream.read_to_string(&mut text)).await.unwrap().unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let (status, headers) = parse_head(head);
        Reply { status, headers, body: body.to_owned() }
    }

    async fn open(&self, head: &str, headers: &[(&str, &str)], body: &[u8]) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let mut text = format!("{head} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "host") {
            text.push_str(&format!("host: {}\r\n", self.address));
        }
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        stream.write_all(text.as_bytes()).await.unwrap();
        stream.write_all(body).await.unwrap();
        BufReader::new(stream)
    }

    /// Posts bytes as JSON to the test dialect.
    pub async fn post(&self, more: &[(&str, &str)], body: &[u8]) -> Reply {
        self.send("POST /mcp/test", &with_usual(more), body).await
    }

    /// A request of a revision, with the headers that it asks for.
    pub async fn request(&self, version: &str, more: &[(&str, &str)], method: &str, params: Value) -> Reply {
        let name = params["name"].as_str().or(params["uri"].as_str()).unwrap_or_default().to_owned();
        let mut headers = vec![("mcp-protocol-version", version)];
        if version == MODERN {
            headers.push(("mcp-method", method));
            if !name.is_empty() {
                headers.push(("mcp-name", &name));
            }
        }
        headers.extend(more);
        let message = if version == MODERN { modern(1, method, params) } else { request(1, method, params) };
        self.post(&headers, message.to_string().as_bytes()).await
    }

    /// A reply that stays open.
    pub async fn listen(&self, params: Value) -> Stream {
        let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "subscriptions/listen")];
        let message = modern(1, "subscriptions/listen", params);
        let body = message.to_string();
        let stream = self.open("POST /mcp/test", &with_usual(&headers), body.as_bytes()).await;
        Stream { stream }
    }
}

/// Server-sent events.
pub struct Stream {
    stream: BufReader<TcpStream>,
}

impl Stream {
    /// The message of the next event; none at the end.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            let mut line = String::new();
            let read = self.stream.read_line(&mut line);
            let bytes =
                tokio::time::timeout(Duration::from_secs(30), read).await.expect("an event within 30 s").unwrap();
            if bytes == 0 {
                return None;
            }
            if let Some(data) = line.trim_end().strip_prefix("data:")
                && !data.trim().is_empty()
            {
                return Some(serde_json::from_str(data).unwrap());
            }
        }
    }
}

fn with_usual<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let usual = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    let usual = usual.into_iter().filter(|(name, _)| !more.iter().any(|(given, _)| given == name));
    usual.chain(more.iter().copied()).collect()
}

fn parse_head(head: &str) -> (u16, HashMap<String, String>) {
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines.filter_map(|line| line.split_once(": "));
    (status, headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect())
}
