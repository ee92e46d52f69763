//! The items that the background found for people to decide, with the memories that they are about.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use loci_core::{
    Error, ErrorCode, FileProblem, Forgotten, LOCAL, Memory, MemoryId, OpenItem, Result, Scope,
    Space,
};
use loci_engine::{Certainty, ItemKind, Parts, StaleMemory, Trust, item_key, orders_in};

use super::{FoundOrder, Group, Item, Kind, ORDERS_SHOWN, SHOWN};
use crate::request::RequestContext;
use crate::views::memory::diff;
use crate::words::compared;

/// The longest texts of a pair whose lines are compared, in bytes.
const DIFF_BYTES_MAX: usize = 8_000;

/// The open items of a kind, in order.
pub(super) struct OpenKind {
    pub(super) kind: Kind,
    entries: Entries,
    /// Why something may be missing, in a sentence.
    degraded: Option<String>,
}

/// The items of a kind: of memories, or of the files of notes.
enum Entries {
    Memories(Vec<OpenItem>),
    Files(Vec<(String, FileProblem)>),
}

impl OpenKind {
    pub(super) fn count(&self) -> usize {
        match &self.entries {
            Entries::Memories(items) => items.len(),
            Entries::Files(problems) => problems.len(),
        }
    }
}

/// Returns what is open of every kind that the visitor may see, without what was dismissed.
pub(super) fn open(
    context: &RequestContext<'_>,
    dismissed: &HashSet<String>,
) -> Result<Vec<OpenKind>> {
    let mut by_kind: HashMap<Kind, Vec<OpenItem>> = HashMap::new();
    for (kind, item) in context.call().open_items().list()? {
        if !dismissed.contains(&item.key) {
            by_kind.entry(Kind::of(kind)).or_default().push(item);
        }
    }
    let mut open = Vec::new();
    for kind in Kind::ALL {
        if kind == Kind::Note {
            open.extend(notes(context, dismissed)?);
            continue;
        }
        let mut items = by_kind.remove(&kind).unwrap_or_default();
        // Ids start with their time: the last filed ones come first.
        items.sort_by_key(|item| (Reverse(item.certainty), Reverse(item.memory.clone())));
        open.push(OpenKind {
            kind,
            entries: Entries::Memories(items),
            degraded: None,
        });
    }
    Ok(open)
}

/// Returns a part of what is open of a kind.
pub(super) fn group(context: &RequestContext<'_>, open: &OpenKind, offset: usize) -> Result<Group> {
    let (items, degraded) = match &open.entries {
        Entries::Memories(items) => {
            let shown: Vec<&OpenItem> = items.iter().skip(offset).take(SHOWN).collect();
            shown_items(context, open.kind, &shown)?
        }
        Entries::Files(problems) => {
            let shown = problems.iter().skip(offset).take(SHOWN);
            (shown.map(file_item).collect(), open.degraded.clone())
        }
    };
    let (next, total) = (offset.saturating_add(SHOWN), open.count());
    Ok(Group {
        kind: open.kind,
        items,
        offset,
        total,
        next_offset: (next < total).then_some(next),
        degraded,
    })
}

/// The place of an item in the order of its kind: the most certain ones first, then the last filed ones.
type Place = (Reverse<i64>, Reverse<String>, String);

fn place_of(item: &OpenItem) -> Place {
    let memory = item.memory.as_str().to_owned();
    (Reverse(item.certainty), Reverse(memory), item.key.clone())
}

/// Returns a place as a cursor has it.
fn written((certainty, memory, key): &Place) -> String {
    format!("{} {} {key}", certainty.0, memory.0)
}

/// Returns the place in a cursor.
fn read(text: &str) -> Option<Place> {
    let mut parts = text.splitn(3, ' ');
    let certainty = parts.next()?.parse().ok()?;
    let (memory, key) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    Some((Reverse(certainty), Reverse(memory), key))
}

