//! Entities and relations in the format of this dialect.

use std::collections::BTreeSet;

use loci_core::limits::FACTS_MAX;
use loci_core::{Caller, Fact, Result};
use loci_engine::{Call, FactAuthor, Node, NodeGraph, writer_of};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Reply;
use crate::wire::both;

/// An entity.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntityRecord {
    /// Its name.
    name: String,
    /// Its type.
    entity_type: String,
    /// Its observations.
    observations: Vec<String>,
    /// The others who wrote some of this, if not only you did.
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<String>,
}

impl EntityRecord {
    /// Converts a node for this reader.
    pub fn of(reader: &Caller, node: Node) -> Self {
        let declared = node.declared.iter().filter_map(|fact| other(reader, fact));
        let observed = node
            .observations
            .iter()
            .filter_map(|memory| writer_of(reader, memory));
        let authors: BTreeSet<String> = declared.chain(observed).collect();
        EntityRecord {
            author: named(authors),
            name: node.name,
            entity_type: node.kind,
            observations: node
                .observations
                .into_iter()
                .map(|memory| memory.content)
                .collect(),
        }
    }
}

/// A relation.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RelationRecord {
    /// The entity where it starts.
    from: String,
    /// The entity where it ends.
    to: String,
    /// Its type.
    relation_type: String,
    /// Who asserted it, if not you.
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<String>,
}

impl RelationRecord {
    /// Converts a fact for this reader.
    pub fn of(reader: &Caller, fact: Fact) -> Self {
        RelationRecord {
            author: other(reader, &fact),
            from: fact.subject.spelling,
            to: fact.object.spelling,
            relation_type: fact.predicate.spelling,
        }
    }
}

/// Returns the name of the author of a fact, if that is another one than the reader.
fn other(reader: &Caller, fact: &Fact) -> Option<String> {
    match FactAuthor::of(reader, fact) {
        FactAuthor::Other(name) => Some(name),
        FactAuthor::Reader | FactAuthor::Unknown => None,
    }
}

fn named(authors: BTreeSet<String>) -> Option<String> {
    let authors: Vec<String> = authors.into_iter().collect();
    (!authors.is_empty()).then(|| authors.join(", "))
}

/// The graph, or a part.
#[derive(Serialize, JsonSchema)]
pub struct GraphRecord {
    /// The entities.
    entities: Vec<EntityRecord>,
    /// The relations that start or end at one of them.
    relations: Vec<RelationRecord>,
}

/// Returns a reply as the original formats it: the text is the JSON of `shown`, over several lines.
///
/// # Errors
/// `internal` if the reply cannot be serialised.
pub fn reply(
    shown: &impl Serialize,
    structured: &impl Serialize,
    results: Option<u64>,
) -> Result<Reply> {
    let shown = crate::tool::to_value(shown)?;
    let text = format!("{shown:#}");
    Ok(Reply::new(
        text,
        crate::tool::to_value(structured)?,
        results,
    ))
}

/// Returns a reply with as much of a graph as the budget of a reply has room for.
///
/// # Errors
/// `unavailable` if the store cannot be read.
pub fn graph_reply(call: &Call<'_>, graph: NodeGraph, notice: Option<String>) -> Result<Reply> {
    let (record, cut) = fitted(call, graph)?;
    let results = record.entities.len() as u64;
    Ok(reply(&record, &record, Some(results))?.with_notice(both(notice, cut)))
}

/// Returns as much of a graph as the budget of a reply has room for, and a notice of what is left
/// out.
pub fn fitted(call: &Call<'_>, graph: NodeGraph) -> Result<(GraphRecord, Option<String>)> {
    let budgets = call.engine().budgets();
    let mut budget = budgets.reply_budget(None);
    let all = graph.nodes.len();
    let mut sharing: usize = graph.nodes.iter().map(|node| node.observations.len()).sum();
    let (mut nodes, mut is_full, mut cut_texts) = (Vec::new(), false, 0);
    for mut node in graph.nodes {
        let mut shown = Vec::new();
        for mut memory in node.observations {
            match budget.cut(&mut memory, sharing, &[], None)? {
                None => {
                    is_full = true;
                    break;
                }
                Some(length) => {
                    cut_texts += usize::from(length.is_some());
                    shown.push(memory);
                }
            }
            sharing = sharing.saturating_sub(1);
        }
        if is_full && shown.is_empty() {
            break;
        }
        node.observations = shown;
        nodes.push(node);
        if is_full {
            break;
        }
    }
    call.nodes()
        .note_shown(nodes.iter().flat_map(|node| &node.observations));
    let left_out = is_full.then(|| {
        format!(
            "{} of {all} entities are here, the last one perhaps without its last observations, because a reply has \
             no room for more: look for the others with `search_nodes` or `open_nodes`",
            nodes.len()
        )
    });
    let texts = (cut_texts > 0).then(|| format!("{cut_texts} long observations are cut"));
    let relations = graph.relations.len();
    let more = (relations > FACTS_MAX)
        .then(|| format!("the first {FACTS_MAX} of {relations} relations are here"));
    let unread = graph.is_cut.then(|| {
        "only the last 10,000 memories and the first 20,000 facts were looked through".to_owned()
    });
    let reader = call.caller();
    let record = GraphRecord {
        entities: nodes
            .into_iter()
            .map(|node| EntityRecord::of(reader, node))
            .collect(),
        relations: graph
            .relations
            .into_iter()
            .take(FACTS_MAX)
            .map(|fact| RelationRecord::of(reader, fact))
            .collect(),
    };
    Ok((record, both(both(left_out, texts), both(more, unread))))
}

/// The outcome of a deletion.
#[derive(Serialize, JsonSchema)]
pub struct Deleted {
    /// Always true.
    success: bool,
    /// The same in words.
    message: &'static str,
}

/// Returns the reply to a deletion.
///
/// # Errors
/// `internal` if the reply cannot be serialised.
pub fn deleted(message: &'static str) -> Result<Reply> {
    let outcome = Deleted {
        success: true,
        message,
    };
    let structured = crate::tool::to_value(&outcome)?;
    Ok(Reply::new(message.to_owned(), structured, None))
}
