//! Memories as programs list and store them, under `/api/v1/memories`.

use loci_core::{
    CollectionFilter, Error, ErrorCode, FilingOrder, Forgotten, Memory, OwnerFilter, Result, Tier,
    Visibility,
};
use loci_engine::{
    Browse, Call, Effect, Facets, KeyedRemember, KeyedRequest, List, Recall, Remember,
    RememberResult,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::search::filters::{parse_time, past_time};
use crate::card::{CHARACTERS_READ, Card};
use crate::change::{Change, Outcome, own_path};
use crate::paging;
use crate::projects::collections_of;
use crate::request::RequestContext;

/// The name of the list in its cursors.
const LIST: &str = "memories";
/// The name of the operation whose idempotency keys these are.
const OPERATION: &str = "POST /memories";
/// The type of a memory that comes without one.
const KIND: &str = "fact";

/// Conditions on memories, and the part of the list.
#[derive(Clone, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct MemoriesQuery {
    /// The wing, project or scope; empty is global, all if it is left out.
    wing: Option<String>,
    /// The room.
    room: Option<String>,
    /// The type.
    #[serde(rename = "type")]
    kind: Option<String>,
    /// A tag.
    tag: Option<String>,
    /// The user who filed it.
    who: Option<String>,
    /// The dialect that it came in through.
    via: Option<String>,
    /// The app that filed it, by the name that it gives itself.
    program: Option<String>,
    /// The first day or instant on which it was filed.
    from: Option<String>,
    /// The last one.
    until: Option<String>,
    /// True for what was forgotten, and nothing else.
    #[serde(default)]
    forgotten: bool,
    /// Memories as they stood at this instant, or at the end of this day, last updated first: with the
    /// texts of then, and with what was forgotten since.
    as_of: Option<String>,
    /// A question, with `as_of` alone: the best memories for it come first, in one part.
    q: Option<String>,
    /// `newest` first, or `oldest` first; `newest` if it is left out.
    order: Option<String>,
    /// The number of memories of this part, 1 to 100; 50 if it is left out.
    limit: Option<usize>,
    /// The `next_cursor` of the part before; the first part if it is left out.
    cursor: Option<String>,
}

/// A part of the memories, in the order of filing.
#[derive(Serialize, ToSchema)]
pub(crate) struct MemoryPage {
    /// The memories.
    items: Vec<Card>,
    /// The cursor of the next part; null after the last one.
    next_cursor: Option<String>,
    /// The number of all memories that match, in the first part.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
}

/// Lists memories in the order of filing.
#[utoipa::path(get, path = "/memories", operation_id = "memories", params(MemoriesQuery), responses((status = OK, body = MemoryPage, description = "A part of the list")))]
pub(crate) fn list(context: &RequestContext<'_>, query: MemoriesQuery) -> Result<MemoryPage> {
    let limit = paging::limit(query.limit)?;
    let conditions = MemoriesQuery {
        limit: None,
        cursor: None,
        ..query.clone()
    };
    let beyond = paging::place(LIST, &conditions, query.cursor.as_deref())?;
    if let Some(as_of) = &query.as_of {
        return past(context, (&query, &conditions, as_of), beyond, limit);
    }
    if query.q.is_some() {
        let problem = "needs `as_of` here; `/api/v1/search` finds what is known now";
        return Err(Error::invalid("q", problem));
    }
    let order = match query.order.as_deref() {
        None | Some("newest") => FilingOrder::LastFirst,
        Some("oldest") => FilingOrder::FirstFirst,
        Some(_) => return Err(Error::invalid("order", "must be `newest` or `oldest`")),
    };
    let browse = Browse {
        collections: collections_of(query.wing.as_deref()),
        sections: query.room.iter().cloned().collect(),
        kinds: query.kind.iter().cloned().collect(),
        tags: query.tag.iter().cloned().collect(),
        facets: facets_of(&query)?,
        forgotten: if query.forgotten {
            Forgotten::Only
        } else {
            Forgotten::Hide
        },
        order,
        // One more says whether there is a next part.
        limit: limit + 1,
        characters_max: Some(CHARACTERS_READ),
        ..Browse::default()
    };
    let listings = context.call().listings();
    let mut found = listings.list_beyond(&browse, beyond)?;
    let has_more = found.len() > limit;
    found.truncate(limit);
    let last = found.last().filter(|_| has_more).map(|(number, _)| *number);
    Ok(MemoryPage {
        items: found
            .iter()
            .map(|(_, memory)| context.card(memory))
            .collect(),
        next_cursor: last.map(|number| paging::cursor(LIST, &conditions, number)),
        total: match beyond {
            None => Some(listings.count_browsed(&browse)?),
            Some(_) => None,
        },
    })
}

