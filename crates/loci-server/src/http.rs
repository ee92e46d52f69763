//! MCP over HTTP: `/mcp/<dialect>` for each dialect, `/healthz` (also `/health`) and `/readyz`.

use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{any, get};
use http::{StatusCode, Uri};
use ipnet::IpNet;
use loci_core::limits::{CONNECTIONS_MAX, REQUEST_BYTES_MAX};
use loci_core::{Error, ErrorCode};
use loci_dialects::Dialect;
use rmcp::ServerHandler;
use rmcp::transport::StreamableHttpServerConfig;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::auth::{Authentication, authenticate, metadata_routes, no_provider_routes};
use crate::body::drain;
use crate::connections;
use crate::cors::{AllowedOrigins, answer_cors};
use crate::endpoint::{Endpoint, RefusedNames};
use crate::error_reply::failure;
use crate::handler::DialectHandler;
use crate::host::{self, Host};
use crate::people::{answer_people, endpoints_in_words, is_of_browser};
use crate::proxy::{OriginResolver, PublicUrl, base_url, set_request_origin};
use crate::rate_limit::{CallLimit, limit_calls};
use crate::tls::Tls;

/// The write timeout of [`HttpConfig::new`].
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// With the dot of a full name, which some clients keep.
const LOOPBACK_HOSTS: [&str; 4] = ["localhost", "localhost.", "127.0.0.1", "::1"];
const LOOPBACK_ORIGINS: [&str; 6] = [
    "http://localhost:*",
    "http://127.0.0.1:*",
    "http://[::1]:*",
    "https://localhost:*",
    "https://127.0.0.1:*",
    "https://[::1]:*",
];

/// The configuration of the HTTP server.
#[derive(Clone)]
pub struct HttpConfig {
    /// The authentication of callers.
    pub authentication: Authentication,
    /// Names in the `Host` header that are served besides the loopback ones: `name` for any port,
    /// or `name:port`. Tokens are accepted that were issued for one of these names with its port
    /// or, if it has no port, with that of the connection or of the scheme; for loopback names and
    /// the bound addresses, with that of the connection.
    pub allowed_hosts: Vec<String>,
    /// The addresses that the server is bound to, which are allowed as hosts as well.
    pub bound_addresses: Vec<IpAddr>,
    /// Origins of web pages that may call besides loopback ones: `https://name:port`;
    /// `https://name` and `https://name:*` match any port.
    pub allowed_origins: Vec<String>,
    /// True if clients of revisions before 2026-07-28 get a session with a stream of messages.
    /// False in the product, where nothing spans requests.
    pub legacy_sessions: bool,
    /// The URL under which clients reach this server, if it is known. Its host and its origin are
    /// allowed, and tokens must have been issued for it.
    pub public_url: Option<PublicUrl>,
    /// The addresses of trusted proxies in front of this server, whose `X-Forwarded-For`, `-Proto`
    /// and `-Host` are used. These headers are ignored from any other address.
    pub trusted_proxies: Vec<IpNet>,
    /// The rate limit of each caller; `None` for no limit. The routes of
    /// [`HttpServer::with_pages`] charge their requests to it by themselves.
    pub call_limit: Option<Arc<CallLimit>>,
    /// Encrypts every connection if present.
    pub tls: Option<Tls>,
    /// The maximum number of connections, clamped to 1 to [`CONNECTIONS_MAX`]. When all slots are
    /// taken, an unauthenticated or idle connection is evicted for the next one.
    pub connections_max: usize,
    /// The time after which a connection is dropped whose client takes no byte of a reply. Until
    /// then the reply holds a share of the memory for which other calls wait, so this is a fraction
    /// of the time that they wait: five seconds by default.
    pub write_timeout: Duration,
}

impl HttpConfig {
    /// Returns a configuration for loopback names and origins, without sessions, proxies, a rate
    /// limit or encryption.
    pub fn new(authentication: Authentication) -> Self {
        HttpConfig {
            authentication,
            allowed_hosts: Vec::new(),
            bound_addresses: Vec::new(),
            allowed_origins: Vec::new(),
            legacy_sessions: false,
            public_url: None,
            trusted_proxies: Vec::new(),
            call_limit: None,
            tls: None,
            connections_max: CONNECTIONS_MAX,
            write_timeout: WRITE_TIMEOUT,
        }
    }

    /// Also serves requests that name the address which the server is bound to. An unspecified
    /// address (`0.0.0.0`, `::`) adds nothing: `allowed_hosts` must list the names that lead there.
    #[must_use]
    pub fn with_bound_address(mut self, address: IpAddr) -> Self {
        self.bound_addresses
            .extend(Some(address).filter(|address| !address.is_unspecified()));
        self
    }

