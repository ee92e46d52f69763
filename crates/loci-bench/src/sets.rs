//! `loci-bench sets`: measures whether the tools find the texts that answer the questions of a
//! folder of sets, which `scripts/retrieval-sets` builds, and whether they do so at least as well
//! as only words and only vectors.
//!
//! A set is stored and queried through the tools that an agent would use. A question may count as
//! an access, so each tool is asked on a copy of the store.
//!
//! `loci-bench fusion` takes the candidates of the same questions, and fits the weights of the
//! fusion to the halves for training.

mod ask;
mod data;
mod fit;
mod report;
mod stored;
pub mod strength;

use std::path::Path;
use std::sync::Arc;

use loci::exit::{Exit, Failure};
use loci::output::{Output, status_line};
use loci::settings::Settings;
use loci_core::Clock;
use loci_dialects::{Dialect, mememory, memory_mcp, mempalace, vault};
use serde::Deserialize;

use self::data::{Question, Set};
use self::report::Row;
use self::stored::StoredSet;
use super::laboratory::{Laboratory, SetClock};
use crate::arguments;

/// The tools that store the texts of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoringTools {
    /// Messages of conversations; each thread is one of a single user.
    Messages,
    /// Global facts.
    Facts,
    /// Drawers of one room.
    Drawers,
    /// Notes of the folder.
    Notes,
    /// A folder of files that is mined as a project.
    Mined,
}

impl StoringTools {
    /// Returns the dialect of these tools, and its search tools.
    fn tools(self) -> (&'static Dialect, &'static [&'static str]) {
        match self {
            StoringTools::Messages => (&memory_mcp::DIALECT, &["recall_memory", "hybrid_search"]),
            StoringTools::Facts => (&mememory::DIALECT, &["recall"]),
            StoringTools::Drawers | StoringTools::Mined => {
                (&mempalace::DIALECT, &["mempalace_search"])
            }
            StoringTools::Notes => (&vault::DIALECT, &["memory_search"]),
        }
    }
}

pub fn run(settings: &Settings, options: &arguments::Sets, output: Output) -> Result<(), Failure> {
    let clock = SetClock::new();
    let shared: Arc<dyn Clock> = Arc::<SetClock>::clone(&clock);
    let laboratory = Laboratory::new(settings, Arc::clone(&shared), &options.without)?;
    // A quotation in a query excludes all other texts, which a ranking only by words or only by
    // vectors does not know.
    let plain = Laboratory::new(settings, shared, &["phrases".to_owned()])?;
    let mut rows = Vec::new();
    for folder in data::folders(Path::new(&options.data), &options.only)? {
        let set = Set::read(&folder)?;
        let questions: Vec<&Question> = set
            .questions
            .iter()
            .filter(|question| options.half == "all" || question.half == options.half)
            .collect();
        let (dialect, tools) = set.about.through.tools();
        let tools: Vec<_> = tools
            .iter()
            .filter(|tool| options.tool.as_ref().is_none_or(|asked| asked == *tool))
            .collect();
        if questions.is_empty() || tools.is_empty() {
            status_line(format_args!("{} has nothing to ask", set.about.name));
            continue;
        }
        let stored = StoredSet::of(&set, &laboratory, &clock)?;
        clock.set(0);
        status_line(format_args!(
            "asking {}: {} questions …",
            set.about.name,
            questions.len()
        ));
        let [words, vectors] = ask::alone(&questions, &stored, &plain)?;
        for tool in tools {
            let tool_hits = ask::tool(&questions, &stored, &laboratory, dialect, tool)?;
            rows.push(Row {
                set: set.about.clone(),
                tool,
                questions: questions.len(),
                loci: tool_hits,
                words,
                vectors,
            });
        }
    }
    if rows.is_empty() {
        return Err(Failure::new(
            Exit::Usage,
            "no set has a question of this half for this tool; see --half and --tool",
        ));
    }
    let value = report::value(&rows, options, &laboratory);
    if let Some(file) = &options.out {
        std::fs::write(file, format!("{value:#}\n"))?;
    }
    Ok(output.either(&value, report::text(&rows, &options.half))?)
}

pub fn run_fusion(
    settings: &Settings,
    options: &arguments::Fusion,
    output: Output,
) -> Result<(), Failure> {
    let clock = SetClock::new();
    let shared: Arc<dyn Clock> = Arc::<SetClock>::clone(&clock);
    let laboratory = Laboratory::new(settings, shared, &[])?;
    let data = Path::new(&options.data);
    let mut sets = data::folders(data, &options.only)?
        .iter()
        .map(|folder| Set::read(folder))
        .collect::<Result<Vec<_>, _>>()?;
    if options.only.is_empty() || options.needles {
        sets.push(Set::of_needles(data, "train")?);
    }
    let mut captured = Vec::new();
    for set in &sets {
        let stored = StoredSet::of(set, &laboratory, &clock)?;
        clock.set(0);
        captured.extend(fit::CapturedQuestions::of(set, &stored, &laboratory)?);
    }
    let report = fit::report(&captured, options);
    Ok(output.either(&report.value(), report.text())?)
}
