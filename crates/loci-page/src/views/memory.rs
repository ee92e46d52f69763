//! The view *A memory*: its text, where it comes from, its versions and its links.

use std::collections::BTreeMap;

use loci_core::{
    AuditEntry, Citation, Delivery, Error, ErrorCode, Forgotten, Link, Memory, MemoryId,
    RecordVerb, Result, Tier, Version,
};
use loci_engine::{Effect, Parts, Refile, writer_of};
use serde::{Deserialize, Serialize};
use similar::{ChangeTag, TextDiff};
use utoipa::ToSchema;

use super::activity::{Call, entries};
use super::card::{Card, memory_path};
use crate::change::{Change, Outcome};
use crate::markdown::rendered;
use crate::request::RequestContext;
use crate::utc_timestamp::UtcTimestamp;
use crate::view::{Tab, view};

/// The audit entries of a memory that are shown.
const CALLS_SHOWN: usize = 50;
/// The memories of a chain of replacements that are shown.
const CHAIN_MAX: usize = 20;

#[derive(Deserialize)]
pub(crate) struct MemoryQuery {
    /// The id, or the first or last 8 or more characters of it.
    id: String,
}

/// A memory with all that is known of it.
#[derive(Serialize, ToSchema)]
pub(crate) struct MemoryView {
    pub(crate) memory: Card,
    /// The text, byte for byte.
    pub(crate) content: String,
    #[serde(skip)]
    pub(crate) rendered: String,
    pub(crate) summary: Option<String>,
    pub(crate) weight: f64,
    pub(crate) tier: &'static str,
    /// The user who wrote the current text, if the reader may know.
    pub(crate) writer: Option<String>,
    pub(crate) revision: u64,
    /// How often it was returned to an agent.
    pub(crate) recalled: u64,
    pub(crate) last_recalled_at: Option<UtcTimestamp>,
    pub(crate) expires_at: Option<UtcTimestamp>,
    pub(crate) forgotten_at: Option<UtcTimestamp>,
    pub(crate) citations: Vec<CitationRow>,
    pub(crate) attributes: BTreeMap<String, String>,
    /// The conversation or file that it belongs to.
    pub(crate) thread: Option<String>,
    /// The memories that it links to.
    pub(crate) links: Vec<LinkTo>,
    /// Its former texts, the latest first, each with what changed after it.
    pub(crate) versions: Vec<FormerText>,
    /// The memories that it replaces, the latest first, each with what changed after it.
    pub(crate) replaces: Vec<ReplacedMemory>,
    /// The memory that replaces it.
    pub(crate) replaced_by: Option<Card>,
    /// The call that stored it.
    pub(crate) filed_by: Option<Call>,
    /// The calls that named it, the last first.
    pub(crate) calls: Vec<Call>,
    /// True if the visitor may change it.
    pub(crate) may_write: bool,
}

/// A source that a memory is based on.
#[derive(Serialize, ToSchema)]
#[schema(as = Cited)]
pub(crate) struct CitationRow {
    pub(crate) kind: &'static str,
    pub(crate) reference: String,
    pub(crate) locator: Option<String>,
    pub(crate) pin: Option<String>,
    pub(crate) excerpt: Option<String>,
}

/// A link to another memory.
#[derive(Serialize, ToSchema)]
pub(crate) struct LinkTo {
    pub(crate) memory: Card,
    pub(crate) relation: &'static str,
    pub(crate) similarity: f32,
}

/// A former text of a memory.
#[derive(Serialize, ToSchema)]
pub(crate) struct FormerText {
    /// The last revision that had it.
    pub(crate) revision: u64,
    pub(crate) content: String,
    pub(crate) title: Option<String>,
    pub(crate) written_at: UtcTimestamp,
    /// The lines of it and of the next text, in order.
    pub(crate) diff: Vec<DiffLine>,
}

/// A memory that was replaced, and what the next one changed.
#[derive(Serialize, ToSchema)]
#[schema(as = Replaced)]
pub(crate) struct ReplacedMemory {
    pub(crate) memory: Card,
    /// The lines of both, in order.
    pub(crate) diff: Vec<DiffLine>,
}

/// A line of a comparison.
#[derive(Serialize, ToSchema)]
pub(crate) struct DiffLine {
    /// `removed`, `added` or `same`.
    pub(crate) change: &'static str,
    pub(crate) text: String,
}

impl DiffLine {
    /// Returns the sign of the change.
    pub(crate) fn sign(&self) -> &'static str {
        match self.change {
            "removed" => "\u{2212}",
            "added" => "+",
            _ => " ",
        }
    }
}

view!(MemoryView, Tab::Palace, "memory.html");

