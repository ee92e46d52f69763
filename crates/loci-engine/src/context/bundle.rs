//! The memories that an agent reads at the beginning of a phase of its work, within a token budget.

use std::collections::{HashMap, HashSet};

use loci_core::limits::{BUNDLE_TOKENS_MAX, PHASES_MAX, REPLY_CONTENT_BYTES_MAX};
use loci_core::{Caller, CollectionFilter, Delivery, Error, Filter, Memory, MemoryId, Result};
use loci_search::analysis::query_terms;

use crate::tokens::estimated_tokens;
use crate::{
    Engine, Hit, Phase, Recall, Signals, Trust, Weights, check, notes_heading, quoted, short_id,
    shown_title, writer_of,
};

/// Memories that are examined for a phase.
const CANDIDATES_PER_PHASE: usize = 50;
/// The share by which a tag of the phase moves a memory's score towards 1.
const TAG_SHARE: f64 = 0.25;
/// The heading of the memories that every phase begins with.
const ALWAYS: &str = "Always";
/// The heading of the memories of authors whose directives the reader does not take.
const OF_OTHERS: &str = "Notes of others";
/// The most bytes per token that a text for a model can have; the tokens of longer texts are not
/// counted.
const BYTES_PER_TOKEN_MAX: usize = 32;
/// The relevance from which a memory without a vector matters in a phase by its words.
const SCORE_BY_WORDS_MIN: f64 = 0.5;
/// Memories that are read at a time.
const READ: usize = 16;
/// The most memories that are named because they did not fit.
const LEFT_OUT_MAX: usize = 20;
/// The divisor of the budget that gives the most tokens for their names.
const NAMES_PART: usize = 10;
/// The divisor of the budget that gives the most tokens for passages of a long memory, if other
/// memories belong into the bundle, too.
const EXCERPT_PART: usize = 2;
/// Passages with fewer tokens are too short to be useful.
const EXCERPT_TOKENS_MIN: usize = 16;

/// A request for a bundle.
#[derive(Debug, Clone)]
pub struct BundleRequest<'a> {
    /// Names of phases, 1 to [`PHASES_MAX`]; an unknown name is its own query, and repeated names
    /// count once.
    pub phases: &'a [String],
    /// The token budget, headings included; clamps to 1 to [`BUNDLE_TOKENS_MAX`].
    pub budget_tokens: usize,
}

/// A memory in a bundle.
#[derive(Debug, Clone, PartialEq)]
pub struct Bundled {
    /// The memory.
    pub id: MemoryId,
    /// Its title, or the text shown in place of one.
    pub title: String,
    /// Its importance in the bundle, 0 to 1.
    pub score: f64,
    /// The name of the author of its text; `None` if that is the reader.
    pub author: Option<String>,
    /// True if it contains only passages of the memory, which alone is too long.
    pub is_excerpt: bool,
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
    /// Markdown: whole memories, and passages of those that alone are too long, each with the end
    /// of its id; empty if nothing fits.
    pub markdown: String,
    /// The number of its tokens.
    pub used_tokens: usize,
    /// Its memories, in order.
    pub included: Vec<Bundled>,
    /// The number of memories that belong into it and did not fit.
    pub dropped: usize,
    /// The best of these, best first.
    pub left_out: Vec<LeftOut>,
    /// Reasons why the bundle may be incomplete.
    pub degraded: Option<String>,
}

/// A memory that matters in a phase.
struct Ranked {
    id: MemoryId,
    score: f64,
    /// The index of its heading.
    section: usize,
    /// The passage that the search found.
    passage: u32,
}

/// A memory that belongs into a bundle.
struct Item {
    bundled: Bundled,
    section: usize,
    /// Its Markdown; `None` if there is no room for it.
    text: Option<String>,
    /// The estimated number of tokens that it adds to the bundle.
    tokens: usize,
    /// The estimated number of tokens of the whole memory.
    tokens_of_whole: usize,
}

