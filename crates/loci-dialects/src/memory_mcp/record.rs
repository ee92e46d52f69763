//! A memory in the format of this dialect.

use loci_core::{Caller, EnrichmentStatus, Link, Memory, MemoryId, Relation, Result, Tier};
use loci_engine::TextPage;
use schemars::JsonSchema;
use serde::Serialize;

use super::arguments::Results;
use crate::Reply;
use crate::wire::{
    Authorship, FromFile, Truncation, both, explained, iso8601, left_out, reading_call, rounded,
    times_said,
};

/// A memory.
#[derive(Serialize, JsonSchema)]
pub struct Document {
    /// Its id.
    #[serde(rename = "_id")]
    id: String,
    /// Its owner; absent if it has no owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    /// `stm` for a message, `ltm` for a long-term memory.
    tier: &'static str,
    /// Its title, if it has one: that of a note.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The text, or its parts that fit.
    content: String,
    #[serde(flatten)]
    cut: Truncation,
    #[serde(flatten)]
    from_file: FromFile,
    /// Its summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    /// Its importance, 0 to 1.
    importance: f64,
    /// The number of times that `recall_memory` returned it before.
    access_count: u64,
    /// The time at which `recall_memory` last returned it.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_accessed: Option<String>,
    /// Its type, once it is classified: fact, preference, decision, event, task, question, other;
    /// other words for memories of other tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_type: Option<String>,
    /// Its labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    /// The conversation that it comes from; for a memory of other tools, the project, scope or
    /// wing.
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation_id: Option<String>,
    /// The speaker of a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    /// The enrichment status: `pending`, `completed` or `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    enrichment_status: Option<&'static str>,
    /// The id of the message that it was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    source_stm_id: Option<String>,
    /// Its links to other memories, nearest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    links: Vec<LinkDocument>,
    /// The time at which it was stored.
    created_at: String,
    /// The time at which its text last changed.
    updated_at: String,
    /// The time at which it expires.
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
    /// The cosine similarity of the two.
    similarity: f64,
}

impl Document {
    /// Converts a memory of a search for this reader. `length` is the number of characters of its
    /// text, if that is an excerpt.
    pub fn shown(reader: &Caller, memory: Memory, length: Option<usize>) -> Self {
        let cut = Truncation::of(length, |offset| reading(reader, &memory.id, offset));
        Document::of(reader, memory, cut)
    }

    /// Converts a page of the text of a memory.
    pub fn page(reader: &Caller, page: TextPage) -> Self {
        let cut = Truncation::of_page(&page, |offset| reading(reader, &page.memory.id, offset));
        Document::of(reader, page.memory, cut)
    }

    fn of(reader: &Caller, memory: Memory, cut: Truncation) -> Self {
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
            links: links(memory.links),
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

/// Returns the links of a memory, but for what a consolidation links: `times_said` counts that.
fn links(links: Vec<Link>) -> Vec<LinkDocument> {
    let is_shown =
        |link: &Link| !matches!(link.relation, Relation::StandsFor | Relation::Summarises);
    let links = links.into_iter().filter(is_shown);
    links.map(LinkDocument::from).collect()
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

/// The results of a search.
#[derive(Serialize, JsonSchema)]
pub struct SearchResults<Hit> {
    /// The memories, best first.
    results: Vec<Hit>,
    /// The number of results.
    count: usize,
}

impl<Hit: Serialize> SearchResults<Hit> {
    /// Returns the reply with these results. `hit` makes each from the memory, how often its text
    /// was found, and its score, which is 1 for a memory read by id.
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
                let found = SearchResults {
                    count: 1,
                    results: vec![hit(Document::page(reader, *page), None, 1.0)],
                };
                return Reply::json(&found, Some(1));
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
        let (answers, said) = (recalled.answers(), recalled.notice());
        let found = SearchResults {
            count: recalled.hits.len(),
            results: recalled.hits.into_iter().map(hit).collect(),
        };
        let reply = Reply::json(&found, Some(answers))?.with_notice(both(said, left_out));
        Ok(reply.with_explanations(explanations))
    }
}
