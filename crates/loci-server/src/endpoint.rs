//! One MCP endpoint: reads the body before the SDK does, so that unreadable bodies are answered in
//! the protocol's terms, and serves the batches of revision 2025-03-26.

use std::collections::HashSet;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt, Collected};
use loci_admission::Subject;
use loci_core::{Caller, Error};
use loci_dialects::{Context, Dialect};
use rmcp::ServerHandler;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ProtocolVersion, RequestId,
};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;

use crate::auth::{Authentication, RequiredScopes, insufficient_scope};
use crate::body;
use crate::client_session::{self, ClientSession};
use crate::error_reply::failure;
use crate::host::{CallKind, Host, ReplyShare};
use crate::message::{self, ClientInput, Refusal};
use crate::mutex::lock;
use crate::questions::{AskedStream, StreamKey, event_stream};
use crate::rate_limit::charge_batch;
use crate::request_context::{product, session_of};
use crate::subject::subject_of;
use crate::subscription::{RequestVersion, is_listen};

const PROTOCOL_VERSION: &str = "mcp-protocol-version";

type ServiceFuture = Pin<Box<dyn Future<Output = Response> + Send>>;

/// The forms of replies that the protocol has a client accept.
const REPLY_FORMS: &str = "application/json, text/event-stream";

/// An endpoint for one handler. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Endpoint {
    authentication: Authentication,
    /// The dialect that the handler serves, if it serves one.
    dialect: Option<&'static Dialect>,
    host: Arc<Host>,
    refused_names: Arc<RefusedNames>,
    service: Arc<dyn Fn(Request) -> ServiceFuture + Send + Sync>,
}

impl Endpoint {
    pub(crate) fn new<H: ServerHandler + Clone>(
        handler: H,
        dialect: Option<&'static Dialect>,
        authentication: Authentication,
        host: Arc<Host>,
        refused_names: Arc<RefusedNames>,
        config: StreamableHttpServerConfig,
    ) -> Self {
        let sessions = Arc::new(LocalSessionManager::default());
        let service = StreamableHttpService::new(move || Ok(handler.clone()), sessions, config);
        let service = move |request: Request| -> ServiceFuture {
            let service = service.clone();
            Box::pin(async move { service.handle(request).await.map(Body::new) })
        };
        Endpoint {
            authentication,
            dialect,
            host,
            refused_names,
            service: Arc::new(service),
        }
    }