/// Returns the conditions of a query on owners, programs and times.
fn facets_of(query: &MemoriesQuery) -> Result<Facets> {
    Ok(Facets {
        owner: match query.who.as_ref().filter(|who| !who.is_empty()) {
            Some(who) => OwnerFilter::Only(who.clone()),
            None => OwnerFilter::Any,
        },
        origins: query.via.clone().into_iter().collect(),
        programs: query.program.clone().into_iter().collect(),
        created_from: parse_time("from", query.from.as_deref(), false)?,
        created_until: parse_time("until", query.until.as_deref(), true)?,
        ..Facets::default()
    })
}

/// Lists or finds memories as they stood at a time.
fn past(
    context: &RequestContext<'_>,
    (query, conditions, as_of): (&MemoriesQuery, &MemoriesQuery, &str),
    beyond: Option<u64>,
    limit: usize,
) -> Result<MemoryPage> {
    if query.forgotten || query.order.is_some() {
        let argument = if query.forgotten {
            "forgotten"
        } else {
            "order"
        };
        return Err(Error::invalid(argument, "cannot be given with `as_of`"));
    }
    let now = context.engine().now();
    let at = past_time(context, "as_of", Some(as_of))?.unwrap_or(now);
    let facets = facets_of(query)?;
    let (collections, sections) = (
        collections_of(query.wing.as_deref()),
        query.room.iter().cloned().collect(),
    );
    let kinds: Vec<String> = query.kind.iter().cloned().collect();
    let tags: Vec<String> = query.tag.iter().cloned().collect();
    if let Some(question) = &query.q {
        let request = Recall {
            collections,
            sections,
            kinds,
            tags,
            facets,
            ..Recall::new(question, limit, &|signals| signals.relevance)
        };
        let hits = context.call().search().recall_as_of(&request, at)?;
        return Ok(MemoryPage {
            items: hits.iter().map(|hit| context.card(&hit.memory)).collect(),
            next_cursor: None,
            total: None,
        });
    }
    let offset = usize::try_from(beyond.unwrap_or(0)).unwrap_or(0);
    let list = List {
        collections,
        sections,
        kinds,
        tags,
        delivery: None,
        facets,
        offset,
        // One more says whether there is a next part.
        limit: limit + 1,
        as_of: Some(at),
    };
    let mut found = context.call().listings().list(list)?;
    let has_more = found.len() > limit;
    found.truncate(limit);
    let next = (offset + found.len()) as u64;
    Ok(MemoryPage {
        items: found.iter().map(|memory| context.card(memory)).collect(),
        next_cursor: has_more.then(|| paging::cursor(LIST, conditions, next)),
        total: None,
    })
}

/// A memory to store.
#[derive(Deserialize, Serialize, ToSchema)]
pub(crate) struct NewMemory {
    /// The text, kept byte for byte but for secrets, at most 1 MiB.
    content: String,
    /// The wing, project or scope; global if it is left out.
    wing: Option<String>,
    /// The room; the name of the type if it is left out.
    room: Option<String>,
    /// The type, e.g. `fact`, `rule` or `decision`; `fact` if it is left out.
    #[serde(rename = "type")]
    kind: Option<String>,
    /// Labels.
    #[serde(default)]
    tags: Vec<String>,
    /// True if the others in the space may read it.
    #[serde(default)]
    shared: bool,
    /// A key of your choice, at most 256 characters: a repeated request under it stores nothing, and
    /// is answered with the memory that the first one stored.
    idempotency_key: Option<String>,
}

/// The names of the operation's fields, and of what a request calls them.
const SENT_AS: [(&str, &str); 3] = [
    ("collection", "wing"),
    ("section", "room"),
    ("kind", "type"),
];

/// Returns the error of an operation with the name of the parameter that was sent.
fn as_sent(error: Error) -> Error {
    let named = SENT_AS
        .iter()
        .find(|(own, _)| error.argument.as_deref() == Some(*own));
    let Some((own, sent)) = named else {
        return error;
    };
    let quoted = format!("`{own}` ");
    let problem = error.message.strip_prefix(&quoted);
    Error::about_argument(error.code, sent, problem.unwrap_or(&error.message))
}

/// A memory that was stored.
#[derive(Serialize, ToSchema)]
pub(crate) struct StoredMemory {
    /// The memory.
    memory: Card,
    /// Its revision, which a change of its text names.
    revision: u64,
    /// False if an earlier request under the same key stored it.
    is_new: bool,
    /// The memory with the same text that was in the same wing before.
    duplicate_of: Option<String>,
    /// Older memories that it seems to contradict, the clearest contradiction first.
    contradicts: Vec<String>,
    /// The number of secrets that were removed from its texts.
    redacted: u64,
}

