//! The sender of a request.

use std::sync::Arc;

use loci_admission::Subject;
use loci_core::Caller;

use crate::session::BrowserSession;
use crate::text::Language;

/// The sender of a request.
pub(crate) struct RequestUser {
    /// The caller in the engine, with the tool set of the page.
    pub(crate) caller: Caller,
    /// Whose shares of the server its requests use.
    pub(crate) subject: Subject,
    /// The session of the browser; `None` for a program with a token.
    pub(crate) session: Option<Arc<BrowserSession>>,
    pub(crate) language: Language,
}
