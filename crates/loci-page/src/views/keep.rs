//! The view *Keep*: hosts, backups, tokens, settings, and the check of the installation. It is for
//! the owner of the installation and for administrators.

use std::io::Read;

use loci_core::{Caller, Error, ErrorCode, LOCAL, Result, Scope, Space, limits};
use loci_engine::Effect;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::change::{Change, Outcome};
use crate::keeper::{
    BackupKept, HostFound, ImportCounts, ImportSaid, ImportWork, Restored, Said, SettingShown,
    Task, TokenShown,
};
use crate::request::Asked;
use crate::size::shown_bytes;
use crate::view::{Tab, view};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct KeepQuery {
    /// Examines the installation, which takes a while.
    #[serde(default)]
    examine: bool,
}

/// The parts of the installation, and their state.
#[derive(Serialize, ToSchema)]
pub(crate) struct Keep {
    pub(crate) hosts: Vec<HostFound>,
    pub(crate) place: String,
    /// The known backups, the last one first.
    pub(crate) backups: Vec<BackupKept>,
    pub(crate) tokens: Vec<TokenShown>,
    pub(crate) settings: Vec<SettingShown>,
    /// The report of `loci doctor`, if it was requested.
    pub(crate) examined: Option<Said>,
}

view!(Keep, Tab::Keep, "keep.html");

impl Keep {
    /// Returns the largest size of an upload, as people read it.
    #[expect(
        clippy::unused_self,
        reason = "templates reach it as they reach the rest"
    )]
    pub(crate) fn upload_max(&self) -> String {
        shown_bytes(limits::UPLOAD_BYTES_MAX)
    }
}

/// Requires the owner of the installation or an administrator. An administrator of another space
/// keeps that space alone, and the installation has all.
fn require_owner(caller: &Caller) -> Result<()> {
    let principal = &caller.principal;
    let is_owner =
        principal.subject.as_deref() == Some(LOCAL) || principal.scopes.allow(Scope::Admin);
    if is_owner && caller.space == Space::default() {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::Forbidden,
        "this is for the owner of the installation, and for tokens with the scope `admin`",
    ))
}

/// Returns what the installation has.
#[utoipa::path(get, path = "/keep", operation_id = "keep", params(KeepQuery), responses((status = OK, body = Keep, description = "The content of the view")))]
pub(crate) fn view(asked: &Asked<'_>, query: KeepQuery) -> Result<Keep> {
    require_owner(asked.caller())?;
    let keeper = asked.page.keeper();
    Ok(Keep {
        hosts: keeper.hosts(),
        place: keeper.place(),
        backups: keeper.backups(),
        tokens: keeper.tokens()?,
        settings: keeper.settings(),
        examined: query
            .examine
            .then(|| keeper.run(&Task::Examine))
            .transpose()?,
    })
}

/// Requires one who may change the installation.
pub(crate) fn admit(caller: &Caller) -> Result<()> {
    require_owner(caller)?;
    if caller.principal.scopes.allow(Scope::Write) {
        return Ok(());
    }
    let message = "this needs a token with the scope `write`";
    Err(Error::new(ErrorCode::Forbidden, message))
}

/// A command to run.
#[derive(Deserialize, ToSchema)]
pub(crate) struct Errand {
    /// `connect`, `disconnect`, `check`, `backup`, `make_token` or `revoke_token`.
    task: String,
    /// The name of a host.
    #[serde(default)]
    host: String,
    /// The subject of a new token.
    #[serde(default)]
    subject: String,
    /// The scopes of a new token, of `read`, `write` and `admin`.
    #[serde(default)]
    scope: Vec<String>,
    /// The id of a token.
    #[serde(default)]
    token: String,
}

/// The output of a command.
#[derive(Serialize, ToSchema)]
pub(crate) struct Ran {
    pub(crate) said: Said,
}

view!(Ran, Tab::Keep, "ran.html");

