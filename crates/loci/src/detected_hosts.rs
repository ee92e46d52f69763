//! The hosts on this machine, whether they are connected, and when each called last.

use loci_core::Timestamp;
use loci_dialects::DIALECTS;
use loci_hosts::{
    Connection, HOSTS, Hooks, Host, Machine, OwnEntry, Program, Reach, Scope, Target,
};

use crate::cli;
use crate::client_calls::{LastCall, last_calls};
use crate::commands::hook;
use crate::own_program;
use crate::settings::Settings;

/// A host that is on this machine.
pub struct DetectedHost {
    /// The host.
    pub host: &'static Host,
    /// Its connection, or why that is unknown.
    pub connection: Result<HostConnection, String>,
    /// True if the plug-in of loci is in the host.
    pub has_plugin: bool,
    /// True if the hooks of loci are in the user's settings for it.
    pub has_hooks: bool,
    /// The time of its last call to loci in this data folder, if one is recorded.
    pub called_at: Option<Timestamp>,
}

/// The connection of a host to loci in the user's settings for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostConnection {
    /// It has no entry of loci.
    None,
    /// Its plug-in starts loci.
    Plugin,
    /// It starts loci for this dialect.
    Stdio(&'static str),
    /// It calls a server, which may be on another machine, for this dialect.
    Http(&'static str),
}

impl DetectedHost {
    /// Returns true if the host starts loci here and no call from it is recorded.
    pub fn is_silent(&self) -> bool {
        use HostConnection::{Plugin, Stdio};
        matches!(self.connection, Ok(Stdio(_) | Plugin)) && self.called_at.is_none()
    }

    /// Returns true if the host has the plug-in of loci and, besides, its server or its hooks.
    pub fn is_doubled(&self) -> bool {
        use HostConnection::{Http, Stdio};
        self.has_plugin && (self.has_hooks || matches!(self.connection, Ok(Stdio(_) | Http(_))))
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
pub fn detected_hosts(settings: &Settings) -> Vec<DetectedHost> {
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
            let has_plugin = host.has_plugin(&machine);
            let connected = match connected(&connection) {
                Ok(HostConnection::None) if has_plugin => Ok(HostConnection::Plugin),
                connected => connected,
            };
            DetectedHost {
                host,
                connection: connected,
                has_plugin,
                has_hooks: has_hooks(host, file_name.as_deref()),
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

/// Returns true if the hooks of loci are in the user's settings of a host; false where these cannot
/// be read.
fn has_hooks(host: &Host, file_name: Option<&str>) -> bool {
    host.hooks_file().is_some_and(|file| {
        let program = Program {
            file_name,
            parse: hook::parse,
        };
        let hooks = Hooks {
            host,
            file: &file,
            reach: Reach::Everywhere,
            program,
        };
        hooks.is_installed().unwrap_or(false)
    })
}

/// Returns the advice for a host that has the plug-in of loci and what `loci connect` added.
pub fn double_advice(host: &Host) -> String {
    let removal = host.plugin.map_or("", |plugin| plugin.removal);
    format!(
        "{} has loci twice, by its plug-in and by `loci connect`: it is offered every tool twice; keep one of them: \
         `{removal}` takes the plug-in out, `loci connect --undo {}` the other",
        host.title, host.name
    )
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
