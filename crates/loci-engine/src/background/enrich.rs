//! Background enrichment: assessing new long-term memories and linking them to older ones.

use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

use loci_core::{
    Batch, Change, Enrichment, EnrichmentStatus, Error, ErrorCode, Expect, Filter, Forgotten, Job,
    JobOutcome, Link, Memory, MemoryId, OwnerFilter, Passage, QueryVector, Reader, Relation,
    Result, Superseded, Tier, limits,
};
use loci_text::{enrichment, indexed};
use uuid::Uuid;

use crate::background::Background;
use crate::conversations::store_messages::INITIAL_WEIGHT;
use crate::engine::SearchMode;
use crate::models::{PASSAGES_EMBEDDED_AT_ONCE_MAX, PROBE_TEXT, Urgency};
use crate::quantisation::dequantise;
use crate::search::nearest;
use crate::wakeup::catch_panic;

/// Seconds of a lease: more than the longest wait for an enricher. The jobs of a process that ended
/// stay leased for as long.
const LEASE_SECONDS: i64 = 300;
const _: () = assert!(LEASE_SECONDS < limits::LEASE_SECONDS_MAX);
/// The most leases of one job. It is parked if the last one failed, or if no process survived them.
const ATTEMPTS_MAX: u32 = 5;
/// Seconds until a failed job is tried again, doubled with every attempt.
const BACKOFF_SECONDS: i64 = 5;
/// Attempts to write one result while data that it depends on changes.
const CONFLICTS_MAX: usize = 4;
/// Seconds until a job that failed because of the store or the model is tried again.
const RELEASED_SECONDS: i64 = 60;
/// The pause after a failure of the enricher as a multiple of its duration, so that a hanging
/// enricher blocks the queue for at most a fifth of the time.
const PAUSE_PER_FAILURE: i64 = 4;
/// The cosine similarity from which a memory repeats another one.
const REINFORCES_COSINE_MIN: f32 = 0.85;
/// The cosine similarity from which it is related to another one.
const RELATED_COSINE_MIN: f32 = 0.70;
/// The most memories to which a new one is linked.
const LINKS_MAX: usize = 3;
/// Neighbours that are examined for links, of which later ones do not count: more than are stored
/// in nearly every call.
const NEIGHBOURS_MAX: usize = 200;
/// The share of the gap between a weight and 1 that one repetition closes. The weight rises with
/// every repetition, most with the first ones, and never exceeds 1.
const REINFORCEMENT: f64 = 0.2;

/// The enrichment of a text, before it is compared with other memories.
struct TextAnalysis {
    enrichment: Enrichment,
    passages: Vec<Passage>,
    /// The vectors of the first passages.
    vectors: Vec<QueryVector>,
    /// True if the summary has words that the index lacks.
    has_new_terms: bool,
}

/// The links of a memory to older ones.
#[derive(Default)]
struct LinkUpdate {
    links: Vec<Link>,
    /// The memory that it repeats, with its new weight.
    reinforced: Option<Memory>,
    /// True if search by meaning finds the memory itself.
    is_embedded: bool,
}

