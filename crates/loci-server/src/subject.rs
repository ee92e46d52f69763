//! The origin of a request, and its subject: whose shares of the server it uses.

use std::net::IpAddr;

use http::Extensions;
use loci_admission::Subject;
use loci_core::Caller;

/// The origin of a request; in the extensions of every request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestOrigin {
    /// The base URL under which the caller reached this server, e.g. `https://memory.example`,
    /// without a slash at the end; `None` if no trusted source gives it.
    pub(crate) base_url: Option<String>,
    /// The base URL as a browser shows it: by the `Host` header, if that names this server.
    pub(crate) shown_url: Option<String>,
    /// The caller's address; `None` if there is no connection (in tests of a router).
    pub(crate) client: Option<IpAddr>,
}

/// Returns the address of the sender of a request; `None` if it is not known. `extensions` are as
/// for [`base_url`](crate::base_url).
pub fn client_address(extensions: &Extensions) -> Option<IpAddr> {
    extensions.get::<RequestOrigin>()?.client
}

/// Returns the subject whose shares a request uses: its caller, if it has one with a name, or the
/// network that it came from.
pub(crate) fn subject_of(extensions: &Extensions) -> Subject {
    let stranger = Subject::network(client_address(extensions));
    match extensions.get::<Caller>() {
        Some(caller) => Subject::of(caller, stranger),
        None => stranger,
    }
}
