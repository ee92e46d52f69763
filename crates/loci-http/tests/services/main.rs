//! The clients through their public interface, against a server in the test.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

mod chat;
mod embeddings;
mod every_client;
mod support;
mod web_search;
