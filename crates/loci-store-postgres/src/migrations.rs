//! The migrations of the tables.

/// Every migration that was ever released, oldest first.
pub(crate) const MIGRATIONS: [&str; 15] = [
    include_str!("../migrations/V1__store.sql"),
    include_str!("../migrations/V2__row_security.sql"),
    include_str!("../migrations/V3__audit.sql"),
    include_str!("../migrations/V4__versions.sql"),
    include_str!("../migrations/V5__tombstones.sql"),
    include_str!("../migrations/V6__authors_of_facts.sql"),
    include_str!("../migrations/V7__daily.sql"),
    include_str!("../migrations/V8__open_items.sql"),
    include_str!("../migrations/V9__grants.sql"),
    include_str!("../migrations/V10__provenance.sql"),
    include_str!("../migrations/V11__changes.sql"),
    include_str!("../migrations/V12__entities.sql"),
    include_str!("../migrations/V13__record_versions.sql"),
    include_str!("../migrations/V14__setting_versions.sql"),
    include_str!("../migrations/V15__policies.sql"),
];

/// The version that this build reads and writes.
pub const VERSION: i64 = MIGRATIONS.len() as i64;
