//! `loci serve`: serves every dialect over HTTP.

mod refusals;

use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use loci_admission::Subject;
use loci_core::limits::CONNECTIONS_MAX;
use loci_core::{SignInProvider, TokenStore, TokenVerifier};
use loci_dialects::{DIALECTS, mememory};
use loci_engine::{Engine, SearchMode};
use loci_oidc::{OidcSignIn, OidcVerifier, Refresher};
use loci_page::{Metrics, Page};
use loci_server::{
    Authentication, CallLimit, HeaderValue, Host, HostOptions, HttpConfig, HttpServer,
    MonotonicTime, PublicUrl, SetParent, Tls,
};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::access;
use crate::background::Background;
use crate::browser;
use crate::cli::Serve;
use crate::client_calls::CallFiles;
use crate::exit::{Exit, Failure};
#[cfg(unix)]
use crate::hook_socket;
use crate::models::probe;
use crate::output::{Output, status_line};
use crate::own_program;
use crate::own_server::{announce_running, reached};
use crate::page::{oauth, page};
use crate::secret::{self, OwnersToken};
use crate::settings::{
    ALLOWED_HOSTS, BIND, EmbeddingChoice, METRICS_BIND, Setting, Settings, TlsFiles,
};
use crate::signal::{note_aside, signal};
use crate::wiring::{CALLS_END_TIMEOUT, Parts, SystemClock};

/// The longest wait of the start for the keys of an identity provider.
const FIRST_FETCH_TIMEOUT: Duration = Duration::from_secs(2);
/// The connections of what reads the figures for monitoring.
const METRICS_CONNECTIONS_MAX: usize = 8;
/// The number of threads that drive connections; calls have their own threads.
const WORKERS: usize = 2;

pub fn run(settings: &Settings, arguments: &Serve, output: Output) -> Result<(), Failure> {
    serve_until_signal(settings, arguments, output, None)
}

/// Serves, and prints the address of the page instead of the line that connects a host; opens it in
/// a browser, if `opens`.
pub fn run_with_page(
    settings: &Settings,
    arguments: &Serve,
    output: Output,
    opens: bool,
) -> Result<(), Failure> {
    serve_until_signal(settings, arguments, output, Some(opens))
}

fn serve_until_signal(
    settings: &Settings,
    arguments: &Serve,
    output: Output,
    opens_page: Option<bool>,
) -> Result<(), Failure> {
    // From here on a signal shuts the server down in order.
    let signal = signal();
    refusals::check(settings, arguments)?;
    let oidc = verifier(settings)?;
    let provider = sign_in_provider(settings)?;
    let tls = tls(settings)?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let runtime = runtime()?;
    // Before the store is opened, so that a second server ends without a change.
    let (listener, address) = runtime.block_on(listen(settings, opens_page.is_some()))?;
    let bind_metrics = |address| runtime.block_on(bind(address, &way_of(&METRICS_BIND)));
    let metrics = settings
        .network
        .metrics_bind
        .map(bind_metrics)
        .transpose()?;
    access::check(&settings.data)?;
    let parts = Parts::open_for_clients(settings)?;
    let _refresher = oidc.as_ref().map(start_refresher).transpose()?;
    let token = if arguments.no_auth {
        None
    } else {
        Some(owners_token(settings, &parts)?)
    };
    let verifier = oidc.map(|oidc| -> Arc<dyn TokenVerifier> { oidc });
    let authentication = authentication(&parts, arguments, verifier);
    let (host, call_limit) = (host(settings, &parts), call_limit(settings));
    let limits = (call_limit.clone(), Arc::clone(host.large_requests()));
    let oauth = arguments.oauth.then(|| oauth(&parts));
    let people = (provider, oauth);
    let page = page(settings, &parts, authentication.clone(), people, limits);
    announce_running(&settings.data, own_base(settings, scheme, address));
    match opens_page {
        None => announce(settings, scheme, address, token.as_ref(), output)?,
        Some(opens) => {
            let base = shown_base(settings, scheme, address);
            show_page(settings, &page, token.as_ref(), &base, output, opens)?;
        }
    }
    warn_of_address(settings, address, tls.is_some());
    probe_endpoint(settings);

    let mut background = Background::start(&parts, settings);
    let signal = async {
        signal.await;
        background.end_rounds();
    };
    runtime.block_on(serve(
        settings,
        &parts,
        &page,
        host,
        HttpConfig {
            tls,
            call_limit,
            ..HttpConfig::new(authentication)
        },
        (listener, metrics),
        signal,
    ));
    // Clients wait for no replies any more, and other processes need not wait for the rest of the
    // shutdown.
    parts.engine.background().hand_back();
    // After this nothing holds the engine, and dropping it closes the store.
    runtime.shutdown_timeout(CALLS_END_TIMEOUT);
    Ok(())
}

