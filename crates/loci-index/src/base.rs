//! The memories of a segment, as they lie in it.

use loci_core::{Delivery, Tier, Timestamp, Visibility};

use super::ids::Id;
use super::interner::Name;
use super::slots::Chain;
use super::{NONE, Record, Traits};
use crate::structures::segment::{Bytes, u32_at, u64_at};

pub(crate) const TRAITS_BYTES: usize = 44;
pub(crate) const RECORD_BYTES: usize = 64;
const VISIBILITIES: [Visibility; 3] = [Visibility::Private, Visibility::Shared, Visibility::Common];
const DELIVERIES: [Delivery; 2] = [Delivery::OnDemand, Delivery::Bootstrap];

/// Memories by number, in the order of their rows. What changes of one is not here.
#[derive(Debug, Default)]
pub(crate) struct Base {
    pub(crate) traits: Bytes,
    pub(crate) records: Bytes,
    /// Ids and tags.
    pub(crate) heap: Bytes,
    pub(crate) rows: Bytes,
    /// Numbers of memories that replace another, by space and the id that they replace.
    pub(crate) successors: Bytes,
    /// Numbers of memories that expire, by when.
    pub(crate) expiries: Bytes,
}

/// The fields of a record beside its texts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordFields {
    pub(crate) passages: Chain,
    /// [`NONE`], if it is in no thread.
    pub(crate) thread: u32,
    /// In the thread.
    pub(crate) position: u64,
    pub(crate) weight: f64,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

/// A record, wherever it lies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordRef<'a> {
    pub(crate) fixed: RecordFields,
    texts: Texts<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Texts<'a> {
    Own(&'a Record),
    Base {
        id: &'a str,
        supersedes: Option<&'a str>,
        source: Option<&'a str>,
        tags: &'a [u8],
    },
}

impl<'a> RecordRef<'a> {
    pub(crate) fn of(record: &'a Record) -> Self {
        RecordRef {
            fixed: record.fixed,
            texts: Texts::Own(record),
        }
    }

    pub(crate) fn id(&self) -> Id {
        match self.texts {
            Texts::Own(record) => record.id.clone(),
            Texts::Base { id, .. } => Id::new(id),
        }
    }

    pub(crate) fn supersedes(&self) -> Option<Id> {
        match self.texts {
            Texts::Own(record) => record.supersedes.as_deref().cloned(),
            Texts::Base { supersedes, .. } => supersedes.map(Id::new),
        }
    }

    pub(crate) fn source(&self) -> Option<Id> {
        match self.texts {
            Texts::Own(record) => record.source.as_deref().cloned(),
            Texts::Base { source, .. } => source.map(Id::new),
        }
    }

    pub(crate) fn has_tag(&self, tag: Name) -> bool {
        match self.texts {
            Texts::Own(record) => record.tags.contains(&tag),
            Texts::Base { tags, .. } => names(tags).any(|name| name == tag),
        }
    }

    pub(crate) fn tags(&self) -> Vec<Name> {
        match self.texts {
            Texts::Own(record) => record.tags.to_vec(),
            Texts::Base { tags, .. } => names(tags).collect(),
        }
    }

    /// The order of the ids.
    pub(crate) fn compare_ids(&self, other: &Self) -> std::cmp::Ordering {
        match (self.texts, other.texts) {
            (Texts::Own(left), Texts::Own(right)) => left.id.cmp(&right.id),
            (Texts::Base { id: left, .. }, Texts::Base { id: right, .. }) => left.cmp(right),
            _ => self.id().cmp(&other.id()),
        }
    }
}

fn names(tags: &[u8]) -> impl Iterator<Item = Name> + '_ {
    (0..tags.len() / 4).filter_map(|index| Name::of_number(u32_at(tags, index)))
}

fn moment(bytes: &[u8], index: usize) -> Timestamp {
    Timestamp::from_microseconds(u64_at(bytes, index).cast_signed())
}

impl Base {
    /// The number of memories, including removed ones.
    pub(crate) fn len(&self) -> usize {
        self.rows.len() / 8
    }

    pub(crate) fn row(&self, number: u32) -> i64 {
        u64_at(&self.rows, number as usize).cast_signed()
    }

    /// The number of the memory that was in the row.
    pub(crate) fn find(&self, row: i64) -> Option<u32> {
        let found = lower_bound(self.len(), |number| self.row(number) < row);
        ((found as usize) < self.len() && self.row(found) == row).then_some(found)
    }

    pub(crate) fn traits(&self, number: u32) -> Option<Traits> {
        let start = number as usize * TRAITS_BYTES;
        let bytes = self.traits.get(start..start + TRAITS_BYTES)?;
        let name = |index| Name::of_number(u32_at(bytes, index));
        let [visibility, delivery, tier, is_forgotten] = u32_at(bytes, 7).to_ne_bytes();
        Some(Traits {
            space: name(0)?,
            origin: name(1)?,
            owner: name(2),
            collection: name(3),
            section: name(4)?,
            kind: name(5)?,
            replaces: u32_at(bytes, 6),
            visibility: *VISIBILITIES.get(usize::from(visibility))?,
            delivery: *DELIVERIES.get(usize::from(delivery))?,
            tier: *Tier::ALL.get(usize::from(tier))?,
            is_forgotten: is_forgotten == 1,
            expires_at: moment(bytes, 4),
            program: name(10),
        })
    }

