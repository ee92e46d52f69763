//! The view *Review*: what people should decide.
//!
//! Each group of items is computed from a part of the memories, the last filed ones first, and says
//! how many were looked at; a link leads on to those before them. Nothing happens by itself. An item
//! that was dismissed does not come back.

pub(super) mod change;
mod dismissed;
mod items;

use std::collections::HashSet;

use loci_core::Result;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::card::Card;
use super::memory::DiffLine;
use crate::form::Form;
use crate::request::RequestContext;
use crate::view::{Tab, view};

pub(crate) use change::{accept, dismiss, keep, redact, trust};

/// The items of a group that are shown at a time.
const SHOWN: usize = 20;

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
    pub(crate) const ALL: [Kind; 8] = [
        Kind::Contradiction,
        Kind::Duplicate,
        Kind::Secret,
        Kind::Order,
        Kind::Stale,
        Kind::Arrived,
        Kind::Directive,
        Kind::Note,
    ];

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
    /// The memories to skip, of those filed last, if one kind is asked for.
    #[serde(default)]
    offset: usize,
}

/// Kinds that are found together, since they need the same memories.
pub(crate) struct Part {
    pub(crate) kinds: &'static [Kind],
}

/// All kinds, in the order of [`Kind::ALL`].
const PARTS: [Part; 4] = [
    Part {
        kinds: &[Kind::Contradiction, Kind::Duplicate],
    },
    Part {
        kinds: &[Kind::Secret, Kind::Order, Kind::Stale],
    },
    Part {
        kinds: &[Kind::Arrived, Kind::Directive],
    },
    Part {
        kinds: &[Kind::Note],
    },
];

impl Part {
    /// Returns the path of the items of all its kinds.
    pub(crate) fn path(&self) -> String {
        let kinds = self
            .kinds
            .iter()
            .map(|kind| format!("kind={}", kind.name()));
        format!("/review?{}", kinds.collect::<Vec<_>>().join("&"))
    }
}

/// The items that people should decide.
#[derive(Serialize, ToSchema)]
pub(crate) struct Review {
    /// The kinds of items that were asked for; none is all.
    pub(crate) asked: Vec<Kind>,
    pub(crate) groups: Vec<Group>,
    /// The parts that the page loads by itself, since finding their items takes a while.
    #[serde(skip)]
    pub(crate) parts: &'static [Part],
    /// All kinds.
    #[serde(skip)]
    pub(crate) kinds: [Kind; 8],
}

/// The items of a kind.
#[derive(Serialize, ToSchema)]
pub(crate) struct Group {
    pub(crate) kind: Kind,
    pub(crate) items: Vec<Item>,
    /// The memories, or the problems of files, that were skipped.
    pub(crate) offset: usize,
    /// Those that were looked at after these.
    pub(crate) looked_at: usize,
    /// Those to skip to look at further ones; `None` if there are none.
    pub(crate) next_offset: Option<usize>,
    /// Why the group may lack items, in a sentence.
    pub(crate) degraded: Option<String>,
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
    /// The cosine similarity of a pair, in percent.
    pub(crate) percent: Option<u64>,
    /// The kinds of secrets and their counts, the sentence of an order, or the path of a file.
    pub(crate) detail: Option<String>,
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

/// Items with their places among what was looked at, in order.
struct ReviewCandidates {
    kind: Kind,
    items: Vec<(usize, Item)>,
    looked_at: usize,
    /// True if there is more to look at.
    is_cut: bool,
    degraded: Option<String>,
}

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
    let mut review = Review {
        asked: query.kind,
        groups: Vec::new(),
        kinds: Kind::ALL,
        parts: &[],
    };
    if review.asked.is_empty() && context.form == Form::Html {
        review.parts = &PARTS;
        return Ok(review);
    }
    let dismissed = dismissed::read(context.call())?;
    let offset = match review.asked.as_slice() {
        [_] => query.offset,
        _ => 0,
    };
    let is_asked = |kind| review.asked.is_empty() || review.asked.contains(&kind);
    review.groups = items::find(context, offset, is_asked)?
        .into_iter()
        .map(|found| group(found, offset, &dismissed))
        .collect();
    Ok(review)
}

