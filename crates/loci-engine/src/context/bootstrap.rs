//! The document that an agent reads at the start of a session.

use std::collections::BTreeMap;

use loci_core::{Caller, CollectionFilter, Delivery, Filter, Memory, Page, Result, limits};

use crate::authors::{IDENTITY, notes_heading, quoted, writer_of};
use crate::context::Context;
use crate::held_back::HELD_BACK;
use crate::notes::NOTE_KIND;
use crate::tokens::estimated_tokens;

/// Headings of the document in order, by section. Other sections follow under their own names, if
/// these are single words: a longer one could itself be a directive, of any caller who may move a
/// memory.
const HEADINGS: [(&str, &str); 6] = [
    ("bootstrap", "Directives"),
    ("rule", "Rules"),
    ("feedback", "Feedback"),
    ("decision", "Decisions"),
    ("fact", "Facts"),
    ("context", "Context"),
];

/// The heading of memories of all other sections.
const OTHER: &str = "Other";

/// The part with the memories of other authors.
const OF_OTHERS: &str = "Notes of others";

/// The document for a session start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bootstrap {
    /// Markdown, with every memory whole; empty without memories.
    pub markdown: String,
    /// The number of its memories.
    pub memories: usize,
    /// The estimated number of its tokens.
    pub tokens: usize,
    /// The number of memories of other authors that are [held back](crate::HeldBack).
    pub held_back: usize,
}

/// A memory in the document for a session start.
#[derive(Debug, Clone, PartialEq)]
pub struct BootstrapItem {
    /// The part of the document, e.g. `Global`.
    pub part: String,
    /// The heading that it stands under, or the name of the author of a note of others.
    pub heading: String,
    /// The memory.
    pub memory: Memory,
    /// Its lines in the document, for a note of others without the marks of the quotation.
    pub text: String,
    /// The estimated number of their tokens.
    pub tokens: usize,
    /// True if it can be [moved](Context::move_in_bootstrap) before the one above it.
    pub can_rise: bool,
    /// True if it can be moved after the one below it.
    pub can_fall: bool,
}

/// What a session starts with: the memories of each part, and the memories of other authors.
struct SortedStart {
    parts: Vec<(String, Vec<Memory>)>,
    strangers: BTreeMap<String, Vec<Memory>>,
    held_back: usize,
}

impl Bootstrap {
    /// Returns true if it exceeds its token budget.
    pub fn is_over_budget(&self) -> bool {
        self.tokens > limits::BOOTSTRAP_TOKENS_MAX
    }
}

