//! Judging new long-term memories in the background, and tying them to what was known before.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use loci_core::{
    Batch, Change, Enrichment, EnrichmentStatus, ErrorCode, Expect, Filter, Job, JobOutcome, Link, Memory, MemoryId,
    Passage, QueryVector, Reader, Relation, Result, Superseded, Tier, Vector, limits,
};
use loci_search::analysis::term_counts;
use uuid::Uuid;

use crate::ops::remember::PASSAGES_EMBEDDED_AT_ONCE_MAX;
use crate::{Engine, SearchMode, enrichment};

/// Jobs that one call leases.
const JOBS_MAX: usize = 8;
/// Seconds of a lease: more than the longest wait for an enricher. A process that ends keeps its jobs
/// from the others for as long.
const LEASE_SECONDS: i64 = 300;
/// Leases of one job. It is parked when its last one failed, or when no process lived through them.
const ATTEMPTS_MAX: u32 = 5;
/// Seconds until a failed job is tried again, doubled with every attempt.
const BACKOFF_SECONDS: i64 = 5;
/// Tries to write one result when something that it rests on changes meanwhile.
const CONFLICTS_MAX: usize = 4;
/// The cosine from which a memory says the same again as another.
const REINFORCES_COSINE_MIN: f32 = 0.85;
/// The cosine from which it is about the same.
const RELATED_COSINE_MIN: f32 = 0.70;
/// Memories that a new one is tied to.
const LINKS_MAX: usize = 3;
/// Memories that are looked at for that: more than one call can have left pending beside it.
const NEIGHBOURS_MAX: usize = 2 * limits::MESSAGES_MAX;
/// The part of what a weight lacks to 1 that one repetition closes. So it rises with every
/// repetition, most with the first ones, and never passes 1.
const REINFORCEMENT: f64 = 0.2;

/// What was found out about a text, before anything else is known.
struct Reading {
    enrichment: Enrichment,
    passages: Vec<Passage>,
    /// Of the first passages.
    vectors: Vec<QueryVector>,
    /// Whether the summary has words that the index lacks.
    has_new_terms: bool,
}

/// What a memory has to do with those that were there before it.
#[derive(Default)]
struct Ties {
    links: Vec<Link>,
    /// The memory that it repeats, with its new weight.
    reinforced: Option<Memory>,
    /// Whether a search by meaning finds the memory itself.
    is_embedded: bool,
}

impl Engine {
    /// Leases some jobs that are due and does them: gives each memory its importance, summary and
    /// kind, and ties it to what was known before. Returns how many were settled, in whichever way. Any
    /// number of processes may run it on one store: each job is done once.
    ///
    /// A memory whose cosine to an older one of its owner is at least 0.85 says it again: it gets a link, and
    /// the nearest one gains weight. From 0.70 on it is about the same and gets a link alone. Nothing
    /// is merged, and contents, tags and times stay.
    ///
    /// # Errors
    /// `unavailable` if the store does not answer, or the model, before any job is tried. A job that fails
    /// is no error: it is tried again later, and parked when it has failed too often.
    pub fn enrich(&self) -> Result<usize> {
        let now = self.now();
        if self.store.next_job_at()?.is_none_or(|next| next > now) {
            return Ok(0);
        }
        // While the model is away, every process would use up attempts of jobs that are not to blame.
        if self.search_mode != SearchMode::Words {
            self.embedder.embed(&["is the model there?"])?;
        }
        // An enricher may take most of a lease for one job.
        let jobs_max = if self.enricher.is_some() { 1 } else { JOBS_MAX };
        let until = now.plus_seconds(LEASE_SECONDS);
        let mut settled = 0;
        for job in self.store.lease_jobs(now, until, &Uuid::now_v7().to_string(), jobs_max)? {
            if self.now() >= until {
                break;
            }
            settled += usize::from(self.enrich_one(&job)?);
        }
        Ok(settled)
    }

