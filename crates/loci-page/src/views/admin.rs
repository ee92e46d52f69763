//! The view *Settings*: hosts, backups, tokens, settings, and the check of the installation. It is for
//! the owner of the installation and for administrators.

pub(super) mod parts;

use std::collections::BTreeMap;
use std::io::Read;

use loci_core::{Caller, Error, ErrorCode, LOCAL, Result, Scope};
use loci_engine::Effect;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::change::{Change, Outcome};
use crate::installation::{
    CommandOutput, HostStatus, ImportCounts, ImportReport, ImportSample, ImportSource, ImportWork,
    RestoreReport, Task,
};
use crate::request::RequestContext;
use crate::request_user::is_owner;
use crate::transfer::Received;
use crate::view::{Tab, view};

pub(crate) use parts::{Part, about, access, all_settings, data, model, view as shown};

/// Requires one who may look at the installation.
pub(crate) fn require_owner(caller: &Caller) -> Result<()> {
    if is_owner(caller) {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::Forbidden,
        "Only the owner can open this.",
    ))
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
#[utoipa::path(post, tag = "keep", path = "/settings/all-users", operation_id = "keep_all_users", request_body = AllUsersRequest, responses((status = OK, body = Outcome, description = "The result of the change")))]
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
        next: Part::Access.path().to_owned(),
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
    /// `connect`, `add_hooks`, `remove_hooks`, `disconnect`, `check`, `backup`, `make_token` or
    /// `revoke_token`.
    task: String,
    /// The name of a host.
    #[serde(default)]
    host: String,
    /// The tool set that a host is connected with; the one that it has if it is left out.
    #[serde(default)]
    dialect: String,
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

view!(TaskOutput, Tab::Settings, "task_output.html");

/// Runs a command, and shows what it said. Programs use the path of each errand in its place, e.g.
/// `POST /backups`.
#[utoipa::path(post, tag = "keep", path = "/settings/run", operation_id = "keep_run", request_body = TaskRequest, responses((status = OK, body = TaskOutput, description = "The content of the view")))]
pub(crate) fn run(context: &RequestContext<'_>, request: TaskRequest) -> Result<TaskOutput> {
    perform(context, |hosts| task(request, hosts))
}

/// Runs the errand that a request asks for, and returns what it said. A page shows that without a
/// redirect, since the secret of a new token is shown once.
pub(crate) fn perform(
    context: &RequestContext<'_>,
    task: impl FnOnce(&[HostStatus]) -> Result<Task>,
) -> Result<TaskOutput> {
    admit(context.caller())?;
    let task = task(&context.page.installation().hosts())?;
    let name = match &task {
        Task::Connect { .. } => "connect",
        Task::RemoveHooks(_) => "hook_uninstall",
        Task::Disconnect(_) => "disconnect",
        Task::CheckHost(_) => "check",
        Task::BackUp => "backup",
        Task::Examine => "doctor",
        Task::MakeToken { .. } => "token_create",
        Task::RevokeToken(_) => "token_revoke",
        Task::UndoImport(_) => "import_undo",
    };
    let said = context.logged((name, "admin:keep", Effect::Write), None, |_| {
        context.page.run(&task)
    })?;
    Ok(TaskOutput { said })
}

/// A file to import, as a form with a file.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes the form alone")]
pub(crate) struct UploadForm {
    /// The memory system whose store or export it is, as `loci import --from` names it; told by the
    /// content if it is left out. It comes before the file.
    system: Option<String>,
    /// The time zone of times that name none, e.g. `Europe/Berlin`; the one of the server if it is
    /// left out. It comes before the file.
    zone: Option<String>,
    /// The file: an export, memories as JSON lines or a list, the store or export of another memory
    /// system, or a zip archive of one.
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
}

/// The result of an import of a file, or of a dry run.
#[derive(Serialize, ToSchema)]
#[schema(as = Importing)]
pub(crate) struct ImportPreview {
    /// The name by which the file is imported or discarded; `None` if it is not kept.
    pub(crate) upload: Option<String>,
    /// The system that was named for the file.
    pub(crate) named_system: Option<String>,
    /// The zone that was named for it.
    pub(crate) zone: Option<String>,
    /// The counts; `None` if the file cannot be imported at all.
    pub(crate) counts: Option<ImportCounts>,
    /// The memory system that it is from; `None` if it is a list or an export of loci.
    pub(crate) system: Option<String>,
    /// What is left out, by the reason.
    pub(crate) left_out: BTreeMap<String, u64>,
    /// The first memories, in a dry run.
    pub(crate) samples: Vec<ImportSample>,
    /// The id by which the import is taken back; `None` if it brought nothing.
    pub(crate) batch: Option<String>,
    /// The words about what is refused, or why the file cannot be imported.
    pub(crate) said: CommandOutput,
}