impl Context<'_> {
    /// Returns the memories that every session starts with: the global ones, then the project's, of
    /// authors whose directives the caller [takes](crate::Trust); then the memories of other
    /// authors, as quotations under their names, but for the ones that are
    /// [held back](crate::HeldBack), which are counted. Nothing is ever cut; the last line gives the size,
    /// and warns if it exceeds the budget of [`limits::BOOTSTRAP_TOKENS_MAX`] tokens.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn bootstrap(&self, project: Option<&str>) -> Result<Bootstrap> {
        let SortedStart {
            parts,
            strangers,
            held_back,
        } = self.sorted_start(project)?;
        let mut markdown = String::new();
        let mut memories = strangers.values().map(Vec::len).sum();
        for (title, directives) in &parts {
            memories += directives.len();
            write_part(&mut markdown, title, directives, &self.caller);
        }
        write_strangers(&mut markdown, &strangers);
        if held_back > 0 {
            markdown.push_str(&format!("Held back: {held_back}, {HELD_BACK}.\n\n"));
        }
        if memories == 0 {
            return Ok(Bootstrap {
                tokens: estimated_tokens(&markdown),
                markdown,
                memories,
                held_back,
            });
        }
        let tokens = estimated_tokens(&markdown);
        let budget = limits::BOOTSTRAP_TOKENS_MAX;
        let noun = if memories == 1 { "memory" } else { "memories" };
        markdown.push_str(&format!(
            "---\n\n{memories} {noun}, about {tokens} of {budget} tokens."
        ));
        if tokens > budget {
            markdown.push_str(" **Over budget:** shorten or remove some bootstrap memories.");
        }
        markdown.push('\n');
        Ok(Bootstrap {
            markdown,
            memories,
            tokens,
            held_back,
        })
    }

    /// Returns the memories of the same document, in its order.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn bootstrap_items(&self, project: Option<&str>) -> Result<Vec<BootstrapItem>> {
        let SortedStart {
            parts, strangers, ..
        } = self.sorted_start(project)?;
        let mut items = Vec::new();
        for (part, directives) in &parts {
            for (heading, group) in groups(directives) {
                for memory in group {
                    let text = item_of(&self.caller, memory);
                    items.push(BootstrapItem::of(part, &heading, memory, text));
                }
            }
        }
        for (name, memories) in &strangers {
            for memory in memories {
                items.push(BootstrapItem::of(OF_OTHERS, name, memory, item(memory)));
            }
        }
        // Only memories of one collection, under one heading, change places.
        let together = |one: &BootstrapItem, other: &BootstrapItem| {
            (&one.part, &one.heading) == (&other.part, &other.heading)
                && one.memory.location.collection == other.memory.location.collection
                && heading_of(&one.memory) == heading_of(&other.memory)
        };
        let last = items.len().saturating_sub(1);
        for place in 0..last {
            let is_together = together(&items[place], &items[place + 1]);
            items[place].can_fall = is_together;
            items[place + 1].can_rise = is_together;
        }
        Ok(items)
    }

    fn sorted_start(&self, project: Option<&str>) -> Result<SortedStart> {
        let trust = self.settings.trust()?;
        let held = self.settings.held_back()?;
        let mut held_back = 0;
        let mut wanted = vec![("Global".to_owned(), CollectionFilter::Global)];
        wanted.extend(project.map(|project| {
            (
                format!("Project {project}"),
                CollectionFilter::Only(project.to_owned()),
            )
        }));
        let (mut parts, mut strangers) = (Vec::new(), BTreeMap::<String, Vec<Memory>>::new());
        for (title, collections) in wanted {
            let mut directives = Vec::new();
            for memory in self.bootstrap_memories(collections)? {
                match trust.stranger(&memory) {
                    None => directives.push(memory),
                    Some(_) if held.holds(&memory) => held_back += 1,
                    Some(name) => strangers.entry(name).or_default().push(memory),
                }
            }
            parts.push((title, directives));
        }
        Ok(SortedStart {
            parts,
            strangers,
            held_back,
        })
    }

    /// Returns the memories that came in files and wait until a person [accepts](crate::Memories::accept)
    /// them, of all that the caller may read.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn unreviewed(&self) -> Result<Vec<Memory>> {
        let mut memories = self.bootstrap_memories(CollectionFilter::Any)?;
        let of_identity = Filter {
            sections: vec![IDENTITY.to_owned()],
            ..self.access.filter(CollectionFilter::Any)
        };
        memories.extend(self.all_of(&of_identity)?);
        memories.retain(Memory::is_unreviewed);
        memories.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        memories.dedup_by(|a, b| a.id == b.id);
        Ok(memories)
    }

    pub(super) fn all_of(&self, filter: &Filter) -> Result<Vec<Memory>> {
        let mut memories = Vec::new();
        loop {
            let page = Page {
                offset: memories.len(),
                limit: limits::LIST_RESULTS_MAX,
            };
            let part = self.store.list(filter, page)?;
            let is_last = part.len() < page.limit;
            memories.extend(part);
            if is_last {
                return Ok(memories);
            }
        }
    }

    /// Returns the bootstrap memories of these collections that are not superseded: rules and
    /// feedback first, then other types; within each by weight, then oldest first, so that a new
    /// memory displaces none. What the caller [moved](Context::move_in_bootstrap) is in that order.
    pub(crate) fn bootstrap_memories(&self, collections: CollectionFilter) -> Result<Vec<Memory>> {
        let mut filter = self.access.filter(collections);
        filter.delivery = Some(Delivery::Bootstrap);
        filter.superseded = loci_core::Superseded::Hide;
        let mut memories = self.all_of(&filter)?;
        self.access.hide_references(&mut memories)?;
        memories.sort_by(|a, b| {
            let by_weight = || b.weight.total_cmp(&a.weight);
            let by_age = || (a.created_at, &a.id).cmp(&(b.created_at, &b.id));
            type_rank(&a.kind)
                .cmp(&type_rank(&b.kind))
                .then_with(by_weight)
                .then_with(by_age)
        });
        self.arranged(&mut memories)?;
        Ok(memories)
    }
}

