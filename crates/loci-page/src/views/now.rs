//! The view *Now*: what happened since the visitor last looked, and how the installation is.

use loci_core::{AuditEntry, AuditQuery, Caller, Memory, Result, Scope, Timestamp};
use loci_engine::{Browse, SearchMode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::card::{CHARACTERS_READ, Card, read_back, stored};
use crate::keeper::{BackupKept, ClientSeen};
use crate::moment::Moment;
use crate::request::{Asked, CLIENT};
use crate::size::shown_bytes;
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
pub(crate) struct NowQuery {}

/// The last events, and the state of the installation.
#[derive(Serialize, ToSchema)]
pub(crate) struct Now {
    /// The time of the last look; `None` on the first one.
    pub(crate) since: Option<Moment>,
    /// How many memories were filed since then; 1000 stands for more, too.
    pub(crate) filed_count: u64,
    /// The last memories that were filed.
    pub(crate) filed: Vec<Card>,
    /// The last calls of agents.
    pub(crate) calls: Vec<Call>,
    pub(crate) clients: Vec<ClientSeen>,
    pub(crate) health: Health,
}

/// A call of an agent.
#[derive(Serialize, ToSchema)]
pub(crate) struct Call {
    pub(crate) at: Moment,
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
            at: Moment(entry.at),
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
    pub(crate) backup: Option<BackupKept>,
}

impl Health {
    pub(crate) fn disk(&self) -> String {
        shown_bytes(self.disk_bytes)
    }
}

view!(Now, Tab::Now, "now.html");

/// Returns the entries of the audit log that a caller may see, the last ones first: its own, or all
/// in its space for an administrator.
pub(crate) fn entries(
    asked: &Asked<'_>,
    limit: usize,
    record: Option<&str>,
) -> Result<Vec<AuditEntry>> {
    let query = AuditQuery {
        record: record.map(str::to_owned),
        limit,
        ..AuditQuery::default()
    };
    let entries = numbered(asked, query)?;
    Ok(entries.into_iter().map(|(_, entry)| entry).collect())
}

/// Returns the same with their numbers, for any query.
pub(crate) fn numbered(asked: &Asked<'_>, query: AuditQuery) -> Result<Vec<(u64, AuditEntry)>> {
    let caller = asked.caller();
    let mut entries = asked.engine().audit().entries(&AuditQuery {
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
#[utoipa::path(get, path = "/now", operation_id = "now", responses((status = OK, body = Now, description = "The content of the view")))]
pub(crate) fn view(asked: &Asked<'_>, _: NowQuery) -> Result<Now> {
    let (call, caller) = (asked.call(), asked.caller());
    let since = look(asked)?;
    let listings = call.listings();
    let filed = last_filed(asked, 0, SHOWN)?;
    let filed_count = match since {
        Some(since) => filed_since(asked, since)?,
        None => 0,
    };
    let calls = entries(asked, READ, None)?
        .into_iter()
        .filter(|entry| entry.client.as_deref() != Some(CLIENT))
        .take(SHOWN)
        .map(Call::of)
        .collect();
    let models = asked.engine().models();
    Ok(Now {
        since: since.map(Moment),
        filed_count,
        filed: filed
            .iter()
            .map(|memory| Card::of(caller, memory))
            .collect(),
        calls,
        clients: asked.page.keeper().clients(),
        health: Health {
            place: asked.page.keeper().place(),
            memories: listings.count()?,
            disk_bytes: asked.engine().disk_bytes()?,
            waiting: models.pending_embeddings()?,
            search: match models.search_mode() {
                SearchMode::Hybrid => "hybrid",
                SearchMode::Vector => "vector",
                SearchMode::Words => "words",
            },
            model_problem: asked.page.model_problem(),
            backup: asked.page.keeper().backups().into_iter().next(),
        },
    })
}

/// Returns memories by their filing, the last one first.
fn last_filed(asked: &Asked<'_>, offset: usize, limit: usize) -> Result<Vec<Memory>> {
    let browse = Browse {
        offset,
        limit,
        characters_max: Some(CHARACTERS_READ),
        ..Browse::default()
    };
    let listings = asked.call().listings();
    listings.list_by_insertion(&browse)
}

/// Counts the memories that were filed since a time, at most [`COUNTED_MAX`]. It looks at the last
/// ones alone, since a store finds memories by their time in no other way than by a scan.
fn filed_since(asked: &Asked<'_>, since: Timestamp) -> Result<u64> {
    let mut count = 0;
    while count < COUNTED_MAX {
        let page = last_filed(asked, count, COUNTED_AT_ONCE)?;
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
fn look(asked: &Asked<'_>) -> Result<Option<Timestamp>> {
    let (settings, caller) = (asked.call().settings(), asked.caller());
    let now = asked.engine().now();
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
                settings.put(SEEN, times.join(" "))?;
            }
            Ok(last)
        }
    }
}
