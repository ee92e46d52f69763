//! Small values that outlast a session.

use loci_core::{Batch, Caller, Change, Result};

use crate::Engine;

impl Engine {
    /// The caller's value under that name; none if there is none.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn setting(&self, caller: &Caller, name: &str) -> Result<Option<String>> {
        self.store.setting(&caller.space, caller.principal.subject.as_deref(), name)
    }

    /// Stores the caller's value under that name. Durable when it returns.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    pub fn put_setting(&self, caller: &Caller, name: &str, value: String) -> Result<()> {
        let put = Change::PutSetting { owner: caller.principal.subject.clone(), name: name.to_owned(), value };
        self.store.commit(Batch { space: caller.space.clone(), changes: vec![put] })
    }
}
