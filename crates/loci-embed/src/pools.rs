//! Threads for the runtime and its kernels, one for each core in use.

use std::sync::{Arc, OnceLock};

use rten::ThreadPool;

use crate::cores::Core;

/// A pool of one thread for each number of a core, started at the first use of the number. Its
/// thread has the priority of the thread that uses it first, as all that use that number have.
pub(crate) struct Pools(Vec<OnceLock<Arc<ThreadPool>>>);

impl Pools {
    /// Returns pools for this number of cores, without a thread yet.
    pub(crate) fn new(cores: usize) -> Self {
        Pools((0..cores).map(|_| OnceLock::new()).collect())
    }

    /// Returns the pool of a core.
    pub(crate) fn of(&self, core: &Core<'_>) -> &Arc<ThreadPool> {
        self.0[core.number()].get_or_init(|| Arc::new(ThreadPool::with_num_threads(1)))
    }
}
