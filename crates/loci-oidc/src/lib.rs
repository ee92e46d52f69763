//! Access tokens of an OpenID provider: [`OidcVerifier`] is the
//! [`TokenVerifier`](loci_core::TokenVerifier) for JSON Web Tokens that one issuer signs.
//!
//! The provider's keys are fetched in the background ([`Refresher`]), kept in memory, and replaced
//! as a whole; a call waits for the network only if its token could hold but names a key that is
//! not known, and that at most once a minute in the whole process. The last good keys serve for as
//! long as the provider is down.
//!
//! Signatures are checked by `ring` over the bytes of the compact form (RFC 7515, section 5.2). A
//! JWT library would add a process-wide choice of cryptography that panics when it is missing, a
//! clock of its own and a parsing of the key for each token, and it would leave `crit` and most
//! rules on claims to us.
//!
//! The names of subjects are the provider's, and they share one space with the subjects of `loci
//! token`: whoever has the same name owns the same records. The name `local` is the person at the
//! machine itself, so a token with that subject is refused.
//!
//! This crate never knows about HTTP requests, stores or MCP.
//!
//! ```
//! use loci_oidc::{OidcOptions, OidcVerifier};
//! use loci_testkit::FixedClock;
//!
//! let options = OidcOptions::new("http://accounts.example");
//! let clock = std::sync::Arc::new(FixedClock::default());
//! assert!(OidcVerifier::new(options, clock).is_err(), "an issuer elsewhere needs https");
//! ```

mod algorithm;
mod claims;
mod json;
mod jwk;
mod jws;
mod keys;
mod options;
mod provider;
mod refresher;
mod verifier;

pub use keys::KeyStatus;
pub use options::OidcOptions;
pub use refresher::Refresher;
pub use verifier::OidcVerifier;
