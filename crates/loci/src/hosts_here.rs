//! The hosts on this machine, whether they are connected, and when each called last.

use loci_core::Timestamp;
use loci_dialects::DIALECTS;
use loci_hosts::{Connection, HOSTS, Host, Machine, OwnEntry, Scope, Target};

use crate::cli;
use crate::client_calls::{LastCall, last_calls};
use crate::own_program;
use crate::settings::Settings;

/// A host that is on this machine.
pub struct HostHere {
    /// The host.
    pub host: &'static Host,
    /// Its connection, or why that is unknown.
    pub connection: Result<HostConnection, String>,
    /// The time of its last call to loci in this data folder, if one is recorded.
    pub called_at: Option<Timestamp>,
}

/// The connection of a host to loci in the user's settings of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostConnection {
    /// It has no entry of loci.
    None,
    /// It starts loci for this dialect.
    Stdio(&'static str),
    /// It calls a server, which may be on another machine, for this dialect.
    Http(&'static str),
}

impl HostHere {
    /// Returns true if the host starts loci here and no call of it is recorded.
    pub fn is_silent(&self) -> bool {
        matches!(self.connection, Ok(HostConnection::Stdio(_))) && self.called_at.is_none()
    }

    /// Returns true if the host has an entry of loci.
    pub fn is_connected(&self) -> bool {
        self.connection.is_ok() && !self.is_unconnected()
    }

    /// Returns true if the host has no entry of loci.
    pub fn is_unconnected(&self) -> bool {
        matches!(self.connection, Ok(HostConnection::None))
    }
}

/// Returns the hosts that are found on this machine; none if it has no home folder.
pub fn hosts_here(settings: &Settings) -> Vec<HostHere> {
    let (Some(machine), Ok(project)) = (Machine::here(), std::env::current_dir()) else {
        return Vec::new();
    };
    let file_name = own_program::file_name();
    let dialects: Vec<&'static str> = DIALECTS.iter().map(|dialect| dialect.name).collect();
    let calls = last_calls(&settings.data);
    let installed = HOSTS.into_iter().filter(|host| host.is_installed(&machine));
    installed
        .map(|host| {
            let connection = Connection {
                host,
                machine: &machine,
                scope: Scope::User,
                project: &project,
                name: cli::SERVER_NAME,
                own: OwnEntry {
                    file_name: file_name.as_deref(),
                    dialects: &dialects,
                },
            };
            HostHere {
                host,
                connection: connected(&connection),
                called_at: called_at(host, &calls),
            }
        })
        .collect()
}

fn connected(connection: &Connection<'_>) -> Result<HostConnection, String> {
    let unknown = |error: loci_hosts::ConnectError| error.to_string();
    let dialect = connection.dialect().map_err(unknown)?;
    let known = DIALECTS.iter().map(|known| known.name);
    let dialect = dialect.and_then(|dialect| known.into_iter().find(|known| *known == dialect));
    let Some(dialect) = dialect else {
        return Ok(HostConnection::None);
    };
    let entry = connection.entry().map_err(unknown)?;
    Ok(match entry.as_ref().and_then(Target::of) {
        Some(Target::Http { .. }) => HostConnection::Http(dialect),
        _ => HostConnection::Stdio(dialect),
    })
}

/// Returns the time of the last call of a host; `calls` are latest first.
fn called_at(host: &Host, calls: &[LastCall]) -> Option<Timestamp> {
    let is_hosts = |call: &&LastCall| {
        call.client
            .as_deref()
            .is_some_and(|client| host.is_client(client))
    };
    calls.iter().find(is_hosts).map(LastCall::called_at)
}