impl Engine {
    /// Returns the memories that every session begins with, most important first
    /// ([`SessionStart`](crate::SessionStart)), of authors whose directives the caller
    /// [takes](crate::Trust), then those that matter most in the phases, best first, then those of
    /// other authors that every session begins with: as many as fit, without the least important
    /// ones. A memory that alone is too long appears with the passages that best answer the phase,
    /// within half of the budget if other memories belong there, too. Memories that do not fit are
    /// counted, and the best of them are named. A memory that is filed in a collection for its
    /// sessions, and is not a note, is ranked like any other.
    ///
    /// A memory matters in a phase if it has one of its tags, in any case, or an identifier that
    /// its query names, or if its similarity to the query reaches the
    /// [floor](Weights::phase_floor). Its score there is the relevance `r` to the query, or
    /// `r + (1 - r) / 4` with one of the tags; a memory counts in the phase where its score is
    /// highest. In each phase the 50 most relevant memories are examined.
    ///
    /// # Errors
    /// `invalid_argument` for the names of phases (`phases`); `unavailable` if the store cannot be
    /// read.
    pub fn bundle(&self, caller: &Caller, request: &BundleRequest<'_>) -> Result<Bundle> {
        let names = distinct_names(request.phases)?;
        let budget = request.budget_tokens.clamp(1, BUNDLE_TOKENS_MAX);
        let always = self.always_loaded(caller)?;
        let (ranked, degraded) = self.ranked_in_phases(caller, &names, &always)?;

        let mut belonging = always.len() + ranked.len();
        let trust = self.trust(caller)?;
        let (always, strange): (Vec<Memory>, Vec<Memory>) = always
            .into_iter()
            .partition(|memory| trust.includes(memory));
        let mut draft = Draft::new(self, budget, &names, trust, belonging);
        for memory in &always {
            draft.add(memory, 1.0, 0, None)?;
        }
        let filter = self.filter(caller, CollectionFilter::Any);
        for ranked in ranked.chunks(READ) {
            if draft.is_done() {
                break;
            }
            let ids: Vec<MemoryId> = ranked.iter().map(|ranked| ranked.id.clone()).collect();
            let mut memories = self.store.get_all(&filter, &ids)?.into_iter().peekable();
            for Ranked {
                id,
                score,
                section,
                passage,
            } in ranked
            {
                match memories.next_if(|memory| memory.id == *id) {
                    Some(memory) => draft.add(&memory, *score, *section, Some(*passage))?,
                    // It was removed meanwhile.
                    None => belonging -= 1,
                }
            }
        }
        let of_others = draft.sections.len() - 1;
        for memory in &strange {
            draft.add(memory, 1.0, of_others, None)?;
        }
        draft.belonging = belonging;
        Ok(Bundle {
            degraded,
            ..draft.fitting()
        })
    }

    /// Returns the memories that every bundle begins with.
    fn always_loaded(&self, caller: &Caller) -> Result<Vec<Memory>> {
        let mut memories = self.bootstrap_memories(caller, CollectionFilter::Any)?;
        let filed = self.filter(caller, CollectionFilter::AnyNamed);
        let filed = Filter {
            delivery: Some(Delivery::Bootstrap),
            ..filed
        };
        let notes: HashSet<MemoryId> = self
            .store
            .notes_among(&filed, usize::MAX)?
            .into_iter()
            .collect();
        memories
            .retain(|memory| memory.location.collection.is_none() || notes.contains(&memory.id));
        Ok(memories)
    }

    /// Returns the other memories that matter in the phases, best first, ties by id. The first
    /// phase has section 1.
    fn ranked_in_phases(
        &self,
        caller: &Caller,
        names: &[&str],
        except: &[Memory],
    ) -> Result<(Vec<Ranked>, Option<String>)> {
        let except: HashSet<&MemoryId> = except.iter().map(|memory| &memory.id).collect();
        let mut best: HashMap<MemoryId, Ranked> = HashMap::new();
        let mut notices: Vec<String> = Vec::new();
        for (place, name) in names.iter().enumerate() {
            let phase = self.phases.named(name);
            let recall = Recall::new(&phase.query, CANDIDATES_PER_PHASE, &|signals| {
                signals.relevance
            });
            let mut ranking = self.rank(caller, &recall, CANDIDATES_PER_PHASE, None)?;
            for notice in std::mem::take(&mut ranking.notices) {
                if !notices.contains(&notice) {
                    notices.push(notice);
                }
            }
            let mut hits = Vec::new();
            while hits.len() < CANDIDATES_PER_PHASE && !ranking.is_read() {
                self.next_hits(&mut ranking, &mut hits, CANDIDATES_PER_PHASE)?;
                hits.retain(|hit| !except.contains(&hit.memory.id));
            }
            hits.retain(|hit| matters(hit, &phase, &self.weights));
            for hit in hits {
                let (score, passage) = (phase_score(&hit, &phase), hit.signals.passage);
                let found = Ranked {
                    score,
                    section: place + 1,
                    passage,
                    id: hit.memory.id,
                };
                match best.get_mut(&found.id) {
                    Some(known) if known.score >= found.score => {}
                    Some(known) => *known = found,
                    None => {
                        best.insert(found.id.clone(), found);
                    }
                }
            }
        }
        let mut ranked: Vec<Ranked> = best.into_values().collect();
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
        Ok((ranked, (!notices.is_empty()).then(|| notices.join("; "))))
    }
}

