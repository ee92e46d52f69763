//! `loci why`: says why a question finds a memory, or does not.

use std::fmt::Write;

use loci_core::limits::RECALL_RESULTS_MAX;
use loci_engine::Effect;
use loci_page::{ExplanationQuery, MemoryExplanation};
use serde_json::json;

use super::show::named_memory;
use crate::cli::Why;
use crate::exit::Failure;
use crate::output::{Output, clamped, status_line};
use crate::settings::Settings;
use crate::wiring::Parts;

pub fn run(settings: &Settings, arguments: &Why, output: Output) -> Result<(), Failure> {
    let parts = Parts::open_current(settings)?;
    let limit = clamped(arguments.limit, RECALL_RESULTS_MAX);
    let explanation = parts.logged(("why", "memory:read", Effect::Read), |call| {
        let id = named_memory(call, &arguments.id)?;
        let query = ExplanationQuery {
            question: &arguments.question,
            id: &id,
            project: arguments.project.as_deref(),
            kind: arguments.only.r#type.as_deref(),
            tags: &arguments.only.tags,
            limit,
            budget_tokens: arguments.budget_tokens.map(|tokens| tokens as usize),
        };
        Ok(MemoryExplanation::of(call, &query)?)
    })?;
    if let Some(notice) = &explanation.notice {
        status_line(format_args!("note: {notice}"));
    }
    let text = text_of(&explanation);
    Ok(output.either(&json!(explanation), text)?)
}

/// Returns the explanation for people: the sentence and the action, then where it ranks.
fn text_of(explanation: &MemoryExplanation) -> String {
    let MemoryExplanation {
        sentence, action, ..
    } = explanation;
    let mut text = format!(
        "{}  {}\n{sentence}\n{action}\n",
        explanation.id, explanation.title
    );
    let rank =
        |rank: Option<usize>| rank.map_or_else(|| "none".to_owned(), |rank| rank.to_string());
    if let Some(place) = explanation.place {
        let _ = writeln!(
            text,
            "    rank {place} of {}{}; by words {}, by meaning {}; score {:.3}, relevance {:.3}",
            rank(explanation.candidates),
            if explanation.is_widened {
                " in a search that would look at it"
            } else {
                ""
            },
            rank(explanation.rank_by_words),
            rank(explanation.rank_by_meaning),
            explanation.score.unwrap_or_default(),
            explanation.relevance.unwrap_or_default(),
        );
    }
    let scope = match explanation.scope.as_str() {
        "everywhere" => "everything that you may read".to_owned(),
        "global" => "the global memories".to_owned(),
        project => format!("the project {project} and the global memories"),
    };
    let further = explanation.causes.iter().skip(1).copied();
    let further: Vec<&str> = further.collect();
    let _ = write!(text, "    searched: {scope}; {}", explanation.visibility);
    if let Some(owner) = &explanation.owner {
        let _ = write!(text, ", of {owner}");
    }
    if !further.is_empty() {
        let _ = write!(text, "; besides: {}", further.join(", "));
    }
    text.push('\n');
    text
}
