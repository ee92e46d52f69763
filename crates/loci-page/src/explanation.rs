//! Why a question finds a memory, or does not, in one sentence and with one thing to do, for the
//! page, the JSON interface and `loci why`.

use loci_core::limits::RECALL_RESULTS_MAX;
use loci_core::{CollectionFilter, Memory, MemoryId, Result, Tier, Visibility};
use loci_dialects::mememory;
use loci_engine::{
    Cause, ExplainRequest, Explanation, LocationNouns, Parts, Placement, Recall, owner_name,
    shown_title,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::card::memory_path;
use crate::utc_timestamp::UtcTimestamp;

/// The cause of a memory that is private to another user.
const VISIBILITY: &str = "visibility";
/// The name of the project that stands for no project.
const GLOBAL: &str = "global";
/// The words for the parts of a location.
const NOUNS: LocationNouns = LocationNouns {
    collection: "project",
    section: "type",
};

/// A question about the results of a search, as `loci search` and mememory's `recall` rank them.
#[derive(Debug, Clone, Copy)]
pub struct ExplanationQuery<'a> {
    /// The question, in natural language.
    pub question: &'a str,
    /// The memory that is looked for among its results.
    pub id: &'a MemoryId,
    /// The project that is searched together with the global memories; `global` for these only;
    /// everything if `None`.
    pub project: Option<&'a str>,
    /// Only memories of this type.
    pub kind: Option<&'a str>,
    /// Only memories with all of these labels.
    pub tags: &'a [String],
    /// The number of results, at least 1; the most for one call counts for more.
    pub limit: usize,
    /// The token budget of the reply; that of the installation if `None`.
    pub budget_tokens: Option<usize>,
}

/// Why a question finds a memory, or does not.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Explained)]
pub struct MemoryExplanation {
    /// The question.
    pub q: String,
    /// The whole id of the memory.
    pub id: String,
    /// Its title, or its first words.
    pub title: String,
    /// The place that was searched: `everywhere`, `global`, or the name of a project, with which the global
    /// memories are searched.
    pub scope: String,
    /// The cause: `shown`, `equal_text`, `stands_behind`, `counterpart`, `budget`, `limit`, `no_vector`,
    /// `no_word`, `depth`, `quotation`, `filters`, `scope`, `tier`, `replaced`, `forgotten`,
    /// `deleted` or `expired`; `visibility` for a memory that only its owner finds, whichever
    /// user looks.
    pub cause: &'static str,
    /// All that keeps it out, the cause first.
    pub causes: Vec<&'static str>,
    /// The same as a sentence.
    pub sentence: String,
    /// The remedy, as a sentence.
    pub action: String,
    /// The results that the search shows at most.
    pub limit: usize,
    /// Its place, fused, from 1; `None` if it was not ranked.
    pub place: Option<usize>,
    /// True if the place is that in a wider search, which admits it.
    pub is_widened: bool,
    /// The number of memories that were ranked.
    pub candidates: Option<usize>,
    /// Its rank by words, from 1; `None` if nothing has a word of the question.
    pub rank_by_words: Option<usize>,
    /// Its rank by meaning, from 1; `None` without a vector.
    pub rank_by_meaning: Option<usize>,
    /// The fused relevance, 0 to 1.
    pub relevance: Option<f64>,
    /// The relevance times scope, weight and age, by which results are in order.
    pub score: Option<f64>,
    /// The share of the question that its words cover, 0 to 1.
    pub coverage: Option<f64>,
    /// The cosine similarity of its nearest passage; `None` without a vector.
    pub cosine: Option<f32>,
    /// The identifiers of the question that it has.
    pub identifiers: Option<usize>,
    /// True if it was compared by meaning; `None` if it was not ranked.
    pub is_embedded: Option<bool>,
    /// Its project; `None` is global.
    pub project: Option<String>,
    /// Its type, or its room.
    #[serde(rename = "type")]
    pub kind: String,
    /// `private`, `shared` or `common`, as its readers and writers are.
    pub visibility: &'static str,
    /// The user who filed it.
    pub owner: Option<String>,
    /// The memory that stands in its place: that replaces it, has its text, or is its counterpart.
    pub instead: Option<String>,
    /// The time at which it was forgotten.
    pub forgotten_at: Option<UtcTimestamp>,
    /// The time at which it expires, or expired.
    pub expires_at: Option<UtcTimestamp>,
    /// A notice, e.g. that the search was degraded.
    pub notice: Option<String>,
}

