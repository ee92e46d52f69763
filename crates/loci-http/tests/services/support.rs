//! A scripted server for the tests, one connection after the other.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use loci_core::{Error, ErrorCode};
use serde_json::Value;

pub const KEY: &str = "key-that-nobody-may-see";
/// The text that is sent, and that a careless server sends back.
pub const TEXT: &str = "the content of a memory";
/// A backoff that does not slow a test down.
pub const BACKOFF: Duration = Duration::from_millis(1);

/// The act of the endpoint on one request.
pub enum Act {
    /// Replies with a status, further lines of the head, each with its line end, and a body.
    Reply(u16, &'static str, String),
    /// Closes the connection.
    HangUp,
    /// Sends nothing until the client has gone.
    Silence,
    /// Sends until the client has gone.
    Flood,
}

/// A request that the endpoint received.
#[derive(Debug, PartialEq)]
pub struct Seen {
    pub head: String,
    pub body: Value,
}

/// An endpoint with one act for each connection, in order, which then ends.
pub struct Endpoint {
    /// The URL with the path `/v1`.
    pub url: String,
    address: String,
    seen: Receiver<Seen>,
    thread: JoinHandle<()>,
}

impl Endpoint {
    pub fn new(acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (sender, seen) = channel();
        let thread = std::thread::spawn(move || {
            for act in acts {
                let (stream, _) = listener.accept().unwrap();
                sender.send(read_request(&stream)).unwrap();
                perform(act, stream);
            }
        });
        Endpoint {
            url: format!("http://{address}/v1"),
            address,
            seen,
            thread,
        }
    }

    /// Returns all requests that it received; fails if an act was left over.
    pub fn requests(self) -> Vec<Seen> {
        // Wakes an endpoint that still waits for a request, which then fails.
        let _gone = TcpStream::connect(self.address);
        self.thread.join().unwrap();
        self.seen.iter().collect()
    }
}

fn read_request(stream: &TcpStream) -> Seen {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "the client left");
    }
    let length = head.lines().find_map(|line| {
        line.to_lowercase()
            .strip_prefix("content-length: ")?
            .parse()
            .ok()
    });
    let mut body = vec![0; length.unwrap()];
    reader.read_exact(&mut body).unwrap();
    Seen {
        head,
        body: serde_json::from_slice(&body).unwrap(),
    }
}

fn perform(act: Act, mut stream: TcpStream) {
    match act {
        Act::Reply(status, lines, body) => {
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status} Status\r\nconnection: close\r\ncontent-length: {length}\r\n{lines}\r\n"
            );
            stream.write_all((head + &body).as_bytes()).unwrap();
        }
        Act::HangUp => {}
        Act::Silence => {
            let _gone = stream.read(&mut [0]);
        }
        Act::Flood => {
            let chunk = vec![b' '; 1 << 16];
            let head = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n";
            stream.write_all(head.as_bytes()).unwrap();
            while stream.write_all(&chunk).is_ok() {}
        }
    }
}

/// Returns a reply with 200.
pub fn ok(body: &Value) -> Act {
    Act::Reply(200, "", body.to_string())
}

/// Returns a refusal whose body contains all secrets.
pub fn refusal(status: u16) -> Act {
    Act::Reply(status, "", format!("{TEXT} {KEY}"))
}

/// Asserts that an error has this code, contains all these parts, and reveals no secret.
pub fn check(error: &Error, code: ErrorCode, parts: &[&str]) {
    assert_eq!(error.code, code, "{error}");
    for part in parts {
        assert!(error.message.contains(part), "no {part:?} in: {error}");
    }
    assert!(
        !error.message.contains(KEY) && !error.message.contains(TEXT),
        "{error}"
    );
}
