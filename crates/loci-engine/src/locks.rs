//! Locks for changes of one thing within this process.

use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use loci_core::{ErrorCode, Result};

/// Locks, within this process, for changes of one thing, e.g. a memory or a conversation. Without
/// them its writers would share a commit, in which all but one fail and retry.
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
    /// exceed the number of processes that write one thing at once. After some attempts it waits
    /// between them, for a random time, so that these processes do not all try again at once.
    pub(crate) fn change<T>(
        &self,
        key: &impl Hash,
        mut attempt: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        const ATTEMPTS_MAX: usize = 100;
        const ATTEMPTS_AT_ONCE: usize = 3;
        let _exclusive = self.lock(key);
        for failed in 1..ATTEMPTS_MAX {
            match attempt() {
                Err(error) if error.code == ErrorCode::Conflict => {}
                outcome => return outcome,
            }
            if failed >= ATTEMPTS_AT_ONCE {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "another process shows no sign to wait for"
                )]
                thread::sleep(random_pause());
            }
        }
        attempt()
    }
}

/// Returns a random time of up to 20 ms.
fn random_pause() -> Duration {
    const MICROSECONDS_MAX: u64 = 20_000;
    let random = RandomState::new().build_hasher().finish();
    Duration::from_micros(random % MICROSECONDS_MAX)
}