    /// Answers one HTTP request.
    pub(crate) async fn handle(self, request: Request) -> Result<Response, Infallible> {
        if request.method() != Method::POST || !is_json(request.headers()) {
            // Nothing reads the body of such a request.
            let request = body::drain(request).await;
            return Ok(self.served(request).await);
        }
        if is_encoded(request.headers()) {
            body::drain(request).await;
            let message = "Content-Encoding must be left out or `identity`: send the body as it is";
            let refusal = Refusal::new(None, ErrorCode::INVALID_REQUEST, message);
            return Ok(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, refusal));
        }
        let (mut parts, body) = request.into_parts();
        let (body, _share) = match body::read(&parts, body, self.host.requests()).await {
            Ok(read) => read,
            Err((status, refusal)) => return Ok(refused(status, refusal)),
        };
        Ok(match message::read(&body) {
            Ok(ClientInput::Message(message, repaired)) => {
                if let Some(refused) = self.without_scope(&parts, &message).await {
                    return Ok(refused);
                }
                let share = ReplyShare::default();
                parts.extensions.insert(share.clone());
                if is_listen(&message)
                    && let Some(caller) = parts.extensions.get::<Caller>()
                {
                    let subject = subject_of(&parts.extensions);
                    let since =
                        RequestVersion::now(&self.host, &subject, caller.space.clone()).await;
                    parts.extensions.insert(since);
                }
                if self.takes_answer(&parts, &message) {
                    return Ok(StatusCode::ACCEPTED.into_response());
                }
                let session = ClientSession::of_greeting(&message, &self.host);
                let asking = self.asking_call(&parts, &message);
                drop(message);
                let bytes = repaired.map_or(body.bytes, Bytes::from);
                let mut response = match asking {
                    Some(key) => self.pass_asking(parts, bytes, key).await,
                    None => self.pass(parts, bytes).await,
                };
                if let Some(name) = session.and_then(ClientSession::name) {
                    response.headers_mut().insert(client_session::HEADER, name);
                }
                hold_until_written(response, share).await
            }
            Ok(ClientInput::Batch(elements)) => {
                if let Some(refused) = charge_batch(&parts.extensions, elements.len()) {
                    return Ok(refused);
                }
                let share = ReplyShare::of_batch();
                parts.extensions.insert(share.clone());
                hold_until_written(self.batch(parts, elements).await, share).await
            }
            Err(refusal) => refused(StatusCode::BAD_REQUEST, refusal),
        })
    }

    /// Returns the refusal of a message whose caller lacks a required scope. In a batch only the
    /// handler refuses: there is one status for all elements.
    async fn without_scope(
        &self,
        parts: &Parts,
        message: &ClientJsonRpcMessage,
    ) -> Option<Response> {
        let ClientJsonRpcMessage::Request(message) = message else {
            return None;
        };
        let need = RequiredScopes::of(&message.request, self.dialect)?;
        let caller = parts
            .extensions
            .get::<Caller>()
            .filter(|caller| !need.is_met_by(caller))?;
        let named = Caller {
            client: product(parts),
            session: session_of(parts),
            ..caller.clone()
        };
        let subject = subject_of(&parts.extensions);
        self.note_denied(named, &subject, &message.request).await;
        Some(insufficient_scope(
            &self.authentication,
            parts,
            caller,
            message.id.clone(),
            &need,
        ))
    }

    /// Records a denied call in the dialect's audit log.
    async fn note_denied(&self, caller: Caller, subject: &Subject, request: &ClientRequest) {
        let (Some(dialect), ClientRequest::CallToolRequest(call)) = (self.dialect, request) else {
            return;
        };
        let Some(tool) = dialect.tool(&call.params.name) else {
            return;
        };
        let arguments = call.params.arguments.clone().unwrap_or_default();
        let denied = self.host.call(subject, CallKind::Reads, move |engine| {
            Ok(dialect.deny(
                tool,
                Context {
                    engine,
                    caller: &caller,
                },
                arguments,
            ))
        });
        if let Err(error) = denied.await {
            tracing::warn!(tool = tool.name, %error, "a call that was denied may not stand in the audit log");
        }
    }

    /// Has the SDK answer one message. The SDK parses the message once more, though it was read
    /// here: its service takes a body of bytes and offers no way to hand over a parsed message.
    async fn pass(&self, parts: Parts, body: Bytes) -> Response {
        let start = body.len() - message::without_mark(&body).len();
        self.served(Request::from_parts(parts, Body::from(body.slice(start..))))
            .await
    }

    /// Returns true if the message is the answer of a person whom a call in an event stream asked. A
    /// client that cancels such a call says so in a message of its own, too.
    fn takes_answer(&self, parts: &Parts, message: &ClientJsonRpcMessage) -> bool {
        let questions = self.host.questions();
        let (id, answer) = match message {
            ClientJsonRpcMessage::Response(response) => {
                let Ok(result) = serde_json::to_value(&response.result) else {
                    return false;
                };
                (Some(&response.id), Ok(result))
            }
            ClientJsonRpcMessage::Error(error) => (error.id.as_ref(), Err(error.error.clone())),
            ClientJsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let (Some(session), Some(id)) =
                        (session_of(parts), &cancelled.params.request_id)
                {
                    questions.cancel_stream(&(session, id.clone()));
                }
                return false;
            }
            ClientJsonRpcMessage::Request(_) => return false,
        };
        let caller = parts.extensions.get::<Caller>();
        match (id, caller) {
            (Some(RequestId::String(id)), Some(caller)) => questions.answer(id, caller, answer),
            _ => false,
        }
    }

    /// Returns what identifies a call of a tool that can ask the person in an event stream; `None` if it
    /// cannot.
    fn asking_call(&self, parts: &Parts, message: &ClientJsonRpcMessage) -> Option<StreamKey> {
        self.host.questions().limit()?;
        let session = ClientSession::of(parts).filter(|session| session.shows_forms);
        let ClientJsonRpcMessage::Request(request) = message else {
            return None;
        };
        let is_call = matches!(request.request, ClientRequest::CallToolRequest(_));
        let takes_events = parts.headers.get_all(ACCEPT).iter().any(|accepted| {
            let accepted = accepted.to_str().unwrap_or_default();
            accepted.contains("text/event-stream") || accepted.contains("*/*")
        });
        session.filter(|_| is_call && takes_events)?;
        Some((session_of(parts)?, request.id.clone()))
    }

    /// Has the SDK answer a call that may ask the person: if it does, the reply is a stream of events.
    async fn pass_asking(&self, mut parts: Parts, body: Bytes, key: StreamKey) -> Response {
        let (way, mut outgoing) = AskedStream::new();
        parts.extensions.insert(way);
        let endpoint = self.clone();
        let mut call: ServiceFuture = Box::pin(async move { endpoint.pass(parts, body).await });
        tokio::select! {
            response = &mut call => response,
            Some(first) = outgoing.recv() => {
                let cancelled = self.host.questions().stream(&key);
                event_stream(first, outgoing, call, cancelled)
            }
        }
    }

    /// Has the SDK answer a request, whatever form of reply the client asks for: there is one form
    /// for each request, and many clients name a part of the forms that the protocol wants named,
    /// or none. A refusal because of the host or the web page says what to set.
    async fn served(&self, mut request: Request) -> Response {
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static(REPLY_FORMS));
        let (host, origin) = (headers.get(HOST).cloned(), headers.get(ORIGIN).cloned());
        let response = (self.service)(request).await;
        if response.status() != StatusCode::FORBIDDEN {
            return response;
        }
        if self.refused_names.are_new(host.as_ref(), origin.as_ref()) {
            tracing::warn!(
                ?host,
                ?origin,
                "a request was refused because of the host or the web page it names; if that is one of yours, set `public_url`, or add it to the setting `allowed_hosts` or `allowed_origins`"
            );
        }
        let said = response
            .into_body()
            .collect()
            .await
            .map(Collected::to_bytes);
        let is_of_origin = said.is_ok_and(|said| said.windows(6).any(|word| word == b"Origin"));
        let message = if is_of_origin {
            "the request comes from a web page that is not allowed (`Origin`); if it is one of yours, set `public_url` to the URL of this server for clients, or add the page to `allowed_origins`"
        } else {
            "the request names a host that this server does not know (`Host`); if clients should reach it under that name, set `public_url` to its URL for them, or add the name to `allowed_hosts`"
        };
        let refusal = Refusal::new(None, ErrorCode::INVALID_REQUEST, message);
        refused(StatusCode::FORBIDDEN, refusal)
    }

    /// Serves the elements one after the other.
    async fn batch(&self, parts: Parts, elements: Vec<Value>) -> Response {
        let version = parts.headers.get(PROTOCOL_VERSION);
        if version.is_some_and(|version| version != ProtocolVersion::V_2025_03_26.as_str()) {
            return refused(StatusCode::BAD_REQUEST, Refusal::batch_not_served());
        }
        let mut replies = Vec::new();
        for element in elements {
            if let Err(refusal) = may_stand_in_batch(&element) {
                replies.push(refusal.into_bytes());
                continue;
            }
            // The SDK gets the value that was checked, not the client's text, which another parse
            // might read otherwise where a key occurs twice.
            let response = self
                .pass(parts.clone(), Bytes::from(element.to_string()))
                .await;
            if response.status() == StatusCode::ACCEPTED {
                continue;
            }
            if response.status() == StatusCode::FORBIDDEN || !is_json(response.headers()) {
                // Refused because of the headers (Host, Origin), so the other elements are refused
                // too.
                return response;
            }
            let collected = response.into_body().collect().await;
            let reply = collected.ok().map(Collected::to_bytes);
            replies.push(reply.filter(|reply| !reply.is_empty()).unwrap_or_else(|| {
                let message = "the reply to this element could not be put into the batch";
                Refusal::new(None, ErrorCode::INTERNAL_ERROR, message).into_bytes()
            }));
        }
        if replies.is_empty() {
            StatusCode::ACCEPTED.into_response()
        } else {
            let json = HeaderValue::from_static("application/json");
            ([(CONTENT_TYPE, json)], json_array(&replies)).into_response()
        }
    }
}

