//! The figures of the prompts, for people and for programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use loci::exit::Failure;
use loci::output::Output;
use loci_engine::SearchMode;
use serde_json::{Value, json};

use super::{HALVES, PromptOutcome};
use crate::laboratory::Laboratory;

/// The floors whose effect is reported.
const FLOORS: [f64; 7] = [0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6];

/// The outcome of the prompts to one store.
pub struct StoreOutcome {
    /// The half, as in [`HALVES`].
    pub half: usize,
    /// The search mode.
    pub mode: SearchMode,
    /// The counts by kind of prompt.
    pub counts: BTreeMap<String, Counts>,
}

/// Counts of prompts.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    prompts: usize,
    shown: usize,
    right: usize,
    tokens: usize,
    tokens_max: usize,
    above: [usize; FLOORS.len()],
}

impl Counts {
    /// Counts a prompt that brought that up.
    pub fn add(&mut self, found: &PromptOutcome, is_right: bool) {
        self.prompts += 1;
        self.shown += usize::from(found.text.is_some());
        self.right += usize::from(is_right);
        self.tokens += found.tokens;
        self.tokens_max = self.tokens_max.max(found.tokens);
        for (above, floor) in self.above.iter_mut().zip(FLOORS) {
            *above += usize::from(found.score.is_some_and(|score| score >= floor));
        }
    }

    fn add_all(&mut self, more: &Counts) {
        self.prompts += more.prompts;
        self.shown += more.shown;
        self.right += more.right;
        self.tokens += more.tokens;
        self.tokens_max = self.tokens_max.max(more.tokens_max);
        for (above, more) in self.above.iter_mut().zip(more.above) {
            *above += more;
        }
    }

    fn share(&self, count: usize) -> f64 {
        count as f64 / self.prompts.max(1) as f64
    }
}

/// A line of the report.
struct Row {
    half: &'static str,
    search: &'static str,
    kind: String,
    counts: Counts,
}

/// Prints the figures of each half, and writes them into a file.
///
/// # Errors
/// If they cannot be written.
pub fn report(
    asked: &[StoreOutcome],
    laboratory: &Laboratory<'_>,
    out: Option<&Path>,
    output: Output,
) -> Result<(), Failure> {
    let rows = rows(asked);
    let value = json!({
        "suite": "prompts",
        "loci": env!("CARGO_PKG_VERSION"),
        "model": laboratory.model(),
        "rows": rows.iter().map(Row::value).collect::<Value>(),
    });
    if let Some(file) = out {
        fs::write(file, format!("{value:#}\n"))?;
    }
    Ok(output.either(&value, text(&rows))?)
}

/// Returns a row for each kind of prompt in each half and search mode, and one for all unrelated
/// ones.
fn rows(asked: &[StoreOutcome]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (half, name) in HALVES.into_iter().enumerate() {
        for (mode, search) in [(SearchMode::Hybrid, "hybrid"), (SearchMode::Words, "words")] {
            let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
            let these = asked
                .iter()
                .filter(|one| one.half == half && one.mode == mode);
            for (kind, more) in these.flat_map(|one| &one.counts) {
                counts.entry(kind.clone()).or_default().add_all(more);
                if let Some((all, _)) = kind.split_once(": ") {
                    counts.entry(all.to_owned()).or_default().add_all(more);
                }
            }
            rows.extend(counts.into_iter().map(|(kind, counts)| Row {
                half: name,
                search,
                kind,
                counts,
            }));
        }
    }
    rows
}

impl Row {
    fn value(&self) -> Value {
        let counts = &self.counts;
        let floors = FLOORS.iter().zip(counts.above);
        json!({
            "half": self.half,
            "search": self.search,
            "kind": self.kind,
            "prompts": counts.prompts,
            "shown": counts.share(counts.shown),
            "evidence": counts.share(counts.right),
            "tokens": counts.tokens as f64 / counts.shown.max(1) as f64,
            "tokens_max": counts.tokens_max,
            "above": floors.map(|(floor, above)| json!([floor, counts.share(above)])).collect::<Value>(),
        })
    }
}

/// Returns the rows as a table.
fn text(rows: &[Row]) -> String {
    let mut text = format!(
        "{:5} {:7} {:20} {:>7} {:>6} {:>8} {:>6} {:>4}  share above",
        "half", "search", "prompts", "number", "shown", "evidence", "tokens", "most"
    );
    for floor in FLOORS {
        text += &format!(" {floor:>5}");
    }
    text += "\n";
    for row in rows {
        let counts = &row.counts;
        text += &format!(
            "{:5} {:7} {:20} {:>7} {:>6.3} {:>8.3} {:>6.0} {:>4}             ",
            row.half,
            row.search,
            row.kind,
            counts.prompts,
            counts.share(counts.shown),
            counts.share(counts.right),
            counts.tokens as f64 / counts.shown.max(1) as f64,
            counts.tokens_max
        );
        for above in counts.above {
            text += &format!(" {:>5.3}", counts.share(above));
        }
        text += "\n";
    }
    text
}
