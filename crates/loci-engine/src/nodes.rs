//! The memory as a graph of named nodes, as servers of knowledge graphs show it.
//!
//! A node is a name, its kind, and its observations. All three are what the memory has
//! anyway, so that every other view shows them as what they are:
//!
//! - An observation is a memory whose title is the name of the node.
//! - A relation is a fact of the knowledge graph that holds now.
//! - That a node exists is a fact, too: `Ada entity_type person`. A node needs it to exist without
//!   an observation.
//!
//! The other way round, every memory is an observation of the node that its title names (or the
//! first line of its text), and the section of the memory is the node's kind. Names are one if
//! their [keys](name_key) are, as everywhere in the knowledge graph, e.g. `Ada L` and `ada_l`.

use std::collections::{HashMap, HashSet};

use loci_core::{
    Clock, Error, ErrorCode, Fact, FilingOrder, Memory, MemoryId, RecordVerb, Result, Visibility,
};

use crate::actor::Actor;
use crate::engine::Engine;
use crate::graph::Graph;
use crate::graph::knowledge_graph::{AddedFact, NewFact, name_key};
use crate::listings::Listings;
use crate::listings::browse::Browse;
use crate::memories::Memories;
use crate::memories::remember::Remember;
use crate::notes::NOTE_KIND;
use crate::search::Search;
use crate::search::recall::Recall;
use crate::title::shown_title;

/// The predicate of the fact that a node exists; the object is its kind.
pub const NODE_KIND: &str = "entity_type";
/// The attribute of an observation with the name of its node.
const NODE_NAME: &str = "entity";
/// The kind of an observation of a node whose kind is that of notes: only files are notes.
const KIND: &str = "fact";
/// The most memories that are read for a graph, and the most bytes of their texts.
const MEMORIES_MAX: usize = 10_000;
const TEXT_BYTES_MAX: usize = 64 << 20;
/// The most facts that are read for a graph.
const FACTS_READ_MAX: usize = 20_000;
/// The number of memories that are read at a time.
const READ_AT_ONCE: usize = 250;
/// The number of texts that a search by meaning looks for.
const NEAR: usize = 10;

/// The memory as a graph of named nodes.
#[derive(Clone, Copy)]
pub struct Nodes<'a> {
    caller: Actor<'a>,
    clock: &'a dyn Clock,
    memories: Memories<'a>,
    listings: Listings<'a>,
    graph: Graph<'a>,
    search: Search<'a>,
}

impl Engine {
    /// Returns the memory as a graph of named nodes.
    pub(crate) fn nodes<'a>(&'a self, caller: Actor<'a>) -> Nodes<'a> {
        Nodes {
            caller,
            clock: &*self.clock,
            memories: self.memories(caller),
            listings: self.listings(caller),
            graph: self.graph(caller),
            search: self.search(caller),
        }
    }
}

/// A node: a name, its kind, and its observations.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The name.
    pub name: String,
    /// The kind, e.g. `person`.
    pub kind: String,
    /// Its observations, first stored first.
    pub observations: Vec<Memory>,
    /// The fact that it exists; `None` if only its observations say so.
    pub declared: Option<Fact>,
}

/// A node to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewNode {
    /// The name: 1 to 256 characters.
    pub name: String,
    /// The kind: 1 to 256 characters.
    pub kind: String,
    /// The texts of its observations, each once.
    pub observations: Vec<String>,
}

/// Texts about a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeTexts {
    /// The name of the node.
    pub name: String,
    /// The texts.
    pub texts: Vec<String>,
}

/// Nodes and the relations between them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NodeGraph {
    /// The nodes: first the declared ones, first declared first, then the others, last stored
    /// first.
    pub nodes: Vec<Node>,
    /// The facts that hold now, first stored first. The ends of a fact need not be nodes.
    pub relations: Vec<Fact>,
    /// True if the store has more than was read: at most 10,000 memories, the last ones.
    pub is_cut: bool,
}

impl NodeGraph {
    /// Returns the node of that name.
    pub fn node(&self, name: &str) -> Option<&Node> {
        let key = node_key(name);
        self.nodes.iter().find(|node| node_key(&node.name) == key)
    }

