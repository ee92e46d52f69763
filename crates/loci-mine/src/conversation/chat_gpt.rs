//! The export of ChatGPT: `conversations.json`, an array of conversations. Each is a tree of nodes
//! with a message or none, which branches where a message was edited or an answer generated again. Nodes
//! are only ever added to it, as the last child of their parent, so that branches by first children
//! stay what they are from one export to the next; the branch that is shown does not.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::value::{moment, title};
use super::{Conversation, Gather};

/// Whether only this form has such an element.
pub(super) fn tells(value: &Value) -> bool {
    value["mapping"].is_object()
}

/// What was gathered.
#[derive(Default)]
pub(super) struct ChatGpt {
    conversations: Vec<Conversation>,
    taken: usize,
}

impl Gather for ChatGpt {
    fn take(&mut self, value: &Value) -> u64 {
        self.taken += 1;
        let Some(nodes) = value["mapping"].as_object() else {
            return 1;
        };
        let id = title(&value["conversation_id"]).or_else(|| title(&value["id"]));
        let id = id.unwrap_or_else(|| format!("#{}", self.taken));
        let mut tree = Tree::new(nodes);
        let branches = tree.branches();
        let mut broken = tree.broken;
        for (place, branch) in branches.into_iter().enumerate() {
            let id = match branch.first() {
                Some(first) if place > 0 => format!("{id}/{first}"),
                _ => id.clone(),
            };
            let mut conversation = Conversation {
                id,
                title: title(&value["title"]),
                ..Conversation::default()
            };
            for message in branch
                .iter()
                .filter_map(|node| nodes.get(*node))
                .map(|node| &node["message"])
            {
                broken +=
                    u64::from(!message.is_null() && said(message, &mut conversation).is_none());
            }
            self.conversations.push(conversation);
        }
        broken
    }

    fn conversations(self: Box<Self>) -> Vec<Conversation> {
        self.conversations
    }
}

/// Adds a message; none if it is broken.
fn said(message: &Value, conversation: &mut Conversation) -> Option<()> {
    let speaker = message["author"]["role"].as_str()?;
    let content = &message["content"];
    let kind = content["content_type"].as_str()?;
    let is_hidden = message["metadata"]["is_visually_hidden_from_conversation"] == true;
    // A model speaks to its tools as to people.
    let is_to_all = message["recipient"]
        .as_str()
        .is_none_or(|recipient| recipient == "all");
    if !matches!(speaker, "user" | "assistant")
        || !matches!(kind, "text" | "multimodal_text")
        || is_hidden
        || !is_to_all
    {
        return Some(());
    }
    let at = moment(&message["create_time"]);
    for part in content["parts"].as_array()? {
        match part {
            Value::String(text) => conversation.say(speaker, at, text),
            // Of pictures and sounds, what was heard is text.
            Value::Object(part)
                if part
                    .get("content_type")
                    .is_some_and(|kind| kind == "audio_transcription") =>
            {
                conversation.say(speaker, at, part.get("text")?.as_str()?);
            }
            _ => {}
        }
    }
    Some(())
}

/// The nodes of a conversation by what follows what. Each has one parent at most, which is there.
struct Tree<'a> {
    nodes: &'a Map<String, Value>,
    parents: HashMap<&'a str, &'a str>,
    children: HashMap<&'a str, Vec<&'a str>>,
    /// Nodes that are named and are not there, and circles.
    broken: u64,
}

impl<'a> Tree<'a> {
    /// By the parent that a node names, else by who names it as a child; in the order in which the
    /// parent names them.
    fn new(nodes: &'a Map<String, Value>) -> Self {
        let mut tree = Tree {
            nodes,
            parents: HashMap::new(),
            children: HashMap::new(),
            broken: 0,
        };
        for (id, node) in nodes {
            if let Some(parent) = node["parent"].as_str() {
                tree.tie(parent, id);
            }
        }
        for (id, node) in nodes {
            for child in node["children"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
            {
                if !tree.parents.contains_key(child) {
                    tree.tie(id, child);
                }
            }
        }
        for (parent, children) in &mut tree.children {
            let named = nodes[*parent]["children"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str);
            let places: HashMap<&str, usize> = named.zip(0..).collect();
            children.sort_by_key(|child| places.get(child).copied().unwrap_or(usize::MAX));
        }
        tree
    }

    fn tie(&mut self, parent: &str, child: &str) {
        match (
            self.nodes.get_key_value(parent),
            self.nodes.get_key_value(child),
        ) {
            (Some((parent, _)), Some((child, _))) => {
                self.parents.insert(child, parent);
                self.children.entry(parent).or_default().push(child);
            }
            _ => self.broken += 1,
        }
    }

    /// The way from each root to an end, then each other way from where it leaves those before it.
    /// Every node is in one of them, those too that are in a circle.
    fn branches(&mut self) -> Vec<Vec<&'a str>> {
        let mut seen = HashSet::new();
        let mut branches = Vec::new();
        let mut left = 0;
        let roots = self
            .nodes
            .keys()
            .filter(|node| !self.parents.contains_key(node.as_str()));
        for (start, is_root) in roots
            .map(|node| (node, true))
            .chain(self.nodes.keys().map(|node| (node, false)))
        {
            if let Some(branch) = self.branch(start, &mut seen) {
                self.broken += u64::from(!is_root);
                branches.push(branch);
            }
            while let Some(branch) = branches.get(left) {
                let leaving = branch
                    .iter()
                    .filter_map(|node| self.children.get(node))
                    .flatten();
                let leaving: Vec<_> = leaving
                    .filter_map(|child| self.branch(child, &mut seen))
                    .collect();
                branches.extend(leaving);
                left += 1;
            }
        }
        branches
    }

    /// The way from a node to an end, at each fork by the first child; none if the node was seen.
    fn branch(&self, start: &'a str, seen: &mut HashSet<&'a str>) -> Option<Vec<&'a str>> {
        let mut way = Vec::new();
        let mut next = Some(start).filter(|start| seen.insert(*start));
        while let Some(node) = next {
            way.push(node);
            next = self
                .children
                .get(node)
                .into_iter()
                .flatten()
                .copied()
                .find(|child| seen.insert(*child));
        }
        Some(way).filter(|way| !way.is_empty())
    }
}
