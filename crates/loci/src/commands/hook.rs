//! `loci hook`: handles the events of a host's session.

mod install;

use std::io;
use std::time::Duration;

use loci_engine::SearchMode;
use loci_filing::hook::{HookError, Session};
use loci_filing::trust::Trust;
use loci_hosts::{Event, HookRun, Host, Input};

pub use self::install::parse;
use crate::cli::Hook;
use crate::exit::{Exit, Failure};
use crate::output::{Output, notice, print};
use crate::settings::Settings;
use crate::store::StoreSettings;
use crate::wiring::Parts;

/// The time for which a hook waits for another process that writes. The next event saves the
/// transcript otherwise.
const BUSY_TIMEOUT: Duration = Duration::from_millis(150);

pub fn run(settings: &Settings, command: &Hook, output: Output) -> Result<(), Failure> {
    match command {
        Hook::Run {
            host,
            event,
            dialect,
            shared,
            verbatim,
            ..
        } => {
            let run = HookRun {
                dialect: dialect.clone(),
                is_shared: *shared,
                is_verbatim: *verbatim,
                event: *event,
            };
            run_event(settings, host, &run)
        }
        Hook::Install(arguments) => install::install(settings, arguments, output),
        Hook::Uninstall(arguments) => install::uninstall(arguments, output),
    }
}

fn run_event(settings: &Settings, host: &Host, run: &HookRun) -> Result<(), Failure> {
    let input = Input::read(io::stdin().lock()).map_err(|error| {
        let message = format!("stdin is not what a host says to its hooks: {error}");
        Failure::new(Exit::Failure, message)
    })?;
    let store = StoreSettings {
        busy_timeout: settings.store.busy_timeout.min(BUSY_TIMEOUT),
        ..settings.store.clone()
    };
    // The user waits for the answer to a prompt, so that no model is loaded or asked.
    let search = match run.event {
        Event::Prompt => SearchMode::Words,
        _ => settings.search,
    };
    let parts = Parts::open(&Settings {
        search,
        store,
        ..settings.clone()
    })?;
    let folder = input
        .folder
        .as_deref()
        .map_or_else(std::env::current_dir, |folder| Ok(folder.into()))
        .unwrap_or_default();
    let session = Session {
        engine: &parts.engine,
        trust: &Trust::read_or_none(&settings.data, notice),
        folder: &folder,
        dialect: &run.dialect,
        is_shared: run.is_shared,
        is_verbatim: run.is_verbatim,
    };
    let reply = session
        .handle(run.event, &input, notice)
        .map_err(|error| match error {
            HookError::NotSaved(message) => Failure::new(Exit::Failure, message),
            HookError::Failed(error) => error.into(),
        })?;
    match reply {
        Some(reply) => Ok(print(format_args!("{}\n", reply.value(host)))?),
        None => Ok(()),
    }
}
