use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use loci_core::{Embedder, Error, ErrorCode};
use loci_embed::{HttpModel, HttpModelOptions};
use serde_json::{Value, json};

const KEY: &str = "key-that-nobody-may-see";

/// What the endpoint does with one request.
enum Act {
    Reply(u16, String),
    /// Says nothing until the client has gone.
    Silence,
    /// Sends until the client has gone.
    Flood,
}

/// One request as the endpoint got it.
struct Seen {
    head: String,
    body: Value,
}

/// An endpoint that acts once for each connection, in order, and is gone then.
struct Endpoint {
    url: String,
    seen: Receiver<Seen>,
    thread: JoinHandle<()>,
}

impl Endpoint {
    fn new(acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (sender, seen) = channel();
        let thread = std::thread::spawn(move || {
            for act in acts {
                let (stream, _) = listener.accept().unwrap();
                sender.send(read_request(&stream)).unwrap();
                perform(act, stream);
            }
        });
        Endpoint { url, seen, thread }
    }

    fn model(&self) -> HttpModel {
        HttpModel::new(self.options()).unwrap()
    }

    fn options(&self) -> HttpModelOptions {
        HttpModelOptions {
            key: Some(KEY.to_owned()),
            backoff: Duration::from_millis(1),
            ..HttpModelOptions::new(&self.url, "some-model")
        }
    }

    /// Every request that it got; fails if an act was left over.
    fn requests(self) -> Vec<Seen> {
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
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap()];
    reader.read_exact(&mut body).unwrap();
    Seen { head, body: serde_json::from_slice(&body).unwrap() }
}

