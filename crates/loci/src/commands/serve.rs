//! `loci serve`: every dialect over HTTP.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use loci_core::TokenStore;
use loci_dialects::DIALECTS;
use loci_engine::SearchMode;
use loci_server::{Authentication, Host, HttpConfig, HttpServer};
use serde_json::json;
use tokio::net::TcpListener;

use crate::background::Background;
use crate::cli::Serve;
use crate::exit::{Exit, Failure};
use crate::output::{Output, note};
use crate::secret::{self, OwnersToken};
use crate::settings::{ALLOWED_HOSTS, EmbeddingChoice, Settings};
use crate::signal::signal;
use crate::wiring::{CALLS_END_TIMEOUT, Parts, SystemClock, probe};

/// Threads that drive connections; calls have threads of their own.
const WORKERS: usize = 2;

pub fn run(settings: &Settings, arguments: &Serve, output: Output) -> Result<(), Failure> {
    let is_loopback = settings.bind.ip().is_loopback();
    if arguments.no_auth && !is_loopback {
        let message = format!(
            "--no-auth would let everybody who reaches {} read and write; bind a loopback address such as 127.0.0.1, \
             or leave out --no-auth",
            settings.bind
        );
        return Err(Failure::new(Exit::Usage, message));
    }
    let runtime = runtime()?;
    // Before the store is opened, so that a second server ends without having touched anything.
    let listener = runtime.block_on(bind(settings.bind))?;
    let address = listener.local_addr().map_err(|error| unusable(settings.bind, &error))?;
    let parts = Parts::open(settings)?;
    let token = if arguments.no_auth { None } else { Some(secret::ensure(&settings.data, &*parts.store)?) };
    // From here on a signal ends the server in good order.
    let signal = {
        let _runtime = runtime.enter();
        signal()
    };
    announce(settings, address, token.as_ref(), output)?;
    if !is_loopback {
        note("warning: tokens and memories travel unencrypted; put a proxy with TLS in front of this address");
    }
    if address.ip().is_unspecified() {
        note_hosts(&settings.allowed_hosts);
    }
    probe_endpoint(settings);

    let _background = Background::start(&parts, settings);
    runtime.block_on(serve(settings, &parts, arguments.no_auth, listener, address.ip(), signal));
    // Then nothing holds the engine any more, and the store is closed when it is dropped.
    runtime.shutdown_timeout(CALLS_END_TIMEOUT);
    Ok(())
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(WORKERS).enable_all().build();
    runtime.map_err(|error| Failure::new(Exit::Failure, format!("the server cannot start its threads: {error}")))
}

async fn bind(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| unusable(address, &error))
}

fn unusable(address: SocketAddr, error: &std::io::Error) -> Failure {
    let advice = match error.kind() {
        ErrorKind::AddrInUse => {
            "another program uses it (perhaps another `loci serve`); stop that, or choose another port with --bind"
        }
        ErrorKind::PermissionDenied => "this user may not use that port; choose one from 1024 on with --bind",
        ErrorKind::AddrNotAvailable => "this machine has no such address; choose one of its own with --bind",
        _ => "choose another address with --bind",
    };
    Failure::new(Exit::Address, format!("cannot listen on {address}: {error}; {advice}"))
}

/// Says where the server listens, and prints the line that connects a host to it.
fn announce(
    settings: &Settings,
    address: SocketAddr,
    token: Option<&OwnersToken>,
    output: Output,
) -> Result<(), Failure> {
    // Nobody can connect to "any address"; from this machine, loopback is one of them.
    let host = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => name_of(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => name_of(Ipv6Addr::LOCALHOST.into()),
        ip => name_of(ip),
    };
    let url = format!("http://{host}:{}/mcp/{}", address.port(), DIALECTS[0].name);
    let file = secret::file_in(&settings.data);
    let bearer = match token {
        None => None,
        Some(OwnersToken::New(secret)) => Some(secret.clone()),
        Some(OwnersToken::InFile) => {
            let quoted = file.display().to_string().replace('\'', r"'\''");
            Some(format!("$(cat '{quoted}')"))
        }
        Some(OwnersToken::Elsewhere) => Some("TOKEN".to_owned()),
    };
    let header = bearer.map_or_else(String::new, |bearer| format!("--header \"Authorization: Bearer {bearer}\" "));
    let command = format!("claude mcp add --transport http {header}loci {url}");
    note(format_args!("listening on http://{address}"));
    match token {
        None => note("no token is asked for (--no-auth); to connect Claude Code:"),
        Some(OwnersToken::New(_)) => {
            note(format_args!("a token was made and is kept in {}; to connect Claude Code:", file.display()));
        }
        Some(OwnersToken::InFile) => note(format_args!("the token is in {}; to connect Claude Code:", file.display())),
        Some(OwnersToken::Elsewhere) => {
            note("to connect Claude Code, with a token of yours (`loci token create` makes another):");
        }
    }
    Ok(output.either(&json!({"url": url, "command": command}), format_args!("{command}\n"))?)
}

/// An address as URLs and the `Host` header name it.
fn name_of(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

/// Whoever binds every address expects to be reached under names that only they know.
fn note_hosts(of_setting: &[String]) {
    let served = ["localhost", "127.0.0.1", "[::1]"].into_iter().chain(of_setting.iter().map(String::as_str));
    let served = served.collect::<Vec<_>>().join(", ");
    note(format_args!(
        "note: only requests to the hosts {served} are served; put the names and addresses \
         under which other machines reach this one into the setting `{}` ({})",
        ALLOWED_HOSTS.key, ALLOWED_HOSTS.variable
    ));
}

/// Asks the model's endpoint once, beside everything else, so that a wrong one is known from the
/// start and not from the first search.
fn probe_endpoint(settings: &Settings) {
    let choice = settings.embedding.clone();
    if settings.search == SearchMode::Words || !matches!(choice, EmbeddingChoice::Http { .. }) {
        return;
    }
    let ask = move || match probe(&choice) {
        Ok((model, components)) => tracing::info!(%model, components, "the embedding model answers"),
        Err(error) => tracing::warn!("{error}; until it answers, nothing is found by its meaning"),
    };
    // Without a thread the first search finds out.
    let _ = std::thread::Builder::new().name("probe".to_owned()).spawn(ask);
}

async fn serve(
    settings: &Settings,
    parts: &Parts,
    no_auth: bool,
    listener: TcpListener,
    address: IpAddr,
    signal: impl Future<Output = ()>,
) {
    let authentication = if no_auth {
        Authentication::Anonymous
    } else {
        let store: Arc<dyn TokenStore> = Arc::<loci_store_sqlite::SqliteStore>::clone(&parts.store);
        Authentication::Tokens { store, clock: Arc::new(SystemClock) }
    };
    let config = HttpConfig {
        allowed_hosts: settings.allowed_hosts.clone(),
        allowed_origins: settings.allowed_origins.clone(),
        ..HttpConfig::new(authentication)
    };
    let host = Host::new(Arc::clone(&parts.engine));
    let server = HttpServer::new(config.with_bound_address(address), host).with_dialects(DIALECTS);
    let shutdown = async {
        signal.await;
        note("shutting down");
    };
    server.serve(listener, shutdown).await;
}