/// Starts to fetch the keys of the provider, and waits a moment for the first, so that the first
/// tokens find them if the provider answers.
fn start_refresher(oidc: &Arc<OidcVerifier>) -> Result<Refresher, Failure> {
    let refresher = oidc.start()?;
    refresher.wait_for_first_fetch(FIRST_FETCH_TIMEOUT);
    Ok(refresher)
}

/// Makes the owner's token if it is missing. A server starts while the one with its store is away,
/// and accepts no token until that is back.
fn owners_token(settings: &Settings, parts: &Parts) -> Result<OwnersToken, Failure> {
    let is_shared = settings.store_for(&settings.data).is_shared();
    match secret::ensure(&settings.data, &*parts.store, is_shared) {
        Err(failure) if is_shared && parts.store.tokens().is_err() => {
            status_line(format_args!(
                "warning: {}; until then no token is accepted, and if there is none yet, start this again then",
                failure.message
            ));
            Ok(OwnersToken::Elsewhere)
        }
        made => made,
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(WORKERS).enable_all().build();
    runtime.map_err(|error| {
        Failure::new(
            Exit::Failure,
            format!("the server cannot start its threads: {error}"),
        )
    })
}

/// Listens on the address of the server, which `loci page` has no flag for.
async fn listen(settings: &Settings, is_page: bool) -> Result<(TcpListener, SocketAddr), Failure> {
    let way = if is_page {
        way_of(&BIND)
    } else {
        "--bind".to_owned()
    };
    let listener = bind(settings.bind, &way).await?;
    let address = listener
        .local_addr()
        .map_err(|error| unusable(settings.bind, &way, &error))?;
    Ok((listener, address))
}

/// Returns the words that name a setting where no flag sets it.
fn way_of(setting: &Setting) -> String {
    format!("the setting `{}` ({})", setting.key, setting.variable)
}

/// Listens on an address, which a person chooses with `way`.
async fn bind(address: SocketAddr, way: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address)
        .await
        .map_err(|error| unusable(address, way, &error))
}

fn unusable(address: SocketAddr, way: &str, error: &std::io::Error) -> Failure {
    let advice = match error.kind() {
        ErrorKind::AddrInUse => {
            "another program uses it (perhaps another `loci serve`); stop that, or choose another port with"
        }
        ErrorKind::PermissionDenied => {
            "this user may not use that port; choose one from 1024 on with"
        }
        ErrorKind::AddrNotAvailable => {
            "this machine has no such address; choose one of its own with"
        }
        _ => "choose another address with",
    };
    Failure::new(
        Exit::Address,
        format!("cannot listen on {address}: {error}; {advice} {way}"),
    )
}

