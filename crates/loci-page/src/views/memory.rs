//! The view *A memory*: its text, where it comes from, its versions and its links.

use std::collections::BTreeMap;

use loci_core::{
    AuditEntry, Citation, Delivery, Error, ErrorCode, Forgotten, Link, Memory, MemoryId,
    RecordVerb, Relation, Result, STANDS_BEHIND, SUMMARY_OF, Tier, day_of,
};
use loci_engine::{Effect, MemoryState, Parts, Refile, writer_of};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::calls::{Call, entries};
use crate::card::{Card, memory_path};
use crate::change::{Answer, Change, Outcome};
use crate::form::Form;
use crate::line_diff;
use crate::markdown::{is_formatted, rendered, with_links};
use crate::request::{CLIENT, RequestContext};
use crate::utc_timestamp::UtcTimestamp;
use crate::view::{Tab, view};
use crate::words::{Piece, compared};

/// The audit entries of a memory that are shown.
const CALLS_SHOWN: usize = 50;
/// The days of its use that are drawn, and the width and the height of a day.
const DAYS_SHOWN: i64 = 30;
const SPARK_WIDTH: usize = 6;
const SPARK_HEIGHT: u64 = 24;
/// The memories of a chain of replacements that are shown.
const CHAIN_MAX: usize = 20;

#[derive(Deserialize)]
pub(crate) struct MemoryQuery {
    /// The id, or its first or last 8 or more characters.
    id: String,
}

