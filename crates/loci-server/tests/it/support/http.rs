use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use loci_dialects::{Dialect, memory_mcp};
use loci_server::{Authentication, HttpConfig, HttpServer};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{DIALECT, MODERN, PLAIN, World, call, modern, request};

/// A server on a loopback socket.
pub struct Server {
    pub address: SocketAddr,
    shutdown: oneshot::Sender<()>,
    serving: JoinHandle<()>,
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
        Self::start_serving(world, config, &[&DIALECT, &PLAIN, &memory_mcp::DIALECT]).await
    }

    /// Starts a server with other dialects than the default ones.
    pub async fn start_serving(
        world: &World,
        config: HttpConfig,
        dialects: &[&'static Dialect],
    ) -> Self {
        let server = HttpServer::new(config, world.host.clone()).with_dialects(dialects);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (shutdown, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(server.serve(listener, async move {
            let _ = stopped.await;
        }));
        Server {
            address,
            shutdown,
            serving,
        }
    }

    pub async fn stop(self) {
        self.begin_to_stop().await.unwrap();
    }

    /// Starts the server's shutdown without waiting for it.
    pub fn begin_to_stop(self) -> JoinHandle<()> {
        self.shutdown.send(()).unwrap();
        self.serving
    }

    /// Sends a request with exactly these headers besides the length.
    pub async fn send(&self, head: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        self.open(head, headers, body).await.rest().await
    }

    async fn open(&self, head: &str, headers: &[(&str, &str)], body: &[u8]) -> Stream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let mut text = format!(
            "{head} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n",
            body.len()
        );
        if !headers.iter().any(|(name, _)| *name == "host") {
            text.push_str(&format!("host: {}\r\n", self.address));
        }
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        stream.write_all(text.as_bytes()).await.unwrap();
        stream.write_all(body).await.unwrap();
        Stream {
            stream: BufReader::new(stream),
        }
    }

    /// Posts bytes as JSON to the test dialect.
    pub async fn post(&self, more: &[(&str, &str)], body: &[u8]) -> Reply {
        self.post_to("test", more, body).await
    }

    /// Posts bytes as JSON to a dialect.
    pub async fn post_to(&self, dialect: &str, more: &[(&str, &str)], body: &[u8]) -> Reply {
        self.send(&format!("POST /mcp/{dialect}"), &with_usual(more), body)
            .await
    }

    /// Sends a request of a revision, with the headers that the revision requires.
    pub async fn request(
        &self,
        version: &str,
        more: &[(&str, &str)],
        method: &str,
        params: Value,
    ) -> Reply {
        let name = params["name"]
            .as_str()
            .or(params["uri"].as_str())
            .unwrap_or_default()
            .to_owned();
        let mut headers = vec![("mcp-protocol-version", version)];
        if version == MODERN {
            headers.push(("mcp-method", method));
            if !name.is_empty() {
                headers.push(("mcp-name", &name));
            }
        }
        headers.extend(more);
        let message = if version == MODERN {
            modern(1, method, params)
        } else {
            request(1, method, params)
        };
        self.post(&headers, message.to_string().as_bytes()).await
    }

    /// Opens a subscription and returns its stream.
    pub async fn listen(&self, more: &[(&str, &str)], params: Value) -> Stream {
        let mut headers = vec![
            ("mcp-protocol-version", MODERN),
            ("mcp-method", "subscriptions/listen"),
        ];
        headers.extend(more);
        let message = modern(1, "subscriptions/listen", params);
        let body = message.to_string();
        self.open("POST /mcp/test", &with_usual(&headers), body.as_bytes())
            .await
    }

    /// Posts bytes as JSON to a dialect without reading the reply.
    pub async fn begin_at(&self, dialect: &str, more: &[(&str, &str)], body: &[u8]) -> Stream {
        let head = format!("POST /mcp/{dialect}");
        self.open(&head, &with_usual(more), body).await
    }

    /// Starts a call of a tool without reading its reply.
    pub async fn begin_call(&self, tool: &str, arguments: Value) -> Stream {
        self.begin_call_as(&[], tool, arguments).await
    }

    /// Does the same with further headers.
    pub async fn begin_call_as(
        &self,
        more: &[(&str, &str)],
        tool: &str,
        arguments: Value,
    ) -> Stream {
        let body = request(1, "tools/call", call(tool, arguments)).to_string();
        self.open("POST /mcp/test", &with_usual(more), body.as_bytes())
            .await
    }
}

/// The reply to one request: as a whole, or as server-sent events.
pub struct Stream {
    stream: BufReader<TcpStream>,
}

impl Stream {
    /// Waits until the reply starts to arrive.
    pub async fn begun(&mut self) {
        let arrived = tokio::time::timeout(Duration::from_mins(2), self.stream.fill_buf()).await;
        assert!(
            !arrived
                .expect("a reply within two minutes")
                .unwrap()
                .is_empty()
        );
    }

    /// Returns the number of bytes that still arrive until the connection ends, cleanly or not.
    pub async fn bytes_until_end(mut self) -> usize {
        let mut bytes = Vec::new();
        let _ = self.stream.read_to_end(&mut bytes).await;
        bytes.len()
    }

    /// Reads the whole reply.
    pub async fn rest(mut self) -> Reply {
        let mut text = String::new();
        tokio::time::timeout(
            Duration::from_mins(2),
            self.stream.read_to_string(&mut text),
        )
        .await
        .unwrap()
        .unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let (status, headers) = parse_head(head);
        Reply {
            status,
            headers,
            body: body.to_owned(),
        }
    }

    /// Returns the message of the next event; `None` at the end.
    pub async fn next(&mut self) -> Option<Value> {
        // The timeout covers the whole wait: the comments that keep a stream alive are not events.
        tokio::time::timeout(Duration::from_mins(2), self.next_event())
            .await
            .expect("an event within two minutes")
    }

    async fn next_event(&mut self) -> Option<Value> {
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line).await.unwrap() == 0 {
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
    let usual = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    let usual = usual
        .into_iter()
        .filter(|(name, _)| !more.iter().any(|(given, _)| given == name));
    usual.chain(more.iter().copied()).collect()
}

fn parse_head(head: &str) -> (u16, HashMap<String, String>) {
    let mut lines = head.lines();
    let status = lines
        .next()
        .unwrap()
        .split(' ')
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    let headers = lines.filter_map(|line| line.split_once(": "));
    (
        status,
        headers
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect(),
    )
}
