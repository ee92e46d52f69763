use std::net::{IpAddr, Ipv6Addr};

use loci_core::{Caller, Space};

/// Who sends a request, as far as shares go.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A user in its space.
    User(Space, String),
    /// The network that belongs to one client, for callers without a name; `None` where the address
    /// is not known.
    Network(Option<IpAddr>),
}

impl Subject {
    /// Returns the subject of a caller: its user or, without a name, the one that it is to this
    /// server as a stranger.
    pub fn of(caller: &Caller, stranger: Subject) -> Self {
        match &caller.principal.subject {
            Some(name) => Subject::User(caller.space.clone(), name.clone()),
            None => stranger,
        }
    }

    /// Returns the subject of a caller without a name. Of an IPv6 address the part counts that a
    /// provider assigns to one customer (64 bits), because the customer chooses the rest.
    pub fn network(client: Option<IpAddr>) -> Self {
        const OF_CUSTOMER: u128 = !(u64::MAX as u128);
        Subject::Network(client.map(|client| match client {
            IpAddr::V4(_) => client,
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & OF_CUSTOMER).into(),
        }))
    }
}
