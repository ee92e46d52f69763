//! Checksums, checks, repair, salvage and rebuild.

pub(crate) mod checksum;
pub(crate) mod doctor;
pub(crate) mod rebuild;
pub(crate) mod repair;
pub(crate) mod salvage;