    fn enrich_one(&self, job: &Job) -> Result<bool> {
        if job.attempts > ATTEMPTS_MAX {
            return self.fail(job, "every process that tried it ended before it was done");
        }
        let Some(memory) = self.store.get(&job.space, &job.memory)? else {
            return self.settle(job, |_| Ok((Vec::new(), JobOutcome::Done)));
        };
        let reading = match self.read(&memory) {
            Ok(reading) => reading,
            Err(error) => return self.fail(job, &error.message),
        };
        let settled = self.settle(job, |latest| {
            if latest.content == memory.content {
                return Ok((self.enriched(latest, &reading)?, JobOutcome::Done));
            }
            let problem = "its text changed while it was read".to_owned();
            Ok((Vec::new(), JobOutcome::Retry { due_at: self.now(), problem }))
        });
        match settled {
            Err(error) if error.code != ErrorCode::Unavailable => self.fail(job, &error.message),
            settled => settled,
        }
    }

    /// Commits what `work` makes of the memory together with the end of the job, again from a fresh
    /// read while others come between. Says whether it did: not if the lease has gone to somebody
    /// else, or the memory with its job.
    fn settle(&self, job: &Job, work: impl Fn(Memory) -> Result<(Vec<Change>, JobOutcome)>) -> Result<bool> {
        for _ in 0..CONFLICTS_MAX {
            let (mut changes, outcome) = match self.store.get(&job.space, &job.memory)? {
                Some(memory) if memory.enrichment == Some(EnrichmentStatus::Pending) => work(memory)?,
                _ => (Vec::new(), JobOutcome::Done),
            };
            changes.push(Change::Settle { job: job.clone(), outcome });
            match self.store.commit(Batch { space: job.space.clone(), changes }) {
                Err(error) if error.code == ErrorCode::Conflict => {}
                done => return done.map(|()| true),
            }
        }
        Ok(false)
    }

    fn fail(&self, job: &Job, problem: &str) -> Result<bool> {
        self.settle(job, |mut memory| {
            let problem = problem.to_owned();
            if job.attempts < ATTEMPTS_MAX {
                let due_at = self.now().plus_seconds(BACKOFF_SECONDS << job.attempts);
                return Ok((Vec::new(), JobOutcome::Retry { due_at, problem }));
            }
            tracing::warn!(memory = %job.memory, problem, "a memory stays without enrichment");
            memory.enrichment = Some(EnrichmentStatus::Failed);
            Ok((vec![changed(memory, None)], JobOutcome::Failed { problem }))
        })
    }

    /// # Errors
    /// Those of the model.
    fn read(&self, memory: &Memory) -> Result<Reading> {
        let mut passages = Engine::passages(&memory.content, &memory.tags);
        let vectors = self.vectors_of(memory, &mut passages)?;
        let enrichment = self.judge(&memory.content);
        let known: HashSet<&str> =
            passages.iter().flat_map(|passage| &passage.terms).map(|term| term.text.as_str()).collect();
        let terms = term_counts([enrichment.summary.as_str()]);
        let has_new_terms = terms.iter().any(|(term, _)| !known.contains(term.as_str()));
        if has_new_terms {
            let beside: Vec<String> = memory.tags.iter().chain([&enrichment.summary]).cloned().collect();
            for (passage, with_summary) in passages.iter_mut().zip(Engine::passages(&memory.content, &beside)) {
                passage.terms = with_summary.terms;
            }
        }
        Ok(Reading { enrichment, passages, vectors, has_new_terms })
    }

    /// The vectors of the first passages: those that are stored, or else new ones. The beginning of a
    /// long text is enough to compare it; maintenance embeds the rest.
    fn vectors_of(&self, memory: &Memory, passages: &mut [Passage]) -> Result<Vec<QueryVector>> {
        let compared = passages.len().min(PASSAGES_EMBEDDED_AT_ONCE_MAX);
        if self.search_mode == SearchMode::Words {
            return Ok(Vec::new());
        }
        let model = self.embedder.model();
        let stored = self.store.vectors(&memory.space, &memory.id, model)?;
        if stored.len() != passages.len() {
            return self.embed(&memory.content, &mut passages[..compared]);
        }
        let exact = |vector: &Vector| {
            let values = vector.values.iter().map(|value| f32::from(*value) * vector.scale).collect();
            QueryVector { model: model.clone(), values }
        };
        let vectors = stored[..compared].iter().map(exact).collect();
        for (passage, vector) in passages.iter_mut().zip(stored) {
            passage.vector = Some(vector);
        }
        Ok(vectors)
    }

