//! The parts of the settings, as they are shown.

use std::collections::BTreeMap;

use loci_core::{DailyQuery, Result, day_of, limits};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::require_owner;
use crate::form::Form;
use crate::installation::{
    BackupFile, CommandOutput, HostStatus, SearchModel, SentRequests, SettingValue, Storage,
    StoragePart, Task, TokenDetails,
};
use crate::request::RequestContext;
use crate::size::shown_bytes;
use crate::view::{Tab, view};
use crate::views::insights::date;

/// A part of the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Part {
    Hosts,
    Data,
    Access,
    Model,
    All,
    About,
}

impl Part {
    /// Every part, in their order.
    pub(crate) const ALL: [Part; 6] = [
        Part::Hosts,
        Part::Data,
        Part::Access,
        Part::Model,
        Part::All,
        Part::About,
    ];

    pub(crate) fn path(self) -> &'static str {
        match self {
            Part::Hosts => "/settings",
            Part::Data => "/settings/data",
            Part::Access => "/settings/access",
            Part::Model => "/settings/model",
            Part::All => "/settings/all",
            Part::About => "/settings/about",
        }
    }

    /// Returns the message of its title.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Part::Hosts => "settings-hosts",
            Part::Data => "settings-data",
            Part::Access => "settings-access",
            Part::Model => "settings-model",
            Part::All => "settings-all",
            Part::About => "settings-about",
        }
    }
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AdminQuery {
    /// Examines the installation, which takes a while.
    #[serde(default)]
    examine: bool,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AllSettingsQuery {
    /// A text in the names of settings; all if it is left out.
    #[serde(default)]
    filter: String,
}

#[derive(Deserialize)]
pub(crate) struct NothingAsked {}

/// The parts of the installation, and their state. A part of the view has only what it shows; the
/// whole has all but the model.
#[derive(Serialize, ToSchema)]
#[schema(as = Keep)]
pub(crate) struct AdminView {
    pub(crate) part: Part,
    pub(crate) hosts: Vec<HostStatus>,
    pub(crate) place: String,
    /// The known backups, the last one first.
    pub(crate) backups: Vec<BackupFile>,
    /// The space that it takes on the disk.
    pub(crate) storage: Storage,
    /// A line of `cron` that makes a backup each night.
    pub(crate) schedule: String,
    pub(crate) tokens: Vec<TokenDetails>,
    /// The last day of the last 90 on which each person called.
    pub(crate) last_used: BTreeMap<String, String>,
    pub(crate) settings: Vec<SettingValue>,
    /// The text in the names of the settings that are shown.
    pub(crate) filter: String,
    /// The model of searches.
    pub(crate) model: Option<SearchModel>,
    /// The memories that wait for it.
    pub(crate) waiting: u64,
    pub(crate) version: &'static str,
    /// The version of the tables of the store.
    pub(crate) schema: i64,
    /// What this machine sent to others in the last 30 days.
    pub(crate) sent: Vec<SentRequests>,
    /// The report of `loci doctor`, if it was requested.
    pub(crate) examined: Option<CommandOutput>,
    /// The memory systems whose stores and exports an import reads.
    pub(crate) import_systems: Vec<&'static str>,
}

view!(AdminView, Tab::Settings, "admin.html");

/// The outcome of the checks of an installation, as `loci doctor --json` writes it.
#[derive(Deserialize)]
pub(crate) struct Examination {
    pub(crate) summary: String,
    pub(crate) checks: Vec<Check>,
}

/// The outcome of one check.
#[derive(Deserialize)]
pub(crate) struct Check {
    #[serde(rename = "check")]
    pub(crate) name: String,
    /// `ok`, `done`, `warn` or `fail`.
    pub(crate) verdict: String,
    pub(crate) text: String,
}

impl Check {
    /// Returns the message of its verdict.
    pub(crate) fn label(&self) -> &'static str {
        match self.verdict.as_str() {
            "fail" => "verdict-fail",
            "warn" => "verdict-warn",
            _ => "verdict-ok",
        }
    }
}

/// The width of the picture of the storage.
const STORAGE_WIDTH: u64 = 600;