impl BootstrapItem {
    fn of(part: &str, heading: &str, memory: &Memory, text: String) -> Self {
        BootstrapItem {
            part: part.to_owned(),
            heading: heading.to_owned(),
            memory: memory.clone(),
            tokens: estimated_tokens(&text),
            text,
            can_rise: false,
            can_fall: false,
        }
    }
}

/// Returns the rank of a type among the memories that a session starts with. A directive and a note
/// rank like a rule.
fn type_rank(kind: &str) -> usize {
    match kind {
        "rule" | "bootstrap" | NOTE_KIND => 0,
        "feedback" => 1,
        "decision" => 2,
        "fact" => 3,
        "context" => 4,
        _ => 5,
    }
}

/// Writes the memories of other authors as quotations, under the authors' names.
fn write_strangers(markdown: &mut String, strangers: &BTreeMap<String, Vec<Memory>>) {
    if strangers.is_empty() {
        return;
    }
    markdown.push_str(&format!("# {OF_OTHERS}\n\n"));
    for (name, memories) in strangers {
        let items: Vec<String> = memories.iter().map(item).collect();
        markdown.push_str(&format!(
            "{}\n\n{}\n",
            notes_heading(name),
            quoted(&items.join("\n"))
        ));
    }
}

/// Formats a memory as a list item. Lines after the first are indented, so that a text of several
/// lines stays one item.
fn item(memory: &Memory) -> String {
    let text = memory.content.trim_end();
    let item = match &memory.title {
        Some(title) if title != text => format!("**{title}**\n\n{text}"),
        _ => text.to_owned(),
    };
    format!("- {}", item.replace('\n', "\n  "))
}

/// Reports whether a name is one short word.
fn is_word(name: &str) -> bool {
    const CHARACTERS_MAX: usize = 32;
    let is_of_word =
        |character: char| character.is_alphanumeric() || matches!(character, '-' | '_');
    name.chars().count() <= CHARACTERS_MAX && name.chars().all(is_of_word)
}

/// Writes one part, grouped by section. Memories of other authors show the author's name.
fn write_part(markdown: &mut String, title: &str, memories: &[Memory], reader: &Caller) {
    if memories.is_empty() {
        return;
    }
    markdown.push_str(&format!("# {title}\n\n"));
    for (heading, group) in groups(memories) {
        markdown.push_str(&format!("## {heading}\n\n"));
        for memory in group {
            markdown.push_str(&format!("{}\n", item_of(reader, memory)));
        }
        markdown.push('\n');
    }
}

/// Returns the heading that a memory stands under.
pub(super) fn heading_of(memory: &Memory) -> String {
    let section = memory.location.section.as_str();
    let known = HEADINGS
        .iter()
        .find(|(known, _)| *known == section)
        .map(|(_, heading)| (*heading).to_owned());
    known.unwrap_or_else(|| {
        if is_word(section) {
            section.to_owned()
        } else {
            OTHER.to_owned()
        }
    })
}

/// Returns memories by their headings, in the order of the document.
fn groups(memories: &[Memory]) -> Vec<(String, Vec<&Memory>)> {
    let known = HEADINGS.map(|(_, heading)| heading.to_owned());
    let mut others: Vec<String> = memories
        .iter()
        .map(heading_of)
        .filter(|heading| !known.contains(heading))
        .collect();
    others.sort_unstable();
    others.dedup();
    let group = |heading: String| {
        let of_heading = memories
            .iter()
            .filter(|memory| heading_of(memory) == heading);
        let group: Vec<&Memory> = of_heading.collect();
        (!group.is_empty()).then_some((heading, group))
    };
    known.into_iter().chain(others).filter_map(group).collect()
}

/// Formats a memory as a list item, with the name of its author if that is another one.
fn item_of(reader: &Caller, memory: &Memory) -> String {
    let by = writer_of(reader, memory).map_or_else(String::new, |name| format!(" (by {name})"));
    format!("{}{by}", item(memory))
}
