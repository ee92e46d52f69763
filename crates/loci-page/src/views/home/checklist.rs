//! The first steps with a store that is empty.

use serde::Serialize;
use utoipa::ToSchema;

use super::health::Apps;

/// The memories up to which a store counts as new, if no question was asked yet.
const FEW: u64 = 3;

/// The first steps, and which are done.
#[derive(Serialize, ToSchema)]
pub(crate) struct Checklist {
    /// True if an app is connected or has called.
    pub(crate) connected: bool,
    /// True if there is a memory.
    pub(crate) stored: bool,
    /// True if an app asked for something.
    pub(crate) recalled: bool,
    /// The apps of this machine that can be connected, which only the owner sees.
    pub(crate) hosts: Vec<HostToConnect>,
}

/// An app that is not connected.
#[derive(Serialize, ToSchema)]
pub(crate) struct HostToConnect {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
}

impl Checklist {
    /// Returns the steps as long as a store is new.
    pub(super) fn of(
        apps: &Apps,
        memories: u64,
        recalled: bool,
        may_connect: bool,
    ) -> Option<Self> {
        let is_new = memories == 0 || (memories <= FEW && !recalled);
        let is_connected = apps.hosts.iter().any(|host| host.dialect.is_some());
        let hosts = apps.hosts.iter();
        let to_connect =
            hosts.filter(|host| may_connect && host.dialect.is_none() && host.problem.is_none());
        is_new.then(|| Checklist {
            connected: is_connected || !apps.clients.is_empty(),
            stored: memories > 0,
            recalled,
            hosts: to_connect
                .map(|host| HostToConnect {
                    name: host.name,
                    title: host.title,
                })
                .collect(),
        })
    }
}
