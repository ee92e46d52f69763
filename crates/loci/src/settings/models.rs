//! The models that the settings name.

use std::path::{Path, PathBuf};

use loci_embed::CatalogueModel;

use super::{
    EMBEDDING_API_KEY, EMBEDDING_MODEL, EMBEDDING_MODEL_FOLDER, EMBEDDING_PROVIDER,
    EMBEDDING_RUNTIME, EMBEDDING_TIMEOUT_SECONDS, EMBEDDING_URL, EmbeddingChoice,
    RERANK_MODEL_FOLDER, RERANK_PROVIDER, Runtime, Setting, Values, model_folder,
};
use crate::exit::Failure;

impl Values {
    /// Returns the embedding model.
    ///
    /// # Errors
    /// [`Exit::Usage`](crate::exit::Exit::Usage) if a setting that it needs is missing, or this build
    /// lacks its runtime.
    pub(super) fn embedding(&self, data: &Path) -> Result<EmbeddingChoice, Failure> {
        let needed = |setting: &Setting| {
            let provider = self.text(&EMBEDDING_PROVIDER).unwrap_or_default();
            self.text(setting).map(str::to_owned).ok_or_else(|| {
                let problem = format!(
                    "is {provider}, which needs `{}` ({})",
                    setting.key, setting.variable
                );
                self.wrong(&EMBEDDING_PROVIDER, problem)
            })
        };
        Ok(match self.text(&EMBEDDING_PROVIDER) {
            Some("none") => EmbeddingChoice::NoModel,
            Some("folder") => EmbeddingChoice::Folder(
                PathBuf::from(needed(&EMBEDDING_MODEL_FOLDER)?),
                self.runtime()?,
            ),
            Some("http") => EmbeddingChoice::Http {
                url: needed(&EMBEDDING_URL)?,
                model: needed(&EMBEDDING_MODEL)?,
                api_key: self.text(&EMBEDDING_API_KEY).map(str::to_owned),
                timeout: self.get(&EMBEDDING_TIMEOUT_SECONDS)?,
            },
            provider => match provider.and_then(CatalogueModel::find) {
                Some(model) => {
                    EmbeddingChoice::Installed(model, model_folder(data, model), self.runtime()?)
                }
                None => EmbeddingChoice::Bundled(self.runtime()?),
            },
        })
    }

    /// Returns the folder of the cross-encoder, if searches use one.
    ///
    /// # Errors
    /// [`Exit::Usage`](crate::exit::Exit::Usage) if no folder is named.
    pub(super) fn reranker_folder(&self) -> Result<Option<PathBuf>, Failure> {
        if self.text(&RERANK_PROVIDER) != Some("folder") {
            return Ok(None);
        }
        let folder = self.text(&RERANK_MODEL_FOLDER);
        let Some(folder) = folder else {
            let problem = format!(
                "is folder, which needs `{}` ({})",
                RERANK_MODEL_FOLDER.key, RERANK_MODEL_FOLDER.variable
            );
            return Err(self.wrong(&RERANK_PROVIDER, problem));
        };
        let folder = std::path::absolute(folder);
        folder
            .map(Some)
            .map_err(|error| self.wrong(&RERANK_MODEL_FOLDER, format!("is no path: {error}")))
    }

    fn runtime(&self) -> Result<Runtime, Failure> {
        if self.text(&EMBEDDING_RUNTIME) != Some("onnxruntime") {
            return Ok(Runtime::BuiltIn);
        }
        Runtime::INSTALLED.ok_or_else(|| {
            self.wrong(
                &EMBEDDING_RUNTIME,
                "is onnxruntime, which this build cannot use; build loci with \
                 `cargo build --release --package loci --features ort`, or set it to rten",
            )
        })
    }
}
