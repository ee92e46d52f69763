//! MCP as clients meet it: over pipes and over sockets, in every revision.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

mod access;
mod bad_input;
mod batches;
mod eras;
mod held_replies;
mod replies;
mod shutdown;
mod subscriptions;
mod support;