impl MemoryExplanation {
    /// Finds out why a question finds a memory, or does not.
    ///
    /// # Errors
    /// `not_found`, with the same message, if there is no such memory or the caller may not read
    /// it; `invalid_argument` for a blank question; `unavailable` if the store cannot be read.
    pub fn of(parts: &Parts<'_>, query: &ExplanationQuery<'_>) -> Result<Self> {
        let named = parts.listings().named(
            NOUNS,
            &[Tier::LongTerm],
            collections_of(query.project),
            query.kind.iter().map(|&kind| kind.to_owned()).collect(),
        )?;
        let request = ExplainRequest {
            recall: Recall {
                collections: named.collections,
                sections: named.sections,
                tags: query.tags.to_vec(),
                ..Recall::new(query.question, query.limit, &mememory::score)
            },
            id: query.id,
            budget_tokens: query.budget_tokens,
        };
        let explanation = parts.search().explain(&request)?;
        let private_of = private_of_another(parts, &explanation.memory);
        let notices: Vec<String> = [named.notice, explanation.degraded.clone()]
            .into_iter()
            .flatten()
            .collect();
        let notice = (!notices.is_empty()).then(|| notices.join("; "));
        let explained = explained(parts, &request, explanation, notice);
        Ok(match private_of {
            Some(owner) => explained.of_private(&owner),
            None => explained,
        })
    }

    /// Returns the explanation for every user but the owner, who keeps the memory private.
    fn of_private(mut self, owner: &str) -> Self {
        self.causes.insert(0, VISIBILITY);
        self.causes.retain(|cause| *cause != "shown");
        MemoryExplanation {
            cause: VISIBILITY,
            sentence: format!("It is private to {owner}: only searches of {owner} find it."),
            action: "Share it, so that others find it, too.".to_owned(),
            ..self
        }
    }

    /// Returns the path of the memory on the page.
    pub(crate) fn path(&self) -> String {
        memory_path(&self.id)
    }

    /// Returns the relevance as a percentage.
    pub(crate) fn percent_of_relevance(&self) -> Option<String> {
        let relevance = self.relevance?;
        Some(format!("{:.0} %", relevance * 100.0))
    }
}

/// Returns the owner of a memory that is seen by one who sees what others keep private.
fn private_of_another(parts: &Parts<'_>, memory: &Memory) -> Option<String> {
    let is_private = memory.visibility == Visibility::Private;
    owner_name(parts.caller(), memory.owner.as_deref())
        .filter(|_| is_private && parts.caller().all_users)
}

/// Returns the collections that a project means, as `loci search` reads it.
fn collections_of(project: Option<&str>) -> CollectionFilter {
    match project {
        None => CollectionFilter::Any,
        Some(GLOBAL) => CollectionFilter::Global,
        Some(project) => CollectionFilter::GlobalAnd(project.to_owned()),
    }
}

fn explained(
    parts: &Parts<'_>,
    request: &ExplainRequest<'_>,
    explanation: Explanation,
    notice: Option<String>,
) -> MemoryExplanation {
    let (sentence, action) = advice(request, &explanation);
    let Explanation {
        memory,
        causes,
        placement,
        is_widened,
        limit,
        ..
    } = explanation;
    let signals = placement.as_ref().map(|placement| &placement.signals);
    MemoryExplanation {
        q: request.recall.query.to_owned(),
        id: memory.id.to_string(),
        title: shown_title(&memory).into_owned(),
        scope: match &request.recall.collections {
            CollectionFilter::GlobalAnd(project) | CollectionFilter::Only(project) => {
                project.clone()
            }
            CollectionFilter::Global => GLOBAL.to_owned(),
            CollectionFilter::Any | CollectionFilter::AnyNamed | CollectionFilter::AnyOf(_) => {
                "everywhere".to_owned()
            }
        },
        cause: causes.first().map_or("shown", name),
        causes: causes.iter().map(name).collect(),
        sentence,
        action,
        limit,
        place: placement.as_ref().map(|placement| placement.place),
        is_widened,
        candidates: placement.as_ref().map(|placement| placement.candidates),
        rank_by_words: signals.and_then(|signals| signals.rank_by_words),
        rank_by_meaning: signals.and_then(|signals| signals.rank_by_meaning),
        relevance: signals.map(|signals| signals.relevance),
        score: placement.as_ref().map(|placement| placement.score),
        coverage: signals.map(|signals| signals.coverage),
        cosine: signals.and_then(|signals| signals.cosine),
        identifiers: signals.map(|signals| signals.identifiers),
        is_embedded: signals.map(|signals| signals.cosine.is_some()),
        project: memory.location.collection.clone(),
        kind: memory.location.section.clone(),
        visibility: memory.visibility.name(),
        owner: owner_name(parts.caller(), memory.owner.as_deref()),
        instead: causes.iter().find_map(instead).map(MemoryId::to_string),
        forgotten_at: memory.forgotten_at.map(UtcTimestamp),
        expires_at: memory.expires_at.map(UtcTimestamp),
        notice,
    }
}

