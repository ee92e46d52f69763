//! Locks for changes of one thing within this process.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use loci_core::{ErrorCode, Result};

/// Locks, within this process, for changes of one thing, such as a memory or a conversation.
/// Without them its writers would share a commit, in which all but one fail and retry.
#[derive(Debug)]
pub(crate) struct Locks([Mutex<()>; LOCKS]);

/// The number of locks. Unrelated keys share a lock rarely enough.
const LOCKS: usize = 64;

impl Default for Locks {
    fn default() -> Self {
        Locks(std::array::from_fn(|_| Mutex::new(())))
    }
}

impl Locks {
    /// Takes the lock of this key. No thread takes a second one while it holds one.
    pub(crate) fn lock(&self, key: &impl Hash) -> MutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        self.0[hasher.finish() as usize % LOCKS]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Repeats a read-change-write of the thing with this key until no other process interferes.
    /// Every failed attempt is another process's success, so the number of attempts need only
    /// exceed the number of processes that write one thing at once.
    pub(crate) fn change<T>(
        &self,
        key: &impl Hash,
        mut attempt: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        const ATTEMPTS_MAX: usize = 100;
        let _exclusive = self.lock(key);
        for _ in 1..ATTEMPTS_MAX {
            match attempt() {
                Err(error) if error.code == ErrorCode::Conflict => {}
                outcome => return outcome,
            }
        }
        attempt()
    }
}
