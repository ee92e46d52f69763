//! The draft of a bundle: the memories that may be in it, and its Markdown.

use loci_core::limits::REPLY_CONTENT_BYTES_MAX;
use loci_core::{Memory, MemoryId, RecordVerb, Result};
use loci_text::analysis::query_terms;

use super::Context;
use crate::authors::{Trust, notes_heading, quoted, writer_of};
use crate::budget::Budgets;
use crate::context::session_start::short_id;
use crate::title::shown_title;
use crate::tokens::estimated_tokens;

/// The heading of the memories that every phase starts with.
const ALWAYS: &str = "Always";
/// The heading of the memories of authors whose directives the reader does not take.
const OF_OTHERS: &str = "Notes of others";
/// The heading of the memories that do not reach the floor of any phase.
const LESS_SURE: &str = "Less sure";
/// The most bytes per token that a text for a model can have; the tokens of longer texts are not
/// counted.
const BYTES_PER_TOKEN_MAX: usize = 32;
/// The most memories that are named because they did not fit.
const LEFT_OUT_MAX: usize = 20;
/// The divisor of the budget that gives the most tokens for their names.
const NAMES_PART: usize = 10;
/// The divisor of the budget that gives the most tokens for passages of a long memory, if other
/// memories matter, too.
const EXCERPT_PART: usize = 2;
/// The divisor of the budget that gives the tokens that passages of a long memory leave, if there are
/// less sure memories only besides.
const LESS_SURE_PART: usize = 4;
/// Passages with fewer tokens are too short to be useful.
const EXCERPT_TOKENS_MIN: usize = 16;

/// A memory in a bundle.
#[derive(Debug, Clone, PartialEq)]
pub struct BundleMemory {
    /// The memory.
    pub id: MemoryId,
    /// Its title, or the text shown in place of one.
    pub title: String,
    /// Its importance in the bundle, 0 to 1.
    pub score: f64,
    /// The name of the author of its text; `None` if that is the reader.
    pub author: Option<String>,
    /// True if it contains only passages of the memory, which is too long by itself.
    pub is_excerpt: bool,
    /// True if it does not reach the floor of any phase, and is there because there was room.
    pub is_less_sure: bool,
}

/// A memory that belongs into a bundle and did not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The memory.
    pub id: MemoryId,
    /// Its title, or the text shown in place of one.
    pub title: String,
    /// The estimated number of its tokens.
    pub tokens: usize,
}

/// A bundle of memories.
#[derive(Debug, Clone, PartialEq)]
pub struct Bundle {
    /// Markdown: whole memories, and passages of memories that are too long by themselves, each
    /// with the end of its id; empty if nothing fits.
    pub markdown: String,
    /// The number of its tokens.
    pub used_tokens: usize,
    /// Its memories, in order.
    pub included: Vec<BundleMemory>,
    /// The number of memories that the phases ranked and that did not fit.
    pub dropped: usize,
    /// The best of these, best first.
    pub left_out: Vec<LeftOut>,
    /// The number of further memories that the caller may read and no phase looked at, replaced ones
    /// included.
    pub not_ranked: u64,
    /// Reasons why the bundle may be incomplete.
    pub degraded: Option<String>,
}

/// A heading of a bundle.
struct Section<'a> {
    name: &'a str,
    tokens: usize,
    /// The terms of the queries that its memories answer.
    terms: Vec<String>,
}

/// A memory that belongs into a bundle.
struct Item {
    bundled: BundleMemory,
    section: usize,
    /// Its Markdown; `None` if there is no room for it.
    text: Option<String>,
    /// True if a wipe of the reader would remove it.
    is_own: bool,
    /// The estimated number of tokens that it adds to the bundle.
    tokens: usize,
    /// The estimated number of tokens of the whole memory.
    tokens_of_whole: usize,
}

/// The number of memories that may be in a bundle.
pub(super) struct MemberCounts {
    /// The ones that matter.
    pub(super) sure: usize,
    /// All, the less sure ones included.
    pub(super) belonging: usize,
}