/// Prints the address of the server, the line that connects a host to it, and last the way of a person who has just
/// built loci.
fn announce(
    settings: &Settings,
    scheme: &str,
    address: SocketAddr,
    token: Option<&OwnersToken>,
    output: Output,
) -> Result<(), Failure> {
    let base = shown_base(settings, scheme, address);
    let url = format!("{base}/mcp/{}", mememory::DIALECT.name);
    let file = secret::file_in(&settings.data);
    // The line names the file and not the token, because terminals and the logs of services keep what is printed.
    let bearer = match token {
        None => None,
        Some(OwnersToken::New | OwnersToken::InFile) => {
            let quoted = file.display().to_string().replace('\'', r"'\''");
            Some(format!("$(cat '{quoted}')"))
        }
        Some(OwnersToken::Elsewhere) => Some("TOKEN".to_owned()),
    };
    // The header comes last, since the option takes all words that follow it; the user scope covers
    // all folders, as hooks do.
    let header = bearer.map_or_else(String::new, |bearer| {
        format!(" --header \"Authorization: Bearer {bearer}\"")
    });
    let command = format!("claude mcp add --scope user --transport http loci {url}{header}");
    status_line(format_args!("listening on {scheme}://{address}"));
    status_line(format_args!(
        "the page is at {base}/; `loci page` opens it in a browser"
    ));
    match token {
        None => status_line("no token is asked for (--no-auth); to connect Claude Code over HTTP:"),
        Some(OwnersToken::New) => {
            status_line(format_args!(
                "a token was made and is kept in {}; to connect Claude Code over HTTP:",
                file.display()
            ));
        }
        Some(OwnersToken::InFile) => status_line(format_args!(
            "the token is in {}; to connect Claude Code over HTTP:",
            file.display()
        )),
        Some(OwnersToken::Elsewhere) => {
            status_line(
                "this store has a token already, in the file `token` of the data folder where it was made; to connect \
                 Claude Code over HTTP with it or with another (`loci token create`):",
            );
        }
    }
    output.either(
        &json!({"url": url, "command": command}),
        format_args!("{command}\n"),
    )?;
    if let Some(program) = own_program::outside_path().filter(|_| cfg!(unix)) {
        status_line(format_args!(
            "to put loci on your path: `install -D {} ~/.local/bin/loci`",
            program.display()
        ));
    }
    status_line(format_args!(
        "to connect the hosts on this machine, without a server and a token: `loci connect`; to this server: \
         `loci connect --http {base}`"
    ));
    Ok(())
}

/// Returns the URL at which people reach the server. No client can connect to "any address"; from
/// this machine, loopback is one.
fn shown_base(settings: &Settings, scheme: &str, address: SocketAddr) -> String {
    settings.network.public_url.as_ref().map_or_else(
        || format!("{scheme}://{}", reached(address)),
        ToString::to_string,
    )
}

/// Returns the URL at which this machine reaches the server: under TLS the public one, because the
/// certificate is for a name.
fn own_base(settings: &Settings, scheme: &str, address: SocketAddr) -> String {
    match settings.network.tls {
        Some(_) => shown_base(settings, scheme, address),
        None => format!("{scheme}://{}", reached(address)),
    }
}

/// Prints the address of the page, and opens it in a browser if `opens`.
fn show_page(
    settings: &Settings,
    page: &Page,
    token: Option<&OwnersToken>,
    base: &str,
    output: Output,
    opens: bool,
) -> Result<(), Failure> {
    status_line(format_args!("listening on {base} until this is stopped"));
    let path = sign_in_path(page, settings, token)?;
    browser::show(&format!("{base}{path}"), output, opens)
}

/// Returns the path that lets the owner of this data folder into the page.
fn sign_in_path(
    page: &Page,
    settings: &Settings,
    token: Option<&OwnersToken>,
) -> Result<String, Failure> {
    let owner = Subject::network(None);
    let secret = match token {
        None => return Ok(page.sign_in_path(owner, None)?),
        Some(OwnersToken::New | OwnersToken::InFile) => {
            fs::read_to_string(secret::file_in(&settings.data))?
        }
        Some(OwnersToken::Elsewhere) => return Ok("/sign-in".to_owned()),
    };
    let credential = HeaderValue::try_from(format!("Bearer {}", secret.trim()));
    Ok(page.sign_in_path(owner, credential.ok())?)
}

