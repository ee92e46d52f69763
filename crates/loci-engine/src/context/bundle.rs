//! The memories that an agent reads at the beginning of a phase of its work, within a token budget.

use std::collections::{BTreeSet, HashMap, HashSet};

use loci_core::limits::{BUNDLE_TOKENS_MAX, PHASES_MAX};
use loci_core::{
    CollectionFilter, Delivery, Error, Filter, LocationCount, Memory, MemoryId, Result,
};

use super::draft::{Bundle, Draft, MemberCounts};
use crate::check;
use crate::context::Context;
use crate::phases::Phase;
use crate::search::fusion::Weights;
use crate::search::recall::{Hit, Recall};
use crate::search::signals::Signals;

/// Memories that are examined for a phase.
const CANDIDATES_PER_PHASE: usize = 50;
/// The share by which a tag or a kind of the phase moves a memory's score towards 1.
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

/// A memory that a phase ranks.
struct PhaseMemory {
    id: MemoryId,
    score: f64,
    /// True if it matters in the phase; false if it is only shown where there is room.
    is_sure: bool,
    /// The number of the phase, from 1.
    phase: usize,
    /// The passage that the search found.
    passage: u32,
}

impl PhaseMemory {
    /// Reports whether the memory counts rather in this phase than in that of another result.
    fn is_better_than(&self, other: &PhaseMemory) -> bool {
        (self.is_sure, self.score) > (other.is_sure, other.score)
    }
}

/// The memories that phases rank.
#[derive(Default)]
struct PhaseRanking {
    best: HashMap<MemoryId, PhaseMemory>,
    /// Memories whose text another one of these has, with that one.
    represented: HashMap<MemoryId, MemoryId>,
    /// True if a phase did not look at every memory.
    is_cut: bool,
    /// The reasons why a search was degraded.
    notices: Vec<String>,
}

impl PhaseRanking {
    /// Adds what a phase ranks: a memory counts in the phase where it matters most.
    fn add(&mut self, ranked: impl IntoIterator<Item = PhaseMemory>) {
        for found in ranked {
            match self.best.get(&found.id) {
                Some(known) if !found.is_better_than(known) => {}
                _ => {
                    self.best.insert(found.id.clone(), found);
                }
            }
        }
    }

    /// Returns the memory that represents all with the text of this result: the one that did so in an
    /// earlier phase, because two phases may prefer different ones.
    fn representative(&mut self, hit: &Hit) -> MemoryId {
        let same = || {
            let represented = hit.repeats.iter().chain(&hit.behind);
            std::iter::once(&hit.memory.id).chain(represented)
        };
        let known = same().find_map(|id| {
            self.represented
                .get(id)
                .or_else(|| self.best.get(id).map(|known| &known.id))
        });
        let representative = known.unwrap_or(&hit.memory.id).clone();
        let others = same().filter(|id| **id != representative);
        self.represented
            .extend(others.map(|id| (id.clone(), representative.clone())));
        representative
    }

    /// Returns the number of memories that matter.
    fn sure(&self) -> usize {
        self.best.values().filter(|one| one.is_sure).count()
    }

    /// Returns the memories that matter, and the less sure ones, each best first, ties by id.
    fn in_order(self) -> (Vec<PhaseMemory>, Vec<PhaseMemory>) {
        let mut ranked: Vec<PhaseMemory> = self.best.into_values().collect();
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
        ranked.into_iter().partition(|one| one.is_sure)
    }
}

