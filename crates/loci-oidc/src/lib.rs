//! Access tokens of an OpenID provider: [`OidcVerifier`] is the
//! [`TokenVerifier`](loci_core::TokenVerifier) for JSON Web Tokens that one issuer signs.
//!
//! The provider's keys are fetched in the background ([`Refresher`]), cached, and replaced as a
//! whole; a call waits for the network only if its token is valid but for an unknown key, and that
//! at most once a minute in the whole process. The last valid keys are used while the provider is
//! down.
//!
//! `ring` checks signatures over the bytes of the compact form (RFC 7515, section 5.2). A JWT
//! library would add a process-wide choice of cryptography that panics when it is missing, a clock
//! of its own and a parsing of the key for each token, and it would leave `crit` and most rules on
//! claims to us.
//!
//! The provider chooses the names of subjects, and they share one namespace with the subjects of
//! `loci token`: bearers of the same name own the same records. The name `local` is the local user,
//! so a token with that subject is refused.
//!
//! People sign in on the page of a server at the same issuer: [`OidcSignIn`] is the
//! [`SignInProvider`](loci_core::SignInProvider).
//!
//! This crate does not depend on HTTP servers, stores or MCP.
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
mod sign_in;
mod verifier;

pub use keys::KeyStatus;
pub use options::{OidcClient, OidcOptions};
pub use refresher::Refresher;
pub use sign_in::OidcSignIn;
pub use verifier::OidcVerifier;
