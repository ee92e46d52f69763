//! Which memory may stand for which.

use std::cmp::Reverse;
use std::collections::HashMap;

use loci_core::{
    Delivery, EnrichmentStatus, Memory, MemoryId, ModelId, SOURCE_FILE, SaidBy, Tier, Timestamp,
};
use loci_text::contradiction::Judge;
use loci_text::passages::passages;
use loci_text::statement::repetition::{content_words, says_all_of};

use super::progress::Candidate;
use crate::models::Models;
use crate::notes::NOTE_KIND;
use crate::orders::is_directive;

/// The cosine similarity from which a text that has the words of another one says the same.
const COSINE_MIN: f32 = 0.8;

impl Candidate {
    pub(super) fn of(memory: Memory, replaced: Option<&Memory>) -> Self {
        Candidate {
            content: content_words(&memory.content),
            replaced: replaced.map(|newer| (newer.created_at, newer.said_by())),
            memory,
        }
    }

    /// Returns the place among memories that may stand for one another: the most trusted first, then the
    /// ones that were replaced, which lead to what replaced them, then the ones that say most, then the
    /// oldest, which others know by its id.
    fn rank(&self) -> (SaidBy, bool, bool, Reverse<usize>, Timestamp, &MemoryId) {
        let Memory {
            superseded_by,
            delivery,
            created_at,
            id,
            ..
        } = &self.memory;
        (
            self.memory.said_by(),
            superseded_by.is_none(),
            *delivery != Delivery::Bootstrap,
            Reverse(self.content),
            *created_at,
            id,
        )
    }

    /// Returns the order of two in which the first one may stand for the second.
    pub(super) fn compare(&self, other: &Candidate) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }

    /// True if it may stand behind another one at all.
    pub(super) fn may_stand_behind(&self) -> bool {
        self.memory.superseded_by.is_none() && may_stand_behind(&self.memory)
    }

    /// True if it may stand for another one: it says all of that one, and nothing is lost but the
    /// repetition. `cosine` is the similarity of their texts with the model of their vectors.
    pub(super) fn may_stand_for(
        &self,
        other: &Candidate,
        cosine: Option<(&ModelId, f32)>,
        models: &Models<'_>,
    ) -> bool {
        let (one, behind) = (&self.memory, &other.memory);
        let replaces = self
            .replaced
            .is_none_or(|(at, by)| at >= behind.created_at && by <= behind.said_by());
        replaces
            && other.may_stand_behind()
            && may_stand_for_others(one)
            && is_one_place(one, behind)
            && one.said_by() <= behind.said_by()
            && (one.expires_at.is_none() || one.expires_at == behind.expires_at)
            && behind.citations.iter().all(|it| one.citations.contains(it))
            && says_the_same(one, behind, cosine, models)
    }
}

/// True if a memory may stand behind another one, unless it was replaced.
pub(super) fn may_stand_behind(memory: &Memory) -> bool {
    may_stand_for_others(memory) && !is_directive(memory)
}

/// True if a memory may stand for another one.
pub(super) fn may_stand_for_others(memory: &Memory) -> bool {
    let is_of_file = memory.attributes.contains_key(SOURCE_FILE);
    memory.tier == Tier::LongTerm
        && memory.forgotten_at.is_none()
        && memory.enrichment != Some(EnrichmentStatus::Pending)
        && memory.kind != NOTE_KIND
        && !is_of_file
        && !memory.is_unreviewed()
        && !memory.is_summary()
}

/// True if the same people see two memories in the same place, under the same title.
fn is_one_place(one: &Memory, other: &Memory) -> bool {
    one.id != other.id
        && one.space == other.space
        && one.owner == other.owner
        && one.visibility == other.visibility
        && one.location.collection == other.location.collection
        && one.title == other.title
}

fn says_the_same(
    one: &Memory,
    behind: &Memory,
    cosine: Option<(&ModelId, f32)>,
    models: &Models<'_>,
) -> bool {
    if !says_all_of(&one.content, &behind.content) {
        return false;
    }
    let is_mutual = || says_all_of(&behind.content, &one.content);
    let Some((model, raw)) = cosine else {
        // Without a second witness, neither may say more.
        return is_mutual();
    };
    let is_short = |memory: &Memory| passages(&memory.content).len() == 1;
    let is_near = is_short(one) && is_short(behind) && models.comparable(model, raw) >= COSINE_MIN;
    let is_one_newer = (one.created_at, &one.id) > (behind.created_at, &behind.id);
    let (newer, older) = if is_one_newer {
        (one, behind)
    } else {
        (behind, one)
    };
    let contradicts = || Judge::of(&newer.content).contradiction(&older.content, cosine) > 0.0;
    is_near && !contradicts() || is_mutual() && have_the_same_words(one, behind)
}

/// True if two texts that say all of each other have the same words.
fn have_the_same_words(one: &Memory, behind: &Memory) -> bool {
    let words = |memory: &Memory| -> Vec<String> {
        let words = memory.content.split(|sign: char| !sign.is_alphanumeric());
        let words = words.filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    words(one) == words(behind)
}

/// Returns for each memory the one that stands for it. `edges` has for each the ones that may, and
/// `may` says of two others whether the first may stand for the second. No one that stands for others
/// stands behind another one itself.
pub(super) fn assigned(
    candidates: &HashMap<MemoryId, Candidate>,
    edges: &HashMap<MemoryId, Vec<MemoryId>>,
    may: impl Fn(&Candidate, &Candidate) -> bool,
) -> HashMap<MemoryId, MemoryId> {
    let mut order: Vec<&Candidate> = candidates.values().collect();
    order.sort_by(|a, b| a.compare(b));
    let mut behind: HashMap<MemoryId, MemoryId> = HashMap::new();
    for candidate in order {
        let near = edges.get(&candidate.memory.id).into_iter().flatten();
        let mut heads: Vec<(&Candidate, bool)> = near
            .filter_map(|id| {
                let head = behind.get(id);
                let is_direct = head.is_none();
                Some((candidates.get(head.unwrap_or(id))?, is_direct))
            })
            .collect();
        heads.sort_by(|a, b| a.0.compare(b.0).then_with(|| b.1.cmp(&a.1)));
        let head = heads.into_iter().find(|(head, is_direct)| {
            head.compare(candidate).is_lt() && (*is_direct || may(head, candidate))
        });
        if let Some((head, _)) = head {
            behind.insert(candidate.memory.id.clone(), head.memory.id.clone());
        }
    }
    behind
}
