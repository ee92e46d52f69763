//! Figures of the server of a store, as one process knows it.

/// The server of a store as one process knows it, for monitoring. Counts are since the store was
/// opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServerFigures {
    /// The connections of this process, and who waits for one.
    pub connections: ConnectionFigures,
    /// Round trips to the server.
    pub round_trips: u64,
    /// Times that the server was away after it had answered, e.g. a restart, however many calls waited.
    pub outages: u64,
    /// Times that the server took no writes after it had taken some, as in a failover.
    pub read_only_phases: u64,
    /// Commits that were not confirmed by a standby: given up after their time, or confirmed by one
    /// server alone.
    pub unconfirmed_commits: u64,
    /// The indexes in the memory of this process, by the size of their spaces.
    pub space_indexes: [SpaceIndexFigures; SpaceClass::COUNT],
    /// The server's own account; `None` if it did not answer within a moment.
    pub server: Option<ReplicationFigures>,
}

/// The connections of a process to the server of its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConnectionFigures {
    /// The most that this process makes.
    pub limit: u64,
    /// Those that are open and at work.
    pub in_use: u64,
    /// Those that are open and wait for work.
    pub idle: u64,
    /// Callers that wait for one.
    pub waiting: u64,
}

/// The standbys of a server, by its own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplicationFigures {
    /// The number of its history, which grows by one with each promotion; 0 on a server that only reads.
    pub timeline: u64,
    /// Standbys that are connected.
    pub standbys: u64,
    /// Standbys of these that are known to confirm each commit. A role without the right to see that
    /// is told of none.
    pub synchronous: u64,
    /// Commits that have waited for a standby for longer than a busy network needs.
    pub waiting_commits: u64,
    /// The seconds for which the first of these has waited.
    pub longest_wait_seconds: u64,
}

/// The size of a space, by the number of its passages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpaceClass {
    /// Up to 1,000: a person.
    Small,
    /// Up to 20,000: a team.
    Medium,
    /// More.
    Large,
}

impl SpaceClass {
    /// The number of classes.
    pub const COUNT: usize = 3;
    /// All of them, smallest first.
    pub const ALL: [SpaceClass; Self::COUNT] =
        [SpaceClass::Small, SpaceClass::Medium, SpaceClass::Large];

    /// Returns the class of a space with so many passages.
    ///
    /// ```
    /// use loci_core::SpaceClass;
    ///
    /// assert_eq!(SpaceClass::of(1_000), SpaceClass::Small);
    /// assert_eq!(SpaceClass::of(1_001), SpaceClass::Medium);
    /// assert_eq!(SpaceClass::of(20_001).name(), "large");
    /// ```
    pub fn of(passages: usize) -> Self {
        match passages {
            0..=1_000 => SpaceClass::Small,
            1_001..=20_000 => SpaceClass::Medium,
            _ => SpaceClass::Large,
        }
    }

    /// Returns its name in figures.
    pub fn name(self) -> &'static str {
        match self {
            SpaceClass::Small => "small",
            SpaceClass::Medium => "medium",
            SpaceClass::Large => "large",
        }
    }
}

/// The indexes of the spaces of one class in the memory of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpaceIndexFigures {
    /// Those that are there now.
    pub loaded: u64,
    /// Loads, each of all rows of a space.
    pub loads: u64,
    /// Removals, because indexes that were searched later needed the memory.
    pub evictions: u64,
}
