//! The view *Now*: what happened since the visitor last looked, and how the installation is.

use loci_core::{AuditEntry, AuditQuery, Caller, Memory, Result, Scope, Timestamp};
use loci_engine::{Browse, SearchMode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::card::{CHARACTERS_READ, Card, read_back, stored};
use crate::installation::{BackupFile, ClientActivity};
use crate::request::{CLIENT, RequestContext};
use crate::size::shown_bytes;
use crate::utc_timestamp::UtcTimestamp;
use crate::view::{Tab, view};

/// The setting of a caller with the time of the last look.
const SEEN: &str = "page.seen";
/// The memories and calls that are shown.
const SHOWN: usize = 20;
/// The audit entries that are read for them.
const READ: usize = 60;
/// The most memories that are counted as new.
const COUNTED_MAX: usize = 1_000;
/// The memories that are read at a time to count them.
const COUNTED_AT_ONCE: usize = 50;
/// Seconds in which a view counts as the same look, so that a reload does not hide what is new.
const SAME_LOOK_SECONDS: i64 = 300;

#[derive(Deserialize)]
pub(crate) struct ActivityQuery {}

/// The last events, and the state of the installation.
#[derive(Serialize, ToSchema)]
#[schema(as = Now)]
pub(crate) struct ActivityView {
    /// The time of the last look; `None` on the first one.
    pub(crate) since: Option<UtcTimestamp>,
    /// How many memories were filed since then; 1000 stands for more, too.
    pub(crate) filed_count: u64,
    /// The last memories that were filed.
    pub(crate) filed: Vec<Card>,
    /// The last calls of agents.
    pub(crate) calls: Vec<Call>,
    pub(crate) clients: Vec<ClientActivity>,
    pub(crate) health: Health,
}

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
    pub(crate) fn of(entry: AuditEntry) -> Self {
        Call {
            at: UtcTimestamp(entry.at),
            user: entry.user,
            client: entry.client,
            session: entry.session,
            dialect: entry.dialect,
            tool: entry.tool,
            query: entry.query,
            results: entry.results,
            tokens: entry.reply_tokens,
            failure: entry.failure.map(|failure| failure.code.name()),
            milliseconds: entry.duration_microseconds as f64 / 1_000.0,
        }
    }
}

/// How the installation is.
#[derive(Serialize, ToSchema)]
pub(crate) struct Health {
    /// The place of the store.
    pub(crate) place: String,
    pub(crate) memories: u64,
    pub(crate) disk_bytes: u64,
    /// Texts that wait for their vectors.
    pub(crate) waiting: u64,
    /// The method of searches: `hybrid`, `vector` or `words`.
    pub(crate) search: &'static str,
    /// Why searches by meaning fail, if they do.
    pub(crate) model_problem: Option<String>,
    pub(crate) backup: Option<BackupFile>,
}

impl Health {
    pub(crate) fn disk(&self) -> String {
        shown_bytes(self.disk_bytes)
    }
}

view!(ActivityView, Tab::Now, "activity.html");

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

/// Returns what happened since the last look, and how the installation is.
#[utoipa::path(get, tag = "now", path = "/now", operation_id = "now", responses((status = OK, body = ActivityView, description = "The content of the view")))]
pub(crate) fn view(context: &RequestContext<'_>, _: ActivityQuery) -> Result<ActivityView> {
    let (call, caller) = (context.call(), context.caller());
    let since = record_visit(context)?;
    let listings = call.listings();
    let filed = last_filed(context, 0, SHOWN)?;
    let filed_count = match since {
        Some(since) => filed_since(context, since)?,
        None => 0,
    };
    let calls = entries(context, READ, None)?
        .into_iter()
        .filter(|entry| entry.client.as_deref() != Some(CLIENT))
        .take(SHOWN)
        .map(Call::of)
        .collect();
    let models = context.engine().models();
    Ok(ActivityView {
        since: since.map(UtcTimestamp),
        filed_count,
        filed: filed
            .iter()
            .map(|memory| Card::of(caller, memory))
            .collect(),
        calls,
        clients: context.page.installation().clients(),
        health: Health {
            place: context.page.installation().place(),
            memories: listings.count()?,
            disk_bytes: context.engine().disk_bytes()?,
            waiting: models.pending_embeddings()?,
            search: match models.search_mode() {
                SearchMode::Hybrid => "hybrid",
                SearchMode::Vector => "vector",
                SearchMode::Words => "words",
            },
            model_problem: context.page.model_problem(),
            backup: context.page.installation().backups().into_iter().next(),
        },
    })
}

/// Returns memories by their filing, the last one first.
fn last_filed(context: &RequestContext<'_>, offset: usize, limit: usize) -> Result<Vec<Memory>> {
    let browse = Browse {
        offset,
        limit,
        characters_max: Some(CHARACTERS_READ),
        ..Browse::default()
    };
    let listings = context.call().listings();
    listings.list_by_insertion(&browse)
}

/// Counts the memories that were filed since a time, at most [`COUNTED_MAX`]. It looks at the last
/// ones alone, since a store finds memories by their time in no other way than by a scan.
fn filed_since(context: &RequestContext<'_>, since: Timestamp) -> Result<u64> {
    let mut count = 0;
    while count < COUNTED_MAX {
        let page = last_filed(context, count, COUNTED_AT_ONCE)?;
        let new = page.iter().take_while(|memory| memory.created_at > since);
        let new = new.count();
        count += new;
        if new < COUNTED_AT_ONCE {
            break;
        }
    }
    Ok(count as u64)
}

/// Returns the time of the last look, and keeps the time of this one. Looks within minutes are one.
fn record_visit(context: &RequestContext<'_>) -> Result<Option<Timestamp>> {
    let (settings, caller) = (context.call().settings(), context.caller());
    let now = context.engine().now();
    let kept = settings.get(SEEN)?.unwrap_or_default();
    let mut times = kept.split(' ').map(read_back);
    let (last, before) = (times.next().flatten(), times.next().flatten());
    match last {
        Some(last) if last.plus_seconds(SAME_LOOK_SECONDS) > now => Ok(before),
        _ => {
            if caller.principal.scopes.allow(Scope::Write) {
                let times: Vec<String> = [Some(now), last]
                    .into_iter()
                    .flatten()
                    .map(stored)
                    .collect();
                match settings.put(SEEN, times.join(" ")) {
                    // It can be looked at all the same.
                    Err(error) if error.is_disk_full() => {}
                    kept => kept?,
                }
            }
            Ok(last)
        }
    }
}
