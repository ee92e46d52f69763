//! Shared test helpers: a clock that tests move, embedders without a model, the naive store, and
//! the contract tests that every store must pass.
//!
//! The naive store is the reference implementation for the other stores, so it is linear and
//! obvious on purpose. Nothing here is part of the product.
//!
//! ```
//! use loci_testkit::Random;
//!
//! let (mut one, mut other) = (Random::new(7), Random::new(7));
//! assert_eq!(one.below(100), other.below(100));
//! ```

#![expect(
    clippy::missing_panics_doc,
    reason = "panicking is how a test says that a promise is broken"
)]

mod clock;
pub mod contract;
#[cfg(unix)]
pub mod crash;
mod embedder;
mod naive_archive;
mod naive_graph;
mod naive_jobs;
mod naive_notes;
mod naive_open_items;
mod naive_search;
mod naive_sources;
mod naive_store;
mod naive_tombstones;
mod naive_users;
#[cfg(unix)]
pub mod postgres;
mod random;

pub use clock::FixedClock;
pub use embedder::{FailingEmbedder, GatedEmbedder, HashingEmbedder, quantise};
pub use naive_store::NaiveStore;
pub use random::Random;
