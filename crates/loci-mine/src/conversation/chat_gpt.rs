//! The export of ChatGPT: `conversations.json`, an array of conversations. Each is a tree of nodes
//! with a message or none, which branches where a message was edited or an answer generated again. Nodes
//! are only ever added to it, as the last child of their parent, so that branches by first children
//! stay what they are from one export to the next; the branch that is shown does not. Documents that
//! the model writes for a person stand in messages to its canvas. The export of DeepSeek has the same
//! tree, with the parts of a message in `fragments`.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::citations::without_citations;
use super::value::{Tally, kind_of_block, kinds, moment, title};
use super::{Conversation, ConversationReader};

/// The start of the names of tools that write documents for a person.
const CANVAS: &str = "canmore.";
/// The kinds of content that are for people.
const TEXT_KINDS: [&str; 2] = ["text", "multimodal_text"];

/// Returns whether only this form has such an element.
pub(super) fn tells(value: &Value) -> bool {
    value["mapping"].is_object()
}

/// The state of a reading.
#[derive(Default)]
pub(super) struct ChatGpt {
    conversations: Vec<Conversation>,
    tally: Tally,
    taken: usize,
}

impl ConversationReader for ChatGpt {
    fn take(&mut self, value: &Value) {
        self.taken += 1;
        let Some(nodes) = value["mapping"].as_object() else {
            self.tally.broken += 1;
            return;
        };
        let id = title(&value["conversation_id"]).or_else(|| title(&value["id"]));
        let id = id.unwrap_or_else(|| format!("#{}", self.taken));
        let mut tree = Tree::new(nodes);
        let branches = tree.branches();
        self.tally.broken += tree.broken;
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
                if !message.is_null() {
                    let taken = said(message, &mut conversation, &mut self.tally);
                    self.tally.check(taken);
                }
            }
            self.conversations.push(conversation);
        }
    }

    fn finished(&mut self) -> Vec<Conversation> {
        std::mem::take(&mut self.conversations)
    }

    fn finish(self: Box<Self>) -> (Vec<Conversation>, Tally) {
        (self.conversations, self.tally)
    }
}

/// Adds a message; none if it is broken.
fn said(message: &Value, conversation: &mut Conversation, tally: &mut Tally) -> Option<()> {
    if let Some(fragments) = message["fragments"].as_array() {
        fragments_said(message, fragments, conversation, tally);
        return Some(());
    }
    let speaker = message["author"]["role"].as_str()?;
    let content = &message["content"];
    let kind = content["content_type"].as_str()?;
    let at = moment(&message["create_time"]);
    // A model speaks to its tools as to people.
    let recipient = message["recipient"].as_str().unwrap_or("all");
    if speaker == "assistant" && recipient.starts_with(CANVAS) {
        let texts = canvas(content);
        if texts.is_empty() {
            tally.leave(kinds::TOOL_CALL);
        }
        for text in texts {
            conversation.say(speaker, at, &text);
        }
        return Some(());
    }
    if let Some(kind) = unsaid(message, speaker, recipient, kind) {
        tally.leave(kind);
        return Some(());
    }
    let attachments = message["metadata"]["attachments"].as_array();
    for _ in attachments.into_iter().flatten() {
        tally.leave(kinds::ATTACHMENT);
    }
    let parts = match &content["parts"] {
        Value::Array(parts) => parts.as_slice(),
        part @ Value::String(_) => std::slice::from_ref(part),
        _ => return None,
    };
    let references = &message["metadata"]["content_references"];
    for part in parts {
        let kind = part["content_type"].as_str();
        let text = match part {
            Value::String(text) => Some(text.as_str()),
            // Of pictures and sounds, what was heard is text.
            _ if kind == Some("audio_transcription") => {
                let text = part["text"].as_str();
                tally.broken += u64::from(text.is_none());
                text
            }
            Value::Null => None,
            _ => {
                tally.leave(kind.map_or(kinds::OTHER, kind_of_block));
                None
            }
        };
        if let Some(text) = text {
            let said = if speaker == "assistant" {
                without_citations(text, references)
            } else {
                Cow::Borrowed(text)
            };
            conversation.say(speaker, at, &said);
        }
    }
    Some(())
}

/// The kind as which a message is counted that is not for a person.
fn unsaid(message: &Value, speaker: &str, recipient: &str, kind: &str) -> Option<&'static str> {
    match speaker {
        "user" | "assistant" => {}
        "tool" => return Some(kinds::TOOL_RESULT),
        _ => return Some(kinds::INSTRUCTION),
    }
    if kind == "user_editable_context" {
        Some(kinds::INSTRUCTION)
    } else if message["metadata"]["is_visually_hidden_from_conversation"] == true {
        Some(kinds::PROGRAM)
    } else if recipient != "all" {
        Some(kinds::TOOL_CALL)
    } else if TEXT_KINDS.contains(&kind) {
        None
    } else {
        Some(kind_of_block(kind))
    }
}

/// The texts that a message to the canvas writes: a document, what takes the place of a part, or
/// comments.
fn canvas(content: &Value) -> Vec<String> {
    let text = content["text"]
        .as_str()
        .or_else(|| content["parts"][0].as_str())
        .unwrap_or_default();
    let Ok((call, _)) = loci_json::from_slice::<Value>(text.as_bytes()) else {
        return Vec::new();
    };
    let listed = [("updates", "replacement"), ("comments", "comment")];
    let listed = listed.iter().flat_map(|(list, field)| {
        let items = call[*list].as_array().into_iter().flatten();
        items.filter_map(|item| title(&item[*field]))
    });
    title(&call["content"]).into_iter().chain(listed).collect()
}

/// Adds a message of DeepSeek, whose fragments say who speaks.
fn fragments_said(
    message: &Value,
    fragments: &[Value],
    conversation: &mut Conversation,
    tally: &mut Tally,
) {
    let at = moment(&message["inserted_at"]);
    for fragment in fragments {
        let (kind, text) = (fragment["type"].as_str(), fragment["content"].as_str());
        match (kind, text) {
            (Some("REQUEST"), Some(text)) => conversation.say("user", at, text),
            (Some("RESPONSE"), Some(text)) => conversation.say("assistant", at, text),
            (Some("THINK"), _) => tally.leave(kinds::REASONING),
            (Some("REQUEST" | "RESPONSE"), None) | (None, _) => tally.broken += 1,
            (Some("SEARCH"), _) => tally.leave(kinds::TOOL_RESULT),
            (Some(kind), _) => tally.leave(kind_of_block(&kind.to_lowercase())),
        }
    }
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
    /// Every node is in one branch, even if it is in a circle.
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
