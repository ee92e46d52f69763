//! The view *Home*: whether the memory is alive, what is new, what needs a person, and what agents got.

mod checklist;
mod groups;
mod health;
mod tiles;

use loci_core::{DailyCount, Error, Memory, Result, Scope, Timestamp, day_of};
use loci_engine::{Browse, Effect};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use self::checklist::Checklist;
use self::groups::Group;
use self::health::{AppPill, Apps, Health};
use self::tiles::Tiles;
use super::insights::{self, ImportMark};
use crate::card::{read_back, stored};
use crate::change::{Change, Outcome};
use crate::charts::Chart;
use crate::installation::{ClientActivity, Task};
use crate::request::RequestContext;
use crate::utc_timestamp::UtcTimestamp;
use crate::view::{Tab, view};

/// The setting of a caller with the time of the last look.
const SEEN: &str = "page.seen";
/// The most memories that are counted as new.
const COUNTED_MAX: usize = 1_000;
/// The memories that are read at a time to count them.
const COUNTED_AT_ONCE: usize = 50;
/// The most new memories that are put into groups.
const GROUPED_MAX: usize = 60;
/// The characters of a text that are read for a group.
const CHARACTERS_READ: usize = 400;
/// Seconds in which a view counts as the same look, so that a reload does not hide what is new.
const SAME_LOOK_SECONDS: i64 = 300;
/// The days of the charts.
const CHARTED_DAYS: i64 = 90;

#[derive(Deserialize)]
pub(crate) struct HomeQuery {}

/// The news since the last look, and the state of the installation.
#[derive(Serialize, ToSchema)]
pub(crate) struct Home {
    /// The time of the last look; `None` on the first one.
    pub(crate) since: Option<UtcTimestamp>,
    /// The number of memories that were stored since then; 1000 stands for more, too.
    pub(crate) stored_count: u64,
    /// The memories that are new, or else the last ones, by app, session and day.
    pub(crate) groups: Vec<Group>,
    /// The number of new memories that the groups leave out.
    pub(crate) further: u64,
    pub(crate) health: Health,
    pub(crate) tiles: Tiles,
    /// The records that were stored in the last 90 days, added up, by program.
    pub(crate) growth: Chart,
    /// The days of the last 90 on which files were imported.
    pub(crate) imports: Vec<ImportMark>,
    /// The recalls of the last 90 days by their outcome.
    pub(crate) recalls: Chart,
    /// The connected apps, as the owner of the installation sees them, or the clients that called.
    pub(crate) apps: Vec<AppPill>,
    pub(crate) clients: Vec<ClientActivity>,
    /// The first steps, until they are done.
    pub(crate) checklist: Option<Checklist>,
}

view!(Home, Tab::Home, "home.html");

impl Home {
    /// Returns true if nothing is new, so that the groups have what was stored last.
    pub(crate) fn is_nothing_new(&self) -> bool {
        self.since.is_some() && self.stored_count == 0
    }

    /// Returns no marks, for a picture that has none.
    #[expect(
        clippy::unused_self,
        reason = "templates reach it as they reach the rest"
    )]
    pub(crate) fn no_marks(&self) -> &'static [ImportMark] {
        &[]
    }
}

/// Returns what happened since the last look, and how the installation is.
#[utoipa::path(get, path = "/home", operation_id = "home", responses((status = OK, body = Home, description = "The content of the view")))]
pub(crate) fn view(context: &RequestContext<'_>, _: HomeQuery) -> Result<Home> {
    let since = record_visit(context)?;
    let stored_count = match since {
        Some(since) => stored_since(context, since)?,
        None => 0,
    };
    let mut memories = last_stored(context, 0, GROUPED_MAX)?;
    if let Some(since) = since.filter(|_| stored_count > 0) {
        memories.retain(|memory| memory.created_at > since);
    }
    let today = day_of(context.engine().now());
    let counts = insights::counts(context, today - CHARTED_DAYS + 1, today)?;
    let apps = Apps::of(context);
    let health = Health::of(context, &apps)?;
    let (groups, further) = groups::of(context, &memories, stored_count);
    let has_recalls = counts.iter().any(DailyCount::is_recall);
    Ok(Home {
        since: since.map(UtcTimestamp),
        stored_count,
        groups,
        further,
        tiles: Tiles::of(context, &counts, today, health.memories),
        imports: insights::imports(&counts, today - CHARTED_DAYS + 1, today),
        growth: insights::growth(&counts, today - CHARTED_DAYS + 1, today),
        recalls: insights::recalls(&counts, today - CHARTED_DAYS + 1, today),
        apps: apps.pills(context),
        checklist: Checklist::of(&apps, health.memories, has_recalls, health.may_back_up),
        health,
        clients: apps.clients,
    })
}

/// Makes a backup of the whole installation in its data folder.
///
/// # Errors
/// `forbidden` for anybody but the owner and administrators; `unavailable` if it cannot be made.
#[utoipa::path(post, path = "/home-backup", operation_id = "home_backup", request_body = BackupRequest, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn back_up(context: &RequestContext<'_>, _: BackupRequest) -> Result<Change> {
    super::admin::admit(context.caller())?;
    let said = context.logged(("backup", "admin:keep", Effect::Write), None, |_| {
        context.page.run(&Task::BackUp)
    })?;
    if !said.succeeded {
        return Err(Error::unavailable(said.text));
    }
    Ok(Change {
        message: "done-backed-up",
        changed: 1,
        refused: Vec::new(),
        undo: None,
        next: "/".to_owned(),
    })
}

/// A backup to make, which needs nothing.
#[derive(Deserialize, ToSchema)]
pub(crate) struct BackupRequest {}

/// Returns memories by the time when they were stored, the last one first.
fn last_stored(context: &RequestContext<'_>, offset: usize, limit: usize) -> Result<Vec<Memory>> {
    let browse = Browse {
        offset,
        limit,
        characters_max: Some(CHARACTERS_READ),
        ..Browse::default()
    };
    let listings = context.call().listings();
    listings.list_by_insertion(&browse)
}

/// Counts the memories that were stored since a time, at most [`COUNTED_MAX`]. It looks only at the
/// last ones, since a store finds memories by their time in no other way than by a scan.
fn stored_since(context: &RequestContext<'_>, since: Timestamp) -> Result<u64> {
    let mut count = 0;
    while count < COUNTED_MAX {
        let page = last_stored(context, count, COUNTED_AT_ONCE)?;
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
