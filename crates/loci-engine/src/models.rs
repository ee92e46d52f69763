//! The models that embed questions and texts, and the switch from one to another
//! (`docs/adr/0022-two-models-for-a-while.md`).
//!
//! A question is compared only with vectors of its own model. So that a switch leaves no gap, the
//! former model stays active until the new one has embedded every memory.

pub(crate) mod switch;

use std::borrow::Cow;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loci_core::{
    Clock, CosineScale, Embedder, Error, FormerModels, ModelId, Partition, Passage, QueryVector,
    Result, Space, Store, Work,
};
use loci_text::analysis::Language;
use loci_text::{document, passages::passages};

use crate::engine::{Engine, SearchMode};
use crate::leases::Leases;
use crate::leases::rounds::Rounds;
use crate::memories::remember::Embedding;
use crate::quantisation::quantise;
use crate::wakeup::Wakeup;

use switch::ModelSwitch;

/// The most passages that are embedded before the write is acknowledged. Words find longer content
/// at once, and the background embeds it.
pub(crate) const PASSAGES_EMBEDDED_AT_ONCE_MAX: usize = 16;
/// A text that every model accepts, to test whether it answers.
pub(crate) const PROBE_TEXT: &str = "Is the model there?";
/// Seconds between two comparisons of the models, which count what each lacks.
const REVIEW_SECONDS: i64 = 60;
/// Seconds between two checks whether the former model is still needed.
const CHECK_SECONDS: i64 = 1;
/// Seconds for which a failed former model is not called.
const PAUSE_SECONDS: i64 = 60;
/// The most passages from which one transaction removes a model's vectors, so that a caller's write
/// never waits long.
const RETIRE_BATCH: usize = 256;

/// The state of the embedding models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelState {
    /// The model that the settings choose.
    pub chosen: ModelId,
    /// The model that embeds questions and new texts: a former one, as long as it has embedded
    /// more.
    pub serving: ModelId,
    /// Memories that wait for the chosen model.
    pub pending: u64,
    /// Memories without a vector of the active model, which search by meaning does not find.
    pub not_found: u64,
    /// Models other than the chosen one that have vectors of passages, with the number of these
    /// passages. The background removes these vectors once the chosen model has embedded everything
    /// and no other process uses them.
    pub others: Vec<(ModelId, u64)>,
}

/// The embedding models.
#[derive(Clone, Copy)]
pub struct Models<'a> {
    store: &'a dyn Store,
    embedder: &'a Arc<dyn Embedder>,
    formers: Option<&'a dyn FormerModels>,
    standing: &'a Mutex<ModelSwitch>,
    clock: &'a dyn Clock,
    search_mode: SearchMode,
    to_embed: &'a Arc<Wakeup>,
    rounds: &'a Rounds,
    leases: Leases<'a>,
}

impl Engine {
    /// Returns the embedding models.
    pub fn models(&self) -> Models<'_> {
        Models {
            store: &*self.store,
            embedder: &self.embedder,
            formers: self.former_models.as_deref(),
            standing: &self.standing,
            clock: &*self.clock,
            search_mode: self.search_mode,
            to_embed: &self.to_embed,
            rounds: &self.rounds,
            leases: self.leases(),
        }
    }
}