    /// Returns the names of this machine, which all of its services share.
    fn local_hosts(&self) -> Vec<String> {
        let bound = self.bound_addresses.iter().map(|address| match address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        });
        LOOPBACK_HOSTS
            .map(str::to_owned)
            .into_iter()
            .chain(bound)
            .collect()
    }

    fn origins(&self) -> Vec<String> {
        let public = self.public_url.as_ref().map(PublicUrl::origin);
        let loopback = LOOPBACK_ORIGINS.map(str::to_owned).into_iter();
        loopback
            .chain(self.allowed_origins.iter().cloned())
            .chain(public)
            .collect()
    }

    fn of_sdk(&self, streams: &CancellationToken) -> StreamableHttpServerConfig {
        let public = self.public_url.as_ref().map(PublicUrl::host);
        let hosts = self
            .local_hosts()
            .into_iter()
            .chain(self.allowed_hosts.iter().cloned())
            .chain(public);
        StreamableHttpServerConfig::default()
            .with_allowed_hosts(hosts)
            .with_allowed_origins(self.origins())
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
    /// Routes for browsers.
    pages: Router,
    /// Answers people who ask for a path that nothing is at.
    unknown_paths: Option<Router>,
    /// The paths of the endpoints.
    paths: Vec<String>,
    refused_names: Arc<RefusedNames>,
    streams: CancellationToken,
    /// Cancelled when unanswered requests must be refused.
    cut_off: CancellationToken,
}

impl HttpServer {
    /// Returns a server without endpoints.
    pub fn new(config: HttpConfig, host: Arc<Host>) -> Self {
        HttpServer {
            config,
            host,
            mcp: Router::new(),
            pages: Router::new(),
            unknown_paths: None,
            paths: Vec::new(),
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
            server.with_endpoint(dialect.name, handler, Some(*dialect))
        })
    }

    /// Adds `/mcp/<name>` for any handler, behind the same checks as a dialect.
    #[must_use]
    pub fn with_handler<H: ServerHandler + Clone>(self, name: &str, handler: H) -> Self {
        self.with_endpoint(name, handler, None)
    }

    /// Adds routes for browsers, which no page of another origin may read. They check by themselves
    /// who sends a request, and find where it came from by [`base_url`].
    #[must_use]
    pub fn with_pages(mut self, pages: Router) -> Self {
        self.pages = self.pages.merge(pages);
        self
    }

    /// Has these routes answer browsers that ask for a path which nothing is at; others get a line
    /// of JSON.
    #[must_use]
    pub fn with_unknown_paths(mut self, routes: Router) -> Self {
        self.unknown_paths = Some(routes);
        self
    }

    fn with_endpoint<H: ServerHandler + Clone>(
        mut self,
        name: &str,
        handler: H,
        dialect: Option<&'static Dialect>,
    ) -> Self {
        let path = format!("/mcp/{name}");
        let endpoint = Endpoint::new(
            handler,
            dialect,
            self.config.authentication.clone(),
            Arc::clone(&self.host),
            Arc::clone(&self.refused_names),
            self.config.of_sdk(&self.streams),
        );
        let route = any(move |request: Request| endpoint.clone().handle(request));
        self.mcp = self.mcp.route(&path, route);
        self.paths.push(path);
        self
    }

    /// Returns a router for the endpoints added so far.
    pub fn router(&self) -> Router {
        let authentication = self.config.authentication.clone();
        let mut mcp = self.mcp.clone();
        if let Some(limit) = &self.config.call_limit {
            mcp = mcp.layer(middleware::from_fn_with_state(
                Arc::clone(limit),
                limit_calls,
            ));
        }
        let mcp = mcp
            .layer(middleware::from_fn_with_state(authentication, authenticate))
            .layer(middleware::from_fn(answer_people))
            .layer(middleware::from_fn_with_state(
                self.cut_off.clone(),
                until_cut_off,
            ));
        let host = Arc::clone(&self.host);
        let paths = Arc::new(self.paths.clone());
        let origins = Arc::new(AllowedOrigins::of(&self.config.origins()));
        let router = Router::new()
            .route("/healthz", get(is_alive))
            .route("/health", get(is_alive))
            .route(
                "/mcp",
                any(move |request| endpoints(Arc::clone(&paths), request)),
            )
            .route("/readyz", get(move || ready(Arc::clone(&host))))
            .merge(metadata_routes(&self.config.authentication, &self.paths))
            .merge(no_provider_routes(&self.config.authentication))
            .method_not_allowed_fallback(method_not_allowed)
            .merge(mcp)
            .layer(middleware::from_fn_with_state(origins, answer_cors))
            .merge(self.pages.clone());
        let for_people = self.unknown_paths.clone();
        let unknown = for_people.clone();
        let known = router
            .clone()
            .fallback(move |request| not_found(unknown.clone(), request));
        router
            .fallback(move |request| elsewhere(known.clone(), for_people.clone(), request))
            .layer(middleware::from_fn_with_state(
                self.origin_resolver(),
                set_request_origin,
            ))
    }

    /// Returns a router for these routes only, which refuses requests that name a host which is not
    /// served: otherwise a page of another site could read an answer through a name that leads here
    /// (DNS rebinding).
    pub fn router_of(&self, routes: Router) -> Router {
        routes
            .layer(middleware::from_fn(refuse_other_hosts))
            .layer(middleware::from_fn_with_state(
                self.origin_resolver(),
                set_request_origin,
            ))
    }

    fn origin_resolver(&self) -> Arc<OriginResolver> {
        let HttpConfig {
            public_url,
            allowed_hosts,
            trusted_proxies,
            ..
        } = &self.config;
        Arc::new(OriginResolver::new(
            public_url.as_ref(),
            &self.config.local_hosts(),
            allowed_hosts,
            trusted_proxies,
        ))
    }

    /// Serves until `shutdown` completes; then ends subscriptions, lets requests under way finish
    /// and answers 503 to requests that do not. Returns within two seconds from `shutdown`.
    ///
    /// Failures to accept a connection are logged, and the server continues with the next one.
    pub async fn serve(self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        self.serve_router(listener, self.router(), shutdown).await;
    }

    /// Serves like [`HttpServer::serve`], for a router that more routes were added to.
    pub async fn serve_router(
        &self,
        listener: TcpListener,
        router: Router,
        shutdown: impl Future<Output = ()>,
    ) {
        let places_max = self.config.connections_max.clamp(1, CONNECTIONS_MAX);
        let (tls, write_timeout) = (self.config.tls.clone(), self.config.write_timeout);
        connections::serve(
            listener,
            tls,
            router,
            places_max,
            write_timeout,
            &self.cut_off,
            async {
                shutdown.await;
                self.host.close();
            },
        )
        .await;
        self.streams.cancel();
    }
}

