//! The sender of a request.

use std::sync::Arc;

use loci_admission::Subject;
use loci_core::{Caller, LOCAL, Scope, Space, Timestamp};

use crate::looks::Looks;
use crate::session::BrowserSession;

/// The sender of a request.
pub(crate) struct RequestUser {
    /// The caller in the engine, with the tool set of the page.
    pub(crate) caller: Caller,
    /// Whose shares of the server its requests use.
    pub(crate) subject: Subject,
    /// The session of the browser; `None` for a program with a token.
    pub(crate) session: Option<Arc<BrowserSession>>,
    pub(crate) looks: Looks,
    /// The time of the request.
    pub(crate) now: Timestamp,
}

/// Returns true for the owner of the installation and for an administrator. An administrator of
/// another space keeps only that space, and the installation has all.
pub(crate) fn is_owner(caller: &Caller) -> bool {
    let principal = &caller.principal;
    let is_owner =
        principal.subject.as_deref() == Some(LOCAL) || principal.scopes.allow(Scope::Admin);
    is_owner && caller.space == Space::default()
}
