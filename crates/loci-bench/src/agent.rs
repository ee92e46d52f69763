//! `loci-bench agent`: measures whether the replies to an agent hold the evidence it needs, leave
//! out what would mislead it, and stay within a number of tokens. No language model takes part.
//!
//! A seed determines the store, which scripted tasks query. Both are data: `agent/memories.toml`
//! has the memories of the tasks, `agent/surroundings.toml` has the memories around them,
//! `agent/tasks.toml` has the tasks.

mod material;
mod report;
mod stored;
mod tasks;

use std::sync::Arc;

use loci::exit::Failure;
use loci::output::{Output, status_line};
use loci::settings::Settings;
use loci_core::Clock;

use self::report::Report;
use self::stored::FilledStore;
use super::laboratory::{Laboratory, SetClock};
use crate::arguments::AgentBench;

pub fn run(settings: &Settings, options: &AgentBench, output: Output) -> Result<(), Failure> {
    let clock = SetClock::new();
    let shared: Arc<dyn Clock> = Arc::<SetClock>::clone(&clock);
    let laboratory = Laboratory::new(settings, shared, &[])?;
    let temporary = tempfile::tempdir()?;
    let folder = options.keep.as_deref().unwrap_or(temporary.path());
    std::fs::create_dir_all(folder)?;
    let calls = material::calls(options.seed, options.memories as usize)?;
    let stored = FilledStore::of(&calls, folder, &laboratory, &clock)?;
    let tasks = tasks::sample(tasks::read()?, options.tasks);
    status_line(format_args!("asking {} tasks …", tasks.len()));
    let asked = tasks::ask(&tasks, &stored, &laboratory, &clock, options.consolidate)?;
    let memories = calls.iter().map(material::Call::memories).sum();
    let report = Report {
        options,
        laboratory: &laboratory,
        memories,
        asked: &asked,
    };
    let value = report.value();
    if let Some(file) = &options.out {
        std::fs::write(file, format!("{value:#}\n"))?;
    }
    Ok(output.either(&value, report.text())?)
}