/// The memories that may be in a bundle, the more important ones first.
pub(super) struct Draft<'a> {
    budgets: Budgets<'a>,
    trust: Trust<'a>,
    budget: usize,
    sections: Vec<Section<'a>>,
    /// The number of memories that belong into it, added or not.
    belonging: MemberCounts,
    /// The number of memories that no phase looked at.
    not_ranked: u64,
    items: Vec<Item>,
    tokens: usize,
    bytes: usize,
}

impl<'a> Draft<'a> {
    pub(super) fn new(
        context: &Context<'a>,
        budget: usize,
        phases: &[&'a str],
        trust: Trust<'a>,
        belonging: MemberCounts,
    ) -> Self {
        let terms = |name: &&str| query_terms(&context.phases.named(name).query);
        let of_all: Vec<String> = phases.iter().flat_map(terms).collect();
        let section = |name, terms| Section {
            name,
            tokens: context.budgets.count_tokens(&heading(name)),
            terms,
        };
        let mut sections = vec![section(ALWAYS, of_all.clone())];
        sections.extend(phases.iter().map(|name| section(name, terms(name))));
        sections.push(section(OF_OTHERS, of_all.clone()));
        sections.push(section(LESS_SURE, of_all));
        Draft {
            budgets: context.budgets,
            trust,
            budget,
            sections,
            belonging,
            not_ranked: 0,
            items: Vec::new(),
            tokens: 0,
            bytes: 0,
        }
    }

    /// Returns the index of the section for memories of authors whose directives the reader does
    /// not take.
    pub(super) fn of_others(&self) -> usize {
        self.sections.len() - 2
    }

    /// Returns the index of the section for memories that do not reach the floor of any phase.
    pub(super) fn less_sure(&self) -> usize {
        self.sections.len() - 1
    }

    /// Corrects the number of memories that belong into it, and sets the number of memories that no
    /// phase looked at.
    pub(super) fn set_counts(&mut self, belonging: usize, not_ranked: u64) {
        self.belonging.belonging = belonging;
        self.not_ranked = not_ranked;
    }

    /// Reports whether nothing more can fit, with a margin for the error of adding the counts of
    /// parts.
    fn is_full(&self) -> bool {
        self.tokens > self.budget + self.budget / 4 + 64 || self.bytes > REPLY_CONTENT_BYTES_MAX
    }

    /// Reports whether it is full and also has enough memories to name.
    pub(super) fn is_done(&self) -> bool {
        self.is_full()
            && self.items.iter().filter(|item| item.text.is_none()).count() >= LEFT_OUT_MAX
    }

    /// Adds a memory, of which the search found that passage: whole or, if it is too long by
    /// itself, its best passages.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub(super) fn add(
        &mut self,
        memory: &Memory,
        score: f64,
        section: usize,
        passage: Option<u32>,
    ) -> Result<()> {
        if self.is_done() {
            return Ok(());
        }
        let title = shown_title(memory).into_owned();
        let author = writer_of(self.trust.reader(), memory);
        let mut bundled = BundleMemory {
            id: memory.id.clone(),
            title,
            score,
            author,
            is_excerpt: false,
            is_less_sure: section == self.less_sure(),
        };
        let whole = part_text(memory, &bundled.title, &memory.content, &self.trust);
        let may_fit = whole.len() / BYTES_PER_TOKEN_MAX <= self.budget && !self.is_full();
        let counted = may_fit.then(|| self.tokens_alone(section, &whole));
        let heading_tokens = self.sections[section].tokens;
        let tokens_of_whole = counted.map_or_else(
            || estimated_tokens(&whole),
            |tokens| tokens.saturating_sub(heading_tokens),
        );
        let (text, tokens) = match counted {
            Some(tokens) if tokens <= self.budget => (Some(whole), tokens),
            _ if self.is_full() || bundled.is_less_sure && self.parts().next().is_some() => {
                (None, 0)
            }
            _ => {
                bundled.is_excerpt = true;
                let text =
                    self.excerpt(memory, &bundled.title, section, passage, tokens_of_whole)?;
                let tokens = text
                    .as_ref()
                    .map_or(0, |text| self.tokens_alone(section, text));
                (text.filter(|_| tokens <= self.budget), tokens)
            }
        };
        let tokens = tokens.saturating_sub(heading_tokens);
        if let Some(text) = &text {
            self.tokens += tokens;
            self.bytes += text.len();
        }
        self.items.push(Item {
            bundled,
            section,
            text,
            is_own: self.trust.reader().owns(memory),
            tokens,
            tokens_of_whole,
        });
        Ok(())
    }

