//! Settings: small values that outlast a session.

use loci_core::{Batch, Caller, Change, Result};

use crate::Engine;

impl Engine {
    /// Returns the caller's value under that name, if there is one.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn setting(&self, caller: &Caller, name: &str) -> Result<Option<String>> {
        self.store
            .setting(&caller.space, caller.principal.subject.as_deref(), name)
    }

    /// Stores the caller's value under that name. Durable when it returns.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    pub fn put_setting(&self, caller: &Caller, name: &str, value: String) -> Result<()> {
        self.put_settings(caller, [(name, value)])
    }

    /// Stores the caller's values under those names, all or none. Durable when it returns.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    pub fn put_settings<'a>(
        &self,
        caller: &Caller,
        values: impl IntoIterator<Item = (&'a str, String)>,
    ) -> Result<()> {
        let owner = &caller.principal.subject;
        let put = |(name, value): (&str, _)| Change::PutSetting {
            owner: owner.clone(),
            name: name.to_owned(),
            value,
        };
        let changes = values.into_iter().map(put).collect();
        self.store.commit(Batch {
            space: caller.space.clone(),
            changes,
        })
    }
}
