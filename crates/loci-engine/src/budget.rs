//! The token budget of a reply, and the part of each text that it shows.

pub mod excerpt;

use std::ops::Range;

use loci_core::limits::REPLY_TOKENS_MAX;
use loci_core::{Error, LINES, Memory, Result, SOURCE_FILE, Store, TokenCounter};
use loci_text::excerpt::{beginning, estimated_tokens, page_end};

use crate::engine::Engine;
use crate::policy::Policy;
use crate::title::shown_title;

/// The least tokens of a text that are shown, if it has as many.
const TEXT_TOKENS_MIN: usize = 200;
/// The tokens of the parts of a file that a search shows for its first results, and for each
/// further one: a definition or a few paragraphs. A file has many parts, and a search asks for the
/// one that answers.
const FILE_TOKENS: [usize; 2] = [500, 300];
const FURTHER_FILE_TOKENS: usize = 200;
/// The estimated tokens of the names of a record's fields, its id and its times.
const FIELDS_TOKENS: usize = 100;
/// The bytes of a text whose tokens are counted where about their number is wanted.
const COUNTED_BYTES_MAX: usize = 4 << 10;
/// The estimated tokens of a link of a memory.
const LINK_TOKENS: usize = 30;

/// The token budget of a reply, which its texts share, best first.
pub struct ReplyBudget<'a> {
    budgets: Budgets<'a>,
    left: usize,
    shown: usize,
}

/// A memory in the form that a reply shows.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedMemory {
    /// The memory. If there is a `length`, its content or the excerpts of its citations are cut,
    /// and one without a title has the [shown one](shown_title).
    pub memory: Memory,
    /// The number of characters of the whole content, if it is not shown as a whole.
    pub length: Option<usize>,
}

/// A part of a text, verbatim.
#[derive(Debug, Clone, PartialEq)]
pub struct TextPage {
    /// The memory, with this part as its content.
    pub memory: Memory,
    /// The number of characters of the whole content, if this is only a part.
    pub length: Option<usize>,
    /// The offset of the next page in characters; `None` if this is the last.
    pub next_offset: Option<usize>,
}

impl ReplyBudget<'_> {
    /// Cuts a memory to its share if `sharing` memories share the rest of the budget, this one
    /// included: the first ones get more, and unused tokens go to the ones that follow. A text that
    /// is too long shows the parts that answer the `terms` of the query, and the passage that the
    /// search found. A text that was read from a file only ever shows such parts in a search, with
    /// their lines instead of the lines of the whole, even if there is room for more. The first
    /// memory is always shown.
    ///
    /// Returns the number of characters of the whole text if it was cut; the outer `None` if the
    /// budget has no room for the memory.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn cut(
        &mut self,
        memory: &mut Memory,
        sharing: usize,
        terms: &[String],
        passage: Option<u32>,
    ) -> Result<Option<Option<usize>>> {
        let share = (2 * self.left / (sharing.max(1) + 1)).min(self.left);
        let citations = if citation_tokens(memory) > share / 2 {
            cut_citations(memory, share / 2)
        } else {
            false
        };
        let fields = field_tokens(memory);
        let room = share.saturating_sub(fields).max(TEXT_TOKENS_MIN);
        let was_read_of_file =
            memory.thread.is_some() && memory.attributes.contains_key(SOURCE_FILE);
        let file_tokens = FILE_TOKENS
            .get(self.shown)
            .copied()
            .unwrap_or(FURTHER_FILE_TOKENS);
        let room = if passage.is_some() && was_read_of_file {
            room.min(file_tokens)
        } else {
            room
        };
        let whole = self.budgets.tokens_within(&memory.content, room);
        let needed = fields + whole.unwrap_or(TEXT_TOKENS_MIN);
        if needed > self.left && self.shown > 0 {
            return Ok(None);
        }
        self.shown += 1;
        if let Some(tokens) = whole {
            self.left = self.left.saturating_sub(fields + tokens);
            return Ok(Some(citations.then(|| memory.content.chars().count())));
        }
        keep_title(memory);
        let near = passage
            .map(|passage| self.budgets.passage_range(memory, passage))
            .transpose()?
            .flatten();
        let excerpt = self.budgets.excerpt(&memory.content, terms, near, room);
        self.left = self.left.saturating_sub(fields + excerpt.tokens);
        let shown = memory
            .attributes
            .get(LINES)
            .and_then(|lines| lines_of(lines, &memory.content, &excerpt.ranges));
        let text = excerpt.text.into_owned();
        if let Some(shown) = shown {
            memory.attributes.insert(LINES.to_owned(), shown);
        }
        let length = memory.content.chars().count();
        memory.content = text;
        Ok(Some(Some(length)))
    }
}

