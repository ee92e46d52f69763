//! The view *Why*: why a question finds a memory, or does not.

use loci_core::Result;
use loci_engine::Effect;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::explanation::{ExplanationQuery, MemoryExplanation};
use crate::request::RequestContext;
use crate::view::{Tab, view};

/// The results of an agent's search, if none are asked for.
const LIMIT: usize = 5;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct WhyQuery {
    /// The question.
    #[serde(default)]
    q: String,
    /// The memory: its id, or the first or last 8 or more characters of the id.
    id: String,
    /// The project, with which the global memories are searched; `global` for these only;
    /// everything without it.
    project: Option<String>,
    /// Only memories of this type.
    #[serde(rename = "type")]
    kind: Option<String>,
    /// Only memories with this label.
    tag: Option<String>,
    /// The number of results that the search shows: 5 if left out or 0, 100 at most.
    limit: Option<usize>,
    /// The token budget of the reply.
    budget: Option<usize>,
}

view!(MemoryExplanation, Tab::Search, "explain.html");

/// Says why a question finds a memory, or does not.
#[utoipa::path(get, path = "/explain", operation_id = "explain", params(WhyQuery), responses((status = OK, body = MemoryExplanation, description = "The content of the view")))]
pub(crate) fn view(context: &RequestContext<'_>, query: WhyQuery) -> Result<MemoryExplanation> {
    let tags: Vec<String> = query.tag.into_iter().collect();
    context.logged(
        ("explain", "memory:read", Effect::Read),
        Some(&query.q),
        |call| {
            let id = call.memories().memory_id("id", &query.id)?;
            MemoryExplanation::of(
                call,
                &ExplanationQuery {
                    question: &query.q,
                    id: &id,
                    project: query.project.as_deref(),
                    kind: query.kind.as_deref(),
                    tags: &tags,
                    limit: query.limit.filter(|limit| *limit > 0).unwrap_or(LIMIT),
                    budget_tokens: query.budget,
                },
            )
        },
    )
}
