//! What an agent reads at the beginning of a phase of its work, as much as it has room for.

use std::collections::{HashMap, HashSet};

use loci_core::limits::{BUNDLE_TOKENS_MAX, PHASES_MAX, REPLY_CONTENT_BYTES_MAX};
use loci_core::{Caller, CollectionFilter, Delivery, Error, Filter, Memory, MemoryId, Result, TokenCounter};

use crate::{Engine, Hit, Phase, Recall, Trust, author_of, check, notes_heading, quoted, shown_title, writer_of};

/// Memories that are looked at for a phase.
const CANDIDATES_PER_PHASE: usize = 50;
/// How far a tag of the phase brings a memory towards the score 1.
const TAG_SHARE: f64 = 0.25;
/// Over the memories that every phase begins with.
const ALWAYS: &str = "Always";
/// Over the memories of authors whose directives the reader does not take.
const OF_OTHERS: &str = "Notes of others";
/// More bytes than this for each token has no text that a model reads: what is longer is not counted.
const BYTES_PER_TOKEN_MAX: usize = 32;
/// Memories that are read at a time.
const READ: usize = 16;

/// What to put together.
#[derive(Debug, Clone)]
pub struct BundleRequest<'a> {
    /// Names of phases, 1 to [`PHASES_MAX`]; one that is not known is its own query, repeated ones count once.
    pub phases: &'a [String],
    /// Tokens that it may have, headings included; clamps to 1 to [`BUNDLE_TOKENS_MAX`].
    pub budget_tokens: usize,
}

/// A memory that is in a bundle.
#[derive(Debug, Clone, PartialEq)]
pub struct Bundled {
    /// The memory.
    pub id: MemoryId,
    /// Its title, or what stands for one.
    pub title: String,
    /// How much it matters, 0 to 1.
    pub score: f64,
    /// The name of its author; none if that is the reader.
    pub author: Option<String>,
}

/// What was put together.
#[derive(Debug, Clone, PartialEq)]
pub struct Bundle {
    /// Markdown, every memory whole; empty if nothing fits.
    pub markdown: String,
    /// Its tokens.
    pub used_tokens: usize,
    /// What is in it, in its order.
    pub included: Vec<Bundled>,
    /// Memories that belong there and did not fit.
    pub dropped: usize,
    /// What the caller should know besides.
    pub degraded: Option<String>,
}

/// A memory that belongs into a bundle.
struct Ranked {
    id: MemoryId,
    score: f64,
    /// Under which heading: an index.
    section: usize,
}

/// The same, as it is written.
struct Part {
    bundled: Bundled,
    section: usize,
    text: String,
    /// About how many it adds to those of the whole.
    tokens: usize,
}

impl Engine {
    /// The memories that every session should begin with, oldest first, of authors whose directives the caller
    /// [takes](crate::Trust), then those that matter most in the phases, best first, then those of other authors that
    /// every session should begin with: as many as fit, none cut, the lesser ones left out first, and so is one that alone is too
    /// large. What no reply could carry does not fit, whatever the budget. What is filed in a collection, no note,
    /// and meant for every session there, is ranked like any other.
    ///
    /// The score in a phase is the relevance `r` to its query, or `r + (1 - r) / 4` for a memory with one of its
    /// tags, in any case; a memory counts in the phase where its score is highest. Of each phase the 50 most
    /// relevant memories are looked at.
    ///
    /// # Errors
    /// `invalid_argument` for the names of phases (`phases`); `unavailable` if the store cannot be read.
    pub fn bundle(&self, caller: &Caller, request: &BundleRequest<'_>) -> Result<Bundle> {
        let names = distinct_names(request.phases)?;
        let budget = request.budget_tokens.clamp(1, BUNDLE_TOKENS_MAX);
        let always = self.always_loaded(caller)?;
        let (ranked, degraded) = self.ranked_in_phases(caller, &names, &always)?;

        let sections: Vec<&str> = std::iter::once(ALWAYS).chain(names).chain([OF_OTHERS]).collect();
        let of_others = sections.len() - 1;
        let trust = self.trust(caller)?;
        let mut draft = Draft::new(&*self.token_counter, budget, sections, trust);
        let mut belonging = always.len() + ranked.len();
        let (always, strange): (Vec<Memory>, Vec<Memory>) =
            always.into_iter().partition(|memory| draft.trust.includes(memory));
        for memory in &always {
            draft.add(memory, 1.0, 0);
        }
        let filter = self.filter(caller, CollectionFilter::Any);
        for ranked in ranked.chunks(READ) {
            if draft.is_full() {
                break;
            }
            let ids: Vec<MemoryId> = ranked.iter().map(|ranked| ranked.id.clone()).collect();
            let mut memories = self.store.get_all(&filter, &ids)?.into_iter().peekable();
            for Ranked { id, score, section } in ranked {
                match memories.next_if(|memory| memory.id == *id) {
                    Some(memory) => draft.add(&memory, *score, *section),
                    // It is gone meanwhile.
                    None => belonging -= 1,
                }
            }
        }
        for memory in &strange {
            draft.add(memory, 1.0, of_others);
        }
        let (included, markdown) = draft.fitting(belonging);
        Ok(Bundle {
            used_tokens: self.token_counter.count(&markdown),
            markdown,
            dropped: belonging - included.len(),
            included,
            degraded,
        })
    }

