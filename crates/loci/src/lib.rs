//! The `loci` command: one durable memory for AI agents.
//!
//! The settings choose a store and a model, [`wiring`] joins them to an engine, and a command uses
//! it. Each command is one file under `commands`. The engine defines the meaning of an operation.
//!
//! It is a library so that `loci-bench` measures the same parts, opened by the same settings.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a test that fails may panic")
)]

mod access;
mod background;
mod browser;
mod checkout;
mod cli;
mod client_calls;
mod clock;
mod commands;
mod corruption;
mod detected_hosts;
mod escaped;
pub mod exit;
mod file_history;
mod former_models;
#[cfg(unix)]
mod hook_socket;
mod listing;
mod machine;
mod memory_folder;
pub mod models;
pub mod output;
mod own_program;
mod own_server;
mod page;
mod panics;
mod past;
pub mod progress;
mod query_prefetch;
mod sealed_backup;
pub mod secret;
mod sent_requests;
pub mod settings;
mod signal;
pub mod store;
mod store_replacement;
mod style;
mod terminal;
mod time_format;
pub mod vault;
pub mod wiring;

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use loci_engine::traces::TARGET;
use loci_otlp::Traces;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

pub use crate::cli::Common;
use crate::cli::{Cli, Command, Hook, command_line};
pub use crate::commands::migrate::transfer;
use crate::exit::{Exit, Failure};
use crate::file_history::keep_file_changes;
use crate::output::{LogWriter, Output, status_line};
use crate::sent_requests::count_requests;
use crate::settings::{Flags, OTLP_ENDPOINT, Settings, environment};

/// The longest wait of the shutdown for the last traces, a part of its two seconds.
const TRACES_END_TIMEOUT: Duration = Duration::from_millis(500);

/// Runs the command that the arguments of this process name; returns its exit code.
pub fn main() -> ExitCode {
    panics::keep_contents_out();
    // Where no zone is known, such as on a system without its database, days are in UTC.
    if let Ok(zone) = jiff::tz::TimeZone::try_system() {
        loci_text::dates::set_zone(zone);
    }
    if is_alone_in_terminal() {
        return exit_code(overview());
    }
    let (outcome, is_hook) = match parse_as::<Cli>(command_line()) {
        Ok(cli) => (
            run(&cli),
            matches!(cli.command, Command::Hook(Hook::Run { .. })),
        ),
        Err(ended) => (ended, names_hook()),
    };
    exit_code(outcome.map_err(|failure| Failure {
        // A host takes 2 as the order to stop its agent, which no failure of a hook justifies.
        exit: if is_hook { Exit::Failure } else { failure.exit },
        ..failure
    }))
}

/// Returns true if this process has no arguments, and a person reads what it prints.
fn is_alone_in_terminal() -> bool {
    std::env::args_os().len() == 1 && io::stdin().is_terminal() && io::stdout().is_terminal()
}

fn overview() -> Result<(), Failure> {
    let settings = start(&Flags::default(), LevelFilter::WARN)?;
    commands::overview::run(&settings, Output::new(false, false)?)
}

/// Parses the arguments of this process. Prints help, or the error of invalid arguments.
///
/// # Errors
/// The outcome to end with: success after help, a failure without a message after an error.
pub fn parse<Arguments: Parser>() -> Result<Arguments, Result<(), Failure>> {
    parse_as(Arguments::command())
}

/// Parses the arguments as this command line says, which has the arguments of `Arguments`.
fn parse_as<Arguments: Parser>(
    mut command_line: clap::Command,
) -> Result<Arguments, Result<(), Failure>> {
    let matches = command_line.try_get_matches_from_mut(std::env::args_os());
    let arguments = matches.and_then(|mut matches| {
        Arguments::from_arg_matches_mut(&mut matches)
            .map_err(|error| error.format(&mut command_line))
    });
    arguments.map_err(|error| {
        if error.use_stderr() {
            // The error may quote an argument, and a terminal obeys control characters.
            status_line(error.to_string().trim_end());
            Err(Failure::new(Exit::Usage, ""))
        } else {
            // A closed stream is not a failure of the command.
            let _ = error.print();
            Ok(())
        }
    })
}

/// Returns the exit code of an outcome; prints the message of a failure.
pub fn exit_code(outcome: Result<(), Failure>) -> ExitCode {
    let Err(failure) = outcome else {
        return ExitCode::SUCCESS;
    };
    if !failure.message.is_empty() {
        status_line(format_args!("error: {}", failure.message));
    }
    ExitCode::from(failure.exit as u8)
}