impl Models<'_> {
    /// Returns the number of memories that wait for their embedding by the chosen model; search by
    /// meaning does not find them yet, unless a former model is active. 0 if search uses only
    /// words.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn pending_embeddings(&self) -> Result<u64> {
        match self.search_mode {
            SearchMode::Words => Ok(0),
            _ => self.pending(self.embedder.model()),
        }
    }

    /// Returns the current state of the models; `None` if search uses only words. Counts passages,
    /// which may take a while.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn model_state(&self) -> Result<Option<ModelState>> {
        if self.search_mode == SearchMode::Words {
            return Ok(None);
        }
        self.weigh(&mut self.model_switch())?;
        let (chosen, serving) = (self.embedder.model().clone(), self.active().model().clone());
        let mut others = self.store.models()?;
        others.retain(|(model, _)| *model != chosen);
        let pending = self.pending(&chosen)?;
        let not_found = if serving == chosen {
            pending
        } else {
            self.pending(&serving)?
        };
        Ok(Some(ModelState {
            chosen,
            serving,
            pending,
            not_found,
            others,
        }))
    }

    /// Keeps other processes from removing the vectors of this engine's model. Call this at least
    /// every 150 seconds, so that the lease does not expire.
    ///
    /// # Errors
    /// `unavailable` if the store does not answer.
    pub(crate) fn claim(&self) -> Result<()> {
        if self.search_mode == SearchMode::Words {
            return Ok(());
        }
        // If another process with the same model holds it, that is sufficient.
        let in_use = &self.rounds.of(self.embedder.model()).in_use;
        self.leases.hold(in_use, &Partition::Whole).map(drop)
    }

    /// Keeps other processes from removing the vectors of this engine's model, and removes some
    /// vectors of unused models once its own has embedded everything. Returns the number of passages; if it is not 0, there may be
    /// more. Pause between rounds, as with [`sweep`](crate::Background::sweep).
    ///
    /// # Errors
    /// `unavailable` if the store does not answer.
    pub fn retire_unused_models(&self) -> Result<usize> {
        if self.search_mode == SearchMode::Words {
            return Ok(0);
        }
        self.claim()?;
        let chosen = self.embedder.model();
        if !self.is_complete()? {
            return Ok(0);
        }
        let models = self.store.models()?;
        let mut standing = self.model_switch();
        standing.complete();
        standing.has_several = models.iter().any(|(model, _)| model != chosen);
        drop(standing);
        for (model, _) in models {
            let in_use = &self.rounds.of(&model).in_use;
            // Given back after each batch, so that a process that starts to use the model need not
            // wait.
            if model != *chosen && self.leases.hold(in_use, &Partition::Whole)? {
                let retired = self.retire_some(&model);
                let given_back = self.leases.give_back(in_use);
                return retired.and_then(|retired| given_back.map(|()| retired));
            }
        }
        Ok(0)
    }

    /// Removes the vectors of a model from some passages of one partition.
    fn retire_some(&self, model: &ModelId) -> Result<usize> {
        let partitions = self.store.partitions_with(Work::Retire(model), None, 1)?;
        partitions.first().map_or(Ok(0), |partition| {
            self.store.retire_model(partition, model, RETIRE_BATCH)
        })
    }

    /// Returns the number of memories that wait for a model.
    fn pending(&self, model: &ModelId) -> Result<u64> {
        Ok(self.store.pending_embeddings(model, usize::MAX)? as u64)
    }

    /// Reports whether no memory waits for the model.
    pub(crate) fn has_embedded_all(&self, model: &ModelId) -> Result<bool> {
        Ok(self.store.pending_embeddings(model, 1)? == 0)
    }

    /// Reports whether the engine's own model has embedded all texts that it can.
    fn is_complete(&self) -> Result<bool> {
        let model = self.embedder.model();
        let unreadable = self.rounds.of(model).unreadable();
        Ok(self.store.pending_embeddings(model, unreadable + 1)? <= unreadable)
    }

    /// Returns the model that embeds questions and texts now. Does not query the store if the
    /// engine's own model has embedded everything.
    pub(crate) fn active(&self) -> Arc<dyn Embedder> {
        self.former().unwrap_or_else(|| Arc::clone(self.embedder))
    }

    /// Returns the former model, if it is active.
    pub(crate) fn former(&self) -> Option<Arc<dyn Embedder>> {
        self.formers.as_ref()?;
        let mut standing = self.model_switch();
        // The caller meets the error of an unreadable store soon enough.
        let _ = self.refresh(&mut standing);
        let is_paused = standing
            .pauses_until
            .is_some_and(|until| self.clock.now() < until);
        standing.former().filter(|_| !is_paused).cloned()
    }

    /// Compares the models at the first call, and every minute while memories wait; otherwise only
    /// checks whether the former model is still needed.
    pub(crate) fn review(&self) -> Result<()> {
        if self.formers.is_none() {
            return Ok(());
        }
        let mut standing = self.model_switch();
        let reviewed_before = self.clock.now().plus_seconds(-REVIEW_SECONDS);
        match standing.looked {
            Some(at) if at > reviewed_before => self.refresh(&mut standing),
            _ => self.weigh(&mut standing),
        }
    }

    /// Compares the models at the first call; later only checks whether a former model is still
    /// needed.
    fn refresh(&self, standing: &mut ModelSwitch) -> Result<()> {
        if standing.looked.is_none() {
            return self.weigh(standing);
        }
        let now = self.clock.now();
        let is_recent = |checked| checked > now.plus_seconds(-CHECK_SECONDS) && checked <= now;
        if standing.former.is_none() || standing.checked.is_some_and(is_recent) {
            return Ok(());
        }
        if self.is_complete()? {
            standing.complete();
        }
        standing.checked = Some(now);
        Ok(())
    }

    /// Makes the next call check whether the former model is still needed.
    pub(crate) fn look_again(&self) {
        self.model_switch().checked = None;
    }

    /// Compares the models. If the store cannot be read, the state stays as it was.
    fn weigh(&self, standing: &mut ModelSwitch) -> Result<()> {
        let Some(former_models) = &self.formers else {
            return Ok(());
        };
        let looked = Some(self.clock.now());
        if self.is_complete()? {
            standing.looked = looked;
            standing.complete();
            return Ok(());
        }
        let chosen = self.embedder.model();
        // Loaded models stay loaded.
        let known = |model: &ModelId| {
            standing
                .others
                .iter()
                .find(|embedder| embedder.model() == model)
                .cloned()
        };
        let models = self
            .store
            .models()?
            .into_iter()
            .map(|(model, _)| model)
            .filter(|model| model != chosen);
        let is_outdated = |model: &ModelId| !self.rounds.of(model).outdated().is_empty();
        let models: Vec<ModelId> = models.filter(|model| !is_outdated(model)).collect();
        let had = |model: &ModelId| known(model).or_else(|| former_models.embedder_of(model));
        let others: Vec<Arc<dyn Embedder>> = models.iter().filter_map(had).collect();
        let lacking = others.iter().map(|other| self.pending(other.model()));
        let lacking = lacking.collect::<Result<Vec<u64>>>()?;
        // Both models embed the texts that it lacks, so one that lacks many is not worth it.
        let lacking_max = if others.is_empty() {
            0
        } else {
            self.pending(chosen)? / 2
        };
        let best = (0..lacking.len()).min_by_key(|index| lacking[*index]);
        let former = best.filter(|index| lacking[*index] <= lacking_max);
        let former_lacks = former.is_some_and(|index| lacking[index] > 0);
        let has_several = !models.is_empty();
        *standing = ModelSwitch {
            looked,
            checked: looked,
            others,
            former,
            former_lacks,
            has_several,
            pauses_until: standing.pauses_until,
            lacked: std::mem::take(&mut standing.lacked),
        };
        Ok(())
    }

    /// Makes the background embed texts after a search in this space that lacked vectors of the
    /// question's model. Returns true if another model is active by now.
    pub(crate) fn active_model_changed(&self, space: &Space, question: &QueryVector) -> bool {
        let (used, partition) = (&question.model, self.store.partition_of(space));
        if let Err(error) = self.is_outdated(used, &partition, question.values.len()) {
            tracing::debug!(model = %used, %error, "stored vectors were not compared with those of today");
        }
        let Ok(version) = self.store.version(space) else {
            return false;
        };
        let mut standing = self.model_switch();
        // Once for each version, so that texts no model can embed are not tried at every search.
        if standing.lacked.insert(space.clone(), version) != Some(version) {
            if self.rounds.of(used).unreadable() == 0 {
                self.to_embed.ring();
            }
            if standing.has_several && self.weigh(&mut standing).is_err() {
                return false;
            }
        }
        drop(standing);
        self.active().model() != used
    }

    /// Reports whether vectors of this model in the partition have another number of components
    /// than it returns now: then another model has the same name. Checks once. Starts at once to
    /// remove all of these vectors, so that every process sees that texts wait; the background
    /// continues.
    pub(crate) fn is_outdated(
        &self,
        model: &ModelId,
        partition: &Partition,
        dimensions: usize,
    ) -> Result<bool> {
        let rounds = self.rounds.of(model).within(partition);
        if rounds.dimensions.load(Ordering::Relaxed) == 0 {
            let is_outdated = self
                .store
                .has_other_dimensions(partition, model, dimensions)?;
            rounds.dimensions.store(dimensions, Ordering::Relaxed);
            rounds.is_outdated.store(is_outdated, Ordering::Relaxed);
            if is_outdated {
                tracing::warn!(%model, dimensions, "another embedding model answers by this name: it reads all texts again");
                self.store.retire_model(partition, model, RETIRE_BATCH)?;
            }
        }
        Ok(rounds.is_outdated.load(Ordering::Relaxed))
    }

    /// Removes some of the vectors of an outdated model from the partition; returns the number of
    /// passages. The caller holds the lease for embedding, and held it before if `is_under_way`.
    pub(crate) fn retire_outdated(
        &self,
        model: &ModelId,
        partition: &Partition,
        is_under_way: bool,
    ) -> Result<usize> {
        let rounds = self.rounds.of(model).within(partition);
        if !rounds.is_outdated.load(Ordering::Relaxed) {
            return Ok(0);
        }
        // Another process may have finished it, and embedded texts since.
        let dimensions = rounds.dimensions.load(Ordering::Relaxed);
        let is_outdated = is_under_way
            || self
                .store
                .has_other_dimensions(partition, model, dimensions)?;
        let retired = if is_outdated {
            self.store.retire_model(partition, model, RETIRE_BATCH)?
        } else {
            0
        };
        rounds
            .is_outdated
            .store(retired == RETIRE_BATCH, Ordering::Relaxed);
        Ok(retired)
    }

    /// Signals the background that the active model has not embedded a memory.
    pub(crate) fn embed_waiting(&self) {
        self.model_switch().former_lacks = true;
        self.to_embed.ring();
    }

    /// Returns true if the former model may lack memories, and clears the flag.
    pub(crate) fn take_backlog_flag(&self) -> bool {
        std::mem::take(&mut self.model_switch().former_lacks)
    }

    fn model_switch(&self) -> MutexGuard<'_, ModelSwitch> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does the work with the active model; if that is a former one and fails, with the engine's
    /// own.
    fn by_serving<T>(&self, work: impl Fn(&dyn Embedder) -> Result<T>) -> Result<T> {
        if let Some(former) = self.former() {
            match work(&*former) {
                Ok(done) => return Ok(done),
                Err(error) => {
                    tracing::warn!(model = %former.model(), %error, "a former embedding model fails and is not asked for a while");
                    self.model_switch().pauses_until =
                        Some(self.clock.now().plus_seconds(PAUSE_SECONDS));
                }
            }
        }
        work(&**self.embedder)
    }

    /// Returns the vector of a question by the active model, and how to read that model's cosines.
    pub(crate) fn embed_query(&self, question: &str) -> Result<(QueryVector, QueryReading)> {
        self.by_serving(|embedder| {
            let values = embedder.embed_query(question)?;
            let is_foreign =
                Language::of(question).is_some_and(|language| !embedder.knows(language.code()));
            let reading = QueryReading {
                scale: embedder.cosine_scale(),
                is_foreign,
            };
            Ok((
                QueryVector {
                    model: embedder.model().clone(),
                    values,
                },
                reading,
            ))
        })
    }

    /// Converts a cosine of this model's vectors to the scale of thresholds, which is that of the
    /// bundled model.
    pub(crate) fn comparable(&self, model: &ModelId, cosine: f32) -> f32 {
        if self.embedder.model() == model {
            return comparable(self.embedder.cosine_scale(), cosine);
        }
        let former = self.former().filter(|former| former.model() == model);
        comparable(
            former.map_or_else(CosineScale::default, |former| former.cosine_scale()),
            cosine,
        )
    }

    /// Embeds the passages of a text with this title; also returns the vectors before quantization.
    pub(crate) fn embed(
        &self,
        title: Option<&str>,
        content: &str,
        passages: &mut [Passage],
        urgency: Urgency,
    ) -> Result<Vec<QueryVector>> {
        let texts = texts_of(passages.iter().map(|passage| (title, content, passage)));
        let texts: Vec<_> = texts.iter().map(AsRef::as_ref).collect();
        let vectors = self.by_serving(|embedder| vectors_by(embedder, &texts, urgency))?;
        for (passage, vector) in passages.iter_mut().zip(&vectors) {
            passage.vector = Some(quantise(vector));
        }
        Ok(vectors)
    }

    /// Returns the vectors of passages, all by one model. Each passage comes with its title and
    /// content.
    pub(crate) fn passage_vectors<'a>(
        &self,
        passages: impl Iterator<Item = (Option<&'a str>, &'a str, &'a Passage)>,
    ) -> Result<Vec<QueryVector>> {
        let texts = texts_of(passages);
        self.vectors(&texts.iter().map(AsRef::as_ref).collect::<Vec<_>>())
    }

    /// Returns one vector for each text, all by one model.
    pub(crate) fn vectors(&self, texts: &[&str]) -> Result<Vec<QueryVector>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        self.by_serving(|embedder| vectors_by(embedder, texts, Urgency::Call))
    }

    /// Returns the vector of a question that fits into one passage, or the reason if the model did
    /// not answer.
    pub(crate) fn question_vector(&self, query: &str) -> (Option<QueryVector>, Option<String>) {
        if self.search_mode == SearchMode::Words || passages(query).len() > 1 {
            return (None, None);
        }
        match self.embedder.embed_query(query) {
            Ok(values) => (
                Some(QueryVector {
                    model: self.embedder.model().clone(),
                    values,
                }),
                None,
            ),
            Err(error) => {
                tracing::warn!(%error, "a cached answer goes by the same words alone");
                (
                    None,
                    Some(format!(
                        "only an answer to the same words was looked for: {}",
                        error.message
                    )),
                )
            }
        }
    }

    /// Returns the method by which searches find candidates.
    pub fn search_mode(&self) -> SearchMode {
        self.search_mode
    }

    /// Returns the reason why searches use only words, in a sentence; `None` if they also use
    /// meaning. Loads the model.
    pub fn model_problem(&self) -> Option<String> {
        if self.search_mode == SearchMode::Words {
            return Some("search is set to go by words alone".to_owned());
        }
        self.vectors(&["ready"]).err().map(|error| error.message)
    }

    /// Embeds a text before the write is acknowledged, if it is short enough. If the model does not
    /// answer, the memory is stored with its words only, and the reply says so.
    pub(crate) fn embed_at_once(
        &self,
        title: Option<&str>,
        content: &str,
        passages: &mut [Passage],
    ) -> (Embedding, Vec<QueryVector>) {
        if self.search_mode == SearchMode::Words {
            return (Embedding::Done, Vec::new());
        }
        if passages.len() > PASSAGES_EMBEDDED_AT_ONCE_MAX {
            let reason = format!(
                "it is long ({} passages) and is being embedded in the background",
                passages.len()
            );
            return (Embedding::Pending(reason), Vec::new());
        }
        match self.embed(title, content, passages, Urgency::Call) {
            Ok(vectors) => (Embedding::Done, vectors),
            Err(error) => {
                tracing::warn!(%error, "a memory is stored without its embedding");
                (Embedding::Pending(error.message), Vec::new())
            }
        }
    }

    /// Signals the background if a memory waits for its embedding.
    pub(crate) fn embed_soon(&self, embedding: &Embedding) {
        if matches!(embedding, Embedding::Pending(_)) {
            self.embed_waiting();
        }
    }
}

