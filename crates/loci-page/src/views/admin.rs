//! The view *Keep*: hosts, backups, tokens, settings, and the check of the installation. It is for
//! the owner of the installation and for administrators.

use std::io::Read;

use loci_core::{Caller, Error, ErrorCode, LOCAL, Result, Scope, Space, limits};
use loci_engine::Effect;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::change::{Change, Outcome};
use crate::installation::{
    BackupFile, CommandOutput, HostStatus, ImportCounts, ImportReport, ImportWork, RestoreReport,
    SettingValue, Task, TokenDetails,
};
use crate::request::RequestContext;
use crate::size::shown_bytes;
use crate::view::{Tab, view};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AdminQuery {
    /// Examines the installation, which takes a while.
    #[serde(default)]
    examine: bool,
}

/// The parts of the installation, and their state.
#[derive(Serialize, ToSchema)]
#[schema(as = Keep)]
pub(crate) struct AdminView {
    pub(crate) hosts: Vec<HostStatus>,
    pub(crate) place: String,
    /// The known backups, the last one first.
    pub(crate) backups: Vec<BackupFile>,
    pub(crate) tokens: Vec<TokenDetails>,
    pub(crate) settings: Vec<SettingValue>,
    /// The report of `loci doctor`, if it was requested.
    pub(crate) examined: Option<CommandOutput>,
}

view!(AdminView, Tab::Keep, "admin.html");

