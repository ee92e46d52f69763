//! Files that memories are made from.

pub mod file_source;
pub mod sync;
