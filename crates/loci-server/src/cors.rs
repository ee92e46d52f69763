//! Decides which web pages of other origins may call and read the answers (the CORS protocol of
//! <https://fetch.spec.whatwg.org/#http-cors-protocol>). Whether a request is served is decided
//! elsewhere.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};

use crate::proxy::{Scheme, only, without_brackets};

/// The methods of requests in MCP's transport.
const METHODS: &str = "GET, POST, DELETE";
/// Headers that MCP's transport sends, and the headers of a trace context, which a page may send
/// only with permission.
const REQUEST_HEADERS: [&str; 10] = [
    "authorization",
    "content-type",
    "accept",
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
    "mcp-session-id",
    "last-event-id",
    "traceparent",
    "tracestate",
];
/// The prefix of headers that repeat arguments of tools.
const PARAMETER_HEADERS: &str = "mcp-param-";
/// Headers of replies that clients need and that a page may read only with permission.
const REPLY_HEADERS: &str = "WWW-Authenticate, Retry-After, Mcp-Session-Id";
/// Seconds for which a browser may cache the answer to a preflight.
const MAX_AGE: &str = "600";

/// The origins of pages that may call.
pub(crate) struct AllowedOrigins(Vec<Origin>);

/// An origin, or an entry of the allowed origins. Parsed in the same way as by the SDK, which
/// decides what is served.
enum Origin {
    /// The origin `null`, of a page that does not disclose its origin.
    Null,
    /// In lower case, the host without brackets; an entry without a port matches any port.
    Tuple {
        scheme: String,
        host: String,
        port: Option<u16>,
    },
}

impl Origin {
    fn of(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.eq_ignore_ascii_case("null") {
            return Some(Origin::Null);
        }
        let url = Uri::try_from(text).ok()?;
        let authority = url.authority()?;
        let host = without_brackets(authority.host()).to_ascii_lowercase();
        Some(Origin::Tuple {
            scheme: url.scheme_str()?.to_ascii_lowercase(),
            host,
            port: authority.port_u16(),
        })
    }

    fn entry(text: &str) -> Option<Self> {
        let Some(base) = text.trim().strip_suffix(":*") else {
            return Origin::of(text);
        };
        Origin::of(base).filter(|origin| matches!(origin, Origin::Tuple { port: None, .. }))
    }

    /// True if this entry allows the origin.
    fn admits(&self, origin: &Origin) -> bool {
        match (self, origin) {
            (Origin::Null, Origin::Null) => true,
            (
                Origin::Tuple { scheme, host, port },
                Origin::Tuple {
                    scheme: of_scheme,
                    host: of_host,
                    port: of_port,
                },
            ) => {
                let of_port = of_port.or_else(|| Scheme::of(of_scheme).map(Scheme::default_port));
                scheme == of_scheme && host == of_host && (port.is_none() || *port == of_port)
            }
            _ => false,
        }
    }
}

impl AllowedOrigins {
    pub(crate) fn of(entries: &[String]) -> Self {
        AllowedOrigins(
            entries
                .iter()
                .filter_map(|entry| Origin::entry(entry))
                .collect(),
        )
    }

    fn admit(&self, origin: &HeaderValue) -> bool {
        let origin = origin.to_str().ok().and_then(Origin::of);
        origin.is_some_and(|origin| self.0.iter().any(|allowed| allowed.admits(&origin)))
    }
}

/// Answers the preflights of browsers and lets pages read the answers, including refusals; both
/// only for allowed origins. Browsers send no cookies with such requests.
pub(crate) async fn answer_cors(
    State(allowed): State<Arc<AllowedOrigins>>,
    request: Request,
    next: Next,
) -> Response {
    let origin = only(request.headers(), ORIGIN.as_str())
        .filter(|origin| allowed.admit(origin))
        .cloned();
    let is_preflight = request.method() == Method::OPTIONS
        && request
            .headers()
            .contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = if origin.is_some() && is_preflight {
        preflight(request.headers())
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    headers.append(VARY, HeaderValue::from_name(ORIGIN));
    if let Some(origin) = origin {
        // Public documents set this header themselves.
        headers.entry(ACCESS_CONTROL_ALLOW_ORIGIN).or_insert(origin);
        headers.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static(REPLY_HEADERS),
        );
    }
    response
}

fn preflight(asked: &HeaderMap) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static(METHODS),
    );
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE));
    let allowed: Vec<String> = asked
        .get_all(ACCESS_CONTROL_REQUEST_HEADERS)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .filter(|name| {
            REQUEST_HEADERS.contains(&name.as_str()) || name.starts_with(PARAMETER_HEADERS)
        })
        .collect();
    if let Ok(names) = HeaderValue::from_str(&allowed.join(", ")) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, names);
    }
    response
}
