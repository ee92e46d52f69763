//! The memories that an agent reads at the beginning of a phase of its work, within a token budget.

use std::collections::{HashMap, HashSet};

use loci_core::limits::{BUNDLE_TOKENS_MAX, PHASES_MAX};
use loci_core::{CollectionFilter, Delivery, Error, Filter, Memory, MemoryId, Result};

use super::draft::{Bundle, Draft};
use crate::check;
use crate::context::Context;
use crate::phases::Phase;
use crate::search::fusion::Weights;
use crate::search::recall::{Hit, Recall};
use crate::search::signals::Signals;

/// Memories that are examined for a phase.
const CANDIDATES_PER_PHASE: usize = 50;
/// The share by which a tag of the phase moves a memory's score towards 1.
const TAG_SHARE: f64 = 0.25;
/// The relevance from which a memory without a vector matters in a phase by its words.
const SCORE_BY_WORDS_MIN: f64 = 0.5;
/// Memories that are read at a time.
const READ: usize = 16;

/// A request for a bundle.
#[derive(Debug, Clone)]
pub struct BundleRequest<'a> {
    /// Names of phases, 1 to [`PHASES_MAX`]; an unknown name is its own query, and repeated names
    /// count once.
    pub phases: &'a [String],
    /// The token budget, headings included; clamps to 1 to [`BUNDLE_TOKENS_MAX`].
    pub budget_tokens: usize,
}

/// A memory that matters in a phase.
struct PhaseMemory {
    id: MemoryId,
    score: f64,
    /// The index of its heading.
    section: usize,
    /// The passage that the search found.
    passage: u32,
}

impl Context<'_> {
    /// Returns the memories that every session starts with, most important first
    /// ([`SessionStart`](crate::SessionStart)), of authors whose directives the caller
    /// [takes](crate::Trust), then the memories that matter most in the phases, best first, then
    /// the ones of other authors that every session starts with: as many as fit, without the least
    /// important ones. A memory that is too long by itself appears with the passages that best
    /// answer the phase, within half of the budget if other memories belong there, too. Memories
    /// that do not fit are counted, and the best ones are named. A memory that is filed in a
    /// collection for its sessions, and is not a note, is ranked like any other.
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
    pub fn bundle(&self, request: &BundleRequest<'_>) -> Result<Bundle> {
        let names = distinct_names(request.phases)?;
        let budget = request.budget_tokens.clamp(1, BUNDLE_TOKENS_MAX);
        let always = self.always_loaded()?;
        let (ranked, degraded) = self.ranked_in_phases(&names, &always)?;

        let mut belonging = always.len() + ranked.len();
        let trust = self.settings.trust()?;
        let (always, strange): (Vec<Memory>, Vec<Memory>) = always
            .into_iter()
            .partition(|memory| trust.includes(memory));
        let mut draft = Draft::new(self, budget, &names, trust, belonging);
        for memory in &always {
            draft.add(memory, 1.0, 0, None)?;
        }
        let filter = self.access.filter(CollectionFilter::Any);
        for ranked in ranked.chunks(READ) {
            if draft.is_done() {
                break;
            }
            let ids: Vec<MemoryId> = ranked.iter().map(|ranked| ranked.id.clone()).collect();
            let mut memories = self.store.get_all(&filter, &ids)?.into_iter().peekable();
            for PhaseMemory {
                id,
                score,
                section,
                passage,
            } in ranked
            {
                match memories.next_if(|memory| memory.id == *id) {
                    Some(memory) => draft.add(&memory, *score, *section, Some(*passage))?,
                    // It was removed since.
                    None => belonging -= 1,
                }
            }
        }
        let of_others = draft.of_others();
        for memory in &strange {
            draft.add(memory, 1.0, of_others, None)?;
        }
        draft.belonging = belonging;
        Ok(Bundle {
            degraded,
            ..draft.fitting()
        })
    }

    /// Returns the memories that every bundle starts with.
    fn always_loaded(&self) -> Result<Vec<Memory>> {
        let mut memories = self.bootstrap_memories(CollectionFilter::Any)?;
        let filed = self.access.filter(CollectionFilter::AnyNamed);
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
        names: &[&str],
        except: &[Memory],
    ) -> Result<(Vec<PhaseMemory>, Option<String>)> {
        let except: HashSet<&MemoryId> = except.iter().map(|memory| &memory.id).collect();
        let mut best: HashMap<MemoryId, PhaseMemory> = HashMap::new();
        let mut notices: Vec<String> = Vec::new();
        for (place, name) in names.iter().enumerate() {
            let phase = self.phases.named(name);
            let recall = Recall::new(&phase.query, CANDIDATES_PER_PHASE, &|signals| {
                signals.relevance
            });
            let mut ranking = self.search.rank(&recall, CANDIDATES_PER_PHASE, None)?;
            for notice in std::mem::take(&mut ranking.notices) {
                if !notices.contains(&notice) {
                    notices.push(notice);
                }
            }
            let mut hits = Vec::new();
            while hits.len() < CANDIDATES_PER_PHASE && !ranking.is_read() {
                self.search
                    .next_hits(&mut ranking, &mut hits, CANDIDATES_PER_PHASE)?;
                hits.retain(|hit| !except.contains(&hit.memory.id));
            }
            hits.retain(|hit| matters(hit, &phase, self.weights));
            for hit in hits {
                let (score, passage) = (phase_score(&hit, &phase), hit.signals.passage);
                let found = PhaseMemory {
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
        let mut ranked: Vec<PhaseMemory> = best.into_values().collect();
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