view!(ImportPreview, Tab::Settings, "import_preview.html");

impl ImportPreview {
    fn of(upload: Option<String>, source: ImportSource, report: ImportReport) -> Self {
        let ImportReport {
            counts,
            system,
            left_out,
            samples,
            batch,
            said,
        } = report;
        ImportPreview {
            upload: upload.filter(|_| counts.is_some()),
            named_system: source.system.map(str::to_owned),
            zone: source.zone,
            counts,
            system,
            left_out,
            samples,
            batch,
            said,
        }
    }
}

/// Returns what a request says of a file to import.
///
/// # Errors
/// `invalid_argument` for a system that no import reads, or a zone that cannot be one.
fn import_source(
    context: &RequestContext<'_>,
    system: Option<&str>,
    zone: Option<String>,
) -> Result<ImportSource> {
    let systems = context.page.installation().import_systems();
    let known = |name: &str| systems.iter().copied().find(|known| *known == name);
    let system = system.map(|name| {
        known(name).ok_or_else(|| {
            let problem = format!("must be one of {}, or be left out", systems.join(", "));
            Error::invalid("system", problem)
        })
    });
    if let Some(zone) = &zone {
        loci_engine::check::name("zone", zone)?;
    }
    Ok(ImportSource {
        system: system.transpose()?,
        zone,
    })
}

/// Keeps an uploaded file, and counts the records that its import would store. Nothing is stored yet.
#[utoipa::path(post, tag = "keep", path = "/settings/import", operation_id = "keep_import", request_body(content = UploadForm, content_type = "multipart/form-data"), responses((status = OK, body = ImportPreview, description = "The content of the view")))]
pub(crate) fn import(
    context: &RequestContext<'_>,
    mut received: Received,
) -> Result<ImportPreview> {
    let installation = context.page.installation();
    let upload = received.upload;
    let (system, zone) = (
        received.fields.remove("system"),
        received.fields.remove("zone"),
    );
    let source = match import_source(context, system.as_deref(), zone) {
        Ok(source) => source,
        Err(error) => {
            installation.discard_upload(&upload)?;
            return Err(error);
        }
    };
    let tried = context.logged(
        ("import_dry_run", "admin:keep", Effect::Write),
        None,
        |_| installation.import(&upload, &source, ImportWork::Count),
    )?;
    Ok(ImportPreview::of(Some(upload), source, tried))
}

/// A backup to restore.
#[derive(Deserialize, ToSchema)]
#[schema(as = BackupNamed)]
pub(crate) struct RestoreRequest {
    /// The name of its file.
    backup: String,
}

view!(RestoreReport, Tab::Settings, "restored.html");

/// Restores a backup into a new folder, so that it is checked and can be looked at. A running
/// server keeps its store, which a restore would replace.
#[utoipa::path(post, tag = "keep", path = "/settings/restore", operation_id = "keep_restore", request_body = RestoreRequest, responses((status = OK, body = RestoreReport, description = "The content of the view")))]
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
    /// The memory system that the dry run was told.
    system: Option<String>,
    /// The time zone that the dry run was told.
    zone: Option<String>,
}

/// Imports an uploaded file, after a dry run, and removes it.
#[utoipa::path(post, tag = "keep", path = "/settings/import/run", operation_id = "keep_import_run", request_body = UploadReference, responses((status = OK, body = ImportPreview, description = "The content of the view")))]
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
    let source = import_source(context, reference.system.as_deref(), reference.zone)?;
    let ran = context.logged(("import", "admin:keep", Effect::Write), None, |_| {
        installation.import(&reference.upload, &source, work)
    })?;
    context.page.forget_open_counts();
    Ok(ImportPreview::of(None, source, ran))
}

/// An import to take back.
#[derive(Deserialize, ToSchema)]
#[schema(as = BatchNamed)]
pub(crate) struct BatchReference {
    /// The id that the import returned as `batch`.
    batch: String,
}

/// Takes an import back: what it brought is removed, and what it replaced is restored.
#[utoipa::path(post, tag = "keep", path = "/settings/import/undo", operation_id = "keep_import_undo", request_body = BatchReference, responses((status = OK, body = TaskOutput, description = "The content of the view")))]
pub(crate) fn import_undo(
    context: &RequestContext<'_>,
    reference: BatchReference,
) -> Result<TaskOutput> {
    let BatchReference { batch } = reference;
    let is_id = !batch.is_empty()
        && batch
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && !batch.starts_with('-');
    if !is_id {
        return Err(Error::invalid("batch", "must be the id of an import"));
    }
    let undone = perform(context, |_| Ok(Task::UndoImport(batch)))?;
    context.page.forget_open_counts();
    Ok(undone)
}

