//! `loci serve`: every dialect over HTTP.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use loci_core::TokenStore;
use loci_dialects::DIALECTS;
use loci_server::{Authentication, Host, HttpConfig, HttpServer};
use serde_json::json;
use tokio::net::TcpListener;

use crate::cli::Serve;
use crate::exit::{Exit, Failure};
use crate::output::{Output, note};
use crate::secret::{self, OwnersToken};
use crate::settings::Settings;
use crate::wiring::{Maintenance, Parts, SystemClock};

/// Threads that drive connections; calls have threads of their own.
const WORKERS: usize = 2;
/// How long requests that began may go on after a signal.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(1_500);

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

    let _maintenance = Maintenance::start(Arc::clone(&parts.engine), settings.maintenance);
    let served = runtime.block_on(serve(settings, &parts, arguments.no_auth, listener, signal));
    // A call that does not end by itself must not keep the process: what it has not committed is
    // not acknowledged either.
    runtime.shutdown_background();
    served
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
        IpAddr::V4(ip) if ip.is_unspecified() => "127.0.0.1".to_owned(),
        IpAddr::V6(ip) if ip.is_unspecified() => "[::1]".to_owned(),
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
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

async fn serve(
    settings: &Settings,
    parts: &Parts,
    no_auth: bool,
    listener: TcpListener,
    signal: impl Future<Output = ()>,
) -> Result<(), Failure> {
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
    let server = HttpServer::new(config, host).with_dialects(DIALECTS);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = server.serve(listener, async {
        let _ = stopped.await;
    });
    let mut serving = std::pin::pin!(serving);
    let outcome = tokio::select! {
        outcome = &mut serving => outcome,
        () = signal => {
            note("shutting down");
            drop(stop);
            tokio::time::timeout(SHUTDOWN_TIMEOUT, serving).await.unwrap_or(Ok(()))
        }
    };
    outcome.map_err(|error| Failure::new(Exit::Failure, format!("the server ended: {error}")))
}

/// Waits for the wish to end, which is noted from this call on.
#[cfg(unix)]
fn signal() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let signals =
        signal(SignalKind::terminate()).and_then(|terminate| Ok((terminate, signal(SignalKind::interrupt())?)));
    async {
        let Ok((mut terminate, mut interrupt)) = signals else {
            // Then a signal ends the process at once, which the store survives.
            return std::future::pending().await;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}

/// Waits for the wish to end.
#[cfg(not(unix))]
async fn signal() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
