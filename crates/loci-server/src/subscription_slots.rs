//! Subscription slots: limits the number of subscriptions and shares them between subjects.

use std::sync::{Arc, Mutex};

use loci_admission::{Subject, subject_to_evict};
use tokio_util::sync::CancellationToken;

use crate::mutex::lock;

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

    /// Takes a slot for a subject. If no slot is free, evicts the newest subscription of the subject
    /// that has most, provided that it then still has at least as many as this subject; otherwise
    /// returns `None`.
    pub(crate) fn take(self: &Arc<Self>, subject: Subject) -> Option<SubscriptionSlot> {
        let mut taken = lock(&self.taken);
        if taken.len() >= self.slots_max {
            let holders = taken.iter().map(|slot| &slot.subject);
            let most = subject_to_evict(holders, &subject)?;
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
    use loci_core::Space;

    use super::*;

    fn user(name: &str) -> Subject {
        Subject::User(Space::default(), name.to_owned())
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
        let mut anns: Vec<_> = (0..8).map(|_| slots.take(user("ann")).unwrap()).collect();
        assert!(
            slots.take(user("ann")).is_none(),
            "there are no more for one alone"
        );
        let bobs: Vec<_> = std::iter::from_fn(|| slots.take(user("bob"))).collect();
        assert_eq!((held(&anns), held(&bobs)), (4, 4));
        // The oldest subscriptions stay.
        assert!(
            anns[..4]
                .iter()
                .all(|slot| !slot.taken.evicted.is_cancelled())
        );
        let cids: Vec<_> = std::iter::from_fn(|| slots.take(user("cid"))).collect();
        assert_eq!((held(&anns) + held(&bobs), held(&cids)), (6, 2));
        // The same name in another space is another subject.
        let elsewhere = Subject::User(Space::parse("space", "other").unwrap(), "cid".to_owned());
        assert!(slots.take(elsewhere).is_some());
        anns.clear();
        assert!(slots.take(user("ann")).is_some() && slots.take(user("cid")).is_some());
    }

    #[test]
    fn a_slot_is_free_again() {
        let slots = SubscriptionSlots::new(1);
        for _ in 0..3 {
            assert!(slots.take(user("ann")).is_some());
        }
    }
}
