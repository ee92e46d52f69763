//! Tells whether the memory works, as one sentence with one action.

use loci_core::Result;
use loci_engine::SearchMode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::installation::{BackupFile, ClientActivity, HostStatus};
use crate::request::RequestContext;
use crate::request_user::is_owner;
use crate::utc_timestamp::UtcTimestamp;

/// The seconds for which a backup is new enough: a week.
const BACKUP_SECONDS: i64 = 7 * 86_400;
/// The seconds after a call in which an app is in use: a day.
const IN_USE_SECONDS: i64 = 86_400;

/// The state of the installation.
#[derive(Serialize, ToSchema)]
pub(crate) struct Health {
    /// The state: `ok`, `waiting`, `warn` or `problem`.
    pub(crate) state: &'static str,
    /// The part of the state that a person should know first: `fine`, `model`, `app`, `reading`,
    /// `no_backup`, or `old_backup`.
    pub(crate) reason: &'static str,
    /// The place of the store.
    pub(crate) place: String,
    pub(crate) memories: u64,
    pub(crate) disk_bytes: u64,
    /// Texts that wait for their vectors.
    pub(crate) waiting: u64,
    /// The share of these texts that was read since the page saw the first one wait, in percent.
    pub(crate) read_percent: u64,
    /// About how many minutes that takes; `None` if nothing was read yet.
    pub(crate) minutes_left: Option<u64>,
    /// The method of searches: `hybrid`, `vector` or `words`.
    pub(crate) search: &'static str,
    /// Why searches by meaning fail, if they do.
    pub(crate) model_problem: Option<String>,
    /// The connected apps, for the owner; the clients that called, for others.
    pub(crate) connected: usize,
    /// The app whose connection is broken.
    pub(crate) broken: Option<String>,
    pub(crate) backup: Option<BackupFile>,
    /// True if the visitor may make a backup.
    #[serde(skip)]
    pub(crate) may_back_up: bool,
}

/// A connected app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct AppPill {
    /// Its name; `None` for one that gave no name.
    pub(crate) name: Option<String>,
    /// `in_use` within a day of a call, `quiet` later, `broken` if its connection is unknown.
    pub(crate) state: &'static str,
    pub(crate) called_at: Option<UtcTimestamp>,
}

impl Health {
    pub(super) fn of(context: &RequestContext<'_>, apps: &Apps) -> Result<Self> {
        let installation = context.page.installation();
        let models = context.engine().models();
        let is_owner = is_owner(context.caller());
        let waiting = models.pending_embeddings()?;
        let reading = context.page.reading(waiting);
        let mut health = Health {
            state: "ok",
            reason: "fine",
            place: installation.place(),
            memories: context.call().listings().count()?,
            disk_bytes: context.engine().disk_bytes()?,
            waiting,
            read_percent: reading.percent,
            minutes_left: reading.minutes_left,
            search: match models.search_mode() {
                SearchMode::Hybrid => "hybrid",
                SearchMode::Vector => "vector",
                SearchMode::Words => "words",
            },
            model_problem: context.page.model_problem(),
            connected: apps.connected(),
            broken: apps
                .hosts
                .iter()
                .find(|host| host.problem.is_some())
                .map(|host| host.title.to_owned()),
            backup: installation.backups().into_iter().next(),
            may_back_up: super::super::admin::admit(context.caller()).is_ok(),
        };
        let now = context.engine().now();
        let is_old = |backup: &BackupFile| backup.made_at.0.plus_seconds(BACKUP_SECONDS) < now;
        (health.state, health.reason) = if health.model_problem.is_some() {
            ("problem", "model")
        } else if health.broken.is_some() {
            ("problem", "app")
        } else if waiting > 0 {
            ("waiting", "reading")
        } else if !is_owner || health.memories == 0 {
            ("ok", "fine")
        } else {
            match &health.backup {
                None => ("warn", "no_backup"),
                Some(backup) if is_old(backup) => ("warn", "old_backup"),
                Some(_) => ("ok", "fine"),
            }
        };
        Ok(health)
    }
}

/// The apps of this machine, of which only the owner sees the installed ones.
pub(super) struct Apps {
    pub(super) hosts: Vec<HostStatus>,
    pub(super) clients: Vec<ClientActivity>,
}

impl Apps {
    pub(super) fn of(context: &RequestContext<'_>) -> Self {
        let installation = context.page.installation();
        Apps {
            hosts: if is_owner(context.caller()) {
                installation.hosts()
            } else {
                Vec::new()
            },
            clients: installation.clients(),
        }
    }

    /// Returns the number of apps that are connected or called.
    fn connected(&self) -> usize {
        let hosts = self.hosts.iter().filter(|host| host.dialect.is_some());
        hosts.count().max(self.clients.len())
    }

    /// Returns the apps to show, the ones that called last first.
    pub(super) fn pills(&self, context: &RequestContext<'_>) -> Vec<AppPill> {
        let now = context.engine().now();
        let state = |called_at: Option<UtcTimestamp>| match called_at {
            Some(at) if at.0.plus_seconds(IN_USE_SECONDS) > now => "in_use",
            _ => "quiet",
        };
        let is_shown = |host: &&HostStatus| host.dialect.is_some() || host.problem.is_some();
        let hosts = self.hosts.iter().filter(is_shown);
        let mut apps: Vec<AppPill> = hosts
            .map(|host| AppPill {
                name: Some(host.title.to_owned()),
                state: match &host.problem {
                    Some(_) => "broken",
                    None => state(host.called_at),
                },
                called_at: host.called_at,
            })
            .collect();
        for client in &self.clients {
            let name = client.client.as_deref().map(|name| context.app_title(name));
            if apps.iter().all(|app| app.name != name) {
                apps.push(AppPill {
                    name,
                    state: state(Some(client.called_at)),
                    called_at: Some(client.called_at),
                });
            }
        }
        apps.sort_by_key(|app| std::cmp::Reverse(app.called_at));
        apps
    }
}
