//! The operations, one file each.

pub mod bootstrap;
pub mod forget;
pub mod list;
pub mod maintain;
pub mod recall;
pub mod remember;
pub mod show;
pub mod tally;
pub mod update;
