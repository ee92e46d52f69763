//! Errands of the installation for programs, one path for each: hosts, backups, tokens.

use loci_core::{Error, Result};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::admin::{self, TaskOutput};
use crate::installation::{BackupFile, HostStatus, Task};
use crate::request::RequestContext;

/// No parameters.
#[derive(Deserialize)]
pub(crate) struct NoParameters {}

/// The backups of an installation.
#[derive(Serialize, ToSchema)]
pub(crate) struct Backups {
    /// The known backups, the last one first.
    items: Vec<BackupFile>,
}

/// Lists the known backups.
#[utoipa::path(get, path = "/backups", operation_id = "backups", responses((status = OK, body = Backups, description = "The backups")))]
pub(crate) fn backups(context: &RequestContext<'_>, _: NoParameters) -> Result<Backups> {
    admin::require_owner(context.caller())?;
    Ok(Backups {
        items: context.page.installation().backups(),
    })
}

/// Writes a backup into the data folder, as `loci backup` does.
#[utoipa::path(post, path = "/backups", operation_id = "backups_make", responses((status = OK, body = TaskOutput, description = "The words of the command")))]
pub(crate) fn back_up(context: &RequestContext<'_>, _: NoParameters) -> Result<TaskOutput> {
    admin::perform(context, |_| Ok(Task::BackUp))
}

/// A host.
#[derive(Deserialize)]
pub(crate) struct HostNamed {
    host: String,
}

/// Connects a host, as `loci connect` does.
#[utoipa::path(post, path = "/hosts/{host}/connect", operation_id = "hosts_connect", params(("host" = String, Path, description = "The name by which `loci connect` knows the host")), responses((status = OK, body = TaskOutput, description = "The words of the command")))]
pub(crate) fn connect(context: &RequestContext<'_>, named: HostNamed) -> Result<TaskOutput> {
    admin::perform(context, |hosts| {
        Ok(Task::Connect {
            host: of(hosts, &named)?,
            dialect: None,
            hooks: false,
        })
    })
}

/// Takes the connection of a host back.
#[utoipa::path(post, path = "/hosts/{host}/disconnect", operation_id = "hosts_disconnect", params(("host" = String, Path, description = "The name by which `loci connect` knows the host")), responses((status = OK, body = TaskOutput, description = "The words of the command")))]
pub(crate) fn disconnect(context: &RequestContext<'_>, named: HostNamed) -> Result<TaskOutput> {
    admin::perform(context, |hosts| Ok(Task::Disconnect(of(hosts, &named)?)))
}

/// Asks a host whether it is connected.
#[utoipa::path(post, path = "/hosts/{host}/check", operation_id = "hosts_check", params(("host" = String, Path, description = "The name by which `loci connect` knows the host")), responses((status = OK, body = TaskOutput, description = "The words of the command")))]
pub(crate) fn check(context: &RequestContext<'_>, named: HostNamed) -> Result<TaskOutput> {
    admin::perform(context, |hosts| Ok(Task::CheckHost(of(hosts, &named)?)))
}

fn of(hosts: &[HostStatus], named: &HostNamed) -> Result<&'static str> {
    let found = hosts.iter().find(|host| host.name == named.host);
    found
        .map(|host| host.name)
        .ok_or_else(|| Error::invalid("host", "is not found on this machine"))
}

/// A token to make.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NewToken {
    /// Whom it lets in.
    subject: String,
    /// The scopes: `read`, `write`, `admin`.
    scope: Vec<String>,
}

/// Makes a token, whose secret the answer has and nothing else keeps.
#[utoipa::path(post, path = "/tokens", operation_id = "tokens_make", request_body = NewToken, responses((status = OK, body = TaskOutput, description = "The words of the command, with the secret")))]
pub(crate) fn make_token(context: &RequestContext<'_>, new: NewToken) -> Result<TaskOutput> {
    admin::perform(context, |_| admin::token_to_make(new.subject, &new.scope))
}

/// A token.
#[derive(Deserialize)]
pub(crate) struct TokenNamed {
    id: String,
}

/// Revokes a token.
#[utoipa::path(post, path = "/tokens/{id}/revoke", operation_id = "tokens_revoke", params(("id" = String, Path, description = "The id of the token")), responses((status = OK, body = TaskOutput, description = "The words of the command")))]
pub(crate) fn revoke_token(context: &RequestContext<'_>, named: TokenNamed) -> Result<TaskOutput> {
    admin::perform(context, |_| admin::token_to_revoke("id", named.id))
}