/// Returns true if invalid arguments seem to be meant for `loci hook run`.
fn names_hook() -> bool {
    let mut words = std::env::args_os();
    words.any(|word| word == "hook") && words.any(|word| word == "run")
}

/// Returns the name of a command that may change a file of settings.
fn name_of(command: &Command) -> &'static str {
    match command {
        Command::Connect(_) => "connect",
        Command::Model(_) => "model",
        Command::Palace(_) => "palace",
        Command::Restore(_) => "restore",
        Command::Undo(_) => "undo",
        Command::Serve(_) | Command::Page(_) => "the page",
        _ => "loci",
    }
}

fn run(cli: &Cli) -> Result<(), Failure> {
    let output = Output::new(cli.common.json, cli.common.raw)?;
    // These need no settings, so that they work with a broken configuration file.
    match &cli.command {
        Command::Completions { shell } => return commands::completions::run(*shell),
        Command::Man { out } => return commands::man::run(out.as_deref()),
        Command::Notices => return commands::notices::run(),
        Command::Reference => return commands::reference::run(),
        _ => {}
    }
    let usual = if matches!(cli.command, Command::Serve(_) | Command::Page(_)) {
        LevelFilter::INFO
    } else {
        LevelFilter::WARN
    };
    let mut settings = Settings {
        all_users: cli.common.all_users,
        ..resolved(
            &cli.flags(),
            !matches!(cli.command, Command::Hook(Hook::Run { .. })),
        )?
    };
    if is_of_a_person(&cli.command) {
        settings.store.keys = settings.store.keys.asking(terminal::passphrase_of);
    }
    memory_folder::keep_temporary_files(&settings);
    warn_of_original(&cli.command);
    let traces = traces(&cli.command, &settings)?;
    start_log(&settings, usual, traces.as_ref());
    count_requests(&settings.data);
    keep_file_changes(
        &settings.data,
        name_of(&cli.command),
        settings.policy.history_seconds,
    );
    let outcome = execute(&cli.command, &settings, output);
    if let Some(traces) = traces {
        traces.end(TRACES_END_TIMEOUT);
    }
    // These report corruption themselves, or work all the same.
    if matches!(cli.command, Command::Restore(_) | Command::Doctor(_)) {
        return outcome;
    }
    outcome.map_err(|failure| corruption::explained(failure, &settings))
}

/// Returns whether a person starts this command and waits for it, who can be asked for a passphrase.
fn is_of_a_person(command: &Command) -> bool {
    !matches!(
        command,
        Command::Mcp(_) | Command::Serve(_) | Command::Page(_) | Command::Hook(_)
    )
}

fn execute(command: &Command, settings: &Settings, output: Output) -> Result<(), Failure> {
    match command {
        Command::Serve(arguments) => commands::serve::run(settings, arguments, output),
        Command::Page(arguments) => commands::page::run(settings, arguments, output),
        Command::Mcp(arguments) => commands::mcp::run(settings, arguments),
        Command::Connect(arguments) => commands::connect::run(settings, arguments, output),
        Command::Add(arguments) => commands::add::run(settings, arguments, output),
        Command::Import(arguments) => commands::import::run(settings, arguments, output),
        Command::Search(arguments) => commands::search::run(settings, arguments, output),
        Command::Why(arguments) => commands::why::run(settings, arguments, output),
        Command::List(arguments) => commands::list::run(settings, arguments, output),
        Command::Show { id, as_of } => {
            commands::show::run(settings, (id, as_of.as_deref()), output)
        }
        Command::History(arguments) => commands::history::run(settings, arguments, output),
        Command::Diff(arguments) => commands::history::diff(settings, arguments, output),
        Command::Forget(arguments) => commands::forget::run(settings, arguments, output),
        Command::Consolidate(arguments) => {
            commands::consolidate::run(settings, arguments.dry_run, output)
        }
        Command::Undo(arguments) => commands::undo::run(settings, arguments, output),
        Command::Delete(arguments) => commands::delete::run(settings, arguments, output),
        Command::Unforget(arguments) => commands::unforget::run(settings, arguments, output),
        Command::Stats => commands::stats::run(settings, output),
        Command::Bootstrap { project } => {
            commands::bootstrap::run(settings, project.as_deref(), output)
        }
        Command::MemoryTool => commands::memory_tool::run(settings),
        Command::Review(command) => commands::review::run(settings, command, output),
        Command::Trust(arguments) => commands::trust::run(settings, arguments, output),
        Command::Palace(command) => commands::palace::run(settings, command, output),
        Command::Hook(command) => commands::hook::run(settings, command, output),
        Command::Vault(command) => commands::vault::run(settings, command, output),
        Command::Token(command) => commands::token::run(settings, command, output),
        Command::Space(command) => commands::space::run(settings, command, output),
        Command::Model(command) => commands::model::run(settings, command, output),
        Command::Config => commands::config::run(settings, output),
        Command::Audit(arguments) => commands::audit::run(settings, arguments, output),
        Command::Export(arguments) => commands::export::run(settings, arguments, output),
        Command::Backup(arguments) => commands::backup::run(settings, arguments, output),
        Command::Restore(arguments) => match (arguments.file.to_str(), arguments.version) {
            (Some(id), Some(version)) => {
                commands::history::restore(settings, (id, version), output)
            }
            _ => commands::restore::run(settings, arguments, output),
        },
        Command::Encrypt(arguments) => commands::encrypt::run(settings, arguments, output),
        Command::Decrypt => commands::decrypt::run(settings, output),
        Command::Migrate(arguments) => commands::migrate::run(settings, arguments, output),
        Command::Reindex { embeddings } => commands::reindex::run(settings, *embeddings, output),
        Command::Doctor(arguments) => commands::doctor::run(settings, arguments, output),
        Command::Completions { .. }
        | Command::Man { .. }
        | Command::Notices
        | Command::Reference => Ok(()),
    }
}