/// Returns at most `limit` open items of a kind behind a place, and the place of the last one if there
/// are more.
pub(super) fn part(
    context: &RequestContext<'_>,
    open: &OpenKind,
    behind: Option<&str>,
    limit: usize,
) -> Result<(Vec<Item>, Option<String>)> {
    let cut = |left: usize, last: Option<String>| last.filter(|_| left > limit);
    match &open.entries {
        Entries::Memories(items) => {
            let behind = behind.and_then(read);
            let mut items: Vec<&OpenItem> = items.iter().collect();
            items.sort_by_key(|item| place_of(item));
            items.retain(|item| {
                behind
                    .as_ref()
                    .is_none_or(|behind| place_of(item) > *behind)
            });
            let left = items.len();
            items.truncate(limit);
            let last = items.last().map(|item| written(&place_of(item)));
            let (shown, _) = shown_items(context, open.kind, &items)?;
            Ok((shown, cut(left, last)))
        }
        Entries::Files(problems) => {
            let mut problems: Vec<_> = problems
                .iter()
                .map(|entry| (format!("{} {}", entry.1.kind.name(), entry.0), entry))
                .collect();
            problems.sort_by(|one, other| one.0.cmp(&other.0));
            problems.retain(|(place, _)| behind.is_none_or(|behind| place.as_str() > behind));
            let left = problems.len();
            problems.truncate(limit);
            let last = problems.last().map(|(place, _)| place.clone());
            let shown = problems.into_iter().map(|(_, entry)| file_item(entry));
            Ok((shown.collect(), cut(left, last)))
        }
    }
}

/// Returns an item without any of its parts, with this key.
fn bare(kind: Kind, key: String) -> Item {
    Item {
        key,
        kind,
        memory: None,
        other: None,
        diff: Vec::new(),
        words: [Vec::new(), Vec::new()],
        percent: None,
        certainty: None,
        detail: None,
        orders: Vec::new(),
        state: None,
        problem: None,
        author: None,
        may_trust: false,
        may_write: false,
        may_write_other: false,
    }
}

/// The memories and the rest that the items of a kind are shown with.
struct ItemContext<'a> {
    context: &'a RequestContext<'a>,
    kind: Kind,
    memories: HashMap<MemoryId, Memory>,
    trust: Trust<'a>,
    stale: Vec<StaleMemory>,
}

/// Returns items with the memories that they are about, without items of memories that changed
/// since, and why something may be missing.
fn shown_items(
    context: &RequestContext<'_>,
    kind: Kind,
    items: &[&OpenItem],
) -> Result<(Vec<Item>, Option<String>)> {
    let call = context.call();
    let ids: BTreeSet<MemoryId> = items
        .iter()
        .flat_map(|item| [Some(&item.memory), item.other.as_ref()])
        .flatten()
        .cloned()
        .collect();
    let ids: Vec<MemoryId> = ids.into_iter().collect();
    let memories = call.memories().show_all(&ids, Forgotten::Hide)?;
    let (stale, degraded) = match kind {
        Kind::Stale => stale(call, &memories)?,
        _ => (Vec::new(), None),
    };
    let shown = ItemContext {
        context,
        kind,
        trust: call.settings().trust()?,
        memories: memories
            .into_iter()
            .map(|memory| (memory.id.clone(), memory))
            .collect(),
        stale,
    };
    let mut found = Vec::new();
    for item in items {
        found.extend(shown.item(item)?);
    }
    Ok((found, degraded))
}

fn stale(call: &Parts<'_>, memories: &[Memory]) -> Result<(Vec<StaleMemory>, Option<String>)> {
    match call.sources().find_stale(memories) {
        Ok(stale) => Ok((stale, None)),
        // Without the rules of a project it is not known which of its files belong to it.
        Err(Error {
            code: ErrorCode::Unavailable,
            message,
            ..
        }) => Ok((Vec::new(), Some(message))),
        Err(error) => Err(error),
    }
}

