//! Rate limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use loci_core::{Scope, Scopes, Space, Timestamp, Token, TokenStore};
use loci_server::{Authentication, CallLimit, HttpConfig, MonotonicTime, RateLimit, token_hash};
use loci_testkit::{FixedClock, NaiveStore};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Reply, Server, World, request};

/// A clock that a test controls.
#[derive(Default)]
pub struct Time {
    seconds: Arc<AtomicU64>,
}

impl Time {
    pub fn monotonic(&self) -> MonotonicTime {
        let seconds = Arc::clone(&self.seconds);
        MonotonicTime::new(move || Duration::from_secs(seconds.load(Ordering::SeqCst)))
    }

    pub fn pass(&self, seconds: u64) {
        self.seconds.fetch_add(seconds, Ordering::SeqCst);
    }
}

/// Three calls in a burst, then one every ten seconds.
const LIMIT: RateLimit = RateLimit {
    per_minute: 6,
    burst: 3,
};

/// Tokens of `ann`, who has two, and `bob`, and of another `ann` in a separate space.
fn tokens() -> Authentication {
    let store = NaiveStore::new();
    let rows = [
        ("ann-1", "ann", "main"),
        ("ann-2", "ann", "main"),
        ("bob-1", "bob", "main"),
        ("ann-3", "ann", "side"),
    ];
    for (id, subject, space) in rows {
        let token = Token {
            id: id.to_owned(),
            hash: token_hash(id),
            space: Space::parse("space", space).unwrap(),
            subject: subject.to_owned(),
            scopes: Scopes::of(&[Scope::Read]),
            created_at: Timestamp::from_microseconds(0),
            expires_at: None,
            revoked_at: None,
            grant: None,
        };
        store.add_token(&token).unwrap();
    }
    Authentication::Bearer {
        tokens: Arc::new(store),
        verifier: None,
        clock: Arc::new(FixedClock::default()),
        grants: false,
    }
}

async fn start(
    authentication: Authentication,
    rate_limit: Option<RateLimit>,
    time: &Time,
) -> Server {
    let config = HttpConfig {
        call_limit: rate_limit.map(|limit| Arc::new(CallLimit::new(limit, time.monotonic()))),
        trusted_proxies: vec!["127.0.0.0/8".parse().unwrap()],
        ..HttpConfig::new(authentication)
    };
    Server::start_with(&World::new(), config).await
}

async fn ping(server: &Server, token: &str) -> Reply {
    let authorization = format!("Bearer {token}");
    server
        .post(&[("authorization", &authorization)], ping_body().as_bytes())
        .await
}

fn ping_body() -> String {
    request(1, "ping", json!({})).to_string()
}

#[tokio::test]
async fn each_subject_has_a_bucket_of_its_own_that_fills_again() {
    let time = Time::default();
    let server = start(tokens(), Some(LIMIT), &time).await;
    for token in ["ann-1", "ann-2", "ann-1"] {
        assert_eq!(ping(&server, token).await.status, 200);
    }
    let refused = ping(&server, "ann-2").await;
    assert_eq!(
        (refused.status, refused.headers["retry-after"].as_str()),
        (429, "10")
    );
    assert_eq!(refused.json()["error"]["code"], "rate_limited");
    assert!(
        refused.json()["error"]["message"]
            .as_str()
            .unwrap()
            .ends_with("try again in 10 s")
    );
    for other in ["bob-1", "ann-3"] {
        assert_eq!(ping(&server, other).await.status, 200, "{other}");
    }
    time.pass(9);
    assert_eq!(ping(&server, "ann-1").await.headers["retry-after"], "1");
    time.pass(1);
    assert_eq!(ping(&server, "ann-1").await.status, 200);
    assert_eq!(ping(&server, "ann-1").await.status, 429);
    // The bucket never holds more than its capacity.
    time.pass(100_000);
    let statuses = [
        ping(&server, "ann-1").await,
        ping(&server, "ann-1").await,
        ping(&server, "ann-1").await,
    ];
    assert!(statuses.iter().all(|reply| reply.status == 200));
    assert_eq!(ping(&server, "ann-1").await.status, 429);
}