    /// What every bundle begins with, oldest first.
    fn always_loaded(&self, caller: &Caller) -> Result<Vec<Memory>> {
        let mut memories = self.bootstrap_memories(caller, CollectionFilter::Any)?;
        let filed = self.filter(caller, CollectionFilter::AnyNamed);
        let filed = Filter { delivery: Some(Delivery::Bootstrap), ..filed };
        let notes: HashSet<MemoryId> = self.store.notes_among(&filed, usize::MAX)?.into_iter().collect();
        memories.retain(|memory| memory.place.collection.is_none() || notes.contains(&memory.id));
        Ok(memories)
    }

    /// What matters in the phases besides those memories, best first, ties by id. The first phase has the section 1.
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
            let recall = Recall::new(&phase.query, CANDIDATES_PER_PHASE, &|signals| signals.relevance);
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
            for hit in hits {
                let found = Ranked { score: phase_score(&hit, &phase), section: place + 1, id: hit.memory.id };
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

/// The names, each once.
fn distinct_names(phases: &[String]) -> Result<Vec<&str>> {
    if !(1..=PHASES_MAX).contains(&phases.len()) {
        let problem = format!("must name 1 to {PHASES_MAX} phases, such as `work`, not {}", phases.len());
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

/// How much a result of a phase's query matters in it.
fn phase_score(hit: &Hit, phase: &Phase) -> f64 {
    let is_preferred = |tag: &String| phase.tags.iter().any(|preferred| preferred.eq_ignore_ascii_case(tag));
    let share = if hit.memory.tags.iter().any(is_preferred) { TAG_SHARE } else { 0.0 };
    hit.score + (1.0 - hit.score) * share
}

/// A memory under its title, with the name of who wrote it, if that is not the reader; as a quotation, if the reader does
/// not take directives of that author. One that says no more than the title is said with that.
fn part_text(memory: &Memory, title: &str, trust: &Trust<'_>) -> String {
    let text = memory.content.trim_start_matches(['\n', '\r']).trim_end();
    let part = if text == title { format!("## {title}") } else { format!("## {title}\n\n{text}") };
    if let Some(stranger) = trust.stranger(memory) {
        return format!("{}\n\n{}", notes_heading(&stranger), quoted(&part).trim_end());
    }
    match writer_of(trust.reader(), memory) {
        Some(writer) => format!("{part}\n\n(by {writer})"),
        None => part,
    }
}

/// What may be in a bundle, the more important parts first.
struct Draft<'a> {
    trust: Trust<'a>,
    counter: &'a dyn TokenCounter,
    budget: usize,
    /// Headings with their tokens.
    sections: Vec<(&'a str, usize)>,
    parts: Vec<Part>,
    tokens: usize,
    bytes: usize,
}

impl<'a> Draft<'a> {
    fn new(counter: &'a dyn TokenCounter, budget: usize, sections: Vec<&'a str>, trust: Trust<'a>) -> Self {
        let sections = sections.into_iter().map(|name| (name, counter.count(&heading(name)))).collect();
        Draft { trust, counter, budget, sections, parts: Vec::new(), tokens: 0, bytes: 0 }
    }

    /// Whether nothing more can fit, with room for the error of a sum of counts of parts.
    fn is_full(&self) -> bool {
        self.tokens > self.budget + self.budget / 4 + 64 || self.bytes > REPLY_CONTENT_BYTES_MAX
    }

    /// Adds a memory, unless there is no room for it, or would be none if it were the only one.
    fn add(&mut self, memory: &Memory, score: f64, section: usize) {
        if self.is_full() {
            return;
        }
        let title = shown_title(memory).into_owned();
        let text = part_text(memory, &title, &self.trust);
        if text.len() / BYTES_PER_TOKEN_MAX > self.budget {
            return;
        }
        let (name, heading_tokens) = self.sections[section];
        let alone = self.counter.count(&format!("{}\n\n{text}\n", heading(name)));
        if alone > self.budget {
            return;
        }
        let tokens = alone.saturating_sub(heading_tokens);
        self.tokens += tokens;
        self.bytes += text.len();
        let author = author_of(self.trust.reader(), memory);
        let bundled = Bundled { id: memory.id.clone(), title, score, author };
        self.parts.push(Part { bundled, section, text, tokens });
    }

    /// As many of the first parts as fit, in the order in which they are written, and the text, of so many that
    /// belong into it.
    fn fitting(mut self, belonging: usize) -> (Vec<Bundled>, String) {
        let parts = self.most_that_fit(belonging);
        // One alone fits at least without the line on the others.
        let markdown = match parts {
            0 if self.parts.is_empty() => String::new(),
            0 => self.written(1, 0),
            parts => self.written(parts, belonging - parts),
        };
        self.parts.truncate(parts.max(1));
        self.parts.sort_by_key(|part| part.section);
        (self.parts.into_iter().map(|part| part.bundled).collect(), markdown)
    }

    /// How many of the first parts fit, with the line on the others: counting is not additive, so the whole is
    /// counted, and the counts of the parts say only where to look.
    fn most_that_fit(&self, belonging: usize) -> usize {
        let tokens_if_fitting = |parts: usize| {
            let text = self.written(parts, belonging - parts);
            let tokens = self.counter.count(&text);
            (tokens <= self.budget && text.len() <= REPLY_CONTENT_BYTES_MAX).then_some(tokens)
        };
        // All may fit where all but a short one, with the line, do not.
        let all = self.parts.len();
        if tokens_if_fitting(all).is_some() {
            return all;
        }
        let (mut fits, mut tokens, mut too_many) = (0, 0, all);
        while fits + 1 < too_many {
            let mut parts = fits;
            let mut estimate = tokens;
            while parts < too_many && estimate + self.parts[parts].tokens <= self.budget {
                estimate += self.parts[parts].tokens;
                parts += 1;
            }
            // Where that is known not to fit, the middle is as good a guess.
            let parts = if parts < too_many { parts.max(fits + 1) } else { fits.midpoint(too_many) };
            match tokens_if_fitting(parts) {
                Some(counted) => (fits, tokens) = (parts, counted),
                None => too_many = parts,
            }
        }
        fits
    }

    /// The first parts under their headings, with a line on the others, if there are any.
    fn written(&self, parts: usize, left_out: usize) -> String {
        let mut markdown = String::new();
        for (section, (name, _)) in self.sections.iter().enumerate() {
            let mut of_section = self.parts[..parts].iter().filter(|part| part.section == section).peekable();
            if of_section.peek().is_some() {
                markdown.push_str(&heading(name));
                markdown.push_str("\n\n");
            }
            for part in of_section {
                markdown.push_str(&part.text);
                markdown.push_str("\n\n");
            }
        }
        match left_out {
            0 => {
                // What ends the last part ends the text.
                markdown.pop();
            }
            1 => markdown.push_str("_1 more memory did not fit._\n"),
            _ => markdown.push_str(&format!("_{left_out} more memories did not fit._\n")),
        }
        markdown
    }
}

fn heading(name: &str) -> String {
    format!("# {name}")
}
