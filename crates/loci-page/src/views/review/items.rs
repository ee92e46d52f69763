//! Finding what people should decide.

use std::collections::HashMap;

use loci_core::{
    ANONYMOUS, CollectionFilter, Delivery, ErrorCode, FileProblem, LOCAL, Memory, MemoryId, Result,
    Scope, Space,
};
use loci_engine::{Browse, Facets, List, Pair, PairRelation};
use loci_text::prompt_injection::find_instruction;

use super::dismissed::key_of;
use super::{Item, Kind, ReviewCandidates};
use crate::request::RequestContext;
use crate::views::card::Card;
use crate::views::memory::diff;

/// The memories that are looked at for a group.
const LOOKED_AT: usize = 200;
/// The memories that are compared with older ones: each takes a search.
const COMPARED: usize = 50;
/// The cosine similarity from which two memories are duplicates.
const DUPLICATE_FROM: f32 = 0.92;
/// The characters of an order that are shown.
const ORDER_CHARACTERS: usize = 300;
/// The longest texts of a pair whose lines are compared, in bytes.
const DIFF_BYTES_MAX: usize = 8_000;
/// The types of memories that tell agents what to do.
const DIRECTIVES: [&str; 3] = ["rule", "feedback", "bootstrap"];

/// Returns the items of each kind that is asked for, in the order of the kinds.
pub(super) fn find(
    context: &RequestContext<'_>,
    offset: usize,
    is_asked: impl Fn(Kind) -> bool,
) -> Result<Vec<ReviewCandidates>> {
    let mut found = Vec::new();
    if is_asked(Kind::Contradiction) || is_asked(Kind::Duplicate) {
        found.extend(pairs(context, offset)?);
    }
    if [Kind::Secret, Kind::Order, Kind::Stale]
        .into_iter()
        .any(&is_asked)
    {
        let memories = last_filed(context, offset, LOOKED_AT, &[])?;
        if is_asked(Kind::Secret) {
            found.push(secrets(context, &memories)?);
        }
        if is_asked(Kind::Order) {
            found.push(orders(context, &memories)?);
        }
        if is_asked(Kind::Stale) {
            found.push(stale(context, &memories)?);
        }
    }
    if is_asked(Kind::Arrived) {
        found.push(arrived(context, offset)?);
    }
    if is_asked(Kind::Directive) {
        found.push(directives(context, offset)?);
    }
    if is_asked(Kind::Note) {
        found.extend(notes(context, offset)?);
    }
    found.retain(|found| is_asked(found.kind));
    found.sort_by_key(|found| Kind::ALL.iter().position(|kind| *kind == found.kind));
    Ok(found)
}

/// Returns an item without any of its parts, with the key that these texts make.
pub(super) fn item(kind: Kind, of: &[&str]) -> Item {
    Item {
        key: key_of(kind.name(), of),
        kind,
        memory: None,
        other: None,
        diff: Vec::new(),
        percent: None,
        detail: None,
        state: None,
        problem: None,
        author: None,
        may_trust: false,
        may_write: false,
        may_write_other: false,
    }
}

/// Returns memories in the order of their filing, the last one first.
fn last_filed(
    context: &RequestContext<'_>,
    offset: usize,
    limit: usize,
    kinds: &[&str],
) -> Result<Vec<Memory>> {
    let browse = Browse {
        kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
        offset,
        limit,
        ..Browse::default()
    };
    context.call().listings().list_by_insertion(&browse)
}

/// Returns a memory as a list has it, without secrets.
fn card(context: &RequestContext<'_>, memory: &Memory) -> (Card, String) {
    let redact = |text: &str| context.engine().redaction().redact(text).text.into_owned();
    let memory = Memory {
        content: redact(&memory.content),
        title: memory.title.as_deref().map(redact),
        summary: memory.summary.as_deref().map(redact),
        tags: memory.tags.iter().map(|tag| redact(tag)).collect(),
        ..memory.clone()
    };
    (Card::of(context.caller(), &memory), memory.content)
}

