//! Former states of facts, tunnels and settings: what each was before a change, and who made that change;
//! and who deleted a memory softly.

use crate::{ChangeMark, Fact, Space, Tunnel};

/// A record beside the memories whose former states are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordKind {
    /// A fact.
    Fact,
    /// A tunnel.
    Tunnel,
    /// A setting of a user in the store.
    Setting,
    /// The [soft deletion](crate::Store::soft_delete) of a memory, whose id it has. It has no state: the
    /// memory itself is kept.
    Deletion,
}

impl RecordKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [
        RecordKind::Fact,
        RecordKind::Tunnel,
        RecordKind::Setting,
        RecordKind::Deletion,
    ];

    /// Returns its name, as stores note it.
    pub fn name(self) -> &'static str {
        match self {
            RecordKind::Fact => "fact",
            RecordKind::Tunnel => "tunnel",
            RecordKind::Setting => "setting",
            RecordKind::Deletion => "deletion",
        }
    }

    /// Returns the kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A setting of a user, as a store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingState {
    /// The space that holds it.
    pub space: Space,
    /// Its [id](SettingState::id_of).
    pub id: String,
    /// Whose it is; `None` for a setting without an owner.
    pub owner: Option<String>,
    /// The value.
    pub value: String,
}

impl SettingState {
    /// Returns the id of the setting of an owner with this name, by which its versions are kept.
    ///
    /// ```
    /// # use loci_core::SettingState;
    /// let id = SettingState::id_of("trusted_authors", Some("ann@example.org"));
    /// assert_eq!(id, "trusted_authors@ann@example.org");
    /// assert_eq!(SettingState::name_and_owner(&id), ("trusted_authors", Some("ann@example.org")));
    /// assert_eq!(SettingState::name_and_owner("trusted_authors"), ("trusted_authors", None));
    /// ```
    pub fn id_of(name: &str, owner: Option<&str>) -> String {
        owner.map_or_else(|| name.to_owned(), |owner| format!("{name}@{owner}"))
    }

    /// Returns the name and the owner in such an id; no name whose versions are kept has an `@`.
    pub fn name_and_owner(id: &str) -> (&str, Option<&str>) {
        id.split_once('@')
            .map_or((id, None), |(name, owner)| (name, Some(owner)))
    }
}

/// A fact, a tunnel or a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordState {
    /// A fact.
    Fact(Fact),
    /// A tunnel.
    Tunnel(Tunnel),
    /// A setting.
    Setting(SettingState),
}

impl RecordState {
    /// Returns its kind.
    pub fn kind(&self) -> RecordKind {
        match self {
            RecordState::Fact(_) => RecordKind::Fact,
            RecordState::Tunnel(_) => RecordKind::Tunnel,
            RecordState::Setting(_) => RecordKind::Setting,
        }
    }

    /// Returns its id, unique among the records of its kind in its space.
    pub fn id(&self) -> &str {
        match self {
            RecordState::Fact(fact) => &fact.id,
            RecordState::Tunnel(tunnel) => &tunnel.id,
            RecordState::Setting(setting) => &setting.id,
        }
    }

    /// Returns the author of a fact, or the owner of a tunnel or a setting.
    pub fn owner(&self) -> Option<&str> {
        match self {
            RecordState::Fact(fact) => fact.author.as_deref(),
            RecordState::Tunnel(tunnel) => tunnel.owner.as_deref(),
            RecordState::Setting(setting) => setting.owner.as_deref(),
        }
    }

    /// Returns the space that holds it.
    pub fn space(&self) -> &Space {
        match self {
            RecordState::Fact(fact) => &fact.space,
            RecordState::Tunnel(tunnel) => &tunnel.space,
            RecordState::Setting(setting) => &setting.space,
        }
    }
}

/// A former state of a fact, a tunnel or a setting, and the change that ended it; or the soft deletion of a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordVersion {
    /// The space that holds the record.
    pub space: Space,
    /// Its kind.
    pub kind: RecordKind,
    /// Its id.
    pub id: String,
    /// The author of the fact, or the owner of the tunnel or the setting, as the state has it; the owner of
    /// the memory.
    pub owner: Option<String>,
    /// The number of the version among the ones of the record, which grows with each; 0 for a new
    /// one, which a store gives the next number.
    pub number: u64,
    /// The record as it was; `None` for the time before it was stored, or after it was deleted.
    pub state: Option<RecordState>,
    /// The change that ended the state. It always names the subject who made it, unless a wipe took
    /// the name.
    pub change: ChangeMark,
}

impl RecordVersion {
    /// Returns the state of a record that a change ended, as a version without a number.
    pub fn of(state: RecordState, change: ChangeMark) -> Self {
        RecordVersion {
            space: state.space().clone(),
            kind: state.kind(),
            id: state.id().to_owned(),
            owner: state.owner().map(str::to_owned),
            number: 0,
            state: Some(state),
            change,
        }
    }

    /// Returns the time before a record was stored, which a change ended, as a version without a
    /// number.
    pub fn before(stored: &RecordState, change: ChangeMark) -> Self {
        RecordVersion {
            state: None,
            ..Self::of(stored.clone(), change)
        }
    }
}
