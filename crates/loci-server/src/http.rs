//! MCP over HTTP: `/mcp/<dialect>` for each dialect, `/healthz` and `/readyz`.

use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{any, get};
use http::StatusCode;
use loci_core::Error;
use loci_core::limits::REQUEST_BYTES_MAX;
use loci_dialects::Dialect;
use loci_engine::Engine;
use rmcp::ServerHandler;
use rmcp::transport::StreamableHttpServerConfig;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::authentication::{Authentication, authenticate, failure};
use crate::connections;
use crate::endpoint::{Endpoint, RefusedNames};
use crate::handler::DialectHandler;
use crate::host::Host;

const LOOPBACK_HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
const LOOPBACK_ORIGINS: [&str; 6] = [
    "http://localhost:*",
    "http://127.0.0.1:*",
    "http://[::1]:*",
    "https://localhost:*",
    "https://127.0.0.1:*",
    "https://[::1]:*",
];

/// How the HTTP server treats requests.
#[derive(Clone)]
pub struct HttpConfig {
    /// How callers prove who they are.
    pub authentication: Authentication,
    /// Names in the `Host` header that are served besides the loopback ones: `name` for any port,
    /// or `name:port`.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may call besides loopback ones: `https://name:port`, or
    /// `https://name:*` for any port.
    pub allowed_origins: Vec<String>,
    /// Whether clients of revisions before 2026-07-28 get a session with a stream of messages.
    /// Off in the product: nothing there spans requests.
    pub legacy_sessions: bool,
}

impl HttpConfig {
    /// For loopback names and origins, without sessions.
    pub fn new(authentication: Authentication) -> Self {
        HttpConfig { authentication, allowed_hosts: Vec::new(), allowed_origins: Vec::new(), legacy_sessions: false }
    }

    /// Also serves requests that name the address which the server is bound to. "Any address"
    /// (`0.0.0.0`, `::`) adds nothing: `allowed_hosts` must say which names lead there.
    #[must_use]
    pub fn with_bound_address(mut self, address: IpAddr) -> Self {
        match address {
            _ if address.is_unspecified() => {}
            IpAddr::V4(address) => self.allowed_hosts.push(address.to_string()),
            IpAddr::V6(address) => self.allowed_hosts.push(format!("[{address}]")),
        }
        self
    }

    fn of_sdk(&self, streams: &CancellationToken) -> StreamableHttpServerConfig {
        let hosts = LOOPBACK_HOSTS.into_iter().chain(self.allowed_hosts.iter().map(String::as_str));
        let origins = LOOPBACK_ORIGINS.into_iter().chain(self.allowed_origins.iter().map(String::as_str));
        StreamableHttpServerConfig::default()
            .with_allowed_hosts(hosts)
            .with_allowed_origins(origins)
            .enforce_origin_validation()
            .with_legacy_session_mode(self.legacy_sessions)
            .with_json_response(!self.legacy_sessions)
            .with_max_request_body_bytes(REQUEST_BYTES_MAX)
            .with_cancellation_token(streams.clone())
    }
}

/// The HTTP side of loci: a router, and the loop that serves it.
pub struct HttpServer {
    config: HttpConfig,
    host: Arc<Host>,
    mcp: Router,
    refused_names: Arc<RefusedNames>,
    streams: CancellationToken,
    /// Is cancelled when requests that are not answered by then are refused.
    cut_off: CancellationToken,
}

impl HttpServer {
    /// A server without endpoints.
    pub fn new(config: HttpConfig, host: Arc<Host>) -> Self {
        HttpServer {
            config,
            host,
            mcp: Router::new(),
            refused_names: Arc::default(),
            streams: CancellationToken::new(),
            cut_off: CancellationToken::new(),
        }
    }

    /// Adds `/mcp/<name>` for each dialect.
    #[must_use]
    pub fn with_dialects(self, dialects: &[&'static Dialect]) -> Self {
        dialects.iter().fold(self, |server, dialect| {
            let handler = DialectHandler::for_requests(dialect, Arc::clone(&server.host));
            server.with_handler(dialect.name, handler)
        })
    }

    /// Adds `/mcp/<name>` for any handler, behind the same checks as a dialect.
    #[must_use]
    pub fn with_handler<H: ServerHandler + Clone>(mut self, name: &str, handler: H) -> Self {
        let endpoint = Endpoint::new(
            handler,
            Arc::clone(&self.host),
            Arc::clone(&self.refused_names),
            self.config.of_sdk(&self.streams),
        );
        let route = any(move |request: Request| endpoint.clone().handle(request));
        self.mcp = self.mcp.route(&format!("/mcp/{name}"), route);
        self
    }

    /// The routes as they are now.
    pub fn router(&self) -> Router {
        let authentication = self.config.authentication.clone();
        let mcp = self
            .mcp
            .clone()
            .layer(middleware::from_fn_with_state(authentication, authenticate))
            .layer(middleware::from_fn_with_state(self.cut_off.clone(), until_cut_off));
        let host = Arc::clone(&self.host);
        Router::new()
            .route("/healthz", get(|| async { "ok\n" }))
            .route("/readyz", get(move || ready(Arc::clone(&host))))
            .merge(mcp)
            .fallback(not_found)
    }

    /// Serves until `shutdown` is done; then ends subscriptions, lets requests that began finish
    /// and answers 503 to those that do not. Returns within two seconds from `shutdown`.
    ///
    /// A connection that cannot be accepted is logged and the next one awaited.
    pub async fn serve(self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        self.serve_router(listener, self.router(), shutdown).await;
    }

    /// As [`HttpServer::serve`], for a router that more routes were added to.
    pub async fn serve_router(&self, listener: TcpListener, router: Router, shutdown: impl Future<Output = ()>) {
        connections::serve(listener, router, &self.cut_off, async {
            shutdown.await;
            self.host.close();
        })
        .await;
        self.streams.cancel();
    }
}

/// Refuses what is not answered when service has to end.
async fn until_cut_off(State(cut_off): State<CancellationToken>, request: Request, next: Next) -> Response {
    match cut_off.run_until_cancelled(next.run(request)).await {
        Some(response) => response,
        None => failure(&Error::unavailable(
            "loci shuts down and did not finish this call in time; look at its outcome before trying again",
        )),
    }
}

/// Whether the store can be read and service goes on.
async fn ready(host: Arc<Host>) -> (StatusCode, &'static str) {
    if host.closing().is_cancelled() || host.watch(Engine::version).await.is_err() {
        return (StatusCode::SERVICE_UNAVAILABLE, "not ready\n");
    }
    (StatusCode::OK, "ok\n")
}

async fn not_found() -> Response {
    failure(&Error::not_found("there is nothing at this path; the endpoints are /mcp/<dialect>"))
}
