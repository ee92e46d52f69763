//! The list of facts for programs, in the order of time.

use loci_core::{Direction, Error, FactPlace, Result, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{FactRow, period};
use crate::paging;
use crate::request::RequestContext;
use crate::utc_timestamp::UtcTimestamp;
use crate::views::search::filters::past_time;

/// The name of the list in its cursors.
const LIST: &str = "facts";

/// Conditions on facts, and the part of the list.
#[derive(Clone, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct FactsQuery {
    /// Only facts with this entity as their subject or object; all if it is left out.
    entity: Option<String>,
    /// Only facts that hold on this day or at this instant; of any time if it is left out.
    as_of: Option<String>,
    /// The facts as they were known at this instant, or at the end of this day: without what was noted,
    /// ended or taken back since.
    known_at: Option<String>,
    /// The number of facts of this part, 1 to 100; 50 if it is left out.
    limit: Option<usize>,
    /// The `next_cursor` of the part before; the first part if it is left out.
    cursor: Option<String>,
}

/// A part of the facts, in the order of time. Nothing counts the facts of an entity, so that it has no
/// total.
#[derive(Serialize, ToSchema)]
pub(crate) struct FactPage {
    /// The facts. Without `as_of`, `holds` is about today.
    items: Vec<FactRow>,
    /// The cursor of the next part; null after the last one.
    next_cursor: Option<String>,
}

/// Lists facts by their start, the ones that always held first.
#[utoipa::path(get, path = "/facts/list", operation_id = "facts", params(FactsQuery), responses((status = OK, body = FactPage, description = "A part of the list")))]
pub(crate) fn list(context: &RequestContext<'_>, query: FactsQuery) -> Result<FactPage> {
    let limit = paging::limit(query.limit)?;
    let conditions = FactsQuery {
        limit: None,
        cursor: None,
        ..query.clone()
    };
    let beyond = paging::place_behind(LIST, &conditions, query.cursor.as_deref())?;
    let beyond = beyond.map(|text| place_of(&text)).transpose()?;
    let asked = query.as_of.as_deref();
    let asked = asked.map(|text| period("as_of", text)).transpose()?;
    let today = UtcTimestamp(context.engine().now()).day();
    let as_of = asked.map_or_else(|| period("as_of", &today), Ok)?;
    let graph = context.call().graph();
    // One more says whether there is a next part.
    let entity = query.entity.as_deref();
    let mut facts = match past_time(context, "known_at", query.known_at.as_deref())? {
        Some(at) => {
            let about = entity.map(|entity| (entity, Direction::Both));
            graph.facts_known_beyond(about, asked, at, (beyond.as_ref(), limit + 1))?
        }
        None => graph.facts_beyond(entity, asked, beyond, limit + 1)?,
    };
    let has_more = facts.len() > limit;
    facts.truncate(limit);
    let last = facts.last().filter(|_| has_more);
    let next_cursor = last.map(|last| text_of(&FactPlace::of(last)));
    let reader = context.call().caller();
    Ok(FactPage {
        items: facts
            .iter()
            .map(|fact| FactRow::of(reader, fact, false, as_of))
            .collect(),
        next_cursor: next_cursor.map(|text| paging::cursor_behind(LIST, &conditions, &text)),
    })
}

/// Returns a place as a text: its moments in microseconds, the first of which may be missing, and the id.
fn text_of(place: &FactPlace) -> String {
    let from = place.valid_from.map(Timestamp::microseconds);
    let from = from.map_or_else(String::new, |from| from.to_string());
    format!("{from} {} {}", place.created_at.microseconds(), place.id)
}

/// Reads such a text.
fn place_of(text: &str) -> Result<FactPlace> {
    let moment = |text: &str| text.parse().ok().map(Timestamp::from_microseconds);
    let place = || {
        let (from, rest) = text.split_once(' ')?;
        let (created_at, id) = rest.split_once(' ')?;
        Some(FactPlace {
            valid_from: match from {
                "" => None,
                from => Some(moment(from)?),
            },
            created_at: moment(created_at)?,
            id: id.to_owned(),
        })
    };
    place().ok_or_else(|| Error::invalid("cursor", "is damaged; start from the first record"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written() {
        for (valid_from, id) in [(None, "a b"), (Some(Timestamp::from_microseconds(-5)), "c")] {
            let place = FactPlace {
                valid_from,
                created_at: Timestamp::from_microseconds(7),
                id: id.to_owned(),
            };
            assert_eq!(place_of(&text_of(&place)), Ok(place));
        }
        for text in ["", "1", "1 2", "x 2 id", "1 x id"] {
            let refused = place_of(text).unwrap_err();
            assert_eq!(refused.argument.as_deref(), Some("cursor"), "{text}");
        }
    }
}