/// Says what an address opens.
fn warn_of_address(settings: &Settings, address: SocketAddr, has_tls: bool) {
    if !address.ip().is_loopback() && !has_tls {
        status_line(
            "warning: tokens and memories travel unencrypted; give --tls-cert and --tls-key, or put a proxy with TLS \
             in front of this address",
        );
    }
    if address.ip().is_unspecified() {
        note_hosts(settings);
    }
}

/// A server on every address is expected to be reached under names that only its operator knows.
fn note_hosts(settings: &Settings) {
    let public = settings.network.public_url.as_ref().map(PublicUrl::host);
    let loopback = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
    let served: Vec<_> = loopback
        .into_iter()
        .chain(settings.allowed_hosts.iter().cloned())
        .chain(public)
        .collect();
    let served = served.join(", ");
    status_line(format_args!(
        "note: only requests to the hosts {served} are served; put the names and addresses \
         under which other machines reach this one into the setting `{}` ({})",
        ALLOWED_HOSTS.key, ALLOWED_HOSTS.variable
    ));
}

/// Asks the model's endpoint once, in the background, so that a wrong one shows at the start and
/// not at the first search.
fn probe_endpoint(settings: &Settings) {
    let choice = settings.embedding.clone();
    if settings.search == SearchMode::Words || !matches!(choice, EmbeddingChoice::Http { .. }) {
        return;
    }
    let ask = move || match probe(&choice) {
        Ok((model, components)) => {
            tracing::info!(%model, components, "the embedding model answers");
        }
        Err(error) => tracing::warn!("{error}; until it answers, nothing is found by its meaning"),
    };
    // Without a thread the first search reports it.
    let _ = std::thread::Builder::new()
        .name("probe".to_owned())
        .spawn(ask);
}

/// Returns the verifier for the tokens of the provider that the settings name.
fn verifier(settings: &Settings) -> Result<Option<Arc<OidcVerifier>>, Failure> {
    let Some(options) = settings.network.oidc.clone() else {
        return Ok(None);
    };
    let verifier = OidcVerifier::new(options, Arc::new(SystemClock));
    Ok(Some(Arc::new(verifier.map_err(|error| {
        Failure::new(Exit::Usage, error.message)
    })?)))
}

/// Returns the provider at which people sign in on the page, if the settings name a client there.
fn sign_in_provider(settings: &Settings) -> Result<Option<Arc<dyn SignInProvider>>, Failure> {
    let Some(options) = settings.network.oidc.clone() else {
        return Ok(None);
    };
    let sign_in = OidcSignIn::new(options);
    let sign_in = sign_in.map_err(|error| Failure::new(Exit::Usage, error.message))?;
    Ok(sign_in.map(|sign_in| -> Arc<dyn SignInProvider> { Arc::new(sign_in) }))
}

fn tls(settings: &Settings) -> Result<Option<Tls>, Failure> {
    let Some(TlsFiles { certificate, key }) = settings.network.tls.clone() else {
        return Ok(None);
    };
    let tls = Tls::from_files(certificate, key, MonotonicTime::default());
    tls.map(Some)
        .map_err(|error| Failure::new(Exit::Usage, error.message))
}

fn authentication(
    parts: &Parts,
    arguments: &Serve,
    verifier: Option<Arc<dyn TokenVerifier>>,
) -> Authentication {
    if arguments.no_auth {
        return Authentication::Anonymous;
    }
    let tokens: Arc<dyn TokenStore> = parts.store.clone();
    Authentication::Bearer {
        tokens,
        verifier,
        clock: Arc::new(SystemClock),
        grants: arguments.oauth,
    }
}

