//! Imports of memories, and of the records of an archive.

pub mod import;
pub mod import_records;
