//! Changes of the memories that a visitor selected.

use loci_core::{Forgotten, Memory, MemoryId, Result, Tier, Visibility};
use loci_engine::{Call, Discard, Effect, Refile};
use serde::Deserialize;
use utoipa::ToSchema;

use super::memory::reverse;
use crate::change::{Change, Outcome, Refusal, Undo, own_path};
use crate::request::RequestContext;

/// The memories that one change can name.
const SELECTED_MAX: usize = 1_000;

/// The path to show after a change, if it is one of this server.
fn next_path(next: Option<String>) -> String {
    own_path(next.as_deref().unwrap_or_default(), "/palace").to_owned()
}

/// Makes a change of each memory, and gathers the ways back; what fails for one does not keep the
/// others from it.
fn each(
    context: &RequestContext<'_>,
    what: (&str, Effect, &'static str),
    ids: Vec<String>,
    next: Option<String>,
    change: impl Fn(&Call<'_>, Memory) -> Result<Option<Undo>>,
) -> Result<Change> {
    each_id(context, what, ids, next, |call, id| {
        let memory = call.memories().show_of(&id, &Tier::ALL, Forgotten::Show)?;
        change(call, memory)
    })
}

/// Does the same for memories that cannot be read before, because they are deleted.
fn each_id(
    context: &RequestContext<'_>,
    (tool, effect, message): (&str, Effect, &'static str),
    ids: Vec<String>,
    next: Option<String>,
    change: impl Fn(&Call<'_>, MemoryId) -> Result<Option<Undo>>,
) -> Result<Change> {
    if ids.len() > SELECTED_MAX {
        let message = format!("names more than {SELECTED_MAX} memories; select fewer");
        return Err(loci_core::Error::invalid("id", message));
    }
    let (mut undos, mut refused, mut changed) = (Vec::new(), Vec::new(), 0);
    for id in ids {
        let outcome = context.logged((tool, "memory:write", effect), None, |call| {
            change(call, MemoryId::parse("id", &id)?)
        });
        match outcome {
            Ok(undo) => {
                changed += 1;
                undos.extend(undo);
            }
            Err(error) => refused.push(Refusal {
                id,
                reason: error.message,
            }),
        }
    }
    let undo: Option<Undo> = (!undos.is_empty()).then(|| {
        let all: Undo = Box::new(move |call| {
            // The last change is taken back first.
            undos.into_iter().rev().try_for_each(|undo| undo(call))
        });
        all
    });
    Ok(Change {
        message,
        changed,
        refused,
        undo,
        next: next_path(next),
    })
}

fn refile(call: &Call<'_>, memory: &Memory, change: Refile) -> Result<Option<Undo>> {
    let (id, back) = (memory.id.clone(), reverse(&change, memory));
    call.memories().refile(&id, change)?;
    Ok(Some(Box::new(move |call| {
        call.memories().refile(&id, back).map(drop)
    })))
}

/// Where to move memories.
#[derive(Deserialize, ToSchema)]
#[schema(as = Move)]
pub(crate) struct MoveRequest {
    #[serde(default)]
    id: Vec<String>,
    /// The wing; without it, each memory stays in its own.
    wing: Option<String>,
    /// True to move them out of all wings.
    #[serde(default)]
    global: bool,
    /// The room; `None` is the one of each memory.
    room: Option<String>,
    next: Option<String>,
}

/// Moves memories to another wing or room.
#[utoipa::path(post, path = "/selected/move", operation_id = "selected_move", request_body = MoveRequest, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn move_to(context: &RequestContext<'_>, to: MoveRequest) -> Result<Change> {
    let MoveRequest {
        id,
        wing,
        global,
        room,
        next,
    } = to;
    if global && wing.is_some() {
        let problem = "cannot be given with `wing`: a memory is in one wing or in none";
        return Err(loci_core::Error::invalid("global", problem));
    }
    let change = Refile {
        collection: if global { Some(None) } else { wing.map(Some) },
        section: room,
        ..Refile::default()
    };
    each(
        context,
        ("move", Effect::Write, "done-moved"),
        id,
        next,
        |call, memory| refile(call, &memory, change.clone()),
    )
}

/// Tags to add and to remove.
#[derive(Deserialize, ToSchema)]
#[schema(as = Tags)]
pub(crate) struct TagRequest {
    #[serde(default)]
    id: Vec<String>,
    /// Tags to add, separated by commas.
    #[serde(default)]
    add: String,
    /// Tags to remove, separated by commas.
    #[serde(default)]
    remove: String,
    next: Option<String>,
}

/// Adds tags to memories and removes others.
#[utoipa::path(post, path = "/selected/tag", operation_id = "selected_tag", request_body = TagRequest, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn tag(context: &RequestContext<'_>, tags: TagRequest) -> Result<Change> {
    let listed = |text: &str| -> Vec<String> {
        text.split(',')
            .map(|tag| tag.trim().to_owned())
            .filter(|tag| !tag.is_empty())
            .collect()
    };
    let (add, remove) = (listed(&tags.add), listed(&tags.remove));
    each(
        context,
        ("tag", Effect::Write, "done-tagged"),
        tags.id,
        tags.next,
        |call, memory| {
            let kept = memory.tags.iter().filter(|tag| !remove.contains(tag));
            let all = kept.chain(&add).cloned().collect();
            let change = Refile {
                tags: Some(all),
                ..Refile::default()
            };
            refile(call, &memory, change)
        },
    )
}

/// Whether others may read memories.
#[derive(Deserialize, ToSchema)]
#[schema(as = Share)]
pub(crate) struct ShareRequest {
    #[serde(default)]
    id: Vec<String>,
    shared: bool,
    next: Option<String>,
}

/// Shares memories with the others in the space, or no longer.
#[utoipa::path(post, path = "/selected/share", operation_id = "selected_share", request_body = ShareRequest, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn share(context: &RequestContext<'_>, share: ShareRequest) -> Result<Change> {
    let ShareRequest { id, shared, next } = share;
    let message = if shared {
        "done-shared"
    } else {
        "done-unshared"
    };
    each(
        context,
        ("share", Effect::Write, message),
        id,
        next,
        |call, memory| {
            let was_shared = memory.visibility != Visibility::Private;
            let id = memory.id;
            call.memories().set_shared(&id, shared)?;
            Ok(Some(Box::new(move |call| {
                call.memories().set_shared(&id, was_shared).map(drop)
            })))
        },
    )
}

/// Memories to forget, to bring back, or to delete.
#[derive(Deserialize, ToSchema)]
#[schema(as = Selected)]
pub(crate) struct Selection {
    #[serde(default)]
    id: Vec<String>,
    next: Option<String>,
}

/// Forgets memories, which can be brought back.
#[utoipa::path(post, path = "/selected/forget", operation_id = "selected_forget", request_body = Selection, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn forget(context: &RequestContext<'_>, selection: Selection) -> Result<Change> {
    let Selection { id, next } = selection;
    each(
        context,
        ("forget", Effect::Write, "done-forgotten"),
        id,
        next,
        |call, memory| {
            let id = memory.id;
            call.memories().forget_softly(&id)?;
            Ok((memory.forgotten_at.is_none()).then(|| {
                let undo: Undo = Box::new(move |call| call.memories().unforget(&id).map(drop));
                undo
            }))
        },
    )
}