/// Returns the texts of passages that a model reads. Each passage comes with its title and content.
pub(crate) fn texts_of<'a>(
    passages: impl Iterator<Item = (Option<&'a str>, &'a str, &'a Passage)>,
) -> Vec<Cow<'a, str>> {
    passages
        .map(|(title, content, passage)| {
            document::titled_text(title, content, passage.range.clone())
        })
        .collect()
}

/// The work that waits for a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// A call.
    Call,
    /// Only work in the background, which calls pass.
    Background,
}

/// Returns one vector for each text by this model.
pub(crate) fn vectors_by(
    embedder: &dyn Embedder,
    texts: &[&str],
    urgency: Urgency,
) -> Result<Vec<QueryVector>> {
    let vectors = match urgency {
        Urgency::Call => embedder.embed(texts),
        Urgency::Background => embedder.embed_in_background(texts),
    }?;
    let model = embedder.model();
    if vectors.len() != texts.len() {
        return Err(Error::internal(format!(
            "the model {model} returned a wrong number of vectors"
        )));
    }
    Ok(vectors
        .into_iter()
        .map(|values| QueryVector {
            model: model.clone(),
            values,
        })
        .collect())
}

/// The properties of the model that embedded a question.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct QueryReading {
    /// The scale of its cosines.
    pub(crate) scale: CosineScale,
    /// True if it does not know the language of the question.
    pub(crate) is_foreign: bool,
}

/// Converts a cosine of a model with that scale to the scale of the bundled model.
pub(crate) fn comparable(scale: CosineScale, cosine: f32) -> f32 {
    if scale == CosineScale::BUNDLED {
        return cosine;
    }
    let CosineScale { unrelated, same } = CosineScale::BUNDLED;
    let place = (cosine - scale.unrelated) / (scale.same - scale.unrelated);
    (unrelated + place * (same - unrelated)).clamp(-1.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosines_of_another_model_mean_what_those_of_the_bundled_one_mean() {
        let narrow = CosineScale {
            unrelated: 0.8,
            same: 0.86,
        };
        let rows = [
            (CosineScale::BUNDLED, 0.7, 0.7),
            (narrow, 0.8, 0.15),
            (narrow, 0.86, 0.5),
            (narrow, 0.9, 0.7333),
            (narrow, 1.0, 1.0),
            (narrow, 0.0, -1.0),
        ];
        for (scale, cosine, expected) in rows {
            let found = comparable(scale, cosine);
            assert!(
                (found - expected).abs() < 1e-3,
                "{scale:?} {cosine}: {found}"
            );
        }
    }
}
