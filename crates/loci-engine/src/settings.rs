//! Settings of callers: small values that outlast a session, and the authors that they trust.

use loci_core::limits::CONTENT_BYTES_MAX;
use loci_core::{Batch, Change, Result, Store};

use crate::actor::Actor;
use crate::authors::{TRUSTED_AUTHORS, Trust};
use crate::engine::Engine;

/// The settings of callers, which outlast a session, and the authors whose directives they take.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    caller: Actor<'a>,
    store: &'a dyn Store,
    trusted_authors: &'a [String],
}

impl Engine {
    /// Returns the settings of callers, and the authors whose directives they take.
    pub(crate) fn settings<'a>(&'a self, caller: Actor<'a>) -> Settings<'a> {
        Settings {
            caller,
            store: &*self.store,
            trusted_authors: &self.trusted_authors,
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

    /// Stores the caller's value under that name. Durable when it returns.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for a name or a value beyond the limits of an archive;
    /// `unavailable` if the store cannot be written.
    pub fn put(&self, name: &str, value: String) -> Result<()> {
        self.put_all([(name, value)])
    }

    /// Stores the caller's values under those names, all or none. Durable when it returns.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for a name or a value beyond the limits of an archive;
    /// `unavailable` if the store cannot be written.
    pub fn put_all<'v>(&self, values: impl IntoIterator<Item = (&'v str, String)>) -> Result<()> {
        let owner = &self.caller.principal.subject;
        let values: Vec<(&str, String)> = values.into_iter().collect();
        for (name, value) in &values {
            crate::check::name("name", name)?;
            crate::check::bounded("value", value, CONTENT_BYTES_MAX)?;
        }
        let put = |(name, value): (&str, _)| Change::PutSetting {
            owner: owner.clone(),
            name: name.to_owned(),
            value,
        };
        let changes = values.into_iter().map(put).collect();
        self.store
            .commit(Batch::new(self.caller.space.clone(), changes))
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
    /// No tool calls it: it is the choice of a user. Durable when it returns.
    ///
    /// # Errors
    /// `invalid_argument` for an invalid author; `unavailable` if the store cannot be written.
    pub fn set_trusted(&self, author: &str, is_trusted: bool) -> Result<bool> {
        crate::check::name("author", author)?;
        let mut authors = self.trusted_authors()?;
        let place = authors.binary_search_by(|other| other.as_str().cmp(author));
        match (place, is_trusted) {
            (Err(place), true) => authors.insert(place, author.to_owned()),
            (Ok(place), false) => drop(authors.remove(place)),
            _ => return Ok(false),
        }
        self.put(TRUSTED_AUTHORS, authors.join("\n"))?;
        Ok(true)
    }
}
