//! The event stream that is the reply of a call which asks the person, over HTTP before 2026-07-28.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http_body_util::{BodyExt, Collected};
use hyper::body::Frame;
use loci_core::{Caller, Error};
use loci_dialects::questions::{PersonAnswer, Question};
use rmcp::model::ProtocolVersion;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Questions, answer_in, is_inability, request_parameters};

/// The messages that wait for a client that does not read.
const QUEUE_MAX: usize = 4;
/// The time after which a comment says that the stream is alive, for the proxies between.
const COMMENT_AFTER: Duration = Duration::from_secs(15);

/// The way of a call to the person over HTTP: messages that go out before its reply.
#[derive(Clone)]
pub(crate) struct AskedStream(mpsc::Sender<Value>);

impl AskedStream {
    /// Returns the way, and what goes over it.
    pub(crate) fn new() -> (Self, mpsc::Receiver<Value>) {
        let (messages, outgoing) = mpsc::channel(QUEUE_MAX);
        (AskedStream(messages), outgoing)
    }

    /// Asks the person, and waits for the answer until the time is over.
    ///
    /// # Errors
    /// `unavailable` if the client ended before its person answered.
    pub(crate) async fn ask(
        &self,
        questions: &Questions,
        caller: &Caller,
        question: &Question,
        version: &ProtocolVersion,
        limit: Duration,
    ) -> Result<PersonAnswer, Error> {
        let Some((id, answered)) = questions.wait(caller) else {
            return Ok(PersonAnswer::Missing);
        };
        let parameters = request_parameters(question, version);
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": parameters});
        if self.0.send(request).await.is_err() {
            return Err(client_ended());
        }
        match tokio::time::timeout(limit, answered).await {
            Ok(Ok(Ok(result))) => Ok(answer_in(&result, question)),
            Ok(Ok(Err(error))) if is_inability(&error) => Ok(PersonAnswer::Missing),
            Ok(_) => Err(client_ended()),
            Err(_elapsed) => {
                let cancelled =
                    json!({"requestId": id, "reason": "the time for an answer is over"});
                let notification = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled});
                // The client may be gone.
                let _ = self.0.send(notification).await;
                Ok(PersonAnswer::Missing)
            }
        }
    }
}

/// Returns the error of a call whose client ended while its person was asked.
pub(crate) fn client_ended() -> Error {
    Error::unavailable("the connection ended before the person answered")
}

/// Returns a response of events: this message, those that follow it, and at the end the response of the
/// call. The call ends when the client goes or cancels it.
pub(crate) fn event_stream(
    first: Value,
    mut outgoing: mpsc::Receiver<Value>,
    mut call: Pin<Box<dyn Future<Output = Response> + Send>>,
    cancelled: CancellationToken,
) -> Response {
    let (events, body) = mpsc::channel::<Bytes>(QUEUE_MAX);
    tokio::spawn(async move {
        let _over = cancelled.clone().drop_guard();
        let mut next = Some(event(first.to_string().as_bytes()));
        loop {
            if let Some(event) = next.take()
                && events.send(event).await.is_err()
            {
                return;
            }
            tokio::select! {
                Some(message) = outgoing.recv() => next = Some(event(message.to_string().as_bytes())),
                response = &mut call => {
                    let collected = response.into_body().collect().await;
                    if let Ok(bytes) = collected.map(Collected::to_bytes) {
                        // The client may be gone.
                        let _ = events.send(event(&bytes)).await;
                    }
                    return;
                }
                () = events.closed() => return,
                () = cancelled.cancelled() => return,
                () = tokio::time::sleep(COMMENT_AFTER) => next = Some(Bytes::from_static(b": waiting for the person\n\n")),
            }
        }
    });
    let body = Body::new(EventBody(body));
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, body).into_response()
}

/// Returns a message as an event. JSON has no line feed outside of texts, and in texts it is escaped.
fn event(message: &[u8]) -> Bytes {
    Bytes::from([b"event: message\ndata: ", message, b"\n\n"].concat())
}

/// The events as the body of a response.
struct EventBody(mpsc::Receiver<Bytes>);

impl HttpBody for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let received = self.0.poll_recv(context);
        received.map(|event| event.map(|event| Ok(Frame::data(event))))
    }
}
