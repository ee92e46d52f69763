//! Single memories: storing, reading, changing, moving and forgetting them.

pub mod clear;
pub mod discard;
pub mod file;
pub mod forget;
pub mod forget_softly;
pub mod refile;
pub mod remember;
pub mod remember_as;
pub mod show;
pub mod update;
