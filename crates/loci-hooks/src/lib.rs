//! Does what an event of a host asks for.
//!
//! [`hook`] saves what a session's transcript has new, as `loci-ingest` files it, and tells an agent
//! at the start of a session what it should know; [`prompt`] finds the memories that a prompt brings
//! up. Hosts are known only by the events and replies of `loci-hosts`. Nothing here prints: messages
//! for people go to a `Notice`.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test may panic"))]

pub mod hook;
pub mod prompt;

/// The tool set of hooks in the audit log.
const DIALECT: &str = "hook";
