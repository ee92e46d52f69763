//! Consolidation in the background, if the installation wants it: one pass over a space at a time, a few
//! memories in each step.

use std::collections::BTreeSet;
use std::sync::PoisonError;

use loci_core::{Caller, Result, Scope, Space, Timestamp};

use super::CONSOLIDATE;
use super::progress::Turn;
use crate::call::{CallInfo, Effect};
use crate::engine::Engine;

/// The tool set of the background in the audit log.
const BACKGROUND: &str = "background";
/// The setting of a space that has the time of its last pass, in microseconds since 1970.
const CONSOLIDATED_AT: &str = "consolidated_at";

impl Engine {
    /// Does a step of the [consolidation](crate::Consolidation::consolidate) in the background: in one
    /// space after the other, as soon as [`consolidate_seconds`](crate::Policy::consolidate_seconds)
    /// have passed since the last pass there. Returns true if there may be more to do. Any number of
    /// processes may run it on one store; one at a time consolidates in a partition. All changes of a
    /// pass are one call of the local user.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read or written, or is not ready to search. Then the pass
    /// starts again.
    pub fn consolidate_some(&self) -> Result<bool> {
        if self.policy.consolidate_seconds == 0 {
            return Ok(false);
        }
        let turn = &self.rounds.consolidation;
        let mut turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        let next = match turn.take() {
            None => self.next_turn()?,
            under_way => under_way,
        };
        let Some(mut next) = next else {
            return Ok(false);
        };
        let (leases, lease) = (self.leases(), &self.rounds.consolidating);
        // Another engine may have the lease, and does it.
        if !leases.hold(lease, &next.partition)? {
            return Ok(false);
        }
        if next.pass.is_comparing() {
            let system = self.system(&whole(&next.space));
            system.consolidation().step(&mut next.pass)?;
            *turn = Some(next);
            return Ok(true);
        }
        let scopes = [Scope::Write];
        let info = CallInfo::new(
            BACKGROUND,
            CONSOLIDATE,
            "memory:write",
            Effect::Write,
            &scopes,
        );
        let is_done = self.call(whole(&next.space), info.logged_with_changes(), |call| {
            while leases.hold(lease, &next.partition)? {
                if !call.consolidation().step(&mut next.pass)? {
                    return Ok(true);
                }
            }
            Ok(false)
        })?;
        if is_done {
            let now = self.clock.now().microseconds().to_string();
            let system = self.system(&whole(&next.space));
            system.settings().put(CONSOLIDATED_AT, now)?;
        }
        leases.give_back(lease)?;
        Ok(is_done)
    }

    /// Returns the start of a pass over a space that is due.
    fn next_turn(&self) -> Result<Option<Turn>> {
        let mut spaces = BTreeSet::from_iter(self.audit().spaces()?);
        spaces.insert(Space::default());
        let seconds = i64::try_from(self.policy.consolidate_seconds).unwrap_or(i64::MAX);
        for space in spaces {
            let system = self.system(&whole(&space));
            let last = system.settings().get(CONSOLIDATED_AT)?;
            let last = last.and_then(|last| last.parse().ok());
            let last = last.map(Timestamp::from_microseconds);
            if last.is_some_and(|last| last.plus_seconds(seconds) > self.clock.now()) {
                continue;
            }
            return Ok(Some(Turn {
                partition: self.store.partition_of(&space),
                pass: system.consolidation().begin_pass(false)?,
                space,
            }));
        }
        Ok(None)
    }
}

/// Returns the caller who may change every memory of a space.
fn whole(space: &Space) -> Caller {
    Caller {
        space: space.clone(),
        all_users: true,
        ..Caller::local()
    }
}
