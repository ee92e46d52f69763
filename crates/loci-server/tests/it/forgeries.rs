//! Forged requests: ambiguous ones, those sent by web pages, and those under foreign names.

use loci_server::Authentication;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Server, World, call, long_calls, request};

/// A method, headers, a body and the expected status.
type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str, u16);

/// Sends these bytes and returns the reply until the server closes the connection.
async fn said(server: &Server, bytes: &str) -> String {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let _ = stream.write_all(bytes.as_bytes()).await;
    let mut reply = Vec::new();
    let _ = stream.read_to_end(&mut reply).await;
    String::from_utf8_lossy(&reply).into_owned()
}

#[tokio::test]
async fn a_request_that_can_be_read_in_two_ways_hides_no_other() {
    let server = Server::start(&World::new(), Authentication::Anonymous).await;
    let host = server.address.to_string();
    let hidden = "GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let with = |headers: &str| format!("POST /healthz HTTP/1.1\r\nhost: {host}\r\n{headers}\r\n");
    let rows = [
        (
            with("content-length: 5\r\ntransfer-encoding: chunked\r\n") + "0\r\n\r\n" + hidden,
            "405",
        ),
        (
            with("transfer-encoding: chunked\r\ncontent-length: 5\r\n") + "0\r\n\r\n" + hidden,
            "405",
        ),
        (
            with("content-length: 0\r\ncontent-length: 90\r\n") + hidden,
            "400",
        ),
        (with("content-length: +5\r\n") + hidden, "400"),
        (with("content-length: -1\r\n") + hidden, "400"),
        (with("content-length: 0, 90\r\n") + hidden, "400"),
        (
            with("transfer-encoding: chunked, identity\r\n") + hidden,
            "400",
        ),
        (
            with("transfer-encoding: identity, chunked\r\n") + "0\r\n\r\n" + hidden,
            "400",
        ),
        (
            with("transfer-encoding: gzip, chunked\r\n") + "0\r\n\r\n" + hidden,
            "400",
        ),
        (
            with("transfer-encoding: identity\r\ntransfer-encoding: chunked\r\n")
                + "0\r\n\r\n"
                + hidden,
            "400",
        ),
        (with("transfer-encoding: xchunked\r\n") + hidden, "400"),
        (with("transfer-encoding : chunked\r\n") + hidden, "400"),
        (with("x: a\r\n b: c\r\n") + hidden, "400"),
        (with("x: a\0b\r\n") + hidden, "400"),
        (with("x: a\rb\r\n") + hidden, "400"),
        (
            format!(
                "POST /healthz HTTP/1.0\r\nhost: {host}\r\ntransfer-encoding: chunked\r\n\r\n{hidden}"
            ),
            "400",
        ),
        (
            with("transfer-encoding: chunked\r\n") + "5;\nx\r\nhello\r\n0\r\n\r\n" + hidden,
            "405",
        ),
        (
            with("transfer-encoding: chunked\r\n") + "-1\r\n" + hidden,
            "405",
        ),
        (
            with("transfer-encoding: chunked\r\n") + "FFFFFFFFFFFFFFFFF\r\n" + hidden,
            "405",
        ),
    ];
    for (bytes, status) in rows {
        let reply = said(&server, &bytes).await;
        assert!(
            reply.starts_with(&format!("HTTP/1.1 {status}"))
                || reply.starts_with(&format!("HTTP/1.0 {status}")),
            "{bytes} {reply}"
        );
        assert_eq!(reply.matches("HTTP/1.").count(), 1, "{bytes} {reply}");
    }
}

/// Requests that every server parses in the same way, though they could be written better.
#[tokio::test]
async fn lengths_that_agree_and_bare_line_feeds_are_served() {
    let server = Server::start(&World::new(), Authentication::Anonymous).await;
    let host = server.address.to_string();
    let rows = [
        format!("GET /healthz HTTP/1.1\nhost: {host}\nconnection: close\n\n"),
        format!(
            "GET /healthz HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: 0\r\ncontent-length: 0\r\n\r\n"
        ),
        format!(
            "GET /healthz HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ntransfer-encoding: Chunked\r\n\r\n0\r\n\r\n"
        ),
    ];
    for bytes in rows {
        let reply = said(&server, &bytes).await;
        assert!(reply.starts_with("HTTP/1.1 200"), "{bytes} {reply}");
        assert_eq!(reply.matches("HTTP/1.").count(), 1, "{bytes} {reply}");
    }
}

#[tokio::test]
async fn a_body_that_is_encoded_is_not_read() {
    let server = Server::start(&World::new(), Authentication::Anonymous).await;
    let ping = request(1, "ping", json!({})).to_string();
    for (coding, status) in [
        ("gzip", 415),
        ("identity, br", 415),
        ("", 415),
        ("Identity", 200),
    ] {
        let reply = server
            .post(&[("content-encoding", coding)], ping.as_bytes())
            .await;
        assert_eq!(reply.status, status, "{coding} {reply:?}");
    }
}