impl AdminView {
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
#[utoipa::path(get, tag = "keep", path = "/keep", operation_id = "keep", params(AdminQuery), responses((status = OK, body = AdminView, description = "The content of the view")))]
pub(crate) fn view(context: &RequestContext<'_>, query: AdminQuery) -> Result<AdminView> {
    require_owner(context.caller())?;
    let installation = context.page.installation();
    Ok(AdminView {
        hosts: installation.hosts(),
        place: installation.place(),
        backups: installation.backups(),
        tokens: installation.tokens()?,
        settings: installation.settings(),
        examined: query
            .examine
            .then(|| installation.run(&Task::Examine))
            .transpose()?,
    })
}

/// A choice of the owner to see what others keep private.
#[derive(Deserialize, ToSchema)]
pub(crate) struct AllUsersRequest {
    /// True to see it, in this session.
    #[serde(default)]
    on: bool,
}

/// Sets whether a session of the owner shows what others keep private. It is in the audit log.
///
/// # Errors
/// `forbidden` for anybody but the owner; `invalid_argument` without a session.
#[utoipa::path(post, tag = "keep", path = "/keep/all-users", operation_id = "keep_all_users", request_body = AllUsersRequest, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn show_all_users(
    context: &RequestContext<'_>,
    request: AllUsersRequest,
) -> Result<Change> {
    admit(context.caller())?;
    if context.caller().principal.subject.as_deref() != Some(LOCAL) {
        let message =
            "this is for the owner of the installation; an administrator sees all records";
        return Err(Error::new(ErrorCode::Forbidden, message));
    }
    let Some(session) = &context.visitor.session else {
        let problem = "needs the session of a browser; commands take `--all-users`";
        return Err(Error::invalid("on", problem));
    };
    let action = if request.on {
        "show_all_users"
    } else {
        "hide_all_users"
    };
    context.logged((action, "memory:write", Effect::Write), None, |_| Ok(()))?;
    session.set_all_users(request.on);
    Ok(Change {
        message: if request.on {
            "done-all-users"
        } else {
            "done-own-view"
        },
        changed: 1,
        refused: Vec::new(),
        undo: None,
        next: "/keep".to_owned(),
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
#[schema(as = Errand)]
pub(crate) struct TaskRequest {
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
#[schema(as = Ran)]
pub(crate) struct TaskOutput {
    pub(crate) said: CommandOutput,
}

view!(TaskOutput, Tab::Keep, "task_output.html");

/// Runs a command, and shows what it said. The answer is a page and no redirect, since the secret of
/// a new token is shown once.
#[utoipa::path(post, tag = "keep", path = "/keep/run", operation_id = "keep_run", request_body = TaskRequest, responses((status = OK, body = TaskOutput, description = "The content of the view")))]
pub(crate) fn run(context: &RequestContext<'_>, request: TaskRequest) -> Result<TaskOutput> {
    admit(context.caller())?;
    let installation = context.page.installation();
    let task = task(request, &installation.hosts())?;
    let name = match &task {
        Task::Connect(_) => "connect",
        Task::Disconnect(_) => "disconnect",
        Task::CheckHost(_) => "check",
        Task::BackUp => "backup",
        Task::Examine => "doctor",
        Task::MakeToken { .. } => "token_create",
        Task::RevokeToken(_) => "token_revoke",
    };
    let said = context.logged((name, "admin:keep", Effect::Write), None, |_| {
        installation.run(&task)
    })?;
    Ok(TaskOutput { said })
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
#[schema(as = Importing)]
pub(crate) struct ImportPreview {
    /// The name by which the file is imported or discarded; `None` if it is not kept.
    pub(crate) upload: Option<String>,
    /// The counts; `None` if the file cannot be imported at all.
    pub(crate) counts: Option<ImportCounts>,
    /// The words about what is refused, or why the file cannot be imported.
    pub(crate) said: CommandOutput,
}

view!(ImportPreview, Tab::Keep, "import_preview.html");

/// Keeps an uploaded file, and counts what an import of it would do. Nothing is stored yet.
#[utoipa::path(post, tag = "keep", path = "/keep/import", operation_id = "keep_import", request_body(content = UploadForm, content_type = "multipart/form-data"), responses((status = OK, body = ImportPreview, description = "The content of the view")))]
pub(crate) fn import(context: &RequestContext<'_>, upload: String) -> Result<ImportPreview> {
    let installation = context.page.installation();
    let tried = context.logged(
        ("import_dry_run", "admin:keep", Effect::Write),
        None,
        |_| installation.import(&upload, ImportWork::Count),
    )?;
    Ok(ImportPreview {
        upload: tried.counts.as_ref().map(|_| upload),
        counts: tried.counts,
        said: tried.said,
    })
}

/// A backup to restore.
#[derive(Deserialize, ToSchema)]
#[schema(as = BackupNamed)]
pub(crate) struct RestoreRequest {
    /// The name of its file.
    backup: String,
}

view!(RestoreReport, Tab::Keep, "restored.html");

/// Restores a backup into a new folder, so that it is checked and can be looked at. A running
/// server keeps its store, which a restore would replace.
#[utoipa::path(post, tag = "keep", path = "/keep/restore", operation_id = "keep_restore", request_body = RestoreRequest, responses((status = OK, body = RestoreReport, description = "The content of the view")))]
pub(crate) fn restore(
    context: &RequestContext<'_>,
    request: RestoreRequest,
) -> Result<RestoreReport> {
    admit(context.caller())?;
    let installation = context.page.installation();
    context.logged(("restore", "admin:keep", Effect::Write), None, |_| {
        installation.restore(&request.backup)
    })
}

/// An uploaded file to import or to discard.
#[derive(Deserialize, ToSchema)]
#[schema(as = Uploaded)]
pub(crate) struct UploadReference {
    /// The name that the dry run gave it.
    upload: String,
    /// Imports also what was forgotten or wiped here.
    #[serde(default)]
    again: bool,
}

/// Imports an uploaded file, after a dry run, and removes it.
#[utoipa::path(post, tag = "keep", path = "/keep/import/run", operation_id = "keep_import_run", request_body = UploadReference, responses((status = OK, body = ImportPreview, description = "The content of the view")))]
pub(crate) fn import_run(
    context: &RequestContext<'_>,
    reference: UploadReference,
) -> Result<ImportPreview> {
    admit(context.caller())?;
    let installation = context.page.installation();
    let work = if reference.again {
        ImportWork::ImportForgottenToo
    } else {
        ImportWork::Import
    };
    let ImportReport { counts, said } =
        context.logged(("import", "admin:keep", Effect::Write), None, |_| {
            installation.import(&reference.upload, work)
        })?;
    Ok(ImportPreview {
        upload: None,
        counts,
        said,
    })
}

/// Removes an uploaded file without an import.
#[utoipa::path(post, tag = "keep", path = "/keep/import/discard", operation_id = "keep_import_discard", request_body = UploadReference, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn import_discard(
    context: &RequestContext<'_>,
    reference: UploadReference,
) -> Result<Change> {
    admit(context.caller())?;
    let installation = context.page.installation();
    let name = ("import_discard", "admin:keep", Effect::Write);
    context.logged(name, None, |_| {
        installation.discard_upload(&reference.upload)
    })?;
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
#[utoipa::path(get, tag = "keep", path = "/keep/export", operation_id = "keep_export", responses((status = OK, content_type = "application/octet-stream", description = "The export, as `loci export` writes it")))]
pub(crate) fn export(context: &RequestContext<'_>) -> Result<Box<dyn Read + Send>> {
    admit(context.caller())?;
    let installation = context.page.installation();
    context.logged(("export", "admin:keep", Effect::Write), None, |_| {
        installation.export()
    })
}

fn task(request: TaskRequest, hosts: &[HostStatus]) -> Result<Task> {
    let host = || {
        hosts
            .iter()
            .find(|host| host.name == request.host)
            .map(|host| host.name)
            .ok_or_else(|| Error::invalid("host", "is not found on this machine"))
    };
    Ok(match request.task.as_str() {
        "connect" => Task::Connect(host()?),
        "disconnect" => Task::Disconnect(host()?),
        "check" => Task::CheckHost(host()?),
        "backup" => Task::BackUp,
        "make_token" => {
            loci_engine::check::name("subject", &request.subject)?;
            let scopes = request.scope.iter().map(|scope| {
                Scope::from_name(scope)
                    .map(Scope::name)
                    .ok_or_else(|| Error::invalid("scope", "must be read, write or admin"))
            });
            let scopes: Vec<_> = scopes.collect::<Result<_>>()?;
            if scopes.is_empty() || request.subject.starts_with('-') {
                let problem = "must be there, and the name must not begin with a hyphen";
                return Err(Error::invalid("scope", problem));
            }
            Task::MakeToken {
                subject: request.subject,
                scopes,
            }
        }
        "revoke_token" => {
            let is_id =
                |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
            if !is_id(&request.token) {
                return Err(Error::invalid("token", "must be the id of a token"));
            }
            Task::RevokeToken(request.token)
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
        let request =
            |task: &str, host: &str, subject: &str, scope: &[&str], token: &str| TaskRequest {
                task: task.to_owned(),
                host: host.to_owned(),
                subject: subject.to_owned(),
                scope: scope.iter().map(|scope| (*scope).to_owned()).collect(),
                token: token.to_owned(),
            };
        let hosts = [HostStatus {
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
                request("connect", "codex", "", &[], ""),
                Some(Task::Connect("codex")),
            ),
            (request("connect", "--undo", "", &[], ""), None),
            (request("backup", "", "", &[], ""), Some(Task::BackUp)),
            (request("make_token", "", "ann", &["read"], ""), Some(made)),
            (request("make_token", "", "ann", &[], ""), None),
            (request("make_token", "", "-ann", &["read"], ""), None),
            (request("make_token", "", "ann", &["root"], ""), None),
            (
                request("revoke_token", "", "", &[], "abc123"),
                Some(Task::RevokeToken("abc123".to_owned())),
            ),
            (request("revoke_token", "", "", &[], "--help"), None),
            (request("restore", "", "", &[], ""), None),
        ];
        for (request, expected) in rows {
            let name = request.task.clone();
            assert_eq!(task(request, &hosts).ok(), expected, "{name}");
        }
    }
}
