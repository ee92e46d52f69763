//! Locks the maps and states that connections and requests share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks and ignores poisoning: a panic elsewhere leaves these maps intact.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
