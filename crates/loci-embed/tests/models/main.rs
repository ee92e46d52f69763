//! Both models through their public interface.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

mod http;
mod local;
