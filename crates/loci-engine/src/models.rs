//! Which model embeds questions and texts, while one takes the place of another
//! (`docs/adr/0022-two-models-for-a-while.md`).
//!
//! A question is compared with vectors of its own model alone. So that a change of model leaves no
//! gap, the former one goes on serving until the new one has read every memory.

use std::borrow::Cow;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

use loci_core::{
    CosineScale, Embedder, Error, FilingOrder, ModelId, Passage, QueryVector, Result, Timestamp,
    Vector,
};
use loci_search::analysis::Language;
use loci_search::document;

use crate::{Engine, SearchMode};

/// A text that every model reads: whether it answers at all.
pub(crate) const PROBE_TEXT: &str = "Is the model there?";
/// Seconds until rounds weigh the models against each other again, which counts what each lacks.
const REVIEW_SECONDS: i64 = 60;
/// Seconds for which a former model that failed is not asked.
const PAUSE_SECONDS: i64 = 60;
/// Passages that one transaction takes a model's vectors from, so that a caller's write never waits
/// long.
const RETIRE_BATCH: usize = 256;

/// How the models stand to each other, as far as this engine has looked.
#[derive(Default)]
pub(crate) struct ModelSwitch {
    /// The version of the store at the last look, and when that was; none before the first.
    looked: Option<(u64, Timestamp)>,
    /// The other models of stored vectors that can be had, while memories wait for the engine's
    /// own.
    others: Vec<Arc<dyn Embedder>>,
    /// Which of them serves.
    former: Option<usize>,
    /// Whether there may be memories that it has not read.
    former_lacks: bool,
    /// Whether other models have read anything, be it that they can be had or not.
    has_several: bool,
    /// Until when that is not asked, because it failed.
    pauses_until: Option<Timestamp>,
    /// The version of the store when a search last lacked vectors.
    lacked: Option<u64>,
}

impl ModelSwitch {
    fn former(&self) -> Option<&Arc<dyn Embedder>> {
        self.others.get(self.former?)
    }

    /// The engine's own model has read everything.
    fn complete(&mut self) {
        (self.others, self.former) = (Vec::new(), None);
    }
}

/// How models of embeddings stand to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelState {
    /// The model that the settings choose.
    pub chosen: ModelId,
    /// The model that questions and new texts are embedded with: a former one, as long as it has
    /// read more.
    pub serving: ModelId,
    /// Memories that wait for the chosen model.
    pub pending: u64,
    /// Memories that lack vectors of the serving model: search by meaning does not find them.
    pub not_found: u64,
    /// Models other than the chosen one that have vectors of passages, with the number of these. In
    /// the background they are removed, once the chosen model has read everything and no other
    /// process uses them.
    pub others: Vec<(ModelId, u64)>,
}