impl ItemContext<'_> {
    /// Returns an item as people see it; `None` if it does not hold any more.
    fn item(&self, open: &OpenItem) -> Result<Option<Item>> {
        let (context, caller) = (self.context, self.context.caller());
        let Some(memory) = self.memories.get(&open.memory) else {
            return Ok(None);
        };
        let item = Item {
            memory: Some(context.card(memory)),
            may_write: caller.may_write(memory),
            ..bare(self.kind, open.key.clone())
        };
        Ok(match self.kind {
            Kind::Contradiction | Kind::Duplicate => {
                let other = open.other.as_ref().and_then(|id| self.memories.get(id));
                other.map(|older| self.pair(item, memory, older, open))
            }
            Kind::Secret => {
                let memories = std::slice::from_ref(memory);
                let held = context.call().secrets().secrets_among(memories)?;
                held.into_iter().next().map(|held| Item {
                    may_write: item.may_write && !held.is_note,
                    detail: Some(held.redactions.to_string()),
                    ..item
                })
            }
            Kind::Order => {
                let masked = |text: &str| context.masked(text).into_owned();
                let orders = orders_in(memory).into_iter().take(ORDERS_SHOWN);
                let orders = orders.map(|order| FoundOrder {
                    sentence: masked(&order.sentence),
                    disguise: order.read_as.as_ref().map(|(disguise, _)| disguise.name()),
                    read_as: order.read_as.as_ref().map(|(_, words)| masked(words)),
                });
                let orders: Vec<FoundOrder> = orders.collect();
                orders
                    .first()
                    .map(|first| first.sentence.clone())
                    .map(|first| Item {
                        detail: Some(first),
                        orders,
                        author: self.trust.stranger(memory),
                        ..item
                    })
            }
            Kind::Stale => {
                let is_meant = |stale: &&StaleMemory| {
                    let of = [memory.id.as_str(), &stale.path, stale.staleness.name()];
                    stale.memory == memory.id && item_key(self.kind.name(), &of) == open.key
                };
                self.stale.iter().find(is_meant).map(|stale| Item {
                    state: Some(stale.staleness.name()),
                    detail: Some(stale.path.clone()),
                    ..item
                })
            }
            Kind::Arrived => Some(Item {
                may_trust: context.call().memories().may_accept(memory),
                ..item
            }),
            Kind::Directive => self.trust.stranger(memory).map(|author| Item {
                author: Some(author),
                may_trust: memory.writer() != loci_core::ANONYMOUS,
                ..item
            }),
            Kind::Note => None,
        })
    }

    fn pair(&self, item: Item, newer: &Memory, older: &Memory, open: &OpenItem) -> Item {
        let context = self.context;
        let texts = [older, newer].map(|memory| context.masked(&memory.content));
        let is_short = texts.iter().all(|text| text.len() <= DIFF_BYTES_MAX);
        let is_duplicate = self.kind == Kind::Duplicate;
        Item {
            diff: if is_short {
                diff(&texts[0], &texts[1])
            } else {
                Vec::new()
            },
            words: if is_short {
                compared(&texts[0], &texts[1])
            } else {
                [Vec::new(), Vec::new()]
            },
            other: Some(context.card(older)),
            certainty: Certainty::of(ItemKind::Contradiction, open)
                .filter(|_| !is_duplicate)
                .map(Certainty::name),
            // The certainty of a duplicate is the similarity, in thousandths.
            percent: is_duplicate.then_some(open.certainty.unsigned_abs().div_ceil(10)),
            may_write_other: context.caller().may_write(older),
            ..item
        }
    }
}

/// Returns the problems of note files, to whom may see the folder: the person at this machine and
/// administrators.
fn notes(context: &RequestContext<'_>, dismissed: &HashSet<String>) -> Result<Option<OpenKind>> {
    let caller = context.caller();
    let is_person = caller.principal.subject.as_deref() == Some(LOCAL);
    let may_see = is_person || caller.principal.scopes.allow(Scope::Admin);
    if !may_see || caller.space != Space::default() {
        return Ok(None);
    }
    let status = match context.call().notes().status() {
        Ok(status) => status,
        // There is no such folder.
        Err(error) if error.code == ErrorCode::Unavailable => return Ok(None),
        Err(error) => return Err(error),
    };
    let problems = status.problems.into_iter();
    let is_open =
        |(path, problem): &(String, FileProblem)| !dismissed.contains(&file_key(path, problem));
    Ok(Some(OpenKind {
        kind: Kind::Note,
        entries: Entries::Files(problems.filter(is_open).collect()),
        degraded: status.away,
    }))
}

fn file_key(path: &str, problem: &FileProblem) -> String {
    item_key(Kind::Note.name(), &[path, problem.kind.name()])
}

fn file_item((path, problem): &(String, FileProblem)) -> Item {
    Item {
        state: Some(problem.kind.name()),
        problem: Some(problem.message.clone()),
        detail: Some(path.clone()),
        ..bare(Kind::Note, file_key(path, problem))
    }
}