/// Removes an uploaded file without an import.
#[utoipa::path(post, tag = "keep", path = "/settings/import/discard", operation_id = "keep_import_discard", request_body = UploadReference, responses((status = OK, body = Outcome, description = "The result of the change")))]
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
        next: Part::Data.path().to_owned(),
    })
}

/// The name under which a browser keeps an export.
pub(crate) const EXPORT_NAME: &str = "loci-export.jsonl";

/// Sends everything that is remembered, of all users and spaces, as JSON lines.
#[utoipa::path(get, tag = "keep", path = "/settings/export", operation_id = "keep_export", responses((status = OK, content_type = "application/octet-stream", description = "The export, as `loci export` writes it")))]
pub(crate) fn export(context: &RequestContext<'_>) -> Result<Box<dyn Read + Send>> {
    admit(context.caller())?;
    let installation = context.page.installation();
    context.logged(("export", "admin:keep", Effect::Write), None, |_| {
        installation.export()
    })
}

/// Returns the errand that makes a token.
///
/// # Errors
/// `invalid_argument` for a subject or scopes that the command would read as something else.
pub(crate) fn token_to_make(subject: String, scopes: &[String]) -> Result<Task> {
    loci_engine::check::name("subject", &subject)?;
    if subject.starts_with('-') {
        return Err(Error::invalid("subject", "must not start with a hyphen"));
    }
    let scopes = scopes.iter().map(|scope| {
        Scope::from_name(scope)
            .map(Scope::name)
            .ok_or_else(|| Error::invalid("scope", "must be read, write or admin"))
    });
    let scopes: Vec<_> = scopes.collect::<Result<_>>()?;
    if scopes.is_empty() {
        return Err(Error::invalid("scope", "must name one scope or more"));
    }
    Ok(Task::MakeToken { subject, scopes })
}

/// Returns the errand that revokes a token.
///
/// # Errors
/// `invalid_argument` for what cannot be the id of a token, e.g. a flag of the command.
pub(crate) fn token_to_revoke(argument: &str, id: String) -> Result<Task> {
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Error::invalid(argument, "must be the id of a token"));
    }
    Ok(Task::RevokeToken(id))
}

fn connect(host: &'static str, dialect: Option<&'static str>, hooks: bool) -> Task {
    Task::Connect {
        host,
        dialect,
        hooks,
    }
}

/// Returns the dialect of this name; `None` for no name.
fn dialect_of(name: &str) -> Result<Option<&'static str>> {
    if name.is_empty() {
        return Ok(None);
    }
    let found = loci_dialects::dialect(name).map(|dialect| dialect.name);
    let named = found.ok_or_else(|| Error::invalid("dialect", "is no tool set of loci"))?;
    Ok(Some(named))
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
        "connect" => connect(host()?, dialect_of(&request.dialect)?, false),
        "add_hooks" => connect(host()?, None, true),
        "remove_hooks" => Task::RemoveHooks(host()?),
        "disconnect" => Task::Disconnect(host()?),
        "check" => Task::CheckHost(host()?),
        "backup" => Task::BackUp,
        "make_token" => token_to_make(request.subject, &request.scope)?,
        "revoke_token" => token_to_revoke("token", request.token)?,
        _ => {
            return Err(Error::invalid("task", "names no errand of this page"));
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
                dialect: String::new(),
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
            takes_hooks: true,
            called_at: None,
        }];
        let made = Task::MakeToken {
            subject: "ann".to_owned(),
            scopes: vec!["read"],
        };
        let rows = [
            (
                request("connect", "codex", "", &[], ""),
                Some(connect("codex", None, false)),
            ),
            (
                request("add_hooks", "codex", "", &[], ""),
                Some(connect("codex", None, true)),
            ),
            (
                request("remove_hooks", "codex", "", &[], ""),
                Some(Task::RemoveHooks("codex")),
            ),
            (request("remove_hooks", "cursor", "", &[], ""), None),
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
        for (dialect, expected) in [
            ("engram", Some(connect("codex", Some("engram"), false))),
            ("--undo", None),
        ] {
            let request = TaskRequest {
                dialect: dialect.to_owned(),
                ..request("connect", "codex", "", &[], "")
            };
            assert_eq!(task(request, &hosts).ok(), expected, "{dialect}");
        }
    }
}