/// Returns half of the number of files that this process may open, so that clients cannot take the
/// store's.
#[cfg(unix)]
fn connections_max() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = 2 * CONNECTIONS_MAX as u64;
    let files = match current {
        Some(files) if files < wanted => {
            let more = maximum
                .map_or(wanted, |maximum| maximum.min(wanted))
                .max(files);
            let raised = setrlimit(
                Resource::Nofile,
                Rlimit {
                    current: Some(more),
                    maximum,
                },
            );
            raised.map_or(files, |()| more)
        }
        _ => wanted,
    };
    usize::try_from(files / 2).unwrap_or(CONNECTIONS_MAX)
}

#[cfg(not(unix))]
fn connections_max() -> usize {
    CONNECTIONS_MAX
}

fn call_limit(settings: &Settings) -> Option<Arc<CallLimit>> {
    let limit = settings.network.rate_limit?;
    Some(Arc::new(CallLimit::new(limit, MonotonicTime::default())))
}

/// Returns the host of a server, which records clients' calls.
fn host(settings: &Settings, parts: &Parts) -> Arc<Host> {
    let calls = Arc::new(CallFiles::new(&settings.data));
    let set_parent: SetParent = loci_otlp::set_parent;
    let options = HostOptions {
        client_calls: Some(calls),
        set_parent: settings.network.otlp_endpoint.as_ref().map(|_| set_parent),
        app_pages: crate::page::app_pages(settings),
        question_limit: settings.question_limit,
        checkout: None,
    };
    Host::with_options(Arc::clone(&parts.engine), options)
}

async fn serve(
    settings: &Settings,
    parts: &Parts,
    page: &Arc<Page>,
    host: Arc<Host>,
    config: HttpConfig,
    (listener, metrics): (TcpListener, Option<TcpListener>),
    signal: impl Future<Output = ()>,
) {
    let config = HttpConfig {
        allowed_hosts: settings.allowed_hosts.clone(),
        allowed_origins: settings.allowed_origins.clone(),
        public_url: settings.network.public_url.clone(),
        trusted_proxies: settings.network.trusted_proxies.clone(),
        connections_max: connections_max(),
        ..config
    };
    let config = match listener.local_addr() {
        Ok(address) => config.with_bound_address(address.ip()),
        Err(_) => config,
    };
    #[cfg(unix)]
    let _hooks = hook_socket::listen(settings, "serve", &parts.engine);
    let server = HttpServer::new(config, host)
        .with_dialects(DIALECTS)
        .with_pages(page.router())
        .with_unknown_paths(page.router_of_unknown_paths());
    let monitoring = metrics
        .zip(parts.metrics.as_ref())
        .map(|(listener, metrics)| serve_metrics(listener, metrics, &parts.engine, settings));
    let shutdown = async {
        signal.await;
        page.close();
        note_aside("shutting down");
    };
    server.serve(listener, shutdown).await;
    if let Some(monitoring) = monitoring {
        monitoring.abort();
    }
}

/// Tells the figures for monitoring on a listener of their own, until it is aborted.
fn serve_metrics(
    listener: TcpListener,
    metrics: &Arc<Metrics>,
    engine: &Arc<Engine>,
    settings: &Settings,
) -> JoinHandle<()> {
    let config = HttpConfig {
        connections_max: METRICS_CONNECTIONS_MAX,
        allowed_hosts: settings.allowed_hosts.clone(),
        public_url: settings.network.public_url.clone(),
        trusted_proxies: settings.network.trusted_proxies.clone(),
        ..HttpConfig::new(Authentication::Anonymous)
    };
    let config = match listener.local_addr() {
        Ok(address) => config.with_bound_address(address.ip()),
        Err(_) => config,
    };
    let server = HttpServer::new(config, Host::new(Arc::clone(engine)));
    let router = server.router_of(metrics.router(engine));
    tokio::spawn(async move {
        server
            .serve_router(listener, router, std::future::pending())
            .await;
    })
}
