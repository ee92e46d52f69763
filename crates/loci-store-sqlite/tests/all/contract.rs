//! The promises of every store.

use std::path::Path;

use loci_store_sqlite::SqliteStore;

use crate::open;

/// A store in a fresh folder below this one.
fn fresh(folder: &Path) -> SqliteStore {
    open(tempfile::tempdir_in(folder).unwrap().keep().as_path())
}

loci_testkit::store_contract!(tempfile::tempdir().unwrap(), |folder| fresh(folder.path()));
