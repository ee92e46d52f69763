//! A verifier and a provider that signs, fails and sends wrong documents.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod arbitrary;
mod claims;
mod fetching;
mod forged;
mod keys;
mod settings;
mod sign_in;
mod signers;
mod support;
mod tokens;
