//! Clients of HTTP services that implement traits of [`loci_core`]: [`HttpModel`] and [`ChatModel`]
//! ask models that speak the OpenAI protocol, [`TavilySearch`] searches the web, [`Documents`]
//! fetches JSON, [`Downloads`] fetches files, [`Posts`] sends bytes, [`check_ready`] asks a server of
//! loci.
//!
//! They share the rules for external services: an address that is checked and shown, a key that is
//! never shown, a timeout, a limit for the reply, no redirects (but for files), and retries if they
//! may help. Each call blocks the calling thread. [`observe_requests`] hears of each request to another
//! machine.
//!
//! This crate does not depend on stores, the engine or MCP.
//!
//! ```
//! use loci_http::DocumentUrl;
//!
//! assert!(DocumentUrl::parse("issuer", "https://accounts.example/keys").is_ok());
//! let refused = DocumentUrl::parse("issuer", "accounts.example").unwrap_err();
//! assert_eq!(refused.argument.as_deref(), Some("issuer"));
//! ```

mod chat;
mod client;
mod documents;
mod downloads;
mod embeddings;
mod loopback;
mod post_client;
mod public_addresses;
mod readiness;
mod sent;
mod sign_in_code;
mod trust;
mod web_search;

pub use chat::{ChatModel, ChatModelOptions};
pub use documents::{DocumentUrl, Documents};
pub use downloads::Downloads;
pub use embeddings::{HttpModel, HttpModelOptions};
pub use post_client::Posts;
pub use readiness::{Readiness, check_ready};
pub use sent::{RequestObserver, observe_requests};
pub use sign_in_code::sign_in_path;
pub use web_search::{TavilySearch, TavilySearchOptions};