fn perform(act: Act, mut stream: TcpStream) {
    match act {
        Act::Reply(status, body) => {
            let head =
                format!("HTTP/1.1 {status} Status\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
            stream.write_all((head + &body).as_bytes()).unwrap();
        }
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

fn vectors(data: &Value) -> Act {
    Act::Reply(200, json!({ "object": "list", "data": data }).to_string())
}

fn one_vector() -> Act {
    vectors(&json!([{ "index": 0, "embedding": [0.0, 2.0, 0.0] }]))
}

/// That embedding one text fails, says `expected`, and gives no secret away.
fn check_failure(acts: Vec<Act>, expected: &str) {
    let endpoint = Endpoint::new(acts);
    let error = endpoint.model().embed(&["the content of a memory"]).unwrap_err();
    check_message(&error, &[expected, &endpoint.url, "some-model"]);
    endpoint.requests();
}

fn check_message(error: &Error, expected: &[&str]) {
    assert_eq!(error.code, ErrorCode::Unavailable);
    for part in expected {
        assert!(error.message.contains(part), "no {part:?} in: {error}");
    }
    assert!(!error.message.contains(KEY) && !error.message.contains("content of a memory"), "{error}");
}

#[test]
fn embeds_in_order_and_normalises() {
    let reply = json!([{ "index": 1, "embedding": [0, 5] }, { "index": 0, "embedding": [3, 4] }]);
    let endpoint = Endpoint::new(vec![vectors(&reply)]);
    let embedded = endpoint.model().embed(&["first", "second"]).unwrap();
    assert_eq!(embedded, [[0.6, 0.8], [0.0, 1.0]]);
    let requests = endpoint.requests();
    assert!(requests[0].head.starts_with("POST /v1/embeddings HTTP/1.1\r\n"));
    assert!(requests[0].head.contains(&format!("authorization: Bearer {KEY}\r\n")));
    let body = json!({ "model": "some-model", "input": ["first", "second"], "encoding_format": "float" });
    assert_eq!(requests[0].body, body);
}

#[test]
fn splits_into_requests_of_bounded_size() {
    let two = json!([{ "embedding": [1, 0] }, { "embedding": [0, 1] }]);
    let endpoint = Endpoint::new(vec![vectors(&two), vectors(&json!([{ "embedding": [-1, 0] }]))]);
    let model = HttpModel::new(HttpModelOptions { texts_per_request_max: 2, ..endpoint.options() }).unwrap();
    assert!(model.embed(&[]).unwrap().is_empty());
    assert_eq!(model.embed(&["a", "b", "c"]).unwrap(), [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]);
    let inputs: Vec<_> = endpoint.requests().into_iter().map(|request| request.body["input"].clone()).collect();
    assert_eq!(inputs, [json!(["a", "b"]), json!(["c"])]);
}

#[test]
fn the_first_reply_fixes_the_dimension() {
    let endpoint = Endpoint::new(vec![one_vector(), vectors(&json!([{ "index": 0, "embedding": [1, 1] }]))]);
    let model = endpoint.model();
    assert_eq!(model.probe().unwrap(), 3);
    check_message(&model.embed(&["text"]).unwrap_err(), &["2 components", "3 before"]);
    endpoint.requests();
}

#[test]
fn refuses_replies_that_do_not_fit() {
    let two = json!([{ "index": 0, "embedding": [1] }, { "index": 1, "embedding": [1] }]);
    check_failure(vec![vectors(&two)], "2 embeddings for 1 texts");
    check_failure(vec![vectors(&json!([]))], "0 embeddings");
    check_failure(vec![vectors(&json!([{ "index": 7, "embedding": [1] }]))], "index 7");
    check_failure(vec![vectors(&json!([{ "index": 0, "embedding": [] }]))], "empty, zero or not finite");
    check_failure(vec![vectors(&json!([{ "index": 0, "embedding": [0, 0] }]))], "empty, zero or not finite");
    check_failure(vec![vectors(&json!([{ "index": 0, "embedding": [1e39, 1] }]))], "empty, zero or not finite");
    check_failure(vec![vectors(&json!([{ "index": 0, "embedding": "AACAPw==" }]))], "no list of embeddings");
    check_failure(vec![Act::Reply(200, "{\"data\": [".to_owned())], "no list of embeddings");
    check_failure(vec![Act::Reply(200, "<html>hello</html>".to_owned())], "no list of embeddings");
}

#[test]
fn refuses_an_index_given_twice() {
    let twice = json!([{ "index": 0, "embedding": [1, 0] }, { "index": 0, "embedding": [0, 1] }]);
    let endpoint = Endpoint::new(vec![vectors(&twice)]);
    check_message(&endpoint.model().embed(&["a", "b"]).unwrap_err(), &["index 0 twice"]);
    endpoint.requests();
}

#[test]
fn tries_again_while_that_may_help() {
    let failed = |status| Act::Reply(status, "the content of a memory".to_owned());
    let endpoint = Endpoint::new(vec![failed(500), failed(429), one_vector()]);
    assert_eq!(endpoint.model().embed(&["text"]).unwrap(), [[0.0, 1.0, 0.0]]);
    endpoint.requests();
    check_failure(vec![failed(503), failed(503), failed(503)], "HTTP 503) after 3 tries");
    check_failure(vec![failed(429), failed(429), failed(429)], "too often");
}

#[test]
fn gives_up_at_once_where_trying_again_cannot_help() {
    for (status, expected) in [(401, "embedding.api_key"), (403, "embedding.api_key"), (404, "embedding.url")] {
        check_failure(vec![Act::Reply(status, format!("no, {KEY}"))], expected);
    }
    check_failure(vec![Act::Reply(400, "the content of a memory".to_owned())], "HTTP 400");
    check_failure(vec![Act::Reply(307, String::new())], "final address");
}

#[test]
fn a_silent_endpoint_times_out() {
    let endpoint = Endpoint::new(vec![Act::Silence]);
    let options = HttpModelOptions { timeout: Duration::from_millis(50), ..endpoint.options() };
    let error = HttpModel::new(options).unwrap().embed(&["text"]).unwrap_err();
    check_message(&error, &["did not answer within 50ms"]);
    endpoint.requests();
}

#[test]
fn a_reply_without_end_is_cut_off() {
    let endpoint = Endpoint::new(vec![Act::Flood]);
    let options = HttpModelOptions { timeout: Duration::from_mins(5), ..endpoint.options() };
    check_message(&HttpModel::new(options).unwrap().embed(&["text"]).unwrap_err(), &["more than 67108864 bytes"]);
    endpoint.requests();
}

#[test]
fn a_refused_connection_is_named() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let options = HttpModelOptions {
        backoff: Duration::from_millis(1),
        ..HttpModelOptions::new(format!("http://{address}/v1/"), "some-model")
    };
    let error = HttpModel::new(options).unwrap().embed(&["text"]).unwrap_err();
    check_message(&error, &["cannot be reached", &format!("http://{address}/v1/embeddings"), "after 3 tries"]);
}

#[test]
fn the_name_is_known_without_a_connection() {
    let model = HttpModel::new(HttpModelOptions::new("https://models.example/v1/", "m:latest")).unwrap();
    assert_eq!(model.model().as_str(), "http:m:latest@https://models.example/v1");
}

#[test]
fn refuses_settings_that_cannot_work() {
    let rows = [
        ("", "m", "no URL"),
        ("localhost:11434", "m", "http://"),
        ("ftp://host/v1", "m", "http://"),
        ("http://user:secret@host/v1", "m", "embedding.api_key"),
        ("http://host/v1?key=secret", "m", "embedding.url"),
        ("http://host/v1", " ", "embedding.model"),
    ];
    for (url, name, expected) in rows {
        let error = HttpModel::new(HttpModelOptions::new(url, name)).err().unwrap();
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{url}");
        assert!(error.message.contains(expected) && !error.message.contains("secret"), "{url}: {error}");
    }
    let key = HttpModelOptions { key: Some("a\r\nb".to_owned()), ..HttpModelOptions::new("http://host", "m") };
    assert!(HttpModel::new(key).is_err());
}
