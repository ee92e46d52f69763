//! The observed models.

use std::sync::Arc;
use std::time::Instant;

use loci_core::{CosineScale, Embedder, FormerModels, ModelId, Result};
use tracing::field::Empty;

use crate::observer::{EmbeddedTexts, Observer, Outcome};
use crate::traces::{self, TARGET};

/// A model that tells an observer what it embeds.
pub(crate) struct ObservedModel {
    model: Arc<dyn Embedder>,
    observer: Arc<dyn Observer>,
}

impl ObservedModel {
    pub(crate) fn new(model: Arc<dyn Embedder>, observer: Arc<dyn Observer>) -> Self {
        ObservedModel { model, observer }
    }

    fn observe<T>(
        &self,
        texts: EmbeddedTexts,
        count: usize,
        embed: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let begun = Instant::now();
        let result = traces::part(
            || {
                tracing::info_span!(
                    target: TARGET,
                    "embeddings",
                    otel.status_code = Empty,
                    error.type = Empty,
                    gen_ai.operation.name = "embeddings",
                    gen_ai.request.model = self.model.model().as_str(),
                    loci.texts = count,
                    loci.texts_kind = texts.name(),
                )
            },
            embed,
        );
        let outcome = Outcome::of(&result);
        self.observer
            .embedding(texts, count, begun.elapsed(), outcome);
        result
    }
}

impl Embedder for ObservedModel {
    fn model(&self) -> &ModelId {
        self.model.model()
    }

    fn cosine_scale(&self) -> CosineScale {
        self.model.cosine_scale()
    }

    fn knows(&self, language: &str) -> bool {
        self.model.knows(language)
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.observe(EmbeddedTexts::Passages, texts.len(), || {
            self.model.embed(texts)
        })
    }

    fn embed_in_background(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.observe(EmbeddedTexts::Passages, texts.len(), || {
            self.model.embed_in_background(texts)
        })
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        self.observe(EmbeddedTexts::Questions, 1, || self.model.embed_query(text))
    }
}

/// Former models that are observed, too.
pub(crate) struct ObservedFormerModels {
    models: Arc<dyn FormerModels>,
    observer: Arc<dyn Observer>,
}

impl ObservedFormerModels {
    pub(crate) fn new(models: Arc<dyn FormerModels>, observer: Arc<dyn Observer>) -> Self {
        ObservedFormerModels { models, observer }
    }
}

impl FormerModels for ObservedFormerModels {
    fn embedder_of(&self, model: &ModelId) -> Option<Arc<dyn Embedder>> {
        let model = self.models.embedder_of(model)?;
        Some(Arc::new(ObservedModel::new(
            model,
            Arc::clone(&self.observer),
        )))
    }
}
