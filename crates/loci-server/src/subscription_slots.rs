//! Subscription slots: limits the number of subscriptions and shares them between subjects.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use loci_core::{Caller, Space};
use tokio_util::sync::CancellationToken;

use crate::mutex::lock;

/// A subject in its space. All anonymous callers are one.
type Subject = (Space, Option<String>);

/// All subscription slots of one process.
pub(crate) struct SubscriptionSlots {
    slots_max: usize,
    /// In the order in which they were taken.
    taken: Mutex<Vec<Arc<UsedSlot>>>,
}

struct UsedSlot {
    subject: Subject,
    evicted: CancellationToken,
}

/// A taken slot, which is freed when this is dropped.
pub(crate) struct SubscriptionSlot {
    taken: Arc<UsedSlot>,
    slots: Arc<SubscriptionSlots>,
}

impl SubscriptionSlots {
    pub(crate) fn new(slots_max: usize) -> Arc<Self> {
        Arc::new(SubscriptionSlots {
            slots_max,
            taken: Mutex::default(),
        })
    }

    /// Takes a slot for the subject of the caller. If no slot is free, evicts the newest
    /// subscription of the subject that has most, provided that it then still has at least as many
    /// as this subject; otherwise returns `None`.
    pub(crate) fn take(self: &Arc<Self>, caller: &Caller) -> Option<SubscriptionSlot> {
        let subject = (caller.space.clone(), caller.principal.subject.clone());
        let mut taken = lock(&self.taken);
        if taken.len() >= self.slots_max {
            let mut counts: HashMap<&Subject, usize> = HashMap::new();
            for slot in taken.iter() {
                *counts.entry(&slot.subject).or_default() += 1;
            }
            let own = counts.get(&subject).copied().unwrap_or_default();
            let (most, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
            if own + 1 >= count {
                return None;
            }
            let newest = taken.iter().rposition(|slot| slot.subject == *most)?;
            taken.remove(newest).evicted.cancel();
        }
        let slot = Arc::new(UsedSlot {
            subject,
            evicted: CancellationToken::new(),
        });
        taken.push(Arc::clone(&slot));
        Some(SubscriptionSlot {
            taken: slot,
            slots: Arc::clone(self),
        })
    }
}

impl SubscriptionSlot {
    /// Waits until the slot was given to another subject.
    pub(crate) async fn evicted(&self) {
        self.taken.evicted.cancelled().await;
    }
}

impl Drop for SubscriptionSlot {
    fn drop(&mut self) {
        lock(&self.slots.taken).retain(|slot| !Arc::ptr_eq(slot, &self.taken));
    }
}

#[cfg(test)]
mod tests {
    use loci_core::{Principal, Scope, Scopes};

    use super::*;

    fn caller(subject: &str) -> Caller {
        Caller::new(
            Space::default(),
            Principal::new(subject, Scopes::of(&[Scope::Read])),
        )
    }

    #[test]
    fn nobody_keeps_others_out() {
        let slots = SubscriptionSlots::new(8);
        let held = |slots: &[SubscriptionSlot]| {
            slots
                .iter()
                .filter(|slot| !slot.taken.evicted.is_cancelled())
                .count()
        };
        let mut anns: Vec<_> = (0..8)
            .map(|_| slots.take(&caller("ann")).unwrap())
            .collect();
        assert!(
            slots.take(&caller("ann")).is_none(),
            "there are no more for one alone"
        );
        let bobs: Vec<_> = std::iter::from_fn(|| slots.take(&caller("bob"))).collect();
        assert_eq!((held(&anns), held(&bobs)), (4, 4));
        // The oldest subscriptions stay.
        assert!(
            anns[..4]
                .iter()
                .all(|slot| !slot.taken.evicted.is_cancelled())
        );
        let cids: Vec<_> = std::iter::from_fn(|| slots.take(&caller("cid"))).collect();
        assert_eq!((held(&anns) + held(&bobs), held(&cids)), (6, 2));
        // The same name in another space is another subject.
        let elsewhere = Caller::new(
            Space::parse("space", "other").unwrap(),
            caller("cid").principal,
        );
        assert!(slots.take(&elsewhere).is_some());
        anns.clear();
        assert!(slots.take(&caller("ann")).is_some() && slots.take(&caller("cid")).is_some());
    }

    #[test]
    fn a_slot_is_free_again() {
        let slots = SubscriptionSlots::new(1);
        for _ in 0..3 {
            assert!(slots.take(&caller("ann")).is_some());
        }
    }
}