/// Refuses requests that are not answered when service must end.
async fn until_cut_off(
    State(cut_off): State<CancellationToken>,
    request: Request,
    next: Next,
) -> Response {
    match cut_off.run_until_cancelled(next.run(request)).await {
        Some(response) => response,
        None => failure(&host::cut_off()),
    }
}

/// Returns OK as long as requests are answered.
async fn is_alive() -> &'static str {
    "ok\n"
}

/// Answers a request for the path above the endpoints.
async fn endpoints(paths: Arc<Vec<String>>, request: Request) -> Response {
    match endpoints_in_words(&request, &paths) {
        Some(response) => response,
        None => not_found(None, request).await,
    }
}

/// Returns OK if the store can be read and written and service has not ended.
///
/// Anyone may ask, so it tells only reasons that say nothing of this machine.
async fn ready(host: Arc<Host>) -> (StatusCode, String) {
    let refused = |reason: &str| {
        let text = format!("not ready{reason}\n");
        (StatusCode::SERVICE_UNAVAILABLE, text)
    };
    if host.closing().is_cancelled() {
        return refused("");
    }
    match host.check_ready().await {
        Ok(()) => (StatusCode::OK, "ok\n".to_owned()),
        Err(error) => match error.store_fault() {
            Some(fault) => refused(&format!(": {}", fault.reason())),
            None => refused(""),
        },
    }
}

async fn refuse_other_hosts(request: Request, next: Next) -> Response {
    if base_url(request.extensions()).is_some() {
        return next.run(request).await;
    }
    drain(request).await;
    let message = "this server is not known under that name; see the settings `public_url` and `allowed_hosts`";
    failure(&Error::new(ErrorCode::Forbidden, message))
}

async fn method_not_allowed(request: Request) -> StatusCode {
    drain(request).await;
    StatusCode::METHOD_NOT_ALLOWED
}

/// Answers a request for a path that is no route: as if it had one slash where it has several, and
/// none at its end, because people join the URL of the server and a path in every way.
async fn elsewhere(known: Router, for_people: Option<Router>, mut request: Request) -> Response {
    let Some(uri) = without_extra_slashes(request.uri()) else {
        return not_found(for_people, request).await;
    };
    *request.uri_mut() = uri;
    match known.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// Returns the URI with one slash between the parts of its path and none at the end; `None` if it
/// is so already.
fn without_extra_slashes(uri: &Uri) -> Option<Uri> {
    let parts = uri.path().split('/').filter(|part| !part.is_empty());
    let path = parts.fold(String::new(), |path, part| path + "/" + part);
    if path.is_empty() || path == uri.path() {
        return None;
    }
    let query = uri.query().map(|query| format!("?{query}"));
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some((path + &query.unwrap_or_default()).parse().ok()?);
    Uri::from_parts(parts).ok()
}

async fn not_found(for_people: Option<Router>, request: Request) -> Response {
    if let Some(page) = for_people.filter(|_| is_of_browser(&request)) {
        return page
            .oneshot(request)
            .await
            .unwrap_or_else(|never| match never {});
    }
    let is_of_page = request.uri().path().starts_with("/api/");
    drain(request).await;
    failure(&Error::not_found(if is_of_page {
        "there is nothing at this path; /api/v1/openapi.json lists the paths"
    } else {
        "there is nothing at this path; the endpoints are /mcp/<dialect>"
    }))
}