/// Token budgets of replies.
#[derive(Clone, Copy)]
pub struct Budgets<'a> {
    store: &'a dyn Store,
    policy: &'a Policy,
    token_counter: &'a dyn TokenCounter,
}

impl Engine {
    /// Returns the token budgets of replies.
    pub fn budgets(&self) -> Budgets<'_> {
        Budgets {
            store: &*self.store,
            policy: &self.policy,
            token_counter: &*self.token_counter,
        }
    }
}

impl Budgets<'_> {
    /// Returns a budget of `tokens`, or of `reply_tokens` of the [`Policy`] if
    /// `None`; at most [`REPLY_TOKENS_MAX`].
    pub fn reply_budget(&self, tokens: Option<usize>) -> ReplyBudget<'_> {
        ReplyBudget {
            budgets: *self,
            left: self.reply_tokens(tokens),
            shown: 0,
        }
    }

    /// Returns the number of tokens of such a budget.
    pub fn reply_tokens(&self, tokens: Option<usize>) -> usize {
        tokens
            .unwrap_or(self.policy.reply_tokens)
            .min(REPLY_TOKENS_MAX)
    }

    /// Returns as many of these memories as fit into a budget, in order.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn cut_to_budget(
        &self,
        memories: Vec<Memory>,
        tokens: Option<usize>,
    ) -> Result<Vec<FittedMemory>> {
        let mut budget = self.reply_budget(tokens);
        let (all, mut shown) = (memories.len(), Vec::new());
        for mut memory in memories {
            match budget.cut(&mut memory, all - shown.len(), &[], None)? {
                Some(length) => shown.push(FittedMemory { memory, length }),
                None => break,
            }
        }
        Ok(shown)
    }

    /// Returns the text of a memory from an offset in characters, verbatim, as much as fits into a
    /// budget of `tokens`. A page ends after a line, a sentence or a word, if there is one.
    ///
    /// # Errors
    /// `invalid_argument`, naming `offset`, if the text ends before it.
    pub fn text_page(
        &self,
        mut memory: Memory,
        offset: usize,
        tokens: Option<usize>,
    ) -> Result<TextPage> {
        let tokens_max = self
            .reply_tokens(tokens)
            .saturating_sub(FIELDS_TOKENS)
            .max(TEXT_TOKENS_MIN);
        let content = &memory.content;
        let begin = content
            .char_indices()
            .map(|(at, _)| at)
            .chain([content.len()])
            .nth(offset);
        let Some(rest) = begin
            .filter(|at| offset == 0 || *at < content.len())
            .map(|at| &content[at..])
        else {
            let length = content.chars().count();
            return Err(Error::invalid(
                "offset",
                format!("must be less than {length}, the characters of the text"),
            ));
        };
        let mut room = tokens_max;
        let page = loop {
            let head = &rest[..beginning(rest, room)];
            // A text that is estimated to fit may have more tokens, and one that is not may have
            // fewer; then it is cut.
            let tokens = self.tokens(head);
            if tokens <= tokens_max {
                break if head.len() == rest.len() {
                    rest
                } else {
                    &rest[..page_end(rest, room)]
                };
            }
            room = (room * tokens_max / tokens)
                .min(room - room.div_ceil(8))
                .max(1);
            if room == 1 {
                break &rest[..beginning(rest, room)];
            }
        };
        let is_whole = page.len() == content.len();
        let is_last = page.len() == rest.len();
        let next_offset = (!is_last).then(|| offset + page.chars().count());
        let length = (!is_whole).then(|| content.chars().count());
        let page = page.to_owned();
        if length.is_some() {
            keep_title(&mut memory);
        }
        memory.content = page;
        Ok(TextPage {
            memory,
            length,
            next_offset,
        })
    }

    /// Returns about how many tokens a text has: the exact number of a short one, and for a long
    /// one that of its beginning, scaled to the length. It takes less than 0.1 ms.
    pub fn approximate_tokens(&self, text: &str) -> usize {
        let beginning = &text[..text.floor_char_boundary(COUNTED_BYTES_MAX)];
        let tokens = self.count_tokens(beginning);
        match beginning.len() {
            0 => 0,
            bytes => (tokens * text.len()).div_ceil(bytes),
        }
    }

    /// Returns the number of tokens that a language model counts in a text.
    pub fn count_tokens(&self, text: &str) -> usize {
        self.token_counter.count(text)
    }
}

