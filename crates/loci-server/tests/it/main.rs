//! MCP as clients use it: over pipes and over sockets, in every revision.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

mod access;
mod app_views;
mod bad_input;
mod batches;
mod cancelled;
mod connections;
mod cors;
mod eras;
mod forgeries;
mod grants;
mod held_replies;
mod issuer;
mod limits;
mod metadata;
mod people;
mod proxies;
mod questions;
mod rate;
mod refusals;
mod replies;
mod scopes;
mod shares;
mod shutdown;
mod subscriptions;
mod support;
mod tls;
