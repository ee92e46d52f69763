//! The index of a store: loading it, keeping it current, and its file.

pub(crate) mod cache;
pub(crate) mod load;
pub(crate) mod segment;
