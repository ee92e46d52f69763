//! Background work other than enrichment: the sweep of expired data and the embedding of pending
//! memories.

use std::collections::BTreeSet;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use loci_core::{
    Batch, Change, Embedder, Error, ErrorCode, Expect, FilingOrder, Memory, ModelId, Partition,
    Passage, Result, Sweep, Timestamp, Work, day_of,
};
use loci_text::indexed;

use crate::background::Background;
use crate::engine::SearchMode;
use crate::leases::rounds::{ModelRounds, PartitionRounds, TextName};
use crate::models::{PROBE_TEXT, Urgency, texts_of, vectors_by};
use crate::quantisation::quantise;
use crate::wakeup::catch_panic;

/// The most steps that one transaction sweeps, so that a caller's write never waits long.
const SWEEP_BATCH: usize = 64;
/// Seconds for which wipes are remembered: longer than any write in progress.
const WIPE_MEMORY_SECONDS: u64 = 86_400;
/// Days for which the counts of calls are kept: two years.
const COUNTS_DAYS: i64 = 731;
/// The most memories that one round embeds.
const EMBED_ROUND_MAX: usize = 32;
/// The time after which a round embeds no further memory.
const EMBED_ROUND_TIME: Duration = Duration::from_millis(200);
/// The most memories of a round that are embedded together; fewer if they have many passages.
const EMBED_GROUP: usize = 16;
/// Failures in a row that end a round.
const FAILURES_MAX: usize = 3;
/// One of so many rounds embeds the memories that have waited longest, so that new ones do not
/// delay them for ever.
const ROUNDS_PER_OLDEST: usize = 4;
/// Passages that are embedded between two checks of the lease: seconds of work. Memories that are
/// complete then are stored.
const EMBED_STEP: usize = 64;

