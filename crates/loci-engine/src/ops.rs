//! The operations, one file each.

pub mod answers;
pub mod bootstrap;
pub mod census;
pub mod clear;
pub mod converse;
pub mod decide;
pub mod discard;
pub mod enrich;
pub mod forget;
pub mod import;
pub mod list;
pub mod maintain;
pub mod recall;
pub mod remember;
pub mod remember_as;
pub mod search_web;
pub mod show;
pub mod tally;
pub mod update;
pub mod wipe;