    /// Returns the tokens of a part under its heading.
    fn tokens_alone(&self, section: usize, text: &str) -> usize {
        self.budgets.count_tokens(&format!(
            "{}\n\n{text}\n",
            heading(self.sections[section].name)
        ))
    }

    /// Returns the Markdown of the passages of a long memory that best answer the query of a
    /// section; `None` if there is no room for any.
    fn excerpt(
        &self,
        memory: &Memory,
        title: &str,
        section: usize,
        passage: Option<u32>,
        tokens_of_whole: usize,
    ) -> Result<Option<String>> {
        let marked = |passages: &str| {
            let content =
                format!("_Passages of a text of about {tokens_of_whole} tokens._\n\n{passages}");
            part_text(memory, title, &content, &self.trust)
        };
        let budget = match self.belonging {
            MemberCounts { sure: 2.., .. } => self.budget / EXCERPT_PART,
            MemberCounts { belonging: 2.., .. } => self.budget - self.budget / LESS_SURE_PART,
            _ => self.budget,
        };
        let room = budget.saturating_sub(self.tokens_alone(section, &marked("")));
        if room < EXCERPT_TOKENS_MIN {
            return Ok(None);
        }
        let near = passage
            .map(|passage| self.budgets.passage_range(memory, passage))
            .transpose()?
            .flatten();
        let excerpt =
            self.budgets
                .excerpt(&memory.content, &self.sections[section].terms, near, room);
        Ok(Some(marked(&excerpt.text)))
    }

    /// Returns the bundle with as many of the first memories as fit, which go on the trail of the
    /// reader.
    pub(super) fn fitting(mut self) -> Bundle {
        let parts = self.most_that_fit();
        let (parts, markdown) = match parts {
            0 if self.parts().next().is_none() => (0, String::new()),
            // A single part fits at least without the line about the others.
            0 => (1, self.written(1, false)),
            parts => (parts, self.written(parts, true)),
        };
        let left_out = self
            .left_out(parts)
            .take(LEFT_OUT_MAX)
            .map(left_out)
            .collect();
        let dropped = self.belonging.belonging - parts;
        self.items.retain(|item| item.text.is_some());
        self.items.truncate(parts);
        self.items.sort_by_key(|item| item.section);
        for Item {
            bundled, is_own, ..
        } in &self.items
        {
            let (reader, id) = (self.trust.actor(), bundled.id.as_str());
            reader.note_record(RecordVerb::Returned, id, Some(*is_own));
        }
        let included = self.items.into_iter().map(|item| item.bundled).collect();
        let used_tokens = self.budgets.count_tokens(&markdown);
        Bundle {
            markdown,
            used_tokens,
            included,
            dropped,
            left_out,
            not_ranked: self.not_ranked,
            degraded: None,
        }
    }

