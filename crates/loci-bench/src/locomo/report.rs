//! The figures, for people and for programs.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::data::Conversation;
use super::score::Score;
use super::{SESSION_RESULTS, TURN_RESULTS, ToolScores};
use crate::arguments::Locomo;
use crate::laboratory::Laboratory;

/// The kinds of questions, by the number that the file gives them.
const CATEGORIES: [&str; 5] = [
    "multi-hop",
    "temporal",
    "open-domain",
    "single-hop",
    "adversarial",
];
/// The category of questions without an answer, only with a turn where it would have to be.
const ADVERSARIAL: u64 = 5;

/// The results of a run.
pub struct Report<'a> {
    pub options: &'a Locomo,
    pub laboratory: &'a Laboratory<'a>,
    pub conversations: &'a [Conversation],
    pub tools: &'a [ToolScores],
}

impl Report<'_> {
    /// Returns the report as JSON, with the settings of the run.
    pub fn value(&self) -> Value {
        let sessions = || {
            self.conversations
                .iter()
                .flat_map(|conversation| &conversation.sessions)
        };
        let tool = |scores: &ToolScores| {
            let row = |(name, [turns, sessions]): (String, [Score; 2])| json!({"category": name, "questions": turns.questions(), "turns": turns.value(), "sessions": sessions.value()});
            json!({
                "tool": scores.tool,
                "rows": rows(&scores.categories).into_iter().map(row).collect::<Vec<_>>(),
                "different_heads": scores.different_heads,
                "degraded": scores.degraded,
                "tokens_of_a_reply": scores.tokens[0] as f64 / scores.tokens[1].max(1) as f64,
                "behind_in_the_last_store": scores.behind,
            })
        };
        json!({
            "suite": "locomo",
            "loci": env!("CARGO_PKG_VERSION"),
            "model": self.laboratory.model(),
            "search": self.laboratory.search(),
            "dialect": self.options.dialect,
            "split": self.options.split,
            "without": self.options.without,
            "consolidated": self.options.consolidate,
            "conversations": self.conversations.iter().map(|conversation| &conversation.name).collect::<Vec<_>>(),
            "stored_sessions": sessions().count(),
            "stored_turns": sessions().map(|session| session.turns.len()).sum::<usize>(),
            "results_for_turns": TURN_RESULTS,
            "results_for_sessions": SESSION_RESULTS,
            "tools": self.tools.iter().map(tool).collect::<Vec<_>>(),
        })
    }

    /// Returns a table for each tool.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for scores in self.tools {
            let questions: usize = scores
                .categories
                .values()
                .map(|[turns, _]| turns.questions())
                .sum();
            text += &format!("{:34} turns                        sessions\n", scores.tool);
            text += &format!("{:20} {:>9}", "category", "questions");
            text += &format!(
                "{0}{0}\n",
                format!("   {:>5} {:>5} {:>5} {:>5}", "R@1", "R@5", "R@10", "MRR")
            );
            for (name, [turns, sessions]) in rows(&scores.categories) {
                text += &format!("{name:20} {:>9}", turns.questions());
                for score in [turns, sessions] {
                    text += "  ";
                    score
                        .means()
                        .iter()
                        .for_each(|mean| text += &format!(" {mean:.3}"));
                }
                text += "\n";
            }
            let [tokens, replies] = scores.tokens;
            text += &format!(
                "A reply with {TURN_RESULTS} results has {:.1} tokens.\n",
                tokens as f64 / replies.max(1) as f64
            );
            if scores.tool == "recall_memory" {
                text += "It counts what it returns, so that a question's results depend on those before, as in use.\n";
            }
            if scores.different_heads > 0 {
                text += &format!(
                    "Of {questions} questions, {} have other first results when {SESSION_RESULTS} are asked for.\n",
                    scores.different_heads
                );
            }
            if scores.degraded > 0 {
                text += &format!("{} answers were less than whole.\n", scores.degraded);
            }
            text += "\n";
        }
        text
    }
}

/// Returns a row for each category, one for all questions, and one without the questions that have
/// no answer.
fn rows(categories: &BTreeMap<u64, [Score; 2]>) -> Vec<(String, [Score; 2])> {
    let name = |category: &u64| {
        let name = usize::try_from(*category)
            .ok()
            .and_then(|number| CATEGORIES.get(number.checked_sub(1)?));
        format!("{category} {}", name.unwrap_or(&""))
            .trim_end()
            .to_owned()
    };
    let sum = |without: Option<u64>| {
        let counted = categories
            .iter()
            .filter(|(category, _)| Some(**category) != without);
        counted.fold(
            [Score::default(); 2],
            |[turns, sessions], (_, [more_turns, more_sessions])| {
                [turns.plus(*more_turns), sessions.plus(*more_sessions)]
            },
        )
    };
    let mut rows: Vec<_> = categories
        .iter()
        .map(|(category, scores)| (name(category), *scores))
        .collect();
    rows.push(("all".to_owned(), sum(None)));
    rows.push((
        format!("without category {ADVERSARIAL}"),
        sum(Some(ADVERSARIAL)),
    ));
    rows
}
