//! A memory in this dialect's terms.

use loci_core::{Caller, EnrichmentStatus, Link, Memory, MemoryId, Result, Tier};
use loci_engine::TextPage;
use schemars::JsonSchema;
use serde::Serialize;

use super::arguments::Results;
use crate::Reply;
use crate::wire::{
    Authorship, Cut, FromFile, both, explained, iso8601, left_out, reading_call, rounded,
    times_said,
};

/// A memory.
#[derive(Serialize, JsonSchema)]
pub struct Document {
    /// Its id.
    #[serde(rename = "_id")]
    id: String,
    /// The user whose it is; absent if it is nobody's.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    /// `stm` for a message, `ltm` for what is kept.
    tier: &'static str,
    /// Its title, if it has one: that of a note.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The text, or the parts of it that fit.
    content: String,
    #[serde(flatten)]
    cut: Cut,
    #[serde(flatten)]
    from_file: FromFile,
    /// Its gist.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    /// How much it matters, 0 to 1.
    importance: f64,
    /// How often `recall_memory` returned it before.
    access_count: u64,
    /// When `recall_memory` last returned it.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_accessed: Option<String>,
    /// What it is, once that is known: fact, preference, decision, event, task, question, other;
    /// other words for memories that other tools filed.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_type: Option<String>,
    /// Its labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    /// The conversation that it comes from; the project, scope or wing of what other tools filed.
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation_id: Option<String>,
    /// Who said it, of a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    /// Whether importance, summary and type are made already: `pending`, `completed` or `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    enrichment_status: Option<&'static str>,
    /// The id of the message that it was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    source_stm_id: Option<String>,
    /// What it is tied to, nearest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    links: Vec<LinkDocument>,
    /// When it was stored.
    created_at: String,
    /// When its text last changed.
    updated_at: String,
    /// When it vanishes.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    #[serde(flatten)]
    authorship: Authorship,
}

#[derive(Serialize, JsonSchema)]
struct LinkDocument {
    /// The id of the other memory.
    #[serde(rename = "_id")]
    id: String,
    /// It `reinforces` the other one, is `related_to` it, or `links_to` it in its text.
    relation: &'static str,
    /// Cosine similarity of the two.
    similarity: f64,
}

impl Document {
    /// A memory of a search as this reader sees it, with the characters of its text if that is cut.
    pub fn shown(reader: &Caller, memory: Memory, length: Option<usize>) -> Self {
        let cut = Cut::of(length, |offset| reading(reader, &memory.id, offset));
        Document::of(reader, memory, cut)
    }

    /// A page of the text of a memory.
    pub fn page(reader: &Caller, page: TextPage) -> Self {
        let cut = Cut::of_page(&page, |offset| reading(reader, &page.memory.id, offset));
        Document::of(reader, page.memory, cut)
    }

    fn of(reader: &Caller, memory: Memory, cut: Cut) -> Self {
        let is_message = memory.tier == Tier::ShortTerm;
        let has_type = !is_message && memory.enrichment != Some(EnrichmentStatus::Pending);
        let conversation_id = memory
            .conversation()
            .map(str::to_owned)
            .or_else(|| memory.location.collection.clone());
        Document {
            conversation_id,
            authorship: Authorship::of(reader, &memory),
            from_file: FromFile::of(&memory),
            id: memory.id.to_string(),
            user_id: memory.owner,
            tier: if is_message { "stm" } else { "ltm" },
            title: memory.title,
            content: memory.content,
            cut,
            summary: memory.summary,
            importance: memory.weight,
            access_count: memory.access.count,
            last_accessed: memory.access.last.map(iso8601),
            memory_type: has_type.then_some(memory.location.section),
            tags: memory.tags,
            role: is_message.then_some(memory.kind),
            enrichment_status: memory.enrichment.map(EnrichmentStatus::name),
            source_stm_id: memory.source.map(|id| id.to_string()),
            links: memory.links.into_iter().map(LinkDocument::from).collect(),
            created_at: iso8601(memory.created_at),
            updated_at: iso8601(memory.updated_at),
            expires_at: memory.expires_at.map(iso8601),
        }
    }
}

fn reading(reader: &Caller, id: &MemoryId, offset: Option<usize>) -> String {
    let user_id = reader.principal.subject.as_deref().unwrap_or_default();
    reading_call(
        "recall_memory",
        &[("user_id", user_id), ("memory_id", id.as_str())],
        offset,
    )
}

impl From<Link> for LinkDocument {
    fn from(link: Link) -> Self {
        LinkDocument {
            id: link.target.to_string(),
            relation: link.relation.name(),
            similarity: rounded(link.similarity.into(), 4),
        }
    }
}

/// What a search found.
#[derive(Serialize, JsonSchema)]
pub struct Found<Hit> {
    /// The memories, best first.
    results: Vec<Hit>,
    /// How many these are.
    count: usize,
}

impl<Hit: Serialize> Found<Hit> {
    /// The reply with these results, each made by `hit` of the memory, how often it was said, and
    /// its score; what was read by its id has 1.
    ///
    /// # Errors
    /// As for [`to_value`](crate::tool::to_value).
    pub fn reply(
        reader: &Caller,
        results: Results,
        hit: impl Fn(Document, Option<usize>, f64) -> Hit,
    ) -> Result<Reply> {
        let recalled = match results {
            Results::Recalled(recalled) => recalled,
            Results::Page(page) => {
                let found = Found {
                    count: 1,
                    results: vec![hit(Document::page(reader, *page), None, 1.0)],
                };
                return Ok(Reply::json(crate::tool::to_value(&found)?));
            }
        };
        let explanations = recalled.hits.iter().map(explained).collect();
        let left_out = left_out(recalled.hits.len(), recalled.left_out, "ask more narrowly");
        let hit = |found: loci_engine::Hit| {
            let times_said = times_said(&found);
            hit(
                Document::shown(reader, found.memory, found.length),
                times_said,
                found.score,
            )
        };
        let found = Found {
            count: recalled.hits.len(),
            results: recalled.hits.into_iter().map(hit).collect(),
        };
        let reply = Reply::json(crate::tool::to_value(&found)?)
            .with_notice(both(recalled.degraded, left_out));
        Ok(reply.with_explanations(explanations))
    }
}