/// Resolves the settings from these flags, the environment and the configuration file. Warns of
/// variables that are no settings if `warns`: a host shows what a hook says to no one.
fn resolved(flags: &Flags, warns: bool) -> Result<Settings, Failure> {
    let variables = environment::variables()?;
    if warns {
        for warning in environment::warnings(&variables) {
            status_line(format_args!("warning: {warning}"));
        }
    }
    Settings::resolve(flags, &variables)
}

/// Resolves the settings from these flags, the environment and the configuration file, and starts
/// the log; `usual` is its level if no setting names one.
///
/// # Errors
/// `Usage` if a setting has an invalid value.
pub fn start(flags: &Flags, usual: LevelFilter) -> Result<Settings, Failure> {
    let settings = resolved(flags, true)?;
    start_log(&settings, usual, None);
    Ok(settings)
}

/// Warns of the variables of memory-mcp's original that have no effect, where its tools are served.
fn warn_of_original(command: &Command) {
    let serves = match command {
        Command::Serve(_) => true,
        Command::Mcp(mcp) => mcp.dialect == loci_dialects::memory_mcp::DIALECT.name,
        _ => false,
    };
    let warnings = serves.then(|| environment::warnings_of_original(environment::is_set));
    for warning in warnings.into_iter().flatten() {
        status_line(format_args!("warning: {warning}"));
    }
}

/// Returns the traces of a command that serves, if a setting names a collector.
fn traces(command: &Command, settings: &Settings) -> Result<Option<Traces>, Failure> {
    let serves = matches!(
        command,
        Command::Serve(_) | Command::Page(_) | Command::Mcp(_)
    );
    let endpoint = settings.network.otlp_endpoint.as_deref();
    let traces = endpoint
        .filter(|_| serves)
        .map(|endpoint| Traces::start(OTLP_ENDPOINT.key, endpoint));
    let traces = traces.transpose();
    traces.map_err(|error| Failure::new(Exit::Usage, error.message))
}

/// Starts the log to stderr, and the traces, if there are any. Libraries log only errors: their finer
/// levels may quote the text of a caller.
fn start_log(settings: &Settings, usual: LevelFilter, traces: Option<&Traces>) {
    let log = settings.log.unwrap_or(usual);
    let targets = Targets::new()
        .with_default(LevelFilter::ERROR)
        // The SDK logs an error if a client gets no reply because it cancelled its call or is gone.
        .with_target(
            "rmcp::service",
            if log >= LevelFilter::DEBUG {
                LevelFilter::ERROR
            } else {
                LevelFilter::OFF
            },
        )
        .with_target("loci", log)
        .with_target(TARGET, LevelFilter::OFF);
    let lines = tracing_subscriber::fmt::layer().with_ansi(false);
    let lines = if settings.logs_json {
        // JSON has escapes of its own.
        let lines = lines.with_writer(io::stderr);
        lines.json().flatten_event(true).boxed()
    } else {
        lines.with_writer(LogWriter).boxed()
    };
    let subscriber = tracing_subscriber::registry().with(lines.with_filter(targets));
    match traces {
        Some(traces) => subscriber.with(traces.layer(TARGET)).init(),
        // Without a layer that takes them, no span is made.
        None => subscriber.init(),
    }
}
