//! Random numbers.

use std::time::Instant;

/// Returns a random number.
pub(crate) fn random() -> u64 {
    // Without the generator of the operating system, the time tells transactions apart.
    getrandom::u64().unwrap_or_else(|_| Instant::now().elapsed().subsec_nanos().into())
}
