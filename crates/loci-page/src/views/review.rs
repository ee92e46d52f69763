//! The view *Review*: what people should decide.
//!
//! A step in the background looks through new and changed memories and keeps what is open in a table
//! of the store, so that counts and lists are of the whole store. Nothing happens by itself. An item
//! that was dismissed does not come back.

pub(super) mod change;
mod items;

use loci_core::Result;
use loci_engine::{Certainty, ItemKind};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::memory::DiffLine;
use crate::card::Card;
use crate::paging;
use crate::request::RequestContext;
use crate::utc_timestamp::UtcTimestamp;
use crate::view::{Tab, view};
use crate::words::Piece;

pub(crate) use change::{accept, dismiss, keep, redact, trust};

/// The items of a group that are shown at a time.
const SHOWN: usize = 20;
/// The sentences with orders of a text that are shown.
const ORDERS_SHOWN: usize = 5;

/// A kind of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// Two memories of which the newer one seems to contradict the older one.
    Contradiction,
    /// Two memories that say nearly the same.
    Duplicate,
    /// A memory that contains secrets.
    Secret,
    /// A text that gives agents orders without being a directive.
    Order,
    /// A memory that rests on a file which is gone or changed.
    Stale,
    /// A memory that came in a file, and that agents do not follow before a person accepts it.
    Arrived,
    /// A directive by an author whose directives the visitor does not take.
    Directive,
    /// A problem of a note file.
    Note,
}

impl Kind {
    /// Every kind, the most pressing one first.
    pub(crate) const ALL: [Kind; 8] = [
        Kind::Secret,
        Kind::Order,
        Kind::Arrived,
        Kind::Contradiction,
        Kind::Stale,
        Kind::Duplicate,
        Kind::Directive,
        Kind::Note,
    ];

    /// Returns the kind of items that the engine finds.
    fn of(kind: ItemKind) -> Self {
        match kind {
            ItemKind::Secret => Kind::Secret,
            ItemKind::Order => Kind::Order,
            ItemKind::Arrived => Kind::Arrived,
            ItemKind::Contradiction => Kind::Contradiction,
            ItemKind::Stale => Kind::Stale,
            ItemKind::Duplicate => Kind::Duplicate,
            ItemKind::Directive => Kind::Directive,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Contradiction => "contradiction",
            Kind::Duplicate => "duplicate",
            Kind::Secret => "secret",
            Kind::Arrived => "arrived",
            Kind::Directive => "directive",
            Kind::Order => "order",
            Kind::Stale => "stale",
            Kind::Note => "note",
        }
    }

    /// Returns the path of its items.
    pub(crate) fn path(self) -> String {
        kind_path(self, 0)
    }

    /// Returns the message of what its items are.
    pub(crate) fn how(self) -> String {
        format!("review-{}-how", self.name())
    }

    /// Returns the message of its title.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Kind::Contradiction => "review-contradiction",
            Kind::Duplicate => "review-duplicate",
            Kind::Secret => "review-secret",
            Kind::Arrived => "review-arrived",
            Kind::Directive => "review-directive",
            Kind::Order => "review-order",
            Kind::Stale => "review-stale",
            Kind::Note => "review-note",
        }
    }
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ReviewQuery {
    /// The kinds of items; all if it is left out.
    #[serde(default)]
    kind: Vec<Kind>,
    /// The items to skip, if one kind is asked for.
    #[serde(default)]
    offset: usize,
}

/// The items that people should decide.
#[derive(Serialize, ToSchema)]
pub(crate) struct Review {
    /// The kinds of items that were asked for; none is all.
    pub(crate) asked: Vec<Kind>,
    pub(crate) groups: Vec<Group>,
    /// The number of open items of each kind that the visitor may see.
    pub(crate) counts: Vec<KindCount>,
    /// The number of open items of all kinds together, in the whole store.
    pub(crate) total: usize,
    /// True if every memory was examined as it is now; otherwise there may be more.
    pub(crate) is_complete: bool,
    /// The time of this look.
    pub(crate) looked_at: UtcTimestamp,
}

/// The number of open items of a kind.
#[derive(Serialize, ToSchema)]
pub(crate) struct KindCount {
    pub(crate) kind: Kind,
    pub(crate) count: usize,
}

/// The items of a kind.
#[derive(Serialize, ToSchema)]
pub(crate) struct Group {
    pub(crate) kind: Kind,
    pub(crate) items: Vec<Item>,
    /// The number of skipped items.
    pub(crate) offset: usize,
    /// The number of open items in the whole store.
    pub(crate) total: usize,
    /// The number of items to skip to see further ones; `None` on the last page.
    pub(crate) next_offset: Option<usize>,
    /// Why the group may lack items, in a sentence.
    pub(crate) degraded: Option<String>,
}

