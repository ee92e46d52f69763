//! A store in which a test can fail or delay every call, or run an action before it.

use std::sync::{Arc, PoisonError, RwLock};

use loci_core::{Result, StoreLayer};
use loci_testkit::NaiveStore;

type Hook = Arc<dyn Fn(&str) -> Result<()> + Send + Sync>;

/// The naive store behind a hook that gets the name of every method before it runs.
pub struct FaultyStore {
    pub inner: Arc<NaiveStore>,
    hook: RwLock<Hook>,
}

impl FaultyStore {
    pub fn new(inner: Arc<NaiveStore>) -> Arc<Self> {
        Arc::new(FaultyStore {
            inner,
            hook: RwLock::new(Arc::new(|_| Ok(()))),
        })
    }

    pub fn before(&self, hook: impl Fn(&str) -> Result<()> + Send + Sync + 'static) {
        *self.hook.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(hook);
    }
}

impl StoreLayer for FaultyStore {
    type Inner = NaiveStore;

    fn inner(&self) -> &NaiveStore {
        &self.inner
    }

    fn around<T>(
        &self,
        operation: &'static str,
        run: impl FnOnce(&NaiveStore) -> Result<T>,
    ) -> Result<T> {
        let hook = self
            .hook
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        hook(operation)?;
        run(&self.inner)
    }
}
