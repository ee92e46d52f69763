//! The one record that every dialect reads and writes.

use crate::{MemoryId, Space, Timestamp};

/// One memory. `(space, id)` is its key.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    /// The space that holds it.
    pub space: Space,
    /// Its id, unique in the space.
    pub id: MemoryId,
    /// The text, byte for byte as it was sent.
    pub content: String,
    /// Where it is filed.
    pub place: Place,
    /// What it is: `fact`, `rule`, `decision`, ...
    pub kind: String,
    /// Labels, in the order given, each at most once.
    pub tags: Vec<String>,
    /// Confidence or priority, 0 to 1.
    pub weight: f64,
    /// Whether a session start reads it or only a search finds it.
    pub delivery: Delivery,
    /// Who wrote it; none if the caller was anonymous.
    pub owner: Option<String>,
    /// Who else may read and write it.
    pub visibility: Visibility,
    /// The memory that this one replaces.
    pub supersedes: Option<MemoryId>,
    /// The newest live memory that replaces this one. Stores derive it; it is ignored on writing.
    pub superseded_by: Option<MemoryId>,
    /// When it vanishes from every read; never, if none.
    pub expires_at: Option<Timestamp>,
    /// When it was first stored.
    pub created_at: Timestamp,
    /// When its text last changed.
    pub updated_at: Timestamp,
    /// Counts the changes of this record, from 1; guards against lost updates.
    pub revision: u64,
}

impl Memory {
    /// Whether it has not expired at `now`.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|expires_at| expires_at > now)
    }
}

/// Where a memory is filed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// Project, conversation, scope or wing; none is global.
    pub collection: Option<String>,
    /// Type, category or room within it; the kind, where the writer named none.
    pub section: String,
}

/// When a memory reaches an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Delivery {
    /// When a search finds it.
    #[default]
    OnDemand,
    /// At the start of every session, besides.
    Bootstrap,
}

impl Delivery {
    /// The word for it in arguments and stores.
    pub const fn name(self) -> &'static str {
        match self {
            Delivery::OnDemand => "on_demand",
            Delivery::Bootstrap => "bootstrap",
        }
    }

    /// The delivery with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Delivery::OnDemand, Delivery::Bootstrap].into_iter().find(|delivery| delivery.name() == name)
    }
}

/// Who besides the owner may read and write a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Visibility {
    /// Nobody.
    Private,
    /// Everyone in the space reads, the owner writes.
    Shared,
    /// Everyone in the space reads and, with the scope `write`, writes.
    Common,
}

impl Visibility {
    /// The word for it in arguments and stores.
    pub const fn name(self) -> &'static str {
        match self {
            Visibility::Private => "private",
            Visibility::Shared => "shared",
            Visibility::Common => "common",
        }
    }

    /// The visibility with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Visibility::Private, Visibility::Shared, Visibility::Common]
            .into_iter()
            .find(|visibility| visibility.name() == name)
    }
}