/// Returns the first items that were not dismissed, and where to go on.
fn group(found: ReviewCandidates, offset: usize, dismissed: &HashSet<String>) -> Group {
    let mut open: Vec<_> = found
        .items
        .into_iter()
        .filter(|(_, item)| !dismissed.contains(&item.key))
        .collect();
    // The place of the first item that is not shown is where the next part starts.
    let rest = open.get(SHOWN).map(|(index, _)| (*index).max(1));
    open.truncate(SHOWN);
    let looked_at = rest.unwrap_or(found.looked_at);
    let next = offset.saturating_add(looked_at);
    Group {
        kind: found.kind,
        items: open.into_iter().map(|(_, item)| item).collect(),
        offset,
        looked_at,
        next_offset: (rest.is_some() || found.is_cut).then_some(next),
        degraded: found.degraded,
    }
}

impl Review {
    /// Returns true if it shows the kind only with this name.
    pub(crate) fn is_of(&self, kind: &str) -> bool {
        matches!(self.asked.as_slice(), [own] if own.name() == kind)
    }
}

impl Group {
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

    /// Returns the path of what was filed before.
    pub(crate) fn next(&self) -> Option<String> {
        Some(kind_path(self.kind, self.next_offset?))
    }
}

impl Item {
    /// Returns the message of what happened to a file.
    pub(crate) fn state_label(&self) -> Option<String> {
        Some(format!("file-{}", self.state?.replace('_', "-")))
    }

    pub(crate) fn is_pair(&self) -> bool {
        self.other.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    fn found(indexes: &[usize], is_cut: bool) -> ReviewCandidates {
        let item = |index: &usize| {
            let item = items::item(Kind::Secret, &[&index.to_string()]);
            (*index, item)
        };
        ReviewCandidates {
            kind: Kind::Secret,
            items: indexes.iter().map(item).collect(),
            looked_at: 200,
            is_cut,
            degraded: None,
        }
    }

    /// Returns the items that are shown, what was looked at, and where to go on.
    fn shown(indexes: Range<usize>, is_cut: bool, dismissed: usize) -> [usize; 3] {
        let indexes: Vec<_> = indexes.collect();
        let all = found(&indexes, is_cut);
        let keys = all.items.iter().take(dismissed);
        let dismissed = keys.map(|(_, item)| item.key.clone()).collect();
        let group = group(all, 7, &dismissed);
        [
            group.items.len(),
            group.looked_at,
            group.next_offset.unwrap_or_default(),
        ]
    }

    #[test]
    fn a_group_says_what_it_looked_at_and_where_to_go_on() {
        assert_eq!(shown(0..0, false, 0), [0, 200, 0]);
        assert_eq!(shown(0..0, true, 0), [0, 200, 207]);
        assert_eq!(shown(0..20, false, 0), [20, 200, 0]);
        assert_eq!(shown(10..50, false, 0), [20, 30, 37]);
        assert_eq!(shown(10..50, true, 25), [15, 200, 207]);
    }

    #[test]
    fn the_parts_have_every_kind_once() {
        let kinds: Vec<Kind> = PARTS.iter().flat_map(|part| part.kinds).copied().collect();
        assert_eq!(kinds, Kind::ALL);
        assert_eq!(PARTS[0].path(), "/review?kind=contradiction&kind=duplicate");
    }

    #[test]
    fn going_on_comes_to_an_end() {
        let many = group(found(&[0; 30], false), 7, &HashSet::new());
        assert_eq!(many.next_offset, Some(8));
    }

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
            .chain(kinds.map(|kind| format!("review-{kind}-how")));
        for name in names {
            assert!(english.contains(&format!("\n{name} = ")), "{name}");
        }
    }
}
