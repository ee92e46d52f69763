//! The items that people should decide about memories, as a step in the background found them, and as
//! far as one caller may read them.

use std::collections::{HashMap, HashSet};

use loci_core::limits::OPEN_ITEMS_MAX;
use loci_core::{CollectionFilter, Filter, Memory, MemoryId, OpenItem, Result, Store, Superseded};
use sha2::{Digest, Sha256};

use crate::access::Access;
use crate::actor::Actor;
use crate::authors::place_of_strangers;
use crate::certainty::Certainty;
use crate::engine::Engine;
use crate::settings::Settings;

/// The digits of a key.
pub(crate) const KEY_DIGITS: usize = 16;

/// A kind of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ItemKind {
    /// A memory that contains secrets.
    Secret,
    /// A text that gives agents orders without being a directive.
    Order,
    /// A memory that came in a file, and that agents do not follow before a person accepts it.
    Arrived,
    /// Two memories of which the newer one seems to contradict the older one.
    Contradiction,
    /// A memory that rests on a file which is gone or changed.
    Stale,
    /// Two memories that say nearly the same.
    Duplicate,
    /// A directive.
    Directive,
}

impl ItemKind {
    /// Every kind, the most pressing one first.
    pub const ALL: [ItemKind; 7] = [
        ItemKind::Secret,
        ItemKind::Order,
        ItemKind::Arrived,
        ItemKind::Contradiction,
        ItemKind::Stale,
        ItemKind::Duplicate,
        ItemKind::Directive,
    ];

    /// Returns its name in stores and addresses.
    pub const fn name(self) -> &'static str {
        match self {
            ItemKind::Secret => "secret",
            ItemKind::Order => "order",
            ItemKind::Arrived => "arrived",
            ItemKind::Contradiction => "contradiction",
            ItemKind::Stale => "stale",
            ItemKind::Duplicate => "duplicate",
            ItemKind::Directive => "directive",
        }
    }

    /// Returns the kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        ItemKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns true for the kinds of pairs.
    pub const fn is_of_pairs(self) -> bool {
        matches!(self, ItemKind::Contradiction | ItemKind::Duplicate)
    }
}

impl Certainty {
    /// Returns the certainty of an item, if it is a contradiction.
    pub fn of(kind: ItemKind, item: &OpenItem) -> Option<Self> {
        (kind == ItemKind::Contradiction)
            .then(|| Certainty::of_contradiction(item.certainty as f64 / 1_000.0))
            .flatten()
    }
}

/// Returns the key of an item of a kind that these texts identify: 16 hexadecimal digits.
pub fn item_key(kind: &str, of: &[&str]) -> String {
    let mut hash = Sha256::new_with_prefix(kind);
    for text in of {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    }
    let digits = hash
        .finalize()
        .into_iter()
        .map(|byte| format!("{byte:02x}"));
    let mut key: String = digits.collect();
    key.truncate(KEY_DIGITS);
    key
}

/// The items that people should decide, for one caller.
#[derive(Clone, Copy)]
pub struct OpenItems<'a> {
    store: &'a dyn Store,
    access: Access<'a>,
    settings: Settings<'a>,
}

impl Engine {
    /// Returns what people should decide, for one caller.
    pub(crate) fn open_items<'a>(&'a self, caller: Actor<'a>) -> OpenItems<'a> {
        OpenItems {
            store: &*self.store,
            access: self.access(caller),
            settings: self.settings(caller),
        }
    }
}