/// Returns the name of a cause.
fn name(cause: &Cause) -> &'static str {
    match cause {
        Cause::Expiry(_) => "expired",
        Cause::Deletion(_) => "deleted",
        Cause::Forgetting(_) => "forgotten",
        Cause::Successor(_) => "replaced",
        Cause::Tier(_) => "tier",
        Cause::Collection => "scope",
        Cause::Facets => "filters",
        Cause::Quotation => "quotation",
        Cause::EqualText(_) => "equal_text",
        Cause::StandsBehind(_) => "stands_behind",
        Cause::Counterpart(_) => "counterpart",
        Cause::Budget => "budget",
        Cause::Limit => "limit",
        Cause::NoVector => "no_vector",
        Cause::NoWord => "no_word",
        Cause::Depth => "depth",
        Cause::Shown => "shown",
    }
}

/// Returns the memory that stands in the place of another one.
fn instead(cause: &Cause) -> Option<&MemoryId> {
    match cause {
        Cause::Successor(id)
        | Cause::EqualText(id)
        | Cause::StandsBehind(id)
        | Cause::Counterpart(id) => Some(id),
        _ => None,
    }
}

/// Returns the cause as a sentence, and what to do.
fn advice(request: &ExplainRequest<'_>, explanation: &Explanation) -> (String, String) {
    let Explanation {
        memory,
        placement,
        limit,
        ..
    } = explanation;
    match explanation.cause() {
        Cause::Shown
        | Cause::EqualText(_)
        | Cause::StandsBehind(_)
        | Cause::Budget
        | Cause::Limit
        | Cause::NoVector => advice_on_rank(request, explanation),
        Cause::Expiry(at) => (
            format!("It expired on {}.", UtcTimestamp(*at).short()),
            "Store it again, with a longer time to live or none.".to_owned(),
        ),
        Cause::Forgetting(at) | Cause::Deletion(at) => {
            let done = match explanation.cause() {
                Cause::Deletion(_) => "deleted",
                _ => "forgotten",
            };
            (
                format!("It was {done} on {}.", UtcTimestamp(*at).short()),
                format!("Bring it back: `loci unforget {}`.", memory.id),
            )
        }
        Cause::Successor(id) => (
            format!("The memory {id} replaces it."),
            format!("Read that one: `loci show {id}`."),
        ),
        Cause::Tier(tier) => advice_on_tier(*tier, memory),
        Cause::Collection => advice_on_scope(request, memory, placement.as_ref()),
        Cause::Facets => (
            format!(
                "It has not the type or the labels that the search asks for: its type is `{}`, its labels are {}.",
                memory.location.section,
                listed(&memory.tags)
            ),
            "Ask without a type and without labels.".to_owned(),
        ),
        Cause::Quotation => (
            "The question quotes words that other memories have exactly so, and it has not."
                .to_owned(),
            "Ask without the quotation marks.".to_owned(),
        ),
        Cause::Counterpart(id) => (
            format!("The memory {id} stands for it: one of the two was made from the other."),
            format!("Read that one: `loci show {id}`."),
        ),
        Cause::NoWord => (
            "The search goes by words only, and it has none of the question.".to_owned(),
            "Ask with words that it has.".to_owned(),
        ),
        Cause::Depth => (
            format!(
                "So many memories are nearer to the question that it is far behind the {limit} that are shown."
            ),
            "Ask more narrowly, with words that it has.".to_owned(),
        ),
    }
}