#[tokio::test]
async fn what_is_refused_is_not_waited_for_and_what_is_no_call_is_not_counted() {
    let server = start(tokens(), Some(LIMIT), &Time::default()).await;
    let authorization = [("authorization", "Bearer ann-1")];
    for _ in 0..5 {
        assert_eq!(
            server
                .send("GET /mcp/test", &authorization, b"")
                .await
                .status,
            405
        );
        assert_eq!(
            server
                .send("GET /healthz", &authorization, b"")
                .await
                .status,
            200
        );
    }
    for _ in 0..3 {
        assert_eq!(server.post(&authorization, b"no JSON").await.status, 400);
    }
    assert_eq!(server.post(&authorization, b"no JSON").await.status, 429);
    // The announced body never arrives; a client that sends `Expect` does not get permission to
    // continue.
    for expectation in ["", "expect: 100-continue\r\n"] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let head = format!(
            "POST /mcp/test HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ann-1\r\n\
             content-type: application/json\r\ncontent-length: 9999\r\n{expectation}\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut status = [0; 12];
        tokio::time::timeout(Duration::from_mins(1), stream.read_exact(&mut status))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(&status, b"HTTP/1.1 429");
    }
}

#[tokio::test]
async fn a_batch_counts_as_its_elements() {
    let time = Time::default();
    let server = start(tokens(), Some(LIMIT), &time).await;
    let batch = |count: usize| format!("[{}]", vec![ping_body(); count].join(","));
    let post = async |count| {
        server
            .post(
                &[("authorization", "Bearer ann-1")],
                batch(count).as_bytes(),
            )
            .await
    };
    assert_eq!(post(2).await.json().as_array().unwrap().len(), 2);
    let refused = post(2).await;
    assert_eq!(
        (refused.status, refused.headers["retry-after"].as_str()),
        (429, "20")
    );
    time.pass(20);
    assert_eq!(post(2).await.status, 200);
    // The largest batch that fits.
    time.pass(100_000);
    assert_eq!(post(3).await.json().as_array().unwrap().len(), 3);
    assert_eq!(post(1).await.status, 429);
    // The refusal of a batch that never fits does not suggest a retry.
    time.pass(100_000);
    let refused = post(4).await;
    assert_eq!(
        (refused.status, &refused.json()["error"]["code"]),
        (413, &json!("too_large"))
    );
    assert!(
        refused.json()["error"]["message"]
            .as_str()
            .unwrap()
            .ends_with("one batch may have at most 3 here")
    );
    assert!(!refused.headers.contains_key("retry-after"));
}

#[tokio::test]
async fn callers_without_a_name_are_told_apart_by_their_address() {
    let server = start(Authentication::Anonymous, Some(LIMIT), &Time::default()).await;
    let post = async |from: &str| {
        server
            .post(&[("x-forwarded-for", from)], ping_body().as_bytes())
            .await
            .status
    };
    for _ in 0..3 {
        assert_eq!(post("192.0.2.1").await, 200);
        assert_eq!(post("2001:db8::1").await, 200);
        assert_eq!(server.post(&[], ping_body().as_bytes()).await.status, 200);
    }
    assert_eq!(post("192.0.2.1").await, 429);
    assert_eq!(
        post("203.0.113.9, 192.0.2.1").await,
        429,
        "who writes more into the header is the same"
    );
    assert_eq!(
        post("2001:db8::2").await,
        429,
        "a customer of a provider has many addresses"
    );
    assert_eq!(post("192.0.2.2").await, 200);
    assert_eq!(post("2001:db8:0:1::1").await, 200);
}

#[tokio::test]
async fn without_a_limit_nobody_waits() {
    let server = start(tokens(), None, &Time::default()).await;
    for _ in 0..50 {
        assert_eq!(ping(&server, "ann-1").await.status, 200);
    }
}