/// Returns the pairs of the memories with older ones.
fn pairs(context: &RequestContext<'_>, offset: usize) -> Result<[ReviewCandidates; 2]> {
    let memories = last_filed(context, offset, COMPARED, &[])?;
    let call = context.call();
    let pairs = call.search().find_pairs(&memories, DUPLICATE_FROM)?;
    let degraded = pairs.degraded;
    let (contradictions, duplicates): (Vec<Pair>, Vec<Pair>) = pairs
        .pairs
        .into_iter()
        .partition(|pair| pair.relation == PairRelation::Contradiction);
    let found = |kind, pairs: Vec<Pair>| ReviewCandidates {
        kind,
        items: pairs
            .into_iter()
            .map(|pair| (pair.index, pair_item(context, kind, &pair)))
            .collect(),
        looked_at: memories.len(),
        is_cut: memories.len() == COMPARED,
        degraded: degraded.clone(),
    };
    Ok([
        found(Kind::Contradiction, contradictions),
        found(Kind::Duplicate, duplicates),
    ])
}

fn pair_item(context: &RequestContext<'_>, kind: Kind, pair: &Pair) -> Item {
    let (newer, newer_text) = card(context, &pair.newer);
    let (older, older_text) = card(context, &pair.older);
    let is_short = newer_text.len().max(older_text.len()) <= DIFF_BYTES_MAX;
    Item {
        diff: if is_short {
            diff(&older_text, &newer_text)
        } else {
            Vec::new()
        },
        memory: Some(newer),
        other: Some(older),
        percent: (pair.cosine > 0.0).then_some((pair.cosine * 100.0).round() as u64),
        may_write: context.caller().may_write(&pair.newer),
        may_write_other: context.caller().may_write(&pair.older),
        ..item(kind, &[pair.older.id.as_str(), pair.newer.id.as_str()])
    }
}

/// Returns the places of memories by their ids.
fn places(memories: &[Memory]) -> HashMap<&MemoryId, (usize, &Memory)> {
    let places = memories.iter().enumerate();
    places
        .map(|(index, memory)| (&memory.id, (index, memory)))
        .collect()
}

fn secrets(context: &RequestContext<'_>, memories: &[Memory]) -> Result<ReviewCandidates> {
    let places = places(memories);
    let held = context.call().secrets().secrets_among(memories)?;
    let items = held.into_iter().filter_map(|held| {
        let (index, memory) = *places.get(&held.memory)?;
        let redactions = held.redactions.to_string();
        Some((
            index,
            Item {
                memory: Some(card(context, memory).0),
                may_write: !held.is_note && context.caller().may_write(memory),
                ..item(Kind::Secret, &[memory.id.as_str(), &redactions])
            }
            .with_detail(redactions),
        ))
    });
    Ok(all_of(Kind::Secret, memories, items.collect()))
}

fn stale(context: &RequestContext<'_>, memories: &[Memory]) -> Result<ReviewCandidates> {
    let places = places(memories);
    let (sources, caller) = (context.call().sources(), context.caller());
    let (stale, degraded) = match sources.find_stale(memories) {
        Ok(stale) => (stale, None),
        // Without the rules of a project it is not known which of its files belong to it.
        Err(error) if error.code == ErrorCode::Unavailable => (Vec::new(), Some(error.message)),
        Err(error) => return Err(error),
    };
    let mut items: Vec<_> = stale
        .into_iter()
        .filter_map(|stale| {
            let (index, memory) = *places.get(&stale.memory)?;
            let state = stale.staleness.name();
            let of = [memory.id.as_str(), stale.path.as_str(), state];
            Some((
                index,
                Item {
                    memory: Some(card(context, memory).0),
                    state: Some(state),
                    may_write: caller.may_write(memory),
                    ..item(Kind::Stale, &of)
                }
                .with_detail(stale.path),
            ))
        })
        .collect();
    items.sort_by_key(|(index, _)| *index);
    Ok(ReviewCandidates {
        degraded,
        ..all_of(Kind::Stale, memories, items)
    })
}

/// Returns texts that give agents orders and are no directives. An agent files texts of strangers in
/// the name of its user, so texts of the visitor are looked at, too.
fn orders(context: &RequestContext<'_>, memories: &[Memory]) -> Result<ReviewCandidates> {
    let caller = context.caller();
    let trust = context.call().settings().trust()?;
    let is_directive = |memory: &Memory| {
        DIRECTIVES.contains(&memory.kind.as_str()) || memory.delivery == Delivery::Bootstrap
    };
    let items = memories.iter().enumerate().filter_map(|(index, memory)| {
        if is_directive(memory) {
            return None;
        }
        let order = find_instruction(&memory.content)?;
        let order: String = order.chars().take(ORDER_CHARACTERS).collect();
        let shown = context
            .engine()
            .redaction()
            .redact(&order)
            .text
            .into_owned();
        let item = Item {
            memory: Some(card(context, memory).0),
            author: trust.stranger(memory),
            may_write: caller.may_write(memory),
            ..item(Kind::Order, &[memory.id.as_str(), &order])
        };
        Some((index, item.with_detail(shown)))
    });
    Ok(all_of(Kind::Order, memories, items.collect()))
}

