//! `loci mcp`: one dialect over stdin and stdout.

use std::sync::Arc;

use loci_core::{Caller, Clock};
use loci_server::{Host, HostOptions, ServedDialect, SetParent, serve_stdio};

use crate::access;
use crate::background::Background;
use crate::checkout::OwnCheckout;
use crate::cli;
use crate::client_calls::CallFiles;
use crate::exit::{Exit, Failure};
#[cfg(unix)]
use crate::hook_socket;
use crate::settings::Settings;
use crate::signal::signal;
use crate::wiring::{CALLS_END_TIMEOUT, Parts, SystemClock};

pub fn run(settings: &Settings, arguments: &cli::Mcp) -> Result<(), Failure> {
    let name = &arguments.dialect;
    let dialect = loci_dialects::dialect(name)
        .ok_or_else(|| Failure::new(Exit::Usage, format!("there is no dialect {name}")))?;
    let served = ServedDialect {
        dialect,
        is_compact: arguments.compact,
        prefix: arguments.prefix.clone(),
    };
    // From here on a signal ends the service in order.
    let signal = signal();
    access::check(&settings.data)?;
    let parts = Parts::open_for_clients(settings)?;
    // One thread for the pipes and the protocol; calls have their own threads.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| {
            Failure::new(Exit::Failure, format!("the server cannot start: {error}"))
        })?;
    let mut background = Background::start(&parts, settings);
    let calls = Arc::new(CallFiles::new(&settings.data));
    let set_parent: SetParent = loci_otlp::set_parent;
    let options = HostOptions {
        client_calls: Some(calls),
        set_parent: settings.network.otlp_endpoint.as_ref().map(|_| set_parent),
        app_pages: crate::page::app_pages(settings),
        question_limit: settings.question_limit,
        checkout: OwnCheckout::here(&parts.engine, &settings.data),
    };
    let host = Host::with_options(Arc::clone(&parts.engine), options);
    // A process serves one session.
    let session = format!(
        "{}-{}",
        std::process::id(),
        SystemClock.now().microseconds()
    );
    let caller = Caller {
        session: Some(session),
        ..Caller::local_person()
    };
    let served = runtime.block_on(async {
        #[cfg(unix)]
        let _hooks = hook_socket::listen(settings, "mcp", &parts.engine);
        let serving = serve_stdio(
            served,
            Arc::clone(&host),
            caller,
            tokio::io::stdin(),
            tokio::io::stdout(),
        );
        let mut serving = std::pin::pin!(serving);
        tokio::select! {
            served = &mut serving => served,
            () = signal => {
                background.end_rounds();
                host.close();
                // The host may be gone.
                if let Err(error) = serving.await {
                    tracing::debug!(%error, "the connection to the host broke at the end");
                }
                Ok(())
            }
        }
    });
    // The client waits for no reply any more, and other processes need not wait for the rest of the
    // shutdown.
    parts.engine.background().hand_back();
    // After this nothing holds the engine, and dropping it closes the store. A read of stdin cannot
    // be cancelled, hence the timeout.
    runtime.shutdown_timeout(CALLS_END_TIMEOUT);
    served.map_err(|error| {
        Failure::new(
            Exit::Failure,
            format!("the connection to the host broke: {error}"),
        )
    })
}