/// Stores the title under which a memory is shown, before the beginning of its text is lost.
fn keep_title(memory: &mut Memory) {
    if memory.title.is_none() {
        memory.title = Some(shown_title(memory).into_owned());
    }
}

/// Returns the line ranges of parts of a text that has those `lines` of a file; `None` if that is
/// not the number of its lines, e.g. after the redaction of a secret of several lines.
fn lines_of(lines: &str, content: &str, parts: &[Range<usize>]) -> Option<String> {
    let (first, last) = lines.split_once('-')?;
    let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
    if content.lines().count() != last.checked_sub(first)? + 1 {
        return None;
    }
    let shown = parts.iter().map(|part| {
        let text = content[part.clone()].trim_end();
        let inner = text.trim_start_matches(['\n', '\r']);
        let begin = part.start + text.len() - inner.len();
        let first = first + content[..begin].matches('\n').count();
        format!("{first}-{}", first + inner.matches('\n').count())
    });
    Some(shown.collect::<Vec<_>>().join(", "))
}

/// Returns the estimated tokens of a record without its content.
fn field_tokens(memory: &Memory) -> usize {
    let texts = memory
        .title
        .iter()
        .chain(&memory.summary)
        .chain(&memory.tags)
        .chain(memory.attributes.values());
    let texts: usize = texts.map(|text| estimated_tokens(text) + 2).sum();
    FIELDS_TOKENS + texts + citation_tokens(memory) + LINK_TOKENS * memory.links.len()
}

fn citation_tokens(memory: &Memory) -> usize {
    let tokens = |text: &Option<String>| text.as_ref().map_or(0, |text| estimated_tokens(text));
    let citations = memory.citations.iter();
    citations
        .map(|citation| {
            estimated_tokens(&citation.reference) + tokens(&citation.excerpt) + LINK_TOKENS
        })
        .sum()
}

/// Cuts the excerpts of the citations so that they have about `tokens` tokens together; returns
/// true if any was cut.
fn cut_citations(memory: &mut Memory, tokens: usize) -> bool {
    let each = tokens / memory.citations.len().max(1);
    let mut is_cut = false;
    for excerpt in memory
        .citations
        .iter_mut()
        .filter_map(|citation| citation.excerpt.as_mut())
    {
        let end = beginning(excerpt, each);
        if end < excerpt.len() {
            excerpt.truncate(end);
            excerpt.push('\u{2026}');
            is_cut = true;
        }
    }
    is_cut
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;

    #[test]
    fn the_lines_that_are_shown_are_told() {
        let content = "fn one() {\n}\n\nfn two() {\n    2\n}\n\nfn three() {}\n";
        let at = |text: &str| content.find(text).unwrap()..content.find(text).unwrap() + text.len();
        let two = at("\nfn two() {\n    2\n}\n\n");
        assert_eq!(
            lines_of("11-18", content, from_ref(&two)).as_deref(),
            Some("14-16")
        );
        assert_eq!(
            lines_of("11-18", content, &[at("fn one() {\n}\n"), two]).as_deref(),
            Some("11-12, 14-16")
        );
        assert_eq!(
            lines_of("11-18", content, from_ref(&(0..content.len()))).as_deref(),
            Some("11-18")
        );
        for lines in ["11-20", "12-11", "eleven", ""] {
            assert_eq!(lines_of(lines, content, from_ref(&(0..5))), None, "{lines}");
        }
    }
}
