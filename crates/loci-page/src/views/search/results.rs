//! Results while a person types a question: the list, without the page around it.

use loci_core::Result;
use serde::Serialize;
use utoipa::ToSchema;

use super::filters::{KEPT, SearchQuery};
use super::{Logged, SearchResults, find};
use crate::request::RequestContext;
use crate::view::{Tab, view};

/// The results of a search, without what can be filtered by.
#[derive(Serialize, ToSchema)]
#[serde(transparent)]
pub(crate) struct ResultList(pub(crate) SearchResults);

view!(ResultList, Tab::Search, "search_results.html", KEPT);

/// Finds the same while a question is typed; the audit log has no entry for that.
#[utoipa::path(get, path = "/search/results", operation_id = "search_results", params(SearchQuery), responses((status = OK, body = ResultList, description = "The content of the view")))]
pub(crate) fn view(context: &RequestContext<'_>, query: SearchQuery) -> Result<ResultList> {
    find(context, query, Logged::No, None).map(ResultList)
}
