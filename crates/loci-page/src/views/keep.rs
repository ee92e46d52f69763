//! The view *Keep*: hosts, backups, tokens, settings, and the check of the installation. It is for
//! the owner of the installation and for administrators.

use loci_core::{Caller, Error, ErrorCode, LOCAL, Result, Scope};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::keeper::{BackupKept, HostFound, Said, SettingShown, Task, TokenShown};
use crate::request::Asked;
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
    pub(crate) backup: Option<BackupKept>,
    pub(crate) tokens: Vec<TokenShown>,
    pub(crate) settings: Vec<SettingShown>,
    /// The report of `loci doctor`, if it was requested.
    pub(crate) examined: Option<Said>,
}

view!(Keep, Tab::Keep, "keep.html");

/// Requires the owner of the installation or an administrator.
fn require_owner(caller: &Caller) -> Result<()> {
    let principal = &caller.principal;
    if principal.subject.as_deref() == Some(LOCAL) || principal.scopes.allow(Scope::Admin) {
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
        backup: keeper.last_backup()?,
        tokens: keeper.tokens()?,
        settings: keeper.settings(),
        examined: query
            .examine
            .then(|| keeper.run(&Task::Examine))
            .transpose()?,
    })
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
    let caller = asked.caller();
    require_owner(caller)?;
    if !caller.principal.scopes.allow(Scope::Write) {
        let message = "this needs a token with the scope `write`";
        return Err(Error::new(ErrorCode::Forbidden, message));
    }
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
    let said = asked.logged(name, "admin:keep", None, |_, _| keeper.run(&task))?;
    Ok(Ran { said })
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
