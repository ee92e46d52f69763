//! Judging new long-term memories in the background, and tying them to what was known before.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

use loci_core::{
    Batch, Change, Enrichment, EnrichmentStatus, Error, ErrorCode, Expect, Filter, Forgotten, Job,
    JobOutcome, Link, Memory, MemoryId, OwnerFilter, Passage, QueryVector, Reader, Relation,
    Result, Superseded, Tier, Vector, limits,
};
use loci_search::analysis::term_counts;
use uuid::Uuid;

use crate::models::PROBE_TEXT;
use crate::ops::remember::PASSAGES_EMBEDDED_AT_ONCE_MAX;
use crate::ops::store_messages::INITIAL_WEIGHT;
use crate::{Engine, SearchMode, catch_panic, enrichment};

/// Seconds of a lease: more than the longest wait for an enricher. A process that ends keeps its
/// jobs from the others for as long.
const LEASE_SECONDS: i64 = 300;
const _: () = assert!(LEASE_SECONDS < limits::LEASE_SECONDS_MAX);
/// Leases of one job. It is parked when its last one failed, or when no process lived through them.
const ATTEMPTS_MAX: u32 = 5;
/// Seconds until a failed job is tried again, doubled with every attempt.
const BACKOFF_SECONDS: i64 = 5;
/// Tries to write one result when something that it rests on changes meanwhile.
const CONFLICTS_MAX: usize = 4;
/// Seconds until a job is tried again that failed with the store or the model.
const RELEASED_SECONDS: i64 = 60;
/// How much longer than a failure of the enricher the pause after it is, so that one which hangs
/// holds up the queue for a fifth of the time at most.
const PAUSE_PER_FAILURE: i64 = 4;
/// The cosine from which a memory says the same again as another.
const REINFORCES_COSINE_MIN: f32 = 0.85;
/// The cosine from which it is about the same.
const RELATED_COSINE_MIN: f32 = 0.70;
/// Memories that a new one is tied to.
const LINKS_MAX: usize = 3;
/// Memories that are looked at for that: more than can have come after it in the same call.
const NEIGHBOURS_MAX: usize = 2 * limits::MESSAGES_MAX;
/// The part of what a weight lacks to 1 that one repetition closes. So it rises with every
/// repetition, most with the first ones, and never passes 1.
const REINFORCEMENT: f64 = 0.2;

/// The judgement of a text by itself.
struct Reading {
    enrichment: Enrichment,
    passages: Vec<Passage>,
    /// Of the first passages.
    vectors: Vec<QueryVector>,
    /// Whether the summary has words that the index lacks.
    has_new_terms: bool,
}

/// The relations of a memory to older ones.
#[derive(Default)]
struct Ties {
    links: Vec<Link>,
    /// The memory that it repeats, with its new weight.
    reinforced: Option<Memory>,
    /// Whether a search by meaning finds the memory itself.
    is_embedded: bool,
}

impl Engine {
    /// Leases the job that is due longest and does it: gives the memory its importance, summary and
    /// kind, and ties it to what was known before. Says whether it settled one, in whichever way.
    /// Any number of processes may run it on one store: each job is done once.
    ///
    /// A memory whose cosine to an older one of its owner is at least 0.85 says it again (one that
    /// came in through the same tool set, or that others read too: see
    /// [`loci_core::Caller::is_claimed`]): it gets a link, and the nearest one gains weight, unless
    /// a person set it. From 0.70 on it is about the same and gets a link alone. Nothing is merged,
    /// and contents, tags and times stay. A memory is older if it was stored before, judged or not,
    /// so that the order of judging makes no difference.
    ///
    /// # Errors
    /// `unavailable` if the store or the model does not answer; then the job waits as if it had not
    /// been tried. A job that fails is no error: it is tried again later, and parked when it has
    /// failed too often.
    pub fn enrich(&self) -> Result<bool> {
        let now = self.now();
        if self.rounds.is_ending.load(Ordering::SeqCst) {
            return Ok(false);
        }
        if self.store.next_job_at(now)?.is_none_or(|next| next > now) {
            return Ok(false);
        }
        let (until, lease) = (now.plus_seconds(LEASE_SECONDS), Uuid::now_v7().to_string());
        // One at a time: if the process ends in the middle, no other job has used up an attempt.
        let Some(job) = self.store.lease_jobs(now, until, &lease, 1)?.pop() else {
            return Ok(false);
        };
        *self.job() = Some(job.clone());
        // An end that came meanwhile has looked for a job before this one was there.
        if self.rounds.is_ending.load(Ordering::SeqCst) {
            self.release(0);
            return Ok(false);
        }
        let settled = match catch_panic(|| self.enrich_one(&job)) {
            Err(error) if !error.is_unavailable() => self.fail(&job, &error.message),
            settled => settled,
        };
        if matches!(settled, Ok(true)) {
            self.job().take();
        }
        // Through no fault of its own, as far as anybody can tell: others go first.
        self.release(RELEASED_SECONDS);
        settled
    }

