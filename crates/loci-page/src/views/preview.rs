//! A memory beside the list that it is in.

use loci_core::{Forgotten, Result, Tier};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::card::Card;
use crate::request::RequestContext;
use crate::utc_timestamp::UtcTimestamp;
use crate::view::{Tab, view};

/// The characters of a text that a preview shows.
const CHARACTERS: usize = 20_000;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PreviewQuery {
    /// The memory: its id, or the first or last 8 or more characters of the id.
    #[param(example = "01JD9Z7Q8M2B4X")]
    id: String,
}

/// A memory with its text, without secrets.
#[derive(Serialize, ToSchema)]
pub(crate) struct Preview {
    pub(crate) memory: Card,
    /// The text, without secrets; at most 20,000 characters.
    pub(crate) text: String,
    /// The number of times that it was returned.
    pub(crate) uses: u64,
    /// The time at which it was last returned.
    pub(crate) used_at: Option<UtcTimestamp>,
}

view!(Preview, Tab::Browse, "preview.html");

/// Shows a memory beside a list.
#[utoipa::path(get, path = "/browse/preview", operation_id = "browse_preview", params(PreviewQuery), responses((status = OK, body = Preview, description = "The content of the view")))]
pub(crate) fn view(context: &RequestContext<'_>, query: PreviewQuery) -> Result<Preview> {
    let memories = context.call().memories();
    let id = memories.memory_id("id", &query.id)?;
    let memory = memories.show_of(&id, &Tier::ALL, Forgotten::Show)?;
    let text = context.masked(&memory.content);
    Ok(Preview {
        text: text.chars().take(CHARACTERS).collect(),
        memory: context.card(&memory),
        uses: memory.access.count,
        used_at: memory.access.last.map(UtcTimestamp),
    })
}
