//! `loci hook`: handles the events of a host's session.

mod install;
mod turn;

use std::io;
use std::time::Duration;

use loci_core::Caller;
use loci_hooks::hook::{HookError, HookSession};
use loci_hooks::prompt::Prompt;
use loci_hosts::{Event, HookRun, Host, Input, Reply};
use loci_ingest::trust::Trust;

pub use self::install::parse;
use self::turn::Turn;
use crate::cli::Hook;
use crate::exit::{Exit, Failure};
#[cfg(unix)]
use crate::hook_socket;
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
    let take_turn = || Turn::take(&settings.data, run.event, &input);
    let turn = match run.event {
        Event::SessionStart | Event::Prompt => {
            let Some(turn) = take_turn() else {
                return Ok(());
            };
            Some(turn)
        }
        // The messages of a session are saved once, no matter which process saves them.
        _ => None,
    };
    let mut printed = Ok(());
    let handled = handle(settings, host, run, &input, &mut |reply| {
        let is_silent = matches!(reply, Reply::Continue(_)) && take_turn().is_none();
        if !is_silent {
            printed = print(format_args!("{}\n", reply.value(host)));
        }
    });
    match (turn, &handled) {
        (Some(turn), Err(_)) => turn.give_back(),
        (turn, _) => drop(turn),
    }
    handled?;
    Ok(printed?)
}

/// Does the work of an event. Passes the reply to the host, if there is one, to `answer`.
fn handle(
    settings: &Settings,
    host: &Host,
    run: &HookRun,
    input: &Input,
    answer: &mut dyn FnMut(Reply),
) -> Result<(), Failure> {
    let folder = input
        .folder
        .as_deref()
        .map_or_else(std::env::current_dir, |folder| Ok(folder.into()))
        .unwrap_or_default();
    let trust = Trust::read_or_none(&settings.data, notice);
    let store = StoreSettings {
        busy_timeout: settings.store.busy_timeout.min(BUSY_TIMEOUT),
        ..settings.store.clone()
    };
    let settings = Settings {
        store,
        ..settings.clone()
    };
    let parts = if run.event == Event::Prompt {
        let Some(prompt) = Prompt::of(input, host.name, &trust, &folder) else {
            return Ok(());
        };
        #[cfg(unix)]
        match hook_socket::ask(&settings, &prompt) {
            Ok(text) => {
                if let Some(text) = text {
                    answer(Reply::Context(run.event, text));
                }
                return Ok(());
            }
            Err(error) => tracing::debug!(?error, "the hook works by itself"),
        }
        let parts = if prompt.asks {
            Parts::open_for_prompt(&settings, &prompt.text)?
        } else {
            Parts::open_for_hook(&settings)?
        };
        if parts.store.version(&Caller::local().space)? == 0 {
            // Nothing was ever stored, so that the model is not waited for.
            return Ok(());
        }
        // Opens the index while the prompt is embedded. The search itself reports a failure.
        let _ = parts.store.prepare_search(Duration::ZERO);
        parts
    } else {
        Parts::open_for_hook(&settings)?
    };
    let session = HookSession {
        engine: &parts.engine,
        host: host.name,
        trust: &trust,
        folder: &folder,
        dialect: &run.dialect,
        is_shared: run.is_shared,
        is_verbatim: run.is_verbatim,
    };
    session
        .handle(run.event, input, notice, answer)
        .map_err(|error| match error {
            HookError::NotSaved(message) => Failure::new(Exit::Failure, message),
            HookError::Failed(error) => error.into(),
        })
}