impl Engine {
    /// How many memories wait for the embedding by the chosen model: search by meaning does not
    /// find them yet, unless a former model serves. None, while search goes by words alone.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn pending_embeddings(&self) -> Result<u64> {
        match self.search_mode {
            SearchMode::Words => Ok(0),
            _ => self.store.pending_embeddings(self.embedder.model()),
        }
    }

    /// How the models stand to each other now; none, while search goes by words alone. Counts
    /// passages, which may take a while.
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
        let pending = self.store.pending_embeddings(&chosen)?;
        let not_found = if serving == chosen {
            pending
        } else {
            self.store.pending_embeddings(&serving)?
        };
        Ok(Some(ModelState {
            chosen,
            serving,
            pending,
            not_found,
            others,
        }))
    }

    /// Keeps other processes from removing the vectors of this engine's model, and removes some of
    /// models that no engine uses any more, once its own has read everything. Returns from how many
    /// passages it did; after a round with any there may be more. Leave the store to others for a
    /// while in between, as after [`sweep`](Engine::sweep); and call it at least every 150 seconds,
    /// so that the others know.
    ///
    /// # Errors
    /// `unavailable` if the store does not answer.
    pub fn retire_unused_models(&self) -> Result<usize> {
        if self.search_mode == SearchMode::Words {
            return Ok(0);
        }
        let chosen = self.embedder.model();
        // If another process of the same model has it, that will do.
        self.hold(&self.rounds.of(chosen).in_use)?;
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
            // Given back after each batch, so that an engine that begins to use the model does not
            // wait.
            if model != *chosen && self.hold(in_use)? {
                let retired = self.store.retire_model(&model, RETIRE_BATCH);
                let given_back = self.give_back(in_use);
                return retired.and_then(|retired| given_back.map(|()| retired));
            }
        }
        Ok(0)
    }

    /// Whether the engine's own model has read everything that it can read.
    fn is_complete(&self) -> Result<bool> {
        let model = self.embedder.model();
        let unreadable = self.rounds.of(model).unreadable.load(Ordering::Relaxed);
        Ok(self
            .store
            .without_vector(model, FilingOrder::LastFirst, unreadable + 1)?
            .len()
            <= unreadable)
    }

    /// The model that embeds questions and texts now. Where the engine's own has read everything,
    /// the store is not asked for it.
    pub(crate) fn active(&self) -> Arc<dyn Embedder> {
        self.former().unwrap_or_else(|| Arc::clone(&self.embedder))
    }

    /// The former model, if it serves.
    pub(crate) fn former(&self) -> Option<Arc<dyn Embedder>> {
        self.former_models.as_ref()?;
        let mut standing = self.model_switch();
        // The caller learns from the next read that the store cannot be read.
        let _ = self.refresh(&mut standing);
        let is_paused = standing
            .pauses_until
            .is_some_and(|until| self.now() < until);
        standing.former().filter(|_| !is_paused).cloned()
    }

    /// Weighs the models against each other, at the first time and every minute while memories
    /// wait; else looks whether what serves in the place of the engine's own model is needed any
    /// more.
    pub(crate) fn review(&self) -> Result<()> {
        if self.former_models.is_none() {
            return Ok(());
        }
        let mut standing = self.model_switch();
        let reviewed_before = self.now().plus_seconds(-REVIEW_SECONDS);
        match standing.looked {
            Some((_, at)) if at > reviewed_before => self.refresh(&mut standing),
            _ => self.weigh(&mut standing),
        }
    }

    /// Looks for the first time; then only whether a former model still has to serve.
    fn refresh(&self, standing: &mut ModelSwitch) -> Result<()> {
        let Some((seen, at)) = standing.looked else {
            return self.weigh(standing);
        };
        if standing.former.is_none() {
            return Ok(());
        }
        let version = self.store.version()?;
        if version != seen {
            standing.looked = Some((version, at));
            if self.is_complete()? {
                standing.complete();
            }
        }
        Ok(())
    }

    /// Weighs the models against each other. If the store cannot be read, all stays as it was.
    fn weigh(&self, standing: &mut ModelSwitch) -> Result<()> {
        let looked = Some((self.store.version()?, self.now()));
        let Some(former_models) = &self.former_models else {
            return Ok(());
        };
        if self.is_complete()? {
            standing.looked = looked;
            standing.complete();
            return Ok(());
        }
        let chosen = self.embedder.model();
        // A loaded model stays loaded.
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
        let is_outdated =
            |model: &ModelId| self.rounds.of(model).is_outdated.load(Ordering::Relaxed);
        let models: Vec<ModelId> = models.filter(|model| !is_outdated(model)).collect();
        let had = |model: &ModelId| known(model).or_else(|| former_models.embedder_of(model));
        let others: Vec<Arc<dyn Embedder>> = models.iter().filter_map(had).collect();
        let lacking = others
            .iter()
            .map(|other| self.store.pending_embeddings(other.model()));
        let lacking = lacking.collect::<Result<Vec<u64>>>()?;
        // Both models read the passages that it lacks, so that a model which has read few is not
        // worth it.
        let lacking_max = if others.is_empty() {
            0
        } else {
            self.store.pending_embeddings(chosen)? / 2
        };
        let best = (0..lacking.len()).min_by_key(|index| lacking[*index]);
        let former = best.filter(|index| lacking[*index] <= lacking_max);
        let former_lacks = former.is_some_and(|index| lacking[index] > 0);
        let has_several = !models.is_empty();
        *standing = ModelSwitch {
            looked,
            others,
            former,
            former_lacks,
            has_several,
            ..*standing
        };
        Ok(())
    }

    /// Reacts to a search that lacked vectors of the model of its question: they are made soon.
    /// Returns whether another model serves by now.
    pub(crate) fn active_model_changed(&self, question: &QueryVector) -> bool {
        let used = &question.model;
        if let Err(error) = self.is_outdated(used, question.values.len()) {
            tracing::debug!(model = %used, %error, "stored vectors were not compared with those of today");
        }
        let Ok(version) = self.store.version() else {
            return false;
        };
        let mut standing = self.model_switch();
        // Once for each version, so that a passage that no model can read is not tried at every
        // search.
        if standing.lacked.replace(version) != Some(version) {
            if self.rounds.of(used).unreadable.load(Ordering::Relaxed) == 0 {
                self.to_embed.ring();
            }
            if standing.has_several && self.weigh(&mut standing).is_err() {
                return false;
            }
        }
        drop(standing);
        self.active().model() != used
    }

    /// Whether stored vectors of this model have another number of components than those that it
    /// gives now: another model answers by its name. Checks once. Begins at once to remove them
    /// all, so that every process sees that texts wait, and goes on in the background.
    pub(crate) fn is_outdated(&self, model: &ModelId, dimensions: usize) -> Result<bool> {
        let rounds = self.rounds.of(model);
        if rounds.dimensions.load(Ordering::Relaxed) == 0 {
            let is_outdated = self.store.has_other_dimensions(model, dimensions)?;
            rounds.dimensions.store(dimensions, Ordering::Relaxed);
            rounds.is_outdated.store(is_outdated, Ordering::Relaxed);
            if is_outdated {
                tracing::warn!(%model, dimensions, "another embedding model answers by this name: it reads all texts again");
                self.store.retire_model(model, RETIRE_BATCH)?;
            }
        }
        Ok(rounds.is_outdated.load(Ordering::Relaxed))
    }

    /// Removes some of the vectors of a model that is another one now; from how many passages it
    /// did. The caller holds the lease on embedding, and held it before if `is_under_way`.
    pub(crate) fn retire_outdated(&self, model: &ModelId, is_under_way: bool) -> Result<usize> {
        let rounds = self.rounds.of(model);
        if !rounds.is_outdated.load(Ordering::Relaxed) {
            return Ok(0);
        }
        // Another process may have ended it, and read texts since.
        let dimensions = rounds.dimensions.load(Ordering::Relaxed);
        let is_outdated = is_under_way || self.store.has_other_dimensions(model, dimensions)?;
        let retired = if is_outdated {
            self.store.retire_model(model, RETIRE_BATCH)?
        } else {
            0
        };
        rounds
            .is_outdated
            .store(retired == RETIRE_BATCH, Ordering::Relaxed);
        Ok(retired)
    }

    /// Tells the background that there is a memory which the model that serves has not read.
    pub(crate) fn embed_waiting(&self) {
        self.model_switch().former_lacks = true;
        self.to_embed.ring();
    }

    /// Whether there may be memories that the former model has not read; asked once.
    pub(crate) fn take_backlog_flag(&self) -> bool {
        std::mem::take(&mut self.model_switch().former_lacks)
    }

    fn model_switch(&self) -> MutexGuard<'_, ModelSwitch> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does this with the model that serves; if that is a former one and fails, with the engine's
    /// own.
    fn by_serving<T>(&self, work: impl Fn(&dyn Embedder) -> Result<T>) -> Result<T> {
        if let Some(former) = self.former() {
            match work(&*former) {
                Ok(done) => return Ok(done),
                Err(error) => {
                    tracing::warn!(model = %former.model(), %error, "a former embedding model fails and is not asked for a while");
                    self.model_switch().pauses_until = Some(self.now().plus_seconds(PAUSE_SECONDS));
                }
            }
        }
        work(&*self.embedder)
    }

    /// The vector of a question by the model that serves, and how that model is to be taken.
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

    /// A cosine of vectors of this model as thresholds are meant: where the cosines of the bundled
    /// model lie.
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

    /// Gives every passage of a text with this title its vector; returns them unquantised, too.
    pub(crate) fn embed(
        &self,
        title: Option<&str>,
        content: &str,
        passages: &mut [Passage],
    ) -> Result<Vec<QueryVector>> {
        let vectors =
            self.passage_vectors(passages.iter().map(|passage| (title, content, passage)))?;
        for (passage, vector) in passages.iter_mut().zip(&vectors) {
            passage.vector = Some(quantised(vector));
        }
        Ok(vectors)
    }

    /// The vectors of passages, each given with the title and the content that it is of, all by one
    /// model.
    pub(crate) fn passage_vectors<'a>(
        &self,
        passages: impl Iterator<Item = (Option<&'a str>, &'a str, &'a Passage)>,
    ) -> Result<Vec<QueryVector>> {
        let texts = texts_of(passages);
        self.vectors(&texts.iter().map(AsRef::as_ref).collect::<Vec<_>>())
    }

    /// One vector for each text, all by one model.
    pub(crate) fn vectors(&self, texts: &[&str]) -> Result<Vec<QueryVector>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        self.by_serving(|embedder| vectors_by(embedder, texts))
    }
}