/// Runs a command, and shows what it said. The answer is a page and no redirect, since the secret of
/// a new token is shown once.
#[utoipa::path(post, path = "/keep/run", operation_id = "keep_run", request_body = Errand, responses((status = OK, body = Ran, description = "The content of the view")))]
pub(crate) fn run(asked: &Asked<'_>, errand: Errand) -> Result<Ran> {
    admit(asked.caller())?;
    let keeper = asked.page.keeper();
    let task = task(errand, &keeper.hosts())?;
    let name = match &task {
        Task::Connect(_) => "connect",
        Task::Disconnect(_) => "disconnect",
        Task::CheckHost(_) => "check",
        Task::BackUp => "backup",
        Task::Examine => "doctor",
        Task::MakeToken { .. } => "token_create",
        Task::RevokeToken(_) => "token_revoke",
    };
    let said = asked.logged((name, "admin:keep", Effect::Write), None, |_| {
        keeper.run(&task)
    })?;
    Ok(Ran { said })
}

/// A file to import, as a form with a file.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes the form alone")]
pub(crate) struct UploadForm {
    /// The file: an export, memories as JSON lines or a list, or a zip archive of one.
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
}

/// What an import of a file would do, or did.
#[derive(Serialize, ToSchema)]
pub(crate) struct Importing {
    /// The name by which the file is imported or discarded; `None` if it is not kept.
    pub(crate) upload: Option<String>,
    /// The counts; `None` if the file cannot be imported at all.
    pub(crate) counts: Option<ImportCounts>,
    /// The words about what is refused, or why the file cannot be imported.
    pub(crate) said: Said,
}

view!(Importing, Tab::Keep, "importing.html");

/// Keeps an uploaded file, and counts what an import of it would do. Nothing is stored yet.
#[utoipa::path(post, path = "/keep/import", operation_id = "keep_import", request_body(content = UploadForm, content_type = "multipart/form-data"), responses((status = OK, body = Importing, description = "The content of the view")))]
pub(crate) fn import(asked: &Asked<'_>, upload: String) -> Result<Importing> {
    let keeper = asked.page.keeper();
    let tried = asked.logged(
        ("import_dry_run", "admin:keep", Effect::Write),
        None,
        |_| keeper.import(&upload, ImportWork::Count),
    )?;
    Ok(Importing {
        upload: tried.counts.as_ref().map(|_| upload),
        counts: tried.counts,
        said: tried.said,
    })
}

/// A backup to restore.
#[derive(Deserialize, ToSchema)]
pub(crate) struct BackupNamed {
    /// The name of its file.
    backup: String,
}

view!(Restored, Tab::Keep, "restored.html");

/// Restores a backup into a new folder, so that it is checked and can be looked at. A running
/// server keeps its store, which a restore would replace.
#[utoipa::path(post, path = "/keep/restore", operation_id = "keep_restore", request_body = BackupNamed, responses((status = OK, body = Restored, description = "The content of the view")))]
pub(crate) fn restore(asked: &Asked<'_>, named: BackupNamed) -> Result<Restored> {
    admit(asked.caller())?;
    let keeper = asked.page.keeper();
    asked.logged(("restore", "admin:keep", Effect::Write), None, |_| {
        keeper.restore(&named.backup)
    })
}

/// An uploaded file to import or to discard.
#[derive(Deserialize, ToSchema)]
pub(crate) struct Uploaded {
    /// The name that the dry run gave it.
    upload: String,
    /// Imports also what was forgotten or wiped here.
    #[serde(default)]
    again: bool,
}

/// Imports an uploaded file, after a dry run, and removes it.
#[utoipa::path(post, path = "/keep/import/run", operation_id = "keep_import_run", request_body = Uploaded, responses((status = OK, body = Importing, description = "The content of the view")))]
pub(crate) fn import_run(asked: &Asked<'_>, uploaded: Uploaded) -> Result<Importing> {
    admit(asked.caller())?;
    let keeper = asked.page.keeper();
    let work = if uploaded.again {
        ImportWork::ImportForgottenToo
    } else {
        ImportWork::Import
    };
    let ImportSaid { counts, said } =
        asked.logged(("import", "admin:keep", Effect::Write), None, |_| {
            keeper.import(&uploaded.upload, work)
        })?;
    Ok(Importing {
        upload: None,
        counts,
        said,
    })
}

