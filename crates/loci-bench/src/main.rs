//! `loci-bench`: measures the speed, size and quality that the design promises, on this machine.
//!
//! Questions go through the tools that agents call, because the figures are then the ones that an
//! agent gets.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a test that fails may panic")
)]

mod agent;
mod arguments;
mod background;
mod cached_questions;
mod certainty;
mod client;
mod clients;
mod contradictions;
mod corpus;
mod encrypted;
mod engine;
mod figure;
mod fitted_numbers;
mod hooks;
mod http;
mod laboratory;
mod locomo;
mod memory;
mod needles;
mod notes;
mod page;
mod palace;
mod phases;
mod prompts;
mod repeats;
#[cfg(unix)]
mod server;
mod sets;
mod speed;
mod stalled;

use std::path::Path;
use std::process::ExitCode;

use loci::exit::Failure;
use loci::output::Output;
use loci::settings::Settings;
use tracing::level_filters::LevelFilter;

use crate::arguments::{Bench, Cli};

fn main() -> ExitCode {
    let outcome = match loci::parse::<Cli>() {
        Ok(cli) => start(&cli),
        Err(ended) => ended,
    };
    loci::exit_code(outcome)
}

fn start(cli: &Cli) -> Result<(), Failure> {
    let output = Output::new(cli.common.json, cli.common.raw)?;
    let settings = loci::start(&cli.common.flags(), LevelFilter::WARN)?;
    run(&settings, &cli.command, output)
}

/// A measurement of clients: where, of how many memories, with how many calls each.
type Clients = fn(Option<&Path>, usize, usize, Output) -> Result<(), Failure>;

fn comparing(is_encrypted: bool) -> Clients {
    if is_encrypted {
        encrypted::run
    } else {
        clients::run
    }
}

fn run(settings: &Settings, command: &Bench, output: Output) -> Result<(), Failure> {
    match command {
        Bench::Speed {
            folder,
            memories,
            without,
        } => speed::run(folder.as_deref(), *memories as usize, without, output),
        Bench::Notes { folder, notes } => notes::run(folder.as_deref(), *notes as usize, output),
        Bench::Palace { folder, drawers } => {
            palace::run(folder.as_deref(), *drawers as usize, output)
        }
        Bench::Hooks { folder, memories } => {
            hooks::run(settings, folder.as_deref(), *memories as usize, output)
        }
        Bench::Page { folder, memories } => {
            page::run(folder.as_deref(), *memories as usize, output)
        }
        Bench::Clients {
            folder,
            memories,
            calls,
            encrypted,
        } => comparing(*encrypted)(
            folder.as_deref(),
            *memories as usize,
            *calls as usize,
            output,
        ),
        Bench::Background {
            memories,
            clients,
            calls,
        } => background::run(
            *memories as usize,
            *clients as usize,
            *calls as usize,
            output,
        ),
        Bench::Memory { memories } => memory::run(*memories as usize, output),
        Bench::Stalled {
            memories,
            senders,
            calls,
        } => stalled::run(
            *memories as usize,
            *senders as usize,
            *calls as usize,
            output,
        ),
        Bench::Prompts(options) => prompts::run(settings, options, output),
        Bench::Locomo(options) => locomo::run(settings, options, output),
        Bench::Engine(options) => engine::run(options, output),
        #[cfg(unix)]
        Bench::Server { memories } => server::run(*memories, output),
        #[cfg(unix)]
        Bench::Cluster(sizes) => server::cluster::run(sizes, output),
        Bench::Agent(options) => agent::run(settings, options, output),
        Bench::Contradictions(options) => contradictions::run(settings, options, output),
        Bench::Certainty(options) => certainty::run(settings, options, output),
        Bench::CachedQuestions(options) => cached_questions::run(settings, options, output),
        Bench::Needles(options) => needles::run(settings, options, output),
        Bench::Repeats(options) => repeats::run(settings, options, output),
        Bench::Sets(options) => sets::run(settings, options, output),
        Bench::Fusion(options) => sets::run_fusion(settings, options, output),
        Bench::Strength(options) => sets::strength::run(settings, options, output),
        Bench::Phases { out } => phases::run(settings, out.as_deref(), output),
    }
}
