//! The context that an agent gets: bundles, and memories at the start of a session.

pub mod bootstrap;
pub mod bundle;
pub mod session_start;
