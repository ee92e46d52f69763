//! Changes of the memories that a visitor selected.

use loci_core::{Forgotten, Memory, MemoryId, Result, Tier, Visibility};
use loci_engine::{Call, Discard, Effect, Refile};
use serde::Deserialize;
use utoipa::ToSchema;

use super::memory::reverse;
use super::palace::ids_of_all;
use crate::change::{Change, Outcome, Refusal, Undo, own_path};
use crate::projects::project_of;
use crate::request::RequestContext;
use crate::utc_timestamp::UtcTimestamp;

/// The memories that one change can name.
const SELECTED_MAX: usize = 1_000;

/// The name of a file of exported memories.
pub(crate) const EXPORT_NAME: &str = "memories.jsonl";
/// The word by which a person confirms what cannot be undone.
pub(super) const TYPED: &str = "DELETE";

/// The path to show after a change, if it is one of this server.
fn next_path(next: Option<String>) -> String {
    own_path(next.as_deref().unwrap_or_default(), "/browse").to_owned()
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

/// Returns the ids that a request names: the ids of all memories of a list if it names one.
fn named(
    context: &RequestContext<'_>,
    ids: Vec<String>,
    all_of: Option<&str>,
) -> Result<Vec<String>> {
    let Some(list) = all_of else {
        return Ok(ids);
    };
    let all = ids_of_all(context, list, SELECTED_MAX + 1)?;
    Ok(all.iter().map(ToString::to_string).collect())
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
    /// The parameters of a list, e.g. `wing=shop&type=fact`, to change all of its memories and not
    /// the memories that `id` names.
    all_of: Option<String>,
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
        all_of,
        wing,
        global,
        room,
        next,
    } = to;
    if global && wing.is_some() {
        let problem = "cannot be given with `wing`: a memory is in one wing or in none";
        return Err(loci_core::Error::invalid("global", problem));
    }
    // Memories of the project keep the name that their tool set gave it.
    let target = |memory: &Memory| {
        let here = memory.location.collection.as_deref().map(project_of);
        match &wing {
            _ if global => Some(None),
            Some(wing) if here == Some(project_of(wing)) => None,
            Some(wing) => Some(Some(wing.clone())),
            None => None,
        }
    };
    let id = named(context, id, all_of.as_deref())?;
    each(
        context,
        ("move", Effect::Write, "done-moved"),
        id,
        next,
        |call, memory| {
            let change = Refile {
                collection: target(&memory),
                section: room.clone(),
                ..Refile::default()
            };
            refile(call, &memory, change)
        },
    )
}

/// Tags to add and to remove.
#[derive(Deserialize, ToSchema)]
#[schema(as = Tags)]
pub(crate) struct TagRequest {
    #[serde(default)]
    id: Vec<String>,
    /// The parameters of a list, e.g. `wing=shop&type=fact`, to change all of its memories and not
    /// the memories that `id` names.
    all_of: Option<String>,
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
    let id = named(context, tags.id, tags.all_of.as_deref())?;
    each(
        context,
        ("tag", Effect::Write, "done-tagged"),
        id,
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

/// Memories, and if others may read them.
#[derive(Deserialize, ToSchema)]
#[schema(as = Share)]
pub(crate) struct ShareRequest {
    #[serde(default)]
    id: Vec<String>,
    /// The parameters of a list, e.g. `wing=shop&type=fact`, to change all of its memories and not
    /// the memories that `id` names.
    all_of: Option<String>,
    shared: bool,
    next: Option<String>,
}

/// Shares memories with the others in the space, or no longer.
#[utoipa::path(post, path = "/selected/share", operation_id = "selected_share", request_body = ShareRequest, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn share(context: &RequestContext<'_>, share: ShareRequest) -> Result<Change> {
    let ShareRequest {
        id,
        all_of,
        shared,
        next,
    } = share;
    let id = named(context, id, all_of.as_deref())?;
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
    /// The parameters of a list, e.g. `wing=shop&type=fact`, to change all of its memories and not
    /// the memories that `id` names.
    all_of: Option<String>,
    next: Option<String>,
}

/// Forgets memories, which can be brought back.
#[utoipa::path(post, path = "/selected/forget", operation_id = "selected_forget", request_body = Selection, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn forget(context: &RequestContext<'_>, selection: Selection) -> Result<Change> {
    let Selection { id, all_of, next } = selection;
    let id = named(context, id, all_of.as_deref())?;
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
    let Selection { id, all_of, next } = selection;
    let id = named(context, id, all_of.as_deref())?;
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
    /// The parameters of a list, e.g. `wing=shop&type=fact`, to change all of its memories and not
    /// the memories that `id` names.
    all_of: Option<String>,
    /// True if the person has confirmed that this cannot be undone.
    #[serde(default)]
    confirmed: bool,
    /// `DELETE`, as a person types it to confirm the same.
    typed: Option<String>,
    next: Option<String>,
}

/// Deletes memories for good.
#[utoipa::path(post, path = "/selected/delete", operation_id = "selected_delete", request_body = DeleteRequest, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn delete(context: &RequestContext<'_>, delete: DeleteRequest) -> Result<Change> {
    let DeleteRequest {
        id,
        all_of,
        confirmed,
        typed,
        next,
    } = delete;
    if !confirmed && typed.as_deref() != Some(TYPED) {
        let problem = "must be true: what is deleted forever cannot be brought back";
        return Err(loci_core::Error::invalid("confirmed", problem));
    }
    let id = named(context, id, all_of.as_deref())?;
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

/// Returns memories as a file: one JSON object in each line, with the whole text.
#[utoipa::path(post, path = "/selected/export", operation_id = "selected_export", request_body = Selection, responses((status = OK, content_type = "application/x-ndjson", body = String, description = "A memory in each line, as JSON")))]
pub(crate) fn export(context: &RequestContext<'_>, selection: Selection) -> Result<Vec<u8>> {
    let Selection { id, all_of, .. } = selection;
    let ids = named(context, id, all_of.as_deref())?;
    if ids.is_empty() || ids.len() > SELECTED_MAX {
        let message = format!("must name 1 to {SELECTED_MAX} memories");
        return Err(loci_core::Error::invalid("id", message));
    }
    let action = ("export", "memory:read", Effect::Read);
    context.logged(action, None, |call| {
        let mut lines = Vec::new();
        for id in ids {
            let id = MemoryId::parse("id", &id)?;
            let memory = call.memories().show_of(&id, &Tier::ALL, Forgotten::Show)?;
            let line = serde_json::json!({
                "id": memory.id.as_str(),
                "title": memory.title,
                "content": memory.content,
                "project": memory.location.collection,
                "topic": memory.location.section,
                "type": memory.kind,
                "tags": memory.tags,
                "via": memory.origin,
                "created_at": UtcTimestamp(memory.created_at),
                "updated_at": UtcTimestamp(memory.updated_at),
            });
            lines.extend(line.to_string().into_bytes());
            lines.push(b'\n');
        }
        Ok(lines)
    })
}