/// Returns the lines of two texts with what changed between them.
pub(crate) fn diff(before: &str, after: &str) -> Vec<DiffLine> {
    let diff = TextDiff::from_lines(before, after);
    diff.iter_all_changes()
        .map(|change| DiffLine {
            change: match change.tag() {
                ChangeTag::Delete => "removed",
                ChangeTag::Insert => "added",
                ChangeTag::Equal => "same",
            },
            text: change.value().trim_end_matches('\n').to_owned(),
        })
        .collect()
}

/// Finds a memory by its id or a part of the id, also a forgotten one.
fn named(parts: &Parts<'_>, id: &str) -> Result<Memory> {
    let memories = parts.memories();
    let id = memories.memory_id("id", id)?;
    memories.show_of(&id, &Tier::ALL, Forgotten::Show)
}

/// Returns a memory with all that is known of it.
#[utoipa::path(get, path = "/memory/{id}", operation_id = "memory", params(("id" = String, Path, description = "The id of the memory, or 8 or more characters of it")), responses((status = OK, body = MemoryView, description = "The content of the view")))]
pub(crate) fn view(context: &RequestContext<'_>, query: MemoryQuery) -> Result<MemoryView> {
    let caller = context.caller();
    let memory = context.logged(("memory", "memory:read", Effect::Read), None, |call| {
        named(call, &query.id)
    })?;
    let calls = entries(context, CALLS_SHOWN, Some(memory.id.as_str()))?;
    let stores = |entry: &&AuditEntry| {
        entry
            .records
            .iter()
            .any(|record| record.id == memory.id.as_str() && record.verb == RecordVerb::Stored)
    };
    let filed_by = calls.iter().rev().find(stores).cloned().map(Call::of);
    let replaced_by = memory
        .superseded_by
        .as_ref()
        .and_then(|id| other(context, id));
    Ok(MemoryView {
        rendered: rendered(&memory.content),
        replaced_by: replaced_by.map(|memory| Card::of(caller, &memory)),
        links: links(context, &memory),
        versions: former_texts(context, &memory)?,
        replaces: replaced(context, &memory),
        citations: memory.citations.iter().map(CitationRow::of).collect(),
        filed_by,
        calls: calls.into_iter().map(Call::of).collect(),
        may_write: caller.may_write(&memory),
        writer: writer_of(caller, &memory),
        memory: Card::of(caller, &memory),
        summary: memory.summary,
        weight: memory.weight,
        tier: memory.tier.name(),
        revision: memory.revision,
        recalled: memory.access.count,
        last_recalled_at: memory.access.last.map(UtcTimestamp),
        expires_at: memory.expires_at.map(UtcTimestamp),
        forgotten_at: memory.forgotten_at.map(UtcTimestamp),
        attributes: memory.attributes,
        thread: memory.thread.map(|thread| thread.name),
        content: memory.content,
    })
}

impl CitationRow {
    fn of(citation: &Citation) -> Self {
        CitationRow {
            kind: citation.kind.name(),
            reference: citation.reference.clone(),
            locator: citation.locator.clone(),
            pin: citation.pin.clone(),
            excerpt: citation.excerpt.clone(),
        }
    }
}

/// Returns another memory that the visitor may read, a forgotten one, too.
fn other(context: &RequestContext<'_>, id: &MemoryId) -> Option<Memory> {
    let memories = context.call().memories();
    memories.show_of(id, &Tier::ALL, Forgotten::Show).ok()
}

fn links(context: &RequestContext<'_>, memory: &Memory) -> Vec<LinkTo> {
    let link = |link: &Link| {
        Some(LinkTo {
            memory: Card::of(context.caller(), &other(context, &link.target)?),
            relation: link.relation.name(),
            similarity: link.similarity,
        })
    };
    memory.links.iter().filter_map(link).collect()
}

/// Returns the memories that this one replaces, directly or by another one, the latest first.
fn replaced(context: &RequestContext<'_>, memory: &Memory) -> Vec<ReplacedMemory> {
    let mut replaced = Vec::new();
    let mut next = memory.clone();
    while replaced.len() < CHAIN_MAX {
        let former = next.supersedes.as_ref();
        let Some(former) = former.and_then(|id| other(context, id)) else {
            break;
        };
        replaced.push(ReplacedMemory {
            memory: Card::of(context.caller(), &former),
            diff: diff(&former.content, &next.content),
        });
        next = former;
    }
    replaced
}

