//! Calls in the audit log, as views list them, and as programs do under `/api/v1/calls`.

use loci_core::{AuditEntry, AuditQuery, Caller, Result, Scope};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::paging;
use crate::request::RequestContext;
use crate::utc_timestamp::UtcTimestamp;

/// The name of the list in its cursors.
const LIST: &str = "calls";

/// A call of an agent.
#[derive(Serialize, ToSchema)]
pub(crate) struct Call {
    pub(crate) at: UtcTimestamp,
    pub(crate) user: Option<String>,
    /// The program that called.
    pub(crate) client: Option<String>,
    /// The session of that program.
    pub(crate) session: Option<String>,
    pub(crate) dialect: String,
    pub(crate) tool: String,
    pub(crate) query: Option<String>,
    pub(crate) results: Option<u64>,
    /// About how many tokens the reply has.
    pub(crate) tokens: Option<u64>,
    /// The code of the error, if it failed.
    pub(crate) failure: Option<&'static str>,
    pub(crate) milliseconds: f64,
}

impl Call {
    /// Returns a call as lists show it, without secrets in its query.
    pub(crate) fn of(context: &RequestContext<'_>, entry: AuditEntry) -> Self {
        let masked = |query: String| context.masked(&query).into_owned();
        Call {
            at: UtcTimestamp(entry.at),
            user: entry.user,
            client: entry.client,
            session: entry.session,
            dialect: entry.dialect,
            tool: entry.tool,
            query: entry.query.map(masked),
            results: entry.results,
            tokens: entry.reply_tokens,
            failure: entry.failure.map(|failure| failure.code.name()),
            milliseconds: entry.duration_microseconds as f64 / 1_000.0,
        }
    }
}

/// Returns the entries of the audit log that a caller may see, the last ones first: its own, or all
/// in its space for an administrator.
pub(crate) fn entries(
    context: &RequestContext<'_>,
    limit: usize,
    record: Option<&str>,
) -> Result<Vec<AuditEntry>> {
    let query = AuditQuery {
        record: record.map(str::to_owned),
        limit,
        ..AuditQuery::default()
    };
    let entries = numbered(context, query)?;
    Ok(entries.into_iter().map(|(_, entry)| entry).collect())
}

/// Returns the same with their numbers, for any query.
pub(crate) fn numbered(
    context: &RequestContext<'_>,
    query: AuditQuery,
) -> Result<Vec<(u64, AuditEntry)>> {
    let caller = context.caller();
    let mut entries = context.engine().audit().entries(&AuditQuery {
        space: caller.space.clone(),
        user: (!is_admin(caller))
            .then(|| caller.principal.subject.clone())
            .flatten(),
        ..query
    })?;
    entries.retain(|(_, entry)| is_admin(caller) || entry.user == caller.principal.subject);
    entries.reverse();
    Ok(entries)
}

fn is_admin(caller: &Caller) -> bool {
    caller.principal.scopes.allow(Scope::Admin)
}

/// Conditions on calls, and the part of the list.
#[derive(Clone, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct CallsQuery {
    /// Only calls of this program, by the name that it gives itself.
    client: Option<String>,
    /// Only calls of this tool.
    tool: Option<String>,
    /// The number of calls of this part, 1 to 100; 50 if it is left out.
    limit: Option<usize>,
    /// The `next_cursor` of the part before; the first part if it is left out.
    cursor: Option<String>,
}

/// A part of the calls, the last one first.
#[derive(Serialize, ToSchema)]
pub(crate) struct CallPage {
    /// The calls.
    items: Vec<Call>,
    /// The cursor of the next part; null after the last one.
    next_cursor: Option<String>,
}

/// Lists the calls in the audit log: of the caller, or of all in its space for an administrator.
#[utoipa::path(get, path = "/calls", operation_id = "calls", params(CallsQuery), responses((status = OK, body = CallPage, description = "A part of the list")))]
pub(crate) fn list(context: &RequestContext<'_>, query: CallsQuery) -> Result<CallPage> {
    let limit = paging::limit(query.limit)?;
    let conditions = CallsQuery {
        limit: None,
        cursor: None,
        ..query.clone()
    };
    let before = paging::place(LIST, &conditions, query.cursor.as_deref())?;
    let asked = AuditQuery {
        client: query.client.clone(),
        tool: query.tool.clone(),
        before,
        // One more says whether there is a next part.
        limit: limit + 1,
        ..AuditQuery::default()
    };
    let mut found = numbered(context, asked)?;
    let has_more = found.len() > limit;
    found.truncate(limit);
    let last = found.last().filter(|_| has_more).map(|(number, _)| *number);
    Ok(CallPage {
        next_cursor: last.map(|number| paging::cursor(LIST, &conditions, number)),
        items: found
            .into_iter()
            .map(|(_, entry)| Call::of(context, entry))
            .collect(),
    })
}
