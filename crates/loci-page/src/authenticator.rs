//! Who sends a request, as the page needs it.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Extensions, HeaderMap};
use loci_admission::Subject;
use loci_core::{Caller, Error, SignInProvider};

use crate::OAuth;

/// Tells who sends a request, and under which URL it reached this server.
pub trait Authenticator: Send + Sync {
    /// Returns the URL of this server as the sender sees it, such as `https://memory.example`,
    /// without a slash at the end; `None` if the request names a host that is not served.
    fn base_url(&self, extensions: &Extensions) -> Option<String>;

    /// Returns the caller that the `Authorization` header names. `base_url` and `path` are what a
    /// token may have been issued for.
    ///
    /// # Errors
    /// `unauthorized` without a valid token, unless this server takes callers without one;
    /// `unavailable` if the token cannot be checked now.
    fn caller<'a>(
        &'a self,
        headers: &'a HeaderMap,
        base_url: &'a str,
        path: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<Caller, Error>> + Send + 'a>>;

    /// Returns the address of the sender; `None` if it is not known.
    fn client(&self, extensions: &Extensions) -> Option<IpAddr>;

    /// Charges a request to the rate limit of its sender, which it shares with the calls of tools.
    ///
    /// # Errors
    /// The time until the sender may send another one, if it has sent too many.
    fn charge(&self, subject: &Subject) -> Result<(), Duration>;

    /// Returns true if this server takes callers without a token.
    fn is_open(&self) -> bool;

    /// Returns the provider at which people sign in; `None`, the default, if they cannot.
    fn provider(&self) -> Option<Arc<dyn SignInProvider>> {
        None
    }

    /// Returns what lets clients in by OAuth; `None`, the default, if nothing does.
    fn oauth(&self) -> Option<&OAuth> {
        None
    }

    /// Returns the URL under which clients reach this server, which their tokens are for; `None`,
    /// the default, if it is not known.
    fn issuer(&self, extensions: &Extensions) -> Option<String> {
        let _ = extensions;
        None
    }
}