impl OpenItems<'_> {
    /// Returns the items of the whole store that the caller may read, the most certain ones first,
    /// at most [`OPEN_ITEMS_MAX`]: of a pair both memories, neither of which is superseded, and of
    /// directives the memories of authors whose directives the caller does not take. A memory that changed
    /// since it was examined has none until the background examined it again.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn list(&self) -> Result<Vec<(ItemKind, OpenItem)>> {
        let filter = self.access.filter(CollectionFilter::Any);
        let items = self.store.open_items(&filter, OPEN_ITEMS_MAX)?;
        let known = items
            .into_iter()
            .filter_map(|item| Some((ItemKind::from_name(&item.kind)?, item)));
        let mut items: Vec<(ItemKind, OpenItem)> = known.collect();
        let paired = items
            .iter()
            .filter_map(|(_, item)| Some([item.memory.clone(), item.other.clone()?]))
            .flatten();
        let paired: HashSet<MemoryId> = self.current(&filter, paired.collect())?;
        let directives = items
            .iter()
            .filter(|(kind, _)| *kind == ItemKind::Directive)
            .map(|(_, item)| item.memory.clone())
            .collect();
        let foreign = self.foreign(&filter, directives)?;
        items.retain(|(kind, item)| match (kind, &item.other) {
            (ItemKind::Directive, _) => foreign.contains(&item.memory),
            (_, Some(other)) => paired.contains(&item.memory) && paired.contains(other),
            _ => true,
        });
        Ok(items)
    }

    /// Returns a directive of an author about whom the caller has decided nothing yet, with the key of
    /// its item: the author's directives are not taken, and none was dismissed. Words of the web,
    /// of tools and of unreviewed files have no such author.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn directive_of_new_author(&self) -> Result<Option<(String, Memory)>> {
        let is_directive = |(kind, _): &(ItemKind, OpenItem)| *kind == ItemKind::Directive;
        let items = self.list()?.into_iter().filter(is_directive);
        let keys: HashMap<MemoryId, String> =
            items.map(|(_, item)| (item.memory, item.key)).collect();
        if keys.is_empty() {
            return Ok(None);
        }
        let dismissed = self.settings.dismissed()?;
        let filter = self.access.filter(CollectionFilter::Any);
        let ids: Vec<MemoryId> = keys.keys().cloned().collect();
        let mut found = self.store.get_all(&filter, &ids)?;
        let is_decided = |memory: &Memory| {
            let key = keys.get(&memory.id);
            key.is_some_and(|key| dismissed.contains(key))
        };
        let decided = found.iter().filter(|memory| is_decided(memory));
        let known: HashSet<String> = decided.map(|memory| memory.writer().to_owned()).collect();
        found.retain(|memory| {
            let is_known = known.contains(memory.writer());
            !is_known && !memory.is_unreviewed() && place_of_strangers(memory).is_none()
        });
        let first = found
            .into_iter()
            .min_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        Ok(first.and_then(|memory| Some((keys.get(&memory.id)?.clone(), memory))))
    }

    /// Returns the memories among these that the caller may read and that nothing supersedes.
    fn current(&self, filter: &Filter, ids: Vec<MemoryId>) -> Result<HashSet<MemoryId>> {
        if ids.is_empty() {
            return Ok(HashSet::new());
        }
        let filter = Filter {
            superseded: Superseded::Hide,
            ..filter.clone()
        };
        let found = self.store.locations_of(&filter, &ids)?;
        Ok(found.into_iter().map(|(id, _)| id).collect())
    }

    /// Returns the memories among these whose directives the caller does not take.
    fn foreign(&self, filter: &Filter, ids: Vec<MemoryId>) -> Result<HashSet<MemoryId>> {
        if ids.is_empty() {
            return Ok(HashSet::new());
        }
        let trust = self.settings.trust()?;
        let memories = self.store.get_all(filter, &ids)?;
        let is_foreign = |memory: &Memory| trust.stranger(memory).is_some();
        let foreign = memories.into_iter().filter(is_foreign);
        Ok(foreign.map(|memory| memory.id).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_items_apart() {
        let keys = [
            item_key("note", &["a", "bc"]),
            item_key("note", &["ab", "c"]),
            item_key("stale", &["a", "bc"]),
            item_key("note", &["abc"]),
        ];
        assert!(keys.iter().all(|key| key.len() == KEY_DIGITS));
        assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len());
    }

    #[test]
    fn every_kind_has_a_name() {
        for kind in ItemKind::ALL {
            assert_eq!(ItemKind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(ItemKind::from_name("other"), None);
    }
}