/// Removes an uploaded file without an import.
#[utoipa::path(post, path = "/keep/import/discard", operation_id = "keep_import_discard", request_body = Uploaded, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn import_discard(asked: &Asked<'_>, uploaded: Uploaded) -> Result<Change> {
    admit(asked.caller())?;
    asked.page.keeper().discard_upload(&uploaded.upload)?;
    Ok(Change {
        message: "done-upload-discarded",
        changed: 0,
        refused: Vec::new(),
        undo: None,
        next: "/keep".to_owned(),
    })
}

/// The name under which a browser keeps an export.
pub(crate) const EXPORT_NAME: &str = "loci-export.jsonl";

/// Sends everything that is remembered, of all users and spaces, as JSON lines.
#[utoipa::path(get, path = "/keep/export", operation_id = "keep_export", responses((status = OK, content_type = "application/octet-stream", description = "The export, as `loci export` writes it")))]
pub(crate) fn export(asked: &Asked<'_>) -> Result<Box<dyn Read + Send>> {
    admit(asked.caller())?;
    let keeper = asked.page.keeper();
    asked.logged(("export", "admin:keep", Effect::Write), None, |_| {
        keeper.export()
    })
}

fn task(errand: Errand, hosts: &[HostFound]) -> Result<Task> {
    let host = || {
        hosts
            .iter()
            .find(|host| host.name == errand.host)
            .map(|host| host.name)
            .ok_or_else(|| Error::invalid("host", "is not found on this machine"))
    };
    Ok(match errand.task.as_str() {
        "connect" => Task::Connect(host()?),
        "disconnect" => Task::Disconnect(host()?),
        "check" => Task::CheckHost(host()?),
        "backup" => Task::BackUp,
        "make_token" => {
            loci_engine::check::name("subject", &errand.subject)?;
            let scopes = errand.scope.iter().map(|scope| {
                Scope::from_name(scope)
                    .map(Scope::name)
                    .ok_or_else(|| Error::invalid("scope", "must be read, write or admin"))
            });
            let scopes: Vec<_> = scopes.collect::<Result<_>>()?;
            if scopes.is_empty() || errand.subject.starts_with('-') {
                let problem = "must be there, and the name must not begin with a hyphen";
                return Err(Error::invalid("scope", problem));
            }
            Task::MakeToken {
                subject: errand.subject,
                scopes,
            }
        }
        "revoke_token" => {
            let is_id =
                |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
            if !is_id(&errand.token) {
                return Err(Error::invalid("token", "must be the id of a token"));
            }
            Task::RevokeToken(errand.token)
        }
        _ => {
            return Err(Error::invalid(
                "task",
                "is not one of those that the page has",
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_page_offers_is_run() {
        let errand = |task: &str, host: &str, subject: &str, scope: &[&str], token: &str| Errand {
            task: task.to_owned(),
            host: host.to_owned(),
            subject: subject.to_owned(),
            scope: scope.iter().map(|scope| (*scope).to_owned()).collect(),
            token: token.to_owned(),
        };
        let hosts = [HostFound {
            name: "codex",
            title: "Codex",
            dialect: None,
            problem: None,
            has_hooks: false,
            called_at: None,
        }];
        let made = Task::MakeToken {
            subject: "ann".to_owned(),
            scopes: vec!["read"],
        };
        let rows = [
            (
                errand("connect", "codex", "", &[], ""),
                Some(Task::Connect("codex")),
            ),
            (errand("connect", "--undo", "", &[], ""), None),
            (errand("backup", "", "", &[], ""), Some(Task::BackUp)),
            (errand("make_token", "", "ann", &["read"], ""), Some(made)),
            (errand("make_token", "", "ann", &[], ""), None),
            (errand("make_token", "", "-ann", &["read"], ""), None),
            (errand("make_token", "", "ann", &["root"], ""), None),
            (
                errand("revoke_token", "", "", &[], "abc123"),
                Some(Task::RevokeToken("abc123".to_owned())),
            ),
            (errand("revoke_token", "", "", &[], "--help"), None),
            (errand("restore", "", "", &[], ""), None),
        ];
        for (errand, expected) in rows {
            let name = errand.task.clone();
            assert_eq!(task(errand, &hosts).ok(), expected, "{name}");
        }
    }
}