/// Returns the advice on a memory that was ranked among what was searched.
fn advice_on_rank(request: &ExplainRequest<'_>, explanation: &Explanation) -> (String, String) {
    let limit = explanation.limit;
    let place = explanation.placement.as_ref().map(|found| found.place);
    let is_place = place.map_or_else(
        || "it is not among the results".to_owned(),
        |place| format!("it is number {place}"),
    );
    match explanation.cause() {
        Cause::Budget => (
            format!("The budget of tokens ends before it: {is_place} of the {limit} that are asked for."),
            "Ask with a larger `budget_tokens`, or read it by its id.".to_owned(),
        ),
        Cause::Limit => (
            format!("Others rank higher: {is_place}, and {limit} are shown."),
            match place {
                Some(place) if place <= RECALL_RESULTS_MAX => {
                    format!("Ask for {place} results (`--limit {place}`), or with words that it has.")
                }
                _ => "Ask more narrowly, with words that it has.".to_owned(),
            },
        ),
        Cause::NoVector => (
            format!("The model has not read it yet, so only its words count: {is_place}."),
            "Leave `loci serve` or an agent's `loci mcp` running until `loci doctor` counts no waiting text, and ask again."
                .to_owned(),
        ),
        Cause::EqualText(id) => (
            format!("The result number {} has the same text and stands for it.", place.unwrap_or(1)),
            format!("Read that one: `loci show {id}`."),
        ),
        Cause::StandsBehind(id) => (
            format!("It stands behind the result number {}, which says the same.", place.unwrap_or(1)),
            format!("Read that one: `loci show {id}`; `loci search --all` shows both."),
        ),
        _ => (
            format!("The question finds it: {is_place} of at most {limit}."),
            of_agents(request, &explanation.memory),
        ),
    }
}

/// Returns what agents need besides, of a memory that a search of everything finds.
fn of_agents(request: &ExplainRequest<'_>, memory: &Memory) -> String {
    match &memory.location.collection {
        Some(project) if request.recall.collections == CollectionFilter::Any => format!(
            "An agent's `recall` finds it only with `project` = `{project}`; without a project it looks at the global memories."
        ),
        _ => "Nothing is to be done.".to_owned(),
    }
}

/// Returns the advice on a memory in another collection.
fn advice_on_scope(
    request: &ExplainRequest<'_>,
    memory: &Memory,
    placement: Option<&Placement>,
) -> (String, String) {
    let searched = match &request.recall.collections {
        CollectionFilter::GlobalAnd(project) | CollectionFilter::Only(project) => {
            format!("the project `{project}` and the global memories")
        }
        _ => "the global memories".to_owned(),
    };
    let place = placement.map_or_else(String::new, |placement| {
        format!(", where it would be number {}", placement.place)
    });
    match &memory.location.collection {
        Some(project) => (
            format!(
                "It is in the project `{project}`{place}, and the search looked at {searched} only."
            ),
            format!(
                "Ask in that project: `loci search --project {project}`, or `recall` with `project` = `{project}`."
            ),
        ),
        None => (
            format!("It is global{place}, and the search looked at {searched} only."),
            "Ask among the global memories: `loci search --project global`.".to_owned(),
        ),
    }
}

/// Returns the advice on a memory of a tier that the search leaves out.
fn advice_on_tier(tier: Tier, memory: &Memory) -> (String, String) {
    match tier {
        Tier::ShortTerm => (
            "It is a message of a conversation, which only a search of conversations looks at."
                .to_owned(),
            "Ask with memory-mcp's `recall_memory` and its `tier` = `stm`.".to_owned(),
        ),
        _ => (
            format!(
                "It is kept apart, such as a diary, and only the tools of `{}` look at it.",
                memory.origin
            ),
            format!("Ask with the tools of `{}`.", memory.origin),
        ),
    }
}

fn listed(tags: &[String]) -> String {
    if tags.is_empty() {
        return "none".to_owned();
    }
    let quoted: Vec<String> = tags.iter().map(|tag| format!("`{tag}`")).collect();
    quoted.join(", ")
}