    /// The enricher's judgement; that of the rules where it has none.
    fn judge(&self, text: &str) -> Enrichment {
        let Some(enricher) = &self.enricher else { return enrichment::judge(text) };
        let judged = enricher.enrich(text).and_then(|judged| enrichment::check(&judged).map(|()| judged));
        // A state is logged when it begins, not at every job that it lasts.
        let was_failing = self.rounds.is_enricher_failing.swap(judged.is_err(), Ordering::Relaxed);
        judged.unwrap_or_else(|error| {
            if !was_failing {
                tracing::warn!(%error, "memories are judged by the local rules, as the language model gave no judgement");
            }
            enrichment::judge(text)
        })
    }

    fn enriched(&self, mut memory: Memory, reading: &Reading) -> Result<Vec<Change>> {
        let Reading { enrichment, passages, vectors, has_new_terms } = reading;
        let ties = self.ties(&memory, vectors)?;
        if memory.place.section == memory.kind {
            memory.place.section.clone_from(&enrichment.kind);
        }
        memory.kind.clone_from(&enrichment.kind);
        memory.weight = enrichment.importance;
        memory.summary = Some(enrichment.summary.trim().to_owned());
        memory.enrichment = Some(EnrichmentStatus::Completed);
        memory.links = ties.links;
        let id = memory.id.clone();
        let revision = memory.revision + 1;
        let mut changes = vec![changed(memory, has_new_terms.then(|| passages.clone()))];
        // So that the next job already finds it, if the model was away when it was stored.
        if !has_new_terms && !ties.is_embedded && vectors.len() == passages.len() {
            let vectors = passages.iter().filter_map(|passage| passage.vector.clone()).collect();
            changes.push(Change::Embed { id, revision, vectors });
        }
        changes.extend(ties.reinforced.map(|memory| changed(memory, None)));
        Ok(changes)
    }

    fn ties(&self, memory: &Memory, vectors: &[QueryVector]) -> Result<Ties> {
        let Some(owner) = &memory.owner else { return Ok(Ties::default()) };
        let reader = Reader { subject: Some(owner.clone()), everything: false };
        let filter = Filter {
            owner: Some(owner.clone()),
            tier: Some(Tier::LongTerm),
            created_until: Some(memory.created_at),
            superseded: Superseded::Hide,
            ..Filter::of(memory.space.clone(), reader, self.now())
        };
        let mut near = self.nearest(&filter, vectors, NEIGHBOURS_MAX)?;
        let is_embedded = near.iter().any(|(_, id)| *id == memory.id);
        near.retain(|(cosine, id)| *cosine >= RELATED_COSINE_MIN && *id != memory.id);
        let mut ties = Ties { is_embedded, ..Ties::default() };
        // A few at a time, since they may be large.
        for part in near.chunks(2 * LINKS_MAX) {
            let ids: Vec<MemoryId> = part.iter().map(|(_, id)| id.clone()).collect();
            for known in self.store.get_all(&filter, &ids)? {
                // What is not judged itself yet was not known before.
                let is_known = matches!(known.enrichment, None | Some(EnrichmentStatus::Completed));
                if let Some((cosine, _)) = part.iter().find(|(_, id)| *id == known.id).filter(|_| is_known) {
                    ties.add(known, *cosine);
                }
                if ties.links.len() == LINKS_MAX {
                    return Ok(ties);
                }
            }
        }
        Ok(ties)
    }
}

impl Ties {
    fn add(&mut self, known: Memory, similarity: f32) {
        let repeats = similarity >= REINFORCES_COSINE_MIN;
        let relation = if repeats { Relation::Reinforces } else { Relation::RelatedTo };
        self.links.push(Link { target: known.id.clone(), relation, similarity });
        if repeats && self.links.len() == 1 && known.weight < 1.0 {
            let weight = known.weight + (1.0 - known.weight) * REINFORCEMENT;
            self.reinforced = Some(Memory { weight, ..known });
        }
    }
}

fn changed(mut memory: Memory, passages: Option<Vec<Passage>>) -> Change {
    let expect = Expect::Revision(memory.revision);
    memory.revision += 1;
    Change::Put { memory: Box::new(memory), passages, expect }
}
