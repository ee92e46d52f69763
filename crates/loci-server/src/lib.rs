//! MCP over stdio and HTTP: the thin layer between a dialect and its clients.
//!
//! A [`DialectHandler`] maps a [`Dialect`](loci_dialects::Dialect), which is data, to the protocol
//! once for all dialects and for every revision from 2024-11-05 to 2026-07-28. [`serve_stdio`]
//! carries it over a pair of pipes, [`HttpServer`] over streamable HTTP without sessions. Both
//! read messages themselves before the SDK sees them, so that nothing a client sends goes
//! unanswered or ends the process.
//!
//! This crate knows nothing of storage and nothing of what a memory means.

mod authentication;
mod catalog;
mod connections;
mod endpoint;
mod handler;
mod host;
mod http;
mod message;
mod reply_share;
mod stdio;
mod subscription;

pub use authentication::{Authentication, token_hash};
pub use handler::DialectHandler;
pub use host::Host;
pub use http::{HttpConfig, HttpServer};
pub use stdio::serve_stdio;
