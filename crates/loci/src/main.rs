//! The `loci` command: one durable memory for AI agents.
//!
//! Here the parts meet: settings choose a store and a model, an engine joins them, and a command
//! uses it. A command is one file under `commands`. Nothing here means anything of its own; that
//! is the engine's.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a test that fails may panic")
)]

mod access;
mod archive;
mod background;
mod cli;
mod commands;
mod damage;
mod exit;
mod former_models;
mod mining;
mod output;
mod panics;
mod progress;
mod secret;
mod settings;
mod settings_file;
mod signal;
mod visible;
mod wiring;

use std::collections::BTreeSet;
use std::process::ExitCode;

use clap::Parser;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

use crate::cli::{Cli, Command, Hook};
use crate::exit::{Exit, Failure};
use crate::output::{LogWriter, Output, status_line};
use crate::settings::{SETTINGS, Settings, Variables};

fn main() -> ExitCode {
    panics::keep_contents_out();
    let (outcome, is_hook) = match Cli::try_parse() {
        Ok(cli) => (
            run(&cli),
            matches!(cli.command, Command::Hook(Hook::Run { .. })),
        ),
        Err(error) => {
            // A closed stream is no reason to fail otherwise. An error may quote an argument, and a
            // terminal obey it.
            if error.use_stderr() {
                status_line(error.to_string().trim_end());
            } else {
                let _ = error.print();
            }
            // Help is no failure.
            (
                if error.use_stderr() {
                    Err(Failure::new(Exit::Usage, ""))
                } else {
                    Ok(())
                },
                names_hook(),
            )
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.message.is_empty() {
                status_line(format_args!("error: {}", failure.message));
            }
            // To a host 2 means that its agent must not go on; nothing that fails here is worth
            // that.
            let exit = if is_hook { Exit::Failure } else { failure.exit };
            ExitCode::from(exit as u8)
        }
    }
}

/// Whether arguments that cannot be used seem to be those of `loci hook run`.
fn names_hook() -> bool {
    let mut words = std::env::args_os();
    words.any(|word| word == "hook") && words.any(|word| word == "run")
}

fn run(cli: &Cli) -> Result<(), Failure> {
    let output = Output::new(cli.common.json, cli.common.raw)?;
    // These need no settings, so that a broken file is no obstacle to them.
    match &cli.command {
        Command::Completions { shell } => return commands::completions::run(*shell),
        Command::Man { out } => return commands::man::run(out.as_deref()),
        Command::Notices => return commands::notices::run(),
        Command::Reference => return commands::reference::run(),
        _ => {}
    }
    let settings = Settings::resolve(&cli.flags(), &variables()?)?;
    start_log(&settings, &cli.command);
    let outcome = execute(&cli.command, &settings, output);
    // These say themselves what is damaged, or work where something is.
    if matches!(cli.command, Command::Restore(_) | Command::Doctor(_)) {
        return outcome;
    }
    outcome.map_err(|failure| damage::explained(failure, &settings))
}

fn execute(command: &Command, settings: &Settings, output: Output) -> Result<(), Failure> {
    match command {
        Command::Serve(arguments) => commands::serve::run(settings, arguments, output),
        Command::Mcp { dialect } => commands::mcp::run(settings, dialect),
        Command::Add(arguments) => commands::add::run(settings, arguments, output),
        Command::Import(arguments) => commands::import::run(settings, arguments, output),
        Command::Search(arguments) => commands::search::run(settings, arguments, output),
        Command::List(arguments) => commands::list::run(settings, arguments, output),
        Command::Show { id } => commands::show::run(settings, id, output),
        Command::Forget { id } => commands::forget::run(settings, id, output),
        Command::Stats => commands::stats::run(settings, output),
        Command::Bootstrap { project } => {
            commands::bootstrap::run(settings, project.as_deref(), output)
        }
        Command::Trust(arguments) => commands::trust::run(settings, arguments, output),
        Command::Palace(command) => commands::palace::run(settings, command, output),
        Command::Hook(command) => commands::hook::run(settings, command, output),
        Command::Vault(command) => commands::vault::run(settings, command, output),
        Command::Token(command) => commands::token::run(settings, command, output),
        Command::Model(command) => commands::model::run(settings, command, output),
        Command::Config => commands::config::run(settings, output),
        Command::Audit(arguments) => commands::audit::run(settings, arguments, output),
        Command::Export(arguments) => commands::export::run(settings, arguments, output),
        Command::Backup(arguments) => commands::backup::run(settings, arguments, output),
        Command::Restore(arguments) => commands::restore::run(settings, arguments, output),
        Command::Reindex { embeddings } => commands::reindex::run(settings, *embeddings, output),
        Command::Doctor(arguments) => commands::doctor::run(settings, arguments, output),
        Command::Bench(command) => commands::bench::run(settings, command, output),
        Command::Completions { .. }
        | Command::Man { .. }
        | Command::Notices
        | Command::Reference => Ok(()),
    }
}

/// The environment variables that may be settings.
fn variables() -> Result<Variables, Failure> {
    let all =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let of_others: BTreeSet<&str> = SETTINGS
        .iter()
        .filter_map(|setting| setting.alias)
        .collect();
    let ours =
        all.filter(|(name, _)| name.starts_with("LOCI_") || of_others.contains(name.as_str()));
    ours.map(|(name, value)| match value.into_string() {
        Ok(value) => Ok((name, value)),
        Err(_) => Err(Failure::new(
            Exit::Usage,
            format!("the environment variable {name} is no UTF-8 text"),
        )),
    })
    .collect()
}

/// Logs to stderr. Of other people's code only errors are logged: its finer levels may quote what
/// a caller sent.
fn start_log(settings: &Settings, command: &Command) {
    let usual = if matches!(command, Command::Serve(_)) {
        LevelFilter::INFO
    } else {
        LevelFilter::WARN
    };
    let log = settings.log.unwrap_or(usual);
    let targets = Targets::new()
        .with_default(LevelFilter::ERROR)
        // The SDK calls it an error that a client which cancelled its call, or is gone, gets no
        // reply.
        .with_target(
            "rmcp::service",
            if log >= LevelFilter::DEBUG {
                LevelFilter::ERROR
            } else {
                LevelFilter::OFF
            },
        )
        .with_target("loci", log);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(LogWriter)
        .with_ansi(false);
    tracing_subscriber::registry()
        .with(lines.with_filter(targets))
        .init();
}