/// A sentence of a text that gives agents orders.
#[derive(Serialize, ToSchema)]
pub(crate) struct FoundOrder {
    /// The sentence as it stands in the text.
    pub(crate) sentence: String,
    /// The way in which it is kept from being read: `hidden`, `look-alikes`, `spacing`, `encoding`.
    pub(crate) disguise: Option<&'static str>,
    /// The words that it is read as, if it is disguised.
    pub(crate) read_as: Option<String>,
}

impl FoundOrder {
    /// Returns the message of its disguise.
    pub(crate) fn label(&self) -> Option<String> {
        self.disguise
            .map(|disguise| format!("review-read-{disguise}"))
    }
}

/// Something to decide. Which fields it has depends on its kind.
#[derive(Serialize, ToSchema)]
pub(crate) struct Item {
    /// The key by which it is dismissed.
    pub(crate) key: String,
    pub(crate) kind: Kind,
    /// The memory; of a pair, the newer one. Secrets in its text are replaced.
    pub(crate) memory: Option<Card>,
    /// The older memory of a pair.
    pub(crate) other: Option<Card>,
    /// The lines of the older and the newer memory of a pair, unless they are long.
    pub(crate) diff: Vec<DiffLine>,
    /// The texts of the older and the newer memory of a pair, with the words that differ.
    #[serde(skip)]
    pub(crate) words: [Vec<Piece>; 2],
    /// The cosine similarity of a near duplicate, in percent.
    pub(crate) percent: Option<u64>,
    /// Of a contradiction: `sure`, `likely` or `maybe`.
    pub(crate) certainty: Option<&'static str>,
    /// The kinds of secrets and their counts, the first sentence with an order, or the path of a file.
    pub(crate) detail: Option<String>,
    /// The first sentences with orders, at most five.
    pub(crate) orders: Vec<FoundOrder>,
    /// The state of a file: `missing`, `ignored`, `changed`, or the kind of a problem.
    pub(crate) state: Option<&'static str>,
    /// The problem of a file, in a sentence.
    pub(crate) problem: Option<String>,
    /// The author of a directive or of an order, if that is another user.
    pub(crate) author: Option<String>,
    /// True if the visitor may have agents follow it: by trusting the author of a directive, or by
    /// accepting a memory that came in a file.
    pub(crate) may_trust: bool,
    /// True if the visitor may change the memory; of a pair, the newer one.
    pub(crate) may_write: bool,
    /// True if the visitor may change the older memory of a pair.
    pub(crate) may_write_other: bool,
}

view!(Review, Tab::Review, "review.html");

/// Returns the path of the items of a kind.
fn kind_path(kind: Kind, offset: usize) -> String {
    match offset {
        0 => format!("/review?kind={}", kind.name()),
        _ => format!("/review?kind={}&offset={offset}", kind.name()),
    }
}

/// Returns what people should decide.
#[utoipa::path(get, path = "/review", operation_id = "review", params(ReviewQuery), responses((status = OK, body = Review, description = "The content of the view")))]
pub(crate) fn view(context: &RequestContext<'_>, query: ReviewQuery) -> Result<Review> {
    let dismissed = context.call().settings().dismissed()?;
    let open = items::open(context, &dismissed)?;
    let offset = match query.kind.as_slice() {
        [_] => query.offset,
        _ => 0,
    };
    let counts = open.iter().map(|open| KindCount {
        kind: open.kind,
        count: open.count(),
    });
    let counts: Vec<KindCount> = counts.collect();
    let total = counts.iter().map(|counted| counted.count).sum();
    context.page.keep_open_count(context.caller(), total);
    let is_asked = |kind| query.kind.is_empty() || query.kind.contains(&kind);
    let asked = open.iter().filter(|open| is_asked(open.kind));
    let groups = asked.map(|open| items::group(context, open, offset));
    Ok(Review {
        groups: groups.collect::<Result<_>>()?,
        asked: query.kind,
        counts,
        total,
        is_complete: context.engine().is_examined()?,
        looked_at: UtcTimestamp(context.engine().now()),
    })
}

/// The name of the list in its cursors.
const LIST: &str = "decisions";

/// The kind of decisions, and the part of the list.
#[derive(Clone, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct DecisionsQuery {
    /// The kind.
    #[param(inline)]
    kind: Kind,
    /// The number of decisions of this part, 1 to 100; 50 if it is left out.
    limit: Option<usize>,
    /// The `next_cursor` of the part before; the first part if it is left out.
    cursor: Option<String>,
}

/// A part of what people should decide of a kind, the most certain first.
#[derive(Serialize, ToSchema)]
pub(crate) struct DecisionPage {
    /// The decisions.
    items: Vec<Item>,
    /// The cursor of the next part; null after the last one.
    next_cursor: Option<String>,
    /// The number of all of this kind, in the first part.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
}

