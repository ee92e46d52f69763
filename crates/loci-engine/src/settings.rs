//! Settings of callers: small values that outlast a session, and the authors that they trust.

use std::collections::BTreeMap;

use loci_core::limits::CONTENT_BYTES_MAX;
use loci_core::{Batch, Change, Condition, Result, Store};

use crate::access::Access;
use crate::actor::Actor;
use crate::authors::{TRUSTED_AUTHORS, Trust};
use crate::engine::Engine;
use crate::locks::Locks;

/// The settings of callers, which outlast a session, and the authors whose directives they take.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    caller: Actor<'a>,
    store: &'a dyn Store,
    locks: &'a Locks,
    trusted_authors: &'a [String],
    access: Access<'a>,
}

impl Engine {
    /// Returns the settings of callers, and the authors whose directives they take.
    pub(crate) fn settings<'a>(&'a self, caller: Actor<'a>) -> Settings<'a> {
        Settings {
            caller,
            store: &*self.store,
            locks: &self.locks,
            trusted_authors: &self.trusted_authors,
            access: self.access(caller),
        }
    }
}

impl<'a> Settings<'a> {
    /// Returns the caller's value under that name, if there is one.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn get(&self, name: &str) -> Result<Option<String>> {
        self.store.setting(
            &self.caller.space,
            self.caller.principal.subject.as_deref(),
            name,
        )
    }

    /// Stores the caller's value under that name, as [`note`](Self::note) does. Durable when it returns.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for a name or a value beyond the limits of an archive;
    /// `unavailable` if the store cannot be written.
    pub fn put(&self, name: &str, value: String) -> Result<()> {
        self.note(|draft| draft.put(name, value.clone()))
    }

    /// Changes settings that depend on each other, or on what they were, all or none: `change` reads
    /// and writes a draft, and is repeated if another writer changed a setting that it read, so that
    /// no change is lost. A draft without writes stores nothing. What a setting was before is kept, with
    /// who changed it. Durable when it returns.
    ///
    /// # Errors
    /// Those of `change`; `invalid_argument` or `too_large` for a name or a value beyond the limits
    /// of an archive; `conflict` if other writers were faster each time; `unavailable` if the store
    /// cannot be used.
    pub fn change<T>(&self, change: impl FnMut(&mut SettingsDraft<'_>) -> Result<T>) -> Result<T> {
        self.change_keeping(change, true)
    }

    /// Does the same for what programs note for themselves, e.g. what a session has been shown: that has
    /// no history.
    ///
    /// # Errors
    /// As for [`change`](Self::change).
    pub fn note<T>(&self, change: impl FnMut(&mut SettingsDraft<'_>) -> Result<T>) -> Result<T> {
        self.change_keeping(change, false)
    }

    fn change_keeping<T>(
        &self,
        mut change: impl FnMut(&mut SettingsDraft<'_>) -> Result<T>,
        keeps_versions: bool,
    ) -> Result<T> {
        let owner = &self.caller.principal.subject;
        let key = ("settings", &self.caller.space, owner);
        self.locks.change(&key, || {
            let mut draft = SettingsDraft {
                settings: self,
                read: BTreeMap::new(),
                written: BTreeMap::new(),
            };
            let done = change(&mut draft)?;
            if draft.written.is_empty() {
                return Ok(done);
            }
            let versions = if keeps_versions {
                draft.versions()?
            } else {
                Vec::new()
            };
            let SettingsDraft { read, written, .. } = draft;
            let is_as_read = |(name, value)| Condition::SettingIs {
                owner: owner.clone(),
                name,
                value,
            };
            let to_change = |(name, value)| {
                let owner = owner.clone();
                match value {
                    Some(value) => Change::PutSetting { owner, name, value },
                    None => Change::DeleteSetting { owner, name },
                }
            };
            self.store.commit(Batch {
                space: self.caller.space.clone(),
                conditions: read.into_iter().map(is_as_read).collect(),
                changes: written.into_iter().map(to_change).chain(versions).collect(),
            })?;
            Ok(done)
        })
    }

    /// Returns the authors whose directives this reader takes.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn trust(&self) -> Result<Trust<'a>> {
        let mut authors = self.trusted_authors()?;
        authors.extend(self.trusted_authors.iter().cloned());
        Ok(Trust::new(self.caller, authors))
    }

    /// Returns the authors whose directives this reader takes by its own choice, sorted by name.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn trusted_authors(&self) -> Result<Vec<String>> {
        let names = self.get(TRUSTED_AUTHORS)?.unwrap_or_default();
        Ok(names.lines().map(str::to_owned).collect())
    }

    /// Makes a reader take the directives of an author, or stop; returns true if that is a change.
    /// No tool of an agent calls it: it is the choice of a user. Durable when it returns.
    ///
    /// # Errors
    /// `invalid_argument` for an invalid author; `unavailable` if the store cannot be written.
    pub fn set_trusted(&self, author: &str, is_trusted: bool) -> Result<bool> {
        crate::check::name("author", author)?;
        self.change(|draft| {
            let names = draft.get(TRUSTED_AUTHORS)?.unwrap_or_default();
            let mut authors: Vec<&str> = names.lines().collect();
            match (authors.binary_search(&author), is_trusted) {
                (Err(place), true) => authors.insert(place, author),
                (Ok(place), false) => drop(authors.remove(place)),
                _ => return Ok(false),
            }
            draft.put(TRUSTED_AUTHORS, authors.join("\n"))?;
            Ok(true)
        })
    }
}

/// Settings of a caller, as [`Settings::change`] is about to store them.
pub struct SettingsDraft<'a> {
    settings: &'a Settings<'a>,
    /// The values that were read from the store.
    read: BTreeMap<String, Option<String>>,
    written: BTreeMap<String, Option<String>>,
}

impl SettingsDraft<'_> {
    /// Returns the changes that keep what the settings are before. They count as read, so that the
    /// versions are exact.
    fn versions(&mut self) -> Result<Vec<Change>> {
        let owner = self.settings.caller.principal.subject.as_deref();
        let mut versions = Vec::new();
        for (name, after) in &self.written {
            let before = match self.read.get(name) {
                Some(before) => before.clone(),
                None => self.settings.get(name)?,
            };
            self.read.insert(name.clone(), before.clone());
            let states = (before.as_deref(), after.as_deref());
            versions.extend(self.settings.access.setting_version(name, owner, states));
        }
        Ok(versions)
    }

    /// Returns the value under that name as this draft leaves it; `None` if there is none.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn get(&mut self, name: &str) -> Result<Option<String>> {
        if let Some(value) = self.written.get(name).or_else(|| self.read.get(name)) {
            return Ok(value.clone());
        }
        let value = self.settings.get(name)?;
        self.read.insert(name.to_owned(), value.clone());
        Ok(value)
    }

    /// Puts a value under that name.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for a name or a value beyond the limits of an archive.
    pub fn put(&mut self, name: &str, value: String) -> Result<()> {
        crate::check::name("name", name)?;
        crate::check::bounded("value", &value, CONTENT_BYTES_MAX)?;
        self.written.insert(name.to_owned(), Some(value));
        Ok(())
    }

    /// Removes the value under that name, if there is one.
    pub fn remove(&mut self, name: &str) {
        self.written.insert(name.to_owned(), None);
    }
}