/// Returns the distinct names.
fn distinct_names(phases: &[String]) -> Result<Vec<&str>> {
    if !(1..=PHASES_MAX).contains(&phases.len()) {
        let problem = format!(
            "must name 1 to {PHASES_MAX} phases, such as `work`, not {}",
            phases.len()
        );
        return Err(Error::invalid("phases", problem));
    }
    let mut names: Vec<&str> = Vec::with_capacity(phases.len());
    for (index, name) in phases.iter().enumerate() {
        check::name(&format!("phases.{index}"), name)?;
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    Ok(names)
}

/// Reports whether a result of a phase's query matters in the phase: every query finds something.
fn matters(hit: &Hit, phase: &Phase, weights: &Weights) -> bool {
    let Signals {
        cosine,
        coverage,
        identifiers,
        ..
    } = hit.signals;
    let likeness = f64::from(cosine.unwrap_or(0.0).max(0.0)) + weights.phase_words * coverage;
    // Without a vector its meaning is unknown, and most of the floor is meant for meaning.
    let leads_by_words = cosine.is_none() && coverage > 0.0 && hit.score >= SCORE_BY_WORDS_MIN;
    has_tag_of(&hit.memory, phase)
        || identifiers > 0
        || likeness >= weights.phase_floor
        || leads_by_words
}

/// Returns the score of a result of a phase's query in that phase.
fn phase_score(hit: &Hit, phase: &Phase) -> f64 {
    let share = if has_tag_of(&hit.memory, phase) {
        TAG_SHARE
    } else {
        0.0
    };
    hit.score + (1.0 - hit.score) * share
}

fn has_tag_of(memory: &Memory, phase: &Phase) -> bool {
    memory.tags.iter().any(|tag| {
        phase
            .tags
            .iter()
            .any(|preferred| preferred.eq_ignore_ascii_case(tag))
    })
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

/// A heading of a bundle.
struct Section<'a> {
    name: &'a str,
    tokens: usize,
    /// The terms of the queries that its memories answer.
    terms: Vec<String>,
}

/// The memories that may be in a bundle, the more important ones first.
struct Draft<'a> {
    engine: &'a Engine,
    trust: Trust<'a>,
    budget: usize,
    sections: Vec<Section<'a>>,
    /// The number of memories that belong into it, added or not.
    belonging: usize,
    items: Vec<Item>,
    tokens: usize,
    bytes: usize,
}

impl<'a> Draft<'a> {
    fn new(
        engine: &'a Engine,
        budget: usize,
        phases: &[&'a str],
        trust: Trust<'a>,
        belonging: usize,
    ) -> Self {
        let terms = |name: &&str| query_terms(&engine.phases.named(name).query);
        let of_all: Vec<String> = phases.iter().flat_map(terms).collect();
        let section = |name, terms| Section {
            name,
            tokens: engine.count_tokens(&heading(name)),
            terms,
        };
        let mut sections = vec![section(ALWAYS, of_all.clone())];
        sections.extend(phases.iter().map(|name| section(name, terms(name))));
        sections.push(section(OF_OTHERS, of_all));
        Draft {
            engine,
            trust,
            budget,
            sections,
            belonging,
            items: Vec::new(),
            tokens: 0,
            bytes: 0,
        }
    }

    /// Reports whether nothing more can fit, with a margin for the error of adding the counts of
    /// parts.
    fn is_full(&self) -> bool {
        self.tokens > self.budget + self.budget / 4 + 64 || self.bytes > REPLY_CONTENT_BYTES_MAX
    }

    /// Reports whether it is full and also has enough memories to name.
    fn is_done(&self) -> bool {
        self.is_full()
            && self.items.iter().filter(|item| item.text.is_none()).count() >= LEFT_OUT_MAX
    }

    /// Adds a memory, of which the search found that passage: whole or, if it alone is too long,
    /// its best passages.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn add(
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
        let mut bundled = Bundled {
            id: memory.id.clone(),
            title,
            score,
            author,
            is_excerpt: false,
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
            _ if self.is_full() => (None, 0),
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
            tokens,
            tokens_of_whole,
        });
        Ok(())
    }

    /// Returns the tokens of a part under its heading.
    fn tokens_alone(&self, section: usize, text: &str) -> usize {
        self.engine.count_tokens(&format!(
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
        let budget = if self.belonging > 1 {
            self.budget / EXCERPT_PART
        } else {
            self.budget
        };
        let room = budget.saturating_sub(self.tokens_alone(section, &marked("")));
        if room < EXCERPT_TOKENS_MIN {
            return Ok(None);
        }
        let near = passage
            .map(|passage| self.engine.passage_range(memory, passage))
            .transpose()?
            .flatten();
        let excerpt =
            self.engine
                .excerpt(&memory.content, &self.sections[section].terms, near, room);
        Ok(Some(marked(&excerpt.text)))
    }

    /// Returns the bundle with as many of the first memories as fit.
    fn fitting(mut self) -> Bundle {
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
        let dropped = self.belonging - parts;
        self.items.retain(|item| item.text.is_some());
        self.items.truncate(parts);
        self.items.sort_by_key(|item| item.section);
        let included = self.items.into_iter().map(|item| item.bundled).collect();
        let used_tokens = self.engine.count_tokens(&markdown);
        Bundle {
            markdown,
            used_tokens,
            included,
            dropped,
            left_out,
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
            let tokens = self.engine.count_tokens(&text);
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
        let left_out = self.belonging - parts;
        if left_out == 0 || !with_others {
            // The last part ends with one line break.
            markdown.pop();
            return markdown;
        }
        let memories = if left_out == 1 { "memory" } else { "memories" };
        let names = self.names(parts);
        let end = match names.len() {
            0 => "._\n".to_owned(),
            named if named == left_out => format!(", best first:_\n\n{}", names.concat()),
            _ => format!("; the best of them:_\n\n{}", names.concat()),
        };
        markdown + &format!("_{left_out} more {memories} did not fit{end}")
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
            let Some(left) = room.checked_sub(self.engine.count_tokens(&line)) else {
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