impl Background<'_> {
    /// Removes expired data of one partition in one short transaction: memories, cached answers,
    /// decisions, kept replies, entries of the audit log, records of wipes. Returns the number of
    /// steps; if it is not 0, there may be more. Pause between rounds, as
    /// [`Store::background_pause`](loci_core::Store::background_pause) says.
    ///
    /// Any number of processes may run it on one store; one at a time sweeps a partition. Data that
    /// expired by a clock that jumped stays until the jump is confirmed (`sweep_clock.rs`).
    ///
    /// # Errors
    /// `unavailable` if the store does not answer.
    pub fn sweep(&self) -> Result<usize> {
        let now = self.sweep_moment()?;
        let before = |seconds: u64| now.plus_seconds(0_i64.saturating_sub_unsigned(seconds));
        let sweep = Sweep {
            expired_at: now,
            deleted_until: before(self.policy.purge_after_seconds),
            audited_before: before(self.policy.audit_retention_seconds),
            wiped_before: before(WIPE_MEMORY_SECONDS),
            counted_before: day_of(now) - COUNTS_DAYS,
            changed_before: match self.policy.history_seconds {
                0 => Timestamp::MIN,
                seconds => before(seconds),
            },
        };
        let sweep_some = |partition: &Partition| self.store.sweep(partition, &sweep, SWEEP_BATCH);
        self.leases
            .in_turn(&self.rounds.sweeping, Work::Sweep(&sweep), sweep_some)
    }

    /// Embeds some of the pending memories: at least one, and further ones for a fraction of a
    /// second. Returns the number; if it is not 0, there may be more. Any number of processes may
    /// run it on one store: for each model one at a time embeds in a partition. While a former
    /// model is active, both models embed the texts that it lacks. If the number of
    /// components shows that another model behind the same name made the stored vectors, these are
    /// removed first and count as embedded.
    ///
    /// # Errors
    /// `unavailable` if the store or the model does not answer, or if the model refused all texts.
    pub fn embed_pending(&self) -> Result<usize> {
        if self.search_mode == SearchMode::Words {
            return Ok(0);
        }
        let model = self.embedder.model();
        let rounds = &*self.rounds.of(model);
        for partition in rounds.outdated() {
            let is_under_way = rounds.embedding.is_held(&partition);
            let retire = || self.models.retire_outdated(model, &partition, is_under_way);
            match self
                .leases
                .under_lease(&rounds.embedding, &partition, retire)?
            {
                0 => {}
                retired => return Ok(retired),
            }
        }
        if self.models.has_embedded_all(model)? {
            rounds.complete();
            return self.leases.give_back(&rounds.embedding).map(|()| 0);
        }
        self.models.review()?;
        let kind = Work::Embed(model);
        let embedded = self.leases.in_turn(&rounds.embedding, kind, |partition| {
            let queue = self.queue(rounds, partition, model)?;
            self.embed_for_former();
            let embedded = self.embed_some(&**self.embedder, rounds, queue);
            // If the lease was released in the middle because the engine ends, another engine may
            // have embedded them again.
            if !rounds.embedding.is_held(partition) {
                return embedded;
            }
            match self.models.retire_outdated(model, partition, true)? {
                0 => embedded,
                retired => Ok(retired),
            }
        });
        self.models.look_again();
        embedded
    }

    /// Embeds some of the texts that the former model lacks, if it is active. If it fails, they
    /// wait for the other model.
    fn embed_for_former(&self) {
        let Some(former) = self
            .models
            .former()
            .filter(|_| self.models.take_backlog_flag())
        else {
            return;
        };
        let (model, rounds) = (former.model(), &*self.rounds.of(former.model()));
        let kind = Work::Embed(model);
        let embedded = self.leases.in_turn(&rounds.embedding, kind, |partition| {
            self.embed_some(&*former, rounds, self.queue(rounds, partition, model)?)
        });
        match embedded {
            Ok(0) => {}
            // There may be more.
            Ok(_) => self.models.embed_waiting(),
            Err(error) => {
                tracing::debug!(model = %former.model(), %error, "a former embedding model does not read on");
            }
        }
    }

    /// Returns the memories of a partition that a round may embed: first the ones that searches had
    /// as candidates without a vector, then the ones that were filed last, or in one of
    /// [`ROUNDS_PER_OLDEST`] rounds the ones that were filed first.
    fn queue(&self, rounds: &ModelRounds, partition: &Partition, model: &ModelId) -> Result<Queue> {
        let is_for_oldest = rounds.count.fetch_add(1, Ordering::Relaxed) % ROUNDS_PER_OLDEST
            == ROUNDS_PER_OLDEST - 1;
        let order = if is_for_oldest {
            FilingOrder::FirstFirst
        } else {
            FilingOrder::LastFirst
        };
        let state = rounds.within(partition);
        let mut refused = state.take_refused();
        let looked_at = refused.len() + EMBED_ROUND_MAX;
        let waiting = self
            .store
            .without_vector(partition, model, order, looked_at)?;
        let is_end = waiting.len() < looked_at;
        if is_end {
            // The others were removed, or embedded elsewhere.
            refused = waiting
                .iter()
                .filter(|text| refused.contains(text))
                .cloned()
                .collect();
        }
        let mut texts = Vec::new();
        for text in rounds.wanted.take(partition, EMBED_GROUP) {
            if !refused.contains(&text) && self.store.vectors(&text.0, &text.1, model)?.is_empty() {
                texts.push(text);
            }
        }
        let wanted = texts.len();
        let others = waiting
            .into_iter()
            .filter(|text| !refused.contains(text) && !texts.contains(text));
        let others: Vec<_> = others.take(EMBED_ROUND_MAX).collect();
        texts.extend(others);
        Ok(Queue {
            partition: partition.clone(),
            state,
            texts,
            wanted,
            refused,
            is_end,
        })
    }

    /// Embeds some of these memories. A text that the model refuses is skipped, so that it never
    /// blocks the others; it is tried again after the end of the queue was reached.
    fn embed_some(
        &self,
        embedder: &dyn Embedder,
        rounds: &ModelRounds,
        queue: Queue,
    ) -> Result<usize> {
        let begun = Instant::now();
        let Queue {
            partition,
            state,
            texts,
            wanted,
            mut refused,
            mut is_end,
        } = queue;
        let mut waiting = texts.iter();
        let mut round = Round::default();
        // The rest of a group that failed.
        let mut alone = Vec::new().into_iter();
        loop {
            let next: Option<Text> = alone.next();
            let mut group = next.map_or_else(
                || self.read_group(&mut waiting, &mut round),
                |text| vec![text],
            );
            if group.is_empty() {
                is_end &= !round.is_away();
                break;
            }
            let read = group.len();
            let outcome =
                catch_panic(|| self.embed_group(embedder, rounds, &partition, &mut group));
            round.embedded += read - group.len();
            match outcome {
                Ok(true) => {}
                // Another engine has the lease, and continues with the rest.
                Ok(false) => break,
                // One by one, so that only the text at fault is skipped.
                Err(_) if read > 1 => alone = group.into_iter(),
                Err(error) => round.fail(group.first().map(Text::name), error),
            }
            if round.is_away() || (round.embedded > 0 && begun.elapsed() >= EMBED_ROUND_TIME) {
                is_end = false;
                break;
            }
        }
        let begun_with = texts.len() - waiting.len();
        rounds
            .wanted
            .put(texts.into_iter().take(wanted).skip(begun_with));
        refused.append(&mut round.refused);
        if is_end {
            // A model that is away refuses nothing.
            let is_there = !refused.is_empty() && embedder.embed(&[PROBE_TEXT]).is_ok();
            state
                .unreadable
                .store(if is_there { refused.len() } else { 0 }, Ordering::Relaxed);
        } else {
            state.pass_over(refused);
        }
        match round.first_failure {
            Some(error) if round.embedded == 0 => Err(error),
            _ => Ok(round.embedded),
        }
    }

    /// Reads memories until their passages fill a step, which keeps all cores busy and limits
    /// memory.
    fn read_group(&self, waiting: &mut slice::Iter<'_, TextName>, round: &mut Round) -> Vec<Text> {
        let (mut group, mut passages) = (Vec::new(), 0);
        while passages < EMBED_STEP && group.len() < EMBED_GROUP && !round.is_away() {
            let Some((space, id)) = waiting.next() else {
                break;
            };
            match catch_panic(|| Ok(self.store.get(space, id)?.map(Text::of))) {
                Ok(Some(text)) => {
                    passages += text.passages.len();
                    group.push(text);
                }
                // It was removed since.
                Ok(None) => {}
                Err(error) => round.fail(Some((space.clone(), id.clone())), error),
            }
        }
        group
    }

    /// Embeds these together, and removes each from the group once it is stored with all its
    /// vectors. Returns false if the round must stop: if the lease was lost, or if the stored
    /// vectors have to be removed first.
    fn embed_group(
        &self,
        embedder: &dyn Embedder,
        rounds: &ModelRounds,
        partition: &Partition,
        group: &mut Vec<Text>,
    ) -> Result<bool> {
        while !group.is_empty() {
            // Finished work is kept even if the renewal fails.
            if let Ok(false) = self.leases.hold(&rounds.embedding, partition) {
                return Ok(false);
            }
            let step = group.iter().flat_map(|text| {
                let passages = text
                    .passages
                    .iter()
                    .filter(|passage| passage.vector.is_none());
                passages.map(|passage| {
                    (
                        text.memory.title.as_deref(),
                        text.memory.content.as_str(),
                        passage,
                    )
                })
            });
            let texts = texts_of(step.take(EMBED_STEP));
            let vectors = vectors_by(
                embedder,
                &texts.iter().map(AsRef::as_ref).collect::<Vec<_>>(),
                Urgency::Background,
            )?;
            if let Some(vector) = vectors.first()
                && self
                    .models
                    .is_outdated(&vector.model, partition, vector.values.len())?
            {
                return Ok(false);
            }
            let passages = group.iter_mut().flat_map(|text| &mut text.passages);
            for (passage, vector) in passages
                .filter(|passage| passage.vector.is_none())
                .zip(vectors)
            {
                passage.vector = Some(quantise(&vector));
            }
            let complete = group.iter().take_while(|text| text.is_complete()).count();
            for of_space in
                group[..complete].chunk_by(|left, right| left.memory.space == right.memory.space)
            {
                self.store_vectors(of_space)?;
            }
            group.drain(..complete);
        }
        Ok(true)
    }

    /// Stores the vectors of memories of one space.
    fn store_vectors(&self, texts: &[Text]) -> Result<()> {
        let batch = |changes| Batch::new(texts[0].memory.space.clone(), changes);
        match self
            .store
            .commit(batch(texts.iter().map(Text::embedded).collect()))
        {
            // The stored passages differ from these, so that the vectors do not fit and the memory
            // would wait for ever.
            Err(error) if error.code == ErrorCode::Internal && texts.len() == 1 => {
                tracing::warn!(memory = %texts[0].memory.id, "the passages of a memory are rebuilt");
                self.store.commit(batch(vec![texts[0].rebuilt()]))
            }
            outcome => outcome,
        }
    }
}

