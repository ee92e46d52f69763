//! Taking a change back.

use loci_core::{Error, Result};
use loci_engine::Effect;
use serde::Deserialize;

use crate::change::{Change, own_path};
use crate::request::RequestContext;

/// The change to take back.
#[derive(Deserialize)]
pub(crate) struct UndoRequest {
    number: u64,
    next: Option<String>,
}

pub(crate) fn undo(context: &RequestContext<'_>, request: UndoRequest) -> Result<Change> {
    let undo = context
        .visitor
        .session
        .as_ref()
        .and_then(|session| session.take_undo(request.number))
        .ok_or_else(|| {
            Error::not_found("this change was taken back already, or was too long ago to be")
        })?;
    context.logged(("undo", "memory:write", Effect::Write), None, undo)?;
    Ok(Change {
        message: "done-undone",
        changed: 1,
        refused: Vec::new(),
        undo: None,
        next: own_path(request.next.as_deref().unwrap_or_default(), "/").to_owned(),
    })
}