/// Brings forgotten and deleted memories back.
#[utoipa::path(post, path = "/selected/unforget", operation_id = "selected_unforget", request_body = Selection, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn unforget(context: &RequestContext<'_>, selection: Selection) -> Result<Change> {
    let Selection { id, next } = selection;
    each_id(
        context,
        ("unforget", Effect::Write, "done-unforgotten"),
        id,
        next,
        |call, id| {
            let unforgotten = call.memories().unforget(&id)?;
            let Memory { id, owner, .. } = unforgotten.memory;
            if unforgotten.was_deleted {
                // Only its owner deletes a message.
                let is_own = owner == context.caller().principal.subject;
                return Ok(is_own.then(|| {
                    let undo: Undo =
                        Box::new(move |call| call.memories().discard(&Discard::of(id)).map(drop));
                    undo
                }));
            }
            Ok(unforgotten.is_changed.then(|| {
                let undo: Undo = Box::new(move |call| call.memories().forget_softly(&id).map(drop));
                undo
            }))
        },
    )
}

/// Memories to delete for good, which a person has confirmed.
#[derive(Deserialize, ToSchema)]
#[schema(as = Delete)]
pub(crate) struct DeleteRequest {
    #[serde(default)]
    id: Vec<String>,
    /// True if the person has confirmed that this cannot be undone.
    #[serde(default)]
    confirmed: bool,
    next: Option<String>,
}

/// Deletes memories for good.
#[utoipa::path(post, path = "/selected/delete", operation_id = "selected_delete", request_body = DeleteRequest, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn delete(context: &RequestContext<'_>, delete: DeleteRequest) -> Result<Change> {
    let DeleteRequest {
        id,
        confirmed,
        next,
    } = delete;
    if !confirmed {
        let problem = "must be true: what is deleted for good cannot be brought back";
        return Err(loci_core::Error::invalid("confirmed", problem));
    }
    each(
        context,
        ("delete", Effect::Destroy, "done-deleted"),
        id,
        next,
        |call, memory| {
            call.memories().forget(&memory.id)?;
            Ok(None)
        },
    )
}
