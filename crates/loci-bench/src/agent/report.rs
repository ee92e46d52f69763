//! The shares of evidence and distractors and the numbers of tokens, by dialect.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::tasks::TaskOutcome;
use crate::arguments::AgentBench;
use crate::laboratory::Laboratory;

/// The outcome of a run.
pub struct Report<'a> {
    /// The options of the run.
    pub options: &'a AgentBench,
    /// The model and the search that were measured.
    pub laboratory: &'a Laboratory<'a>,
    /// The number of memories stored.
    pub memories: usize,
    /// The tasks with their outcomes.
    pub asked: &'a [TaskOutcome<'a>],
}

/// Sums over tasks.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    tasks: usize,
    /// The number of tasks without any error.
    right: usize,
    evidence: usize,
    found: usize,
    distractors: usize,
    shown: usize,
    tokens: usize,
    within_budget: usize,
}

impl Tally {
    fn of<'a>(asked: impl Iterator<Item = &'a TaskOutcome<'a>>) -> Self {
        let mut tally = Tally::default();
        for asked in asked {
            tally.tasks += 1;
            tally.right += usize::from(asked.is_right());
            let evidence = asked.task.evidence().count();
            tally.evidence += evidence;
            tally.found += evidence - asked.missing.len();
            tally.distractors += asked.task.distractors().count();
            tally.shown += asked.shown.len();
            tally.tokens += asked.tokens;
            tally.within_budget += usize::from(asked.is_within_budget());
        }
        tally
    }

    /// Returns the shares of evidence found, of distractors shown, of tasks within their tokens and
    /// of tasks without errors.
    fn shares(&self) -> [f64; 4] {
        let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
        [
            share(self.found, self.evidence),
            share(self.shown, self.distractors),
            share(self.within_budget, self.tasks),
            share(self.right, self.tasks),
        ]
    }
}

impl Report<'_> {
    /// Returns a row for each dialect, and one for all.
    fn rows(&self) -> Vec<(&str, Tally)> {
        let of =
            |name: &str| Tally::of(self.asked.iter().filter(|asked| asked.task.dialect == name));
        let dialects = loci_dialects::DIALECTS
            .iter()
            .map(|dialect| (dialect.name, of(dialect.name)));
        dialects
            .chain([("all", Tally::of(self.asked.iter()))])
            .collect()
    }

    /// Returns the report as JSON.
    pub fn value(&self) -> Value {
        let row = |(name, tally): &(&str, Tally)| {
            let [found, shown, within_budget, right] = tally.shares();
            json!({
                "dialect": name,
                "tasks": tally.tasks,
                "evidence": tally.evidence,
                "evidence_found": found,
                "distractors": tally.distractors,
                "distractors_shown": shown,
                "tokens": tally.tokens,
                "within_budget": within_budget,
                "right": right,
            })
        };
        let task = |asked: &TaskOutcome<'_>| {
            json!({
                "name": asked.task.name,
                "dialect": asked.task.dialect,
                "right": asked.is_right(),
                "missing": asked.missing,
                "shown": asked.shown,
                "tokens": asked.tokens,
                "budget_tokens": asked.task.budget_tokens,
                "refused": asked.refused,
            })
        };
        json!({
            "suite": "agent",
            "loci": env!("CARGO_PKG_VERSION"),
            "model": self.laboratory.model(),
            "search": self.laboratory.search(),
            "seed": self.options.seed,
            "memories": self.memories,
            "rows": self.rows().iter().map(row).collect::<Vec<_>>(),
            "tasks": self.asked.iter().map(task).collect::<Vec<_>>(),
        })
    }

    /// Returns the table for people, with the tasks to list.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{} memories, seed {}, model {}\n\n{:11} {:>6} {:>15} {:>18} {:>8} {:>14} {:>7}\n",
            self.memories,
            self.options.seed,
            self.laboratory.model(),
            "dialect",
            "tasks",
            "evidence found",
            "distractors shown",
            "tokens",
            "within budget",
            "right"
        );
        for (name, tally) in self.rows() {
            let [found, shown, within_budget, right] = tally.shares();
            let _ = writeln!(
                text,
                "{name:11} {:>6} {found:>15.3} {shown:>18.3} {:>8} {within_budget:>14.3} {right:>7.3}",
                tally.tasks, tally.tokens
            );
        }
        let is_listed = |asked: &&TaskOutcome<'_>| match self.options.show.as_deref() {
            Some("failed") => !asked.is_right(),
            show => show.is_some(),
        };
        for asked in self.asked.iter().filter(is_listed) {
            let budget = asked.task.budget_tokens;
            let _ = writeln!(
                text,
                "\n{}: {} of {budget} tokens",
                asked.task.name, asked.tokens
            );
            let missing = asked.missing.iter().map(|part| ("missing", part));
            let shown = asked.shown.iter().map(|part| ("shown", part));
            for (problem, part) in missing
                .chain(shown)
                .chain(asked.refused.iter().map(|why| ("refused", why)))
            {
                let _ = writeln!(text, "  {problem}: {part}");
            }
        }
        text
    }
}
