//! Taking a change back.

use loci_core::{Error, Result};
use loci_engine::Effect;
use serde::Deserialize;

use crate::change::{Change, own_path};
use crate::request::Asked;

/// Which change to take back.
#[derive(Deserialize)]
pub(crate) struct Undone {
    number: u64,
    next: Option<String>,
}

pub(crate) fn undo(asked: &Asked<'_>, undone: Undone) -> Result<Change> {
    let undo = asked
        .visitor
        .session
        .as_ref()
        .and_then(|session| session.take_undo(undone.number))
        .ok_or_else(|| {
            Error::not_found("this change was taken back already, or was too long ago to be")
        })?;
    asked.logged(("undo", "memory:write", Effect::Write), None, undo)?;
    Ok(Change {
        message: "done-undone",
        changed: 1,
        refused: Vec::new(),
        undo: None,
        next: own_path(undone.next.as_deref().unwrap_or_default(), "/").to_owned(),
    })
}
