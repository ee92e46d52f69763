//! The machine that keeps the notes of a store which several machines share: its folder is theirs,
//! and only it changes them.

use loci_core::{Error, NoteLock, Result, Timestamp};

use super::Notes;
use super::folder_state::FolderState;

/// The name of the lease of the machine that keeps the notes.
const LEASE: &str = "notes";
/// Seconds for which a machine keeps the notes after it last changed or read them. Each round of
/// the process that watches the folder extends it.
const LEASE_SECONDS: i64 = 600;
/// Seconds before the end of the lease from which on it is extended.
const EXTENDED_SECONDS: i64 = 300;

/// Returns the name for people of a holder of the lease.
fn shown(holder: &str) -> &str {
    holder.rsplit_once(' ').map_or(holder, |(name, _)| name)
}

impl Notes<'_> {
    /// Takes the lock of the folder, and the lease of the machine that keeps the notes.
    ///
    /// # Errors
    /// `unavailable` if the lock is not to be had, or another machine keeps the notes.
    pub(crate) fn lock(&self, folder: &FolderState) -> Result<Box<dyn NoteLock>> {
        let lock = folder.files.lock()?;
        self.keep(folder)?;
        Ok(lock)
    }

    /// Takes or extends the lease of the machine that keeps the notes.
    ///
    /// # Errors
    /// `unavailable` if another machine keeps them.
    pub(super) fn keep(&self, folder: &FolderState) -> Result<()> {
        let Some(keeper) = &folder.keeper else {
            return Ok(());
        };
        let now = self.clock.now();
        // A lease that seems to last longer was taken before the clock went back.
        let is_kept = |until: Timestamp| {
            now.plus_seconds(EXTENDED_SECONDS) < until && until <= now.plus_seconds(LEASE_SECONDS)
        };
        if folder.state().kept_until.is_some_and(is_kept) {
            return Ok(());
        }
        let until = now.plus_seconds(LEASE_SECONDS);
        if !self.store.lease(LEASE, &keeper.holder, now, until)? {
            folder.state().kept_until = None;
            return Err(self.no_folder());
        }
        folder.state().kept_until = Some(until);
        Ok(())
    }

    /// Returns the error for a change of notes in a process that does not keep them.
    pub(crate) fn no_folder(&self) -> Error {
        match self.store.lease_holder(LEASE, self.clock.now()) {
            Ok(Some(holder)) => Error::unavailable(format!(
                "the notes are kept by {}, which alone changes them: change them there",
                shown(&holder)
            )),
            Ok(None) => Error::unavailable(
                "there is no folder of notes here: name one with `--vault` on the machine that keeps them",
            ),
            Err(error) => error,
        }
    }
}
