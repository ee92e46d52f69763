//! The decisions of people, and the way back.

use loci_core::{Error, ErrorCode, Forgotten, MemoryId, Result, Tier};
use loci_engine::{Call, ConflictResolution, Effect};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::change::{Change, Outcome, own_path};
use crate::request::RequestContext;
use crate::views::selected::TYPED;

const OPERATION: &str = "memory:write";

/// The path to show after a decision, if it is one of this server.
fn next_path(next: Option<String>) -> String {
    own_path(next.as_deref().unwrap_or_default(), "/review").to_owned()
}

/// A pair of memories, and the one to keep.
#[derive(Deserialize, ToSchema)]
#[schema(as = Decision)]
pub(crate) struct KeepRequest {
    one: String,
    other: String,
    /// The id of the one that is kept.
    keep: String,
    next: Option<String>,
}

/// Keeps one memory of a pair, which replaces the other.
#[utoipa::path(post, path = "/review/keep", operation_id = "review_keep", request_body = KeepRequest, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn keep(context: &RequestContext<'_>, decision: KeepRequest) -> Result<Change> {
    let given_up = match decision.keep {
        ref kept if *kept == decision.one => decision.other,
        ref kept if *kept == decision.other => decision.one,
        _ => return Err(Error::invalid("keep", "must be one of the two memories")),
    };
    let kept = MemoryId::parse("keep", &decision.keep)?;
    let given_up = MemoryId::parse("other", &given_up)?;
    let settled = context.logged(("keep", OPERATION, Effect::Write), None, |call| {
        call.memories().resolve_conflict(&kept, &given_up)
    })?;
    let message = match settled {
        ConflictResolution::Superseded { .. } => "done-superseded",
        ConflictResolution::Forgotten => "done-kept-one",
    };
    Ok(Change::one(
        message,
        next_path(decision.next),
        Box::new(move |call| call.memories().undo_resolution(&kept, &given_up, &settled)),
    ))
}

/// A memory whose secrets are removed, which a person has confirmed.
#[derive(Deserialize, ToSchema)]
#[schema(as = Redact)]
pub(crate) struct RedactRequest {
    id: String,
    /// True if the person has confirmed that this cannot be undone.
    #[serde(default)]
    confirmed: bool,
    /// `DELETE`, as a person types it to confirm the same.
    typed: Option<String>,
    next: Option<String>,
}

/// Removes secrets from a memory. There is no way back: it would have to keep the secrets.
#[utoipa::path(post, path = "/review/redact", operation_id = "review_redact", request_body = RedactRequest, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn redact(context: &RequestContext<'_>, redact: RedactRequest) -> Result<Change> {
    if !redact.confirmed && redact.typed.as_deref() != Some(TYPED) {
        let problem = "must be true: a secret that was removed cannot be brought back";
        return Err(Error::invalid("confirmed", problem));
    }
    let id = MemoryId::parse("id", &redact.id)?;
    let is_redacted = context.logged(("redact", OPERATION, Effect::Write), None, |call| {
        call.secrets().redact(&id)
    })?;
    if !is_redacted {
        return Err(Error::new(
            ErrorCode::Conflict,
            "nothing was removed: there is no secret in this memory any more, or it is a note, whose file has to be \
             edited",
        ));
    }
    Ok(Change {
        message: "done-redacted",
        changed: 1,
        refused: Vec::new(),
        undo: None,
        next: next_path(redact.next),
    })
}

/// A memory whose author is trusted.
#[derive(Deserialize, ToSchema)]
#[schema(as = TrustAuthor)]
pub(crate) struct TrustRequest {
    id: String,
    next: Option<String>,
}

/// Trusts the author of a memory.
#[utoipa::path(post, path = "/review/trust", operation_id = "review_trust", request_body = TrustRequest, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn trust(context: &RequestContext<'_>, trust: TrustRequest) -> Result<Change> {
    let id = MemoryId::parse("id", &trust.id)?;
    let author = context.logged(("trust", OPERATION, Effect::Write), None, |call| {
        let memory = call.memories().show_of(&id, &Tier::ALL, Forgotten::Hide)?;
        let author = memory.writer().to_owned();
        if author == loci_core::ANONYMOUS {
            let problem = "is of an anonymous author, who cannot be told from another one";
            return Err(Error::invalid("id", problem));
        }
        call.settings().set_trusted(&author, true)?;
        Ok(author)
    })?;
    Ok(Change::one(
        "done-trusted",
        next_path(trust.next),
        Box::new(move |call| call.settings().set_trusted(&author, false).map(drop)),
    ))
}

/// Memories that came in files, and that agents follow from now on.
#[derive(Deserialize, ToSchema)]
#[schema(as = Accept)]
pub(crate) struct AcceptRequest {
    /// Their ids.
    #[serde(default)]
    id: Vec<String>,
    next: Option<String>,
}

/// Has agents follow memories that came in files.
#[utoipa::path(post, path = "/review/accept", operation_id = "review_accept", request_body = AcceptRequest, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn accept(context: &RequestContext<'_>, accept: AcceptRequest) -> Result<Change> {
    let parsed = accept.id.iter().map(|id| MemoryId::parse("id", id));
    let ids = parsed.collect::<Result<Vec<_>>>()?;
    if ids.is_empty() {
        return Err(Error::invalid("id", "must name at least one memory"));
    }
    let accepted = context.logged(("accept", OPERATION, Effect::Write), None, |call| {
        let mut accepted = Vec::new();
        for id in ids {
            if call.memories().accept(&id)? {
                accepted.push(id);
            }
        }
        Ok(accepted)
    })?;
    let changed = accepted.len();
    let hold = move |call: &Call<'_>| {
        accepted
            .iter()
            .try_for_each(|id| call.memories().hold(id).map(drop))
    };
    Ok(Change {
        changed: changed as u64,
        ..Change::one("done-accepted", next_path(accept.next), Box::new(hold))
    })
}

/// An item to dismiss.
#[derive(Deserialize, ToSchema)]
#[schema(as = Dismiss)]
pub(crate) struct DismissRequest {
    /// Its key.
    item: String,
    next: Option<String>,
}

/// Dismisses an item.
#[utoipa::path(post, path = "/review/dismiss", operation_id = "review_dismiss", request_body = DismissRequest, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn dismiss(context: &RequestContext<'_>, dismiss: DismissRequest) -> Result<Change> {
    let key = dismiss.item;
    context.logged(("dismiss", OPERATION, Effect::Write), None, |call| {
        call.settings().set_dismissed(&key, true)
    })?;
    Ok(Change::one(
        "done-dismissed",
        next_path(dismiss.next),
        Box::new(move |call| call.settings().set_dismissed(&key, false)),
    ))
}