/// A memory with everything that is known about it.
#[derive(Serialize, ToSchema)]
pub(crate) struct MemoryView {
    pub(crate) memory: Card,
    /// The text, byte for byte.
    pub(crate) content: String,
    #[serde(skip)]
    pub(crate) rendered: String,
    /// True if the text has more of Markdown than paragraphs.
    #[serde(skip)]
    pub(crate) is_markdown: bool,
    /// True if the title says more than the beginning of the text.
    #[serde(skip)]
    pub(crate) has_title: bool,
    pub(crate) summary: Option<String>,
    pub(crate) weight: f64,
    pub(crate) tier: &'static str,
    /// The user who wrote the current text, if the reader may know.
    pub(crate) writer: Option<String>,
    pub(crate) revision: u64,
    /// The number of times that it was returned to an agent.
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
    /// Its former versions, the latest first, each with what changed after it.
    pub(crate) versions: Vec<FormerText>,
    /// The memories that it replaces, the latest first, each with what changed after it.
    pub(crate) replaces: Vec<ReplacedMemory>,
    /// The memory that replaces it.
    pub(crate) replaced_by: Option<Card>,
    /// The memory that searches show in its place, because it says the same.
    pub(crate) stands_behind: Option<Card>,
    /// The memories in whose place searches show it.
    pub(crate) stands_for: Vec<Card>,
    /// The summaries of these by a language model, which are no results.
    pub(crate) summaries: Vec<Card>,
    /// The call that stored it.
    pub(crate) filed_by: Option<Call>,
    /// The calls that named it, the last first.
    pub(crate) calls: Vec<Call>,
    /// The calls among them that returned it to an agent, on each of the last 30 days.
    pub(crate) used: Vec<u64>,
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

/// A former version of a memory.
#[derive(Serialize, ToSchema)]
pub(crate) struct FormerText {
    /// The last revision in this state.
    pub(crate) revision: u64,
    pub(crate) content: String,
    pub(crate) title: Option<String>,
    pub(crate) written_at: UtcTimestamp,
    /// The fields that changed after it, e.g. `text`, `tags` or `forgotten`.
    pub(crate) changed: Vec<&'static str>,
    /// When, by whom, if that was another user, and by which program, as far as that is known.
    pub(crate) changed_at: Option<UtcTimestamp>,
    pub(crate) changed_by: Option<String>,
    pub(crate) program: Option<String>,
    /// Its lines and the lines of the next text, in order.
    pub(crate) diff: Vec<DiffLine>,
}

impl FormerText {
    /// Returns the messages that say what changed after it.
    pub(crate) fn changed_messages(&self) -> impl Iterator<Item = String> {
        self.changed
            .iter()
            .map(|word| format!("changed-{}", word.replace(' ', "-")))
    }
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

view!(MemoryView, Tab::Browse, "memory.html");

/// Returns the lines of two texts with what changed between them.
pub(crate) fn diff(before: &str, after: &str) -> Vec<DiffLine> {
    let line = |line: line_diff::DiffLine| DiffLine {
        change: line.change.name(),
        text: line.text,
    };
    line_diff::line_diff(before, after)
        .into_iter()
        .map(line)
        .collect()
}

/// Returns true if a title says nothing that the beginning of the text does not say.
fn begins_with(text: &str, title: &str) -> bool {
    let plain = |text: &str| -> String {
        let characters = text.chars().filter(|character| character.is_alphanumeric());
        characters.flat_map(char::to_lowercase).collect()
    };
    plain(text).starts_with(&plain(title))
}

/// Returns how many of these calls returned the memory to an agent on each of the last days.
fn used(calls: &[AuditEntry], today: i64) -> Vec<u64> {
    let is_use = |entry: &&AuditEntry| {
        let mut records = entry.records.iter();
        entry.client.as_deref() != Some(CLIENT)
            && records.any(|record| record.verb <= RecordVerb::Read)
    };
    let days = (today - DAYS_SHOWN + 1)..=today;
    days.map(|day| {
        let of_day = calls.iter().filter(|entry| day_of(entry.at) == day);
        of_day.filter(is_use).count() as u64
    })
    .collect()
}

/// Finds a memory by its id or a part of the id, also a forgotten one.
fn named(parts: &Parts<'_>, id: &str) -> Result<Memory> {
    let memories = parts.memories();
    let id = memories.memory_id("id", id)?;
    memories.show_of(&id, &Tier::ALL, Forgotten::Show)
}

/// Returns a memory with everything that is known about it.
#[utoipa::path(get, path = "/memory/{id}", operation_id = "memory", params(("id" = String, Path, description = "The id of the memory, or 8 or more of its characters")), responses((status = OK, body = MemoryView, description = "The content of the view")))]
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
    let filed_by = calls.iter().rev().find(stores).cloned();
    let filed_by = filed_by.map(|entry| Call::of(context, entry));
    let used = used(&calls, day_of(context.engine().now()));
    let replaced_by = memory
        .superseded_by
        .as_ref()
        .and_then(|id| other(context, id));
    let group = context.call().consolidation();
    let representative = group.representative(&memory)?;
    let behind = group.behind(&memory)?;
    let (summaries, stands_for): (Vec<Memory>, Vec<Memory>) =
        behind.into_iter().partition(Memory::is_summary);
    let cards = |memories: Vec<Memory>| memories.iter().map(|one| context.card(one)).collect();
    Ok(MemoryView {
        stands_behind: representative
            .and_then(|id| other(context, &id))
            .map(|memory| context.card(&memory)),
        stands_for: cards(stands_for),
        summaries: cards(summaries),
        is_markdown: is_formatted(&memory.content),
        rendered: with_links(&rendered(&memory.content)),
        has_title: memory
            .title
            .as_deref()
            .is_some_and(|title| !begins_with(&memory.content, title)),
        used,
        replaced_by: replaced_by.map(|memory| context.card(&memory)),
        links: links(context, &memory),
        versions: former_versions(context, &memory)?,
        replaces: replaced(context, &memory),
        citations: memory.citations.iter().map(CitationRow::of).collect(),
        filed_by,
        calls: calls
            .into_iter()
            .map(|entry| Call::of(context, entry))
            .collect(),
        may_write: caller.may_write(&memory),
        writer: writer_of(caller, &memory),
        memory: context.card(&memory),
        summary: memory.summary,
        weight: memory.weight,
        tier: memory.tier.name(),
        revision: memory.revision,
        recalled: memory.access.count,
        last_recalled_at: memory.access.last.map(UtcTimestamp),
        expires_at: memory.expires_at.map(UtcTimestamp),
        forgotten_at: memory.forgotten_at.map(UtcTimestamp),
        attributes: memory
            .attributes
            .into_iter()
            .filter(|(name, _)| name != STANDS_BEHIND && name != SUMMARY_OF)
            .collect(),
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
            memory: context.card(&other(context, &link.target)?),
            relation: link.relation.name(),
            similarity: link.similarity,
        })
    };
    // The memories that it stands for have a part of their own.
    let links = memory.links.iter();
    let links = links.filter(|link| link.relation != Relation::StandsFor);
    links.filter_map(link).collect()
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
            memory: context.card(&former),
            diff: diff(&former.content, &next.content),
        });
        next = former;
    }
    replaced
}