/// Returns a JSON array of these JSON texts.
fn json_array(texts: &[Bytes]) -> Vec<u8> {
    let mut array = b"[".to_vec();
    for (index, text) in texts.iter().enumerate() {
        if index > 0 {
            array.push(b',');
        }
        array.extend_from_slice(text);
    }
    array.push(b']');
    array
}

/// Names in the `Host` and `Origin` headers of refused requests that were already logged.
#[derive(Default)]
pub(crate) struct RefusedNames {
    seen: Mutex<HashSet<(Option<HeaderValue>, Option<HeaderValue>)>>,
}

/// The maximum number of pairs of names that are logged, so that no client can flood the log.
const REFUSED_NAMES_MAX: usize = 64;
/// The maximum length in bytes of a name that is logged.
const REFUSED_NAME_BYTES_MAX: usize = 256;

impl RefusedNames {
    /// Returns true if these names should be logged.
    fn are_new(&self, host: Option<&HeaderValue>, origin: Option<&HeaderValue>) -> bool {
        let mut seen = lock(&self.seen);
        let short = [host, origin]
            .into_iter()
            .flatten()
            .all(|name| name.len() <= REFUSED_NAME_BYTES_MAX);
        short && seen.len() < REFUSED_NAMES_MAX && seen.insert((host.cloned(), origin.cloned()))
    }
}