    /// Gives every job that failed too often and was parked a new one, which is due now. Returns
    /// how many.
    ///
    /// # Errors
    /// `unavailable` if the store does not answer.
    pub fn retry_failed(&self) -> Result<usize> {
        let mut retried = 0;
        for job in self.store.failed_jobs(usize::MAX)? {
            // Another process may have had it tried again since, and done.
            let has_failed = |memory: &Memory| memory.enrichment == Some(EnrichmentStatus::Failed);
            let Some(mut memory) = self.store.get(&job.space, &job.memory)?.filter(has_failed)
            else {
                continue;
            };
            memory.enrichment = Some(EnrichmentStatus::Pending);
            let enqueue = Change::Enqueue {
                memory: job.memory,
                due_at: self.now(),
            };
            match self.store.commit(Batch {
                space: job.space,
                changes: vec![changed(memory, None), enqueue],
            }) {
                // Another call changed it meanwhile, and it stays parked.
                Err(error) if error.code == ErrorCode::Conflict => {}
                committed => retried += committed.map(|()| 1)?,
            }
        }
        Ok(retried)
    }

    /// Ends the work under leases for good: for a process that was asked to end and still answers
    /// what it was asked before. Puts the job under way, if there is one, back into the queue as if
    /// it had not been tried; the thread that still works on it can no longer settle it. Gives back
    /// the leases on sweeping and embedding, and takes none any more: a round under way stores what
    /// it had begun to read, and ends. Searches may go on, and so the claim on the models in use
    /// stays.
    pub fn end_rounds(&self) {
        self.rounds.is_ending.store(true, Ordering::SeqCst);
        self.release(0);
        self.give_back_work();
    }

    /// As [`Engine::end_rounds`], and gives back the claim on the models in use: for the end of a
    /// process, which cannot wait, when no client waits for its answers any more.
    pub fn hand_back(&self) {
        self.end_rounds();
        self.give_up_models();
    }

    fn release(&self, seconds: i64) {
        // The guard must not live on while the store is written.
        let job = self.job().take();
        if let Some(job) = job {
            let outcome = JobOutcome::Release {
                due_at: self.now().plus_seconds(seconds),
            };
            // If this fails, the lease runs out some time.
            let _ = self.commit_settled(&job, Vec::new(), outcome);
        }
    }

    fn job(&self) -> MutexGuard<'_, Option<Job>> {
        self.rounds
            .job
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// # Errors
    /// `unavailable` if the job is not to blame.
    fn enrich_one(&self, job: &Job) -> Result<bool> {
        if job.attempts > ATTEMPTS_MAX {
            return self.fail(job, "every process that tried it ended before it was done");
        }
        let Some(memory) = self.store.get(&job.space, &job.memory)? else {
            return self.settle(job, |_| Ok((Vec::new(), JobOutcome::Done)));
        };
        let reading = self.read(&memory)?;
        self.settle(job, |latest| {
            // Its text may have changed while it was read.
            if latest.content == memory.content {
                return Ok((self.enriched(latest, &reading)?, JobOutcome::Done));
            }
            Ok((Vec::new(), JobOutcome::Release { due_at: self.now() }))
        })
    }

    /// Commits what `work` makes of the memory together with the end of the job, again from a fresh
    /// read while others come between. Says whether it did: not if another process has the lease
    /// now, or the memory and its job are gone.
    fn settle(
        &self,
        job: &Job,
        work: impl Fn(Memory) -> Result<(Vec<Change>, JobOutcome)>,
    ) -> Result<bool> {
        for _ in 0..CONFLICTS_MAX {
            let (changes, outcome) = match self.store.get(&job.space, &job.memory)? {
                Some(memory) if memory.enrichment == Some(EnrichmentStatus::Pending) => {
                    work(memory)?
                }
                _ => (Vec::new(), JobOutcome::Done),
            };
            match self.commit_settled(job, changes, outcome) {
                Err(error) if error.code == ErrorCode::Conflict => {}
                done => return done.map(|()| true),
            }
        }
        Ok(false)
    }