    /// When a memory was first stored, and its tags: without its texts, for a look at all memories.
    pub(crate) fn glance(&self, number: u32) -> Option<(Timestamp, impl Iterator<Item = Name>)> {
        let start = number as usize * RECORD_BYTES;
        let bytes = self.records.get(start..start + RECORD_BYTES)?;
        let texts = (2..5).map(|index| u32_at(bytes, index));
        let before: usize = texts
            .filter(|length| *length != NONE)
            .map(|length| length as usize)
            .sum();
        let start = usize::try_from(u64_at(bytes, 0))
            .ok()?
            .checked_add(before)?;
        let end = start.checked_add(u32_at(bytes, 5) as usize)?;
        let tags = self.heap.get(start..end)?;
        Some((moment(bytes, 6), names(tags)))
    }

    pub(crate) fn record(&self, number: u32) -> Option<RecordRef<'_>> {
        let start = number as usize * RECORD_BYTES;
        let bytes = self.records.get(start..start + RECORD_BYTES)?;
        let [id, supersedes, source, tags] = std::array::from_fn(|index| u32_at(bytes, 2 + index));
        let mut rest = self.heap.get(usize::try_from(u64_at(bytes, 0)).ok()?..)?;
        let mut take = |length: u32| {
            let (taken, after) = rest.split_at_checked(length as usize)?;
            rest = after;
            Some(taken)
        };
        let mut text = |length: u32| take(length).and_then(|bytes| str::from_utf8(bytes).ok());
        let id = text(id)?;
        let supersedes = if supersedes == NONE {
            None
        } else {
            Some(text(supersedes)?)
        };
        let source = if source == NONE {
            None
        } else {
            Some(text(source)?)
        };
        let tags = take(tags)?;
        let fixed = RecordFields {
            passages: Chain::of_base(u32_at(bytes, 6)),
            thread: u32_at(bytes, 7),
            position: u64_at(bytes, 4),
            weight: f64::from_bits(u64_at(bytes, 5)),
            created_at: moment(bytes, 6),
            updated_at: moment(bytes, 7),
        };
        Some(RecordRef {
            fixed,
            texts: Texts::Base {
                id,
                supersedes,
                source,
                tags,
            },
        })
    }

    /// The memories that replaced the one of this space and id when the segment was written.
    pub(crate) fn successors(&self, space: Name, id: &Id) -> Vec<u32> {
        if self.successors.is_empty() {
            return Vec::new();
        }
        let key = |place: u32| {
            let number = u32_at(&self.successors, place as usize);
            let supersedes = self.record(number).and_then(|record| record.supersedes());
            (self.traits(number).map(|traits| traits.space), supersedes)
        };
        let wanted = (Some(space), Some(id.clone()));
        let count = self.successors.len() / 4;
        let first = lower_bound(count, |place| key(place) < wanted);
        let places = (first..count as u32).take_while(|place| key(*place) == wanted);
        places
            .map(|place| u32_at(&self.successors, place as usize))
            .collect()
    }

    /// The memories that expire after the first moment, and not after the last.
    pub(crate) fn expiring(&self, first: Timestamp, last: Timestamp) -> Vec<u32> {
        let number = |place: u32| u32_at(&self.expiries, place as usize);
        let expires_at = |place: u32| self.traits(number(place)).map(|traits| traits.expires_at);
        let count = self.expiries.len() / 4;
        let begin = lower_bound(count, |place| expires_at(place) <= Some(first));
        (begin..count as u32)
            .take_while(|place| expires_at(*place) <= Some(last))
            .map(number)
            .collect()
    }
}

/// The first of so many numbers that is not before what is looked for.
fn lower_bound(count: usize, is_before: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut high) = (0, count as u32);
    while low < high {
        let middle = u32::midpoint(low, high);
        if is_before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

pub(crate) fn write_traits(traits: &Traits, bytes: &mut Vec<u8>) {
    let Traits {
        space,
        origin,
        owner,
        collection,
        section,
        kind,
        replaces,
        ..
    } = *traits;
    let names = [
        Some(space),
        Some(origin),
        owner,
        collection,
        Some(section),
        Some(kind),
    ]
    .map(Name::number);
    bytes.extend(
        names
            .into_iter()
            .chain([replaces])
            .flat_map(u32::to_ne_bytes),
    );
    let visibility = VISIBILITIES
        .iter()
        .position(|visibility| *visibility == traits.visibility);
    let delivery = DELIVERIES
        .iter()
        .position(|delivery| *delivery == traits.delivery);
    let tier = Tier::ALL.iter().position(|tier| *tier == traits.tier);
    bytes.extend([visibility, delivery, tier].map(|place| place.unwrap_or_default() as u8));
    bytes.push(u8::from(traits.is_forgotten));
    bytes.extend(traits.expires_at.microseconds().to_ne_bytes());
    bytes.extend(Name::number(traits.program).to_ne_bytes());
}
