//! The view *Why not?*: why a question finds a memory, or does not.

use loci_core::{Error, ErrorCode, Result};
use loci_engine::{Call, Effect, PageRequest};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::card::{Card, memory_path};
use crate::encoding::encoded;
use crate::explanation::{ExplanationQuery, MemoryExplanation};
use crate::form::Form;
use crate::request::RequestContext;
use crate::view::{Tab, view};

/// The results of an agent's search, if none are asked for.
const LIMIT: usize = 5;
/// The memories that words may mean.
const CANDIDATES: usize = 5;
/// The tokens of their texts that are read.
const CANDIDATE_TOKENS: usize = 1_000;

#[derive(Deserialize, Clone, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct WhyQuery {
    /// The question.
    #[serde(default)]
    #[param(example = "which port does staging use")]
    q: String,
    /// The memory: its id, or the first or last 8 or more characters of the id.
    #[serde(default)]
    #[param(required = true, example = "01JD9Z7Q8M2B4X")]
    id: String,
    /// The project, with which the global memories are searched; `global` for these only;
    /// everything without it.
    #[param(example = "shop")]
    project: Option<String>,
    /// Only memories of this type.
    #[serde(rename = "type")]
    #[param(example = "fact")]
    kind: Option<String>,
    /// Only memories with this label.
    #[param(example = "deploy")]
    tag: Option<String>,
    /// The number of results that the search shows: 5 if left out or 0, 100 at most.
    #[param(example = 5)]
    limit: Option<usize>,
    /// The token budget of the reply.
    #[param(example = 2000)]
    budget: Option<usize>,
}

/// Why a question finds a memory, with the form that asks for it.
#[derive(Serialize)]
pub(crate) struct WhyNot {
    #[serde(flatten)]
    pub(crate) why: Option<MemoryExplanation>,
    #[serde(skip)]
    pub(crate) query: WhyQuery,
    /// The memories that the words may mean which were given in the place of an id.
    #[serde(skip)]
    pub(crate) candidates: Vec<Card>,
    /// True if there is no memory of this id that the visitor may see.
    #[serde(skip)]
    pub(crate) is_unknown: bool,
    #[serde(skip)]
    pub(crate) projects: Vec<String>,
}

/// A condition that a memory must meet to be found.
pub(crate) struct Hurdle {
    /// The message that names it.
    pub(crate) label: &'static str,
    pub(crate) is_met: bool,
}

view!(WhyNot, Tab::Search, "explain.html");

/// Says why a question finds a memory, or does not.
#[utoipa::path(get, path = "/explain", operation_id = "explain", params(WhyQuery), responses((status = OK, body = MemoryExplanation, description = "The content of the view")))]
pub(crate) fn view(context: &RequestContext<'_>, query: WhyQuery) -> Result<WhyNot> {
    let is_page = context.form == Form::Html;
    let projects = if is_page {
        context.call().listings().collections()?
    } else {
        Vec::new()
    };
    let mut answer = WhyNot {
        why: None,
        query: query.clone(),
        candidates: Vec::new(),
        is_unknown: false,
        projects,
    };
    let is_asked = !query.q.trim().is_empty() && !query.id.trim().is_empty();
    if is_page && !is_asked {
        return Ok(answer);
    }
    if query.id.trim().is_empty() {
        let problem = "is missing: name the memory by its id, or by 8 or more characters of it";
        return Err(Error::invalid("id", problem));
    }
    let explained = context.logged(
        ("explain", "memory:read", Effect::Read),
        Some(&query.q),
        |call| explain(call, &query),
    );
    match explained {
        Ok(why) => answer.why = Some(why),
        Err(error) if is_page && is_of_id(&error) => {
            answer.is_unknown = true;
            answer.candidates = meant(context, &query.id)?;
        }
        Err(error) => return Err(error),
    }
    Ok(answer)
}

/// Returns true if an error says that there is no memory of an id.
fn is_of_id(error: &Error) -> bool {
    let names_id = error.argument.as_deref().is_none_or(|name| name == "id");
    names_id && matches!(error.code, ErrorCode::NotFound | ErrorCode::InvalidArgument)
}

fn explain(call: &Call<'_>, query: &WhyQuery) -> Result<MemoryExplanation> {
    let tags: Vec<String> = query.tag.iter().cloned().collect();
    let id = call.memories().memory_id("id", query.id.trim())?;
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
}

/// Returns the memories that these words may mean, also forgotten ones.
fn meant(context: &RequestContext<'_>, words: &str) -> Result<Vec<Card>> {
    let page = context.call().search().page(&PageRequest {
        query: words,
        with_forgotten: true,
        limit: CANDIDATES,
        cursor: None,
        budget_tokens: Some(CANDIDATE_TOKENS),
        as_of: None,
    })?;
    let hits = page.hits.iter();
    Ok(hits.map(|hit| context.card(&hit.memory)).collect())
}

impl WhyNot {
    /// Returns the question as a parameter.
    pub(crate) fn encoded_question(&self) -> String {
        encoded(&self.query.q)
    }

    /// Returns the id as a parameter.
    pub(crate) fn encoded_id(&self) -> String {
        encoded(&self.query.id)
    }

    /// Returns the path of the same question about another memory.
    pub(crate) fn path_of(&self, card: &Card) -> String {
        let question = self.encoded_question();
        format!(
            "/explain?q={question}&id={}{}",
            encoded(&card.id),
            self.place()
        )
    }

    fn place(&self) -> String {
        let project = self.query.project.as_deref();
        project.map_or_else(String::new, |project| {
            format!("&project={}", encoded(project))
        })
    }

    /// Returns true if this project is asked in.
    pub(crate) fn is_in(&self, project: &str) -> bool {
        self.query.project.as_deref().unwrap_or_default() == project
    }
}

impl WhyQuery {
    pub(crate) fn question(&self) -> &str {
        &self.q
    }

    pub(crate) fn memory(&self) -> &str {
        &self.id
    }
}

impl MemoryExplanation {
    /// Returns what a memory must be to be found, and whether this one is.
    pub(crate) fn hurdles(&self) -> Vec<Hurdle> {
        let rows: [(&'static str, &'static [&'static str]); 7] = [
            ("b-hurdle-scope", &["scope", "tier"]),
            ("b-hurdle-filters", &["filters", "quotation"]),
            ("b-hurdle-visibility", &["visibility"]),
            ("b-hurdle-forgotten", &["forgotten", "deleted"]),
            (
                "b-hurdle-replaced",
                &["replaced", "equal_text", "stands_behind", "counterpart"],
            ),
            ("b-hurdle-expired", &["expired"]),
            ("b-hurdle-budget", &["budget", "limit", "depth"]),
        ];
        let hurdle = |(label, causes): (&'static str, &'static [&'static str])| Hurdle {
            label,
            is_met: !causes.iter().any(|cause| self.causes.contains(cause)),
        };
        rows.map(hurdle).into()
    }

    /// Returns the memory that stands in its place, if one does.
    pub(crate) fn instead_path(&self) -> Option<String> {
        self.instead.as_deref().map(memory_path)
    }

    /// Returns true if it can be brought back.
    pub(crate) fn can_be_restored(&self) -> bool {
        ["forgotten", "deleted"].contains(&self.cause)
    }

    /// Returns the path of the same question in the project of the memory, if that helps.
    pub(crate) fn in_its_project(&self) -> Option<String> {
        let project = self.project.as_deref().unwrap_or("global");
        (self.cause == "scope").then(|| {
            let (question, id) = (encoded(&self.q), encoded(&self.id));
            format!("/explain?q={question}&id={id}&project={}", encoded(project))
        })
    }
}
