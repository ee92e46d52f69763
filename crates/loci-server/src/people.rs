//! Answers for people who open an endpoint in a browser, or ask it with curl: the protocol has
//! nothing for them there, so they get words.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{ACCEPT, ALLOW, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

/// The media type of the stream that a client of the protocol opens by GET.
const EVENT_STREAM: &str = "text/event-stream";
const PLAIN_TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// True if a request comes from a person, not from a client of the protocol.
fn is_of_person(method: &Method, headers: &HeaderMap) -> bool {
    let names_stream = |value: &HeaderValue| {
        value
            .to_str()
            .is_ok_and(|value| value.to_ascii_lowercase().contains(EVENT_STREAM))
    };
    [Method::GET, Method::HEAD].contains(method)
        && !headers.get_all(ACCEPT).iter().any(names_stream)
}

/// True if a browser asks for something to show.
pub(crate) fn is_of_browser(request: &Request) -> bool {
    let accepted = request.headers().get(ACCEPT);
    let accepted = accepted.and_then(|accepted| accepted.to_str().ok());
    request.method() == Method::GET && accepted.is_some_and(|kinds| kinds.contains("text/html"))
}

/// Says to a person what an endpoint is, in place of the body of a refusal. Status and headers of
/// the refusal stay, because clients learn from them how to sign in.
pub(crate) async fn answer_people(request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let is_of_person = is_of_person(request.method(), request.headers());
    let response = next.run(request).await;
    let told = match response.status() {
        _ if !is_of_person => None,
        StatusCode::METHOD_NOT_ALLOWED => Some(""),
        StatusCode::UNAUTHORIZED => {
            Some("Nothing is shown without a token: `loci token create` makes one.\n")
        }
        _ => None,
    };
    let Some(more) = told else { return response };
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.insert(CONTENT_TYPE, PLAIN_TEXT);
    if parts.status == StatusCode::METHOD_NOT_ALLOWED {
        parts
            .headers
            .insert(ALLOW, HeaderValue::from_static("POST"));
    }
    let words = format!(
        "This is loci, a memory for AI agents. {path} is an endpoint of MCP (streamable HTTP): agents send it \
         messages by POST.\nGive this URL to your agent's host, e.g. by `loci connect HOST --http URL`.\n{more}"
    );
    (parts, words).into_response()
}

/// Says to a person which endpoints there are; `None` for a request that a program sends.
pub(crate) fn endpoints_in_words(request: &Request, paths: &[String]) -> Option<Response> {
    is_of_person(request.method(), request.headers()).then(|| {
        let listed = paths.join("\n  ");
        let words = format!(
            "This is loci, a memory for AI agents. They reach it over MCP (streamable HTTP), each set of tools at a \
             URL of its own:\n  {listed}\nGive one of these URLs to your agent's host, e.g. by `loci connect HOST --http URL`.\n"
        );
        ([(CONTENT_TYPE, PLAIN_TEXT)], words).into_response()
    })
}