/// The progress of a round of embedding.
#[derive(Debug, Default)]
struct Round {
    embedded: usize,
    refused: BTreeSet<TextName>,
    first_failure: Option<Error>,
}

impl Round {
    fn fail(&mut self, text: Option<TextName>, error: Error) {
        self.refused.extend(text);
        self.first_failure.get_or_insert(error);
    }

    /// Returns true if there were only failures: the model is away, and no text is at fault.
    fn is_away(&self) -> bool {
        self.embedded == 0 && self.refused.len() >= FAILURES_MAX
    }
}

/// The memories that a round may embed.
struct Queue {
    /// The partition of all these memories.
    partition: Partition,
    /// The state of the rounds in it.
    state: Arc<PartitionRounds>,
    /// In the order of embedding, without refused ones.
    texts: Vec<TextName>,
    /// The number of the first ones that searches lacked.
    wanted: usize,
    /// The texts that were refused before.
    refused: BTreeSet<TextName>,
    /// True if no other memory waits.
    is_end: bool,
}

/// A memory with its passages, which get their vectors one after the other.
struct Text {
    memory: Memory,
    passages: Vec<Passage>,
}

impl Text {
    fn of(memory: Memory) -> Self {
        Text {
            passages: indexed::passages(&memory),
            memory,
        }
    }

    fn name(&self) -> TextName {
        (self.memory.space.clone(), self.memory.id.clone())
    }

    fn is_complete(&self) -> bool {
        self.passages.iter().all(|passage| passage.vector.is_some())
    }

    fn embedded(&self) -> Change {
        let vectors = self
            .passages
            .iter()
            .filter_map(|passage| passage.vector.clone())
            .collect();
        Change::Embed {
            id: self.memory.id.clone(),
            revision: self.memory.revision,
            vectors,
        }
    }

    /// Returns the change that stores the memory with these passages.
    fn rebuilt(&self) -> Change {
        let Text { memory, passages } = self;
        let expect = Expect::Revision(memory.revision);
        let memory = Memory {
            revision: memory.revision + 1,
            ..memory.clone()
        };
        Change::Put {
            memory: Box::new(memory),
            passages: Some(passages.clone()),
            expect,
        }
    }
}
