//! A client that sends its whole request before it reads still receives the refusal.

use std::sync::Arc;

use loci_core::limits::REQUEST_BYTES_MAX;
use loci_server::{CallLimit, HttpConfig, MonotonicTime, RateLimit};

use crate::support::{Server, World, with_issuer};

#[tokio::test]
async fn refusals_of_large_requests_arrive() {
    let (_, _, authentication) = with_issuer();
    let config = HttpConfig {
        call_limit: Some(Arc::new(CallLimit::new(
            RateLimit {
                per_minute: 1,
                burst: 1,
            },
            MonotonicTime::default(),
        ))),
        ..HttpConfig::new(authentication)
    };
    let server = Server::start_with(&World::new(), config).await;
    // More than the buffers of both ends hold.
    let body = vec![b'x'; 2 * REQUEST_BYTES_MAX];
    let (ann, reader) = (
        ("authorization", "Bearer secret-of-ann"),
        ("authorization", "Bearer secret-of-reader"),
    );
    let rows: [(&str, &[_], u16); 8] = [
        ("/mcp/test", &[], 401),
        ("/mcp/test", &[("authorization", "Bearer wrong")], 401),
        ("/mcp/test", &[("authorization", "Bearer issued.down")], 503),
        ("/mcp/test", &[ann, ("content-type", "text/plain")], 415),
        ("/mcp/test", &[ann], 429),
        (
            "/mcp/test",
            &[
                reader,
                ("content-type", "text/plain"),
                ("origin", "https://elsewhere.example"),
            ],
            403,
        ),
        (
            "/mcp/test",
            &[("authorization", "Bearer secret-of-writer")],
            413,
        ),
        ("/mcp/elsewhere", &[], 404),
    ];
    for (path, headers, status) in rows {
        let accept = [("accept", "application/json, text/event-stream")];
        let json = [("content-type", "application/json")];
        let json = json
            .iter()
            .filter(|_| !headers.iter().any(|(name, _)| *name == "content-type"));
        let headers: Vec<_> = accept.iter().chain(json).chain(headers).copied().collect();
        let reply = server.send(&format!("POST {path}"), &headers, &body).await;
        assert_eq!(reply.status, status, "{headers:?} {reply:?}");
    }
}