/// Returns the former versions that are kept, the latest first.
fn former_versions(context: &RequestContext<'_>, memory: &Memory) -> Result<Vec<FormerText>> {
    if memory.tier == Tier::ShortTerm {
        return Ok(Vec::new());
    }
    let states = context.call().memories().history(&memory.id)?;
    let shown = |pair: &[MemoryState]| {
        let [later, former] = pair else { return None };
        let change = later.began.as_ref();
        Some(FormerText {
            diff: diff(&former.memory.content, &later.memory.content),
            revision: former.revision,
            content: former.memory.content.clone(),
            title: former.memory.title.clone(),
            written_at: UtcTimestamp(former.memory.updated_at),
            changed: later.changed.clone(),
            changed_at: change.map(|change| UtcTimestamp(change.at)),
            changed_by: change.and_then(|change| change.by.clone()),
            program: change.and_then(|change| change.program.clone()),
        })
    };
    Ok(states.windows(2).filter_map(shown).collect())
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
#[utoipa::path(post, path = "/memory/{id}/edit", operation_id = "memory_edit", params(("id" = String, Path, description = "The id of the memory, or 8 or more of its characters")), request_body = EditRequest, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn edit(context: &RequestContext<'_>, edit: EditRequest) -> Result<Answer<RefusedEdit>> {
    let before = named(context.call(), &edit.id)?;
    if before.revision != edit.revision && context.form == Form::Html {
        let yours = edit.content.replace("\r\n", "\n");
        return Ok(Answer::Shown(RefusedEdit {
            words: compared(&before.content, &yours),
            memory: context.card(&before),
            revision: before.revision,
            yours,
        }));
    }
    require_revision(&before, edit.revision)?;
    // A browser sends the ends of lines as CR LF.
    let content = if before.content.contains('\r') {
        edit.content
    } else {
        edit.content.replace("\r\n", "\n")
    };
    let next = memory_path(before.id.as_str());
    let change = refile(context, "edit", "done-edited", &before, next, |_| Refile {
        content: Some(content),
        ..Refile::default()
    })?;
    Ok(Answer::Changed(change))
}

/// Requires the revision that the visitor saw.
fn require_revision(memory: &Memory, seen: u64) -> Result<()> {
    if memory.revision == seen {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::Conflict,
        "this memory was changed after you opened it; open it again, and repeat your change",
    ))
}

/// An edit that was refused, because the memory was changed in the meantime.
#[derive(Serialize)]
pub(crate) struct RefusedEdit {
    pub(crate) memory: Card,
    /// The revision that the memory has now.
    pub(crate) revision: u64,
    /// The text that was sent.
    pub(crate) yours: String,
    /// The text of the memory and the one that was sent, with the words that differ.
    #[serde(skip)]
    pub(crate) words: [Vec<Piece>; 2],
}

view!(RefusedEdit, Tab::Browse, "refused_edit.html");

