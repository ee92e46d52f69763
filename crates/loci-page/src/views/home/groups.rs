//! The news, grouped by app, session and day, so that thirty memories of one session are one row.

use loci_core::{COMMAND_LINE, Memory, day_of};
use serde::Serialize;
use utoipa::ToSchema;

use crate::card::Card;
use crate::projects::project_of;
use crate::request::{CLIENT, RequestContext};
use crate::utc_timestamp::UtcTimestamp;

/// The groups that are shown.
const SHOWN: usize = 8;
/// The memories that a group shows when it is opened.
const CARDS: usize = 5;
/// The places that a group names.
const PLACES: usize = 2;
/// The tool set of what commands store.
const COMMAND_ORIGIN: &str = "loci";

/// Memories that one session of an app stored on a day.
#[derive(Serialize, ToSchema)]
#[schema(as = NewGroup)]
pub(crate) struct Group {
    /// The app; `None` if it gave no name, or the memory is from before apps were noted.
    pub(crate) app: Option<String>,
    /// True for memories that came by the command line, e.g. an import.
    pub(crate) by_command: bool,
    /// The time of its first memory, if it is of a session.
    pub(crate) session: Option<UtcTimestamp>,
    /// The time of its last memory.
    pub(crate) last: UtcTimestamp,
    /// The number of its memories.
    pub(crate) memories: usize,
    /// The projects of most of its memories, with their paths; without a name for none.
    pub(crate) places: Vec<GroupPlace>,
    /// Its last memories.
    pub(crate) cards: Vec<Card>,
}

/// A project that memories of a group are in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct GroupPlace {
    pub(crate) name: Option<String>,
    #[serde(skip)]
    pub(crate) path: String,
}

impl Group {
    /// Returns its memory if it has only one.
    pub(crate) fn only(&self) -> Option<&Card> {
        self.cards.first().filter(|_| self.memories == 1)
    }

    /// Returns the number of its memories that are not shown when it is opened.
    pub(crate) fn further(&self) -> usize {
        self.memories.saturating_sub(self.cards.len())
    }
}

/// The app and the session that stored a memory.
type Author = (Option<String>, Option<String>);

/// Returns groups of memories, which are sorted by time, the last one first, and the number of new
/// memories that the groups leave out.
pub(super) fn of(context: &RequestContext<'_>, memories: &[Memory], new: u64) -> (Vec<Group>, u64) {
    let mut groups: Vec<((Author, i64), Vec<&Memory>)> = Vec::new();
    for memory in memories {
        let author = (
            memory.provenance.program.clone(),
            memory.provenance.session.clone(),
        );
        let key = (author, day_of(memory.created_at));
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, members)) => members.push(memory),
            None => groups.push((key, vec![memory])),
        }
    }
    groups.truncate(SHOWN);
    let shown: usize = groups.iter().map(|(_, members)| members.len()).sum();
    let group =
        |((author, _), members): ((Author, i64), Vec<&Memory>)| group(context, author, &members);
    let groups = groups.into_iter().filter_map(group).collect();
    (groups, new.saturating_sub(shown as u64))
}

fn group(
    context: &RequestContext<'_>,
    (client, session): Author,
    members: &[&Memory],
) -> Option<Group> {
    let (last, first) = (members.first()?, members.last()?);
    let by_command = client.as_deref() == Some(COMMAND_LINE) || first.origin == COMMAND_ORIGIN;
    let client = client.filter(|client| client != COMMAND_LINE && client != CLIENT);
    let mut places: Vec<(Option<&str>, usize)> = Vec::new();
    for memory in members {
        let name = memory.location.collection.as_deref().map(project_of);
        match places.iter_mut().find(|(other, _)| *other == name) {
            Some((_, count)) => *count += 1,
            None => places.push((name, 1)),
        }
    }
    places.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let place = |(name, _): (Option<&str>, usize)| GroupPlace {
        name: name.map(str::to_owned),
        path: wing_path(name),
    };
    Some(Group {
        app: client.map(|client| context.app_title(&client)),
        by_command,
        session: session.map(|_| UtcTimestamp(first.created_at)),
        last: UtcTimestamp(last.created_at),
        memories: members.len(),
        places: places.into_iter().take(PLACES).map(place).collect(),
        cards: members
            .iter()
            .take(CARDS)
            .map(|memory| context.card(memory))
            .collect(),
    })
}

/// Returns the path of all memories of a project.
fn wing_path(wing: Option<&str>) -> String {
    let wing = crate::encoding::encoded(wing.unwrap_or_default());
    format!("/browse/room?wing={wing}")
}
