//! The view *Search*: memories by a question and by filters, and why each stands where it does.

use std::collections::{BTreeSet, HashSet};

use loci_core::limits::{LIST_RESULTS_MAX, RECALL_RESULTS_MAX};
use loci_core::{AuditQuery, OwnerFilter, RecordVerb, Result};
use loci_engine::{Browse, Effect, Facets, Hit, Recall};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::activity::numbered;
use super::card::{CHARACTERS_READ, Card, collections_of};
use crate::request::RequestContext;
use crate::utc_timestamp::UtcTimestamp;
use crate::view::{Tab, view};

/// The results of one page.
const LIMIT: usize = 20;
/// The last calls of a program whose memories are looked for.
const CALLS_MAX: usize = 5_000;

/// A question with its filters.
#[derive(Deserialize, Default, Clone, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchQuery {
    /// The question; without one, the last memories that the filters admit.
    #[serde(default)]
    q: String,
    /// The wing, project or scope; empty is global.
    wing: Option<String>,
    room: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    tag: Option<String>,
    /// The user who filed it.
    who: Option<String>,
    /// The dialect that it came in through.
    via: Option<String>,
    /// The program that filed it, by the name that it gives itself: of its last calls in the audit
    /// log.
    program: Option<String>,
    /// The first day or instant on which it was filed.
    from: Option<String>,
    /// The last one.
    until: Option<String>,
}

/// The results of a search.
#[derive(Serialize, ToSchema)]
#[schema(as = Found)]
pub(crate) struct SearchResults {
    pub(crate) q: String,
    pub(crate) wing: String,
    pub(crate) room: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) tag: String,
    pub(crate) who: String,
    pub(crate) via: String,
    pub(crate) program: String,
    pub(crate) from: String,
    pub(crate) until: String,
    pub(crate) hits: Vec<SearchHit>,
    /// Why the search may be incomplete.
    pub(crate) degraded: Option<String>,
    /// Where the filter by a program ends; `None` without one.
    pub(crate) bound: Option<ProgramBound>,
    /// The programs that called last.
    pub(crate) programs: Vec<String>,
    /// The wings that a filter can name.
    pub(crate) wings: Vec<String>,
}

/// How far the filter by a program looks: the audit log names the memories that a call stored, and
/// a memory does not name the program.
#[derive(Serialize, ToSchema)]
pub(crate) struct ProgramBound {
    /// The last calls of the program that were looked at.
    pub(crate) calls: usize,
    /// The memories of them that were found among the last ones, or the best ones for a question.
    pub(crate) memories: usize,
    /// True if calls or memories before these were left out.
    pub(crate) is_cut: bool,
}

/// A result.
#[derive(Serialize, ToSchema)]
#[schema(as = FoundHit)]
pub(crate) struct SearchHit {
    pub(crate) memory: Card,
    /// Why it stands where it does; `None` in a list without a question.
    pub(crate) why: Option<Explanation>,
}

/// Why a result stands where it does.
#[derive(Serialize, ToSchema)]
#[schema(as = Why)]
pub(crate) struct Explanation {
    /// The fused relevance, 0 to 1.
    pub(crate) relevance: f64,
    /// The rank by words, from 1.
    pub(crate) rank_by_words: Option<usize>,
    /// The rank by meaning, from 1.
    pub(crate) rank_by_meaning: Option<usize>,
    /// The share of the question that its words cover, 0 to 1.
    pub(crate) coverage: f64,
    /// The cosine similarity of its nearest passage.
    pub(crate) cosine: Option<f32>,
    /// The contribution of its neighbours and its thread.
    pub(crate) context: f64,
    /// The identifiers of the question that it has.
    pub(crate) identifiers: usize,
    /// The bonus for a speaker or a time that the question names.
    pub(crate) asked_for: f64,
    /// How many memories have the same text.
    pub(crate) times_said: usize,
}

impl Explanation {
    fn of(hit: &Hit) -> Self {
        let signals = &hit.signals;
        Explanation {
            relevance: signals.relevance,
            rank_by_words: signals.rank_by_words,
            rank_by_meaning: signals.rank_by_meaning,
            coverage: signals.coverage,
            cosine: signals.cosine,
            context: signals.context,
            identifiers: signals.identifiers,
            asked_for: signals.asked_for,
            times_said: hit.times_said(),
        }
    }

    /// Returns the relevance as a percentage.
    pub(crate) fn percent_of_relevance(&self) -> String {
        percent(self.relevance)
    }

    /// Returns the coverage as a percentage.
    pub(crate) fn percent_of_coverage(&self) -> String {
        percent(self.coverage)
    }