    /// Returns these nodes only, and the relations that start or end there.
    #[must_use]
    pub fn narrowed(mut self, is_wanted: impl Fn(&Node) -> bool) -> Self {
        self.nodes.retain(is_wanted);
        let keys: HashSet<String> = self.nodes.iter().map(|node| node_key(&node.name)).collect();
        self.relations.retain(|fact| {
            [&fact.subject, &fact.object]
                .iter()
                .any(|end| keys.contains(&end.key))
        });
        self
    }
}

/// Returns the key of a name; a name without a letter or sign is its own key.
fn node_key(name: &str) -> String {
    let key = name_key(name);
    if key.is_empty() { name.to_owned() } else { key }
}

/// Returns the name of the node that a memory is an observation of.
fn node_of(memory: &Memory) -> String {
    let given = memory.attributes.get(NODE_NAME);
    given.map_or_else(|| shown_title(memory).into_owned(), Clone::clone)
}

impl Nodes<'_> {
    /// Returns the graph of all memories that the caller may read.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn graph(&self) -> Result<NodeGraph> {
        let (facts, facts_are_cut) = self.facts()?;
        let (memories, memories_are_cut) = self.observations()?;
        let kind = name_key(NODE_KIND);
        let (declared, relations): (Vec<Fact>, Vec<Fact>) = facts
            .into_iter()
            .partition(|fact| fact.predicate.key == kind);
        let mut nodes: Vec<Node> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for fact in declared {
            let key = node_key(&fact.subject.spelling);
            places.entry(key).or_insert_with(|| {
                nodes.push(Node {
                    name: fact.subject.spelling.clone(),
                    kind: fact.object.spelling.clone(),
                    observations: Vec::new(),
                    declared: Some(fact),
                });
                nodes.len() - 1
            });
        }
        for memory in memories {
            let name = node_of(&memory);
            let place = *places.entry(node_key(&name)).or_insert_with(|| {
                nodes.push(Node {
                    name,
                    kind: memory.location.section.clone(),
                    observations: Vec::new(),
                    declared: None,
                });
                nodes.len() - 1
            });
            if let Some(node) = nodes.get_mut(place) {
                node.observations.push(memory);
            }
        }
        for node in &mut nodes {
            node.observations.reverse();
        }
        Ok(NodeGraph {
            nodes,
            relations,
            is_cut: facts_are_cut || memories_are_cut,
        })
    }

    /// Returns the nodes whose name, kind or observations contain the text, in any case. If there
    /// is no such node, and the text has several words, returns the nodes that a search finds for
    /// it, and true.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the text; `unavailable` if the store cannot be read.
    pub fn matching(&self, text: &str) -> Result<(NodeGraph, bool)> {
        let graph = self.graph()?;
        let wanted = text.to_lowercase();
        let contains = |said: &str| said.to_lowercase().contains(&wanted);
        let matches = |node: &Node| {
            contains(&node.name)
                || contains(&node.kind)
                || node
                    .observations
                    .iter()
                    .any(|memory| contains(&memory.content))
        };
        let is_found = graph.nodes.iter().any(matches);
        if is_found || text.split_whitespace().nth(1).is_none() {
            return Ok((graph.narrowed(matches), false));
        }
        let near = self
            .search
            .recall(&Recall::new(text, NEAR, &|signals| signals.relevance))?;
        let ids: HashSet<MemoryId> = if near.is_weak() {
            HashSet::new()
        } else {
            near.hits.into_iter().map(|hit| hit.memory.id).collect()
        };
        let is_near = |node: &Node| {
            node.observations
                .iter()
                .any(|memory| ids.contains(&memory.id))
        };
        Ok((graph.narrowed(is_near), true))
    }

    /// Puts memories that a reply shows on the trail of the call.
    pub fn note_shown<'m>(&self, memories: impl IntoIterator<Item = &'m Memory>) {
        for memory in memories {
            self.caller.note(RecordVerb::Returned, memory);
        }
    }

    /// Creates the nodes whose names no node has yet, with their observations. Returns the new
    /// ones. Each observation is durable by itself.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for a name, a kind (as `object`) or an observation (as
    /// `content`); `unavailable` if the store cannot be written. What was created before the error
    /// stays.
    pub fn create(&self, nodes: Vec<NewNode>) -> Result<Vec<Node>> {
        let graph = self.graph()?;
        let mut known: HashSet<String> = graph
            .nodes
            .iter()
            .map(|node| node_key(&node.name))
            .collect();
        let mut created = Vec::new();
        for new in nodes {
            if !known.insert(node_key(&new.name)) {
                continue;
            }
            let fact = self.graph.add_fact(NewFact {
                subject: new.name,
                predicate: NODE_KIND.to_owned(),
                object: new.kind,
                valid_from: None,
                valid_to: None,
                source: None,
            })?;
            let AddedFact::New(fact) = fact else {
                // Another writer was faster.
                continue;
            };
            let mut node = Node {
                name: fact.subject.spelling.clone(),
                kind: fact.object.spelling.clone(),
                observations: Vec::new(),
                declared: Some(fact),
            };
            node.observations = self.add_texts(&node, new.observations)?;
            created.push(node);
        }
        Ok(created)
    }

    /// Adds observations to nodes, but for the ones that a node has. Returns the new ones.
    ///
    /// # Errors
    /// `not_found`, before anything is stored, if there is no node of a name; otherwise as for
    /// [`create`](Self::create).
    pub fn observe(&self, additions: Vec<NodeTexts>) -> Result<Vec<NodeTexts>> {
        let mut graph = self.graph()?;
        for NodeTexts { name, .. } in &additions {
            if graph.node(name).is_none() {
                return Err(Error::not_found(format!(
                    "Entity with name {name} not found"
                )));
            }
        }
        let mut added = Vec::new();
        for NodeTexts { name, texts } in additions {
            let key = node_key(&name);
            let node = graph
                .nodes
                .iter_mut()
                .find(|node| node_key(&node.name) == key);
            let new = match node {
                None => Vec::new(),
                Some(node) => {
                    let new = self.add_texts(node, texts)?;
                    node.observations.extend(new.iter().cloned());
                    new
                }
            };
            let texts = new.into_iter().map(|memory| memory.content).collect();
            added.push(NodeTexts { name, texts });
        }
        Ok(added)
    }

    /// Adds relations, each as its two ends and its kind between them, but for the ones that hold
    /// already. Returns the new ones.
    ///
    /// # Errors
    /// `invalid_argument` for a name (`subject`, `predicate`, `object`), and for the predicate that
    /// says that a node exists; `unavailable` if the store cannot be written. What was added before
    /// the error stays.
    pub fn relate(&self, relations: Vec<[String; 3]>) -> Result<Vec<Fact>> {
        let mut added = Vec::new();
        for [subject, predicate, object] in relations {
            if name_key(&predicate) == name_key(NODE_KIND) {
                let problem = format!("must not be `{NODE_KIND}`, which says what an entity is");
                return Err(Error::invalid("predicate", problem));
            }
            let fact = NewFact {
                subject,
                predicate,
                object,
                valid_from: None,
                valid_to: None,
                source: None,
            };
            if let AddedFact::New(fact) = self.graph.add_fact(fact)? {
                added.push(fact);
            }
        }
        Ok(added)
    }

    /// Deletes nodes: their observations for good (a note is forgotten, and its file stays), and
    /// ends every fact about them. Unknown names are no error, because a repeated call has no
    /// further effect.
    ///
    /// # Errors
    /// `forbidden` if the caller may not write an observation; `unavailable` if the store cannot be
    /// written. What was deleted before the error stays deleted.
    pub fn delete(&self, names: &[String]) -> Result<()> {
        let keys: HashSet<String> = names.iter().map(|name| node_key(name)).collect();
        let graph = self.graph()?;
        for node in &graph.nodes {
            if keys.contains(&node_key(&node.name)) {
                self.forget(&node.observations)?;
            }
        }
        let declared = graph.nodes.into_iter().filter_map(|node| node.declared);
        for fact in graph.relations.into_iter().chain(declared) {
            if [&fact.subject, &fact.object]
                .iter()
                .any(|end| keys.contains(&end.key))
            {
                self.end(&fact)?;
            }
        }
        Ok(())
    }

    /// Deletes the observations of nodes that have exactly these texts. Unknown names and texts are
    /// no error.
    ///
    /// # Errors
    /// As for [`delete`](Self::delete).
    pub fn delete_observations(&self, deletions: &[NodeTexts]) -> Result<()> {
        let graph = self.graph()?;
        for NodeTexts { name, texts } in deletions {
            let Some(node) = graph.node(name) else {
                continue;
            };
            let has_text = |memory: &&Memory| texts.contains(&memory.content);
            self.forget(node.observations.iter().filter(has_text))?;
        }
        Ok(())
    }

    /// Ends relations, each given as its two ends and its kind between them. Unknown ones are no
    /// error.
    ///
    /// # Errors
    /// `invalid_argument` for a name (`subject`, `predicate`, `object`); `unavailable` if the store
    /// cannot be written.
    pub fn unrelate(&self, relations: &[[String; 3]]) -> Result<()> {
        for relation in relations {
            match self
                .graph
                .end_facts(relation.each_ref().map(String::as_str), None)
            {
                Err(error) if error.code != ErrorCode::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Stores texts that a node has not yet as its observations.
    fn add_texts(&self, node: &Node, texts: Vec<String>) -> Result<Vec<Memory>> {
        let known = node.observations.iter();
        let mut known: HashSet<String> = known.map(|memory| memory.content.clone()).collect();
        let mut added = Vec::new();
        for text in texts {
            if !known.insert(text.clone()) {
                continue;
            }
            let kind = if node.kind == NOTE_KIND {
                KIND
            } else {
                node.kind.as_str()
            };
            let request = Remember {
                title: Some(node.name.clone()),
                section: Some(node.kind.clone()),
                attributes: [(NODE_NAME.to_owned(), node.name.clone())].into(),
                visibility: Visibility::Common,
                ..Remember::new(text, kind)
            };
            let memory = self.memories.remember(request)?.memory;
            known.insert(memory.content.clone());
            added.push(memory);
        }
        Ok(added)
    }

    fn forget<'m>(&self, memories: impl IntoIterator<Item = &'m Memory>) -> Result<()> {
        for memory in memories {
            match self.memories.forget(&memory.id) {
                // Another writer was faster.
                Err(error) if error.code != ErrorCode::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn end(&self, fact: &Fact) -> Result<()> {
        let Fact {
            subject,
            predicate,
            object,
            ..
        } = fact;
        let relation = [subject, predicate, object].map(|name| name.spelling.clone());
        self.unrelate(&[relation])
    }

    /// Returns the facts that hold now, first stored first, and whether there are more.
    fn facts(&self) -> Result<(Vec<Fact>, bool)> {
        let now = self.clock.now();
        let mut facts = Vec::new();
        let mut offset = 0;
        let is_cut = loop {
            let page = self.graph.timeline(None, offset)?;
            offset += page.facts.len();
            let holds = |fact: &Fact| fact.is_open_after(now) && !fact.begins_after(now);
            facts.extend(page.facts.into_iter().filter(holds));
            if !page.is_cut || offset >= FACTS_READ_MAX {
                break page.is_cut;
            }
        };
        facts.sort_by_key(|fact| fact.created_at);
        Ok((facts, is_cut))
    }

    /// Returns the long-term memories, last stored first, and whether there are more.
    fn observations(&self) -> Result<(Vec<Memory>, bool)> {
        let mut memories: Vec<Memory> = Vec::new();
        let (mut known, mut bytes) = (HashSet::new(), 0);
        let mut offset = 0;
        loop {
            let page = self.listings.list_by_insertion(&Browse {
                order: FilingOrder::LastFirst,
                offset,
                limit: READ_AT_ONCE,
                ..Browse::default()
            })?;
            offset += page.len();
            let is_last = page.len() < READ_AT_ONCE;
            for memory in page {
                bytes += memory.content.len();
                // A memory that was stored since the last page moves the others.
                if known.insert(memory.id.clone()) {
                    memories.push(memory);
                }
            }
            if is_last || offset >= MEMORIES_MAX || bytes >= TEXT_BYTES_MAX {
                return Ok((memories, !is_last));
            }
        }
    }
}