/// Returns the texts that a model reads of passages, each given with its title and content.
pub(crate) fn texts_of<'a>(
    passages: impl Iterator<Item = (Option<&'a str>, &'a str, &'a Passage)>,
) -> Vec<Cow<'a, str>> {
    passages
        .map(|(title, content, passage)| {
            document::titled_text(title, content, passage.range.clone())
        })
        .collect()
}

/// One vector for each text by this model.
pub(crate) fn vectors_by(embedder: &dyn Embedder, texts: &[&str]) -> Result<Vec<QueryVector>> {
    let vectors = embedder.embed(texts)?;
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

/// How the model that read a question is to be taken.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct QueryReading {
    /// Where its cosines lie.
    pub(crate) scale: CosineScale,
    /// Whether the question is in a language that it does not know.
    pub(crate) is_foreign: bool,
}

/// A cosine of a model with that scale, on the scale of the bundled model.
pub(crate) fn comparable(scale: CosineScale, cosine: f32) -> f32 {
    if scale == CosineScale::BUNDLED {
        return cosine;
    }
    let CosineScale { unrelated, same } = CosineScale::BUNDLED;
    let place = (cosine - scale.unrelated) / (scale.same - scale.unrelated);
    (unrelated + place * (same - unrelated)).clamp(-1.0, 1.0)
}

/// Symmetric eight-bit quantisation: the largest component becomes 127.
pub(crate) fn quantised(vector: &QueryVector) -> Vector {
    let largest = vector
        .values
        .iter()
        .fold(0.0f32, |largest, component| largest.max(component.abs()));
    let scale = if largest > 0.0 { largest / 127.0 } else { 1.0 };
    let values = vector
        .values
        .iter()
        .map(|component| (component / scale).round() as i8)
        .collect();
    Vector {
        model: vector.model.clone(),
        scale,
        values,
    }
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