/// Lists what people should decide of a kind, the most certain first.
#[utoipa::path(get, path = "/decisions", operation_id = "decisions", params(DecisionsQuery), responses((status = OK, body = DecisionPage, description = "A part of the list")))]
pub(crate) fn list(context: &RequestContext<'_>, query: DecisionsQuery) -> Result<DecisionPage> {
    let limit = paging::limit(query.limit)?;
    let behind = paging::place_behind(LIST, &query.kind, query.cursor.as_deref())?;
    let dismissed = context.call().settings().dismissed()?;
    let open = items::open(context, &dismissed)?;
    let asked = open.iter().find(|open| open.kind == query.kind);
    let (items, last) = match asked {
        Some(open) => items::part(context, open, behind.as_deref(), limit)?,
        None => (Vec::new(), None),
    };
    Ok(DecisionPage {
        items,
        next_cursor: last.map(|last| paging::cursor_behind(LIST, &query.kind, &last)),
        total: behind
            .is_none()
            .then(|| asked.map_or(0, items::OpenKind::count)),
    })
}

/// Counts what is open in the whole store, as far as the visitor may see it.
///
/// # Errors
/// `unavailable` if the store cannot be read.
pub(crate) fn count(context: &RequestContext<'_>) -> Result<usize> {
    let dismissed = context.call().settings().dismissed()?;
    let open = items::open(context, &dismissed)?;
    Ok(open.iter().map(items::OpenKind::count).sum())
}

impl Review {
    /// Returns true if it shows the kind only with this name.
    pub(crate) fn is_of(&self, kind: &str) -> bool {
        matches!(self.asked.as_slice(), [own] if own.name() == kind)
    }

    /// Returns true for the item that is open at first: the most pressing one.
    pub(crate) fn is_first(&self, item: &Item) -> bool {
        let of_group = |group: &Group| group.clear().first().map(|first| first.key.clone());
        let first = self.groups.iter().find_map(of_group);
        first.is_some_and(|first| first == item.key)
    }
}

impl Group {
    /// Returns the items with more than little evidence.
    pub(crate) fn clear(&self) -> Vec<&Item> {
        self.items.iter().filter(|item| !item.is_folded()).collect()
    }

    /// Returns the items with little evidence.
    pub(crate) fn folded(&self) -> Vec<&Item> {
        self.items.iter().filter(|item| item.is_folded()).collect()
    }

    pub(crate) fn is_arrived(&self) -> bool {
        self.kind == Kind::Arrived
    }

    pub(crate) fn is_secret(&self) -> bool {
        self.kind == Kind::Secret
    }

    /// Returns the ids of its memories that the visitor may have agents follow, if these are several.
    pub(crate) fn acceptable(&self) -> Vec<&str> {
        let items = self.items.iter();
        let items = items.filter(|item| item.kind == Kind::Arrived && item.may_trust);
        let memories = items.filter_map(|item| item.memory.as_ref());
        let ids: Vec<&str> = memories.map(|memory| memory.id.as_str()).collect();
        if ids.len() > 1 { ids } else { Vec::new() }
    }

    /// Returns its path.
    pub(crate) fn path(&self) -> String {
        kind_path(self.kind, self.offset)
    }

    /// Returns how many items come after these.
    pub(crate) fn left(&self) -> usize {
        self.total - self.next_offset.unwrap_or(self.total).min(self.total)
    }

    /// Returns the path of further items.
    pub(crate) fn next(&self) -> Option<String> {
        Some(kind_path(self.kind, self.next_offset?))
    }
}

impl Item {
    /// Returns the message of what happened to a file.
    pub(crate) fn state_label(&self) -> Option<String> {
        Some(format!("file-{}", self.state?.replace('_', "-")))
    }

    /// Returns true if it is folded, because the evidence is small.
    pub(crate) fn is_folded(&self) -> bool {
        self.certainty == Some(Certainty::Maybe.name())
    }

    /// Returns the message of how certain it is.
    pub(crate) fn certainty_label(&self) -> Option<String> {
        Some(format!("certainty-{}", self.certainty?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of these messages are put together.
    #[test]
    fn every_kind_and_state_has_its_messages() {
        let english = include_str!("../../messages/en.ftl");
        let states = loci_core::FileProblemKind::ALL
            .map(loci_core::FileProblemKind::name)
            .into_iter()
            .chain(["missing", "ignored", "changed"]);
        let kinds = Kind::ALL.map(Kind::name);
        let names = states
            .map(|state| format!("file-{}", state.replace('_', "-")))
            .chain(kinds.map(|kind| format!("review-{kind}")))
            .chain(kinds.map(|kind| format!("review-{kind}-how")))
            .chain(["sure", "likely", "maybe"].map(|name| format!("certainty-{name}")));
        for name in names {
            assert!(english.contains(&format!("\n{name} = ")), "{name}");
        }
    }
}