/// Returns the memories that came in files and wait for a person, in the order of their times.
fn arrived(context: &RequestContext<'_>, offset: usize) -> Result<ReviewCandidates> {
    let caller = context.caller();
    let mut memories = context.call().context().unreviewed()?;
    memories.drain(..offset.min(memories.len()));
    let items = memories.iter().enumerate().map(|(index, memory)| {
        let item = Item {
            memory: Some(card(context, memory).0),
            may_trust: context.call().memories().may_accept(memory),
            may_write: caller.may_write(memory),
            ..item(Kind::Arrived, &[memory.id.as_str(), &memory.content])
        };
        (index, item)
    });
    Ok(all_of(Kind::Arrived, &memories, items.collect()))
}

/// Returns directives by authors whose directives the visitor does not take: first the ones that
/// sessions start with, then the types of directives.
fn directives(context: &RequestContext<'_>, offset: usize) -> Result<ReviewCandidates> {
    let (call, caller) = (context.call(), context.caller());
    let trust = call.settings().trust()?;
    let by_type = last_filed(context, offset, LOOKED_AT, &DIRECTIVES)?;
    let pinned = match offset {
        0 => call.listings().list(List {
            collections: CollectionFilter::Any,
            sections: Vec::new(),
            tags: Vec::new(),
            delivery: Some(Delivery::Bootstrap),
            facets: Facets::default(),
            offset: 0,
            limit: LOOKED_AT,
        })?,
        _ => Vec::new(),
    };
    let is_pinned = |memory: &Memory| pinned.iter().any(|pinned| pinned.id == memory.id);
    let unpinned = by_type.iter().enumerate();
    let unpinned = unpinned.filter(|(_, memory)| !is_pinned(memory));
    let items = pinned
        .iter()
        .map(|memory| (0, memory))
        .chain(unpinned)
        .filter(|(_, memory)| !memory.is_unreviewed())
        .filter_map(|(index, memory)| {
            let author = trust.stranger(memory)?;
            let item = Item {
                memory: Some(card(context, memory).0),
                author: Some(author),
                may_trust: memory.writer() != ANONYMOUS,
                may_write: caller.may_write(memory),
                ..item(Kind::Directive, &[memory.id.as_str(), memory.writer()])
            };
            Some((index, item))
        });
    Ok(all_of(Kind::Directive, &by_type, items.collect()))
}

/// Returns the problems of note files, to whom may see the folder: the person at this machine and
/// administrators.
fn notes(context: &RequestContext<'_>, offset: usize) -> Result<Option<ReviewCandidates>> {
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
    let problems = status.problems.into_iter().skip(offset).take(LOOKED_AT + 1);
    let mut problems: Vec<_> = problems.collect();
    let is_cut = problems.len() > LOOKED_AT;
    problems.truncate(LOOKED_AT);
    let looked_at = problems.len();
    let items = problems.into_iter().enumerate();
    let items = items.map(|(index, (path, FileProblem { kind, message }))| {
        let item = Item {
            state: Some(kind.name()),
            problem: Some(message),
            ..item(Kind::Note, &[&path, kind.name()])
        };
        (index, item.with_detail(path))
    });
    Ok(Some(ReviewCandidates {
        kind: Kind::Note,
        items: items.collect(),
        looked_at,
        is_cut,
        degraded: status.away,
    }))
}

/// Returns what was found among a part of the memories.
fn all_of(kind: Kind, memories: &[Memory], items: Vec<(usize, Item)>) -> ReviewCandidates {
    ReviewCandidates {
        kind,
        items,
        looked_at: memories.len(),
        is_cut: memories.len() == LOOKED_AT,
        degraded: None,
    }
}

impl Item {
    fn with_detail(self, detail: String) -> Self {
        Item {
            detail: Some(detail),
            ..self
        }
    }
}
