//! The changes of a session, so that the result of one can be looked up again, and taken back later.

use loci_core::Result;
use serde::{Deserialize, Serialize};

use crate::request::RequestContext;
use crate::session::PastChange;
use crate::view::{Tab, view};

#[derive(Deserialize)]
pub(crate) struct HistoryQuery {}

/// The last changes of a session, the last one first.
#[derive(Serialize)]
pub(crate) struct History {
    pub(crate) items: Vec<PastChange>,
}

view!(History, Tab::Home, "history.html");

/// Lists what a person changed in this session.
#[expect(
    clippy::unnecessary_wraps,
    reason = "it is a view as the others are, which may fail"
)]
pub(crate) fn view(context: &RequestContext<'_>, _: HistoryQuery) -> Result<History> {
    let session = context.visitor.session.as_ref();
    Ok(History {
        items: session.map_or_else(Vec::new, |session| session.past_changes()),
    })
}
