//! The hints of a tool for hosts.

/// The hints of a tool for hosts (MCP tool annotations).
#[expect(
    clippy::struct_excessive_bools,
    reason = "the protocol has these four, each on its own"
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hints {
    /// The tool changes nothing.
    pub read_only: bool,
    /// The tool may remove or overwrite data.
    pub destructive: bool,
    /// A second call with the same arguments has no further effect.
    pub idempotent: bool,
    /// The tool accesses more than the store.
    pub open_world: bool,
}

impl Hints {
    /// Only reads.
    pub const READS: Self = Hints {
        read_only: true,
        destructive: false,
        idempotent: true,
        open_world: false,
    };
    /// Adds something; a second call adds it once more.
    pub const ADDS: Self = Hints {
        read_only: false,
        idempotent: false,
        ..Hints::READS
    };
    /// Adds something; a second call adds nothing.
    pub const ADDS_ONCE: Self = Hints {
        idempotent: true,
        ..Hints::ADDS
    };
    /// Overwrites or removes something; a second call finds that done.
    pub const REPLACES: Self = Hints {
        destructive: true,
        ..Hints::ADDS_ONCE
    };
    /// Overwrites or removes something; a second call may do more.
    pub const CHANGES: Self = Hints {
        destructive: true,
        ..Hints::ADDS
    };
}