/// A former version to bring back.
#[derive(Deserialize, ToSchema)]
#[schema(as = RestoreText)]
pub(crate) struct RestoreRequest {
    /// The path names it.
    #[schema(ignore)]
    id: String,
    /// The last revision of the version.
    version: u64,
    /// The revision that the visitor saw.
    revision: u64,
}

/// Brings a former version of a memory back, as a new revision.
#[utoipa::path(post, path = "/memory/{id}/restore", operation_id = "memory_restore", params(("id" = String, Path, description = "The id of the memory, or 8 or more of its characters")), request_body = RestoreRequest, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn restore(context: &RequestContext<'_>, restore: RestoreRequest) -> Result<Change> {
    let before = named(context.call(), &restore.id)?;
    require_revision(&before, restore.revision)?;
    let next = memory_path(before.id.as_str());
    let id = before.id.clone();
    context.logged(("restore", "memory:write", Effect::Write), None, |call| {
        call.memories().restore(&id, restore.version)
    })?;
    let (id, seen) = (before.id, before.revision);
    Ok(Change::one(
        "done-restored-version",
        next,
        Box::new(move |call| call.memories().restore(&id, seen).map(drop)),
    ))
}

/// A memory, and if every session should start with it.
#[derive(Deserialize, ToSchema)]
#[schema(as = Pin)]
pub(crate) struct PinRequest {
    /// The path names it.
    #[schema(ignore)]
    id: String,
    pinned: bool,
}

/// Begins every session with a memory, or no longer.
#[utoipa::path(post, path = "/memory/{id}/pin", operation_id = "memory_pin", params(("id" = String, Path, description = "The id of the memory, or 8 or more of its characters")), request_body = PinRequest, responses((status = OK, body = Outcome, description = "The result of the change")))]
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

/// A memory whose secrets a person wants to see.
#[derive(Deserialize, ToSchema)]
#[schema(as = Reveal)]
pub(crate) struct RevealRequest {
    /// The path names it.
    #[schema(ignore)]
    id: String,
}

/// Leads to a memory with the secrets that lists hide, and puts that into the audit log.
#[utoipa::path(post, path = "/memory/{id}/reveal", operation_id = "memory_reveal", params(("id" = String, Path, description = "The id of the memory, or 8 or more of its characters")), request_body = RevealRequest, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn reveal(context: &RequestContext<'_>, reveal: RevealRequest) -> Result<Change> {
    // Nothing is removed, but the entry has to be durable before the text is shown.
    let memory = context.logged(("reveal", "memory:read", Effect::Destroy), None, |call| {
        named(call, &reveal.id)
    })?;
    Ok(Change {
        message: "done-revealed",
        changed: 0,
        refused: Vec::new(),
        undo: None,
        next: memory_path(memory.id.as_str()),
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
    /// Returns the bars of its use: the place and the height of each day with one.
    pub(crate) fn sparks(&self) -> Vec<(usize, u64)> {
        let most = self.used.iter().copied().max().unwrap_or(0).max(1);
        let days = self.used.iter().enumerate();
        let days = days.filter(|(_, calls)| **calls > 0);
        days.map(|(day, calls)| (day * SPARK_WIDTH, (calls * SPARK_HEIGHT).div_ceil(most)))
            .collect()
    }

    /// Returns the number of calls of the last 30 days that returned it.
    pub(crate) fn used_count(&self) -> u64 {
        self.used.iter().sum()
    }

    /// Returns the message of who may see it.
    pub(crate) fn visibility(&self) -> String {
        format!("may-see-{}", self.memory.visibility)
    }

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
    fn a_title_that_the_text_begins_with_is_not_said_twice() {
        let rows = [
            ("# The kiln\n\nIt is hot.", "The kiln", true),
            ("The kiln is hot.", "the kiln is", true),
            ("It is hot.", "The kiln", false),
        ];
        for (text, title, expected) in rows {
            assert_eq!(begins_with(text, title), expected, "{text:?}");
        }
    }

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