/// Returns the former texts that are kept, the latest first; none of a forgotten memory.
fn former_texts(context: &RequestContext<'_>, memory: &Memory) -> Result<Vec<FormerText>> {
    if memory.forgotten_at.is_some() || memory.tier == Tier::ShortTerm {
        return Ok(Vec::new());
    }
    let versions = context.call().memories().versions(&memory.id)?;
    let later: Vec<String> = [&memory.content]
        .into_iter()
        .chain(versions.iter().map(|version| &version.content))
        .cloned()
        .collect();
    let shown = |(version, later): (Version, String)| FormerText {
        diff: diff(&version.content, &later),
        revision: version.revision,
        content: version.content,
        title: version.title,
        written_at: UtcTimestamp(version.updated_at),
    };
    Ok(versions.into_iter().zip(later).map(shown).collect())
}

/// A new text.
#[derive(Deserialize, ToSchema)]
#[schema(as = Edit)]
pub(crate) struct EditRequest {
    /// The path names it.
    #[schema(ignore)]
    id: String,
    content: String,
    /// The revision that the visitor saw.
    revision: u64,
}

/// Replaces the text of a memory.
#[utoipa::path(post, path = "/memory/{id}/edit", operation_id = "memory_edit", params(("id" = String, Path, description = "The id of the memory, or 8 or more characters of it")), request_body = EditRequest, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn edit(context: &RequestContext<'_>, edit: EditRequest) -> Result<Change> {
    let before = named(context.call(), &edit.id)?;
    if before.revision != edit.revision {
        return Err(Error::new(
            ErrorCode::Conflict,
            "this memory was changed after you opened it; open it again, and repeat your change",
        ));
    }
    // A browser sends the ends of lines as CR LF.
    let content = if before.content.contains('\r') {
        edit.content
    } else {
        edit.content.replace("\r\n", "\n")
    };
    let next = memory_path(before.id.as_str());
    refile(context, "edit", "done-edited", &before, next, |_| Refile {
        content: Some(content),
        ..Refile::default()
    })
}

/// Whether every session begins with a memory.
#[derive(Deserialize, ToSchema)]
#[schema(as = Pin)]
pub(crate) struct PinRequest {
    /// The path names it.
    #[schema(ignore)]
    id: String,
    pinned: bool,
}

/// Begins every session with a memory, or no longer.
#[utoipa::path(post, path = "/memory/{id}/pin", operation_id = "memory_pin", params(("id" = String, Path, description = "The id of the memory, or 8 or more characters of it")), request_body = PinRequest, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn pin(context: &RequestContext<'_>, pin: PinRequest) -> Result<Change> {
    let before = named(context.call(), &pin.id)?;
    let (delivery, message) = if pin.pinned {
        (Delivery::Bootstrap, "done-pinned")
    } else {
        (Delivery::OnDemand, "done-unpinned")
    };
    let next = memory_path(before.id.as_str());
    refile(context, "pin", message, &before, next, |_| Refile {
        delivery: Some(delivery),
        ..Refile::default()
    })
}

/// Changes one memory, and returns the change with the way back.
fn refile(
    context: &RequestContext<'_>,
    tool: &str,
    message: &'static str,
    before: &Memory,
    next: String,
    change: impl FnOnce(&Memory) -> Refile,
) -> Result<Change> {
    let change = change(before);
    let undo = reverse(&change, before);
    let id = before.id.clone();
    context.logged((tool, "memory:write", Effect::Write), None, |call| {
        call.memories().refile(&id, change)
    })?;
    let id = before.id.clone();
    Ok(Change::one(
        message,
        next,
        Box::new(move |call| call.memories().refile(&id, undo).map(drop)),
    ))
}

/// Returns the change that takes a change of this memory back.
pub(crate) fn reverse(change: &Refile, before: &Memory) -> Refile {
    Refile {
        content: change.content.as_ref().map(|_| before.content.clone()),
        collection: change
            .collection
            .as_ref()
            .map(|_| before.location.collection.clone()),
        section: change
            .section
            .as_ref()
            .map(|_| before.location.section.clone()),
        tags: change.tags.as_ref().map(|_| before.tags.clone()),
        delivery: change.delivery.map(|_| before.delivery),
    }
}

impl MemoryView {
    /// Returns its title; the first words of a text without one.
    pub(crate) fn title(&self) -> &str {
        &self.memory.title
    }

    /// Returns the path of the file and the lines that it was made from, if it was made from one.
    pub(crate) fn file(&self) -> Option<String> {
        self.attributes.get(loci_core::SOURCE_PATH).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_names_what_changed() {
        let lines: Vec<_> = diff("a\nb\nc\n", "a\nx\nc\n")
            .into_iter()
            .map(|line| (line.change, line.text))
            .collect();
        let expected = [
            ("same", "a"),
            ("removed", "b"),
            ("added", "x"),
            ("same", "c"),
        ]
        .map(|(change, text)| (change, text.to_owned()));
        assert_eq!(lines, expected);
    }
}