    fn commit_settled(
        &self,
        job: &Job,
        mut changes: Vec<Change>,
        outcome: JobOutcome,
    ) -> Result<()> {
        changes.push(Change::Settle {
            job: job.clone(),
            outcome,
        });
        self.store.commit(Batch {
            space: job.space.clone(),
            changes,
        })
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
    /// `unavailable` if the store or the model does not answer; another one if the model refuses
    /// the text.
    fn read(&self, memory: &Memory) -> Result<Reading> {
        let mut passages = Engine::passages_of(memory);
        let vectors = self.vectors_of(memory, &mut passages)?;
        let enrichment = self.judge(&memory.content);
        let known: HashSet<&str> = passages
            .iter()
            .flat_map(|passage| &passage.terms)
            .map(|term| term.text.as_str())
            .collect();
        let terms = term_counts([enrichment.summary.as_str()]);
        let has_new_terms = terms.iter().any(|(term, _)| !known.contains(term.as_str()));
        if has_new_terms {
            let beside: Vec<String> = memory
                .metadata()
                .into_iter()
                .chain([enrichment.summary.clone()])
                .collect();
            for (passage, with_summary) in passages
                .iter_mut()
                .zip(Engine::passages_with(memory, &beside))
            {
                passage.terms = with_summary.terms;
            }
        }
        Ok(Reading {
            enrichment,
            passages,
            vectors,
            has_new_terms,
        })
    }

    /// The vectors of the first passages: those that are stored, or else new ones. The beginning of
    /// a long text is enough to compare it; maintenance embeds the rest.
    fn vectors_of(&self, memory: &Memory, passages: &mut [Passage]) -> Result<Vec<QueryVector>> {
        let compared = passages.len().min(PASSAGES_EMBEDDED_AT_ONCE_MAX);
        if self.search_mode == SearchMode::Words {
            return Ok(Vec::new());
        }
        let serving = self.active();
        let model = serving.model();
        let stored = self.store.vectors(&memory.space, &memory.id, model)?;
        if stored.len() != passages.len() {
            let embedded = self.embed(
                memory.title.as_deref(),
                &memory.content,
                &mut passages[..compared],
            );
            return embedded.map_err(|error| match serving.embed(&[PROBE_TEXT]) {
                Ok(_) => Error::internal(error.message),
                Err(away) => Error::unavailable(away.message),
            });
        }
        let exact = |vector: &Vector| {
            let values = vector
                .values
                .iter()
                .map(|value| f32::from(*value) * vector.scale)
                .collect();
            QueryVector {
                model: model.clone(),
                values,
            }
        };
        let vectors = stored[..compared].iter().map(exact).collect();
        for (passage, vector) in passages.iter_mut().zip(stored) {
            passage.vector = Some(vector);
        }
        Ok(vectors)
    }

    /// The enricher's judgement; that of the rules where it has none.
    fn judge(&self, text: &str) -> Enrichment {
        let begun = self.now().microseconds();
        let pauses_until = &self.rounds.enricher_pauses_until;
        let enricher = self
            .enricher
            .as_ref()
            .filter(|_| begun >= pauses_until.load(Ordering::Relaxed));
        let Some(enricher) = enricher else {
            return enrichment::judge(text);
        };
        let answer = enricher.enrich(text);
        if answer.is_err() {
            let ended = self.now().microseconds();
            pauses_until.store(
                ended + PAUSE_PER_FAILURE * (ended - begun).max(0),
                Ordering::Relaxed,
            );
        }
        let judged = answer.and_then(|judged| enrichment::check(&judged).map(|()| judged));
        // A state is logged when it begins, not at every job that it lasts.
        let was_failing = self
            .rounds
            .is_enricher_failing
            .swap(judged.is_err(), Ordering::Relaxed);
        judged.unwrap_or_else(|error| {
            if !was_failing {
                tracing::warn!(%error, "memories are judged by the local rules, as the language model gave no judgement");
            }
            enrichment::judge(text)
        })
    }

    fn enriched(&self, mut memory: Memory, reading: &Reading) -> Result<Vec<Change>> {
        let Reading {
            enrichment,
            passages,
            vectors,
            has_new_terms,
        } = reading;
        let ties = self.ties(&memory, vectors)?;
        if memory.location.section == memory.kind {
            memory.location.section.clone_from(&enrichment.kind);
        }
        memory.kind.clone_from(&enrichment.kind);
        memory.weight = judged_weight(enrichment.importance, memory.weight);
        memory.summary = Some(enrichment.summary.trim().to_owned());
        memory.enrichment = Some(EnrichmentStatus::Completed);
        memory.links = ties.links;
        let id = memory.id.clone();
        let revision = memory.revision + 1;
        let mut changes = vec![changed(memory, has_new_terms.then(|| passages.clone()))];
        // So that the next job already finds it, if the model was away when it was stored.
        if !has_new_terms && !ties.is_embedded && vectors.len() == passages.len() {
            let vectors = passages
                .iter()
                .filter_map(|passage| passage.vector.clone())
                .collect();
            changes.push(Change::Embed {
                id,
                revision,
                vectors,
            });
        }
        changes.extend(ties.reinforced.map(|memory| changed(memory, None)));
        Ok(changes)
    }

    fn ties(&self, memory: &Memory, vectors: &[QueryVector]) -> Result<Ties> {
        let Some(owner) = &memory.owner else {
            return Ok(Ties::default());
        };
        // A caller that merely claims the owner's name must not find memories of other dialects.
        let reader = Reader {
            own_origin: Some(memory.origin.clone()),
            ..Reader::of(Some(owner))
        };
        let filter = Filter {
            owner: OwnerFilter::Only(owner.clone()),
            tiers: vec![Tier::LongTerm],
            created_until: Some(memory.created_at),
            superseded: Superseded::Hide,
            forgotten: Forgotten::Hide,
            ..Filter::of(memory.space.clone(), reader, self.now())
        };
        let mut near = self.nearest(&filter, vectors, NEIGHBOURS_MAX)?;
        let is_embedded = near.iter().any(|(_, id)| *id == memory.id);
        if let Some(vector) = vectors.first() {
            for (cosine, _) in &mut near {
                *cosine = self.comparable(&vector.model, *cosine);
            }
        }
        near.retain(|(cosine, id)| *cosine >= RELATED_COSINE_MIN && *id != memory.id);
        let mut ties = Ties {
            is_embedded,
            ..Ties::default()
        };
        // A few at a time, since they may be large.
        for part in near.chunks(2 * LINKS_MAX) {
            let ids: Vec<MemoryId> = part.iter().map(|(_, id)| id.clone()).collect();
            for known in self.store.get_all(&filter, &ids)? {
                // A later memory is linked to this one, and not the other way round, whichever is
                // judged first.
                let is_older = (known.created_at, &known.id) < (memory.created_at, &memory.id);
                if let Some((cosine, _)) = part
                    .iter()
                    .find(|(_, id)| *id == known.id)
                    .filter(|_| is_older)
                {
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
        let relation = if repeats {
            Relation::Reinforces
        } else {
            Relation::RelatedTo
        };
        self.links.push(Link {
            target: known.id.clone(),
            relation,
            similarity,
        });
        // A weight without enrichment is a person's.
        if repeats && self.links.len() == 1 && known.enrichment.is_some() && known.weight < 1.0 {
            let weight = known.weight + (1.0 - known.weight) * REINFORCEMENT;
            self.reinforced = Some(Memory { weight, ..known });
        }
    }
}

/// The weight of a memory that was judged just now, from its importance and its weight so far.
/// While it waited, each repetition multiplied what its weight lacked to 1 by the same factor; what
/// the importance lacks is multiplied by as much now, as if the repetitions came after the
/// judgement. Less than it began with it weighs only if it was superseded meanwhile, or a person
/// said so: that stays.
fn judged_weight(importance: f64, weight: f64) -> f64 {
    if weight < INITIAL_WEIGHT {
        return weight;
    }
    let factor = (1.0 - weight) / (1.0 - INITIAL_WEIGHT);
    // In this form, an importance without repetitions stays the number that it is.
    (importance + (1.0 - importance) * (1.0 - factor)).clamp(0.0, 1.0)
}

/// The change that puts a memory in the place of what it was.
pub(crate) fn changed(mut memory: Memory, passages: Option<Vec<Passage>>) -> Change {
    let expect = Expect::Revision(memory.revision);
    memory.revision += 1;
    Change::Put {
        memory: Box::new(memory),
        passages,
        expect,
    }
}