    /// Returns the cosine, if there is one.
    pub(crate) fn nearness(&self) -> Option<String> {
        self.cosine.map(|cosine| format!("{cosine:.2}"))
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

view!(SearchResults, Tab::Search, "search.html", ["wing"]);

/// Finds memories by a question and by filters.
#[utoipa::path(get, path = "/search", operation_id = "search", params(SearchQuery), responses((status = OK, body = SearchResults, description = "The content of the view")))]
pub(crate) fn view(context: &RequestContext<'_>, query: SearchQuery) -> Result<SearchResults> {
    let call = context.call();
    // The form sends `*` for all wings.
    let wing = query.wing.clone().filter(|wing| wing != "*");
    let facets = Facets {
        owner: match &query.who {
            Some(who) => OwnerFilter::Only(who.clone()),
            None => OwnerFilter::Any,
        },
        origin: query.via.clone(),
        created_from: parse_time("from", query.from.as_deref(), false)?,
        created_until: parse_time("until", query.until.as_deref(), true)?,
        ..Facets::default()
    };
    let (collections, sections, kinds, tags) = (
        collections_of(wing.as_deref()),
        query.room.iter().cloned().collect(),
        query.kind.iter().cloned().collect(),
        query.tag.iter().cloned().collect(),
    );
    let filed = match &query.program {
        Some(program) => Some(memories_of_program(context, program)?),
        None => None,
    };
    let is_question = !query.q.trim().is_empty();
    let limit = match (&filed, is_question) {
        (None, _) => LIMIT,
        (Some(_), true) => RECALL_RESULTS_MAX,
        (Some(_), false) => LIST_RESULTS_MAX,
    };
    let browse = Browse {
        collections,
        sections,
        kinds,
        tags,
        facets,
        limit,
        characters_max: Some(CHARACTERS_READ),
        ..Browse::default()
    };
    let (mut hits, degraded) = if is_question {
        search(context, &query.q, browse)?
    } else {
        (list(context, &browse)?, None)
    };
    let bound = filed.map(|filed| filed.narrow(&mut hits, limit));
    hits.truncate(LIMIT);
    let clients = context.page.installation().clients();
    let programs: BTreeSet<String> = clients.into_iter().filter_map(|seen| seen.client).collect();
    Ok(SearchResults {
        hits,
        degraded,
        bound,
        programs: programs.into_iter().collect(),
        wings: call.listings().collections()?,
        q: query.q,
        wing: wing.unwrap_or_else(|| "*".to_owned()),
        room: query.room.unwrap_or_default(),
        kind: query.kind.unwrap_or_default(),
        tag: query.tag.unwrap_or_default(),
        who: query.who.unwrap_or_default(),
        via: query.via.unwrap_or_default(),
        program: query.program.unwrap_or_default(),
        from: query.from.unwrap_or_default(),
        until: query.until.unwrap_or_default(),
    })
}

/// The memories that a program filed.
struct ProgramMemories {
    ids: HashSet<String>,
    calls: usize,
    is_cut: bool,
}

impl ProgramMemories {
    /// Leaves the memories of the program, of at most `limit` results.
    fn narrow(&self, hits: &mut Vec<SearchHit>, limit: usize) -> ProgramBound {
        let looked_at = hits.len();
        hits.retain(|hit| self.ids.contains(&hit.memory.id));
        ProgramBound {
            calls: self.calls,
            memories: hits.len(),
            is_cut: self.is_cut || looked_at == limit,
        }
    }
}

/// Returns the memories that the last calls of a program stored, of the calls that the visitor may
/// see.
fn memories_of_program(context: &RequestContext<'_>, program: &str) -> Result<ProgramMemories> {
    let calls = numbered(
        context,
        AuditQuery {
            client: Some(program.to_owned()),
            limit: CALLS_MAX,
            ..AuditQuery::default()
        },
    )?;
    let records = calls.iter().flat_map(|(_, call)| &call.records);
    let stored = records.filter(|record| record.verb == RecordVerb::Stored);
    Ok(ProgramMemories {
        ids: stored.map(|record| record.id.clone()).collect(),
        calls: calls.len(),
        is_cut: calls.len() == CALLS_MAX || calls.iter().any(|(_, call)| call.further_records > 0),
    })
}

/// Returns the last memories that the filters admit.
fn list(context: &RequestContext<'_>, browse: &Browse) -> Result<Vec<SearchHit>> {
    let listings = context.call().listings();
    let memories = listings.list_by_insertion(browse)?;
    let hit = |memory| SearchHit {
        memory: Card::of(context.caller(), &memory),
        why: None,
    };
    Ok(memories.into_iter().map(hit).collect())
}

/// Returns what a question finds among what the filters admit, and why that may be incomplete.
fn search(
    context: &RequestContext<'_>,
    question: &str,
    filters: Browse,
) -> Result<(Vec<SearchHit>, Option<String>)> {
    let limit = filters.limit;
    let recalled = context.logged(
        ("search", "memory:read", Effect::Read),
        Some(question),
        |call| {
            let recall = Recall {
                tiers: filters.tiers,
                collections: filters.collections,
                sections: filters.sections,
                kinds: filters.kinds,
                tags: filters.tags,
                facets: filters.facets,
                ..Recall::new(question, limit, &|signals| signals.relevance)
            };
            call.search().recall_within(&recall, None)
        },
    )?;
    let hit = |hit: &Hit| SearchHit {
        memory: Card::of(context.caller(), &hit.memory),
        why: Some(Explanation::of(hit)),
    };
    Ok((recalled.hits.iter().map(hit).collect(), recalled.degraded))
}

fn parse_time(
    argument: &str,
    text: Option<&str>,
    is_end: bool,
) -> Result<Option<loci_core::Timestamp>> {
    text.map(|text| UtcTimestamp::parse(argument, text, is_end))
        .transpose()
}

impl SearchResults {
    /// Returns the moments for the search as an agent sends it.
    pub(crate) fn agent_path(&self) -> String {
        format!("/search/agent?q={}", crate::encoding::encoded(&self.q))
    }
}