/// Stores a memory, as agents do.
#[utoipa::path(post, path = "/memories", operation_id = "memories_store", request_body = NewMemory, responses((status = OK, body = StoredMemory, description = "The memory that was stored")))]
pub(crate) fn store(context: &RequestContext<'_>, mut new: NewMemory) -> Result<StoredMemory> {
    let idempotency_key = new.idempotency_key.take();
    let request = serde_json::to_string(&new)
        .map_err(|error| Error::internal(format!("a request cannot be written: {error}")))?;
    let NewMemory {
        content,
        wing,
        room,
        kind,
        tags,
        shared,
        idempotency_key: _,
    } = new;
    let wing = wing.filter(|wing| !wing.is_empty());
    let remember = Remember {
        section: room.filter(|room| !room.is_empty()),
        tags,
        visibility: if shared {
            Visibility::Shared
        } else {
            Visibility::Private
        },
        compare_in: Some(
            wing.clone()
                .map_or(CollectionFilter::Global, CollectionFilter::GlobalAnd),
        ),
        collection: wing,
        ..Remember::new(content, kind.unwrap_or_else(|| KIND.to_owned()))
    };
    let what = ("store_memory", "memory:write", Effect::Write);
    let stored = context.logged(what, None, |call| {
        let Some(key) = &idempotency_key else {
            let remembered = call.memories().remember(remember)?;
            return Ok(StoredMemory::of(context, call, remembered));
        };
        let keyed = KeyedRequest {
            operation: OPERATION,
            key,
            request: &request,
        };
        match call.memories().remember_keyed(keyed, remember)? {
            KeyedRemember::New(remembered) => Ok(StoredMemory::of(context, call, *remembered)),
            KeyedRemember::Before(id) => {
                let found = call.memories().show_of(&id, &Tier::ALL, Forgotten::Show);
                let gone = |error: Error| match error.code {
                    ErrorCode::NotFound => Error::new(
                        ErrorCode::Conflict,
                        "the memory that was stored under `idempotency_key` was deleted; take another key to store it again",
                    ),
                    _ => error,
                };
                Ok(StoredMemory::before(context, &found.map_err(gone)?))
            }
        }
    });
    let stored = stored.map_err(as_sent)?;
    context.page.forget_open_counts();
    Ok(stored)
}

/// A memory that answers a question of agents, which nothing stored answered.
#[derive(Deserialize, ToSchema)]
pub(crate) struct MissingMemory {
    /// The text, at most 1 MiB.
    content: String,
    /// The wing, project or scope; global if it is left out.
    wing: Option<String>,
    /// The path of the page to show after it.
    next: Option<String>,
}

/// Stores the answer to a question that agents asked in vain, for everyone in the space.
#[utoipa::path(post, path = "/activity/add", operation_id = "activity_add", request_body = MissingMemory, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn add_missing(context: &RequestContext<'_>, new: MissingMemory) -> Result<Change> {
    let remember = Remember {
        collection: new.wing.filter(|wing| !wing.is_empty()),
        // As agents store what is for everyone's sessions.
        visibility: Visibility::Common,
        ..Remember::new(new.content.replace("\r\n", "\n"), KIND)
    };
    let what = ("store_memory", "memory:write", Effect::Write);
    let stored = context.logged(what, None, |call| {
        Ok(call.memories().remember(remember)?.memory.id)
    });
    let id = stored.map_err(as_sent)?;
    let next = own_path(new.next.as_deref().unwrap_or_default(), "/activity");
    Ok(Change::one(
        "done-stored",
        next.to_owned(),
        Box::new(move |call| call.memories().forget_softly(&id).map(drop)),
    ))
}

impl StoredMemory {
    fn of(context: &RequestContext<'_>, call: &Call<'_>, remembered: RememberResult) -> Self {
        let id = |id: &loci_core::MemoryId| id.as_str().to_owned();
        StoredMemory {
            is_new: true,
            duplicate_of: remembered.duplicate_of.as_ref().map(id),
            contradicts: remembered
                .contradicted
                .iter()
                .map(|similar| id(&similar.memory.id))
                .collect(),
            redacted: call.redactions().total(),
            ..StoredMemory::before(context, &remembered.memory)
        }
    }

    fn before(context: &RequestContext<'_>, memory: &Memory) -> Self {
        StoredMemory {
            memory: context.card(memory),
            revision: memory.revision,
            is_new: false,
            duplicate_of: None,
            contradicts: Vec::new(),
            redacted: 0,
        }
    }
}
