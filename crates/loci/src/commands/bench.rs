//! `loci bench`: measures, on this machine, what the design promises.

mod agent;
mod cached_questions;
mod client;
mod clients;
mod contradictions;
mod corpus;
mod engine;
mod figure;
mod http;
mod laboratory;
mod locomo;
mod needles;
mod notes;
mod palace;
mod phases;
mod sets;
mod speed;

use crate::cli::Bench;
use crate::exit::Failure;
use crate::output::Output;
use crate::settings::Settings;

pub fn run(settings: &Settings, command: &Bench, output: Output) -> Result<(), Failure> {
    match command {
        Bench::Speed { folder, memories } => {
            speed::run(folder.as_deref(), *memories as usize, output)
        }
        Bench::Notes { folder, notes } => notes::run(folder.as_deref(), *notes as usize, output),
        Bench::Palace { folder, drawers } => {
            palace::run(folder.as_deref(), *drawers as usize, output)
        }
        Bench::Clients {
            folder,
            memories,
            calls,
        } => clients::run(
            folder.as_deref(),
            *memories as usize,
            *calls as usize,
            output,
        ),
        Bench::Locomo(options) => locomo::run(settings, options, output),
        Bench::Engine(options) => engine::run(options, output),
        Bench::Agent(options) => agent::run(settings, options, output),
        Bench::Contradictions(options) => contradictions::run(settings, options, output),
        Bench::CachedQuestions(options) => cached_questions::run(settings, options, output),
        Bench::Needles(options) => needles::run(settings, options, output),
        Bench::Sets(options) => sets::run(settings, options, output),
        Bench::Fusion(options) => sets::run_fusion(settings, options, output),
        Bench::Phases { out } => phases::run(settings, out.as_deref(), output),
    }
}