/// The bytes of a reply with its share of the budget.
struct HeldBytes {
    bytes: Bytes,
    _share: ReplyShare,
}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Attaches the share to the bytes of the reply, which the connection drops when they are written
/// or when it ends. Event streams have no share.
async fn hold_until_written(response: Response, share: ReplyShare) -> Response {
    if !is_json(response.headers()) {
        return response;
    }
    let (parts, body) = response.into_parts();
    match body.collect().await {
        Ok(body) => {
            let held = HeldBytes {
                bytes: body.to_bytes(),
                _share: share,
            };
            Response::from_parts(parts, Body::from(Bytes::from_owner(held)))
        }
        Err(error) => {
            tracing::error!(%error, "a reply broke off before its end");
            failure(&Error::internal("the reply broke off before its end"))
        }
    }
}

fn may_stand_in_batch(element: &Value) -> Result<(), Refusal> {
    match message::read_element(element)? {
        ClientJsonRpcMessage::Request(request)
            if matches!(request.request, ClientRequest::InitializeRequest(_)) =>
        {
            let message = "`initialize` must be sent alone, not in a batch";
            Err(Refusal::new(
                Some(request.id),
                ErrorCode::INVALID_REQUEST,
                message,
            ))
        }
        _ => Ok(()),
    }
}

fn refused(status: StatusCode, refusal: Refusal) -> Response {
    (status, Json(refusal.into_json())).into_response()
}

fn is_encoded(headers: &HeaderMap) -> bool {
    headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

fn is_json(headers: &HeaderMap) -> bool {
    let essence = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = essence
        .split_once(';')
        .map_or(essence, |(essence, _)| essence);
    essence.trim().eq_ignore_ascii_case("application/json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_name_is_told_of_once_and_many_are_not() {
        let names = RefusedNames::default();
        let host = HeaderValue::from_static("memory.example");
        assert!(names.are_new(Some(&host), None));
        assert!(!names.are_new(Some(&host), None));
        let long = HeaderValue::from_str(&"x".repeat(REFUSED_NAME_BYTES_MAX + 1)).unwrap();
        assert!(!names.are_new(Some(&long), None));
        let told = (0..1000)
            .filter(|n| names.are_new(Some(&HeaderValue::from(*n)), None))
            .count();
        assert_eq!(told, REFUSED_NAMES_MAX - 1);
    }
}
