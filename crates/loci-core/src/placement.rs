//! The place of a space in a store on a cluster of servers.

/// The place of a space on a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The server that has its rows, as `HOST:PORT`.
    pub worker: String,
    /// The number of the part of the tables in which its rows lie.
    pub shard: u64,
    /// True if no other space can be in that part.
    pub is_alone: bool,
    /// The bytes of that part on the disk of the server, with indexes.
    pub bytes: u64,
    /// The servers that may have spaces, as `HOST:PORT`.
    pub workers: Vec<String>,
}

/// The way in which a part of the tables is copied to another place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// Writers of the part go on, and wait for a moment at the end. The servers need
    /// `wal_level = logical`.
    Online,
    /// Writers of the part wait until it is copied; they are refused after ten seconds.
    Blocking,
}
