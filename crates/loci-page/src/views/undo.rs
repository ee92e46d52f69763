//! Taking a change back: one of this session, or one of an earlier session, which the store keeps.

use loci_core::{Error, ErrorCode, Result};
use loci_engine::{ChangesMeant, Effect, RecordOutcome, TakenBack};
use serde::Deserialize;

use crate::change::{Change, Refusal, own_path};
use crate::request::RequestContext;

/// The numbers from which one is that of a call, which the store keeps; the changes of a session are
/// counted from 1.
const CALLS_FROM: u64 = 1 << 32;

/// The change to take back.
#[derive(Deserialize)]
pub(crate) struct UndoRequest {
    number: u64,
    next: Option<String>,
}

pub(crate) fn undo(context: &RequestContext<'_>, request: UndoRequest) -> Result<Change> {
    let next = own_path(request.next.as_deref().unwrap_or_default(), "/").to_owned();
    if request.number >= CALLS_FROM {
        return undo_call(context, request.number, next);
    }
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
        next,
    })
}

fn undo_call(context: &RequestContext<'_>, number: u64, next: String) -> Result<Change> {
    let meant = ChangesMeant {
        call: Some(number),
        ..ChangesMeant::default()
    };
    let taken = context.logged(("undo", "memory:write", Effect::Write), None, |call| {
        call.changes().take_back(&meant, false)
    })?;
    let TakenBack {
        forgotten,
        restored,
        stands,
        records,
        ..
    } = taken;
    let is_done = |outcome: &RecordOutcome| {
        matches!(outcome, RecordOutcome::Removed | RecordOutcome::Restored)
    };
    let done = records.iter().filter(|it| is_done(&it.outcome)).count();
    let changed = (forgotten.len() + restored.len() + done) as u64;
    let standing = records.into_iter().filter_map(|it| match it.outcome {
        RecordOutcome::Stands { reason, .. } => Some(Refusal {
            id: it.record.id,
            reason,
        }),
        _ => None,
    });
    let mut refused: Vec<Refusal> = standing.collect();
    if changed == 0 && stands.is_empty() && refused.is_empty() {
        let message = "this change was taken back already";
        return Err(Error::new(ErrorCode::NotFound, message));
    }
    refused.extend(stands.into_iter().map(|it| Refusal {
        id: it.memory.id.as_str().to_owned(),
        reason: it.reason,
    }));
    Ok(Change {
        message: "done-undone",
        changed,
        refused,
        undo: None,
        next,
    })
}
