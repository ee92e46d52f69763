//! The promises of every store.

use std::path::Path;

use loci_store_sqlite::SqliteStore;
use loci_testkit::contract::handles_of_one_store_agree;

use crate::open;

/// A store in a fresh folder below this one.
fn fresh(folder: &Path) -> SqliteStore {
    open(tempfile::tempdir_in(folder).unwrap().keep().as_path())
}

#[test]
fn two_stores_on_one_folder_are_handles_of_one_store() {
    let folder = tempfile::tempdir().unwrap();
    handles_of_one_store_agree(&open(folder.path()), &open(folder.path()));
}

loci_testkit::store_contract!(tempfile::tempdir().unwrap(), |folder| fresh(folder.path()));
