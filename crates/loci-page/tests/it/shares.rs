//! Shares of the page: a greedy subject keeps out no other, and a stranger keeps out no subject.

use std::net::IpAddr;

use axum::body::{Body, Bytes};
use futures_util::stream;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, ORIGIN, RETRY_AFTER};
use http::{Request, StatusCode};

use crate::support::{BASE, Browser, Gate, TestPage, named};

/// Returns a request of which some bytes come, and then nothing more.
fn stalled(path: &str, token: Option<&str>, sent: usize) -> Request<Body> {
    let pieces = (0..sent.div_ceil(4_096))
        .map(|_| Ok::<_, std::io::Error>(Bytes::from_static(&[b'x'; 4_096])));
    let body = stream::unfold(pieces, |mut pieces| async {
        match pieces.next() {
            Some(piece) => Some((piece, pieces)),
            None => std::future::pending().await,
        }
    });
    let mut request = Request::post(path)
        .header(ORIGIN, BASE)
        .header(CONTENT_LENGTH, 8 << 20);
    if let Some(token) = token {
        request = request.header(AUTHORIZATION, format!("Bearer {token}"));
    }
    request.body(Body::from_stream(body)).unwrap()
}

fn with_token(path: &str, token: &str) -> Request<Body> {
    let request = Request::get(path).header(AUTHORIZATION, format!("Bearer {token}"));
    request.body(Body::empty()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_stranger_sends_little_and_a_silent_sender_is_given_up() {
    let installation = TestPage::new();
    let mut stranger = installation.stranger();
    let long = stranger.send(stalled("/sign-in", None, 1 << 20)).await;
    assert_eq!(long.status, StatusCode::PAYLOAD_TOO_LARGE);
    for (path, token) in [("/sign-in", None), ("/api/v1/facts/add", Some("reader"))] {
        let start = tokio::time::Instant::now();
        let silent = stranger.send(stalled(path, token, 1)).await;
        assert_eq!(silent.status, StatusCode::BAD_REQUEST, "{path}");
        let waited = start.elapsed().as_secs();
        assert!((5..=15).contains(&waited), "{path}: {waited} s");
    }
    // Without a token nothing is read.
    let unknown = stranger.send(stalled("/api/v1/facts/add", None, 1)).await;
    assert_eq!(unknown.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test(start_paused = true)]
async fn bodies_of_one_subject_leave_room_for_others() {
    let installation = TestPage::new();
    let send = |token: &'static str| {
        let mut browser = installation.stranger();
        tokio::spawn(async move {
            let request = stalled("/api/v1/facts/add", Some(token), 7 << 20);
            browser.send(request).await.status
        })
    };
    let greedy: Vec<_> = (0..200).map(|_| send("ann")).collect();
    tokio::task::yield_now().await;
    let start = tokio::time::Instant::now();
    let mut other = installation.stranger();
    let text = "word ".repeat(20_000);
    let request = Request::post("/api/v1/facts/add").header(AUTHORIZATION, "Bearer bob");
    let request = request.body(Body::from(format!("object={text}"))).unwrap();
    let reply = other.send(request).await;
    // It was read, and only its fields are wrong.
    assert!(reply.text.contains("subject"), "{}", reply.text);
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    for task in greedy {
        let status = task.await.unwrap();
        let refused = [StatusCode::BAD_REQUEST, StatusCode::TOO_MANY_REQUESTS];
        assert!(refused.contains(&status), "{status}");
    }
}

#[tokio::test]
async fn listeners_and_sessions_of_one_subject_leave_room_for_others() {
    let installation = TestPage::new();
    let listen = async |token: &str| {
        let Browser { router, .. } = installation.stranger();
        let request = with_token("/events", token);
        tower::ServiceExt::oneshot(router, request).await.unwrap()
    };
    let mut held = Vec::new();
    loop {
        let reply = listen("ann").await;
        if reply.status() != StatusCode::OK {
            assert_eq!(reply.status(), StatusCode::SERVICE_UNAVAILABLE);
            break;
        }
        held.push(reply);
        assert!(held.len() < 1_000);
    }
    assert!(held.len() > 1);
    assert_eq!(listen("bob").await.status(), StatusCode::OK);

    let mut bob = installation.browser("bob").await;
    for _ in 0..1_100 {
        installation.browser("ann").await;
    }
    assert_eq!(bob.get("/browse").await.status, StatusCode::OK);
}

/// Waits until a gate holds up so many.
async fn until_waiting(gate: &Gate, count: usize) {
    while gate.waiting() < count {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn requests_of_one_subject_leave_threads_for_others() {
    let installation = TestPage::new();
    installation.hosts.close();
    let greedy: Vec<_> = (0..20)
        .map(|_| {
            let mut program = installation.stranger();
            tokio::spawn(async move { program.send(with_token("/settings", "admin")).await.status })
        })
        .collect();
    until_waiting(&installation.hosts, 3).await;
    let mut other = installation.stranger();
    for _ in 0..3 {
        let reply = other.send(with_token("/browse", "bob")).await;
        assert_eq!(reply.status, StatusCode::OK);
    }
    assert_eq!(installation.hosts.waiting(), 3);
    installation.hosts.open();
    for task in greedy {
        assert_eq!(task.await.unwrap(), StatusCode::OK);
    }
}

#[tokio::test]
async fn whole_files_of_one_subject_leave_room_for_others() {
    let installation = TestPage::new();
    let upload = |token: &str, body: Body| {
        let request = Request::post("/api/v1/settings/import")
            .header(AUTHORIZATION, format!("Bearer {token}"))
            .header(CONTENT_TYPE, "multipart/form-data; boundary=border");
        request.body(body).unwrap()
    };
    let head =
        "--border\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nline";
    let (pieces, mut taken) = tokio::sync::mpsc::unbounded_channel::<()>();
    let body = stream::unfold(pieces, move |pieces| async move {
        if pieces.send(()).is_err() {
            return None;
        }
        Some((
            Ok::<_, std::io::Error>(Bytes::from_static(head.as_bytes())),
            pieces,
        ))
    });
    let stops =
        futures_util::StreamExt::chain(futures_util::StreamExt::take(body, 1), stream::pending());
    let mut program = installation.stranger();
    let stopped = upload("admin", Body::from_stream(stops));
    let stopped = tokio::spawn(async move { program.send(stopped).await.status });
    taken.recv().await.unwrap();
    let whole = format!("{head}\r\n--border--\r\n");
    for (token, status) in [
        ("admin", StatusCode::SERVICE_UNAVAILABLE),
        ("local", StatusCode::OK),
    ] {
        let mut program = installation.stranger();
        let request = upload(token, Body::from(whole.clone()));
        let reply = program.send(request).await;
        assert_eq!(reply.status, status, "{token}: {}", reply.text);
    }
    stopped.abort();
}

#[tokio::test]
async fn waits_for_the_provider_of_one_network_leave_room_for_others() {
    let installation = TestPage::new();
    let gate = &installation.authenticator.provider;
    gate.close();
    let come_back = |code: &'static str, address: &str| {
        let mut browser = installation.stranger();
        let address: IpAddr = address.parse().unwrap();
        tokio::spawn(async move {
            let mut get = async |path: &str| {
                let mut request = Request::get(path).body(Body::empty()).unwrap();
                request.extensions_mut().insert(address);
                browser.send(request).await
            };
            let sent = get("/sign-in/provider?next=%2F").await;
            let (_, state) = sent.location().split_once("?state=").unwrap();
            get(&format!("/signed-in?code={code}&state={state}"))
                .await
                .status
        })
    };
    let greedy: Vec<_> = (0..20).map(|_| come_back("waits", "192.0.2.1")).collect();
    until_waiting(gate, 2).await;
    let other = come_back("ann", "192.0.2.2").await.unwrap();
    assert_eq!(other, StatusCode::OK);
    assert_eq!(gate.waiting(), 2);
    gate.open();
    for task in greedy {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn requests_are_charged_to_who_sends_them_on_every_route() {
    let installation = TestPage::new();
    let left = &installation.authenticator.calls_left;
    left.lock().unwrap().insert(named("ann"), 2);
    let mut program = installation.stranger();
    for (path, status) in [
        ("/api/v1/search?q=kiln", StatusCode::OK),
        ("/browse", StatusCode::OK),
        ("/api/v1/search?q=kiln", StatusCode::TOO_MANY_REQUESTS),
        ("/events", StatusCode::TOO_MANY_REQUESTS),
    ] {
        let reply = program.send(with_token(path, "ann")).await;
        assert_eq!(reply.status, status, "{path}: {}", reply.text);
        if status == StatusCode::TOO_MANY_REQUESTS {
            assert_eq!(reply.headers[RETRY_AFTER], "2");
        }
        assert_eq!(
            program.send(with_token("/browse", "bob")).await.status,
            StatusCode::OK
        );
    }
    // A stranger is its network.
    let stranger = loci_admission::Subject::network(None);
    left.lock().unwrap().insert(stranger, 0);
    for path in ["/enter?code=1", "/sign-in/provider"] {
        let reply = program.get(path).await;
        assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS, "{path}");
    }
    let signing_in = program.send(stalled("/sign-in", None, 1)).await;
    assert_eq!(signing_in.status, StatusCode::TOO_MANY_REQUESTS);
}
