//! The traits that the contract needs from a store.

use loci_core::{Store, TokenStore};

/// The traits that the contract tests need.
pub trait StoreAndTokens: Store + TokenStore {}

impl<S: Store + TokenStore> StoreAndTokens for S {}

/// Creates an empty store, on any thread.
pub type MakeStore<'a> = &'a (dyn Fn() -> Box<dyn StoreAndTokens> + Sync);

/// The test of one promise.
pub type Promise = fn(MakeStore<'_>);
