//! Databases of others, read from a copy, with the errors of this crate.

use std::path::Path;

use loci_databases::Database as Copy;
pub use loci_databases::{Cells, is_database};
use rusqlite::ToSql;

use crate::Result;

/// A copy of a database with its log.
#[derive(Clone)]
pub struct Database(Copy);

impl Database {
    /// See [`loci_databases::Database::copied`].
    ///
    /// # Errors
    /// If a file cannot be read or copied, or is no database.
    pub fn copied(file: &Path) -> Result<Self> {
        Ok(Database(Copy::copied(file)?))
    }

    /// Returns the notice for a reader if a log may be missing.
    pub fn notice(&self) -> Option<String> {
        self.0.notice()
    }

    /// Returns the columns of a table; an empty list if there is no such table.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn columns(&self, table: &str) -> Result<Vec<String>> {
        Ok(self.0.columns(table)?)
    }

    /// Returns true if all these tables exist.
    ///
    /// # Errors
    /// As for [`columns`](Database::columns).
    pub fn has(&self, tables: &[&str]) -> Result<bool> {
        Ok(self.0.has(tables)?)
    }

    /// Runs a query and passes each row to `visit`.
    ///
    /// # Errors
    /// If the database cannot be read; the first error of `visit`.
    pub fn rows(
        &self,
        query: &str,
        parameters: &[&dyn ToSql],
        visit: impl FnMut(&Cells<'_, '_>) -> Result<()>,
    ) -> Result<()> {
        self.0.rows(query, parameters, visit)
    }
}
