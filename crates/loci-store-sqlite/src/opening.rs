//! Opening a store: its folder and files, its schema and versions, its locks and copies.

pub(crate) mod backup;
pub(crate) mod copies;
pub(crate) mod files;
pub(crate) mod folder;
pub(crate) mod holders;
pub(crate) mod identity;
pub(crate) mod open;
pub(crate) mod open_database;
pub(crate) mod open_error;
pub(crate) mod presence;
pub(crate) mod read_only;
pub(crate) mod read_only_files;
pub(crate) mod reanalysis;
pub(crate) mod schema;
pub(crate) mod versions;