impl Background<'_> {
    /// Leases the job that is due longest and runs it: gives the memory its importance, summary and
    /// kind, and links it to older memories. Returns true if it settled a job, whatever the
    /// outcome. Any number of processes may run it on one store: each job is done once.
    ///
    /// A memory whose cosine similarity to an older one of its owner is at least 0.85 repeats it
    /// (if that came in through the same tool set, or others read it too: see
    /// [`loci_core::Caller::is_claimed`]): it gets a link, and the nearest one gains weight, unless
    /// a person set that weight. From 0.70 on it is related and only gets a link. Nothing is
    /// merged; contents, tags and times stay. Older means stored earlier, enriched or not, so that
    /// the order of jobs makes no difference.
    ///
    /// # Errors
    /// `unavailable` if the store or the model does not answer; then the job waits and the attempt
    /// does not count. A failed job is not an error: it is tried again later, and parked when it
    /// has failed too often.
    pub fn enrich(&self) -> Result<bool> {
        let now = self.clock.now();
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
        // If the engine started to end since, it looked for a job before this one was set.
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
        // The job is not at fault as far as known; others go first.
        self.release(RELEASED_SECONDS);
        settled
    }

    /// Replaces every parked job by a new one that is due now. Returns the number.
    ///
    /// # Errors
    /// `unavailable` if the store does not answer.
    pub fn retry_failed(&self) -> Result<usize> {
        let mut retried = 0;
        for job in self.store.failed_jobs(usize::MAX)? {
            // Another process may have retried it since, and completed it.
            let has_failed = |memory: &Memory| memory.enrichment == Some(EnrichmentStatus::Failed);
            let Some(mut memory) = self.store.get(&job.space, &job.memory)?.filter(has_failed)
            else {
                continue;
            };
            memory.enrichment = Some(EnrichmentStatus::Pending);
            let enqueue = Change::Enqueue {
                memory: job.memory,
                due_at: self.clock.now(),
            };
            match self
                .store
                .commit(Batch::new(job.space, vec![changed(memory, None), enqueue]))
            {
                // Another process changed it since, and it stays parked.
                Err(error) if error.code == ErrorCode::Conflict => {}
                committed => retried += committed.map(|()| 1)?,
            }
        }
        Ok(retried)
    }

    /// Ends the work under leases for good, for a process that is shutting down and still answers
    /// pending calls. Puts the job in progress, if there is one, back into the queue without
    /// counting the attempt; a thread that still works on it can no longer settle it. Releases the
    /// leases for sweeping and embedding and takes no more: a round in progress stores the texts
    /// that it has started, and ends. Searches may continue, so the lease on the models in use
    /// stays.
    pub fn end_rounds(&self) {
        self.rounds.is_ending.store(true, Ordering::SeqCst);
        self.release(0);
        self.leases.give_back_work();
    }

    /// Does the same as [`Background::end_rounds`](crate::Background::end_rounds), and releases the
    /// leases on the models in use: for the end of a process, when no client waits for its answers
    /// any more.
    pub fn hand_back(&self) {
        self.end_rounds();
        self.leases.give_up_models();
    }

    fn release(&self, seconds: i64) {
        // The guard must not be held while the store is written.
        let job = self.job().take();
        if let Some(job) = job {
            let outcome = JobOutcome::Release {
                due_at: self.clock.now().plus_seconds(seconds),
            };
            // If this fails, the lease expires.
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
    /// `unavailable` if the job is not at fault.
    fn enrich_one(&self, job: &Job) -> Result<bool> {
        if job.attempts > ATTEMPTS_MAX {
            return self.fail(job, "every process that tried it ended before it was done");
        }
        let Some(memory) = self.store.get(&job.space, &job.memory)? else {
            return self.settle(job, |_| Ok((Vec::new(), JobOutcome::Done)));
        };
        let reading = self.read(&memory)?;
        self.settle(job, |latest| {
            // Its text may have changed since.
            if latest.content == memory.content {
                return Ok((self.enriched(latest, &reading)?, JobOutcome::Done));
            }
            Ok((
                Vec::new(),
                JobOutcome::Release {
                    due_at: self.clock.now(),
                },
            ))
        })
    }

    /// Commits the changes that `work` makes of the memory together with the end of the job; after
    /// a conflict, again from a fresh read. Returns false after too many conflicts: another process
    /// has the lease, or the memory and its job were removed.
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
        self.store.commit(Batch::new(job.space.clone(), changes))
    }

    fn fail(&self, job: &Job, problem: &str) -> Result<bool> {
        self.settle(job, |mut memory| {
            // The message of a service may hold NUL, which no store keeps.
            let problem = problem.replace('\0', "");
            if job.attempts < ATTEMPTS_MAX {
                let due_at = self
                    .clock
                    .now()
                    .plus_seconds(BACKOFF_SECONDS << job.attempts);
                return Ok((Vec::new(), JobOutcome::Retry { due_at, problem }));
            }
            tracing::warn!(memory = %job.memory, problem, "a memory stays without enrichment");
            memory.enrichment = Some(EnrichmentStatus::Failed);
            Ok((vec![changed(memory, None)], JobOutcome::Failed { problem }))
        })
    }

    /// # Errors
    /// `unavailable` if the store or the model does not answer; another error if the model refuses
    /// the text.
    fn read(&self, memory: &Memory) -> Result<TextAnalysis> {
        let mut passages = indexed::passages(memory);
        let vectors = self.vectors_of(memory, &mut passages)?;
        let enrichment = self.judge(&memory.content);
        let summarised = indexed::with_summary(memory, &passages, &enrichment.summary);
        let has_new_terms = summarised.is_some();
        for (passage, with_summary) in passages.iter_mut().zip(summarised.unwrap_or_default()) {
            passage.terms = with_summary.terms;
        }
        Ok(TextAnalysis {
            enrichment,
            passages,
            vectors,
            has_new_terms,
        })
    }

    /// Returns the vectors of the first passages: the stored ones, or else new ones. The beginning
    /// of a long text is enough for a comparison; maintenance embeds the rest.
    fn vectors_of(&self, memory: &Memory, passages: &mut [Passage]) -> Result<Vec<QueryVector>> {
        let compared = passages.len().min(PASSAGES_EMBEDDED_AT_ONCE_MAX);
        if self.search_mode == SearchMode::Words {
            return Ok(Vec::new());
        }
        let serving = self.models.active();
        let model = serving.model();
        let stored = self.store.vectors(&memory.space, &memory.id, model)?;
        if stored.len() != passages.len() {
            let embedded = self.models.embed(
                memory.title.as_deref(),
                &memory.content,
                &mut passages[..compared],
                Urgency::Background,
            );
            return embedded.map_err(|error| match serving.embed(&[PROBE_TEXT]) {
                Ok(_) => Error::internal(error.message),
                Err(away) => Error::unavailable(away.message),
            });
        }
        let vectors = stored[..compared].iter().map(dequantise).collect();
        for (passage, vector) in passages.iter_mut().zip(stored) {
            passage.vector = Some(vector);
        }
        Ok(vectors)
    }

    /// Returns the enricher's assessment; without one, that of the local rules.
    fn judge(&self, text: &str) -> Enrichment {
        let begun = self.clock.now().microseconds();
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
            let ended = self.clock.now().microseconds();
            pauses_until.store(
                ended + PAUSE_PER_FAILURE * (ended - begun).max(0),
                Ordering::Relaxed,
            );
        }
        let judged = answer.and_then(|judged| enrichment::check(&judged).map(|()| judged));
        // A failing state is logged when it starts, not at every job.
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

    fn enriched(&self, mut memory: Memory, reading: &TextAnalysis) -> Result<Vec<Change>> {
        let TextAnalysis {
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
        // So that the next job finds it already, if the model was away when it was stored.
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

    fn ties(&self, memory: &Memory, vectors: &[QueryVector]) -> Result<LinkUpdate> {
        let Some(owner) = &memory.owner else {
            return Ok(LinkUpdate::default());
        };
        // A caller that merely claims the owner's name must not learn of memories of other tool
        // sets.
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
            ..Filter::of(memory.space.clone(), reader, self.clock.now())
        };
        let mut near = nearest(self.store, &filter, vectors, NEIGHBOURS_MAX)?;
        let is_embedded = near.iter().any(|(_, id)| *id == memory.id);
        if let Some(vector) = vectors.first() {
            for (cosine, _) in &mut near {
                *cosine = self.models.comparable(&vector.model, *cosine);
            }
        }
        near.retain(|(cosine, id)| *cosine >= RELATED_COSINE_MIN && *id != memory.id);
        let mut ties = LinkUpdate {
            is_embedded,
            ..LinkUpdate::default()
        };
        // A few at a time, because they may be large.
        for part in near.chunks(2 * LINKS_MAX) {
            let ids: Vec<MemoryId> = part.iter().map(|(_, id)| id.clone()).collect();
            for known in self.store.get_all(&filter, &ids)? {
                // Newer memories are linked to this one, and not the other way round, whichever is
                // enriched first.
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

impl LinkUpdate {
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
        // A person set the weight of a memory without enrichment.
        if repeats && self.links.len() == 1 && known.enrichment.is_some() && known.weight < 1.0 {
            let weight = known.weight + (1.0 - known.weight) * REINFORCEMENT;
            self.reinforced = Some(Memory { weight, ..known });
        }
    }
}

/// Returns the weight of a memory after its enrichment, from its importance and its weight so far.
/// While it waited, each repetition multiplied the gap between its weight and 1 by the same factor;
/// now the gap of the importance is multiplied by as much, as if the repetitions came after the
/// enrichment. A weight below the initial one stays: the memory was superseded since, or a person
/// set it.
fn judged_weight(importance: f64, weight: f64) -> f64 {
    if weight < INITIAL_WEIGHT {
        return weight;
    }
    let factor = (1.0 - weight) / (1.0 - INITIAL_WEIGHT);
    // In this form, an importance without repetitions stays exactly the same number.
    (importance + (1.0 - importance) * (1.0 - factor)).clamp(0.0, 1.0)
}

/// Returns the change that stores a memory in place of its last revision.
pub(crate) fn changed(mut memory: Memory, passages: Option<Vec<Passage>>) -> Change {
    let expect = Expect::Revision(memory.revision);
    memory.revision += 1;
    Change::Put {
        memory: Box::new(memory),
        passages,
        expect,
    }
}
