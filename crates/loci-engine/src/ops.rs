//! The operations, one file each.

pub mod answers;
pub mod append_note;
pub mod bootstrap;
pub mod bundle;
pub mod census;
pub mod clear;
pub mod converse;
pub mod decide;
pub mod discard;
pub mod enrich;
pub mod forget;
pub mod forget_softly;
pub mod import;
pub mod list;
pub mod maintain;
pub mod once;
pub mod page;
pub mod recall;
pub mod reconcile;
pub mod remember;
pub mod remember_as;
pub mod search_web;
pub mod show;
pub mod tally;
pub mod update;
pub mod wipe;
