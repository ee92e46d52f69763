//! Leases on background work, of which each is done by one engine at a time.

pub(crate) mod rounds;

use std::sync::atomic::Ordering;

use loci_core::{Clock, Partition, Result, Space, Store, Work};

use crate::engine::Engine;

use rounds::{Lease, LeaseState, Rounds};

/// The most partitions of which a round tries to take the lease before it ends without work.
const PARTITIONS_TRIED_MAX: usize = 16;

/// Leases on background work.
#[derive(Clone, Copy)]
pub(crate) struct Leases<'a> {
    store: &'a dyn Store,
    clock: &'a dyn Clock,
    rounds: &'a Rounds,
}

impl Engine {
    /// Returns the leases on background work.
    pub(crate) fn leases(&self) -> Leases<'_> {
        Leases {
            store: &*self.store,
            clock: &*self.clock,
            rounds: &self.rounds,
        }
    }
}

impl Leases<'_> {
    /// Runs a round of work that one engine at a time does in a partition: in the partitions that
    /// have such work, from the one after that of the last round on, until it did something in one.
    /// Leaves out those whose lease another engine holds. After a round that did something, the
    /// lease is kept for the next one.
    ///
    /// # Errors
    /// The errors of the work; `unavailable` if the store cannot be written.
    pub(crate) fn in_turn(
        &self,
        lease: &Lease,
        kind: Work<'_>,
        work: impl Fn(&Partition) -> Result<usize>,
    ) -> Result<usize> {
        let last = lease.last();
        let partitions = self
            .store
            .partitions_with(kind, last.as_ref(), PARTITIONS_TRIED_MAX)?;
        for partition in partitions {
            match self.under_lease(lease, &partition, || work(&partition)) {
                Ok(0) => {}
                ended => return ended,
            }
        }
        self.give_back(lease).map(|()| 0)
    }

    /// Returns true if a partition has work of this kind that is left to do, as far as this looks into
    /// it. Takes no lease.
    ///
    /// # Errors
    /// The errors of the look; `unavailable` if the store cannot be read.
    pub(crate) fn is_any_left(
        &self,
        kind: Work<'_>,
        is_left: impl Fn(&Partition) -> Result<bool>,
    ) -> Result<bool> {
        let partitions = self
            .store
            .partitions_with(kind, None, PARTITIONS_TRIED_MAX)?;
        for partition in partitions {
            if is_left(&partition)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Runs a round of work that one engine at a time does in this partition, unless another engine
    /// holds the lease. After a round that did something, the lease is kept for the next one.
    ///
    /// # Errors
    /// The errors of the work; `unavailable` if the store cannot be written.
    pub(crate) fn under_lease(
        &self,
        lease: &Lease,
        partition: &Partition,
        work: impl FnOnce() -> Result<usize>,
    ) -> Result<usize> {
        if !self.hold(lease, partition)? {
            return Ok(0);
        }
        match work() {
            Ok(done) if done > 0 => Ok(done),
            ended => {
                let given_back = self.give_back(lease);
                ended.and_then(|done| given_back.map(|()| done))
            }
        }
    }

    /// Takes a lease on a partition, or checks that at least half of its time is left; returns true
    /// if this engine holds it. Usually needs no write. If the clock was set back since, others may
    /// hold it, so it is taken again. Releases the lease on another partition. An engine that is
    /// ending takes none.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    pub(crate) fn hold(&self, lease: &Lease, partition: &Partition) -> Result<bool> {
        let mut state = lease.state();
        // Checked under the lock, so that releasing all leases after setting the flag misses none.
        if self.rounds.is_ending.load(Ordering::SeqCst) {
            return Ok(false);
        }
        let now = self.clock.now();
        let next = now.plus_seconds(lease.seconds);
        if state.partition.as_ref() != Some(partition) {
            self.release(lease, &mut state)?;
        }
        let lasts = |until| until >= now.plus_seconds(lease.seconds / 2) && until <= next;
        if state.until.is_some_and(lasts) {
            return Ok(true);
        }
        let (name, holder) = (lease.name(partition), &self.rounds.holder);
        let is_held = self.store.lease(&name, holder, now, next)?;
        *state = LeaseState {
            partition: Some(partition.clone()),
            until: is_held.then_some(next),
        };
        Ok(is_held)
    }

    /// Returns true if this engine may look in which partitions there is work, for which `look` is the
    /// lease. One engine at a time does, because a look is at all partitions, of which a server may have
    /// a million. In a store of one partition any may.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    pub(crate) fn may_look(&self, look: &Lease) -> Result<bool> {
        let is_one = self.store.partition_of(&Space::default()) == Partition::Whole;
        Ok(is_one || self.hold(look, &Partition::Whole)?)
    }

    pub(crate) fn give_back(&self, lease: &Lease) -> Result<()> {
        // Under the lock, so that an engine that is told of an end by it comes after this.
        self.release(lease, &mut lease.state())
    }

    fn release(&self, lease: &Lease, state: &mut LeaseState) -> Result<()> {
        if let (Some(partition), Some(_)) = (&state.partition, state.until.take()) {
            let (now, name) = (self.clock.now(), lease.name(partition));
            self.store.lease(&name, &self.rounds.holder, now, now)?;
        }
        Ok(())
    }

    /// Releases the leases for sweeping, embedding and the like, as far as possible; the others expire.
    pub(crate) fn give_back_work(&self) {
        let models = self.rounds.of_all_models();
        let embedding = models.iter().map(|model| &model.embedding);
        let rounds = self.rounds;
        let own = [
            &rounds.sweeping,
            &rounds.sweep_look,
            &rounds.embedding_look,
            &rounds.examining,
            &rounds.examination_look,
            &rounds.enrichment_look,
            &rounds.consolidating,
            &rounds.consolidation_look,
        ];
        for lease in own.into_iter().chain(embedding) {
            let _ = self.give_back(lease);
        }
    }

    /// Releases the leases for the use of models in the same way.
    pub(crate) fn give_up_models(&self) {
        for model in self.rounds.of_all_models() {
            let _ = self.give_back(&model.in_use);
        }
    }
}
