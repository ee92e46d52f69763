//! The searches that a visitor keeps, and the last questions.

use loci_core::{AuditQuery, Error, Result};
use loci_engine::{Call, Effect, Settings};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::change::{Change, Outcome};
use crate::encoding::encoded;
use crate::request::{CLIENT, RequestContext};
use crate::views::calls::numbered;

/// The setting of a visitor that has the searches.
const SEARCHES: &str = "page.searches";
/// The searches that a visitor can keep.
const SAVED_MAX: usize = 50;
/// The characters of a name.
const NAME_MAX: usize = 80;
/// The last questions that are shown.
const QUESTIONS: usize = 8;
/// The calls of the audit log in which they are looked for.
const CALLS: usize = 200;

/// A search that a visitor keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedSearch {
    pub(crate) name: String,
    /// The parameters, e.g. `q=kiln&wing=shop`.
    pub(crate) query: String,
}

/// A question that was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) text: String,
    pub(crate) path: String,
}

/// A search to keep.
#[derive(Deserialize, ToSchema)]
#[schema(as = SaveSearch)]
pub(crate) struct SaveRequest {
    /// The name, at most 80 characters; the question if it is left out.
    #[serde(default)]
    name: String,
    /// The parameters of the search, e.g. `q=kiln&wing=shop`.
    query: String,
}

/// A search that is kept no longer.
#[derive(Deserialize, ToSchema)]
#[schema(as = RemoveSearch)]
pub(crate) struct RemoveRequest {
    /// Its name.
    name: String,
}

impl SavedSearch {
    pub(crate) fn path(&self) -> String {
        format!("/search?{}", self.query)
    }
}

/// Returns the searches that the visitor keeps, the last one first.
pub(crate) fn all(settings: &Settings<'_>) -> Result<Vec<SavedSearch>> {
    Ok(read(settings.get(SEARCHES)?))
}

/// Reads the setting; what another version wrote counts as no searches.
fn read(kept: Option<String>) -> Vec<SavedSearch> {
    kept.and_then(|kept| serde_json::from_str(&kept).ok())
        .unwrap_or_default()
}

/// Changes the searches of the visitor, and returns those from before.
fn change(
    call: &Call<'_>,
    mut change: impl FnMut(&mut Vec<SavedSearch>) -> Result<()>,
) -> Result<Vec<SavedSearch>> {
    call.settings().change(|draft| {
        let before = read(draft.get(SEARCHES)?);
        let mut searches = before.clone();
        change(&mut searches)?;
        let kept = serde_json::to_string(&searches)
            .map_err(|error| Error::internal(format!("searches cannot be kept: {error}")))?;
        draft.put(SEARCHES, kept)?;
        Ok(before)
    })
}

/// Keeps a search under a name, in the place of one of that name.
#[utoipa::path(post, path = "/search/save", operation_id = "search_save", request_body = SaveRequest, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn save(context: &RequestContext<'_>, request: SaveRequest) -> Result<Change> {
    let query = request.query.trim_start_matches('?').to_owned();
    let pairs: Vec<(String, String)> = serde_html_form::from_str(&query)
        .map_err(|error| Error::invalid("query", format!("cannot be read: {error}")))?;
    if pairs.is_empty() {
        let problem = "has no question and no filter: a search that is kept needs one";
        return Err(Error::invalid("query", problem));
    }
    let question = pairs.into_iter().find(|(name, _)| name == "q");
    let given = Some(request.name.trim()).filter(|name| !name.is_empty());
    let name = match (given, question) {
        (Some(name), _) => name.to_owned(),
        (None, Some((_, question))) => question,
        (None, None) => {
            let problem = "is needed: this search has no question that could be its name";
            return Err(Error::invalid("name", problem));
        }
    };
    let name: String = name.chars().take(NAME_MAX).collect();
    let before = context.logged(
        ("save_search", "memory:write", Effect::Write),
        None,
        |call| {
            change(call, |searches| {
                searches.retain(|saved| saved.name != name);
                if searches.len() >= SAVED_MAX {
                    let problem =
                        format!("cannot be kept: there are {SAVED_MAX} already; remove one");
                    return Err(Error::invalid("name", problem));
                }
                let (name, query) = (name.clone(), query.clone());
                searches.insert(0, SavedSearch { name, query });
                Ok(())
            })
        },
    )?;
    let next = format!("/search?{query}");
    Ok(Change::one("b-done-search-saved", next, put_back(before)))
}

/// Keeps a search no longer.
#[utoipa::path(post, path = "/search/unsave", operation_id = "search_unsave", request_body = RemoveRequest, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn remove(context: &RequestContext<'_>, request: RemoveRequest) -> Result<Change> {
    let before = context.logged(
        ("remove_search", "memory:write", Effect::Write),
        None,
        |call| {
            change(call, |searches| {
                let count = searches.len();
                searches.retain(|saved| saved.name != request.name);
                if searches.len() == count {
                    let problem = format!("you keep no search `{}`", request.name);
                    return Err(Error::not_found(problem));
                }
                Ok(())
            })
        },
    )?;
    let next = "/search".to_owned();
    Ok(Change::one("b-done-search-removed", next, put_back(before)))
}

/// Returns the way back to these searches.
fn put_back(before: Vec<SavedSearch>) -> crate::change::Undo {
    Box::new(move |call| {
        change(call, |searches| {
            searches.clone_from(&before);
            Ok(())
        })
        .map(drop)
    })
}

/// Returns the last questions of the visitor, and the last ones of agents that the visitor may see.
pub(crate) fn questions(context: &RequestContext<'_>) -> Result<[Vec<Question>; 2]> {
    let calls = numbered(
        context,
        AuditQuery {
            limit: CALLS,
            ..AuditQuery::default()
        },
    )?;
    let subject = &context.caller().principal.subject;
    let mut questions = [Vec::new(), Vec::new()];
    for (_, call) in calls {
        let Some(text) = call.query.filter(|query| !query.trim().is_empty()) else {
            continue;
        };
        let is_page = call.client.as_deref() == Some(CLIENT);
        if is_page && (call.user != *subject || call.tool != "search") {
            continue;
        }
        let text = context.masked(&text).into_owned();
        let list: &mut Vec<Question> = &mut questions[usize::from(!is_page)];
        if list.len() < QUESTIONS && list.iter().all(|known| known.text != text) {
            let path = format!("/search?q={}", encoded(&text));
            list.push(Question { text, path });
        }
    }
    Ok(questions)
}