impl AdminView {
    /// Returns the largest size of an upload, as people read it.
    #[expect(
        clippy::unused_self,
        reason = "templates reach it as they reach the rest"
    )]
    pub(crate) fn upload_max(&self) -> String {
        shown_bytes(limits::UPLOAD_BYTES_MAX)
    }

    /// Returns true if it shows the part with this title.
    pub(crate) fn is_at(&self, title: &str) -> bool {
        self.part.title() == title
    }

    /// Returns the parts with their paths and titles.
    #[expect(
        clippy::unused_self,
        reason = "templates reach it as they reach the rest"
    )]
    pub(crate) fn parts(&self) -> [Part; 6] {
        Part::ALL
    }

    /// Returns the hosts that are connected, or that cannot be looked at; or the other ones.
    pub(crate) fn hosts_of(&self, connected: bool) -> Vec<&HostStatus> {
        let is_meant =
            |host: &&HostStatus| (host.dialect.is_some() || host.problem.is_some()) == connected;
        self.hosts.iter().filter(is_meant).collect()
    }

    /// Returns the settings without their defaults, or the other ones, whose names have the text.
    pub(crate) fn settings_of(&self, changed: bool) -> Vec<&SettingValue> {
        let wanted = self.filter.trim().to_lowercase();
        let is_meant = |setting: &&SettingValue| {
            let is_found =
                setting.key.contains(&wanted) || setting.variable.to_lowercase().contains(&wanted);
            setting.is_default != changed && is_found
        };
        self.settings.iter().filter(is_meant).collect()
    }

    /// Returns the tool sets that an app can have.
    #[expect(
        clippy::unused_self,
        reason = "templates reach it as they reach the rest"
    )]
    pub(crate) fn dialects(&self) -> Vec<&'static str> {
        let dialects = loci_dialects::DIALECTS.iter();
        dialects.map(|dialect| dialect.name).collect()
    }

    /// Returns true if the store is on a server, whose address its place is.
    pub(crate) fn is_on_server(&self) -> bool {
        self.place.contains("://")
    }

    /// Returns the last day on which a person called.
    pub(crate) fn last_used_of(&self, subject: &str) -> Option<&str> {
        self.last_used.get(subject).map(String::as_str)
    }

    /// Returns the parts of the storage with their places in the picture.
    pub(crate) fn storage_bars(&self) -> Vec<(usize, u64, u64, &StoragePart)> {
        let all: u64 = self.storage.parts.iter().map(|part| part.bytes).sum();
        let mut before = 0;
        let parts = self.storage.parts.iter().enumerate();
        parts
            .map(|(number, part)| {
                let at = |bytes: u64| {
                    let share =
                        u128::from(bytes) * u128::from(STORAGE_WIDTH) / u128::from(all.max(1));
                    u64::try_from(share).unwrap_or(0)
                };
                let (from, to) = (at(before), at(before + part.bytes));
                before += part.bytes;
                (number + 1, from, (to - from).max(1), part)
            })
            .collect()
    }

    /// Returns the size of all parts as people read it.
    pub(crate) fn storage_size(&self) -> String {
        shown_bytes(self.storage.parts.iter().map(|part| part.bytes).sum())
    }

    /// Returns the free space as people read it.
    pub(crate) fn free(&self) -> Option<String> {
        self.storage.free.map(shown_bytes)
    }

    /// Returns the checks, the ones first that need attention; `None` if they were not requested, or
    /// the command said something else.
    pub(crate) fn examination(&self) -> Option<Examination> {
        let said = self.examined.as_ref()?;
        let mut examination: Examination = serde_json::from_str(&said.text).ok()?;
        let need = |check: &Check| match check.verdict.as_str() {
            "fail" => 0,
            "warn" => 1,
            _ => 2,
        };
        examination.checks.sort_by_key(need);
        Some(examination)
    }

    /// Returns the settings by which something may be sent to another machine.
    pub(crate) fn outside(&self) -> Vec<&SettingValue> {
        let is_outside =
            |setting: &&SettingValue| OUTSIDE.contains(&setting.key) && setting.value.is_some();
        self.settings.iter().filter(is_outside).collect()
    }
}

/// The settings that name services of other machines to which something is sent.
const OUTSIDE: [&str; 5] = [
    "embedding.url",
    "llm.url",
    "web_search.url",
    "otlp_endpoint",
    "oidc.issuer",
];

/// Returns nothing of an installation, for a part.
fn empty(part: Part, context: &RequestContext<'_>) -> AdminView {
    let installation = context.page.installation();
    AdminView {
        part,
        hosts: Vec::new(),
        place: installation.place(),
        backups: Vec::new(),
        storage: Storage::default(),
        schedule: String::new(),
        tokens: Vec::new(),
        last_used: BTreeMap::new(),
        settings: Vec::new(),
        filter: String::new(),
        model: None,
        waiting: 0,
        version: installation.version(),
        schema: installation.schema_version(),
        sent: Vec::new(),
        examined: None,
        import_systems: Vec::new(),
    }
}

