//! The changes of a session, so that the result of one can be looked up again, and taken back later.
//! Changes of earlier sessions follow, which the store keeps.

use loci_core::{Forgotten, Result, Tier};
use loci_engine::ChangesOfCall;
use serde::{Deserialize, Serialize};

use crate::request::{CLIENT, RequestContext};
use crate::session::PastChange;
use crate::utc_timestamp::UtcTimestamp;
use crate::view::{Tab, view};

/// The calls that are looked at for the changes of earlier sessions.
const CALLS_READ: usize = 200;
/// The changes of earlier sessions that are shown.
const EARLIER_SHOWN: usize = 20;

#[derive(Deserialize)]
pub(crate) struct HistoryQuery {}

/// The last changes of a session, the last one first.
#[derive(Serialize)]
pub(crate) struct History {
    pub(crate) items: Vec<PastChange>,
    /// Those of earlier sessions.
    pub(crate) earlier: Vec<EarlierChange>,
}

/// A change of memories, facts and tunnels that a person made in an earlier session.
#[derive(Serialize)]
pub(crate) struct EarlierChange {
    pub(crate) at: UtcTimestamp,
    /// The name of the change, as in the log.
    pub(crate) tool: String,
    pub(crate) memories: u64,
    /// The number of facts and tunnels.
    pub(crate) records: u64,
    /// The title of the first memory, or the first fact or tunnel in few words.
    pub(crate) title: String,
    /// The number by which it is taken back.
    pub(crate) undo: u64,
}

view!(History, Tab::Home, "history.html");

/// Lists what a person changed in this session, and on the page before.
pub(crate) fn view(context: &RequestContext<'_>, _: HistoryQuery) -> Result<History> {
    let Some(session) = &context.visitor.session else {
        return Ok(History {
            items: Vec::new(),
            earlier: Vec::new(),
        });
    };
    let since = session.first_change().unwrap_or(context.visitor.now);
    let calls = context.call().changes().last(CALLS_READ)?.into_iter();
    let earlier = calls
        .filter(|call| {
            let is_of_page = call.note.program.as_deref() == Some(CLIENT);
            is_of_page && call.note.by.is_none() && call.note.at < since
        })
        .take(EARLIER_SHOWN);
    Ok(History {
        items: session.past_changes(),
        earlier: earlier.map(|call| shown(context, call)).collect(),
    })
}

fn shown(context: &RequestContext<'_>, call: ChangesOfCall) -> EarlierChange {
    let memories = context.call().memories();
    let first = call.memories.first();
    let first = first.and_then(|id| memories.show_of(id, &Tier::ALL, Forgotten::Show).ok());
    EarlierChange {
        at: UtcTimestamp(call.note.at),
        tool: call.note.tool,
        memories: call.memories.len() as u64,
        records: call.records.len() as u64,
        title: match first {
            Some(memory) => context.card(&memory).title,
            None => call
                .records
                .into_iter()
                .next()
                .map_or_else(String::new, |record| record.label),
        },
        undo: call.note.call,
    }
}
