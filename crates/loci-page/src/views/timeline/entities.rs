//! The list of all entities.

use loci_core::Result;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::time_path;
use crate::encoding::encoded;
use crate::request::RequestContext;
use crate::view::{Tab, view};

/// The entities of one page.
const SHOWN: usize = 100;

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
    /// The number of facts that were read for it.
    pub(crate) facts: usize,
    /// True if there are more facts, whose entities are left out.
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

view!(EntityList, Tab::Time, "entities.html");

/// Lists the entities with the numbers of their facts.
#[utoipa::path(get, tag = "time::entities", path = "/time/entities", operation_id = "time_entities", params(EntitiesQuery), responses((status = OK, body = EntityList, description = "The content of the view")))]
pub(crate) fn entities(context: &RequestContext<'_>, query: EntitiesQuery) -> Result<EntityList> {
    let graph = context.call().graph();
    let found = graph.entities(query.text.trim())?;
    let total = found.entities.len();
    let next = query.offset.saturating_add(SHOWN);
    let shown = |entity: loci_engine::Entity| EntityRow {
        name: entity.name,
        current: entity.current,
        past: entity.past,
    };
    let entities = found.entities.into_iter().skip(query.offset).take(SHOWN);
    Ok(EntityList {
        entities: entities.map(shown).collect(),
        total,
        next_offset: (next < total).then_some(next),
        offset: query.offset,
        text: query.text,
        facts: found.facts,
        is_cut: found.is_cut,
    })
}

impl EntityRow {
    pub(crate) fn path(&self) -> String {
        time_path(&self.name, None)
    }
}

impl EntityList {
    fn page(&self, offset: usize) -> String {
        format!(
            "/time/entities?text={}&offset={offset}",
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