/// Returns what the installation has; as a page the hosts.
#[utoipa::path(get, tag = "settings", path = "/settings", operation_id = "settings", params(AdminQuery), responses((status = OK, body = AdminView, description = "The content of the view")))]
pub(crate) fn view(context: &RequestContext<'_>, query: AdminQuery) -> Result<AdminView> {
    require_owner(context.caller())?;
    let installation = context.page.installation();
    let hosts = AdminView {
        hosts: installation.hosts(),
        ..empty(Part::Hosts, context)
    };
    if context.form == Form::Html {
        return Ok(hosts);
    }
    Ok(AdminView {
        backups: installation.backups(),
        storage: installation.storage(),
        schedule: installation.backup_command(),
        import_systems: installation.import_systems(),
        tokens: installation.tokens()?,
        last_used: last_used(context)?,
        settings: installation.settings(),
        waiting: context.engine().models().pending_embeddings()?,
        sent: installation.sent_requests(),
        examined: query
            .examine
            .then(|| installation.run(&Task::Examine))
            .transpose()?,
        ..hosts
    })
}

/// Returns where the data is, the space that it takes, and its backups.
#[utoipa::path(get, path = "/settings/data", operation_id = "settings_data", responses((status = OK, body = AdminView, description = "The content of the view")))]
pub(crate) fn data(context: &RequestContext<'_>, _: NothingAsked) -> Result<AdminView> {
    require_owner(context.caller())?;
    let installation = context.page.installation();
    Ok(AdminView {
        backups: installation.backups(),
        storage: installation.storage(),
        schedule: installation.backup_command(),
        import_systems: installation.import_systems(),
        ..empty(Part::Data, context)
    })
}

/// Returns who gets in, by the tokens of the store.
#[utoipa::path(get, path = "/settings/access", operation_id = "settings_access", responses((status = OK, body = AdminView, description = "The content of the view")))]
pub(crate) fn access(context: &RequestContext<'_>, _: NothingAsked) -> Result<AdminView> {
    require_owner(context.caller())?;
    Ok(AdminView {
        tokens: context.page.installation().tokens()?,
        last_used: last_used(context)?,
        ..empty(Part::Access, context)
    })
}

/// Returns the model of searches, and whether it knows the languages of the store.
#[utoipa::path(get, path = "/settings/model", operation_id = "settings_model", responses((status = OK, body = AdminView, description = "The content of the view")))]
pub(crate) fn model(context: &RequestContext<'_>, _: NothingAsked) -> Result<AdminView> {
    require_owner(context.caller())?;
    Ok(AdminView {
        model: Some(context.page.installation().search_model()),
        waiting: context.engine().models().pending_embeddings()?,
        ..empty(Part::Model, context)
    })
}

/// Returns the settings in effect.
#[utoipa::path(get, path = "/settings/all", operation_id = "settings_all", params(AllSettingsQuery), responses((status = OK, body = AdminView, description = "The content of the view")))]
pub(crate) fn all_settings(
    context: &RequestContext<'_>,
    query: AllSettingsQuery,
) -> Result<AdminView> {
    require_owner(context.caller())?;
    Ok(AdminView {
        settings: context.page.installation().settings(),
        filter: query.filter,
        ..empty(Part::All, context)
    })
}

/// Returns the version, the state of the installation if that is asked for, and what may leave this
/// machine.
#[utoipa::path(get, path = "/settings/about", operation_id = "settings_about", params(AdminQuery), responses((status = OK, body = AdminView, description = "The content of the view")))]
pub(crate) fn about(context: &RequestContext<'_>, query: AdminQuery) -> Result<AdminView> {
    require_owner(context.caller())?;
    let installation = context.page.installation();
    Ok(AdminView {
        settings: installation.settings(),
        sent: installation.sent_requests(),
        examined: query
            .examine
            .then(|| installation.run(&Task::Examine))
            .transpose()?,
        ..empty(Part::About, context)
    })
}

/// Returns the last day of the last 90 on which each person called.
fn last_used(context: &RequestContext<'_>) -> Result<BTreeMap<String, String>> {
    let today = day_of(context.engine().now());
    let counts = context.engine().audit().daily(&DailyQuery {
        space: context.caller().space.clone(),
        user: None,
        from: today - LAST_USED_DAYS + 1,
        until: today,
    })?;
    let mut days: BTreeMap<String, i64> = BTreeMap::new();
    for count in counts {
        let last = days.entry(count.user).or_insert(count.day);
        *last = (*last).max(count.day);
    }
    let days = days.into_iter();
    Ok(days.map(|(user, day)| (user, date(day))).collect())
}

/// The days in which a call counts as the last one of a person.
const LAST_USED_DAYS: i64 = 90;
