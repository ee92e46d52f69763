//! The list of all entities.

use loci_core::{Entity, Result};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::time_path;
use crate::encoding::encoded;
use crate::paging;
use crate::request::RequestContext;
use crate::view::{Tab, view};

/// The entities of one page.
const SHOWN: usize = 100;
/// The most entities of all pages.
const ENTITIES_MAX: usize = 20_000;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct EntitiesQuery {
    /// A text in the names; all if it is left out.
    #[serde(default)]
    text: String,
    /// The entities to skip.
    #[serde(default)]
    offset: usize,
}

/// The entities of the knowledge graph, in the order of their names.
#[derive(Serialize, ToSchema)]
pub(crate) struct EntityList {
    pub(crate) text: String,
    /// The number of all entities whose names have the text.
    pub(crate) total: usize,
    pub(crate) entities: Vec<EntityRow>,
    pub(crate) offset: usize,
    /// The offset of the next ones, if there are more.
    pub(crate) next_offset: Option<usize>,
    /// True if there are more entities, with fewer facts.
    pub(crate) is_cut: bool,
}

/// An entity in the list.
#[derive(Serialize, ToSchema)]
#[schema(as = EntityShown)]
pub(crate) struct EntityRow {
    pub(crate) name: String,
    /// The facts about it that hold now.
    pub(crate) current: u64,
    /// The facts about it that are over.
    pub(crate) past: u64,
}

view!(EntityList, Tab::Facts, "entities.html");

/// Lists the entities with the numbers of their facts.
#[utoipa::path(get, tag = "time::entities", path = "/facts/entities", operation_id = "time_entities", params(EntitiesQuery), responses((status = OK, body = EntityList, description = "The content of the view")))]
pub(crate) fn entities(context: &RequestContext<'_>, query: EntitiesQuery) -> Result<EntityList> {
    let graph = context.call().graph();
    let mut found = graph.entities(query.text.trim(), ENTITIES_MAX + 1)?;
    let is_cut = found.len() > ENTITIES_MAX;
    found.truncate(ENTITIES_MAX);
    found.sort_by(|one, other| one.name.key.cmp(&other.name.key));
    let total = found.len();
    let next = query.offset.saturating_add(SHOWN);
    let entities = found.into_iter().skip(query.offset).take(SHOWN);
    Ok(EntityList {
        entities: entities.map(EntityRow::of).collect(),
        total,
        next_offset: (next < total).then_some(next),
        offset: query.offset,
        text: query.text,
        is_cut,
    })
}

/// The name of the list in its cursors.
const LIST: &str = "entities";

/// A condition on entities, and the part of the list.
#[derive(Clone, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct EntityPageQuery {
    /// A text in the names; all if it is left out.
    #[serde(default)]
    text: String,
    /// The number of entities of this part, 1 to 100; 50 if it is left out.
    limit: Option<usize>,
    /// The `next_cursor` of the part before; the first part if it is left out.
    cursor: Option<String>,
}

/// A part of the entities, in the order of their names.
#[derive(Serialize, ToSchema)]
pub(crate) struct EntityPage {
    /// The entities.
    items: Vec<EntityRow>,
    /// The cursor of the next part; null after the last one.
    next_cursor: Option<String>,
    /// The number of all entities whose names have the text, in the first part.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
}

/// Lists the entities of the knowledge graph in the order of their names, at most the 20,000 with the
/// most facts.
#[utoipa::path(get, path = "/entities", operation_id = "entities", params(EntityPageQuery), responses((status = OK, body = EntityPage, description = "A part of the list")))]
pub(crate) fn list(context: &RequestContext<'_>, query: EntityPageQuery) -> Result<EntityPage> {
    let limit = paging::limit(query.limit)?;
    let behind = paging::place_behind(LIST, &query.text, query.cursor.as_deref())?;
    let graph = context.call().graph();
    let mut entities = graph.entities(query.text.trim(), ENTITIES_MAX)?;
    let total = behind.is_none().then_some(entities.len());
    entities.sort_by(|one, other| one.name.spelling.cmp(&other.name.spelling));
    let is_next = |entity: &Entity| {
        let behind = behind.as_ref();
        behind.is_none_or(|behind| entity.name.spelling > *behind)
    };
    entities.retain(is_next);
    let has_more = entities.len() > limit;
    entities.truncate(limit);
    let last = entities.last().filter(|_| has_more);
    Ok(EntityPage {
        next_cursor: last.map(|last| paging::cursor_behind(LIST, &query.text, &last.name.spelling)),
        items: entities.into_iter().map(EntityRow::of).collect(),
        total,
    })
}

impl EntityRow {
    pub(super) fn of(entity: Entity) -> Self {
        EntityRow {
            name: entity.name.spelling,
            current: entity.current,
            past: entity.past,
        }
    }

    /// Returns the number of its facts.
    pub(crate) fn count(&self) -> u64 {
        self.current + self.past
    }

    pub(crate) fn path(&self) -> String {
        time_path(&self.name, None)
    }
}

impl EntityList {
    fn page(&self, offset: usize) -> String {
        format!(
            "/facts/entities?text={}&offset={offset}",
            encoded(&self.text)
        )
    }

    pub(crate) fn next(&self) -> Option<String> {
        self.next_offset.map(|offset| self.page(offset))
    }

    pub(crate) fn previous(&self) -> Option<String> {
        (self.offset > 0).then(|| self.page(self.offset.saturating_sub(SHOWN)))
    }
}
