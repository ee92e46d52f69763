//! MCP over stdio and HTTP: the thin layer between a dialect and its clients.
//!
//! A [`DialectHandler`] maps a [`Dialect`](loci_dialects::Dialect), which is data, to the protocol
//! once for all dialects and for every revision from 2024-11-05 to 2026-07-28. [`serve_stdio`]
//! serves it over a pair of pipes, [`HttpServer`] over streamable HTTP without sessions. Both parse
//! messages themselves before the SDK sees them, so that no input of a client goes unanswered or
//! ends the process.
//!
//! This crate does not depend on storage or on the meaning of memories.
//!
//! ```
//! use loci_server::PublicUrl;
//!
//! let url: PublicUrl = "https://memory.example".parse()?;
//! assert_eq!(url.host(), "memory.example");
//! # Ok::<(), loci_core::Error>(())
//! ```

mod app_views;
mod auth;
mod body;
mod catalog;
mod client_calls;
mod client_session;
mod connection_slots;
mod connections;
mod cors;
mod endpoint;
mod error_reply;
mod handler;
mod host;
mod http;
mod lingering;
mod message;
mod monotonic;
mod mutex;
mod people;
mod proxy;
mod questions;
mod rate_limit;
mod request_context;
mod request_share;
mod stdio;
mod subject;
mod subscription;
mod subscription_slots;
mod tls;
mod tool_form;
mod trace_context;

pub use ::http::{Extensions, HeaderMap, HeaderValue};
pub use app_views::AppPages;
pub use auth::{Authentication, token_hash};
pub use catalog::listed_tools;
pub use client_calls::{ClientCall, ClientCalls, Transport};
pub use handler::DialectHandler;
pub use host::{Host, HostOptions};
pub use http::{HttpConfig, HttpServer};
pub use ipnet::IpNet;
pub use monotonic::MonotonicTime;
pub use proxy::{PublicUrl, base_url, client_url};
pub use questions::Checkout;
pub use rate_limit::{CallLimit, RateLimit};
pub use stdio::serve_stdio;
pub use subject::client_address;
pub use tls::Tls;
pub use tool_form::{ServedDialect, ToolPrefix};
pub use trace_context::SetParent;