    /// Returns the memories for which there may be room.
    fn parts(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| item.text.is_some())
    }

    /// Returns the known memories that are not among the first `parts` of these.
    fn left_out(&self, parts: usize) -> impl Iterator<Item = &Item> {
        let mut taken = 0;
        self.items.iter().filter(move |item| {
            taken += usize::from(item.text.is_some());
            item.text.is_none() || taken > parts
        })
    }

    /// Returns how many of the first parts fit, with the lines about the others: token counts do
    /// not add up exactly, so it counts the whole text, and the counts of parts only guide the
    /// search.
    fn most_that_fit(&self) -> usize {
        let tokens_if_fitting = |parts: usize| {
            let text = self.written(parts, true);
            let tokens = self.budgets.count_tokens(&text);
            (tokens <= self.budget && text.len() <= REPLY_CONTENT_BYTES_MAX).then_some(tokens)
        };
        // All may fit where all but a short one, with the line, do not.
        let tokens_of_parts: Vec<usize> = self.parts().map(|item| item.tokens).collect();
        let all = tokens_of_parts.len();
        if tokens_if_fitting(all).is_some() {
            return all;
        }
        let (mut fits, mut tokens, mut too_many) = (0, 0, all);
        while fits + 1 < too_many {
            let mut parts = fits;
            let mut estimate = tokens;
            while parts < too_many && estimate + tokens_of_parts[parts] <= self.budget {
                estimate += tokens_of_parts[parts];
                parts += 1;
            }
            // If that is known not to fit, continue with the middle.
            let parts = if parts < too_many {
                parts.max(fits + 1)
            } else {
                fits.midpoint(too_many)
            };
            match tokens_if_fitting(parts) {
                Some(counted) => (fits, tokens) = (parts, counted),
                None => too_many = parts,
            }
        }
        fits
    }

    /// Returns the first parts under their headings, with lines about the others if there are any
    /// and they are requested.
    fn written(&self, parts: usize, with_others: bool) -> String {
        let mut markdown = String::new();
        for (section, Section { name, .. }) in self.sections.iter().enumerate() {
            let mut of_section = self
                .parts()
                .take(parts)
                .filter(|item| item.section == section)
                .peekable();
            if of_section.peek().is_some() {
                markdown.push_str(&heading(name));
                markdown.push_str("\n\n");
            }
            for text in of_section.filter_map(|item| item.text.as_ref()) {
                markdown.push_str(text);
                markdown.push_str("\n\n");
            }
        }
        let left_out = self.belonging.belonging - parts;
        if !with_others || left_out == 0 && self.not_ranked == 0 {
            // The last part ends with one line break.
            markdown.pop();
            return markdown;
        }
        if left_out > 0 {
            let memories = if left_out == 1 { "memory" } else { "memories" };
            let names = self.names(parts);
            let end = match names.len() {
                0 => "._\n".to_owned(),
                named if named == left_out => format!(", best first:_\n\n{}", names.concat()),
                _ => format!("; the best of them:_\n\n{}", names.concat()),
            };
            markdown += &format!("_{left_out} more {memories} did not fit{end}");
        }
        if left_out > 0 && self.not_ranked > 0 {
            markdown.push('\n');
        }
        match self.not_ranked {
            0 => {}
            1 => markdown += "_1 other was not ranked; a search may find it._\n",
            others => {
                markdown +=
                    &format!("_{others} others were not ranked; a search may find them._\n");
            }
        }
        markdown
    }

    /// Returns the lines that name the best memories that did not fit, as many as there is room
    /// for.
    fn names(&self, parts: usize) -> Vec<String> {
        let mut names = Vec::new();
        let mut room = self.budget / NAMES_PART;
        for LeftOut { id, title, tokens } in self.left_out(parts).take(LEFT_OUT_MAX).map(left_out) {
            let line = format!(
                "- {title} [{}], about {tokens} tokens\n",
                short_id(id.as_str())
            );
            let Some(left) = room.checked_sub(self.budgets.count_tokens(&line)) else {
                break;
            };
            room = left;
            names.push(line);
        }
        names
    }
}

fn left_out(item: &Item) -> LeftOut {
    LeftOut {
        id: item.bundled.id.clone(),
        title: item.bundled.title.clone(),
        tokens: item.tokens_of_whole,
    }
}

fn heading(name: &str) -> String {
    format!("# {name}")
}

/// Returns the Markdown of a memory: its title, the end of its id and its text, with the name of
/// its author if that is not the reader; a quotation if the reader does not take directives of that
/// author. A text equal to the title is not repeated.
fn part_text(memory: &Memory, title: &str, content: &str, trust: &Trust<'_>) -> String {
    let text = content.trim_start_matches(['\n', '\r']).trim_end();
    let heading = format!("## {title} [{}]", short_id(memory.id.as_str()));
    let part = if text == title {
        heading
    } else {
        format!("{heading}\n\n{text}")
    };
    if let Some(stranger) = trust.stranger(memory) {
        return format!(
            "{}\n\n{}",
            notes_heading(&stranger),
            quoted(&part).trim_end()
        );
    }
    match writer_of(trust.reader(), memory) {
        Some(writer) => format!("{part}\n\n(by {writer})"),
        None => part,
    }
}