impl Context<'_> {
    /// Returns the memories that every session starts with, most important first
    /// ([`SessionStart`](crate::SessionStart)), of authors whose directives the caller
    /// [takes](crate::Trust), then the memories that matter most in the phases, best first, then
    /// the ones of other authors that every session starts with, and then, as less sure, the other
    /// memories that the phases rank: as many as fit, without the least important ones. A memory
    /// that is too long by itself appears with the passages that best answer the phase, within half
    /// of the budget if other memories matter, too, and within three quarters if there are less sure
    /// ones; a less sure one only if nothing else fits. Memories that do not fit are counted, and
    /// the best ones are named. A memory that is filed in a collection for its sessions, and is not
    /// a note, is ranked like any other.
    ///
    /// A memory matters in a phase if it has one of its tags, in any case, one of its
    /// [kinds](Phase::kinds), or an identifier that its query names, or if its similarity to the
    /// query reaches the [floor](Weights::phase_floor). Its score there is the relevance `r` to the
    /// query, or `r + (1 - r) / 4` with one of the tags or kinds, times the
    /// [share](Signals::weight_share) that its weight leaves; a memory counts in the phase where it
    /// matters and its score is highest. In each phase the 50 most relevant memories are examined,
    /// and the 50 most relevant ones of its kinds; the others are counted.
    ///
    /// # Errors
    /// `invalid_argument` for the names of phases (`phases`); `unavailable` if the store cannot be
    /// read.
    pub fn bundle(&self, request: &BundleRequest<'_>) -> Result<Bundle> {
        let names = distinct_names(request.phases)?;
        let budget = request.budget_tokens.clamp(1, BUNDLE_TOKENS_MAX);
        let always = self.always_loaded()?;
        let ranking = self.ranked_in_phases(&names, &always)?;

        let mut belonging = always.len() + ranking.best.len();
        let sure = always.len() + ranking.sure();
        let not_ranked = self.not_ranked(&ranking, belonging)?;
        let degraded = (!ranking.notices.is_empty()).then(|| ranking.notices.join("; "));
        let (of_phases, others) = ranking.in_order();
        let trust = self.settings.trust()?;
        let (always, strange): (Vec<Memory>, Vec<Memory>) = always
            .into_iter()
            .partition(|memory| trust.includes(memory));
        let mut draft = Draft::new(
            self,
            budget,
            &names,
            trust,
            MemberCounts { sure, belonging },
        );
        for memory in &always {
            draft.add(memory, 1.0, 0, None)?;
        }
        let (of_others, less_sure) = (draft.of_others(), draft.less_sure());
        belonging -= self.add_ranked(&mut draft, &of_phases, None)?;
        for memory in &strange {
            draft.add(memory, 1.0, of_others, None)?;
        }
        belonging -= self.add_ranked(&mut draft, &others, Some(less_sure))?;
        draft.set_counts(belonging, not_ranked);
        Ok(Bundle {
            degraded,
            ..draft.fitting()
        })
    }

    /// Adds the memories to the draft, under the heading of their phase or under this one, until it
    /// is done. Returns the number of memories that were removed since they were ranked.
    fn add_ranked(
        &self,
        draft: &mut Draft<'_>,
        ranked: &[PhaseMemory],
        section: Option<usize>,
    ) -> Result<usize> {
        let filter = self.access.filter(CollectionFilter::Any);
        let mut gone = 0;
        for ranked in ranked.chunks(READ) {
            if draft.is_done() {
                break;
            }
            let ids: Vec<MemoryId> = ranked.iter().map(|ranked| ranked.id.clone()).collect();
            let mut memories = self.store.get_all(&filter, &ids)?.into_iter().peekable();
            for one in ranked {
                match memories.next_if(|memory| memory.id == one.id) {
                    Some(memory) => draft.add(
                        &memory,
                        one.score,
                        section.unwrap_or(one.phase),
                        Some(one.passage),
                    )?,
                    None => gone += 1,
                }
            }
        }
        Ok(gone)
    }

    /// Returns the number of memories that no phase looked at. Counting them costs as much as there
    /// are locations.
    fn not_ranked(&self, ranking: &PhaseRanking, belonging: usize) -> Result<u64> {
        if !ranking.is_cut {
            return Ok(0);
        }
        let readable = self
            .store
            .count(&self.access.filter(CollectionFilter::Any))?;
        Ok(readable.saturating_sub((belonging + ranking.represented.len()) as u64))
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

    /// Returns the other memories that the phases rank.
    fn ranked_in_phases(&self, names: &[&str], except: &[Memory]) -> Result<PhaseRanking> {
        let except: HashSet<&MemoryId> = except.iter().map(|memory| &memory.id).collect();
        let mut ranked = PhaseRanking::default();
        for (place, name) in names.iter().enumerate() {
            let phase = self.phases.named(name);
            let all = recall_of(&phase);
            let (hits, is_cut) = self.phase_hits(&all, &except, &mut ranked)?;
            ranked.is_cut |= is_cut;
            // What is not among the best of all memories is no better than the last of them.
            let score_max = hits.last().map_or(1.0, |hit| hit.score);
            let weights = self.weights;
            let of_phase = |hit: Hit| PhaseMemory {
                score: phase_score(&hit, &phase),
                is_sure: matters(&hit, &phase, weights),
                phase: place + 1,
                passage: hit.signals.passage,
                id: hit.memory.id,
            };
            ranked.add(hits.into_iter().map(of_phase));
            for recall in self.recalls_of_kinds(&phase)? {
                let (hits, _) = self.phase_hits(&recall, &except, &mut ranked)?;
                let further = hits.into_iter().map(|hit| Hit {
                    score: hit.score.min(score_max),
                    ..hit
                });
                ranked.add(further.map(of_phase));
            }
        }
        Ok(ranked)
    }

    /// Returns the best results of a search for a phase, without `except`, and true if there may be
    /// more. Notes equal texts and the notices in `ranked`.
    fn phase_hits(
        &self,
        recall: &Recall<'_>,
        except: &HashSet<&MemoryId>,
        ranked: &mut PhaseRanking,
    ) -> Result<(Vec<Hit>, bool)> {
        let mut ranking = self.search.rank(recall, CANDIDATES_PER_PHASE, None)?;
        for notice in std::mem::take(&mut ranking.notices) {
            if !ranked.notices.contains(&notice) {
                ranked.notices.push(notice);
            }
        }
        let mut hits = Vec::new();
        while hits.len() < CANDIDATES_PER_PHASE && !ranking.is_read() {
            self.search
                .next_hits(&mut ranking, &mut hits, CANDIDATES_PER_PHASE)?;
            hits.retain(|hit| !except.contains(&hit.memory.id));
        }
        for hit in &mut hits {
            hit.memory.id = ranked.representative(hit);
        }
        let is_cut = !ranking.is_complete() || !ranking.is_read();
        Ok((hits, is_cut))
    }

    /// Returns the searches for the memories of the kinds of a phase, by their kind and by their
    /// section; empty if there are no such memories.
    fn recalls_of_kinds<'p>(&self, phase: &'p Phase) -> Result<Vec<Recall<'p>>> {
        if phase.kinds.is_empty() {
            return Ok(Vec::new());
        }
        let places = self
            .store
            .count_by_location(&self.access.filter(CollectionFilter::Any))?;
        let names = |of: &dyn Fn(&LocationCount) -> &str| -> Vec<String> {
            let names = places.iter().map(of).filter(|name| phase.has_kind(name));
            let names: BTreeSet<&str> = names.collect();
            names.into_iter().map(str::to_owned).collect()
        };
        let (kinds, sections) = (names(&|place| &place.kind), names(&|place| &place.section));
        let by_kind = Recall {
            kinds,
            ..recall_of(phase)
        };
        let by_section = Recall {
            sections,
            ..recall_of(phase)
        };
        let has_names =
            |recall: &Recall<'_>| !(recall.kinds.is_empty() && recall.sections.is_empty());
        Ok([by_kind, by_section]
            .into_iter()
            .filter(has_names)
            .collect())
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
/// The others follow as less sure.
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
        || is_of_kind(&hit.memory, phase)
        || identifiers > 0
        || likeness >= weights.phase_floor
        || leads_by_words
}

/// Returns the search for the memories of a phase. A reranker would take too long for all phases.
fn recall_of(phase: &Phase) -> Recall<'_> {
    Recall {
        is_reranked: false,
        ..Recall::new(&phase.query, CANDIDATES_PER_PHASE, &|signals| {
            signals.relevance
        })
    }
}

/// Returns the score of a result of a phase's query in that phase.
fn phase_score(hit: &Hit, phase: &Phase) -> f64 {
    let share = if has_tag_of(&hit.memory, phase) || is_of_kind(&hit.memory, phase) {
        TAG_SHARE
    } else {
        0.0
    };
    (hit.score + (1.0 - hit.score) * share) * hit.signals.weight_share()
}

fn has_tag_of(memory: &Memory, phase: &Phase) -> bool {
    memory.tags.iter().any(|tag| {
        phase
            .tags
            .iter()
            .any(|preferred| preferred.eq_ignore_ascii_case(tag))
    })
}

fn is_of_kind(memory: &Memory, phase: &Phase) -> bool {
    phase.has_kind(&memory.kind) || phase.has_kind(&memory.location.section)
}
