//! The one door to a store: the setting `store` says which, and this module opens it. No other
//! module names a kind of store.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use loci_core::{OpenError, OpenStore, StoreFiles};
use loci_store_sqlite::{Options, SqliteFiles, SqliteStore};

use crate::exit::{Exit, Failure};

/// Where a store is, and how it is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreSettings {
    /// The folder of the store; the data folder if it is not set.
    pub folder: Option<PathBuf>,
    /// How long to wait for a lock that another process holds.
    pub busy_timeout: Duration,
    /// From how many memories on the index is a file that processes share.
    pub index_file_memories: usize,
}

impl StoreSettings {
    /// Reads the setting `store`: the path of a folder.
    ///
    /// # Errors
    /// The problem in words, which do not repeat the value: a URL may hold a password.
    pub fn folder_of(text: Option<&str>) -> Result<Option<PathBuf>, String> {
        let Some(text) = text else {
            return Ok(None);
        };
        if let Some((scheme, _)) = text.split_once("://") {
            return Err(format!(
                "is a URL of the kind {scheme}://, which this loci cannot open; give the path of a folder"
            ));
        }
        let folder = std::path::absolute(text);
        folder
            .map(Some)
            .map_err(|error| format!("is not a path: {error}"))
    }

    /// The store that these settings name, for a data folder.
    pub fn location(&self, data: &Path) -> StoreLocation {
        StoreLocation {
            folder: self.folder.clone().unwrap_or_else(|| data.to_owned()),
            options: Options {
                busy_timeout: self.busy_timeout,
                segment_min: self.index_file_memories,
            },
        }
    }
}

/// A store that can be opened.
pub struct StoreLocation {
    folder: PathBuf,
    options: Options,
}

impl StoreLocation {
    /// Opens the store, which is made if it is not there.
    ///
    /// # Errors
    /// The fault, with the remedy.
    pub fn open(&self) -> Result<Arc<dyn OpenStore>, OpenError> {
        Ok(Arc::new(SqliteStore::open(&self.folder, self.options)?))
    }

    /// Opens a store that cannot be written, to be read as it is; says also whether a copy of it is
    /// read.
    ///
    /// # Errors
    /// The fault, with the remedy.
    pub fn open_read_only(&self) -> Result<(Arc<dyn OpenStore>, bool), OpenError> {
        let store = SqliteStore::open_read_only(&self.folder, self.options)?;
        let is_copied = store.copy().is_some();
        Ok((Arc::new(store), is_copied))
    }

    /// The files of the store.
    ///
    /// # Errors
    /// [`Exit::Usage`] if the store is not kept in files, with what to do instead.
    pub fn files(&self) -> Result<Box<dyn StoreFiles>, Failure> {
        Ok(files_in(&self.folder))
    }

    /// Where the store is, for people.
    pub fn shown(&self) -> String {
        self.folder.display().to_string()
    }
}

/// The files of a store in this folder, whether or not there is one.
pub fn files_in(folder: &Path) -> Box<dyn StoreFiles> {
    Box::new(SqliteFiles::new(folder))
}

/// The failure of a command whose store does not open.
pub fn open_failure(error: &OpenError) -> Failure {
    use loci_core::OpenFault::{Corrupt, Database, InUse, Place, ReadOnly, Restoring};
    let exit = match error.fault {
        Corrupt | Database => Exit::Database,
        InUse | ReadOnly | Restoring | Place => Exit::DataFolder,
    };
    Failure::new(exit, &error.message)
}

#[cfg(test)]
mod tests {
    use loci_core::OpenFault;

    use super::*;

    #[test]
    fn a_fault_has_the_exit_code_of_its_kind() {
        for (fault, exit) in [
            (OpenFault::Corrupt, Exit::Database),
            (OpenFault::Database, Exit::Database),
            (OpenFault::ReadOnly, Exit::DataFolder),
            (OpenFault::InUse, Exit::DataFolder),
        ] {
            let message = "why".to_owned();
            let failure = open_failure(&OpenError { fault, message });
            assert_eq!((failure.exit, failure.message.as_str()), (exit, "why"));
        }
    }

    #[test]
    fn a_url_is_refused_without_its_password() {
        let refused =
            StoreSettings::folder_of(Some("postgres://ann:secret@host/loci")).unwrap_err();
        assert!(
            refused.contains("postgres://") && !refused.contains("secret"),
            "{refused}"
        );
        let folder = StoreSettings::folder_of(Some("s")).unwrap();
        assert!(folder.is_some_and(|folder| folder.is_absolute()));
    }
}
