//! `loci mcp`: one dialect over stdin and stdout.

use std::sync::Arc;

use loci_core::{Caller, Clock};
use loci_server::{Host, serve_stdio};

use crate::access;
use crate::background::Background;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::signal::signal;
use crate::wiring::{CALLS_END_TIMEOUT, Parts, SystemClock};

pub fn run(settings: &Settings, dialect: &str) -> Result<(), Failure> {
    let dialect = loci_dialects::dialect(dialect)
        .ok_or_else(|| Failure::new(Exit::Usage, format!("there is no dialect {dialect}")))?;
    access::check(&settings.data)?;
    let parts = Parts::open_for_clients(settings)?;
    // One thread for the pipes and the protocol; calls have threads of their own.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| {
            Failure::new(Exit::Failure, format!("the server cannot start: {error}"))
        })?;
    let mut background = Background::start(&parts, settings);
    let host = Host::new(Arc::clone(&parts.engine));
    // A process serves one session.
    let session = format!(
        "{}-{}",
        std::process::id(),
        SystemClock.now().microseconds()
    );
    let caller = Caller {
        session: Some(session),
        ..Caller::local()
    };
    let served = runtime.block_on(async {
        let signal = signal();
        let serving = serve_stdio(
            dialect,
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
                serving.await
            }
        }
    });
    // Nobody waits for an answer any more, and other processes need not wait for the rest of this
    // end.
    parts.engine.hand_back();
    // Then nothing holds the engine any more, and the store is closed when it is dropped. A read of
    // stdin cannot be called off, so there is a limit.
    runtime.shutdown_timeout(CALLS_END_TIMEOUT);
    served.map_err(|error| {
        Failure::new(
            Exit::Failure,
            format!("the connection to the host broke: {error}"),
        )
    })
}