#[tokio::test]
async fn who_is_asked_is_said_once() {
    let server = Server::start(&World::new(), Authentication::Anonymous).await;
    let (here, body) = (
        server.address.to_string(),
        request(1, "ping", json!({})).to_string(),
    );
    let ask = |target: &str, headers: &str| {
        format!(
            "POST {target} HTTP/1.1\r\n{headers}content-type: application/json\r\nconnection: close\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let path = "/mcp/test";
    let rows = [
        (path.to_owned(), format!("host: {here}\r\n"), 200),
        (
            format!("http://{here}{path}"),
            format!("host: {here}\r\n"),
            200,
        ),
        (path.to_owned(), String::new(), 400),
        (
            path.to_owned(),
            format!("host: {here}\r\nhost: rebound.example\r\n"),
            400,
        ),
        (
            path.to_owned(),
            format!("host: rebound.example\r\nhost: {here}\r\n"),
            400,
        ),
        (path.to_owned(), "host: rebound.example\r\n".to_owned(), 403),
        (
            path.to_owned(),
            format!("host: rebound.example:{}\r\n", server.address.port()),
            403,
        ),
        (
            path.to_owned(),
            "host: localhost.rebound.example\r\n".to_owned(),
            403,
        ),
        (
            path.to_owned(),
            "host: 127.0.0.1.rebound.example\r\n".to_owned(),
            403,
        ),
        (
            path.to_owned(),
            "host: user@rebound.example\r\n".to_owned(),
            400,
        ),
        (
            path.to_owned(),
            "host: localhost@rebound.example\r\n".to_owned(),
            400,
        ),
        (path.to_owned(), format!("host: evil@{here}\r\n"), 400),
        (path.to_owned(), format!("host: @{here}\r\n"), 400),
        (path.to_owned(), "host: 2130706433\r\n".to_owned(), 403),
        // The same name, written as an absolute one.
        (path.to_owned(), "host: localhost.\r\n".to_owned(), 200),
        (
            path.to_owned(),
            "host: localhost.rebound.example.\r\n".to_owned(),
            403,
        ),
        (
            format!("http://rebound.example{path}"),
            format!("host: {here}\r\n"),
            400,
        ),
        (
            format!("http://{here}{path}"),
            "host: rebound.example\r\n".to_owned(),
            400,
        ),
        (
            path.to_owned(),
            format!("host: rebound.example\r\nx-forwarded-host: {here}\r\n"),
            403,
        ),
        (
            path.to_owned(),
            format!("host: rebound.example\r\nforwarded: host={here}\r\n"),
            403,
        ),
        (
            path.to_owned(),
            format!("host: {here}\r\norigin: http://localhost\r\norigin: https://evil.example\r\n"),
            400,
        ),
        (
            path.to_owned(),
            format!("host: {here}\r\ncontent-type: text/plain\r\n"),
            400,
        ),
    ];
    for (target, headers, status) in rows {
        let reply = said(&server, &ask(&target, &headers)).await;
        assert!(
            reply.starts_with(&format!("HTTP/1.1 {status}")),
            "{target} {headers} {reply}"
        );
    }
}

#[tokio::test]
async fn a_page_of_others_has_nothing_done() {
    let server = Server::start(&World::new(), Authentication::Anonymous).await;
    let body = request(
        1,
        "tools/call",
        call("long", json!({"name": "forged", "bytes": 1})),
    )
    .to_string();
    let form = format!("{body}=");
    let parts =
        format!("--x\r\ncontent-disposition: form-data; name=\"a\"\r\n\r\n{body}\r\n--x--\r\n");
    let (evil, null) = (("origin", "https://evil.example"), ("origin", "null"));
    let cross = ("sec-fetch-site", "cross-site");
    // First requests that a form or a script without permission can send; then ones that a browser
    // never sends.
    let rows: [Row<'_>; 9] = [
        ("POST", &[("content-type", "text/plain")], &body, 415),
        (
            "POST",
            &[("content-type", "application/x-www-form-urlencoded"), cross],
            &form,
            415,
        ),
        (
            "POST",
            &[("content-type", "multipart/form-data; boundary=x"), cross],
            &parts,
            415,
        ),
        (
            "POST",
            &[("content-type", "text/plain;application/json"), cross],
            &body,
            415,
        ),
        (
            "POST",
            &[("content-type", "text/plain"), evil, cross],
            &body,
            403,
        ),
        (
            "POST",
            &[("content-type", "application/json"), evil, cross],
            &body,
            403,
        ),
        (
            "POST",
            &[("content-type", "application/json"), null, cross],
            &body,
            403,
        ),
        (
            "GET",
            &[("content-type", "application/json"), cross],
            &body,
            405,
        ),
        (
            "PUT",
            &[("content-type", "application/json"), cross],
            &body,
            405,
        ),
    ];
    for (method, headers, body, status) in rows {
        let accept = [("accept", "application/json, text/event-stream")];
        let headers: Vec<_> = accept.iter().chain(headers).copied().collect();
        let reply = server
            .send(&format!("{method} /mcp/test"), &headers, body.as_bytes())
            .await;
        assert_eq!(reply.status, status, "{method} {headers:?} {reply:?}");
        assert!(
            !reply.headers.contains_key("access-control-allow-origin"),
            "{reply:?}"
        );
    }
    let twice = server
        .post(
            &[
                ("accept", "application/json, text/event-stream"),
                cross,
                evil,
            ],
            body.as_bytes(),
        )
        .await;
    assert_eq!((twice.status, long_calls("forged")), (403, 0));
}
